"""Small playbooks as text, for tests of the engine."""

from playbooks.engine.session import Session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.results.result import SessionResult

CLUSTER = """\
floodmark: 1
name: small
title: A small cluster
seed: 3
cluster: {kafka: "3.9", brokers: 3, config: {offsets.topic.num.partitions: 1}}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 100/s, config: {acks: all}}
  groups:
    - {name: billing, topics: [orders]}
"""

CRASH = (
    CLUSTER
    + """\
steps:
  - at: 2s
    inject: crash
    target: leader(orders-0)
    for: 3s
  - when: leader(orders-0) == 2
    within: 20s
    inject: lag
    target: broker(3)
    for: 2s
settle: 5s
expect:
  - acked_lost() == 0
  - always: under_min_isr() == 0
  - eventually: under_replicated() == 0
    within: 30s
    since: heal
"""
)

MANUAL = """\
floodmark: 1
name: by-hand
stepping: manual
cluster: {kafka: "3.9", brokers: 2}
topics:
  - {name: orders, placement: [[1, 2]]}
steps:
  - deliver: {broker: 1, partition: orders-0}
  - deliver: {broker: 2, partition: orders-0}
  - append: {broker: 1, partition: orders-0, acks: 1, names: [m0]}
    then: {1: {leo: 1, hw: 0}}
  - append: {broker: 2, partition: orders-0}
    refused: NOT_LEADER_OR_FOLLOWER
  - fetch: {follower: 2, partition: orders-0}
  - show
expect:
  - leo(orders-0, 2) == 1
"""


def timed(steps: str = "", expect: str = "", settle: str = "1s", cluster: str = CLUSTER) -> Playbook:
    """Return a timed playbook over the small cluster."""
    parts = [cluster, f"settle: {settle}\n"]
    parts += [f"steps:\n{_indented(steps)}"] if steps else []
    parts += [f"expect:\n{_indented(expect)}"] if expect else []
    return loads("".join(parts), "small.yaml")


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.strip("\n").splitlines())


def finished(source: str) -> SessionResult:
    """Return the result of a timed playbook that is run one second at a time."""
    session = Session.start(loads(source.lstrip(), "text.yaml"))
    while session.advance(session.cluster.now_us + 1_000_000):
        pass
    return session.finish()
