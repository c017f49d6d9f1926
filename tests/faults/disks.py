"""Brokers whose disks ail, and a probe that asks them and keeps the times of their answers."""

from typing import Any, TypeVar

from cluster_model.cluster import Cluster
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.events import Appended, TraceEvent
from cluster_model.protocol.messages import MetadataRequest, ProduceRequest
from cluster_model.protocol.records import NO_TIMESTAMP
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.cluster_model.transacting import producer
from tests.faults.rigs import MS, SECOND

MIB = 1 << 20
E = TypeVar("E", bound=TraceEvent)


def told(cluster: Cluster, kind: type[E]) -> list[E]:
    return [event for event in cluster.drain() if isinstance(event, kind)]


class Probe:
    """A node that asks brokers and keeps the times of their answers."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster = cluster
        self.answers: list[tuple[int, Any]] = []
        cluster.network.add(number, f"probe {number}", self)
        self.port = NodeContext(cluster.network, number)

    def receive(self, _source: int, message: Any) -> None:
        self.answers.append((self.cluster.now_us, message))

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        self.answers.append((self.cluster.now_us, f"disconnected from {peer}"))

    def produce(
        self, size: int, *, broker: int = 1, acks: int = 1, records: int = 1, stamp: int = NO_TIMESTAMP
    ) -> None:
        number = len(self.answers) + 100
        request = ProduceRequest(number, "orders-0", acks, SECOND, "probe", -1, -1, records, size, (), stamp)
        self.port.send(broker, request)

    def ask(self, broker: int = 1) -> None:
        self.port.send(broker, MetadataRequest(7))


def quiet(config: dict[str, int | str | bool] | None = None, kafka: str = "3.9", **more: Any) -> Cluster:
    """Nobody writes; every message takes 1 ms. ``orders-0`` is led by 1, with followers 2 and 3."""
    placement = ((1, 2, 3),)
    spec = ClusterSpec(
        kafka,
        "kraft" if kafka == "3.9" else "zookeeper",
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("orders", 1, 3, placement),),
        network=NetworkSpec(MS, 0),
        config={"offsets.topic.replication.factor": 9, "replica.lag.time.max.ms": 60_000, **(config or {})},
        **more,
    )
    cluster = Cluster.build(spec, 5)
    cluster.run(SECOND)
    cluster.drain()
    return cluster


def appended(cluster: Cluster, broker: int = 1) -> list[int]:
    return [event.at_us for event in told(cluster, Appended) if event.broker == broker]


def coordinated(kafka: str, mode: str) -> Cluster:
    spec = ClusterSpec(
        kafka,
        mode,
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2}),),
        (ProducerSpec("checkout", "orders", 20 * MS), producer()),
        (GroupSpec("billing", ("orders",), 2, config={"isolation.level": "read_committed"}),),
        NetworkSpec(500, 200),
        {"transaction.state.log.num.partitions": 3, "offsets.topic.num.partitions": 3, "num.io.threads": 2},
    )
    return Cluster.build(spec, 9)
