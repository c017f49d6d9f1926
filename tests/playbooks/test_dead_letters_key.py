"""The key ``dead_letter`` of a group: what it says, and what it comes to in a session's results."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import RecordDeadLettered
from playbooks.engine.session import Session
from playbooks.parser.loader import loads
from tests.support.mistakes import keys, messages, mistakes_of

pytestmark = pytest.mark.slow

TEXT = """floodmark: 1
cluster: {config: {offsets.topic.num.partitions: 1}}
topics:
  - {name: orders, partitions: 2, replication: 3}
  - {name: letters, partitions: 1, replication: 3}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 100/s, stop: 20s}
  groups:
    - {name: billing, topics: [orders], members: 2, MORE, config: {auto.offset.reset: earliest}}
steps:
  - {at: 12s, inject: crash, target: client(billing/0), for: 3s}
settle: 50s
"""


def test_letters_are_in_the_results_as_records_of_each_member() -> None:
    session = Session.start(loads(TEXT.replace("MORE", "fail_every: 20, dead_letter: letters"), "x"))
    result = session.finish()
    cluster = session.cluster
    letters = [event for event in session.drain() if isinstance(event, RecordDeadLettered)]
    producers = {each.name: each for each in result.clients.producers}
    assert list(producers) == ["billing/0.dead-letter", "billing/1.dead-letter", "checkout"]
    for member in ("billing/0", "billing/1"):
        sent = [event for event in letters if event.client == member]
        assert producers[f"{member}.dead-letter"].acked == len(sent) > 0
    expected = {(name, at) for name in ("orders-0", "orders-1") for at in range(19, cluster.query.leo(name), 20)}
    assert {(event.partition, event.log_offset) for event in letters} == expected
    assert cluster.query.leo("letters-0") >= len(expected) > 50
    total = producers["checkout"].sent + sum(producers[f"billing/{n}.dead-letter"].sent for n in (0, 1))
    assert result.ledger.sent == total
    (group,) = result.clients.groups
    assert group.handler_failed == 0


@pytest.mark.parametrize(
    "more", ["dead_letter: orders", "fail_every: 9, dead_letter: orders", "fail_every: 9, dead_letter: letter"]
)
def test_a_topic_that_cannot_be_meant_is_refused(more: str, snapshot: SnapshotAssertion) -> None:
    problems = mistakes_of(lambda: loads(TEXT.replace("MORE", more), "x"))
    assert keys(problems) == ["clients.groups[1].dead_letter"]
    assert messages(problems) == snapshot
