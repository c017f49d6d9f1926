"""A producer's requests under way, broker by broker (``InFlightRequests``).

A request for several partitions crosses the network as one message each. It counts once against the limit, and its
answer is there when the last partition's is: no answer is looked at before.
"""

from collections import Counter
from typing import Any

from cluster_model.clients.producer.record_accumulator import Outgoing
from cluster_model.protocol.messages import ProduceResponse

Flight = tuple[int, int, Outgoing, int]
"""(broker, sent at, batch, the request: number of its first message)."""
Answer = tuple[int, Outgoing, ProduceResponse]


class InFlight:
    """Message number → flight, oldest first."""

    __slots__ = ("_held", "counts", "flights", "left")

    def __init__(self) -> None:
        self.flights: dict[int, Flight] = {}
        self.counts: dict[int, int] = {}
        """Broker → requests under way."""
        self.left: dict[int, int] = {}
        """Of the requests for several partitions: how many answers are due."""
        self._held: dict[int, tuple[ProduceResponse, ...]] = {}
        """... and those that are there."""

    def count(self, broker: int) -> int:
        """Requests under way to a broker."""
        return self.counts.get(broker, 0)

    def batches(self) -> list[Outgoing]:
        """Whatever is under way, settled or not."""
        return [flight[2] for flight in self.flights.values()]

    @property
    def oldest(self) -> int:
        """When the oldest request was sent, -1 for none."""
        for flight in self.flights.values():
            return flight[1]
        return -1

    def sent(self, broker: int, now: int, first: int, batches: list[Outgoing]) -> None:
        """A request, its messages numbered from ``first``."""
        self.counts[broker] = self.counts.get(broker, 0) + 1
        for index, batch in enumerate(batches):
            self.flights[first + index] = (broker, now, batch, first)
        if len(batches) > 1:
            self.left[first] = len(batches)
            self._held[first] = ()

    def answered(self, response: ProduceResponse) -> list[Answer]:
        """What has its answer now; nothing for a request that was given up, or that waits for more."""
        flight = self.flights.get(response.correlation)
        if flight is None:
            return []
        broker, _sent_at, _batch, request = flight
        self.left[request] -= 1
        held = self._held[request] = (*self._held[request], response)
        if self.left[request]:
            return []
        del self.left[request], self._held[request]
        self.counts[broker] -= 1
        return [(broker, self.flights.pop(each.correlation)[2], each) for each in held]

    def lost(self, broker: int) -> list[tuple[int, Outgoing]]:
        """The connection is gone: (request, batch) of all that was under way on it."""
        gone = [(number, flight) for number, flight in self.flights.items() if flight[0] == broker]
        for number, flight in gone:
            del self.flights[number]
            self.left.pop(flight[3], None)
            self._held.pop(flight[3], None)
        self.counts.pop(broker, None)
        return [(flight[3], flight[2]) for _number, flight in gone]

    def overdue(self, before: int) -> dict[int, int]:
        """Broker → its oldest request, where that was sent at ``before`` or earlier."""
        late: dict[int, int] = {}
        for broker, sent_at, _batch, request in self.flights.values():
            if sent_at > before:
                break
            late.setdefault(broker, request)
        return late

    def save(self) -> tuple[Any, ...]:
        """All state."""
        flights = tuple(
            [(number, broker, at, batch.save(), request)
             for number, (broker, at, batch, request) in self.flights.items()]
        )  # fmt: skip
        return flights, tuple(self.left.items()), tuple(self._held.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        flights, left, held = saved
        self.flights = {
            number: (broker, at, Outgoing.loaded(batch), request) for number, broker, at, batch, request in flights
        }
        self.left, self._held = dict(left), dict(held)
        requests = dict.fromkeys((flight[0], flight[3]) for flight in self.flights.values())
        self.counts = dict(Counter(broker for broker, _request in requests))
