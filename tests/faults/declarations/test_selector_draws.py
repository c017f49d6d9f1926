"""Selectors that draw or compare, targets with two sides, and injections that nobody is there for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import FaultInjected, FaultSkipped
from faults.declarations.fault import Action, FaultError, NoTargetError
from faults.declarations.targets import Selector, parse, resolve
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject

# --- drawing --------------------------------------------------------------------------------------------------------


def often(text: str, times: int = 60) -> list[list[int]]:
    cluster = busy_cluster()
    return [resolve(text, cluster) for _time in range(times)]


def test_a_follower_is_each_of_them_sooner_or_later_and_never_the_leader() -> None:
    assert {tuple(found) for found in often("follower(orders-1)")} == {(3,), (4,)}


def test_a_follower_that_is_up_is_preferred() -> None:
    cluster = busy_cluster()
    cluster.crash(3)
    assert {tuple(resolve("follower(orders-1)", cluster)) for _time in range(20)} == {(4,)}
    cluster.crash(4)
    assert {tuple(resolve("follower(orders-1)", cluster)) for _time in range(40)} == {(3,), (4,)}


@pytest.mark.parametrize(
    ("text", "count", "of"),
    [
        ("majority", 3, {1, 2, 3, 4, 5}),
        ("minority", 2, {1, 2, 3, 4, 5}),
        ("majority(replicas(orders-0))", 2, {1, 2, 3}),
        ("minority(replicas(orders-0))", 1, {1, 2, 3}),
        ("majority(rack(a))", 2, {1, 4}),
        ("majority(replicas(orders-0) + broker(5))", 3, {1, 2, 3, 5}),
        ("minority(replicas(orders-0) + broker(5))", 1, {1, 2, 3, 5}),
        ("majority(controllers)", 2, {1_001, 1_002, 1_003}),
    ],
)
def test_a_majority_is_more_than_half_and_a_minority_less(text: str, count: int, of: set[int]) -> None:
    found = often(text)
    assert {len(each) for each in found} == {count}
    assert {node for each in found for node in each} == of
    assert all(each == sorted(each) for each in found)


@pytest.mark.slow
def test_two_nodes_have_no_minority(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(NoTargetError) as caught:
        inject(board_of(busy_cluster()), "gc_pause", "minority(rack(a))")
    assert caught.value.code == "nobody"
    assert str(caught.value) == snapshot


# --- the length of logs ---------------------------------------------------------------------------------------------


def test_replicas_are_selected_by_the_length_of_their_logs() -> None:
    cluster = busy_cluster(kafka="2.8", mode="zookeeper")  # with acks=1 the leader appends without its followers
    cluster.run(SECOND)
    inject(board_of(cluster), "partition", "broker(3)", to="broker(1)")
    cluster.run(SECOND + 400 * MS)
    cluster.crash(2)
    cluster.run(2 * SECOND)
    ends = [cluster.query.leo("orders-0", broker) for broker in (1, 2, 3)]
    assert ends[0] > ends[1] > ends[2] > 0
    assert resolve("replica(orders-0, longest)", cluster) == [1]
    assert resolve("replica(orders-0, shortest)", cluster) == [3]
    cluster.crash(1)
    assert resolve("replica(orders-0, longest)", cluster) == resolve("replica(orders-0, shortest)", cluster) == [3]
    cluster.crash(3)
    assert resolve("replica(orders-0, longest)", cluster) == [1]


def test_shortest_selects_the_first_assigned_of_equal_logs() -> None:
    cluster = busy_cluster()
    assert cluster.query.leo("orders-1", 2) == cluster.query.leo("orders-1", 4)
    assert resolve("replica(orders-1, longest)", cluster) == resolve("replica(orders-1, shortest)", cluster) == [2]


# --- two sides ------------------------------------------------------------------------------------------------------


def test_a_link_is_a_target_and_its_other_side(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "partition", "link(leader(orders-0) + 5, followers(orders-0) - 3)", direction="out")
    cut = {pair for pair, link in cluster.network._links.items() if link.cuts}
    assert cut == {(1, 2), (5, 2)}
    (event,) = [event for event in cluster.drain() if isinstance(event, FaultInjected)]
    assert event.target == "broker 1, broker 5"
    assert event.detail == "to=followers(orders-0)-broker(3)->broker2 direction=out"


@pytest.mark.parametrize(
    ("fault", "target", "params", "code"),
    [
        ("crash", "link(1, 2)", {}, "not_for_links"),
        ("lag", "link(1, 2)", {"to": "3"}, "other_side_twice"),
        ("lag", "1", {"to": "link(2, 3)"}, "two_sides"),
        ("lag", "link(1, 9)", {}, "no_broker"),
        ("lag", "link(1, 1)", {}, "one_end"),
        ("lag", "link(1, 2", {}, "unexpected_word"),
    ],
)
def test_a_link_is_refused_where_it_has_no_place(
    cluster: Cluster,
    board: FaultInjector,
    fault: str,
    target: str,
    params: dict[str, str],
    code: str,
    snapshot: SnapshotAssertion,
) -> None:
    before = cluster.digest(), board.save()
    with pytest.raises(FaultError) as caught:
        inject(board, fault, target, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert (cluster.digest(), board.save()) == before


# --- what was meant is told -----------------------------------------------------------------------------------------


def test_link_faults_record_the_selector_and_nodes_of_the_other_side(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "lag", "follower(orders-0)", to="random(2, brokers - replicas(orders-0)) + leader(orders-0)")
    inject(board, "lag", "broker(2)", to="rack(a)")
    one, other = [event for event in cluster.drain() if isinstance(event, FaultInjected)]
    assert one.target in ("broker 2", "broker 3")
    assert "to=random(2,brokers-replicas(orders-0))+leader(orders-0)->broker4,broker5,broker1 " in one.detail
    assert "to=rack(a) " in other.detail


# --- nobody ---------------------------------------------------------------------------------------------------------


def leaderless() -> Cluster:
    cluster = busy_cluster()
    cluster.run(SECOND)
    for broker in (1, 2, 3):
        cluster.crash(broker)
    cluster.run(10 * SECOND)
    cluster.drain()
    return cluster


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "target", "params", "code"),
    [
        ("gc_pause", "leader(orders-0)", {}, "nobody"),
        ("lag", "broker(4)", {"to": "leader(orders-0)"}, "nobody"),
        ("lag", "link(broker(4), leader(orders-0))", {}, "nobody"),
        ("gc_pause", "random(rack(a)) & leader(orders-0)", {}, "nobody"),
        ("gc_pause", "coordinator(billing)", {}, "no_coordinator"),
    ],
)
def test_a_fault_without_targets_is_refused_or_skipped(
    fault: str, target: str, params: dict[str, str], code: str, snapshot: SnapshotAssertion
) -> None:
    cluster = leaderless()
    board = board_of(cluster)
    before = cluster.digest(), board.save(), cluster.stream("targets").position
    with pytest.raises(NoTargetError) as caught:
        inject(board, fault, target, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert (cluster.digest(), board.save(), cluster.stream("targets").position) == before
    assert board.inject(Action("inject", fault, target, dict(params), 5 * SECOND, if_any=True)) == 0
    assert (board.save(), cluster.stream("targets").position) == before[1:]
    (event,) = cluster.drain()
    assert isinstance(event, FaultSkipped)
    assert (event.at_us, event.fault, event.target) == (10 * SECOND, fault, target)
    assert event.detail == str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "code"),
    [("broker(9)", "no_broker"), ("leader(orders-7)", "no_partition"), ("broker(1)", "down_already")],
)
def test_only_empty_targets_are_skipped_not_errors(target: str, code: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(FaultError) as caught:
        board_of(leaderless()).inject(Action("inject", "crash", target, if_any=True))
    assert caught.value.code == code
    assert str(caught.value) == snapshot


def test_somebody_is_affected_as_ever(cluster: Cluster, board: FaultInjector) -> None:
    assert board.inject(Action("inject", "crash", "leader(orders-0)", if_any=True)) == 1
    assert not cluster.is_up(1)


# --- the text of a selector -----------------------------------------------------------------------------------------

LEAVES = st.sampled_from(
    ["all", "clients", "leader(orders-0)", "replica(a-b-0, longest)", "broker(12)", "controller", "controller(1001)",
     "rack(eu-1)", "client(billing/0)", "minority"]
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-&"), inner).map(lambda three: f"({three[0]}) {three[1]} ({three[2]})"),
        st.tuples(inner, st.sampled_from("+-&"), inner).map(" ".join),
        inner.map(lambda text: f"random(2, {text})"),
        inner.map(lambda text: f"majority({text})"),
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(TREES)
def test_a_selector_is_written_as_it_is_read(text: str) -> None:
    selector = parse(text)
    assert parse(str(selector)) == selector


def test_it_is_written_with_the_brackets_that_it_needs(snapshot: SnapshotAssertion) -> None:
    for text in ("all - (rack(a) - 4)", "(all + clients) & rack(b)", "all & (clients & rack(a))", "link(1, 2 & 3)"):
        written = str(parse(text))
        assert written == text.replace("4", "broker(4)").replace("1, 2 & 3", "broker(1), broker(2) & broker(3)")
    assert str(parse("((all) - (clients & rack(b))) + all")) == snapshot


def test_static_and_dynamic_selectors_are_distinguished() -> None:
    fixed = ("all", "rack(a) + broker(1)", "brokers - controllers", "controller(1001)", "client(x) & consumers")
    moving = ("leader(a-0)", "controller", "random(all)", "majority", "all - leader(a-0)", "all & minority(all)")
    assert [parse(text).fixed for text in (*fixed, *moving)] == [True] * len(fixed) + [False] * len(moving)


def test_operators_bind_as_they_are_reported_to() -> None:
    one, two, three = (Selector("broker", str(number)) for number in (1, 2, 3))
    assert parse("1 + 2 & 3") == Selector("+", parts=(one, Selector("&", parts=(two, three))))
    assert parse("(1 + 2) & 3") == Selector("&", parts=(Selector("+", parts=(one, two)), three))
    assert parse("1 - 2 + 3") == Selector("+", parts=(Selector("-", parts=(one, two)), three))
    assert parse("1 - (2 + 3)") == Selector("-", parts=(one, Selector("+", parts=(two, three))))
    assert parse("1 - 2 - 3") == Selector("-", parts=(one, two, three))
