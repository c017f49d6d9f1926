"""How a producer's life goes: it begins, flushes, stops, is closed, or is killed and followed by another process."""

from collections import deque
from typing import Final

from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.delivery_stats import Counted
from cluster_model.clients.producer.ending import FORCED, FOREVER_US, Ending
from cluster_model.clients.producer.partition_selector import Destinations
from cluster_model.clients.producer.sender import Sender
from cluster_model.clients.workload import Pacing
from cluster_model.kernel.node_context import Port
from cluster_model.log.keys import Hot
from cluster_model.protocol.messages import PartitionState
from cluster_model.spec.cluster_spec import ProducerSpec

STOP: Final = "stop"
"""The timer at which an application stops that closes its producer then."""
Unconfirmed = tuple[str, int, int]
"""(partition, number of the first, how many) of records whose application was never told what became of them."""


class Lifetime(Counted):
    """Of one process; the records that it sends meanwhile are another matter."""

    __slots__ = (
        "_blocked_at", "_ending", "_flushed", "_held", "_late", "_metadata", "_owed", "_pace", "_places", "_port",
        "_running", "_sender", "_serialized", "_spec", "_sync", "_waits",
    )  # fmt: skip

    _ending: Ending
    _metadata: Metadata
    _pace: Pacing
    _places: Destinations
    _port: Port
    _sender: Sender
    _spec: ProducerSpec
    _sync: bool
    _running: bool
    _waits: bool
    """Whether an outcome may let the application go on."""
    _flushed: int
    """Records that were sent before the newest flush."""
    _serialized: int
    """Records that the serializer has seen, where it may refuse some."""
    _blocked_at: int
    """Since when the application waits in ``send``, -1 if it does not."""
    _held: deque[tuple[str, int]]
    """Records that wait for memory, and those behind them: partition and how many, in order. Where they wait for
    metadata it is the topic."""
    _owed: int
    """Records that were made and not handed over yet, because each waits for the one before it."""
    _late: bool
    """The time for the next records came while the application was waiting for an outcome."""

    @property
    def in_flight(self) -> int:
        """Batches under way."""
        return sum(not batch.done for batch in self._sender.flight.batches())

    @property
    def metadata(self) -> Metadata:
        """What it has been told of the cluster."""
        return self._metadata

    def begin(self, states: tuple[PartitionState, ...]) -> None:
        """Start with knowledge of the cluster's first instant; with none if it starts later."""
        self._metadata.begin(states)
        self._sender.begin()
        self._pace.begin()
        if self._spec.close_us >= 0 and self._spec.stop_us >= 0:
            self._port.timer(max(0, self._spec.stop_us - self._port.now), STOP)

    def pace(self, ppm: int) -> None:
        """The application makes records at so many millionths of its usual pace."""
        self._pace.pace(ppm)

    def heat(self, hot: Hot) -> None:
        """The application gives some keys so many of its records, where it sends records by their keys."""
        self._places.heat(hot)

    @property
    def keyed(self) -> bool:
        """Whether records go by their keys."""
        return self._places.keyed

    def awaits(self, number: int) -> bool:
        """Whether the answer to that message is still waited for."""
        return number in self._sender.flight.flights

    def died(self) -> tuple[Unconfirmed, ...]:
        """The process was killed. What its application had not been told the outcome of, in the order of sending."""
        now = self._port.now
        batches = self._sender.unsettled()
        for batch in batches:
            self._books.died(now, batch)
        return tuple([(batch.partition, batch.sequence, batch.records) for batch in batches])

    def succeed(self, former: "Lifetime") -> None:
        """Be the next process of the same application: of the former one it has nothing but what is counted."""
        self._books.load(former._books.save())
        self._metadata.old.load(former._metadata.old.save())
        self._accumulator.number_on(former._accumulator)
        self._flushed, self._serialized = self._books.sent, former._serialized

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """The machine's clock was set: ``delivery.timeout.ms`` and timestamps go by it."""
        if by and runs:
            self._sender.clock_stepped(by)

    def send_again(self, records: tuple[Unconfirmed, ...]) -> None:
        """``send`` what an earlier process was not told the outcome of, under the numbers that it had there."""
        now = self._port.now
        for partition, number, count in records:
            self._accumulator.again(partition, number, count, now)
            self._books.made(now, partition, number, count)
        self._sender.pump()

    def stop(self) -> None:
        """Make no more records; what is on its way goes on, or is waited for if the producer is to be closed."""
        self._running = False
        if self._spec.close_us >= 0:
            self._port.timer(0, STOP)

    def flush(self) -> None:
        """Send everything at once; the application sends nothing until all of it has its outcome."""
        self._ending.flush()
        self._waits = self._sync or bool(self._held) or self._ending.waits

    def close(self, timeout_us: int = FOREVER_US) -> None:
        """``close(timeout)``: send what there is, and fail what has no outcome by then; 0 waits for nothing.

        Nobody sends any more: whoever waits in ``send`` gets an exception. A second call changes nothing.
        """
        self._running = False
        if self._ending.closing:
            return
        self._refuse_held(FORCED)
        self._owed = 0
        self._late = False
        self._ending.close(timeout_us)
        self._waits = self._ending.waits

    def _refuse_held(self, error: str) -> None:
        """Whoever waits in ``send`` gets an exception, and so does what would have been sent next."""
        now = self._port.now
        held = list(self._held)
        self._held.clear()
        for partition, count in held:
            self._books.never_taken(now, partition, count + self._owed, error, now - self._blocked_at)
            self._owed = 0

    @property
    def closed(self) -> bool:
        """Whether it has been closed, and has nothing more to do."""
        return self._ending.closed
