"""``python -m tests.determinism.copying SLICE``: a digest per way of reading, processing and writing."""

import json
import sys

from cluster_model.cluster import Cluster
from tests.cluster_model.copying import M0, SECOND, spec

END = 14 * SECOND
STEPS = {"whole": END, "slice": 23_000}
FEATURES = {"2.4": "transaction", "3.9": "transaction", "4.1": "transaction", "3.5": "sync"}


def build(kafka: str) -> Cluster:
    """Two members that copy."""
    return Cluster.build(spec(kafka, fast=True, commit=FEATURES[kafka]), 11)


def play(cluster: Cluster, step: int = END, start: int = 0) -> None:
    """From ``start`` on: a member dies and comes back, a broker dies, a member is paused."""

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    for at, action in (
        (4 * SECOND, lambda: cluster.crash(M0)),
        (5 * SECOND, lambda: cluster.restart(M0)),
        (7 * SECOND, lambda: cluster.crash(3)),
        (8 * SECOND, lambda: cluster.pause(M0 + 1)),
        (11 * SECOND, lambda: cluster.resume(M0 + 1)),
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
