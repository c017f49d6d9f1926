"""A leader's state of its followers across an election, and a follower's handling of responses from before one."""

from typing import Any

import pytest

from cluster_model.broker.partition.partition import FetcherAction, FollowerState
from cluster_model.broker.partition.replication_rules import LONG_AGO, UNKNOWN_LEO, RemoteReplicaState
from cluster_model.cluster import Cluster
from cluster_model.protocol.messages import EpochEnd, PartitionState
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from tests.cluster_model.leaders import LeaderRig, P
from tests.support.releases import those_of

SECOND = 1_000_000


def renewed(kafka: str, *, isr: tuple[int, ...] = (1, 2, 3)) -> LeaderRig:
    """Return a leader whose followers have 8 and 5 of its 10 records, elected again nine seconds later."""
    rig = LeaderRig(kafka, mode="zookeeper" if kafka < "4" else None)
    rig.append(10)
    rig.wire.now = SECOND
    rig.fetch(2, 8)
    rig.fetch(3, 5)
    rig.wire.now = 10 * SECOND
    rig.replica.apply(PartitionState(P, 1, 2, isr, 2, (1, 2, 3)), rig.wire.now)
    return rig


def remote(rig: LeaderRig, broker: int) -> RemoteReplicaState:
    assert rig.replica.leadership is not None
    return rig.replica.leadership.remotes[broker]


@pytest.mark.parametrize(
    ("kafka", "leo"), [("0.8.2", UNKNOWN_LEO), ("0.9", 8), ("0.10.1", 8), ("0.10.2", 8), ("2.0", 8), ("3.9", 8)]
)
def test_only_0_8_2_forgets_where_its_followers_were(kafka: str, leo: int) -> None:
    rig = renewed(kafka)
    assert remote(rig, 2).leo == leo
    assert rig.replica.hw == 5


def test_there_the_hw_waits_for_every_member_to_fetch_again() -> None:
    rig = renewed("0.8.2")
    rig.fetch(2, 9)
    assert rig.replica.hw == 5
    rig.fetch(3, 7)
    assert rig.replica.hw == 7


@pytest.mark.parametrize(
    ("kafka", "since"), [("0.9", SECOND), ("0.10.1", SECOND), ("0.10.2", 10 * SECOND), ("3.9", 10 * SECOND)]
)
def test_from_0_10_2_on_an_election_counts_as_having_fetched(kafka: str, since: int) -> None:
    rig = renewed(kafka)
    assert remote(rig, 2).last_fetch == since


def test_but_only_for_members_of_the_isr() -> None:
    rig = renewed("3.9", isr=(1, 2))
    assert remote(rig, 2).last_caught_up == 10 * SECOND
    assert (remote(rig, 3).last_fetch, remote(rig, 3).last_caught_up) == (LONG_AGO, LONG_AGO)
    assert remote(rig, 2).last_fetch_leader_leo == 10


def deposed(kafka: str) -> tuple[LeaderRig, FollowerState]:
    """Return a former leader of ten records that now follows broker 2, and has not truncated yet."""
    rig = LeaderRig(kafka, mode="zookeeper")
    rig.append(10)
    rig.replica.apply(PartitionState(P, 2, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    following = rig.replica.following
    assert following is not None
    return rig, following


@pytest.mark.parametrize("kafka", ["2.1", "2.6"])
def test_an_epoch_end_requested_in_an_older_leader_epoch_is_requested_again(kafka: str) -> None:
    rig, following = deposed(kafka)
    partition, epoch, current = following.epoch_request()
    assert (partition, epoch, current) == (P, 1, 2)
    rig.replica.apply(PartitionState(P, 2, 3, (1, 2, 3), 3, (1, 2, 3)), 0)
    assert following.truncating
    late = EpochEnd(P, 1, 0, 1, 4)
    assert following.apply_epoch_end(0, late) is FetcherAction.CONTINUE
    assert (following.truncating, rig.replica.log.leo) == (True, 10)
    following.epoch_request()
    assert following.apply_epoch_end(0, late) is FetcherAction.CONTINUE
    assert (following.truncating, rig.replica.log.leo) == (False, 4)


@pytest.mark.parametrize("kafka", ["1.1", "2.6"])
def test_an_unrequested_epoch_end_is_ignored(kafka: str) -> None:
    """Such an end is of another epoch than the log's latest, or comes when no request is pending."""
    rig, following = deposed(kafka)
    following.epoch_request()
    assert following.apply_epoch_end(0, EpochEnd(P, 0, 0, 0, 4)) is FetcherAction.IGNORED
    assert (following.truncating, rig.replica.log.leo) == (True, 10)
    assert following.apply_epoch_end(0, EpochEnd(P, 1, 0, 1, 8)) is FetcherAction.CONTINUE
    assert following.apply_epoch_end(0, EpochEnd(P, 1, 0, 1, 4)) is FetcherAction.IGNORED
    assert (following.truncating, rig.replica.log.leo) == (False, 8)


def test_before_kip_320_the_difference_is_not_detected() -> None:
    rig, following = deposed("1.1")
    following.epoch_request()
    rig.replica.apply(PartitionState(P, 2, 4, (1, 2, 3), 4, (1, 2, 3)), 0)
    following.apply_epoch_end(0, EpochEnd(P, 1, 0, -1, 4))
    assert (following.truncating, rig.replica.log.leo) == (False, 4)


@pytest.mark.parametrize("kafka", ["2.4", "3.9"])
def test_a_new_leader_knows_no_lag(kafka: str) -> None:
    rig = LeaderRig(kafka, mode="zookeeper", leader=2)
    following = rig.replica.following
    assert following is not None
    following.lag = 0
    rig.replica.apply(PartitionState(P, 3, 2, (1, 2, 3), 2, (1, 2, 3)), 0)
    assert following.lag == -1


def starts(cluster: Cluster) -> list[tuple[int, int]]:
    """Return each follower's log start, and its log start as the leader knows it."""
    leader = cluster.cluster_state.committed_leader(P)
    assert leader is not None
    assert leader.leadership is not None
    remotes = leader.leadership.remotes
    return [
        (cluster.cluster_state.replica(P, broker).log.log_start, known.log_start) for broker, known in remotes.items()
    ]


def logged(kafka: str, config: dict[str, Any]) -> Cluster:
    topic = TopicSpec("t", 1, 3, ((1, 2, 3),))
    producer = ProducerSpec("p", "t", 20_000, 1, record_bytes=1_000, config={"acks": "all"})
    brokers = (BrokerSpec(1), BrokerSpec(2), BrokerSpec(3))
    return Cluster.build(
        ClusterSpec(kafka, "zookeeper", brokers, (topic,), (producer,), config=those_of("broker", kafka, config)), 4
    )


@pytest.mark.parametrize("kafka", ["1.0", "3.9"])
def test_a_leader_learns_of_log_starts_that_it_has_set_itself(kafka: str) -> None:
    cluster = logged(kafka, {})
    cluster.run(2 * SECOND)
    cluster.stop_producers()
    cluster.run(3 * SECOND)
    assert starts(cluster) == [(0, 0), (0, 0)]
    assert cluster.delete_records(P, 40) == 0
    cluster.run(6 * SECOND)
    assert starts(cluster) == [(40, 40), (40, 40)]


@pytest.mark.parametrize("kafka", ["0.10.2", "3.9"])
def test_a_leader_learns_of_log_starts_that_followers_have_moved(kafka: str) -> None:
    config: dict[str, Any] = {
        "log.segment.bytes": 10_000, "log.retention.bytes": 15_000, "log.retention.check.interval.ms": 1_000,
        "log.initial.task.delay.ms": 1_000,
    }  # fmt: skip
    cluster = logged(kafka, config)
    cluster.run(2 * SECOND)
    cluster.stop_producers()
    cluster.run(38 * SECOND)
    assert all(own > 0 and own == known for own, known in starts(cluster)), starts(cluster)


@pytest.mark.parametrize("kafka", ["0.10.2", "3.9"])
def test_and_at_once_also_when_its_own_retention_does_not_run(kafka: str) -> None:
    config: dict[str, Any] = {
        "log.segment.bytes": 10_000, "log.retention.bytes": 15_000, "log.retention.check.interval.ms": 500_000,
        "log.initial.task.delay.ms": 5_000, "log.flush.offset.checkpoint.interval.ms": 500_000,
        "log.flush.start.offset.checkpoint.interval.ms": 500_000,
    }  # fmt: skip
    cluster = logged(kafka, config)
    began = 38 if kafka == "0.10.2" else 8
    cluster.run(began * SECOND)
    cluster.crash(3)
    cluster.stop_producers()
    cluster.run((began + 32) * SECOND)
    cluster.restart(3)
    cluster.run((began + 82) * SECOND)
    (_own, _known), (own, known) = starts(cluster)
    assert own > 0
    assert known == own
    leader = cluster.cluster_state.committed_leader(P)
    assert leader is not None
    assert leader.log.log_start < own
