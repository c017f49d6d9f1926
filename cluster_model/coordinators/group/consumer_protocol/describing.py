"""What an administrator is told of a group by the consumer protocol.

Kafka has ConsumerGroupDescribe for it, which its admin client asks before DescribeGroups; the model's administrators
need only the latter, in which such a group is told like any other.
"""

from cluster_model.coordinators.group.consumer_protocol.consumer_group import ModernGroup
from cluster_model.coordinators.group.consumer_protocol.heartbeat import preferred
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    Assignment,
    DescribedGroup,
    DescribedMember,
    Subscription,
)
from cluster_model.protocol.messages_part import DescribedConsumer, DescribedConsumerGroup


def described(group: ModernGroup, assignor: str) -> DescribedGroup:
    """A group in whatever state: what each member has now, and its epoch as the generation of its subscription."""
    members = tuple(
        [
            DescribedMember(
                member_id,
                says.group_instance_id,
                says.client_id,
                says.host,
                Subscription(says.topics, generation=group.current[member_id].epoch),
                Assignment(group.current[member_id].assigned),
            )
            for member_id, says in group.members.items()
        ]
    )
    assignor = preferred(group.members, assignor)
    return DescribedGroup(group.group_id, KafkaError.NONE, group.state, CONSUMER_PROTOCOL, assignor, members)


def described_in_full(group: ModernGroup, assignor: str) -> DescribedConsumerGroup:
    """The same with all epochs and targets (``ConsumerGroup.asDescribedGroup``)."""
    members = tuple(
        [
            DescribedConsumer(
                member_id, says.group_instance_id, says.client_id, says.host, group.current[member_id].epoch,
                says.topics, says.pattern, group.current[member_id].assigned, group.target.get(member_id, ()),
            )
            for member_id, says in group.members.items()
        ]
    )  # fmt: skip
    return DescribedConsumerGroup(
        group.group_id, KafkaError.NONE, group.state, group.epoch, group.target_epoch,
        preferred(group.members, assignor), members,
    )  # fmt: skip
