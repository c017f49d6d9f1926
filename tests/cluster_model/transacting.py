"""Transactional producers on a whole cluster, and what two readers saw of their records, record by record."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cluster_model.clients.producer.transactional_producer import TransactionalProducer
from cluster_model.cluster import Cluster
from cluster_model.coordinators.transaction.transaction_coordinator import TransactionCoordinator
from cluster_model.coordinators.transaction.transaction_state_manager import TxnState
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import Event, RecordsAborted, RecordsAcked, RecordsRead
from cluster_model.spec.cluster_spec import (
    TRANSACTIONS,
    BrokerSpec,
    ClusterSpec,
    GroupSpec,
    NetworkSpec,
    ProducerSpec,
    TopicSpec,
    TransactionPlan,
    coordinator_partition,
)

SECOND = 1_000_000
MS = 1_000
P = "orders-0"
COMMITTED = "committed"
ANYTHING = "anything"

Record = tuple[str, str, int]
"""(client, partition, number)."""


def producer(
    name: str = "ledger",
    transactional_id: str = "tx",
    plan: TransactionPlan = TransactionPlan(20),  # noqa: B008 - it never changes
    config: dict[str, ConfigValue] | None = None,
    **more: Any,
) -> ProducerSpec:
    """100 records a second over all partitions, in transactions of 20."""
    settings: dict[str, ConfigValue] = {"transactional.id": transactional_id, **(config or {})}
    return ProducerSpec(name, "orders", 10 * MS, config=settings, transactions=plan, keys=50, **more)


def spec(
    kafka: str,
    producers: Iterable[ProducerSpec] = (),
    config: dict[str, ConfigValue] | None = None,
    partitions: int = 2,
    **more: Any,
) -> ClusterSpec:
    """Three brokers, and a reader of either isolation."""
    placement = ((1, 2, 3), (2, 3, 1), (3, 1, 2))[:partitions]
    return ClusterSpec(
        kafka,
        "kraft" if float(kafka) >= 3.3 else "zookeeper",
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("orders", partitions, 3, placement, {"min.insync.replicas": 2}),),
        tuple(producers) or (producer(),),
        (
            GroupSpec(COMMITTED, ("orders",), config={"isolation.level": "read_committed"}, coordinated=False),
            GroupSpec(ANYTHING, ("orders",), coordinated=False),
        ),
        NetworkSpec(500, 200),
        {
            "transaction.state.log.num.partitions": 3,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
            **(config or {}),
        },
        **more,
    )


@dataclass
class Run:
    """A cluster, its events, and the records that each group got."""

    cluster: Cluster
    events: list[Event] = field(default_factory=list)
    seen: dict[str, list[Record]] = field(default_factory=dict)
    acked: dict[Record, None] = field(default_factory=dict)
    aborted: dict[Record, None] = field(default_factory=dict)

    @staticmethod
    def of(kafka: str = "3.9", producers: Iterable[ProducerSpec] = (), seed: int = 1, **more: Any) -> "Run":
        return Run(Cluster.build(spec(kafka, producers, **more), seed))

    def run(self, seconds: float) -> "Run":
        self.cluster.run(self.cluster.now_us + round(seconds * SECOND))
        for event in self.cluster.drain():
            self.events.append(event)
            if isinstance(event, RecordsRead):
                self.seen.setdefault(event.group_id, []).extend(self._records(event))
            elif isinstance(event, RecordsAcked | RecordsAborted):
                kept = self.acked if isinstance(event, RecordsAcked) else self.aborted
                for number in range(event.sequence, event.sequence + event.count):
                    kept[event.client, event.partition, number] = None
        return self

    def _records(self, event: RecordsRead) -> list[Record]:
        """What was read, by the log of whoever it was read from."""
        log = self.cluster.cluster_state.replicas[event.partition][event.broker].log
        found: list[Record] = []
        for offset in range(event.log_offset, event.log_offset + event.count):
            batch = log.branch_at(offset).batch_at(offset)
            found.append((batch.client, event.partition, batch.sequence + offset - batch.base))
        return found

    def until(self, kind: str, client: str = "", seconds: float = 30) -> Event:
        """Time passes until something has been told."""
        end = self.cluster.now_us + round(seconds * SECOND)
        before = len(self.events)
        while self.cluster.now_us < end:
            self.run(0.002)
            for event in self.events[before:]:
                if event.kind == kind and client in ("", getattr(event, "client", "")):
                    return event
            before = len(self.events)
        raise AssertionError(f"no {kind} of {client or 'anybody'} in {seconds} s")

    def told(self, kind: str, client: str = "") -> list[Any]:
        return [event for event in self.events if event.kind == kind and client in ("", getattr(event, "client", ""))]

    def end(self, seconds: float = 20) -> "Run":
        """No more records, and time for what is under way."""
        self.cluster.stop_producers()
        self.run(seconds)
        assert self.cluster.query.violations() == 0
        return self

    def producer(self, name: str = "ledger") -> TransactionalProducer:
        found = self.cluster.producers[name]
        assert isinstance(found, TransactionalProducer)
        return found

    def coordinator(self, transactional_id: str = "tx") -> int:
        return self.cluster.query.leader(f"{TRANSACTIONS}-{coordinator_partition(transactional_id, 3)}")

    def state(self, transactional_id: str = "tx") -> TxnState:
        """By its coordinator."""
        found = self.cluster.brokers[self.coordinator(transactional_id)].hosted.of(TRANSACTIONS)
        assert isinstance(found, TransactionCoordinator)
        return found.registry.ids[transactional_id].state

    def node(self, name: str = "ledger") -> int:
        return 2_000 + list(self.cluster.producers).index(name)

    def read(self, group: str) -> list[Record]:
        return self.seen.get(group, [])
