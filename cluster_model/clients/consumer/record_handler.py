"""An application's handler of records: its time, its failures, dead letters, and records not yet processed.

A record that the application's own rule cannot process fails for whoever reads it. Faults add to that: *poison* is in
the record, and fails every time; otherwise every attempt is drawn anew. What the application does then is its policy
(:class:`~cluster_model.spec.cluster_spec.Application`), unless the fault says otherwise.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from cluster_model.clients.consumer.fetcher import PolledRecords
from cluster_model.clients.producer.application_producers import DrivenProducer
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import Stream
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.events import Event, RecordDeadLettered, RecordsAbandoned
from cluster_model.spec.cluster_spec import Application, Failing, ProducerSpec
from cluster_model.util.deterministic_math import mixed, number_of

# Dead letters: records that a handler cannot process, sent to a topic of their own before anything is committed.
#
# The application has a producer for them, beside its consumer and in the same process. It sends one letter after the
# other, each with ``send().get()``: the next step waits for the outcome. If a letter fails, or nobody knows what
# became of it, the application goes back to that record, polls it once more, and has its handler try it again, as
# Spring's ``DefaultErrorHandler`` does when its ``DeadLetterPublishingRecoverer`` throws. So no record is lost:
# offsets behind it are committed only after its letter was acknowledged. A letter that was written while nobody was
# told, or whose record was not committed before a crash, is written again.


SUFFIX: Final = ".dead-letter"
"""Behind a member's name: its producer's."""
NOT_SENT: Final = "dead letter not sent"
"""Why an application goes back to a record."""


class LetterProducer(DrivenProducer):
    """The node: a producer that sends one record when it is asked to, and tells whether it was acknowledged."""

    __slots__ = ("_acked_before", "_sending", "told")

    def __init__(
        self,
        port: NodeContext,
        spec: ProducerSpec,
        config: ProducerConfig,
        brokers: tuple[int, ...],
        emit: Callable[[Event], None],
        jitter: Stream,
        partitioning: Stream,
        keys: ProducerKeys | None = None,
        seed: int = 0,
    ) -> None:
        """The parameters are those of every producer."""
        super().__init__(port, spec, config, brokers, emit, jitter, partitioning, keys, seed)
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


# Records that an application fetched and has not processed: in its poll loop, or queued for another thread.


Left = tuple[str, int, int]
"""(partition, first offset, how many)."""


class InHand:
    """Records of the last poll, and those that another thread is to process, with the time at which it will have."""

    __slots__ = ("_polled", "_queued")

    def __init__(self) -> None:
        self._polled: tuple[Left, ...] = ()
        self._queued: tuple[tuple[int, Left], ...] = ()

    def take(self, handed: Iterable[PolledRecords]) -> None:
        """A poll has ended with these."""
        self._polled = tuple([(each.partition, each.start, each.records) for each in handed])

    def done(self) -> None:
        """They have been processed."""
        self._polled = ()

    def keep(self, left: tuple[Left, ...]) -> None:
        """Of the last poll's only these have not been processed."""
        self._polled = left

    def pass_on(self, now: int, duration_us: int) -> None:
        """Queue them for another thread, which takes so long for them when it comes to them."""
        self._queued = tuple([each for each in self._queued if each[0] > now])
        done_at = max([now, *[at for at, _left in self._queued]]) + duration_us
        self._queued += tuple([(done_at, left) for left in self._polled])
        self._polled = ()

    def left(self, now: int) -> tuple[Left, ...]:
        """What has not been processed."""
        return self._polled + tuple([left for at, left in self._queued if at > now])

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._polled, self._queued)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._polled, self._queued = saved


USUAL: Final = "usual"
RETRY: Final = "retry"
SKIP: Final = "skip"
CRASH: Final = "crash"
CLOSE: Final = "close"
DEAD_LETTER: Final = "dead_letter"
THEN: Final = {
    USUAL: "as it is configured: its retries, then its dead-letter topic, or else the record is left unprocessed",
    RETRY: "it goes back to the record and polls it again, for ever; what is behind it waits",
    SKIP: "the record is left unprocessed at once",
    CRASH: "the exception ends the process; nothing is committed any more",
    CLOSE: "the exception ends the poll loop and the consumer is closed, which commits what was polled if commits are "
    "automatic",
    DEAD_LETTER: "the record is sent to the dead-letter topic at once",
}
"""What an application does when its handler has failed, with what that means."""
THROWN: Final = "HandlerException"
"""The exception that ends such an application."""
GONE_BACK: Final = "handler failed"
"""Why an application goes back to records."""

WHOLE: Final = 1_000_000


class HandlerFault(NamedTuple):
    """What a fault does to a handler: it fails for ``share_ppm`` in a million records, for the same ones if poison."""

    share_ppm: int
    poison: bool
    then: str
    pause_us: int
    """From a failure until the record is polled again."""


class Handling:
    """Of one member's application. What a fault may set is told by the cluster, and not saved here."""

    __slots__ = (
        "_by_rule", "_draws", "_group", "_more_us", "_taken", "application", "broke", "factor_ppm", "failing", "left",
        "skipped", "slower_us", "stall_us", "troubles",
    )  # fmt: skip

    def __init__(self, application: Application, name: str, group: str, seed: int) -> None:
        """``seed`` is the session's."""
        self.application = application
        self._draws = number_of(f"{seed}/handler:{name}")
        self._group = f"{seed}/{group}/"
        self.stall_us = 0
        """Added by faults to every poll's records ..."""
        self.slower_us = 0
        """... and to every record's time, which is first multiplied by so many millionths."""
        self.factor_ppm = WHOLE
        self.troubles: tuple[HandlerFault, ...] = ()
        self.failing: tuple[Failing, ...] = ()
        """Records that it gives up as it is configured to."""
        self.skipped: tuple[Failing, ...] = ()
        """Records that it leaves unprocessed whatever is configured."""
        self.broke = ""
        """:data:`RETRY`, :data:`CRASH` or :data:`CLOSE` if the handler's exception ends this poll's work ..."""
        self.left: tuple[Left, ...] = ()
        """... with these records not processed, the one that it failed for first."""
        self._taken = 0
        self._by_rule = 0
        self._more_us = 0

    def take(self, handed: Sequence[PolledRecords], number: int) -> None:
        """Find out what will become of a poll's records; ``number`` were handed out before, in all lives."""
        self.skipped, self.broke, self.left, self._more_us = (), "", (), 0
        self._taken = sum(each.records for each in handed)
        failed: list[Failing] = []
        if self.troubles:
            handed = self._strike(handed, number, failed)
        rule = self.application.failing
        found = [each for each in [rule(each.partition, each.start, each.last) for each in handed] if each is not None]
        self._by_rule = sum(count for _partition, _first, count in found)
        self.failing = (*found, *failed)

    def _strike(self, handed: Sequence[PolledRecords], number: int, failed: list[Failing]) -> list[PolledRecords]:
        """What comes of faults; the records that it gets to before it breaks off, if it does."""
        skipped: list[Failing] = []
        reached: list[PolledRecords] = []
        for index, each in enumerate(handed):
            for offset in range(each.start, each.last + 1):
                number += 1
                then, pause_us = self._fate(each.partition, offset, number)
                if then in (USUAL, DEAD_LETTER):
                    failed.append((each.partition, offset, 1))
                elif then == SKIP:
                    skipped.append((each.partition, offset, 1))
                elif then:
                    done = min(each.records, offset - each.start)
                    if done:
                        reached.append(each._replace(records=done, last=offset - 1))
                    first = (each.partition, offset, each.records - done or 1)
                    self.left = (first, *[(one.partition, one.start, one.records) for one in handed[index + 1 :]])
                    self._taken = sum(one.records for one in reached) + 1
                    self.broke, self.skipped = then, tuple(skipped)
                    self._more_us += pause_us if then == RETRY else 0
                    return reached
            reached.append(each)
        self.skipped = tuple(skipped)
        return reached

    def _fate(self, partition: str, offset: int, number: int) -> tuple[str, int]:
        """What becomes of a record that a fault makes the handler fail for; empty: it is processed after all."""
        every = self.application.fails
        if every and offset % every == every - 1:
            return "", 0
        for trouble in self.troubles:
            if self._fails(trouble, partition, offset, number, 0):
                if trouble.then != USUAL:
                    return trouble.then, trouble.pause_us
                if self._retried_in_vain(trouble, partition, offset, number):
                    return USUAL, 0
        return "", 0

    def _retried_in_vain(self, trouble: HandlerFault, partition: str, offset: int, number: int) -> bool:
        """The application tries again as often as it is configured to, and that takes time."""
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
            drawn = mixed(number_of(self._group + partition) + offset)
        else:
            drawn = mixed(mixed(self._draws + number) + attempt)
        return drawn * WHOLE >> 64 < trouble.share_ppm

    @property
    def record_us(self) -> int:
        """What it spends on a record."""
        return self.application.processing_us * self.factor_ppm // WHOLE + self.slower_us

    def duration(self) -> int:
        """How long it takes for the poll's records."""
        application = self.application
        tried = self._by_rule * application.retries * (application.pause_us + self.record_us)
        return self._taken * self.record_us + tried + self._more_us + self.stall_us

    @property
    def processed(self) -> int:
        """Records of the poll that were not given up."""
        given_up = sum(count for _partition, _first, count in (*self.failing, *self.skipped))
        return max(0, self._taken - given_up)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._taken, self.failing, self.skipped, self.broke, self.left, self._by_rule, self._more_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._taken, self.failing, self.skipped, self.broke, self.left, self._by_rule, self._more_us = saved
