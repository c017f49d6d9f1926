"""What a broker answers to clients and followers: produce, fetch, offsets (``KafkaApis`` over ``ReplicaManager``)."""

from collections.abc import Callable

from cluster_model.errors import KafkaError
from cluster_model.kernel.port import Port
from cluster_model.log.epochs import UNDEFINED
from cluster_model.log.replica_log import Slice
from cluster_model.messages import (
    CONSUMER,
    NOBODY,
    EpochEnd,
    EpochEndRequest,
    EpochEndResponse,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.profiles import Profile
from cluster_model.replication.purgatory import ParkedFetch, ParkedProduce, Purgatory
from cluster_model.replication.reading_from_followers import serve_consumer, serves_consumers
from cluster_model.replication.replica import Replica
from cluster_model.replication.session_cache import FULL, SessionCache
from cluster_model.replication.sessions import FetchSession
from cluster_model.replication.throttling import Throttle, slice_bytes


def check_epoch(replica: Replica, current: int) -> KafkaError:
    """KIP-320: whether the asker's leader epoch is this replica's (``Partition.checkCurrentLeaderEpoch``)."""
    if current in (UNDEFINED, replica.leader_epoch):
        return KafkaError.NONE
    if current < replica.leader_epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    return KafkaError.UNKNOWN_LEADER_EPOCH


def epoch_end(replica: Replica | None, partition: str, epoch: int, current: int) -> EpochEnd:
    """Where ``epoch`` ended in this log, by the version's rule (``Partition.lastOffsetForLeaderEpoch``)."""
    if replica is None:
        return EpochEnd(partition, epoch, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, UNDEFINED, UNDEFINED)
    error = check_epoch(replica, current)
    if error is KafkaError.NONE and replica.leadership is None:
        error = KafkaError.NOT_LEADER_OR_FOLLOWER
    if error is not KafkaError.NONE:
        return EpochEnd(partition, epoch, error, UNDEFINED, UNDEFINED)
    log = replica.log
    if replica.profile.kip_279:
        found, end = log.epochs.end_offset_for(epoch, log.leo)
        return EpochEnd(partition, epoch, 0, found, end)
    return EpochEnd(partition, epoch, 0, UNDEFINED, log.epochs.end_offset_kip_101(epoch, log.leo))


def listed_offset(replica: Replica | None, request: ListOffsetsRequest) -> tuple[KafkaError, int]:
    """The start of the log, or its end: LEO for a follower, for a consumer the HW (``fetchOffsetForTimestamp``).

    A consumer is told no end until the HW has reached the start of this epoch.
    """
    if replica is None:
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION, -1
    error = check_epoch(replica, request.current_leader_epoch)
    if error is not KafkaError.NONE:
        return error, -1
    if replica.leadership is None:
        return KafkaError.NOT_LEADER_OR_FOLLOWER, -1
    if request.earliest:
        return KafkaError.NONE, replica.log.log_start
    if request.replica != CONSUMER:
        return KafkaError.NONE, replica.log.leo
    if replica.profile.bounce_detected and replica.hw < replica.leadership.epoch_start:
        return KafkaError.OFFSET_NOT_AVAILABLE, -1
    return KafkaError.NONE, replica.hw


def serve_fetch(
    replica: Replica | None, request: FetchRequest, asked: FetchPartition, now: int, *, book: bool
) -> FetchData:
    """Read for a fetch; ``book``: count it as news of the follower, which a parked fetch does only on arrival."""
    error = KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    if replica is not None:
        error = check_epoch(replica, asked.current_leader_epoch)
        leadership = replica.leadership
        if error is KafkaError.NONE and request.replica == CONSUMER:
            if serves_consumers(replica):
                return serve_consumer(replica, request, asked, now)
        elif error is KafkaError.NONE and leadership is not None:
            return leadership.serve_follower(
                now, request.replica, request.broker_epoch, asked, request.max_bytes, book=book
            )
        if error is KafkaError.NONE:
            error = KafkaError.NOT_LEADER_OR_FOLLOWER
    nothing = Slice(asked.offset, asked.offset, ())
    return FetchData(asked.partition, asked.offset, error, -1, -1, -1, nothing)


def _says_something(data: FetchData) -> bool:
    """Whether an answer is more than the HW, so that it cannot wait."""
    return (
        data.error != 0
        or data.diverging is not None
        or data.records.end > data.records.start
        or data.preferred != NOBODY
    )


class Service:
    """Answers requests of one broker; what must wait goes to the purgatory."""

    __slots__ = ("_cache", "_port", "_profile", "_purgatory", "_replicas", "_settle", "_throttle", "_touched")

    def __init__(
        self,
        port: Port,
        profile: Profile,
        replicas: dict[str, Replica],
        purgatory: Purgatory,
        settle: Callable[[Replica], None],
        touched: dict[str, None],
        cache: SessionCache,
        throttle: Throttle,
    ) -> None:
        """``touched`` takes the partitions whose saved state is out of date."""
        self._cache = cache
        self._throttle = throttle
        self._port = port
        self._profile = profile
        self._replicas = replicas
        self._purgatory = purgatory
        self._settle = settle
        self._touched = touched

    def produce(self, source: int, request: ProduceRequest) -> None:
        """Append, and answer now, later, or for acks=0 never."""
        replica = self._replicas.get(request.partition)
        if replica is None or replica.leadership is None:
            error = KafkaError.UNKNOWN_TOPIC_OR_PARTITION if replica is None else KafkaError.NOT_LEADER_OR_FOLLOWER
            if request.acks:
                self._port.send(source, ProduceResponse(request.correlation, request.partition, error, -1, -1, -1))
            return
        result = replica.leadership.append(self._port.now, request)
        if result.waits:
            parked = ParkedProduce(
                source, request.correlation, request.partition, result.base, replica.leader_epoch, result.lineage
            )
            token = self._purgatory.park_produce(parked, self._port.now + request.timeout_us)
            replica.leadership.wait(result.required, token)
        elif request.acks:
            epoch = replica.leader_epoch if result.base >= 0 else -1
            self._port.send(
                source,
                ProduceResponse(
                    request.correlation, request.partition, result.error, result.base, epoch, result.lineage
                ),
            )
        self._settle(replica)

    def fetch(self, source: int, request: FetchRequest) -> None:
        """Answer at once if there is anything to say, else park (``ReplicaManager.fetchMessages``)."""
        if self._profile.fetch_sessions:
            refused = self._cache.arrived(self._port.now, request)
            if refused is not KafkaError.NONE:
                self._port.send(source, FetchResponse(request.correlation, (), refused))
                return
        if request.replica != CONSUMER:
            self._fetch_as_follower(source, request)
            return
        now = self._port.now
        found = [
            serve_fetch(self._replicas.get(asked.partition), request, asked, now, book=False)
            for asked in request.partitions
        ]
        if request.max_wait_us <= 0 or any(map(_says_something, found)):
            self._respond(source, request, found, len(found))
        else:
            self._purgatory.park_fetch(ParkedFetch(source, request, None), now + request.max_wait_us)

    def _fetch_as_follower(self, source: int, request: FetchRequest) -> None:
        """The same for a follower; what rests in its session is answered by silence."""
        now = self._port.now
        session = self._purgatory.sessions.of((source, request.fetcher))
        if session is None or not request.incremental:
            self._wake_all(request.replica, session)
            session = self._purgatory.sessions.open((source, request.fetcher), request.partitions)
        else:
            for asked in request.partitions:
                place = session.places[asked.partition]
                session.asked[place] = asked
                session.dirty[place] = None
        places = sorted(session.dirty)
        found: list[FetchData] = []
        at_once = request.max_wait_us <= 0
        for place in places:
            asked = session.asked[place]
            data = serve_fetch(self._replicas.get(asked.partition), request, asked, now, book=True)
            if self._throttle.active:
                data = self._unless_held_back(request, asked, data)
            found.append(data)
            if _says_something(data):
                at_once = True
        session.arrived = now
        if at_once:
            self._answer(source, request, session, places, found)
        else:
            self._purgatory.park_fetch(ParkedFetch(source, request, session), now + request.max_wait_us)
        for place in places:
            replica = self._replicas.get(session.asked[place].partition)
            if replica is not None:
                self._settle(replica)

    def _respond(self, source: int, request: FetchRequest, found: list[FetchData], size: int) -> None:
        """Send an answer; one to a full fetch, of ``size`` partitions, names a new session if there is room for it."""
        session_id = request.session_id
        if request.session_epoch == FULL:
            session_id = self._cache.begun(self._port.now, request, size, self._port.incarnation)
        self._port.send(source, FetchResponse(request.correlation, tuple(found), 0, session_id))

    def _unless_held_back(self, request: FetchRequest, asked: FetchPartition, data: FetchData) -> FetchData:
        """What a follower gets under a quota; it counts as having fetched all the same."""
        replica = self._replicas.get(asked.partition)
        if replica is not None and self._holds_back(replica, request.replica, asked.offset):
            return data._replace(records=Slice(asked.offset, asked.offset, ()))
        return data

    def _holds_back(self, replica: Replica, follower: int, offset: int) -> bool:
        """Whether the leader's quota withholds records from a follower (``ReplicaManager.shouldLeaderThrottle``)."""
        leadership = replica.leadership
        if leadership is None or follower in leadership.isr or offset >= replica.log.leo:
            return False
        return self._throttled(replica) and self._throttle.exceeded(self._port.now)

    def _throttled(self, replica: Replica) -> bool:
        return self._throttle.concerns(replica.partition, replica.topic.leader_throttled, replica.broker)

    def _news_of_hw(self, replica: Replica, follower: int) -> bool:
        """KIP-392 in 2.4 and 2.5: whether the HW is newer than the one a follower has been sent."""
        remote = None if replica.leadership is None else replica.leadership.remotes.get(follower)
        return remote is not None and replica.hw > remote.told_hw

    def _told(self, follower: int, data: FetchData) -> None:
        replica = self._replicas.get(data.partition)
        if replica is not None and replica.leadership is not None and follower in replica.leadership.remotes:
            replica.leadership.remotes[follower].told_hw = max(data.hw, replica.leadership.remotes[follower].told_hw)
            self._touched[data.partition] = None

    def _wake_all(self, follower: int, session: FetchSession | None) -> None:
        """A session is over: nothing rests in it any more."""
        for asked in () if session is None else session.asked:
            replica = self._replicas.get(asked.partition)
            if replica is not None and replica.leadership is not None:
                remote = replica.leadership.remotes.get(follower)
                if remote is not None:
                    remote.disturb()

    def _answer(
        self, source: int, request: FetchRequest, session: FetchSession, places: list[int], found: list[FetchData]
    ) -> None:
        """Send a follower its answer, and let rest what has no more news for it."""
        self._respond(source, request, found, len(session.asked))
        for place, data in zip(places, found, strict=True):
            if self._profile.hw_push:
                self._told(request.replica, data)
            if self._throttle.active and data.records.end > data.records.start:
                replica = self._replicas[data.partition]
                if self._throttled(replica):
                    self._throttle.rate.record(self._port.now, slice_bytes(replica.log.lineages, data.records))
            if not _says_something(data):
                replica = self._replicas[data.partition]
                if data.hw == replica.hw and replica.leadership is not None:
                    self._touched[data.partition] = None
                    replica.leadership.rest(request.replica, session, place)

    def answer_waiting(self, replica: Replica) -> None:
        """Answer produces that are settled and fetches that now have something to read."""
        done = replica.done
        if done:
            replica.done = []
            for token, error in done:
                self._answer_produce(token, error)
        for token in self._purgatory.watchers(replica.partition):
            parked = self._purgatory.fetches.get(token)
            if parked is not None and self._wakes(replica, parked):
                self._answer_fetch(token)

    def _wakes(self, replica: Replica, parked: ParkedFetch) -> bool:
        session = parked.session
        if session is not None:
            place = session.places[replica.partition]
            asked = session.asked[place]
            follower = parked.request.replica
            held_back = self._throttle.active and self._holds_back(replica, follower, asked.offset)
            if replica.log.leo != asked.offset and not held_back:
                return True
            if self._profile.hw_push and self._news_of_hw(replica, follower):
                return True
            return replica.leadership is None or check_epoch(replica, asked.current_leader_epoch) != 0
        for asked in parked.request.partitions:
            if asked.partition == replica.partition:
                if not serves_consumers(replica) or check_epoch(replica, asked.current_leader_epoch):
                    return True
                return replica.hw > asked.offset or asked.offset > replica.log.leo
        return False

    def _answer_fetch(self, token: int) -> None:
        parked = self._purgatory.take_fetch(token)
        if parked is None:
            return
        request = parked.request
        session = parked.session
        now = self._port.now
        if session is None:
            found = [
                serve_fetch(self._replicas.get(asked.partition), request, asked, now, book=False)
                for asked in request.partitions
            ]
            self._respond(parked.source, request, found, len(found))
            return
        places = sorted(session.dirty)
        found = []
        for place in places:
            asked = session.asked[place]
            data = serve_fetch(self._replicas.get(asked.partition), request, asked, now, book=False)
            found.append(self._unless_held_back(request, asked, data) if self._throttle.active else data)
        self._answer(parked.source, request, session, places, found)

    def disturb(self) -> None:
        """Roles or the live brokers are about to change: every fetch must be looked at in full again."""
        for replica in self._replicas.values():
            if replica.leadership is not None:
                replica.leadership.disturb()
        self._purgatory.sessions.disturb()

    def _answer_produce(self, token: int, error: KafkaError) -> None:
        parked = self._purgatory.produces.pop(token, None)
        if parked is not None:
            ok = error is KafkaError.NONE
            self._port.send(
                parked.source,
                ProduceResponse(
                    parked.correlation,
                    parked.partition,
                    error,
                    parked.base if ok else -1,
                    parked.leader_epoch if ok else -1,
                    parked.lineage if ok else -1,
                ),
            )

    def expire(self) -> None:
        """Answer what has waited long enough: fetches with what there is, produces with REQUEST_TIMED_OUT."""
        for token in self._purgatory.due(self._port.now):
            if token in self._purgatory.fetches:
                self._answer_fetch(token)
            else:
                replica = self._replicas[self._purgatory.produces[token].partition]
                if replica.leadership is not None:
                    replica.leadership.give_up(token)
                    self._touched[replica.partition] = None
                self._answer_produce(token, KafkaError.REQUEST_TIMED_OUT)

    def epoch_ends(self, source: int, request: EpochEndRequest) -> None:
        """OffsetsForLeaderEpoch."""
        answers = tuple(
            epoch_end(self._replicas.get(partition), partition, epoch, current)
            for partition, epoch, current in request.partitions
        )
        self._port.send(source, EpochEndResponse(request.correlation, answers))

    def list_offsets(self, source: int, request: ListOffsetsRequest) -> None:
        """ListOffsets of a consumer or a follower."""
        error, offset = listed_offset(self._replicas.get(request.partition), request)
        self._port.send(source, ListOffsetsResponse(request.correlation, request.partition, error, offset))
