"""Two branches at one instant: the numbers of both beside each other, those that differ marked."""

from collections.abc import Callable
from typing import Final, TypeVar

from cluster_model.observation.views import ClusterView, PartitionView
from tui.terminal.format import clock
from tui.viewmodel.row import Row

LABEL: Final = 22
COLUMN: Final = 18
FIRST: Final = 6
"""Of the numbers of the whole cluster, how many stand before those of the partition."""

T = TypeVar("T")

_OF_PARTITION: Final[tuple[tuple[str, Callable[[PartitionView], str]], ...]] = (
    ("leader", lambda each: f"b{each.leader} epoch {each.leader_epoch}" if each.leader >= 0 else "none"),
    ("in sync", lambda each: f"{len(each.isr)} of {len(each.assignment)}: {','.join(map(str, each.isr)) or 'none'}"),
    ("high watermark", lambda each: str(each.hw)),
    ("log end", lambda each: str(each.leo)),
)
_OF_CLUSTER: Final[tuple[tuple[str, Callable[[ClusterView], int]], ...]] = (
    ("acked lost", lambda view: view.ledger.acked_lost),
    ("acked missing", lambda view: view.ledger.missing),
    ("acked", lambda view: view.ledger.acked),
    ("failed", lambda view: view.ledger.failed),
    ("unknown", lambda view: view.ledger.unknown),
    ("broken rules", lambda view: view.violations),
    ("under-replicated", lambda view: sum(each.under_replicated for each in view.partitions)),
    ("offline", lambda view: sum(each.offline for each in view.partitions)),
    ("duplicates", lambda view: view.ledger.duplicates),
    ("faults active", lambda view: len(view.faults)),
    ("sent", lambda view: view.ledger.sent),
)


def partition_of(view: ClusterView, name: str) -> PartitionView | None:
    """The partition of a name, None where there is none."""
    return next((each for each in (*view.partitions, *view.internal) if each.name == name), None)


def rows(views: tuple[ClusterView, ClusterView | None], names: tuple[str, str], partition: str) -> list[Row]:
    """All numbers, the weightiest first; of a branch that has not come so far (None) there are none."""
    heading = Row(((" " * LABEL, "text"), *[(f"{name:>{COLUMN}}", "strong") for name in names]))
    books = [_row(label, [_of(of, view) for view in views]) for label, of in _OF_CLUSTER]
    found = [None if view is None else partition_of(view, partition) for view in views]
    log = [_row(label, [_of(of, each) for each in found]) for label, of in _OF_PARTITION]
    return [heading, *books[:FIRST], *log, *books[FIRST:]]


def _of(of: Callable[[T], object], what: T | None) -> str:
    return "-" if what is None else str(of(what))


def _row(label: str, both: list[str]) -> Row:
    differs = both[0] != both[1] and "-" not in both
    role = "warning" if differs else "text"
    numbers = [(f"{each:>{COLUMN}}", role) for each in both]
    return Row(((f"{label:<{LABEL}}", "quiet"), *numbers, ("  differs" if differs else "", "warning")))


def not_so_far(letter: str, at_us: int, come_us: int) -> str:
    """Why nothing is shown of a branch."""
    return f"{letter} has come to {clock(come_us)} only, and this is {clock(at_us)}"
