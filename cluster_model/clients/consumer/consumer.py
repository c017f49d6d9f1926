"""A consumer and its application (``KafkaConsumer.poll``); one may write what it reads in transactions (KIP-447).

Partitions are the group's to give, or are given once and for all. A position moves when records are handed out, not
when they are fetched, and not when they have been processed. An exception that a poll throws ends the application,
which closes its consumer.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer_protocol import ModernCoordination
from cluster_model.clients.consumer.coordinator import Coordination
from cluster_model.clients.consumer.fetcher import Fetcher, PolledRecords
from cluster_model.clients.consumer.membership import STABLE, topic_of
from cluster_model.clients.consumer.offset_commits import ASYNC, CLOSE, RETRIABLE, SYNC, CommitOutcome
from cluster_model.clients.consumer.record_handler import CRASH, GONE_BACK, RETRY, THROWN, DeadLetters, Handling, InHand
from cluster_model.clients.consumer.subscription_state import Positions, reset_policy
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.application_producers import FATAL, WRITTEN, Output, TransactionalOutput
from cluster_model.clients.producer.transaction_manager import TransactionOffsets
from cluster_model.connections.network_client import CONNECTIONS, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import Alarm, NodeContext
from cluster_model.kernel.rng import Stream, uuid
from cluster_model.log.batch_store import Lineages
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.events import ConsumerFailed, Event, HandlerFailed, RecordsAbandoned, RecordsRead
from cluster_model.protocol.group_messages import CommittedOffset
from cluster_model.protocol.messages import (
    NOBODY,
    READ_COMMITTED,
    EpochEndResponse,
    FetchResponse,
    ListOffsetsResponse,
    Message,
    MetadataResponse,
    PartitionState,
)
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ASYNC_RETRY, INTERNAL, Application, Failing

# How a consumer joins a group: its subscription and its protocol.


def coordination_of(
    port: NodeContext,
    named: tuple[str, str],
    profile: Profile,
    settings: GroupSettings,
    metadata: Metadata,
    positions: Positions,
    wanted: tuple[tuple[str, ...], str],
    stream: Stream | None,
    rack: str,
    emit: Callable[[Event], None],
) -> Coordination | ModernCoordination:
    """A member's side of its group; ``wanted``: topics, or a pattern for them.

    A member that makes its own id (KIP-848) draws it from ``stream``.
    """
    topics, pattern = wanted

    def subscription() -> tuple[str, ...]:
        if not pattern:
            return topics
        known = dict.fromkeys(topic_of(name) for name in metadata.states)
        # Internal topics are left out of patterns (``exclude.internal.topics``).
        return tuple(sorted(name for name in known if name not in INTERNAL and re.fullmatch(pattern, name)))

    if settings.modern:
        by_server = profile.server_patterns
        return ModernCoordination(
            port, named, profile, settings, metadata, positions, subscription, pattern if by_server else "",
            partial(uuid, stream) if stream is not None and by_server else None, emit,
        )  # fmt: skip
    return Coordination(port, named, profile, settings, metadata, positions, subscription, rack, emit)


# States of the thread of a consumer's application.


POLLING: Final = 0
"""The application waits in a poll ..."""
PROCESSING: Final = 1
"""... has records in hand ..."""
COMMITTING: Final = 2
"""... waits in a commitSync ..."""
CLOSING: Final = 3
"""... or in a close ..."""
CLOSED: Final = 4
"""... and is done with it."""
STARTING: Final = 5
"""A process that has just started knows of no topics yet."""
DELIVERING: Final = 6
"""The application waits for the outcome of a dead letter."""

NO_RACKS: Final[Mapping[int, str]] = MappingProxyType({})


class Consumer:
    """The node: one member of a group."""

    __slots__ = (
        "_alarm", "_busy_until", "_config", "_emit", "_fetcher", "_hand", "_phase", "_port", "_positions",
        "_profile", "_refused", "coordination", "failed", "group", "handling", "leaving", "letters", "metadata",
        "name", "read",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        name: str,
        group: str,
        profile: Profile,
        config: ConsumerConfig,
        partitions: tuple[str, ...],
        brokers: tuple[int, ...],
        application: Application,
        lineages: dict[str, Lineages],
        emit: Callable[[Event], None],
        seed: int,
        jitter: Stream,
    ) -> None:
        """``partitions`` are those given for good, none for a member that :meth:`subscribe` makes one of a group.

        ``jitter`` is the stream of its pauses between attempts to connect.
        """
        self.name = name
        self.group = group
        self.read = 0
        self.failed = ""
        """The exception that ended the application, empty while it runs."""
        self._port = port = NetworkClient(port, config.connections, config.request_timeout_us, jitter)
        self._config = config
        self._profile = profile
        self.handling = Handling(application, name, group, seed)
        self._emit = emit
        self._phase = POLLING
        self.leaving = False
        """Its application is to end, and calls no other poll; kept by the cluster."""
        self.letters: DeadLetters | None = None
        """Of an application that has a topic for what its handler cannot process."""
        self._hand = InHand()
        self._refused: tuple[tuple[CommittedOffset, ...], ...] = ()
        """Commits that the application will try once more."""
        self.coordination: Coordination | ModernCoordination | None = None
        self._busy_until = 0
        self._alarm = Alarm(port, "poll")
        self.metadata = Metadata(
            port, brokers, age_us=config.metadata_age_us, backoff_us=config.backoff_us,
            timeout_us=config.request_timeout_us, busy=self._busy,
        )  # fmt: skip
        self._positions = Positions(
            port, (name, group), profile, reset_policy(profile, config.reset),
            (config.backoff_us, config.request_timeout_us), self.metadata, emit,
        )  # fmt: skip
        self._fetcher = Fetcher(port, profile, config, self.metadata, self._positions, lineages)
        if config.committed_only:
            self._positions.isolation = READ_COMMITTED
        self._positions.assign(partitions)
        for partition in partitions:
            self._positions.seek(partition, 0)

    def subscribe(
        self, settings: GroupSettings, topics: tuple[str, ...], pattern: str = "", stream: Stream | None = None
    ) -> None:
        """Be a member of the group: of these topics, or of all that match ``pattern``; before :meth:`begin`.

        A member that makes its own id (KIP-848) draws it from ``stream``.
        """
        self.coordination = coordination_of(
            self._port, (self.name, self.group), self._profile, settings, self.metadata, self._positions,
            (topics, pattern), stream, self._config.rack, self._emit,
        )  # fmt: skip
        self.coordination.on_outcome = self._commit_ended

    @property
    def positions(self) -> dict[str, int]:
        """Partition → the next offset to be read, where that is known."""
        return self._positions.offsets

    @property
    def assignment(self) -> tuple[str, ...]:
        """Its partitions, as it knows."""
        return tuple(sorted(self._positions.assigned))

    def _busy(self, broker: int) -> bool:
        return self._fetcher.busy(broker) or (self.coordination is not None and self.coordination.link.busy(broker))

    def begin(self, states: tuple[PartitionState, ...], racks: Mapping[int, str] = NO_RACKS) -> None:
        """Start with knowledge of the cluster's first instant, its brokers' racks too; with none if it starts later.

        Partitions that are given for good are read from the start of their logs.
        """
        self.metadata.begin(states)
        self.metadata.racks.update(racks)
        self.failed = ""
        if not states:
            self._phase = STARTING
            self._port.start_cold()
        self._alarm.want(self._port.now)

    def succeed(self, former: "Consumer") -> None:
        """Be the next process of the same application: of the former one it has nothing but what is counted."""
        self.read, self.failed = former.read, former.failed
        self.metadata.old.load(former.metadata.old.save())

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """The machine's clock was set."""
        if runs and self.coordination is not None:
            self.coordination.clock_stepped(by)
            self._alarm.want(self._port.now)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if isinstance(message, FetchResponse):
            self._fetcher.answered(source, message)
        elif isinstance(message, ListOffsetsResponse):
            self._positions.listed(message)
        elif isinstance(message, EpochEndResponse):
            self._positions.ended(message)
        elif isinstance(message, MetadataResponse):
            if not self.metadata.answered(message):
                return
        elif self._port.heard(source, message):
            pass
        elif self._port.refused(source, message):
            self._connection_lost(source)
        elif self.coordination is not None:
            self.coordination.receive(message)
        self._go_on()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        if timer[0] == "metadata":
            silent = self.metadata.rang()
            if silent != NOBODY:
                self._close_connection(silent)
                self._go_on()
        elif timer[0] == CONNECTIONS:
            for broker in self._port.rang():
                self._connection_lost(broker)
            self._go_on()
        elif self._alarm.rang():
            now = self._port.now
            overdue = [*self._fetcher.overdue(now), *self._positions.overdue(now)]
            if self.coordination is not None:
                overdue += self.coordination.overdue(now)
            for broker in dict.fromkeys(overdue):
                self._close_connection(broker)
            self._go_on()

    def on_disconnect(self, peer: int) -> None:
        """What is under way to ``peer`` will not be answered."""
        if self._port.broke(peer):
            self._connection_lost(peer)
            self._go_on()

    def _close_connection(self, broker: int) -> None:
        """An answer was not there in time (``NetworkClient.handleTimedOutRequests``)."""
        self._port.abandon(broker)
        self._connection_lost(broker)

    def _connection_lost(self, broker: int) -> None:
        """All requests on it fail (``NetworkClient.processDisconnection``)."""
        self.metadata.disconnected(broker)
        self._fetcher.lost(broker)
        self._positions.lost(broker)
        if self.coordination is not None:
            self.coordination.lost(broker)

    # --- the application's thread, and the heartbeat's

    def _go_on(self) -> None:
        """Both threads go on as far as they can."""
        if self._phase == STARTING and self.metadata.states:
            self._phase = POLLING
        if self._phase in (STARTING, CLOSED):
            return
        now = self._port.now
        coordination = self.coordination
        if coordination is not None and self._phase != CLOSING:
            coordination.background(now, polling=self._phase == POLLING)
        while True:
            if self._phase == PROCESSING and now >= self._busy_until:
                self._processed(now)
            if coordination is not None and self._phase == COMMITTING:
                coordination.wait(now)
            if self._phase == CLOSING and (coordination is None or coordination.closed(now)):
                self._end()
            if self.leaving and self._phase == POLLING:
                self.close()
                return
            if self._phase != POLLING or not self._poll(now):
                break
        self._set_alarm(now)

    def _poll(self, now: int) -> bool:
        """Go on with the poll that the application waits in; whether it ends with records.

        The next fetches are sent before records are handed out, so that they are under way meanwhile.
        """
        ready = self.coordination is None or self.coordination.poll(now)
        if ready:
            self._positions.poll()
        handed = self._fetcher.collect(self._config.max_poll_records)
        if self._positions.failure and not handed:
            self._fail(self._positions.failure)
            return False
        if ready:
            self._positions.poll()
        self._fetcher.send()
        if handed:
            self._hand_out(handed, now)
        return bool(handed)

    def _hand_out(self, handed: list[PolledRecords], now: int) -> None:
        name, group = self.name, self.group
        for key, source, epoch, *_records, appended, stint in handed:
            for start, end, count, appended_us in appended:
                self._emit(
                    RecordsRead(now, name, group, key, source, epoch, start, count, now - appended_us, stint, end)
                )
        self._hand.take(handed)
        self.handling.take(handed, self.read)
        self.read += sum(each.records for each in handed)
        if self.handling.application.commits_before and self.coordination is not None:
            self._commit_sync(now)
        else:
            self._process(now)

    def _process(self, now: int) -> None:
        duration = self.handling.duration()
        if self.handling.application.hands_off:
            self._hand.pass_on(now, duration)
            self._skip(now)
        else:
            self._phase = PROCESSING
            self._busy_until = now + duration

    def _skip(self, now: int) -> None:
        for partition, first, count in (*self.handling.failing, *self.handling.skipped):
            self._emit(HandlerFailed(now, self.name, self.group, partition, first, count))
        self.handling.failing = self.handling.skipped = ()

    def abandon(self, reason: str) -> None:
        """What is in hand will not be processed: the process has ended, or the application goes on without it."""
        now = self._port.now
        for partition, first, count in self._hand.left(now):
            self._emit(RecordsAbandoned(now, self.name, self.group, partition, first, count, reason))
        self._hand = InHand()

    def _processed(self, now: int) -> None:
        """The records of the last poll are done with."""
        if self.handling.failing and self.letters is not None:
            self._phase = DELIVERING
            self.letters.deliver(self.handling.failing)
            return
        self._phase = POLLING
        self._skip(now)
        if self.handling.broke and not self._thrown(now):
            return
        self._hand.done()
        if self.coordination is None:
            return
        if self.handling.application.commit == SYNC:
            self._commit_sync(now)
        elif self.handling.application.commits_async:
            refused, self._refused = self._refused, ()
            self.coordination.commits.commit(ASYNC, self.coordination.commits.consumed(), now)
            for offsets in refused:
                self.coordination.commits.commit(ASYNC, offsets, now)

    def _thrown(self, now: int) -> bool:
        """The handler threw in the middle of the poll's records; whether the application goes on."""
        then, left = self.handling.broke, self.handling.left
        self.handling.broke, self.handling.left = "", ()
        self._hand.keep(left)
        if then == RETRY:
            # What was not processed is polled again (Spring's ``SeekUtils``); a letter not sent may be farther back.
            for partition, first, _count in left:
                if self._positions.offsets.get(partition, -1) > first:
                    self._positions.seek(partition, first)
            self.abandon(GONE_BACK)
        elif then == CRASH:
            self.failed = THROWN
            self._emit(ConsumerFailed(now, self.name, self.group, THROWN))
            self._end()
        else:
            self._fail(THROWN)
        return then == RETRY

    def delivered(self, left: tuple[Failing, ...]) -> None:
        """Letters are sent, but for those of records that are ``left``: each partition is read again from there."""
        # The first of a partition is what counts.
        for partition, first, _count in reversed(left):
            self._positions.seek(partition, first)
        self.handling.failing = ()
        self._processed(self._port.now)
        self._go_on()

    def _commit_sync(self, now: int) -> None:
        if self.coordination is not None:
            self._phase = COMMITTING
            self.coordination.commits.commit(SYNC, self.coordination.commits.consumed(), now)

    def _commit_ended(self, outcome: CommitOutcome) -> None:
        """The application's commitSync returned. What was to be processed after it is not, if it threw."""
        if outcome.kind == ASYNC and outcome.error == RETRIABLE and self.handling.application.commit == ASYNC_RETRY:
            self._refused += (outcome.offsets,)
        if self._phase != COMMITTING or outcome.kind != SYNC:
            return
        if outcome.error or not self.handling.application.commits_before:
            self._phase = POLLING
            if outcome.error:
                self.abandon(outcome.error)
        else:
            self._process(self._port.now)

    def _set_alarm(self, now: int) -> None:
        if self._phase == CLOSED:
            return
        times = [self._fetcher.due(), self._positions.due()]
        if self._phase == PROCESSING:
            times.append(self._busy_until)
        if self.coordination is not None:
            polling = self._phase == POLLING
            times.append(self.coordination.due(now, polling=polling, idle=self._phase not in (PROCESSING, DELIVERING)))
        # What is due and was not done waits for something else, which will be heard of.
        due = [at for at in times if at > now]
        if due:
            self._alarm.want(min(due))

    def pause(self, fault: int) -> None:
        """``pause(assignment())``: its partitions are not fetched, until each is resumed by the same, or taken away."""
        self._positions.pause(fault)

    def resume(self, fault: int) -> None:
        """``resume`` of what is left of them."""
        if self._positions.resume(fault):
            self._alarm.want(self._port.now)

    def shut_down(self) -> None:
        """End in order (SIGTERM): what is in hand is processed, the poll is left (``wakeup``), the consumer closed."""
        self.leaving = True
        if self._phase == STARTING:
            self._end()
        else:
            self._go_on()

    def _end(self) -> None:
        """The process ends with its application."""
        self._phase = CLOSED
        self._port.exit(self.failed or CLOSE)

    def close(self) -> None:
        """The application ends: a last automatic commit, and the group is left (``KafkaConsumer.close``)."""
        if self._phase in (CLOSING, CLOSED):
            return
        now = self._port.now
        self._phase = CLOSING
        if self.coordination is None or self.coordination.close(now):
            self._end()
        self._set_alarm(now)

    def _fail(self, error: str) -> None:
        """The application does not handle what a poll throws: it ends."""
        self.failed = error
        self._emit(ConsumerFailed(self._port.now, self.name, self.group, error))
        self.close()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            self.read, self.failed, self._phase, self.handling.save(), self._hand.save(), self._refused,
            self._port.save(), self._busy_until, self._alarm.save(), self.metadata.save(), self._positions.save(),
            self._fetcher.save(),
            None if self.coordination is None else self.coordination.save(),
            None if self.letters is None else self.letters.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            self.read, self.failed, self._phase, handling, hand, self._refused, port, self._busy_until, alarm,
            metadata, positions, fetcher, coordination, letters,
        ) = saved  # fmt: skip
        self.handling.load(handling)
        self._hand.load(hand)
        self._port.load(port)
        self._alarm.load(alarm)
        self.metadata.load(metadata)
        self._positions.load(positions)
        self._fetcher.load(fetcher)
        if self.coordination is not None:
            self.coordination.load(coordination)
        if self.letters is not None:
            self.letters.load(letters)


# A member whose application reads, processes and writes: one record to another topic for each that it was handed.
#
# With transactions the offsets of what a poll handed out are committed together with what came out of it, so both are
# there once, or neither (exactly once). The offsets go in the name of the member as it was when it last joined
# (``ConsumerGroupMetadata``, KIP-447): who has been left behind by a rebalance is refused, and aborts. After an abort
# the application goes back to what is committed, as Kafka's ``ExactlyOnceMessageProcessor`` does; a fatal error ends
# it.
#
# Without transactions it waits for its output and then commits as any application: what was written before a crash and
# not committed is written again (at least once). If some of it failed, it goes back to the poll's first records.


ABORTED: Final = "transaction aborted"
"""Why an application goes back to records ..."""
NOT_SENT: Final = "output not written"
"""... and why without transactions."""
FENCED: Final = "ProducerFencedException"


class ReadProcessWrite(Consumer):
    """The consumer's node; the producer has one of its own."""

    __slots__ = ("_identity", "_offsets", "_written", "output")

    output: Output

    def __init__(self, *parts: Any) -> None:
        """``parts`` are those of every consumer; :meth:`write_with` is to follow."""
        super().__init__(*parts)
        self._identity: tuple[int, str] = (-1, "")
        """Generation and member id of the last assignment that was taken over."""
        self._offsets: tuple[tuple[str, int], ...] = ()
        """Partition → the offset behind what the last poll handed out."""
        self._written = False
        """The output of what is in hand is written."""

    def write_with(self, output: Output) -> None:
        """Have the producer; before :meth:`begin`."""
        self.output = output
        output.told = self._told

    def begin(self, states: tuple[PartitionState, ...], racks: Mapping[int, str] = NO_RACKS) -> None:
        """Start; polls begin when ``initTransactions`` has returned."""
        super().begin(states, racks)
        if not self.output.ready:
            self._phase = STARTING

    def _go_on(self) -> None:
        if self._phase != STARTING or self.output.ready:
            super()._go_on()

    def _poll(self, now: int) -> bool:
        handed = super()._poll(now)
        self._learn_identity()
        return handed

    def _learn_identity(self) -> None:
        member = None if self.coordination is None else self.coordination.member
        if member is not None and member.state == STABLE:
            self._identity = (member.generation, member.member_id)

    def _hand_out(self, handed: list[PolledRecords], now: int) -> None:
        ends = self._positions.offsets
        self._offsets = tuple([(each.partition, ends[each.partition]) for each in handed])
        super()._hand_out(handed, now)

    def _processed(self, now: int) -> None:
        if self._written:
            self._written = False
            super()._processed(now)
            return
        if self.handling.broke:
            if self.handling.broke == RETRY:
                self._go_back()
            else:
                self._thrown(now)
            return
        self._phase = DELIVERING
        self.output.write(self.handling.processed, self._group_offsets())

    def _group_offsets(self) -> TransactionOffsets:
        coordination = self.coordination
        if coordination is None:
            return TransactionOffsets(self.group, ())
        settings = coordination.settings
        if settings.modern:
            # The thread in the background keeps the epoch up to date between polls.
            self._learn_identity()
        offsets = coordination.commits.named(dict(self._offsets))
        return TransactionOffsets(self.group, offsets, *self._identity, settings.instance)

    def _told(self, outcome: str) -> None:
        """What became of the output; empty: it is ready for the first."""
        if outcome == FATAL:
            self._stop(self._port.now)
        elif outcome == WRITTEN:
            self._written = True
            self._processed(self._port.now)
        elif outcome:
            self._go_back()
        self._go_on()

    def _go_back(self) -> None:
        """The records in hand are to be polled again."""
        left: tuple[Failing, ...] = self._hand.left(self._port.now)
        transactional = isinstance(self.output, TransactionalOutput)
        self.abandon(ABORTED if transactional else NOT_SENT)
        self.handling.failing = self.handling.skipped = self.handling.left = ()
        self.handling.broke = ""
        self._phase = POLLING
        if transactional:
            self._positions.to_committed()
            return
        # The first of a partition is what counts.
        for partition, first, _count in reversed(left):
            self._positions.seek(partition, first)

    def _stop(self, now: int) -> None:
        if self._phase == STARTING:
            self.failed = FENCED
            self._emit(ConsumerFailed(now, self.name, self.group, FENCED))
            self._end()
        elif self._phase not in (CLOSING, CLOSED):
            self._fail(FENCED)

    def save(self) -> tuple[Any, ...]:
        """All state, the producer's included."""
        return (super().save(), self._identity, self._offsets, self._written, self.output.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        consumer, self._identity, self._offsets, self._written, output = saved
        super().load(consumer)
        self.output.load(output)
