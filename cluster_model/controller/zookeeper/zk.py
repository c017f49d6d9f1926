"""Operations on ZooKeeper as the controller and the brokers write them, and their answers without the envelope."""

from typing import Any, NamedTuple

from cluster_model.zookeeper.messages import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Result,
    SetData,
    ZkError,
)


class Answer(NamedTuple):
    """What came of one operation. ``moved``: its condition on the controller's epoch did not hold."""

    error: ZkError
    data: Any = ()
    version: int = -1
    czxid: int = -1
    owner: int = 0
    children: tuple[str, ...] = ()
    moved: bool = False

    @property
    def ok(self) -> bool:
        """Done."""
        return self.error is ZkError.OK

    @property
    def missing(self) -> bool:
        """There is no such node."""
        return self.error is ZkError.NO_NODE

    @property
    def taken(self) -> bool:
        """There is such a node already."""
        return self.error is ZkError.NODE_EXISTS

    @property
    def outdated(self) -> bool:
        """The node has another version."""
        return self.error is ZkError.BAD_VERSION and not self.moved

    @staticmethod
    def of(operation: Any, result: Result) -> "Answer":
        """The answer to an operation; a guarded one's is that of what was guarded."""
        moved = False
        if isinstance(operation, Multi) and result.results:
            check, *inner = result.results
            moved = check.error in (ZkError.BAD_VERSION, ZkError.NO_NODE)
            result = check if moved else inner[0]
        stat = result.stat
        if stat is None:
            return Answer(result.error, result.data, children=result.children, moved=moved)
        return Answer(result.error, result.data, stat.version, stat.czxid, stat.owner, result.children, moved)


def create(path: str, data: tuple[Any, ...] = (), *, ephemeral: bool = False, sequential: bool = False) -> Create:
    """Make a node."""
    return Create(path, data, ephemeral, sequential)


def delete(path: str, version: int = -1) -> Delete:
    """Remove a node; -1: whatever its version."""
    return Delete(path, version)


def put(path: str, data: tuple[Any, ...], version: int = -1) -> SetData:
    """Replace what stands in a node, if it has that version; -1: whatever its version."""
    return SetData(path, data, version)


def get(path: str, *, watch: bool = False) -> GetData:
    """Read a node."""
    return GetData(path, watch)


def exists(path: str, *, watch: bool = False) -> Exists:
    """Ask after a node, there or not."""
    return Exists(path, watch)


def children(path: str, *, watch: bool = False) -> GetChildren:
    """List a node's children."""
    return GetChildren(path, watch)


def guarded(operation: Any, path: str, version: int) -> Multi:
    """Do it only if another node still has that version."""
    return Multi((Check(path, version), operation))
