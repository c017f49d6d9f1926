"""Risks of small placements, and that a run counts what was computed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_model.spec import BrokerSpec, ClusterSpec, TopicSpec
from playbooks.cluster_risks import BrokerLoss, Placement, Risk, risks_json, rows, simulate


def spec(*topics: TopicSpec, racks: str = "aabbc", kafka: str = "3.9", mode: str = "kraft") -> ClusterSpec:
    return ClusterSpec(kafka, mode, tuple(BrokerSpec(number, rack) for number, rack in enumerate(racks, 1)), topics)


def placed(
    *replicas: tuple[int, ...], name: str = "t", min_isr: int = 2, leaders: tuple[tuple[int, int], ...] = ()
) -> TopicSpec:
    return TopicSpec(name, len(replicas), len(replicas[0]), replicas, {"min.insync.replicas": min_isr}, leaders)


def risk_of(cluster: ClusterSpec, *names: str) -> Risk:
    return next(risk for risk in Placement(cluster).risks() if risk.failure.names == names)


def test_failures_are_brokers_racks_and_pairs_of_racks() -> None:
    kinds = [(each.kind, sorted(each.brokers)) for each in Placement(spec(placed((1, 3, 5)))).failures()]
    assert kinds == [
        *[("broker", [number]) for number in range(1, 6)],
        ("rack", [1, 2]),
        ("rack", [3, 4]),
        ("rack", [5]),
        ("two racks", [1, 2, 3, 4]),
        ("two racks", [1, 2, 5]),
        ("two racks", [3, 4, 5]),
    ]


@pytest.mark.parametrize(("racks", "kinds"), [("   ", {"broker"}), ("aaa", {"broker"}), ("aab", {"broker", "rack"})])
def test_racks_count_only_where_there_are_several(racks: str, kinds: set[str]) -> None:
    cluster = spec(placed((1, 2)), racks=racks)
    cluster = replace(cluster, brokers=tuple(replace(each, rack=each.rack.strip()) for each in cluster.brokers))
    assert {each.kind for each in Placement(cluster).failures()} == kinds


@pytest.mark.parametrize(
    ("names", "offline", "below"),
    [
        (("1",), ("t-2",), ("t-1",)),
        (("a",), ("t-1", "t-2"), ()),
        (("c",), (), ()),
        (("a", "b"), ("t-1", "t-2"), ("t-0",)),
    ],
)
def test_a_partition_is_offline_without_replicas_and_below_min_isr_with_too_few(
    names: tuple[str, ...], offline: tuple[str, ...], below: tuple[str, ...]
) -> None:
    cluster = spec(placed((1, 3, 5), (1, 2), (1,)))
    risk = risk_of(cluster, *names)
    assert (risk.offline, risk.below_min_isr) == (offline, below)


def test_the_minimum_is_that_of_the_release() -> None:
    old, new = (Placement(spec(placed((1,)), kafka=kafka)).always_below_min_isr() for kafka in ("3.6", "3.9"))
    assert [partition.name for partition in old] == ["t-0"]
    assert new == []


def test_without_a_majority_of_controllers_the_leaders_that_are_lost_stay_lost() -> None:
    cluster = replace(spec(placed((1, 3, 5), (3, 1, 5))), combined=(1, 2, 3))
    risk = risk_of(cluster, "a")
    assert (risk.has_quorum, risk.offline) == (False, ("t-0",))


def test_coordinators_are_counted() -> None:
    cluster = spec(placed((1, 2)), placed((1, 2), (1,), name="__consumer_offsets"))
    assert risk_of(cluster, "1").coordinators == {"__consumer_offsets": 1, "__transaction_state": 0}


def test_single_points_of_failure_are_single_replicas_and_single_racks() -> None:
    placement = Placement(spec(placed((1, 3, 5), (1, 2), (4,))))
    assert [partition.name for partition in placement.single_points_of_failure()] == ["t-1", "t-2"]


def test_brokers_are_restarted_together_where_min_isr_holds() -> None:
    order = Placement(spec(placed((1, 3, 5), (2, 4, 5)))).restart_order()
    assert order.rounds == ((1, 2), (3, 4), (5,))
    assert order.blocked == {}


def test_a_broker_that_cannot_be_restarted_is_named_with_its_partitions() -> None:
    order = Placement(spec(placed((1, 3, 5), (2, 4)))).restart_order()
    assert order.blocked == {2: ("t-1",), 4: ("t-1",)}
    assert order.rounds == ((1,), (3,), (5,))


def test_controllers_are_restarted_last_and_alone() -> None:
    cluster = replace(spec(placed((1, 3, 5), (2, 4, 5))), combined=(1, 2, 3))
    assert Placement(cluster).restart_order().rounds == ((4,), (5,), (1,), (2,), (3,))


def test_the_document_and_the_table_have_every_failure() -> None:
    placement = Placement(spec(placed((1, 3, 5), (1, 2), (4,))))
    risks = placement.risks()
    document = risks_json(placement, risks, {})
    assert [each["names"] for each in document["failures"]] == [list(risk.failure.names) for risk in risks]
    assert document["restart"]["blocked"]["4"] == ["t-2"]
    table = rows(risks, {})
    assert table[0][0] == "racks a, b"
    assert len(table) == sum(risk.has_effect for risk in risks)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterSpec:
    racks = draw(st.text("abc", min_size=2, max_size=5))
    brokers = range(1, len(racks) + 1)
    row = st.permutations(brokers).flatmap(
        lambda order: st.integers(1, len(order)).map(lambda count: tuple(order[:count]))
    )
    topics = []
    for name in ("t", "__consumer_offsets"):
        replicas = draw(st.lists(row, min_size=1, max_size=4))
        leaders = tuple((number, draw(st.sampled_from(each))) for number, each in enumerate(replicas))
        topics.append(placed(*replicas, name=name, min_isr=draw(st.integers(1, 3)), leaders=leaders))
    kafka, mode = draw(st.sampled_from([("2.8", "zookeeper"), ("3.6", "kraft"), ("3.9", "kraft"), ("4.4", "kraft")]))
    cluster = spec(*topics, racks=racks, kafka=kafka, mode=mode)
    combined = draw(st.booleans()) and mode == "kraft" and len(racks) >= 3
    return replace(cluster, combined=(1, 2, 3)) if combined else cluster


@settings(max_examples=60)
@given(clusters(), st.randoms(use_true_random=False))
def test_a_run_counts_what_is_computed(cluster: ClusterSpec, chance: object) -> None:
    placement = Placement(cluster)
    failures: list[BrokerLoss] = list(placement.failures())
    failure = chance.choice(failures)  # type: ignore[attr-defined]
    assert simulate(placement, failure).risk == placement.risk(failure)
