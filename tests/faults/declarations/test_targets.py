"""Target selectors: what each means, and where a wrong one is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import FIRST_CONTROLLER
from faults.declarations.targets import (
    SELECTORS,
    NoMatchError,
    Selector,
    SelectorError,
    parse,
    resolve,
    selector_of,
)
from tests.faults.rigs import SECOND, busy_cluster


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return busy_cluster()


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("leader(orders-0)", [1]),
        ("leader(orders-1)", [2]),
        ("followers(orders-0)", [2, 3]),
        ("isr(orders-1)", [2, 3, 4]),
        ("replicas(orders-1)", [2, 3, 4]),
        ("controller", [FIRST_CONTROLLER]),
        ("controllers", [1_001, 1_002, 1_003]),
        ("controller(1002)", [1_002]),
        ("random(9, controllers)", [1_001, 1_002, 1_003]),
        ("controller(1003) + controller", [1_003, 1_001]),
        ("broker(5)", [5]),
        ("5", [5]),
        ("rack(a)", [1, 4]),
        ("rack(c)", [3]),
        ("client(checkout)", [2_000]),
        ("client(billing/1)", [3_001]),
        ("all", [1, 2, 3, 4, 5]),
        ("brokers", [1, 2, 3, 4, 5]),
        ("clients", [2_000, 3_000, 3_001]),
        ("members(billing)", [3_000, 3_001]),
        ("broker(4) + broker(2)", [4, 2]),
        ("followers(orders-0)+3+leader(orders-0)", [2, 3, 1]),
        ("controller + clients", [FIRST_CONTROLLER, 2_000, 3_000, 3_001]),
        ("random(9, broker(2) + rack(a))", [2, 1, 4]),
        ("random(9, isr(orders-0))", [1, 2, 3]),
        ("random(broker(4))", [4]),
        ("  followers ( orders-0 ) ", [2, 3]),
        ("replica(orders-1, longest)", [2]),
        ("majority(broker(4))", [4]),
        ("minority(rack(a) + broker(3)) & rack(b)", []),
        ("follower(orders-0) - rack(b) - rack(c)", []),
        ("producers", [2_000]),
        ("consumers", [3_000, 3_001]),
        ("clients - producers", [3_000, 3_001]),
        ("all - leader(orders-0)", [2, 3, 4, 5]),
        ("all - rack(a) - broker(5)", [2, 3]),
        ("all - (rack(a) - broker(4))", [2, 3, 4, 5]),
        ("isr(orders-0) & isr(orders-1)", [2, 3]),
        ("replicas(orders-1) & rack(a) + broker(1)", [4, 1]),
        ("replicas(orders-1) & (rack(a) + rack(b))", [2, 4]),
        ("broker(5) + rack(a) & replicas(orders-0) - broker(5)", [1]),
        ("(followers(orders-0))", [2, 3]),
        ("random(9, all - rack(a))", [2, 3, 5]),
    ],
)
def test_a_selector_means_its_nodes(cluster: Cluster, text: str, nodes: list[int], snapshot: SnapshotAssertion) -> None:
    if nodes:
        assert resolve(text, cluster) == nodes
    else:
        with pytest.raises(NoMatchError) as caught:
            resolve(text, cluster)
        assert caught.value.code == "nobody"
        assert str(caught.value) == snapshot


def test_every_kind_of_selector_is_tried_above() -> None:
    cases = next(mark for mark in test_a_selector_means_its_nodes.pytestmark if mark.name == "parametrize").args[1]  # type: ignore[attr-defined]
    elsewhere = {"zookeeper", "zookeepers", "coordinator", "transaction_coordinator", "link"}
    assert {kind for text, _nodes in cases for kind in kinds(parse(text))} | elsewhere == set(SELECTORS)


def kinds(selector: Selector) -> set[str]:
    """The selector's, and those of all that it is made of."""
    inside = [*selector.parts, *([selector.inner] if selector.inner else [])]
    return {selector.kind}.union(*map(kinds, inside))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("controller", [1]),
        ("controllers", [1, 2, 3, 4, 5]),
        ("zookeepers", [1_501, 1_502, 1_503]),
        ("zookeeper(1)", [1_501]),
        ("zookeeper(3) + controller", [1_503, 1]),
    ],
)
def test_zookeeper_mode_has_a_controller_broker_and_ensemble_nodes(text: str, nodes: list[int]) -> None:
    assert resolve(text, busy_cluster(kafka="2.8", mode="zookeeper")) == nodes


@pytest.mark.slow
def test_the_controller_selector_follows_the_active_controller(snapshot: SnapshotAssertion) -> None:
    cluster = busy_cluster()
    cluster.run(SECOND)
    cluster.crash(1_001)
    with pytest.raises(SelectorError) as caught:
        resolve("controller", cluster)
    assert caught.value.code == "nobody"
    assert str(caught.value) == snapshot
    cluster.run(10 * SECOND)
    (active,) = resolve("controller", cluster)
    assert active in (1_002, 1_003)
    assert resolve("controllers", cluster) == [1_001, 1_002, 1_003]


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_every_broker_and_node_of_the_control_plane_has_a_name_as_a_target(mode: str) -> None:
    cluster = busy_cluster(kafka="3.4", mode=mode)
    for node in (*cluster.brokers, *cluster.plane.servers):
        assert resolve(selector_of(node), cluster) == [node]


def test_selectors_see_the_cluster_as_it_is_now() -> None:
    cluster = busy_cluster()
    cluster.run(SECOND)
    cluster.crash(1)
    assert resolve("leader(orders-0)", cluster) == [1]
    cluster.run(8 * SECOND)
    assert resolve("leader(orders-0)", cluster) == [2]
    assert resolve("isr(orders-0)", cluster) == [2, 3]
    assert resolve("followers(orders-0)", cluster) == [1, 3]
    assert resolve("replicas(orders-0)", cluster) == [1, 2, 3]


def test_the_leader_of_an_offline_partition_matches_no_node(snapshot: SnapshotAssertion) -> None:
    cluster = busy_cluster()
    cluster.run(SECOND)
    for broker in (1, 2, 3):
        cluster.crash(broker)
    cluster.run(10 * SECOND)
    assert cluster.query.leader("orders-0") == -1
    with pytest.raises(SelectorError) as caught:
        resolve("leader(orders-0)", cluster)
    assert caught.value.code == "nobody"
    assert str(caught.value) == snapshot
    assert resolve("leader(orders-0) + broker(4)", cluster) == [4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "column", "code"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("leder(orders-0)", 0, "unknown_target"),
        ("leader", 6, "unexpected_word"),
        ("leader(", 7, "incomplete"),
        ("leader()", 7, "incomplete"),
        ("leader(orders-0", 15, "unexpected_word"),
        ("leader(orders-0, 2)", 15, "unexpected_word"),
        ("leader(orders-0) x", 17, "word_too_many"),
        ("all(1)", 3, "word_too_many"),
        ("broker(one)", 7, "not_a_number"),
        ("controller(one)", 11, "not_a_number"),
        ("controller()", 11, "incomplete"),
        ("controllers(1)", 11, "word_too_many"),
        ("zookeeper", 9, "unexpected_word"),
        ("rack a", 5, "unexpected_word"),
        ("random(2, )", 10, "incomplete"),
        ("random(2)extra", 9, "word_too_many"),
        ("random(2, nobody)", 10, "unknown_target"),
        ("random(2, isr(orders-0)", 23, "unexpected_word"),
        ("random()", 7, "incomplete"),
        ("leader[orders-0]", 6, "unexpected_character"),
        ("broker(1) +", 11, "incomplete"),
        ("+ broker(1)", 0, "unknown_target"),
        ("broker(1) + + 2", 12, "incomplete"),
        ("broker(+)", 7, "incomplete"),
        ("broker(1) + nobody", 12, "unknown_target"),
        ("clients(1)", 7, "word_too_many"),
        ("isr(orders-0) ; drop", 14, "unexpected_character"),
        ("producer", 0, "unknown_target"),
        ("all -broker(1)", 4, "word_too_many"),
        ("broker(2)-broker(1)", 9, "word_too_many"),
        ("all + -broker(1)", 6, "unknown_target"),
        ("all -", 5, "incomplete"),
        ("all - - all", 6, "incomplete"),
        ("all & ", 5, "incomplete"),
        ("all & + all", 6, "incomplete"),
        ("()", 1, "incomplete"),
        ("(all", 4, "unexpected_word"),
        ("(all) all", 6, "word_too_many"),
        ("replica(orders-0)", 16, "unexpected_word"),
        ("replica(orders-0, longer)", 18, "not_a_choice"),
        ("follower", 8, "unexpected_word"),
        ("majority()", 9, "incomplete"),
        ("minority(3, all)", 10, "unexpected_word"),
        ("link(all)", 8, "unexpected_word"),
        ("link(all, )", 10, "incomplete"),
        ("link(all, all) + all", 15, "word_too_many"),
        ("all + link(all, all)", 6, "link_combined"),
        ("random(2, link(all, all))", 10, "link_combined"),
        pytest.param("(" * 101 + "all", 100, "too_deep", id="101 brackets"),
    ],
)
def test_a_wrong_selector_is_refused_with_its_place(
    text: str, column: int, code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(SelectorError) as caught:
        parse(text)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "column", "code"),
    [
        ("leader(orders-9)", 7, "no_partition"),
        ("broker(9)", 7, "no_broker"),
        ("9", 0, "no_broker"),
        ("rack(z)", 5, "no_rack"),
        ("client(chekout)", 7, "no_client"),
        ("client(controller)", 7, "no_client"),
        ("controller(7)", 11, "no_controller"),
        ("zookeeper(1)", 10, "no_zookeeper"),
        ("zookeepers", 0, "no_zookeeper"),
        ("random(2, rack(z))", 15, "no_rack"),
        ("broker(1) + rack(z)", 17, "no_rack"),
        ("broker(1) - (all & rack(z))", 24, "no_rack"),
        ("follower(orders-9)", 9, "no_partition"),
        ("replica(orders-9, longest)", 8, "no_partition"),
        ("majority(members(bil))", 17, "no_group"),
        ("link(broker(1), broker(2))", 0, "two_sides"),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_those_that_are(
    cluster: Cluster, text: str, column: int, code: str, snapshot: SnapshotAssertion
) -> None:
    parse(text)
    with pytest.raises(SelectorError) as caught:
        resolve(text, cluster)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert caught.value.column == column


@given(st.text(st.sampled_from("(),+&random123 leaderisrbk-é[]\n"), max_size=40))
def test_any_text_is_a_selector_or_refused_at_a_place_within_it(text: str) -> None:
    column = refused_at(text)
    if column is None:
        assert parse(text).kind in SELECTORS
    else:
        assert 0 <= column <= len(text)


def refused_at(text: str) -> int | None:
    """Where a selector is wrong, None when it is not."""
    try:
        parse(text)
    except SelectorError as error:
        return error.column
    return None


@pytest.mark.parametrize("text", ["random(" * 5_000, "broker(" + "9" * 5_000 + ")"], ids=["nested", "digits"])
def test_a_very_long_selector_is_refused(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SelectorError) as caught:
        parse(text)
    assert caught.value.code == "too_long"
    assert str(caught.value) == snapshot


def test_a_selector_may_be_nested() -> None:
    selector = parse("random(" * 100 + "all" + ")" * 100)
    depth = 0
    while selector.inner is not None:
        selector, depth = selector.inner, depth + 1
    assert (depth, selector.kind) == (100, "all")


def test_parsing_gives_the_parts() -> None:
    assert parse("random(2, isr(orders-0))") == Selector("random", "", 2, Selector("isr", "orders-0"))
    joined = Selector("+", parts=(Selector("broker", "1"), Selector("clients")))
    assert parse("broker(1) + clients") == joined
    assert parse("random(2, broker(1) + clients)") == Selector("random", "", 2, joined)
    assert parse("random(all)") == Selector("random", "", 1, Selector("all"))


# --- chance ---------------------------------------------------------------------------------------------------------


def draws(cluster: Cluster) -> list[list[int]]:
    return [resolve("random(2, all)", cluster) for _draw in range(6)]


def test_random_draws_are_different_members_in_the_order_of_the_candidates() -> None:
    cluster = busy_cluster()
    for drawn in draws(cluster):
        assert len(drawn) == 2
        assert drawn == sorted(set(drawn))


def test_random_draws_are_the_same_for_the_same_seed_and_differ_for_others() -> None:
    assert draws(busy_cluster(7)) == draws(busy_cluster(7))
    assert len({str(draws(busy_cluster(seed))) for seed in range(4)}) == 4


def test_random_draws_come_from_a_stream_of_their_own() -> None:
    idle, running = busy_cluster(), busy_cluster()
    running.run(3 * SECOND)
    assert draws(idle) == draws(running)
    untouched = busy_cluster()
    untouched.run(3 * SECOND)
    untouched.run(6 * SECOND)
    running.run(6 * SECOND)
    assert running.digest() == untouched.digest()


def test_random_selectors_reach_every_node() -> None:
    cluster = busy_cluster()
    drawn = {resolve("random(all)", cluster)[0] for _draw in range(60)}
    assert drawn == {1, 2, 3, 4, 5}
