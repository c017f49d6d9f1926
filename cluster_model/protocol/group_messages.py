"""Requests and responses of the group coordinator, both protocols, by Kafka's names (``GroupCoordinator``).

Partitions are named as everywhere, ``orders-0``. ``error`` is a number of
:class:`~cluster_model.protocol.errors.KafkaError`. An empty ``group_instance_id`` is that of a dynamic member, any
other that of a static one (KIP-345).
"""

from typing import Final, NamedTuple

GROUP: Final = 0
"""``key_type`` of a FindCoordinator for a group ..."""
TRANSACTION: Final = 1
"""... and for a transactional id."""

NO_GENERATION: Final = -1
"""``generation_id`` of who commits without being a member."""

CONSUMER_PROTOCOL: Final = "consumer"
"""``protocol_type`` of consumers' groups."""

CLASSIC: Final = "classic"
"""``group_type`` of groups whose members join and sync (``Group.GroupType``) ..."""
CONSUMER: Final = "consumer"
"""... and of those of KIP-848."""

UNKNOWN_OFFSET: Final = -1
"""What OffsetFetch answers where nothing is committed."""


class Subscription(NamedTuple):
    """A member's metadata for one assignor (``ConsumerProtocolSubscription``).

    ``owned`` are the partitions it has, ``generation`` is when it got them (KIP-429, KIP-792), ``rack`` is its own.
    """

    topics: tuple[str, ...]
    owned: tuple[str, ...] = ()
    generation: int = NO_GENERATION
    rack: str = ""
    user_data: str = ""


class Assignment(NamedTuple):
    """What a member is given (``ConsumerProtocolAssignment``)."""

    partitions: tuple[str, ...] = ()
    user_data: str = ""


NOTHING: Final = Assignment()
"""What a member gets that its leader has forgotten, and every answer with an error."""


class MemberProtocol(NamedTuple):
    """An assignor that a member can go by; its own order of them is that of its preference."""

    name: str
    metadata: Subscription


class FindCoordinatorRequest(NamedTuple):
    """Who coordinates a group, or a transactional id."""

    correlation: int
    key: str
    key_type: int = GROUP


class FindCoordinatorResponse(NamedTuple):
    """``node_id`` is -1 with an error."""

    correlation: int
    error: int
    node_id: int


class JoinGroupRequest(NamedTuple):
    """Become or stay a member. ``version`` is that of the request: 4 knows MEMBER_ID_REQUIRED (KIP-394).

    ``rebalance_timeout_us`` counts from version 1 (KIP-62); before it is the session's.
    """

    correlation: int
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
    """A member, as told to the leader."""

    member_id: str
    group_instance_id: str
    metadata: Subscription


class JoinGroupResponse(NamedTuple):
    """The new generation. ``members`` is empty for all but the leader; with an error the generation is -1.

    ``skip_assignment``: the leader is static, has come back, and is not to assign anew (KIP-814).
    """

    correlation: int
    error: int
    generation_id: int
    protocol_name: str
    leader: str
    member_id: str
    members: tuple[JoinGroupMember, ...] = ()
    skip_assignment: bool = False


class SyncGroupRequest(NamedTuple):
    """Ask for one's assignment; the leader brings everybody's, as (member id, assignment)."""

    correlation: int
    group_id: str
    generation_id: int
    member_id: str
    assignments: tuple[tuple[str, Assignment], ...] = ()
    group_instance_id: str = ""
    protocol_type: str = ""
    """Empty before version 5 (KIP-559)."""
    protocol_name: str = ""


class SyncGroupResponse(NamedTuple):
    """A member's assignment."""

    correlation: int
    error: int
    assignment: Assignment = NOTHING


class HeartbeatRequest(NamedTuple):
    """A member is alive."""

    correlation: int
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str = ""


class HeartbeatResponse(NamedTuple):
    """REBALANCE_IN_PROGRESS: join again."""

    correlation: int
    error: int


class LeavingMember(NamedTuple):
    """Who leaves; an administrator names a static member by its instance id alone."""

    member_id: str
    group_instance_id: str = ""


class LeaveGroupRequest(NamedTuple):
    """Members leave: one itself, or since 2.4 several at an administrator's word (KIP-345)."""

    correlation: int
    group_id: str
    members: tuple[LeavingMember, ...]


class LeaveGroupResponse(NamedTuple):
    """``error`` is that of the whole; ``members`` has one for each, in the order asked."""

    correlation: int
    error: int
    members: tuple[int, ...] = ()


class CommittedOffset(NamedTuple):
    """An offset to be committed, or one that is: the next to be read. ``leader_epoch`` -1: untold (KIP-320)."""

    partition: str
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class OffsetCommitRequest(NamedTuple):
    """Commit offsets; ``generation_id`` -1 with no member: from outside of the group's membership.

    ``retention_us`` -1: as the broker says; asked for by versions 2 to 4 only (0.9 to 2.0). ``version`` is that of the
    request where a client tells it: members by the consumer protocol have to use 9. 0: the one that fits.
    """

    correlation: int
    group_id: str
    generation_id: int
    member_id: str
    offsets: tuple[CommittedOffset, ...]
    group_instance_id: str = ""
    retention_us: int = -1
    version: int = 0


class OffsetCommitResponse(NamedTuple):
    """(partition, error) for each, in the order asked."""

    correlation: int
    partitions: tuple[tuple[str, int], ...]


class TxnOffsetCommitRequest(NamedTuple):
    """Commit offsets as part of a transaction (KIP-98), since KIP-447 (2.5) in a member's name."""

    correlation: int
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
    """(partition, error) each: they are written, and wait for the transaction's end."""

    correlation: int
    partitions: tuple[tuple[str, int], ...]


class OffsetFetchRequest(NamedTuple):
    """Ask what is committed; ``partitions`` None: everything the group has (0.10.2).

    ``require_stable``: answer UNSTABLE_OFFSET_COMMIT where a transaction's offset is pending (KIP-447, 2.5).
    A member by the consumer protocol says who it is (KIP-848).
    """

    correlation: int
    group_id: str
    partitions: tuple[str, ...] | None
    require_stable: bool = False
    member_id: str = ""
    member_epoch: int = -1


class FetchedOffset(NamedTuple):
    """``offset`` -1: none is committed."""

    partition: str
    offset: int
    leader_epoch: int
    metadata: str
    error: int


class OffsetFetchResponse(NamedTuple):
    """``error`` is that of the whole group."""

    correlation: int
    error: int
    partitions: tuple[FetchedOffset, ...]


class DescribeGroupsRequest(NamedTuple):
    """Ask for the state of groups; ``classic``: those by the consumer protocol are Dead to it, as to Kafka's own."""

    correlation: int
    groups: tuple[str, ...]
    classic: bool = False


class DescribedMember(NamedTuple):
    """A member; ``metadata`` and ``assignment`` are told of stable groups only."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    """The node that it is on."""
    metadata: Subscription | None
    assignment: Assignment


class DescribedGroup(NamedTuple):
    """A group as its coordinator knows it; one that nobody knows is Dead."""

    group_id: str
    error: int
    state: str
    protocol_type: str = ""
    protocol: str = ""
    """Told while stable."""
    members: tuple[DescribedMember, ...] = ()


class DescribeGroupsResponse(NamedTuple):
    """An entry for each, in the order asked."""

    correlation: int
    groups: tuple[DescribedGroup, ...]


class ListGroupsRequest(NamedTuple):
    """Ask a broker which groups it coordinates; ``states`` empty: in whatever state (KIP-518, 2.6).

    ``types``: by which protocols, empty: by either (KIP-848, 3.8).
    """

    correlation: int
    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


class ListedGroup(NamedTuple):
    """A group by its name, and by its protocol: :data:`CLASSIC` or :data:`CONSUMER`."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str = CLASSIC


class ListGroupsResponse(NamedTuple):
    """COORDINATOR_LOAD_IN_PROGRESS comes with what is known so far."""

    correlation: int
    error: int
    groups: tuple[ListedGroup, ...]


class DeleteGroupsRequest(NamedTuple):
    """Delete groups and what they have committed (KIP-229, 1.1)."""

    correlation: int
    groups: tuple[str, ...]


class DeleteGroupsResponse(NamedTuple):
    """(group, error) for each, in the order asked."""

    correlation: int
    groups: tuple[tuple[str, int], ...]


class OffsetDeleteRequest(NamedTuple):
    """Delete what a group has committed for some partitions (KIP-496, 2.4)."""

    correlation: int
    group_id: str
    partitions: tuple[str, ...]


class OffsetDeleteResponse(NamedTuple):
    """``error`` refuses the whole; else (partition, error) for each, in the order asked."""

    correlation: int
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
"""What a group coordinator answers."""

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
"""What it answers."""


# The one request of members by the consumer protocol (KIP-848, ``ConsumerGroupHeartbeat``), and an administrator's.
#
# A field that is None (or -1) has not changed since the member last told it.


JOIN: Final = 0
"""``member_epoch`` of who joins, or joins again after it has given everything up ..."""
LEAVE: Final = -1
"""... of who leaves ..."""
LEAVE_FOR_NOW: Final = -2
"""... and of a static member that will be back, whose partitions wait for it until its session is over."""


class ConsumerGroupHeartbeatRequest(NamedTuple):
    """A member joins, lives, tells what it owns, or leaves. In version 1 (4.0) it brings its own id (KIP-1082)."""

    correlation: int
    group_id: str
    member_id: str
    member_epoch: int
    client_id: str = ""
    group_instance_id: str = ""
    rebalance_timeout_us: int = -1
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    """A regular expression that the coordinator goes by (version 1)."""
    assignor: str | None = None
    owned: tuple[str, ...] | None = None
    """Partitions that it has now: what is missing is given up."""
    version: int = 1

    @property
    def full(self) -> bool:
        """Whether it tells everything: then the answer does too."""
        told = self.topics is not None or self.pattern is not None
        return told and self.rebalance_timeout_us >= 0 and self.owned is not None


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """The member's epoch, and what it is to have if that has changed. With an error nothing but that counts."""

    correlation: int
    error: int
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_us: int = 0
    """When it is to be heard of next."""
    assignment: tuple[str, ...] | None = None


class ConsumerGroupDescribeRequest(NamedTuple):
    """Ask for the state of groups by this protocol."""

    correlation: int
    groups: tuple[str, ...]


class DescribedConsumer(NamedTuple):
    """A member: what it says, what it has, and what it is to have."""

    member_id: str
    group_instance_id: str
    client_id: str
    host: int
    """The node that it is on."""
    epoch: int
    topics: tuple[str, ...]
    pattern: str
    assigned: tuple[str, ...]
    target: tuple[str, ...]


class DescribedConsumerGroup(NamedTuple):
    """A group as its coordinator knows it; GROUP_ID_NOT_FOUND: there is none by this protocol."""

    group_id: str
    error: int
    state: str = ""
    epoch: int = 0
    target_epoch: int = 0
    """The epoch that the target assignment is for."""
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


class ConsumerGroupDescribeResponse(NamedTuple):
    """An entry for each, in the order asked."""

    correlation: int
    groups: tuple[DescribedConsumerGroup, ...]
