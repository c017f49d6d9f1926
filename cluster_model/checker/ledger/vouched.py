"""Which ISR stood behind each acknowledgement: one entry while the ISR stays, however many records."""

from typing import Any

Vouching = tuple[int, int, tuple[int, ...]]
"""(start, end, ISR) as of the acknowledgement of these offsets."""


class _Open:
    """Offsets of one stint that the same ISR stands behind so far."""

    __slots__ = ("end", "isr", "start", "stint")

    def __init__(self, stint: int, start: int, end: int, isr: tuple[int, ...]) -> None:
        self.stint = stint
        self.start = start
        self.end = end
        self.isr = isr


class Vouched:
    """By partition and the stint that wrote the records."""

    __slots__ = ("_entries", "_open")

    def __init__(self) -> None:
        self._entries: dict[tuple[str, int], tuple[Vouching, ...]] = {}
        self._open: dict[str, _Open] = {}
        """What is vouched for behind the last entry of one stint of a partition, and goes on: it is entered late."""

    def note(self, partition: str, stint: int, start: int, end: int, isr: tuple[int, ...]) -> None:
        """Records were acknowledged while the leader went by this ISR."""
        run = self._open.get(partition)
        if run is not None:
            if run.end == start and run.stint == stint and run.isr == isr:
                run.end = end
                return
            self._close(partition, run)
        self._open[partition] = _Open(stint, start, end, isr)

    def _close(self, partition: str, run: "_Open") -> None:
        del self._open[partition]
        self._enter((partition, run.stint), run.start, run.end, run.isr)

    def _settle(self) -> None:
        for partition, run in tuple(self._open.items()):
            self._close(partition, run)

    def _enter(self, key: tuple[str, int], start: int, end: int, isr: tuple[int, ...]) -> None:
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
        entries = self.entries(partition, stint)
        return next((isr for start, end, isr in reversed(entries) if start <= offset < end), ())

    def entries(self, partition: str, stint: int) -> tuple[Vouching, ...]:
        """All of a stint's, in the order of their offsets."""
        if self._open:
            self._settle()
        return self._entries.get((partition, stint), ())

    @property
    def count(self) -> int:
        """Entries of all stints."""
        self._settle()
        return sum(map(len, self._entries.values()))

    def forget(self, partition: str) -> None:
        """A partition is gone."""
        self._open.pop(partition, None)
        self._entries = {key: entries for key, entries in self._entries.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        self._settle()
        return tuple(self._entries.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._open = {}
        self._entries = dict(saved)
