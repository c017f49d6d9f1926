"""``python -m tests.determinism.copying SLICE``: a digest per way of reading, processing and writing."""

import json
import sys
from dataclasses import replace

from cluster_model.cluster import Cluster
from tests.cluster_model.copying import M0, SECOND, spec
from tests.support.releases import those_of

END = 11 * SECOND
STEPS = {"whole": END, "slice": 23_000}
SOON = {"broker.session.timeout.ms": 2_000, "zookeeper.session.timeout.ms": 2_000}
"""A dead broker is found to be so within seconds."""
FEATURES = {"2.4": "transaction", "3.9": "transaction", "4.1": "transaction", "3.5": "sync"}


def build(kafka: str) -> Cluster:
    """Two members that copy."""
    usual = spec(kafka, fast=True, commit=FEATURES[kafka])
    return Cluster.build(replace(usual, config=those_of("broker", kafka, {**usual.config, **SOON})), 11)


def play(cluster: Cluster, step: int = END, start: int = 0) -> None:
    """From ``start`` on: a member dies and comes back, a broker dies, a member is paused."""

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    for at, action in (
        (2 * SECOND, lambda: cluster.crash(M0)),
        (3 * SECOND, lambda: cluster.restart(M0)),
        (4 * SECOND, lambda: cluster.crash(3)),
        (5 * SECOND, lambda: cluster.pause(M0 + 1)),
        (9_500_000, lambda: cluster.resume(M0 + 1)),
    ):
        if at >= start:
            run_to(at)
            action()
    run_to(END)


def digest(kafka: str, step: int) -> str:
    """Of a whole run in steps of time."""
    cluster = build(kafka)
    play(cluster, step)
    reads = [consumer.read for consumer in cluster.consumers.values()]
    return f"{cluster.digest()} {cluster.executed} {reads}"


def main() -> None:
    """Print one JSON object: version → digest."""
    print(json.dumps({name: digest(name, STEPS[sys.argv[1]]) for name in FEATURES}))


if __name__ == "__main__":
    main()
