"""ISR changes that no controller is there to hear: each is proposed again every now and then, and no more often."""

from cluster_model.cluster import Cluster, Stop
from cluster_model.spec import BrokerSpec, ClusterSpec, TopicSpec
from cluster_model.views import ClusterView

SECOND = 1_000_000
PARTITIONS = 8


def test_changes_of_many_partitions_wait_for_the_controller_without_a_storm() -> None:
    spec = ClusterSpec(
        kafka="3.9",
        mode=None,
        brokers=(BrokerSpec(1), BrokerSpec(2)),
        topics=(TopicSpec("t", PARTITIONS, 2, ((1, 2),) * PARTITIONS),),
        config={"replica.lag.time.max.ms": 1_000},
    )
    cluster = Cluster.build(spec, 0)
    cluster.run(SECOND)
    cluster.pause(2)
    voters = cluster.plane.controllers()
    for voter in voters:
        cluster.crash(voter)
    for replica in cluster.brokers[1].replicas.values():
        assert replica.leadership is not None
        replica.leadership.propose((1,))
        cluster.brokers[1].settle(replica)
    proposed = cluster.executed
    assert cluster.run(3 * SECOND, 10_000) is Stop.TIME
    # All proposals wait together: every 50 ms one request of each of a broker's channels, and its reset.
    assert 2 * SECOND // 100_000 < cluster.executed - proposed < 20 * 2 * SECOND // 50_000
    keyframe = cluster.save()
    seen: list[tuple[str, ClusterView]] = []
    for again in (False, True):
        if again:
            cluster.load(keyframe)
        cluster.run(5 * SECOND)
        for voter in voters:
            cluster.restart(voter)
        cluster.run(14 * SECOND)
        seen.append((cluster.digest(), cluster.view()))
    assert [partition.isr for partition in seen[0][1].partitions] == [(1,)] * PARTITIONS
    assert seen[0] == seen[1]
