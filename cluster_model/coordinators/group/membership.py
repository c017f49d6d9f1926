"""Joining, syncing, heartbeats and leaving: what each request does in each state of its group (``GroupCoordinator``).

Sans-IO: answers are effects of the group. Whether this broker is the group's coordinator has been seen to before.
"""

from collections.abc import Callable
from typing import Final

from cluster_model.coordinators.group.group_metadata import (
    Caller,
    GroupConfig,
    GroupMetadata,
    GroupState,
    MemberMetadata,
    Profession,
    Replaced,
)
from cluster_model.coordinators.group.rebalance import GONE, Rebalancing, join_error
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeavingMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from cluster_model.protocol.versions import Profile

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
        """Heartbeat: the session begins anew even while the member is told to join again."""
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
