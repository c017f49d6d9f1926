"""More procedures of a ZooKeeper-mode controller: what fails, what is taken back, what an administrator insists on."""

from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ReassignablePartition,
)
from tests.cluster_model.controller.zookeeper.rigs import SECOND, Watched

ONE = ((1, 2, 3),)


def follower_crash(kafka: str) -> Watched:
    """Only a follower dies: the leader epoch rises all the same, and all that are left hear of it."""
    rig = Watched.of(kafka, placement=ONE)
    rig.run(1)
    rig.note("broker 3 crashes")
    rig.cluster.crash(3)
    rig.run(rig.plane.session_us / SECOND + 3)
    return rig


def leaderless(kafka: str) -> Watched:
    """orders-0 is on brokers 2 and 3: 3 left its ISR in order, then 2 died, and 3 is back."""
    rig = Watched.of(kafka, placement=((2, 3),), topic={}, config={"unclean.leader.election.enable": False})
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(2)
    rig.note("broker 2, the last in sync, crashes")
    rig.cluster.crash(2)
    rig.run(rig.plane.session_us / SECOND + 3)
    rig.note("broker 3, out of the ISR, is started")
    rig.cluster.restart(3)
    rig.run(4)
    return rig


def last_in_sync(kafka: str) -> Watched:
    """The last in-sync replica is waited for: its start-up is what elects it."""
    rig = leaderless(kafka)
    rig.note("broker 2 is started")
    rig.cluster.restart(2)
    rig.run(4)
    return rig


def unclean_on_demand(kafka: str) -> Watched:
    """An administrator insists on an unclean election, which the topic does not allow (KIP-460)."""
    rig = leaderless(kafka)
    rig.note("ElectLeaders, unclean")
    assert not rig.ask(1, ElectLeadersRequest(1, True, ("orders-0",))).partitions[0].error
    rig.run(1)
    return rig


def unclean_by_default(kafka: str) -> Watched:
    """Unclean elections are allowed to all topics while brokers run (KIP-226): one is held at once."""
    rig = leaderless(kafka)
    rig.note("unclean.leader.election.enable=true, for all brokers")
    change = AlterConfigsResource("broker", "", (AlterableConfig("unclean.leader.election.enable", "true"),))
    assert not rig.ask(1, IncrementalAlterConfigsRequest(1, (change,))).resources[0].error
    rig.run(1)
    return rig


def cancelled(kafka: str) -> Watched:
    """A reassignment whose new replica does not catch up is taken back (KIP-455)."""
    rig = Watched.of(kafka, placement=ONE, brokers=4)
    rig.run(1)
    rig.note("broker 4 is paused; orders-0 is to move from 1, 2, 3 to 4, 2, 3")
    rig.cluster.pause(4)
    wanted = AlterPartitionReassignmentsRequest(1, (ReassignablePartition("orders-0", (4, 2, 3)),))
    assert not rig.ask(1, wanted).partitions[0].error
    rig.run(1)
    rig.note("the reassignment is cancelled")
    taken_back = AlterPartitionReassignmentsRequest(2, (ReassignablePartition("orders-0", None),))
    assert not rig.ask(1, taken_back).partitions[0].error
    rig.run(1)
    rig.note("broker 4 goes on")
    rig.cluster.resume(4)
    rig.run(1)
    return rig


def shutdown_in_vain(kafka: str) -> Watched:
    """The only other in-sync replica is gone: a broker asks three times for its leadership to move, then just goes."""
    rig = Watched.of(kafka, placement=((2, 3),))
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(1)
    rig.note("broker 2 is asked to stop")
    rig.cluster.shutdown(2)
    rig.run(17)
    return rig
