"""Losses whose cause came after somebody was already known to lack the records, or before the answer that vouched."""

import pytest

from cluster_model.checker.root_cause.findings import LAST_REPLICA, POWER_LOSS_UNFLUSHED, UNREPLICATED_TAIL
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads
from tests.support.chain_check import audit

CLUSTER = """
floodmark: 1
name: late
seed: 7351834207251
cluster: {kafka: "3.9", brokers: 3, config: {broker.session.timeout.ms: 1000, replica.lag.time.max.ms: 1000}}
topics:
  - {name: orders, replication: 3, config: {min.insync.replicas: 2}}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: 1}}
settle: 10s
steps:
"""

HEARD_TOO_LATE = """
  - {at: 334911us, inject: isolate, target: broker(2), to: leader(orders-0), direction: out, for: 360973us}
  - {at: 695884us, inject: gc_pause, target: broker(3), for: 360973us}
  - {at: 1168121us, inject: power_loss, target: broker(3), for: 360973us}
"""
"""Broker 3 is elected while it is paused and lacks a record; it gets it as it wakes, and then loses power."""

ANSWERED_TOO_LATE = """
  - {at: 851607us, inject: power_loss, target: isr(orders-0), for: 13717us}
"""
"""Everybody loses power while an answer is on its way that vouches for a record."""


@pytest.mark.parametrize(
    ("steps", "causes"),
    [
        (HEARD_TOO_LATE, {POWER_LOSS_UNFLUSHED, UNREPLICATED_TAIL, LAST_REPLICA}),
        (ANSWERED_TOO_LATE, {POWER_LOSS_UNFLUSHED}),
    ],
)
def test_late_losses_have_a_cause(steps: str, causes: set[str]) -> None:
    session = start_session(loads(CLUSTER.lstrip() + steps.lstrip("\n"), "late.yaml"))
    result = session.finish()
    cluster = session.cluster
    assert {each.cause for each in result.findings} == causes
    assert audit(result.findings, cluster.cluster_state, cluster.checker.ledger, cluster.checker.history) == []
