"""What explorations find has its cause and the release that fixed it, and does not happen under that release."""

import pytest

from cluster_model.checker.root_cause.findings import EARLY_JOIN, UNFENCED_FOLLOWER
from playbooks.diagnosis.remedies import MENDS, changes
from playbooks.parser.loader import loads
from tests.playbooks.model_checking.test_exploring import ran

EARLY = """
floodmark: 1
name: early-join
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 1}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 2, partition: orders-0, records: 1}}
  - shrink_isr: {{partition: orders-0, broker: 1, out: [3]}}
  - elect: {{partition: orders-0, leader: 2}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 2}}
  - fetch_send: {{follower: 2, partition: orders-0}}
  - fetch_serve: {{follower: 2, partition: orders-0}}
  - fetch_lose: {{follower: 2, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 2}}
  - fetch_send: {{follower: 3, partition: orders-0}}
  - fetch_serve: {{follower: 3, partition: orders-0}}
  - fetch_lose: {{follower: 3, partition: orders-0}}
  - expand_isr: {{partition: orders-0, broker: 2, in: 3}}
    refused: {refused}
  - elect: {{partition: orders-0, leader: 3}}
  - deliver: {{broker: 3, partition: orders-0}}
  - deliver: {{broker: 2, partition: orders-0}}
  - fetch: {{follower: 2, partition: orders-0}}
  - fetch: {{follower: 2, partition: orders-0}}
"""
"""The leader of epoch 2 has the committed record and does not know yet that it is committed."""
UNFENCED = """
floodmark: 1
name: unfenced
stepping: manual
cluster: {{kafka: "{kafka}", brokers: 3}}
topics:
  - {{name: orders, placement: [[1, 2, 3]]}}
steps:
  - elect: {{partition: orders-0, leader: 1}}
  - elect: {{partition: orders-0, leader: 2}}
  - elect: {{partition: orders-0, leader: 1}}
  - deliver: {{broker: 1, partition: orders-0, epoch: 3}}
  - deliver: {{broker: 2, partition: orders-0, epoch: 2}}
  - deliver: {{broker: 3, partition: orders-0, epoch: 1}}
  - append: {{broker: 1, partition: orders-0, records: 1, acks: all}}
  - fetch: {{follower: 3, partition: orders-0, records: 1}}
  - shrink_isr: {{partition: orders-0, broker: 1, out: [2]}}
  - fetch_send: {{follower: 3, partition: orders-0}}
  - fetch_serve: {{follower: 3, partition: orders-0}}
    refused: {refused}
  - fetch_lose: {{follower: 3, partition: orders-0}}
    refused: {refused}
  - deliver: {{broker: 3, partition: orders-0, epoch: 2}}
  - elect: {{partition: orders-0, leader: 3}}
  - deliver: {{broker: 3, partition: orders-0}}
  - deliver: {{broker: 1, partition: orders-0}}
  - fetch: {{follower: 1, partition: orders-0}}
"""
"""Broker 3 fetches in epoch 1 from the leader of epoch 3, and cuts its log for that of epoch 2."""


@pytest.mark.parametrize("kafka", ["0.11", "1.0"])
def test_a_join_that_came_too_early_is_told_with_what_fixed_it(kafka: str) -> None:
    result = ran(EARLY.format(kafka=kafka, refused="never"))
    (found,) = result.findings
    assert (found.cause, result.ledger.acked_lost, result.ledger.committed_lost) == (EARLY_JOIN, 1, 1)
    joins = [link for link in found.chain if link.event_kind == "isr_changed"]
    assert [link.broker for link in joins][-1] == 3
    assert {each.invariant for each in result.violations} >= {"acks-all-durability", "leader-completeness"}
    assert all("KAFKA-7128" in each.known and "KIP" not in each.known for each in result.violations)


@pytest.mark.parametrize("kafka", ["1.1", "2.0", "2.1"])
def test_since_then_the_join_is_refused_and_nothing_is_lost(kafka: str) -> None:
    result = ran(EARLY.format(kafka=kafka, refused="INELIGIBLE_REPLICA"))
    assert result.verdict == "pass"
    assert (result.findings, result.ledger.acked_lost) == ((), 0)
    assert not result.violations


def test_what_fencing_fixed_is_told_as_that() -> None:
    result = ran(UNFENCED.format(kafka="2.0", refused="never"))
    (found,) = result.findings
    assert (found.cause, result.ledger.committed_lost) == (UNFENCED_FOLLOWER, 1)
    assert all("KIP-320" in each.known for each in result.violations)


@pytest.mark.parametrize("kafka", ["2.1", "3.9"])
def test_where_a_fetch_is_fenced_its_later_steps_are_refused_too(kafka: str) -> None:
    result = ran(UNFENCED.format(kafka=kafka, refused="FENCED_LEADER_EPOCH"))
    assert result.verdict == "pass"
    assert (result.findings, result.ledger.acked_lost) == ((), 0)


def test_the_release_that_fixed_it_is_tried() -> None:
    playbook = loads(EARLY.format(kafka="0.11", refused="any"), "early.yaml")
    tried = {each.name.removeprefix("kafka "): each.note for each in changes(playbook, "lost")}
    assert tried["1.1"] == MENDS["1.1"] == "KAFKA-7128"
