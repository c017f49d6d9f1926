"""Messages between ZooKeeper's clients and servers and among servers, by ZooKeeper's names. Frozen.

``attempt`` numbers a client's connections (:mod:`client`); a message with another number than that of the current
connection belongs to a broken one and is ignored. ``join`` does the same between a follower and its leader.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple

Data = tuple[Any, ...]
"""Content of a znode: any plain tuple."""

ANY_VERSION: Final = -1
"""``version`` of a write to any version."""


class ZkError(IntEnum):
    """Error codes of ZooKeeper operations (``KeeperException.Code``)."""

    OK = 0
    RUNTIME_INCONSISTENCY = -2
    """Result of the operations of a multi after the one that failed."""
    CONNECTION_LOSS = -4
    """The connection broke: the operation may or may not have been executed."""
    BAD_ARGUMENTS = -8
    NO_NODE = -101
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112
    SESSION_MOVED = -118


class WatchKind(IntEnum):
    """Kind of a watch event (``Watcher.Event.EventType``)."""

    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


class Create(NamedTuple):
    """``ZooKeeper.create``; ``sequential`` appends a ten-digit number counted by the parent."""

    path: str
    data: Data = ()
    ephemeral: bool = False
    sequential: bool = False


class Delete(NamedTuple):
    """``ZooKeeper.delete``: deletes a znode of a given version."""

    path: str
    version: int = ANY_VERSION


class SetData(NamedTuple):
    """``ZooKeeper.setData``: replaces the data of a znode of a given version."""

    path: str
    data: Data
    version: int = ANY_VERSION


class Check(NamedTuple):
    """``Op.check``: checks the version of a znode; only inside a multi."""

    path: str
    version: int = ANY_VERSION


class GetData(NamedTuple):
    """``ZooKeeper.getData``; sets no watch if there is no such node."""

    path: str
    watch: bool = False


class GetChildren(NamedTuple):
    """``ZooKeeper.getChildren``, sorted by name; sets no watch if there is no such node."""

    path: str
    watch: bool = False


class Exists(NamedTuple):
    """``ZooKeeper.exists``; its watch also waits for the creation of a missing node."""

    path: str
    watch: bool = False


class Multi(NamedTuple):
    """``ZooKeeper.multi``: executes all operations or none."""

    operations: tuple[Create | Delete | SetData | Check, ...]


class CreateSession(NamedTuple):
    """A server's request for a client that connects without a session."""

    timeout_us: int
    client: int


class CloseSession(NamedTuple):
    """End of a session; ``expired`` if its client did not request it."""

    expired: bool = False


Read = GetData | GetChildren | Exists
Write = Create | Delete | SetData | Multi
Operation = Read | Write | CloseSession
"""Operations that a client can send."""
READS: Final = (GetData, GetChildren, Exists)


class Stat(NamedTuple):
    """Metadata of a znode (``Stat``); ``owner`` is the session of an ephemeral node, 0 of a persistent one."""

    czxid: int
    mzxid: int
    pzxid: int
    version: int
    cversion: int
    owner: int
    children: int


class OpResult(NamedTuple):
    """Result of an operation; fields that do not apply keep their defaults."""

    error: ZkError
    path: str = ""
    """Path of a created node."""
    data: Data = ()
    stat: Stat | None = None
    children: tuple[str, ...] = ()
    results: tuple[Any, ...] = ()
    """Results of a multi, one :class:`OpResult` each."""


class TxnOperation(NamedTuple):
    """One step of a transaction, already judged: ``create``, ``set``, ``delete``, ``session`` or ``close``."""

    kind: str
    path: str = ""
    data: Data = ()
    owner: int = 0
    """Session of an ephemeral node, or the session that starts or ends."""
    timeout_us: int = 0
    client: int = 0
    """Node id of a new session's client."""


class RequestOrigin(NamedTuple):
    """Origin of a transaction: the server that the client is connected to, and the request that waits there."""

    server: int
    client: int
    attempt: int
    xid: int


class Txn(NamedTuple):
    """An entry of the transaction log. One without changes is a failed request (``ErrorTxn``), kept for the order."""

    zxid: int
    origin: RequestOrigin
    session: int
    changes: tuple[TxnOperation, ...]
    result: OpResult


class ConnectRequest(NamedTuple):
    """Request of a session (0) or of an existing one; ``last_zxid`` is the newest state that the client has seen."""

    attempt: int
    session: int
    timeout_us: int
    last_zxid: int


class ConnectResponse(NamedTuple):
    """Response to a connection request. ``session`` 0: the requested one has expired. ``timeout_us`` is negotiated."""

    attempt: int
    session: int
    timeout_us: int
    zxid: int


class ClientRequest(NamedTuple):
    """An operation of a client; ``xid`` numbers the operations of a session from 1."""

    attempt: int
    xid: int
    operation: Operation


class SetWatches(NamedTuple):
    """Watches that a client restores after a reconnection, and its newest state."""

    attempt: int
    last_zxid: int
    data: tuple[str, ...]
    exist: tuple[str, ...]
    child: tuple[str, ...]


class ClientPing(NamedTuple):
    """Ping of a client, which keeps its session alive."""

    attempt: int


class ClientPong(NamedTuple):
    """A server's response to a client's ping."""

    attempt: int
    zxid: int


class Hangup(NamedTuple):
    """The client closes this connection, but not its session."""

    attempt: int


class ServerReply(NamedTuple):
    """Response to request ``xid``; ``zxid`` is the newest state that the server had applied."""

    attempt: int
    xid: int
    zxid: int
    result: OpResult


class WatchEvent(NamedTuple):
    """Notification of a client that a watch fired."""

    attempt: int
    path: str
    kind: WatchKind


class ConnectionClosed(NamedTuple):
    """The server closes or rejects the connection: it does not serve clients now."""

    attempt: int


# Messages among the servers of an ensemble (``QuorumPeer``, ``Leader``, ``Learner``).


class ServerState(IntEnum):
    """State of a server in the ensemble (``QuorumPeer.ServerState``)."""

    LOOKING = 0
    FOLLOWING = 1
    LEADING = 2


class Vote(NamedTuple):
    """A vote, ordered as a tuple: newer epoch, then longer log, then larger id (``totalOrderPredicate``)."""

    epoch: int
    zxid: int
    leader: int


class Notification(NamedTuple):
    """A vote in election round ``round`` (``electionEpoch``), and the state of its sender."""

    round: int
    vote: Vote
    state: ServerState


class FollowerInfo(NamedTuple):
    """FOLLOWERINFO: a server wants to follow; ``join`` numbers its attempts."""

    join: int
    accepted_epoch: int


class LeaderInfo(NamedTuple):
    """LEADERINFO: the new epoch, greater than any that a majority had accepted."""

    join: int
    epoch: int


class AckEpoch(NamedTuple):
    """ACKEPOCH: the epoch is accepted, and the follower's last zxid; epoch -1 if it had accepted it before."""

    join: int
    current_epoch: int
    last_zxid: int


class Sync(NamedTuple):
    """DIFF, TRUNC or SNAP, and NEWLEADER: makes the follower's history the leader's, in one message.

    The follower drops its log after ``keep``, or with a ``snapshot`` (SNAP) everything; then ``entries`` follow.
    """

    join: int
    epoch: int
    keep: int
    snapshot: tuple[Any, ...]
    entries: tuple[Txn, ...]
    committed: int


class AckNewLeader(NamedTuple):
    """Response to NEWLEADER: the history is on disk."""

    join: int
    zxid: int


class UpToDate(NamedTuple):
    """UPTODATE: a majority has the leader's history; it is committed, and clients can connect."""

    join: int
    committed: int


class Proposal(NamedTuple):
    """PROPOSAL; ``previous`` is the zxid before it, by which a follower detects a gap."""

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
    """PING; ``last`` and ``committed`` let a follower detect lost messages."""

    join: int
    last: int
    committed: int


class FollowerPing(NamedTuple):
    """Response of a follower to PING."""

    join: int
    zxid: int


class Forward(NamedTuple):
    """REQUEST: a write of a follower's client."""

    join: int
    origin: RequestOrigin
    session: int
    operation: Write | CreateSession | CloseSession


class Touch(NamedTuple):
    """Activity of a session at a follower. ZooKeeper collects these for the response to the next PING."""

    join: int
    session: int


class Revalidate(NamedTuple):
    """REVALIDATE: a client has reconnected to a follower with an existing session."""

    join: int
    session: int
    client: int
    attempt: int


class Revalidated(NamedTuple):
    """Response to REVALIDATE; ``timeout_us`` 0: the session has ended."""

    join: int
    session: int
    client: int
    attempt: int
    timeout_us: int


class LearnerDisconnected(NamedTuple):
    """The connection between leader and follower is closed, or was rejected."""

    join: int


FromLeader = LeaderInfo | Sync | UpToDate | Proposal | Commit | LeaderPing | Revalidated | LearnerDisconnected
