"""Offsets that are used again after unflushed logs were lost: a reader that begins later skips nothing."""

import pytest

from playbooks.results.result import SessionResult
from tests.support.playbooks import finished

pytestmark = pytest.mark.slow

REUSED = """
floodmark: 1
name: reused-offsets
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]], config: {{min.insync.replicas: 2}}}}
clients:
  producers:
    - name: txp
      topic: orders
      rate: 40/s
      config: {{acks: all, transactional.id: txp}}
      transactions: {{every: 200ms, abort_every: 4}}
    - {{name: other, topic: orders, rate: 10/s, start: 3s, stop: 3500ms, config: {{acks: all}}}}
  groups:
    - {{name: billing, topics: [orders], config: {{auto.offset.reset: earliest, isolation.level: {isolation}}}}}
steps:
  - {{at: 100ms, inject: crash, target: client(billing/0), for: {late}}}
  - {{at: 2s, inject: power_loss, target: replicas(orders-0), for: 1s}}
settle: 40s
"""


def played(kafka: str, isolation: str, late: str) -> SessionResult:
    return finished(REUSED.format(kafka=kafka, isolation=isolation, late=late))


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("kafka", ["2.6", "3.9", "4.1"])
def test_a_reader_that_begins_after_the_loss_is_not_accused(kafka: str, isolation: str) -> None:
    result = played(kafka, isolation, "40s")
    assert result.ledger.acked_lost > 0, "offsets are used again"
    assert not [each.name for each in result.anomalies if "skip" in each.name and "poll" in each.name]
