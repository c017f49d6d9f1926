"""Members that come and go in storms, and members that claim one instance id."""

from itertools import pairwise
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import ConsumerFailed, FaultHealed, NodeDown
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from tests.faults.client_rigs import BILLING_0, BILLING_1, BILLING_2, MODERN, client_cluster, whole
from tests.faults.rigs import SECOND, begun, inject, until_well
from tests.support.breadth import covering_cases, sample_count

pytestmark = pytest.mark.slow

ALL = "members(billing)"
PROTOCOLS: dict[str, dict[str, Any]] = {
    "eager": {"config": {"partition.assignment.strategy": "RangeAssignor"}},
    "cooperative": {"config": {"partition.assignment.strategy": "CooperativeStickyAssignor"}},
    "consumer": {"kafka": "4.0", "group": {"config": MODERN}},
}
STATIC = {"instances": ("desk", "till", "shop")}


def started(**how: Any) -> tuple[Cluster, FaultInjector]:
    return begun(12 * SECOND, client_cluster, **how)


def settle(cluster: Cluster, board: FaultInjector) -> None:
    board.heal("all")
    cluster.run(cluster.now_us + sample_count(5, 60) * SECOND)
    cluster.stop_producers()
    until_well(cluster, whole)


@pytest.mark.parametrize(("how", "protocol"), covering_cases(["leave", "restart"], PROTOCOLS))
def test_a_storm_rebalances_again_and_again_until_it_is_over(protocol: str, how: str) -> None:
    cluster, board = started(**PROTOCOLS[protocol])
    before = cluster.query.generation("billing")
    inject(board, "rejoin_storm", ALL, method=how)
    cluster.run(12 * SECOND + 31 * SECOND)
    downs = [event for event in cluster.drain() if isinstance(event, NodeDown)]
    assert [event.node for event in downs] == [f"billing/{turn % 3}" for turn in range(7)]
    assert [event.at_us // SECOND for event in downs] == [12 + 5 * turn for turn in range(7)]
    rebalances = cluster.query.generation("billing") - before
    # Who leaves and comes back at once is one rebalance; of who is killed the group knows when its session is over.
    assert rebalances >= (7 if how == "leave" else 3)
    board.heal("all")
    cluster.run(50 * SECOND)
    cluster.stop_producers()
    # A session of either protocol later nobody is missed any more.
    cluster.run((50 + (46 if protocol == "consumer" else 12)) * SECOND)
    calm = cluster.query.generation("billing")
    cluster.run(cluster.now_us + 15 * SECOND)
    assert cluster.query.generation("billing") == calm
    assert cluster.query.members("billing") == 3
    settle(cluster, board)
    assert whole(cluster) == []


def test_gaps_may_be_drawn() -> None:
    def times(seed: int) -> list[int]:
        cluster, board = started(seed=seed)
        inject(board, "rejoin_storm", ALL, gaps="random")
        cluster.stop_producers()
        cluster.run(112 * SECOND)
        return [event.at_us for event in cluster.drain() if isinstance(event, NodeDown)]

    first = times(3)
    assert first == times(3) != times(4)
    gaps = [after - before for before, after in pairwise(first)]
    assert len({*gaps}) == len(gaps)
    assert 12 <= len(gaps) <= 30


def test_a_node_that_is_held_or_down_is_passed_over() -> None:
    cluster, board = started()
    inject(board, "gc_pause", "client(billing/0)")
    inject(board, "crash", "client(billing/1)")
    cluster.drain()
    inject(board, "rejoin_storm", ALL, method="restart")
    cluster.run(30 * SECOND)
    assert [event.node for event in cluster.drain() if isinstance(event, NodeDown)] == ["billing/2"]
    assert not cluster.is_up(BILLING_1)


def test_two_storms_overlap_and_each_heals_for_itself() -> None:
    cluster, board = started()
    first = inject(board, "rejoin_storm", "client(billing/0)", every=4 * SECOND)
    inject(board, "rejoin_storm", "client(billing/1)", every=6 * SECOND)
    cluster.run(25 * SECOND)
    board.heal(str(first))
    cluster.drain()
    cluster.run(45 * SECOND)
    assert {event.node for event in cluster.drain() if isinstance(event, NodeDown)} == {"billing/1"}


def test_static_members_close_without_leaving(snapshot: SnapshotAssertion) -> None:
    cluster, board = started(group=STATIC)
    before = cluster.query.generation("billing")
    assert board.predict_action(Action("inject", "rejoin_storm", ALL)).sentence == snapshot
    inject(board, "rejoin_storm", ALL)
    cluster.run(40 * SECOND)
    assert cluster.query.generation("billing") == before
    settle(cluster, board)
    assert whole(cluster) == []


def test_a_node_that_is_in_no_group_cannot_storm(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started(group={"coordinated": False})
    with pytest.raises(FaultError) as caught:
        inject(board, "rejoin_storm", ALL)
    assert caught.value.code == "not_in_a_group"
    assert str(caught.value) == snapshot


# --- one id, two members --------------------------------------------------------------------------------------------


def failures(cluster: Cluster) -> list[tuple[str, str]]:
    return [(event.client, event.error) for event in cluster.drain() if isinstance(event, ConsumerFailed)]


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_the_former_owner_of_an_id_is_fenced(kafka: str, mode: str) -> None:
    cluster, board = started(kafka=kafka, mode=mode, group=STATIC)
    inject(board, "duplicate_instance", "client(billing/2)", member="client(billing/0)")
    cluster.run(25 * SECOND)
    assert failures(cluster) == [("billing/0", "FencedInstanceIdException")]
    assert (cluster.is_up(BILLING_0), cluster.is_up(BILLING_2)) == (False, True)
    settle(cluster, board)
    assert whole(cluster) == []
    assert all(cluster.is_up(node) for node in (BILLING_0, BILLING_1, BILLING_2))
    assert cluster.query.members("billing") == 3


def test_a_node_that_is_about_to_end_as_fenced_when_it_heals_starts_as_soon_as_it_has() -> None:
    """The word of it and the end of the fault fall into one microsecond, in this order; the process ends after both."""
    fenced_us = 0
    for _turn in range(2):
        cluster, board = started(group=STATIC)
        inject(board, "duplicate_instance", "client(billing/2)", member="client(billing/0)")
        if fenced_us:
            cluster.run(fenced_us - 1)
            cluster.drain()
            inject(board, "duplicate_instance", "client(billing/1)", 1, member="client(billing/0)")
        cluster.run(fenced_us or 25 * SECOND)
        events = cluster.drain()
        fenced_us = next(event.at_us for event in events if isinstance(event, ConsumerFailed))
    told = [event.kind for event in events if isinstance(event, (FaultHealed, ConsumerFailed))]
    assert told == ["consumer_failed", "fault_healed"]
    assert cluster.is_up(BILLING_0)
    settle(cluster, board)
    assert whole(cluster) == []


def test_by_the_consumer_protocol_the_newcomer_is_refused(snapshot: SnapshotAssertion) -> None:
    cluster, board = started(kafka="4.0", group={**STATIC, "config": MODERN})
    action = Action("inject", "duplicate_instance", "client(billing/2)", {"member": "client(billing/0)"})
    assert board.predict_action(action).sentence == snapshot
    board.inject(action)
    cluster.run(25 * SECOND)
    assert failures(cluster) == [("billing/2", "UnreleasedInstanceIdException")]
    assert (cluster.is_up(BILLING_0), cluster.is_up(BILLING_2)) == (True, False)
    settle(cluster, board)
    assert whole(cluster) == []
    assert cluster.query.members("billing") == 3


def test_a_target_that_another_fault_holds_down_stays_down_and_has_its_own_id_again() -> None:
    cluster, board = started(group=STATIC)
    inject(board, "duplicate_instance", "client(billing/2)", member="client(billing/0)")
    cluster.run(14 * SECOND)
    inject(board, "crash", "client(billing/2)")
    board.heal("duplicate_instance")
    assert not cluster.is_up(BILLING_2)
    settle(cluster, board)
    assert whole(cluster) == []
    assert cluster.query.members("billing") == 3


def test_two_claims_overlap_and_the_later_one_counts() -> None:
    cluster, board = started(group=STATIC)
    first = inject(board, "duplicate_instance", "client(billing/2)", member="client(billing/0)")
    second = inject(board, "duplicate_instance", "client(billing/2)", member="client(billing/1)")
    claimed = cluster.clients.faults.instance
    assert claimed(BILLING_2) == "till"
    board.heal(str(second))
    assert claimed(BILLING_2) == "desk"
    board.heal(str(first))
    assert claimed(BILLING_2) == ""
    settle(cluster, board)
    assert whole(cluster) == []


@pytest.mark.parametrize(
    ("group", "of", "code"),
    [
        ({}, "client(billing/0)", "no_static_member"),
        (STATIC, "members(billing)", "no_static_member"),
        (STATIC, "client(checkout)", "no_static_member"),
        (STATIC, "client(billing/2)", "own_instance_id"),
    ],
)
def test_an_id_must_be_somebody_elses(group: dict[str, Any], of: str, code: str, snapshot: SnapshotAssertion) -> None:
    _cluster, board = started(group=group)
    with pytest.raises(FaultError) as caught:
        inject(board, "duplicate_instance", "client(billing/2)", member=of)
    assert caught.value.code == code
    assert str(caught.value) == snapshot


def test_a_keyframe_in_the_middle_holds_all_of_it() -> None:
    cluster, board = started(group=STATIC)
    inject(board, "duplicate_instance", "client(billing/2)", member="client(billing/0)")
    inject(board, "rejoin_storm", "client(billing/1)", gaps="random")
    cluster.run(13 * SECOND)
    saved = cluster.save(), board.save()

    def go_on() -> str:
        cluster.run(25 * SECOND)
        board.heal("all")
        cluster.run(40 * SECOND)
        return cluster.digest()

    first = go_on()
    cluster.load(saved[0])
    board.load(saved[1])
    assert go_on() == first
