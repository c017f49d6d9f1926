"""Heartbeats of the consumer protocol and the reconciliation of members (``GroupMetadataManager``, KIP-848).

Sans-IO: a group and a request in, an answer and the records out that make it true. The group changes when these are
written, by replaying them; until then it is as it was.
"""

from collections.abc import Callable, Container, Mapping
from typing import Final, NamedTuple

from cluster_model.assignors.assignors import SERVER_ASSIGNORS
from cluster_model.assignors.base import MemberSubscription, TopicPartition, Topics
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
    CurrentValue,
    MemberValue,
    ModernConfig,
    ModernGroup,
    ModernRecord,
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

# Reconciliation of a member with its target assignment (``CurrentAssignmentBuilder``, KIP-848).
#
# First it gives up what is not its any more, in its old epoch; then it goes to the target epoch and gets what nobody
# else has; what somebody has not given up yet it gets when that is done. Members that keep what they have go on.


Partitions = tuple[str, ...]


def reconciled(
    current: CurrentValue, target_epoch: int, target: Partitions, owned: Partitions | None, taken: Container[str]
) -> CurrentValue:
    """A member's next step. ``owned`` is what it says it has, None if it says nothing; ``taken`` is everybody's."""
    if current.state == STABLE and current.epoch == target_epoch:
        return current
    if current.state == UNREVOKED and _holds(owned, current.revoking):
        return current
    epoch = current.epoch + (current.state == UNREVOKED)
    return _next(current, epoch, target_epoch, target, owned, taken)


def _holds(owned: Partitions | None, revoking: Partitions) -> bool:
    """Whether a member has, as far as it has said, anything of what it is to give up."""
    return owned is None or any(partition in revoking for partition in owned)


def _next(
    current: CurrentValue,
    epoch: int,
    target_epoch: int,
    target: Partitions,
    owned: Partitions | None,
    taken: Container[str],
) -> CurrentValue:
    """``computeNextAssignment``."""
    kept = [partition for partition in current.assigned if partition in target]
    revoking = tuple([partition for partition in current.assigned if partition not in target])
    if revoking and _holds(owned, revoking):
        return CurrentValue(epoch, current.epoch, UNREVOKED, tuple(kept), revoking)
    wanted = [partition for partition in target if partition not in kept]
    free = [partition for partition in wanted if partition not in taken]
    state = STABLE if len(free) == len(wanted) else UNRELEASED
    return CurrentValue(target_epoch, current.epoch, state, ordered((*kept, *free)), ())


def ordered(partitions: Partitions) -> Partitions:
    """By topic and number."""

    def place(partition: str) -> tuple[str, int]:
        topic, _dash, number = partition.rpartition("-")
        return topic, int(number)

    return tuple(sorted(partitions, key=place))


_NEW: Final = CurrentValue(JOIN, JOIN, STABLE, (), ())


class TopicsImage(NamedTuple):
    """What the broker's metadata cache has of topics."""

    version: tuple[int, int]
    sizes: Mapping[str, int]


class HeartbeatResult(NamedTuple):
    """What is answered, once the records are written that it goes by."""

    response: ConsumerGroupHeartbeatResponse
    records: tuple[ModernRecord, ...] = ()
    assigned: bool = False
    """Whether there is a new target assignment among them."""


class _HeartbeatError(Exception):
    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.name)
        self.error = error


class _HeartbeatSender(NamedTuple):
    """Who sends the heartbeat."""

    member_id: str
    says: MemberValue | None
    """What it said last; None for a new one."""
    current: CurrentValue
    replaced: str
    """The former id of a static member that is back."""


class Heartbeats:
    """The rules with one coordinator's settings."""

    __slots__ = ("_compile_pattern", "_config", "_uuid")

    def __init__(self, config: ModernConfig, uuid: Callable[[], str], compile_pattern: PatternCompiler) -> None:
        """``uuid`` makes the id of a member that brings none; ``compile_pattern`` is for subscriptions by pattern."""
        self._compile_pattern = compile_pattern
        self._config = config
        self._uuid = uuid

    def invalid(self, request: ConsumerGroupHeartbeatRequest) -> KafkaError:
        """Whether it is no sensible request, whatever the group (``throwIf...HeartbeatRequestIsInvalid``)."""
        epoch = request.member_epoch
        told = request.topics is not None or (request.pattern is not None and request.version >= 1)
        wrong = (
            not request.group_id
            or epoch < LEAVE_FOR_NOW
            or (not request.member_id and (epoch != JOIN or request.version >= 1))
            or (epoch == JOIN and (request.rebalance_timeout_us < 0 or request.owned != () or not told))
            or (epoch == LEAVE_FOR_NOW and not request.group_instance_id)
        )
        if wrong:
            return KafkaError.INVALID_REQUEST
        if request.assignor and request.assignor not in self._config.assignors:
            return KafkaError.UNSUPPORTED_ASSIGNOR
        if request.pattern and not compiles(request.pattern, self._compile_pattern):
            return KafkaError.INVALID_REGULAR_EXPRESSION
        return KafkaError.NONE

    def heartbeat(
        self, group: ModernGroup, source: int, request: ConsumerGroupHeartbeatRequest, known: TopicsImage
    ) -> HeartbeatResult:
        """A valid request, from node ``source``."""
        try:
            if request.member_epoch < JOIN:
                return self._leave(group, request, known)
            return self._stay(group, source, request, known)
        except _HeartbeatError as refused:
            return HeartbeatResult(ConsumerGroupHeartbeatResponse(request.correlation, refused.error))

    # -- leaving ----------------------------------------------------------------------------------------------------

    def _leave(self, group: ModernGroup, request: ConsumerGroupHeartbeatRequest, known: TopicsImage) -> HeartbeatResult:
        member_id, instance = request.member_id, request.group_instance_id
        _check_holder(group, member_id, instance)
        response = ConsumerGroupHeartbeatResponse(request.correlation, KafkaError.NONE, member_id, request.member_epoch)
        if request.member_epoch == LEAVE:
            return HeartbeatResult(response, self.without(group, member_id, known))
        current = group.current[member_id]._replace(epoch=LEAVE_FOR_NOW, revoking=())
        return HeartbeatResult(response, (ModernRecord(CURRENT, group.group_id, member_id, current),))

    def without(self, group: ModernGroup, member_id: str, known: TopicsImage) -> tuple[ModernRecord, ...]:
        """A member is gone (``consumerGroupFenceMember``): its partitions are free at once."""
        left = {other: says for other, says in group.members.items() if other != member_id}
        topics = self._subscribed(left, known.sizes)
        records = list(_forgotten(group, member_id))
        if topics != group.topics:
            records.append(ModernRecord(TOPICS, group.group_id, "", topics))
        return (*records, ModernRecord(EPOCH, group.group_id, "", group.epoch + 1))

    # -- joining and staying ----------------------------------------------------------------------------------------

    def _stay(
        self, group: ModernGroup, source: int, request: ConsumerGroupHeartbeatRequest, known: TopicsImage
    ) -> HeartbeatResult:
        if len(group.members) >= self._config.max_size and request.member_id not in group.members:
            raise _HeartbeatError(KafkaError.GROUP_MAX_SIZE_REACHED)
        found = self._find(group, request)
        member_id = found.member_id
        says = _updated(found.says, source, request)
        records: list[ModernRecord] = []
        if found.replaced:
            target = group.target.get(found.replaced, ())
            records += (*_forgotten(group, found.replaced), ModernRecord(TARGET, group.group_id, member_id, target))
        if says != group.members.get(member_id):
            records.append(ModernRecord(MEMBER, group.group_id, member_id, says))
        members = {other: each for other, each in group.members.items() if other != found.replaced}
        members[member_id] = says
        epoch, topics = self._look(group, found, members, known, records)
        target_epoch, target = group.target_epoch, group.target.get(found.replaced or member_id, ())
        assigns = epoch > target_epoch
        if assigns:
            target_epoch = epoch
            target = self._assign(group, members, topics, found, records)[member_id]
            records.append(ModernRecord(TARGET_EPOCH, group.group_id, "", epoch))
        current = reconciled(found.current, target_epoch, target, request.owned, group.owners)
        if current != group.current.get(member_id):
            records.append(ModernRecord(CURRENT, group.group_id, member_id, current))
        tells = request.full or current.assigned != found.current.assigned
        response = ConsumerGroupHeartbeatResponse(
            request.correlation, KafkaError.NONE, member_id, current.epoch, self._config.heartbeat_us,
            current.assigned if tells else None,
        )  # fmt: skip
        return HeartbeatResult(response, tuple(records), assigns)

    def _look(
        self,
        group: ModernGroup,
        found: _HeartbeatSender,
        members: Mapping[str, MemberValue],
        known: TopicsImage,
        records: list[ModernRecord],
    ) -> tuple[int, tuple[tuple[str, int], ...]]:
        """The group's epoch and topics: another epoch if a subscription or what is subscribed to has changed."""
        before, says = found.says, members[found.member_id]
        changed = before is None or (says.topics, says.pattern) != (before.topics, before.pattern)
        if not changed and group.seen == known.version:
            return group.epoch, group.topics
        topics = self._subscribed(members, known.sizes)
        if topics != group.topics:
            records.append(ModernRecord(TOPICS, group.group_id, "", topics))
        elif not changed:
            return group.epoch, topics
        records.append(ModernRecord(EPOCH, group.group_id, "", group.epoch + 1))
        return group.epoch + 1, topics

    def _find(self, group: ModernGroup, request: ConsumerGroupHeartbeatRequest) -> _HeartbeatSender:
        """The member, if it is who it says it is, and where it says it is."""
        joins = request.member_epoch == JOIN
        instance, member_id = request.group_instance_id, request.member_id
        holder = group.instances.get(instance, "") if instance else ""
        if joins and holder and holder != member_id:
            if group.current[holder].epoch != LEAVE_FOR_NOW:
                raise _HeartbeatError(KafkaError.UNRELEASED_INSTANCE_ID)
            return _HeartbeatSender(member_id or self._uuid(), group.members[holder], group.current[holder], holder)
        if not joins:
            _check_holder(group, member_id, instance)
        if member_id not in group.members:
            return _HeartbeatSender(member_id or self._uuid(), None, _NEW, "")
        current = group.current[member_id]
        # Who joins again owns nothing: what it is not to have any more is free by that.
        if not joins and not _in_step(current, request):
            raise _HeartbeatError(KafkaError.FENCED_MEMBER_EPOCH)
        return _HeartbeatSender(member_id, group.members[member_id], current, "")

    def _assign(
        self,
        group: ModernGroup,
        members: Mapping[str, MemberValue],
        topics: tuple[tuple[str, int], ...],
        found: _HeartbeatSender,
        records: list[ModernRecord],
    ) -> dict[str, tuple[str, ...]]:
        """The new target assignment: as even as the assignor makes it, as close to the last one as can be."""
        names = [topic for topic, _count in topics]
        before = dict(group.target)
        before[found.member_id] = before.pop(found.replaced or found.member_id, ())
        known = [
            MemberSubscription(
                member_id,
                tuple([topic for topic in names if self._subscribes(says, topic)]),
                says.group_instance_id,
                owned=tuple(map(_parsed, before.get(member_id, ()))),
            )
            for member_id, says in members.items()
        ]
        assignor = SERVER_ASSIGNORS[preferred(members, self._config.assignors[0])]
        found_shares = assignor.assign(known, Topics(dict(topics)))
        shares = {member_id: ordered(tuple(map(str, share))) for member_id, share in found_shares.items()}
        records += [
            ModernRecord(TARGET, group.group_id, member_id, share)
            for member_id, share in shares.items()
            if share != group.target.get(member_id)
        ]
        return shares

    def _subscribed(self, members: Mapping[str, MemberValue], sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """(topic, partitions) of all that any member subscribes to and that exists, by name."""
        alike = dict.fromkeys((says.topics, says.pattern) for says in members.values())
        some = [next(says for says in members.values() if (says.topics, says.pattern) == each) for each in alike]
        return tuple(
            [(topic, sizes[topic]) for topic in sorted(sizes) if any(self._subscribes(says, topic) for says in some)]
        )

    def _subscribes(self, says: MemberValue, topic: str) -> bool:
        if topic in says.topics:
            return True
        return bool(says.pattern) and topic not in INTERNAL and self._compile_pattern(says.pattern)(topic)


def preferred(members: Mapping[str, MemberValue], default: str) -> str:
    """The assignor that most members name, of equals the first; the default where nobody names any."""
    votes: dict[str, int] = {}
    for says in members.values():
        if says.assignor:
            votes[says.assignor] = votes.get(says.assignor, 0) + 1
    return max(votes, key=lambda name: votes[name], default=default)


def _parsed(partition: str) -> TopicPartition:
    topic, _dash, number = partition.rpartition("-")
    return TopicPartition(topic, int(number))


def _updated(before: MemberValue | None, source: int, request: ConsumerGroupHeartbeatRequest) -> MemberValue:
    """What a member says of itself now."""
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


def _in_step(current: CurrentValue, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a member's epoch is the known one, or the one before because an answer was lost."""
    if request.member_epoch == current.epoch:
        return True
    owned = request.owned
    behind = request.member_epoch == current.previous and request.member_epoch < current.epoch
    return behind and owned is not None and all(partition in current.assigned for partition in owned)


def _check_holder(group: ModernGroup, member_id: str, instance: str) -> None:
    holder = group.instances.get(instance, "") if instance else member_id
    if not holder or (not instance and member_id not in group.members):
        raise _HeartbeatError(KafkaError.UNKNOWN_MEMBER_ID)
    if holder != member_id:
        raise _HeartbeatError(KafkaError.FENCED_INSTANCE_ID)


def _forgotten(group: ModernGroup, member_id: str) -> tuple[ModernRecord, ...]:
    """A member's tombstones."""
    return tuple([ModernRecord(kind, group.group_id, member_id) for kind in (CURRENT, TARGET, MEMBER)])


# Description of a group of the consumer protocol.
#
# Kafka has ConsumerGroupDescribe for it, which its admin client asks before DescribeGroups; the model's
# administrators need only the latter, in which such a group is told like any other.


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
