"""How long records took to be acknowledged and to be read, by producer and by group."""

from typing import Any

from cluster_model.protocol.events import RecordsAcked, RecordsRead
from cluster_model.util.percentiles import Latencies


class ClientLatencies:
    """Latencies of each record that was acknowledged, since it was sent, and handed out, since it was appended."""

    __slots__ = ("_groups", "_producers", "_whole")

    def __init__(self) -> None:
        self._whole = Latencies()
        """Of all producers together."""
        self._producers: dict[str, Latencies] = {}
        self._groups: dict[str, Latencies] = {}

    def acked(self, event: RecordsAcked) -> None:
        """A producer's records were acknowledged."""
        known = self._producers.get(event.client)
        if known is None:
            known = self._producers[event.client] = Latencies()
        known.add(event.latency_us, event.count)
        self._whole.add(event.latency_us, event.count)

    def read(self, event: RecordsRead) -> None:
        """A consumer was handed records."""
        known = self._groups.get(event.group_id)
        if known is None:
            known = self._groups[event.group_id] = Latencies()
        known.add(event.latency_us, event.count)

    def of_producer(self, producer: str | None) -> Latencies:
        """Of one producer, or of all."""
        return self._whole if producer is None else self._producers.get(producer, _NOTHING)

    def of_group(self, group: str) -> Latencies:
        """Of all consumers of a group."""
        return self._groups.get(group, _NOTHING)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple([(name, known.save()) for name, known in self._producers.items()]),
            tuple([(name, known.save()) for name, known in self._groups.items()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        producers, groups = saved
        self._producers = {name: Latencies(counts) for name, counts in producers}
        self._groups = {name: Latencies(counts) for name, counts in groups}
        self._whole = Latencies()
        for known in self._producers.values():
            self._whole.include(known)


_NOTHING = Latencies()
