"""Requested connections: accepted, refused, or without a response."""

import pytest

from cluster_model.kernel.link import GIVEN_UP_US
from cluster_model.kernel.network import SYN_RETRY_US, SYN_TIMEOUT_US
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from tests.cluster_model.kernel.test_network import LATENCY, A, B, ThreeNodes

BROKEN = ("reset", B)


def accepted(attempt: int = 1) -> tuple[str, object]:
    return ("message", (B, Connected(attempt)))


def refused(attempt: int = 1) -> tuple[str, object]:
    return ("message", (B, ConnectionRefused(attempt)))


FAULT = 1


def asked(cluster_state: ThreeNodes) -> int:
    """Return the number of the attempt."""
    return NodeContext(cluster_state.network, A).connect(B)


def heard(cluster_state: ThreeNodes) -> list[tuple[int, str, object]]:
    return cluster_state.seen(A)


def test_a_running_process_is_connected_to_within_a_round_trip() -> None:
    cluster_state = ThreeNodes()
    asked(cluster_state)
    cluster_state.run(SYN_TIMEOUT_US * 2)
    assert heard(cluster_state) == [(2 * LATENCY, *accepted())]
    assert cluster_state.seen(B) == []


def test_the_system_of_a_paused_process_accepts() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.pause(B)
    asked(cluster_state)
    cluster_state.run(SYN_RETRY_US)
    assert heard(cluster_state) == [(2 * LATENCY, *accepted())]


def test_a_process_that_is_down_refuses_and_one_that_is_up_again_accepts() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.crash(B)
    asked(cluster_state)
    cluster_state.run(1_000)
    cluster_state.network.restart(B)
    asked(cluster_state)
    cluster_state.run(SYN_RETRY_US)
    assert heard(cluster_state) == [(2 * LATENCY, *refused()), (1_000 + 2 * LATENCY, *accepted(2))]


def test_a_crash_breaks_a_connection_over_which_nothing_was_sent() -> None:
    cluster_state = ThreeNodes()
    asked(cluster_state)
    cluster_state.run(1_000)
    cluster_state.network.crash(B)
    cluster_state.run(2_000)
    assert heard(cluster_state)[-1] == (1_000 + LATENCY, *BROKEN)


@pytest.mark.parametrize("off_s", [2, 40])
def test_a_powered_off_machine_answers_the_next_syn_after_its_start(off_s: int) -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.power_off(B)
    asked(cluster_state)
    cluster_state.run(off_s * SYN_RETRY_US)
    cluster_state.network.restart(B)
    cluster_state.run(SYN_TIMEOUT_US)
    repeats = [SYN_RETRY_US * ((1 << number) - 1) for number in range(7)]
    answered = next(at for at in repeats if at > off_s * SYN_RETRY_US)
    assert heard(cluster_state) == [(answered + 2 * LATENCY, *accepted())]


@pytest.mark.parametrize("direction", [(A, B), (B, A)])
def test_a_cut_of_either_direction_is_silence_that_the_system_gives_up_on(direction: tuple[int, int]) -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.cut(*direction, FAULT)
    asked(cluster_state)
    cluster_state.run(SYN_TIMEOUT_US * 2)
    assert heard(cluster_state) == [(SYN_TIMEOUT_US, *refused())]


def test_a_process_that_stops_waiting_hears_nothing() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.power_off(B)
    NodeContext(cluster_state.network, A).stop_connecting(asked(cluster_state))
    cluster_state.network.restart(B)
    cluster_state.run(SYN_TIMEOUT_US * 2)
    assert heard(cluster_state) == []


def test_each_attempt_is_answered_by_its_number() -> None:
    """Two connections between the same processes are made at the same time; an earlier attempt was stopped."""
    cluster_state = ThreeNodes()
    port = NodeContext(cluster_state.network, A)
    stopped, *others = [asked(cluster_state), asked(cluster_state), asked(cluster_state)]
    port.stop_connecting(stopped)
    cluster_state.run(SYN_TIMEOUT_US)
    assert heard(cluster_state) == [(2 * LATENCY, *accepted(number)) for number in others]


@pytest.mark.parametrize("asks", [False, True])
def test_a_connection_that_is_given_up_breaks_a_process_that_asks_for_another(asks: bool) -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.cut(A, B, FAULT)
    port = NodeContext(cluster_state.network, A)
    port.send(B, ("late",))
    cluster_state.run(GIVEN_UP_US // 2)
    if asks:
        port.connect(B)
    cluster_state.run(2 * GIVEN_UP_US)
    assert heard(cluster_state) == [(GIVEN_UP_US, *BROKEN)]


# --- connections since the start of the session ----------------------------------------------------------------------


def test_a_crash_resets_unused_initial_connections() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.open_connections((A,), (A, B))
    cluster_state.run(1_000)
    cluster_state.network.crash(B)
    cluster_state.run(2_000)
    assert heard(cluster_state) == [(1_000 + LATENCY, *BROKEN)]
    cluster_state.network.restart(B)
    cluster_state.network.crash(B)
    cluster_state.run(3_000)
    assert len(heard(cluster_state)) == 1, "the process of its second life had no connection to that one"


def test_one_that_is_used_breaks_only_once() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.open_connections((A,), (A, B))
    NodeContext(cluster_state.network, A).send(B, ("word",))
    cluster_state.run(1_000)
    cluster_state.network.crash(B)
    cluster_state.run(2_000)
    assert heard(cluster_state) == [(1_000 + LATENCY, *BROKEN)]


def test_a_machine_without_power_breaks_none() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.open_connections((A,), (A, B))
    cluster_state.network.power_off(B)
    cluster_state.run(SYN_TIMEOUT_US)
    assert heard(cluster_state) == []


def test_a_process_that_has_restarted_had_none_to_break() -> None:
    cluster_state = ThreeNodes()
    cluster_state.network.open_connections((A,), (A, B))
    cluster_state.network.crash(A)
    cluster_state.network.restart(A)
    cluster_state.network.crash(B)
    cluster_state.run(1_000)
    assert heard(cluster_state) == []


def test_breaking_all_connections_leaves_the_answer_to_an_attempt_alone() -> None:
    cluster_state = ThreeNodes()
    port = NodeContext(cluster_state.network, A)
    port.send(B, ("word",))
    asked(cluster_state)
    cluster_state.run(LATENCY)
    cluster_state.network.link_faults.sever(A, B)
    cluster_state.run(1_000)
    assert [what for _at, *what in heard(cluster_state)] == [[*BROKEN], [*accepted()]]


def test_nothing_comes_for_a_process_that_has_ended_meanwhile() -> None:
    cluster_state = ThreeNodes()
    asked(cluster_state)
    cluster_state.network.crash(A)
    cluster_state.network.restart(A)
    cluster_state.run(SYN_TIMEOUT_US * 2)
    assert heard(cluster_state) == []


def test_a_network_that_is_loaded_in_the_middle_continues_in_the_same_way() -> None:
    def play(at: int) -> list[tuple[int, str, object]]:
        cluster_state = ThreeNodes(jitter=50)
        cluster_state.network.power_off(B)
        asked(cluster_state)
        cluster_state.run(at)
        saved = cluster_state.network.save()
        cluster_state.run(5 * SYN_RETRY_US)
        cluster_state.network.load(saved)
        cluster_state.seen(A).clear()
        cluster_state.run(2 * SYN_RETRY_US)
        cluster_state.network.restart(B)
        cluster_state.run(SYN_TIMEOUT_US)
        return heard(cluster_state)

    assert play(LATENCY // 2) == play(SYN_RETRY_US + 1)
    assert [what for _at, *what in play(LATENCY // 2)] == [[*accepted()]]
