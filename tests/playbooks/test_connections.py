"""What a producer loses with its connection to a leader that dies, goes dark, pauses or is cut off, by release."""

import pytest

from cluster_model.checker.root_cause.findings import RETRY_IN_FLIGHT
from playbooks.results.result import SessionResult
from tests.support.playbooks import finished

pytestmark = pytest.mark.slow

DEAD_LEADER = """
floodmark: 1
name: dead-leader
title: A producer sees its leader's process die
source: "Sender.sendProducerData: what is for a node without a connection stays in the accumulator (client.ready)"
cluster: {kafka: "2.0", brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {}}
steps:
  - {at: 10s, inject: crash, target: leader(orders-0), for: 40s}
  - {at: 30s, settle: now}
settle: 30s
"""


def run(kafka: str, config: str = "", fault: str = "crash", more: str = "") -> SessionResult:
    source = DEAD_LEADER.replace('"2.0"', f'"{kafka}"').replace("inject: crash", f"inject: {fault}")
    return finished(source.replace("config: {}", f"config: {{{config}}}").replace("for: 40s", f"for: {more or '40s'}"))


@pytest.mark.parametrize(
    ("kafka", "config", "unknown"),
    [
        ("1.1", "", 1),
        ("1.1", "retries: 3", 0),
        ("2.0", "", 1),
        ("2.0", "retries: 3", 0),
        ("2.1", "", 0),
        ("2.8", "retries: 3", 0),
        ("2.8", "", 0),
        ("3.9", "retries: 3", 0),
        ("3.9", "", 0),
    ],
)
def test_only_what_is_in_flight_is_at_stake_when_a_leaders_process_dies(kafka: str, config: str, unknown: int) -> None:
    ledger = run(kafka, config).ledger
    assert (ledger.sent, ledger.acked, ledger.failed, ledger.unknown) == (600, 600 - unknown, 0, unknown)
    assert (ledger.acked_lost, ledger.duplicates, ledger.reordered) == (0, 0, 0)


@pytest.mark.parametrize(("kafka", "failed", "unknown"), [("1.1", 0, 5), ("2.0", 0, 5), ("2.1", 0, 0), ("3.9", 0, 0)])
def test_only_in_flight_records_of_a_silent_leader_are_unknown(kafka: str, failed: int, unknown: int) -> None:
    ledger = run(kafka, fault="power_loss").ledger
    assert (ledger.failed, ledger.unknown, ledger.acked_lost) == (failed, unknown, 0)


def test_batches_whose_requests_timed_out_are_tried_again_in_the_wrong_order() -> None:
    result = run("2.1", fault="power_loss")
    assert {each.cause for each in result.findings} == {RETRY_IN_FLIGHT}
    assert result.ledger.reordered == 4


@pytest.mark.parametrize("kafka", ["1.1", "2.8", "3.9"])
def test_a_pause_of_the_leader_costs_nothing_where_retries_are_left(kafka: str) -> None:
    ledger = run(kafka, "retries: 2147483647, acks: all", fault="gc_pause", more="3s").ledger
    assert (ledger.acked, ledger.failed, ledger.unknown) == (600, 0, 0)
