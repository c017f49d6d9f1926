"""Members of a group of the classic protocol: joins, syncs, heartbeats, leaving, and the next generation.

Sans-IO: responses are effects of the group. The caller has checked that this broker is the group's coordinator.
"""

from collections.abc import Callable
from typing import Final

from cluster_model.coordinators.group.group_metadata import (
    NEVER,
    NEW_MEMBER_US,
    AssignmentSynced,
    GroupConfig,
    GroupEmptied,
    GroupMetadata,
    GroupState,
    JoinMetadata,
    MemberMetadata,
    Purpose,
    ResponseTarget,
    StaticMemberReplaced,
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

# The transition of a group to its next generation (``GroupCoordinator``, ``DelayedJoin``, ``DelayedSync``). Sans-IO.
# From Empty the joining phase lasts the initial delay; otherwise until every known member has rejoined, at most the
# longest rebalance timeout. Then the leader assigns; its assignment is stored before members receive it.


UNKNOWN_MEMBER: Final = KafkaError.UNKNOWN_MEMBER_ID

CAN_REBALANCE: Final = (GroupState.STABLE, GroupState.COMPLETING, GroupState.EMPTY)


def join_error(caller: ResponseTarget, member_id: str, error: KafkaError) -> JoinGroupResponse:
    """Return the response to a failed join."""
    return JoinGroupResponse(caller.correlation_id, error, -1, "", "", member_id)


class RebalanceRules:
    """Rules of rebalances of one version with one coordinator's settings; all state is in the groups."""

    __slots__ = ("_config", "_profile")

    def __init__(self, profile: Profile, config: GroupConfig) -> None:
        self._profile = profile
        self._config = config

    # -- joining ----------------------------------------------------------------------------------------------------

    def maybe_prepare(self, group: GroupMetadata, now: int) -> None:
        """Start a rebalance unless one is in its joining phase."""
        if group.state in CAN_REBALANCE:
            self.prepare(group, now)

    def prepare(self, group: GroupMetadata, now: int) -> None:
        """Start a rebalance: members that wait for an assignment have to rejoin."""
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
        group.transition_to(GroupState.PREPARING, now)
        self.check_joined(group, now)

    def _await_joins(self, group: GroupMetadata, now: int) -> None:
        group.is_initial = False
        group.join_deadline = group.wake_at(now + group.rebalance_us)

    def check_joined(self, group: GroupMetadata, now: int) -> None:
        """End the joining phase if every member has joined; an initial delay always runs to its end."""
        if group.state is not GroupState.PREPARING:
            return
        if (not group.is_initial and group.all_joined) or (group.is_initial and group.join_deadline <= now):
            self.join_over(group, now)

    def join_over(self, group: GroupMetadata, now: int) -> None:
        """End the joining phase, or extend the initial delay (``InitialDelayedJoin.onComplete``)."""
        if group.is_initial and group.new_member_added and group.initial_left_us:
            group.new_member_added = False
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
            group.transition_to(GroupState.EMPTY, now)
            group.store(GroupEmptied(), {})
            return
        group.transition_to(GroupState.COMPLETING, now)
        for member in group.members.values():
            self.answer_join(group, member, leads=member.member_id == group.leader)
            group.stay_alive(member, now)
            if member.is_new and self._profile.forgets_new_sessions:
                # KAFKA-9752: the five minutes of a new member seem to satisfy its first heartbeat, so nothing ends.
                member.deadline = NEVER
            member.is_new = False
            group.unsynced[member.member_id] = None
        if self._profile.sync_timeout:
            group.sync_deadline = group.wake_at(now + group.rebalance_us)

    def answer_join(
        self, group: GroupMetadata, member: MemberMetadata, *, leads: bool, leader: str = "", skip: bool = False
    ) -> None:
        """Answer a delayed join with the generation; ``leader`` is sent in place of the true one."""
        caller, member.joining = member.joining, None
        if caller is not None:
            self.send_generation(group, caller, member.member_id, leads=leads, leader=leader, skip=skip)

    def send_generation(
        self,
        group: GroupMetadata,
        caller: ResponseTarget,
        member_id: str,
        *,
        leads: bool,
        leader: str = "",
        skip: bool = False,
    ) -> None:
        """Respond to a join with the generation."""
        roll = group.member_list() if leads else ()
        message = JoinGroupResponse(
            caller.correlation_id, 0, group.generation, group.protocol, leader or group.leader, member_id, roll, skip
        )
        group.answer(caller, message)

    # -- syncing ----------------------------------------------------------------------------------------------------

    def sync_fails(self, group: GroupMetadata, now: int, error: KafkaError) -> None:
        """Send every member the error of storing the assignment; then members have to rejoin."""
        self._sync_fails(group, now, error)
        self.maybe_prepare(group, now)

    def _sync_fails(self, group: GroupMetadata, now: int, error: KafkaError) -> None:
        for member in group.members.values():
            member.assignment = NOTHING
            self.answer_sync(group, member, now, error)

    def answer_sync(
        self, group: GroupMetadata, member: MemberMetadata, now: int, error: KafkaError = KafkaError.NONE
    ) -> None:
        """Answer a member's delayed sync with its assignment, and restart its session."""
        caller, member.syncing = member.syncing, None
        if caller is not None:
            assignment = NOTHING if error else member.assignment
            group.answer(caller, SyncGroupResponse(caller.correlation_id, error, assignment))
            group.stay_alive(member, now)

    def synced(self, group: GroupMetadata, member_id: str) -> None:
        """Record that a member has requested its assignment."""
        group.unsynced.pop(member_id, None)
        if not group.unsynced:
            group.sync_deadline = NEVER

    def sync_over(self, group: GroupMetadata, now: int) -> None:
        """End the rebalance timeout: remove every member, static or not, that has not sent a SyncGroup."""
        group.sync_deadline = NEVER
        if group.unsynced and group.state in (GroupState.COMPLETING, GroupState.STABLE):
            for member_id in list(group.unsynced):
                group.remove(member_id)
            self.maybe_prepare(group, now)

    def assign(self, group: GroupMetadata, assignments: tuple[tuple[str, Assignment], ...]) -> None:
        """Store the leader's assignment; members that it omits get no partitions."""
        given = dict(assignments)
        whole = tuple([(member_id, given.get(member_id, NOTHING)) for member_id in group.members])
        group.store(AssignmentSynced(group.generation, whole), dict(whole))

    def stored(self, group: GroupMetadata, now: int, purpose: Purpose, error: KafkaError) -> None:
        """Handle the result of storing the group, whose state may have changed since."""
        if isinstance(purpose, AssignmentSynced):
            if group.state is GroupState.COMPLETING and group.generation == purpose.generation:
                if error:
                    self.sync_fails(group, now, error)
                else:
                    for member_id, assignment in purpose.assignments:
                        if member_id in group.members:
                            group.members[member_id].assignment = assignment
                    for member in group.members.values():
                        self.answer_sync(group, member, now)
                    group.transition_to(GroupState.STABLE, now)
        elif isinstance(purpose, StaticMemberReplaced):
            self._replacement_stored(group, now, purpose, error)

    def _replacement_stored(
        self, group: GroupMetadata, now: int, purpose: StaticMemberReplaced, error: KafkaError
    ) -> None:
        member = group.members.get(purpose.new_id)
        if error:
            if member is not None:
                member.join_metadata, member.joining = purpose.before, None
                group.rename(purpose.new_id, purpose.old_id)
                group.stay_alive(member, now)
            group.answer(purpose.caller, join_error(purpose.caller, purpose.asked_id, error))
        elif member is not None:
            # Before version 9 the response carries the old leader's id, so that the member does not consider itself the
            # leader and assign: a stable group does not distribute a new assignment.
            leads = purpose.skip and group.leader == purpose.new_id
            sent_leader = "" if purpose.skip else purpose.leader
            self.answer_join(group, member, leads=leads, leader=sent_leader, skip=leads)

    # -- removal of members -----------------------------------------------------------------------------------------

    def add_member(self, group: GroupMetadata, member: MemberMetadata, protocol_type: str, now: int) -> None:
        """Add a new member; one whose join is not answered is removed after five minutes (KAFKA-7610)."""
        if group.state is GroupState.PREPARING and group.generation == 0:
            group.new_member_added = True
        group.add(member, protocol_type)
        if self._profile.times_out_new_members:
            member.deadline = group.wake_at(now + NEW_MEMBER_US)
        self.maybe_prepare(group, now)

    def drop(self, group: GroupMetadata, member: MemberMetadata, now: int) -> None:
        """Remove a member that leaves or whose session expired."""
        caller, member.joining = member.joining, None
        if caller is not None:
            group.answer(caller, join_error(caller, "", UNKNOWN_MEMBER))
        group.remove(member.member_id)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING):
            self.maybe_prepare(group, now)
        else:
            self.check_joined(group, now)

    def drop_pending(self, group: GroupMetadata, member_id: str, now: int) -> None:
        """Expire a member id that was given out."""
        group.pending.pop(member_id, None)
        self.check_joined(group, now)

    def expire(self, group: GroupMetadata, now: int) -> None:
        """Handle all expired deadlines, earliest first, and schedule the next check."""
        while True:
            due = _next_due(group)
            if due is None:
                return
            at, kind, member_id = due
            if at > now:
                group.wake_at(at)
                return
            if kind == 0:
                self.join_over(group, now)
            elif kind == 1:
                self.sync_over(group, now)
            elif kind == 2:
                self.drop_pending(group, member_id, now)
            else:
                member = group.members[member_id]
                member.deadline = NEVER
                if not member.exempt:
                    self.drop(group, member, now)


def _next_due(group: GroupMetadata) -> tuple[int, int, str] | None:
    """(time, kind, member id) of a group's earliest deadline; equal ones in the order of kinds."""
    deadlines = [(group.join_deadline, 0, ""), (group.sync_deadline, 1, "")]
    deadlines += [(at, 2, member_id) for member_id, at in group.pending.items()]
    deadlines += [(member.deadline, 3, member.member_id) for member in group.members.values()]
    pending = [deadline for deadline in deadlines if deadline[0] >= 0]
    return min(pending, key=lambda deadline: deadline[:2]) if pending else None


# Joining, syncing, heartbeats and leaving: handling of each request in each state of its group (``GroupCoordinator``).


KNOWS_MEMBER_ID_REQUIRED: Final = 4
"""First version of JoinGroup with MEMBER_ID_REQUIRED (KIP-394)."""
KNOWS_SKIPPING: Final = 9
"""First version of JoinGroup with ``skipAssignment`` (KIP-814)."""


def member_error(group: GroupMetadata, member_id: str, instance: str) -> KafkaError:
    """Check that a member id is current, also for its instance id (``validateCurrentMember``)."""
    if instance:
        current = group.instances.get(instance)
        if current is None:
            return UNKNOWN_MEMBER
        return KafkaError.NONE if current == member_id else KafkaError.FENCED_INSTANCE_ID
    return KafkaError.NONE if member_id in group.members else UNKNOWN_MEMBER


class MembershipRules:
    """Rules of member requests of one version with one coordinator's settings."""

    __slots__ = ("_config", "_profile", "_uuid", "rebalancing")

    def __init__(self, profile: Profile, config: GroupConfig, uuid: Callable[[], str]) -> None:
        """``uuid`` makes the second half of a member id."""
        self._profile = profile
        self._config = config
        self._uuid = uuid
        self.rebalancing = RebalanceRules(profile, config)

    # -- joining ----------------------------------------------------------------------------------------------------

    def accepts(self, group: GroupMetadata, member_id: str) -> bool:
        """Whether the group can take one more member (``acceptJoiningMember``, KIP-389)."""
        limit = self._config.max_size
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING:
            return (member is not None and member.joining is not None) or group.joined < limit
        if group.state in (GroupState.COMPLETING, GroupState.STABLE):
            return member is not None or len(group.members) < limit
        return True

    def join(self, group: GroupMetadata, now: int, source: int, request: JoinGroupRequest) -> None:
        """Handle JoinGroup; the session timeout is already checked."""
        caller = ResponseTarget(source, request.correlation_id)
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

    def _join_metadata(self, caller: ResponseTarget, request: JoinGroupRequest) -> JoinMetadata:
        has_rebalance_timeout = self._profile.rebalance_timeout and request.version >= 1
        rebalance_us = request.rebalance_timeout_us if has_rebalance_timeout else request.session_timeout_us
        return JoinMetadata(
            request.client_id, caller.source, rebalance_us, request.session_timeout_us, request.protocols
        )  # fmt: skip

    def _join_new(self, group: GroupMetadata, now: int, caller: ResponseTarget, request: JoinGroupRequest) -> None:
        instance = request.group_instance_id
        member_id = f"{instance or request.client_id}-{self._uuid()}"
        if instance and instance in group.instances:
            self._replace(group, now, caller, request, member_id)
        elif not instance and self._profile.member_id_required and request.version >= KNOWS_MEMBER_ID_REQUIRED:
            group.pending[member_id] = group.wake_at(now + request.session_timeout_us)
            group.answer(caller, join_error(caller, member_id, KafkaError.MEMBER_ID_REQUIRED))
        else:
            self._admit(group, now, caller, request, member_id)

    def _admit(
        self, group: GroupMetadata, now: int, caller: ResponseTarget, request: JoinGroupRequest, member_id: str
    ) -> None:
        member = MemberMetadata(member_id, request.group_instance_id, self._join_metadata(caller, request))
        member.joining = caller
        self.rebalancing.add_member(group, member, request.protocol_type, now)

    def _join_known(self, group: GroupMetadata, now: int, caller: ResponseTarget, request: JoinGroupRequest) -> None:
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
        same = member.join_metadata.protocols == request.protocols
        if group.state is GroupState.COMPLETING and same:
            # It has not received the response to its first join: send it again.
            self.rebalancing.send_generation(group, caller, member_id, leads=leads)
        elif group.state is GroupState.STABLE and same and not leads:
            self.rebalancing.send_generation(group, caller, member_id, leads=False)
        elif group.state in (GroupState.EMPTY, GroupState.DEAD):
            group.answer(caller, join_error(caller, member_id, UNKNOWN_MEMBER))
        else:
            # A leader that rejoins a stable group may have a reason that no metadata shows, such as new partitions.
            member.join_metadata, member.joining = self._join_metadata(caller, request), caller
            self.rebalancing.maybe_prepare(group, now)

    def _replace(
        self, group: GroupMetadata, now: int, caller: ResponseTarget, request: JoinGroupRequest, new_id: str
    ) -> None:
        """Replace the process of a static member, and fence the old one (``updateStaticMemberAndRebalance``)."""
        leader, old_id = group.leader, group.instances[request.group_instance_id]
        before = group.members[old_id].join_metadata
        member = self._fence(group, old_id)
        group.rename(old_id, new_id)
        group.stay_alive(member, now)
        member.join_metadata, member.joining = self._join_metadata(caller, request), caller
        if group.state is GroupState.STABLE and self._profile.forgets_static_rejoins:
            # KAFKA-10284: the log keeps the old member id, which a new coordinator takes for the member's.
            self.rebalancing.answer_join(group, member, leads=False, leader=leader)
        elif group.state is GroupState.STABLE and group.vote() == group.protocol:
            skip = self._profile.skip_assignment and request.version >= KNOWS_SKIPPING
            purpose = StaticMemberReplaced(caller, request.member_id, old_id, new_id, before, leader, skip)
            group.store(purpose, {known.member_id: known.assignment for known in group.members.values()})
        elif group.state is GroupState.COMPLETING and self._profile.completes_without_rejoined:
            # KAFKA-9801: the leader assigns to the old member id. A leader that is back syncs as a follower, without an
            # assignment, and the coordinator takes that for the group's.
            self.rebalancing.answer_join(group, member, leads=False, leader=leader)
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
            group.answer(syncing, SyncGroupResponse(syncing.correlation_id, fenced))
        return member

    # -- syncs, heartbeats, leaving-------------------------------------------------------------------------------------

    def sync(self, group: GroupMetadata, now: int, source: int, request: SyncGroupRequest) -> None:
        """Handle SyncGroup: respond, or delay the response until the leader's assignment is stored."""
        caller = ResponseTarget(source, request.correlation_id)
        error = self._sync_error(group, request)
        if error:
            group.answer(caller, SyncGroupResponse(caller.correlation_id, error))
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
        for requested, current in (
            (request.protocol_type, group.protocol_type),
            (request.protocol_name, group.protocol),
        ):
            if requested and requested != current:
                return KafkaError.INCONSISTENT_GROUP_PROTOCOL
        return KafkaError.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else KafkaError.NONE

    def heartbeat(self, group: GroupMetadata, now: int, request: HeartbeatRequest) -> KafkaError:
        """Handle Heartbeat: the session restarts even if the member has to rejoin."""
        error = member_error(group, request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return KafkaError.ILLEGAL_GENERATION
        group.stay_alive(group.members[request.member_id], now)
        return KafkaError.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING else KafkaError.NONE

    def leave(self, group: GroupMetadata, now: int, leaving: LeavingMember) -> KafkaError:
        """Remove one member of a LeaveGroup; a static one can be named by its instance id alone."""
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
