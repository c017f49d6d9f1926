"""A paused process does nothing and answers nothing; when it goes on it is full of timers and messages of the past.

They are handled in the order in which they became due or arrived, all at the time of waking.
"""

from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.kernel.process import DISCONNECTED, HANDSHAKES
from cluster_model.protocol.events import (
    BrokerFenced,
    ControllerChanged,
    IsrChanged,
    LeaderElected,
    OffsetsCommitted,
    PartitionsLost,
    RecordsUnknown,
    TraceEvent,
)
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec

pytestmark = pytest.mark.slow

MS, SECOND = 1_000, 1_000_000
PRODUCER, MEMBER = 2_000, 3_000
UNDER_WAY_US = 10 * MS
"""After so long all has arrived that was sent before a pause."""


def build(
    kafka: str = "3.9",
    mode: str = "kraft",
    *,
    config: dict[str, Any] | None = None,
    producer: dict[str, Any] | None = None,
    group: dict[str, Any] | None = None,
    controllers: int = 3,
    keys: int = 50,
) -> Cluster:
    return Cluster.build(
        ClusterSpec(
            kafka,
            mode,
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1))),),
            (ProducerSpec("checkout", "orders", 50 * MS, keys=keys, config=producer or {}),),
            (GroupSpec("billing", ("orders",), 2, coordinated=group is not None, config=group or {}),),
            NetworkSpec(MS, 0),
            config or {},
            controllers=controllers,
        ),
        3,
    )


def paused(cluster: Cluster, node: int, since: int, until: int) -> tuple[list[Any], list[Any]]:
    """What was told while a process was paused, and in the ten seconds after it went on."""
    cluster.run(since)
    cluster.drain()
    cluster.pause(node)
    cluster.run(until)
    meanwhile = cluster.drain()
    cluster.resume(node)
    cluster.run(until + 10 * SECOND)
    return list(meanwhile), list(cluster.drain())


def only(events: list[Any], *kinds: type[TraceEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


@pytest.mark.parametrize(
    ("mode", "node"),
    [("kraft", 1), ("kraft", 1001), ("kraft", 1002), ("kraft", PRODUCER), ("kraft", MEMBER), ("zookeeper", 1),
     ("zookeeper", 1501), ("zookeeper", 1503)],
)  # fmt: skip
def test_a_paused_process_handles_nothing_sends_nothing_and_then_all_of_it_in_order(
    mode: str, node: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = build("3.4", mode, group={})
    cluster.run(10 * SECOND)
    process, kernel = cluster.network.processes[node], cluster.network.kernel
    handled: list[tuple[int, Any]] = []
    receive, on_timer = process.receive, process.on_timer

    def received(source: int, message: Any) -> None:
        handled.append((kernel.now, (source, message)))
        receive(source, message)

    def rang(timer: tuple[Any, ...]) -> None:
        handled.append((kernel.now, timer))
        on_timer(timer)

    sent: list[Any] = []
    """Words of the process that arrive in the pause; its system may accept connections."""
    deliver, *others = kernel._handlers

    def look(target: int, payload: tuple[Any, ...]) -> None:
        if payload[0] == node and not isinstance(payload[3], HANDSHAKES):
            sent.append(payload)
        deliver(target, payload)

    process.receive, process.on_timer = received, rang
    cluster.pause(node)
    cluster.run(10 * SECOND + UNDER_WAY_US)
    monkeypatch.setattr(kernel, "_handlers", (look, *others))
    cluster.run(25 * SECOND)
    assert (handled, sent) == ([], [])
    waiting = [payload[1] if kind else (payload[0], payload[3]) for kind, payload in process.held]
    waiting = [what for what in waiting if what[-1] is not DISCONNECTED]
    cluster.resume(node)
    cluster.run(25 * SECOND + 1)
    assert waiting != []
    told = [what for at, what in handled if at == 25 * SECOND and what in waiting]
    assert told[: len(waiting)] == waiting


# --- brokers ----------------------------------------------------------------------------------------------------------


def test_a_leader_that_wakes_drops_followers_that_were_well_all_the_time() -> None:
    """Records that waited are appended first; then the check of the ISR that fell into the pause finds all too late."""
    cluster = build(config={"broker.session.timeout.ms": 40_000, "replica.lag.time.max.ms": 5_000})
    meanwhile, after = paused(cluster, 1, 10 * SECOND, 22 * SECOND)
    assert [event.partition for event in only(meanwhile, IsrChanged)] == ["orders-1"]
    changes = [event.isr for event in only(after, IsrChanged) if event.partition == "orders-0"]
    assert changes[0] == (1,)
    assert len(changes[-1]) == 3
    assert only(meanwhile + after, LeaderElected, BrokerFenced) == []
    assert cluster.query.acked_lost() == 0


def test_a_pause_shorter_than_the_lag_time_keeps_the_isr() -> None:
    cluster = build(config={"broker.session.timeout.ms": 40_000, "replica.lag.time.max.ms": 15_000})
    meanwhile, after = paused(cluster, 1, 10 * SECOND, 22 * SECOND)
    assert only(meanwhile + after, IsrChanged) == []


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("2.8", "zookeeper")])
def test_a_leader_that_was_replaced_wakes_as_a_zombie_and_learns_it_from_messages(kafka: str, mode: str) -> None:
    cluster = build(kafka, mode, producer={"acks": "1", "enable.idempotence": False})
    cluster.run(10 * SECOND)
    cluster.pause(1)
    cluster.run(45 * SECOND)
    assert cluster.query.leader("orders-0") == 2
    epoch = cluster.plane.broker_epoch(1)
    cluster.resume(1)
    replica = cluster.brokers[1].replicas["orders-0"]
    assert replica.leadership is not None
    cluster.run(60 * SECOND)
    assert replica.leadership is None
    assert cluster.query.isr("orders-0") == [1, 2, 3]
    # KRaft lets it in again as it was; in ZooKeeper its node is a new one.
    assert (cluster.plane.broker_epoch(1) == epoch) is (mode == "kraft")
    assert cluster.query.violations() == 0


# --- the control plane ------------------------------------------------------------------------------------------------


def test_a_resumed_controller_handles_queued_heartbeats_before_session_timeouts() -> None:
    cluster = build(controllers=1)
    meanwhile, after = paused(cluster, 1001, 10 * SECOND, 40 * SECOND)
    assert only(meanwhile + after, BrokerFenced, LeaderElected, ControllerChanged) == []
    cluster.crash(1)
    cluster.run(70 * SECOND)
    assert [event.broker for event in only(list(cluster.drain()), BrokerFenced)] == [1]


@pytest.mark.parametrize("kafka", ["3.3", "3.9", "4.1"])
def test_a_replaced_controller_fences_no_broker_when_it_resumes(kafka: str) -> None:
    cluster = build(kafka)
    cluster.run(10 * SECOND)
    cluster.pause(1001)
    cluster.run(40 * SECOND)
    roles = {view.node: view.role for view in cluster.plane.member_views()}
    assert roles[1001] == "zombie"
    assert list(roles.values()).count("active") == 1
    cluster.drain()
    cluster.resume(1001)
    cluster.run(50 * SECOND)
    assert only(list(cluster.drain()), BrokerFenced, LeaderElected, ControllerChanged, IsrChanged) == []
    assert {view.node: view.role for view in cluster.plane.member_views()}[1001] == "follower"


def test_a_resumed_voter_handles_the_leaders_response_before_its_election_timer() -> None:
    cluster = build("3.9")
    epoch = cluster.plane.controller_epoch()
    _meanwhile, after = paused(cluster, 1002, 10 * SECOND, 40 * SECOND)
    assert only(after, ControllerChanged) == []
    assert cluster.plane.controller_epoch() == epoch


def test_a_zookeeper_leader_that_wakes_finds_itself_deposed_and_no_session_ends() -> None:
    cluster = build("2.8", "zookeeper")
    cluster.run(10 * SECOND)
    (leader,) = [view.node for view in cluster.plane.member_views() if view.role == "leader"]
    epochs = [cluster.plane.broker_epoch(broker) for broker in (1, 2, 3)]
    cluster.drain()
    cluster.pause(leader)
    cluster.run(50 * SECOND)
    assert sum(view.role == "leader" for view in cluster.plane.member_views()) == 2
    cluster.resume(leader)
    cluster.run(80 * SECOND)
    assert [view.role for view in cluster.plane.member_views() if view.node == leader] == ["follower"]
    assert only(list(cluster.drain()), BrokerFenced, LeaderElected) == []
    assert [cluster.plane.broker_epoch(broker) for broker in (1, 2, 3)] == epochs


def test_sessions_do_not_end_while_all_of_zookeeper_is_paused() -> None:
    """Who cannot be asked cannot expire anything; what waited is heard before the clocks that ran on."""
    cluster = build("2.8", "zookeeper")
    cluster.run(10 * SECOND)
    epochs = [cluster.plane.broker_epoch(broker) for broker in (1, 2, 3)]
    for server in cluster.plane.servers:
        cluster.pause(server)
    cluster.run(50 * SECOND)
    cluster.drain()
    for server in cluster.plane.servers:
        cluster.resume(server)
    cluster.run(80 * SECOND)
    assert only(list(cluster.drain()), LeaderElected) == []
    assert [cluster.plane.broker_epoch(broker) for broker in (1, 2, 3)] == epochs


# --- clients ----------------------------------------------------------------------------------------------------------


def test_a_producer_that_wakes_finds_what_it_had_not_sent_expired() -> None:
    """A batch whose linger is over is drained first, and expires before it is sent: nobody knows what became of it."""
    cluster = build(producer={"linger.ms": 1_000, "delivery.timeout.ms": 5_000, "request.timeout.ms": 3_000}, keys=0)
    meanwhile, after = paused(cluster, PRODUCER, 10 * SECOND + 500 * MS, 20 * SECOND)
    assert only(meanwhile, RecordsUnknown) == []
    (expired,) = only(after, RecordsUnknown)
    assert (expired.at_us, expired.error) == (20 * SECOND, "REQUEST_TIMED_OUT")
    assert expired.latency_us > 5 * SECOND
    assert expired.count == cluster.query.unknown() > 10


def test_answers_that_waited_count_although_their_time_is_over() -> None:
    cluster = build(producer={"delivery.timeout.ms": 5_000, "request.timeout.ms": 3_000})
    cluster.run(10 * SECOND + 1_500)
    before = cluster.query.sent() - cluster.query.acked()
    assert before > 0
    cluster.pause(PRODUCER)
    cluster.run(30 * SECOND)
    cluster.resume(PRODUCER)
    cluster.run(30 * SECOND)
    assert (cluster.query.unknown(), cluster.query.failed()) == (0, 0)
    cluster.run(40 * SECOND)
    assert (cluster.query.unknown(), cluster.query.failed()) == (0, 0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_was_thrown_out_learns_of_it_when_it_wakes(protocol: str) -> None:
    short = {"session.timeout.ms": 10_000, "max.poll.interval.ms": 300_000}
    cluster = build(
        "4.0",
        group=short if protocol == "classic" else {"group.protocol": "consumer"},
        config={"group.consumer.session.timeout.ms": 45_000},
    )
    meanwhile, after = paused(cluster, MEMBER, 8 * SECOND, 60 * SECOND)
    assert only(meanwhile, PartitionsLost) == []
    (lost,) = only(after, PartitionsLost)
    assert lost.client == "billing/0"
    assert 60 * SECOND <= lost.at_us < 60 * SECOND + 100 * MS
    cluster.run(75 * SECOND)
    assert cluster.query.members("billing") == 2


def test_a_member_whose_poll_was_due_in_time_polls_before_it_would_leave() -> None:
    """Both threads stood still: the poll that fell into the pause comes first, so max.poll.interval.ms is kept."""
    cluster = build("3.9", group={"session.timeout.ms": 30_000, "max.poll.interval.ms": 6_000})
    _meanwhile, after = paused(cluster, MEMBER, 20 * SECOND, 35 * SECOND)
    assert only(after, PartitionsLost) == []
    assert only(after, OffsetsCommitted)[0].client == "billing/0"
    assert cluster.query.members("billing") == 2
