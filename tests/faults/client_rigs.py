"""A busy cluster for faults of clients to strike: a producer with keys, and two groups that their coordinators know."""

from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, ProducerSpec, TopicSpec
from tests.faults.rigs import MS

CHECKOUT, BILLING_0, BILLING_1, BILLING_2 = 2_000, 3_000, 3_001, 3_002
EARLIEST: dict[str, int | str | bool] = {
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 10_000,
    "auto.commit.interval.ms": 1_000,
}
MODERN: dict[str, int | str | bool] = {"auto.offset.reset": "earliest", "group.protocol": "consumer"}


def client_cluster(
    seed: int = 7,
    *,
    kafka: str = "3.9",
    mode: str = "kraft",
    producer: dict[str, Any] | None = None,
    group: dict[str, Any] | None = None,
    config: dict[str, int | str | bool] | None = None,
    more: tuple[GroupSpec, ...] = (),
) -> Cluster:
    """``orders`` has four partitions; ``checkout`` makes 50 records a second, ``billing`` has three members."""
    sends: dict[str, Any] = {"keys": 100, **(producer or {})}
    reads: dict[str, Any] = {
        "members": 3,
        "processing_us": MS,
        "config": {**EARLIEST, **(config or {})},
        **(group or {}),
    }
    return Cluster.build(
        ClusterSpec(
            kafka,
            mode,
            tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("orders", 4, 3), TopicSpec("letters", 1, 3), TopicSpec("bills", 2, 3)),
            (ProducerSpec("checkout", "orders", 20 * MS, **sends),),
            (GroupSpec("billing", ("orders",), **reads), *more),
        ),
        seed,
    )


def whole(cluster: Cluster) -> list[str]:
    """What keeps the cluster and the ledger from being whole, empty when nothing does."""
    query = cluster.query
    found = [name for name in cluster.cluster_state.records if query.hw(name) != query.leo(name)]
    found += [
        name for name, node in zip(cluster.consumers, range(BILLING_0, 4_000), strict=False) if not cluster.is_up(node)
    ]
    for name, count in (
        ("lag", query.lag("billing")),
        ("not owned", 4 - query.owned("billing")),
        ("passed over", query.skipped("billing")),
        ("lost", query.acked_lost() + query.committed_lost()),
        ("without an outcome", query.sent() - query.acked() - query.failed() - query.unknown()),
        ("violations", query.unexpected_violations()),
        ("under-replicated", query.under_replicated()),
    ):
        if count:
            found.append(f"{count} {name}")
    return found
