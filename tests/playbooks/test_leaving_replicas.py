"""While a reassignment takes a replica away, ZooKeeper has assignment and ISR in two nodes: a gap that KRaft closed."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import InvariantViolated, IsrChanged
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import loads
from tests.support.playbooks import finished

TAKEN_AWAY_BEHIND = """
floodmark: 1
name: taken-away-behind
seed: 1922
cluster: {kafka: "2.6", brokers: 3}
topics:
  - {name: orders, replication: 3, partitions: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 2/s}]}
settle: 5s
steps:
  - {at: 0s, inject: crash, target: broker(3), for: 1ms}
  - {at: 557ms, admin: set_replication, topic: orders, factor: 2}
"""
"""The leader hears of the new assignment while one that is to go is in the ISR, and no longer waits for it."""

CHANGED_ITS_MIND = """
floodmark: 1
name: changed-its-mind
seed: 245319608844007
cluster: {kafka: "2.6", brokers: 3}
topics:
  - {name: orders, replication: 1}
clients: {groups: [{name: billing, topics: [orders]}]}
settle: 5s
steps:
  - {at: 0s, admin: set_replication, topic: orders, factor: 3}
  - {at: 500ms, admin: set_replication, topic: orders, factor: 2}
"""
"""A second reassignment drops whom the first one added, and who is in sync already: from the assignment first."""

CALLED_BACK = """
floodmark: 1
name: called-back
seed: 269
cluster: {kafka: "2.6", brokers: 3}
topics:
  - {name: orders, replication: 3}
clients: {producers: [{name: checkout, topic: orders, rate: 6/s}]}
settle: 5s
steps:
  - {at: 177ms, admin: set_replication, topic: orders, factor: 2}
  - {at: 200ms, inject: gc_pause, target: leader(orders-0), for: 70ms}
  - {at: 230ms, admin: set_replication, topic: orders, factor: 3}
"""
"""Who is to go is added again by the time the leader hears of the first of it."""

CASES = [
    (TAKEN_AWAY_BEHIND, {"leader-completeness", "weak-isr"}),
    (CHANGED_ITS_MIND, {"leader-in-isr"}),
]
each_case = pytest.mark.parametrize(("source", "gap"), CASES, ids=["taken-away", "changed-mind"])


@each_case
def test_over_zookeeper_the_gap_is_known(source: str, gap: set[str], snapshot: SnapshotAssertion) -> None:
    found = finished(source).violations
    assert {each.invariant for each in found} == gap
    (known,) = {each.known for each in found}
    assert known == snapshot


@each_case
def test_a_quorum_has_none(source: str, gap: set[str]) -> None:
    assert finished(source.replace('"2.6"', '"3.9"')).violations == ()


def test_a_broker_that_was_never_a_replica_violates_the_isr_invariant() -> None:
    cluster = Session.start(loads(CHANGED_ITS_MIND.lstrip(), "leaving.yaml")).cluster
    assert isinstance(cluster, Cluster)
    cluster.emit(IsrChanged(0, "orders-0", 2, 0, 1, (2, 9), (2,), "leader"))
    found = [event for event in cluster.drain() if isinstance(event, InvariantViolated)]
    assert [(each.broker, each.known) for each in found if each.invariant == "leader-in-isr"] == [(9, "")]


CUT_OFF = """
floodmark: 1
name: cut-off
seed: 7338527767700
cluster: {kafka: "3.9", brokers: 3, config: {broker.session.timeout.ms: 3000}}
topics:
  - {name: orders, partitions: 2, replication: 3}
clients: {producers: [{name: checkout, topic: orders, rate: 25/s}], groups: [{name: billing, topics: [orders]}]}
settle: 1s
steps:
  - {at: 200ms, inject: crash, target: leader(orders-1), for: 9.3s}
  - {at: 10s, admin: set_replication, topic: orders, factor: 2}
  - {at: 12.2s, inject: partition, target: broker(3), for: 3s}
  - {at: 12.207s, admin: set_replication, topic: orders, factor: 3}
"""
"""A leader that is cut off does not learn that a follower is gone, and was added again with an empty log."""


def test_the_isr_of_a_leader_that_is_cut_off_says_nothing_of_who_was_taken_away_meanwhile() -> None:
    session = start_session(loads(CUT_OFF, "cut-off.yaml"))
    session.advance(14_500_000)
    assert isinstance(session, Session)
    replicas = session.cluster.cluster_state.replicas["orders-1"]
    outdated, anew = replicas[3], replicas[1]
    assert outdated.leadership is not None
    assert 1 in outdated.leadership.isr
    assert anew.log.leo < outdated.hw
    assert session.finish().violations == ()


@pytest.mark.parametrize("kafka", ["2.6", "3.9"])
def test_the_isr_of_a_leader_that_was_paused_says_as_little(kafka: str) -> None:
    assert finished(CALLED_BACK.replace("2.6", kafka)).violations == ()
