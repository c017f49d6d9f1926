"""What members of a group may keep of what they say they own (``AbstractStickyAssignor.allSubscriptionsEqual``)."""

from collections.abc import Sequence
from typing import NamedTuple

from cluster_model.assignors.base import Member, TopicPartition


class Claims(NamedTuple):
    """Who owns what before the assignment."""

    owned: dict[str, list[TopicPartition]]
    """Member id, in order of ids → partitions; each partition has one owner at most."""
    disputed: dict[TopicPartition, None]
    """Claimed by two members of the same, newest generation: neither keeps them."""


def claims(members: Sequence[Member], partitions: Sequence[TopicPartition]) -> Claims:
    """Settle claims on ``partitions``: among several the newest generation has it. Claims on others are left out."""
    wanted = dict.fromkeys(partitions)
    by_id = sorted(members, key=lambda member: member.id)
    newest: dict[TopicPartition, list[Member]] = {}
    for member in by_id:
        for partition in dict.fromkeys(member.owned):
            if partition not in wanted:
                continue
            rivals = newest.get(partition)
            if rivals is None or member.generation > rivals[0].generation:
                newest[partition] = [member]
            elif member.generation == rivals[0].generation:
                rivals.append(member)
    owned: dict[str, list[TopicPartition]] = {member.id: [] for member in by_id}
    disputed: dict[TopicPartition, None] = {}
    for partition, rivals in newest.items():
        if len(rivals) > 1:
            disputed[partition] = None
        else:
            owned[rivals[0].id].append(partition)
    return Claims(owned, disputed)
