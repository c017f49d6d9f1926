"""What goes with its topic was deleted on purpose, whatever goes first: the replicas or the partition."""

from functools import cache

import pytest

from playbooks.results.result import SessionResult
from tests.support.playbooks import finished

pytestmark = pytest.mark.slow

TOPIC = """
floodmark: 1
name: deleted-topic
cluster: {{kafka: "{kafka}", mode: {mode}, brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]], config: {{unclean.leader.election.enable: true}}}}
clients:
  producers:
    - {{name: us, topic: orders, rate: 20/s, stop: 2s, config: {{acks: all}}}}
  groups:
    - {{name: billing, topics: [orders], config: {{auto.offset.reset: earliest}}}}
steps:
{steps}
settle: 1s
"""
DELETED = "  - {at: 3s, admin: delete_topic, topic: orders}\n"
ON_PURPOSE = {
    "all brokers run": DELETED,
    "a replica waits for its broker": "  - {at: 2.5s, inject: crash, target: broker(3), for: 4s}\n" + DELETED,
    "a broker never comes back": "  - {at: 2.5s, inject: crash, target: broker(3)}\n" + DELETED,
    "the last copy goes with the power": (
        "  - {at: 2.5s, inject: gc_pause, target: broker(3), for: 20s}\n"
        + DELETED
        + "  - {at: 4s, inject: power_loss, target: broker(3), for: 1s}\n"
    ),
}
LOST_BEFORE = "  - {at: 1.5s, inject: power_loss, target: all, for: 1s}\n" + DELETED.replace("3s", "20s")


@cache
def played(kafka: str, mode: str, steps: str) -> SessionResult:
    return finished(TOPIC.format(kafka=kafka, mode=mode, steps=steps))


@pytest.mark.parametrize("why", ON_PURPOSE)
@pytest.mark.parametrize(("kafka", "mode"), [("1.0", "zookeeper"), ("3.9", "zookeeper"), ("3.9", "kraft")])
def test_nothing_is_lost_by_a_deletion(kafka: str, mode: str, why: str) -> None:
    result = played(kafka, mode, ON_PURPOSE[why])
    assert result.ledger.acked == 39
    assert (result.ledger.acked_lost, result.ledger.committed_lost) == (0, 0)
    assert result.findings == ()
    assert not [each for each in result.anomalies if not each.legal]
    assert not [each for each in result.violations if not each.known]


@pytest.mark.parametrize("mode", ["zookeeper", "kraft"])
def test_records_lost_before_the_deletion_stay_lost(mode: str) -> None:
    result = played("3.9", mode, LOST_BEFORE)
    assert result.ledger.acked_lost > 20
    assert {each.cause for each in result.findings} == {"power-loss-unflushed"}


def test_deleted_records_are_reported_as_deleted() -> None:
    (book,) = played("3.9", "zookeeper", DELETED).to_json()["ledger_by_partition"]
    assert [book[term] for term in ("acked", "deleted", "acked_lost", "missing")] == [39, 39, 0, 0]
