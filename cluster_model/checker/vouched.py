"""Which ISR stood behind each acknowledgement: one entry while the ISR stays, however many records."""

from typing import Any

Vouching = tuple[int, int, tuple[int, ...]]
"""(start, end, ISR) as of the acknowledgement of these offsets."""


class Vouched:
    """By partition and the stint that wrote the records."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[tuple[str, int], tuple[Vouching, ...]] = {}

    def note(self, partition: str, stint: int, start: int, end: int, isr: tuple[int, ...]) -> None:
        """Records were acknowledged while the leader went by this ISR."""
        key = (partition, stint)
        known = self._entries.get(key, ())
        if known:
            first, last, stood = known[-1]
            if last == start and stood == isr:
                self._entries[key] = ((first, end, isr),) if len(known) == 1 else (*known[:-1], (first, end, isr))
                return
        entries = list(known)
        place = len(entries)
        while place and entries[place - 1][0] > start:  # acknowledgements overtake each other, but not by far
            place -= 1
        if place < len(entries) and (entries[place][0], entries[place][2]) == (end, isr):
            end = entries.pop(place)[1]
        if place and entries[place - 1][1:] == (start, isr):
            place -= 1
            start = entries.pop(place)[0]
        entries.insert(place, (start, end, isr))
        self._entries[key] = tuple(entries)

    def isr_at(self, partition: str, stint: int, offset: int) -> tuple[int, ...]:
        """The ISR behind a record, empty for one that was never acknowledged."""
        entries = self._entries.get((partition, stint), ())
        return next((isr for start, end, isr in reversed(entries) if start <= offset < end), ())

    def entries(self, partition: str, stint: int) -> tuple[Vouching, ...]:
        """All of a stint's, in the order of their offsets."""
        return self._entries.get((partition, stint), ())

    @property
    def count(self) -> int:
        """Entries of all stints."""
        return sum(map(len, self._entries.values()))

    def forget(self, partition: str) -> None:
        """A partition is gone."""
        self._entries = {key: entries for key, entries in self._entries.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._entries.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._entries = dict(saved)
