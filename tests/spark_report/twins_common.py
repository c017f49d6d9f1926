"""What all plain-Python twins of the report's tables share: a session as they walk over it, and intervals.

Twins are slow and obvious on purpose: one walk over the events with the state spelled out, by what the dictionary of
tables says that a row means. Whatever the windows and joins of the Spark transforms say must be what these say.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.sessions import Row

Found = list[dict[str, Any]]
"""Rows of a table, without the session's id."""


@dataclass(frozen=True)
class History:
    """A recorded session: its events in order, and what else is known of it."""

    rows: Sequence[Row]
    end_us: int
    placed: Mapping[str, list[int]] = field(default_factory=dict)
    min_isr: Mapping[str, int] = field(default_factory=dict)
    controller: str | None = None
    """Who was the active controller as it began; empty for nobody, None where that was not written down."""
    ledger: Mapping[str, int] | None = None
    """As its result gives it; None without a result."""
    bounds: Mapping[str, int] = field(default_factory=dict)
    """How long records of a producer may wait before it is out of service, where that was written down."""

    @property
    def end_seq(self) -> int:
        return int(self.rows[-1]["seq"])

    @property
    def bin_us(self) -> int:
        """The narrowest of 1, 2, 5, 10, 20, ... microseconds of which 240 reach to the session's end."""
        return next(
            width * 10**power for power in range(20) for width in (1, 2, 5) if width * 10**power * 240 >= self.end_us
        )

    def bin_of(self, row: Row) -> int:
        """Where the bin begins in which something happened."""
        return int(row["at_us"]) // self.bin_us * self.bin_us

    def of(self, *kinds: str) -> Iterable[Row]:
        return (row for row in self.rows if row["kind"] in kinds)


Twin = Callable[[History], Found]


class Spells:
    """Intervals in which something held, by key."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._since: dict[Hashable, tuple[int, int, str]] = {}
        self._spans: Found = []

    def set(self, key: tuple[Any, ...], holds: bool, at_us: int, seq: int, label: str) -> None:
        """From here on it holds, or does not; that it goes on as it was is no news."""
        if holds and key not in self._since:
            self._since[key] = (at_us, seq, label)
        elif not holds and key in self._since:
            self._add(key, *self._since.pop(key), at_us, seq, open_=False, ended_by=label)

    def close(self, end_us: int, end_seq: int) -> Found:
        """All of them; what still holds is cut off at the session's end."""
        for key, (began_us, began_seq, began_by) in self._since.items():
            ended = (max(end_us, began_us), max(end_seq, began_seq) + 1)
            self._add(key, began_us, began_seq, began_by, *ended, open_=True, ended_by="")
        self._since = {}
        return self._spans

    def _add(
        self, key: Any, began_us: int, began_seq: int, began_by: str, ended_us: int, ended_seq: int, *, open_: bool,
        ended_by: str,
    ) -> None:  # fmt: skip
        when = {"began_us": began_us, "began_seq": began_seq, "ended_us": ended_us, "ended_seq": ended_seq}
        how = {"open": open_, "began_by": began_by, "ended_by": ended_by, "duration_us": ended_us - began_us}
        self._spans.append({**dict(zip(self._names, key, strict=True)), **when, **how})


def words(kind: str) -> str:
    """A kind of event as labels have it."""
    return kind.replace("_", " ")


def isr_change(row: Row) -> str | None:
    """``shrink``, ``expand``, ``swap`` or None, where only the order is another."""
    left = set(row["previous_isr"]) - set(row["isr"])
    joined = set(row["isr"]) - set(row["previous_isr"])
    if left and joined:
        return "swap"
    return "shrink" if left else "expand" if joined else None


def election(row: Row) -> str | None:
    """``created``, ``clean``, ``unclean`` or ``offline``; None for what is no decision on a leader."""
    if row["kind"] == "partition_offline":
        return "offline"
    if row["kind"] != "leader_elected":
        return None
    if row["leader_epoch"] == 0:
        return "created"
    return "clean" if row["clean"] else "unclean"


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of these columns, in their order."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def records(rows: Iterable[Row], *kinds: str) -> int:
    """The records of the events of these kinds."""
    return sum(row["count"] for row in rows if row["kind"] in kinds)


def times(rows: Iterable[Row], *kinds: str) -> int:
    """How many events of these kinds there are."""
    return sum(row["kind"] in kinds for row in rows)
