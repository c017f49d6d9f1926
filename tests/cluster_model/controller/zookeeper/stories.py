"""Procedures of a ZooKeeper-mode controller, each as a short scenario whose messages are recorded."""

from collections.abc import Callable

from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    AlterPartitionReassignmentsRequest,
    CreatableTopic,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    NewPartitions,
    ReassignablePartition,
)
from tests.cluster_model.controller.zookeeper.rigs import Watched
from tests.cluster_model.zk_controller import other_stories

ONE = ((1, 2, 3),)


def broker_crash(kafka: str) -> Watched:
    """A broker that leads one partition and follows another dies, and restarts."""
    rig = Watched.of(kafka)
    rig.run(1)
    rig.note("broker 2 crashes")
    rig.cluster.crash(2)
    rig.run(24)
    rig.note("broker 2 is started")
    rig.cluster.restart(2)
    rig.run(12)
    return rig


def bounce(kafka: str) -> Watched:
    """A broker restarts while the controller is paused: detected by its epoch since 2.2, never before."""
    rig = Watched.of(kafka, config={"controlled.shutdown.enable": False})
    rig.run(1)
    rig.note("the controller, broker 1, is paused; broker 3 restarts")
    rig.cluster.pause(1)
    rig.cluster.shutdown(3)
    rig.run(0.1)
    rig.cluster.restart(3)
    rig.run(2.5)
    rig.note("broker 1 resumes")
    rig.cluster.resume(1)
    rig.run(3)
    return rig


def failover(kafka: str) -> Watched:
    """The controller's broker dies: another takes over in the next epoch, in the stated order."""
    rig = Watched.of(kafka)
    rig.run(1)
    rig.note("broker 1, the controller, crashes")
    rig.cluster.crash(1)
    rig.run(23)
    return rig


def zombie(kafka: str) -> Watched:
    """The controller is paused beyond its session: brokers reject its requests, and it resigns."""
    rig = Watched.of(kafka, brokers=4, placement=((4, 2, 3), (3, 2, 4)))
    rig.run(1)
    session = rig.plane.session_us / 1_000_000
    rig.note("broker 4 crashes; the controller, broker 1, is paused with half of its requests sent")
    rig.cluster.crash(4)
    while "LeaderAndIsr" not in rig.text():
        rig.run(0.001)
    rig.cluster.pause(1)
    rig.run(session + 4)
    rig.note("broker 1 resumes")
    rig.cluster.resume(1)
    rig.run(5)
    return rig


def controlled_shutdown(kafka: str) -> Watched:
    """SIGTERM: leaderships move first, the broker leaves the ISRs, its znode is removed at once."""
    rig = Watched.of(kafka)
    rig.run(1)
    rig.note("broker 2 gets SIGTERM")
    rig.cluster.shutdown(2)
    rig.run(2)
    return rig


def isr_change(kafka: str) -> Watched:
    """A follower is paused for longer than the lag time but not its session: out of the ISR, and in again."""
    rig = Watched.of(
        kafka, placement=ONE, config={"replica.lag.time.max.ms": 2_000, "zookeeper.session.timeout.ms": 12_000}
    )
    rig.run(1)
    rig.note("broker 3 is paused; a record is written")
    rig.cluster.pause(3)
    rig.cluster.brokers[1].receive(4_900, write_one())
    rig.run(6)
    rig.note("broker 3 resumes")
    rig.cluster.resume(3)
    rig.run(12)
    return rig


def write_one() -> object:
    from cluster_model.protocol.messages import ProduceRequest  # noqa: PLC0415

    return ProduceRequest(1, "orders-0", 1, 1_000_000, "me", -1, 0, 1, 100)


def topics(kafka: str) -> Watched:
    """A topic is created, extended and deleted while one of its brokers is down."""
    rig = Watched.of(kafka, placement=ONE)
    rig.run(1)
    rig.note("CreateTopics")
    made = CreatableTopic("new", assignment=((1, 2), (2, 3)), config=(("min.insync.replicas", "2"),))
    assert not rig.ask(1, CreateTopicsRequest(1, (made,))).topics[0].error
    rig.run(1)
    rig.note("CreatePartitions")
    assert not rig.ask(1, CreatePartitionsRequest(2, (NewPartitions("new", 3, ((3, 1),)),))).topics[0].error
    rig.run(1)
    rig.note("broker 3 crashes, then DeleteTopics")
    rig.cluster.crash(3)
    rig.run(22)
    assert not rig.ask(1, DeleteTopicsRequest(3, ("new",))).topics[0].error
    rig.run(2)
    rig.note("broker 3 is started")
    rig.cluster.restart(3)
    rig.run(4)
    return rig


def reassignment(kafka: str) -> Watched:
    """A partition is reassigned to another broker (KIP-455)."""
    rig = Watched.of(kafka, placement=ONE, brokers=4)
    rig.run(1)
    rig.note("orders-0 is to move from 1, 2, 3 to 4, 2, 3")
    wanted = (ReassignablePartition("orders-0", (4, 2, 3)),)
    assert not rig.ask(1, AlterPartitionReassignmentsRequest(1, wanted)).partitions[0].error
    rig.run(10)
    return rig


def preferred(kafka: str) -> Watched:
    """A leadership returns to the preferred replica on request."""
    rig = Watched.of(kafka, placement=ONE, config={"auto.leader.rebalance.enable": False})
    rig.cluster.shutdown(1)
    rig.run(3)
    rig.cluster.restart(1)
    rig.run(12)
    rig.note("ElectLeaders, preferred")
    controller = rig.plane.active()
    assert not rig.ask(controller, ElectLeadersRequest(1, False, ("orders-0",))).partitions[0].error
    rig.run(1)
    return rig


def unclean(kafka: str) -> Watched:
    """The last in-sync replica is gone: no leader until unclean elections are allowed."""
    rig = Watched.of(kafka, placement=((2, 3),), topic={"unclean.leader.election.enable": False})
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(2)
    rig.cluster.crash(2)
    rig.run(22)
    rig.cluster.restart(3)
    rig.run(4)
    rig.note("unclean.leader.election.enable=true")
    change = AlterConfigsResource("topic", "orders", (AlterableConfig("unclean.leader.election.enable", "true"),))
    assert not rig.ask(1, IncrementalAlterConfigsRequest(1, (change,))).resources[0].error
    rig.run(2)
    return rig


def stale_version(kafka: str) -> Watched:
    """The leader's version is not that of ZooKeeper: its ISR change fails repeatedly until a decision arrives."""
    rig = Watched.of(kafka, placement=ONE, brokers=4, config={"replica.lag.time.max.ms": 2_000})
    rig.run(1)
    path = "/brokers/topics/orders/partitions/0/state"
    rig.note("an operator writes the state znode")
    rig.control(4).session.send(kafka_zk_client.put(path, rig.plane.service.tree.nodes[path].data), ("errands", -1))
    rig.run(0.1)
    rig.note("broker 3 is paused; a record is written; the leader's attempts fail")
    rig.cluster.pause(3)
    rig.cluster.brokers[1].receive(4_900, write_one())
    rig.run(3.5)
    rig.note("broker 2 gets SIGTERM: a decision brings the current version")
    rig.cluster.shutdown(2)
    rig.run(3.2)
    return rig


def rebalance(kafka: str) -> Watched:
    """Two of ten leaderships of broker 2 are elsewhere when the controller checks: they return."""
    rig = Watched.of(kafka, placement=((2, 3),) * 10)
    rig.cluster.run(10_000_000)
    rig.cluster.shutdown(2)
    rig.cluster.run(12_000_000)
    rig.cluster.restart(2)
    rig.cluster.run(20_000_000)
    for number in range(8):
        rig.plane.elect_leaders(f"orders-{number}", unclean=False)
    rig.cluster.run(300_000_000)
    rig.lines.clear()
    rig.cluster.drain()
    rig.run(10)
    return rig


def quorum_loss(kafka: str) -> Watched:
    """Two of three ZooKeeper servers are down when a broker dies: nothing is decided until one restarts."""
    rig = Watched.of(kafka, config={"replica.lag.time.max.ms": 2_000})
    rig.run(1)
    rig.note("zookeeper 2 and 3 crash, then broker 2")
    rig.cluster.crash(1502)
    rig.cluster.crash(1503)
    rig.run(1)
    rig.cluster.crash(2)
    rig.cluster.brokers[1].receive(4_900, write_one())
    rig.run(30)
    rig.note("zookeeper 2 is started")
    rig.cluster.restart(1502)
    rig.run(25)
    return rig


STORIES: dict[str, tuple[Callable[[str], Watched], tuple[str, ...]]] = {
    "broker-crash": (broker_crash, ("0.10.2", "2.3", "2.8")),
    "bounce": (bounce, ("2.1", "2.2")),
    "failover": (failover, ("0.10.2", "2.3", "3.9")),
    "zombie": (zombie, ("2.0", "2.8")),
    "controlled-shutdown": (controlled_shutdown, ("0.10.2", "2.8")),
    "isr-change": (isr_change, ("0.8.2", "2.3", "2.6", "2.7", "2.8")),
    "topics": (topics, ("2.5", "3.9")),
    "reassignment": (reassignment, ("2.5", "3.9")),
    "preferred": (preferred, ("2.3",)),
    "stale-version": (stale_version, ("2.3",)),
    "rebalance": (rebalance, ("2.8",)),
    "quorum-loss": (quorum_loss, ("2.3", "2.8")),
    "unclean": (unclean, ("1.0", "3.9")),
    "follower-crash": (other_stories.follower_crash, ("0.10.2", "2.3", "2.8", "3.9")),
    "last-in-sync": (other_stories.last_in_sync, ("1.0", "2.8")),
    "unclean-on-demand": (other_stories.unclean_on_demand, ("2.4", "3.9")),
    "unclean-by-default": (other_stories.unclean_by_default, ("1.1", "3.9")),
    "cancelled": (other_stories.cancelled, ("2.4", "3.9")),
    "shutdown-in-vain": (other_stories.shutdown_in_vain, ("0.10.2", "2.8")),
}
