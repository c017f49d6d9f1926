"""A ZooKeeper-mode cluster whose control messages are recorded as they are delivered."""

from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.controller.zookeeper.broker_side import ZooKeeperBrokerClient
from cluster_model.controller.zookeeper.control_plane import ZooKeeperControlPlane
from cluster_model.controller.zookeeper.kafka_zk_client import StateNode, TopicNode
from cluster_model.controller.zookeeper.messages import (
    AlterPartitionsRequest,
    AlterPartitionsResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import describe
from cluster_model.protocol.messages import AlterPartitionResponse, PartitionState
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec

SECOND = 1_000_000
ADMIN = 4_900
DATA = {
    "hw_advanced",
    "records_sent",
    "records_acked",
    "appended",
    "records_read",
    "produce_refused",
    "produce_retried",
}
QUIET = DATA | {"became_leader", "became_follower", "records_unknown", "truncated", "records_failed"}
THREE = ((1, 2, 3), (2, 3, 1))


def spec_of(
    kafka: str,
    placement: tuple[tuple[int, ...], ...] = THREE,
    brokers: int = 3,
    config: dict[str, Any] | None = None,
    producers: tuple[ProducerSpec, ...] = (),
    topic: dict[str, Any] | None = None,
) -> ClusterSpec:
    return ClusterSpec(
        kafka=kafka,
        mode="zookeeper",
        brokers=tuple(BrokerSpec(number) for number in range(1, brokers + 1)),
        topics=(TopicSpec("orders", len(placement), len(placement[0]), placement, topic or {}),),
        producers=producers,
        config=config or {},
        network=NetworkSpec(1_000, 0),
    )


class Asker:
    """A node that sends requests to the cluster, and records the responses."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def receive(self, _source: int, message: Any) -> None:
        self.answers.append(message)

    def on_timer(self, _timer: Any) -> None:
        """Does nothing: no timer is ever set."""

    def on_disconnect(self, _peer: int) -> None:
        """Does nothing: it does not retry."""


class Watched:
    """A cluster, and the messages sent in it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        assert isinstance(cluster.plane, ZooKeeperControlPlane)
        self.plane = cluster.plane
        self.lines: list[str] = []
        self.asker = Asker()
        cluster.network.add(ADMIN, "admin", self.asker)
        for process in cluster.network.processes.values():
            if process.id in cluster.brokers:
                self._tap(process)
        for control in self.plane.controls.values():
            self._tell_refusals(control)
        committed = self.plane.service.on_commit

        def commit(path: str, data: Any, version: int, zxid: int, kind: str) -> None:
            self._line(f"zookeeper {kind} {path}{said_node(data)}" + (f" version={version}" if kind == "set" else ""))
            committed(path, data, version, zxid, kind)

        self.plane.service.on_commit = commit

    @classmethod
    def of(cls, kafka: str, **kind: Any) -> "Watched":
        return cls(Cluster.build(spec_of(kafka, **kind), 7))

    def _tap(self, process: Any) -> None:
        receive = process.receive

        def tapped(source: int, message: Any) -> None:
            text = said(message)
            if text:
                self._line(f"{source} > {process.id} {text}")
            receive(source, message)

        process.receive = tapped

    def _tell_refusals(self, control: ZooKeeperBrokerClient) -> None:
        """Record rejected ISR writes to ZooKeeper, which only the leader learns of."""
        answered, broker = control.writer._deliver, control.controller.work.broker_id

        def tapped(response: AlterPartitionResponse) -> Any:
            if response.error:
                self._line(f"{broker} fails to write the ISR of {response.partition}{error_of(response.error)}")
            return answered(response)

        control.writer._deliver = tapped

    def _line(self, text: str) -> None:
        self._traced()
        self.lines.append(f"{self.cluster.now_us / 1000:10.1f} {text}")

    def _traced(self) -> None:
        for event in self.cluster.drain():
            if event.kind not in QUIET:
                self.lines.append(f"{event.at_us / 1000:10.1f} * {describe(event)}")

    def run(self, seconds: float) -> None:
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))
        self._traced()

    def note(self, text: str) -> None:
        self._traced()
        self.lines.append(f"# {text}")

    def ask(self, broker: int, request: Any) -> Any:
        """Send a request to a broker, and wait briefly for the response."""
        before = len(self.asker.answers)
        self.cluster.network.processes[broker].receive  # noqa: B018 - the node must exist
        port = self.cluster._port(ADMIN)
        port.send(broker, request)
        for _turn in range(200):
            self.run(0.05)
            if len(self.asker.answers) > before:
                return self.asker.answers[-1]
        raise AssertionError("no answer")

    def control(self, broker: int) -> ZooKeeperBrokerClient:
        return self.plane.controls[broker]

    def record(self, partition: str) -> PartitionState:
        return self.cluster.committed.records[partition].state

    def text(self) -> str:
        self._traced()
        return "\n".join(self.lines) + "\n"


def said_node(data: Any) -> str:
    if isinstance(data, StateNode):
        return f" leader={data.leader} leader_epoch={data.leader_epoch} isr={data.isr} by={data.by!r}"
    if isinstance(data, TopicNode):
        return f" {[(each.number, each.replicas, each.adding, each.removing) for each in data.partitions]}"
    return f" {data}" if data else ""


def said_state(state: PartitionState) -> str:
    return f"{state.partition}:{state.leader}/{state.leader_epoch}/{list(state.isr)}"


def error_of(number: int) -> str:
    return "" if not number else f" {KafkaError(number).name}"


def said(message: Any) -> str:
    """Format a control message as one line, empty for any other message."""
    if isinstance(message, LeaderAndIsrRequest):
        states = " ".join(map(said_state, message.partitions))
        return f"LeaderAndIsr epoch={message.controller_epoch} {states}"
    if isinstance(message, UpdateMetadataRequest):
        states = " ".join(map(said_state, message.partitions))
        return f"UpdateMetadata epoch={message.controller_epoch} live={list(message.brokers)} {states}".rstrip()
    if isinstance(message, StopReplicaRequest):
        stopped = " ".join(
            f"{each.partition}/{each.leader_epoch}{' delete' if each.delete else ''}" for each in message.partitions
        )
        return f"StopReplica epoch={message.controller_epoch} {stopped}"
    if isinstance(message, ControlledShutdownRequest):
        return f"ControlledShutdown of {message.broker}"
    if isinstance(message, ControlledShutdownResponse):
        return f"ControlledShutdown answered{error_of(message.error)} remaining={list(message.remaining)}"
    if isinstance(message, AlterPartitionsRequest):
        asked = " ".join(f"{p.partition}/{p.leader_epoch}/{p.partition_epoch}{list(p.isr)}" for p in message.partitions)
        return f"AlterPartition {asked}"
    if isinstance(message, AlterPartitionsResponse):
        told = " ".join(
            f"{p.partition}{error_of(p.error)}/{p.partition_epoch}{list(p.isr)}" for p in message.partitions
        )
        return f"AlterPartition answered{error_of(message.error)} {told}".rstrip()
    if isinstance(message, LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse):
        errors = [(name, error) for name, error in getattr(message, "partitions", ()) if error]
        if message.error or errors:
            wrong = " ".join(f"{name}{error_of(error)}" for name, error in errors)
            return f"{type(message).__name__}{error_of(message.error)} {wrong}".rstrip()
    return ""
