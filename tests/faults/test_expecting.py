"""What is expected of a fault before it strikes is what is seen after it has."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec
from faults.declarations.fault import Action, ExpectedImpact
from faults.injector import FaultInjector
from tests.faults.rigs import CONFIG, MS, SECOND, board_of, busy_cluster, inject

BROKERS = (1, 2, 3, 4)
PLANES = {"kraft": ("3.9", "kraft"), "elr": ("4.1", "kraft"), "zookeeper": ("2.8", "zookeeper")}
SESSION = 3 * SECOND


def leaders_and_isrs(cluster: Cluster) -> dict[str, tuple[int, list[int]]]:
    return {name: (cluster.query.leader(name), cluster.query.isr(name)) for name in cluster.cluster_state.records}


def seen(cluster: Cluster, before: Mapping[str, tuple[int, list[int]]]) -> dict[str, tuple[str, ...]]:
    """What an observer finds changed, in the words of an expectation."""
    now = leaders_and_isrs(cluster)
    led = {name: isr for name, (leader, isr) in now.items() if leader >= 0}
    needed = cluster.cluster_state.effective_min_isr
    return {
        "leaders_moved": tuple(name for name in led if now[name][0] != before[name][0]),
        "offline": tuple(name for name in now if name not in led and before[name][0] >= 0),
        "under_min_isr": tuple(name for name in led if len(led[name]) < needed(name) <= len(before[name][1])),
        "shrunk_isr": tuple(name for name in led if len(led[name]) < len(before[name][1])),
    }


def told(expected: ExpectedImpact) -> dict[str, tuple[str, ...]]:
    fields = ("leaders_moved", "offline", "under_min_isr", "shrunk_isr")
    return {name: getattr(expected, name) for name in fields}


placements = st.lists(
    st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True).map(tuple), min_size=1, max_size=4
).filter(lambda rows: len({len(row) for row in rows}) == 1)


@pytest.mark.slow
@pytest.mark.parametrize("plane", PLANES)
@settings(max_examples=25, deadline=None)
@given(
    rows=placements,
    lost=st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True),
    min_isr=st.integers(1, 2),
    unclean=st.booleans(),
)
def test_a_crash_does_what_was_expected_of_it(
    plane: str, rows: list[tuple[int, ...]], lost: list[int], min_isr: int, unclean: bool
) -> None:
    kafka, mode = PLANES[plane]
    config = {**CONFIG, "zookeeper.session.timeout.ms": 3_000} if mode == "zookeeper" else dict(CONFIG)
    config |= {"unclean.leader.election.enable": unclean, "min.insync.replicas": min_isr}
    config = {key: value for key, value in config.items() if not (mode == "zookeeper" and key.startswith("broker."))}
    spec = ClusterSpec(
        kafka=kafka,
        mode=mode,
        brokers=tuple(BrokerSpec(each) for each in BROKERS),
        topics=(TopicSpec("orders", len(rows), len(rows[0]), tuple(rows)),),
        config=config,
    )
    cluster = Cluster.build(spec, 7)
    board = board_of(cluster)
    cluster.run(SECOND)
    before = leaders_and_isrs(cluster)
    target = " + ".join(f"broker({each})" for each in lost)
    expected = board.predict_action(Action("inject", "crash", target))
    assert leaders_and_isrs(cluster) == before
    inject(board, "crash", target)
    cluster.run(SECOND + 4 * SESSION)
    assert told(expected) == seen(cluster, before)
    assert expected.down == tuple(sorted(lost))


# -- links, quorums, coordinators, clients ----------------------------------------------------------------------------


def spec_with_readers() -> ClusterSpec:
    """The busy cluster's, with members that read without a coordinator."""
    spec = busy_cluster().spec
    return replace(spec, groups=(replace(spec.groups[0], coordinated=False),))


@pytest.fixture
def board() -> FaultInjector:
    cluster = Cluster.build(spec_with_readers(), 7)
    cluster.run(SECOND)
    return board_of(cluster)


def expected(board: FaultInjector, fault: str, target: str, for_us: int = -1, **params: str) -> ExpectedImpact:
    return board.predict_action(Action("inject", fault, target, dict(params), for_us))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_a_follower_cut_from_its_leader_leaves_the_isr_and_no_leader_moves(
    board: FaultInjector, direction: str, snapshot: SnapshotAssertion
) -> None:
    cluster = board.cluster
    before = leaders_and_isrs(cluster)
    found = expected(board, "partition", "broker(3)", to="leader(orders-0)", direction=direction)
    assert found == ExpectedImpact(found.sentence, shrunk_isr=("orders-0",))
    assert found.sentence == snapshot
    inject(board, "partition", "broker(3)", to="leader(orders-0)", direction=direction)
    cluster.run(15 * SECOND)
    assert told(found) == seen(cluster, before)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["both", "out"])
def test_a_broker_that_the_controllers_do_not_hear_is_fenced(
    board: FaultInjector, direction: str, snapshot: SnapshotAssertion
) -> None:
    cluster = board.cluster
    before = leaders_and_isrs(cluster)
    found = expected(board, "partition", "broker(1)", to="controllers", direction=direction)
    assert (found.down, found.leaders_moved, found.offline) == ((1,), ("orders-0",), ())
    assert found.clients == ("checkout", "billing/0")
    assert found.sentence == snapshot
    inject(board, "partition", "broker(1)", to="controllers", direction=direction)
    cluster.run(15 * SECOND)
    assert told(found) == seen(cluster, before)


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "to", "keeps"), [("3.9", "controllers", False), ("2.8", "zookeepers", True)])
def test_a_broker_that_receives_nothing_keeps_its_session_with_zookeeper_only(
    kafka: str, to: str, keeps: bool, snapshot: SnapshotAssertion
) -> None:
    """A controller's connection is closed for want of an answer to a heartbeat, and there is no other."""
    cluster = busy_cluster(kafka=kafka, mode="kraft" if to == "controllers" else "zookeeper")
    board = board_of(cluster)
    cluster.run(SECOND)
    before = leaders_and_isrs(cluster)
    found = expected(board, "partition", "broker(1)", to=to, direction="in")
    assert (found == ExpectedImpact(found.sentence)) == keeps
    assert found.down == (() if keeps else (1,))
    assert found.sentence == snapshot
    inject(board, "partition", "broker(1)", to=to, direction="in")
    cluster.run(40 * SECOND)
    assert told(found) == seen(cluster, before)


def test_a_broker_cut_from_one_controller_that_is_not_the_active_one_is_not_missed(
    board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    active = board.cluster.plane.active()
    other = next(node for node in board.cluster.plane.controllers() if node != active)
    found = expected(board, "partition", "broker(1)", to=f"controller({other})")
    assert found == ExpectedImpact(found.sentence)
    assert found.sentence == snapshot


def test_two_brokers_cut_from_the_others_lose_what_they_lead(board: FaultInjector) -> None:
    cluster = board.cluster
    before = leaders_and_isrs(cluster)
    found = expected(board, "partition", "broker(1) + broker(2)")
    assert found.down == (1, 2)
    assert found.leaders_moved == ("orders-0", "orders-1")
    assert found.under_min_isr == ("orders-0",)
    inject(board, "partition", "broker(1) + broker(2)")
    cluster.run(20 * SECOND)
    assert told(found) == seen(cluster, before)


def test_a_client_partitioned_from_a_leader_is_the_only_one_affected(
    board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    found = expected(board, "partition", "client(checkout)", to="broker(2)")
    assert found == ExpectedImpact(found.sentence, clients=("checkout",))
    assert found.sentence == snapshot


@pytest.mark.parametrize("fault", ["gc_pause", "partition"])
def test_a_fault_shorter_than_the_session_timeout_moves_no_leader(
    board: FaultInjector, fault: str, snapshot: SnapshotAssertion
) -> None:
    found = expected(board, fault, "broker(1)", 2_500 * MS)
    assert found.sentence == snapshot
    assert (found.leaders_moved, found.down, found.clients) == ((), (1,), ("checkout", "billing/0"))
    assert expected(board, fault, "broker(1)", 3 * SECOND).leaders_moved == ("orders-0",)


def test_a_short_cut_that_leaves_the_controllers_in_reach_takes_no_broker_down(board: FaultInjector) -> None:
    found = expected(board, "partition", "broker(1)", SECOND, to="broker(2)")
    assert (found.down, found.leaders_moved) == ((), ())
    assert expected(board, "partition", "broker(1)", SECOND, to="controllers").down == (1,)


def test_refused_faults_have_no_prediction(board: FaultInjector, snapshot: SnapshotAssertion) -> None:
    active = board.cluster.plane.active()
    idle = next(node for node in board.cluster.plane.controllers() if node != active)
    assert (active, idle) == (1001, 1002)
    assert [board.impact_sentence("controller_failover", node) for node in (active, idle)] == snapshot
    inject(board, "session_expiry", "broker(2)")
    board.cluster.run(board.cluster.now_us + 300 * MS)
    assert board.impact_sentence("session_expiry", 2) == snapshot


def test_the_controller_alone_moves_and_a_majority_is_missed(board: FaultInjector, snapshot: SnapshotAssertion) -> None:
    assert expected(board, "crash", "controller").controller_moves
    active = board.cluster.plane.active()
    others = [node for node in board.cluster.plane.controllers() if node != active]
    assert not expected(board, "crash", f"controller({others[0]})").controller_moves
    found = expected(board, "crash", " + ".join(f"controller({each})" for each in others))
    assert (found.quorum_lost, found.controller_moves, found.leaders_moved) == (True, False, ())
    assert found.sentence == snapshot
    alone = expected(board, "partition", "controller", to="controllers")
    assert (alone.controller_moves, alone.quorum_lost) == (True, False)


@pytest.mark.slow
def test_leaders_lost_without_a_majority_are_not_replaced() -> None:
    spec = replace(spec_with_readers(), combined=(1, 2, 3), topics=(TopicSpec("orders", 2, 3, ((1, 4, 5), (4, 5, 1))),))
    cluster = Cluster.build(spec, 7)
    board = board_of(cluster)
    cluster.run(SECOND)
    before = leaders_and_isrs(cluster)
    found = expected(board, "crash", "broker(1) + broker(2)")
    assert (found.quorum_lost, found.leaders_moved, found.offline) == (True, (), ("orders-0",))
    assert found.clients == ("checkout", "billing/0")
    inject(board, "crash", "broker(1) + broker(2)")
    cluster.run(20 * SECOND)
    assert leaders_and_isrs(cluster) == before
    inject(board, "restart", "broker(2)")
    cluster.run(40 * SECOND)
    assert cluster.query.leader("orders-0") == 4


def test_zookeepers_broker_is_the_controller_and_its_ensemble_the_majority() -> None:
    cluster = busy_cluster(kafka="2.8", mode="zookeeper")
    board = board_of(cluster)
    cluster.run(SECOND)
    assert expected(board, "crash", "controller").controller_moves
    assert expected(board, "partition", "controller", to="zookeepers").controller_moves
    assert expected(board, "partition", "broker(1)", to="zookeeper(1)").down == ()
    found = expected(board, "crash", "zookeeper(1) + zookeeper(2)")
    assert (found.quorum_lost, found.controller_moves) == (True, False)
    assert expected(board, "crash", "zookeeper(1)").quorum_lost is False


def test_predictions_leave_out_effects_of_active_faults(board: FaultInjector) -> None:
    inject(board, "crash", "broker(3)")
    found = expected(board, "crash", "broker(2)")
    assert found.down == (2,)
    assert (found.leaders_moved, found.under_min_isr) == (("orders-1",), ("orders-0", "orders-1"))
    assert found.shrunk_isr == ("orders-0", "orders-1"), "smaller than they will be without broker 3"
    assert board.predict_action(Action("inject", "restart", "broker(3)")).leaders_moved == ()


def test_coordinators_of_groups_and_transactions_are_named() -> None:
    config = {key: value for key, value in CONFIG.items() if not key.startswith("offsets.")}
    config |= {"offsets.topic.num.partitions": 3, "transaction.state.log.num.partitions": 3}
    spec = busy_cluster().spec
    (producer,) = spec.producers
    transactional = replace(producer, config={"transactional.id": "till-1", "enable.idempotence": True})
    spec = replace(spec, config=config, producers=(transactional,), groups=(replace(spec.groups[0], coordinated=True),))
    cluster = Cluster.build(spec, 7)
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    for broker in cluster.brokers:
        found = board.predict("crash", broker)
        assert (found.groups == ("billing",)) == (board.targets("coordinator(billing)") == (broker,))
        assert (found.transactional == ("checkout",)) == (
            board.targets("transaction_coordinator(checkout)") == (broker,)
        )
        assert {"billing/0", "billing/1"} <= set(found.clients) or not found.groups
    assert board.predict_action(Action("inject", "crash", "coordinator(billing)")).groups == ("billing",)


@pytest.mark.slow
@pytest.mark.parametrize("unclean", [True, False])
@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_losing_the_last_in_sync_replica_makes_the_partition_offline_unless_unclean(
    kafka: str, mode: str, unclean: bool
) -> None:
    spec = busy_cluster(kafka=kafka, mode=mode).spec
    cluster = Cluster.build(replace(spec, config={**spec.config, "unclean.leader.election.enable": unclean}), 7)
    board = board_of(cluster)
    cluster.run(SECOND)
    inject(board, "partition", "broker(2) + broker(3)", to="broker(1)")
    cluster.run(12 * SECOND)
    assert cluster.query.isr("orders-0") == [1]
    before = leaders_and_isrs(cluster)
    found = expected(board, "crash", "broker(1)")
    assert (found.leaders_moved, found.offline) == ((("orders-0",), ()) if unclean else ((), ("orders-0",)))
    inject(board, "crash", "broker(1)")
    cluster.run(40 * SECOND)
    assert told(found) == seen(cluster, before)
