"""Connections between brokers and controllers: their purposes, when they are made, and requests that wait for them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.connections.network_client import ConnectionState
from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.controller.kraft.messages import BrokerHeartbeatRequest, BrokerRegistrationRequest
from cluster_model.controller.raft.messages import QuorumFetchRequest
from cluster_model.controller.zookeeper.messages import (
    AlterPartitionsRequest,
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    UpdateMetadataRequest,
)
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import Connected, ConnectionRefused
from cluster_model.kernel.rng import RandomStream, RandomStreams
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.messages import ApiVersionsRequest, ApiVersionsResponse, FetchRequest
from cluster_model.protocol.transaction_messages import AddPartitionsToTxnRequest, WriteTxnMarkersRequest
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import (
    BrokerSpec,
    ClusterSpec,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
    TransactionPlan,
)
from tests.cluster_model.transacting import producer, spec

MS, SECOND = 1_000, 1_000_000
LATENCY = MS
TRIP = 2 * LATENCY
CUT = 1

Attempt = tuple[int, int, int]
"""(time, source, target)"""


class WatchedCluster:
    """A cluster with a record of its connection attempts and messages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cluster: Cluster) -> None:
        self.cluster = cluster
        self.attempts: list[Attempt] = []
        self.delivered: list[tuple[int, int, int, Any]] = []
        """(time, source, target, message)"""
        connect, deliver = Network.connect, cluster.network._deliver

        def noted(network: Network, source: int, target: int) -> int:
            if network is cluster.network:
                self.attempts.append((self.now, source, target))
            return connect(network, source, target)

        def look(target: int, payload: tuple[Any, ...]) -> None:
            self.delivered.append((self.now, payload[0], target, payload[3]))
            deliver(target, payload)

        monkeypatch.setattr(Network, "connect", noted)
        handlers = cluster.network.kernel._handlers
        monkeypatch.setattr(cluster.network.kernel, "_handlers", (look, *handlers[1:]))

    @property
    def now(self) -> int:
        return self.cluster.now_us

    def run(self, duration: int) -> None:
        self.cluster.run(self.now + duration)

    def forget(self) -> None:
        self.attempts.clear()
        self.delivered.clear()

    def tried(self, source: int, target: int) -> list[int]:
        return [at for at, one, other in self.attempts if (one, other) == (source, target)]

    def got(self, target: int, *kinds: type[Any], source: int = -1) -> list[tuple[int, int, Any]]:
        """Return (time, source, message) of the messages of some kinds that a node received."""
        return [
            (at, one, message)
            for at, one, other, message in self.delivered
            if other == target and isinstance(message, kinds) and source in (-1, one)
        ]

    def cut(self, one: int, other: int) -> None:
        self.cluster.cut(one, other, CUT)
        self.cluster.cut(other, one, CUT)


Build = Callable[..., WatchedCluster]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build clusters with three brokers and one partition of each leader, in both modes."""

    def made(
        kafka: str, mode: str, placement: tuple[tuple[int, ...], ...] = ((1, 2, 3),), **config: Any
    ) -> WatchedCluster:
        spec = ClusterSpec(
            kafka,
            mode,
            (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
            (TopicSpec("t", len(placement), len(placement[0]), placement),),
            (ProducerSpec("p", "t", SECOND // 5, 1),),
            (),
            NetworkSpec(LATENCY, 0),
            {name.replace("_", "."): value for name, value in config.items()},
        )
        return WatchedCluster(monkeypatch, Cluster.build(spec, 3))

    return made


# --- existing connections
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "mode"), [("0.8.2", "zookeeper"), ("2.8", "zookeeper"), ("3.9", "kraft")])
def test_brokers_that_start_together_need_no_connection_attempts(build: Build, kafka: str, mode: str) -> None:
    watched = build(kafka, mode, ((1, 2, 3), (2, 3, 1), (3, 1, 2)))
    watched.run(10 * SECOND)
    assert watched.attempts == []
    assert not any(isinstance(message, Connected | ConnectionRefused) for *_where, message in watched.delivered)


# --- replica fetchers (``ReplicaFetcherBlockingSend``) --------------------------------------------------------------


def test_a_restarted_follower_connects_before_it_fetches(build: Build) -> None:
    watched = build("3.9", "kraft")
    watched.run(SECOND)
    watched.cluster.crash(3)
    watched.run(100 * MS)
    watched.cluster.restart(3)
    watched.forget()
    watched.run(20 * SECOND)
    (first, *_more) = watched.tried(3, 1)
    fetches = watched.got(1, FetchRequest, source=3)
    assert fetches[0][0] == first + TRIP + LATENCY
    assert len(watched.tried(3, 1)) == 1
    assert watched.got(1, ApiVersionsRequest, source=3) == [], "a fetcher asks for no versions"


def test_a_new_leader_is_connected_to_first_and_the_old_ones_thread_closes_its_connection(build: Build) -> None:
    watched = build("3.9", "kraft")
    watched.run(SECOND)
    watched.cluster.shutdown(1)
    watched.cluster.processes.start_again(1)
    watched.run(20 * SECOND)
    leaders = [watched.cluster.committed.records["t-0"].leader]
    for _again in range(2):
        (at, *_later) = watched.tried(3, leaders[-1])
        assert watched.got(leaders[-1], FetchRequest, source=3)[0][0] == at + TRIP + LATENCY
        watched.forget()
        watched.cluster.plane.elect_leaders("t-0", unclean=False)
        watched.run(SECOND)
        leaders.append(watched.cluster.committed.records["t-0"].leader)
        if leaders[-1] == leaders[-2]:
            break
    assert leaders[:2] == [2, 1]


@pytest.mark.parametrize(("kafka", "low_s", "high_s"), [("2.6", 30, 30), ("2.7", 8, 12)])
def test_an_unanswered_connection_attempt_is_repeated_after_the_backoff(
    build: Build, kafka: str, low_s: int, high_s: int
) -> None:
    """The limit is replica.socket.timeout.ms, and since KIP-601 first socket.connection.setup.timeout.ms."""
    watched = build(kafka, "zookeeper", zookeeper_session_timeout_ms=120_000)
    watched.run(SECOND)
    watched.cluster.network.link_faults.sever(1, 3)
    watched.cut(1, 3)
    watched.run(100 * SECOND)
    begun = watched.tried(3, 1)
    assert len(begun) >= 3
    for earlier, later in pairwise(begun):
        assert low_s * SECOND <= later - earlier - SECOND <= high_s * SECOND


def test_a_refused_attempt_backs_off_all_partitions(build: Build) -> None:
    watched = build("2.8", "zookeeper", replica_fetch_backoff_ms=1_500)
    watched.run(SECOND)
    watched.cluster.crash(1)
    watched.run(5 * SECOND)
    begun = watched.tried(3, 1)
    assert len(begun) >= 2
    assert {later - earlier for earlier, later in pairwise(begun)} == {1_500 * MS + TRIP}


def test_a_paused_leaders_system_accepts_and_the_fetch_waits_for_its_answer(build: Build) -> None:
    watched = build("2.8", "zookeeper", zookeeper_session_timeout_ms=120_000)
    watched.run(SECOND)
    watched.cluster.pause(1)
    watched.cluster.network.link_faults.sever(1, 3)
    watched.run(20 * SECOND)
    assert len(watched.tried(3, 1)) == 1
    watched.cluster.resume(1)
    watched.run(SECOND)
    assert watched.got(3, Connected, source=1)


# --- the controller's threads (``RequestSendThread``) ---------------------------------------------------------------


def test_a_new_controller_connects_to_every_broker_before_its_first_request(build: Build) -> None:
    watched = build("2.8", "zookeeper")
    watched.run(SECOND)
    watched.cluster.crash(1)
    watched.run(30 * SECOND)
    (new,) = {source for _at, source, _message in watched.got(2, UpdateMetadataRequest)}
    for broker in (2, 3):
        first = watched.got(broker, LeaderAndIsrRequest, UpdateMetadataRequest, source=new)[0][0]
        assert first - TRIP - LATENCY in watched.tried(new, broker)


def test_a_broker_that_refuses_is_tried_again_after_the_threads_pause(build: Build) -> None:
    watched = build("2.8", "zookeeper", ((2, 1, 3),), zookeeper_session_timeout_ms=120_000)
    watched.run(SECOND)
    watched.cluster.crash(3)
    watched.run(100 * MS)
    watched.forget()
    watched.cluster.shutdown(2)
    watched.run(5 * SECOND)
    begun = watched.tried(1, 3)
    assert len(begun) > 20
    assert {later - earlier for earlier, later in pairwise(begun)} == {100 * MS + TRIP}
    watched.cluster.restart(3)
    watched.run(SECOND)
    assert watched.got(3, LeaderAndIsrRequest, source=1)


def test_a_broker_that_shuts_down_connects_to_the_controller_first(build: Build) -> None:
    watched = build("2.8", "zookeeper")
    watched.run(SECOND)
    watched.cluster.shutdown(3)
    watched.run(2 * SECOND)
    (asked,) = watched.got(1, ControlledShutdownRequest)
    assert watched.tried(3, 1) == [asked[0] - TRIP - LATENCY]


# --- requests to the controller (``BrokerToControllerChannelManager``, ``NodeToControllerChannelManager``) ----------


@pytest.mark.parametrize(("kafka", "asks"), [("2.7", False), ("2.8", True)])
def test_a_proposal_waits_for_the_connection_and_since_2_8_for_the_controllers_versions(
    build: Build, kafka: str, asks: bool
) -> None:
    """Broker 1 is the controller, and broker 2's connections to it have been reset."""
    watched = build(kafka, "zookeeper", ((2, 3), (1, 2)), replica_lag_time_max_ms=3_000)
    watched.run(SECOND)
    watched.cluster.network.link_faults.sever(1, 2)
    watched.run(SECOND)
    watched.forget()
    watched.cluster.pause(3)
    watched.run(10 * SECOND)
    proposed = watched.got(1, AlterPartitionsRequest)[0][0]
    assert proposed - LATENCY - TRIP * (2 if asks else 1) in watched.tried(2, 1)
    assert bool(watched.got(1, ApiVersionsRequest, source=2)) == asks


def test_a_restarted_broker_asks_the_controllers_versions_before_it_registers(build: Build) -> None:
    watched = build("3.9", "kraft")
    watched.run(SECOND)
    leader = watched.cluster.plane.active()
    watched.cluster.crash(3)
    watched.run(100 * MS)
    watched.cluster.restart(3)
    watched.forget()
    watched.run(20 * SECOND)
    registered = watched.got(leader, BrokerRegistrationRequest, source=3)[0][0]
    asked = [at for at, _source, _message in watched.got(leader, ApiVersionsRequest, source=3)]
    assert registered - TRIP in asked
    assert registered - LATENCY - TRIP - TRIP in watched.tried(3, leader)
    assert watched.got(leader, BrokerHeartbeatRequest, source=3)


# --- the quorum (``KafkaNetworkChannel``) ---------------------------------------------------------------------------


def test_a_restarted_voter_connects_and_asks_for_versions_before_it_fetches(build: Build) -> None:
    watched = build("3.9", "kraft")
    watched.run(SECOND)
    leader = watched.cluster.plane.active()
    other = next(voter for voter in watched.cluster.spec.voters if voter != leader)
    watched.cluster.crash(other)
    watched.run(100 * MS)
    watched.forget()
    watched.cluster.restart(other)
    watched.run(10 * SECOND)
    first = watched.got(leader, QuorumFetchRequest, source=other)[0][0]
    (asked, *_later) = [at for at, _source, _message in watched.got(leader, ApiVersionsRequest, source=other)]
    assert first == asked + TRIP
    assert asked - LATENCY - TRIP in watched.tried(other, leader)
    (view,) = [each for each in watched.cluster.plane.member_views() if each.node == other]
    assert view.role == "follower"


# --- transactions (``TransactionMarkerChannelManager``, ``AddPartitionsToTxnManager``) -------------------------------


@pytest.mark.slow
def test_markers_wait_for_a_connection_and_verifications_for_versions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 2 coordinates; broker 1 has restarted, and leads a partition of the transactions again."""
    plan = replace(producer("p", "tx", TransactionPlan(5)), interval_us=50 * MS)
    made = replace(spec("3.9", [plan], {"broker.session.timeout.ms": 3_000}), network=NetworkSpec(LATENCY, 0))
    watched = WatchedCluster(monkeypatch, Cluster.build(made, 11))
    watched.run(2 * SECOND)
    assert watched.got(1, WriteTxnMarkersRequest, source=2)
    assert watched.attempts == []
    watched.cluster.crash(1)
    watched.run(SECOND)
    watched.cluster.restart(1)
    watched.run(25 * SECOND)
    watched.forget()
    watched.cluster.elect_leaders("orders-0", unclean=False)
    watched.run(2 * SECOND)
    marked = watched.got(1, WriteTxnMarkersRequest, source=2)[0][0]
    assert marked - LATENCY - TRIP in watched.tried(2, 1)
    assert watched.got(1, ApiVersionsRequest, source=2) == []
    verified = watched.got(2, AddPartitionsToTxnRequest, source=1)[0][0]
    assert verified - LATENCY - TRIP - TRIP in watched.tried(1, 2)
    assert verified - TRIP in [at for at, _source, _message in watched.got(2, ApiVersionsRequest, source=1)]


# --- purposes beside each other ---------------------------------------------------------------------------------------


class RecordingNode:
    """A process that records its messages, and responds to ApiVersions."""

    def __init__(self, network: Network, node: int) -> None:
        self.port = NodeContext(network, node)
        self.heard: list[tuple[int, Any]] = []

    def receive(self, source: int, message: Any) -> None:
        self.heard.append((self.port.now, message))
        if isinstance(message, ApiVersionsRequest):
            self.port.send(source, ApiVersionsResponse(message.correlation_id))

    def on_timer(self, timer: Any) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        """Do nothing, as it has sent no request."""


class Process:
    """A process with connections of two purposes; the second one requests API versions."""

    def __init__(self) -> None:
        self.network = Network(RandomStreams(0), LATENCY, 0, lambda _target, _payload: None)
        settings = BrokerConfig.of(Profile.of("3.9"), {}).connections
        self.connections = ProcessConnections(NodeContext(self.network, 1), settings, RandomStream(0, "c"))
        self.kinds = [self.connections.open(2 * SECOND, asks_versions=asks) for asks in (False, True)]
        self.failed: list[tuple[int, int]] = []
        for number, kind in enumerate(self.kinds):
            kind.failed = lambda peer, number=number: self.failed.append((number, peer))
        self.other = RecordingNode(self.network, 2)
        self.network.add(1, "broker 1", self)
        self.network.add(2, "broker 2", self.other)

    def receive(self, source: int, message: Any) -> None:
        self.connections.handlers[type(message)](source, message)

    def on_timer(self, timer: Any) -> None:
        self.connections.on_timer(timer[1])

    def on_disconnect(self, peer: int) -> None:
        self.connections.disconnected(peer)

    def run(self, duration: int) -> None:
        self.network.kernel.run_until(self.network.kernel.now + duration)

    def states(self) -> list[ConnectionState]:
        return [kind.client.state(2) for kind in self.kinds]

    def requests(self) -> list[Any]:
        return [message for _at, message in self.other.heard if not isinstance(message, ApiVersionsRequest)]


READY, DISCONNECTED = ConnectionState.READY, ConnectionState.DISCONNECTED


def test_each_kind_makes_its_own_connection_and_loses_its_own() -> None:
    process = Process()
    process.connections.stopped()
    process.kinds[0].client.send(2, ("first",))
    process.run(SECOND)
    assert process.states() == [READY, DISCONNECTED]
    process.kinds[1].client.send(2, ("second",))
    process.run(SECOND)
    assert process.states() == [READY, READY]
    assert process.requests() == [("first",), ("second",)]
    process.network.crash(2)
    process.run(SECOND)
    assert process.states() == [DISCONNECTED, DISCONNECTED]
    assert process.failed == [(0, 2), (1, 2)]


def test_a_refused_attempt_fails_only_what_waits_for_it() -> None:
    process = Process()
    process.connections.stopped()
    process.network.crash(2)
    process.kinds[1].client.send(2, ("lost",))
    process.run(SECOND)
    assert process.failed == [(1, 2)]
    process.network.restart(2)
    process.kinds[1].client.send(2, ("again",))
    process.run(SECOND)
    assert process.requests() == [("again",)]


def test_a_request_that_has_waited_for_the_time_of_an_answer_is_not_sent_any_more() -> None:
    process = Process()
    process.connections.stopped()
    process.network.power_off(2)
    process.kinds[0].client.send(2, ("old",))
    process.run(2 * SECOND)
    process.kinds[0].client.send(2, ("new",))
    process.network.restart(2)
    process.run(10 * SECOND)
    assert process.requests() == [("new",)]


def test_a_connection_to_a_paused_process_fails_without_api_versions() -> None:
    process = Process()
    process.connections.stopped()
    process.network.pause(2)
    process.kinds[1].client.send(2, ("lost",))
    process.run(SECOND)
    assert process.states()[1] is ConnectionState.CHECKING_API_VERSIONS
    process.run(2 * SECOND)
    assert process.failed == [(1, 2)]


def test_a_snapshot_during_a_connection_attempt_continues_alike() -> None:
    seen = []
    for again in (False, True):
        process = Process()
        process.connections.stopped()
        process.kinds[1].client.send(2, ("word",))
        process.run(TRIP + LATENCY // 2)
        saved = process.network.save(), process.connections.save()
        if again:
            process.run(SECOND)
            process.network.load(saved[0])
            process.connections.load(saved[1])
            process.other.heard.clear()
        process.run(SECOND)
        seen.append((process.other.heard, process.states()))
    assert seen[0] == seen[1]
    assert seen[0][1] == [DISCONNECTED, READY]
