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


PARTS = """
floodmark: 1
name: parts
cluster: {config: {offsets.topic.num.partitions: 1, group.initial.rebalance.delay.ms: 0}}
topics: [{name: orders, placement: [[1, 2, 3], [2, 3, 1]], config: {min.insync.replicas: 2}}]
clients:
  producers:
    - {name: checkout, topic: orders, rate: 40/s, config: {acks: all}}
  groups:
    - {name: billing, topics: [orders], config: {auto.offset.reset: earliest}}
steps:
  - {at: 3s, inject: partition, target: client(checkout), to: broker(1), for: 4s}
  - {at: 9s, inject: partition, target: client(billing/0), to: broker(2), for: 3s}
settle: 4s
expect:
  - longest_stall(checkout, orders-0) == longest_stall(checkout) and longest_stall(checkout) > 3s
  - longest_stall(checkout, orders-1) < 1s
  - longest_read_stall(billing, orders-1) == longest_read_stall(billing) and longest_read_stall(billing) > 2s
  - longest_read_stall(billing, orders-0) < longest_read_stall(billing, orders-1)
  - ack_max(checkout, orders-0) == ack_max(checkout) and ack_max(checkout) > 3s
  - ack_max(checkout, orders-1) < 1s
  - read_max(billing, orders-1) > 2s
"""


@pytest.mark.slow
def test_client_statistics_are_available_by_partition() -> None:
    session = Session.start(loads(PARTS, "parts.yaml"))
    session.advance(8 * SECOND)
    kept = session.save()
    first = session.finish()
    assert first.verdict == "pass", [(each.text, each.detail) for each in first.expectations if not each.ok]
    session.load(*kept)
    again = session.finish()
    assert (again.verdict, again.digest) == (first.verdict, first.digest)
    with pytest.raises(ModelError) as refused:
        session.cluster.query.ack_p99("checkout", "orders-9")
    assert refused.value.code == "no_partition"


def test_client_conditions_without_statistics_are_rejected() -> None:
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
