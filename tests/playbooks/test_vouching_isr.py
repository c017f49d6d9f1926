"""The ISR that a finding names is that of the leader's answer, not of when the client's transaction ended."""

import pytest

from tests.support.playbooks import finished

pytestmark = pytest.mark.slow

COMMITTED_LATER = """
floodmark: 1
name: committed-later
cluster: {kafka: "3.9", brokers: 3, config: {replica.lag.time.max.ms: 2000}}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 1}}
clients:
  producers:
    - name: txp
      topic: orders
      rate: 1/s
      stop: 11s
      config: {acks: all, transactional.id: txp, transaction.timeout.ms: 60000}
      transactions: {every: 12s}
steps:
  - {at: 4s, inject: gc_pause, target: broker(2), for: 15s}
  - {at: 30s, inject: power_loss, target: all, for: 1s}
settle: 30s
"""


def test_the_isr_is_that_of_the_answer_not_of_the_commit() -> None:
    result = finished(COMMITTED_LATER)
    lost = [each for each in result.findings if each.kind == "lost" and "orders-0" in each.partitions]
    assert lost
    promises = [link.text for each in lost for link in each.chain if link.event_kind == "records_acked"]
    assert promises
    assert any("[1, 2, 3]" in words for words in promises)
