"""Processes and links: effects of a pause, a crash, a power loss and lag on messages and timers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import RandomStreams

LATENCY = 100
A, B, C = 1, 2, 3


class Recorder:
    """A node that records its events."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.seen: list[tuple[int, str, Any]] = []

    def _note(self, what: str, detail: Any) -> None:
        self.seen.append((self._network.kernel.now, what, detail))

    def receive(self, source: int, message: Any) -> None:
        self._note("message", (source, message))

    def on_timer(self, timer: Payload) -> None:
        self._note("timer", timer)

    def on_disconnect(self, peer: int) -> None:
        self._note("reset", peer)


class ThreeNodes:
    """Three nodes, and a record of external events."""

    def __init__(self, *, jitter: int = 0, seed: int = 0) -> None:
        self.outside: list[tuple[int, int]] = []
        self.ended: list[tuple[int, Any]] = []
        """Processes that exited, with their reasons."""
        self.streams = RandomStreams(seed)
        self.network = Network(self.streams, LATENCY, jitter, self._control)
        self.nodes = {node: Recorder(self.network) for node in (A, B, C)}
        for node, recorder in self.nodes.items():
            self.network.add(node, f"node {node}", recorder)

    def _control(self, target: int, payload: Payload) -> None:
        if payload:
            self.ended.append((target, payload))
        else:
            self.outside.append((self.network.kernel.now, target))

    def send(self, source: int, target: int, message: Any) -> None:
        NodeContext(self.network, source).send(target, message)

    def timer(self, node: int, delay: int, timer: Payload) -> None:
        NodeContext(self.network, node).timer(delay, *timer)

    def run(self, until: int) -> None:
        self.network.kernel.run_until(until)

    def seen(self, node: int) -> list[tuple[int, str, Any]]:
        return self.nodes[node].seen


@pytest.fixture
def cluster_state() -> ThreeNodes:
    return ThreeNodes()


def test_a_process_that_ends_itself_handles_nothing_more_and_its_reason_is_reported_at_once(
    cluster_state: ThreeNodes,
) -> None:
    cluster_state.send(A, B, "first")
    cluster_state.send(A, B, "second")
    cluster_state.network.kernel.run_until(LATENCY - 1)
    cluster_state.network.kernel.step()
    cluster_state.network.exit(B, "enough")
    cluster_state.run(10 * LATENCY)
    assert cluster_state.seen(B) == [(LATENCY, "message", (A, "first"))]
    assert cluster_state.ended == [(B, (0, "enough"))]


def test_a_message_takes_the_latency_of_its_link(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "hello")
    cluster_state.run(LATENCY - 1)
    assert cluster_state.seen(B) == []
    cluster_state.run(LATENCY)
    assert cluster_state.seen(B) == [(LATENCY, "message", (A, "hello"))]
    assert cluster_state.seen(A) == cluster_state.seen(C) == []


def test_a_timer_fires_after_its_delay(cluster_state: ThreeNodes) -> None:
    cluster_state.timer(A, 30, ("tick", 1))
    cluster_state.run(50)
    assert cluster_state.seen(A) == [(30, "timer", ("tick", 1))]


def test_control_events_reach_their_handler_in_order_with_everything_else(cluster_state: ThreeNodes) -> None:
    cluster_state.network.kernel.schedule(40, 2, 99, ())
    cluster_state.run(40)
    assert cluster_state.outside == [(40, 99)]


def test_a_paused_process_handles_nothing_and_loses_nothing(cluster_state: ThreeNodes) -> None:
    cluster_state.timer(B, 150, ("first",))
    cluster_state.send(A, B, "early")
    cluster_state.network.pause(B)
    cluster_state.run(160)
    cluster_state.send(C, B, "late")
    cluster_state.run(500)
    assert cluster_state.seen(B) == []
    cluster_state.network.resume(B)
    cluster_state.run(500)
    assert cluster_state.seen(B) == [
        (500, "message", (A, "early")),
        (500, "timer", ("first",)),
        (500, "message", (C, "late")),
    ]


def test_a_pause_sends_no_notification(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "x")
    cluster_state.network.pause(B)
    cluster_state.run(10_000)
    assert cluster_state.seen(A) == []


def test_messages_sent_before_a_pause_arrive(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "on the wire")
    cluster_state.network.pause(A)
    cluster_state.run(LATENCY)
    assert cluster_state.seen(B) == [(LATENCY, "message", (A, "on the wire"))]


def test_messages_arriving_at_the_resume_follow_the_held_ones(cluster_state: ThreeNodes) -> None:
    cluster_state.network.pause(B)
    cluster_state.send(A, B, "held")
    cluster_state.run(LATENCY)
    cluster_state.network.resume(B)
    cluster_state.network.kernel.schedule(LATENCY, 1, B, (0, ("after",)))
    cluster_state.run(LATENCY)
    assert [what for _at, what, _detail in cluster_state.seen(B)] == ["message", "timer"]


def test_pausing_again_before_the_held_are_handled_holds_them_again(cluster_state: ThreeNodes) -> None:
    cluster_state.network.pause(B)
    for word in ("one", "two"):
        cluster_state.send(A, B, word)
    cluster_state.run(200)
    cluster_state.network.resume(B)
    cluster_state.network.pause(B)
    cluster_state.run(300)
    assert cluster_state.seen(B) == []
    cluster_state.network.resume(B)
    cluster_state.run(300)
    assert [detail for _at, _what, detail in cluster_state.seen(B)] == [(A, "one"), (A, "two")]


def test_a_crash_resets_every_peer_that_had_a_connection_and_nobody_else(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "x")
    cluster_state.run(1_000)
    cluster_state.network.crash(B)
    cluster_state.run(2_000)
    assert cluster_state.seen(A) == [(1_000 + LATENCY, "reset", B)]
    assert cluster_state.seen(C) == []


def test_a_second_crash_does_not_reset_connections_that_were_not_made_again(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "x")
    cluster_state.run(200)
    for _time in range(2):
        cluster_state.network.crash(B)
        cluster_state.network.restart(B)
        cluster_state.run(cluster_state.network.kernel.now + 1_000)
    assert [what for _at, what, _detail in cluster_state.seen(A)] == ["reset"]


def test_sending_to_a_crashed_process_is_answered_by_a_reset(cluster_state: ThreeNodes) -> None:
    cluster_state.network.crash(B)
    cluster_state.send(A, B, "anybody there?")
    cluster_state.run(1_000)
    assert cluster_state.seen(B) == []
    assert cluster_state.seen(A) == [(2 * LATENCY, "reset", B)]


def test_a_message_on_its_way_when_its_target_crashes_is_lost(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "lost")
    cluster_state.run(50)
    cluster_state.network.crash(B)
    cluster_state.run(1_000)
    assert cluster_state.seen(B) == []
    assert all(what == "reset" for _at, what, _detail in cluster_state.seen(A))
    assert cluster_state.seen(A)[0] == (150, "reset", B)


def test_a_process_that_crashes_does_not_hear_resets_of_its_former_life(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "x")
    cluster_state.run(200)
    cluster_state.network.crash(A)
    cluster_state.network.crash(B)
    cluster_state.network.restart(A)
    cluster_state.run(1_000)
    assert cluster_state.seen(A) == []


def test_a_power_loss_is_silent(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, "before")
    cluster_state.run(200)
    cluster_state.network.power_off(B)
    cluster_state.send(A, B, "after")
    cluster_state.run(100_000)
    assert cluster_state.seen(A) == []
    assert [detail for _at, _what, detail in cluster_state.seen(B)] == [(A, "before")]


def test_a_power_loss_during_a_pause_takes_what_was_held(cluster_state: ThreeNodes) -> None:
    cluster_state.network.pause(B)
    cluster_state.send(A, B, "held")
    cluster_state.run(200)
    cluster_state.network.power_off(B)
    cluster_state.network.restart(B)
    cluster_state.network.pause(B)
    cluster_state.network.resume(B)
    cluster_state.run(1_000)
    assert cluster_state.seen(B) == cluster_state.seen(A) == []


@pytest.mark.parametrize("stop", ["crash", "power_off"])
def test_a_restart_drops_the_timers_of_the_old_life(cluster_state: ThreeNodes, stop: str) -> None:
    cluster_state.timer(B, 500, ("old",))
    getattr(cluster_state.network, stop)(B)
    cluster_state.network.restart(B)
    cluster_state.timer(B, 300, ("new",))
    cluster_state.run(1_000)
    assert cluster_state.seen(B) == [(300, "timer", ("new",))]


@pytest.mark.parametrize("stop", ["crash", "power_off"])
def test_messages_to_a_former_process_are_answered_by_a_reset(cluster_state: ThreeNodes, stop: str) -> None:
    cluster_state.send(A, B, "to the old one")
    getattr(cluster_state.network, stop)(B)
    cluster_state.network.restart(B)
    cluster_state.run(1_000)
    assert cluster_state.seen(B) == []
    assert (2 * LATENCY, "reset", B) in cluster_state.seen(A)


def test_a_restarted_process_receives_what_is_sent_to_it_now(cluster_state: ThreeNodes) -> None:
    cluster_state.network.crash(B)
    cluster_state.network.restart(B)
    cluster_state.send(A, B, "welcome back")
    cluster_state.run(1_000)
    assert cluster_state.seen(B) == [(LATENCY, "message", (A, "welcome back"))]


def test_messages_of_a_process_that_has_since_crashed_still_arrive(cluster_state: ThreeNodes) -> None:
    cluster_state.send(B, A, "last words")
    cluster_state.run(10)
    cluster_state.network.crash(B)
    cluster_state.run(1_000)
    assert cluster_state.seen(A) == [(LATENCY, "message", (B, "last words"))]


def test_every_stop_is_a_new_incarnation_and_pauses_are_none(cluster_state: ThreeNodes) -> None:
    process = cluster_state.network.processes[B]
    cluster_state.network.pause(B)
    cluster_state.network.resume(B)
    assert (process.incarnation, process.state) == (0, ProcessState.RUNNING)
    cluster_state.network.crash(B)
    assert (process.incarnation, process.state) == (1, ProcessState.DOWN)
    cluster_state.network.restart(B)
    cluster_state.network.power_off(B)
    assert (process.incarnation, process.state) == (2, ProcessState.OFF)


def test_lag_slows_only_its_own_direction(cluster_state: ThreeNodes) -> None:
    cluster_state.network.slow_down(A, B, ((1, 900, 0),))
    cluster_state.send(A, B, "slow")
    cluster_state.send(B, A, "quick")
    cluster_state.send(A, C, "quick too")
    cluster_state.run(2_000)
    assert cluster_state.seen(B)[0][0] == LATENCY + 900
    assert cluster_state.seen(A)[0][0] == cluster_state.seen(C)[0][0] == LATENCY


def test_several_lags_add_up(cluster_state: ThreeNodes) -> None:
    cluster_state.network.slow_down(A, B, ((1, 50, 0), (2, 7, 0)))
    cluster_state.send(A, B, "x")
    cluster_state.run(1_000)
    assert cluster_state.seen(B)[0][0] == LATENCY + 57


def test_nothing_overtakes_when_lag_ends(cluster_state: ThreeNodes) -> None:
    cluster_state.network.slow_down(A, B, ((1, 900, 0),))
    cluster_state.send(A, B, "slow")
    cluster_state.network.slow_down(A, B, ())
    cluster_state.run(10)
    cluster_state.send(A, B, "would be quick")
    cluster_state.run(2_000)
    assert [(at, detail[1]) for at, _what, detail in cluster_state.seen(B)] == [
        (1_000, "slow"),
        (1_000, "would be quick"),
    ]


@pytest.mark.slow
@given(st.integers(0, 1000), st.integers(0, 500), st.lists(st.integers(0, 120), min_size=1, max_size=25))
def test_each_link_is_first_in_first_out_however_large_its_jitter(seed: int, jitter: int, gaps: list[int]) -> None:
    cluster_state = ThreeNodes(jitter=jitter, seed=seed)
    sent: list[int] = []
    for number, gap in enumerate(gaps):
        cluster_state.run(cluster_state.network.kernel.now + gap)
        sent.append(cluster_state.network.kernel.now)
        cluster_state.send(A, B, number)
    cluster_state.run(1_000_000)
    assert [detail for _at, _what, detail in cluster_state.seen(B)] == [(A, number) for number in range(len(gaps))]
    arrivals = [at for at, _what, _detail in cluster_state.seen(B)]
    assert all(at >= start + LATENCY for at, start in zip(arrivals, sent, strict=True))
    latest = 0
    for at, start in zip(arrivals, sent, strict=True):
        latest = max(latest, start + LATENCY + jitter)
        assert at <= latest


def test_jitter_of_one_link_is_not_moved_by_traffic_on_another() -> None:
    quiet, busy = ThreeNodes(jitter=400, seed=5), ThreeNodes(jitter=400, seed=5)
    for number in range(50):
        NodeContext(busy.network, A).send(C, number)
    for cluster_state in (quiet, busy):
        cluster_state.send(A, B, "x")
        cluster_state.run(10_000)
    assert quiet.seen(B) == busy.seen(B)


def _play(cluster_state: ThreeNodes) -> None:
    network = cluster_state.network
    NodeContext(network, B).send(A, "reply")
    network.resume(B)
    network.slow_down(A, B, ())
    NodeContext(network, A).send(B, "more")
    network.crash(C)
    cluster_state.run(5_000)


def test_a_loaded_network_continues_exactly_as_the_first_time() -> None:
    cluster_state = ThreeNodes(jitter=90, seed=3)
    network = cluster_state.network
    NodeContext(network, A).send(C, "seen before")
    network.slow_down(A, B, ((1, 300, 20),))
    for word in ("one", "two"):
        NodeContext(network, A).send(B, word)
    NodeContext(network, B).timer(50, "due in the pause")
    network.pause(B)
    network.crash(C)
    network.restart(C)
    cluster_state.run(250)
    saved, drawn = network.save(), cluster_state.streams.save()
    past = {node: len(cluster_state.seen(node)) for node in cluster_state.nodes}
    _play(cluster_state)
    first = {node: cluster_state.seen(node)[past[node] :] for node in cluster_state.nodes}
    for node in cluster_state.nodes:
        del cluster_state.seen(node)[past[node] :]
    cluster_state.streams.load(drawn)
    network.load(saved)
    assert network.save() == saved
    assert network.processes[B].state is ProcessState.PAUSED
    _play(cluster_state)
    assert {node: cluster_state.seen(node)[past[node] :] for node in cluster_state.nodes} == first
