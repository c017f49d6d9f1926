"""Pictures for people: fetches under way, marks in logs, what is known of an offset. Looking changes nothing."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.inspection.log_inspector import copies, inspect, lane_marks
from cluster_model.kernel.network import in_flight_messages
from cluster_model.observation.inflight_fetches import InflightFetch, inflight_fetches
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.messages import FetchRequest
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec, TransactionPlan

MS = 1_000
SECOND = 1_000_000
ONE = "t-0"


def spec(*producers: ProducerSpec, **config: object) -> ClusterSpec:
    return ClusterSpec(
        kafka="3.9",
        mode="kraft",
        brokers=tuple(BrokerSpec(each) for each in (1, 2, 3)),
        topics=(TopicSpec("t", placement=((1, 2, 3),), config=dict(config)),),
        producers=producers,
    )


SLOW = ProducerSpec("slow", "t", 700 * MS, config={"acks": "1", "linger.ms": 0})


def wire(cluster: Cluster, follower: int) -> InflightFetch:
    return next(each for each in inflight_fetches(cluster, ONE) if each.follower == follower)


def test_a_cluster_that_leaves_idle_fetches_out_shows_the_same_wires_as_one_that_does_not() -> None:
    left_out, naive = Cluster.build(spec(SLOW), 5), Cluster.build(spec(SLOW), 5, naive=True)
    states = set()
    for at in range(2_000_003, 3_600_000, 1_499):
        left_out.run(at)
        naive.run(at)
        for one, other in zip(inflight_fetches(left_out, ONE), inflight_fetches(naive, ONE), strict=True):
            states.add(one.state)
            # An idle request's arrival is not drawn while the exchange sleeps.
            assert one == (replace(other, until_us=-1) if one.until_us < 0 else other), at
    assert {"waits", "reply", "request"} <= states


def test_looking_on_leaves_no_mark() -> None:
    watched, alone = Cluster.build(spec(SLOW), 9), Cluster.build(spec(SLOW), 9)
    for at in range(0, 3 * SECOND, 41 * MS):
        watched.run(at)
        alone.run(at)
        inflight_fetches(watched, ONE)
        lane_marks(watched.cluster_state, ONE, 0, 1_000)
        for offset in range(3):
            inspect(watched.cluster_state, watched.checker, ONE, offset)
    assert watched.digest() == alone.digest()
    assert watched.save().network == alone.save().network


def test_a_fetch_that_waits_reports_its_offset_and_how_long_it_may_wait() -> None:
    cluster = Cluster.build(spec(), 1)
    cluster.run(2 * SECOND)
    found = wire(cluster, 2)
    assert (found.state, found.leader, found.question, found.offset) == ("waits", 1, "fetch", 0)
    assert found.sent_us < cluster.now_us <= found.until_us <= found.sent_us + 510 * MS
    assert {each.follower for each in inflight_fetches(cluster, ONE)} == {2, 3}


def test_a_reply_reports_what_it_brings() -> None:
    cluster = Cluster.build(spec(SLOW), 5)
    brought = []
    while not brought:
        cluster.run(cluster.next_event_us(), 1)
        brought = [each for each in inflight_fetches(cluster, ONE) if each.state == "reply" and each.records > 0]
    (first, *_rest) = brought
    assert (first.offset, first.records, first.hw) == (0, 1, 0)
    assert cluster.now_us < first.until_us


@pytest.mark.parametrize(("link", "state"), [((3, 1), "request_cut"), ((1, 3), "reply_cut")])
def test_dropped_packets_are_reported(link: tuple[int, int], state: str) -> None:
    cluster = Cluster.build(spec(SLOW), 5)
    cluster.run(2 * SECOND)
    cluster.cut(*link, fault=1)
    cluster.run(4 * SECOND)
    assert wire(cluster, 3).state == state
    assert wire(cluster, 2).state in ("waits", "request", "reply")
    cluster.heal_cut(*link, fault=1)
    cluster.run(6 * SECOND)
    assert wire(cluster, 3).state in ("waits", "request", "reply")


def test_a_leader_that_pauses_holds_requests_up_and_one_without_power_loses_them() -> None:
    cluster = Cluster.build(spec(SLOW), 5)
    cluster.run(2 * SECOND)
    cluster.pause(1)
    cluster.run(3 * SECOND)
    states = [wire(cluster, each).state for each in (2, 3)]
    cluster.power_loss(1)
    assert set(states) <= {"waits", "request_held"}
    assert [wire(cluster, each).state for each in (2, 3)] == ["unanswered"] * 2


def test_a_follower_that_is_down_asks_nothing_and_one_without_a_leader_backs_off() -> None:
    cluster = Cluster.build(spec(), 5)
    cluster.run(2 * SECOND)
    cluster.crash(3)
    assert wire(cluster, 3).state == "none"
    cluster.crash(1)
    cluster.run(2 * SECOND + 10 * MS)
    found = wire(cluster, 2)
    assert found.state == "pauses"
    assert found.until_us > cluster.now_us


def test_flights_are_the_messages_between_two_living_processes() -> None:
    cluster = Cluster.build(spec(), 5, naive=True)
    while not (
        asked := [each for each in in_flight_messages(cluster.network, 2, 1) if isinstance(each.message, FetchRequest)]
    ):
        cluster.run(cluster.next_event_us(), 1)
    assert asked[0].location == "wire"
    assert asked[0].arrives_us > cluster.now_us
    cluster.network.power_off(2)
    assert not list(in_flight_messages(cluster.network, 2, 1))


def transactional() -> Cluster:
    plan = TransactionPlan(4, abort=2)
    settings = {"transactional.id": "tx", "acks": "all", "linger.ms": 0}
    cluster = Cluster.build(spec(ProducerSpec("tx", "t", 20 * MS, config=settings, transactions=plan)), 3)
    cluster.run(3 * SECOND)
    return cluster


def test_markers_and_transactions_are_reported_as_the_log_has_them() -> None:
    cluster = transactional()
    leader = next(each for each in lane_marks(cluster.cluster_state, ONE, 0, 1 << 40) if each.broker == 1)
    log = cluster.cluster_state.replica(ONE, 1).log
    markers = {offset for low, high in leader.control for offset in range(low, high)}
    endings = {}
    for offset in range(log.leo):
        (known,) = inspect(cluster.cluster_state, cluster.checker, ONE, offset)
        endings[offset] = known.transaction
        assert (offset in markers) == known.kind.endswith("marker")
        assert known.batch_start <= offset < known.batch_start + known.record.batch_records
    assert {"committed", "aborted"} <= set(endings.values())
    # Each marker tells the end of the records of one producer before it, as far back as the marker before.
    open_ones = [offset for offset, ending in endings.items() if ending == "open"]
    assert [low for low, _high in leader.open] == open_ones[:1]
    last = 0
    for marker in sorted(markers):
        (known,) = inspect(cluster.cluster_state, cluster.checker, ONE, marker)
        assert {endings[each] for each in range(last, marker)} == {
            "aborted" if known.kind == "abort marker" else "committed"
        }
        last = marker + 1
    narrow = lane_marks(cluster.cluster_state, ONE, min(markers), min(markers) + 1)
    assert narrow[0].control == ((min(markers), min(markers) + 1),)
    assert leader.stable <= cluster.cluster_state.replica(ONE, 1).hw


def test_idempotent_records_have_kafkas_own_numbers() -> None:
    cluster = Cluster.build(spec(replace(SLOW, config={"acks": "all"}, interval_us=50 * MS)), 5)
    cluster.run(2 * SECOND)
    found = [inspect(cluster.cluster_state, cluster.checker, ONE, offset)[0] for offset in range(5)]
    assert [each.sequence for each in found] == [0, 1, 2, 3, 4]
    assert {each.producer_epoch for each in found} == {0}
    assert all(each.committed and each.transaction == "" for each in found)


def test_every_replica_has_its_place_for_a_record() -> None:
    cluster = Cluster.build(spec(SLOW), 5)
    cluster.run(2 * SECOND)
    cluster.crash(3)
    cluster.run(5 * SECOND)
    newest = cluster.cluster_state.replica(ONE, 1).log.leo - 1
    (known,) = inspect(cluster.cluster_state, cluster.checker, ONE, newest)
    assert [each.holding for each in known.copies] == ["holds", "holds", "behind"]
    assert [(each.below_hw, each.durable) for each in known.copies][2] == (False, False)
    assert [each.holding for each in copies(cluster.cluster_state, ONE, newest + 1, -1)] == ["behind"] * 3
    assert inspect(cluster.cluster_state, cluster.checker, ONE, newest + 1) == ()
    cluster.cluster_state.replica(ONE, 1).log.move_start(newest)
    assert copies(cluster.cluster_state, ONE, newest - 1, known.log_branch)[0].holding == "below"


def test_an_unknown_partition_is_refused_by_name(snapshot: SnapshotAssertion) -> None:
    cluster = Cluster.build(spec(), 5)
    for ask in (
        lambda: inflight_fetches(cluster, "x-1"),
        lambda: lane_marks(cluster.cluster_state, "x-1", 0, 1),
        lambda: inspect(cluster.cluster_state, cluster.checker, "x-1", 0),
    ):
        with pytest.raises(ModelError) as caught:
            ask()
        assert caught.value.code == "no_partition"
        assert str(caught.value) == snapshot
