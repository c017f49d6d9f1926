"""A consumer process with its application's poll loop (``KafkaConsumer.poll``).

Partitions are assigned by the group, or fixed (manual assignment). A position moves when a poll returns records, not
when they are fetched, and not when they have been processed. An exception thrown by a poll ends the application, which
closes its consumer. A variant writes its results with a producer, in transactions if configured (KIP-447).
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer_protocol import ConsumerGroupClient
from cluster_model.clients.consumer.coordinator import ClassicGroupClient
from cluster_model.clients.consumer.fetcher import Fetcher, PolledRecords
from cluster_model.clients.consumer.membership import STABLE, topic_of
from cluster_model.clients.consumer.offset_commits import ASYNC, CLOSE, RETRIABLE, SYNC, CommitOutcome
from cluster_model.clients.consumer.record_handler import (
    CRASH,
    HANDLER_FAILED,
    RETRY,
    THROWN,
    DeadLetters,
    PolledUnprocessed,
    RecordHandler,
)
from cluster_model.clients.consumer.subscription_state import SubscriptionState, reset_policy
from cluster_model.clients.metadata import Metadata
from cluster_model.clients.producer.application_producers import FATAL, WRITTEN, Output, TransactionalOutput
from cluster_model.clients.producer.transaction_manager import TransactionOffsets
from cluster_model.connections.network_client import CONNECTIONS, NetworkClient
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStream, uuid
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.events import ConsumerFailed, Event, HandlerFailed, RecordsAbandoned, RecordsRead
from cluster_model.protocol.group_messages import CommittedOffset
from cluster_model.protocol.messages import (
    NO_LEADER,
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

# Construction of the group side of a consumer by its subscription and protocol.


def coordination_of(
    port: NodeContext,
    named: tuple[str, str],
    profile: Profile,
    settings: GroupSettings,
    metadata: Metadata,
    positions: SubscriptionState,
    wanted: tuple[tuple[str, ...], str],
    stream: RandomStream | None,
    rack: str,
    emit: Callable[[Event], None],
) -> ClassicGroupClient | ConsumerGroupClient:
    """Make a member's side of its group; ``wanted`` is (topics, pattern for topics or empty).

    A member that generates its own id (KIP-848) takes it from ``stream``.
    """
    topics, pattern = wanted

    def subscription() -> tuple[str, ...]:
        if not pattern:
            return topics
        known = dict.fromkeys(topic_of(name) for name in metadata.states)
        # Internal topics are left out of patterns (``exclude.internal.topics``).
        return tuple(sorted(name for name in known if name not in INTERNAL and re.fullmatch(pattern, name)))

    if settings.consumer_protocol:
        by_server = profile.server_patterns
        return ConsumerGroupClient(
            port, named, profile, settings, metadata, positions, subscription, pattern if by_server else "",
            partial(uuid, stream) if stream is not None and by_server else None, emit,
        )  # fmt: skip
    return ClassicGroupClient(port, named, profile, settings, metadata, positions, subscription, rack, emit)


# States of the application's thread.


POLLING: Final = 0
"""The application waits in a poll."""
PROCESSING: Final = 1
"""The application processes polled records."""
COMMITTING: Final = 2
"""The application waits in a commitSync."""
CLOSING: Final = 3
"""The application waits in a close."""
CLOSED: Final = 4
"""The consumer is closed."""
STARTING: Final = 5
"""The process has just started and has no metadata yet."""
DELIVERING: Final = 6
"""The application waits for the outcome of a dead-letter record, or of its output."""

NO_RACKS: Final[Mapping[int, str]] = MappingProxyType({})


class Consumer:
    """A consumer process with its application, usually one member of a group."""

    __slots__ = (
        "_busy_until", "_config", "_emit", "_fetcher", "_phase", "_port", "_positions", "_profile", "_refused",
        "_timer", "_unprocessed", "coordination", "failed", "group", "handling", "leaving", "letters", "metadata",
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
        epoch_branches: dict[str, BatchStore],
        emit: Callable[[Event], None],
        seed: int,
        jitter: RandomStream,
    ) -> None:
        """Make a consumer; ``partitions`` are its fixed assignment, empty for a member of a group (:meth:`subscribe`).

        ``jitter`` is the random stream of its connection backoffs.
        """
        self.name = name
        self.group = group
        self.read = 0
        self.failed = ""
        """Exception that ended the application, empty while it runs."""
        self._port = port = NetworkClient(port, config.connections, config.request_timeout_us, jitter)
        self._config = config
        self._profile = profile
        self.handling = RecordHandler(application, name, group, seed)
        self._emit = emit
        self._phase = POLLING
        self.leaving = False
        """The application is to end and calls no further poll; set by the cluster."""
        self.letters: DeadLetters | None = None
        """Dead-letter records of an application with a dead-letter topic."""
        self._unprocessed = PolledUnprocessed()
        self._refused: tuple[tuple[CommittedOffset, ...], ...] = ()
        """Failed commits that the application will retry once."""
        self.coordination: ClassicGroupClient | ConsumerGroupClient | None = None
        self._busy_until = 0
        self._timer = DeadlineTimer(port, "poll")
        self.metadata = Metadata(
            port, brokers, profile.client, age_us=config.metadata_age_us, backoff_us=config.backoff_us,
            timeout_us=config.request_timeout_us, busy=self._busy,
        )  # fmt: skip
        self._positions = SubscriptionState(
            port, (name, group), profile, reset_policy(profile, config.reset),
            (config.backoff_us, config.request_timeout_us), self.metadata, emit,
        )  # fmt: skip
        self._fetcher = Fetcher(port, profile, config, self.metadata, self._positions, epoch_branches)
        if config.committed_only:
            self._positions.isolation = READ_COMMITTED
        self._positions.assign(partitions)
        for partition in partitions:
            self._positions.seek(partition, 0)

    def subscribe(
        self, settings: GroupSettings, topics: tuple[str, ...], pattern: str = "", stream: RandomStream | None = None
    ) -> None:
        """Join the group with these topics, or with all that match ``pattern``; call it before :meth:`begin`.

        A member that generates its own id (KIP-848) takes it from ``stream``.
        """
        self.coordination = coordination_of(
            self._port, (self.name, self.group), self._profile, settings, self.metadata, self._positions,
            (topics, pattern), stream, self._config.rack, self._emit,
        )  # fmt: skip
        self.coordination.on_outcome = self._commit_ended

    @property
    def positions(self) -> dict[str, int]:
        """Partition → next offset to read, where known."""
        return self._positions.offsets

    @property
    def assignment(self) -> tuple[str, ...]:
        """Its assigned partitions, in its own view."""
        return tuple(sorted(self._positions.assigned))

    def _busy(self, broker: int) -> bool:
        return self._fetcher.busy(broker) or (self.coordination is not None and self.coordination.link.busy(broker))

    def begin(self, states: tuple[PartitionState, ...], racks: Mapping[int, str] = NO_RACKS) -> None:
        """Start with the cluster's initial metadata and racks; without any if it starts later.

        Partitions of a fixed assignment are read from the start of their logs.
        """
        self.metadata.begin(states)
        self.metadata.racks.update(racks)
        self.failed = ""
        if not states:
            self._phase = STARTING
            self._port.start_disconnected()
        self._timer.arm(self._port.now)

    def succeed(self, former: "Consumer") -> None:
        """Continue the application of a former process: only its counters are taken over."""
        self.read, self.failed = former.read, former.failed
        self.metadata.old.load(former.metadata.old.save())

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Handle a step of the machine's clock."""
        if runs and self.coordination is not None:
            self.coordination.clock_stepped(by)
            self._timer.arm(self._port.now)

    def receive(self, source: int, message: Message) -> None:
        """Handle a message."""
        if isinstance(message, FetchResponse):
            self._fetcher.on_response(source, message)
        elif isinstance(message, ListOffsetsResponse):
            self._positions.listed(message)
        elif isinstance(message, EpochEndResponse):
            self._positions.on_epoch_end(message)
        elif isinstance(message, MetadataResponse):
            if not self.metadata.handle_response(message):
                return
        elif self._port.handle(source, message):
            pass
        elif self._port.handle_refused(source, message):
            self._connection_lost(source)
        elif self.coordination is not None:
            self.coordination.receive(message)
        self._go_on()

    def on_timer(self, timer: Payload) -> None:
        """Handle a timer by its name."""
        if timer[0] == "metadata":
            silent = self.metadata.on_timer()
            if silent != NO_LEADER:
                self._close_connection(silent)
                self._go_on()
        elif timer[0] == CONNECTIONS:
            for broker in self._port.on_timer():
                self._connection_lost(broker)
            self._go_on()
        elif self._timer.take_expired():
            now = self._port.now
            overdue = [*self._fetcher.overdue(now), *self._positions.overdue(now)]
            if self.coordination is not None:
                overdue += self.coordination.overdue(now)
            for broker in dict.fromkeys(overdue):
                self._close_connection(broker)
            self._go_on()

    def on_disconnect(self, peer: int) -> None:
        """Handle a broken connection: all requests in flight to ``peer`` failed."""
        if self._port.broke(peer):
            self._connection_lost(peer)
            self._go_on()

    def _close_connection(self, broker: int) -> None:
        """Close a connection whose request timed out (``NetworkClient.handleTimedOutRequests``)."""
        self._port.abandon(broker)
        self._connection_lost(broker)

    def _connection_lost(self, broker: int) -> None:
        """Fail all requests on a connection (``NetworkClient.processDisconnection``)."""
        self.metadata.disconnected(broker)
        self._fetcher.on_disconnect(broker)
        self._positions.on_disconnect(broker)
        if self.coordination is not None:
            self.coordination.on_disconnect(broker)

    # --- the application's thread and the heartbeat thread

    def _go_on(self) -> None:
        """Run both threads as far as possible."""
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
        """Continue the current poll; return whether it returns records.

        The next fetches are sent before records are returned, so that they are in flight during processing.
        """
        coordination = self.coordination
        ready = coordination is None or coordination.poll(now, has_records=self._fetcher.has_records)
        if coordination is not None and not self._may_return(coordination, ready=ready):
            if self._positions.failure:
                self._fail(self._positions.failure)
            return False
        if ready:
            self._positions.poll()
        polled = self._fetcher.collect(self._config.max_poll_records)
        if ready and coordination is not None and coordination.settings.commits_polled:
            coordination.commits.auto(now)
        if self._positions.failure and not polled:
            self._fail(self._positions.failure)
            return False
        if ready:
            self._positions.poll()
        self._fetcher.send()
        if polled:
            self._return_records(polled, now)
        return bool(polled)

    def _may_return(self, coordination: ClassicGroupClient | ConsumerGroupClient, *, ready: bool) -> bool:
        """Return whether a poll returns records: before KAFKA-8421 not in a rebalance, nor without positions."""
        return coordination.settings.polls_in_rebalance or (ready and not self._positions.initializing())

    def _return_records(self, polled: list[PolledRecords], now: int) -> None:
        name, group = self.name, self.group
        for key, source, epoch, *_records, appended, log_branch in polled:
            for start, end, count, appended_us in appended:
                self._emit(
                    RecordsRead(now, name, group, key, source, epoch, start, count, now - appended_us, log_branch, end)
                )
        self._unprocessed.take(polled)
        self.handling.take(polled, self.read)
        self.read += sum(each.records for each in polled)
        if self.handling.application.commits_before and self.coordination is not None:
            self._commit_sync(now)
        else:
            self._process(now)

    def _process(self, now: int) -> None:
        duration = self.handling.duration()
        if self.handling.application.processes_in_background:
            self._unprocessed.pass_on(now, duration)
            self._skip(now)
        else:
            self._phase = PROCESSING
            self._busy_until = now + duration

    def _skip(self, now: int) -> None:
        for partition, first, count in (*self.handling.failing, *self.handling.skipped):
            self._emit(HandlerFailed(now, self.name, self.group, partition, first, count))
        self.handling.failing = self.handling.skipped = ()

    def abandon(self, reason: str) -> None:
        """Report polled records as abandoned: the process ended, or the application continues without them."""
        now = self._port.now
        for partition, first, count in self._unprocessed.unprocessed(now):
            self._emit(RecordsAbandoned(now, self.name, self.group, partition, first, count, reason))
        self._unprocessed = PolledUnprocessed()

    def _processed(self, now: int) -> None:
        """Finish the records of the last poll: dead-letter records first, then commits."""
        if self.handling.failing and self.letters is not None:
            self._phase = DELIVERING
            self.letters.deliver(self.handling.failing)
            return
        self._phase = POLLING
        self._skip(now)
        if self.handling.ended_by and not self._on_exception(now):
            return
        self._unprocessed.mark_processed()
        if self.coordination is None:
            return
        if self.handling.application.commit == SYNC:
            self._commit_sync(now)
        elif self.handling.application.commits_async:
            refused, self._refused = self._refused, ()
            self.coordination.commits.commit(ASYNC, self.coordination.commits.consumed(), now)
            for offsets in refused:
                self.coordination.commits.commit(ASYNC, offsets, now)

    def _on_exception(self, now: int) -> bool:
        """Handle an exception of the handler in the middle of the polled records; return whether the loop continues."""
        then, left = self.handling.ended_by, self.handling.left
        self.handling.ended_by, self.handling.left = "", ()
        self._unprocessed.keep(left)
        if then == RETRY:
            # Unprocessed records are polled again (Spring's ``SeekUtils``); one whose dead-letter send failed may be
            # before them.
            for partition, first, _count in left:
                if self._positions.offsets.get(partition, -1) > first:
                    self._positions.seek(partition, first)
            self.abandon(HANDLER_FAILED)
        elif then == CRASH:
            self.failed = THROWN
            self._emit(ConsumerFailed(now, self.name, self.group, THROWN))
            self._end()
        else:
            self._fail(THROWN)
        return then == RETRY

    def delivered(self, left: tuple[Failing, ...]) -> None:
        """Continue after the dead-letter records; partitions with records ``left`` unsent are read again from there."""
        # In reverse order, so that the first record of each partition determines its position.
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
        """Handle the end of a commit; if a commitSync before processing threw, the records are not processed."""
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
        times = [self._fetcher.next_action_us(), self._positions.next_action_us()]
        if self._phase == PROCESSING:
            times.append(self._busy_until)
        if self.coordination is not None:
            polling = self._phase == POLLING
            times.append(
                self.coordination.next_action_us(now, polling=polling, idle=self._phase not in (PROCESSING, DELIVERING))
            )
        # An action that is due but was not done waits for another event, so it needs no timer.
        due = [at for at in times if at > now]
        if due:
            self._timer.arm(min(due))

    def pause(self, fault: int) -> None:
        """Pause all assigned partitions (``pause(assignment())``) until :meth:`resume` by this fault or revocation."""
        self._positions.pause(fault)

    def resume(self, fault: int) -> None:
        """Resume the partitions that are still paused by this fault."""
        if self._positions.resume(fault):
            self._timer.arm(self._port.now)

    def shut_down(self) -> None:
        """Shut down cleanly (SIGTERM): finish processing, leave the poll (``wakeup``) and close the consumer."""
        self.leaving = True
        if self._phase == STARTING:
            self._end()
        else:
            self._go_on()

    def _end(self) -> None:
        """End the process."""
        self._phase = CLOSED
        self._port.exit(self.failed or CLOSE)

    def close(self) -> None:
        """Close the consumer with a last automatic commit, and leave the group (``KafkaConsumer.close``)."""
        if self._phase in (CLOSING, CLOSED):
            return
        now = self._port.now
        self._phase = CLOSING
        if self.coordination is None or self.coordination.close(now):
            self._end()
        self._set_alarm(now)

    def _fail(self, error: str) -> None:
        """End the application, which does not handle the exception of a poll."""
        self.failed = error
        self._emit(ConsumerFailed(self._port.now, self.name, self.group, error))
        self.close()

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (
            self.read, self.failed, self._phase, self.handling.save(), self._unprocessed.save(), self._refused,
            self._port.save(), self._busy_until, self._timer.save(), self.metadata.save(), self._positions.save(),
            self._fetcher.save(),
            None if self.coordination is None else self.coordination.save(),
            None if self.letters is None else self.letters.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            self.read, self.failed, self._phase, handling, hand, self._refused, port, self._busy_until, timer,
            metadata, positions, fetcher, coordination, letters,
        ) = saved  # fmt: skip
        self.handling.load(handling)
        self._unprocessed.load(hand)
        self._port.load(port)
        self._timer.load(timer)
        self.metadata.load(metadata)
        self._positions.load(positions)
        self._fetcher.load(fetcher)
        if self.coordination is not None:
            self.coordination.load(coordination)
        if self.letters is not None:
            self.letters.load(letters)


# A member whose application consumes, processes and produces: one record to another topic for each polled record.
#
# With transactions the offsets of a poll are committed atomically with its output (exactly once). The offsets carry
# the identity of the member at its last join (``ConsumerGroupMetadata``, KIP-447): a member that missed a rebalance is
# rejected, and aborts. After an abort the application resets its positions to the committed offsets, as Kafka's
# ``ExactlyOnceMessageProcessor`` does; a fatal error ends it.
#
# Without transactions it waits for its output and then commits as any application: output written before a crash but
# not committed is written again (at least once). If some output failed, it goes back to the first records of the poll.


ABORTED: Final = "transaction aborted"
"""Reason for abandoning records, with transactions."""
NOT_SENT: Final = "output not written"
"""Reason for abandoning records, without transactions."""
FENCED: Final = "ProducerFencedException"


class ReadProcessWrite(Consumer):
    """Consumer of a consume-process-produce application; its producer is a node of its own."""

    __slots__ = ("_identity", "_offsets", "_written", "output")

    output: Output

    def __init__(self, *parts: Any) -> None:
        """Make it with the parameters of every consumer; call :meth:`write_with` afterwards."""
        super().__init__(*parts)
        self._identity: tuple[int, str] = (-1, "")
        """(generation, member id) of the last assignment taken over."""
        self._offsets: tuple[tuple[str, int], ...] = ()
        """(partition, position after the records of the last poll)."""
        self._written = False
        """Whether the output of the polled records is written."""

    def write_with(self, output: Output) -> None:
        """Set the producer; call it before :meth:`begin`."""
        self.output = output
        output.on_outcome = self._on_output

    def begin(self, states: tuple[PartitionState, ...], racks: Mapping[int, str] = NO_RACKS) -> None:
        """Start; polls begin when ``initTransactions`` has returned."""
        super().begin(states, racks)
        if not self.output.ready:
            self._phase = STARTING

    def _go_on(self) -> None:
        if self._phase != STARTING or self.output.ready:
            super()._go_on()

    def _poll(self, now: int) -> bool:
        has_records = super()._poll(now)
        self._learn_identity()
        return has_records

    def _learn_identity(self) -> None:
        member = None if self.coordination is None else self.coordination.member
        if member is not None and member.state == STABLE:
            self._identity = (member.generation, member.member_id)

    def _return_records(self, polled: list[PolledRecords], now: int) -> None:
        positions = self._positions.offsets
        self._offsets = tuple([(each.partition, positions[each.partition]) for each in polled])
        super()._return_records(polled, now)

    def _processed(self, now: int) -> None:
        if self._written:
            self._written = False
            super()._processed(now)
            return
        if self.handling.ended_by:
            if self.handling.ended_by == RETRY:
                self._go_back()
            else:
                self._on_exception(now)
            return
        self._phase = DELIVERING
        self.output.write(self.handling.processed, self._group_offsets())

    def _group_offsets(self) -> TransactionOffsets:
        coordination = self.coordination
        if coordination is None:
            return TransactionOffsets(self.group, ())
        settings = coordination.settings
        if settings.consumer_protocol:
            # The background thread updates the member epoch between polls.
            self._learn_identity()
        offsets = coordination.commits.named(dict(self._offsets))
        return TransactionOffsets(self.group, offsets, *self._identity, settings.instance)

    def _on_output(self, outcome: str) -> None:
        """Handle the outcome of the output; empty: the producer is ready."""
        if outcome == FATAL:
            self._stop(self._port.now)
        elif outcome == WRITTEN:
            self._written = True
            self._processed(self._port.now)
        elif outcome:
            self._go_back()
        self._go_on()

    def _go_back(self) -> None:
        """Reset the positions to poll the unprocessed records again."""
        left: tuple[Failing, ...] = self._unprocessed.unprocessed(self._port.now)
        transactional = isinstance(self.output, TransactionalOutput)
        self.abandon(ABORTED if transactional else NOT_SENT)
        self.handling.failing = self.handling.skipped = self.handling.left = ()
        self.handling.ended_by = ""
        self._phase = POLLING
        if transactional:
            self._positions.to_committed()
            return
        # In reverse order, so that the first record of each partition determines its position.
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
        """Return all state, including that of the producer."""
        return (super().save(), self._identity, self._offsets, self._written, self.output.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        consumer, self._identity, self._offsets, self._written, output = saved
        super().load(consumer)
        self.output.load(output)
