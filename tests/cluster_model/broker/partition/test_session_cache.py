"""KIP-227: fetch sessions in a broker's cache, their eviction, and its effects."""

import pytest

from cluster_model.broker.partition.fetch_sessions import (
    EVICTION_US,
    FULL,
    SESSIONLESS,
    FetchSessionHandler,
    SessionCache,
    next_epoch,
)
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import RecordsRead
from cluster_model.protocol.messages import CONSUMER, FetchData, FetchPartition, FetchRequest, FetchResponse
from cluster_model.protocol.records import Slice
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.again import comes_out_again
from tests.cluster_model.leaders import LeaderRig, P
from tests.cluster_model.rigs import LATENCY, ConsumerRig
from tests.support.releases import those_of

SECOND = 1_000_000
E = KafkaError


# --- the cache --------------------------------------------------------------------------------------------------------


def request(session: int = 0, epoch: int = FULL, *, replica: int = CONSUMER, size: int = 1) -> FetchRequest:
    partitions = tuple(FetchPartition(f"t-{number}", 0, -1, -1) for number in range(size))
    return FetchRequest(1, replica, -1, 0, 1, partitions, session_id=session, session_epoch=epoch)


def opened(cache: SessionCache, now: int = 0, *, replica: int = CONSUMER, size: int = 1) -> int:
    """Send a full fetch and return the session of its response."""
    asked = request(replica=replica, size=size)
    assert cache.arrived(now, asked) is E.NONE
    return cache.create(now, asked, size, 0)


def used(cache: SessionCache, now: int, session: int, epoch: int) -> KafkaError:
    return cache.arrived(now, request(session, epoch))


def test_a_full_fetch_opens_a_session_whose_fetches_are_counted() -> None:
    cache = SessionCache(10)
    session = opened(cache)
    assert session > 0
    assert [used(cache, 0, session, epoch) for epoch in (1, 2, 3)] == [E.NONE] * 3
    assert len(cache) == 1


@pytest.mark.parametrize("epoch", [1, 3, 9])
def test_another_number_than_the_next_is_refused(epoch: int) -> None:
    cache = SessionCache(10)
    session = opened(cache)
    used(cache, 0, session, 1)
    assert used(cache, 0, session, epoch) is E.INVALID_FETCH_SESSION_EPOCH
    assert used(cache, 0, session, 2) is E.NONE


def test_a_session_that_does_not_exist_is_refused() -> None:
    cache = SessionCache(10)
    session = opened(cache)
    assert used(cache, 0, session + 1, 1) is E.FETCH_SESSION_ID_NOT_FOUND
    cache.clear()
    assert used(cache, 0, session, 1) is E.FETCH_SESSION_ID_NOT_FOUND


def test_a_full_fetch_gives_up_the_session_that_it_names() -> None:
    cache = SessionCache(10)
    session = opened(cache)
    cache.arrived(0, request(session))
    assert len(cache) == 0
    assert used(cache, 0, session, 1) is E.FETCH_SESSION_ID_NOT_FOUND


def test_a_broker_that_wants_no_session_gets_none() -> None:
    rig = LeaderRig("1.0")
    rig.append(3)
    assert rig.fetch(2, 0) is not None
    assert rig.wire.sent[-1][1].session_id == 0
    assert len(rig.cache) == 0


def test_numbers_wrap_to_one() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, 2**31 - 2, 2**31 - 1)] == [1, 2, 2**31 - 1, 1]


def test_ids_of_two_lives_differ() -> None:
    asked = request()
    ids = [SessionCache(1).create(0, asked, 1, life) for life in (0, 1, 2)]
    assert len(set(ids)) == 3


FOLLOWER = 2


@pytest.mark.parametrize(
    ("holder", "newcomer", "after_us", "gets"),
    [
        ((CONSUMER, 5), (FOLLOWER, 1), 0, True),  # a follower evicts a consumer's at once
        ((CONSUMER, 5), (CONSUMER, 9), 0, False),  # a consumer evicts none
        ((FOLLOWER, 5), (CONSUMER, 9), 0, False),
        ((FOLLOWER, 5), (FOLLOWER, 9), 0, False),
        ((CONSUMER, 5), (CONSUMER, 9), EVICTION_US + 2, True),  # older than two minutes and smaller
        ((CONSUMER, 9), (CONSUMER, 5), EVICTION_US + 2, False),  # older than two minutes but larger
        ((CONSUMER, 5), (CONSUMER, 5), EVICTION_US + 2, False),
        ((FOLLOWER, 5), (FOLLOWER, 9), EVICTION_US + 2, True),
        ((FOLLOWER, 5), (CONSUMER, 9), EVICTION_US + 2, False),  # followers take precedence whatever their size
        ((CONSUMER, 5), (CONSUMER, 9), EVICTION_US, False),  # too young
    ],
)
def test_which_fetch_session_may_take_the_last_slot(
    holder: tuple[int, int], newcomer: tuple[int, int], after_us: int, gets: bool
) -> None:
    cache = SessionCache(1)
    session = opened(cache, replica=holder[0], size=holder[1])
    if after_us:
        # It is in use all the time, so that it is not stale.
        cache.arrived(after_us, request(session, 1, replica=holder[0], size=holder[1]))
    assert (opened(cache, after_us, replica=newcomer[0], size=newcomer[1]) > 0) is gets
    assert len(cache) == 1
    assert (used(cache, after_us, session, 2 if after_us else 1) is E.FETCH_SESSION_ID_NOT_FOUND) is gets


@pytest.mark.parametrize(("idle_us", "gets"), [(EVICTION_US, False), (EVICTION_US + 1, True)])
def test_fetch_sessions_unused_for_two_minutes_are_evicted_first(idle_us: int, gets: bool) -> None:
    cache = SessionCache(2)
    idle = opened(cache, replica=FOLLOWER, size=100)
    busy = opened(cache, SECOND, replica=FOLLOWER, size=1)
    assert (opened(cache, idle_us, replica=CONSUMER) > 0) is gets
    assert used(cache, idle_us, busy, 1) is E.NONE
    assert (used(cache, idle_us, idle, 1) is E.FETCH_SESSION_ID_NOT_FOUND) is gets


def test_the_smallest_of_the_evictable_goes() -> None:
    cache = SessionCache(3)
    sessions = [opened(cache, replica=CONSUMER, size=size) for size in (7, 3, 5)]
    assert opened(cache, 1, replica=FOLLOWER, size=1) > 0
    gone = [used(cache, 1, session, 1) is E.FETCH_SESSION_ID_NOT_FOUND for session in sessions]
    assert gone == [False, True, False]


def test_a_cache_without_slots_has_no_fetch_sessions() -> None:
    cache = SessionCache(0)
    assert opened(cache, replica=FOLLOWER) == 0
    assert len(cache) == 0


def test_a_cache_is_restored_as_it_was() -> None:
    cache, other = SessionCache(3), SessionCache(3)
    session = opened(cache, size=4)
    used(cache, 9, session, 1)
    other.load(cache.save())
    assert other.save() == cache.save()
    assert used(other, 9, session, 2) is E.NONE
    assert opened(other) == opened(cache)


# --- the fetching side ------------------------------------------------------------------------------------------------


def test_the_session_epoch_increases_and_resets_for_a_full_fetch() -> None:
    handle = FetchSessionHandler(uses_sessions=True)
    assert (handle.id, handle.epoch) == (0, FULL)
    assert handle.on_response(FetchResponse(1, (), 0, 7))
    assert (handle.id, handle.epoch) == (7, 1)
    assert handle.on_response(FetchResponse(1, (), 0, 7))
    assert (handle.id, handle.epoch) == (7, 2)
    assert not handle.on_response(FetchResponse(1, (), E.INVALID_FETCH_SESSION_EPOCH))
    assert (handle.id, handle.epoch) == (7, FULL), "the next fetch gives it up"
    assert handle.on_response(FetchResponse(1, (), 0, 8))
    assert not handle.on_response(FetchResponse(1, (), E.FETCH_SESSION_ID_NOT_FOUND))
    assert (handle.id, handle.epoch) == (0, FULL)
    handle.on_response(FetchResponse(1, (), 0, 9))
    handle.on_error()
    assert (handle.id, handle.epoch) == (9, FULL)


def test_without_room_every_fetch_is_a_full_one() -> None:
    handle = FetchSessionHandler(uses_sessions=True)
    for _fetch in range(3):
        assert handle.on_response(FetchResponse(1, (), 0, 0))
        assert (handle.id, handle.epoch) == (0, FULL)


def test_before_1_1_there_are_none() -> None:
    handle = FetchSessionHandler(uses_sessions=False)
    handle.on_response(FetchResponse(1, (), 0, 0))
    handle.on_error()
    assert (handle.id, handle.epoch) == (0, SESSIONLESS)


def test_a_consumer_whose_connection_broke_gives_up_its_session() -> None:
    rig = ConsumerRig()
    empty = FetchData("t-0", 0, 0, 0, 0, 0, Slice(0, 0, ()))
    rig.reply(1, FetchResponse(rig.asked(FetchRequest, 1)[-1].correlation_id, (empty,), 0, 7))
    rig.run(2 * LATENCY)
    second = rig.asked(FetchRequest, 1)[-1]
    assert (second.session_id, second.session_epoch) == (7, 1)
    rig.network.crash(1)
    rig.network.restart(1)
    rig.run(SECOND)
    third = rig.asked(FetchRequest, 1)[-1]
    assert (third.session_id, third.session_epoch) == (7, FULL)


def test_a_fetcher_whose_connection_broke_gives_up_its_session_and_asks_in_full() -> None:
    rig = LeaderRig(leader=2)
    fetcher = rig.fetcher()
    first = rig.wire.sent[-1][1]
    assert (first.session_id, first.session_epoch, first.incremental) == (0, FULL, False)
    fetcher.fetched(FetchResponse(first.correlation_id, (), 0, 7))
    second = rig.wire.sent[-1][1]
    assert (second.session_id, second.session_epoch, second.incremental) == (7, 1, True)
    fetcher.broke()
    rig.wire.now += 2 * SECOND
    fetcher.on_timer()
    rig.connect(fetcher)
    third = rig.wire.sent[-1][1]
    assert (third.session_id, third.session_epoch, third.incremental) == (7, FULL, False)


@pytest.mark.parametrize(("error", "session"), [(E.FETCH_SESSION_ID_NOT_FOUND, 0), (E.INVALID_FETCH_SESSION_EPOCH, 7)])
def test_a_fetcher_whose_session_is_refused_asks_in_full_at_once(error: KafkaError, session: int) -> None:
    rig = LeaderRig(leader=2)
    fetcher = rig.fetcher()
    fetcher.fetched(FetchResponse(rig.wire.sent[-1][1].correlation_id, (), 0, 7))
    fetcher.fetched(FetchResponse(rig.wire.sent[-1][1].correlation_id, (), error))
    again = rig.wire.sent[-1][1]
    assert (again.session_id, again.session_epoch, again.incremental) == (session, FULL, False)
    assert [asked.partition for asked in again.partitions] == [P]


def test_a_rejected_fetch_session_gets_an_error_without_side_effects() -> None:
    rig = LeaderRig()
    rig.append(3)
    assert rig.fetch(2, 2) is not None
    asked = FetchPartition(P, 3, 1, 1, 0)
    rig.service.fetch(2, FetchRequest(9, 2, -1, 0, 1 << 20, (asked,), True, session_id=99, session_epoch=4))
    answer = rig.wire.sent[-1][1]
    assert (answer.correlation_id, answer.partitions, answer.error) == (9, (), E.FETCH_SESSION_ID_NOT_FOUND)
    assert rig.replica.leadership is not None
    assert rig.replica.leadership.remotes[2].leo == 2


# --- in a cluster -----------------------------------------------------------------------------------------------------


def cluster(kafka: str, slots: int, *, members: int = 2) -> Cluster:
    spec = ClusterSpec(
        kafka,
        "kraft" if kafka == "3.9" else "zookeeper",
        (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
        (TopicSpec("t", 6, 3),),
        (ProducerSpec("p", "t", 50_000, 6, config={"acks": "all"}),),
        (GroupSpec("g", ("t",), members, coordinated=False),),
        NetworkSpec(500, 200),
        those_of("broker", kafka, {"max.incremental.fetch.session.cache.slots": slots}),
    )
    return Cluster.build(spec, 2)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[FetchRequest, KafkaError]]:
    """Return every fetch with the error of its session."""
    found: list[tuple[FetchRequest, KafkaError]] = []
    original = SessionCache.arrived

    def noted(self: SessionCache, now: int, asked: FetchRequest) -> KafkaError:
        error = original(self, now, asked)
        found.append((asked, error))
        return error

    monkeypatch.setattr(SessionCache, "arrived", noted)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "sessions"), [("0.9", False), ("1.0", False), ("1.1", True), ("3.9", True)])
def test_sessions_are_there_since_1_1(kafka: str, sessions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    epochs: list[int] = []
    original = RequestHandler.fetch

    def noted(self: RequestHandler, source: int, asked: FetchRequest) -> None:
        epochs.append(asked.session_epoch)
        original(self, source, asked)

    monkeypatch.setattr(RequestHandler, "fetch", noted)
    found = cluster(kafka, 1_000)
    found.run(5 * SECOND)
    assert (max(epochs) > 10) is sessions
    # Two followers and two consumers at each broker have sessions.
    assert [len(broker.sessions) for broker in found.brokers.values()] == ([4, 4, 4] if sessions else [0, 0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("slots", [0, 1, 2, 3])
def test_with_too_few_slots_everything_still_arrives(
    slots: int, answers: list[tuple[FetchRequest, KafkaError]]
) -> None:
    found = cluster("3.9", slots)
    found.run(20 * SECOND)
    found.stop_producers()
    found.run(25 * SECOND)
    assert found.query.lag("g") == 0
    assert all(len(broker.sessions) <= slots for broker in found.brokers.values())
    for name in found.cluster_state.records:
        assert len({replica.log.leo for replica in found.cluster_state.replicas[name].values()}) == 1
        assert len(found.query.isr(name)) == 3
    in_session = [asked for asked, _error in answers if asked.session_epoch > 0]
    assert bool(in_session) is (slots > 0)


@pytest.mark.slow
def test_a_consumer_that_lost_its_session_to_a_follower_asks_in_full_and_misses_nothing(
    answers: list[tuple[FetchRequest, KafkaError]],
) -> None:
    found = cluster("3.9", 3)
    found.run(10 * SECOND)
    found.crash(2)
    found.run(30 * SECOND)
    answers.clear()
    found.restart(2)
    found.run(60 * SECOND)
    refused = [asked for asked, error in answers if error is E.FETCH_SESSION_ID_NOT_FOUND]
    assert refused
    assert {asked.replica for asked in refused} == {CONSUMER}
    found.stop_producers()
    found.run(70 * SECOND)
    assert found.query.lag("g") == 0
    reads = [event for event in found.drain() if isinstance(event, RecordsRead)]
    positions: dict[str, int] = {}
    for read in reads:
        assert read.log_offset == positions.get(read.partition, 0), "nothing twice, nothing left out"
        positions[read.partition] = read.log_offset + read.count


def test_a_broker_that_waited_for_a_slot_gets_it_with_all_that_it_fetches() -> None:
    found = cluster("3.9", 1, members=1)
    found.run(2 * SECOND)
    found.stop_producers()
    found.run(5 * SECOND)
    (before,) = found.brokers[1].sessions.save()[1]
    found.crash(2)
    found.crash(3)
    found.run(10 * SECOND)
    found.restart(3)
    found.run(140 * SECOND)
    (after,) = found.brokers[1].sessions.save()[1]
    assert after[0] != before[0]
    assert after[3] == sum(found.query.leader(name) == 1 for name in found.cluster_state.records) > 1


@pytest.mark.slow
def test_a_restarted_broker_knows_no_session_of_its_former_life() -> None:
    found = cluster("3.9", 1_000)
    found.run(5 * SECOND)
    found.crash(2)
    assert len(found.brokers[2].sessions) == 0
    found.run(30 * SECOND)
    found.restart(2)
    found.run(60 * SECOND)
    assert len(found.query.isr("t-0")) == 3


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 3])
def test_a_keyframe_restores_sessions(slots: int) -> None:
    found = cluster("3.9", slots)
    found.run(3 * SECOND)

    def act(cluster: Cluster) -> None:
        cluster.crash(2)
        cluster.run(20 * SECOND)

    assert comes_out_again(found, act)


def test_replication_does_not_depend_on_the_size_of_the_session_cache() -> None:
    """With room for all sessions and with room for none, the same records are appended at the same times."""
    ends = []
    for slots in (0, 1_000):
        found = cluster("3.9", slots)
        found.run(10 * SECOND)
        ends.append(
            [replica.log.leo for replicas in found.cluster_state.replicas.values() for replica in replicas.values()]
        )
    assert ends[0] == ends[1]


def test_the_size_of_a_fetch_session_is_its_number_of_partitions() -> None:
    cache = SessionCache(1)
    session = opened(cache, size=4)

    def size() -> int:
        saved: int = cache.save()[1][0][3]
        return saved

    assert size() == 4
    cache.arrived(0, request(session, 1, size=6))
    assert size() == 6
    cache.arrived(0, request(session, 2, size=1)._replace(incremental=True))
    assert size() == 6
