"""A client node on a real network, against brokers that only note what they are asked and answer when told to."""

from collections.abc import Sequence
from typing import Any, TypeVar

from cluster_model.clients.consumer.consumer import Consumer
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.partitioners import RecordPlacement, RoundRobinPartitioner
from cluster_model.clients.producer.producer import Producer
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStreams
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.record_keys import KeySet, ProducerKeys
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import TraceEvent
from cluster_model.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionState,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import Application, ProducerSpec

MS = 1_000
SECOND = 1_000_000
LATENCY = MS
CONNECTING = 4 * LATENCY
"""What a new connection takes: the systems' handshake, then the request for API versions."""
CLIENT = 2_000
BROKERS = (1, 2, 3)
PID = 7_000
"""The first producer id that a broker gives."""

T = TypeVar("T")


class StubBroker:
    """Notes every request with the time it came."""

    def __init__(self, network: Network, number: int) -> None:
        self._network = network
        self.number = number
        self.gives_ids = True
        self.tells_versions = True
        self.got: list[tuple[int, Any]] = []

    def receive(self, source: int, message: Any) -> None:
        assert source == CLIENT
        if isinstance(message, ApiVersionsRequest):
            if self.tells_versions:
                NodeContext(self._network, self.number).send(CLIENT, ApiVersionsResponse(message.correlation_id))
            return
        if isinstance(message, InitProducerIdRequest) and self.gives_ids:
            NodeContext(self._network, self.number).send(
                CLIENT, InitProducerIdResponse(message.correlation_id, 0, PID + message.correlation_id - 1, 0)
            )
        self.got.append((self._network.kernel.now, message))

    def on_timer(self, timer: Payload) -> None:
        raise AssertionError(f"a stub set no timer, yet {timer} rang")

    def on_disconnect(self, peer: int) -> None:
        """Nothing to lose."""


class Rig:
    """Three stub brokers and room for one client."""

    def __init__(self) -> None:
        self.streams = RandomStreams(0)
        self.network = Network(self.streams, LATENCY, 0, lambda _target, _payload: None)
        self.brokers = {broker: StubBroker(self.network, broker) for broker in BROKERS}
        for broker, node in self.brokers.items():
            self.network.add(broker, f"broker {broker}", node)
        self.events: list[TraceEvent] = []

    @property
    def now(self) -> int:
        return self.network.kernel.now

    def run(self, duration: int) -> None:
        self.network.kernel.run_until(self.now + duration)

    def of(self, kind: type[T]) -> list[T]:
        """The trace events of a kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def asked(self, kind: type[T], broker: int) -> list[T]:
        """The requests of a kind that a broker got, in order."""
        return [message for _at, message in self.brokers[broker].got if isinstance(message, kind)]

    def times(self, kind: type[Any], broker: int) -> list[int]:
        """When they came."""
        return [at for at, message in self.brokers[broker].got if isinstance(message, kind)]

    def reply(self, broker: int, message: tuple[Any, ...]) -> None:
        """A broker's answer, on its way."""
        NodeContext(self.network, broker).send(CLIENT, message)

    def answer_metadata(self, broker: int, *states: PartitionState) -> None:
        """Answer the newest metadata request that a broker got."""
        request = self.asked(MetadataRequest, broker)[-1]
        self.reply(broker, MetadataResponse(request.correlation_id, states, BROKERS))

    def metadata_asked(self) -> list[int]:
        """Brokers asked for metadata, in order of time."""
        asked = [(at, broker) for broker in BROKERS for at in self.times(MetadataRequest, broker)]
        return [broker for _at, broker in sorted(asked)]


def state(partition: str, leader: int, epoch: int = 0) -> PartitionState:
    return PartitionState(partition, leader, epoch, BROKERS, epoch, BROKERS)


class ProducerRig(Rig):
    """A producer that makes a batch of one record every ``interval`` until it has made ``batches``."""

    def __init__(
        self,
        *,
        kafka: str = "3.9",
        config: dict[str, ConfigValue] | None = None,
        leaders: Sequence[int] = (1,),
        batches: int = 1,
        interval: int = 10 * MS,
        batch: int = 1,
        record_bytes: int = 200,
        send: str = "async",
        gives_ids: bool = True,
        turns: bool = True,
        **more: Any,
    ) -> None:
        """``turns``: each hand-over goes to the next partition, whatever the version's partitioner would do.

        ``more`` is of :class:`ProducerSpec`.
        """
        super().__init__()
        for broker in self.brokers.values():
            broker.gives_ids = gives_ids
        stop = (batches + 1) * interval
        spec = ProducerSpec("p", "t", interval, batch, record_bytes=record_bytes, stop_us=stop, send=send, **more)
        self.config = ProducerConfig.of(Profile.of(kafka), config or {})
        self.partitions = tuple(f"t-{index}" for index in range(len(leaders)))
        of = KeySet(spec.keys, spec.skew, spec.partitioner)
        self.keys = ProducerKeys(of) if spec.keys else None
        port = NodeContext(self.network, CLIENT)
        self.producer = Producer(
            port, spec, self.config, BROKERS, self.events.append, self.streams.named("retry:p"),
            self.streams.named("partitioner:p"), self.keys,
        )  # fmt: skip
        if turns:
            self.producer._places._placement = RecordPlacement(RoundRobinPartitioner(asks_again=False))
            self.producer._places.listens = False
        self.network.add(CLIENT, "p", self.producer)
        self.network.open_connections((CLIENT,), BROKERS)
        self.producer.begin(tuple(state(name, leader) for name, leader in zip(self.partitions, leaders, strict=True)))

    def make_all(self) -> None:
        """Until everything has been made and what could be sent has arrived."""
        while self.producer._running and self.now < self.producer._spec.stop_us:
            self.run(MS)
        self.run(2 * LATENCY)

    def produced(self, broker: int = 1) -> list[ProduceRequest]:
        return self.asked(ProduceRequest, broker)

    def sequences(self, broker: int = 1) -> list[int]:
        return [request.sequence for request in self.produced(broker)]

    def answer(
        self, request: ProduceRequest, error: KafkaError = KafkaError.NONE, *, offset: int = 0, broker: int = 1
    ) -> None:
        """Answer a request, and let the answer arrive."""
        place = (-1, -1, -1) if error else (offset, 4, 7)
        self.reply(broker, ProduceResponse(request.correlation_id, request.partition, error, *place))
        self.run(LATENCY)

    def books(self) -> dict[str, int]:
        """What has become of the records so far."""
        producer = self.producer
        return {"acked": producer.acked, "failed": producer.failed, "unknown": producer.unknown}


class ReadingRig(Rig):
    """Records for a consumer of ``partitions`` are put into ``epoch_branches`` by the test."""

    consumer: Consumer

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self.partitions = tuple(f"t-{index}" for index in range(partitions))
        self.epoch_branches = {name: BatchStore() for name in self.partitions}


class ConsumerRig(ReadingRig):
    """A consumer of some partitions; their records are put into ``epoch_branches`` by the test."""

    def __init__(
        self,
        *,
        kafka: str = "3.9",
        config: dict[str, ConfigValue] | None = None,
        leaders: Sequence[int] = (1,),
        processing_us: int = 0,
    ) -> None:
        super().__init__(len(leaders))
        profile = Profile.of(kafka)
        self.consumer = Consumer(
            NodeContext(self.network, CLIENT), "g/0", "g", profile, ConsumerConfig.of(profile, config or {}),
            self.partitions, BROKERS, Application(processing_us), self.epoch_branches, self.events.append, 0,
            self.streams.named("retry:g/0"),
        )  # fmt: skip
        self.network.add(CLIENT, "g/0", self.consumer)
        self.network.open_connections((CLIENT,), BROKERS)
        states = [state(name, leader) for name, leader in zip(self.partitions, leaders, strict=True)]
        self.consumer.begin(tuple(states))
        self.run(LATENCY)
