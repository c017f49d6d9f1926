"""A node's interface to the kernel, and the one timer that serves many deadlines."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStreams


class Sleeper:
    """A node with an alarm that records each ring and each timer event that was no ring."""

    def __init__(self, network: Network) -> None:
        self.port = NodeContext(network, 1)
        self.alarm = DeadlineTimer(self.port, "wake", 7)
        self.rings: list[int] = []
        self.ignored: list[int] = []
        self.timers: list[Payload] = []
        self.got: list[tuple[int, Any]] = []

    def receive(self, source: int, message: Any) -> None:
        self.got.append((source, message))

    def on_disconnect(self, peer: int) -> None:
        self.got.append((peer, "reset"))

    def on_timer(self, timer: Payload) -> None:
        self.timers.append(timer)
        (self.rings if self.alarm.take_expired() else self.ignored).append(self.port.now)


@pytest.fixture
def network() -> Network:
    return Network(RandomStreams(0), 100, 0, lambda _target, _payload: None)


@pytest.fixture
def sleeper(network: Network) -> Sleeper:
    node = Sleeper(network)
    network.add(1, "sleeper", node)
    network.add(2, "other", Sleeper(network))
    return node


def test_a_port_reports_the_time_and_which_life_it_is(network: Network, sleeper: Sleeper) -> None:
    network.kernel.run_until(12)
    assert (sleeper.port.now, sleeper.port.incarnation, sleeper.port.node_id) == (12, 0, 1)
    network.crash(1)
    assert sleeper.port.incarnation == 1


def test_a_port_sends_in_its_own_nodes_name(network: Network, sleeper: Sleeper) -> None:
    NodeContext(network, 2).send(1, ("hi",))
    network.kernel.run_until(100)
    assert sleeper.got == [(2, ("hi",))]


def test_an_alarm_rings_once_with_its_name(network: Network, sleeper: Sleeper) -> None:
    sleeper.alarm.arm(30)
    network.kernel.run_until(1_000)
    assert sleeper.rings == [30]
    assert sleeper.timers == [("wake", 7)]


def test_a_later_deadline_sets_no_second_timer(network: Network, sleeper: Sleeper) -> None:
    sleeper.alarm.arm(30)
    sleeper.alarm.arm(60)
    assert network.kernel.pending == 1
    network.kernel.run_until(1_000)
    assert (sleeper.rings, sleeper.ignored) == ([30], [])


def test_an_earlier_deadline_moves_the_alarm_and_the_overtaken_timer_is_no_ring(
    network: Network, sleeper: Sleeper
) -> None:
    sleeper.alarm.arm(60)
    sleeper.alarm.arm(30)
    network.kernel.run_until(1_000)
    assert (sleeper.rings, sleeper.ignored) == ([30], [60])


def test_an_overtaken_timer_does_not_eat_the_next_deadline(network: Network, sleeper: Sleeper) -> None:
    sleeper.alarm.arm(60)
    sleeper.alarm.arm(30)
    network.kernel.run_until(40)
    sleeper.alarm.arm(90)
    network.kernel.run_until(1_000)
    assert (sleeper.rings, sleeper.ignored) == ([30, 90], [60])


def test_a_deadline_that_has_passed_rings_at_once(network: Network, sleeper: Sleeper) -> None:
    network.kernel.run_until(50)
    sleeper.alarm.arm(10)
    network.kernel.run_until(50)
    assert sleeper.rings == [50]


def test_an_alarm_that_came_due_during_a_pause_rings_on_resuming(network: Network, sleeper: Sleeper) -> None:
    sleeper.alarm.arm(30)
    network.pause(1)
    network.kernel.run_until(500)
    network.resume(1)
    network.kernel.run_until(500)
    assert sleeper.rings == [500]


def test_after_a_crash_a_forgotten_alarm_can_be_set_anew(network: Network, sleeper: Sleeper) -> None:
    sleeper.alarm.arm(30)
    network.crash(1)
    sleeper.alarm.forget()
    network.restart(1)
    sleeper.alarm.arm(300)
    network.kernel.run_until(1_000)
    assert (sleeper.rings, sleeper.ignored) == ([300], [])


def test_an_alarm_goes_back_with_the_kernel(network: Network, sleeper: Sleeper) -> None:
    sleeper.alarm.arm(40)
    saved = (network.save(), sleeper.alarm.save())
    assert saved[1] == 40
    network.kernel.run_until(100)
    assert sleeper.alarm.save() == -1
    network.load(saved[0])
    sleeper.alarm.load(saved[1])
    network.kernel.run_until(100)
    assert sleeper.rings == [40, 40]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), min_size=1, max_size=20))
def test_no_wish_is_ever_forgotten(wishes: list[tuple[int, int]]) -> None:
    """After a request for a time, the alarm rings at that time or earlier, and never without a request."""
    network = Network(RandomStreams(0), 100, 0, lambda _target, _payload: None)
    sleeper = Sleeper(network)
    network.add(1, "sleeper", sleeper)
    for gap, ahead in wishes:
        network.kernel.run_until(network.kernel.now + gap)
        now, before = network.kernel.now, len(sleeper.rings)
        sleeper.alarm.arm(now + ahead)
        state = network.save(), sleeper.alarm.save()
        network.kernel.run_until(now + ahead)
        assert any(now <= ring <= now + ahead for ring in sleeper.rings[before:])
        network.load(state[0])
        sleeper.alarm.load(state[1])
        del sleeper.rings[before:]
    network.kernel.run_until(network.kernel.now + 1_000)
    asked = network.kernel.now
    assert len(sleeper.rings) <= len(wishes)
    assert all(ring <= asked for ring in sleeper.rings)
