"""A broker's group coordinator, for its partitions of ``__consumer_offsets`` (``GroupCoordinator``).

It is hosted by its broker. The state of a group is in the log of its partition and, between two generations, in memory
only: a rebalance in progress is lost with the coordinator. A new coordinator reads the log before it handles requests.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from cluster_model.broker.control_plane_client import Handlers
from cluster_model.broker.hosted_coordinators import CoordinatorHost
from cluster_model.coordinators.group.consumer_group_manager import ConsumerGroups
from cluster_model.coordinators.group.consumer_protocol.consumer_group import ConsumerGroupConfig, PatternCompiler
from cluster_model.coordinators.group.group_metadata import (
    MINUTE,
    GroupConfig,
    GroupMetadata,
    GroupState,
    ResponseTarget,
)
from cluster_model.coordinators.group.group_metadata_manager import LOADED, WAKE, GroupMetadataManager
from cluster_model.coordinators.group.membership import MembershipRules, join_error
from cluster_model.coordinators.group.offset_commits import (
    check_offsets,
    deletable,
    expired,
    fetched,
    may_commit,
    may_commit_in_transaction,
    to_commit,
)
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import DeadlineTimer, NodeContext
from cluster_model.kernel.rng import RandomStream, uuid
from cluster_model.protocol.admin_messages import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, OffsetsExpired
from cluster_model.protocol.group_messages import (
    GROUP,
    NOTHING,
    TRANSACTION,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import OFFSETS, TRANSACTIONS, coordinator_partition, template

# Creation of a missing internal topic by a broker that is asked for a coordinator (``AutoTopicCreationManager``). It
# sends its own CreateTopics to the controller that it knows, for one topic at most one at a time. The client gets
# COORDINATOR_NOT_AVAILABLE and retries. In KRaft mode the request is forwarded in an envelope like an administrator's;
# in ZooKeeper mode it goes to the controller's broker. Simplification: so in all versions, though brokers up to 2.7
# wrote to ZooKeeper themselves.


class _PendingCreation(NamedTuple):
    """A CreateTopics request in flight, and its deadline."""

    controller: int
    correlation_id: int
    until: int


class AutoTopicCreationManager:
    """Creates missing internal topics for one broker (``AutoTopicCreationManager``)."""

    __slots__ = ("_config", "_controller", "_correlation", "_hosted", "_partitions", "_pending", "_port", "_profile")

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: Mapping[str, ConfigValue],
        hosted: CoordinatorHost,
        partitions: Mapping[str, int],
        controller: Callable[[], int],
    ) -> None:
        """``partitions``: partition count by topic; ``controller`` returns the target of requests, or NO_LEADER."""
        self._port = port
        self._profile = profile
        self._config = config
        self._hosted = hosted
        self._partitions = partitions
        self._controller = controller
        self._pending: dict[str, _PendingCreation] = {}
        self._correlation = 0

    def create_if_missing(self, topic: str) -> None:
        """Create a topic if the metadata cache lists none of its partitions.

        No request is sent while one is in flight, while no controller is known, or if the version has no such topic.
        """
        states = self._hosted.states
        if any(f"{topic}-{number}" in states for number in range(self._partitions[topic])):
            return
        now, controller = self._port.now, self._controller()
        pending = self._pending.get(topic)
        if controller == NO_LEADER or (pending is not None and now < pending.until):
            return
        if topic != OFFSETS and not self._profile.transactions:
            return
        self._correlation += 1
        timeout_us = EffectiveConfig("broker", self._profile.number, self._config).us("request.timeout.ms")
        self._pending[topic] = _PendingCreation(controller, self._correlation, now + timeout_us)
        request = CreateTopicsRequest(self._correlation, (self._creatable(topic),), timeout_us)
        self._port.send(controller, request)

    def _creatable(self, topic: str) -> CreatableTopic:
        spec = template(topic, self._profile, self._config, len(self._hosted.metadata.live))
        config = tuple([(key, _text(value)) for key, value in spec.config.items()])
        return CreatableTopic(topic, self._partitions[topic], spec.replication, config=config)

    def on_response(self, _source: int, response: CreateTopicsResponse) -> None:
        """Handle a response; created or not, the topic can be requested again, as with too few brokers (KIP-115)."""
        self._drop(lambda pending: pending.correlation_id == response.correlation_id)

    def on_disconnect(self, peer: int) -> None:
        """The connection to ``peer`` broke: requests in flight to it are lost."""
        self._drop(lambda pending: pending.controller == peer)

    def _drop(self, is_over: Callable[[_PendingCreation], bool]) -> None:
        self._pending = {topic: pending for topic, pending in self._pending.items() if not is_over(pending)}

    def stopped(self) -> None:
        """The process died; its memory is lost."""
        self._pending.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (tuple(self._pending.items()), self._correlation)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        pending, self._correlation = saved
        self._pending = dict(pending)


def _text(value: ConfigValue) -> str:
    """Format a value as an administrator writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


# Descriptions and lists of groups (``GroupCoordinator.handleDescribeGroup``, ``handleListGroups``).


def described(group_id: str, group: GroupMetadata | None) -> DescribedGroup:
    """Describe a group; members' metadata, assignments and the assignor only while it is Stable."""
    if group is None:
        return DescribedGroup(group_id, KafkaError.NONE, GroupState.DEAD)
    stable = group.state is GroupState.STABLE
    members = tuple(
        [
            DescribedMember(
                member.member_id, member.instance, member.join_metadata.client_id, member.join_metadata.host,
                member.metadata(group.protocol) if stable else None, member.assignment if stable else NOTHING,
            )
            for member in group.members.values()
        ]
    )  # fmt: skip
    protocol = group.protocol if stable else ""
    return DescribedGroup(group_id, KafkaError.NONE, group.state, group.protocol_type, protocol, members)


def listed(groups: Iterable[GroupMetadata]) -> tuple[ListedGroup, ...]:
    """List the groups of the classic protocol."""
    return tuple([ListedGroup(group.group_id, group.protocol_type, group.state) for group in groups])


def filter_groups(groups: tuple[ListedGroup, ...], request: ListGroupsRequest) -> tuple[ListedGroup, ...]:
    """Filter groups by the requested states and types; an empty list of either matches all."""
    states, types = request.states, [each.lower() for each in request.types]
    return tuple(
        [
            group
            for group in groups
            if (not states or group.state in states) and (not types or group.group_type in types)
        ]
    )


# FindCoordinator: the leader of the partition with the state of a group or a transaction (``KafkaApis``). A broker
# answers from its own metadata cache. A stale one names the old leader, which then responds NOT_COORDINATOR.


TOPIC_OF = {GROUP: OFFSETS, TRANSACTION: TRANSACTIONS}


def find(
    request: FindCoordinatorRequest,
    partitions: Mapping[str, int],
    states: Mapping[str, PartitionState],
    live: Container[int],
) -> FindCoordinatorResponse:
    """Return the response; COORDINATOR_NOT_AVAILABLE if the topic is missing or its partition has no live leader.

    ``partitions`` is the partition count of each internal topic, whether it exists or not.
    """
    topic = TOPIC_OF.get(request.key_type)
    if topic is None:
        return FindCoordinatorResponse(request.correlation_id, KafkaError.INVALID_REQUEST, NO_LEADER)
    state = states.get(f"{topic}-{coordinator_partition(request.key, partitions[topic])}")
    if state is None or state.leader == NO_LEADER or state.leader not in live:
        return FindCoordinatorResponse(request.correlation_id, KafkaError.COORDINATOR_NOT_AVAILABLE, NO_LEADER)
    return FindCoordinatorResponse(request.correlation_id, KafkaError.NONE, state.leader)


EXPIRY: Final = "group expiry"

NONE: Final = KafkaError.NONE
UNSUPPORTED: Final = KafkaError.UNSUPPORTED_VERSION


class GroupCoordinator:
    """Group coordinator of one broker; requests that the version lacks are answered UNSUPPORTED_VERSION."""

    __slots__ = (
        "_config", "_emit", "_expiry", "_hosted", "_maker", "_partitions", "_port", "_profile", "_since",
        "consumer_groups", "gate", "handlers", "members", "registry", "topic",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: GroupConfig,
        hosted: CoordinatorHost,
        partitions: Mapping[str, int],
        stream: RandomStream,
        modern: tuple[ConsumerGroupConfig, Callable[[Event], None], PatternCompiler],
        maker: AutoTopicCreationManager,
    ) -> None:
        """``partitions``: partition count of each internal topic; ``maker`` creates them; ``stream`` makes member ids.

        ``modern``: settings of the consumer protocol (KIP-848), the receiver of group events, and the compiler of
        subscription patterns.
        """
        self.topic = OFFSETS
        self._port = port
        self._emit = modern[1]
        self._profile = profile
        self._config = config
        self._hosted = hosted
        self._partitions = partitions
        self._maker = maker
        draw = partial(uuid, stream)
        self.members = MembershipRules(profile, config, draw)
        self.registry = GroupMetadataManager(
            port, hosted, self.members.rebalancing, partitions[OFFSETS], config.commit_timeout_us,
            config.max_size, passes_too_few=profile.passes_too_few_replicas,
        )  # fmt: skip
        self.consumer_groups = ConsumerGroups(port, modern[0], hosted, self.registry, draw, *modern[1:])
        """Groups of the consumer protocol; their commits are kept in a classic group of the same name."""
        self.registry.on_modern = self.consumer_groups.restore
        self.consumer_groups.on_new = self._await_expiry
        self.gate: Callable[[int, str, TxnOffsetCommitRequest], bool] | None = None
        """Holds back a transaction's first commit until the transaction is verified (KIP-890)."""
        self._since = 0
        """Time at which the process registered."""
        self._expiry = DeadlineTimer(port, EXPIRY)
        self.handlers: Handlers = {
            FindCoordinatorRequest: self._find,
            CreateTopicsResponse: maker.on_response,
            JoinGroupRequest: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            **self.consumer_groups.handlers,
            LeaveGroupRequest: self._leave,
            OffsetCommitRequest: self._commit,
            OffsetFetchRequest: self._fetch,
            TxnOffsetCommitRequest: self._commit_in_transaction,
            DescribeGroupsRequest: self._describe,
            ListGroupsRequest: self._list,
            DeleteGroupsRequest: self._delete,
            OffsetDeleteRequest: self._delete_offsets,
        }

    def _find(self, source: int, request: FindCoordinatorRequest) -> None:
        response = find(request, self._partitions, self._hosted.states, self._hosted.metadata.live)
        self._port.send(source, response)
        if response.error == KafkaError.COORDINATOR_NOT_AVAILABLE:
            self._maker.create_if_missing(TOPIC_OF[request.key_type])

    # -- members ----------------------------------------------------------------------------------------------------

    def _request_error(self, group_id: str, instance: str = "") -> KafkaError:
        """Error of a member's request before any check of the member, NONE if there is none."""
        if not self._profile.group_membership or (instance and not self._profile.static_members):
            return UNSUPPORTED
        return self.registry.status(group_id)

    def _join(self, source: int, request: JoinGroupRequest) -> None:
        group = self.registry.groups.get(request.group_id)
        error = self._request_error(request.group_id, request.group_instance_id)
        if not error and not self._config.min_session_us <= request.session_timeout_us <= self._config.max_session_us:
            error = KafkaError.INVALID_SESSION_TIMEOUT
        if not error and group is None and request.member_id:
            error = KafkaError.UNKNOWN_MEMBER_ID
        if not error and self.consumer_groups.has_members(request.group_id):
            error = KafkaError.INCONSISTENT_GROUP_PROTOCOL
        if error:
            self._port.send(
                source, join_error(ResponseTarget(source, request.correlation_id), request.member_id, error)
            )
            return
        self.consumer_groups.remove(request.group_id)
        group = group or self._create(request.group_id)
        self.members.join(group, self._port.now, source, request)
        self.registry.run_effects(group)

    def _create(self, group_id: str) -> GroupMetadata:
        self._await_expiry()
        return self.registry.create(group_id)

    def _sync(self, source: int, request: SyncGroupRequest) -> None:
        error = self._request_error(request.group_id, request.group_instance_id)
        if error is KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            # The rebalance of this request is lost, and old clients do not know the loading error.
            error = KafkaError.REBALANCE_IN_PROGRESS
        group = self.registry.groups.get(request.group_id)
        if error or group is None:
            error = error or KafkaError.UNKNOWN_MEMBER_ID
            self._port.send(source, SyncGroupResponse(request.correlation_id, error))
            return
        self.members.sync(group, self._port.now, source, request)
        self.registry.run_effects(group)

    def _heartbeat(self, source: int, request: HeartbeatRequest) -> None:
        error = self._request_error(request.group_id, request.group_instance_id)
        group = self.registry.groups.get(request.group_id)
        if error is KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
            error = NONE
        elif not error and group is None:
            error = KafkaError.UNKNOWN_MEMBER_ID
        elif not error and group is not None:
            error = self.members.heartbeat(group, self._port.now, request)
            self.registry.run_effects(group)
        self._port.send(source, HeartbeatResponse(request.correlation_id, error))

    def _leave(self, source: int, request: LeaveGroupRequest) -> None:
        instances = [member.group_instance_id for member in request.members]
        error = self._request_error(request.group_id, "".join(instances))
        if not self._profile.offset_delete and len(instances) != 1:
            error = UNSUPPORTED
        group = self.registry.groups.get(request.group_id)
        if error:
            self._port.send(source, LeaveGroupResponse(request.correlation_id, error))
            return
        outcomes: list[int] = []
        for leaving in request.members:
            outcome = KafkaError.UNKNOWN_MEMBER_ID
            if group is not None:
                outcome = self.members.leave(group, self._port.now, leaving)
            outcomes.append(outcome)
        if group is not None:
            self.registry.run_effects(group)
        self._port.send(source, LeaveGroupResponse(request.correlation_id, NONE, tuple(outcomes)))

    # -- offsets ----------------------------------------------------------------------------------------------------

    def _commit(self, source: int, request: OffsetCommitRequest) -> None:
        error = self.registry.status(request.group_id, nameless=True)
        group = self.registry.groups.get(request.group_id)
        results = check_offsets(request, self._hosted.states, self._config.metadata_bytes)
        modern = self.consumer_groups.may_commit(request, results)
        if not error and group is None:
            if request.generation_id < 0 or modern is not None:
                group = self._create(request.group_id)
            else:
                error = self.consumer_groups.unknown(request.version)
        if not error and group is not None:
            error = may_commit(group, request) if modern is None else modern
        if not error and group is not None:
            now = self._port.now
            if request.member_id in group.members:
                group.stay_alive(group.members[request.member_id], now)
            offsets = to_commit(request, results, now, self._profile, self._config)
            self.registry.run_effects(group)
            if offsets:
                self.registry.commit(group, ResponseTarget(source, request.correlation_id), results, offsets)
                return
        else:
            results = tuple([(partition, earlier or error) for partition, earlier in results])
        self._port.send(source, OffsetCommitResponse(request.correlation_id, results))

    def _commit_in_transaction(self, source: int, request: TxnOffsetCommitRequest) -> None:
        error = self.registry.status(request.group_id, nameless=True) if self._profile.transactions else UNSUPPORTED
        partition = f"{OFFSETS}-{self.registry.partition_of(request.group_id)}"
        if error or self.gate is None or not self.gate(source, partition, request):
            self.commit_in_transaction(source, request, error)

    def commit_in_transaction(self, source: int, request: TxnOffsetCommitRequest, error: KafkaError) -> None:
        """Commit offsets in a transaction (``doTxnCommitOffsets``): create a group or reject, check a named member.

        ``error`` rejects the request if it is not NONE.
        """
        error = error or self.registry.status(request.group_id, nameless=True)
        results = check_offsets(request, self._hosted.states, self._config.metadata_bytes)
        modern = self.consumer_groups.may_commit_in_transaction(request, results)
        if not error and modern is None and request.group_id not in self.registry.groups:
            error = self.consumer_groups.unknown_in_transaction(request)
        if not error:
            group = self.registry.groups.get(request.group_id) or self._create(request.group_id)
            error = may_commit_in_transaction(group, request) if modern is None else modern
            offsets = to_commit(request, results, self._port.now, self._profile, self._config)
            if not error and offsets:
                transaction = (request.producer_id, request.producer_epoch)
                self.registry.commit(
                    group, ResponseTarget(source, request.correlation_id), results, offsets, transaction
                )
                return
        results = tuple([(partition, earlier or error) for partition, earlier in results])
        self._port.send(source, TxnOffsetCommitResponse(request.correlation_id, results))

    def _fetch(self, source: int, request: OffsetFetchRequest) -> None:
        error = self.registry.status(request.group_id, nameless=True)
        group = self.registry.groups.get(request.group_id)
        error = error or self.consumer_groups.may_fetch(request)
        stable = request.require_stable and self._profile.stable_offsets
        answers = () if error else fetched(group, request, stable=stable)
        self._port.send(source, OffsetFetchResponse(request.correlation_id, error, answers))

    # -- administration ---------------------------------------------------------------------------------------------

    def _describe(self, source: int, request: DescribeGroupsRequest) -> None:
        groups: list[DescribedGroup] = []
        for group_id in request.groups:
            error = self.registry.status(group_id, nameless=True) if self._profile.group_membership else UNSUPPORTED
            if error:
                groups.append(DescribedGroup(group_id, error, ""))
            else:
                groups.append(self.described(group_id, classic=request.classic))
        self._port.send(source, DescribeGroupsResponse(request.correlation_id, tuple(groups)))

    def described(self, group_id: str, *, classic: bool = False) -> DescribedGroup:
        """Describe a group of either protocol; an unknown group is Dead."""
        modern = self.consumer_groups.described(group_id, classic=classic)
        return modern or described(group_id, self.registry.groups.get(group_id))

    def _list(self, source: int, request: ListGroupsRequest) -> None:
        error = KafkaError.COORDINATOR_LOAD_IN_PROGRESS if self.registry.loading else NONE
        if not self._profile.group_membership:
            error = UNSUPPORTED
        classic = [
            group for group in self.registry.groups.values() if group.group_id not in self.consumer_groups.groups
        ]
        found = filter_groups((*listed(classic), *self.consumer_groups.listed()), request)
        self._port.send(source, ListGroupsResponse(request.correlation_id, error, found))

    def _delete(self, source: int, request: DeleteGroupsRequest) -> None:
        outcomes = tuple([(group_id, self._delete_one(group_id)) for group_id in request.groups])
        self._port.send(source, DeleteGroupsResponse(request.correlation_id, outcomes))

    def _delete_one(self, group_id: str) -> KafkaError:
        error = self.registry.status(group_id, nameless=True) if self._profile.delete_groups else UNSUPPORTED
        if error:
            return error
        group = self.registry.groups.get(group_id)
        if group is None and group_id not in self.consumer_groups.groups:
            return KafkaError.GROUP_ID_NOT_FOUND
        if self.consumer_groups.has_members(group_id) or (group is not None and group.state is not GroupState.EMPTY):
            return KafkaError.NON_EMPTY_GROUP
        self.consumer_groups.remove(group_id)
        if group is not None:
            self.registry.clean(group, group.offsets.clear())
        return NONE

    def _delete_offsets(self, source: int, request: OffsetDeleteRequest) -> None:
        error = self.registry.status(request.group_id, nameless=True) if self._profile.offset_delete else UNSUPPORTED
        group = self.registry.groups.get(request.group_id)
        results: tuple[tuple[str, int], ...] = ()
        if not error and group is None and request.group_id in self.consumer_groups.groups:
            group = self._create(request.group_id)  # its members have committed nothing yet
        if not error and group is None:
            error = KafkaError.GROUP_ID_NOT_FOUND
        elif not error and group is not None:
            error, results = deletable(group, request.partitions, self._hosted.states)
            results = self.consumer_groups.check_deletable(request.group_id, results)
            self.registry.clean(group, group.offsets.remove([name for name, failure in results if not failure]))
        self._port.send(source, OffsetDeleteResponse(request.correlation_id, error, results))

    # -- coordinator lifecycle ---------------------------------------------------------------------------------------

    def started(self) -> None:
        """The process registered."""
        self._since = self._port.now

    def stopped(self) -> None:
        """The process died."""
        self.registry.stopped()
        self.consumer_groups.stopped()
        self._maker.stopped()
        self._expiry.forget()

    def on_timer(self, timer: Payload) -> bool:
        """Handle the timer of a group deadline, of a loaded partition, or of offset expiry."""
        if timer[0] == WAKE:
            self.registry.on_timer()
        elif timer[0] == LOADED:
            self.registry.read(timer[1], timer[2])
            if self.registry.groups or self.consumer_groups.groups:
                self._await_expiry()
        elif timer[0] == EXPIRY:
            self._expire()
        else:
            return self.consumer_groups.on_timer(timer)
        return True

    def _await_expiry(self) -> None:
        """Schedule the next run of the periodic offset expiry; without groups it would find nothing."""
        period = self._config.retention_check_us
        runs = (self._port.now - self._since) // period + 1
        self._expiry.arm(self._since + runs * period)

    def _expire(self) -> None:
        if not self._expiry.take_expired():
            return
        for group in list(self.registry.groups.values()):
            old = self.consumer_groups.expired(group.group_id, self._port.now, self._config.retention_us)
            if old is None:
                old = expired(group, self._port.now, self._profile, self._config.retention_us)
            self._report_expired(group, old)
            self.registry.clean(group, group.offsets.expire(old))
        self.consumer_groups.clean()
        if self.registry.groups or self.consumer_groups.groups:
            self._await_expiry()

    def _report_expired(self, group: GroupMetadata, partitions: list[str]) -> None:
        now, setting = self._port.now, f"offsets.retention.minutes={self._config.retention_us // MINUTE}"
        for partition in partitions:
            kept = group.offsets.committed[partition]
            age_us = now - kept.committed_us
            self._emit(
                OffsetsExpired(now, self._port.node_id, group.group_id, partition, kept.offset, age_us, setting)
            )  # fmt: skip

    def on_disconnect(self, peer: int) -> None:
        """A connection broke; members are removed only when their session expires."""
        self._maker.on_disconnect(peer)

    def leads(self, partition: str, leader_epoch: int) -> None:
        """The broker became leader of a partition of ``__consumer_offsets``."""
        self.registry.leads(_index(partition))

    def resigned(self, partition: str) -> None:
        """The broker lost the leadership of a partition of ``__consumer_offsets``."""
        self.registry.resigned(_index(partition))
        self.consumer_groups.resigned(_index(partition))

    def transaction_ended(self, partition: str, producer_id: int, *, committed: bool) -> None:
        """A transaction marker is replicated in a partition of ``__consumer_offsets`` (``onTransactionCompleted``)."""
        self.registry.transaction_ended(_index(partition), producer_id, committed=committed)

    def deleted(self, partition: str) -> None:
        """A partition was deleted: its commits are removed."""
        self.registry.deleted(partition)
        self.consumer_groups.deleted()

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        """Handle the result of a write."""
        if token < 0:
            self.consumer_groups.appended(-token, error)
        else:
            self.registry.appended(token, error, base)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.registry.save(), self._since, self._expiry.save(), self.consumer_groups.save(), self._maker.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        registry, self._since, expiry, modern, maker = saved
        self.registry.load(registry)
        self._expiry.load(expiry)
        self.consumer_groups.load(modern)
        self._maker.load(maker)


def _index(partition: str) -> int:
    return int(partition.rpartition("-")[2])
