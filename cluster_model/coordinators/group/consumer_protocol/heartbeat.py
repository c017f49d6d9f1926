"""Heartbeats of the consumer protocol and the reconciliation of members (``GroupMetadataManager``, KIP-848).

Sans-IO: a group and a request in; a response and the records that it depends on out. The group changes when these
records are replayed, not before.
"""

from collections.abc import Callable, Container, Mapping
from typing import Final, NamedTuple

from cluster_model.assignors.assignors import server_assignors
from cluster_model.assignors.base import AssignmentError, MemberSubscription, TopicPartition, Topics
from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    CURRENT,
    EPOCH,
    MEMBER,
    STABLE,
    TARGET,
    TARGET_EPOCH,
    TOPICS,
    UNRELEASED,
    UNREVOKED,
    ConsumerGroup,
    ConsumerGroupConfig,
    ConsumerGroupRecord,
    CurrentValue,
    MemberValue,
    PatternCompiler,
    compiles,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    JOIN,
    LEAVE,
    LEAVE_FOR_NOW,
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribedMember,
    Subscription,
)
from cluster_model.spec.cluster_spec import INTERNAL

# Reconciliation of a member with its target assignment (``CurrentAssignmentBuilder``, KIP-848). A member first revokes
# partitions that are no longer its own, in its old epoch; then it moves to the target epoch and gets the free
# partitions; the remaining ones follow when other members have revoked them. Partitions that a member keeps are
# consumed without interruption.


Partitions = tuple[str, ...]


def reconcile(
    current: CurrentValue,
    target_epoch: int,
    target: Partitions,
    owned: Partitions | None,
    taken: Container[str],
    *,
    bumps: bool = True,
) -> CurrentValue:
    """Return a member's next state. ``owned``: partitions that it reports, None for none; ``taken``: of any member.

    ``bumps``: it moves to its next epoch between two revocations (until KAFKA-19974).
    """
    if current.state == STABLE and current.epoch == target_epoch:
        return current
    if current.state == UNREVOKED and _has_not_revoked(owned, current.revoking):
        return current
    epoch = current.epoch + (bumps and current.state == UNREVOKED)
    return _next(current, epoch, target_epoch, target, owned, taken)


def _has_not_revoked(owned: Partitions | None, revoking: Partitions) -> bool:
    """Whether a member has partitions to revoke, as far as it has reported."""
    return owned is None or any(partition in revoking for partition in owned)


def _next(
    current: CurrentValue,
    epoch: int,
    target_epoch: int,
    target: Partitions,
    owned: Partitions | None,
    taken: Container[str],
) -> CurrentValue:
    """Compute the next assignment (``computeNextAssignment``)."""
    kept = [partition for partition in current.assigned if partition in target]
    revoking = tuple([partition for partition in current.assigned if partition not in target])
    if revoking and _has_not_revoked(owned, revoking):
        return CurrentValue(epoch, current.epoch, UNREVOKED, tuple(kept), revoking)
    wanted = [partition for partition in target if partition not in kept]
    free = [partition for partition in wanted if partition not in taken]
    state = STABLE if len(free) == len(wanted) else UNRELEASED
    return CurrentValue(target_epoch, current.epoch, state, ordered((*kept, *free)), ())


def ordered(partitions: Partitions) -> Partitions:
    """Sort partitions by topic and index."""

    def topic_and_index(partition: str) -> tuple[str, int]:
        topic, _dash, number = partition.rpartition("-")
        return topic, int(number)

    return tuple(sorted(partitions, key=topic_and_index))


def without_unsubscribed(current: CurrentValue, unsubscribed: Partitions, owned: Partitions | None) -> CurrentValue:
    """Take partitions of topics from a member that it no longer subscribes to (``updateCurrentAssignment``).

    It keeps its epoch, as there is no new target assignment yet.
    """
    kept = tuple([partition for partition in current.assigned if partition not in unsubscribed])
    revoking = (*current.revoking, *unsubscribed)
    if _has_not_revoked(owned, revoking):
        return CurrentValue(current.epoch, current.epoch, UNREVOKED, kept, revoking)
    return CurrentValue(current.epoch, current.epoch, current.state, kept, current.revoking)


def with_assignment_epochs(current: CurrentValue, before: CurrentValue) -> CurrentValue:
    """Return a member's state with the epoch in which it got each of its partitions (KIP-1251)."""
    epoch_of = dict(before.assignment_epochs)
    epochs = [
        (partition, epoch_of[partition] if partition in before.assigned and partition in epoch_of else current.epoch)
        for partition in current.assigned
    ]
    pending = [(partition, epoch_of.get(partition, current.epoch)) for partition in current.revoking]
    return current._replace(assignment_epochs=(*epochs, *pending))


_NEW: Final = CurrentValue(JOIN, JOIN, STABLE, (), ())


class TopicsImage(NamedTuple):
    """Topics in the broker's metadata cache, with their partition counts."""

    version: tuple[int, int]
    sizes: Mapping[str, int]


class HeartbeatResult(NamedTuple):
    """Response to a heartbeat, and the records that must be written before it."""

    response: ConsumerGroupHeartbeatResponse
    records: tuple[ConsumerGroupRecord, ...] = ()
    assigned: bool = False
    """Whether the records hold a new target assignment."""


class _HeartbeatError(Exception):
    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.name)
        self.error = error


class _HeartbeatSender(NamedTuple):
    """The member that sends a heartbeat, as the group knows it."""

    member_id: str
    says: MemberValue | None
    """Its last known metadata; None for a new member."""
    current: CurrentValue
    replaced: str
    """Former id of a static member that rejoined, empty for none."""


class HeartbeatRules:
    """Rules of heartbeats with one coordinator's settings."""

    __slots__ = ("_compile_pattern", "_config", "_uuid")

    def __init__(self, config: ConsumerGroupConfig, uuid: Callable[[], str], compile_pattern: PatternCompiler) -> None:
        """``uuid`` makes the id of a member without one; ``compile_pattern`` compiles subscription patterns."""
        self._compile_pattern = compile_pattern
        self._config = config
        self._uuid = uuid

    def request_error(self, request: ConsumerGroupHeartbeatRequest) -> KafkaError:
        """Check a request independently of its group (``throwIf...HeartbeatRequestIsInvalid``)."""
        epoch = request.member_epoch
        subscribes = request.topics is not None or (request.pattern is not None and request.version >= 1)
        is_invalid = (
            not request.group_id
            or epoch < LEAVE_FOR_NOW
            or (not request.member_id and (epoch != JOIN or request.version >= 1))
            or (epoch == JOIN and (request.rebalance_timeout_us < 0 or request.owned != () or not subscribes))
            or (epoch == LEAVE_FOR_NOW and not request.group_instance_id)
        )
        if is_invalid:
            return KafkaError.INVALID_REQUEST
        if request.assignor and request.assignor not in self._config.assignors:
            return KafkaError.UNSUPPORTED_ASSIGNOR
        if request.pattern and not compiles(request.pattern, self._compile_pattern):
            return KafkaError.INVALID_REGULAR_EXPRESSION
        return KafkaError.NONE

    def heartbeat(
        self,
        group: ConsumerGroup,
        source: int,
        request: ConsumerGroupHeartbeatRequest,
        topics_image: TopicsImage,
        now: int,
    ) -> HeartbeatResult:
        """Handle a valid request of node ``source``; ``now`` is the time of the coordinator's clock."""
        try:
            if request.member_epoch < JOIN:
                return self._leave(group, request, topics_image)
            return self._stay(group, source, request, topics_image, now)
        except _HeartbeatError as error:
            return HeartbeatResult(ConsumerGroupHeartbeatResponse(request.correlation_id, error.error))

    # -- leaving ----------------------------------------------------------------------------------------------------

    def _leave(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, topics_image: TopicsImage
    ) -> HeartbeatResult:
        member_id, instance = request.member_id, request.group_instance_id
        _check_holder(group, member_id, instance)
        response = ConsumerGroupHeartbeatResponse(
            request.correlation_id, KafkaError.NONE, member_id, request.member_epoch
        )
        if request.member_epoch == LEAVE:
            return HeartbeatResult(response, self.remove_member(group, member_id, topics_image))
        current = group.current[member_id]._replace(epoch=LEAVE_FOR_NOW, revoking=())
        if self._config.assignment_epochs:
            current = with_assignment_epochs(current, group.current[member_id])
        return HeartbeatResult(response, (ConsumerGroupRecord(CURRENT, group.group_id, member_id, current),))

    def remove_member(
        self, group: ConsumerGroup, member_id: str, topics_image: TopicsImage
    ) -> tuple[ConsumerGroupRecord, ...]:
        """Return the records that remove a member (``consumerGroupFenceMember``); its partitions are free at once."""
        remaining = {known_id: metadata for known_id, metadata in group.members.items() if known_id != member_id}
        topics = self._subscribed(remaining, topics_image.sizes)
        records = list(_tombstones(group, member_id))
        if topics != group.topics:
            records.append(ConsumerGroupRecord(TOPICS, group.group_id, "", topics))
        records.append(ConsumerGroupRecord(EPOCH, group.group_id, "", group.epoch + 1))
        if self._config.ends_empty and not remaining:
            records.append(ConsumerGroupRecord(TARGET_EPOCH, group.group_id, "", (group.epoch + 1, 0)))
        return tuple(records)

    # -- joining and staying ----------------------------------------------------------------------------------------

    def _stay(
        self,
        group: ConsumerGroup,
        source: int,
        request: ConsumerGroupHeartbeatRequest,
        topics_image: TopicsImage,
        now: int,
    ) -> HeartbeatResult:
        if len(group.members) >= self._config.max_size and request.member_id not in group.members:
            raise _HeartbeatError(KafkaError.GROUP_MAX_SIZE_REACHED)
        sender = self._find(group, request)
        member_id = sender.member_id
        metadata = _updated(sender.says, source, request)
        records: list[ConsumerGroupRecord] = []
        if sender.replaced:
            target = group.target.get(sender.replaced, ())
            inherited = ConsumerGroupRecord(TARGET, group.group_id, member_id, target)
            records += (*_tombstones(group, sender.replaced), inherited)
        if metadata != group.members.get(member_id):
            records.append(ConsumerGroupRecord(MEMBER, group.group_id, member_id, metadata))
        members = {
            known_id: known_metadata
            for known_id, known_metadata in group.members.items()
            if known_id != sender.replaced
        }
        members[member_id] = metadata
        epoch, topics = self._update_epoch(group, sender, members, topics_image, records)
        target_epoch, target = group.target_epoch, group.target.get(sender.replaced or member_id, ())
        assigns = epoch > target_epoch and self._may_assign(group, now)
        if assigns:
            target_epoch = epoch
            target = self._assign(group, members, topics, sender, records)[member_id]
            value = (epoch, now) if self._config.timed_assignments else epoch
            records.append(ConsumerGroupRecord(TARGET_EPOCH, group.group_id, "", value))
        current = self._reconcile(group, sender, metadata, target_epoch, target, request.owned)
        if self._config.assignment_epochs and current != sender.current:
            current = with_assignment_epochs(current, sender.current)
        if current != group.current.get(member_id):
            records.append(ConsumerGroupRecord(CURRENT, group.group_id, member_id, current))
        sends_assignment = request.full or current.assigned != sender.current.assigned
        response = ConsumerGroupHeartbeatResponse(
            request.correlation_id, KafkaError.NONE, member_id, current.epoch, self._config.heartbeat_us,
            current.assigned if sends_assignment else None,
        )  # fmt: skip
        return HeartbeatResult(response, tuple(records), assigns)

    def _may_assign(self, group: ConsumerGroup, now: int) -> bool:
        """Whether the interval since the last target assignment is over (``canComputeNextTargetAssignment``)."""
        interval_us = self._config.assignment_interval_us
        return not group.assigned_at or not interval_us or now >= group.assigned_at + interval_us

    def _reconcile(
        self,
        group: ConsumerGroup,
        sender: _HeartbeatSender,
        metadata: MemberValue,
        target_epoch: int,
        target: Partitions,
        owned: Partitions | None,
    ) -> CurrentValue:
        """Return a member's next state. Its part of an older target may have topics that it does not subscribe to."""
        before = sender.current
        current = reconcile(
            before, target_epoch, tuple([each for each in target if self._has_topic(metadata, each)]), owned,
            group.owners, bumps=self._config.bumps_revoking,
        )  # fmt: skip
        gone = tuple([each for each in before.assigned if not self._has_topic(metadata, each)])
        return without_unsubscribed(before, gone, owned) if gone and current == before else current

    def _has_topic(self, metadata: MemberValue, partition: str) -> bool:
        return not self._config.timed_assignments or self._subscribes(metadata, partition.rpartition("-")[0])

    def _update_epoch(
        self,
        group: ConsumerGroup,
        sender: _HeartbeatSender,
        members: Mapping[str, MemberValue],
        topics_image: TopicsImage,
        records: list[ConsumerGroupRecord],
    ) -> tuple[int, tuple[tuple[str, int], ...]]:
        """Return the group's epoch and topics: a new epoch if a subscription or a subscribed topic has changed."""
        before, metadata = sender.says, members[sender.member_id]
        changed = before is None or (metadata.topics, metadata.pattern) != (before.topics, before.pattern)
        changed = changed or (self._config.assigns_by_new_assignor and self._changes_assignor(group, members))
        if not changed and group.seen == topics_image.version:
            return group.epoch, group.topics
        topics = self._subscribed(members, topics_image.sizes)
        if topics != group.topics:
            records.append(ConsumerGroupRecord(TOPICS, group.group_id, "", topics))
        elif not changed:
            return group.epoch, topics
        records.append(ConsumerGroupRecord(EPOCH, group.group_id, "", group.epoch + 1))
        return group.epoch + 1, topics

    def _changes_assignor(self, group: ConsumerGroup, members: Mapping[str, MemberValue]) -> bool:
        default = self._config.assignors[0]
        return preferred_assignor(group.members, default) != preferred_assignor(members, default)

    def _find(self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> _HeartbeatSender:
        """Find the member, and check its instance id and its epoch."""
        joins = request.member_epoch == JOIN
        instance, member_id = request.group_instance_id, request.member_id
        holder = group.instances.get(instance, "") if instance else ""
        if joins and holder:
            # Not even the holder itself may join again before it has left (``throwIfInstanceIdIsUnreleased``).
            if group.current[holder].epoch != LEAVE_FOR_NOW:
                raise _HeartbeatError(KafkaError.UNRELEASED_INSTANCE_ID)
            if holder != member_id:
                return _HeartbeatSender(member_id or self._uuid(), group.members[holder], group.current[holder], holder)
        if not joins:
            _check_holder(group, member_id, instance)
        if member_id not in group.members:
            return _HeartbeatSender(member_id or self._uuid(), None, _NEW, "")
        current = group.current[member_id]
        # A member that joins again owns nothing, which frees the partitions that it no longer gets. Up to 4.1 its epoch
        # 0 is checked like any other (KAFKA-19233, ``throwIfConsumerGroupMemberEpochIsInvalid``).
        if (not joins or (self._config.fences_rejoins and not instance)) and not _epoch_is_valid(current, request):
            raise _HeartbeatError(KafkaError.FENCED_MEMBER_EPOCH)
        return _HeartbeatSender(member_id, group.members[member_id], current, "")

    def _assign(
        self,
        group: ConsumerGroup,
        members: Mapping[str, MemberValue],
        topics: tuple[tuple[str, int], ...],
        sender: _HeartbeatSender,
        records: list[ConsumerGroupRecord],
    ) -> dict[str, tuple[str, ...]]:
        """Compute the new target assignment, as balanced as the assignor makes it and as sticky as possible."""
        names = [topic for topic, _count in topics]
        before = dict(group.target)
        before[sender.member_id] = before.pop(sender.replaced or sender.member_id, ())
        assigned = [
            MemberSubscription(
                member_id,
                tuple([topic for topic in names if self._subscribes(metadata, topic)]),
                metadata.group_instance_id,
                owned=tuple(map(_parsed, before.get(member_id, ()))),
            )
            for member_id, metadata in members.items()
        ]
        name = preferred_assignor(members, self._config.assignors[0])
        assignor = server_assignors(self._config.assignor_rules)[name]
        try:
            found_shares = assignor.assign(assigned, Topics(dict(topics)))
        except AssignmentError:
            raise _HeartbeatError(KafkaError.UNKNOWN_SERVER_ERROR) from None
        shares = {member_id: ordered(tuple(map(str, share))) for member_id, share in found_shares.items()}
        records += [
            ConsumerGroupRecord(TARGET, group.group_id, member_id, share)
            for member_id, share in shares.items()
            if share != group.target.get(member_id)
        ]
        return shares

    def _subscribed(self, members: Mapping[str, MemberValue], sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """(topic, partitions) of every existing topic that any member subscribes to, sorted by name."""
        subscriptions = dict.fromkeys((metadata.topics, metadata.pattern) for metadata in members.values())
        distinct = [
            next(metadata for metadata in members.values() if (metadata.topics, metadata.pattern) == subscription)
            for subscription in subscriptions
        ]
        return tuple(
            [
                (topic, sizes[topic])
                for topic in sorted(sizes)
                if any(self._subscribes(metadata, topic) for metadata in distinct)
            ]
        )

    def _subscribes(self, metadata: MemberValue, topic: str) -> bool:
        if topic in metadata.topics:
            return True
        return bool(metadata.pattern) and topic not in INTERNAL and self._compile_pattern(metadata.pattern)(topic)


def preferred_assignor(members: Mapping[str, MemberValue], default: str) -> str:
    """Return the assignor that most members name, the first of equals; the default if no member names any."""
    votes: dict[str, int] = {}
    for metadata in members.values():
        if metadata.assignor:
            votes[metadata.assignor] = votes.get(metadata.assignor, 0) + 1
    return max(votes, key=lambda name: votes[name], default=default)


def _parsed(partition: str) -> TopicPartition:
    topic, _dash, number = partition.rpartition("-")
    return TopicPartition(topic, int(number))


def _updated(before: MemberValue | None, source: int, request: ConsumerGroupHeartbeatRequest) -> MemberValue:
    """Update a member's metadata from a request."""
    old = before or MemberValue("", "", source, (), "", "", 0)
    pattern = request.pattern if request.version >= 1 else None
    return MemberValue(
        request.group_instance_id or old.group_instance_id,
        request.client_id or old.client_id,
        source,
        old.topics if request.topics is None else tuple(sorted(dict.fromkeys(request.topics))),
        old.pattern if pattern is None else pattern,
        old.assignor if request.assignor is None else request.assignor,
        old.rebalance_us if request.rebalance_timeout_us < 0 else request.rebalance_timeout_us,
    )


def _epoch_is_valid(current: CurrentValue, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a member's epoch is current, or the previous one because a response was lost."""
    if request.member_epoch == current.epoch:
        return True
    owned = request.owned
    is_previous = request.member_epoch == current.previous and request.member_epoch < current.epoch
    return is_previous and owned is not None and all(partition in current.assigned for partition in owned)


def _check_holder(group: ConsumerGroup, member_id: str, instance: str) -> None:
    holder = group.instances.get(instance, "") if instance else member_id
    if not holder or (not instance and member_id not in group.members):
        raise _HeartbeatError(KafkaError.UNKNOWN_MEMBER_ID)
    if holder != member_id:
        raise _HeartbeatError(KafkaError.FENCED_INSTANCE_ID)


def _tombstones(group: ConsumerGroup, member_id: str) -> tuple[ConsumerGroupRecord, ...]:
    """Tombstones of a member."""
    return tuple([ConsumerGroupRecord(kind, group.group_id, member_id) for kind in (CURRENT, TARGET, MEMBER)])


# Description of a group of the consumer protocol. Kafka has ConsumerGroupDescribe for it, which its admin client sends
# before DescribeGroups; the model's administrators need only the latter, which describes such a group like any other.


def described(group: ConsumerGroup, assignor: str) -> DescribedGroup:
    """Describe a group in any state: current assignments, with member epochs as generations of the subscriptions."""
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
    assignor = preferred_assignor(group.members, assignor)
    return DescribedGroup(group.group_id, KafkaError.NONE, group.state, CONSUMER_PROTOCOL, assignor, members)


def describe_consumer_group(group: ConsumerGroup, assignor: str) -> DescribedConsumerGroup:
    """Describe a group with all epochs and targets (``ConsumerGroup.asDescribedGroup``)."""
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
        preferred_assignor(group.members, assignor), members,
    )  # fmt: skip
