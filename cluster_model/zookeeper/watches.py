"""One-shot watches of a server's connections (``WatchManager``), and of a client over reconnections. Sans-IO."""

from typing import Any

from cluster_model.zookeeper.data_tree import Tree
from cluster_model.zookeeper.messages import Exists, GetChildren, Read, Result, SetWatches, WatchKind, ZkError

DATA, EXIST, CHILD = "data", "exist", "child"
"""What a client waits for: a change of a node that is there, a node that is not there yet, a change of children."""


class WatchTable:
    """Watches by path, each a set of watchers in the order in which they came."""

    __slots__ = ("_child", "_data")

    def __init__(self) -> None:
        self._data: dict[str, dict[int, None]] = {}
        self._child: dict[str, dict[int, None]] = {}

    def read(self, watcher: int, operation: Read, result: Result) -> None:
        """A read asked for a watch and was answered by ``result``."""
        if isinstance(operation, Exists):
            self._data.setdefault(operation.path, {})[watcher] = None
        elif result.error is ZkError.OK:
            table = self._child if isinstance(operation, GetChildren) else self._data
            table.setdefault(operation.path, {})[watcher] = None

    def trigger(self, path: str, kind: WatchKind) -> tuple[int, ...]:
        """Who is to be told; they watch no longer. Nobody is told of one deletion twice."""
        if kind is WatchKind.NODE_CHILDREN_CHANGED:
            return tuple(self._child.pop(path, ()))
        found = self._data.pop(path, {})
        if kind is WatchKind.NODE_DELETED:
            found.update(self._child.pop(path, {}))
        return tuple(found)

    def again(self, watcher: int, watches: SetWatches, tree: Tree) -> list[tuple[str, WatchKind]]:
        """Watches of a client that was connected elsewhere: those that have gone off since (``setWatches``)."""
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
        """Its connection is gone."""
        for table in (self._data, self._child):
            for path in [path for path, watchers in table.items() if watcher in watchers]:
                del table[path][watcher]
                if not table[path]:
                    del table[path]

    def clear(self) -> None:
        """All connections are gone."""
        self._data.clear()
        self._child.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        tables = (self._data, self._child)
        return tuple([tuple([(path, tuple(found)) for path, found in table.items()]) for table in tables])

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        tables = [{path: dict.fromkeys(found) for path, found in table} for table in saved]
        self._data, self._child = tables


class ClientWatches:
    """What a client still waits for (``ZKWatchManager``)."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], None] = {}

    def read(self, operation: Read, result: Result) -> None:
        """A read with a watch was answered."""
        if result.error is ZkError.OK:
            self._waiting[CHILD if isinstance(operation, GetChildren) else DATA, operation.path] = None
        elif result.error is ZkError.NO_NODE and isinstance(operation, Exists):
            self._waiting[EXIST, operation.path] = None

    def went_off(self, path: str, kind: WatchKind) -> bool:
        """Whether it was waited for; it no longer is."""
        if kind is WatchKind.NODE_CHILDREN_CHANGED:
            kinds: tuple[str, ...] = (CHILD,)
        elif kind is WatchKind.NODE_DELETED:
            kinds = (DATA, EXIST, CHILD)
        else:
            kinds = (DATA, EXIST)
        found = [(each, path) for each in kinds if (each, path) in self._waiting]
        for each in found:
            del self._waiting[each]
        return bool(found)

    def again(self, attempt: int, last_zxid: int) -> SetWatches | None:
        """What to tell another server, None for nothing."""
        if not self._waiting:
            return None
        data, exist, child = (
            tuple([path for each, path in self._waiting if each == kind]) for kind in (DATA, EXIST, CHILD)
        )
        return SetWatches(attempt, last_zxid, data, exist, child)

    def clear(self) -> None:
        """The session is over, and its watches with it."""
        self._waiting.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._waiting)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._waiting = dict.fromkeys(saved)
