"""Placement of a new topic's replicas, by Kafka's formulas worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.controller.cluster_parts import assign_replicas
from cluster_model.controller.rules.replica_placement import place_zk
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.errors import ModelError
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

FIVE = [(0, ""), (1, ""), (2, ""), (3, ""), (4, "")]
RACKS = [(0, "r1"), (1, "r3"), (2, "r3"), (3, "r2"), (4, "r2"), (5, "r1")]
"""The example of KIP-36: interleaved by rack the brokers are 0, 3, 1, 5, 4, 2."""


def test_the_example_in_kafkas_own_source() -> None:
    """``AdminUtils``: five brokers, ten partitions, three replicas, both random numbers 0."""
    assert place_zk(FIVE, 10, 3, 0, 0) == (
        (0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 0), (4, 0, 1),
        (0, 2, 3), (1, 3, 4), (2, 4, 0), (3, 0, 1), (4, 1, 2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("start", "shift", "first", "second"),
    [
        (0, 0, (1, 2, 3), (2, 3, 1)),
        (1, 0, (2, 3, 1), (3, 1, 2)),
        (2, 0, (3, 1, 2), (1, 2, 3)),
        (0, 1, (1, 3, 2), (2, 1, 3)),
        (0, 2, (1, 2, 3), (2, 3, 1)),
        (2, 1, (3, 2, 1), (1, 3, 2)),
    ],
)
def test_three_brokers_by_hand(start: int, shift: int, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    assert place_zk([(1, ""), (2, ""), (3, "")], 2, 3, start, shift) == (first, second)


def test_the_shift_grows_with_every_round_over_the_brokers() -> None:
    placed = place_zk([(1, ""), (2, ""), (3, "")], 7, 2, 0, 0)
    assert [followers for _leader, followers in placed] == [2, 3, 1, 3, 1, 2, 2]


def test_brokers_are_taken_in_order_of_their_ids_however_listed() -> None:
    assert place_zk([(9, ""), (4, ""), (7, "")], 3, 2, 0, 0) == ((4, 7), (7, 9), (9, 4))


def test_the_example_of_kip_36() -> None:
    """Seven partitions with three replicas over three racks of two, both random numbers 0."""
    assert place_zk(RACKS, 7, 3, 0, 0) == (
        (0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2),
    )  # fmt: skip


def test_racks_repeat_only_when_all_are_used() -> None:
    rack_of = dict(RACKS)
    for replicas in place_zk(RACKS, 12, 4, 2, 3):
        assert len({rack_of[broker] for broker in replicas[:3]}) == 3
        assert len(set(replicas)) == 4


def test_racks_are_disregarded_unless_every_broker_has_one() -> None:
    some = [(0, "a"), (1, "a"), (2, ""), (3, "b")]
    assert place_zk(some, 4, 2, 0, 0) == place_zk([(broker, "") for broker, _rack in some], 4, 2, 0, 0)


def test_uneven_racks_are_interleaved_as_far_as_they_go() -> None:
    uneven = [(1, "a"), (2, "a"), (3, "a"), (4, "b")]
    assert [replicas[0] for replicas in place_zk(uneven, 4, 2, 0, 0)] == [1, 4, 2, 3]
    assert all(4 in replicas for replicas in place_zk(uneven, 8, 2, 0, 0))


def test_one_broker_with_a_rack_of_its_own() -> None:
    assert place_zk([(3, "a")], 2, 1, 0, 0) == ((3,), (3,))


@pytest.mark.slow
@given(st.data())
def test_any_placement_is_of_different_brokers_and_spreads_leaders_evenly(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 9))
    racked = data.draw(st.booleans())
    racks = data.draw(st.lists(st.sampled_from("abc" if racked else [""]), min_size=count, max_size=count))
    brokers = list(zip(range(1, count + 1), racks, strict=True))
    replication = data.draw(st.integers(1, count))
    rounds = data.draw(st.integers(1, 3))
    start, shift = data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))
    placed = place_zk(brokers, rounds * count, replication, start, shift)
    leaders = [replicas[0] for replicas in placed]
    assert len(placed) == rounds * count
    assert all(leaders.count(broker) == rounds for broker, _rack in brokers)
    rack_of = dict(brokers)
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == replication
        if racked:
            assert len({rack_of[broker] for broker in replicas}) == min(replication, len(set(racks)))


# --- what a spec asks for -------------------------------------------------------------------------------------------


def spec_of(*brokers: int) -> ClusterSpec:
    return ClusterSpec("3.9", "kraft", tuple(BrokerSpec(broker) for broker in brokers), ())


def test_a_placement_that_was_given_is_taken_as_it_is() -> None:
    topic = TopicSpec("orders", placement=((3, 1), (2, 3)))
    assert assign_replicas(topic, spec_of(1, 2, 3), RandomStreams(0)) == ((3, 1), (2, 3))


def test_a_placement_on_an_unknown_broker_is_refused(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        assign_replicas(TopicSpec("orders", placement=((1, 4),)), spec_of(1, 2, 3), RandomStreams(0))
    assert caught.value.code == "no_broker"
    assert str(caught.value) == snapshot


def test_more_replicas_than_brokers_are_refused(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ModelError) as caught:
        assign_replicas(TopicSpec("orders", replication=3), spec_of(1, 2), RandomStreams(0))
    assert caught.value.code == "too_few_brokers"
    assert str(caught.value) == snapshot


def test_a_single_broker_holds_everything() -> None:
    assert assign_replicas(TopicSpec("orders", 2, 1), spec_of(5), RandomStreams(0)) == ((5,), (5,))


def test_the_two_random_numbers_come_from_the_topics_own_stream() -> None:
    brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4))
    spec = ClusterSpec("3.9", "zookeeper", brokers, ())
    streams, drawn = RandomStreams(17), RandomStreams(17).named("placement:orders")
    start, shift = drawn.below(4), drawn.below(4)
    streams.named("placement:payments").next64()
    expected = place_zk([(broker.id, "") for broker in spec.brokers], 6, 3, start, shift)
    assert assign_replicas(TopicSpec("orders", 6, 3), spec, streams) == expected
