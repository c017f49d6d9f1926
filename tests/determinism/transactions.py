"""``python -m tests.determinism.transactions SLICE``: a digest per generation of transactions."""

import json
import sys
from dataclasses import replace

from cluster_model.cluster import Cluster
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.spec.cluster_spec import TransactionPlan
from tests.cluster_model.transacting import MS, SECOND, producer, spec
from tests.support.releases import those_of

END = 14 * SECOND
STEPS = {"whole": END, "slice": 23_000}
SOON: dict[str, ConfigValue] = {"broker.session.timeout.ms": 3_000, "zookeeper.session.timeout.ms": 3_000}
"""A dead broker is found to be so within seconds."""
FEATURES = ("0.11", "2.6", "3.5", "3.9", "4.1")


def build(kafka: str) -> Cluster:
    """Two producers of one id one after the other, one that leaves its transaction open, and readers of both kinds."""
    producers = (
        producer("old", "tx", TransactionPlan(20, abort=3)),
        producer("new", "tx", TransactionPlan(0, 300 * MS), start_us=4 * SECOND),
        producer("lazy", "other", TransactionPlan(10, hang=5), {"transaction.timeout.ms": 3_000}, send="sync"),
    )
    slower = [replace(each, interval_us=50 * MS) for each in producers]
    return Cluster.build(spec(kafka, slower, those_of("broker", kafka, SOON)), 11)


def digest(kafka: str, step: int) -> str:
    """Run it in steps of time: a coordinator dies, a leader is cut off from the producers, and comes back."""
    cluster = build(kafka)

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    run_to(2 * SECOND)
    cluster.crash(3)
    run_to(6 * SECOND)
    cluster.restart(3)
    for node in (2_000, 2_001, 2_002):
        cluster.cut(node, 2, 1)
    run_to(9 * SECOND)
    for node in (2_000, 2_001, 2_002):
        cluster.heal_cut(node, 2, 1)
    run_to(10 * SECOND)
    cluster.crash(2_001)
    run_to(11 * SECOND)
    cluster.restart(2_001)
    run_to(END)
    reads = [consumer.read for consumer in cluster.consumers.values()]
    return f"{cluster.digest()} {cluster.executed} {reads}"


def main() -> None:
    """Print one JSON object: version → digest."""
    print(json.dumps({name: digest(name, STEPS[sys.argv[1]]) for name in FEATURES}))


if __name__ == "__main__":
    main()
