"""Benchmark of shrinking: a storm of sixty random steps that loses acknowledged records, reduced to the few needed."""

import os
import random
import time
from typing import Final, NamedTuple

from playbooks.parser.loader import loads
from playbooks.shrink.oracle import Journal
from playbooks.shrink.search import CandidateRunner
from playbooks.shrink.shrinker import ShrinkSource, examine, shrink

ACTS: Final = 60
SPAN_S: Final = 60
KEPT: Final = "finding:lost/last-replica-lost"
_FAULTS: Final = ("crash", "power_loss", "gc_pause", "isolate", "lag", "partition", "slow_disk")
_TARGETS: Final = ("broker(1)", "broker(2)", "broker(3)", "leader(orders-0)", "leader(orders-3)", "follower(items-1)")
_HEAD: Final = """floodmark: 1
name: storm
seed: 5
cluster: {kafka: "0.11", brokers: 3, config: {replica.lag.time.max.ms: 2000}}
topics:
  - {name: orders, partitions: 6, replication: 3}
  - {name: items, partitions: 6, replication: 2}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 100/s, config: {acks: 1}}
    - {name: stock, topic: items, rate: 100/s, config: {acks: 1}}
  groups:
    - {name: billing, topics: [orders], members: 2}
settle: 30s
steps:
"""


class Measured(NamedTuple):
    """Result of shrinking; the seconds are wall-clock time."""

    seconds: float
    runs: int
    steps: int
    workers: int


def storm() -> str:
    """Return the playbook of the storm; always the same."""
    rng = random.Random(5)
    at_ms, lines = 1_000, []
    for _ in range(ACTS):
        at_ms += rng.randint(200, 2 * SPAN_S * 1_000 // ACTS - 200)
        fault, target, for_ms = (
            rng.choice(_FAULTS),
            rng.choice(_TARGETS),
            rng.randint(500, 6_000),
        )
        lines.append(f"  - {{at: {at_ms}ms, inject: {fault}, target: {target}, for: {for_ms}ms, if_any: true}}")
    return _HEAD + "\n".join(lines) + "\n"


def shrunk() -> Measured:
    """Shrink the storm with one process per core."""
    workers = os.cpu_count() or 1
    began = time.perf_counter()
    found = examine(ShrinkSource(loads(storm(), "storm.yaml"), 5, "storm"), [KEPT])
    with CandidateRunner(found.keys, Journal(), workers) as bench:
        done = shrink(found, bench)
    return Measured(time.perf_counter() - began, done.runs, len(done.draft.steps), workers)
