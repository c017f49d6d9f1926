"""An application's record handler: processing time, failures, dead-letter records and unprocessed records.

A record that the application's own rule cannot process fails in every consumer. Faults add further failures: a *poison*
record fails every time, otherwise each attempt fails at random. The application then applies its error policy
(:class:`~cluster_model.spec.cluster_spec.Application`), unless the fault overrides it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from cluster_model.clients.consumer.fetcher import PolledRecords
from cluster_model.clients.producer.application_producers import DrivenProducer
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.events import Event, RecordDeadLettered, RecordsAbandoned
from cluster_model.spec.cluster_spec import Application, Failing, ProducerSpec
from cluster_model.util.deterministic_math import mix64, number_of

# Dead-letter records: those that a handler cannot process, sent to a dead-letter topic before their offsets are
# committed.
#
# The application has a producer for them in the same process as its consumer. It sends one dead-letter record after the
# other with ``send().get()``, waiting for each outcome. If a send fails or its outcome is unknown, the application goes
# back to that record, polls it again, and has its handler try it again, as Spring's ``DefaultErrorHandler`` does when
# its ``DeadLetterPublishingRecoverer`` throws. So no record is lost: offsets after it are committed only after its
# dead-letter record was acknowledged. A dead-letter record that was written without an acknowledgement, or whose
# original was not committed before a crash, is written again.


SUFFIX: Final = ".dead-letter"
"""Suffix of the producer's name after the name of the group member."""
NOT_SENT: Final = "dead-letter record not sent"
"""Reason for abandoning a record, to which the application then goes back."""


class DeadLetterProducer(DrivenProducer):
    """Producer of dead-letter records: it sends one record per :meth:`send` and reports whether it was acknowledged."""

    __slots__ = ("_acked_before", "_sending", "on_outcome")

    def __init__(
        self,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: RandomStream,
        partitioning: RandomStream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """Make it with the parameters of every producer."""
        super().__init__(port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
        self.on_outcome: Callable[[bool], None] = lambda acked: None
        """Called with the outcome of every :meth:`send`: whether the record was acknowledged."""
        self._sending = False
        self._acked_before = 0

    @property
    def now(self) -> int:
        """Virtual microseconds."""
        return self._port.now

    def send(self) -> None:
        """Send one record; the previous one must have its outcome."""
        self._sending = True
        self._acked_before = self.acked
        self._hand_over(1, self._port.now)

    def _proceed(self) -> None:
        """Report the outcome of the record once it has one."""
        if self._sending and not self._held and not self._accumulator.incomplete:
            self._sending = False
            self.on_outcome(self.acked > self._acked_before)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (super().save(), self._sending, self._acked_before)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        producer, self._sending, self._acked_before = saved
        super().load(producer)


class DeadLetters:
    """Dead-letter records of one member's application, sent one after the other."""

    __slots__ = ("_done", "_emit", "_every", "_left", "_named", "producer")

    def __init__(
        self, producer: DeadLetterProducer, named: tuple[str, str], every: int, emit: Callable[[Event], None]
    ) -> None:
        """Make it; ``named`` is (member, group); the handler fails for one in ``every`` offsets."""
        self.producer = producer
        producer.on_outcome = self._outcome
        self._named = named
        self._every = every
        self._emit = emit
        self._left: tuple[Failing, ...] = ()
        """Records not yet in the dead-letter topic, the one in flight first."""
        self._done: Callable[[tuple[Failing, ...]], None] = lambda left: None

    def on_done(self, done: Callable[[tuple[Failing, ...]], None]) -> None:
        """Call ``done`` at the end of every :meth:`deliver`, with the records that are not in the topic."""
        self._done = done

    def deliver(self, failing: tuple[Failing, ...]) -> None:
        """Send dead-letter records for ``failing`` (not empty) one after the other, until one fails."""
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
        """Return all state, including that of the producer."""
        return (self._left, self.producer.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._left, producer = saved
        self.producer.load(producer)


# Records that were polled and not yet processed: in the poll loop, or queued for another thread.


Left = tuple[str, int, int]
"""(partition, first offset, count)."""


class PolledUnprocessed:
    """Polled, unprocessed records: those of the last poll, and those queued for another thread with their end times."""

    __slots__ = ("_polled", "_queued")

    def __init__(self) -> None:
        self._polled: tuple[Left, ...] = ()
        self._queued: tuple[tuple[int, Left], ...] = ()

    def take(self, polled: Iterable[PolledRecords]) -> None:
        """Set the records of the last poll."""
        self._polled = tuple([(each.partition, each.start, each.records) for each in polled])

    def mark_processed(self) -> None:
        """Remove the records of the last poll, which were processed."""
        self._polled = ()

    def keep(self, left: tuple[Left, ...]) -> None:
        """Keep only these records of the last poll as unprocessed."""
        self._polled = left

    def pass_on(self, now: int, duration_us: int) -> None:
        """Queue the records of the last poll for another thread, which processes them in ``duration_us``."""
        self._queued = tuple([each for each in self._queued if each[0] > now])
        done_at = max([now, *[at for at, _left in self._queued]]) + duration_us
        self._queued += tuple([(done_at, left) for left in self._polled])
        self._polled = ()

    def unprocessed(self, now: int) -> tuple[Left, ...]:
        """Return the records not yet processed."""
        return self._polled + tuple([left for at, left in self._queued if at > now])

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._polled, self._queued)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._polled, self._queued = saved


CONFIGURED: Final = "usual"
RETRY: Final = "retry"
SKIP: Final = "skip"
CRASH: Final = "crash"
CLOSE: Final = "close"
DEAD_LETTER: Final = "dead_letter"
REACTIONS: Final = {
    CONFIGURED: "apply the application's configured policy: its retries, then its dead-letter topic, else leave the "
    "record unprocessed",
    RETRY: "seek back to the record and poll it again without limit; later records of its partition wait",
    SKIP: "leave the record unprocessed at once",
    CRASH: "the exception ends the process without a further commit",
    CLOSE: "the exception ends the poll loop and the consumer is closed, which commits the polled offsets if automatic "
    "commits are enabled",
    DEAD_LETTER: "send the record to the dead-letter topic at once",
}
"""Reactions of an application to a failed handler, with their descriptions."""
THROWN: Final = "HandlerException"
"""Exception that ends such an application."""
HANDLER_FAILED: Final = "handler failed"
"""Reason for abandoning records to which the application then goes back."""

WHOLE: Final = 1_000_000


class HandlerFault(NamedTuple):
    """Fault of a handler: it fails for ``share_ppm`` of a million records, always the same ones if ``poison``."""

    share_ppm: int
    poison: bool
    then: str
    pause_us: int
    """Delay from a failure until the record is polled again."""


class RecordHandler:
    """The record handler of one member's application; fields set by faults are saved by the cluster, not here."""

    __slots__ = (
        "_by_rule", "_draws", "_group", "_more_us", "_taken", "application", "ended_by", "factor_ppm", "failing",
        "faults", "left", "skipped", "slower_us", "stall_us",
    )  # fmt: skip

    def __init__(self, application: Application, name: str, group: str, seed: int) -> None:
        """Make it; ``seed`` is the session's."""
        self.application = application
        self._draws = number_of(f"{seed}/handler:{name}")
        self._group = f"{seed}/{group}/"
        self.stall_us = 0
        """Time added by faults to each poll."""
        self.slower_us = 0
        """Time added by faults to each record."""
        self.factor_ppm = WHOLE
        """Factor of the time per record set by faults, in millionths."""
        self.faults: tuple[HandlerFault, ...] = ()
        self.failing: tuple[Failing, ...] = ()
        """Records that it failed to process, for the configured policy."""
        self.skipped: tuple[Failing, ...] = ()
        """Records left unprocessed because of a fault, whatever the configured policy is."""
        self.ended_by = ""
        """:data:`RETRY`, :data:`CRASH` or :data:`CLOSE` if the handler's exception ends the processing of this poll."""
        self.left: tuple[Left, ...] = ()
        """Records then left unprocessed, the failed one first."""
        self._taken = 0
        self._by_rule = 0
        self._more_us = 0

    def take(self, polled: Sequence[PolledRecords], number: int) -> None:
        """Determine the outcome of the records of a poll; ``number`` were polled before, by all processes."""
        self.skipped, self.ended_by, self.left, self._more_us = (), "", (), 0
        self._taken = sum(each.records for each in polled)
        failed: list[Failing] = []
        if self.faults:
            polled = self._apply_faults(polled, number, failed)
        rule = self.application.failing
        found = [each for each in [rule(each.partition, each.start, each.last) for each in polled] if each is not None]
        self._by_rule = sum(count for _partition, _first, count in found)
        self.failing = (*found, *failed)

    def _apply_faults(self, polled: Sequence[PolledRecords], number: int, failed: list[Failing]) -> list[PolledRecords]:
        """Apply the faults to the records of a poll; return those processed before an exception ends it, or all."""
        skipped: list[Failing] = []
        reached: list[PolledRecords] = []
        for index, each in enumerate(polled):
            for offset in range(each.start, each.last + 1):
                number += 1
                then, pause_us = self._reaction(each.partition, offset, number)
                if then in (CONFIGURED, DEAD_LETTER):
                    failed.append((each.partition, offset, 1))
                elif then == SKIP:
                    skipped.append((each.partition, offset, 1))
                elif then:
                    done = min(each.records, offset - each.start)
                    if done:
                        reached.append(each._replace(records=done, last=offset - 1))
                    first = (each.partition, offset, each.records - done or 1)
                    self.left = (first, *[(one.partition, one.start, one.records) for one in polled[index + 1 :]])
                    self._taken = sum(one.records for one in reached) + 1
                    self.ended_by, self.skipped = then, tuple(skipped)
                    self._more_us += pause_us if then == RETRY else 0
                    return reached
            reached.append(each)
        self.skipped = tuple(skipped)
        return reached

    def _reaction(self, partition: str, offset: int, number: int) -> tuple[str, int]:
        """Return (reaction, delay) for a record that a fault makes the handler fail for; "" if it is processed."""
        every = self.application.fails
        if every and offset % every == every - 1:
            return "", 0
        for trouble in self.faults:
            if self._fails(trouble, partition, offset, number, 0):
                if trouble.then != CONFIGURED:
                    return trouble.then, trouble.pause_us
                if self._retried_in_vain(trouble, partition, offset, number):
                    return CONFIGURED, 0
        return "", 0

    def _retried_in_vain(self, trouble: HandlerFault, partition: str, offset: int, number: int) -> bool:
        """Retry as often as configured, which takes time; return whether all retries failed."""
        application = self.application
        attempt = 1
        while attempt <= application.retries:
            self._more_us += application.pause_us + self.record_us
            if not self._fails(trouble, partition, offset, number, attempt):
                return False
            attempt += 1
        return True

    def _fails(self, trouble: HandlerFault, partition: str, offset: int, number: int, attempt: int) -> bool:
        if trouble.poison:
            drawn = mix64(number_of(self._group + partition) + offset)
        else:
            drawn = mix64(mix64(self._draws + number) + attempt)
        return drawn * WHOLE >> 64 < trouble.share_ppm

    @property
    def record_us(self) -> int:
        """Processing time per record."""
        return self.application.processing_us * self.factor_ppm // WHOLE + self.slower_us

    def duration(self) -> int:
        """Return the processing time of the records of the poll."""
        application = self.application
        tried = self._by_rule * application.retries * (application.pause_us + self.record_us)
        return self._taken * self.record_us + tried + self._more_us + self.stall_us

    @property
    def processed(self) -> int:
        """Number of records of the poll that were processed."""
        unprocessed = sum(count for _partition, _first, count in (*self.failing, *self.skipped))
        return max(0, self._taken - unprocessed)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self._taken, self.failing, self.skipped, self.ended_by, self.left, self._by_rule, self._more_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._taken, self.failing, self.skipped, self.ended_by, self.left, self._by_rule, self._more_us = saved
