"""A broker's replica fetcher threads and their manager (``AbstractFetcherThread``, ``ReplicaFetcherManager``).

A thread has one request in flight; a partition that is added while a fetch is delayed at the leader waits for its
response like the others. Requests are incremental: they list only what changed since the last one, until the set of
partitions or their roles change; a response leaves out what it would only repeat. Requests for truncation come before
fetches. A leader that does not respond blocks all partitions of the thread until ``replica.socket.timeout.ms``.

A thread has a connection of its own (``ReplicaFetcherBlockingSend``, ``BrokerBlockingSender``). It connects before its
first request, and again after the connection was lost or the leader did not respond; it disconnects when it ends.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.fetch.replication_quota import ReplicationQuota, slice_bytes
from cluster_model.broker.partition.fetch_sessions import FULL, FetchSessionHandler
from cluster_model.broker.partition.partition import GO_ON, BrokerMetadata, FetcherAction, FollowerState, Replica
from cluster_model.broker.partition.replication_rules import OffsetLookup
from cluster_model.connections.process_connections import BlockingConnection, Connector
from cluster_model.kernel.node_context import DeadlineTimer
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.messages import (
    EARLIEST,
    LATEST,
    EpochEndRequest,
    EpochEndResponse,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from cluster_model.protocol.records import Slice
from cluster_model.protocol.versions import Profile

# Busy replica fetcher threads: each response is handled some time after it arrived.
#
# There are too few threads (``num.replica.fetchers``) for their partitions, or too little CPU for each. A thread
# fetches again only when it has handled a response, so everything it fetches is delayed.


_SECOND = 1_000_000


class FetcherDelay(NamedTuple):
    """Effect of one fault on a broker's fetcher threads, or only on the one that fetches ``partition``."""

    extra_us: int
    """Additional microseconds for each response."""
    throughput: int
    """Bytes per second that a thread handles; 0: unlimited."""
    partition: str = ""
    """Partition whose thread is affected; empty: every thread."""


def busy_us(faults: Mapping[int, FetcherDelay], response: FetchResponse, replicas: Mapping[str, Replica]) -> int:
    """Return how long a thread is busy with a response, by all faults that affect it, in microseconds."""
    size = sum(
        slice_bytes(replicas[data.partition].log.epoch_branches, data.records)
        for data in response.partitions
        if data.records.extents and data.partition in replicas
    )
    return sum(
        fault.extra_us + (size * _SECOND // fault.throughput if fault.throughput else 0) for fault in faults.values()
    )


# Assignment of partitions to fetcher threads (``AbstractFetcherManager.getFetcherId``).


BITS: Final = 8
"""Bits of a fetcher's index in the correlation ids of its requests."""
FETCHER: Final = "fetcher"
"""Name of the timer of a fetcher's timeouts and delays."""
_FETCHERS: Final = (1 << BITS) - 1
_WORD: Final = 1 << 32
_SIGN: Final = 1 << 31


def _signed(value: int) -> int:
    """Wrap a number to a signed 32-bit integer."""
    return (value + _SIGN) % _WORD - _SIGN


def java_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` of text in the basic multilingual plane, as topic names are."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) % _WORD
    return _signed(value)


def fetcher_id(partition: str, fetchers: int) -> int:
    """Return the index of a partition's fetcher thread, below ``fetchers`` (``num.replica.fetchers``)."""
    if fetchers == 1:
        return 0
    topic, _dash, number = partition.rpartition("-")
    value = _signed(31 * java_hash(topic) + int(number))
    return (0 if value == -_SIGN else abs(value)) % fetchers


def fetcher_of(correlation_id: int) -> int:
    """Return the index of the thread of a correlation id."""
    return correlation_id >> 32 & _FETCHERS


def first_correlation(incarnation: int, fetcher: int) -> int:
    """Return a thread's first correlation id, unique across threads and incarnations of the process."""
    return ((incarnation << BITS) + fetcher) << 32


Request = FetchRequest | EpochEndRequest | ListOffsetsRequest


class ReplicaFetcherThread:
    """Fetcher thread that replicates its partitions from one leader (``ReplicaFetcherThread``)."""

    __slots__ = (
        "_broker_epoch", "_busy", "_changed", "_config", "_connection", "_connection_lost", "_correlation", "_dead",
        "_delayed", "_exchange", "_finds_epoch", "_held", "_held_until", "_leader_offsets", "_outstanding",
        "_partitions", "_port", "_replicas", "_requested", "_sent_epoch", "_session", "_slots", "_steady", "_throttle",
        "_timer", "_touched", "_unsent", "index", "leader",
    )  # fmt: skip

    def __init__(
        self,
        connector: Connector,
        leader: int,
        replicas: dict[str, Replica],
        profile: Profile,
        config: BrokerConfig,
        broker_epoch: Callable[[], int],
        touched: dict[str, None],
        throttle: ReplicationQuota,
        index: int = 0,
        busy: dict[int, FetcherDelay] | None = None,
        *,
        connected: bool = False,
    ) -> None:
        """Create a thread without partitions; ``touched`` collects changed ones, ``busy`` are faults of threads.

        ``connected``: the thread has been running since before the start of the session.
        """
        self.leader = leader
        self.index = index
        self._throttle = throttle
        self._port = port = connector.port
        self._connection = BlockingConnection(connector, leader, is_open=connected)
        self._unsent: Request | None = None
        """Request that waits for the connection."""
        self._exchange = port.outgoing_exchange(leader, index)
        self._exchange.asking = self
        self._replicas = replicas
        self._finds_epoch = profile.kip_279
        self._config = config
        self._broker_epoch = broker_epoch
        self._touched = touched
        self._partitions: dict[str, None] = {}
        self._delayed: dict[str, int] = {}
        """Partition → time of its next attempt."""
        self._correlation = first_correlation(port.incarnation, index)
        self._outstanding = 0
        """Correlation id of the request in flight, 0 for none."""
        self._requested: list[FetchPartition] = []
        """The fetch session's partitions, as the leader knows them."""
        self._slots: dict[str, int] = {}
        self._leader_offsets: list[tuple[int, int]] = []
        """HW and log start of each partition, as the leader last sent them."""
        self._changed: list[int] = []
        """Slots of :attr:`_asked` with changes that are not sent yet."""
        self._steady = False  # no change of partitions or roles since the last full request
        self._sent_epoch = -1
        self._session = FetchSessionHandler(uses_sessions=profile.fetch_sessions)
        self._timer = DeadlineTimer(port, FETCHER, leader, index)
        self._busy: dict[int, FetcherDelay] = {} if busy is None else busy
        self._held: FetchResponse | None = None
        """Response that a busy thread is handling; until it is done no other request is sent."""
        self._held_until = 0
        self._connection_lost = False  # the connection was lost while a response was being handled
        self._dead = False
        """Whether the thread has ended, which its manager does not notice while it has partitions."""

    def add(self, partition: str) -> None:
        """Add a partition, from the next request on."""
        self.require_full_fetch()
        self._dead = self._dead and bool(self._partitions)
        self._partitions[partition] = None
        self._delayed.pop(partition, None)
        self.send_fetch()

    def has(self, partition: str) -> bool:
        """Whether the thread fetches a partition."""
        return partition in self._partitions

    def remove(self, partition: str) -> None:
        """Remove a partition; its part of a response in flight is ignored."""
        if partition in self._partitions:
            self.require_full_fetch()
            del self._partitions[partition]
            self._delayed.pop(partition, None)

    def quit_if_idle(self) -> None:
        """End a thread without partitions, even with a request in flight (``shutdownIdleFetcherThreads``)."""
        if self._partitions or self._held is not None:
            return
        if self._outstanding:
            self._port.abandon(self.leader, self._exchange)
            self.require_full_fetch()
            self._session.closed()
            self._outstanding = 0
        self._disconnect()

    def _disconnect(self) -> None:
        """Close the connection; a request that waits for it is never sent."""
        self._connection.close()
        self._unsent = None

    def require_full_fetch(self) -> None:
        """Send a full request next, because a role or an epoch may change."""
        self._exchange.wake()
        self._steady = False

    def stopped(self) -> None:
        """Stop with the process, which died."""
        self._exchange.asking = None

    def repeats(self, number: int) -> bool:
        """Whether the next request is the same if request ``number`` returns no news."""
        return (
            number == self._outstanding
            and self._steady
            and not self._delayed
            and not self._changed
            and not self._busy
            and self._session.epoch != FULL
            and self._broker_epoch() == self._sent_epoch
        )

    def request(self, number: int, partitions: tuple[FetchPartition, ...] = ()) -> FetchRequest:
        """Return an incremental fetch request with the changed ``partitions``."""
        session = self._session
        return FetchRequest(
            number, self._port.node_id, self._sent_epoch, self._config.fetch_wait_us, self._config.fetch_bytes,
            partitions, True, "", self.index, session.id, session.epoch, self._config.fetch_min_bytes,
            self._config.fetch_response_bytes,
        )  # fmt: skip

    def awaits(self, number: int) -> bool:
        """Whether request ``number`` is in flight."""
        return number == self._outstanding and self._held is None

    def skipped(self, number: int) -> None:
        """Account for skipped requests and empty responses up to this one."""
        self._session.skipped(number - self._outstanding)
        self._correlation = self._outstanding = number

    def send_fetch(self, *, no_news: bool = False) -> None:
        """Send the next request if none is in flight; ``no_news``: the last response was empty."""
        if self._outstanding or self._dead:
            return
        if self._steady and not self._delayed and self._broker_epoch() == self._sent_epoch:
            changed = self._changed
            if changed:
                requested = self._requested
                partitions = tuple([requested[slot] for slot in changed])
                changed.clear()
                self._send(self.request(self._next(), partitions))
            else:
                self._send(self.request(self._next()), idle=no_news)
            return
        self._send_full(self._port.clock.now)

    def _send_full(self, now: int) -> None:
        """Send a full fetch, or the truncation request that some partition needs first."""
        if not self._partitions:
            self._disconnect()
            return
        ready = [self._following(name) for name in self._partitions if self._delayed.get(name, 0) <= now]
        held_back = self._throttle.active and self._throttle.exceeded(now)
        for following in ready:
            if following is not None and following.seek is not None:
                # fetchOffsetAndTruncate blocks the whole thread, one partition after another
                self._begin([])
                self._request_offset(following.replica.partition, following.seek)
                return
        epoch_requests = [
            following.epoch_request() for following in ready if following is not None and following.truncating
        ]
        fetches = [
            following.next_fetch()
            for following in ready
            if following is not None and not following.truncating and not (held_back and self._throttled(following))
        ]
        if epoch_requests:
            self._begin([])
            self._send(EpochEndRequest(self._next(), tuple(epoch_requests), finds_epoch=self._finds_epoch))
        elif fetches:
            self._begin(fetches)
            self._sent_epoch = self._broker_epoch()
            self._send(self.request(self._next(), tuple(fetches))._replace(incremental=False))
        elif held_back and any(ready):
            self._timer.arm(now + self._config.fetch_backoff_us)
        elif self._delayed:
            self._timer.arm(min(self._delayed.values()))

    def _throttled(self, following: FollowerState) -> bool:
        """Whether the follower's quota applies to a partition, which is not in sync (``shouldFollowerThrottle``)."""
        return following.lag != 0 and self._concerns(following.replica)

    def _concerns(self, replica: Replica) -> bool:
        return self._throttle.applies_to(replica.partition, replica.topic.follower_throttled, replica.broker)

    def _request_offset(self, partition: str, seek: OffsetLookup) -> None:
        which = EARLIEST if seek.earliest else LATEST
        self._send(ListOffsetsRequest(self._next(), partition, which, seek.epoch, self._port.node_id))

    def _begin(self, partitions: list[FetchPartition]) -> None:
        self._requested = partitions
        self._slots = {entry.partition: slot for slot, entry in enumerate(partitions)}
        self._leader_offsets = [(-1, -1)] * len(partitions)
        self._changed.clear()
        self._steady = len(partitions) == len(self._partitions) and not self._throttle.active

    def _following(self, partition: str) -> FollowerState | None:
        following = self._replicas[partition].following
        return None if following is None or following.failed else following

    def _next(self) -> int:
        self._correlation += 1
        return self._correlation

    def _send(self, request: Request, *, idle: bool = False) -> None:
        number = self._outstanding = request.correlation_id
        if self._connection.is_open:
            self._exchange.ask(number, request, idle=idle)
            self._timer.arm(self._port.clock.now + self._config.socket_timeout_us)
        else:
            self._unsent = request
            self._timer.arm(self._connection.begin(self._config.socket_timeout_us))

    def connected(self, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of a connection attempt; False if it is not this thread's."""
        if not self._connection.on_response(message):
            return False
        request, self._unsent = self._unsent, None
        if not self._connection.is_open:
            self.disconnected()
        elif request is not None:
            self._exchange.ask(request.correlation_id, request, idle=False)
            self._timer.arm(self._port.clock.now + self._config.socket_timeout_us)
        return True

    def fetched(self, response: FetchResponse) -> bool:
        """Handle a fetch response; False if the thread is busy with it for a while."""
        if response.correlation_id != self._outstanding or self._held is not None:
            return self._held is None
        if self._busy:
            mine = self._partitions
            faults = {key: fault for key, fault in self._busy.items() if not fault.partition or fault.partition in mine}
            if faults:
                self._held = response
                self._held_until = self._port.clock.now + busy_us(faults, response, self._replicas)
                self._timer.arm(self._held_until)
                return False
        self._outstanding = 0
        self.send_fetch(no_news=self._handle(response))
        return True

    def _handle(self, response: FetchResponse) -> bool:
        """Apply a response; returns whether it had no news."""
        if not self._session.on_response(response):
            self._steady = False
            return False
        if self._steady:
            self._apply_incremental(self._port.clock.now, response)
        else:
            self._apply_full(self._port.clock.now, response)
        return not response.partitions

    def _finish_handling(self) -> FetchResponse | None:
        """Finish handling the response that kept the thread busy, and continue."""
        held, self._held = self._held, None
        if held is None:
            return None
        self._outstanding = 0
        no_news = self._handle(held)
        if self._connection_lost:
            self._connection_lost = False
            self.disconnected()
        else:
            self.send_fetch(no_news=no_news)
        return held

    def _apply_incremental(self, now: int, response: FetchResponse) -> None:
        """Apply a response after no change of partitions or roles: partitions left out are unchanged."""
        for data in response.partitions:
            slot = self._slots[data.partition]
            fetch = self._requested[slot]
            replica = self._replicas[data.partition]
            following = replica.following
            outcome = FetcherAction.IGNORED if following is None else following.apply_fetch(now, fetch, data)
            if not replica.log.log_start <= replica.hw <= replica.log.leo:
                replica.observer.check_follower(now, replica)
            self._leader_offsets[slot] = (data.hw, data.log_start)
            self._touched[data.partition] = None
            if following is None or outcome is not GO_ON or data.error:
                self._steady = False
                self._settle(data.partition, outcome)
            elif (
                replica.log.leo != fetch.offset
                or replica.log.log_start != fetch.log_start
                or data.diverging is not None
            ):
                self._requested[slot] = following.next_fetch()
                self._changed.append(slot)

    def report_log_starts(self, partitions: Iterable[str]) -> None:
        """Report moved log starts to the leader with the next request."""
        for partition in partitions if self._steady else ():
            slot = self._slots.get(partition)
            following = None if slot is None else self._following(partition)
            if slot is None or following is None or slot in self._changed:
                continue
            if following.replica.log.log_start != self._requested[slot].log_start:
                self._exchange.wake()
                self._requested[slot] = following.next_fetch()
                self._changed.append(slot)

    def _apply_full(self, now: int, response: FetchResponse) -> None:
        """Apply a response after partitions or roles changed: every partition counts, including those left out."""
        news = {data.partition: data for data in response.partitions}
        for fetch, (hw, log_start) in zip(self._requested, self._leader_offsets, strict=True):
            data = news.get(fetch.partition)
            if data is None:
                no_records = Slice(fetch.offset, fetch.offset, ())
                data = FetchData(fetch.partition, fetch.offset, 0, hw, log_start, -1, no_records)
            following = self._following(data.partition) if data.partition in self._partitions else None
            if following is not None:
                outcome = following.apply_fetch(now, fetch, data)
                following.replica.observer.check_follower(now, following.replica)
                self._settle(data.partition, outcome)
                if self._throttle.active and outcome is not FetcherAction.IGNORED and self._concerns(following.replica):
                    self._throttle.rate.record(now, slice_bytes(following.replica.log.epoch_branches, data.records))

    def epochs_ended(self, response: EpochEndResponse) -> None:
        """Handle a response with the ends of leader epochs."""
        if response.correlation_id != self._outstanding:
            return
        self._outstanding = 0
        now = self._port.clock.now
        for answer in response.partitions:
            following = self._following(answer.partition) if answer.partition in self._partitions else None
            if following is not None:
                self._settle(answer.partition, following.apply_epoch_end(now, answer))
        self.send_fetch()

    def offset_listed(self, response: ListOffsetsResponse) -> None:
        """Handle a response with the end or the start of the leader's log."""
        if response.correlation_id != self._outstanding:
            return
        self._outstanding = 0
        following = self._following(response.partition) if response.partition in self._partitions else None
        if following is not None:
            outcome = following.apply_offset(self._port.clock.now, response.error, response.log_offset)
            if outcome is FetcherAction.EXIT:
                self._port.exit(following.exit_reason)
                return
            self._settle(response.partition, outcome)
        self.send_fetch()

    def _settle(self, partition: str, outcome: FetcherAction) -> None:
        self._touched[partition] = None
        if outcome is FetcherAction.BACK_OFF:
            self._delayed[partition] = self._port.clock.now + self._config.fetch_backoff_us
        elif outcome is FetcherAction.FAILED:
            self.remove(partition)
        elif outcome is FetcherAction.STOPPED:
            self._dead = True
        else:
            self._delayed.pop(partition, None)

    def on_timer(self) -> FetchResponse | None:
        """Handle the alarm: a delay or timeout is over, or a busy thread is done with a response, which is returned."""
        if not self._timer.take_expired():
            return None
        now = self._port.clock.now
        if self._held is not None:
            if self._held_until <= now:
                return self._finish_handling()
            self._timer.arm(self._held_until)
        elif self._outstanding:
            is_unsent = self._unsent is not None
            timeout_at = (
                self._connection.until if is_unsent else self._exchange.sent_at + self._config.socket_timeout_us
            )
            if timeout_at <= now:
                if not is_unsent:
                    self._port.abandon(self.leader, self._exchange)
                self.disconnected()
            else:
                self._timer.arm(timeout_at)
        self.send_fetch()
        return None

    def broke(self) -> None:
        """Handle a broken connection to the leader's process, which may be an earlier one than the current attempt."""
        if self._connection.broke():
            self.disconnected()

    def disconnected(self) -> None:
        """Handle that the request in flight gets no response: all partitions back off."""
        if self._held is not None:
            self._connection_lost = True
            return
        self._disconnect()
        self.require_full_fetch()
        self._session.on_error()
        self._outstanding = 0
        again = self._port.clock.now + self._config.fetch_backoff_us
        for partition in self._partitions:
            self._delayed[partition] = again
            following = self._following(partition)
            if following is not None:
                following.seek = None
        self.send_fetch()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (
            tuple(self._partitions), tuple(self._delayed.items()), self._correlation, self._outstanding,
            tuple(self._requested), tuple(self._leader_offsets), tuple(self._changed), self._steady, self._sent_epoch,
            self._timer.save(), self._session.save(), (self._held, self._held_until, self._connection_lost, self._dead),
            self._connection.save(), self._unsent,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        (
            partitions, delayed, self._correlation, self._outstanding, requested, leader_offsets, changed, self._steady,
            self._sent_epoch, timer, session, (self._held, self._held_until, self._connection_lost, self._dead),
            connection, self._unsent,
        ) = saved  # fmt: skip
        self._connection.load(connection)
        self._partitions = dict.fromkeys(partitions)
        self._delayed = dict(delayed)
        self._requested = list(requested)
        self._slots = {entry.partition: slot for slot, entry in enumerate(requested)}
        self._leader_offsets = list(leader_offsets)
        self._changed = list(changed)
        self._timer.load(timer)
        self._session.load(session)


# All fetchers of a broker, by leader and fetcher id (``ReplicaFetcherManager``).


class ReplicaFetcherManager:
    """Fetcher threads of one broker process, by leader and index (``num.replica.fetchers``)."""

    __slots__ = (
        "_config", "_connector", "_epoch", "_metadata", "_profile", "_quota", "_replicas", "_touched", "blocked",
        "busy", "connected", "running",
    )  # fmt: skip

    def __init__(
        self,
        connector: Connector,
        profile: Profile,
        config: BrokerConfig,
        replicas: dict[str, Replica],
        metadata: BrokerMetadata,
        touched: dict[str, None],
        quota: ReplicationQuota,
        epoch: Callable[[], int],
    ) -> None:
        """Start without threads; ``touched`` collects changed partitions, ``epoch`` returns the broker epoch."""
        self._connector = connector
        self._profile = profile
        self._config = config
        self._replicas = replicas
        self._metadata = metadata
        self._touched = touched
        self._quota = quota
        self._epoch = epoch
        self.connected = True
        """Whether new threads count as running since before the start of the session."""
        self.running: dict[tuple[int, int], ReplicaFetcherThread] = {}
        self.busy: dict[int, FetcherDelay] = {}
        """Fault number → delay of all threads, kept across processes."""
        self.blocked: dict[tuple[int, int], tuple[bool, bool]] = {}
        """Threads that wait for the disk → (a timer rang, the connection broke) in the meantime."""

    def reconfigure(self, config: BrokerConfig) -> None:
        """Use another broker config for new threads."""
        self._config = config

    def redistribute(self) -> None:
        """Redistribute the partitions after a change of the number of threads."""
        for partition in self._replicas:
            self.leave(partition)
        self.start_waiting()

    def follow_or_lead(self, replica: Replica) -> None:
        """Fetch a partition from its current leader, if that is alive, and from no other broker."""
        for fetcher in self.running.values():
            if fetcher.leader != replica.leader:
                fetcher.remove(replica.partition)
        if replica.following is not None and replica.leader in self._metadata.live:
            self._fetcher(replica).add(replica.partition)

    def leave(self, partition: str) -> None:
        """Stop fetching a partition."""
        for fetcher in self.running.values():
            fetcher.remove(partition)

    def start_waiting(self) -> None:
        """Start fetching from leaders that were not alive when their followers learned of them."""
        for replica in self._replicas.values():
            following = replica.following
            if following is not None and not following.failed and replica.leader in self._metadata.live:
                fetcher = self._fetcher(replica)
                if not fetcher.has(replica.partition):
                    fetcher.add(replica.partition)

    def end_idle(self) -> None:
        """End threads without partitions after a metadata update, since 1.1 at once (KAFKA-6051)."""
        if self._profile.quits_waiting:
            for key, fetcher in self.running.items():
                if key not in self.blocked:
                    fetcher.quit_if_idle()

    def _fetcher(self, replica: Replica) -> ReplicaFetcherThread:
        index = fetcher_id(replica.partition, self._config.fetchers)
        fetcher = self.running.get((replica.leader, index))
        return self._new(replica.leader, index) if fetcher is None else fetcher

    def _new(self, leader: int, index: int) -> ReplicaFetcherThread:
        fetcher = ReplicaFetcherThread(
            self._connector, leader, self._replicas, self._profile, self._config, self._epoch, self._touched,
            self._quota, index, self.busy, connected=self.connected,
        )  # fmt: skip
        self.running[leader, index] = fetcher
        return fetcher

    def fetched(self, source: int, response: FetchResponse) -> bool:
        """Handle a fetch response; False if no thread waits for it, or the thread is busy with it for a while."""
        fetcher = self.running.get((source, fetcher_of(response.correlation_id)))
        return fetcher is not None and fetcher.fetched(response)

    def epochs_ended(self, source: int, response: EpochEndResponse) -> None:
        """Handle a response with the ends of leader epochs."""
        fetcher = self.running.get((source, fetcher_of(response.correlation_id)))
        if fetcher is not None:
            fetcher.epochs_ended(response)

    def offset_listed(self, source: int, response: ListOffsetsResponse) -> None:
        """Handle a response with the start or end of a leader's log."""
        fetcher = self.running.get((source, fetcher_of(response.correlation_id)))
        if fetcher is not None:
            fetcher.offset_listed(response)

    def on_timer(self, leader: int, index: int) -> FetchResponse | None:
        """Handle a thread's timer; returns the response that it has finished handling, if it was busy with one."""
        if (leader, index) in self.blocked:
            self.blocked[leader, index] = (True, self.blocked[leader, index][1])
            return None
        fetcher = self.running.get((leader, index))
        return None if fetcher is None else fetcher.on_timer()

    def disconnected(self, peer: int) -> None:
        """Handle a broken connection: requests to ``peer`` get no response."""
        for key, fetcher in self.running.items():
            if key in self.blocked and fetcher.leader == peer:
                self.blocked[key] = (self.blocked[key][0], True)
            elif fetcher.leader == peer:
                fetcher.broke()

    def connection_result(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Handle the result of a connection attempt; False if it is no thread's."""
        return any(fetcher.leader == peer and fetcher.connected(message) for fetcher in self.running.values())

    def block(self, source: int, response: FetchResponse) -> bool:
        """Block the thread of a response until the disk has written it; False if no thread waits for it."""
        key = (source, fetcher_of(response.correlation_id))
        fetcher = self.running.get(key)
        if fetcher is None or key in self.blocked or not fetcher.awaits(response.correlation_id):
            return False
        self.blocked[key] = (False, False)
        return True

    def unblock(self, source: int, response: FetchResponse) -> None:
        """Continue a thread after it has applied the response, with what happened in the meantime."""
        key = (source, fetcher_of(response.correlation_id))
        rang, broke = self.blocked.pop(key, (False, False))
        fetcher = self.running.get(key)
        if fetcher is not None and broke:
            fetcher.broke()
        if fetcher is not None and rang:
            fetcher.on_timer()

    def require_full_fetches(self) -> None:
        """Send full requests next, because what idle fetches depend on changes."""
        for fetcher in self.running.values():
            fetcher.require_full_fetch()

    def report_log_starts(self, changed: dict[str, None]) -> None:
        """Report moved log starts to the leaders."""
        for fetcher in self.running.values():
            fetcher.report_log_starts(changed)

    def stopped(self) -> None:
        """Discard all threads of a process that died."""
        for fetcher in self.running.values():
            fetcher.stopped()
        self.running.clear()
        self.blocked.clear()
        self.connected = False

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (tuple((key, fetcher.save()) for key, fetcher in self.running.items()), tuple(self.busy.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`; the replicas exist already."""
        running, busy = saved
        self.running.clear()
        self.busy.clear()
        self.busy.update(busy)
        for (leader, index), state in running:
            self._new(leader, index).load(state)
