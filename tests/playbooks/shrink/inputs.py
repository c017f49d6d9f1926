"""Playbooks that go wrong, with much in them that has nothing to do with it."""

from playbooks.parser.loader import loads
from playbooks.shrink.oracle import Journal
from playbooks.shrink.search import Budget, CandidateRunner
from playbooks.shrink.shrinker import ShrinkResult, ShrinkSource, ShrinkTarget, examine, shrink

LOST_TAIL = """
floodmark: 1
name: noisy
seed: 3
cluster: {kafka: "2.4", mode: zookeeper, brokers: 3, network: {jitter: 100us}, config: {replica.lag.time.max.ms: 30000}}
topics:
  - {name: orders, partitions: 1, replication: 3}
  - {name: noise, partitions: 2, replication: 2}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 40/s, config: {acks: 1}}
    - {name: other, topic: noise, rate: 20/s}
  groups:
    - {name: readers, topics: [orders, noise], members: 2}
steps:
  - {at: 812ms, inject: lag, target: broker(3), latency: 20ms, for: 700ms}
  - {at: 1.2s, inject: gc_pause, target: random(followers(noise-0)), for: 300ms}
  - {at: 2.034567s, inject: slow_follower, target: followers(orders-0), extra: 3s}
  - {after: 700ms, inject: gc_pause, target: client(other), for: 200ms}
  - {when: acked(checkout) >= 130, inject: crash, target: leader(orders-0), for: 9s}
  - {after: 100ms, inject: crash, target: client(other), for: 500ms, if_any: true}
settle: 12s
expect:
  - acked_lost() == 0
"""
DIVERGING = """
floodmark: 1
name: diverging
seed: 1
cluster: {kafka: "0.10.2", brokers: 3, config: {zookeeper.session.timeout.ms: 3000}}
topics:
  - {name: orders, partitions: 3, replication: 2, config: {unclean.leader.election.enable: true}}
clients: {producers: [{name: checkout, topic: orders, rate: 20/s}]}
steps:
  - {at: 4.6s, inject: crash, target: broker(2), for: 1ms}
  - {at: 8.5s, inject: crash, target: broker(1), for: 1ms}
  - {at: 12.7s, inject: crash, target: broker(2), for: 1ms}
settle: 20s
"""
"""What a search under 0.10.2 found: replicas truncate to their own high watermarks, and their logs differ (KIP-101)."""
LOST = "finding:lost/unreplicated-tail"


def found(text: str = LOST_TAIL, *keys: str) -> ShrinkTarget:
    """What is kept of a text."""
    playbook = loads(text, "noisy.yaml")
    return examine(ShrinkSource(playbook, playbook.seed, "noisy.yaml"), keys)


def shrunk(begun: ShrinkTarget, *, workers: int = 1, journal: Journal | None = None, runs: int = -1) -> ShrinkResult:
    """The whole of it."""
    with CandidateRunner(begun.keys, journal or Journal(), workers) as bench:
        return shrink(begun, bench, Budget(runs=runs))
