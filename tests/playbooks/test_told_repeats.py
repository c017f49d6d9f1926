"""Records that stand in a log twice, or behind later ones, after many refusals: what is told of why."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.ledger import duplicates
from cluster_model.checker.root_cause.findings import (
    FORGOTTEN_STATE,
    NO_IDEMPOTENCE,
    RETRY_IN_FLIGHT,
    TOO_MANY_IN_FLIGHT,
)
from cluster_model.protocol.errors import KafkaError
from tests.support.playbooks import finished

REFUSED_FOR_LONG = """
floodmark: 1
name: refused-for-long
seed: 252806412710994
cluster: {kafka: "2.6", brokers: 3}
topics:
  - {name: orders, replication: 3, partitions: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 20/s, config: {acks: all}}]}
settle: 20s
steps:
  - {at: 3.53s, inject: session_expiry, target: leader(orders-0)}
  - {at: 5s, inject: power_loss, target: broker(2), for: 1ms}
  - {at: 5.7s, inject: session_expiry, target: broker(3)}
"""
"""Four batches are refused over and over before the fifth, which was refused long ago, has its turn."""

LATE_BY_A_SHUTDOWN = """
floodmark: 1
name: late-by-a-shutdown
seed: 19756086428825
cluster: {kafka: "2.6", brokers: 3}
topics:
  - {name: orders, replication: 3}
clients: {producers: [{name: checkout, topic: orders, rate: 5/s, config: {acks: all}}]}
settle: 10s
steps:
  - {at: 0s, inject: crash, target: broker(2), for: 1ms}
  - {at: 1s, admin: shutdown, broker: 3}
  - {at: 4s, admin: shutdown, broker: 1}
  - {at: 10s, inject: duplicate_responses, target: broker(1), for: 200ms}
"""

FOUR_LOST_ACKS = """
floodmark: 1
name: four-lost-acks
seed: 146607542727832
cluster: {kafka: "3.9", brokers: 1}
topics:
  - {name: orders, replication: 1}
clients: {producers: [{name: checkout, topic: orders, rate: 4/s, config: {enable.idempotence: false}}]}
settle: 1s
steps:
  - {at: 0s, inject: lost_ack, target: client(checkout), count: 4, for: 600ms}
"""
"""A record goes out beside one that was refused before, and is then refused more often."""

OVER_TWO_CONNECTIONS = """
floodmark: 1
name: over-two-connections
seed: 8399123232243
cluster: {kafka: "4.0", brokers: 3}
topics:
  - {name: orders, replication: 3, partitions: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 20/s}]}
settle: 20s
steps:
  - {at: 9s, inject: crash, target: broker(1), for: 1ms}
  - {at: 9s, inject: session_expiry, target: leader(orders-1)}
  - {at: 9.7s, inject: crash, target: leader(orders-1), for: 1ms}
"""
"""Five batches wait at the old leader; the first is sent to the new one, and a sixth, before that one dies."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "causes"),
    [(REFUSED_FOR_LONG, {NO_IDEMPOTENCE, RETRY_IN_FLIGHT}), (LATE_BY_A_SHUTDOWN, {RETRY_IN_FLIGHT})],
)
def test_the_last_refusal_of_every_batch_is_known(source: str, causes: set[str]) -> None:
    assert {each.cause for each in finished(source).findings} == causes


def test_a_record_that_was_refused_more_often_than_its_neighbour_knows_each_time() -> None:
    found = {(each.kind, each.cause) for each in finished(FOUR_LOST_ACKS).findings}
    assert found == {("duplicate", NO_IDEMPOTENCE)}


def test_a_leader_knows_five_batches_again_and_two_connections_carry_more(snapshot: SnapshotAssertion) -> None:
    result = finished(OVER_TWO_CONNECTIONS)
    assert {each.cause for each in result.findings} == {TOO_MANY_IN_FLIGHT}
    assert sum(each.count for each in result.findings) == result.ledger.duplicates == 6
    assert any(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER.name in each.sentence for each in result.findings)
    assert [each.sentence for each in result.findings] == snapshot


def test_before_hints_told_of_the_new_leader_the_old_ones_answers_came_first() -> None:
    """Up to 3.6 a refused batch waits for its back-off, and by then the others are refused, too (KIP-951)."""
    assert finished(OVER_TWO_CONNECTIONS.replace('"4.0"', '"3.6"')).findings == ()


def test_six_later_batches_would_not_be_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "REMEMBERED", 6)
    assert FORGOTTEN_STATE in {each.cause for each in finished(OVER_TWO_CONNECTIONS).findings}
