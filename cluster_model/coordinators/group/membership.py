"""Members of a group by the classic protocol: joins, syncs, heartbeats and leaving, and the next generation.

Sans-IO: answers are effects of the group. Whether this broker is the group's coordinator has been seen to before.
"""

from collections.abc import Callable
from typing import Final

from cluster_model.coordinators.group.group_metadata import (
    NEVER,
    NEW_MEMBER_US,
    Caller,
    Emptied,
    GroupConfig,
    GroupMetadata,
    GroupState,
    MemberMetadata,
    Profession,
    Purpose,
    Replaced,
    Synced,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    NOTHING,
    Assignment,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeavingMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster_model.protocol.versions import Profile

# How a group comes to its next generation (``GroupCoordinator``, ``DelayedJoin``, ``DelayedSync``). Sans-IO.
#
# From Empty the joining phase lasts the initial delay, otherwise until every known member has joined again, at most the
# longest rebalance timeout. Then the leader assigns; its assignment is stored before members receive it.


GONE: Final = KafkaError.UNKNOWN_MEMBER_ID

CAN_REBALANCE: Final = (GroupState.STABLE, GroupState.COMPLETING, GroupState.EMPTY)


def join_error(caller: Caller, member_id: str, error: KafkaError) -> JoinGroupResponse:
    """The answer to a join that came to nothing."""
    return JoinGroupResponse(caller.correlation, error, -1, "", "", member_id)


class Rebalancing:
    """The rules of one version with one coordinator's settings; the state is all in the groups."""

    __slots__ = ("_config", "_profile")

    def __init__(self, profile: Profile, config: GroupConfig) -> None:
        self._profile = profile
        self._config = config

    # -- joining ----------------------------------------------------------------------------------------------------

    def maybe_prepare(self, group: GroupMetadata, now: int) -> None:
        """Begin a rebalance unless one is at its joining phase already."""
        if group.state in CAN_REBALANCE:
            self.prepare(group, now)

    def prepare(self, group: GroupMetadata, now: int) -> None:
        """Begin a rebalance: members that wait for an assignment have to join again."""
        if group.state is GroupState.COMPLETING:
            self._sync_fails(group, now, KafkaError.REBALANCE_IN_PROGRESS)
        group.sync_deadline = NEVER
        if group.state is GroupState.EMPTY:
            delay = self._config.initial_delay_us
            group.is_initial = True
            group.initial_delay_us = delay
            group.initial_left_us = max(group.rebalance_us - delay, 0)
            group.join_deadline = group.wake_at(now + delay)
        else:
            self._await_joins(group, now)
        group.become(GroupState.PREPARING, now)
        self.check_joined(group, now)

    def _await_joins(self, group: GroupMetadata, now: int) -> None:
        group.is_initial = False
        group.join_deadline = group.wake_at(now + group.rebalance_us)

    def check_joined(self, group: GroupMetadata, now: int) -> None:
        """End the joining phase if nobody is missing; the initial delay is always waited out."""
        if group.state is not GroupState.PREPARING:
            return
        if (not group.is_initial and group.all_joined) or (group.is_initial and group.join_deadline <= now):
            self.join_over(group, now)

    def join_over(self, group: GroupMetadata, now: int) -> None:
        """The joining phase has come to its end, or is drawn out (``InitialDelayedJoin.onComplete``)."""
        if group.is_initial and group.newcomer and group.initial_left_us:
            group.newcomer = False
            delay = min(self._config.initial_delay_us, group.initial_left_us)
            group.initial_left_us = max(group.initial_left_us - group.initial_delay_us, 0)
            group.initial_delay_us = delay
            group.join_deadline = group.wake_at(now + delay)
            return
        group.join_deadline = NEVER
        group.is_initial = False
        for member in list(group.members.values()):
            if member.joining is None and not member.instance:
                group.remove(member.member_id)
        if not group.elect() and group.members:
            self._await_joins(group, now)
        else:
            self._next_generation(group, now)

    def _next_generation(self, group: GroupMetadata, now: int) -> None:
        group.generation += 1
        group.unsynced.clear()
        group.protocol = group.vote() if group.members else ""
        group.topics = group.subscribed()
        if not group.members:
            group.become(GroupState.EMPTY, now)
            group.store(Emptied(), {})
            return
        group.become(GroupState.COMPLETING, now)
        for member in group.members.values():
            self.answer_join(group, member, leads=member.member_id == group.leader)
            group.stay_alive(member, now)
            member.is_new = False
            group.unsynced[member.member_id] = None
        if self._profile.sync_timeout:
            group.sync_deadline = group.wake_at(now + group.rebalance_us)

    def answer_join(
        self, group: GroupMetadata, member: MemberMetadata, *, leads: bool, leader: str = "", skip: bool = False
    ) -> None:
        """Answer a delayed join with the generation; ``leader`` is sent instead of the true one."""
        caller, member.joining = member.joining, None
        if caller is not None:
            self.welcome(group, caller, member.member_id, leads=leads, leader=leader, skip=skip)

    def welcome(
        self, group: GroupMetadata, caller: Caller, member_id: str, *, leads: bool, leader: str = "", skip: bool = False
    ) -> None:
        """Tell who asks the generation."""
        roll = group.roll() if leads else ()
        message = JoinGroupResponse(
            caller.correlation, 0, group.generation, group.protocol, leader or group.leader, member_id, roll, skip
        )
        group.answer(caller, message)

    # -- syncing ----------------------------------------------------------------------------------------------------

    def sync_fails(self, group: GroupMetadata, now: int, error: KafkaError) -> None:
        """The leader's assignment could not be stored: every member gets the error, and joins again."""
        self._sync_fails(group, now, error)
        self.maybe_prepare(group, now)

    def _sync_fails(self, group: GroupMetadata, now: int, error: KafkaError) -> None:
        for member in group.members.values():
            member.assignment = NOTHING
            self.answer_sync(group, member, now, error)

    def answer_sync(
        self, group: GroupMetadata, member: MemberMetadata, now: int, error: KafkaError = KafkaError.NONE
    ) -> None:
        """Give a member whose sync is parked its assignment; its session begins anew."""
        caller, member.syncing = member.syncing, None
        if caller is not None:
            assignment = NOTHING if error else member.assignment
            group.answer(caller, SyncGroupResponse(caller.correlation, error, assignment))
            group.stay_alive(member, now)

    def synced(self, group: GroupMetadata, member_id: str) -> None:
        """A member has asked for its assignment."""
        group.unsynced.pop(member_id, None)
        if not group.unsynced:
            group.sync_deadline = NEVER

    def sync_over(self, group: GroupMetadata, now: int) -> None:
        """The rebalance timeout is over: who has not asked for its assignment is removed, static or not."""
        group.sync_deadline = NEVER
        if group.unsynced and group.state in (GroupState.COMPLETING, GroupState.STABLE):
            for member_id in list(group.unsynced):
                group.remove(member_id)
            self.maybe_prepare(group, now)

    def assign(self, group: GroupMetadata, assignments: tuple[tuple[str, Assignment], ...]) -> None:
        """The leader's word; members that it forgot get nothing."""
        given = dict(assignments)
        whole = tuple([(member_id, given.get(member_id, NOTHING)) for member_id in group.members])
        group.store(Synced(group.generation, whole), dict(whole))

    def stored(self, group: GroupMetadata, now: int, purpose: Purpose, error: KafkaError) -> None:
        """How storing the group went; it may have moved on since."""
        if isinstance(purpose, Synced):
            if group.state is GroupState.COMPLETING and group.generation == purpose.generation:
                if error:
                    self.sync_fails(group, now, error)
                else:
                    for member_id, assignment in purpose.assignments:
                        if member_id in group.members:
                            group.members[member_id].assignment = assignment
                    for member in group.members.values():
                        self.answer_sync(group, member, now)
                    group.become(GroupState.STABLE, now)
        elif isinstance(purpose, Replaced):
            self._replacement_stored(group, now, purpose, error)

    def _replacement_stored(self, group: GroupMetadata, now: int, purpose: Replaced, error: KafkaError) -> None:
        member = group.members.get(purpose.new_id)
        if error:
            if member is not None:
                member.says, member.joining = purpose.before, None
                group.rename(purpose.new_id, purpose.old_id)
                group.stay_alive(member, now)
            group.answer(purpose.caller, join_error(purpose.caller, purpose.asked_id, error))
        elif member is not None:
            # Versions before 9 of the request are told the old leader's id, so that none takes itself for the leader
            # and assigns: a stable group does not tell anybody what it assigned.
            leads = purpose.skip and group.leader == purpose.new_id
            told = "" if purpose.skip else purpose.leader
            self.answer_join(group, member, leads=leads, leader=told, skip=leads)

    # -- members that go --------------------------------------------------------------------------------------------

    def admit(self, group: GroupMetadata, member: MemberMetadata, protocol_type: str, now: int) -> None:
        """A new member; one whose join nobody answers is forgotten after five minutes (KAFKA-7610, 2.2)."""
        if group.state is GroupState.PREPARING and group.generation == 0:
            group.newcomer = True
        group.add(member, protocol_type)
        if self._profile.member_id_required:
            member.deadline = group.wake_at(now + NEW_MEMBER_US)
        self.maybe_prepare(group, now)

    def drop(self, group: GroupMetadata, member: MemberMetadata, now: int) -> None:
        """A member leaves, or its session is over."""
        caller, member.joining = member.joining, None
        if caller is not None:
            group.answer(caller, join_error(caller, "", GONE))
        group.remove(member.member_id)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            self.maybe_prepare(group, now)
        else:
            self.check_joined(group, now)

    def drop_pending(self, group: GroupMetadata, member_id: str, now: int) -> None:
        """An id that was given out holds no longer."""
        group.pending.pop(member_id, None)
        self.check_joined(group, now)

    def expire(self, group: GroupMetadata, now: int) -> None:
        """Do what is due, the earliest first, and say when to look again."""
        while True:
            due = _next_due(group)
            if due is None:
                return
            at, kind, who = due
            if at > now:
                group.wake_at(at)
                return
            if kind == 0:
                self.join_over(group, now)
            elif kind == 1:
                self.sync_over(group, now)
            elif kind == 2:
                self.drop_pending(group, who, now)
            else:
                member = group.members[who]
                member.deadline = NEVER
                if not member.exempt:
                    self.drop(group, member, now)


def _next_due(group: GroupMetadata) -> tuple[int, int, str] | None:
    """(when, what, who) of a group's earliest deadline; of equal ones in the order of this list."""
    moments = [(group.join_deadline, 0, ""), (group.sync_deadline, 1, "")]
    moments += [(at, 2, member_id) for member_id, at in group.pending.items()]
    moments += [(member.deadline, 3, member.member_id) for member in group.members.values()]
    awaited = [moment for moment in moments if moment[0] >= 0]
    return min(awaited, key=lambda moment: moment[:2]) if awaited else None


# Joining, syncing, heartbeats and leaving: what each request does in each state of its group (``GroupCoordinator``).


KNOWS_MEMBER_ID_REQUIRED: Final = 4
"""Version of JoinGroup (KIP-394)."""
KNOWS_SKIPPING: Final = 9
"""Version of JoinGroup (KIP-814)."""


def member_error(group: GroupMetadata, member_id: str, instance: str) -> KafkaError:
    """Whether somebody is the member that it says it is (``validateCurrentMember``)."""
    if instance:
        current = group.instances.get(instance)
        if current is None:
            return GONE
        return KafkaError.NONE if current == member_id else KafkaError.FENCED_INSTANCE_ID
    return KafkaError.NONE if member_id in group.members else GONE


class MembershipRules:
    """The rules of one version with one coordinator's settings."""

    __slots__ = ("_config", "_profile", "_uuid", "rebalancing")

    def __init__(self, profile: Profile, config: GroupConfig, uuid: Callable[[], str]) -> None:
        """``uuid`` makes the second half of a member id."""
        self._profile = profile
        self._config = config
        self._uuid = uuid
        self.rebalancing = Rebalancing(profile, config)

    # -- joining ----------------------------------------------------------------------------------------------------

    def accepts(self, group: GroupMetadata, member_id: str) -> bool:
        """Whether there is room for one more (``acceptJoiningMember``, KIP-389)."""
        most = self._config.max_size
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING:
            return (member is not None and member.joining is not None) or group.joined < most
        if group.state in (GroupState.COMPLETING, GroupState.STABLE):
            return member is not None or len(group.members) < most
        return True

    def join(self, group: GroupMetadata, now: int, source: int, request: JoinGroupRequest) -> None:
        """JoinGroup, the session timeout being within its limits."""
        caller = Caller(source, request.correlation)
        if not self.accepts(group, request.member_id):
            group.remove(request.member_id)
            group.answer(caller, join_error(caller, "", KafkaError.GROUP_MAX_SIZE_REACHED))
        elif not group.supports(request.protocol_type, request.protocols):
            group.answer(caller, join_error(caller, request.member_id, KafkaError.INCONSISTENT_GROUP_PROTOCOL))
        elif not request.member_id:
            self._join_new(group, now, caller, request)
        else:
            self._join_known(group, now, caller, request)
        self.rebalancing.check_joined(group, now)

    def _profession(self, caller: Caller, request: JoinGroupRequest) -> Profession:
        named = self._profile.rebalance_timeout and request.version >= 1
        rebalance_us = request.rebalance_timeout_us if named else request.session_timeout_us
        return Profession(
            request.client_id, caller.source, rebalance_us, request.session_timeout_us, request.protocols
        )  # fmt: skip

    def _join_new(self, group: GroupMetadata, now: int, caller: Caller, request: JoinGroupRequest) -> None:
        instance = request.group_instance_id
        member_id = f"{instance or request.client_id}-{self._uuid()}"
        if instance and instance in group.instances:
            self._replace(group, now, caller, request, member_id)
        elif not instance and self._profile.member_id_required and request.version >= KNOWS_MEMBER_ID_REQUIRED:
            group.pending[member_id] = group.wake_at(now + request.session_timeout_us)
            group.answer(caller, join_error(caller, member_id, KafkaError.MEMBER_ID_REQUIRED))
        else:
            self._admit(group, now, caller, request, member_id)

    def _admit(self, group: GroupMetadata, now: int, caller: Caller, request: JoinGroupRequest, member_id: str) -> None:
        member = MemberMetadata(member_id, request.group_instance_id, self._profession(caller, request))
        member.joining = caller
        self.rebalancing.admit(group, member, request.protocol_type, now)

    def _join_known(self, group: GroupMetadata, now: int, caller: Caller, request: JoinGroupRequest) -> None:
        member_id = request.member_id
        if member_id in group.pending:
            self._admit(group, now, caller, request, member_id)
            return
        error = member_error(group, member_id, request.group_instance_id)
        if error:
            group.answer(caller, join_error(caller, member_id, error))
            return
        member = group.members[member_id]
        leads = member_id == group.leader
        same = member.says.protocols == request.protocols
        if group.state is GroupState.COMPLETING and same:
            # It has not got the answer to its first join: the same once more.
            self.rebalancing.welcome(group, caller, member_id, leads=leads)
        elif group.state is GroupState.STABLE and same and not leads:
            self.rebalancing.welcome(group, caller, member_id, leads=False)
        elif group.state in (GroupState.EMPTY, GroupState.DEAD):
            group.answer(caller, join_error(caller, member_id, GONE))
        else:
            # A leader that joins a stable group may know of something that no metadata shows, such as new partitions.
            member.says, member.joining = self._profession(caller, request), caller
            self.rebalancing.maybe_prepare(group, now)

    def _replace(self, group: GroupMetadata, now: int, caller: Caller, request: JoinGroupRequest, new_id: str) -> None:
        """A static member is back as another process: the old one is fenced (``updateStaticMemberAndRebalance``)."""
        leader, old_id = group.leader, group.instances[request.group_instance_id]
        before = group.members[old_id].says
        member = self._fence(group, old_id)
        group.rename(old_id, new_id)
        group.stay_alive(member, now)
        member.says, member.joining = self._profession(caller, request), caller
        if group.state is GroupState.STABLE and group.vote() == group.protocol:
            skip = self._profile.skip_assignment and request.version >= KNOWS_SKIPPING
            purpose = Replaced(caller, request.member_id, old_id, new_id, before, leader, skip)
            group.store(purpose, {each.member_id: each.assignment for each in group.members.values()})
        elif group.state in (GroupState.STABLE, GroupState.COMPLETING):
            # The leader may have assigned partitions to the old member id by now.
            self.rebalancing.maybe_prepare(group, now)

    @staticmethod
    def _fence(group: GroupMetadata, member_id: str) -> MemberMetadata:
        member = group.members[member_id]
        fenced = KafkaError.FENCED_INSTANCE_ID
        joining, member.joining = member.joining, None
        if joining is not None:
            group.answer(joining, join_error(joining, member_id, fenced))
        syncing, member.syncing = member.syncing, None
        if syncing is not None:
            group.answer(syncing, SyncGroupResponse(syncing.correlation, fenced))
        return member

    # -- the rest ---------------------------------------------------------------------------------------------------

    def sync(self, group: GroupMetadata, now: int, source: int, request: SyncGroupRequest) -> None:
        """SyncGroup: parked until the leader's assignment is stored, or answered."""
        caller = Caller(source, request.correlation)
        error = self._sync_error(group, request)
        if error:
            group.answer(caller, SyncGroupResponse(caller.correlation, error))
            return
        member = group.members[request.member_id]
        member.syncing = caller
        self.rebalancing.synced(group, request.member_id)
        if group.state is GroupState.STABLE:
            self.rebalancing.answer_sync(group, member, now)
        elif request.member_id == group.leader:
            self.rebalancing.assign(group, request.assignments)

    @staticmethod
    def _sync_error(group: GroupMetadata, request: SyncGroupRequest) -> KafkaError:
        error = member_error(group, request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return KafkaError.ILLEGAL_GENERATION
        for told, known in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol)):
            if told and told != known:
                return KafkaError.INCONSISTENT_GROUP_PROTOCOL
        return KafkaError.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else KafkaError.NONE

    def heartbeat(self, group: GroupMetadata, now: int, request: HeartbeatRequest) -> KafkaError:
        """Heartbeat: the session begins anew even while the member has to join again."""
        error = member_error(group, request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return KafkaError.ILLEGAL_GENERATION
        group.stay_alive(group.members[request.member_id], now)
        return KafkaError.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else KafkaError.NONE

    def leave(self, group: GroupMetadata, now: int, leaving: LeavingMember) -> KafkaError:
        """One member of a LeaveGroup; a static one may be named by its instance id alone."""
        member_id, instance = leaving
        if not member_id:
            member_id = group.instances.get(instance, "")
        elif member_id in group.pending:
            self.rebalancing.drop_pending(group, member_id, now)
            return KafkaError.NONE
        error = member_error(group, member_id, instance)
        if not error:
            self.rebalancing.drop(group, group.members[member_id], now)
        return error
