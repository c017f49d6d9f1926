"""ISR changes that no controller is there to hear: each is proposed again every now and then, and no more often."""

from itertools import pairwise

import pytest

from cluster_model.cluster import Cluster, StopReason
from cluster_model.connections.network_client import NetworkClient
from cluster_model.controller.kraft.messages import AlterPartitionBatchRequest
from cluster_model.controller.zookeeper.messages import AlterPartitionsRequest
from cluster_model.observation.views import ClusterView
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

SECOND = 1_000_000
PARTITIONS = 8


def shrinking(kafka: str, mode: str) -> Cluster:
    """Broker 1 leads all, and has just proposed to go on without broker 2, which stands still."""
    spec = ClusterSpec(
        kafka=kafka,
        mode=mode,
        brokers=(BrokerSpec(1), BrokerSpec(2), BrokerSpec(3)),
        topics=(TopicSpec("t", PARTITIONS, 2, ((1, 2),) * PARTITIONS),),
        config={"replica.lag.time.max.ms": 1_000, "broker.session.timeout.ms": 60_000},
    )
    cluster = Cluster.build(spec, 0)
    cluster.run(SECOND)
    cluster.pause(2)
    for server in cluster.plane.servers:
        cluster.crash(server)
    for replica in cluster.brokers[1].replicas.values():
        assert replica.leadership is not None
        replica.leadership.propose((1,))
        cluster.brokers[1].complete_delayed(replica)
    return cluster


@pytest.fixture
def proposed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(time, partitions) of every proposal that is sent, over a connection or for the next one."""
    sent: list[tuple[int, int]] = []
    send = NetworkClient.send

    def noted(port: NetworkClient, target: int, message: object) -> None:
        if isinstance(message, AlterPartitionBatchRequest | AlterPartitionsRequest):
            sent.append((port.now, len(message.partitions)))
        send(port, target, message)

    monkeypatch.setattr(NetworkClient, "send", noted)
    return sent


def test_changes_of_many_partitions_wait_for_a_controller_without_a_storm(proposed: list[tuple[int, int]]) -> None:
    cluster = shrinking("3.9", "kraft")
    assert cluster.run(9 * SECOND, 20_000) is StopReason.TIME
    assert all(later - earlier >= 50_000 for (earlier, _some), (later, _more) in pairwise(proposed))
    assert len(proposed) > 100
    before = len(proposed)
    keyframe = cluster.save()
    seen: list[tuple[str, ClusterView]] = []
    for again in (False, True):
        if again:
            cluster.load(keyframe)
        cluster.run(12 * SECOND)
        for server in cluster.plane.servers:
            cluster.restart(server)
        cluster.run(30 * SECOND)
        seen.append((cluster.digest(), cluster.view()))
    assert [partition.isr for partition in seen[0][1].partitions] == [(1,)] * PARTITIONS
    assert seen[0] == seen[1]
    assert {partitions for _at, partitions in proposed[before:]} == {1, PARTITIONS - 1}, "what waits goes together"
