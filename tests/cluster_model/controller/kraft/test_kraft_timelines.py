"""Timelines of the procedures of KRaft mode: messages, their order and their epochs.

Sources: KIP-595 and KIP-996 (elections of the quorum), KIP-631 (registration, heartbeats, controlled shutdown), KIP-497
and KIP-903 (AlterPartition), KIP-455 (reassignment), KIP-460 (unclean election), KIP-966 (eligible leader replicas).
The timelines are files: after a deliberate change look at them, then ``make goldens``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    CreatableTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ReassignablePartition,
)
from cluster_model.protocol.errors import KafkaError
from tests.cluster_model.timelines import Watched
from tests.support.golden import GoldenFile

pytestmark = pytest.mark.slow

FILES = Path(__file__).parent / "kraft_timelines"


MINIMUM = "min.insync.replicas"


def refused(watched: Watched, request: ElectLeadersRequest) -> KafkaError:
    """Response to a requested election."""
    return KafkaError(watched.ask(request, node=2).partitions[0].error)


def set_topic(watched: Watched, key: str, value: str) -> None:
    resource = AlterConfigsResource("topic", "orders", (AlterableConfig(key, value),))
    node = 1 if watched.cluster.brokers[1].control.registered else 2
    answer = watched.ask(IncrementalAlterConfigsRequest(0, (resource,)), node=node)
    assert answer.resources[0].error == KafkaError.NONE


def broker_crash(kafka: str) -> Watched:
    """The leader dies: its session expires, it leaves the ISR, another leads; it restarts as another incarnation."""
    watched = Watched(kafka)
    watched.run(5)
    watched.cluster.crash(1)
    watched.run(15)
    watched.cluster.restart(1)
    watched.run(10)
    return watched


def follower_crash(kafka: str) -> Watched:
    watched = Watched(kafka)
    watched.run(5)
    watched.cluster.crash(3)
    watched.run(12)
    return watched


def fast_restart(kafka: str) -> Watched:
    """A broker restarts before its old session has expired: it is rejected until then."""
    watched = Watched(kafka)
    watched.run(5)
    watched.cluster.crash(1)
    watched.run(1)
    watched.cluster.restart(1)
    watched.run(20)
    return watched


def controller_failover(kafka: str) -> Watched:
    watched = Watched(kafka)
    watched.run(5)
    watched.cluster.crash(1001)
    watched.run(8)
    watched.cluster.crash(1)
    watched.run(12)
    return watched


def pause(kafka: str) -> Watched:
    """A leader is paused for longer than its session; it continues with the same broker epoch."""
    watched = Watched(kafka)
    watched.run(5)
    watched.cluster.pause(1)
    watched.run(15)
    watched.cluster.resume(1)
    watched.run(5)
    return watched


def controlled_shutdown(kafka: str) -> Watched:
    watched = Watched(kafka)
    watched.run(5)
    watched.cluster.shutdown(1)
    watched.run(8)
    watched.cluster.restart(1)
    watched.run(8)
    return watched


def shrink_and_expand(kafka: str) -> Watched:
    """A follower is paused for longer than its leader waits, and shorter than its session."""
    watched = Watched(kafka, config={"replica.lag.time.max.ms": 2_000}, produce=True)
    watched.run(5)
    watched.cluster.pause(3)
    watched.run(6)
    watched.cluster.resume(3)
    watched.run(3)
    return watched


def topics(kafka: str) -> Watched:
    watched = Watched(kafka)
    watched.run(2)
    watched.ask(CreateTopicsRequest(0, (CreatableTopic("made", 2, 2), CreatableTopic("orders", 1, 1))), node=2)
    watched.run(2)
    watched.ask(DeleteTopicsRequest(0, ("made", "never")), node=3)
    watched.run(2)
    return watched


def reassignment(kafka: str) -> Watched:
    """One reassignment is cancelled before its new replica has caught up, the next one completes."""
    watched = Watched(kafka, brokers=4)
    watched.run(2)
    watched.cluster.crash(4)
    watched.run(10)
    wanted = ReassignablePartition("orders-0", (4, 2, 3))
    watched.ask(AlterPartitionReassignmentsRequest(0, (wanted,)))
    watched.ask(AlterPartitionReassignmentsRequest(0, (wanted._replace(replicas=None),)))
    watched.ask(AlterPartitionReassignmentsRequest(0, (wanted._replace(replicas=None),)))
    watched.cluster.restart(4)
    watched.run(5)
    watched.ask(AlterPartitionReassignmentsRequest(0, (wanted,)), node=2)
    watched.run(3)
    return watched


def unclean_election(kafka: str) -> Watched:
    watched = Watched(kafka, placement=((1, 2),), brokers=2)
    watched.run(2)
    watched.cluster.crash(2)
    watched.run(10)
    watched.cluster.crash(1)
    watched.run(10)
    watched.cluster.restart(2)
    watched.run(5)
    watched.ask(ElectLeadersRequest(0, True, ("orders-0",)), node=2)
    watched.run(2)
    watched.cluster.restart(1)
    watched.run(5)
    return watched


def eligible_leaders(kafka: str) -> Watched:
    """The ISR falls below its minimum: a replica that leaves it stays eligible until an unclean shutdown."""
    watched = Watched(kafka, config={"min.insync.replicas": 2})
    watched.run(2)
    watched.cluster.crash(3)
    watched.run(10)
    watched.cluster.crash(2)
    watched.run(10)
    watched.cluster.crash(1)
    watched.run(10)
    watched.cluster.restart(2)
    watched.run(5)
    watched.cluster.restart(1)
    watched.run(6)
    watched.cluster.restart(3)
    watched.run(6)
    return watched


def minimum_changed(kafka: str) -> Watched:
    """A changed minimum: no replica remains eligible, and none can be elected when the last member is fenced."""
    watched = Watched(kafka, config={MINIMUM: 2})
    watched.run(2)
    watched.cluster.crash(3)
    watched.run(10)
    watched.cluster.crash(2)
    watched.run(10)
    set_topic(watched, MINIMUM, "3")
    watched.cluster.crash(1)
    watched.run(10)
    return watched


def preferred_election(kafka: str) -> Watched:
    """Requested before the preferred replica is in sync, requested after it is, and then run by the timer."""
    watched = Watched(kafka, config={"leader.imbalance.check.interval.seconds": 30})
    for _round in range(2):
        watched.run(2)
        watched.cluster.shutdown(1)
        watched.run(4)
        assert (
            refused(watched, ElectLeadersRequest(0, False, ("orders-0",))) is KafkaError.PREFERRED_LEADER_NOT_AVAILABLE
        )
        watched.cluster.restart(1)
        watched.run(5)
        if _round == 0:
            assert refused(watched, ElectLeadersRequest(0, False, ("orders-0",))) is KafkaError.NONE
    watched.run(10)
    return watched


def no_hand_over(kafka: str) -> Watched:
    """SIGTERM with controlled.shutdown.enable=false: no request is sent, and a restart waits for the old session."""
    watched = Watched(kafka, config={"controlled.shutdown.enable": False})
    watched.run(5)
    watched.cluster.shutdown(1)
    watched.run(1)
    watched.cluster.restart(1)
    watched.run(14)
    return watched


def proposal_at_failover(kafka: str) -> Watched:
    """The controller dies between a leader's proposal and its commit."""
    watched = Watched(kafka, config={"replica.lag.time.max.ms": 2_000}, produce=True)
    watched.run(5)
    watched.cluster.pause(3)
    while "AlterPartition" not in watched.text():
        watched.run(0.001)
    watched.cluster.crash(1001)
    watched.run(5)
    watched.cluster.resume(3)
    watched.run(2)
    return watched


def quorum_loss(kafka: str) -> Watched:
    """Without a majority proposals wait and no broker is fenced; with one again sessions restart."""
    watched = Watched(kafka, config={"replica.lag.time.max.ms": 2_000}, produce=True)
    watched.run(2)
    for voter in (1001, 1002):
        watched.cluster.crash(voter)
    watched.run(3)
    watched.cluster.crash(3)
    watched.run(15)
    watched.cluster.restart(1002)
    watched.run(15)
    return watched


def unclean_timer(kafka: str) -> Watched:
    """Allowed once there is no leader, the unclean election is run by the timer."""
    watched = Watched(kafka, placement=((1, 2),), config={"unclean.leader.election.interval.ms": 20_000})
    watched.run(2)
    watched.cluster.crash(2)
    watched.run(10)
    watched.cluster.crash(1)
    watched.run(10)
    watched.cluster.restart(2)
    watched.run(5)
    set_topic(watched, "unclean.leader.election.enable", "true")
    watched.run(15)
    return watched


CASES: list[tuple[Callable[[str], Watched], str]] = [
    (broker_crash, "3.9"),
    (follower_crash, "3.5"),
    (follower_crash, "3.6"),
    (fast_restart, "3.9"),
    (controller_failover, "3.9"),
    (pause, "3.9"),
    (controlled_shutdown, "3.9"),
    (controlled_shutdown, "4.1"),
    (shrink_and_expand, "3.5"),
    (shrink_and_expand, "3.9"),
    (topics, "3.9"),
    (reassignment, "3.9"),
    (unclean_election, "3.9"),
    (eligible_leaders, "4.1"),
    (minimum_changed, "4.1"),
    (preferred_election, "3.9"),
    (no_hand_over, "3.9"),
    (proposal_at_failover, "3.9"),
    (quorum_loss, "3.9"),
    (unclean_timer, "3.9"),
]


def name_of(procedure: Callable[[str], Watched], kafka: str) -> str:
    return f"{procedure.__name__.replace('_', '-')}@{kafka}.txt"


@pytest.mark.parametrize(("procedure", "kafka"), CASES)
def test_the_timeline_is_as_written_down(
    procedure: Callable[[str], Watched], kafka: str, golden_file: GoldenFile
) -> None:
    assert procedure(kafka).text() == golden_file(FILES / name_of(procedure, kafka))


def test_every_file_is_compared() -> None:
    assert {path.name for path in FILES.iterdir()} == {name_of(*case) for case in CASES}
