"""What a server keeps on its disk: epochs, transaction log, and the tree as far as it is committed. Sans-IO.

Simplified from ``ZKDatabase`` and ``FileTxnSnapLog``: a log entry is forced to disk before it is acknowledged and that
takes no time; the applied tree counts as the snapshot that recovery starts from; of what is committed, the log keeps
the last entries for followers that lag (``commitLogCount``), and who is further behind gets the tree.
"""

from bisect import bisect_right
from typing import Any, Final

from cluster_model.zookeeper.data_tree import Tree
from cluster_model.zookeeper.messages import Txn
from cluster_model.zookeeper.peers import Sync

COMMIT_LOG_COUNT: Final = 500
"""``ZKDatabase.commitLogCount``."""
_COUNTER_BITS: Final = 32


def first_zxid(epoch: int) -> int:
    """The zxid before the first of an epoch (``ZxidUtils.makeZxid``)."""
    return epoch << _COUNTER_BITS


class Store:
    """One server's. ``tree`` is of ``committed``; the log's entries behind that are proposals."""

    __slots__ = ("_base", "_log", "accepted_epoch", "current_epoch", "tree")

    def __init__(self) -> None:
        self.accepted_epoch = 0
        self.current_epoch = 0
        self.tree = Tree()
        self._base = 0
        """The log holds everything after this zxid."""
        self._log: list[Txn] = []

    def begin(self, epoch: int, tree: tuple[Any, ...]) -> None:
        """Stand with this tree, committed, in this epoch."""
        self.accepted_epoch = self.current_epoch = epoch
        self.tree.load(tree)
        self._base = self.committed

    @property
    def committed(self) -> int:
        """The last zxid that this server has applied."""
        return self.tree.zxid

    @property
    def last_zxid(self) -> int:
        """The last zxid that this server has logged."""
        return self._log[-1].zxid if self._log else self._base

    def append(self, txn: Txn) -> None:
        """Log a proposal, on disk."""
        self._log.append(txn)

    def after(self, zxid: int) -> tuple[Txn, ...]:
        """The log's entries behind a zxid."""
        return tuple(self._log[self._place(zxid) :])

    def _place(self, zxid: int) -> int:
        return bisect_right(self._log, zxid, key=_zxid_of)

    def trim(self) -> None:
        """Forget the oldest of what is committed; seldom, because it costs a copy."""
        if len(self._log) > 2 * COMMIT_LOG_COUNT:
            extra = min(len(self._log) - COMMIT_LOG_COUNT, self._place(self.committed))
            if extra:
                self._base = self._log[extra - 1].zxid
                del self._log[:extra]

    def sync_for(self, join: int, epoch: int, last_zxid: int) -> Sync:
        """What makes the history of a server that ends at ``last_zxid`` this one (``LearnerHandler.syncFollower``)."""
        if last_zxid < self._base:
            entries = self.after(self.committed)
            return Sync(join, epoch, self.committed, self.tree.save(), entries, self.committed)
        place = self._place(last_zxid)
        keep = self._log[place - 1].zxid if place else self._base
        return Sync(join, epoch, keep, (), tuple(self._log[place:]), self.committed)

    def take(self, sync: Sync) -> None:
        """Make another server's history this one's.

        Raises:
            ValueError: it would take back what was committed, which no leader of a majority asks for.
        """
        if sync.snapshot:
            self.tree.load(sync.snapshot)
            self._base = sync.keep
            self._log.clear()
        elif sync.keep < self.committed:
            raise ValueError(f"zxid {self.committed:#x} is committed, and the leader's history ends at {sync.keep:#x}")
        del self._log[self._place(sync.keep) :]
        self._log.extend(sync.entries)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.accepted_epoch, self.current_epoch, self.tree.save(), self._base, tuple(self._log))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.accepted_epoch, self.current_epoch, tree, self._base, log = saved
        self.tree.load(tree)
        self._log = list(log)


def _zxid_of(txn: Txn) -> int:
    return txn.zxid
