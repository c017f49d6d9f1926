"""Admin requests and responses, named after Kafka's (``Admin``, ``KafkaAdminClient``).

Every response has one entry for each requested resource, in the order requested. Its ``error`` is a number of
:class:`~cluster_model.protocol.errors.KafkaError`, its ``message`` is one sentence for a person, or empty.
In ZooKeeper mode a request goes to the controller, in KRaft mode to any broker, which forwards it to the active
controller (KIP-590) and returns the response. A node that is not the controller answers NOT_CONTROLLER.
"""

import re
from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.group_messages import DescribedGroup, FetchedOffset

DEFAULT: Final = -1
"""Partitions or replication factor of a new topic: use the cluster's defaults (KIP-464)."""


LEGAL_NAMES: Final = "a topic name has 1 to 249 letters, digits, '.', '_' and '-', and is neither '.' nor '..'"
TOPIC_NAME: Final = r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}"


def is_legal(topic: str) -> bool:
    """Return whether a topic name is valid (``Topic.isValid``)."""
    return re.fullmatch(TOPIC_NAME, topic) is not None


def has_collision_chars(topic: str) -> bool:
    """Return whether a topic's name may collide with another one in the names of metrics (``Topic``)."""
    return "." in topic or "_" in topic


def unify_collision_chars(topic: str) -> str:
    """Return a topic's name as it is in the names of metrics."""
    return topic.replace(".", "_")


class AdminError(NamedTuple):
    """The result for one requested topic, partition or other resource, by its ``name``."""

    name: str
    error: int
    message: str = ""


class CreatableTopic(NamedTuple):
    """A topic to create; ``assignment`` has each partition's replicas, the preferred leader first.

    If it is empty, the controller places the replicas.
    """

    name: str
    partitions: int = DEFAULT
    replication: int = DEFAULT
    assignment: tuple[tuple[int, ...], ...] = ()
    config: tuple[tuple[str, str], ...] = ()


class CreateTopicsRequest(NamedTuple):
    """A request to create topics; ``validate_only``: return the result without creating any."""

    correlation_id: int
    topics: tuple[CreatableTopic, ...]
    timeout_us: int = 30_000_000
    validate_only: bool = False


class CreatableTopicResult(NamedTuple):
    """The result for one new topic: its number of partitions and replicas, -1 with an error (KIP-525)."""

    name: str
    error: int
    message: str = ""
    partitions: int = -1
    replication: int = -1
    config: tuple[tuple[str, ConfigValue], ...] = ()
    """Configurations set on the topic."""


class CreateTopicsResponse(NamedTuple):
    """The results of a :class:`CreateTopicsRequest`, by topic."""

    correlation_id: int
    topics: tuple[CreatableTopicResult, ...]


class DeleteTopicsRequest(NamedTuple):
    """A request to delete topics by name."""

    correlation_id: int
    topics: tuple[str, ...]
    timeout_us: int = 30_000_000


class DeleteTopicsResponse(NamedTuple):
    """The results of a :class:`DeleteTopicsRequest`, by topic."""

    correlation_id: int
    topics: tuple[AdminError, ...]


class NewPartitions(NamedTuple):
    """An increase of a topic to ``total`` partitions; ``assignment`` is that of the new ones, or empty."""

    topic: str
    total: int
    assignment: tuple[tuple[int, ...], ...] = ()


class CreatePartitionsRequest(NamedTuple):
    """A request to add partitions to topics (KIP-195); ``validate_only``: return the result without adding any."""

    correlation_id: int
    topics: tuple[NewPartitions, ...]
    timeout_us: int = 30_000_000
    validate_only: bool = False


class CreatePartitionsResponse(NamedTuple):
    """The results of a :class:`CreatePartitionsRequest`, by topic."""

    correlation_id: int
    topics: tuple[AdminError, ...]


class ReassignablePartition(NamedTuple):
    """The target replicas of a partition; None cancels its ongoing reassignment."""

    partition: str
    replicas: tuple[int, ...] | None


class AlterPartitionReassignmentsRequest(NamedTuple):
    """A request to reassign partitions, or to cancel reassignments (KIP-455)."""

    correlation_id: int
    partitions: tuple[ReassignablePartition, ...]
    timeout_us: int = 60_000_000


class AlterPartitionReassignmentsResponse(NamedTuple):
    """The results by partition; ``error`` rejects the whole request."""

    correlation_id: int
    error: int
    partitions: tuple[AdminError, ...]


class ListPartitionReassignmentsRequest(NamedTuple):
    """A request for the ongoing reassignments of some partitions; empty: of all."""

    correlation_id: int
    partitions: tuple[str, ...] = ()


class OngoingReassignment(NamedTuple):
    """A partition with an ongoing reassignment: its replicas, and those being added and removed."""

    partition: str
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ListPartitionReassignmentsResponse(NamedTuple):
    """The ongoing reassignments; other partitions are left out."""

    correlation_id: int
    error: int
    partitions: tuple[OngoingReassignment, ...]


class ElectLeadersRequest(NamedTuple):
    """A request to elect leaders (KIP-460): preferred ones, or with ``unclean`` any live replica where none leads.

    Without partitions it applies to all, and only those with an election to run are in the response.
    """

    correlation_id: int
    unclean: bool
    partitions: tuple[str, ...] = ()
    timeout_us: int = 60_000_000


class ElectLeadersResponse(NamedTuple):
    """The results by partition; ``error`` rejects the whole request."""

    correlation_id: int
    error: int
    partitions: tuple[AdminError, ...]


class ConfigOperation(IntEnum):
    """Operation on a configuration (``AlterConfigOp.OpType``)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


SET: Final = ConfigOperation.SET
DELETE: Final = ConfigOperation.DELETE


class AlterableConfig(NamedTuple):
    """A change of one configuration; DELETE restores the default and needs no value."""

    key: str
    value: str = ""
    operation: int = SET


class AlterConfigsResource(NamedTuple):
    """Configuration changes of a topic or broker; ``name`` is the topic or the broker id, empty for all brokers."""

    type: str
    """``topic`` or ``broker``."""
    name: str
    configs: tuple[AlterableConfig, ...]


class IncrementalAlterConfigsRequest(NamedTuple):
    """A request to change configurations (KIP-339); ``validate_only``: return the result without changing any."""

    correlation_id: int
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool = False


class IncrementalAlterConfigsResponse(NamedTuple):
    """The results of an :class:`IncrementalAlterConfigsRequest`, by resource name."""

    correlation_id: int
    resources: tuple[AdminError, ...]


class DescribeConfigsRequest(NamedTuple):
    """A broker's read of topic configurations from ZooKeeper, which it does for each request in ZooKeeper mode."""

    correlation_id: int
    topics: tuple[str, ...]


class DescribeConfigsResponse(NamedTuple):
    """The configurations set on each topic, in the order requested."""

    correlation_id: int
    configs: tuple[tuple[str, tuple[tuple[str, ConfigValue], ...]], ...]


class UnregisterBrokerRequest(NamedTuple):
    """A request to remove a broker's registration permanently; KRaft only (``Admin.unregisterBroker``)."""

    correlation_id: int
    broker: int


class UnregisterBrokerResponse(NamedTuple):
    """The result of an :class:`UnregisterBrokerRequest`."""

    correlation_id: int
    error: int
    message: str = ""


class UpgradeType(IntEnum):
    """Allowed direction of a feature level change (``FeatureUpdate.UpgradeType``, KIP-778)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A requested level of a feature."""

    feature: str
    level: int
    type: int = UpgradeType.UPGRADE


class UpdateFeaturesRequest(NamedTuple):
    """A request to change feature levels (KIP-584); ``validate_only``: return the result without changing any."""

    correlation_id: int
    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False


class UpdateFeaturesResponse(NamedTuple):
    """The results by feature; ``error`` rejects the whole request."""

    correlation_id: int
    error: int
    message: str
    features: tuple[AdminError, ...]


class DescribeQuorumRequest(NamedTuple):
    """A request to the leader of the metadata quorum for its voters and observers; KRaft only (KIP-595)."""

    correlation_id: int


class QuorumReplica(NamedTuple):
    """The state that the quorum leader has of a voter or observer, -1 where it is unknown (KIP-836)."""

    replica: int
    end: int
    fetched_at_us: int
    caught_up_at_us: int


class DescribeQuorumResponse(NamedTuple):
    """The state of the quorum, or ``error`` NOT_LEADER_OR_FOLLOWER from a node that does not lead it."""

    correlation_id: int
    error: int
    leader: int = -1
    epoch: int = 0
    high_watermark: int = -1
    voters: tuple[QuorumReplica, ...] = ()
    observers: tuple[QuorumReplica, ...] = ()


class DescribeClusterRequest(NamedTuple):
    """A request to a broker for the controller and the live brokers (KIP-700)."""

    correlation_id: int


class DescribeClusterResponse(NamedTuple):
    """The controller and live brokers known to the broker.

    In KRaft mode ``controller`` is the broker itself, which forwards requests.
    """

    correlation_id: int
    controller: int
    brokers: tuple[int, ...]


class EnvelopeRequest(NamedTuple):
    """An admin request forwarded by a broker to the active controller, with the broker's own correlation (KIP-590)."""

    correlation_id: int
    request: "AdminRequest | DescribeQuorumRequest"


class EnvelopeResponse(NamedTuple):
    """The forwarded request's response, or ``error`` NOT_CONTROLLER and no response."""

    correlation_id: int
    error: int
    response: "AdminResponse | DescribeQuorumResponse | None"


AdminRequest = (
    CreateTopicsRequest
    | DeleteTopicsRequest
    | CreatePartitionsRequest
    | AlterPartitionReassignmentsRequest
    | ListPartitionReassignmentsRequest
    | ElectLeadersRequest
    | IncrementalAlterConfigsRequest
    | UnregisterBrokerRequest
    | UpdateFeaturesRequest
)
"""Any request that only the controller can answer."""

AdminResponse = (
    CreateTopicsResponse
    | DeleteTopicsResponse
    | CreatePartitionsResponse
    | AlterPartitionReassignmentsResponse
    | ListPartitionReassignmentsResponse
    | ElectLeadersResponse
    | IncrementalAlterConfigsResponse
    | UnregisterBrokerResponse
    | UpdateFeaturesResponse
)


def refusal(request: AdminRequest, error: int, message: str = "") -> AdminResponse:
    """Return the response to a rejected request, with the same error for every requested resource."""
    number = request.correlation_id

    def each(names: tuple[str, ...]) -> tuple[AdminError, ...]:
        return tuple(AdminError(name, error, message) for name in names)

    if isinstance(request, CreateTopicsRequest):
        refused = [CreatableTopicResult(topic.name, error, message) for topic in request.topics]
        return CreateTopicsResponse(number, tuple(refused))
    if isinstance(request, DeleteTopicsRequest):
        return DeleteTopicsResponse(number, each(request.topics))
    if isinstance(request, CreatePartitionsRequest):
        return CreatePartitionsResponse(number, each(tuple(topic.topic for topic in request.topics)))
    if isinstance(request, AlterPartitionReassignmentsRequest):
        names = tuple(entry.partition for entry in request.partitions)
        return AlterPartitionReassignmentsResponse(number, error, each(names))
    if isinstance(request, ListPartitionReassignmentsRequest):
        return ListPartitionReassignmentsResponse(number, error, ())
    if isinstance(request, ElectLeadersRequest):
        return ElectLeadersResponse(number, error, each(request.partitions))
    if isinstance(request, IncrementalAlterConfigsRequest):
        return IncrementalAlterConfigsResponse(number, each(tuple(resource.name for resource in request.resources)))
    if isinstance(request, UpdateFeaturesRequest):
        return UpdateFeaturesResponse(number, error, message, ())
    return UnregisterBrokerResponse(number, error, message)


# Uniform access to the results in admin responses.


def entries_of(response: Any) -> tuple[int, tuple[AdminError, ...]]:
    """Return the error of the whole response, and the result of each requested resource."""
    error = int(getattr(response, "error", 0))
    for field in ("topics", "resources", "partitions", "groups", "features"):
        entries = getattr(response, field, ())
        if entries:
            return error, tuple([result for entry in entries if (result := _entry(entry)) is not None])
    return error, ()


def _entry(entry: Any) -> AdminError | None:
    """Return the result of one resource; None where the entry is only a description."""
    if isinstance(entry, AdminError):
        return entry
    if isinstance(entry, CreatableTopicResult):
        return AdminError(entry.name, entry.error, entry.message)
    if isinstance(entry, FetchedOffset):
        return AdminError(entry.partition, entry.error)
    if isinstance(entry, DescribedGroup):
        return AdminError(entry.group_id, entry.error)
    if type(entry) is tuple:  # A name and its error.
        name, error = entry
        return AdminError(name, error)
    return None
