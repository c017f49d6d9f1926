"""``flush()`` and ``close(timeout)`` of a producer: everything goes out at once, and somebody waits for it."""

from typing import Any, Final

from cluster_model.clients.producer.delivery_stats import Books
from cluster_model.clients.producer.record_accumulator import Accumulator
from cluster_model.clients.producer.sender import Sender
from cluster_model.kernel.node_context import Port

CLOSE: Final = "close"
"""The timer at which a producer that is closing has waited long enough."""
FORCED: Final = "KafkaException"
"""The error of what is thrown away by a forced close ("Producer is closed forcefully"); Kafka gives it no code."""
FOREVER_US: Final = 1 << 53
"""``close()`` without a timeout waits for so long, at least."""


class Ending:
    """Of one producer. Its one application thread sends nothing while it flushes, so that waits for all there is."""

    __slots__ = ("_accumulator", "_books", "_port", "_sender", "closed", "closing", "flushing")

    def __init__(self, port: Port, accumulator: Accumulator, sender: Sender, books: Books) -> None:
        self._port = port
        self._accumulator = accumulator
        self._sender = sender
        self._books = books
        self.flushing = False
        self.closing = False
        self.closed = False

    @property
    def waits(self) -> bool:
        """Whether somebody waits until nothing is left."""
        return self.flushing or (self.closing and not self.closed)

    def flush(self) -> None:
        """Nothing lingers until all batches have their outcome (``RecordAccumulator.awaitFlushCompletion``)."""
        if self._accumulator.unsettled:
            self.flushing = True
            self._sender.hurry(True)
            self._sender.pump()

    def close(self, timeout_us: int) -> None:
        """Send what is there; what has no outcome after ``timeout_us`` is given up."""
        self.closing = True
        if timeout_us <= 0:
            self._force()
            return
        self._sender.hurry(True)
        self._sender.pump()
        self.look()
        if not self.closed and timeout_us < FOREVER_US:
            self._port.timer(timeout_us, CLOSE)

    def rang(self) -> None:
        """The time for closing is over."""
        if not self.closed:
            self._force()

    def _force(self) -> None:
        self._sender.abort(FORCED)
        self.look()

    def look(self) -> None:
        """Something may have been settled."""
        if self._accumulator.unsettled == 0:
            self.flushing = False
            self.closed = self.closing

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.flushing, self.closing, self.closed)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.flushing, self.closing, self.closed = saved
