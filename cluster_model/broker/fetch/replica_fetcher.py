"""A broker's replica fetcher threads and their manager (``AbstractFetcherThread``, ``ReplicaFetcherManager``).

One request is outstanding at a time; a partition that joins while a fetch is parked at the leader waits for its answer
like the others. Requests are incremental: they ask only for what changed since the last one, until something happens
to the set of partitions or their roles; an answer leaves out what it would only repeat. Truncation questions go before
fetches. A leader that does not answer holds up all partitions of the thread until ``replica.socket.timeout.ms``.

A thread has a connection of its own (``ReplicaFetcherBlockingSend``, ``BrokerBlockingSender``). It makes it before its
first request, and again after it was lost or the leader did not answer; it closes it when it ends.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.broker.fetch.replication_quota import Throttle, slice_bytes
from cluster_model.broker.partition.fetch_sessions import FULL, SessionHandle
from cluster_model.broker.partition.partition import GO_ON, BrokerMetadata, FetcherAction, FollowerState, Replica
from cluster_model.broker.partition.replication_rules import Seek
from cluster_model.connections.process_connections import BlockingConnection, Connector
from cluster_model.kernel.node_context import Alarm
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
# There are too few of them (``num.replica.fetchers``) for what they carry, or too little of a processor for each. A
# thread asks again only when it is done with an answer, so all that it fetches comes so much later.


_SECOND = 1_000_000


class Busy(NamedTuple):
    """What one fault does to the threads of a broker, or only to that which fetches ``partition``."""

    extra_us: int
    """On top of every answer."""
    throughput: int
    """Bytes a second that a thread handles; 0: as many as come."""
    partition: str = ""
    """Empty: every thread."""


def busy_us(faults: Mapping[int, Busy], response: FetchResponse, replicas: Mapping[str, Replica]) -> int:
    """How long a thread is busy with an answer, by all faults that are about it."""
    size = sum(
        slice_bytes(replicas[data.partition].log.lineages, data.records)
        for data in response.partitions
        if data.records.extents and data.partition in replicas
    )
    return sum(
        fault.extra_us + (size * _SECOND // fault.throughput if fault.throughput else 0) for fault in faults.values()
    )


# Which fetcher thread fetches a partition (``AbstractFetcherManager.getFetcherId``).


BITS: Final = 8
"""Room of a fetcher's number in the correlations of its requests."""
FETCHER: Final = "fetcher"
"""Name of the timer with which a fetcher looks whether anything is overdue."""
_FETCHERS: Final = (1 << BITS) - 1
_WORD: Final = 1 << 32
_SIGN: Final = 1 << 31


def _signed(value: int) -> int:
    """A number as 32 bits hold it."""
    return (value + _SIGN) % _WORD - _SIGN


def java_hash(text: str) -> int:
    """``String.hashCode`` of text without characters beyond the basic plane, which topic names lack."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) % _WORD
    return _signed(value)


def fetcher_id(partition: str, fetchers: int) -> int:
    """The number of the thread for a partition such as ``orders-0``, below ``fetchers`` (``num.replica.fetchers``)."""
    if fetchers == 1:
        return 0
    topic, _dash, number = partition.rpartition("-")
    value = _signed(31 * java_hash(topic) + int(number))
    return (0 if value == -_SIGN else abs(value)) % fetchers


def fetcher_of(correlation: int) -> int:
    """Which thread a correlation belongs to."""
    return correlation >> 32 & _FETCHERS


def first_correlation(incarnation: int, fetcher: int) -> int:
    """Where a thread's correlations begin: none of a former life of the process, or of another thread, is like them."""
    return ((incarnation << BITS) + fetcher) << 32


Request = FetchRequest | EpochEndRequest | ListOffsetsRequest


class ReplicaFetcherThread:
    """Fetches from ``leader`` for the partitions added to it."""

    __slots__ = (
        "_alarm", "_asked", "_broker_epoch", "_busy", "_changed", "_config", "_connection", "_correlation", "_dead",
        "_delayed", "_exchange", "_held", "_held_until", "_hung_up", "_outstanding", "_partitions", "_places", "_port",
        "_replicas", "_sent_epoch", "_session", "_steady", "_throttle", "_told", "_touched", "_unsent", "index",
        "leader",
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
        throttle: Throttle,
        index: int = 0,
        busy: dict[int, Busy] | None = None,
        *,
        connected: bool = False,
    ) -> None:
        """``touched`` takes partitions whose saved state is out of date; ``busy`` is what faults do to the threads.

        ``connected``: the thread has been running since before the session's start.
        """
        self.leader = leader
        self.index = index
        self._throttle = throttle
        self._port = port = connector.port
        self._connection = BlockingConnection(connector, leader, is_open=connected)
        self._unsent: Request | None = None
        """The request that waits for the connection."""
        self._exchange = port.asking(leader, index)
        self._exchange.asking = self
        self._replicas = replicas
        self._config = config
        self._broker_epoch = broker_epoch
        self._touched = touched
        self._partitions: dict[str, None] = {}
        self._delayed: dict[str, int] = {}
        """Partition → when it may be tried again."""
        self._correlation = first_correlation(port.incarnation, index)
        self._outstanding = 0
        """Correlation of the request under way, 0 for none."""
        self._asked: list[FetchPartition] = []
        """What the leader takes us to ask, of each partition."""
        self._places: dict[str, int] = {}
        self._told: list[tuple[int, int]] = []
        """HW and log start of each partition as the leader last told them."""
        self._changed: list[int] = []
        """Places in :attr:`_asked` that the leader has yet to hear of."""
        self._steady = False  # Nothing has happened to partitions and roles since the last full request.
        self._sent_epoch = -1
        self._session = SessionHandle(uses_sessions=profile.fetch_sessions)
        self._alarm = Alarm(port, FETCHER, leader, index)
        self._busy: dict[int, Busy] = {} if busy is None else busy
        self._held: FetchResponse | None = None
        """The answer that a busy thread has in hand; until it is done with it nothing else is asked."""
        self._held_until = 0
        self._hung_up = False  # The connection was lost meanwhile.
        self._dead = False
        """The thread has ended, which its manager does not notice as long as any partition is its own."""

    def add(self, partition: str) -> None:
        """Fetch this one too, from the next request on."""
        self.disturb()
        self._dead = self._dead and bool(self._partitions)
        self._partitions[partition] = None
        self._delayed.pop(partition, None)
        self.pump()

    def has(self, partition: str) -> bool:
        """Whether it fetches this one."""
        return partition in self._partitions

    def remove(self, partition: str) -> None:
        """Leave this one; an answer under way will be ignored."""
        if partition in self._partitions:
            self.disturb()
            del self._partitions[partition]
            self._delayed.pop(partition, None)

    def quit_if_idle(self) -> None:
        """The thread ends, whatever it waits for (``AbstractFetcherManager.shutdownIdleFetcherThreads``)."""
        if self._partitions or self._held is not None:
            return
        if self._outstanding:
            self._port.abandon(self.leader, self._exchange)
            self.disturb()
            self._session.closed()
            self._outstanding = 0
        self._hang_up()

    def _hang_up(self) -> None:
        """Close the connection; what waits for it is never sent."""
        self._connection.close()
        self._unsent = None

    def disturb(self) -> None:
        """A role or an epoch may change: the next request is a full one."""
        self._exchange.wake()
        self._steady = False

    def stopped(self) -> None:
        """The process died."""
        self._exchange.asking = None

    def repeats(self, number: int) -> bool:
        """Whether it would ask the same again if request ``number`` brought no news."""
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
        """The question of one that has nothing new to say but ``partitions``."""
        session = self._session
        return FetchRequest(
            number, self._port.node_id, self._sent_epoch, self._config.fetch_wait_us, self._config.fetch_bytes,
            partitions, True, "", self.index, session.id, session.epoch, self._config.fetch_min_bytes,
            self._config.fetch_response_bytes,
        )  # fmt: skip

    def awaits(self, number: int) -> bool:
        """Whether request ``number`` is the one under way."""
        return number == self._outstanding and self._held is None

    def skipped(self, number: int) -> None:
        """Questions and empty answers were left out up to this one."""
        self._session.skipped(number - self._outstanding)
        self._correlation = self._outstanding = number

    def pump(self, *, no_news: bool = False) -> None:
        """Send the next request if none is under way and some partition is ready; ``no_news``: the last was in vain."""
        if self._outstanding or self._dead:
            return
        if self._steady and not self._delayed and self._broker_epoch() == self._sent_epoch:
            changed = self._changed
            if changed:
                asked = self._asked
                partitions = tuple([asked[place] for place in changed])
                changed.clear()
                self._send(self.request(self._next(), partitions))
            else:
                self._send(self.request(self._next()), idle=no_news)
            return
        self._ask_anew(self._port.clock.now)

    def _ask_anew(self, now: int) -> None:
        """Send a full request, or the question that some partition needs an answer to first."""
        if not self._partitions:
            self._hang_up()
            return
        ready = [self._following(name) for name in self._partitions if self._delayed.get(name, 0) <= now]
        held_back = self._throttle.active and self._throttle.exceeded(now)
        for following in ready:
            if following is not None and following.seek is not None:
                # fetchOffsetAndTruncate blocks the whole thread, one partition after another.
                self._begin([])
                self._ask_offset(following.replica.partition, following.seek)
                return
        asking = [following.epoch_question() for following in ready if following is not None and following.truncating]
        fetching = [
            following.question()
            for following in ready
            if following is not None and not following.truncating and not (held_back and self._throttled(following))
        ]
        if asking:
            self._begin([])
            self._send(EpochEndRequest(self._next(), tuple(asking)))
        elif fetching:
            self._begin(fetching)
            self._sent_epoch = self._broker_epoch()
            self._send(self.request(self._next(), tuple(fetching))._replace(incremental=False))
        elif held_back and any(ready):
            self._alarm.want(now + self._config.fetch_backoff_us)
        elif self._delayed:
            self._alarm.want(min(self._delayed.values()))

    def _throttled(self, following: FollowerState) -> bool:
        """Whether the follower's quota is for this one, which is not in sync (``shouldFollowerThrottle``)."""
        return following.lag != 0 and self._concerns(following.replica)

    def _concerns(self, replica: Replica) -> bool:
        return self._throttle.concerns(replica.partition, replica.topic.follower_throttled, replica.broker)

    def _ask_offset(self, partition: str, seek: Seek) -> None:
        which = EARLIEST if seek.earliest else LATEST
        self._send(ListOffsetsRequest(self._next(), partition, which, seek.epoch, self._port.node_id))

    def _begin(self, asked: list[FetchPartition]) -> None:
        self._asked = asked
        self._places = {entry.partition: place for place, entry in enumerate(asked)}
        self._told = [(-1, -1)] * len(asked)
        self._changed.clear()
        self._steady = len(asked) == len(self._partitions) and not self._throttle.active

    def _following(self, partition: str) -> FollowerState | None:
        following = self._replicas[partition].following
        return None if following is None or following.failed else following

    def _next(self) -> int:
        self._correlation += 1
        return self._correlation

    def _send(self, request: Request, *, idle: bool = False) -> None:
        number = self._outstanding = request.correlation
        if self._connection.is_open:
            self._exchange.ask(number, request, idle=idle)
            self._alarm.want(self._port.clock.now + self._config.socket_timeout_us)
        else:
            self._unsent = request
            self._alarm.want(self._connection.begin(self._config.socket_timeout_us))

    def connected(self, message: Connected | ConnectionRefused) -> bool:
        """Take the answer to an attempt to connect; False if it is not this thread's."""
        if not self._connection.answered(message):
            return False
        request, self._unsent = self._unsent, None
        if not self._connection.is_open:
            self.disconnected()
        elif request is not None:
            self._exchange.ask(request.correlation, request, idle=False)
            self._alarm.want(self._port.clock.now + self._config.socket_timeout_us)
        return True

    def fetched(self, response: FetchResponse) -> bool:
        """The leader answered a fetch; False: the thread will be busy with that for a while."""
        if response.correlation != self._outstanding or self._held is not None:
            return self._held is None
        if self._busy:
            mine = self._partitions
            faults = {key: fault for key, fault in self._busy.items() if not fault.partition or fault.partition in mine}
            if faults:
                self._held = response
                self._held_until = self._port.clock.now + busy_us(faults, response, self._replicas)
                self._alarm.want(self._held_until)
                return False
        self._outstanding = 0
        self.pump(no_news=self._handle(response))
        return True

    def _handle(self, response: FetchResponse) -> bool:
        """Take an answer; whether there was no news in it."""
        if not self._session.answered(response):
            self._steady = False
            return False
        if self._steady:
            self._take(self._port.clock.now, response)
        else:
            self._take_all(self._port.clock.now, response)
        return not response.partitions

    def _done(self) -> FetchResponse | None:
        """The thread is done with the answer in its hands, and goes on."""
        held, self._held = self._held, None
        if held is None:
            return None
        self._outstanding = 0
        no_news = self._handle(held)
        if self._hung_up:
            self._hung_up = False
            self.disconnected()
        else:
            self.pump(no_news=no_news)
        return held

    def _take(self, now: int, response: FetchResponse) -> None:
        """Nothing has happened meanwhile: what the leader left out is as it was."""
        for data in response.partitions:
            place = self._places[data.partition]
            asked = self._asked[place]
            replica = self._replicas[data.partition]
            following = replica.following
            outcome = FetcherAction.IGNORED if following is None else following.answer(now, asked, data)
            if not replica.log.log_start <= replica.hw <= replica.log.leo:
                replica.observer.look(now, replica)
            self._told[place] = (data.hw, data.log_start)
            self._touched[data.partition] = None
            if following is None or outcome is not GO_ON or data.error:
                self._steady = False
                self._settle(data.partition, outcome)
            elif (
                replica.log.leo != asked.offset
                or replica.log.log_start != asked.log_start
                or data.diverging is not None
            ):
                self._asked[place] = following.question()
                self._changed.append(place)

    def tell_log_starts(self, partitions: Iterable[str]) -> None:
        """Log starts here may have moved, which the next request tells the leader."""
        for partition in partitions if self._steady else ():
            place = self._places.get(partition)
            following = None if place is None else self._following(partition)
            if place is None or following is None or place in self._changed:
                continue
            if following.replica.log.log_start != self._asked[place].log_start:
                self._exchange.wake()
                self._asked[place] = following.question()
                self._changed.append(place)

    def _take_all(self, now: int, response: FetchResponse) -> None:
        """Roles or partitions changed under way: every answer counts, also those that repeat what was told."""
        news = {data.partition: data for data in response.partitions}
        for asked, (hw, log_start) in zip(self._asked, self._told, strict=True):
            data = news.get(asked.partition)
            if data is None:
                nothing = Slice(asked.offset, asked.offset, ())
                data = FetchData(asked.partition, asked.offset, 0, hw, log_start, -1, nothing)
            following = self._following(data.partition) if data.partition in self._partitions else None
            if following is not None:
                outcome = following.answer(now, asked, data)
                following.replica.observer.look(now, following.replica)
                self._settle(data.partition, outcome)
                if self._throttle.active and outcome is not FetcherAction.IGNORED and self._concerns(following.replica):
                    self._throttle.rate.record(now, slice_bytes(following.replica.log.lineages, data.records))

    def epochs_ended(self, response: EpochEndResponse) -> None:
        """The leader answered where epochs ended."""
        if response.correlation != self._outstanding:
            return
        self._outstanding = 0
        now = self._port.clock.now
        for answer in response.partitions:
            following = self._following(answer.partition) if answer.partition in self._partitions else None
            if following is not None:
                self._settle(answer.partition, following.epoch_answer(now, answer))
        self.pump()

    def offset_listed(self, response: ListOffsetsResponse) -> None:
        """The leader answered where its log ends or begins."""
        if response.correlation != self._outstanding:
            return
        self._outstanding = 0
        following = self._following(response.partition) if response.partition in self._partitions else None
        if following is not None:
            outcome = following.offset_answer(self._port.clock.now, response.error, response.log_offset)
            if outcome is FetcherAction.EXIT:
                self._port.exit(following.exit_reason)
                return
            self._settle(response.partition, outcome)
        self.pump()

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

    def rang(self) -> FetchResponse | None:
        """The alarm: a back-off or the leader's time is over, or a busy thread is done with an answer: that one."""
        if not self._alarm.rang():
            return None
        now = self._port.clock.now
        if self._held is not None:
            if self._held_until <= now:
                return self._done()
            self._alarm.want(self._held_until)
        elif self._outstanding:
            waits = self._unsent is not None
            late_at = self._connection.until if waits else self._exchange.sent_at + self._config.socket_timeout_us
            if late_at <= now:
                if not waits:
                    self._port.abandon(self.leader, self._exchange)
                self.disconnected()
            else:
                self._alarm.want(late_at)
        self.pump()
        return None

    def broke(self) -> None:
        """A connection to the leader's process has broken, perhaps an earlier one than that which is being made."""
        if self._connection.broke():
            self.disconnected()

    def disconnected(self) -> None:
        """The request under way will not be answered: all partitions back off."""
        if self._held is not None:
            self._hung_up = True
            return
        self._hang_up()
        self.disturb()
        self._session.lost()
        self._outstanding = 0
        again = self._port.clock.now + self._config.fetch_backoff_us
        for partition in self._partitions:
            self._delayed[partition] = again
            following = self._following(partition)
            if following is not None:
                following.seek = None
        self.pump()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (
            tuple(self._partitions), tuple(self._delayed.items()), self._correlation, self._outstanding,
            tuple(self._asked), tuple(self._told), tuple(self._changed), self._steady, self._sent_epoch,
            self._alarm.save(), self._session.save(), (self._held, self._held_until, self._hung_up, self._dead),
            self._connection.save(), self._unsent,
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        (
            partitions, delayed, self._correlation, self._outstanding, asked, told, changed, self._steady,
            self._sent_epoch, alarm, session, (self._held, self._held_until, self._hung_up, self._dead), connection,
            self._unsent,
        ) = saved  # fmt: skip
        self._connection.load(connection)
        self._partitions = dict.fromkeys(partitions)
        self._delayed = dict(delayed)
        self._asked = list(asked)
        self._places = {entry.partition: place for place, entry in enumerate(asked)}
        self._told = list(told)
        self._changed = list(changed)
        self._alarm.load(alarm)
        self._session.load(session)


# All fetchers of a broker, by leader and fetcher id (``ReplicaFetcherManager``).


class Fetchers:
    """The fetchers of one process, by leader and number (``num.replica.fetchers``)."""

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
        quota: Throttle,
        epoch: Callable[[], int],
    ) -> None:
        """``touched`` takes the partitions whose saved state is out of date; ``epoch`` is what fetches carry."""
        self._connector = connector
        self._profile = profile
        self._config = config
        self._replicas = replicas
        self._metadata = metadata
        self._touched = touched
        self._quota = quota
        self._epoch = epoch
        self.connected = True
        """Whether new threads have been running since before the session's start."""
        self.running: dict[tuple[int, int], ReplicaFetcherThread] = {}
        self.busy: dict[int, Busy] = {}
        """What faults, by number, do to all of them, whatever process they are of."""
        self.blocked: dict[tuple[int, int], tuple[bool, bool]] = {}
        """Threads that wait for the disk → what they find out then: a timer rang, the connection broke."""

    def reconfigure(self, config: BrokerConfig) -> None:
        """New fetchers go by these settings."""
        self._config = config

    def share_anew(self) -> None:
        """Another number of them: each gets other partitions."""
        for partition in self._replicas:
            self.leave(partition)
        self.start_waiting()

    def follow_or_lead(self, replica: Replica) -> None:
        """Fetch a partition from whom it follows now, if that broker lives, and from nobody else."""
        for fetcher in self.running.values():
            if fetcher.leader != replica.leader:
                fetcher.remove(replica.partition)
        if replica.following is not None and replica.leader in self._metadata.live:
            self._fetcher(replica).add(replica.partition)

    def leave(self, partition: str) -> None:
        """Fetch a partition no more."""
        for fetcher in self.running.values():
            fetcher.remove(partition)

    def start_waiting(self) -> None:
        """A leader that was not alive when its followers heard of it may be by now."""
        for replica in self._replicas.values():
            following = replica.following
            if following is not None and not following.failed and replica.leader in self._metadata.live:
                fetcher = self._fetcher(replica)
                if not fetcher.has(replica.partition):
                    fetcher.add(replica.partition)

    def end_idle(self) -> None:
        """Roles are taken up: who has nothing left to fetch is done, since 1.1 at once (KAFKA-6051)."""
        if self._profile.quits_waiting:
            for place, fetcher in self.running.items():
                if place not in self.blocked:
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
        """A leader answers; False when nobody asked it, or who did is busy with the answer for a while."""
        fetcher = self.running.get((source, fetcher_of(response.correlation)))
        return fetcher is not None and fetcher.fetched(response)

    def epochs_ended(self, source: int, response: EpochEndResponse) -> None:
        """A leader says where epochs end."""
        fetcher = self.running.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.epochs_ended(response)

    def offset_listed(self, source: int, response: ListOffsetsResponse) -> None:
        """A leader says where its log begins or ends."""
        fetcher = self.running.get((source, fetcher_of(response.correlation)))
        if fetcher is not None:
            fetcher.offset_listed(response)

    def rang(self, leader: int, index: int) -> FetchResponse | None:
        """A timer of a fetcher's; the answer that it has dealt with by now, if it was busy with one."""
        if (leader, index) in self.blocked:
            self.blocked[leader, index] = (True, self.blocked[leader, index][1])
            return None
        fetcher = self.running.get((leader, index))
        return None if fetcher is None else fetcher.rang()

    def disconnected(self, peer: int) -> None:
        """Whatever was asked of ``peer`` will not be answered."""
        for place, fetcher in self.running.items():
            if place in self.blocked and fetcher.leader == peer:
                self.blocked[place] = (self.blocked[place][0], True)
            elif fetcher.leader == peer:
                fetcher.broke()

    def answered(self, peer: int, message: Connected | ConnectionRefused) -> bool:
        """Take the answer to an attempt to connect; False if it is none of theirs."""
        return any(fetcher.leader == peer and fetcher.connected(message) for fetcher in self.running.values())

    def block(self, source: int, response: FetchResponse) -> bool:
        """A leader's answer has come, and its thread will wait for the disk; False when nobody awaits it."""
        place = (source, fetcher_of(response.correlation))
        fetcher = self.running.get(place)
        if fetcher is None or place in self.blocked or not fetcher.awaits(response.correlation):
            return False
        self.blocked[place] = (False, False)
        return True

    def unblock(self, source: int, response: FetchResponse) -> None:
        """The thread has taken the answer, and hears of what happened meanwhile."""
        place = (source, fetcher_of(response.correlation))
        rang, broke = self.blocked.pop(place, (False, False))
        fetcher = self.running.get(place)
        if fetcher is not None and broke:
            fetcher.broke()
        if fetcher is not None and rang:
            fetcher.rang()

    def disturb(self) -> None:
        """Fetches that were left alone are to be looked at: what they depend on changes."""
        for fetcher in self.running.values():
            fetcher.disturb()

    def tell_log_starts(self, changed: dict[str, None]) -> None:
        """Leaders are to hear where these logs begin now."""
        for fetcher in self.running.values():
            fetcher.tell_log_starts(changed)

    def stopped(self) -> None:
        """The process died."""
        for fetcher in self.running.values():
            fetcher.stopped()
        self.running.clear()
        self.blocked.clear()
        self.connected = False

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple((key, fetcher.save()) for key, fetcher in self.running.items()), tuple(self.busy.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`; the replicas are there already."""
        running, busy = saved
        self.running.clear()
        self.busy.clear()
        self.busy.update(busy)
        for (leader, index), state in running:
            self._new(leader, index).load(state)
