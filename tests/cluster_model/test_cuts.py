"""Cut links: what is sent over one waits, comes through in order, or is given up; and what a cluster makes of it."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.kernel.link import GIVEN_UP_US, next_retransmission
from cluster_model.protocol.events import IsrChanged, ProduceRefused, TraceEvent
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.kernel.test_network import LATENCY, A, B, C, ThreeNodes
from tests.support.breadth import spread_sample

MS = 1_000
SECOND = 1_000_000
PRODUCER = 2_000


@pytest.fixture
def cluster_state() -> ThreeNodes:
    return ThreeNodes()


def words(cluster_state: ThreeNodes, node: int) -> list[Any]:
    return [detail[1] if what == "message" else what for _at, what, detail in cluster_state.seen(node)]


def test_messages_over_a_cut_link_arrive_in_order_after_the_heal(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    for word in ("one", "two", "three"):
        cluster_state.send(A, B, word)
        cluster_state.run(cluster_state.network.kernel.now + 1_000)
    assert cluster_state.seen(B) == []
    cluster_state.run(5 * SECOND)
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.send(A, B, "four")
    cluster_state.run(7 * SECOND)
    assert cluster_state.seen(B) == [
        (6_200 * MS + LATENCY, "message", (A, word)) for word in ("one", "two", "three", "four")
    ]
    assert cluster_state.seen(A) == []
    cluster_state.send(A, B, "five")
    cluster_state.run(8 * SECOND)
    assert cluster_state.seen(B)[-1] == (7 * SECOND + LATENCY, "message", (A, "five"))


@pytest.mark.parametrize(
    ("healed", "again"),
    [(0, 200), (200, 200), (201, 600), (1_400, 1_400), (2_000, 3_000), (6_201, 12_600), (12_601, 25_400)],
)
def test_each_retransmission_timeout_is_twice_the_one_before(healed: int, again: int) -> None:
    assert next_retransmission(7 * SECOND, 7 * SECOND + healed * MS) == 7 * SECOND + again * MS


def test_a_retransmission_into_the_next_cut_is_lost_too(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "held")
    for healed, cut_again in ((700, 1_300), (1_500, 2_900)):
        cluster_state.run(healed * MS)
        cluster_state.network.heal_cut(A, B, 1)
        cluster_state.run(cut_again * MS)
        cluster_state.network.cut(A, B, 1)
    cluster_state.run(5 * SECOND)
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.run(10 * SECOND)
    assert cluster_state.seen(B) == [(6_200 * MS + LATENCY, "message", (A, "held"))]


@pytest.mark.parametrize(("source", "target"), [(A, B), (B, A)], ids=["requests", "responses"])
def test_a_new_connection_does_not_wait_for_the_retransmissions_of_the_old_one(
    source: int, target: int, cluster_state: ThreeNodes
) -> None:
    cluster_state.network.cut(source, target, 1)
    cluster_state.send(source, target, "old connection")
    cluster_state.run(7 * SECOND)
    cluster_state.network.heal_cut(source, target, 1)
    cluster_state.network.connect(A, B)
    cluster_state.run(8 * SECOND)
    cluster_state.send(source, target, "new connection")
    cluster_state.run(20 * SECOND)
    assert [(at, detail[1]) for at, _what, detail in cluster_state.seen(target) if isinstance(detail[1], str)] == [
        (8 * SECOND + LATENCY, "new connection"), (12_600 * MS + LATENCY, "old connection"),
    ]  # fmt: skip


def test_only_the_direction_that_is_cut_is_silent(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "held")
    cluster_state.send(B, A, "passes")
    cluster_state.send(A, C, "passes too")
    cluster_state.run(SECOND)
    assert (words(cluster_state, A), words(cluster_state, B), words(cluster_state, C)) == (
        ["passes"],
        [],
        ["passes too"],
    )


def test_a_link_stays_cut_until_the_last_fault_fixes_it(cluster_state: ThreeNodes) -> None:
    for fault in (1, 2, 1):
        cluster_state.network.cut(A, B, fault)
    cluster_state.send(A, B, "x")
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.network.heal_cut(A, B, 7)
    cluster_state.run(SECOND)
    assert cluster_state.seen(B) == []
    cluster_state.network.heal_cut(A, B, 2)
    cluster_state.run(2 * SECOND)
    assert cluster_state.seen(B) == [(1_400 * MS + LATENCY, "message", (A, "x"))]


def test_a_connection_is_given_up_when_its_oldest_message_has_waited_too_long(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.run(SECOND)
    cluster_state.send(A, B, "oldest")
    cluster_state.run(20 * SECOND)
    cluster_state.send(A, B, "younger, on the same connection")
    cluster_state.run(SECOND + GIVEN_UP_US - 1)
    assert cluster_state.seen(A) == []
    cluster_state.run(SECOND + GIVEN_UP_US)
    assert cluster_state.seen(A) == [(SECOND + GIVEN_UP_US, "reset", B)]
    cluster_state.send(A, B, "anew")
    cluster_state.run(40 * SECOND)
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.run(90 * SECOND)
    assert words(cluster_state, B) == ["anew"]
    assert words(cluster_state, A) == ["reset"]


def test_each_connection_has_its_own_time(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "first")
    cluster_state.run(GIVEN_UP_US + SECOND)
    cluster_state.send(A, B, "second")
    cluster_state.run(2 * GIVEN_UP_US + SECOND)
    assert [at for at, _what, _detail in cluster_state.seen(A)] == [GIVEN_UP_US, 2 * GIVEN_UP_US + SECOND]


def test_a_new_life_of_the_sender_does_not_lose_its_connection_with_the_old_ones(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "old life")
    cluster_state.network.crash(A)
    cluster_state.network.restart(A)
    cluster_state.run(10 * SECOND)
    cluster_state.send(A, B, "new life")
    cluster_state.run(35 * SECOND)
    assert cluster_state.seen(A) == []
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.run(36 * SECOND)
    assert words(cluster_state, B) == ["new life"]


@pytest.mark.parametrize(("stop", "arrives"), [("crash", ["last words"]), ("power_off", [])])
def test_the_system_of_a_killed_process_still_sends_and_a_dead_machine_does_not(
    cluster_state: ThreeNodes, stop: str, arrives: list[str]
) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "last words")
    getattr(cluster_state.network, stop)(A)
    cluster_state.run(SECOND)
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.run(2 * SECOND)
    assert words(cluster_state, B) == arrives


@pytest.mark.parametrize(
    ("after", "dark", "arrives"),
    [
        (400 * MS - 1, True, ["of the next life"]),
        (400 * MS - 1, False, ["of the next life", "held", "behind it"]),
        (400 * MS, True, ["held", "behind it", "of the next life"]),
    ],
)
def test_retransmissions_are_lost_with_their_machine(
    cluster_state: ThreeNodes, after: int, dark: bool, arrives: list[str]
) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "held")
    cluster_state.run(SECOND)
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.send(A, B, "behind it")
    cluster_state.run(SECOND + after)
    (cluster_state.network.power_off if dark else cluster_state.network.crash)(A)
    cluster_state.network.restart(A)
    cluster_state.send(A, B, "of the next life")
    cluster_state.run(3 * SECOND)
    assert [word for word in words(cluster_state, B) if word != "reset"] == arrives


def cut_both(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.network.cut(B, A, 1)


def test_no_reset_passes_a_cut_link_and_the_new_life_answers_what_was_meant_for_the_old(
    cluster_state: ThreeNodes,
) -> None:
    cluster_state.send(A, B, "hello")
    cluster_state.run(SECOND)
    cut_both(cluster_state)
    cluster_state.send(A, B, "for the old life")
    cluster_state.network.crash(B)
    cluster_state.run(2 * SECOND)
    cluster_state.network.restart(B)
    cluster_state.run(10 * SECOND)
    assert cluster_state.seen(A) == []
    for source, target in ((A, B), (B, A)):
        cluster_state.network.heal_cut(source, target, 1)
    cluster_state.run(15 * SECOND)
    assert words(cluster_state, B) == ["hello"]
    assert cluster_state.seen(A) == [(13_600 * MS + 2 * LATENCY, "reset", B)]


def test_a_reset_that_passes_the_open_direction_ends_what_waits_in_the_other(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "held")
    cluster_state.network.crash(B)
    cluster_state.network.restart(B)
    cluster_state.run(SECOND)
    cluster_state.network.heal_cut(A, B, 1)
    cluster_state.run(60 * SECOND)
    assert (words(cluster_state, A), words(cluster_state, B)) == (["reset"], [])


def test_a_paused_sender_learns_of_the_end_of_its_connection_when_it_continues(cluster_state: ThreeNodes) -> None:
    cluster_state.network.cut(A, B, 1)
    cluster_state.send(A, B, "held")
    cluster_state.network.pause(A)
    cluster_state.run(40 * SECOND)
    assert cluster_state.seen(A) == []
    cluster_state.network.resume(A)
    cluster_state.run(41 * SECOND)
    assert cluster_state.seen(A) == [(40 * SECOND, "reset", B)]


def test_a_network_saved_in_the_middle_of_a_cut_continues_as_it_did(cluster_state: ThreeNodes) -> None:
    cut_both(cluster_state)
    cluster_state.send(A, B, "held")
    cluster_state.run(5 * SECOND)
    saved = cluster_state.network.save()

    def go_on() -> list[Any]:
        before = len(cluster_state.seen(A)), len(cluster_state.seen(B))
        cluster_state.send(A, B, "more")
        cluster_state.network.heal_cut(A, B, 1)
        cluster_state.send(B, A, "given up")
        cluster_state.run(80 * SECOND)
        return [cluster_state.seen(A)[before[0] :], cluster_state.seen(B)[before[1] :]]

    first = go_on()
    assert [detail for _at, _what, detail in first[1]] == [(A, "held"), (A, "more"), A]
    cluster_state.network.load(saved)
    assert cluster_state.network.save() == saved
    assert go_on() == first


# --- a cluster ------------------------------------------------------------------------------------------------------


def cluster_of(*, naive: bool = False, **producer: Any) -> Cluster:
    spec = ClusterSpec(
        kafka="3.9",
        mode=None,
        brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        topics=(TopicSpec("t", 1, 3, ((1, 2, 3),)),),
        producers=(ProducerSpec("p", "t", 100 * MS, config={"acks": "all", **producer}),),
        groups=(GroupSpec("g", ("t",)),),
        config={"replica.lag.time.max.ms": 8_000, "min.insync.replicas": 2},
    )
    return Cluster.build(spec, 3, naive=naive)


def cut(cluster: Cluster, one: int, other: int) -> None:
    cluster.cut(one, other, 1)
    cluster.cut(other, one, 1)


def repair(cluster: Cluster, one: int, other: int) -> None:
    cluster.heal_cut(one, other, 1)
    cluster.heal_cut(other, one, 1)


def test_a_follower_cut_from_its_leader_leaves_the_isr_after_the_lag_time_and_comes_back() -> None:
    cluster = cluster_of()
    cluster.run(5 * SECOND)
    cut(cluster, 3, 1)
    cluster.run(5 * SECOND + 7_900 * MS)
    assert cluster.query.isr("t-0") == [1, 2, 3]
    acked = cluster.query.acked()
    cluster.run(5 * SECOND + 13 * SECOND)
    assert cluster.query.isr("t-0") == [1, 2]
    assert cluster.is_up(3)
    assert cluster.query.leader("t-0") == 1
    cluster.run(25 * SECOND)
    assert cluster.query.acked() > acked + 100
    repair(cluster, 3, 1)
    cluster.run(32 * SECOND)
    assert cluster.query.isr("t-0") == [1, 2, 3]
    changes = [event.isr for event in cluster.drain() if isinstance(event, IsrChanged)]
    assert changes == [(1, 2), (1, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["requests", "answers"])
def test_a_producer_cut_from_its_leader_times_out_by_its_own_clock(direction: str) -> None:
    cluster = cluster_of(**{"request.timeout.ms": 4_000, "delivery.timeout.ms": 60_000, "linger.ms": 0})
    cluster.run(5 * SECOND)
    cluster.drain()
    pair = (PRODUCER, 1) if direction == "requests" else (1, PRODUCER)
    cluster.cut(*pair, 1)
    cluster.run(12 * SECOND)
    refused = [event for event in cluster.drain() if isinstance(event, ProduceRefused)]
    assert refused[0].error == "REQUEST_TIMED_OUT"
    assert 9 * SECOND <= refused[0].at_us <= 9_200 * MS
    cluster.heal_cut(*pair, 1)
    cluster.run(30 * SECOND)
    cluster.stop_producers()
    cluster.run(60 * SECOND)
    query = cluster.query
    assert query.acked() == query.sent() > 200
    assert query.duplicates() == 0 == query.acked_lost()


Act = Callable[[Cluster], None]
STORY: tuple[tuple[int, Act], ...] = (
    (6, lambda cluster: cut(cluster, 1, 3)),
    (9, lambda cluster: cluster.cut(2, 1, 2)),
    (11, lambda cluster: cluster.crash(3)),
    (12, lambda cluster: cluster.restart(3)),
    (45, lambda cluster: repair(cluster, 1, 3)),
    (50, lambda cluster: cluster.heal_cut(2, 1, 2)),
)
"""What is done at which second."""


def tell(cluster: Cluster, since: int = 0, until: int = 80) -> None:
    """The story, or its part between two seconds."""
    for at, act in STORY:
        if since <= at < until:
            cluster.run(at * SECOND + 123)
            act(cluster)
    cluster.run(until * SECOND)


@pytest.mark.slow
@pytest.mark.parametrize("middle", spread_sample([7, 10, 20, 42, 47], 2))
def test_a_keyframe_from_the_middle_of_a_cut_continues_as_the_first_time(middle: int) -> None:
    straight = cluster_of()
    tell(straight)
    assert straight.query.acked_lost() == 0
    cluster = cluster_of()
    tell(cluster, until=middle)
    keyframe = unpack(pack(cluster.save()))[0]
    for other in (cluster.twin(), cluster):
        other.load(keyframe)
        assert other.save()[:-1] == keyframe[:-1]
        tell(other, since=middle)
        assert other.digest() == straight.digest()


def events_of(cluster: Cluster) -> list[TraceEvent]:
    tell(cluster)
    return cluster.drain()


@pytest.mark.slow
def test_skipped_idle_polls_do_not_change_the_outcome_with_cut_links() -> None:
    assert events_of(cluster_of()) == events_of(cluster_of(naive=True))


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(1, 2), (2, 1)])
@pytest.mark.parametrize("into", range(0, 640, 15))
def test_idle_polls_are_not_skipped_over_a_cut_link(pair: tuple[int, int], into: int) -> None:
    spec = ClusterSpec(
        "3.9",
        None,
        (BrokerSpec(1), BrokerSpec(2)),
        (TopicSpec("t", 1, 2, ((1, 2),)),),
        network=NetworkSpec(20 * MS, 0),
    )
    cluster = Cluster.build(spec, 0)
    exchange = cluster.network.exchange(2, 1, 0)
    cluster.run(5 * SECOND + into * MS)
    assert exchange.asleep
    cluster.cut(*pair, 1)
    for _time in range(40):
        assert not exchange.asleep
        cluster.run(cluster.now_us + 100 * MS)
    cluster.heal_cut(*pair, 1)
    cluster.run(cluster.now_us + 3 * SECOND)
    assert exchange.asleep
