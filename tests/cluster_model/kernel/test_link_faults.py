"""Disturbed links: limits, losses, late and duplicate responses, breaks and late notifications, by message."""

from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.kernel.link import (
    GIVEN_UP_US,
    INTO,
    OTHER,
    OUT,
    REQUEST,
    RESPONSE,
    RETRANSMIT_US,
    STRICT_RESPONSE,
    LinkCondition,
    MessageMeasures,
    any_probability,
)
from cluster_model.kernel.link_faults import LOSSES, MSS
from cluster_model.kernel.node_context import NodeContext
from tests.cluster_model.kernel.test_network import LATENCY, A, B, C, ThreeNodes

MS = 1_000
SECOND = 1_000_000
ALL = 1_000_000
"""Millionths."""
SIZE = 1_000


class Request(NamedTuple):
    """A request of some size."""

    name: Any
    size: int = SIZE


class StrictResponse(NamedTuple):
    """A response that must not arrive twice."""

    name: Any
    size: int = SIZE


class PlainResponse(NamedTuple):
    """A response that may arrive twice."""

    name: Any
    size: int = SIZE


KINDS = {Request: REQUEST, StrictResponse: STRICT_RESPONSE, PlainResponse: RESPONSE}


def _size(message: Any) -> int:
    return getattr(message, "size", 60)


def _kind(message: Any) -> int:
    return KINDS.get(type(message), OTHER)


def make(seed: int = 0, jitter: int = 0) -> ThreeNodes:
    cluster_state = ThreeNodes(seed=seed, jitter=jitter)
    cluster_state.network.link_faults.measures = MessageMeasures(_size, _kind)
    return cluster_state


@pytest.fixture
def cluster_state() -> ThreeNodes:
    return make()


def shape(cluster_state: ThreeNodes, source: int, target: int, fault: int, **what: int) -> None:
    cluster_state.network.link_faults.shape(source, target, fault, LinkCondition(**what))


def got(cluster_state: ThreeNodes, node: int) -> list[tuple[int, Any]]:
    """Return (time, name) of messages, "reset" for broken connections."""
    return [(at, "reset" if what == "reset" else detail[1].name) for at, what, detail in cluster_state.seen(node)]


def open_connection(cluster_state: ThreeNodes, one: int = A, other: int = B) -> None:
    """Let both sides send a message, and advance the time by a second."""
    cluster_state.send(one, other, Request("hello"))
    cluster_state.send(other, one, StrictResponse("hello"))
    cluster_state.run(cluster_state.network.kernel.now + SECOND)
    for node in cluster_state.nodes.values():
        node.seen.clear()


# --- throughput -----------------------------------------------------------------------------------------------------


def test_a_message_queues_for_the_time_of_its_bytes_before_the_latency(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=10_000)
    for name in "abc":
        cluster_state.send(A, B, Request(name, 500))
    cluster_state.send(B, A, Request("back", 500))
    cluster_state.run(SECOND)
    assert got(cluster_state, B) == [(50 * MS * n + LATENCY, name) for n, name in enumerate("abc", 1)]
    assert got(cluster_state, A) == [(LATENCY, "back")]


def test_the_lower_of_two_rate_limits_applies(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=10_000)
    shape(cluster_state, A, B, 2, rate=2_500)
    cluster_state.send(A, B, Request("x", 500))
    cluster_state.run(SECOND)
    assert got(cluster_state, B) == [(200 * MS + LATENCY, "x")]
    cluster_state.network.link_faults.lift(2)
    cluster_state.send(A, B, Request("y", 500))
    cluster_state.run(2 * SECOND)
    assert got(cluster_state, B)[1:] == [(SECOND + 50 * MS + LATENCY, "y")]


def test_a_new_limit_holds_for_the_rest_of_what_is_under_way(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=1_000)
    cluster_state.send(A, B, Request("x", 1_000))
    cluster_state.run(400 * MS)
    shape(cluster_state, A, B, 1, rate=6_000)
    cluster_state.run(SECOND)
    assert got(cluster_state, B) == [(500 * MS + LATENCY, "x")]


def test_all_wires_of_a_link_share_its_limit(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=1_000)
    exchange = cluster_state.network.exchange(A, B, 0)
    cluster_state.send(A, B, Request("shared wire", 500))
    exchange.ask(1, Request("exchange", 500), idle=False)
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, B) == [(500 * MS + LATENCY, "shared wire"), (SECOND + LATENCY, "exchange")]


def test_queued_messages_are_sent_in_order_when_the_rate_limit_ends(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=1_000)
    shape(cluster_state, A, B, 2, rate=2_000, cards=OUT)
    for name in "abc":
        cluster_state.send(A, B, Request(name, 1_000))
    cluster_state.run(1_200 * MS)
    cluster_state.network.link_faults.lift(1)
    cluster_state.network.link_faults.lift(2)
    cluster_state.send(A, B, Request("d"))
    cluster_state.run(2 * SECOND)
    assert got(cluster_state, B) == [(1_200 * MS + LATENCY, name) for name in "abcd"]
    assert cluster_state.network.link(A, B).fault_state is None
    assert cluster_state.network.link(A, B).ready


def test_a_free_network_card_serves_the_most_advanced_message(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=1_000, cards=OUT | INTO)
    for name in "abc":
        cluster_state.send(A, B, Request(name, 1_000))
    cluster_state.run(1_500 * MS)
    cluster_state.network.link_faults.lift(1)
    cluster_state.run(2 * SECOND)
    assert got(cluster_state, B) == [(1_500 * MS + LATENCY, name) for name in "abc"]


def test_a_cut_takes_what_waits_for_its_turn_and_mending_sends_it_again_in_order(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, A, B, 1, rate=1_000)
    for name in "ab":
        cluster_state.send(A, B, Request(name, 1_000))
    cluster_state.run(500 * MS)
    cluster_state.network.cut(A, B, 7)
    cluster_state.send(A, B, Request("c", 1_000))
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, B) == []
    cluster_state.network.heal_cut(A, B, 7)
    cluster_state.send(A, B, Request("d", 1_000))
    cluster_state.run(20 * SECOND)
    first = 6_700 * MS + SECOND + LATENCY
    assert got(cluster_state, B) == [(first + index * SECOND, name) for index, name in enumerate("abcd")]


@pytest.mark.parametrize(("stop", "arrives"), [("crash", ["a", "b"]), ("power_off", ["a"])])
def test_the_system_of_a_killed_process_still_sends_what_waits_and_a_dead_machine_does_not(
    cluster_state: ThreeNodes, stop: str, arrives: list[str]
) -> None:
    shape(cluster_state, A, B, 1, rate=1_000)
    for name in "ab":
        cluster_state.send(A, B, Request(name, 1_000))
    cluster_state.run(SECOND + 1)
    getattr(cluster_state.network, stop)(A)
    cluster_state.run(9 * SECOND)
    assert [name for _at, name in got(cluster_state, B)] == arrives


# --- loss -----------------------------------------------------------------------------------------------------------


def delays(count: int, size: int, loss: int, seed: int = 3) -> list[int]:
    """Return the delay of each of that many messages, sent far apart."""
    cluster_state = make(seed)
    shape(cluster_state, A, B, 1, loss=loss)
    found = []
    for number in range(count):
        at = number * 60 * SECOND
        cluster_state.run(at)
        cluster_state.send(A, B, Request(number, size))
    cluster_state.run(count * 60 * SECOND)
    for at, number in got(cluster_state, B):
        found.append(at - number * 60 * SECOND - LATENCY)
    return found


def test_a_lost_segment_is_there_after_the_timeout_doubled_with_every_loss() -> None:
    found = delays(4_000, 100, 200_000)
    steps = [RETRANSMIT_US * ((1 << losses) - 1) for losses in range(LOSSES)]
    assert set(found) <= set(steps)
    assert 0.18 < sum(delay > 0 for delay in found) / 4_000 < 0.22
    assert 0.03 < sum(delay > RETRANSMIT_US for delay in found) / 4_000 < 0.05


def test_larger_messages_lose_more_packets() -> None:
    small, large = (sum(delay > 0 for delay in delays(1_000, size, 50_000)) for size in (MSS, 10 * MSS))
    assert 30 < small < 70
    assert 350 < large < 450


def test_later_segments_wait_for_a_lost_one() -> None:
    cluster_state = make(5)
    shape(cluster_state, A, B, 1, loss=300_000)
    for number in range(200):
        cluster_state.run(number * 10 * MS)
        cluster_state.send(A, B, Request(number, 100))
    cluster_state.run(60 * SECOND)
    assert [name for _at, name in got(cluster_state, B)] == list(range(200))
    times = [at for at, _name in got(cluster_state, B)]
    assert times == sorted(times)
    assert any(late - at == 0 for at, late in pairwise(times))


def test_a_connection_that_loses_everything_is_reset_and_both_ends_are_notified(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, A, B, 1, loss=ALL)
    cluster_state.send(A, B, Request("lost"))
    cluster_state.run(20 * SECOND)
    cluster_state.send(A, B, Request("behind it"))
    cluster_state.send(B, A, StrictResponse("passes"))
    cluster_state.run(SECOND + GIVEN_UP_US - 1)
    assert got(cluster_state, A) == [(20 * SECOND + LATENCY, "passes")]
    cluster_state.network.link_faults.lift(1)
    cluster_state.run(90 * SECOND)
    assert got(cluster_state, A)[1:] == [(SECOND + GIVEN_UP_US, "reset")]
    assert got(cluster_state, B) == [(SECOND + GIVEN_UP_US, "reset")]
    cluster_state.send(A, B, Request("new connection"))
    cluster_state.run(91 * SECOND)
    assert got(cluster_state, B)[1:] == [(90 * SECOND + LATENCY, "new connection")]


def test_a_connection_with_a_hole_breaks_soon_after_nothing_is_lost_any_more(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, A, B, 1, loss=ALL)
    shape(cluster_state, A, B, 2, loss=ALL)
    cluster_state.send(A, B, Request("lost"))
    cluster_state.run(3 * SECOND)
    cluster_state.network.link_faults.lift(1)
    cluster_state.run(4 * SECOND)
    assert got(cluster_state, A) == got(cluster_state, B) == []
    cluster_state.network.link_faults.lift(2)
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, A) == got(cluster_state, B) == [(4 * SECOND + RETRANSMIT_US, "reset")]


def test_a_process_that_closes_a_doomed_connection_itself_has_a_new_one(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, A, B, 1, loss=ALL)
    cluster_state.send(A, B, Request("lost"))
    cluster_state.run(5 * SECOND)
    cluster_state.network.link_faults.lift(1)
    NodeContext(cluster_state.network, A).abandon(B)
    cluster_state.run(6 * SECOND)
    assert got(cluster_state, A) == got(cluster_state, B) == [(5 * SECOND, "reset")]
    cluster_state.send(A, B, Request("passes"))
    cluster_state.run(90 * SECOND)
    assert got(cluster_state, B)[1:] == [(6 * SECOND + LATENCY, "passes")]
    assert len(got(cluster_state, A)) == 1


def test_losses_have_a_random_stream_of_their_own_only_while_there_are_any(cluster_state: ThreeNodes) -> None:
    cluster_state.send(A, B, Request("x"))
    assert cluster_state.network.link_faults.save()[-1] == ()
    shape(cluster_state, A, B, 1, loss=1)
    cluster_state.send(A, B, Request("x", 3 * MSS))
    assert cluster_state.network.link_faults.save()[-1] == (("loss:link:node 1>node 2", 3),)
    cluster_state.network.link_faults.lift(1)
    cluster_state.send(A, B, Request("x"))
    assert cluster_state.network.link_faults.save()[-1] == (("loss:link:node 1>node 2", 3),)


def test_chances_of_several_faults_are_independent() -> None:
    assert any_probability([]) == 0
    assert any_probability([200_000]) == 200_000
    assert any_probability([500_000, 500_000]) == 750_000
    assert any_probability([ALL, 3]) == ALL


# --- responses --------------------------------------------------------------------------------------------------------


def test_only_answers_are_late_and_they_keep_their_order(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, B, A, 1, answer_us=300 * MS)
    for message in (StrictResponse("answer 1"), Request("question"), StrictResponse("answer 2")):
        cluster_state.send(B, A, message)
    cluster_state.run(100 * MS)
    cluster_state.network.link_faults.lift(1)
    cluster_state.send(B, A, StrictResponse("answer 3"))
    cluster_state.send(B, A, Request("question 2"))
    cluster_state.run(SECOND)
    late = 300 * MS + LATENCY
    assert got(cluster_state, A) == [
        (LATENCY, "question"), (100 * MS + LATENCY, "question 2"), (late, "answer 1"), (late, "answer 2"),
        (late, "answer 3"),
    ]  # fmt: skip
    cluster_state.send(B, A, StrictResponse("answer 4"))
    cluster_state.run(2 * SECOND)
    assert got(cluster_state, A)[-1] == (SECOND + LATENCY, "answer 4")
    assert cluster_state.network.link(B, A).fault_state is None


def test_two_faults_hold_answers_up_together_and_jitter_is_drawn() -> None:
    cluster_state = make(2)
    shape(cluster_state, B, A, 1, answer_us=100 * MS)
    shape(cluster_state, B, A, 2, answer_us=50 * MS, answer_jitter_us=40 * MS)
    for number in range(100):
        cluster_state.run(number * SECOND)
        cluster_state.send(B, A, StrictResponse(number))
    cluster_state.run(200 * SECOND)
    extra = [at - number * SECOND - LATENCY for at, number in got(cluster_state, A)]
    assert len(extra) == 100
    assert 150 * MS <= min(extra) < 155 * MS
    assert 185 * MS < max(extra) <= 190 * MS


def test_an_answer_that_comes_twice_makes_its_receiver_close_the_connection(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, repeats=ALL)
    cluster_state.send(B, A, StrictResponse("answer"))
    cluster_state.send(B, A, Request("no answer"))
    cluster_state.run(SECOND + LATENCY)
    assert [name for _at, name in got(cluster_state, A)] == ["answer", "no answer"]
    cluster_state.send(A, B, Request("on its way"))
    cluster_state.run(2 * SECOND)
    assert got(cluster_state, A)[2:] == got(cluster_state, B) == [(SECOND + LATENCY + 1, "reset")]


def test_a_paused_receiver_closes_the_connection_once_it_runs_its_successor_does_not(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, repeats=ALL)
    cluster_state.send(B, A, StrictResponse("answer"))
    cluster_state.network.pause(A)
    cluster_state.run(5 * SECOND)
    assert got(cluster_state, A) == []
    cluster_state.network.resume(A)
    cluster_state.run(6 * SECOND)
    assert got(cluster_state, A) == [(5 * SECOND, "answer"), (5 * SECOND, "reset")]
    cluster_state.send(B, A, StrictResponse("answer"))
    cluster_state.network.crash(A)
    cluster_state.network.restart(A)
    cluster_state.send(A, B, Request("of a new life"))
    cluster_state.run(7 * SECOND)
    assert len(got(cluster_state, A)) == 2


def test_a_process_that_knows_what_to_do_with_a_second_answer_gets_it(cluster_state: ThreeNodes) -> None:
    shape(cluster_state, B, A, 1, repeats=ALL)
    for name in "ab":
        cluster_state.send(B, A, PlainResponse(name))
    cluster_state.run(SECOND)
    assert [name for _at, name in got(cluster_state, A)] == ["a", "a", "b", "b"]
    assert got(cluster_state, B) == []


# --- resets ---------------------------------------------------------------------------------------------------------


def test_a_reset_drops_messages_in_flight_and_notifies_both_ends_once(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    exchange = cluster_state.network.exchange(A, B, 0)
    cluster_state.send(A, B, Request("there"))
    cluster_state.send(B, A, StrictResponse("back"))
    cluster_state.send(A, C, Request("to another"))
    exchange.ask(1, Request("exchange"), idle=False)
    cluster_state.run(SECOND + LATENCY // 2)
    assert cluster_state.network.link_faults.sever(A, B)
    cluster_state.send(A, B, Request("new"))
    cluster_state.run(2 * SECOND)
    now = SECOND + LATENCY // 2
    assert got(cluster_state, A) == [(now, "reset")]
    assert got(cluster_state, B) == [(now, "reset"), (now + LATENCY, "new")]
    assert [name for _at, name in got(cluster_state, C)] == ["to another"]


def test_a_new_connection_does_not_wait_for_what_was_on_the_old_one(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    cluster_state.network.slow_down(A, B, ((1, 9 * SECOND, 0),))
    cluster_state.send(A, B, Request("slow"))
    cluster_state.network.slow_down(A, B, ())
    cluster_state.network.link_faults.sever(A, B)
    cluster_state.send(A, B, Request("new"))
    cluster_state.run(20 * SECOND)
    assert got(cluster_state, B) == [(SECOND, "reset"), (SECOND + LATENCY, "new")]


def test_without_a_connection_there_is_nothing_to_reset(cluster_state: ThreeNodes) -> None:
    assert not cluster_state.network.link_faults.sever(A, B)
    open_connection(cluster_state)
    assert cluster_state.network.link_faults.sever(B, A)
    assert not cluster_state.network.link_faults.sever(A, B)
    cluster_state.run(2 * SECOND)
    assert got(cluster_state, A) == got(cluster_state, B) == [(SECOND, "reset")]


def test_held_and_queued_messages_are_lost_with_the_connection(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, rate=1_000)
    cluster_state.send(B, A, Request("waits", 5_000))
    cluster_state.network.cut(A, B, 7)
    cluster_state.send(A, B, Request("held"))
    cluster_state.run(2 * SECOND)
    cluster_state.network.link_faults.sever(A, B)
    cluster_state.network.heal_cut(A, B, 7)
    cluster_state.network.link_faults.lift(1)
    cluster_state.run(90 * SECOND)
    assert got(cluster_state, A) == got(cluster_state, B) == [(2 * SECOND, "reset")]


def test_a_paused_process_handles_what_it_had_received_before_it_learns_of_the_reset(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    cluster_state.network.pause(B)
    cluster_state.send(A, B, Request("received"))
    cluster_state.run(2 * SECOND)
    cluster_state.send(A, B, Request("on its way"))
    cluster_state.network.link_faults.sever(A, B)
    cluster_state.run(3 * SECOND)
    cluster_state.network.resume(B)
    cluster_state.run(4 * SECOND)
    assert got(cluster_state, B) == [(3 * SECOND, "received"), (3 * SECOND, "reset")]


# --- late notifications -----------------------------------------------------------------------------------------------


def test_the_news_of_a_crash_is_late_and_requests_into_the_dead_connection_are_not_answered(
    cluster_state: ThreeNodes,
) -> None:
    open_connection(cluster_state)
    open_connection(cluster_state, C, B)
    start = cluster_state.network.kernel.now
    shape(cluster_state, B, A, 1, close_us=10 * SECOND)
    cluster_state.network.crash(B)
    cluster_state.run(start + SECOND)
    cluster_state.network.restart(B)
    cluster_state.send(A, B, Request("into the old connection"))
    cluster_state.send(A, B, StrictResponse("answer"))  # It returns on the connection of the request.
    cluster_state.send(C, B, Request("first"))
    cluster_state.run(start + 10 * SECOND - 1)
    assert got(cluster_state, A) == []
    assert got(cluster_state, C) == [(start + LATENCY, "reset")]
    assert [name for _at, name in got(cluster_state, B)] == ["answer", "first"]
    cluster_state.run(start + 11 * SECOND)
    assert got(cluster_state, A) == [(start + 10 * SECOND, "reset")]
    cluster_state.send(A, B, Request("second"))
    cluster_state.run(start + 12 * SECOND)
    assert got(cluster_state, B)[-1] == (start + 11 * SECOND + LATENCY, "second")


def test_a_peer_that_timed_out_gets_no_reset(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, close_us=10 * SECOND)
    cluster_state.network.crash(B)
    cluster_state.network.restart(B)
    cluster_state.run(5 * SECOND)
    NodeContext(cluster_state.network, A).abandon(B)
    cluster_state.send(A, B, Request("new connection"))
    cluster_state.run(30 * SECOND)
    assert got(cluster_state, A) == []
    assert got(cluster_state, B) == [(5 * SECOND + LATENCY, "new connection")]


def test_a_stopped_process_causes_one_reset(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, close_us=10 * SECOND)
    cluster_state.send(A, B, Request("on its way"))
    cluster_state.network.crash(B)
    cluster_state.run(5 * SECOND)
    cluster_state.send(A, B, Request("later"))
    cluster_state.run(60 * SECOND)
    assert got(cluster_state, A) == [(11 * SECOND, "reset")]


def test_the_late_news_of_a_reset_is_late_at_one_end_only(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, close_us=10 * SECOND)
    cluster_state.network.link_faults.sever(A, B)
    cluster_state.network.link_faults.lift(1)
    cluster_state.run(30 * SECOND)
    assert got(cluster_state, B) == [(SECOND, "reset")]
    assert got(cluster_state, A) == [(11 * SECOND, "reset")]
    assert not cluster_state.network.link_faults.any


def test_news_of_an_old_life_does_not_reach_a_new_one(cluster_state: ThreeNodes) -> None:
    open_connection(cluster_state)
    shape(cluster_state, B, A, 1, close_us=10 * SECOND)
    cluster_state.network.crash(B)
    cluster_state.network.crash(A)
    cluster_state.network.restart(A)
    cluster_state.network.restart(B)
    cluster_state.send(A, B, Request("new"))
    cluster_state.run(30 * SECOND)
    assert got(cluster_state, A) == []
    assert [name for _at, name in got(cluster_state, B)] == ["new"]


# --- all together ---------------------------------------------------------------------------------------------------


def trouble(cluster_state: ThreeNodes) -> None:
    """Apply some of every fault, in both directions."""
    shape(cluster_state, A, B, 1, rate=4_000, loss=100_000)
    shape(cluster_state, B, A, 2, answer_us=70 * MS, answer_jitter_us=30 * MS, repeats=40_000)
    shape(cluster_state, A, B, 3, rate=9_000, cards=OUT)
    shape(cluster_state, B, A, 4, close_us=3 * SECOND, loss=200_000)


def talk(cluster_state: ThreeNodes, rounds: int) -> None:
    for number in range(rounds):
        cluster_state.send(A, B, Request(number, 700))
        cluster_state.send(B, A, StrictResponse(number))
        cluster_state.run(cluster_state.network.kernel.now + 130 * MS)


def test_a_network_saved_in_the_middle_of_all_that_continues_as_it_did() -> None:
    cluster_state = make(8, 50)
    open_connection(cluster_state)
    trouble(cluster_state)
    talk(cluster_state, 60)
    cluster_state.network.crash(B)
    cluster_state.network.restart(B)
    talk(cluster_state, 3)
    saved = cluster_state.network.save()

    def go_on() -> list[Any]:
        before = len(cluster_state.seen(A)), len(cluster_state.seen(B))
        talk(cluster_state, 20)
        for fault in (1, 2, 3, 4):
            cluster_state.network.link_faults.lift(fault)
        talk(cluster_state, 20)
        cluster_state.run(cluster_state.network.kernel.now + 60 * SECOND)
        return [cluster_state.seen(A)[before[0] :], cluster_state.seen(B)[before[1] :]]

    first = go_on()
    assert len(first[0]) > 10 < len(first[1])
    cluster_state.network.load(saved)
    assert cluster_state.network.save() == saved
    assert go_on() == first


FAULTS = st.sampled_from(
    [
        {"rate": 3_000},
        {"rate": 900, "cards": OUT},
        {"rate": 5_000, "cards": OUT | INTO},
        {"loss": 150_000},
        {"loss": 800_000},
        {"answer_us": 400 * MS, "answer_jitter_us": 300 * MS},
        {"repeats": 30_000},
        {"close_us": 2 * SECOND},
    ]
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "send", "send", "shape", "shape", "lift", "sever", "cut", "heal_cut", "wait"]),
        st.sampled_from([(A, B), (B, A), (A, C), (C, A), (B, C), (C, B)]),
        st.integers(1, 4),
        FAULTS,
    ),
    max_size=120,
)


@pytest.mark.slow
@given(st.integers(0, 1 << 20), STEPS)
def test_messages_arrive_once_in_order_or_both_ends_see_a_reset(
    seed: int, steps: list[tuple[str, tuple[int, int], int, dict[str, int]]]
) -> None:
    cluster_state = make(seed, 40)
    sent: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
    number = 0
    for verb, (source, target), fault, what in steps:
        network = cluster_state.network
        if verb == "send":
            for _time in range(fault):
                number += 1
                kind = StrictResponse if number % 3 == 0 else Request
                cluster_state.send(source, target, kind(number, 100 * fault * fault * fault))
                sent.setdefault((source, target, kind.__name__), []).append((network.kernel.now, number))
        elif verb == "shape":
            shape(cluster_state, source, target, fault, **what)
        elif verb == "lift":
            network.link_faults.lift(fault)
        elif verb == "sever":
            network.link_faults.sever(source, target)
        elif verb in ("cut", "heal_cut"):
            getattr(network, verb)(source, target, fault)
        else:
            cluster_state.run(network.kernel.now + fault * fault * 300 * MS)
    for fault in range(1, 5):
        cluster_state.network.link_faults.lift(fault)
        for link in list(cluster_state.network._links):
            cluster_state.network.heal_cut(*link, fault)
    cluster_state.run(cluster_state.network.kernel.now + 120 * SECOND)
    resets = {
        (node, peer): [at for at, what, detail in cluster_state.seen(node) if what == "reset" and detail == peer]
        for node in (A, B, C)
        for peer in (A, B, C)
    }
    were_cut = any(step[0] == "cut" for step in steps)
    for (source, target, class_name), messages in sent.items():
        arrived = [
            detail[1].name
            for _at, what, detail in cluster_state.seen(target)
            if what == "message" and detail[0] == source and type(detail[1]).__name__ == class_name
        ]
        order = [name for _at, name in messages]
        assert arrived == [name for name in order if name in arrived], "order, or twice"
        for at, name in messages:
            if name not in arrived:
                assert any(told >= at for told in resets[source, target])
                # Only the sender's system closes a connection that a cut lets time out.
                assert were_cut or any(told >= at for told in resets[target, source])
    for node in (A, B, C):
        for peer in (A, B, C):
            if node != peer:
                cluster_state.send(node, peer, Request((node, peer)))
    cluster_state.run(cluster_state.network.kernel.now + 10 * SECOND)
    for node in (A, B, C):
        heard = [detail[1].name for _at, what, detail in cluster_state.seen(node)[-4:] if what == "message"]
        assert sorted(name for name in heard if type(name) is tuple) == [
            (peer, node) for peer in (A, B, C) if peer != node
        ]
    assert all(link.fault_state is None for link in cluster_state.network._links.values())
