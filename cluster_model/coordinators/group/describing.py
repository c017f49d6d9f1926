"""What an administrator is told of groups (``GroupCoordinator.handleDescribeGroup``, ``handleListGroups``)."""

from collections.abc import Iterable

from cluster_model.coordinators.group.group_metadata import Group, State
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    NOTHING,
    DescribedGroup,
    DescribedMember,
    ListedGroup,
    ListGroupsRequest,
)


def described(group_id: str, group: Group | None) -> DescribedGroup:
    """A group; members' metadata and assignments, and the assignor, only while it is Stable."""
    if group is None:
        return DescribedGroup(group_id, KafkaError.NONE, State.DEAD)
    stable = group.state is State.STABLE
    members = tuple(
        [
            DescribedMember(
                member.member_id, member.instance, member.says.client_id, member.says.host,
                member.metadata(group.protocol) if stable else None, member.assignment if stable else NOTHING,
            )
            for member in group.members.values()
        ]
    )  # fmt: skip
    protocol = group.protocol if stable else ""
    return DescribedGroup(group_id, KafkaError.NONE, group.state, group.protocol_type, protocol, members)


def listed(groups: Iterable[Group]) -> tuple[ListedGroup, ...]:
    """The groups of the classic protocol."""
    return tuple([ListedGroup(group.group_id, group.protocol_type, group.state) for group in groups])


def asked(groups: tuple[ListedGroup, ...], request: ListGroupsRequest) -> tuple[ListedGroup, ...]:
    """Those in one of the states and of one of the types that are asked for; where none is named, any will do."""
    states, types = request.states, [each.lower() for each in request.types]
    return tuple(
        [
            group
            for group in groups
            if (not states or group.state in states) and (not types or group.group_type in types)
        ]
    )
