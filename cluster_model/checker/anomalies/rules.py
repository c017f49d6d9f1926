"""consume-dup: a process of a group is returned a value more than once, over all its operations that were ok."""

from typing import Any, Final

from cluster_model.checker.anomalies.anomaly_case import Example, Tally
from cluster_model.checker.anomalies.index import Facts, Place
from cluster_model.checker.anomalies.poll_order import client_of
from cluster_model.util.spans import Spans, load_all, put_at, save_all

NAME: Final = "consume-dup"

_Who = tuple[str, str]
"""(process, key)."""


class Consumed:
    """By process and key the offsets that it was returned, and those that it was returned again."""

    __slots__ = ("_again", "_facts", "_once")

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._once: dict[_Who, dict[int, Spans]] = {}
        self._again: dict[_Who, dict[int, Spans]] = {}

    def polled(self, process: str, key: str, strand: int, start: int, end: int) -> None:
        """A process was returned ``[start, end)`` of a strand."""
        by_strand = self._once.get((process, key))
        if by_strand is None:
            by_strand = self._once[process, key] = {}
        spans = by_strand.get(strand)
        if spans is None:
            spans = by_strand[strand] = Spans()
        elif spans.ends and spans.ends[-1] == start:
            spans.ends[-1] = end
            return
        if not spans.ends or start >= spans.ends[-1]:
            self._facts.key(key).put(by_strand, strand, start, end)
            return
        for low, high in spans.within(start, end):
            put_at(self._again.setdefault((process, key), {}), strand, low, high)
        spans.add(start, end)

    def given_back(self, process: str, key: str, start: int, end: int) -> None:
        """The application has not processed these, and asks for them again."""
        for strand, spans in self._once.get((process, key), {}).items():
            left = Spans()
            gone = Spans()
            gone.add(start, end)
            for part in spans.minus(gone):
                left.add(*part)
            self._once[process, key][strand] = left

    def find(self, tally: Tally, now: int, only: str = "") -> None:
        """Count values per process, of all keys or of one."""
        for process, key in self._once:
            if only not in ("", key):
                continue
            again = self._again.get((process, key), {})
            if self._facts.key(key).doubles:
                self._by_value((process, key), again, tally, now)
            else:
                for strand, spans in again.items():
                    for low, high in spans.ranges():
                        for run in self._facts.key(key).payload(key, strand, low, high):
                            self._tell(tally, (process, key), Place(*run[1:], strand, run[0]), now)

    def _by_value(self, who: _Who, again: dict[int, Spans], tally: Tally, now: int) -> None:
        """Where a value may stand in several places, each counts once."""
        process, key = who
        facts = self._facts.key(key)
        found: dict[tuple[str, int], Place] = {}
        for strand, spans in again.items():
            for low, high in spans.ranges():
                for offset, client, sequence, count in facts.payload(key, strand, low, high):
                    for index in range(count):
                        place = Place(client, sequence + index, 1, strand, offset + index)
                        found.setdefault((client, sequence + index), place)
        known: dict[tuple[str, int], None] = {}
        for place in facts.places(facts.doubles, self._once[who]):
            for index in range(place.size):
                value = (place.client, place.sequence + index)
                if value in known:
                    found.setdefault(value, Place(*value, 1, place.strand, place.offset + index))
                known[value] = None
        for place in found.values():
            self._tell(tally, (process, key), place, now)

    def _tell(self, tally: Tally, who: _Who, place: Place, now: int) -> None:
        process, key = who
        name = client_of(process)
        end = place.sequence + place.size
        words = f"{name} was handed records {place.sequence} to {end - 1} of {place.client} more than once"
        example = Example(now, place.offset, place.offset + place.size, words)
        tally.note(NAME, name, key, example, place.size)

    def forget(self, key: str) -> None:
        """A key is gone."""
        self._once = {who: spans for who, spans in self._once.items() if who[1] != key}
        self._again = {who: spans for who, spans in self._again.items() if who[1] != key}

    @property
    def entries(self) -> int:
        """How many ranges are kept."""
        kept = (*self._once.values(), *self._again.values())
        return sum(len(spans.starts) for by_strand in kept for spans in by_strand.values())

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(
            tuple([(who, save_all(by_strand)) for who, by_strand in kept.items()]) for kept in (self._once, self._again)
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        once, again = saved
        self._once = {who: load_all(by_strand) for who, by_strand in once}
        self._again = {who: load_all(by_strand) for who, by_strand in again}
