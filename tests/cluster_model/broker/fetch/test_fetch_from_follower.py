"""KIP-392: preferred read replicas, reads from followers, and the consumer that uses them."""

from typing import Any

import pytest

from cluster_model.broker.fetch.fetch_reads import ReadReplicaCandidate, rack_aware
from cluster_model.cluster import Cluster
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ConsumerReset, RecordsRead
from cluster_model.protocol.messages import (
    NO_LEADER,
    FetchData,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    MetadataResponse,
    PartitionState,
)
from cluster_model.protocol.records import Slice
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.again import comes_out_again
from tests.cluster_model.leaders import CONSUMER_NODE, LeaderRig, P
from tests.cluster_model.rigs import BROKERS, LATENCY, MS, SECOND, ConsumerRig, state
from tests.support.releases import those_of

AWARE = {"replica.selector.class": "RackAwareReplicaSelector"}
E = KafkaError


# --- choice of the replica --------------------------------------------------------------------------------------------

LEADER = ReadReplicaCandidate(1, "a", 100, 0)


@pytest.mark.parametrize(
    ("rack", "followers", "chosen"),
    [
        ("a", [ReadReplicaCandidate(2, "a", 100, 0)], 1),
        ("", [ReadReplicaCandidate(2, "b", 100, 0)], 1),
        ("c", [ReadReplicaCandidate(2, "b", 100, 0)], 1),
        ("b", [ReadReplicaCandidate(2, "b", 90, 0), ReadReplicaCandidate(3, "c", 100, 0)], 2),
        ("b", [ReadReplicaCandidate(2, "b", 90, 0), ReadReplicaCandidate(3, "b", 91, 9)], 3),
        ("b", [ReadReplicaCandidate(2, "b", 90, 5), ReadReplicaCandidate(3, "b", 90, 9)], 2),
        ("b", [ReadReplicaCandidate(2, "b", 90, 5), ReadReplicaCandidate(3, "b", 90, 5)], 3),
    ],
)
def test_the_selector_takes_the_most_caught_up_of_the_rack_unless_the_leader_is_there(
    rack: str, followers: list[ReadReplicaCandidate], chosen: int
) -> None:
    assert rack_aware(rack, LEADER, followers) == chosen


def led(kafka: str = "3.9", **options: Any) -> LeaderRig:
    """Return a leader of ten records; both followers have five of them, broker 3 has dropped the first three."""
    rig = LeaderRig(kafka, broker=options.pop("broker", AWARE), **options)
    rig.append(10)
    rig.fetch(2, 5)
    rig.fetch(3, 5, log_start=3)
    return rig


def sent_to(rig: LeaderRig, offset: int, rack: str = "b") -> int:
    data = rig.read(offset, rack=rack)
    assert data is not None
    return data.preferred


def test_a_leader_sends_a_consumer_to_a_follower_of_its_rack_that_has_the_offset() -> None:
    rig = led()
    assert sent_to(rig, 4) == 3
    assert sent_to(rig, 2) == 2, "broker 3 begins at 3"
    assert sent_to(rig, 5) == 3
    assert sent_to(rig, 6) == NO_LEADER, "nobody else has 6"
    assert sent_to(rig, 4, "a") == sent_to(rig, 4, "") == sent_to(rig, 4, "elsewhere") == NO_LEADER


def test_a_broker_that_is_sent_on_gets_no_records_and_no_error() -> None:
    data = led().read(0, rack="b", wait_us=500_000)
    assert data is not None
    assert (data.error, data.records.end - data.records.start, data.preferred, data.hw) == (0, 0, 2, 5)


def test_followers_outside_the_isr_are_no_candidates() -> None:
    rig = LeaderRig(broker=AWARE, isr=(1, 2))
    rig.append(10)
    rig.fetch(2, 4)
    rig.fetch(3, 2)
    assert sent_to(rig, 1) == 2
    rig = LeaderRig(broker=AWARE, isr=(1,))
    rig.append(10)
    rig.fetch(2, 4)
    assert sent_to(rig, 1) == NO_LEADER


def test_followers_that_do_not_live_are_no_candidates() -> None:
    rig = led()
    del rig.replica.metadata.racks[3]
    assert sent_to(rig, 4) == 2


@pytest.mark.parametrize(
    ("kafka", "broker"),
    [("2.3", AWARE), ("3.9", {}), ("3.9", {"replica.selector.class": "LeaderSelector"}), ("0.9", AWARE)],
)
def test_without_a_selector_or_before_2_4_the_leader_serves(kafka: str, broker: dict[str, Any]) -> None:
    rig = led(kafka, broker=broker)
    data = rig.read(0, rack="b")
    assert data is not None
    assert (data.preferred, data.records.end) == (NO_LEADER, 5)


# --- reads from a follower --------------------------------------------------------------------------------------------


def following(kafka: str = "3.9") -> LeaderRig:
    """Return a follower with records 2 to 9, of which it knows 2 to 6 to be committed."""
    rig = LeaderRig(kafka)
    rig.append(10)
    rig.replica.hw = 7
    rig.replica.log.move_start(2)
    rig.replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    return rig


@pytest.mark.parametrize(
    ("offset", "error", "end"),
    [
        (1, E.OFFSET_OUT_OF_RANGE, 1),
        (2, E.NONE, 7),
        (6, E.NONE, 7),
        (7, E.NONE, 7),
        (9, E.NONE, 9),
        (10, E.NONE, 10),
        (11, E.OFFSET_OUT_OF_RANGE, 11),
    ],
)
def test_a_follower_serves_up_to_its_own_hw_and_refuses_what_its_log_does_not_reach(
    offset: int, error: KafkaError, end: int
) -> None:
    data = following().read(offset)
    assert data is not None
    # A batch is read whole: it may begin before the fetch offset and ends with the HW.
    assert (data.error, data.records.end) == (error, end)


@pytest.mark.parametrize("kafka", ["0.8.2", "1.1", "2.3"])
def test_before_2_4_a_follower_serves_no_consumer(kafka: str) -> None:
    data = following(kafka).read(2)
    assert data is not None
    assert data.error == E.NOT_LEADER_OR_FOLLOWER


def test_a_follower_names_no_preferred_read_replica() -> None:
    rig = LeaderRig(broker=AWARE)
    rig.append(3)
    rig.replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    data = rig.read(0, rack="b")
    assert data is not None
    assert data.preferred == NO_LEADER


def test_a_consumers_fetch_waits_at_a_follower_until_the_hw_moves() -> None:
    rig = following()
    assert rig.read(7, wait_us=500_000) is None
    rig.service.answer_waiting(rig.replica)
    assert rig.answers(CONSUMER_NODE) == 0
    rig.replica.hw = 8
    rig.service.answer_waiting(rig.replica)
    data = rig.answer(CONSUMER_NODE)
    assert data is not None
    assert (data.records.start, data.records.end, data.hw) == (7, 8, 8)


def test_and_no_longer_when_the_epoch_has_changed() -> None:
    rig = following()
    assert rig.read(7, wait_us=500_000) is None
    rig.replica.apply(PartitionState(P, 3, 3, (1, 2, 3), 3, (1, 2, 3)), 0)
    rig.service.answer_waiting(rig.replica)
    data = rig.answer(CONSUMER_NODE)
    assert data is not None
    assert data.error == E.FENCED_LEADER_EPOCH


def test_a_replica_without_a_role_serves_no_fetch() -> None:
    rig = following()
    rig.replica.stopped()
    data = rig.read(2)
    assert data is not None
    assert data.error != E.NONE


# --- the consumer ---------------------------------------------------------------------------------------------------


def rig_sent_to(broker: int, **options: Any) -> ConsumerRig:
    """Return a consumer that its leader, broker 1, has just redirected to another broker."""
    rig = ConsumerRig(config={"client.rack": "b", **options.pop("config", {})}, **options)
    answer(rig, 1, preferred=broker)
    return rig


def answer(rig: ConsumerRig, broker: int, error: KafkaError = E.NONE, *, preferred: int = NO_LEADER) -> None:
    position = rig.consumer.positions["t-0"]
    empty = Slice(position, position, ())
    data = FetchData("t-0", position, error, 0, 0, 0, empty, preferred=preferred)
    rig.reply(broker, FetchResponse(rig.asked(FetchRequest, broker)[-1].correlation_id, (data,)))
    rig.run(2 * LATENCY)


def fetches(rig: ConsumerRig) -> dict[int, int]:
    return {broker: len(rig.asked(FetchRequest, broker)) for broker in BROKERS}


@pytest.mark.parametrize(("kafka", "rack"), [("2.3", ""), ("2.4", "b"), ("3.9", "b")])
def test_a_consumer_reports_its_rack_since_2_4(kafka: str, rack: str) -> None:
    rig = ConsumerRig(kafka=kafka, config={"client.rack": "b"})
    assert rig.asked(FetchRequest, 1)[0].rack == rack


def test_a_consumer_goes_where_its_leader_sends_it_and_stays_there() -> None:
    rig = rig_sent_to(2)
    assert fetches(rig) == {1: 1, 2: 1, 3: 0}
    answer(rig, 2)
    answer(rig, 2)
    assert fetches(rig) == {1: 1, 2: 3, 3: 0}


def test_its_lease_ends_with_the_age_of_metadata() -> None:
    rig = rig_sent_to(2, config={"metadata.max.age.ms": 60_000, "fetch.max.wait.ms": 500})
    began = rig.now
    while fetches(rig)[1] == 1:
        rig.run(500 * MS)
        answer(rig, 2)
        assert rig.now < began + 70 * SECOND
    assert 60 * SECOND <= rig.now - began + 4 * LATENCY < 61 * SECOND


@pytest.mark.parametrize("error", [E.OFFSET_OUT_OF_RANGE, E.NOT_LEADER_OR_FOLLOWER, E.FENCED_LEADER_EPOCH])
def test_after_an_error_from_the_follower_the_leader_is_fetched_from(error: KafkaError) -> None:
    rig = rig_sent_to(2)
    answer(rig, 2, error)
    rig.run(SECOND)
    assert fetches(rig) == {1: 2, 2: 1, 3: 0}


def test_out_of_range_at_a_follower_resets_nothing_and_at_the_leader_it_does() -> None:
    rig = rig_sent_to(2)
    answer(rig, 2, E.OFFSET_OUT_OF_RANGE)
    assert [rig.asked(ListOffsetsRequest, broker) for broker in BROKERS] == [[], [], []]
    assert fetches(rig)[1] == 2, "at once, without a back-off"
    answer(rig, 1, E.OFFSET_OUT_OF_RANGE)
    assert len(rig.asked(ListOffsetsRequest, 1)) == 1
    assert rig.of(ConsumerReset) == []


def test_a_broken_connection_to_it_leads_back_to_the_leader() -> None:
    rig = rig_sent_to(2)
    rig.network.crash(2)
    rig.run(SECOND)
    assert fetches(rig)[1] == 2


def test_a_replica_that_metadata_no_longer_shows_is_given_up() -> None:
    rig = rig_sent_to(2)
    rig.consumer.metadata._online = (1, 3)
    answer(rig, 2)
    assert fetches(rig) == {1: 2, 2: 1, 3: 0}
    rig.run(SECOND)
    assert len(rig.metadata_asked()) == 1


def test_the_brokers_that_live_are_those_of_the_newest_metadata() -> None:
    rig = rig_sent_to(2)
    rig.consumer.metadata.refresh()
    rig.run(SECOND // 10)
    asked = rig.metadata_asked()[-1]
    rig.reply(asked, MetadataResponse(1, (state("t-0", 1),), (1, 3)))
    rig.run(2 * LATENCY)
    answer(rig, 2)
    assert fetches(rig)[1] == 2


# --- in a cluster -----------------------------------------------------------------------------------------------------


def cluster(kafka: str, *, rack: str = "b", config: dict[str, Any] | None = None, start_us: int = 0) -> Cluster:
    """Return a cluster with one partition led by broker 1 in rack a, and a reader in rack b with broker 2."""
    spec = ClusterSpec(
        kafka,
        None if kafka >= "3.3" else "zookeeper",
        (BrokerSpec(1, "a"), BrokerSpec(2, "b"), BrokerSpec(3, "c")),
        (TopicSpec("t", 1, 3, ((1, 2, 3),)),),
        (ProducerSpec("p", "t", 200_000, 1, start_us=start_us, config={"acks": "all"}),),
        (GroupSpec("g", ("t",), config={"client.rack": rack} if rack else {}, coordinated=False),),
        NetworkSpec(500, 200),
        those_of("broker", kafka, AWARE) if config is None else config,
    )
    return Cluster.build(spec, 3)


def sources(found: Cluster) -> set[int]:
    return {event.broker for event in found.drain() if isinstance(event, RecordsRead)}


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "source"), [("2.3", 1), ("2.4", 2), ("2.6", 2), ("3.9", 2), ("4.1", 2)])
def test_a_reader_reads_in_its_own_rack_since_2_4(kafka: str, source: int) -> None:
    found = cluster(kafka)
    found.run(10 * SECOND)
    assert sources(found) == {source}
    assert found.query.lag("g") <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("rack", "config"), [("", None), ("a", None), ("x", None), ("b", {})])
def test_others_read_from_the_leader(rack: str, config: dict[str, Any] | None) -> None:
    found = cluster("3.9", rack=rack, config=config)
    found.run(5 * SECOND)
    assert sources(found) == {1}


def test_when_the_follower_dies_the_reader_goes_back_to_the_leader_and_loses_nothing() -> None:
    found = cluster("3.9")
    found.run(5 * SECOND)
    found.drain()
    found.crash(2)
    found.run(20 * SECOND)
    assert sources(found) == {1}
    found.stop_producers()
    found.run(25 * SECOND)
    assert found.query.lag("g") == 0
    found.restart(2)
    found.run(60 * SECOND)
    assert found.query.violations() == 0


@pytest.mark.parametrize("kafka", ["2.4", "2.5", "2.6", "3.4"])
def test_records_are_read_from_a_follower_one_fetch_wait_later(kafka: str) -> None:
    """In 2.4 and 2.5 leaders push their HW, but followers do not complete consumers' fetches (KAFKA-14334)."""
    least_us, most_us = 100 * MS, SECOND
    found = cluster(kafka)
    found.run(5 * SECOND)
    late = [event.latency_us for event in found.drain() if isinstance(event, RecordsRead)][5:]
    assert least_us <= max(late) <= most_us


def test_a_run_from_a_keyframe_is_the_same_run() -> None:
    found = cluster("3.9")
    found.run(3 * SECOND)

    def act(cluster: Cluster) -> None:
        cluster.crash(2)
        cluster.run(20 * SECOND)

    assert comes_out_again(found, act)


@pytest.mark.slow
def test_brokers_learn_of_racks_from_the_controller_only() -> None:
    found = cluster("3.9")
    assert found.brokers[1].metadata.racks == {1: "a", 2: "b", 3: "c"}
    found.crash(2)
    assert found.brokers[1].metadata.racks == {1: "a", 2: "b", 3: "c"}
    found.run(30 * SECOND)
    assert found.brokers[1].metadata.racks == {1: "a", 3: "c"}
    found.restart(2)
    found.run(60 * SECOND)
    assert found.brokers[2].metadata.racks == found.brokers[1].metadata.racks == {1: "a", 3: "c", 2: "b"}


# --- the push of the HW (2.4 and 2.5) ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "pushed"), [("2.3", False), ("2.4", True), ("2.5", True), ("2.6", False)])
def test_a_delayed_fetch_is_answered_when_the_hw_moves(kafka: str, pushed: bool) -> None:
    rig = LeaderRig(kafka)
    rig.append(1)
    assert rig.fetch(2, 0) is not None
    assert rig.fetch(3, 0) is not None
    before = rig.answers(2)
    assert rig.fetch(2, 1) is None
    rig.fetch(3, 1)
    assert rig.replica.hw == 1
    assert (rig.answers(2) > before) is pushed


@pytest.mark.parametrize(("kafka", "pushed"), [("2.3", False), ("2.4", True), ("2.5", True), ("2.6", False)])
def test_a_fetch_is_not_delayed_when_the_hw_moved_since_the_last_answer(kafka: str, pushed: bool) -> None:
    rig = LeaderRig(kafka)
    rig.append(1)
    rig.fetch(2, 1)
    rig.append(1)  # responds to broker 2 while the HW is 0
    rig.fetch(3, 1)  # and moves it to 1 while that response is in flight
    assert rig.replica.hw == 1
    data = rig.fetch(2, 2)
    assert (data is not None) is pushed
    if data is not None:
        assert data.hw == 1
        assert rig.fetch(2, 2) is None, "it has been told"
