"""Ends and beginnings of every kind of process, in order and not: who is told, and what is kept."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.clients.admin_client import ADMIN
from cluster_model.cluster import Cluster
from cluster_model.controller.raft.raft_client import LEAVING_US
from cluster_model.kernel.process import ProcessState
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import OUT_OF_MEMORY, ControllerChanged, NodeDown, NodeUp, TraceEvent
from cluster_model.spec.cluster_spec import (
    FIRST_ZOOKEEPER,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
)

pytestmark = pytest.mark.slow

MS, SECOND = 1_000, 1_000_000
VOTERS = (1001, 1002, 1003)
PRODUCER, MEMBER = 2_000, 3_000
OTHER_CLIENT = 5_000
"""Of the member: its own producer."""
RTT = 2 * MS


def build(
    kafka: str = "3.9",
    mode: str = "kraft",
    *,
    combined: tuple[int, ...] = (),
    controllers: int = 3,
    each_us: int = 150 * MS,
) -> Cluster:
    return Cluster.build(
        ClusterSpec(
            kafka,
            mode,
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1))), TopicSpec("out", 1, 3)),
            (ProducerSpec("checkout", "orders", each_us),),
            (GroupSpec("billing", ("orders",), 1, output_topic="out"),),
            NetworkSpec(MS, 0),
            combined=combined,
            controllers=controllers,
        ),
        3,
    )


def told(cluster: Cluster, *kinds: type[TraceEvent]) -> list[TraceEvent]:
    return [event for event in cluster.drain() if isinstance(event, kinds)]


def ends(cluster: Cluster) -> list[tuple[int, str, str]]:
    return [(event.at_us, event.node, event.detail) for event in told(cluster, NodeDown)]  # type: ignore[attr-defined]


# --- controllers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.1"])
def test_a_controller_that_leads_resigns_and_ends_when_it_learns_of_another(kafka: str) -> None:
    cluster = build(kafka)
    cluster.run(10 * SECOND)
    cluster.drain()
    cluster.shutdown(1001)
    assert cluster.state_of(1001) is ProcessState.RUNNING
    assert cluster.processes.is_leaving(1001)
    cluster.run(20 * SECOND)
    events = told(cluster, NodeDown, ControllerChanged)
    (changed,), (down,) = [
        [event for event in events if isinstance(event, kind)] for kind in (ControllerChanged, NodeDown)
    ]
    # No fetch timeout passes: EndQuorumEpoch has the first successor stand at once.
    assert changed.at_us - 10 * SECOND < SECOND
    assert (down.node, down.detail) == ("controller 1001", "shutdown")
    # It ends with BeginQuorumEpoch, before the new leader's first record is committed.
    assert 10 * SECOND < down.at_us < changed.at_us
    assert not cluster.processes.is_leaving(1001)
    assert cluster.plane.active() in VOTERS[1:]


def test_a_controller_that_follows_ends_at_once() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.drain()
    cluster.shutdown(1002)
    cluster.run(30 * SECOND)
    assert ends(cluster) == [(10 * SECOND, "controller 1002", "shutdown")]
    assert cluster.plane.active() == 1001


def test_a_controller_alone_ends_at_once() -> None:
    cluster = build(controllers=1)
    cluster.run(10 * SECOND)
    cluster.drain()
    cluster.shutdown(1001)
    cluster.run(11 * SECOND)
    assert ends(cluster) == [(10 * SECOND, "controller 1001", "shutdown")]
    cluster.restart(1001)
    cluster.run(20 * SECOND)
    assert cluster.plane.active() == 1001


def test_a_shutting_down_controller_without_a_successor_exits_after_five_seconds() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.crash(1002)
    cluster.crash(1003)
    cluster.drain()
    cluster.shutdown(1001)
    cluster.run(30 * SECOND)
    assert LEAVING_US == 5 * SECOND
    assert ends(cluster) == [(15 * SECOND, "controller 1001", "shutdown")]


def test_a_crash_while_it_resigns_ends_it_and_the_next_life_stays() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.shutdown(1001)
    cluster.crash(1001)
    assert not cluster.processes.is_leaving(1001)
    cluster.restart(1001)
    cluster.drain()
    cluster.run(40 * SECOND)
    assert ends(cluster) == []
    assert cluster.plane.active() in VOTERS


def test_requests_lost_by_a_resigning_controller_are_repeated() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.shutdown(1)
    cluster.shutdown(1001)
    cluster.run(25 * SECOND)
    assert {node for _at, node, _detail in ends(cluster)} == {"controller 1001", "broker 1"}
    assert cluster.query.leader("orders-0") == 2
    assert cluster.query.isr("orders-0") == [2, 3]


@pytest.mark.parametrize("leads", [True, False])
def test_a_broker_that_is_a_controller_too_hands_over_and_then_resigns(leads: bool) -> None:
    cluster = build(combined=(1, 2, 3))
    cluster.run(10 * SECOND)
    cluster.drain()
    assert cluster.plane.active() == 1
    node = 1 if leads else 2
    cluster.shutdown(node)
    cluster.run(30 * SECOND)
    events = told(cluster, NodeDown, ControllerChanged)
    (down,) = [event for event in events if isinstance(event, NodeDown)]
    changes = [event.at_us for event in events if isinstance(event, ControllerChanged)]
    assert (down.detail, len(changes)) == ("shutdown", int(leads))
    # A crash would have cost a fetch timeout of 2 s.
    assert all(abs(at - down.at_us) < 50 * MS for at in changes)
    assert cluster.query.leader("orders-0") == (2 if leads else 1)
    cluster.restart(node)
    cluster.run(60 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2, 3]


def test_a_farewell_goes_back_with_its_keyframe() -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.shutdown(1001)
    cluster.processes.start_again(1001)
    cluster.run(cluster.now_us + MS)
    saved = cluster.save()

    def go_on() -> tuple[str, list[tuple[int, str, str]]]:
        cluster.run(20 * SECOND)
        return cluster.digest(), ends(cluster)

    first = go_on()
    cluster.load(saved)
    assert cluster.save()[:-1] == saved[:-1]
    assert cluster.processes.is_leaving(1001)
    assert go_on() == first
    twin = cluster.twin()
    twin.load(saved)
    twin.run(20 * SECOND)
    assert twin.digest() == first[0]
    assert first[1] != []


# --- ZooKeeper --------------------------------------------------------------------------------------------------------


def test_a_zookeeper_server_that_is_shut_down_closes_its_connections() -> None:
    cluster = build("2.8", "zookeeper")
    cluster.run(10 * SECOND)
    cluster.drain()
    (leader,) = [view.node for view in cluster.plane.member_views() if view.role == "leader"]
    cluster.shutdown(leader)
    cluster.run(20 * SECOND)
    assert ends(cluster) == [(10 * SECOND, cluster.name_of(leader), "shutdown")]
    assert [view.role for view in cluster.plane.member_views() if view.node >= FIRST_ZOOKEEPER].count("leader") == 1
    cluster.restart(leader)
    cluster.run(30 * SECOND)
    (view,) = [view for view in cluster.plane.member_views() if view.node == leader]
    assert view.role == "follower"


# --- power loss -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", VOTERS[:2])
def test_a_voter_keeps_its_log_when_its_machine_goes_dark(node: int) -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    before = {view.node: view.end for view in cluster.plane.member_views()}
    cluster.power_loss(node)
    assert cluster.state_of(node) is ProcessState.OFF
    cluster.run(20 * SECOND)
    cluster.restart(node)
    cluster.run(30 * SECOND)
    after = {view.node: view.end for view in cluster.plane.member_views()}
    assert before[node] <= after[node] == max(after.values())
    assert cluster.query.violations() == 0


def test_the_whole_quorum_in_the_dark_forgets_nothing_it_acknowledged() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.shutdown(1)
    cluster.run(10 * SECOND)
    epoch, leader = cluster.query.epoch("orders-0"), cluster.query.leader("orders-0")
    assert leader == 2
    for node in VOTERS:
        cluster.power_loss(node)
    cluster.run(15 * SECOND)
    for node in VOTERS:
        cluster.restart(node)
    cluster.run(30 * SECOND)
    assert (cluster.query.epoch("orders-0"), cluster.query.leader("orders-0")) == (epoch, leader)
    assert cluster.plane.active() in VOTERS


def test_an_ensemble_in_the_dark_forgets_nothing_it_acknowledged() -> None:
    cluster = build("2.8", "zookeeper")
    cluster.run(5 * SECOND)
    cluster.shutdown(1)
    cluster.run(10 * SECOND)
    epoch = cluster.query.epoch("orders-0")
    servers = [node for node in cluster.plane.servers if node >= FIRST_ZOOKEEPER]
    for node in servers:
        cluster.power_loss(node)
    cluster.run(11 * SECOND)
    for node in servers:
        cluster.restart(node)
    cluster.run(40 * SECOND)
    assert cluster.query.epoch("orders-0") >= epoch > 0
    assert cluster.query.leader("orders-0") == 2
    assert cluster.query.violations() == 0


@pytest.mark.parametrize(("stop", "closed"), [("power_loss", False), ("crash", True)])
@pytest.mark.parametrize("node", [PRODUCER, MEMBER, 1002])
def test_a_power_loss_sends_no_notification(stop: str, closed: bool, node: int) -> None:
    cluster = build()
    cluster.run(10 * SECOND + 1)
    network = cluster.network
    mine = (node, OTHER_CLIENT) if node == MEMBER else (node,)
    heard: list[int] = []
    for number in (1, 2, 3, 1001):
        process = network.processes[number]

        def noted(peer: int, told: object = process.on_disconnect) -> None:
            heard.append(peer)
            told(peer)  # type: ignore[operator]

        process.on_disconnect = noted
    getattr(cluster, stop)(node)
    cluster.run(10 * SECOND + 500 * MS)
    assert bool([peer for peer in heard if peer in mine]) is closed
    assert [network.processes[each].state for each in mine] == [
        ProcessState.DOWN if closed else ProcessState.OFF
    ] * len(mine)


@pytest.mark.parametrize("node", [PRODUCER, MEMBER])
def test_a_client_whose_machine_goes_dark_starts_with_nothing(node: int) -> None:
    cluster = build()
    cluster.run(10 * SECOND)
    cluster.drain()
    cluster.power_loss(node)
    cluster.run(12 * SECOND)
    cluster.restart(node)
    cluster.run(60 * SECOND)
    cluster.stop_producers()
    cluster.run(90 * SECOND)
    events = told(cluster, NodeDown, NodeUp)
    assert [event.kind for event in events] == ["node_down", "node_up"]
    assert events[0].detail == "power_loss"  # type: ignore[attr-defined]
    assert cluster.query.lag("billing") == 0
    assert cluster.query.sent() == cluster.query.acked() + cluster.query.failed() + cluster.query.unknown()


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("node", "code"), [(ADMIN, "no_shutdown"), (OTHER_CLIENT, "no_shutdown"), (77, "not_running")])
def test_a_combined_controller_cannot_be_shut_down_alone(node: int, code: str, snapshot: SnapshotAssertion) -> None:
    cluster = build()
    with pytest.raises(ModelError) as caught:
        cluster.shutdown(node)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert not cluster.processes.is_leaving(node)


@pytest.mark.parametrize("node", [1, 1001, 1002, PRODUCER, MEMBER])
def test_a_restarting_process_starts_when_it_has_stopped(node: int) -> None:
    cluster = build()
    cluster.run(6 * SECOND)
    cluster.drain()
    cluster.shutdown(node)
    if cluster.processes.is_leaving(node):
        cluster.processes.start_again(node)
    cluster.run(20 * SECOND)
    down, up = told(cluster, NodeDown, NodeUp)
    assert (down.kind, up.kind) == ("node_down", "node_up")
    assert down.at_us == up.at_us  # type: ignore[attr-defined]
    cluster.shutdown(node)
    cluster.run(40 * SECOND, stop=lambda: cluster.state_of(node) is ProcessState.DOWN)
    assert cluster.state_of(node) is ProcessState.DOWN


def test_a_process_may_end_for_another_reason_than_a_crash() -> None:
    cluster = build()
    cluster.run(5 * SECOND)
    cluster.processes.crash(1, OUT_OF_MEMORY)
    assert ends(cluster) == [(5 * SECOND, "broker 1", "out_of_memory")]


def test_a_slow_members_two_clients_share_its_cpu() -> None:
    cluster = build(each_us=50 * MS)
    cluster.run(5 * SECOND)
    cluster.processes.slow(MEMBER, 1, 10 * MS)
    cpus = [cluster.network.processes[node].cpu for node in (MEMBER, OTHER_CLIENT)]
    assert cpus[0] is cpus[1] is not None
    cluster.run(9 * SECOND)
    cluster.processes.slow(MEMBER, 2, 400 * MS)
    cluster.run(15 * SECOND)
    assert len(cpus[0].queue) > 2
    assert cluster.network.processes[PRODUCER].cpu is None
    cluster.processes.quicken(MEMBER, 2)
    assert len(cpus[0].queue) > 2
    cluster.processes.quicken(MEMBER, 1)
    assert [cluster.network.processes[node].cpu for node in (MEMBER, OTHER_CLIENT)] == [None, None]
