"""Losses that storms of all faults came upon: a replica that is deleted, a cut for an unclean leader, another past."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.checker.root_cause.findings import HW_TRUNCATION, REPLICA_DELETED, UNCLEAN_ELECTION
from cluster_model.protocol.versions import Profile
from tests.support.playbooks import finished

DELETED_IN_SYNC = """
floodmark: 1
name: deleted-in-sync
seed: 123741537724146
cluster: {kafka: "2.6", mode: zookeeper, brokers: 3}
topics:
  - {name: orders, replication: 2, partitions: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 20/s}]}
settle: 5s
steps:
  - {at: 0s, admin: shutdown, broker: 1, restart_after: 5s}
  - {at: 0s, admin: shutdown, broker: 2}
  - {at: 4981ms, admin: set_replication, topic: orders, factor: 3}
  - {at: 5884ms, admin: set_replication, topic: orders, factor: 2}
  - {at: 7.4s, inject: connection_reset, target: broker(3)}
"""
"""Broker 3 is added, is soon the only one alive and in sync, and another reassignment no longer wants it."""

ANOTHER_PAST = """
floodmark: 1
name: another-past
seed: 91968175457021
cluster: {kafka: "0.8.2", brokers: 3}
topics:
  - {name: orders, replication: 3, partitions: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 2/s, config: {acks: "all"}}]}
settle: 5s
steps:
  - {at: 2s, inject: crash, target: broker(1), for: 1ms}
  - {at: 2s, inject: session_expiry, target: leader(orders-1)}
  - {at: 3.5s, inject: crash, target: broker(3), for: 1ms}
  - {at: 3.5s, inject: session_expiry, target: leader(orders-1)}
  - {at: 12s, inject: crash, target: leader(orders-0), for: 1.5s}
"""
"""Broker 3 joined the ISR with another record at the same offset, which nothing told it to cut."""

NOBODY_LEADS = """
floodmark: 1
name: nobody-leads
seed: 239499325665674
cluster: {kafka: "4.1", brokers: 3}
topics:
  - {name: orders, replication: 1, partitions: 2}
clients: {producers: [{name: checkout, topic: orders, rate: 1/s}], groups: [{name: billing, topics: [orders]}]}
settle: 1s
steps:
  - {at: 4s, inject: clean_shutdown, target: leader(orders-1), for: 1ms}
"""
"""A reader began at the end, and when the session ends there is no leader to read the rest from."""


def test_over_zookeeper_a_reassignment_deletes_the_last_replica_in_sync(snapshot: SnapshotAssertion) -> None:
    (found,) = finished(DELETED_IN_SYNC).findings
    assert (found.cause, found.count) == (REPLICA_DELETED, 11)
    assert (found.chain[-1].event_kind, found.chain[-1].broker) == ("replica_deleted", 3)
    assert found.sentence == snapshot


def test_a_quorum_keeps_it_until_others_are_in_sync() -> None:
    result = finished(DELETED_IN_SYNC.replace("mode: zookeeper", "mode: kraft").replace('"2.6"', '"3.9"'))
    assert (result.findings, result.ledger.acked_lost) == ((), 0)


def test_another_record_at_the_same_offset_is_what_leader_epochs_are_about() -> None:
    causes = {each.cause for each in finished(ANOTHER_PAST).findings if -1 in {place.acks for place in each.blocks}}
    assert HW_TRUNCATION in causes
    assert causes <= {HW_TRUNCATION, UNCLEAN_ELECTION}
    assert not Profile.of("0.8.2").epoch_truncation
    assert finished(ANOTHER_PAST.replace('"0.8.2"', '"0.11"')).ledger.acked_lost == 0


@pytest.mark.slow
@pytest.mark.parametrize(("settle", "led"), [("1s", False), ("40s", True)])
def test_records_of_a_partition_without_a_leader_are_not_lost(
    settle: str, led: bool, snapshot: SnapshotAssertion
) -> None:
    result = finished(NOBODY_LEADS.replace("settle: 1s", f"settle: {settle}"))
    assert all(each.legal for each in result.anomalies)
    legal = {each.name: each.reason for each in result.anomalies}
    assert ("lost-write" in legal) != led
    assert led or legal["lost-write"] == snapshot
