"""What the servers of an ensemble say to each other (``QuorumPeer``, ``Leader``, ``Learner``)."""

from enum import IntEnum
from typing import Any, NamedTuple

from cluster_model.zookeeper.messages import CloseSession, CreateSession, Origin, Txn, Write


class ServerState(IntEnum):
    """``QuorumPeer.ServerState``."""

    LOOKING = 0
    FOLLOWING = 1
    LEADING = 2


class Vote(NamedTuple):
    """Compared as a tuple: the newer epoch, then the longer log, then the larger id (``totalOrderPredicate``)."""

    epoch: int
    zxid: int
    leader: int


class Notification(NamedTuple):
    """A vote of ``round`` (``electionEpoch``), and what its sender is."""

    round: int
    vote: Vote
    state: ServerState


class FollowerInfo(NamedTuple):
    """FOLLOWERINFO: a server wants to follow; ``join`` numbers its attempts to."""

    join: int
    accepted_epoch: int


class LeaderInfo(NamedTuple):
    """LEADERINFO: the new epoch, greater than any that a majority had accepted."""

    join: int
    epoch: int


class AckEpoch(NamedTuple):
    """ACKEPOCH: accepted, and how far the follower's history goes; -1 is one that had accepted the epoch before."""

    join: int
    current_epoch: int
    last_zxid: int


class Sync(NamedTuple):
    """DIFF, TRUNC or SNAP, and NEWLEADER: what makes the follower's history the leader's, in one message.

    The follower drops what is behind ``keep``, or, with a ``snapshot`` (SNAP), everything; then ``entries`` follow.
    """

    join: int
    epoch: int
    keep: int
    snapshot: tuple[Any, ...]
    entries: tuple[Txn, ...]
    committed: int


class AckNewLeader(NamedTuple):
    """The answer to NEWLEADER: the history is on disk."""

    join: int
    zxid: int


class UpToDate(NamedTuple):
    """UPTODATE: a majority has the leader's history; it is committed, and clients may come."""

    join: int
    committed: int


class Proposal(NamedTuple):
    """PROPOSAL; ``previous`` is the zxid before it, so that a gap would show."""

    join: int
    previous: int
    txn: Txn


class Ack(NamedTuple):
    """ACK of everything up to ``zxid``."""

    join: int
    zxid: int


class Commit(NamedTuple):
    """COMMIT of everything up to ``zxid``."""

    join: int
    zxid: int


class LeaderPing(NamedTuple):
    """PING; ``last`` and ``committed`` tell a follower that something got lost."""

    join: int
    last: int
    committed: int


class FollowerPing(NamedTuple):
    """Its answer."""

    join: int
    zxid: int


class Forward(NamedTuple):
    """REQUEST: a write of a follower's client."""

    join: int
    origin: Origin
    session: int
    operation: Write | CreateSession | CloseSession


class Touch(NamedTuple):
    """A follower has heard of a session. ZooKeeper gathers these for the answer to the next PING."""

    join: int
    session: int


class Revalidate(NamedTuple):
    """REVALIDATE: a client has come to a follower with a session it had before."""

    join: int
    session: int
    client: int
    attempt: int


class Revalidated(NamedTuple):
    """``timeout_us`` 0: the session is over."""

    join: int
    session: int
    client: int
    attempt: int
    timeout_us: int


class Refused(NamedTuple):
    """The connection between leader and follower is closed, or was never made."""

    join: int


FromLeader = LeaderInfo | Sync | UpToDate | Proposal | Commit | LeaderPing | Revalidated | Refused
