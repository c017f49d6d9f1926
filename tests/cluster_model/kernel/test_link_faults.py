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
from tests.cluster_model.kernel.test_network import LATENCY, A, B, C, World

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


def make(seed: int = 0, jitter: int = 0) -> World:
    world = World(seed=seed, jitter=jitter)
    world.network.troubles.measures = MessageMeasures(_size, _kind)
    return world


@pytest.fixture
def world() -> World:
    return make()


def shape(world: World, source: int, target: int, fault: int, **what: int) -> None:
    world.network.troubles.shape(source, target, fault, LinkCondition(**what))


def got(world: World, node: int) -> list[tuple[int, Any]]:
    """Return (time, name) of messages, "reset" for broken connections."""
    return [(at, "reset" if what == "reset" else detail[1].name) for at, what, detail in world.seen(node)]


def open_connection(world: World, one: int = A, other: int = B) -> None:
    """Let both sides send a message, and advance the time by a second."""
    world.send(one, other, Request("hello"))
    world.send(other, one, StrictResponse("hello"))
    world.run(world.network.kernel.now + SECOND)
    for node in world.nodes.values():
        node.seen.clear()


# --- throughput -----------------------------------------------------------------------------------------------------


def test_a_message_takes_its_bytes_on_top_of_the_latency_and_queues_behind_the_one_before(world: World) -> None:
    shape(world, A, B, 1, rate=10_000)
    for name in "abc":
        world.send(A, B, Request(name, 500))
    world.send(B, A, Request("back", 500))
    world.run(SECOND)
    assert got(world, B) == [(50 * MS * n + LATENCY, name) for n, name in enumerate("abc", 1)]
    assert got(world, A) == [(LATENCY, "back")]


def test_of_two_limits_on_a_link_the_lower_holds(world: World) -> None:
    shape(world, A, B, 1, rate=10_000)
    shape(world, A, B, 2, rate=2_500)
    world.send(A, B, Request("x", 500))
    world.run(SECOND)
    assert got(world, B) == [(200 * MS + LATENCY, "x")]
    world.network.troubles.lift(2)
    world.send(A, B, Request("y", 500))
    world.run(2 * SECOND)
    assert got(world, B)[1:] == [(SECOND + 50 * MS + LATENCY, "y")]


def test_a_new_limit_holds_for_the_rest_of_what_is_under_way(world: World) -> None:
    shape(world, A, B, 1, rate=1_000)
    world.send(A, B, Request("x", 1_000))
    world.run(400 * MS)
    shape(world, A, B, 1, rate=6_000)
    world.run(SECOND)
    assert got(world, B) == [(500 * MS + LATENCY, "x")]


def test_all_wires_of_a_link_share_its_limit(world: World) -> None:
    shape(world, A, B, 1, rate=1_000)
    exchange = world.network.exchange(A, B, 0)
    world.send(A, B, Request("shared wire", 500))
    exchange.ask(1, Request("exchange", 500), idle=False)
    world.run(5 * SECOND)
    assert got(world, B) == [(500 * MS + LATENCY, "shared wire"), (SECOND + LATENCY, "exchange")]


def test_what_waits_for_its_turn_is_sent_at_once_in_order_when_the_limit_goes(world: World) -> None:
    shape(world, A, B, 1, rate=1_000)
    shape(world, A, B, 2, rate=2_000, cards=OUT)
    for name in "abc":
        world.send(A, B, Request(name, 1_000))
    world.run(1_200 * MS)
    world.network.troubles.lift(1)
    world.network.troubles.lift(2)
    world.send(A, B, Request("d"))
    world.run(2 * SECOND)
    assert got(world, B) == [(1_200 * MS + LATENCY, name) for name in "abcd"]
    assert world.network.link(A, B).trouble is None
    assert world.network.link(A, B).ready


def test_what_is_further_on_its_way_goes_first_when_a_card_is_free(world: World) -> None:
    shape(world, A, B, 1, rate=1_000, cards=OUT | INTO)
    for name in "abc":
        world.send(A, B, Request(name, 1_000))
    world.run(1_500 * MS)
    world.network.troubles.lift(1)
    world.run(2 * SECOND)
    assert got(world, B) == [(1_500 * MS + LATENCY, name) for name in "abc"]


def test_a_cut_takes_what_waits_for_its_turn_and_mending_sends_it_again_in_order(world: World) -> None:
    shape(world, A, B, 1, rate=1_000)
    for name in "ab":
        world.send(A, B, Request(name, 1_000))
    world.run(500 * MS)
    world.network.cut(A, B, 7)
    world.send(A, B, Request("c", 1_000))
    world.run(5 * SECOND)
    assert got(world, B) == []
    world.network.mend(A, B, 7)
    world.send(A, B, Request("d", 1_000))
    world.run(20 * SECOND)
    first = 6 * SECOND + RETRANSMIT_US + LATENCY
    assert got(world, B) == [
        (first, "a"), (first + SECOND, "b"), (first + 2 * SECOND, "c"), (first + 3 * SECOND - RETRANSMIT_US, "d"),
    ]  # fmt: skip


@pytest.mark.parametrize(("stop", "arrives"), [("crash", ["a", "b"]), ("power_off", ["a"])])
def test_the_system_of_a_killed_process_still_sends_what_waits_and_a_dead_machine_does_not(
    world: World, stop: str, arrives: list[str]
) -> None:
    shape(world, A, B, 1, rate=1_000)
    for name in "ab":
        world.send(A, B, Request(name, 1_000))
    world.run(SECOND + 1)
    getattr(world.network, stop)(A)
    world.run(9 * SECOND)
    assert [name for _at, name in got(world, B)] == arrives


# --- loss -----------------------------------------------------------------------------------------------------------


def delays(count: int, size: int, loss: int, seed: int = 3) -> list[int]:
    """Return the delay of each of that many messages, sent far apart."""
    world = make(seed)
    shape(world, A, B, 1, loss=loss)
    found = []
    for number in range(count):
        at = number * 60 * SECOND
        world.run(at)
        world.send(A, B, Request(number, size))
    world.run(count * 60 * SECOND)
    for at, number in got(world, B):
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


def test_what_is_behind_a_lost_segment_waits_for_it() -> None:
    world = make(5)
    shape(world, A, B, 1, loss=300_000)
    for number in range(200):
        world.run(number * 10 * MS)
        world.send(A, B, Request(number, 100))
    world.run(60 * SECOND)
    assert [name for _at, name in got(world, B)] == list(range(200))
    times = [at for at, _name in got(world, B)]
    assert times == sorted(times)
    assert any(late - at == 0 for at, late in pairwise(times))


def test_a_connection_that_loses_everything_is_reset_and_both_ends_are_told(world: World) -> None:
    open_connection(world)
    shape(world, A, B, 1, loss=ALL)
    world.send(A, B, Request("lost"))
    world.run(20 * SECOND)
    world.send(A, B, Request("behind it"))
    world.send(B, A, StrictResponse("passes"))
    world.run(SECOND + GIVEN_UP_US - 1)
    assert got(world, A) == [(20 * SECOND + LATENCY, "passes")]
    world.network.troubles.lift(1)
    world.run(90 * SECOND)
    assert got(world, A)[1:] == [(SECOND + GIVEN_UP_US, "reset")]
    assert got(world, B) == [(SECOND + GIVEN_UP_US, "reset")]
    world.send(A, B, Request("new connection"))
    world.run(91 * SECOND)
    assert got(world, B)[1:] == [(90 * SECOND + LATENCY, "new connection")]


def test_a_connection_with_a_hole_breaks_soon_after_nothing_is_lost_any_more(world: World) -> None:
    open_connection(world)
    shape(world, A, B, 1, loss=ALL)
    shape(world, A, B, 2, loss=ALL)
    world.send(A, B, Request("lost"))
    world.run(3 * SECOND)
    world.network.troubles.lift(1)
    world.run(4 * SECOND)
    assert got(world, A) == got(world, B) == []
    world.network.troubles.lift(2)
    world.run(5 * SECOND)
    assert got(world, A) == got(world, B) == [(4 * SECOND + RETRANSMIT_US, "reset")]


def test_who_closes_a_doomed_connection_itself_has_a_new_one(world: World) -> None:
    open_connection(world)
    shape(world, A, B, 1, loss=ALL)
    world.send(A, B, Request("lost"))
    world.run(5 * SECOND)
    world.network.troubles.lift(1)
    NodeContext(world.network, A).abandon(B)
    world.run(6 * SECOND)
    assert got(world, A) == got(world, B) == [(5 * SECOND, "reset")]
    world.send(A, B, Request("passes"))
    world.run(90 * SECOND)
    assert got(world, B)[1:] == [(6 * SECOND + LATENCY, "passes")]
    assert len(got(world, A)) == 1


def test_draws_of_losses_are_of_a_stream_of_their_own_and_only_while_something_is_lost(world: World) -> None:
    world.send(A, B, Request("x"))
    assert world.network.troubles.save()[-1] == ()
    shape(world, A, B, 1, loss=1)
    world.send(A, B, Request("x", 3 * MSS))
    assert world.network.troubles.save()[-1] == (("loss:link:node 1>node 2", 3),)
    world.network.troubles.lift(1)
    world.send(A, B, Request("x"))
    assert world.network.troubles.save()[-1] == (("loss:link:node 1>node 2", 3),)


def test_chances_of_several_faults_are_independent() -> None:
    assert any_probability([]) == 0
    assert any_probability([200_000]) == 200_000
    assert any_probability([500_000, 500_000]) == 750_000
    assert any_probability([ALL, 3]) == ALL


# --- responses --------------------------------------------------------------------------------------------------------


def test_only_answers_are_late_and_they_keep_their_order(world: World) -> None:
    shape(world, B, A, 1, answer_us=300 * MS)
    for message in (StrictResponse("answer 1"), Request("question"), StrictResponse("answer 2")):
        world.send(B, A, message)
    world.run(100 * MS)
    world.network.troubles.lift(1)
    world.send(B, A, StrictResponse("answer 3"))
    world.send(B, A, Request("question 2"))
    world.run(SECOND)
    late = 300 * MS + LATENCY
    assert got(world, A) == [
        (LATENCY, "question"), (100 * MS + LATENCY, "question 2"), (late, "answer 1"), (late, "answer 2"),
        (late, "answer 3"),
    ]  # fmt: skip
    world.send(B, A, StrictResponse("answer 4"))
    world.run(2 * SECOND)
    assert got(world, A)[-1] == (SECOND + LATENCY, "answer 4")
    assert world.network.link(B, A).trouble is None


def test_two_faults_hold_answers_up_together_and_jitter_is_drawn() -> None:
    world = make(2)
    shape(world, B, A, 1, answer_us=100 * MS)
    shape(world, B, A, 2, answer_us=50 * MS, answer_jitter_us=40 * MS)
    for number in range(100):
        world.run(number * SECOND)
        world.send(B, A, StrictResponse(number))
    world.run(200 * SECOND)
    extra = [at - number * SECOND - LATENCY for at, number in got(world, A)]
    assert len(extra) == 100
    assert 150 * MS <= min(extra) < 155 * MS
    assert 185 * MS < max(extra) <= 190 * MS


def test_an_answer_that_comes_twice_makes_its_receiver_close_the_connection(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, repeats=ALL)
    world.send(B, A, StrictResponse("answer"))
    world.send(B, A, Request("no answer"))
    world.run(SECOND + LATENCY)
    assert [name for _at, name in got(world, A)] == ["answer", "no answer"]
    world.send(A, B, Request("on its way"))
    world.run(2 * SECOND)
    assert got(world, A)[2:] == got(world, B) == [(SECOND + LATENCY + 1, "reset")]


def test_a_paused_receiver_closes_the_connection_when_it_goes_on_and_a_new_life_does_not(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, repeats=ALL)
    world.send(B, A, StrictResponse("answer"))
    world.network.pause(A)
    world.run(5 * SECOND)
    assert got(world, A) == []
    world.network.resume(A)
    world.run(6 * SECOND)
    assert got(world, A) == [(5 * SECOND, "answer"), (5 * SECOND, "reset")]
    world.send(B, A, StrictResponse("answer"))
    world.network.crash(A)
    world.network.restart(A)
    world.send(A, B, Request("of a new life"))
    world.run(7 * SECOND)
    assert len(got(world, A)) == 2


def test_who_knows_what_to_do_with_a_second_answer_gets_it(world: World) -> None:
    shape(world, B, A, 1, repeats=ALL)
    for name in "ab":
        world.send(B, A, PlainResponse(name))
    world.run(SECOND)
    assert [name for _at, name in got(world, A)] == ["a", "a", "b", "b"]
    assert got(world, B) == []


# --- resets ---------------------------------------------------------------------------------------------------------


def test_a_reset_ends_what_is_on_its_way_and_tells_both_ends_once(world: World) -> None:
    open_connection(world)
    exchange = world.network.exchange(A, B, 0)
    world.send(A, B, Request("there"))
    world.send(B, A, StrictResponse("back"))
    world.send(A, C, Request("to another"))
    exchange.ask(1, Request("exchange"), idle=False)
    world.run(SECOND + LATENCY // 2)
    assert world.network.troubles.sever(A, B)
    world.send(A, B, Request("new"))
    world.run(2 * SECOND)
    now = SECOND + LATENCY // 2
    assert got(world, A) == [(now, "reset")]
    assert got(world, B) == [(now, "reset"), (now + LATENCY, "new")]
    assert [name for _at, name in got(world, C)] == ["to another"]


def test_a_new_connection_does_not_wait_for_what_was_on_the_old_one(world: World) -> None:
    open_connection(world)
    world.network.slow_down(A, B, ((1, 9 * SECOND, 0),))
    world.send(A, B, Request("slow"))
    world.network.slow_down(A, B, ())
    world.network.troubles.sever(A, B)
    world.send(A, B, Request("new"))
    world.run(20 * SECOND)
    assert got(world, B) == [(SECOND, "reset"), (SECOND + LATENCY, "new")]


def test_without_a_connection_there_is_nothing_to_reset(world: World) -> None:
    assert not world.network.troubles.sever(A, B)
    open_connection(world)
    assert world.network.troubles.sever(B, A)
    assert not world.network.troubles.sever(A, B)
    world.run(2 * SECOND)
    assert got(world, A) == got(world, B) == [(SECOND, "reset")]


def test_what_is_held_by_a_cut_or_waits_for_its_turn_ends_with_the_connection(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, rate=1_000)
    world.send(B, A, Request("waits", 5_000))
    world.network.cut(A, B, 7)
    world.send(A, B, Request("held"))
    world.run(2 * SECOND)
    world.network.troubles.sever(A, B)
    world.network.mend(A, B, 7)
    world.network.troubles.lift(1)
    world.run(90 * SECOND)
    assert got(world, A) == got(world, B) == [(2 * SECOND, "reset")]


def test_a_paused_process_handles_what_it_had_received_before_it_hears_of_the_reset(world: World) -> None:
    open_connection(world)
    world.network.pause(B)
    world.send(A, B, Request("received"))
    world.run(2 * SECOND)
    world.send(A, B, Request("on its way"))
    world.network.troubles.sever(A, B)
    world.run(3 * SECOND)
    world.network.resume(B)
    world.run(4 * SECOND)
    assert got(world, B) == [(3 * SECOND, "received"), (3 * SECOND, "reset")]


# --- late notifications -----------------------------------------------------------------------------------------------


def test_the_news_of_a_crash_is_late_and_requests_into_the_dead_connection_are_not_answered(world: World) -> None:
    open_connection(world)
    open_connection(world, C, B)
    start = world.network.kernel.now
    shape(world, B, A, 1, close_us=10 * SECOND)
    world.network.crash(B)
    world.run(start + SECOND)
    world.network.restart(B)
    world.send(A, B, Request("into the old connection"))
    world.send(A, B, StrictResponse("answer"))  # It returns on the connection of the request.
    world.send(C, B, Request("first"))
    world.run(start + 10 * SECOND - 1)
    assert got(world, A) == []
    assert got(world, C) == [(start + LATENCY, "reset")]
    assert [name for _at, name in got(world, B)] == ["answer", "first"]
    world.run(start + 11 * SECOND)
    assert got(world, A) == [(start + 10 * SECOND, "reset")]
    world.send(A, B, Request("second"))
    world.run(start + 12 * SECOND)
    assert got(world, B)[-1] == (start + 11 * SECOND + LATENCY, "second")


def test_who_finds_out_by_its_own_timeout_is_not_told_any_more(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, close_us=10 * SECOND)
    world.network.crash(B)
    world.network.restart(B)
    world.run(5 * SECOND)
    NodeContext(world.network, A).abandon(B)
    world.send(A, B, Request("new connection"))
    world.run(30 * SECOND)
    assert got(world, A) == []
    assert got(world, B) == [(5 * SECOND + LATENCY, "new connection")]


def test_what_is_sent_to_a_process_that_is_down_brings_no_second_news(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, close_us=10 * SECOND)
    world.send(A, B, Request("on its way"))
    world.network.crash(B)
    world.run(5 * SECOND)
    world.send(A, B, Request("later"))
    world.run(60 * SECOND)
    assert got(world, A) == [(11 * SECOND, "reset")]


def test_the_late_news_of_a_reset_is_late_at_one_end_only(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, close_us=10 * SECOND)
    world.network.troubles.sever(A, B)
    world.network.troubles.lift(1)
    world.run(30 * SECOND)
    assert got(world, B) == [(SECOND, "reset")]
    assert got(world, A) == [(11 * SECOND, "reset")]
    assert not world.network.troubles.any


def test_news_of_an_old_life_does_not_reach_a_new_one(world: World) -> None:
    open_connection(world)
    shape(world, B, A, 1, close_us=10 * SECOND)
    world.network.crash(B)
    world.network.crash(A)
    world.network.restart(A)
    world.network.restart(B)
    world.send(A, B, Request("new"))
    world.run(30 * SECOND)
    assert got(world, A) == []
    assert [name for _at, name in got(world, B)] == ["new"]


# --- all together ---------------------------------------------------------------------------------------------------


def trouble(world: World) -> None:
    """Apply some of every fault, in both directions."""
    shape(world, A, B, 1, rate=4_000, loss=100_000)
    shape(world, B, A, 2, answer_us=70 * MS, answer_jitter_us=30 * MS, repeats=40_000)
    shape(world, A, B, 3, rate=9_000, cards=OUT)
    shape(world, B, A, 4, close_us=3 * SECOND, loss=200_000)


def talk(world: World, rounds: int) -> None:
    for number in range(rounds):
        world.send(A, B, Request(number, 700))
        world.send(B, A, StrictResponse(number))
        world.run(world.network.kernel.now + 130 * MS)


def test_a_network_saved_in_the_middle_of_all_that_goes_on_as_it_did() -> None:
    world = make(8, 50)
    open_connection(world)
    trouble(world)
    talk(world, 60)
    world.network.crash(B)
    world.network.restart(B)
    talk(world, 3)
    saved = world.network.save()

    def go_on() -> list[Any]:
        before = len(world.seen(A)), len(world.seen(B))
        talk(world, 20)
        for fault in (1, 2, 3, 4):
            world.network.troubles.lift(fault)
        talk(world, 20)
        world.run(world.network.kernel.now + 60 * SECOND)
        return [world.seen(A)[before[0] :], world.seen(B)[before[1] :]]

    first = go_on()
    assert len(first[0]) > 10 < len(first[1])
    world.network.load(saved)
    assert world.network.save() == saved
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
        st.sampled_from(["send", "send", "send", "send", "shape", "shape", "lift", "sever", "cut", "mend", "wait"]),
        st.sampled_from([(A, B), (B, A), (A, C), (C, A), (B, C), (C, B)]),
        st.integers(1, 4),
        FAULTS,
    ),
    max_size=120,
)


@pytest.mark.slow
@given(st.integers(0, 1 << 20), STEPS)
def test_every_message_arrives_once_and_in_order_or_its_connection_broke_and_both_ends_were_told(
    seed: int, steps: list[tuple[str, tuple[int, int], int, dict[str, int]]]
) -> None:
    world = make(seed, 40)
    sent: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
    number = 0
    for verb, (source, target), fault, what in steps:
        network = world.network
        if verb == "send":
            for _time in range(fault):
                number += 1
                kind = StrictResponse if number % 3 == 0 else Request
                world.send(source, target, kind(number, 100 * fault * fault * fault))
                sent.setdefault((source, target, kind.__name__), []).append((network.kernel.now, number))
        elif verb == "shape":
            shape(world, source, target, fault, **what)
        elif verb == "lift":
            network.troubles.lift(fault)
        elif verb == "sever":
            network.troubles.sever(source, target)
        elif verb in ("cut", "mend"):
            getattr(network, verb)(source, target, fault)
        else:
            world.run(network.kernel.now + fault * fault * 300 * MS)
    for fault in range(1, 5):
        world.network.troubles.lift(fault)
        for link in list(world.network._links):
            world.network.mend(*link, fault)
    world.run(world.network.kernel.now + 120 * SECOND)
    resets = {
        (node, peer): [at for at, what, detail in world.seen(node) if what == "reset" and detail == peer]
        for node in (A, B, C)
        for peer in (A, B, C)
    }
    were_cut = any(step[0] == "cut" for step in steps)
    for (source, target, class_name), messages in sent.items():
        arrived = [
            detail[1].name
            for _at, what, detail in world.seen(target)
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
                world.send(node, peer, Request((node, peer)))
    world.run(world.network.kernel.now + 10 * SECOND)
    for node in (A, B, C):
        heard = [detail[1].name for _at, what, detail in world.seen(node)[-4:] if what == "message"]
        assert sorted(name for name in heard if type(name) is tuple) == [
            (peer, node) for peer in (A, B, C) if peer != node
        ]
    assert all(link.trouble is None for link in world.network._links.values())
