"""ISR membership and the replicas that the high watermark waits for, by release (``Replica``, ``Partition``)."""

import pytest

from cluster_model.broker.partition.replication_rules import (
    LONG_AGO,
    RemoteReplicaState,
    caught_up,
    may_join_isr,
    out_of_sync,
    restarts_fetcher,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.features import ClusterLevels, at_levels
from cluster_model.protocol.messages import ALL, AlterPartitionResponse
from cluster_model.protocol.versions import Profile
from tests.cluster_model.leaders import PRODUCER_NODE, LeaderRig, P

LAG = 10_000_000
MESSAGES = 4_000


def follower(version: str, *fetches: tuple[int, int, int]) -> RemoteReplicaState:
    """Return a leader's state of a follower after fetches of (offset, the leader's end, time)."""
    remote = RemoteReplicaState(0)
    for offset, leader_leo, now in fetches:
        remote.fetched(Profile.of(version), offset, leader_leo, now)
    return remote


def is_out(version: str, remote: RemoteReplicaState, leader_leo: int, now: int) -> bool:
    return out_of_sync(Profile.of(version), remote, leader_leo, now, LAG, MESSAGES)


@pytest.mark.parametrize(("version", "at"), [("0.9", 0), ("0.10.1", 0), ("0.10.2", 50), ("3.9", 50)])
def test_since_0_10_2_the_end_of_the_fetch_before_counts_as_caught_up(version: str, at: int) -> None:
    """A follower that never reaches the end of a leader with steady writes is not slow for that."""
    assert follower(version, (5, 10, 50), (10, 20, 60)).last_caught_up == at


@pytest.mark.parametrize(("version", "known"), [("3.2", 8), ("3.3", 10), ("4.1", 10)])
def test_since_3_3_a_fetch_never_lowers_the_leaders_end_of_the_one_before(version: str, known: int) -> None:
    assert follower(version, (5, 10, 50), (5, 8, 60)).last_fetch_leader_leo == known


@pytest.mark.parametrize(("version", "out"), [("2.0", True), ("2.1", False), ("4.1", False)])
def test_since_2_1_a_caught_up_replica_is_in_sync_whenever_it_last_fetched(version: str, out: bool) -> None:
    assert is_out(version, follower(version, (7, 7, 100)), 7, 101 + LAG) is out
    assert is_out(version, follower(version, (7, 7, 100)), 8, 101 + LAG)
    assert not is_out(version, follower(version, (7, 7, 100)), 8, 100 + LAG)


@pytest.mark.parametrize(("version", "out"), [("0.8.2", True), ("0.9", False), ("4.1", False)])
def test_only_0_8_2_counts_messages(version: str, out: bool) -> None:
    assert is_out(version, follower(version, (7, 7, 100)), 8 + MESSAGES, 100) is out
    assert not is_out(version, follower(version, (7, 7, 100)), 7 + MESSAGES, 100)


def test_0_8_2_counts_from_the_last_fetch_wherever_it_was() -> None:
    behind = follower("0.8.2", (0, 7, 100), (1, 9, 100 + LAG))
    assert not is_out("0.8.2", behind, 9, 100 + 2 * LAG)
    assert is_out("0.9", follower("0.9", (0, 7, 100), (1, 9, 100 + LAG)), 9, 100 + 2 * LAG)


@pytest.mark.parametrize(("version", "waited_for"), [("3.2", False), ("3.3", True)])
def test_since_3_3_the_hw_waits_for_every_caught_up_replica(version: str, waited_for: bool) -> None:
    remote = follower(version, (7, 7, 100))
    remote.last_caught_up = LONG_AGO
    assert caught_up(Profile.of(version), remote, 7, 101, LAG) is waited_for
    assert not caught_up(Profile.of(version), remote, 8, 101, LAG)


@pytest.mark.parametrize(("version", "may"), [("1.1", True), ("2.0.0", True), ("2.0.1", False), ("4.1", False)])
def test_since_2_0_1_joining_needs_the_start_of_the_leaders_epoch(version: str, may: bool) -> None:
    assert may_join_isr(Profile.of(version), 5, 5, 9) is may
    assert may_join_isr(Profile.of(version), 9, 5, 9)
    assert not may_join_isr(Profile.of(version), 4, 5, 0)


@pytest.mark.parametrize(
    ("version", "starts_over"),
    [
        ("2.0.0", [False, False, True]),
        ("2.0.1", [False, True, True]),
        ("2.1", [True, True, True]),
        ("3.3", [True] * 3),
    ],
)
def test_leader_changes_that_restart_a_followers_fetcher(version: str, starts_over: list[bool]) -> None:
    """Cases: one epoch later with the same leader; two later; another leader."""
    decisions = [(1, 5), (1, 6), (2, 5)]
    found = [restarts_fetcher(Profile.of(version), 1, 4, leader, epoch) for leader, epoch in decisions]
    assert found == starts_over


def test_a_new_epoch_restarts_the_fetcher_of_a_new_binary_at_every_level() -> None:
    profile = at_levels(Profile.of("2.1", "zookeeper"), ClusterLevels("2.0-IV1", (2, 0, 1)))
    assert not profile.kip_320
    assert restarts_fetcher(profile, 1, 4, 1, 5)


@pytest.mark.parametrize(("version", "hw"), [("0.10.1", 14), ("0.10.2", 10), ("2.6", 10)])
def test_since_0_10_2_the_hw_waits_for_caught_up_replicas_outside_the_isr(version: str, hw: int) -> None:
    """A replica has everything, and its return to the ISR is still being written."""
    rig = LeaderRig(version, mode="zookeeper", isr=(1, 2))
    rig.append(10)
    rig.fetch(2, 10)
    assert rig.replica.leadership is not None
    rig.replica.leadership.remotes[3].fetched(rig.profile, 10, 10, 0)
    rig.append(4)
    rig.fetch(2, 14)
    assert rig.replica.hw == hw


@pytest.mark.parametrize(("version", "hw"), [("3.5", 10), ("3.6", 14), ("4.1", 14)])
def test_since_3_6_the_hw_waits_only_for_replicas_that_may_join_the_isr(version: str, hw: int) -> None:
    """KAFKA-15021: a replica fetches although its broker is not alive, as far as the leader knows."""
    rig = LeaderRig(version, isr=(1, 2))
    rig.append(10)
    rig.fetch(2, 10)
    assert rig.replica.leadership is not None
    rig.replica.leadership.remotes[3].fetched(rig.profile, 10, 10, 0)
    del rig.replica.metadata.live[3]
    rig.append(4)
    rig.fetch(2, 14)
    assert rig.replica.hw == hw


@pytest.mark.parametrize(("version", "hw"), [("3.6", 10), ("3.7", 0), ("4.1", 0)])
def test_since_3_7_the_hw_does_not_advance_under_min_isr(version: str, hw: int) -> None:
    rig = LeaderRig(version, topic={"min.insync.replicas": 2}, isr=(1,))
    rig.append(10)
    assert rig.replica.hw == hw


# --- responses to acks=all --------------------------------------------------------------------------------------------

TWO: dict[str, ConfigValue] = {"min.insync.replicas": 2}


def answers(rig: LeaderRig) -> list[tuple[KafkaError, int]]:
    return [(message.error, message.log_offset) for to, message in rig.wire.sent if to == PRODUCER_NODE]


def test_below_the_minimum_acks_all_is_refused_and_nothing_is_written() -> None:
    rig = LeaderRig("3.9", topic=TWO, isr=(1,))
    rig.append(acks=ALL)
    assert answers(rig) == [(KafkaError.NOT_ENOUGH_REPLICAS, -1)]
    assert rig.replica.log.leo == 0
    rig.append(acks=1)
    assert answers(rig)[1:] == [(KafkaError.NONE, 0)]


def test_a_broker_that_is_only_proposed_does_not_count_before_a_write() -> None:
    rig = LeaderRig("3.9", topic=TWO, isr=(1,))
    rig.fetch(2, 0)
    leadership = rig.replica.leadership
    assert leadership is not None
    assert (leadership.isr, leadership.maximal_isr) == ((1,), (1, 2))
    rig.append(acks=ALL)
    assert answers(rig) == [(KafkaError.NOT_ENOUGH_REPLICAS, -1)]


def shrunk(kafka: str) -> LeaderRig:
    """Return a leader whose records were written while all were in sync; only it is in the ISR now."""
    rig = LeaderRig(kafka, topic=TWO)
    rig.append(acks=ALL)
    leadership = rig.replica.leadership
    assert leadership is not None
    leadership.mark_out_of_sync((2, 3))
    leadership.propose((1,))
    proposal = leadership.take_proposal()
    assert proposal is not None
    told = AlterPartitionResponse(
        P, 0, leader_epoch=1, isr=(1,), partition_epoch=2, correlation_id=proposal.correlation_id
    )
    assert not leadership.confirmed(0, told)
    rig.settle(rig.replica)
    return rig


@pytest.mark.parametrize(
    ("kafka", "found"), [("3.6", [(KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, -1)]), ("3.7", [])]
)
def test_an_append_during_which_the_isr_falls_below_the_minimum_fails(
    kafka: str, found: list[tuple[KafkaError, int]]
) -> None:
    """Since 3.7 the HW does not advance there, and the response waits with it."""
    rig = shrunk(kafka)
    assert rig.replica.log.leo == 1
    assert answers(rig) == found


def test_a_broker_that_is_proposed_counts_after_a_write() -> None:
    rig = LeaderRig("3.6", topic=TWO, isr=(1, 3))
    rig.append(acks=ALL)
    rig.fetch(2, 0)  # it has everything below the HW, and is proposed
    leadership = rig.replica.leadership
    assert leadership is not None
    assert (leadership.isr, leadership.maximal_isr) == ((1, 3), (1, 3, 2))
    leadership.isr = (1,)  # as if a decision had removed 3 and kept the pending proposal
    rig.fetch(2, 1)
    rig.fetch(3, 1)
    assert answers(rig) == [(KafkaError.NONE, 0)]


@pytest.mark.parametrize("offset", [1_000, 1_001])
def test_a_broker_that_fetches_at_the_leaders_end_or_behind_it_is_caught_up_now(offset: int) -> None:
    """An unclean election may leave a follower with more records than its leader."""
    leader_leo = int("1000")  # equal to the offset, but another object
    assert follower("3.9", (offset, leader_leo, 100)).last_caught_up == 100
    assert follower("3.9", (999, leader_leo, 100)).last_caught_up == 0
