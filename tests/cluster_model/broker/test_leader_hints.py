"""A broker that is not the leader names the leader in its error (KIP-951): to producers and consumers, since 3.7."""

import pytest

from cluster_model.cluster import Cluster
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ProduceRefused, RecordsRead
from cluster_model.protocol.messages import (
    FetchData,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.records import Slice
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.cluster_model.rigs import LATENCY, MS, SECOND, ConsumerRig, ProducerRig, state

E = KafkaError
P = "t-0"


def refused(rig: ProducerRig, number: int, current: tuple[int, int] | None) -> None:
    request = rig.produced()[number]
    rig.reply(1, ProduceResponse(request.correlation_id, P, E.NOT_LEADER_OR_FOLLOWER, -1, -1, -1, -1, current))
    rig.run(LATENCY)


# --- the producer ---------------------------------------------------------------------------------------------------


def test_a_producer_goes_to_the_named_leader_at_once_and_asks_for_metadata_all_the_same() -> None:
    rig = ProducerRig()
    rig.make_all()
    refused(rig, 0, (3, 1))
    rig.run(LATENCY)
    assert (len(rig.produced(1)), len(rig.produced(3))) == (1, 1)
    assert len(rig.metadata_asked()) == 1


def test_a_named_leader_of_an_older_epoch_is_not_believed() -> None:
    rig = ProducerRig()
    rig.producer._metadata.begin((state(P, 1, 5),))
    rig.make_all()
    refused(rig, 0, (3, 4))
    rig.run(SECOND)
    assert (len(rig.produced(1)), len(rig.produced(3))) == (2, 0)


def test_an_older_client_ignores_leader_hints() -> None:
    rig = ProducerRig(kafka="3.6")
    rig.make_all()
    refused(rig, 0, (3, 1))
    rig.run(SECOND)
    assert (len(rig.produced(1)), len(rig.produced(3))) == (2, 0)


# --- the consumer ---------------------------------------------------------------------------------------------------


def test_a_consumer_fetches_from_the_named_leader_without_a_pause() -> None:
    for current, sources in (((2, 1), (1, 1)), (None, (1, 0))):
        rig = ConsumerRig(config={"retry.backoff.ms": 500})
        request = rig.asked(FetchRequest, 1)[-1]
        before = len(rig.asked(FetchRequest, 2))
        data = FetchData(P, 0, E.NOT_LEADER_OR_FOLLOWER, -1, -1, -1, Slice(0, 0, ()), current=current)
        rig.reply(1, FetchResponse(request.correlation_id, (data,)))
        rig.run(10 * MS)
        assert (len(rig.asked(FetchRequest, 1)), len(rig.asked(FetchRequest, 2)) - before) == sources


# --- the broker -----------------------------------------------------------------------------------------------------


def cluster_of(kafka: str) -> Cluster:
    producer = ProducerSpec("p", "t", 10 * MS, config={"acks": "all", "metadata.max.age.ms": 300_000})
    topics = (TopicSpec("t", 1, 2, ((1, 2),)),)
    brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
    return Cluster.build(ClusterSpec(kafka, None, brokers, topics, (producer,), (GroupSpec("g", ("t",)),)), 5)  # type: ignore[arg-type]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int, object]]:
    """Record (time, from, to, message) of all messages between clients and brokers."""
    noted: list[tuple[int, int, int, object]] = []
    send = NodeContext.send

    def note(port: NodeContext, target: int, message: object) -> None:
        if isinstance(message, ProduceRequest | ProduceResponse | FetchResponse | MetadataRequest):
            noted.append((port.now, port.node_id, target, message))
        send(port, target, message)  # type: ignore[arg-type]

    monkeypatch.setattr(NodeContext, "send", note)
    return noted


@pytest.mark.slow
@pytest.mark.parametrize(("kafka", "told"), [("3.6", False), ("3.7", True), ("4.1", True)])
def test_a_former_leader_names_its_successor(kafka: str, told: bool, sent: list[tuple[int, int, int, object]]) -> None:
    cluster = cluster_of(kafka)
    cluster.run(3 * SECOND)
    cluster.drain()
    cluster.shutdown(1)
    cluster.run(5 * SECOND)
    epoch = cluster.query.epoch(P)
    hints = {
        (source, message.current)
        for _at, source, _to, message in sent
        if isinstance(message, ProduceResponse) and message.error == E.NOT_LEADER_OR_FOLLOWER
    }
    assert hints == {(1, (2, epoch) if told else None)}
    events = cluster.drain()
    refusal = next(event for event in events if isinstance(event, ProduceRefused))
    second = next(at for at, _from, to, message in sent if to == 2 and isinstance(message, ProduceRequest))
    assert (second == refusal.at_us) == told
    fetched = {
        data.current
        for _at, source, _to, message in sent
        if isinstance(message, FetchResponse) and source == 1
        for data in message.partitions
        if data.error in (E.NOT_LEADER_OR_FOLLOWER, E.FENCED_LEADER_EPOCH)
    }
    assert fetched == {(2, epoch) if told else None}
    assert any(isinstance(event, RecordsRead) and event.broker == 2 for event in events)


def test_a_broker_without_the_partition_names_its_leader_too(sent: list[tuple[int, int, int, object]]) -> None:
    cluster = cluster_of("3.9")
    cluster.run(3 * SECOND)
    NodeContext(cluster.network, 2_000).send(3, ProduceRequest(77, P, 1, SECOND, "p", -1, 0, 1, 100))
    cluster.run(4 * SECOND)
    (answer,) = [
        m for _at, _from, _to, m in sent if isinstance(m, ProduceResponse) and m.correlation_id == 77 and m.error
    ]
    assert (answer.error, answer.current) == (E.NOT_LEADER_OR_FOLLOWER, (1, cluster.query.epoch(P)))
