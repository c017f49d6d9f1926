"""A broker reads the next request of a connection after it has answered the one before (``SocketServer``)."""

from types import SimpleNamespace

import pytest

from cluster_model.broker.muted_connections import MutedConnections
from cluster_model.broker.partition.fetch_sessions import FetchSession, SessionCache
from cluster_model.cluster import Cluster
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import FetchPartition, FetchRequest, Message, MetadataRequest, ProduceRequest
from cluster_model.snapshots import pack, unpack
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from tests.cluster_model.cluster_driver import MS, SECOND

CLIENT = 7
OTHER = 8


# --- in a cluster ----------------------------------------------------------------------------------------------------


def cluster_of(producer: ProducerSpec, config: dict[str, int] | None = None, kafka: str = "4.1") -> Cluster:
    """Two brokers; broker 1 leads both partitions of the topic. Runs until the producer has sent for three seconds."""
    topics = (TopicSpec("t", 2, 2, ((1, 2), (1, 2))),)
    spec = ClusterSpec(kafka, None, (BrokerSpec(1), BrokerSpec(2)), topics, (producer,), (), config=dict(config or {}))  # type: ignore[arg-type]
    cluster = Cluster.build(spec, 5)
    run(cluster, 3)
    return cluster


def run(cluster: Cluster, seconds: float) -> None:
    cluster.run(cluster.now_us + int(seconds * SECOND))


def uncommitted(cluster: Cluster) -> int:
    return sum(cluster.query.leo(name) - cluster.query.hw(name) for name in ("t-0", "t-1"))


@pytest.mark.parametrize("kafka", ["0.8.2", "3.9", "4.1"])
def test_while_a_write_waits_for_its_replicas_the_next_request_stays_unread(kafka: str) -> None:
    producer = ProducerSpec("p", "t", 10 * MS, config={"acks": "all", "linger.ms": 0, "batch.size": 0})
    cluster = cluster_of(producer, kafka=kafka)
    cluster.pause(2)
    run(cluster, 0.5)
    assert uncommitted(cluster) == 1
    assert sum(len(each.unread) for each in muted(cluster).muted.values()) == 4
    cluster.resume(2)
    run(cluster, 3)
    assert cluster.query.acked_lost() == cluster.query.violations() == 0
    assert uncommitted(cluster) <= 1


def muted(cluster: Cluster) -> MutedConnections:
    return cluster.brokers[1]._muted_connections


def test_with_acks_1_nothing_waits() -> None:
    producer = ProducerSpec("p", "t", 10 * MS, config={"acks": 1, "linger.ms": 0})
    cluster = cluster_of(producer)
    cluster.pause(2)
    run(cluster, 0.5)
    assert uncommitted(cluster) >= 48
    assert not muted(cluster).muted


def test_a_request_with_batches_for_two_partitions_is_handled_whole() -> None:
    producer = ProducerSpec(
        "p", "t", 10 * MS, 2, config={"acks": "all", "linger.ms": 50, "partitioner.class": "RoundRobinPartitioner"}
    )
    cluster = cluster_of(producer)
    cluster.pause(2)
    run(cluster, 0.5)
    uncommitted_of = [cluster.query.leo(name) - cluster.query.hw(name) for name in ("t-0", "t-1")]
    assert all(uncommitted_of)
    (connection,) = muted(cluster).muted.values()
    assert connection.pending == 2


def test_a_restored_broker_reads_what_it_had_not_read() -> None:
    producer = ProducerSpec("p", "t", 10 * MS, config={"acks": "all", "linger.ms": 0, "batch.size": 0})
    cluster = cluster_of(producer)
    cluster.pause(2)
    run(cluster, 0.5)
    cluster.resume(2)
    cluster.drain()
    before = pack(cluster.save())
    first = after_two_seconds(cluster)
    cluster.load(unpack(before)[0])
    assert muted(cluster).muted
    assert after_two_seconds(cluster) == first


def after_two_seconds(cluster: Cluster) -> tuple[str, list[Event]]:
    run(cluster, 2)
    return cluster.digest(), cluster.drain()


# --- rules -----------------------------------------------------------------------------------------------------------


class Rig:
    """Muted connections, and the messages that their broker handles; produce requests with acks=all wait."""

    def __init__(self) -> None:
        self.opened = {CLIENT: 0, OTHER: 0}
        self.connections = MutedConnections(SimpleNamespace(connections_from=self.opened.__getitem__))  # type: ignore[arg-type]
        self.handled: list[int] = []

    def receive(self, *messages: Message, source: int = CLIENT) -> None:
        for message in messages:
            if source not in self.connections.muted or not self.connections.keep(source, message):
                self._handle(source, message)

    def _handle(self, source: int, message: Message) -> None:
        self.handled.append(message.correlation_id)
        if isinstance(message, ProduceRequest) and message.acks:
            self.connections.mute(source, message)

    def respond(self, *requests: int, source: int = CLIENT) -> None:
        for request in requests:
            self.connections.complete(source, request)
        self.connections.read(self._handle)


def produce(number: int, request: int = -1, acks: int = -1) -> ProduceRequest:
    return ProduceRequest(
        number, "t-0", acks, SECOND, "p", -1, number, 1, 100, request=number if request < 0 else request
    )


def test_requests_are_handled_one_after_the_other() -> None:
    rig = Rig()
    rig.receive(produce(1), produce(2), MetadataRequest(3), produce(4))
    assert rig.handled == [1]
    rig.respond(1)
    assert rig.handled == [1, 2]
    rig.respond(2)
    assert rig.handled == [1, 2, 3, 4]
    rig.receive(produce(5))
    rig.respond(4)
    rig.respond(5)
    assert rig.handled == [1, 2, 3, 4, 5]
    assert not rig.connections.muted


def test_clients_do_not_wait_for_each_other() -> None:
    rig = Rig()
    rig.receive(produce(1), produce(2))
    rig.receive(produce(11), source=OTHER)
    assert rig.handled == [1, 11]


def test_a_request_is_complete_with_its_last_batch() -> None:
    rig = Rig()
    rig.receive(produce(1, 1), produce(2, 1), produce(3, 3))
    assert rig.handled == [1, 2]
    rig.respond(1)
    assert rig.handled == [1, 2]
    rig.respond(1)
    assert rig.handled == [1, 2, 3]


def test_requests_without_a_number_never_wait() -> None:
    rig = Rig()
    rig.receive(produce(1)._replace(request=-1), produce(2)._replace(request=-1))
    assert rig.handled == [1, 2]
    assert not rig.connections.muted


@pytest.mark.parametrize("by", ["reset", "next connection"])
def test_one_more_request_of_a_closed_connection_is_read(by: str) -> None:
    rig = Rig()
    rig.receive(produce(1), produce(2, 2), produce(3, 2), produce(4))
    if by == "reset":
        rig.connections.closed(CLIENT)
    else:
        rig.opened[CLIENT] += 1
    rig.receive(produce(11), produce(12))
    assert rig.handled == [1, 11]
    rig.respond(1)
    assert rig.handled == [1, 11, 2, 3]
    rig.respond(2, 2)
    rig.respond(11)
    assert rig.handled == [1, 11, 2, 3, 12]


def test_state_survives_a_snapshot() -> None:
    rig = Rig()
    rig.receive(produce(1), produce(2))
    rig.connections.closed(CLIENT)
    rig.receive(produce(11), produce(12))
    rig.connections.complete(CLIENT, 11)
    other = Rig()
    other.connections.load(rig.connections.save())
    other.respond()
    other.respond(1)
    assert other.handled == [12, 2]


# --- requests of closed connections ----------------------------------------------------------------------------------


def test_a_fetch_that_arrives_after_its_thread_has_a_new_session_is_ignored() -> None:
    fetched = (FetchPartition("t-0", 0, 0, 0),)
    session = FetchSession((2, 0), 1, fetched, None, SessionCache(10))  # type: ignore[arg-type]
    session.lowest_id = 5
    late = FetchRequest(1, 2, -1, 0, 0, fetched, session_id=3, session_epoch=7, incremental=True)
    assert session.is_outdated(late)
    assert not session.is_outdated(late._replace(session_id=5))
    assert session.is_outdated(late._replace(session_id=5, partitions=(FetchPartition("t-1", 0, 0, 0),)))
    assert not session.is_outdated(late._replace(session_id=0, session_epoch=0, incremental=False))
