"""Reassignment, leader rebalance, striped placement, and the states of a broker, worked out by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.controller.rules import admin_rules
from cluster_model.controller.rules.admin_rules import imbalanced_kraft, imbalanced_zk
from cluster_model.controller.rules.partition_change import BrokerControlState, PartitionChange, next_state
from cluster_model.controller.rules.replica_placement import (
    UsableBroker,
    check_replication,
    continued,
    place_striped,
    place_zk,
)
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile

P = "t-0"
PLAIN = PartitionState(P, 1, 5, (1, 2, 3), 9, (1, 2, 3))
KRAFT = Profile.of("3.9", "kraft")
ALL = (1, 2, 3, 4, 5, 6).__contains__


def how(*, unclean: bool = False) -> dict[str, Any]:
    topic = TopicConfig.of(KRAFT, {}, {"unclean.leader.election.enable": unclean})
    return {"active": ALL, "profile": KRAFT, "topic": topic, "by": "test"}


# -- reassignment -----------------------------------------------------------------------------------------------------


def begun_kraft(state: PartitionState, new: tuple[int, ...]) -> PartitionState:
    change = admin_rules.begin_kraft(state, new, **how())
    assert change is not None
    return change.state


def test_kraft_begins_with_old_and_new_replicas_and_the_same_leader_epoch() -> None:
    state = begun_kraft(PLAIN, (4, 1))
    assert state == PartitionState(P, 1, 5, (1, 2, 3), 10, (4, 1, 2, 3), (4,), (2, 3))
    assert (admin_rules.original(state), admin_rules.target(state)) == ((1, 2, 3), (4, 1))


def test_kraft_ends_at_once_where_the_target_is_in_sync() -> None:
    assert begun_kraft(PLAIN, (2, 1)) == PartitionState(P, 1, 6, (1, 2), 10, (2, 1))
    assert begun_kraft(PLAIN, (3,)) == PartitionState(P, 3, 6, (3,), 10, (3,))


def test_a_reassignment_to_the_current_replicas_changes_nothing() -> None:
    assert admin_rules.begin_kraft(PLAIN, (1, 2, 3), **how()) is None


def test_a_new_reassignment_takes_the_place_of_the_one_under_way() -> None:
    state = begun_kraft(begun_kraft(PLAIN, (4, 5, 6)), (1, 2, 5))
    assert (state.replicas, state.adding, state.removing) == ((1, 2, 5, 3, 4, 6), (5,), (3, 4, 6))


def test_kraft_goes_back() -> None:
    state = begun_kraft(PLAIN, (4, 1))._replace(isr=(1, 2, 3, 4))
    back = admin_rules.cancel_kraft(state, **how())
    assert isinstance(back, PartitionChange)
    assert back.state == PartitionState(P, 1, 6, (1, 2, 3), 11, (1, 2, 3))


def test_reassignments_that_cannot_be_cancelled() -> None:
    cancel = admin_rules.cancel_kraft
    assert cancel(PLAIN, **how()) is KafkaError.NO_REASSIGNMENT_IN_PROGRESS
    lost = PartitionState(P, 4, 5, (4,), 9, (4, 1), (4,), (1,))
    assert cancel(lost, **how()) is KafkaError.INVALID_REPLICA_ASSIGNMENT
    anyway = cancel(lost, **how(unclean=True))
    assert isinstance(anyway, PartitionChange)
    assert (anyway.state.leader, anyway.state.isr, anyway.clean) == (1, (1,), False)


@pytest.mark.parametrize("new", [(), (1, 1), (1, 9)])
def test_a_target_that_cannot_be(new: tuple[int, ...]) -> None:
    assert admin_rules.check_target(new, ALL) is KafkaError.INVALID_REPLICA_ASSIGNMENT
    assert admin_rules.check_target((1, 2), ALL) is KafkaError.NONE


# -- rebalance --------------------------------------------------------------------------------------------------------


def led(number: int, leader: int, isr: tuple[int, ...] = (1, 2)) -> PartitionState:
    return PartitionState(f"t-{number}", leader, 0, isr, 0, (1, 2))


@pytest.mark.parametrize(("astray", "found"), [(1, []), (2, ["t-0", "t-1"])])
def test_zookeeper_mode_acts_above_a_tenth(astray: int, found: list[str]) -> None:
    states = [led(number, 2 if number < astray else 1) for number in range(10)]
    assert imbalanced_zk(states, live=ALL) == found
    assert imbalanced_kraft(states, active=ALL) == [f"t-{number}" for number in range(astray)]


def test_only_a_broker_that_is_live_and_in_sync_gets_its_leaderships_back() -> None:
    states = [led(0, 2), led(1, 2, (2,)), led(2, NO_LEADER)]
    for find in (imbalanced_zk(states, live=ALL), imbalanced_kraft(states, active=ALL)):
        assert find == ["t-0", "t-2"]
    assert imbalanced_zk(states, live=(2,).__contains__) == imbalanced_kraft(states, active=(2,).__contains__) == []


def test_a_round_has_its_limit() -> None:
    assert imbalanced_kraft([led(number, 2) for number in range(9)], active=ALL, limit=4) == [
        "t-0",
        "t-1",
        "t-2",
        "t-3",
    ]


def test_zookeeper_mode_leaves_what_is_being_moved() -> None:
    assert imbalanced_zk([led(0, 2)._replace(adding=(2,)), led(1, 2)], live=ALL) == ["t-1"]


# -- placement --------------------------------------------------------------------------------------------------------


def zero(_bound: int) -> int:
    return 0


NINE = [UsableBroker(10 * rack + depth, "ABC"[rack]) for rack in range(3) for depth in range(3)]


def test_the_example_in_kafkas_own_source() -> None:
    """Three racks of three, all offsets 0: A0 B0 C0, B1 C1 A1, C2 A2 B2."""
    assert place_striped(NINE, 3, 3, zero) == ((0, 10, 20), (11, 21, 1), (22, 2, 12))


def test_four_racks_take_turns() -> None:
    racks = [UsableBroker(number, "ABCD"[number]) for number in range(4)]
    assert place_striped(racks, 3, 3, zero) == ((0, 1, 2), (1, 2, 3), (2, 3, 0))


def test_without_racks_every_partition_begins_one_further() -> None:
    assert place_striped([UsableBroker(1), UsableBroker(2), UsableBroker(3)], 3, 2, zero) == ((1, 2), (2, 3), (3, 1))


def test_fenced_brokers_come_last_and_never_first() -> None:
    mixed = [UsableBroker(1, fenced=True), UsableBroker(2), UsableBroker(3)]
    placed = place_striped(mixed, 2, 3, zero)
    assert placed == ((2, 3, 1), (3, 2, 1))
    racked = [UsableBroker(1, "a", True), UsableBroker(2, "b"), UsableBroker(3, "c")]
    assert place_striped(racked, 1, 2, zero) == ((2, 1),)


def test_the_numbers_drawn_choose_where_it_begins() -> None:
    bounds: list[int] = []

    def last(bound: int) -> int:
        bounds.append(bound)
        return bound - 1

    assert place_striped(NINE, 1, 3, last) == ((22, 2, 12),)
    assert bounds == [3, 3, 3, 3]


def test_added_partitions_continue_where_those_before_ended() -> None:
    assert place_striped(NINE, 1, 3, zero, existing=((0, 10, 20),)) == ((11, 21, 1),)


@pytest.mark.parametrize(("replication", "fenced", "ok"), [(0, False, False), (4, False, False), (3, True, False),
                                                          (3, False, True)])  # fmt: skip
def test_how_many_replicas_can_be(replication: int, fenced: bool, ok: bool) -> None:
    brokers = [UsableBroker(number, fenced=fenced) for number in range(3)]
    assert (check_replication(brokers, replication) is KafkaError.NONE) is ok


@pytest.mark.slow
@given(st.data())
def test_any_striped_placement_is_of_different_brokers_and_led_by_unfenced_ones(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    brokers = [
        UsableBroker(number, data.draw(st.sampled_from("abc")), number > 0 and data.draw(st.booleans()))
        for number in range(count)
    ]
    replication = data.draw(st.integers(1, count))
    fenced = {broker.broker for broker in brokers if broker.fenced}
    racks = {broker.rack for broker in brokers}
    rack_of = {broker.broker: broker.rack for broker in brokers}
    drawn = place_striped(brokers, 7, replication, lambda bound: data.draw(st.integers(0, bound - 1)))
    for replicas in drawn:
        assert len(set(replicas)) == len(replicas) == replication
        assert replicas[0] not in fenced
        if len({broker.rack for broker in brokers if not broker.fenced}) == len(racks):
            assert len({rack_of[broker] for broker in replicas}) == min(replication, len(racks))


def test_zookeeper_mode_continues_with_the_numbers_of_the_first_partition() -> None:
    brokers = [(1, ""), (2, ""), (3, ""), (4, "")]
    whole = place_zk(brokers, 6, 3, 2, 2)
    start = continued(brokers, whole[0])
    assert start == 2
    assert place_zk(brokers, 2, 3, start, start, base=2) == whole[2:4]
    assert continued([(1, ""), (4, "")], (3, 1)) == 1
    assert continued([(1, ""), (2, "")], (3, 1)) == 0


# -- states of a broker -----------------------------------------------------------------------------------------------

FENCED, UNFENCED, SHUTTING, NOW = BrokerControlState


@pytest.mark.parametrize(
    ("now", "asked", "becomes"),
    [
        (FENCED, {"want_shut_down": True}, NOW),
        (FENCED, {"want_fence": True}, FENCED),
        (FENCED, {"metadata_offset": 6}, FENCED),
        (FENCED, {"metadata_offset": 7}, UNFENCED),
        (UNFENCED, {}, UNFENCED),
        (UNFENCED, {"want_fence": True}, FENCED),
        (UNFENCED, {"want_fence": True, "want_shut_down": True}, NOW),
        (UNFENCED, {"want_shut_down": True, "leads": True}, SHUTTING),
        (UNFENCED, {"want_shut_down": True}, NOW),
        (SHUTTING, {"leads": True, "lowest_active_offset": 99}, SHUTTING),
        (SHUTTING, {"shutdown_offset": 50, "lowest_active_offset": 49}, SHUTTING),
        (SHUTTING, {"shutdown_offset": 50, "lowest_active_offset": 50}, NOW),
        (SHUTTING, {"shutdown_offset": 50}, NOW),
        (NOW, {}, NOW),
    ],
)
def test_broker_states_after_a_heartbeat(
    now: BrokerControlState, asked: dict[str, Any], becomes: BrokerControlState
) -> None:
    plain: dict[str, Any] = {
        "want_fence": False, "want_shut_down": False, "metadata_offset": 0, "registration_offset": 7, "leads": False,
    }  # fmt: skip
    assert next_state(now, **{**plain, **asked}) is becomes
