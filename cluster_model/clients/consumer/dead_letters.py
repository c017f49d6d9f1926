"""Dead letters: records that a handler cannot process, sent to a topic of their own before anything is committed.

The application has a producer for them, beside its consumer and in the same process. It sends one letter after the
other, each with ``send().get()``: the next step waits for the outcome. If a letter fails, or nobody knows what became
of it, the application goes back to that record, polls it once more, and has its handler try it again, as Spring's
``DefaultErrorHandler`` does when its ``DeadLetterPublishingRecoverer`` throws. So no record is lost: offsets behind it
are committed only after its letter was acknowledged. A letter that was written while nobody was told, or whose record
was not committed before a crash, is written again.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.clients.producer.driven import DrivenProducer
from cluster_model.protocol.events import Event, RecordDeadLettered, RecordsAbandoned
from cluster_model.spec.application import Failing

SUFFIX: Final = ".dead-letter"
"""Behind a member's name: its producer's."""
NOT_SENT: Final = "dead letter not sent"
"""Why an application goes back to a record."""


class LetterProducer(DrivenProducer):
    """The node: a producer that sends one record when it is asked to, and tells whether it was acknowledged."""

    __slots__ = ("_acked_before", "_sending", "told")

    def __init__(self, *parts: Any) -> None:
        """``parts`` are those of every producer."""
        super().__init__(*parts)
        self.told: Callable[[bool], None] = lambda acked: None
        """Called with the outcome."""
        self._sending = False
        self._acked_before = 0

    @property
    def now(self) -> int:
        """Virtual microseconds."""
        return self._port.now

    def send(self) -> None:
        """One record; not before the last one has its outcome."""
        self._sending = True
        self._acked_before = self.acked
        self._hand_over(1, self._port.now)

    def _look(self) -> None:
        """Tell the outcome when it has come: the record waits for nothing any more."""
        if self._sending and not self._held and not self._accumulator.unsettled:
            self._sending = False
            self.told(self.acked > self._acked_before)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (super().save(), self._sending, self._acked_before)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        producer, self._sending, self._acked_before = saved
        super().load(producer)


class DeadLetters:
    """Of one member's application."""

    __slots__ = ("_done", "_emit", "_every", "_left", "_named", "producer")

    def __init__(
        self, producer: LetterProducer, named: tuple[str, str], every: int, emit: Callable[[Event], None]
    ) -> None:
        """``named``: the member's and the group's name; ``every``: the handler fails once in so many offsets."""
        self.producer = producer
        producer.told = self._outcome
        self._named = named
        self._every = every
        self._emit = emit
        self._left: tuple[Failing, ...] = ()
        """What has no letter yet, the one under way first."""
        self._done: Callable[[tuple[Failing, ...]], None] = lambda left: None

    def on_done(self, done: Callable[[tuple[Failing, ...]], None]) -> None:
        """Have ``done`` called at the end of every :meth:`deliver`, with the records that have no letter."""
        self._done = done

    def deliver(self, failing: tuple[Failing, ...]) -> None:
        """Send all of them, one after the other, until one cannot be sent; there is at least one."""
        self._left = failing
        self.producer.send()

    def _outcome(self, acked: bool) -> None:
        now = self.producer.now
        partition, first, count = self._left[0]
        if acked:
            self._emit(RecordDeadLettered(now, *self._named, partition, first, self.producer.spec.topic))
            rest = ((partition, first + self._every, count - 1),) if count > 1 else ()
            self._left = rest + self._left[1:]
            if self._left:
                self.producer.send()
                return
        left, self._left = self._left, ()
        for partition, first, count in left:
            for offset in range(first, first + count * self._every, self._every):
                self._emit(RecordsAbandoned(now, *self._named, partition, offset, 1, NOT_SENT))
        self._done(left)

    def save(self) -> tuple[Any, ...]:
        """All state, the producer's included."""
        return (self._left, self.producer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._left, producer = saved
        self.producer.load(producer)
