"""``StickyAssignor`` (KIP-54) and ``CooperativeStickyAssignor`` (KIP-429): as even as can be, moving little."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster_model.assignors.base import (
    Assignment,
    Member,
    TopicPartition,
    Topics,
    finished,
    same_subscriptions,
    subscribers,
)
from cluster_model.assignors.claims import claims
from cluster_model.assignors.constrained import Constrained
from cluster_model.assignors.general import General
from cluster_model.assignors.racks import Racks


class _Outcome(NamedTuple):
    shares: Mapping[str, Sequence[TopicPartition]]
    moving: Mapping[TopicPartition, str]
    """Partition → who gets it, though another one has it now."""


class StickyAssignor:
    """Members give up all they have and get back what they are to keep."""

    name = "sticky"
    cooperative = False

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        """See the module."""
        return finished(members, _outcome(members, topics).shares) if members else {}


class CooperativeStickyAssignor:
    """The same result, less every partition that another member has now: that one is given out next time.

    Whoever has to give a partition up joins again at once, and the rebalance after this one hands it out.
    """

    name = "cooperative-sticky"
    cooperative = True

    def assign(self, members: Sequence[Member], topics: Topics) -> Assignment:
        """See the class."""
        if not members:
            return {}
        shares, moving = _outcome(members, topics)
        held = {member: [each for each in share if moving.get(each) != member] for member, share in shares.items()}
        return finished(members, held)


def _outcome(members: Sequence[Member], topics: Topics) -> _Outcome:
    by_id = sorted(members, key=lambda member: member.id)
    who = subscribers(by_id, topics)
    partitions = [partition for topic in who for partition in topics.partitions(topic)]
    settled = claims(members, partitions)
    racks = Racks(members, partitions, topics)
    if same_subscriptions(members):
        constrained = Constrained(partitions, settled, racks)
        return _Outcome(constrained.shares, constrained.moving)
    shares = {member: list(share) for member, share in General(members, who, topics, settled, racks).shares.items()}
    return _Outcome(shares, _moving(members, shares))


def _moving(members: Sequence[Member], shares: Mapping[str, Sequence[TopicPartition]]) -> dict[TopicPartition, str]:
    """What is new to a member that gets it, and lost by one that says it has it (``adjustAssignment``)."""
    given = {member.id: frozenset(shares[member.id]) for member in members}
    owned = {member.id: frozenset(member.owned) for member in members}
    lost = {each for member in members for each in member.owned if each not in given[member.id]}
    return {
        each: member.id
        for member in members
        for each in shares[member.id]
        if each in lost and each not in owned[member.id]
    }
