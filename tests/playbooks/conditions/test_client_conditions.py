"""Conditions on what clients have felt: how long they were out of service, rebalances, resets."""

from typing import Any

import pytest

from cluster_model.protocol.errors import ModelError
from playbooks.engine.session import Session
from playbooks.parser.loader import loads

SECOND = 1_000_000
SILENT = """
floodmark: 1
name: silent
cluster: {config: {offsets.topic.num.partitions: 1, group.initial.rebalance.delay.ms: 0}}
topics: [{name: orders, placement: [[1, 2, 3]], config: {min.insync.replicas: 2}}]
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: all}}
    - {name: careless, topic: orders, rate: 5/s, config: {acks: 0}}
  groups:
    - {name: billing, topics: [orders], config: {auto.offset.reset: earliest}}
steps:
  - {at: 2s, inject: partition, target: client(checkout), to: brokers, for: 4s}
  - when: longest_stall(checkout) > 1500ms
    inject: gc_pause
    target: client(billing/0)
    for: 200ms
settle: 2s
expect:
  - longest_stall() == longest_stall(checkout)
  - longest_stall(careless) == 0s
  - rebalances(billing) == 1
  - resets(billing) == 0
"""


def ran(slice_us: int) -> tuple[Session, list[Any]]:
    session, told = Session.start(loads(SILENT, "silent.yaml")), []
    while session.advance(session.cluster.now_us + slice_us):
        told += session.drain()
    return session, told + session.drain()


@pytest.mark.slow
def test_steps_wait_for_what_clients_feel_and_slices_do_not_matter() -> None:
    (session, told), (other, _told) = (ran(slice_us) for slice_us in (10 * SECOND, 70_000))
    found = [session.finish(), other.finish()]
    assert [each.verdict for each in found] == ["pass", "pass"], found[0].expectations
    assert found[0].digest == found[1].digest
    (line,) = found[0].unavailable.clients
    assert session.cluster.query.longest_stall() == line.longest_us > 3 * SECOND
    (paused_us,) = [each.at_us for each in told if each.kind == "node_paused"]
    assert paused_us == pytest.approx(line.spans[0][0] + 1.5 * SECOND, abs=SECOND / 20)


def test_a_cluster_of_which_nobody_keeps_books_says_so() -> None:
    cluster = Session.start(loads(SILENT, "silent.yaml")).cluster
    query = cluster.query
    assert query.longest_stall("nobody") == 0
    cluster.experience = None
    with pytest.raises(ModelError) as refused:
        query.longest_stall()
    assert refused.value.code == "no_books"
    with pytest.raises(ModelError) as refused:
        query.rebalances("strangers")
    assert refused.value.code == "no_group"
