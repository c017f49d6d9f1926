"""A cluster with a group that writes one record for each that it reads, and what came of it."""

from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import RecordsRead, TransactionCommitted
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from tests.support.releases import those_of

MS = 1_000
SECOND = 1_000_000
M0, M1 = 3_000, 3_001
OUT = "copier/0.output"
Covered = dict[str, list[int]]


def spec(
    kafka: str = "3.9", *, fast: bool = False, more: tuple[ProducerSpec, ...] = (), each_us: int = 80 * MS, **group: Any
) -> ClusterSpec:
    """50 records a second on two partitions, by key, copied by two members, and a careful reader of the copies.

    With ``fast`` sessions and intervals are short.
    """
    times = {"session.timeout.ms": 2_000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 4_000} if fast else {}
    if group.get("config", {}).get("group.protocol") == "consumer":
        times = {"max.poll.interval.ms": 4_000} if fast else {}
    given = {"auto.offset.reset": "earliest", **times, **group.pop("config", {})}
    return ClusterSpec(
        kafka,
        "kraft" if float(kafka) >= 3.3 else "zookeeper",
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (
            TopicSpec("in", 2, 3, ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2}),
            TopicSpec("out", 2, 3, ((3, 1, 2), (1, 3, 2)), {"min.insync.replicas": 2}),
        ),
        (ProducerSpec("source", "in", each_us, 4, config={"acks": "all"}, keys=50), *more),
        (
            GroupSpec("copier", ("in",), **{
                "members": 2, "processing_us": MS, "commit": "transaction", "output_topic": "out",
                "config": given, **group,
            }),
            GroupSpec(
                "audit", ("out",), coordinated=False,
                config=those_of(
                    "consumer", kafka, {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
                ),
            ),
        ),
        NetworkSpec(500, 200),
        those_of("broker", kafka, {
            "group.min.session.timeout.ms": 1_000, "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 3,
            "group.initial.rebalance.delay.ms": 0,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1_000,
        }),
    )  # fmt: skip


class Copying:
    """It, with what it did."""

    def __init__(self, *args: Any, seed: int = 3, **more: Any) -> None:
        self.cluster = Cluster.build(spec(*args, **more), seed)
        self.events: list[Any] = []

    def run(self, more: float) -> "Copying":
        self.cluster.run(self.cluster.now_us + int(more * SECOND))
        self.events += self.cluster.drain()
        return self

    def step(self, kind: type[Any], client: str = "") -> Any:
        """Run until the next event of a kind."""
        end = self.cluster.now_us + 200 * SECOND
        while self.cluster.now_us < end:
            self.cluster.run(end, 1)
            drained = self.cluster.drain()
            self.events += drained
            found = [event for event in drained if isinstance(event, kind) and client in ("", event.client)]
            if found:
                return found[0]
        raise AssertionError(f"no {kind.__name__}")

    def of(self, kind: type[Any], client: str = "") -> list[Any]:
        return [event for event in self.events if isinstance(event, kind) and client in ("", event.client)]

    def end(self, more: float = 30) -> "Copying":
        """Let readers come to the end."""
        self.cluster.stop_producers()
        self.run(more)
        query = self.cluster.query
        assert query.lag("copier") == query.lag("audit") == 0
        assert query.reread("audit") == 0
        assert (
            query.unexpected_violations(),
            query.acked_aborted(),
            query.aborted_committed(),
            query.acked_lost(),
        ) == (0, 0, 0, 0)
        return self

    @property
    def source(self) -> int:
        """Records to be copied."""
        return sum(self.cluster.query.leo(f"in-{number}") for number in (0, 1))

    @property
    def copies(self) -> int:
        """What a careful reader has of them."""
        return self.cluster.consumers["audit/0"].read

    def books(self, member: int = 0) -> list[int]:
        """Of a member's producer: sent, acked, failed, unknown, aborted."""
        return self.cluster.checker.ledger.deliveries.totals[f"copier/{member}.output"]

    def committed(self) -> Covered:
        """Input offsets by partition, in the order of the transactions that were told to be committed.

        What a member was handed since its last transaction ended is what the next one is about.
        """
        covered: Covered = {}
        hand: dict[str, list[RecordsRead]] = {}
        for event in self.events:
            kind = event.kind
            if kind == "records_read" and event.group_id == "copier":
                hand.setdefault(event.client, []).append(event)
            elif kind in ("transaction_committed", "transaction_aborted", "transaction_unknown"):
                read = hand.pop(event.client.removesuffix(".output"), [])
                for each in read if isinstance(event, TransactionCommitted) else ():
                    offsets = range(each.log_offset, each.log_offset + each.count)
                    covered.setdefault(each.partition, []).extend(offsets)
            elif kind == "node_down":
                hand.pop(event.node, None)
        return covered
