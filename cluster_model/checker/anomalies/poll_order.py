"""int-nonmonotonic-poll, int-poll-skip, nonmonotonic-poll, poll-skip: what a process reads goes back, or leaves out.

Inside one operation consecutive values of a key are held against each other (``int-``), and the first value of an
operation against the last one that its process read before. The difference of two values is how many offsets of the
log lie from the one to the other: below 1 it goes back (0: a repeat), above 1 something was left out. Whether a value
that stands at two offsets was read in order is judged by the one where it was read. With its last one, one duplicate
would be told again as a skip and a step back of every reader.

What happens inside an operation is excused by a rebalance that moved the key meanwhile. Across operations a process
that is assigned partitions by a group goes by the group's commits, so there both are legal.
"""

from typing import Any, Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.gaps import Gaps, Step

BACK: Final = "nonmonotonic-poll"
SKIP: Final = "poll-skip"
INSIDE_BACK: Final = f"int-{BACK}"
INSIDE_SKIP: Final = f"int-{SKIP}"


class PollOrder:
    """By process and key the last offset that it was returned, in all operations and in the one at hand."""

    __slots__ = ("_gaps", "_inside", "_last", "_tally")

    def __init__(self, gaps: Gaps, tally: Tally) -> None:
        self._gaps = gaps
        self._tally = tally
        self._last: dict[str, dict[str, int]] = {}
        self._inside: dict[str, dict[str, int]] = {}

    def begin(self, process: str) -> None:
        """What is returned from here on is another operation's."""
        inside = self._inside.get(process)
        if inside:
            inside.clear()

    def polled(
        self, who: tuple[str, str], key: str, start: int, end: int, now: int, *, moved: bool = False, ok: bool = True
    ) -> None:
        """The operation at hand has returned ``[start, end)`` to ``who``: the process, and how it reads.

        ``moved``: a rebalance moved the key meanwhile.
        """
        process = who[0]
        last = self._last.get(process)
        if last is None:
            last, inside = self._last[process], self._inside[process] = {}, {}
        else:
            inside = self._inside[process]
        before = inside.get(key)
        if before is not None:
            if start != before + 1 and not moved:
                self._compare(INSIDE_BACK, INSIDE_SKIP, (*who, key), before, start, now)
        else:
            before = last.get(key)
            if before is not None and start != before + 1:
                self._compare(BACK, SKIP, (*who, key), before, start, now)
        inside[key] = end - 1
        if ok:
            last[key] = end - 1

    def _compare(self, back: str, skip: str, who: tuple[str, str, str], before: int, after: int, now: int) -> None:
        process, manner, key = who
        name = client_of(process)
        if after > before:
            self._gaps.took(Step(skip, name, key, manner, before, after), now)
            return
        words = f"{name} was handed offset {after} of {key} after offset {before}"
        self._tally.note(back, name, key, Example(now, after, before + 1, words), 1, manner)

    def keep(self, process: str, keys: tuple[str, ...]) -> None:
        """An assign or subscribe that succeeded lists these: of others nothing is remembered."""
        last = self._last.get(process, {})
        for key in [key for key in last if key not in keys]:
            del last[key]

    def sought(self, process: str, key: str) -> None:
        """The application itself has gone elsewhere."""
        self._last.get(process, {}).pop(key, None)
        self._inside.get(process, {}).pop(key, None)

    def over(self, process: str) -> None:
        """A process has ended."""
        self._last.pop(process, None)
        self._inside.pop(process, None)

    def forget(self, key: str) -> None:
        """A key is gone."""
        for last in (*self._last.values(), *self._inside.values()):
            last.pop(key, None)

    @property
    def entries(self) -> int:
        """How many offsets are remembered."""
        return sum(map(len, self._last.values()))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(
            tuple([(process, tuple(last.items())) for process, last in known.items()])
            for known in (self._last, self._inside)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        last, inside = saved
        self._last = {process: dict(each) for process, each in last}
        self._inside = {process: dict(each) for process, each in inside}


def client_of(process: str) -> str:
    """The client that a process is one life of: ``billing/0#2`` is ``billing/0``."""
    return process.partition("#")[0]
