"""Transactions in any weather: who reads committed data sees each of them whole and in order, or not at all.

This is promised since every transaction has an epoch of its own (KIP-890, 4.0).
"""

from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from random import Random

import pytest

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import (
    Event,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    TransactionAborted,
    TransactionBegun,
    TransactionCommitted,
    TransactionUnknown,
)
from cluster_model.spec.cluster_spec import ClusterSpec, GroupSpec, ProducerSpec, TopicSpec, TransactionPlan
from tests.cluster_model.storms import MS, SECOND, Storm, spec_of
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

Record = tuple[str, str, int]
READER = "reader"
STORMS = [(0, "4.1"), (1, "4.1"), (2, "4.0")]


@dataclass
class Transaction:
    """What an application wrote between two calls, and how that ended as far as it knows."""

    client: str
    records: list[Record] = field(default_factory=list)
    end: str = "open"


@dataclass
class Watched(Storm):
    """A storm over transactions."""

    transactions: list[Transaction] = field(default_factory=list)
    at_hand: dict[str, Transaction] = field(default_factory=dict)
    failed: dict[Record, None] = field(default_factory=dict)
    read: list[Record] = field(default_factory=list)

    def _see(self, event: Event) -> None:
        super()._see(event)
        if isinstance(event, TransactionBegun):
            self.at_hand[event.client] = Transaction(event.client)
            self.transactions.append(self.at_hand[event.client])
        elif isinstance(event, RecordsSent):
            assert self.at_hand[event.client].end == "open"
            self.at_hand[event.client].records += self._numbered(event)
        elif isinstance(event, RecordsFailed):
            self.failed.update(dict.fromkeys(self._numbered(event)))
        elif isinstance(event, TransactionCommitted | TransactionAborted | TransactionUnknown):
            self.at_hand[event.client].end = event.kind
        elif isinstance(event, RecordsRead):
            log = self.cluster.cluster_state.replicas[event.partition][event.broker].log
            for offset in range(event.log_offset, event.log_offset + event.count):
                batch = log.branch_at(offset).batch_at(offset)
                self.read.append((batch.client, event.partition, batch.sequence + offset - batch.base))

    @staticmethod
    def _numbered(event: RecordsSent | RecordsFailed) -> list[Record]:
        numbers = range(event.sequence, event.sequence + event.count) if event.sequence >= 0 else ()
        return [(event.client, event.partition, number) for number in numbers]

    def check(self) -> None:
        """Whole and in order, or not at all."""
        last: dict[tuple[str, str], int] = {}
        for client, partition, number in self.read:
            assert number > last.get((client, partition), -1), (client, partition, number)
            last[client, partition] = number
        seen = dict.fromkeys(self.read)
        for transaction in self.transactions:
            written = [record for record in transaction.records if record not in self.failed]
            found = [record for record in transaction.records if record in seen]
            if transaction.end == "transaction_committed":
                assert found == transaction.records, transaction
            elif transaction.end == "transaction_unknown":
                assert found in ([], transaction.records), transaction
            else:
                assert found == [], (transaction, written)


def spec(seed: int, kafka: str) -> ClusterSpec:
    """Two producers of two partitions each, and one whose id is taken over."""
    random = Random(f"transactions {seed}")
    base = spec_of(seed, kafka, "kraft")

    def producer(name: str, whose: str, **more: int) -> ProducerSpec:
        timeouts = {"transaction.timeout.ms": random.choice([5_000, 60_000]), "request.timeout.ms": 2_000}
        patience = {"delivery.timeout.ms": random.choice([4_000, 120_000])}
        plan = TransactionPlan(random.choice([1, 7, 30]), random.choice([0, 300 * MS]), random.choice([0, 3]))
        return ProducerSpec(
            name, "t", 30 * MS, transactions=plan, config={"transactional.id": whose, **timeouts, **patience}, **more
        )  # type: ignore[arg-type]

    return replace(
        base,
        topics=(TopicSpec("t", 2, 3, config={"min.insync.replicas": 2, "unclean.leader.election.enable": False}),),
        producers=(
            producer("a", "a"), producer("b", "b"), producer("zombie", "c"), producer("c", "c", start_us=9 * SECOND),
        ),
        groups=(GroupSpec(READER, ("t",), config={"isolation.level": "read_committed"}, coordinated=False),),
        config={**base.config, "transaction.abort.timed.out.transaction.cleanup.interval.ms": 2_000},
    )  # fmt: skip


@cache
def storm_of(seed: int, kafka: str) -> Watched:
    """One that has blown over, and a while after it."""
    storm = Watched(Cluster.build(spec(seed, kafka), seed), Random(f"storm {seed}"))
    storm.run(3 * SECOND)
    storm.blow(14)
    storm.settle(90 * SECOND)
    storm.run(30 * SECOND)
    return storm


@pytest.mark.parametrize(("seed", "kafka"), [*product(range(12), ["4.0", "4.1"])] if EVENING else STORMS)
def test_a_reader_of_committed_data_sees_whole_transactions_in_order_or_nothing(seed: int, kafka: str) -> None:
    storm = storm_of(seed, kafka)
    storm.check()
    ends = [transaction.end for transaction in storm.transactions]
    assert ends.count("transaction_committed") > 20
    query = storm.cluster.query
    assert query.acked_aborted() == query.aborted_committed() == query.acked_lost() == query.violations() == 0
    assert all(query.lso(name) == query.hw(name) for name in ("t-0", "t-1"))


def test_storms_abort_some_and_fence_the_zombie() -> None:
    """What the others look at does happen."""
    ends: dict[str, int] = {}
    for seed, kafka in STORMS:
        storm = storm_of(seed, kafka)
        for transaction in storm.transactions:
            ends[transaction.end] = ends.get(transaction.end, 0) + 1
        assert storm.cluster.producers["zombie"].sent
    assert ends["transaction_aborted"] > 10
