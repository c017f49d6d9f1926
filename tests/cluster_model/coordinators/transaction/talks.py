"""A cluster with a transaction coordinator, producers that send the requests of a test, and a record of messages."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.cluster import Cluster
from cluster_model.coordinators.transaction.transaction_coordinator import TransactionCoordinator
from cluster_model.coordinators.transaction.transaction_state_manager import TxnState
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import TRANSACTION, FindCoordinatorRequest, FindCoordinatorResponse
from cluster_model.protocol.messages import (
    ALL,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.records import TRANSACTIONAL
from cluster_model.protocol.transaction_messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from cluster_model.spec.cluster_spec import (
    OFFSETS,
    TRANSACTIONS,
    BrokerSpec,
    ClusterSpec,
    TopicSpec,
    coordinator_partition,
)

SECOND: Final = 1_000_000
MS: Final = 1_000
FIRST: Final = 3_600
E = KafkaError


class Script:
    """A producer that sends the requests of a test, one at a time."""

    def __init__(self, talk: "Talk", port: NodeContext, transactional_id: str, node: int) -> None:
        self._talk = talk
        self.port = port
        self.id = transactional_id
        self.node = node
        self.producer_id = -1
        self.epoch = -1
        self.got: list[Any] = []
        self._number = 0
        self._sequences: dict[tuple[int, str], int] = {}

    def receive(self, _source: int, message: Any) -> None:
        self.got.append(message)

    def on_timer(self, timer: Payload) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        """Does nothing on a broken connection."""

    def send(self, broker: int, request: Any) -> None:
        """Send a numbered request without waiting."""
        self._number += 1
        self.port.send(broker, request._replace(correlation_id=self._number))

    def ask(self, broker: int, request: Any, seconds: float = 0.2) -> Any:
        """Send a request, and return the response if it arrives in time."""
        self.send(broker, request)
        number = self._number
        end = self._talk.cluster.now_us + int(seconds * SECOND)
        while self._talk.cluster.now_us < end:
            self._talk.run(0.005)
            for message in self.got:
                if message.correlation_id == number:
                    return message
        return None

    @property
    def coordinator(self) -> int:
        """Return the leader of the id's partition."""
        return self._talk.coordinator_of(self.id)

    def init(self, *, expected: bool = False, timeout_ms: int = 60_000, believes: bool = True) -> KafkaError:
        """Send InitProducerId, with the current id and epoch if ``expected``; apply the response if ``believes``."""
        had = (self.producer_id, self.epoch) if expected else (-1, -1)
        answer = self.ask(self.coordinator, InitProducerIdRequest(0, self.id, timeout_ms * MS, *had))
        assert isinstance(answer, InitProducerIdResponse)
        if not answer.error and believes:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return KafkaError(answer.error)

    def add(self, *partitions: str) -> KafkaError:
        """Send AddPartitionsToTxn, and return the response."""
        request = AddPartitionsToTxnRequest(0, self.id, self.producer_id, self.epoch, partitions)
        answer = self.ask(self.coordinator, request)
        assert isinstance(answer, AddPartitionsToTxnResponse)
        return KafkaError(answer.error)

    def add_offsets(self, group: str) -> KafkaError:
        """Send AddOffsetsToTxn, and return the response."""
        request = AddOffsetsToTxnRequest(0, self.id, self.producer_id, self.epoch, group)
        answer = self.ask(self.coordinator, request)
        assert isinstance(answer, AddOffsetsToTxnResponse)
        return KafkaError(answer.error)

    def batch(self, partition: str, records: int = 1, version: int = 9) -> ProduceRequest:
        """Return the next batch of the transaction."""
        sequence = self._sequences.get((self.epoch, partition), 0)
        return ProduceRequest(
            0, partition, ALL, 30 * SECOND, self.id, self.producer_id, sequence, records, 100 * records,
            producer_epoch=self.epoch, kind=TRANSACTIONAL, transactional_id=self.id, version=version,
        )  # fmt: skip

    def write(self, partition: str, records: int = 1, version: int = 9) -> KafkaError:
        """Produce to the leader."""
        request = self.batch(partition, records, version)
        answer = self.ask(self._talk.cluster.query.leader(partition), request)
        assert isinstance(answer, ProduceResponse)
        if not answer.error:
            self._sequences[self.epoch, partition] = request.sequence + records
        return KafkaError(answer.error)

    def end(self, *, commit: bool, version: int = 4) -> KafkaError:
        """Send EndTxn; from version 5 on the response holds the next id and epoch."""
        request = EndTxnRequest(0, self.id, self.producer_id, self.epoch, commit, version)
        answer = self.ask(self.coordinator, request)
        assert isinstance(answer, EndTxnResponse)
        if not answer.error and answer.producer_id >= 0:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return KafkaError(answer.error)


class Talk:
    """Three brokers, ``orders`` of two partitions, ``alone`` of one replica, and the messages about transactions."""

    def __init__(
        self,
        kafka: str = "3.5",
        mode: str = "",
        *,
        config: dict[str, ConfigValue] | None = None,
        state: dict[str, ConfigValue] | None = None,
        naive: bool = False,
        seed: int = 1,
    ) -> None:
        spec = ClusterSpec(
            kafka, mode or ("zookeeper" if kafka < "3.3" else "kraft"), tuple(BrokerSpec(each) for each in (1, 2, 3)),
            (
                TopicSpec("orders", placement=((1, 2, 3), (2, 3, 1))),
                TopicSpec("alone", placement=((3,),)),
                TopicSpec(
                    TRANSACTIONS, placement=((1, 2, 3), (2, 3, 1), (3, 1, 2)),
                    config={"cleanup.policy": "compact", "min.insync.replicas": 2, **(state or {})},
                ),
                TopicSpec(
                    OFFSETS, placement=((3, 1, 2), (2, 3, 1)), config={"cleanup.policy": "compact"},
                ),
            ),
            config=config or {},
        )  # fmt: skip
        self.cluster = Cluster.build(spec, seed, naive=naive)
        self.lines: list[tuple[int, str]] = []
        self._nodes = 0
        for number in self.cluster.brokers:
            process = self.cluster.network.processes[number]
            process.receive = self._watching(process.name, process.receive)  # type: ignore[assignment]

    def _watching(self, name: str, receive: Callable[[int, Any], None]) -> Callable[[int, Any], None]:
        network = self.cluster.network

        def watched(source: int, message: Any) -> None:
            text = said(message)
            if text:
                self.lines.append((network.kernel.now, f"{network.processes[source].name} > {name}: {text}"))
            receive(source, message)

        return watched

    def producer(self, transactional_id: str, name: str = "") -> Script:
        """Add a producer; ``name`` distinguishes two producers with one id."""
        node = FIRST + self._nodes
        self._nodes += 1
        found = Script(self, NodeContext(self.cluster.network, node), transactional_id, node)
        self.cluster.network.add(node, name or transactional_id, found)
        process = self.cluster.network.processes[node]
        process.receive = self._watching(name or transactional_id, process.receive)  # type: ignore[assignment]
        return found

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))

    def coordinator_of(self, transactional_id: str) -> int:
        """Return the broker that leads an id's partition."""
        return self.cluster.query.leader(f"{TRANSACTIONS}-{coordinator_partition(transactional_id, 3)}")

    def transactions(self, broker: int) -> TransactionCoordinator:
        """Return the coordinator of a broker."""
        found = self.cluster.brokers[broker].hosted.of(TRANSACTIONS)
        assert isinstance(found, TransactionCoordinator)
        return found

    def state(self, transactional_id: str) -> TxnState:
        """Return the state of an id at its coordinator."""
        return self.transactions(self.coordinator_of(transactional_id)).registry.ids[transactional_id].state

    def lso(self, partition: str) -> int:
        """Return the last stable offset at the leader."""
        return self.cluster.brokers[self.cluster.query.leader(partition)].replicas[partition].lso

    def hw(self, partition: str) -> int:
        """Return the high watermark at the leader."""
        return self.cluster.brokers[self.cluster.query.leader(partition)].replicas[partition].hw

    def note(self, text: str) -> None:
        """Add a remark that the messages do not show."""
        self.lines.append((self.cluster.now_us, f"  ({text})"))

    def text(self) -> str:
        """Return the recorded messages as text."""
        return "".join(f"{at // SECOND:3}.{at % SECOND:06}  {line}\n" for at, line in self.lines)


def _named(error: int) -> str:
    return KafkaError(error).name


def said(message: Any) -> str:
    """Format a message about transactions, empty for any other one."""
    kind = type(message).__name__
    if isinstance(message, FindCoordinatorRequest) and message.key_type == TRANSACTION:
        return f"{kind} {message.key}"
    if isinstance(message, FindCoordinatorResponse):
        return f"{kind} {_named(message.error)} {message.node_id}"
    if isinstance(message, InitProducerIdRequest):
        return f"{kind} {message.transactional_id} {message.producer_id} epoch {message.producer_epoch}"
    if isinstance(message, InitProducerIdResponse | EndTxnResponse):
        return f"{kind} {_named(message.error)} {message.producer_id} epoch {message.producer_epoch}"
    if isinstance(message, AddPartitionsToTxnRequest):
        return (
            f"{kind} {'?' if message.verify_only else ''}{','.join(message.partitions)} epoch {message.producer_epoch}"
        )
    if isinstance(message, AddOffsetsToTxnRequest):
        return f"{kind} {message.group_id}"
    if isinstance(message, EndTxnRequest):
        return f"{kind} {'commit' if message.committed else 'abort'} epoch {message.producer_epoch}"
    if isinstance(message, AddPartitionsToTxnResponse | AddOffsetsToTxnResponse):
        return f"{kind} {_named(message.error)}"
    if isinstance(message, ProduceRequest) and message.kind:
        return f"{kind} {message.partition} epoch {message.producer_epoch} sequence {message.sequence}"
    if isinstance(message, ProduceResponse):
        return f"{kind} {message.partition} {_named(message.error)} at {message.log_offset}"
    if isinstance(message, WriteTxnMarkersRequest):
        marker = message.marker
        verdict = "COMMIT" if marker.committed else "ABORT"
        epochs = f"epoch {marker.producer_epoch} by {marker.coordinator_epoch}"
        return f"{kind} {verdict} {','.join(marker.partitions)} {epochs}"
    if isinstance(message, WriteTxnMarkersResponse):
        return f"{kind} {[(partition, _named(error)) for partition, error in message.partitions]}"
    return ""
