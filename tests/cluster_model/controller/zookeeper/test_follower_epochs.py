"""In ZooKeeper mode a new leader epoch begins when the controller removes a replica from an ISR, in every version."""

import pytest

from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import modes_of
from tests.cluster_model.controller.zookeeper.rigs import SECOND, Watched
from tests.cluster_model.controller.zookeeper.stories import write_one

pytestmark = pytest.mark.slow

ONE = ((1, 2, 3),)
every_version = pytest.mark.parametrize("kafka", [each for each in RELEASE_LINES if "zookeeper" in modes_of(each)])


@every_version
@pytest.mark.parametrize("leaving", [False, True])
def test_a_follower_that_goes_raises_the_leader_epoch_in_every_version(kafka: str, leaving: bool) -> None:
    """Whether it died or shut down cleanly, and unlike KRaft since 3.6; every replica restarts in the new epoch."""
    rig = Watched.of(kafka, placement=ONE)
    rig.run(1)
    if leaving:
        rig.cluster.shutdown(3)
    else:
        rig.cluster.crash(3)
    rig.run(rig.plane.session_us / SECOND + 3)
    state = rig.record("orders-0")
    assert (state.leader, state.leader_epoch, state.partition_epoch, state.isr) == (1, 1, 1, (1, 2))
    assert [rig.cluster.brokers[broker].replicas["orders-0"].leader_epoch for broker in (1, 2)] == [1, 1]


@every_version
def test_a_follower_that_died_without_a_controller_raises_it_at_the_failover(kafka: str) -> None:
    rig = Watched.of(kafka, placement=((2, 3, 4),), brokers=4)
    rig.run(1)
    rig.cluster.crash(4)
    rig.run(3)
    rig.cluster.crash(1)
    rig.run(rig.plane.session_us / SECOND + 3)
    state = rig.record("orders-0")
    assert rig.plane.controller_epoch() == 2
    assert (state.leader, state.leader_epoch, state.partition_epoch, state.isr) == (2, 1, 1, (2, 3))
    assert [rig.cluster.brokers[broker].replicas["orders-0"].leader_epoch for broker in (2, 3)] == [1, 1]


@every_version
def test_a_follower_that_only_lags_raises_the_partition_epoch_alone(kafka: str) -> None:
    """That is a change of the leader, not a decision of the controller."""
    config = {"replica.lag.time.max.ms": 2_000, "zookeeper.session.timeout.ms": 18_000}
    rig = Watched.of(kafka, placement=ONE, config=config)
    rig.run(1)
    rig.cluster.pause(3)
    rig.cluster.brokers[1].receive(4_900, write_one())
    rig.run(6)
    state = rig.record("orders-0")
    assert (state.leader_epoch, state.partition_epoch, state.isr) == (0, 1, (1, 2))
