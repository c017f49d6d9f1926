"""A finding names a fault only if it is gone without that fault, and quotes the answer of the attempt that wrote."""

import pytest

from playbooks.library import bundled
from playbooks.parser.loader import load, loads
from tests.support.counterfactual import Counterfactual, steps_of

pytestmark = pytest.mark.slow

DAMAGED = """
floodmark: 1
name: wrong-fault
cluster: {kafka: "3.9", brokers: 3}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
  - {name: other, placement: [[3, 2, 1]], config: {min.insync.replicas: 2}}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, stop: 8s, config: {acks: all}}
    - {name: noise, topic: other, rate: 20/s, stop: 8s, config: {acks: all}}
steps:
  - {at: 3s, inject: corrupt_batch, target: broker(1), partition: orders-0}
  - {at: 6s, inject: gc_pause, target: broker(1), for: 15s}
  - {at: 35s, inject: corrupt_batch, target: broker(2), partition: other-0}
  - {at: 40s, inject: crash, target: broker(2), for: 500ms}
settle: 15s
"""
AFTER_APPEND = """
floodmark: 1
name: after-append
cluster: {kafka: "3.6", brokers: 3, config: {replica.lag.time.max.ms: 5000}}
topics:
  - {name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}
clients:
  producers:
    - name: checkout
      topic: orders
      rate: 20/s
      stop: 10s
      config: {acks: all, retries: 1000, enable.idempotence: false, request.timeout.ms: 20000}
steps:
  - {at: 3s, inject: lost_writeback, target: broker(1)}
  - {at: 5s, inject: gc_pause, target: followers(orders-0), for: 15s}
  - {at: 15s, inject: full_disk, target: broker(2), for: 500ms}
settle: 15s
"""
"""Broker 1 refuses again and again after the ISR has shrunk, and only the first answer is of an attempt that wrote."""
QUICK = ("ack-reset", "delayed-commit")
LONG = (
    "acks-0-leader-crash", "consumer-truncation", "gc-pause-acks-1", "last-known-leader", "last-replica-power-loss",
    "min-isr-one-unclean", "power-cut-all", "power-cut-elr",
)  # fmt: skip


def test_damage_is_blamed_on_what_damaged_that_copy() -> None:
    run = Counterfactual(loads(DAMAGED.lstrip(), "damaged.yaml"))
    (found,) = run.result.findings
    assert (found.cause, found.count, steps_of(found)) == ("damaged-batch", 1, [1])
    assert "instead" not in found.sentence.split()
    assert run.blamed_in_vain() == []


def test_the_answer_that_is_reported_is_that_of_the_attempt_that_wrote() -> None:
    run = Counterfactual(loads(AFTER_APPEND.lstrip(), "after-append.yaml"))
    (found,) = [each for each in run.result.findings if each.kind == "duplicate"]
    refused = [link for link in found.chain if link.event_kind == "produce_refused"]
    assert (found.cause, len(refused)) == ("retry-without-idempotence", 1)
    assert refused[0].text.split()[-1] == "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    assert found.chain[0].at_us < refused[0].at_us < 13_000_000
    assert run.blamed_in_vain() == [], "neither disk kept anybody from anything"


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.evening) for name in LONG)])
def test_without_the_fault_that_it_names_a_finding_is_gone(name: str) -> None:
    run = Counterfactual(load(bundled.path_of(name)))
    assert list(run.named())
    assert run.blamed_in_vain() == []
