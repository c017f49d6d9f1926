"""Messages between ZooKeeper's clients and servers and among servers, by ZooKeeper's names. Frozen.

``attempt`` numbers a client's connections (:mod:`client`); what carries another number than the connection that stands
is of a broken one and is ignored. ``join`` does the same between a follower and its leader.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple

Data = tuple[Any, ...]
"""A znode's content: any plain tuple."""

ANY_VERSION: Final = -1
"""``version`` of a write that does not care."""


class ZkError(IntEnum):
    """``KeeperException.Code``."""

    OK = 0
    RUNTIME_INCONSISTENCY = -2
    """Of the operations of a multi behind the one that failed."""
    CONNECTION_LOSS = -4
    """The connection broke: the operation may or may not have been done."""
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    SESSION_MOVED = -118


class WatchKind(IntEnum):
    """``Watcher.Event.EventType``."""

    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


class Create(NamedTuple):
    """``ZooKeeper.create``; ``sequential`` appends a ten-digit number that the parent counts."""

    path: str
    data: Data = ()
    ephemeral: bool = False
    sequential: bool = False


class Delete(NamedTuple):
    """``ZooKeeper.delete``."""

    path: str
    version: int = ANY_VERSION


class SetData(NamedTuple):
    """``ZooKeeper.setData``."""

    path: str
    data: Data
    version: int = ANY_VERSION


class Check(NamedTuple):
    """``Op.check``: only inside a multi."""

    path: str
    version: int = ANY_VERSION


class GetData(NamedTuple):
    """``ZooKeeper.getData``; no watch is left where there is no node."""

    path: str
    watch: bool = False


class GetChildren(NamedTuple):
    """``ZooKeeper.getChildren``, sorted by name; no watch is left where there is no node."""

    path: str
    watch: bool = False


class Exists(NamedTuple):
    """``ZooKeeper.exists``; its watch also waits for a node that is not there."""

    path: str
    watch: bool = False


class Multi(NamedTuple):
    """``ZooKeeper.multi``: all of them or none."""

    operations: tuple[Create | Delete | SetData | Check, ...]


class CreateSession(NamedTuple):
    """A server's request for a client that connects without a session."""

    timeout_us: int
    client: int


class CloseSession(NamedTuple):
    """The session's end; ``expired`` when its client did not ask for it."""

    expired: bool = False


Read = GetData | GetChildren | Exists
Write = Create | Delete | SetData | Multi
Operation = Read | Write | CloseSession
"""What a client may ask."""
READS: Final = (GetData, GetChildren, Exists)


class Stat(NamedTuple):
    """``org.apache.zookeeper.data.Stat``; ``owner`` is the session of an ephemeral node, 0 of a persistent one."""

    czxid: int
    mzxid: int
    pzxid: int
    version: int
    cversion: int
    owner: int
    children: int


class OpResult(NamedTuple):
    """An answer; what the operation or its error does not speak of keeps its default."""

    error: ZkError
    path: str = ""
    """The name of what was created."""
    data: Data = ()
    stat: Stat | None = None
    children: tuple[str, ...] = ()
    results: tuple[Any, ...] = ()
    """A multi's, one :class:`OpResult` each."""


class TxnOperation(NamedTuple):
    """One step of a transaction, already judged: ``create``, ``set``, ``delete``, ``session`` or ``close``."""

    kind: str
    path: str = ""
    data: Data = ()
    owner: int = 0
    """The session, of an ephemeral node or of a session's own begin and end."""
    timeout_us: int = 0
    client: int = 0
    """Node id of a new session's client."""


class RequestOrigin(NamedTuple):
    """Whose request a transaction is: the server that the client is connected to, and what it waits for there."""

    server: int
    client: int
    attempt: int
    xid: int


class Txn(NamedTuple):
    """An entry of the transaction log. One without changes is a refused request (``ErrorTxn``), kept for the order."""

    zxid: int
    origin: RequestOrigin
    session: int
    changes: tuple[TxnOperation, ...]
    result: OpResult


class ConnectRequest(NamedTuple):
    """A client asks for a session (0) or for its old one; ``last_zxid`` is the newest state it has seen."""

    attempt: int
    session: int
    timeout_us: int
    last_zxid: int


class ConnectResponse(NamedTuple):
    """``session`` 0: the session that was asked for has expired. ``timeout_us`` is what was agreed on."""

    attempt: int
    session: int
    timeout_us: int
    zxid: int


class ClientRequest(NamedTuple):
    """An operation; ``xid`` numbers those of a session from 1."""

    attempt: int
    xid: int
    operation: Operation


class SetWatches(NamedTuple):
    """After a reconnection: the watches a client still waits for, and since when."""

    attempt: int
    last_zxid: int
    data: tuple[str, ...]
    exist: tuple[str, ...]
    child: tuple[str, ...]


class ClientPing(NamedTuple):
    """A client is alive."""

    attempt: int


class ClientPong(NamedTuple):
    """So is its server."""

    attempt: int
    zxid: int


class Hangup(NamedTuple):
    """The client closes this connection, not its session."""

    attempt: int


class ServerReply(NamedTuple):
    """The answer to request ``xid``; ``zxid`` is the newest state that the server had applied."""

    attempt: int
    xid: int
    zxid: int
    result: OpResult


class WatchEvent(NamedTuple):
    """A watch went off."""

    attempt: int
    path: str
    kind: WatchKind


class ConnectionClosed(NamedTuple):
    """The server closes the connection, or would not have it: it serves nobody now."""

    attempt: int


# Messages among the servers of an ensemble (``QuorumPeer``, ``Leader``, ``Learner``).


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
    origin: RequestOrigin
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


class LearnerDisconnected(NamedTuple):
    """The connection between leader and follower is closed, or was never made."""

    join: int


FromLeader = LeaderInfo | Sync | UpToDate | Proposal | Commit | LeaderPing | Revalidated | LearnerDisconnected
