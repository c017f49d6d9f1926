"""Requests and responses of the group coordinator, for both protocols, named after Kafka's (``GroupCoordinator``).

Partitions have names such as ``orders-0``. ``error`` is a number of
:class:`~cluster_model.protocol.errors.KafkaError`. ``group_instance_id`` is empty for a dynamic member and set for a
static one (KIP-345).
"""

from typing import Final, NamedTuple

GROUP: Final = 0
"""``key_type`` of a FindCoordinator request for a group."""
TRANSACTION: Final = 1
"""``key_type`` of a FindCoordinator request for a transactional id."""

NO_GENERATION: Final = -1
"""``generation_id`` of a commit without group membership."""

CONSUMER_PROTOCOL: Final = "consumer"
"""``protocol_type`` of consumer groups."""

CLASSIC: Final = "classic"
"""``group_type`` of groups whose members join and sync (``Group.GroupType``)."""
CONSUMER: Final = "consumer"
"""``group_type`` of groups of the consumer protocol (KIP-848)."""

UNKNOWN_OFFSET: Final = -1
"""``offset`` in an OffsetFetch response where none is committed."""


class Subscription(NamedTuple):
    """A member's metadata for one assignor (``ConsumerProtocolSubscription``).

    ``owned`` are its partitions, ``generation`` is when they were assigned (KIP-429, KIP-792), ``rack`` is its own.
    """

    topics: tuple[str, ...]
    owned: tuple[str, ...] = ()
    generation: int = NO_GENERATION
    rack: str = ""
    user_data: str = ""


class Assignment(NamedTuple):
    """The partitions assigned to a member (``ConsumerProtocolAssignment``)."""

    partitions: tuple[str, ...] = ()
    user_data: str = ""


NOTHING: Final = Assignment()
"""Empty assignment, of a member that the leader left out, and of every response with an error."""


class MemberProtocol(NamedTuple):
    """An assignor that a member supports; it lists them in order of preference."""

    name: str
    metadata: Subscription


class FindCoordinatorRequest(NamedTuple):
    """A request for the coordinator of a group or transactional id."""

    correlation_id: int
    key: str
    key_type: int = GROUP


class FindCoordinatorResponse(NamedTuple):
    """The coordinator's node id, -1 with an error."""

    correlation_id: int
    error: int
    node_id: int


class JoinGroupRequest(NamedTuple):
    """A request to become or stay a member; from ``version`` 4 on it knows MEMBER_ID_REQUIRED (KIP-394).

    ``rebalance_timeout_us`` is used from version 1 on (KIP-62); before, the session timeout is used for it.
    """

    correlation_id: int
    group_id: str
    client_id: str
    member_id: str
    session_timeout_us: int
    rebalance_timeout_us: int
    protocols: tuple[MemberProtocol, ...]
    group_instance_id: str = ""
    protocol_type: str = CONSUMER_PROTOCOL
    version: int = 9


class JoinGroupMember(NamedTuple):
    """A member in the response to the group's leader."""

    member_id: str
    group_instance_id: str
    metadata: Subscription


class JoinGroupResponse(NamedTuple):
    """The new generation, -1 with an error; ``members`` is empty for all but the leader.

    ``skip_assignment``: the leader is a returning static member and must not compute an assignment (KIP-814).
    """

    correlation_id: int
    error: int
    generation_id: int
    protocol_name: str
    leader: str
    member_id: str
    members: tuple[JoinGroupMember, ...] = ()
    skip_assignment: bool = False


class SyncGroupRequest(NamedTuple):
    """A request for a member's assignment; the leader sends those of all, as (member id, assignment)."""

    correlation_id: int
    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[tuple[str, Assignment], ...] = ()
    group_instance_id: str = ""
    protocol_type: str = ""
    """Empty before version 5 (KIP-559)."""
    protocol_name: str = ""


class SyncGroupResponse(NamedTuple):
    """The partitions assigned to the member, or an error."""

    correlation_id: int
    error: int
    assignment: Assignment = NOTHING


class HeartbeatRequest(NamedTuple):
    """A member's heartbeat in its generation."""

    correlation_id: int
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str = ""


class HeartbeatResponse(NamedTuple):
    """The answer to a heartbeat; REBALANCE_IN_PROGRESS requests the member to rejoin."""

    correlation_id: int
    error: int


class LeavingMember(NamedTuple):
    """A member that leaves; an administrator names a static member by its instance id alone."""

    member_id: str
    group_instance_id: str = ""


class LeaveGroupRequest(NamedTuple):
    """A request to leave, for the member itself, or since 2.4 for several on behalf of an administrator (KIP-345)."""

    correlation_id: int
    group_id: str
    members: tuple[LeavingMember, ...]


class LeaveGroupResponse(NamedTuple):
    """The result: ``error`` of the whole request; ``members`` has one error for each, in the order requested."""

    correlation_id: int
    error: int
    members: tuple[int, ...] = ()


class CommittedOffset(NamedTuple):
    """A committed offset, or one to commit: the next to read; ``leader_epoch`` is -1 if not given (KIP-320)."""

    partition: str
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class OffsetCommitRequest(NamedTuple):
    """A request to commit offsets; ``generation_id`` -1 and no member id: without group membership.

    ``retention_us`` is sent by versions 2 to 4 only (0.9 to 2.0); -1 uses the broker's setting. ``version`` is that of
    the request if the client gives it: members of the consumer protocol must use 9. 0: the matching version.
    """

    correlation_id: int
    group_id: str
    generation_id: int
    member_id: str
    offsets: tuple[CommittedOffset, ...]
    group_instance_id: str = ""
    retention_us: int = -1
    version: int = 0


class OffsetCommitResponse(NamedTuple):
    """The result of each partition, as (partition, error), in the order requested."""

    correlation_id: int
    partitions: tuple[tuple[str, int], ...]


class TxnOffsetCommitRequest(NamedTuple):
    """A request to commit offsets in a transaction (KIP-98), since KIP-447 (2.5) with the member's identity."""

    correlation_id: int
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    offsets: tuple[CommittedOffset, ...]
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str = ""
    version: int = 3


class TxnOffsetCommitResponse(NamedTuple):
    """The result of each partition, as (partition, error): offsets are written, and pending until the end."""

    correlation_id: int
    partitions: tuple[tuple[str, int], ...]


class OffsetFetchRequest(NamedTuple):
    """A request for committed offsets; ``partitions`` None: all offsets of the group (0.10.2).

    ``require_stable``: answer UNSTABLE_OFFSET_COMMIT where an offset is pending in a transaction (KIP-447, 2.5).
    A member of the consumer protocol sends its member id and epoch (KIP-848).
    """

    correlation_id: int
    group_id: str
    partitions: tuple[str, ...] | None
    require_stable: bool = False
    member_id: str = ""
    member_epoch: int = -1


class FetchedOffset(NamedTuple):
    """The committed offset of a partition; ``offset`` is -1 if none is committed."""

    partition: str
    offset: int
    leader_epoch: int
    metadata: str
    error: int


class OffsetFetchResponse(NamedTuple):
    """The committed offsets; ``error`` is that of the whole group."""

    correlation_id: int
    error: int
    partitions: tuple[FetchedOffset, ...]


class DescribeGroupsRequest(NamedTuple):
    """A request for the state of groups; ``classic``: report groups of the consumer protocol as Dead, as Kafka does."""

    correlation_id: int
    groups: tuple[str, ...]
    classic: bool = False


class DescribedMember(NamedTuple):
    """A member of a classic group; ``metadata`` and ``assignment`` are sent for stable groups only."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    """The node that it runs on."""
    metadata: Subscription | None
    assignment: Assignment


class DescribedGroup(NamedTuple):
    """The state of a group at its coordinator; an unknown group is Dead."""

    group_id: str
    error: int
    state: str
    protocol_type: str = ""
    protocol: str = ""
    """The assignor, set while the group is stable."""
    members: tuple[DescribedMember, ...] = ()


class DescribeGroupsResponse(NamedTuple):
    """The state of each group, in the order requested."""

    correlation_id: int
    groups: tuple[DescribedGroup, ...]


class ListGroupsRequest(NamedTuple):
    """A request for the groups that a broker coordinates, filtered by ``states`` unless empty (KIP-518, 2.6).

    ``types`` filters by protocol unless empty (KIP-848, 3.8).
    """

    correlation_id: int
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class ListedGroup(NamedTuple):
    """A group with its state; ``group_type`` is :data:`CLASSIC` or :data:`CONSUMER`."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str = CLASSIC


class ListGroupsResponse(NamedTuple):
    """The groups; with COORDINATOR_LOAD_IN_PROGRESS those loaded so far."""

    correlation_id: int
    error: int
    groups: tuple[ListedGroup, ...]


class DeleteGroupsRequest(NamedTuple):
    """A request to delete groups with their committed offsets (KIP-229, 1.1)."""

    correlation_id: int
    groups: tuple[str, ...]


class DeleteGroupsResponse(NamedTuple):
    """The result of each group, as (group, error), in the order requested."""

    correlation_id: int
    groups: tuple[tuple[str, int], ...]


class OffsetDeleteRequest(NamedTuple):
    """A request to delete a group's committed offsets of some partitions (KIP-496, 2.4)."""

    correlation_id: int
    group_id: str
    partitions: tuple[str, ...]


class OffsetDeleteResponse(NamedTuple):
    """The result: ``error`` of the whole request, else (partition, error) for each, in the order requested."""

    correlation_id: int
    error: int
    partitions: tuple[tuple[str, int], ...]


GroupRequest = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | DescribeGroupsRequest
    | ListGroupsRequest
    | DeleteGroupsRequest
    | OffsetDeleteRequest
)
"""Any request to a group coordinator of the classic protocol."""

GroupResponse = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | DescribeGroupsResponse
    | ListGroupsResponse
    | DeleteGroupsResponse
    | OffsetDeleteResponse
)
"""Any response of a group coordinator of the classic protocol."""


# The consumer protocol (KIP-848): the one request of members, ``ConsumerGroupHeartbeat``, and ConsumerGroupDescribe.
#
# A field that is None (or -1) has not changed since the member last sent it.


JOIN: Final = 0
"""``member_epoch`` of a member that joins, or rejoins after it has lost its partitions."""
LEAVE: Final = -1
"""``member_epoch`` of a member that leaves."""
LEAVE_FOR_NOW: Final = -2
"""``member_epoch`` of a static member that leaves temporarily: it keeps its partitions until its session expires."""


class ConsumerGroupHeartbeatRequest(NamedTuple):
    """A member's heartbeat: it joins, stays alive, reports its partitions, or leaves.

    From version 1 (4.0) on the member generates its own id (KIP-1082).
    """

    correlation_id: int
    group_id: str
    member_id: str
    member_epoch: int
    client_id: str = ""
    group_instance_id: str = ""
    rebalance_timeout_us: int = -1
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    """A regular expression of topics that the coordinator evaluates (version 1)."""
    assignor: str | None = None
    owned: tuple[str, ...] | None = None
    """All partitions that it owns now; those not listed are revoked."""
    version: int = 1

    @property
    def full(self) -> bool:
        """Whether all fields are set: then the response has all fields too."""
        has_subscription = self.topics is not None or self.pattern is not None
        return has_subscription and self.rebalance_timeout_us >= 0 and self.owned is not None


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """The member's epoch, and its assignment if that changed; with an error the other fields are meaningless."""

    correlation_id: int
    error: int
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_us: int = 0
    """Heartbeat interval."""
    assignment: tuple[str, ...] | None = None


class ConsumerGroupDescribeRequest(NamedTuple):
    """A request for the state of groups of the consumer protocol."""

    correlation_id: int
    groups: tuple[str, ...]


class DescribedConsumer(NamedTuple):
    """A member of a consumer protocol group: its subscription, current assignment and target assignment."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    """The node that it runs on."""
    epoch: int
    topics: tuple[str, ...]
    pattern: str
    assigned: tuple[str, ...]
    target: tuple[str, ...]


class DescribedConsumerGroup(NamedTuple):
    """The state of a consumer protocol group at its coordinator; GROUP_ID_NOT_FOUND if there is none."""

    group_id: str
    error: int
    state: str = ""
    epoch: int = 0
    target_epoch: int = 0
    """Epoch of the target assignment."""
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


class ConsumerGroupDescribeResponse(NamedTuple):
    """The state of each group, in the order requested."""

    correlation_id: int
    groups: tuple[DescribedConsumerGroup, ...]
