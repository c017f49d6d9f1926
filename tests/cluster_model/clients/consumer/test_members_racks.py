"""Racks of members and replicas in a group's assignments (KIP-881), and patterns that find new topics."""

import pytest

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import GroupRebalanced
from cluster_model.protocol.group_messages import JoinGroupRequest
from cluster_model.protocol.messages import MetadataRequest, MetadataResponse
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, GroupSpec, TopicSpec
from tests.cluster_model.member_rig import MemberRig
from tests.cluster_model.rigs import BROKERS, state

SECOND = 1_000_000
BY_RACK = [("t-2",), ("t-0",), ("t-1",)]
BY_NAME = [("t-0",), ("t-1",), ("t-2",)]


def cluster(kafka: str, *, racks: tuple[str, ...] = ("c", "a", "b"), crowded: bool = False) -> Cluster:
    """Three partitions with one replica each, in racks a, b and c; ``crowded``: one in every rack."""
    placement = tuple((1 + at, 1 + (at + 1) % 3, 1 + (at + 2) % 3)[: 3 if crowded else 1] for at in range(3))
    spec = ClusterSpec(
        kafka,
        None,
        tuple(BrokerSpec(number, rack) for number, rack in enumerate("abc", 1)),
        (TopicSpec("t", 3, 3 if crowded else 1, placement),),
        (),
        (GroupSpec("g", ("t",), 3, config={"metadata.max.age.ms": 2_000}, racks=racks),),
        config={"offsets.topic.num.partitions": 1},
    )
    return Cluster.build(spec, 1)


def shares(found: Cluster) -> list[tuple[str, ...]]:
    return [consumer.assignment for consumer in found.consumers.values()]


@pytest.mark.parametrize(("kafka", "wanted"), [("3.4", BY_NAME), ("3.5", BY_RACK), ("3.9", BY_RACK)])
def test_members_get_partitions_of_their_own_rack_since_3_5(kafka: str, wanted: list[tuple[str, ...]]) -> None:
    found = cluster(kafka)
    found.run(10 * SECOND)
    assert shares(found) == wanted


def test_racks_do_not_matter_where_every_rack_has_a_replica() -> None:
    found = cluster("3.9", crowded=True)
    found.run(10 * SECOND)
    assert shares(found) == BY_NAME


def test_a_stopped_broker_keeps_its_rack_and_causes_no_rejoin() -> None:
    found = cluster("3.9")
    found.run(10 * SECOND)
    found.drain()
    found.crash(1)
    found.run(40 * SECOND)
    assert not [event for event in found.drain() if isinstance(event, GroupRebalanced)]
    assert shares(found) == BY_RACK


@pytest.mark.parametrize(("kafka", "rack", "again"), [("3.9", "a", 1), ("3.9", "", 0), ("3.4", "a", 0)])
def test_a_leader_in_a_rack_joins_again_when_replicas_come_into_another_one(kafka: str, rack: str, again: int) -> None:
    rig = MemberRig(
        kafka=kafka,
        partitions=1,
        commit="none",
        config={"metadata.max.age.ms": 1_000, **({"client.rack": rack} if rack else {})},
    )
    rig.consumer.metadata.racks.update({1: "a", 2: "b", 3: "c"})
    rig.find()
    rig.joined(leads=True)
    rig.synced("t-0")
    rig.committed(t_0=0)
    joins = sum(len(rig.asked(JoinGroupRequest, who)) for who in BROKERS)
    rig.run(2 * SECOND)
    for who in BROKERS:
        for request in rig.asked(MetadataRequest, who)[-1:]:
            moved = state("t-0", 1)._replace(replicas=(1, 2))
            rig.reply(who, MetadataResponse(request.correlation_id, (moved,), BROKERS, racks=("a", "b", "c")))
    rig.run(SECOND)
    assert sum(len(rig.asked(JoinGroupRequest, who)) for who in BROKERS) - joins == again
