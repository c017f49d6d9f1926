"""A slow CPU: events of its processes are handled one after the other, each at its cost, and none is lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.cluster import Cluster
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import RandomStreams
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec
from tests.cluster_model.kernel.test_network import LATENCY, A, B, C, ThreeNodes

COST = 1_000
SECOND = 1_000_000


def slow(*costs: int, nodes: tuple[int, ...] = (B,)) -> ThreeNodes:
    cluster_state = ThreeNodes()
    for fault, cost in enumerate(costs or (COST,), 1):
        cluster_state.network.slow_cpu(nodes, fault, cost)
    return cluster_state


def words(cluster_state: ThreeNodes, node: int) -> list[Any]:
    return [detail[1] if what == "message" else detail for _at, what, detail in cluster_state.seen(node)]


def times(cluster_state: ThreeNodes, node: int) -> list[int]:
    return [at for at, _what, _detail in cluster_state.seen(node)]


def test_each_message_and_timer_takes_its_cost_and_the_rest_waits_in_order() -> None:
    cluster_state = slow()
    for word in ("one", "two"):
        cluster_state.send(A, B, word)
    cluster_state.timer(B, LATENCY + 5, ("tick",))
    cluster_state.send(C, B, "three")
    cluster_state.run(10 * COST)
    assert [(at, what) for at, what, _detail in cluster_state.seen(B)] == [
        (LATENCY + COST, "message"), (LATENCY + 2 * COST, "message"), (LATENCY + 3 * COST, "message"),
        (LATENCY + 4 * COST, "timer"),
    ]  # fmt: skip
    assert words(cluster_state, B) == ["one", "two", "three", ("tick",)]


def test_a_cpu_that_rests_begins_at_once() -> None:
    cluster_state = slow()
    cluster_state.send(A, B, "one")
    cluster_state.run(7 * COST)
    cluster_state.send(A, B, "two")
    cluster_state.run(20 * COST)
    assert times(cluster_state, B) == [LATENCY + COST, 7 * COST + LATENCY + COST]


def test_costs_of_several_faults_add_up_and_each_ends_for_itself() -> None:
    cluster_state = slow(COST, 300)
    for _time in range(3):
        cluster_state.send(A, B, "x")
    cluster_state.run(LATENCY + COST + 300)
    assert times(cluster_state, B) == [LATENCY + COST + 300]
    cluster_state.network.quicken_cpu((B,), 1)
    cluster_state.run(20 * COST)
    # The event that was begun keeps its cost.
    assert times(cluster_state, B)[1:] == [LATENCY + 2 * (COST + 300), LATENCY + 2 * (COST + 300) + 300]


def test_a_fault_that_is_applied_anew_replaces_its_cost() -> None:
    cluster_state = slow()
    cluster_state.network.slow_cpu((B,), 1, 2 * COST)
    cluster_state.send(A, B, "x")
    cluster_state.run(20 * COST)
    assert times(cluster_state, B) == [LATENCY + 2 * COST]


def test_with_the_last_fault_all_that_waits_is_handled_at_once_before_whatever_comes_then() -> None:
    cluster_state = slow()
    network = cluster_state.network
    for word in ("one", "two", "three"):
        cluster_state.send(A, B, word)
    at = LATENCY + COST + 10
    network.kernel.schedule(at, 2, 0, ())
    cluster_state.timer(B, at, ("same time",))
    cluster_state.network.kernel.run_until(at - 1)
    network.kernel.step()
    assert cluster_state.outside == [(at, 0)]
    network.quicken_cpu((B,), 1)
    cluster_state.run(at)
    assert words(cluster_state, B) == ["one", "two", "three", ("same time",)]
    assert times(cluster_state, B) == [LATENCY + COST, at, at, at]
    cluster_state.send(A, B, "quick")
    cluster_state.run(at + LATENCY)
    assert times(cluster_state, B)[-1] == at + LATENCY


def test_nobody_else_is_slow_and_a_process_that_is_not_slow_has_no_cpu() -> None:
    cluster_state = slow()
    cluster_state.send(A, C, "x")
    cluster_state.run(LATENCY)
    assert times(cluster_state, C) == [LATENCY]
    process = cluster_state.network.processes[C]
    assert process.cpu is None
    assert process.receive == cluster_state.nodes[C].receive
    cluster_state.network.quicken_cpu((B,), 1)
    assert cluster_state.network.processes[B].receive == cluster_state.nodes[B].receive
    cluster_state.network.quicken_cpu((B,), 1)
    assert cluster_state.network.processes[B].cpu is None


def test_a_broken_connection_is_noticed_behind_what_came_over_it() -> None:
    cluster_state = slow()
    cluster_state.send(B, A, "hello")
    cluster_state.send(A, B, "first")
    cluster_state.run(LATENCY)
    cluster_state.network.crash(A)
    cluster_state.run(10 * COST)
    assert [(at, what) for at, what, _detail in cluster_state.seen(B)] == [
        (LATENCY + COST, "message"), (LATENCY + 2 * COST, "reset"),
    ]  # fmt: skip


def test_a_pause_stops_it_in_the_middle_and_what_was_held_comes_behind() -> None:
    cluster_state = slow()
    for word in ("one", "two"):
        cluster_state.send(A, B, word)
    cluster_state.run(LATENCY + 400)
    cluster_state.network.pause(B)
    cluster_state.send(C, B, "held")
    cluster_state.run(50 * COST)
    assert cluster_state.seen(B) == []
    cluster_state.network.resume(B)
    cluster_state.run(90 * COST)
    start = 50 * COST + COST - 400
    assert list(zip(times(cluster_state, B), words(cluster_state, B), strict=True)) == [
        (start, "one"), (start + COST, "two"), (start + 2 * COST, "held"),
    ]  # fmt: skip


def test_messages_queued_before_a_pause_are_handled_first() -> None:
    cluster_state = slow()
    for word in ("one", "two"):
        cluster_state.send(A, B, word)
    cluster_state.run(LATENCY + 400)
    cluster_state.network.pause(B)
    cluster_state.send(C, B, "held")
    cluster_state.run(50 * COST)
    cluster_state.network.quicken_cpu((B,), 1)
    cluster_state.run(60 * COST)
    assert cluster_state.seen(B) == []
    cluster_state.network.resume(B)
    cluster_state.run(60 * COST)
    assert words(cluster_state, B) == ["one", "two", "held"]
    assert set(times(cluster_state, B)) == {60 * COST}


@pytest.mark.parametrize("stop", ["crash", "power_off"])
def test_a_crash_drops_queued_messages_and_the_cpu_stays_slow(stop: str) -> None:
    cluster_state = slow()
    for word in ("one", "two"):
        cluster_state.send(A, B, word)
    cluster_state.run(LATENCY + 400)
    getattr(cluster_state.network, stop)(B)
    cluster_state.network.restart(B)
    cluster_state.run(20 * COST)
    assert cluster_state.seen(B) == []
    cluster_state.send(A, B, "new")
    cluster_state.run(40 * COST)
    assert list(zip(times(cluster_state, B), words(cluster_state, B), strict=True)) == [
        (20 * COST + LATENCY + COST, "new")
    ]


def test_a_process_that_ends_itself_handles_nothing_more() -> None:
    cluster_state = slow()
    for word in ("one", "two"):
        cluster_state.send(A, B, word)
    cluster_state.run(LATENCY + COST)
    cluster_state.network.exit(B, "enough")
    cluster_state.run(20 * COST)
    assert words(cluster_state, B) == ["one"]
    assert cluster_state.ended == [(B, (0, "enough"))]


def test_timers_that_are_free_take_their_turn_and_no_time() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.slow_cpu((B,), 1, COST, ("look",))
    cluster_state.send(A, B, "one")
    for word in ("look", "work", "look"):
        cluster_state.timer(B, LATENCY + 1, (word,))
    cluster_state.run(20 * COST)
    assert list(zip(times(cluster_state, B), words(cluster_state, B), strict=True)) == [
        (LATENCY + COST, "one"), (LATENCY + COST, ("look",)), (LATENCY + 2 * COST, ("work",)),
        (LATENCY + 2 * COST, ("look",)),
    ]  # fmt: skip


def test_two_clients_of_one_application_share_it() -> None:
    cluster_state = slow(nodes=(B, C))
    cluster_state.send(A, B, "one")
    cluster_state.send(A, C, "two")
    cluster_state.send(A, B, "three")
    cluster_state.run(20 * COST)
    assert (times(cluster_state, B), times(cluster_state, C)) == (
        [LATENCY + COST, LATENCY + 3 * COST],
        [LATENCY + 2 * COST],
    )


def test_the_death_of_one_of_two_lets_the_other_continue() -> None:
    cluster_state = slow(nodes=(B, C))
    cluster_state.send(A, B, "one")
    cluster_state.send(A, C, "two")
    cluster_state.run(LATENCY + 400)
    cluster_state.network.crash(B)
    cluster_state.run(20 * COST)
    assert (times(cluster_state, B), times(cluster_state, C)) == ([], [LATENCY + 400 + COST])


def test_another_program_runs_on_the_same_cpu() -> None:
    cluster_state = slow()
    cluster_state.network.processes[B].run(cluster_state.nodes[C])
    cluster_state.send(A, B, "x")
    cluster_state.run(20 * COST)
    assert (cluster_state.seen(B), times(cluster_state, C)) == ([], [LATENCY + COST])


def test_a_loaded_network_works_on_exactly_as_the_first_time() -> None:
    cluster_state = slow()
    network = cluster_state.network
    for word in ("one", "two", "three"):
        cluster_state.send(A, B, word)
    cluster_state.run(LATENCY + COST + 400)
    saved = network.save()

    def go_on() -> list[Any]:
        seen = len(cluster_state.seen(B))
        cluster_state.run(network.kernel.now + 100)
        network.pause(B)
        cluster_state.run(network.kernel.now + 5 * COST)
        network.resume(B)
        cluster_state.send(A, B, "more")
        cluster_state.run(network.kernel.now + COST)
        network.quicken_cpu((B,), 1)
        cluster_state.run(40 * COST)
        found = cluster_state.seen(B)[seen:]
        del cluster_state.seen(B)[seen:]
        return found

    first = go_on()
    assert network.processes[B].cpu is None
    network.load(saved)
    assert network.save() == saved
    assert go_on() == first
    assert [what for _at, what, _detail in first] == ["message"] * 3
    other = Network(RandomStreams(0), LATENCY, 0, lambda _target, _payload: None)
    for node in (A, B, C):
        other.add(node, f"node {node}", cluster_state.nodes[node])
    other.load(saved)
    assert other.save() == saved


ACTS = st.lists(
    st.tuples(
        st.integers(0, 900), st.sampled_from(("send", "send", "timer", "pause", "resume", "slow", "slower", "quick"))
    ),
    max_size=40,
)


@given(ACTS)
def test_whatever_happens_nothing_is_lost_and_no_message_overtakes(acts: list[tuple[int, str]]) -> None:
    cluster_state = ThreeNodes()
    network = cluster_state.network
    sent: list[int] = []
    for number, (gap, act) in enumerate(acts):
        cluster_state.run(network.kernel.now + gap)
        if act == "send":
            sent.append(number)
            NodeContext(network, A).send(B, (number,))
        elif act == "timer":
            cluster_state.timer(B, 50, (number,))
        elif act == "pause" and network.processes[B].state is ProcessState.RUNNING:
            network.pause(B)
        elif act == "resume" and network.processes[B].state is ProcessState.PAUSED:
            network.resume(B)
        elif act in ("slow", "slower"):
            network.slow_cpu((B,), len(act), 700)
        elif act == "quick":
            network.quicken_cpu((B,), 4)
    network.quicken_cpu((B,), 4)
    network.quicken_cpu((B,), 6)
    if network.processes[B].state is ProcessState.PAUSED:
        network.resume(B)
    cluster_state.run(network.kernel.now + 1_000)
    assert [detail[1][0] for _at, what, detail in cluster_state.seen(B) if what == "message"] == sent
    timers = [detail[0] for _at, what, detail in cluster_state.seen(B) if what == "timer"]
    assert timers == [number for number, (_gap, act) in enumerate(acts) if act == "timer"]


CALM = ClusterSpec("3.9", "kraft", tuple(BrokerSpec(number) for number in (1, 2, 3)), (TopicSpec("t", 6, 3),))


@pytest.mark.parametrize("node", [1, 2, 1001])
def test_a_slow_side_keeps_no_exchange_asleep(node: int) -> None:
    """Idle fetches from and to a slow process are handled one by one, and skipped again once it is fast."""
    cluster = Cluster.build(CALM, 0)
    cluster.run(10 * SECOND)
    exchanges = [one for (asker, to, _index), one in cluster.network._exchanges.items() if node in (asker, to)]
    assert any(one.asleep for one in exchanges)
    cluster.processes.slow(node, 1, COST)
    for _time in range(200):
        cluster.run(cluster.now_us + 50_000)
        assert not any(one.asleep for one in exchanges)
    cluster.processes.quicken(node, 1)
    cluster.run(cluster.now_us + 10 * SECOND)
    assert any(one.asleep for one in exchanges)


@pytest.mark.slow
@pytest.mark.parametrize("node", [1, 2, 1001])
def test_skipped_idle_polls_do_not_change_a_slow_cpu(node: int) -> None:
    found = []
    for naive in (False, True):
        cluster = Cluster.build(CALM, 0, naive=naive)
        cluster.run(3 * SECOND + 17)
        cluster.processes.slow(node, 1, 150 * COST)
        cluster.run(9 * SECOND)
        cluster.pause(node)
        cluster.run(22 * SECOND)
        cluster.resume(node)
        cluster.run(25 * SECOND)
        cluster.processes.quicken(node, 1)
        cluster.run(40 * SECOND)
        found.append((cluster.drain(), cluster.query.isr("t-0")))
    assert found[0] == found[1]
    assert found[0][0]
