"""Creation of a missing topic by a broker that is asked for a coordinator: the request, and whole clusters."""

from types import SimpleNamespace
from typing import Any

import pytest

from cluster_model.clients.admin_client import ADMIN
from cluster_model.cluster import Cluster
from cluster_model.coordinators.group.group_coordinator import AutoTopicCreationManager
from cluster_model.protocol.admin_messages import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import AdminAnswered, Event, GroupRebalanced
from cluster_model.protocol.group_messages import FindCoordinatorRequest
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import (
    OFFSETS,
    TRANSACTIONS,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    ProducerSpec,
    TopicSpec,
)
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.support.releases import those_of

SECOND = 1_000_000
FEW: dict[str, ConfigValue] = {"offsets.topic.num.partitions": 4, "transaction.state.log.num.partitions": 3}
PLANES = [
    ("0.9", "zookeeper"), ("0.10.2", "zookeeper"), ("0.11", "zookeeper"), ("2.7", "zookeeper"), ("3.9", "zookeeper"),
    ("3.9", "kraft"), ("4.1", "kraft"),
]  # fmt: skip


class Rig:
    """Topic creation of one broker, with the requests that it sends."""

    def __init__(self, kafka: str = "3.9", live: int = 3) -> None:
        self.now = 0
        self.node_id = 1
        self.controller = 2
        self.sent: list[tuple[int, CreateTopicsRequest]] = []
        self.states: dict[str, Any] = {}
        hosted: Any = SimpleNamespace(
            states=self.states, metadata=SimpleNamespace(live=dict.fromkeys(range(1, live + 1), 0))
        )
        port: Any = self
        profile = Profile.of(kafka, "kraft" if kafka >= "3.3" else "zookeeper")
        self.maker = AutoTopicCreationManager(
            port, profile, FEW, hosted, {OFFSETS: 4, TRANSACTIONS: 3}, lambda: self.controller
        )  # fmt: skip

    def send(self, target: int, request: CreateTopicsRequest) -> None:
        self.sent.append((target, request))

    def look(self, topic: str = OFFSETS) -> int:
        """Return the number of requests sent since the start."""
        self.maker.create_if_missing(topic)
        return len(self.sent)

    def answer(self, number: int, error: KafkaError = KafkaError.NONE) -> None:
        self.maker.on_response(2, CreateTopicsResponse(number, (CreatableTopicResult(OFFSETS, error),)))


# -- the request ------------------------------------------------------------------------------------------------------


def test_it_asks_for_the_topic_with_the_brokers_settings() -> None:
    rig = Rig()
    assert rig.look() == 1
    assert rig.look(TRANSACTIONS) == 2
    (controller, first), (_, second) = rig.sent
    assert controller == 2
    compact = (("cleanup.policy", "compact"), ("segment.bytes", "104857600"))
    assert first.topics == (CreatableTopic(OFFSETS, 4, 3, config=compact),)
    more = (("min.insync.replicas", "2"), ("unclean.leader.election.enable", "false"))
    assert second.topics == (CreatableTopic(TRANSACTIONS, 3, 3, config=compact + more),)
    assert first.correlation_id != second.correlation_id


@pytest.mark.parametrize(
    ("kafka", "live", "replicas"), [("0.10.2", 2, 2), ("0.10.2", 5, 3), ("0.10.2", 0, 3), ("0.11", 2, 3), ("3.9", 1, 3)]
)
def test_how_many_replicas_it_asks_for_with_few_brokers(kafka: str, live: int, replicas: int) -> None:
    rig = Rig(kafka, live)
    rig.look()
    assert rig.sent[0][1].topics[0].replication == replicas


def test_one_request_is_under_way_for_a_topic() -> None:
    rig = Rig()
    assert [rig.look(), rig.look(), rig.look(TRANSACTIONS), rig.look(TRANSACTIONS)] == [1, 1, 2, 2]
    rig.answer(2)
    assert [rig.look(), rig.look(TRANSACTIONS)] == [2, 3]
    rig.answer(1, KafkaError.INVALID_REPLICATION_FACTOR)
    assert [rig.look(), rig.look(TRANSACTIONS)] == [4, 4]


def test_a_request_that_is_lost_is_made_again() -> None:
    rig = Rig()
    rig.look()
    rig.maker.on_disconnect(3)
    assert rig.look() == 1
    rig.maker.on_disconnect(2)
    assert rig.look() == 2
    rig.now = 30 * SECOND - 1
    assert rig.look() == 2
    rig.now = 30 * SECOND
    assert rig.look() == 3
    rig.answer(2)  # too late to be the response to the third
    assert rig.look() == 3
    rig.maker.stopped()
    assert rig.look() == 4


def test_no_topic_creation_is_requested_without_a_controller() -> None:
    rig = Rig()
    rig.controller = NO_LEADER
    assert rig.look() == 0
    rig.controller = 2
    rig.states[f"{OFFSETS}-3"] = None  # the rest is about to arrive
    assert rig.look() == 0
    assert rig.look(TRANSACTIONS) == 1
    assert Rig("0.10.2").look(TRANSACTIONS) == 0


def test_snapshots_keep_pending_topic_creations() -> None:
    rig, other = Rig(), Rig()
    rig.look()
    other.maker.load(rig.maker.save())
    assert other.look() == 0
    other.answer(1)
    assert other.look() == 1
    assert other.sent[0][1].correlation_id == 2


# -- whole clusters ---------------------------------------------------------------------------------------------------


def build(kafka: str, mode: str, brokers: int = 3, *, clients: bool = True, transactional: bool = True) -> Cluster:
    """A cluster with a group and a producer, ``transactional`` where supported; or without ``clients``."""
    transactional = transactional and clients and Profile.of(kafka, mode).transactions
    ids: dict[str, ConfigValue] = {"transactional.id": "tx"} if transactional else {}
    members: dict[str, ConfigValue] = {"auto.offset.reset": "earliest"}
    spec = ClusterSpec(
        kafka, mode, tuple(BrokerSpec(each) for each in range(1, brokers + 1)), (TopicSpec("orders", 2, 1),),
        (ProducerSpec("p", "orders", 50_000, config=ids),),
        (GroupSpec("g", ("orders",), 2, config=members, coordinated=True),) if clients else (),
        config=those_of("broker", kafka, FEW),
    )  # fmt: skip
    return Cluster.build(spec, 5)


@pytest.mark.parametrize(("kafka", "mode"), [("2.7", "zookeeper"), ("3.9", "kraft")])
def test_a_coordinator_reports_what_becomes_of_the_request(kafka: str, mode: str) -> None:
    cluster = build(kafka, mode, clients=False)
    coordinator = cluster.coordinators[2]

    def asked() -> int:
        """Return the number of topics being requested."""
        under_way, _correlation = coordinator.save()[-1]
        return len(under_way)

    def find() -> None:
        coordinator.handlers[FindCoordinatorRequest](ADMIN, FindCoordinatorRequest(9, "late"))

    find()
    assert asked() == 1
    saved = coordinator.save()
    coordinator.on_disconnect(cluster.brokers[2].control.known_controller())
    assert asked() == 0
    coordinator.load(saved)
    assert asked() == 1
    coordinator.stopped()
    assert asked() == 0
    find()
    cluster.run(5 * SECOND)
    assert asked() == 0
    assert replicas(cluster, OFFSETS) == [3] * 4


def replicas(cluster: Cluster, topic: str) -> list[int]:
    """Return the replica count of each partition of a topic."""
    found = cluster.committed.records.items()
    return [len(record.state.replicas) for name, record in found if name.rpartition("-")[0] == topic]


def operation(cluster: Cluster, name: str, seconds: int = 65, **params: Any) -> tuple[str, str]:
    """Return error and detail of an operation started now."""
    number = FaultInjector(cluster).admin(Action("admin", name, "", params))
    cluster.run(cluster.now_us + seconds * SECOND)
    events: list[Event] = cluster.drain()
    (answer,) = [each for each in events if isinstance(each, AdminAnswered) and each.operation_id == number]
    return answer.error, answer.detail


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), PLANES)
def test_clients_work_on_after_their_topics_were_deleted(kafka: str, mode: str) -> None:
    # A producer whose transactional id was removed can continue from 2.5 (KIP-360) to 3.9 (KAFKA-18019).
    cluster = build(kafka, mode, transactional=(2, 5) <= Profile.of(kafka, mode).number < (4, 0))
    cluster.run(6 * SECOND)
    before = sum(consumer.read for consumer in cluster.consumers.values())
    cluster.drain()
    topics = (OFFSETS, TRANSACTIONS) if replicas(cluster, TRANSACTIONS) else (OFFSETS,)
    cluster.admin.ask(7_000, DeleteTopicsRequest(0, topics))
    cluster.run(26 * SECOND)
    events = cluster.drain()
    assert replicas(cluster, OFFSETS) == [3] * 4
    assert replicas(cluster, TRANSACTIONS) == [3] * (3 if len(topics) == 2 else 0)
    assert [each for each in events if isinstance(each, GroupRebalanced)]
    assert cluster.query.group_state("g") == "Stable"
    assert cluster.query.members("g") == 2
    assert sum(consumer.read for consumer in cluster.consumers.values()) > before + 200
    assert cluster.query.lag("g") < 150


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), PLANES)
def test_clients_have_the_topics_made_that_a_cluster_was_formed_without(
    kafka: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    formed = build(kafka, mode)
    monkeypatch.setattr("cluster_model.cluster.with_internal_topics", lambda spec: spec)
    cluster = build(kafka, mode)
    assert (replicas(cluster, OFFSETS), replicas(cluster, TRANSACTIONS)) == ([], [])
    cluster.run(15 * SECOND)
    assert replicas(cluster, OFFSETS) == [3] * 4
    assert replicas(cluster, TRANSACTIONS) == [3] * 3 * Profile.of(kafka, mode).transactions
    for name, record in formed.committed.records.items():
        assert cluster.committed.records[name].topic_config == record.topic_config
    assert cluster.query.group_state("g") == "Stable"
    assert sum(consumer.read for consumer in cluster.consumers.values()) > 150


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), PLANES)
def test_an_operation_on_a_group_makes_the_topic_where_there_are_no_groups(kafka: str, mode: str) -> None:
    cluster = build(kafka, mode, clients=False)
    assert operation(cluster, "list_groups", 2)[0] == ""
    assert replicas(cluster, OFFSETS) == []  # no coordinator was looked up
    assert operation(cluster, "describe_group", 10, group="late")[0] == "GROUP_ID_NOT_FOUND"
    assert replicas(cluster, OFFSETS) == [3] * 4
    assert replicas(cluster, TRANSACTIONS) == []
    if Profile.of(kafka, mode).number >= (0, 11, 0):
        told = operation(cluster, "reset_offsets", group="late", execute=True, topics=("orders",), to_earliest=True)
        assert told[0] == ""
        committed = [
            group.offsets.committed
            for each in cluster.coordinators.values()
            for name, group in each.registry.groups.items()
            if name == "late"
        ]
        assert [sorted(each) for each in committed] == [["orders-0", "orders-1"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "mode", "meanwhile"),
    [("0.10.2", "zookeeper", [2] * 4), ("0.11", "zookeeper", []), ("3.9", "zookeeper", []), ("3.9", "kraft", [3] * 4)],
)
def test_with_too_few_live_brokers_it_waits_for_more(kafka: str, mode: str, meanwhile: list[int]) -> None:
    """Up to 0.10.2 live brokers are enough; in KRaft mode registered brokers count."""
    cluster = build(kafka, mode, clients=False)
    cluster.crash(3)
    cluster.run(50 * SECOND)
    error, _detail = operation(cluster, "describe_group", group="late")
    assert replicas(cluster, OFFSETS) == meanwhile
    assert error == ("GROUP_ID_NOT_FOUND" if meanwhile else "REQUEST_TIMED_OUT")
    cluster.restart(3)
    cluster.run(cluster.now_us + 20 * SECOND)
    assert operation(cluster, "describe_group", 20, group="late")[0] == "GROUP_ID_NOT_FOUND"
    assert replicas(cluster, OFFSETS) == (meanwhile or [3] * 4)


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "mode"), [("0.11", "zookeeper"), ("3.9", "kraft")])
def test_a_cluster_that_is_too_small_never_gets_it(kafka: str, mode: str) -> None:
    cluster = build(kafka, mode, 2)
    cluster.run(30 * SECOND)
    assert (replicas(cluster, OFFSETS), replicas(cluster, TRANSACTIONS)) == ([], [])
    assert sum(consumer.read for consumer in cluster.consumers.values()) == 0


@pytest.mark.parametrize(("kafka", "mode"), [("2.7", "zookeeper"), ("3.9", "kraft")])
def test_a_topic_comes_back_with_as_many_partitions_as_coordinators_count(kafka: str, mode: str) -> None:
    """Coordinators know the number permanently, including the spec's own."""
    spec = ClusterSpec(
        kafka, mode, tuple(BrokerSpec(each) for each in (1, 2, 3)),
        (TopicSpec("orders", 2, 1), TopicSpec(OFFSETS, 7, 3)),
        groups=(GroupSpec("g", ("orders",), 1, coordinated=True),),
    )  # fmt: skip
    cluster = Cluster.build(spec, 5)
    cluster.run(10 * SECOND)
    cluster.admin.ask(7_000, DeleteTopicsRequest(0, (OFFSETS,)))
    cluster.run(40 * SECOND)
    assert len(replicas(cluster, OFFSETS)) == 7
    assert cluster.query.group_state("g") == "Stable"
