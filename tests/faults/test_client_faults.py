"""Faults of producers and consumers: who can be struck, what it does, how it ends."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.admin_client import ADMIN
from cluster_model.cluster import Cluster
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.events import ConsumerFailed, NodeDown, NodeUp, PartitionsLost, TraceEvent
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from faults.catalogue import CATALOGUE
from faults.declarations.fault import FaultError
from faults.declarations.targets import resolve
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, begun, board_of, inject
from tests.support.breadth import covering_cases

CHECKOUT, BILLING_0, BILLING_1 = 2_000, 3_000, 3_001


def a_cluster(**group: object) -> Cluster:
    config = {"session.timeout.ms": 10_000, "max.poll.interval.ms": 15_000}
    settings = {"config": config, "coordinated": True, **group}
    return Cluster.build(
        ClusterSpec(
            "3.9",
            "kraft",
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("orders", 4, 3),),
            (ProducerSpec("checkout", "orders", 20 * MS, 2, config={"linger.ms": 100}),),
            (GroupSpec("billing", ("orders",), 2, **settings), GroupSpec("audit", ("orders",), 1, coordinated=True)),  # type: ignore[arg-type]
        ),
        5,
    )


@pytest.fixture
def cluster() -> Cluster:
    """Its groups are stable."""
    return begun(10 * SECOND, a_cluster)[0]


@pytest.fixture
def board(cluster: Cluster) -> FaultInjector:
    return board_of(cluster)


def told(cluster: Cluster, *kinds: type[TraceEvent]) -> list[TraceEvent]:
    return [event for event in cluster.drain() if isinstance(event, kinds)]


def test_members_are_those_of_the_group(cluster: Cluster, snapshot: SnapshotAssertion) -> None:
    assert resolve("members(billing)", cluster) == [BILLING_0, BILLING_1]
    assert resolve("clients", cluster) == [CHECKOUT, BILLING_0, BILLING_1, 3_002]
    with pytest.raises(FaultError) as caught:
        inject(board_of(cluster), "crash", "members(bills)")
    assert caught.value.code == "no_group"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("fault", "target", "code"),
    [
        ("crash", "client(admin)", "wrong_kind_of_target"),
        ("restart", "client(admin)", "wrong_kind_of_target"),
        ("clean_shutdown", "client(admin)", "wrong_kind_of_target"),
        ("poll_stall", "client(checkout)", "wrong_kind_of_target"),
        ("power_loss", "client(admin)", "wrong_kind_of_target"),
        ("restart", "client(billing/0)", "not_down"),
    ],
)
def test_faults_have_their_targets(
    board: FaultInjector, fault: str, target: str, code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(FaultError) as caught:
        inject(board, fault, target)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert board.active() == ()


def test_a_client_that_is_down_or_paused_is_affected_no_more(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    inject(board, "crash", "client(checkout)")
    for fault in ("crash", "gc_pause", "clean_shutdown"):
        with pytest.raises(FaultError) as caught:
            inject(board, fault, "client(checkout)")
        assert caught.value.code == "down_already"
        assert str(caught.value) == snapshot
    inject(board, "gc_pause", "client(billing/0)")
    with pytest.raises(FaultError) as caught:
        inject(board, "clean_shutdown", "client(billing/0)")
    assert caught.value.code == "paused"
    assert str(caught.value) == snapshot
    inject(board, "crash", "client(billing/0)")
    assert cluster.state_of(BILLING_0) is ProcessState.DOWN


def test_healing_a_crash_starts_the_client(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "crash", "clients", 2 * SECOND)
    assert [cluster.state_of(node) for node in (CHECKOUT, BILLING_0, BILLING_1)] == [ProcessState.DOWN] * 3
    sent = cluster.query.sent()
    cluster.run(cluster.now_us + 2 * SECOND - 1)
    assert cluster.query.sent() == sent
    cluster.run(cluster.now_us + SECOND)
    assert cluster.query.sent() > sent
    assert board.active() == ()
    kinds = [event.kind for event in told(cluster, NodeDown, NodeUp)]
    assert kinds == ["node_down"] * 4 + ["node_up"] * 4


def test_a_closed_consumer_leaves_its_group_at_once(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "clean_shutdown", "client(billing/1)")
    cluster.run(cluster.now_us + 4 * SECOND)
    assert cluster.state_of(BILLING_1) is ProcessState.DOWN
    assert (cluster.query.members("billing"), cluster.query.members("audit")) == (1, 1)
    assert len(cluster.consumers["billing/0"].assignment) == 4
    assert [event.detail for event in told(cluster, NodeDown)] == ["close"]  # type: ignore[attr-defined]
    board.heal("clean_shutdown")
    cluster.run(cluster.now_us + 10 * SECOND)
    assert cluster.query.members("billing") == 2


def test_a_crashed_consumer_is_missed_only_when_its_session_is_over(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "crash", "client(billing/1)")
    cluster.run(cluster.now_us + 6 * SECOND)
    assert cluster.query.members("billing") == 2
    cluster.run(cluster.now_us + 10 * SECOND)
    assert cluster.query.members("billing") == 1


@pytest.mark.slow
def test_a_close_that_takes_longer_than_its_time_ends_in_a_start() -> None:
    cluster = a_cluster(processing_us=100 * MS)
    board = board_of(cluster)
    cluster.run(10 * SECOND)
    cluster.drain()
    inject(board, "clean_shutdown", "client(billing/0)", 1)
    cluster.run(cluster.now_us + 1)
    assert board.active() == ()
    assert cluster.state_of(BILLING_0) is ProcessState.RUNNING
    cluster.run(cluster.now_us + 60 * SECOND)
    events = told(cluster, NodeDown, NodeUp)
    assert [event.kind for event in events] == ["node_down", "node_up"]
    assert events[0].at_us == events[1].at_us > 10 * SECOND + 1  # type: ignore[attr-defined]


def test_a_crash_ends_a_close(cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion) -> None:
    cluster.cut(BILLING_0, 1, 99)
    cluster.cut(BILLING_0, 2, 99)
    cluster.cut(BILLING_0, 3, 99)
    inject(board, "clean_shutdown", "client(billing/0)")
    with pytest.raises(FaultError) as caught:
        inject(board, "clean_shutdown", "client(billing/0)")
    assert caught.value.code == "closing_already"
    assert str(caught.value) == snapshot
    crash = inject(board, "crash", "client(billing/0)")
    assert [view.id for view in board.active()] == [crash]
    inject(board, "restart", "client(billing/0)")
    assert board.active() == ()


@pytest.mark.slow
def test_a_stall_breaks_the_poll_interval_and_healing_ends_it(cluster: Cluster, board: FaultInjector) -> None:
    inject(board, "poll_stall", "client(billing/0)", extra=20 * SECOND)
    cluster.run(cluster.now_us + 18 * SECOND)
    assert cluster.query.members("billing") == 1
    assert len(cluster.consumers["billing/1"].assignment) == 4
    cluster.run(cluster.now_us + 10 * SECOND)
    assert [event.client for event in told(cluster, PartitionsLost)] == ["billing/0"]  # type: ignore[attr-defined]
    board.heal("poll_stall")
    cluster.run(cluster.now_us + 60 * SECOND)
    assert (cluster.query.members("billing"), cluster.consumers["billing/0"].handling.stall_us) == (2, 0)


def test_stalls_add_up_and_stay_with_the_node(cluster: Cluster, board: FaultInjector) -> None:
    first = inject(board, "poll_stall", "members(billing)", extra=SECOND)
    inject(board, "poll_stall", "client(billing/0)", extra=2 * SECOND)
    assert [cluster.consumers[f"billing/{number}"].handling.stall_us for number in (0, 1)] == [3 * SECOND, SECOND]
    inject(board, "crash", "client(billing/0)", SECOND)
    cluster.run(cluster.now_us + 2 * SECOND)
    assert cluster.consumers["billing/0"].handling.stall_us == 3 * SECOND
    board.heal(str(first))
    assert [cluster.consumers[f"billing/{number}"].handling.stall_us for number in (0, 1)] == [2 * SECOND, 0]


@pytest.mark.slow
def test_a_consumer_whose_application_throws_is_down_and_can_be_started() -> None:
    cluster = a_cluster(instances=("desk", "desk"))
    board = board_of(cluster)
    cluster.run(20 * SECOND)
    (failed,) = told(cluster, ConsumerFailed)
    node = resolve(f"client({failed.client})", cluster)[0]  # type: ignore[attr-defined]
    assert cluster.state_of(node) is ProcessState.DOWN
    assert failed.error == "FencedInstanceIdException"  # type: ignore[attr-defined]
    inject(board, "restart", f"client({failed.client})")  # type: ignore[attr-defined]
    cluster.run(40 * SECOND)
    (other,) = told(cluster, ConsumerFailed)
    assert other.client != failed.client  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "node"), covering_cases(CATALOGUE, [CHECKOUT, BILLING_0, 3_002, ADMIN]))
def test_every_fault_reports_what_it_would_do_to_a_client(
    cluster: Cluster, board: FaultInjector, fault: str, node: int
) -> None:
    before = board.impact_sentence(fault, node)
    who = cluster.name_of(node)
    spoken_of = who in before or who.partition("/")[0] in before or "partition" in before
    assert spoken_of or before.startswith("nothing") or board.default_target(fault, node)
    if node != ADMIN:
        cluster.crash(node)
        refused = board.impact_sentence("crash", node)
        assert refused.startswith(f"{who} ")
        assert "down already" in refused
        assert "empty memory" in board.impact_sentence("restart", node)


def test_predicted_impact_depends_on_client_settings(
    cluster: Cluster, board: FaultInjector, snapshot: SnapshotAssertion
) -> None:
    asked = (
        ("crash", BILLING_0),
        ("clean_shutdown", BILLING_0),
        ("poll_stall", BILLING_0),
        ("clean_shutdown", ADMIN),
        ("clean_shutdown", 1),
    )
    assert {f"{fault} {cluster.name_of(node)}": board.impact_sentence(fault, node) for fault, node in asked} == snapshot
    cluster.crash(BILLING_0)
    assert {fault: board.impact_sentence(fault, BILLING_0) for fault in ("crash", "restart")} == snapshot
