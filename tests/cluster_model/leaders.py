"""A leader's service without a network: what it is asked, what it answers, on a clock that the test moves."""

from typing import Any

from cluster_model.broker.fetch.replica_fetcher import ReplicaFetcherThread
from cluster_model.broker.fetch.replication_quota import ReplicationQuota
from cluster_model.broker.muted_connections import MutedConnections
from cluster_model.broker.partition.fetch_sessions import SessionCache
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.purgatory import DelayedDeletions, Purgatory
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.connections.process_connections import Connector
from cluster_model.kernel.process import Connected
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.events import TraceEvent
from cluster_model.protocol.messages import (
    CONSUMER,
    FetchData,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.versions import Profile

P = "t-0"
CONSUMER_NODE = 3_000
PRODUCER_NODE = 2_000


class Line:
    """Stands for a follower's connection of its own: it never sleeps, and what goes over it is kept by the wire."""

    asleep = False
    arrived = -1
    asking: Any = None

    def __init__(self, wire: "Wire", peer: int) -> None:
        self._wire = wire
        self._peer = peer
        self.sent_at = 0

    def ask(self, _number: int, request: Any, *, idle: bool) -> None:
        self.sent_at = self._wire.now
        self._wire.send(self._peer, request)

    def answer(self, _number: int, answer: Any, *, idle: bool) -> None:
        self._wire.send(self._peer, answer)

    def sleep(self, *_what: Any) -> bool:
        return False

    def wake(self) -> None:
        """It is awake."""

    def deadline(self, at: int, _serial: int, timer: tuple[Any, ...]) -> None:
        self._wire.timers.append((at, timer))


class Wire:
    """Stands for a port: keeps what is sent."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.now = 0
        self.incarnation = 0
        self.sent: list[tuple[int, Any]] = []
        self.exits: list[str] = []
        self.abandoned: list[tuple[int, Any]] = []
        self.timers: list[tuple[int, tuple[Any, ...]]] = []
        self.attempts = 0
        """Connections that were asked for."""

    def connect(self, _target: int) -> int:
        self.attempts += 1
        return self.attempts

    def stop_connecting(self, attempt: int) -> None:
        assert attempt == self.attempts

    def send(self, target: int, message: tuple[Any, ...]) -> None:
        self.sent.append((target, message))

    @property
    def clock(self) -> "Wire":
        return self

    def outgoing_exchange(self, answerer: int, _index: int) -> Line:
        return Line(self, answerer)

    def incoming_exchange(self, asker: int, _index: int) -> Line:
        return Line(self, asker)

    def abandon(self, target: int, exchange: Any = None) -> None:
        self.abandoned.append((target, exchange))

    def exit(self, reason: str) -> None:
        self.exits.append(reason)

    def timer(self, delay: int, *timer: Any) -> None:
        self.timers.append((self.now + delay, timer))


class LeaderRig:
    """Broker 1 and its replicas of one partition of brokers 1, 2 and 3; broker 1 leads unless told otherwise."""

    def __init__(
        self,
        kafka: str = "3.9",
        *,
        broker: dict[str, ConfigValue] | None = None,
        topic: dict[str, ConfigValue] | None = None,
        isr: tuple[int, ...] = (1, 2, 3),
        leader: int = 1,
        mode: str | None = None,
    ) -> None:
        profile = Profile.of(kafka, mode)
        self.profile = profile
        self.wire: Any = Wire(1)
        self.events: list[TraceEvent] = []
        metadata = BrokerMetadata()
        metadata.live = {1: 0, 2: 0, 3: 0}
        metadata.racks = {1: "a", 2: "b", 3: "b"}
        config = BrokerConfig.of(profile, broker or {})
        self.replica = Replica(
            1, P, (1, 2, 3), profile, config, TopicConfig.of(profile, broker or {}, topic or {}), BatchStore(),
            metadata, self.events.append,
        )  # fmt: skip
        self.replicas = {P: self.replica}
        self.cache = SessionCache(config.session_slots)
        self.purgatory = Purgatory(self.wire, self.cache)
        self.touched: dict[str, None] = {}
        self.purgatory.deletions = DelayedDeletions(self.wire, self.replicas, metadata, self.touched)
        self.throttle = ReplicationQuota(config.leader_rate, exists=profile.throttles)
        self.service = RequestHandler(
            self.wire, profile, self.replicas, self.purgatory, self.settle, self.touched, self.cache, self.throttle, {},
            MutedConnections(self.wire),
        )  # fmt: skip
        self.replica.apply(PartitionState(P, leader, 1, isr, 1, (1, 2, 3)), 0)
        self._asked: dict[int, int] = {}

    def fetcher(self) -> ReplicaFetcherThread:
        """The thread that fetches from broker 2, for a rig whose leader that is."""
        config = self.replica.config
        throttle = ReplicationQuota(config.follower_rate, exists=self.profile.throttles)
        connector = Connector(self.wire, config.connections, RandomStream(0, "connections"))
        found = ReplicaFetcherThread(
            connector, 2, self.replicas, self.profile, config, lambda: -1, self.touched, throttle, connected=True
        )
        found.add(P)
        return found

    def connect(self, fetcher: ReplicaFetcherThread) -> None:
        """The leader's system accepts the connection that the thread asks for."""
        assert fetcher.connected(Connected(self.wire.attempts))

    def settle(self, replica: Replica) -> None:
        self.service.answer_waiting(replica)

    def append(self, records: int = 1, size: int = 100, acks: int = 1) -> None:
        self.service.produce(PRODUCER_NODE, ProduceRequest(1, P, acks, 1_000, "p", -1, 0, records, size))

    def fetch(self, follower: int, offset: int, *, log_start: int = 0, wait_us: int = 500_000) -> FetchData | None:
        """A full fetch of a follower; its answer, None while it is parked."""
        correlation_id = self._asked.get(follower, 0) + 1
        self._asked[follower] = correlation_id
        epoch = self.replica.leader_epoch if self.profile.kip_320 else -1
        asked = FetchPartition(P, offset, epoch, epoch if self.profile.diverging_fetch and offset else -1, log_start)
        before = len(self.wire.sent)
        self.service.fetch(follower, FetchRequest(correlation_id, follower, -1, wait_us, 1 << 20, (asked,)))
        return self.answer(follower, before)

    def read(self, offset: int, *, rack: str = "", wait_us: int = 0, last_epoch: int = -1) -> FetchData | None:
        """A consumer's fetch."""
        epoch = self.replica.leader_epoch if self.profile.kip_320 else -1
        asked = FetchPartition(P, offset, epoch, last_epoch)
        before = len(self.wire.sent)
        self.service.fetch(
            CONSUMER_NODE, FetchRequest(1, CONSUMER, -1, wait_us, 1 << 20, (asked,), rack=rack)
        )  # fmt: skip
        return self.answer(CONSUMER_NODE, before)

    def answer(self, target: int, since: int = 0) -> FetchData | None:
        """The newest fetch answer to a node since some message."""
        found = [
            message for to, message in self.wire.sent[since:] if to == target and isinstance(message, FetchResponse)
        ]
        return found[-1].partitions[0] if found and found[-1].partitions else None

    def answers(self, target: int) -> int:
        return sum(to == target and isinstance(message, FetchResponse) for to, message in self.wire.sent)
