"""What passes between the nodes of a KRaft cluster while something happens to it, as text, in order.

Fetches of the quorum and heartbeats that say nothing new are left out: there are many, and all alike.
"""

from collections.abc import Callable
from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.messages import (
    AlterPartitionBatchRequest,
    AlterPartitionBatchResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    VoteRequest,
    VoteResponse,
)
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.admin_messages import EnvelopeRequest
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import describe
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec

SECOND = 1_000_000
MS = 1_000
ADMIN = 4_090
SILENT = {"records_sent", "records_acked", "appended", "hw_advanced", "produce_refused", "produce_retried"}


class Admin:
    """A client that only notes what it is answered."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def receive(self, _source: int, message: Any) -> None:
        self.got.append(message)

    def on_timer(self, timer: Payload) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        """Nothing to lose."""


class Watched:
    """A cluster, an administrator, and the text of what happened since :meth:`begin`."""

    def __init__(
        self,
        kafka: str = "3.9",
        *,
        placement: tuple[tuple[int, ...], ...] = ((1, 2, 3),),
        brokers: int = 3,
        config: dict[str, ConfigValue] | None = None,
        combined: tuple[int, ...] = (),
        produce: bool = False,
        seed: int = 1,
    ) -> None:
        self.spec = ClusterSpec(
            kafka, "kraft", tuple(BrokerSpec(number) for number in range(1, brokers + 1)),
            (TopicSpec("orders", placement=placement),),
            producers=(ProducerSpec("checkout", "orders", 500 * MS, config={"acks": "1"}),) if produce else (),
            config=config or {}, combined=combined,
        )  # fmt: skip
        self.cluster = Cluster.build(self.spec, seed)
        self.admin = Admin()
        self.cluster.network.add(ADMIN, "admin", self.admin)
        self.messages: list[tuple[int, str]] = []
        self._last: dict[tuple[int, str], str] = {}
        """What was last said on each way: who repeats it word by word is not written down again."""
        self._correlation = 0
        self._watch()

    def _watch(self) -> None:
        network = self.cluster.network
        for process in network.processes.values():
            receive = self._watching(process.name, process.receive)
            process.receive = receive  # type: ignore[assignment]

    def _watching(self, name: str, receive: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        network = self.cluster.network

        def watched(source: int, message: Any) -> None:
            text = said(message)
            line = f"{network.processes[source].name} > {name}: {text}"
            if text and self._last.get((source, name)) != text:
                self.messages.append((network.kernel.now, line))
            self._last[source, name] = text
            receive(source, message)

        return watched

    def run(self, seconds: float) -> None:
        """Go on, taking down what happens."""
        cluster = self.cluster
        cluster.run(cluster.now_us + int(seconds * SECOND))
        self._note()

    def _note(self) -> None:
        events: list[Any] = list(self.cluster.drain())
        for event in events:
            if event.kind not in SILENT:
                self.messages.append((event.at_us, f"  {describe(event)}"))
        self.messages.sort(key=lambda line: line[0])

    def ask(self, request: Any, node: int = 1) -> Any:
        """An administrator's request to a broker, and the answer."""
        self._correlation += 1
        before = len(self.admin.got)
        NodeContext(self.cluster.network, ADMIN).send(node, request._replace(correlation_id=self._correlation))
        self.run(1)
        assert len(self.admin.got) == before + 1
        return self.admin.got[-1]

    def text(self) -> str:
        """Everything so far."""
        self._note()
        return "".join(f"{at / SECOND:10.6f}  {line}\n" for at, line in self.messages)

    def passed(self, source: str, target: str, message: str) -> bool:
        """Whether a message that begins so went from one process to another by now."""
        return f"{source} > {target}: {message}" in self.text()

    def told(self, *words: str) -> list[str]:
        """The lines of events so far that hold these words."""
        self._note()
        return [line.strip() for _at, line in self.messages if set(words) <= set(line.split())]


def said(message: Any) -> str:
    """A message in one line, empty for one that is left out."""
    if isinstance(message, BrokerHeartbeatRequest):
        wants = [*["fenced"] * message.want_fence, *["shutdown"] * message.want_shut_down]
        return f"Heartbeat epoch {message.broker_epoch} wants {' and '.join(wants)}" if wants else ""
    if isinstance(message, BrokerHeartbeatResponse):
        if message.error:
            return f"Heartbeat: {KafkaError(message.error).name}"
        says = [*["fenced"] * message.fenced, *["shut down"] * message.should_shut_down]
        return f"Heartbeat: {' and '.join(says)}" if says else ""
    if isinstance(message, BrokerRegistrationRequest):
        return f"BrokerRegistration incarnation {message.incarnation} previous epoch {message.previous_epoch}"
    if isinstance(message, BrokerRegistrationResponse):
        return f"BrokerRegistration: {KafkaError(message.error).name} epoch {message.broker_epoch}"
    if isinstance(message, AlterPartitionBatchRequest):
        asked = ", ".join(f"{p.partition} {p.isr} at {p.leader_epoch}/{p.partition_epoch}" for p in message.partitions)
        return f"AlterPartition {asked}"
    if isinstance(message, AlterPartitionBatchResponse):
        told = ", ".join(
            f"{p.partition} {KafkaError(p.error).name} {p.isr} at {p.leader_epoch}/{p.partition_epoch}"
            for p in message.partitions
        )
        return f"AlterPartition: {told or KafkaError(message.error).name}"
    if isinstance(message, VoteRequest | VoteResponse | BeginQuorumEpochRequest | EndQuorumEpochRequest):
        return f"{type(message).__name__} epoch {message.epoch}"
    if isinstance(message, EnvelopeRequest):
        return f"Envelope {type(message.request).__name__}"
    return ""
