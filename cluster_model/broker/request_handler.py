"""Request handler of a broker for produce, fetch and ListOffsets (``KafkaApis`` over ``ReplicaManager``)."""

from collections.abc import Callable, Container, Mapping
from typing import Final

from cluster_model.broker.fetch.fetch_reads import (
    FetchNews,
    caught_up_answer,
    check_epoch,
    count_if_caught_up,
    epoch_end,
    failed_data,
    has_news,
    has_unassigned,
    missing_replica_error,
    news_for_consumer,
    news_of_hw,
    requested_epoch,
    serve_fetch,
)
from cluster_model.broker.fetch.replica_fetcher import fetcher_of
from cluster_model.broker.fetch.replication_quota import ReplicationQuota, slice_bytes
from cluster_model.broker.hosted_coordinators import LOCAL
from cluster_model.broker.muted_connections import MutedConnections
from cluster_model.broker.partition.fetch_sessions import FULL, FetchSession, SessionCache
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.purgatory import DelayedFetch, DelayedProduce, Purgatory
from cluster_model.kernel.node_context import NodeContext
from cluster_model.log.offset_index import largest_timestamp, offset_before, offset_for_timestamp
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    NO_LEADER,
    READ_COMMITTED,
    EpochEndRequest,
    EpochEndResponse,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    PartitionState,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.records import Slice, with_corruption
from cluster_model.protocol.versions import Profile

# Current-leader hints in error responses, which save a client a metadata request (KIP-951).


Hint = tuple[int, int]
"""(leader, leader epoch)."""
_FETCH: Final = (KafkaError.NOT_LEADER_OR_FOLLOWER, KafkaError.FENCED_LEADER_EPOCH)


class LeaderHints:
    """Current-leader hints of a broker: from its replica, else its metadata cache (``KafkaApis.getCurrentLeader``)."""

    __slots__ = ("_replicas", "_states", "given")

    def __init__(self, profile: Profile, replicas: Mapping[str, Replica], states: Mapping[str, PartitionState]) -> None:
        self.given = profile.leader_hints
        self._replicas = replicas
        self._states = states

    def _of(self, partition: str) -> Hint | None:
        replica = self._replicas.get(partition)
        known = self._states.get(partition) if replica is None or replica.leader_epoch < 0 else replica
        return None if known is None or known.leader == NO_LEADER else (known.leader, known.leader_epoch)

    def refusal(self, correlation_id: int, partition: str, error: KafkaError) -> ProduceResponse:
        """Return the error response to a produce request."""
        hint = self._of(partition) if self.given and error is KafkaError.NOT_LEADER_OR_FOLLOWER else None
        return ProduceResponse(correlation_id, partition, error, -1, -1, -1, -1, hint)

    def on_fetch(self, fetched: list[FetchData]) -> list[FetchData]:
        """Add leader hints to the errors of a consumer's fetch response."""
        if not self.given or not any(data.error for data in fetched):
            return fetched
        return [data._replace(current=self._of(data.partition)) if data.error in _FETCH else data for data in fetched]


# Size limits of a fetch: ``fetch.min.bytes`` and ``fetch.max.bytes``, a follower's from its broker's config.
#
# A leader waits for the first one before it responds and returns at most the second one (KIP-74, 0.10.1): partitions
# are filled in the order of the session, in whole batches as long as they fit, but the first partition with records
# gets one batch whatever its size. A partition that returned records moves to the end of the session, so that the
# others come first next time.


def enough(request: FetchRequest, replicas: Mapping[str, Replica], fetched: list[FetchData]) -> bool:
    """Whether there are at least as many bytes as the fetch waits for."""
    return sum(_size(replicas, data) for data in fetched) >= request.min_bytes


def fits(request: FetchRequest, places: int) -> bool:
    """Whether that many partitions always fit into one response, each within its own limit."""
    most = request.response_max_bytes
    return most <= 0 or places * request.max_bytes <= most


def bounded(request: FetchRequest, max_bytes: int) -> FetchRequest:
    """Limit the requested bytes to the broker's maximum, and the minimum bytes to the result (KIP-541).

    ``max_bytes`` 0: the broker has no limit.
    """
    if max_bytes <= 0:
        return request
    requested = request.response_max_bytes
    bound = min(requested, max_bytes) if requested > 0 else max_bytes
    if bound == requested and request.min_bytes <= bound:
        return request
    return request._replace(response_max_bytes=bound, min_bytes=min(request.min_bytes, bound))


def limit_to_response_size(
    request: FetchRequest, replicas: Mapping[str, Replica], fetched: list[FetchData]
) -> list[FetchData]:
    """Return the data with no more records than one response may have."""
    remaining = request.response_max_bytes
    first = True
    limited: list[FetchData] = []
    for data in fetched:
        kept = data
        if data.records.extents:
            if _size(replicas, data) > remaining:
                records = _shorter(replicas[data.partition], data.records, remaining, at_least_one=first)
                kept = data._replace(records=records)
            remaining -= _size(replicas, kept)
            first = False
        limited.append(kept)
    return limited


def _shorter(replica: Replica, records: Slice, max_bytes: int, *, at_least_one: bool) -> Slice:
    shorter = with_corruption(replica.log.read(records.start, records.end, max(max_bytes, 1)), records.damages)
    if at_least_one or slice_bytes(replica.log.epoch_branches, shorter) <= max_bytes:
        return shorter
    return Slice(records.start, records.start, ())


def _size(replicas: Mapping[str, Replica], data: FetchData) -> int:
    return slice_bytes(replicas[data.partition].log.epoch_branches, data.records) if data.records.extents else 0


# ListOffsets at a partition's leader (``Partition.fetchOffsetForTimestamp``).


Answer = tuple[KafkaError, int, int]
"""(error, offset, timestamp); -1 for none."""

_UNKNOWN: Answer = (KafkaError.NONE, -1, -1)


def list_offset(replica: Replica | None, refused: KafkaError, request: ListOffsetsRequest, now: int) -> Answer:
    """Return the result for one partition; ``refused``: error of the epoch check, or :func:`missing_replica_error`.

    Consumers see only offsets below the high watermark, or by isolation level the last stable offset; a follower sees
    up to the log end offset. A leader whose high watermark is still below the start of its own epoch does not know yet
    what is committed, and responds OFFSET_NOT_AVAILABLE to consumers (KIP-207, 2.2).
    """
    if replica is None:
        return (refused or KafkaError.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    leadership = replica.leadership
    if refused is not KafkaError.NONE or leadership is None:
        return (refused or KafkaError.NOT_LEADER_OR_FOLLOWER, -1, -1)
    timestamp = request.timestamp_us
    if timestamp == MAX_TIMESTAMP and not replica.profile.max_timestamp:
        return (KafkaError.UNSUPPORTED_VERSION, -1, -1)
    if timestamp == EARLIEST:
        return (KafkaError.NONE, replica.log.log_start, -1)
    if timestamp == LATEST and request.replica != CONSUMER:
        return (KafkaError.NONE, replica.log.leo, -1)
    catching_up = replica.profile.offset_not_available and replica.hw < leadership.epoch_start
    not_available: Answer = (KafkaError.OFFSET_NOT_AVAILABLE, -1, -1)
    bound = replica.lso if request.isolation == READ_COMMITTED else replica.hw
    if timestamp == LATEST:
        return not_available if catching_up else (KafkaError.NONE, bound, -1)
    found = _by_time(replica, timestamp, bound, now)
    return not_available if found == _UNKNOWN and catching_up else found


def _by_time(replica: Replica, timestamp: int, bound: int, now: int) -> Answer:
    log = replica.log
    if not replica.profile.offsets_for_times:
        # Version 0 of the request (before KIP-79) knows only segments, by the age of their files.
        return (KafkaError.NONE, min(offset_before(log, timestamp - replica.metadata.wall.ahead_us, now), bound), -1)
    found = largest_timestamp(log) if timestamp == MAX_TIMESTAMP else offset_for_timestamp(log, timestamp)
    if found is None or found.offset >= bound:
        return _UNKNOWN
    return (KafkaError.NONE, found.offset, found.timestamp_us)


def list_offsets_response(
    replica: Replica | None, refused: KafkaError, request: ListOffsetsRequest, now: int
) -> ListOffsetsResponse:
    """Return the ListOffsets response with the result of :func:`list_offset`."""
    error, offset, timestamp = list_offset(replica, refused, request, now)
    epoch = -1 if replica is None or offset < 0 else _epoch_of(replica, request.timestamp_us, offset)
    return ListOffsetsResponse(request.correlation_id, request.partition, error, offset, timestamp, epoch)


def _epoch_of(replica: Replica, timestamp: int, offset: int) -> int:
    """Return the leader's epoch for the end of the log, else the epoch in which the offset was written."""
    return replica.leader_epoch if timestamp == LATEST else replica.log.epochs.epoch_at(offset)


class RequestHandler:
    """Handler of requests to one broker; delayed ones go to the purgatory."""

    __slots__ = (
        "_cache", "_fetch_max_bytes", "_hints", "_known_partitions", "_port", "_profile", "_purgatory", "_replicas",
        "_settle", "_throttle", "_touched", "connections", "gate",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        replicas: dict[str, Replica],
        purgatory: Purgatory,
        settle: Callable[[Replica], None],
        touched: dict[str, None],
        cache: SessionCache,
        throttle: ReplicationQuota,
        known_partitions: Mapping[str, PartitionState],
        connections: MutedConnections,
        fetch_max_bytes: int = 0,
    ) -> None:
        """Keep the broker's parts; ``touched`` collects changed partitions; for the others see :func:`serve_fetch`."""
        self._fetch_max_bytes = fetch_max_bytes
        self.gate: Callable[[int, str, ProduceRequest], bool] | None = None
        """Holds back a transaction's first write for verification (KIP-890); it is produced again afterwards."""
        self.connections = connections
        """Connections whose next request waits for the response to one of these requests."""
        self._known_partitions: Container[str] = () if profile.unknown_without_replica else known_partitions
        """Partitions of which a broker without a replica says that it is not the leader; none until KAFKA-6796."""
        self._hints = LeaderHints(profile, replicas, known_partitions)
        self._cache = cache
        self._throttle = throttle
        self._port = port
        self._profile = profile
        self._replicas = replicas
        self._purgatory = purgatory
        self._settle = settle
        self._touched = touched

    def produce(self, source: int, request: ProduceRequest, *, checked: bool = False) -> None:
        """Append, and respond now or later; an acks=0 error closes the connection."""
        partition = request.partition
        replica = self._replicas.get(partition)
        leadership = None if replica is None else replica.leadership
        if replica is None or leadership is None:
            error = (
                missing_replica_error(partition, self._known_partitions)
                if replica is None
                else KafkaError.NOT_LEADER_OR_FOLLOWER
            )
            self._port.send(source, self._hints.refusal(request.correlation_id, partition, error))
            return
        if not checked and self.is_verified_first(source, request):
            return
        now = self._port.clock.now
        error, base, branch, required, waits = leadership.append(now, request)
        if waits:
            deadline = now + request.timeout_us
            delayed = DelayedProduce(
                source, request.correlation_id, partition, base, replica.leader_epoch, branch, deadline, request.request
            )
            leadership.wait(required, self._purgatory.delay_produce(delayed))
            self.connections.mute(source, request)
        elif request.acks or error:
            epoch, begins = (replica.leader_epoch, -1) if base >= 0 else (-1, replica.log.log_start)
            self._port.send(
                source, ProduceResponse(request.correlation_id, partition, error, base, epoch, branch, begins)
            )
        self._settle(replica)

    def is_verified_first(self, source: int, request: ProduceRequest) -> bool:
        """Whether a write waits until its transaction is verified; its connection is muted until then."""
        if not request.kind or self.gate is None:
            return False
        self.connections.mute(source, request)  # before, as the verification may be over at once
        if self.gate(source, request.partition, request):
            return True
        self.connections.complete(source, request.request)
        return False

    def fetch(self, source: int, request: FetchRequest) -> None:
        """Respond at once if there is data or an error, else delay the fetch (``ReplicaManager.fetchMessages``)."""
        if self._profile.fetch_sessions:
            refused = self._cache.arrived(self._port.clock.now, request)
            if refused:
                self._send(source, request, FetchResponse(request.correlation_id, (), refused))
                return
        request = bounded(request, self._fetch_max_bytes)
        if request.replica != CONSUMER:
            self._fetch_as_follower(request)
            return
        found = self._for_consumer(request)
        if request.max_wait_us <= 0 or self._satisfies(request, found):
            self._respond_to_consumer(source, request, found)
        else:
            deadline = self._port.clock.now + request.max_wait_us
            self._purgatory.delay_fetch(DelayedFetch(source, request, deadline))

    def _satisfies(self, request: FetchRequest, fetched: list[FetchData]) -> bool:
        """Whether a consumer's fetch completes at once: by enough bytes, or by other news such as an error."""
        if request.min_bytes == 1:
            return any(map(has_news, fetched))
        has_other_news = any(has_news(data) and not data.records.extents for data in fetched)
        return has_other_news or enough(request, self._replicas, fetched)

    def _respond_to_consumer(self, source: int, request: FetchRequest, fetched: list[FetchData]) -> None:
        if not fits(request, len(fetched)):
            fetched = limit_to_response_size(request, self._replicas, fetched)
        self._respond(source, request, self._hints.on_fetch(fetched), len(fetched))

    def _send(self, source: int, request: FetchRequest, response: FetchResponse) -> None:
        """Send a response on the connection of the fetch: each of a follower's fetchers has its own."""
        if request.replica == CONSUMER:
            self._port.send(source, response)
        else:
            is_empty = not response.partitions and not response.error
            self._port.incoming_exchange(source, request.fetcher).answer(
                request.correlation_id, response, idle=is_empty
            )

    def _respond(self, source: int, request: FetchRequest, fetched: list[FetchData], size: int) -> None:
        """Send a response; for a full fetch of ``size`` partitions it names a new session if the cache has room."""
        session_id = request.session_id
        if request.session_epoch == FULL:
            if self._cache.full:
                self._purgatory.sessions.wake()
            session_id = self._cache.create(self._port.clock.now, request, size, self._port.incarnation)
        self._send(source, request, FetchResponse(request.correlation_id, tuple(fetched), 0, session_id))

    def _fetch_as_follower(self, request: FetchRequest) -> None:
        """Handle a follower's fetch; idle partitions of its session need no response."""
        now = self._port.clock.now
        session = self._session_for(request)
        if session is None:
            return
        dirty = session.dirty
        if not dirty:
            session.arrive(now)
            if request.max_wait_us > 0:
                session.wait(request)
            else:
                self._answer(session, request, [], [])
            return
        if self._profile.fails_whole_fetches and has_unassigned(request.replica, session.partitions, self._replicas):
            # The exception about one partition makes an error response for all of them (KAFKA-5758).
            session.arrive(now)
            failed = [failed_data(requested) for requested in session.partitions]
            self._answer(session, request, list(range(len(failed))), failed)
            return
        slots = list(dirty)
        old_hws: list[int] = []
        fetched: list[FetchData | None] = []
        at_once = request.max_wait_us <= 0
        changed: list[Replica] = []
        waited_for = self._purgatory.deletions.waiting
        for slot in slots:
            requested = session.partitions[slot]
            partition = requested.partition
            self._touched[partition] = None
            replica = self._replicas.get(partition)
            old_hw = -1 if replica is None else replica.hw
            old_hws.append(old_hw)
            if replica is not None and count_if_caught_up(replica, request, requested, now):
                fetched.append(None)
            else:
                data = serve_fetch(replica, request, requested, now, self._known_partitions, book=True)
                if self._throttle.active:
                    data = self._throttled_data(request, requested, data)
                if has_news(data) and (request.min_bytes <= 1 or not data.records.extents):
                    at_once = True
                fetched.append(data)
            if replica is not None and (
                replica.hw != old_hw or replica.unsettled or self._profile.hw_push or partition in waited_for
            ):
                changed.append(replica)
        session.arrive(now)
        if request.min_bytes > 1 and not at_once:
            at_once = enough(request, self._replicas, [data for data in fetched if data is not None])
        if at_once:
            self._answer(session, request, slots, self._completed(session, slots, old_hws, fetched))
        else:
            session.wait(request)
        for replica in changed:
            self._settle(replica)

    def _completed(
        self, session: FetchSession, slots: list[int], old_hws: list[int], fetched: list[FetchData | None]
    ) -> list[FetchData]:
        """Return responses for all slots, including those that were counted without one."""
        answers: list[FetchData] = []
        for slot, old_hw, data in zip(slots, old_hws, fetched, strict=True):
            requested = session.partitions[slot]
            answers.append(data or caught_up_answer(self._replicas[requested.partition], requested, old_hw))
        return answers

    def _session_for(self, request: FetchRequest) -> FetchSession | None:
        """Return the follower's session, updated with the changes in this request; None for an outdated request."""
        sessions = self._purgatory.sessions
        source = (request.replica, request.fetcher)
        session = sessions.of(source)
        if session is not None and session.is_outdated(request):
            return None
        if session is None or not request.incremental:
            if session is not None:
                self._wake_all(request.replica, session)
            lowest = 0 if session is None else session.lowest_id
            session = sessions.open(source, request.partitions)
            session.lowest_id = self._cache.next_id(self._port.incarnation) if request.session_epoch == FULL else lowest
            return session
        for changed in request.partitions:
            slot = session.slot_of[changed.partition]
            session.partitions[slot] = changed
            session.dirty[slot] = None
        return session

    def _wake_all(self, follower: int, session: FetchSession) -> None:
        """End the idle state of all partitions of a closed session."""
        for requested in session.partitions:
            replica = self._replicas.get(requested.partition)
            if replica is not None and replica.leadership is not None:
                remote = replica.leadership.remotes.get(follower)
                if remote is not None and remote.idle:
                    self._touched[requested.partition] = None
                    remote.end_idle()

    def _throttled_data(self, request: FetchRequest, requested: FetchPartition, data: FetchData) -> FetchData:
        """Return a follower's data under the replication quota; it counts as having fetched in any case."""
        replica = self._replicas.get(requested.partition)
        if replica is not None and self._withholds(replica, request.replica, requested.offset):
            return data._replace(records=Slice(requested.offset, requested.offset, ()))
        return data

    def _withholds(self, replica: Replica, follower: int, offset: int) -> bool:
        """Whether the leader's quota withholds records from a follower (``ReplicaManager.shouldLeaderThrottle``)."""
        leadership = replica.leadership
        if leadership is None or follower in leadership.isr or offset >= replica.log.leo:
            return False
        return self._throttled(replica) and self._throttle.exceeded(self._port.clock.now)

    def _throttled(self, replica: Replica) -> bool:
        return self._throttle.applies_to(replica.partition, replica.topic.leader_throttled, replica.broker)

    def _answer(self, session: FetchSession, request: FetchRequest, slots: list[int], fetched: list[FetchData]) -> None:
        """Send a follower its response, and mark partitions without news as idle."""
        follower = session.source[0]
        if not fits(request, len(fetched)):
            fetched = limit_to_response_size(request, self._replicas, fetched)
        self._respond(follower, request, fetched, len(session.partitions))
        if self._profile.hw_push or self._throttle.active:
            self._note_sent(follower, fetched)
        for slot, data in zip(slots, fetched, strict=True):
            if not data.records.extents and not has_news(data):
                replica = self._replicas[data.partition]
                if data.hw == replica.hw and replica.leadership is not None:
                    self._touched[data.partition] = None
                    replica.leadership.rest(follower, session, slot)
            elif len(fetched) > 1 and data.records.extents:
                session.put_last(slot)

    def _note_sent(self, follower: int, fetched: list[FetchData]) -> None:
        """Remember which HW was sent to a follower, and count its records against the quota."""
        for data in fetched:
            replica = self._replicas.get(data.partition)
            remote = None if replica is None or replica.leadership is None else replica.leadership.remotes.get(follower)
            if replica is None or remote is None:
                continue
            if self._profile.hw_push:
                remote.sent_hw = max(data.hw, remote.sent_hw)
                self._touched[data.partition] = None
            if self._throttle.active and data.records.extents and self._throttled(replica):
                self._throttle.rate.record(self._port.clock.now, slice_bytes(replica.log.epoch_branches, data.records))

    def answer_waiting(self, replica: Replica) -> None:
        """Respond to produces that are complete and to fetches that now have something to read."""
        done = replica.done
        if done:
            replica.done = []
            for token, error in done:
                self._answer_produce(token, error)
        purgatory = self._purgatory
        partition = replica.partition
        if purgatory.deletions.waiting:
            purgatory.deletions.check(partition)
        for session in purgatory.sessions.watching(partition):
            if session.delayed_request is not None and self._wakes_follower(replica, session):
                self._answer_follower(session)
        tokens = purgatory.readers.get(partition)
        if tokens:
            for token in tuple(tokens):
                delayed = purgatory.fetches.get(token)
                if delayed is not None and self._wakes_consumer(replica, delayed.request):
                    self._answer_consumer(token)

    def _wakes_follower(self, replica: Replica, session: FetchSession) -> bool:
        requested = session.partitions[session.slot_of[replica.partition]]
        follower = session.source[0]
        if replica.log.leo != requested.offset and not (
            self._throttle.active and self._withholds(replica, follower, requested.offset)
        ):
            delayed = session.delayed_request
            return (
                delayed is None
                or delayed.min_bytes <= 1
                or enough(delayed, self._replicas, self._delayed_data(session, delayed))
            )
        if self._profile.hw_push and news_of_hw(replica, follower):
            return True
        delayed = session.delayed_request
        if replica.leadership is None or delayed is None:
            return True
        return check_epoch(replica, requested_epoch(replica, delayed, requested)) is not KafkaError.NONE

    def _wakes_consumer(self, replica: Replica, request: FetchRequest) -> bool:
        requested = next(each for each in request.partitions if each.partition == replica.partition)
        found = news_for_consumer(replica, request, requested)
        if found is FetchNews.READABLE and request.min_bytes > 1:
            return self._satisfies(request, self._for_consumer(request))
        return found is not FetchNews.NOTHING

    def _for_consumer(self, request: FetchRequest) -> list[FetchData]:
        """Return the data for a consumer's fetch now."""
        now = self._port.clock.now
        return [
            serve_fetch(
                self._replicas.get(requested.partition), request, requested, now, self._known_partitions, book=False
            )
            for requested in request.partitions
        ]

    def _answer_consumer(self, token: int) -> None:
        delayed = self._purgatory.take_fetch(token)
        if delayed is not None:
            self._respond_to_consumer(delayed.source, delayed.request, self._for_consumer(delayed.request))

    def _answer_follower(self, session: FetchSession) -> None:
        request = session.take()
        if request is None:
            return
        self._answer(session, request, list(session.dirty), self._delayed_data(session, request))

    def _delayed_data(self, session: FetchSession, request: FetchRequest) -> list[FetchData]:
        """Return the data for a delayed follower fetch, in the order of the session's slots."""
        now = self._port.clock.now
        fetched: list[FetchData] = []
        for slot in session.dirty:
            requested = session.partitions[slot]
            data = serve_fetch(
                self._replicas.get(requested.partition), request, requested, now, self._known_partitions, book=False
            )
            fetched.append(self._throttled_data(request, requested, data) if self._throttle.active else data)
        return fetched

    def on_fetch_wait(self, follower: int, fetcher: int, serial: int) -> None:
        """Handle the timer of a follower's delayed fetch, which may have reached its maximum wait."""
        session = self._purgatory.sessions.of((follower, fetcher))
        if session is not None and session.serial == serial and session.on_timer(self._port.clock.now):
            self._answer_follower(session)

    def retired(self, replica: Replica) -> None:
        """Complete the delayed requests of a replica that stops leading and following, and may be deleted."""
        partition = replica.partition
        gone = partition not in self._replicas
        error = missing_replica_error(partition, self._known_partitions) if gone else KafkaError.NOT_LEADER_OR_FOLLOWER
        done, replica.done = replica.done, []
        for token, _error in done:
            self._answer_produce(token, error)
        for session in self._purgatory.sessions.watching(partition):
            session.mark(session.slot_of[partition])
            self._answer_follower(session)
        for token in tuple(self._purgatory.readers.get(partition, ())):
            self._answer_consumer(token)
        self._purgatory.hosted.retired(partition)

    def end_idle(self) -> None:
        """End the idle state of all fetches before a change of roles or live brokers."""
        for replica in self._replicas.values():
            if replica.leadership is not None:
                replica.leadership.end_idle()
        self._purgatory.sessions.mark_dirty()

    def _answer_produce(self, token: int, error: KafkaError) -> None:
        delayed = self._purgatory.produces.pop(token, None)
        if delayed is not None:
            source, correlation_id, partition, base, epoch, branch, _deadline, request = delayed
            if source == LOCAL:
                self._purgatory.hosted.appended(branch, correlation_id, error, base)
                return
            answer = ProduceResponse(correlation_id, partition, error, base, epoch, branch)
            self._port.send(source, self._hints.refusal(correlation_id, partition, error) if error else answer)
            self.connections.complete(source, request)

    def expire(self) -> None:
        """Complete requests at their deadline: consumers' fetches with their data, others with REQUEST_TIMED_OUT."""
        self._purgatory.deletions.expire()
        for token in self._purgatory.expired(self._port.clock.now):
            if token in self._purgatory.fetches:
                self._answer_consumer(token)
            else:
                replica = self._replicas.get(self._purgatory.produces[token].partition)
                if replica is not None and replica.leadership is not None:
                    replica.leadership.give_up(token)
                    self._touched[replica.partition] = None
                self._answer_produce(token, KafkaError.REQUEST_TIMED_OUT)

    def epoch_ends(self, source: int, request: EpochEndRequest) -> None:
        """Handle OffsetsForLeaderEpoch."""
        answers = tuple(
            epoch_end(
                self._replicas.get(partition),
                partition,
                epoch,
                current,
                self._known_partitions,
                finds_epoch=request.finds_epoch,
            )
            for partition, epoch, current in request.partitions
        )
        response = EpochEndResponse(request.correlation_id, answers)
        if request.replica == CONSUMER:
            self._port.send(source, response)
            return
        exchange = self._port.incoming_exchange(source, fetcher_of(request.correlation_id))
        exchange.answer(request.correlation_id, response, idle=False)

    def list_offsets(self, source: int, request: ListOffsetsRequest) -> None:
        """Handle ListOffsets: an offset by timestamp, the earliest or the latest."""
        replica = self._replicas.get(request.partition)
        if replica is None:
            error = missing_replica_error(request.partition, self._known_partitions)
        else:
            error = check_epoch(replica, request.current_leader_epoch)
        response = list_offsets_response(replica, error, request, self._port.clock.now)
        if request.replica == CONSUMER:
            self._port.send(source, response)
        else:
            self._port.incoming_exchange(source, fetcher_of(request.correlation_id)).answer(
                request.correlation_id, response, idle=False
            )
