"""What a group's leader does with the members it is told of (``ConsumerCoordinator.onLeaderElected``)."""

from collections.abc import Iterable, Mapping, Sequence

from cluster_model.assignors.base import Member, TopicPartition, Topics
from cluster_model.assignors.registry import CLIENT_ASSIGNORS
from cluster_model.clients.metadata import Metadata
from cluster_model.protocol.group_messages import Assignment, JoinGroupMember

Racks = dict[TopicPartition, tuple[str, ...]]
"""Partition → racks that have a replica of it."""


def topic_of(partition: str) -> str:
    """The topic of a partition such as ``orders-0``."""
    return partition.rpartition("-")[0]


def parsed(partition: str) -> TopicPartition:
    """A partition as assignors want it."""
    topic, _dash, number = partition.rpartition("-")
    return TopicPartition(topic, int(number))


def sizes(metadata: Metadata, topics: Iterable[str]) -> dict[str, int]:
    """Topic → how many partitions the client's metadata has of it, 0 of a topic that it lacks."""
    wanted = dict.fromkeys(sorted(topics), 0)
    for name in metadata.states:
        topic = topic_of(name)
        if topic in wanted:
            wanted[topic] += 1
    return wanted


def racks(metadata: Metadata, topics: Mapping[str, int]) -> Racks:
    """Partition → the racks of its replicas as far as known, of topics with their sizes; none without racks."""
    if not any(metadata.racks.values()):
        return {}
    found: Racks = {}
    for partition in [TopicPartition(topic, number) for topic, size in topics.items() for number in range(size)]:
        replicas = metadata.states[str(partition)].replicas if str(partition) in metadata.states else ()
        found[partition] = tuple(sorted({metadata.racks[broker] for broker in replicas if metadata.racks.get(broker)}))
    return found


def assign(
    protocol: str, members: Sequence[JoinGroupMember], known: dict[str, int], near: Racks
) -> tuple[tuple[str, Assignment], ...]:
    """Everybody's share by the assignor that the coordinator chose, over the topics that the leader knows.

    ``near`` are the racks of their partitions.
    """
    found = CLIENT_ASSIGNORS[protocol].assign(
        [
            Member(
                id=member.member_id,
                topics=member.metadata.topics,
                instance=member.group_instance_id,
                rack=member.metadata.rack,
                owned=tuple([parsed(partition) for partition in member.metadata.owned]),
                generation=member.metadata.generation,
            )
            for member in members
        ],
        Topics(known, near),
    )
    return tuple([(member, Assignment(tuple(map(str, share)))) for member, share in found.items()])
