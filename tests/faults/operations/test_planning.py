"""Where replicas go: worked out from metadata alone."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.messages import MetadataResponse, PartitionState
from faults.operations.reassignment import (
    ReassignmentError,
    decommission_plan,
    replication_plan,
    spread_plan,
    states_of,
    throttles,
)


def known(*assignments: tuple[int, ...], brokers: tuple[int, ...] = (1, 2, 3, 4, 5)) -> MetadataResponse:
    states = tuple(PartitionState(f"t-{i}", each[0], 0, each, 0, each) for i, each in enumerate(assignments))
    return MetadataResponse(1, states, brokers)


def test_a_topic_is_spread_over_the_brokers_given(snapshot: SnapshotAssertion) -> None:
    seen = known((1, 2), (2, 3), (3, 1))
    assert spread_plan(states_of(seen, "t"), (4, 5, 2)) == {"t-0": (4, 5), "t-1": (5, 2), "t-2": (2, 4)}
    with pytest.raises(ReassignmentError) as caught:
        spread_plan(states_of(seen, "t"), (4,))
    assert caught.value.code == "fewer_brokers_than_replicas"
    assert str(caught.value) == snapshot


def test_new_replicas_go_where_there_are_fewest(snapshot: SnapshotAssertion) -> None:
    seen = known((1, 2), (1, 3), (1, 4))
    assert replication_plan(seen, "t", 3) == {"t-0": (1, 2, 5), "t-1": (1, 3, 2), "t-2": (1, 4, 3)}
    assert replication_plan(seen, "t", 1) == {"t-0": (1,), "t-1": (1,), "t-2": (1,)}
    assert replication_plan(seen, "t", 2) == {}
    with pytest.raises(ReassignmentError) as caught:
        replication_plan(known((1, 2), brokers=(1, 2)), "t", 3)
    assert caught.value.code == "no_broker_left"
    assert str(caught.value) == snapshot
    assert caught.value.error == "INVALID_REPLICATION_FACTOR"


def test_a_broker_is_emptied_place_by_place(snapshot: SnapshotAssertion) -> None:
    seen = known((1, 2), (2, 3), (3, 4))
    assert decommission_plan(seen, 2) == {"t-0": (1, 5), "t-1": (1, 3)}
    with pytest.raises(ReassignmentError) as caught:
        decommission_plan(known((1, 2), brokers=(1, 2)), 2)
    assert caught.value.code == "no_broker_left"
    assert str(caught.value) == snapshot


def test_a_move_under_way_counts_as_done() -> None:
    moving = PartitionState("t-0", 1, 0, (1, 2), 0, (3, 4, 1, 2), (3, 4), (1, 2))
    assert replication_plan(MetadataResponse(1, (moving,), (1, 2, 3, 4)), "t", 2) == {}


def test_throttles_name_the_old_replicas_for_leaders_and_the_new_ones_for_followers() -> None:
    found = throttles({"t-0": (3, 4)}, {"t-0": (1, 3)}, 500)
    assert [(each.type, each.name) for each in found] == [
        ("broker", "1"), ("broker", "3"), ("broker", "4"), ("topic", "t"),
    ]  # fmt: skip
    assert [(config.key, config.value) for config in found[-1].configs] == [
        ("leader.replication.throttled.replicas", "0:1,0:3"), ("follower.replication.throttled.replicas", "0:4"),
    ]  # fmt: skip
    assert {config.value for each in found[:3] for config in each.configs} == {"500"}
    off = throttles({"t-0": (3, 4)}, {"t-0": (1, 3)}, 0)
    assert {(config.operation, config.value) for each in off for config in each.configs} == {(1, "")}
