"""Requested connections: accepted, refused, or without a response."""

import pytest

from cluster_model.kernel.link import GIVEN_UP_US
from cluster_model.kernel.network import SYN_RETRY_US, SYN_TIMEOUT_US
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from tests.cluster_model.kernel.test_network import LATENCY, A, B, World

BROKEN = ("reset", B)


def accepted(attempt: int = 1) -> tuple[str, object]:
    return ("message", (B, Connected(attempt)))


def refused(attempt: int = 1) -> tuple[str, object]:
    return ("message", (B, ConnectionRefused(attempt)))


FAULT = 1


def asked(world: World) -> int:
    """Return the number of the attempt."""
    return NodeContext(world.network, A).connect(B)


def heard(world: World) -> list[tuple[int, str, object]]:
    return world.seen(A)


def test_a_running_process_is_connected_to_within_a_round_trip() -> None:
    world = World()
    asked(world)
    world.run(SYN_TIMEOUT_US * 2)
    assert heard(world) == [(2 * LATENCY, *accepted())]
    assert world.seen(B) == []


def test_the_system_of_a_paused_process_accepts() -> None:
    world = World()
    world.network.pause(B)
    asked(world)
    world.run(SYN_RETRY_US)
    assert heard(world) == [(2 * LATENCY, *accepted())]


def test_a_process_that_is_down_refuses_and_one_that_is_up_again_accepts() -> None:
    world = World()
    world.network.crash(B)
    asked(world)
    world.run(1_000)
    world.network.restart(B)
    asked(world)
    world.run(SYN_RETRY_US)
    assert heard(world) == [(2 * LATENCY, *refused()), (1_000 + 2 * LATENCY, *accepted(2))]


def test_a_crash_breaks_a_connection_over_which_nothing_was_sent() -> None:
    world = World()
    asked(world)
    world.run(1_000)
    world.network.crash(B)
    world.run(2_000)
    assert heard(world)[-1] == (1_000 + LATENCY, *BROKEN)


@pytest.mark.parametrize("off_s", [2, 40])
def test_a_machine_without_power_says_nothing_until_it_is_asked_once_more_after_its_start(off_s: int) -> None:
    world = World()
    world.network.power_off(B)
    asked(world)
    world.run(off_s * SYN_RETRY_US)
    world.network.restart(B)
    world.run(SYN_TIMEOUT_US)
    repeats = [SYN_RETRY_US * ((1 << number) - 1) for number in range(7)]
    answered = next(at for at in repeats if at > off_s * SYN_RETRY_US)
    assert heard(world) == [(answered + 2 * LATENCY, *accepted())]


@pytest.mark.parametrize("direction", [(A, B), (B, A)])
def test_a_cut_of_either_direction_is_silence_that_the_system_gives_up_on(direction: tuple[int, int]) -> None:
    world = World()
    world.network.cut(*direction, FAULT)
    asked(world)
    world.run(SYN_TIMEOUT_US * 2)
    assert heard(world) == [(SYN_TIMEOUT_US, *refused())]


def test_whoever_stops_waiting_hears_nothing() -> None:
    world = World()
    world.network.power_off(B)
    NodeContext(world.network, A).stop_connecting(asked(world))
    world.network.restart(B)
    world.run(SYN_TIMEOUT_US * 2)
    assert heard(world) == []


def test_each_attempt_is_answered_by_its_number() -> None:
    """Two connections between the same processes are made at the same time; an earlier attempt was stopped."""
    world = World()
    port = NodeContext(world.network, A)
    stopped, *others = [asked(world), asked(world), asked(world)]
    port.stop_connecting(stopped)
    world.run(SYN_TIMEOUT_US)
    assert heard(world) == [(2 * LATENCY, *accepted(number)) for number in others]


@pytest.mark.parametrize("asks", [False, True])
def test_a_connection_that_is_given_up_breaks_whoever_asks_for_another(asks: bool) -> None:
    world = World()
    world.network.cut(A, B, FAULT)
    port = NodeContext(world.network, A)
    port.send(B, ("late",))
    world.run(GIVEN_UP_US // 2)
    if asks:
        port.connect(B)
    world.run(2 * GIVEN_UP_US)
    assert heard(world) == [(GIVEN_UP_US, *BROKEN)]


# --- connections since the start of the session ----------------------------------------------------------------------


def test_a_crash_breaks_a_connection_that_stood_from_the_beginning_and_was_never_used() -> None:
    world = World()
    world.network.stand((A,), (A, B))
    world.run(1_000)
    world.network.crash(B)
    world.run(2_000)
    assert heard(world) == [(1_000 + LATENCY, *BROKEN)]
    world.network.restart(B)
    world.network.crash(B)
    world.run(3_000)
    assert len(heard(world)) == 1, "the process of its second life had no connection to that one"


def test_one_that_is_used_breaks_only_once() -> None:
    world = World()
    world.network.stand((A,), (A, B))
    NodeContext(world.network, A).send(B, ("word",))
    world.run(1_000)
    world.network.crash(B)
    world.run(2_000)
    assert heard(world) == [(1_000 + LATENCY, *BROKEN)]


def test_a_machine_without_power_breaks_none() -> None:
    world = World()
    world.network.stand((A,), (A, B))
    world.network.power_off(B)
    world.run(SYN_TIMEOUT_US)
    assert heard(world) == []


def test_a_process_that_has_restarted_had_none_to_break() -> None:
    world = World()
    world.network.stand((A,), (A, B))
    world.network.crash(A)
    world.network.restart(A)
    world.network.crash(B)
    world.run(1_000)
    assert heard(world) == []


def test_breaking_all_connections_leaves_the_answer_to_an_attempt_alone() -> None:
    world = World()
    port = NodeContext(world.network, A)
    port.send(B, ("word",))
    asked(world)
    world.run(LATENCY)
    world.network.troubles.sever(A, B)
    world.run(1_000)
    assert [what for _at, *what in heard(world)] == [[*BROKEN], [*accepted()]]


def test_nothing_comes_for_a_process_that_has_ended_meanwhile() -> None:
    world = World()
    asked(world)
    world.network.crash(A)
    world.network.restart(A)
    world.run(SYN_TIMEOUT_US * 2)
    assert heard(world) == []


def test_a_network_that_is_loaded_in_the_middle_goes_on_in_the_same_way() -> None:
    def play(at: int) -> list[tuple[int, str, object]]:
        world = World(jitter=50)
        world.network.power_off(B)
        asked(world)
        world.run(at)
        saved = world.network.save()
        world.run(5 * SYN_RETRY_US)
        world.network.load(saved)
        world.seen(A).clear()
        world.run(2 * SYN_RETRY_US)
        world.network.restart(B)
        world.run(SYN_TIMEOUT_US)
        return heard(world)

    assert play(LATENCY // 2) == play(SYN_RETRY_US + 1)
    assert [what for _at, *what in play(LATENCY // 2)] == [[*accepted()]]
