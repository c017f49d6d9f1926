"""Shapes of networks: who hears whom under each, what comes of it, and that it mends."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import FaultInjected
from faults.declarations.fault import Action, FaultError
from faults.injector import FaultInjector
from faults.kinds.partition import neighbours
from tests.faults.rigs import MS, SECOND, begun, board_of, busy_cluster, inject, unsettled, until_well
from tests.faults.test_expecting import leaders_and_isrs, seen, told
from tests.support.breadth import covering_cases

BROKERS = (1, 2, 3, 4, 5)
VOTERS = (1_001, 1_002, 1_003)
CLIENTS = (2_000, 3_000, 3_001, 4_000)
EVERYBODY = (*VOTERS, *BROKERS, *CLIENTS)


def cuts(cluster: Cluster) -> set[tuple[int, int]]:
    return {pair for pair, link in cluster.network._links.items() if link.cuts}


def hears(cluster: Cluster, node: int, among: tuple[int, ...]) -> frozenset[int]:
    """Itself, and whom it can exchange messages with."""
    cut = cuts(cluster)
    return frozenset(each for each in among if (each, node) not in cut and (node, each) not in cut)


def details(cluster: Cluster) -> dict[str, str]:
    """The parameters of the only fault that was injected since the last look, as its event tells them."""
    (event,) = [event for event in cluster.drain() if isinstance(event, FaultInjected)]
    pairs = (part.partition("=") for part in event.detail.split())
    return {name: value for name, _equals, value in pairs}


# --- isolation ------------------------------------------------------------------------------------------------------


def test_each_isolated_node_is_alone(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "isolate", "broker(1) + broker(3) + client(checkout)")
    for node in (1, 3, 2_000):
        assert hears(cluster, node, EVERYBODY) == {node}
    assert hears(cluster, 2, EVERYBODY) == set(EVERYBODY) - {1, 3, 2_000}
    board.heal("isolate")
    assert cuts(cluster) == set()


@pytest.mark.parametrize(("direction", "out", "into"), [("out", True, False), ("in", False, True)])
def test_isolation_has_a_direction(
    cluster: Cluster, board: FaultInjector, direction: str, out: bool, into: bool
) -> None:
    inject(board, "isolate", "broker(1)", direction=direction)
    assert cuts(cluster) == {
        pair
        for other in EVERYBODY
        if other != 1
        for pair in (*([(1, other)] if out else []), *([(other, 1)] if into else []))
    }


def test_isolation_may_be_from_some_only(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "isolate", "rack(a)", to="brokers")
    assert hears(cluster, 1, EVERYBODY) == {1, *VOTERS, *CLIENTS}
    assert hears(cluster, 4, BROKERS) == {4}
    assert hears(cluster, 2, BROKERS) == {2, 3, 5}


# --- rings ----------------------------------------------------------------------------------------------------------

RINGS = {
    5: "all",
    6: "all + controller(1001)",
    7: "all + controllers - controller(1003)",
    8: "all + controllers",
    9: "all + controllers + producers",
    10: "all + controllers + members(billing)",
    11: "all + controllers + clients",
}


@pytest.mark.parametrize("order", ["drawn", "given"])
@pytest.mark.parametrize("count", RINGS)
def test_everybody_on_a_ring_hears_a_majority_and_no_two_the_same(
    cluster: Cluster, board: FaultInjector, count: int, order: str
) -> None:
    inject(board, "majority_ring", RINGS[count], order=order)
    targets = board._active[1].nodes
    assert len(targets) == count
    heard = {node: hears(cluster, node, targets) for node in targets}
    assert all(2 * len(each) > count for each in heard.values())
    assert len(set(heard.values())) == count
    # No fewer would do: who is heard comes in pairs.
    assert all(2 * (len(each) - 2) <= count for each in heard.values())
    assert all(node in heard[other] for node, each in heard.items() for other in each)
    others = [node for node in EVERYBODY if node not in targets]
    assert all(hears(cluster, node, EVERYBODY) == set(EVERYBODY) for node in others)
    board.heal("majority_ring")
    assert cuts(cluster) == set()


def test_on_a_ring_of_five_each_hears_one_to_each_side(cluster: Cluster, board: FaultInjector) -> None:
    assert [neighbours(count) for count in (5, 6, 7, 8, 9, 10)] == [1, 2, 2, 2, 2, 3]
    inject(board, "majority_ring", "", order="given")
    assert [sorted(hears(cluster, node, BROKERS)) for node in BROKERS] == [
        [1, 2, 5], [1, 2, 3], [2, 3, 4], [3, 4, 5], [1, 4, 5],
    ]  # fmt: skip
    assert details(cluster) == {"order": "given", "ring": "broker1,broker2,broker3,broker4,broker5"}


def test_the_seed_draws_the_ring_and_the_event_reports_it() -> None:
    rings = set()
    for seed in range(6):
        cluster = busy_cluster(seed)
        inject(board_of(cluster), "majority_ring", "all")
        ring = [int(name.removeprefix("broker")) for name in details(cluster)["ring"].split(",")]
        for place, node in enumerate(ring):
            assert hears(cluster, node, BROKERS) == {ring[place - 1], node, ring[(place + 1) % 5]}
        rings.add(tuple(ring))
    assert len(rings) > 3


# --- halves and bridges ---------------------------------------------------------------------------------------------


def sides(told: str) -> tuple[list[str], list[str]]:
    one, other = told.split("|")
    return one.split(","), other.split(",")


@pytest.mark.parametrize(
    ("target", "small", "large"),
    [("", 2, 3), ("all + controllers", 4, 4), ("all + controller + producers", 3, 4), ("1 + 2", 1, 1)],
)
def test_halves_do_not_hear_each_other(
    cluster: Cluster, board: FaultInjector, target: str, small: int, large: int
) -> None:
    inject(board, "halves", target)
    nodes = board._active[1].nodes
    one, other = sides(details(cluster)["sides"])
    assert (len(one), len(other)) == (small, large)
    named = {node: cluster.name_of(node).replace(" ", "") for node in nodes}
    for node in nodes:
        own = one if named[node] in one else other
        assert {named[each] for each in hears(cluster, node, nodes)} == set(own)
    assert all(hears(cluster, node, EVERYBODY) == set(EVERYBODY) for node in EVERYBODY if node not in nodes)


def test_the_seed_draws_the_halves() -> None:
    drawn = set()
    for seed in range(12):
        cluster = busy_cluster(seed)
        inject(board_of(cluster), "halves", "")
        drawn.add(details(cluster)["sides"])
    assert len(drawn) > 5


@pytest.mark.parametrize("direction", ["out", "in"])
def test_halves_have_a_direction(cluster: Cluster, board: FaultInjector, direction: str) -> None:
    inject(board, "halves", "", direction=direction)
    one, other = ([int(name.removeprefix("broker")) for name in side] for side in sides(details(cluster)["sides"]))
    outward = {(source, target) for source in one for target in other}
    assert cuts(cluster) == (outward if direction == "out" else {(target, source) for source, target in outward})


@pytest.mark.parametrize("bridge", ["", "leader(orders-1)"])
def test_the_bridge_hears_both_halves(cluster: Cluster, board: FaultInjector, bridge: str) -> None:
    inject(board, "bridge", "", bridge=bridge)
    found = details(cluster)
    middle = int(found["bridge"].removeprefix("broker"))
    assert middle == 2 or not bridge
    assert hears(cluster, middle, EVERYBODY) == set(EVERYBODY)
    one, other = ({int(name.removeprefix("broker")) for name in side} for side in sides(found["sides"]))
    assert (len(one), len(other)) == (2, 2)
    assert one | other | {middle} == set(BROKERS)
    for side in (one, other):
        for node in side:
            assert hears(cluster, node, EVERYBODY) == {*side, middle, *VOTERS, *CLIENTS}


def test_the_seed_draws_the_bridge() -> None:
    drawn = set()
    for seed in range(12):
        cluster = busy_cluster(seed)
        inject(board_of(cluster), "bridge", "")
        drawn.add(details(cluster)["bridge"])
    assert len(drawn) > 3


# --- flapping -------------------------------------------------------------------------------------------------------


def flaps(cluster: Cluster, until_us: int, link: tuple[int, int] = (3, 1)) -> list[tuple[int, bool]]:
    """When the link changes, to the millisecond, and whether it is cut from then on."""
    found: list[tuple[int, bool]] = []
    while cluster.now_us < until_us:
        is_cut = link in cuts(cluster)
        if not found or found[-1][1] != is_cut:
            found.append((cluster.now_us, is_cut))
        cluster.run(cluster.now_us + MS)
    return found


def test_links_go_down_and_up_by_their_times(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "flapping", "broker(3)", down=300 * MS, up=500 * MS)
    assert (3, 2_000) in cuts(cluster)
    assert (2, 1) not in cuts(cluster)
    (view,) = board.active()
    assert view.detail.split() == ["down=300000", "up=500000", "direction=both", "now=down"]
    changes = flaps(cluster, 4 * SECOND)
    start, each = SECOND, 800 * MS
    assert (
        changes
        == [
            (start + turn * each + (0 if is_cut else 300 * MS), is_cut) for turn in range(4) for is_cut in (True, False)
        ][: len(changes)]
    )
    assert len(changes) == 8


def test_flapping_may_be_of_one_link_and_one_way(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "flapping", "link(broker(3), leader(orders-0))", direction="out")
    assert cuts(cluster) == {(3, 1)}
    cluster.run(cluster.now_us + 2 * SECOND)
    assert cuts(cluster) == set()
    cluster.run(cluster.now_us + 5 * SECOND)
    assert cuts(cluster) == {(3, 1)}


@pytest.mark.slow
def test_by_chance_a_phase_lasts_up_to_twice_as_long() -> None:
    lengths: list[int] = []
    for seed in (7, 8):
        cluster = busy_cluster(seed)
        cluster.run(SECOND)
        inject(board_of(cluster), "flapping", "broker(3)", down=200 * MS, up=400 * MS, random=True)
        changes = flaps(cluster, 16 * SECOND)
        ends = [at for at, _cut in changes[1:]]
        pairs = list(zip(changes, ends, strict=False))
        down = [end - at for (at, is_cut), end in pairs if is_cut]
        up = [end - at for (at, is_cut), end in pairs if not is_cut]
        assert max(down) <= 401 * MS
        assert max(up) <= 801 * MS
        assert 100 * MS < sum(down) // len(down) < 300 * MS
        assert 200 * MS < sum(up) // len(up) < 600 * MS
        lengths.append(down[0])
    assert lengths[0] != lengths[1]


@pytest.mark.parametrize("after_us", [100 * MS, 400 * MS])
def test_healing_fixes_in_either_phase(cluster: Cluster, board: FaultInjector, after_us: int) -> None:
    inject(board, "flapping", "broker(3)", down=300 * MS, up=300 * MS)
    cluster.run(cluster.now_us + after_us)
    assert bool(cuts(cluster)) is (after_us < 300 * MS)
    board.heal("flapping")
    assert flaps(cluster, 4 * SECOND) == [(SECOND + after_us, False)]


def test_two_that_flap_on_one_link_go_each_by_its_own_times(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "flapping", "broker(3)", down=200 * MS, up=800 * MS)
    cluster.run(cluster.now_us + 100 * MS)
    second = inject(board, "flapping", "broker(1)", down=200 * MS, up=800 * MS)
    third = inject(board, "partition", "broker(3)", 250 * MS, to="broker(1)")
    assert flaps(cluster, 3 * SECOND) == [
        (1_100 * MS, True), (1_350 * MS, False), (2_000 * MS, True), (2_300 * MS, False),
    ]  # fmt: skip
    board.heal(str(second))
    assert [view.id for view in board.active()] == [1]
    assert third == 3
    assert flaps(cluster, 4 * SECOND) == [(3_000 * MS, True), (3_200 * MS, False)]


def test_chance_draws_from_a_stream_for_each_fault(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "flapping", "broker(3)", random=True)
    inject(board, "flapping", "broker(4)")
    assert cluster.stream("targets").position == 0
    assert (cluster.stream("flapping/1").position, cluster.stream("flapping/2").position) == (1, 0)


@pytest.mark.slow
def test_short_pauses_cost_no_leader_and_long_ones_do_again_and_again() -> None:
    found = {}
    for down in (1, 7):
        cluster = busy_cluster()
        cluster.run(SECOND)
        board = board_of(cluster)
        inject(board, "flapping", "broker(1)", down=down * SECOND, up=6 * SECOND)
        cluster.run(40 * SECOND)
        cluster.stop_producers()
        board.heal("all")
        until_well(cluster, unsettled)
        found[down] = (cluster.query.epoch("orders-0"), cluster.query.leader("orders-0"))
        assert (unsettled(cluster), cluster.query.acked_lost()) == ([], 0)
    assert found[1] == (0, 1)
    assert found[7][0] >= 1
    assert found[7][1] == 2


# --- all of them ----------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "isolate": ("leader(orders-0) + leader(orders-1)", {}),
    "halves": ("brokers + controllers", {}),
    "bridge": ("brokers + controllers", {}),
    "majority_ring": ("brokers + controllers", {}),
    "flapping": ("leader(orders-0)", {"down": 3 * SECOND, "up": SECOND, "random": True}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "kafka", "mode"), covering_cases(SHAPES, [("3.9", "kraft"), ("2.8", "zookeeper")]))
def test_the_cluster_is_whole_after_each_shape(kafka: str, mode: str, shape: str) -> None:
    cluster, board = begun(SECOND, busy_cluster, kafka=kafka, mode=mode)
    target, params = SHAPES[shape]
    inject(board, shape, target if mode == "kraft" else target.replace("controllers", "zookeepers"), **params)
    cluster.run(14 * SECOND)
    board.heal("all")
    assert cuts(cluster) == set()
    cluster.run(20 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    assert (unsettled(cluster), cluster.query.acked_lost()) == ([], 0)


@pytest.mark.slow
def test_chance_comes_out_the_same_in_any_slices_and_from_a_keyframe() -> None:
    digests = []
    for step in (250 * SECOND, 8 * MS):
        cluster = busy_cluster()
        board = board_of(cluster)
        cluster.run(SECOND)
        for shape, (target, params) in SHAPES.items():
            inject(board, shape, target, 9 * SECOND, **params)
        saved = None
        while cluster.now_us < 14 * SECOND:
            if saved is None and cluster.now_us >= 4 * SECOND:
                saved = cluster.save(), board.save()
            cluster.run(min(cluster.now_us + step, 14 * SECOND))
        digests.append(cluster.digest())
        if saved is not None:
            cluster.load(saved[0])
            board.load(saved[1])
            assert len(board.active()) == 5
            cluster.run(14 * SECOND)
            digests.append(cluster.digest())
    assert len(digests) == 3
    assert len(set(digests)) == 1


@pytest.mark.parametrize(
    ("fault", "target", "params", "code"),
    [
        ("majority_ring", "random(4, all)", {}, "too_few_targets"),
        ("bridge", "1 + 2", {}, "too_few_targets"),
        ("bridge", "1 + 2 + 3", {"bridge": "4"}, "middle_not_a_target"),
        ("bridge", "all", {"bridge": "rack(a)"}, "middle_not_a_target"),
        ("bridge", "all", {"bridge": "broker(9)"}, "no_broker"),
        ("halves", "leader(orders-0)", {}, "too_few_targets"),
        ("isolate", "1", {"to": "1"}, "one_end"),
        ("flapping", "1", {"to": "1"}, "one_end"),
        ("flapping", "1", {"down": MS}, "wrong_value"),
        ("flapping", "1", {"random": 1}, "wrong_value"),
        ("halves", "all", {"direction": "up"}, "wrong_value"),
        ("halves", "link(1, 2)", {}, "not_for_links"),
    ],
)
def test_rejected_faults_consume_no_random_numbers(
    cluster: Cluster,
    board: FaultInjector,
    fault: str,
    target: str,
    params: dict[str, Any],
    code: str,
    snapshot: SnapshotAssertion,
) -> None:
    before = cluster.digest(), board.save(), cluster.stream("targets").position
    with pytest.raises(FaultError) as caught:
        inject(board, fault, target, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert (cluster.digest(), board.save(), cluster.stream("targets").position) == before


# --- what is expected -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(('seed', 'shape', 'target'), covering_cases(range(3), [
        ("isolate", "leader(orders-0)"), ("isolate", "followers(orders-1)"), ("isolate", "controllers"),
        ("halves", "brokers"), ("halves", "brokers + controllers"), ("bridge", "brokers"), ("majority_ring", "brokers"),
    ]))  # fmt: skip
def test_a_shape_does_what_was_expected_of_it(shape: str, target: str, seed: int) -> None:
    cluster = busy_cluster(seed)
    board = board_of(cluster)
    cluster.run(SECOND)
    action = Action("inject", shape, target)
    before, expected = leaders_and_isrs(cluster), board.predict_action(action)
    board.inject(action)
    cluster.run(20 * SECOND)
    assert told(expected) == seen(cluster, before)
    if target == "controllers":
        assert expected.quorum_lost
        assert leaders_and_isrs(cluster) == before


def test_a_key_asks_for_the_usual_target_of_what_takes_many(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    position = cluster.stream("targets").position
    lines = {name: board.impact_sentence(name, 1) for name in ("halves", "bridge", "majority_ring")}
    assert lines == snapshot
    assert cluster.stream("targets").position == position
    cluster.crash(5)
    assert board.impact_sentence("flapping", 1) == snapshot
