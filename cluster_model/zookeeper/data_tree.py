"""The tree of znodes, a server's store on disk, and watches (``DataTree``, ``WatchManager``). Sans-IO.

The leader *judges* a request against the tree with all proposals applied, which yields the changes of a transaction;
every server *applies* these in order. Not modelled: access control, quotas, containers, time to live, and the times in
``Stat``.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cluster_model.zookeeper.messages import (
    ANY_VERSION,
    Check,
    CloseSession,
    Create,
    CreateSession,
    Data,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    OpResult,
    Read,
    SetData,
    SetWatches,
    Stat,
    Sync,
    Txn,
    TxnOperation,
    WatchKind,
    Write,
    ZkError,
)

Trigger = Callable[[str, WatchKind], None]
"""Called with a path and its change, in the order in which ``DataTree`` triggers watches."""


class Znode(NamedTuple):
    """A znode without its name and its children's names."""

    data: Data
    version: int
    czxid: int
    mzxid: int
    pzxid: int
    """Zxid of the last creation or deletion of a child."""
    owner: int
    """Session of an ephemeral node, 0 for a persistent one."""
    created: int
    """Number of children ever created: the number of the next sequential child."""


class SessionRecord(NamedTuple):
    """A session in the transaction log."""

    timeout_us: int
    client: int


class _Refusal(Exception):  # noqa: N818 - an answer, not a failure
    def __init__(self, error: ZkError) -> None:
        super().__init__(error.name)
        self.error = error


def parent_of(path: str) -> str:
    """Return the parent path; the root's is the root."""
    return path[: path.rindex("/")] or "/"


def _valid(path: str) -> bool:
    return path.startswith("/") and (path == "/" or (not path.endswith("/") and "//" not in path))


class DataTree:
    """Znodes by path, sessions, and the ephemeral nodes of each session (``DataTree``)."""

    __slots__ = ("_children", "_ephemerals", "_journal", "nodes", "sessions", "zxid")

    def __init__(self) -> None:
        self.nodes: dict[str, Znode] = {"/": Znode((), 0, 0, 0, 0, 0, 0)}
        self.sessions: dict[int, SessionRecord] = {}
        self.zxid = 0
        """Zxid of the last transaction applied."""
        self._children: dict[str, dict[str, None]] = {}
        self._ephemerals: dict[int, dict[str, None]] = {}
        self._journal: list[tuple[str, Znode | None]] | None = None
        """Nodes replaced since the start of a multi, for its rollback; None outside of one."""

    # -- reading ------------------------------------------------------------------------------------------------------

    def children(self, path: str) -> tuple[str, ...]:
        """Names of a node's children, sorted."""
        return tuple(sorted(self._children.get(path, ())))

    def ephemerals(self, session: int) -> tuple[str, ...]:
        """Paths of a session's ephemeral nodes, in order of creation."""
        return tuple(self._ephemerals.get(session, ()))

    def stat(self, path: str) -> Stat:
        """Return a node's ``Stat``; KeyError if there is no node. ``cversion`` counts changes of children."""
        node = self.nodes[path]
        count = len(self._children.get(path, ()))
        cversion = 2 * node.created - count
        return Stat(node.czxid, node.mzxid, node.pzxid, node.version, cversion, node.owner, count)

    def read(self, operation: Read) -> OpResult:
        """Run a read on the current tree; the caller sets the watch."""
        path = operation.path
        if path not in self.nodes:
            return OpResult(ZkError.NO_NODE if _valid(path) else ZkError.BAD_ARGUMENTS, path)
        stat = self.stat(path)
        if isinstance(operation, GetData):
            return OpResult(ZkError.OK, path, self.nodes[path].data, stat)
        if isinstance(operation, GetChildren):
            return OpResult(ZkError.OK, path, (), stat, self.children(path))
        assert isinstance(operation, Exists)
        return OpResult(ZkError.OK, path, (), stat)

    # -- judging ------------------------------------------------------------------------------------------------------

    def judge(
        self, operation: Write | CreateSession | CloseSession, session: int, zxid: int
    ) -> tuple[tuple[TxnOperation, ...], OpResult]:
        """Execute an operation if it is valid, and return its changes and result; an invalid one changes nothing."""
        changes: list[TxnOperation] = []
        if isinstance(operation, Multi):
            result = self._multi(operation, session, zxid, changes)
        elif isinstance(operation, CreateSession):
            self._do(TxnOperation("session", "", (), zxid, operation.timeout_us, operation.client), zxid, changes)
            result = OpResult(ZkError.OK)
        elif isinstance(operation, CloseSession):
            for path in self.ephemerals(session):
                self._do(TxnOperation("delete", path), zxid, changes)
            self._do(TxnOperation("close", "", (), session), zxid, changes)
            result = OpResult(ZkError.OK)
        else:
            try:
                result = self._one(operation, session, zxid, changes)
            except _Refusal as refusal:
                result = OpResult(refusal.error, operation.path)
        self.zxid = zxid
        return tuple(changes), result

    def _multi(self, multi: Multi, session: int, zxid: int, changes: list[TxnOperation]) -> OpResult:
        """Run a multi; if one operation fails, earlier ones are OK, later ones inconsistent, and nothing changes."""
        results: list[OpResult] = []
        journal: list[tuple[str, Znode | None]] = []
        self._journal = journal
        try:
            results.extend(self._one(operation, session, zxid, changes) for operation in multi.operations)
        except _Refusal as refusal:
            self._journal = None
            for path, node in reversed(journal):
                self._put(path, node)
            changes.clear()
            at = len(results)
            errors = [ZkError.OK] * at + [refusal.error]
            errors += [ZkError.RUNTIME_INCONSISTENCY] * (len(multi.operations) - len(errors))
            answers = [OpResult(error, op.path) for error, op in zip(errors, multi.operations, strict=True)]
            return OpResult(refusal.error, results=tuple(answers))
        finally:
            self._journal = None
        return OpResult(ZkError.OK, results=tuple(results))

    def _one(
        self, operation: Create | Delete | SetData | Check, session: int, zxid: int, changes: list[TxnOperation]
    ) -> OpResult:
        path = operation.path
        if not _valid(path) or (path == "/" and not isinstance(operation, SetData | Check)):
            raise _Refusal(ZkError.BAD_ARGUMENTS)
        if isinstance(operation, Create):
            path = self._name(operation)
            self._do(TxnOperation("create", path, operation.data, session if operation.ephemeral else 0), zxid, changes)
            return OpResult(ZkError.OK, path, (), self.stat(path))
        node = self.nodes.get(path)
        if node is None:
            raise _Refusal(ZkError.NO_NODE)
        if operation.version not in (ANY_VERSION, node.version):
            raise _Refusal(ZkError.BAD_VERSION)
        if isinstance(operation, SetData):
            self._do(TxnOperation("set", path, operation.data), zxid, changes)
            return OpResult(ZkError.OK, path, (), self.stat(path))
        if isinstance(operation, Delete):
            if self._children.get(path):
                raise _Refusal(ZkError.NOT_EMPTY)
            self._do(TxnOperation("delete", path), zxid, changes)
        return OpResult(ZkError.OK, path)

    def _name(self, operation: Create) -> str:
        parent = self.nodes.get(parent_of(operation.path))
        if parent is None:
            raise _Refusal(ZkError.NO_NODE)
        path = f"{operation.path}{parent.created:010d}" if operation.sequential else operation.path
        if path in self.nodes:
            raise _Refusal(ZkError.NODE_EXISTS)
        if parent.owner:
            raise _Refusal(ZkError.NO_CHILDREN_FOR_EPHEMERALS)
        return path

    def _do(self, change: TxnOperation, zxid: int, changes: list[TxnOperation]) -> None:
        self._change(change, zxid)
        changes.append(change)

    # -- applying -----------------------------------------------------------------------------------------------------

    def apply(self, changes: tuple[TxnOperation, ...], zxid: int, trigger: Trigger) -> None:
        """Apply a transaction that the leader judged, and trigger watches."""
        for change in changes:
            self._change(change, zxid)
            path = change.path
            if change.kind == "create":
                trigger(path, WatchKind.NODE_CREATED)
                trigger(parent_of(path), WatchKind.NODE_CHILDREN_CHANGED)
            elif change.kind == "delete":
                trigger(path, WatchKind.NODE_DELETED)
                trigger(parent_of(path), WatchKind.NODE_CHILDREN_CHANGED)
            elif change.kind == "set":
                trigger(path, WatchKind.NODE_DATA_CHANGED)
        self.zxid = zxid

    def _change(self, change: TxnOperation, zxid: int) -> None:
        path = change.path
        if change.kind == "create":
            self._put(path, Znode(change.data, 0, zxid, zxid, zxid, change.owner, 0))
            parent = self.nodes[parent_of(path)]
            self._put(parent_of(path), parent._replace(pzxid=zxid, created=parent.created + 1))
        elif change.kind == "delete":
            self._put(path, None)
            self._put(parent_of(path), self.nodes[parent_of(path)]._replace(pzxid=zxid))
        elif change.kind == "set":
            node = self.nodes[path]
            self._put(path, node._replace(data=change.data, version=node.version + 1, mzxid=zxid))
        elif change.kind == "session":
            self.sessions[change.owner] = SessionRecord(change.timeout_us, change.client)
        else:
            self.sessions.pop(change.owner, None)

    def _put(self, path: str, node: Znode | None) -> None:
        """Create, change or delete a node; no other method does."""
        old = self.nodes.get(path)
        if self._journal is not None:
            self._journal.append((path, old))
        if node is not None:
            self.nodes[path] = node
            if old is None:
                self._children.setdefault(parent_of(path), {})[path[path.rindex("/") + 1 :]] = None
                if node.owner:
                    self._ephemerals.setdefault(node.owner, {})[path] = None
        elif old is not None:
            del self.nodes[path]
            _discard(self._children, parent_of(path), path[path.rindex("/") + 1 :])
            if old.owner:
                _discard(self._ephemerals, old.owner, path)

    def copy(self) -> "DataTree":
        """Return a copy of the tree."""
        tree = DataTree()
        tree.load(self.save())
        return tree

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        ephemerals = tuple([(session, tuple(paths)) for session, paths in self._ephemerals.items()])
        return (self.zxid, tuple(self.nodes.items()), tuple(self.sessions.items()), ephemerals)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.zxid, nodes, sessions, ephemerals = saved
        self.nodes = dict(nodes)
        self.sessions = dict(sessions)
        self._children = {}
        for path in self.nodes:
            if path != "/":
                self._children.setdefault(parent_of(path), {})[path[path.rindex("/") + 1 :]] = None
        self._ephemerals = {session: dict.fromkeys(paths) for session, paths in ephemerals}


def _discard(table: dict[Any, dict[str, None]], key: Any, name: str) -> None:
    """Remove a name from an entry of the table, and the entry if it is then empty."""
    names = table[key]
    del names[name]
    if not names:
        del table[key]


# A server's disk: epochs, transaction log, and the committed tree. Sans-IO. Simplified from ``ZKDatabase`` and
# ``FileTxnSnapLog``: a log entry is forced to disk before it is acknowledged, which takes no time; the applied tree
# serves as the snapshot for recovery; the log keeps the last committed entries for followers that lag
# (``commitLogCount``), and a follower further behind gets the tree.


COMMIT_LOG_COUNT: Final = 500
"""Number of committed log entries that are kept (``ZKDatabase.commitLogCount``)."""
_COUNTER_BITS: Final = 32


def first_zxid(epoch: int) -> int:
    """Return the zxid before the first one of an epoch (``ZxidUtils.makeZxid``)."""
    return epoch << _COUNTER_BITS


class ZkDatabase:
    """Database of one server. ``tree`` holds the state at ``committed``; later log entries are proposals."""

    __slots__ = ("_base", "_log", "accepted_epoch", "current_epoch", "tree")

    def __init__(self) -> None:
        self.accepted_epoch = 0
        self.current_epoch = 0
        self.tree = DataTree()
        self._base = 0
        """The log holds all entries after this zxid."""
        self._log: list[Txn] = []

    def begin(self, epoch: int, tree: tuple[Any, ...]) -> None:
        """Start with this tree, committed, in this epoch."""
        self.accepted_epoch = self.current_epoch = epoch
        self.tree.load(tree)
        self._base = self.committed

    @property
    def committed(self) -> int:
        """Last zxid that this server has applied."""
        return self.tree.zxid

    @property
    def last_zxid(self) -> int:
        """Last zxid that this server has logged."""
        return self._log[-1].zxid if self._log else self._base

    def append(self, txn: Txn) -> None:
        """Log a proposal on disk."""
        self._log.append(txn)

    def after(self, zxid: int) -> tuple[Txn, ...]:
        """Return the log entries after a zxid."""
        return tuple(self._log[self._index(zxid) :])

    def _index(self, zxid: int) -> int:
        return bisect_right(self._log, zxid, key=_zxid_of)

    def trim(self) -> None:
        """Drop the oldest committed entries; rarely, because it costs a copy."""
        if len(self._log) > 2 * COMMIT_LOG_COUNT:
            extra = min(len(self._log) - COMMIT_LOG_COUNT, self._index(self.committed))
            if extra:
                self._base = self._log[extra - 1].zxid
                del self._log[:extra]

    def sync_for(self, join: int, epoch: int, last_zxid: int) -> Sync:
        """Return the message that makes the history of a server at ``last_zxid`` this one (``syncFollower``)."""
        if last_zxid < self._base:
            entries = self.after(self.committed)
            return Sync(join, epoch, self.committed, self.tree.save(), entries, self.committed)
        index = self._index(last_zxid)
        keep = self._log[index - 1].zxid if index else self._base
        return Sync(join, epoch, keep, (), tuple(self._log[index:]), self.committed)

    def take(self, sync: Sync) -> None:
        """Replace this history by that of another server.

        Raises:
            ValueError: it would undo a commit, which no leader with a majority requests.
        """
        if sync.snapshot:
            self.tree.load(sync.snapshot)
            self._base = sync.keep
            self._log.clear()
        elif sync.keep < self.committed:
            raise ValueError(f"zxid {self.committed:#x} is committed, but the leader's history ends at {sync.keep:#x}")
        del self._log[self._index(sync.keep) :]
        self._log.extend(sync.entries)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.accepted_epoch, self.current_epoch, self.tree.save(), self._base, tuple(self._log))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.accepted_epoch, self.current_epoch, tree, self._base, log = saved
        self.tree.load(tree)
        self._log = list(log)


def _zxid_of(txn: Txn) -> int:
    return txn.zxid


# One-shot watches of a server's connections (``WatchManager``), and of a client across reconnections. Sans-IO.


DATA, EXIST, CHILD = "data", "exist", "child"
"""Kinds of watches of a client: a change of an existing node, creation of a missing one, change of children."""


class WatchTable:
    """Watches of a server by path, each with its watchers in order of arrival."""

    __slots__ = ("_child", "_data")

    def __init__(self) -> None:
        self._data: dict[str, dict[int, None]] = {}
        self._child: dict[str, dict[int, None]] = {}

    def read(self, watcher: int, operation: Read, result: OpResult) -> None:
        """Set the watch of a read with this result."""
        if isinstance(operation, Exists):
            self._data.setdefault(operation.path, {})[watcher] = None
        elif result.error is ZkError.OK:
            table = self._child if isinstance(operation, GetChildren) else self._data
            table.setdefault(operation.path, {})[watcher] = None

    def trigger(self, path: str, kind: WatchKind) -> tuple[int, ...]:
        """Remove and return the watchers of a change; a deletion notifies each watcher once."""
        if kind is WatchKind.NODE_CHILDREN_CHANGED:
            return tuple(self._child.pop(path, ()))
        found = self._data.pop(path, {})
        if kind is WatchKind.NODE_DELETED:
            found.update(self._child.pop(path, {}))
        return tuple(found)

    def restore(self, watcher: int, watches: SetWatches, tree: DataTree) -> list[tuple[str, WatchKind]]:
        """Restore the watches of a client from another server; return those that fired since (``setWatches``)."""
        missed: list[tuple[str, WatchKind]] = []
        for path in watches.data:
            node = tree.nodes.get(path)
            if node is None:
                missed.append((path, WatchKind.NODE_DELETED))
            elif node.mzxid > watches.last_zxid:
                missed.append((path, WatchKind.NODE_DATA_CHANGED))
            else:
                self._data.setdefault(path, {})[watcher] = None
        for path in watches.exist:
            if path in tree.nodes:
                missed.append((path, WatchKind.NODE_CREATED))
            else:
                self._data.setdefault(path, {})[watcher] = None
        for path in watches.child:
            node = tree.nodes.get(path)
            if node is None:
                missed.append((path, WatchKind.NODE_DELETED))
            elif node.pzxid > watches.last_zxid:
                missed.append((path, WatchKind.NODE_CHILDREN_CHANGED))
            else:
                self._child.setdefault(path, {})[watcher] = None
        return missed

    def forget(self, watcher: int) -> None:
        """Remove the watches of a closed connection."""
        for table in (self._data, self._child):
            for path in [path for path, watchers in table.items() if watcher in watchers]:
                del table[path][watcher]
                if not table[path]:
                    del table[path]

    def clear(self) -> None:
        """Remove all watches, since all connections are closed."""
        self._data.clear()
        self._child.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        tables = (self._data, self._child)
        return tuple([tuple([(path, tuple(found)) for path, found in table.items()]) for table in tables])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        tables = [{path: dict.fromkeys(found) for path, found in table} for table in saved]
        self._data, self._child = tables


class ClientWatches:
    """Watches of a client that have not fired (``ZKWatchManager``)."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], None] = {}

    def read(self, operation: Read, result: OpResult) -> None:
        """Register the watch of a read with this result."""
        if result.error is ZkError.OK:
            self._waiting[CHILD if isinstance(operation, GetChildren) else DATA, operation.path] = None
        elif result.error is ZkError.NO_NODE and isinstance(operation, Exists):
            self._waiting[EXIST, operation.path] = None

    def fired(self, path: str, kind: WatchKind) -> bool:
        """Remove the watches that an event fires; return whether there were any."""
        if kind is WatchKind.NODE_CHILDREN_CHANGED:
            kinds: tuple[str, ...] = (CHILD,)
        elif kind is WatchKind.NODE_DELETED:
            kinds = (DATA, EXIST, CHILD)
        else:
            kinds = (DATA, EXIST)
        found = [(watched, path) for watched in kinds if (watched, path) in self._waiting]
        for watch in found:
            del self._waiting[watch]
        return bool(found)

    def again(self, attempt: int, last_zxid: int) -> SetWatches | None:
        """Return the message that restores the watches at another server, None if there are none."""
        if not self._waiting:
            return None
        data, exist, child = (
            tuple([path for watched, path in self._waiting if watched == kind]) for kind in (DATA, EXIST, CHILD)
        )
        return SetWatches(attempt, last_zxid, data, exist, child)

    def clear(self) -> None:
        """Remove all watches: the session ended."""
        self._waiting.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return tuple(self._waiting)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self._waiting = dict.fromkeys(saved)
