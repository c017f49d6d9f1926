"""Steps over offsets that nobody has seen so far: whether they skip anything is known when somebody sees some of them.

Markers of transactions and aborted data leave holes that are nobody's loss, so a step over unseen offsets is in doubt.
The log only grows: a step is a skip as soon as anything between is seen, and is dropped from here; whatever is left at
the end went over holes. What is known to be markers is nobody's loss, and no doubt: also if another
leader writes there later.
"""

from typing import Any, NamedTuple

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import Facts, values_between
from cluster_model.checker.anomalies.operations import COMMITTED, FAIL


class Step(NamedTuple):
    """From one offset of a key to another that is not the next."""

    name: str
    who: str
    key: str
    manner: str
    source: int
    target: int


class Gaps:
    """Steps in doubt, and how often each was taken."""

    __slots__ = ("_facts", "_waiting", "tally")

    def __init__(self, facts: Facts, tally: Tally) -> None:
        self._facts = facts
        self.tally = tally
        self._waiting: dict[Step, tuple[int, int]] = {}
        """Step → how often, and when first."""

    def took(self, step: Step, now: int) -> None:
        """Somebody went from an offset to one further up."""
        if COMMITTED not in step.manner and self._skipped(step):
            self._tell(self.tally, step, 1, now)
        elif not self._over_markers(step):
            count, first = self._waiting.get(step, (0, now))
            self._waiting[step] = (count + 1, first)

    def _over_markers(self, step: Step) -> bool:
        """Whether it is known by now that there is nothing but markers between."""
        facts, gap = self._facts.key(step.key), (step.source + 1, step.target)
        return facts.seen.within(*gap) == [gap] and not values_between(facts, *gap)

    def _skipped(self, step: Step) -> int:
        """How many offsets of the log a step leaves out.

        Who reads committed data only leaves out what was aborted, which others may have seen: that is no loss.
        """
        facts = self._facts.key(step.key)
        wanted, failed = 0, facts.ended[FAIL] if COMMITTED in step.manner else {}
        for low, high in facts.seen.within(step.source + 1, step.target):
            for _offset, client, sequence, count in values_between(facts, low, high):
                known = failed.get(client)
                gone = known.within(sequence, sequence + count) if known else []
                wanted += count - sum(last - first for first, last in gone)
        return wanted

    def _tell(self, tally: Tally, step: Step, count: int, now: int) -> None:
        skipped = self._skipped(step)
        words = f"{step.who} went from offset {step.source} to {step.target} of {step.key}, over {skipped} records"
        tally.note(step.name, step.who, step.key, Example(now, step.source, step.target, words), count, step.manner)

    def decide(self, tally: Tally) -> None:
        """Count those of which it is known by now."""
        for step, (count, first) in self._waiting.items():
            if self._skipped(step):
                self._tell(tally, step, count, first)

    def forget(self, key: str) -> None:
        """A key is gone: nobody will see more of it."""
        self._waiting = {step: counted for step, counted in self._waiting.items() if step.key != key}

    @property
    def entries(self) -> int:
        """How many are in doubt."""
        return len(self._waiting)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._waiting.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._waiting = dict(saved)
