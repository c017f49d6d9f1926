"""What a log does not tell of itself later: when its records were acknowledged, and when replicas cut it."""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

KEEP: Final = 4096
"""Acknowledgements kept of each partition, the newest: each is of a batch."""
CUTS: Final = 64
"""Truncations kept of each partition."""


class Cut(NamedTuple):
    """A replica dropped ``[start, end)`` of its log."""

    at_us: int
    broker: int
    start: int
    end: int
    rule: str


class LogBook:
    """Takes trace events in order."""

    def __init__(self) -> None:
        self._acked: dict[str, deque[tuple[int, int, int, int]]] = {}
        """Partition → (stint, start, end, when)."""
        self._cuts: dict[str, deque[Cut]] = {}

    def take(self, events: Iterable[Any]) -> None:
        """Note what concerns logs."""
        for event in events:
            kind = event.kind
            if kind == "records_acked":
                if event.stint >= 0:
                    start = event.log_offset
                    entry = (event.stint, start, start + event.count, event.at_us)
                    self._acked.setdefault(event.partition, deque(maxlen=KEEP)).append(entry)
            elif kind == "truncated" and event.end_offset > event.log_offset:
                cut = Cut(event.at_us, event.broker, event.log_offset, event.end_offset, event.rule)
                self._cuts.setdefault(event.partition, deque(maxlen=CUTS)).append(cut)
            elif kind == "partition_deleted":
                self._acked.pop(event.partition, None)
                self._cuts.pop(event.partition, None)

    def acked_us(self, partition: str, stint: int, offset: int) -> int:
        """When a record was acknowledged, -1 where that is not known (any more)."""
        for owner, start, end, at_us in reversed(self._acked.get(partition, ())):
            if owner == stint and start <= offset < end:
                return at_us
        return -1

    def cuts(self, partition: str, until_us: int) -> tuple[Cut, ...]:
        """Truncations of a partition's replicas up to a time, the newest first."""
        return tuple(cut for cut in reversed(self._cuts.get(partition, ())) if cut.at_us <= until_us)
