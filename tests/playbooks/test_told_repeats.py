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

SLOW_RESPONSES = "  - {at: 8.6s, inject: slow_responses, target: broker(2), to: client(checkout), for: 4s, delay: 3s}\n"
OVER_TWO_CONNECTIONS = f"""
floodmark: 1
name: over-two-connections
seed: 163519850570
cluster: {{kafka: "4.0", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3], [2, 3, 1]]}}
clients:
  producers:
    - {{name: checkout, topic: orders, rate: 40/s, config: {{delivery.timeout.ms: 31000, request.timeout.ms: 4000}}}}
settle: 60s
steps:
{SLOW_RESPONSES}  - {{at: 8840ms, inject: session_expiry, target: broker(2)}}
  - {{at: 9030ms, inject: crash, target: broker(1), for: 1ms}}
  - {{at: 9190ms, inject: crash, target: broker(2), for: 1ms}}
"""
"""Five batches are in the log of the old leader, whose responses are late; later ones are sent to the new leader."""


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


def test_a_leader_recognises_five_batches_and_two_connections_carry_more(snapshot: SnapshotAssertion) -> None:
    result = finished(OVER_TWO_CONNECTIONS)
    assert {each.cause for each in result.findings} == {TOO_MANY_IN_FLIGHT}
    assert sum(each.count for each in result.findings) == result.ledger.duplicates > 0
    assert any(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER.name in each.sentence for each in result.findings)
    assert [each.sentence for each in result.findings] == snapshot


def test_without_late_responses_a_connection_has_at_most_one_batch_without_a_response() -> None:
    assert finished(OVER_TWO_CONNECTIONS.replace(SLOW_RESPONSES, "")).findings == ()


def test_fewer_later_batches_than_a_leader_remembers_are_another_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "REMEMBERED", 100)
    assert FORGOTTEN_STATE in {each.cause for each in finished(OVER_TWO_CONNECTIONS).findings}
