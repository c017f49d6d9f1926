"""Requests and responses of administrators, by Kafka's names (``Admin``, ``KafkaAdminClient``).

Every answer has an entry for each thing asked for, in the order asked; its ``error`` is a number of
:class:`~cluster_model.protocol.errors.KafkaError`, its ``message`` one sentence for a person, or empty.
In ZooKeeper mode such a request goes to the controller, in KRaft mode to any broker, which hands it on to the active
controller (KIP-590) and brings the answer back. Whoever is not the controller answers NOT_CONTROLLER.
"""

import re
from enum import IntEnum
from typing import Any, Final, NamedTuple

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.group_messages import DescribedGroup, FetchedOffset

DEFAULT: Final = -1
"""Partitions or replication factor of a new topic: whatever the cluster's defaults say (KIP-464)."""


LEGAL_NAMES: Final = "a topic's name has 1 to 249 letters, digits, '.', '_' and '-', and is neither '.' nor '..'"
TOPIC_NAME: Final = r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}"


def is_legal(topic: str) -> bool:
    """Whether a topic may have a name (``Topic.isValid``)."""
    return re.fullmatch(TOPIC_NAME, topic) is not None


class AdminError(NamedTuple):
    """What came of one thing that was asked for: a topic, a partition, a resource, by its ``name``."""

    name: str
    error: int
    message: str = ""


class CreatableTopic(NamedTuple):
    """A topic to make. ``assignment`` gives each partition's replicas, the preferred leader first; empty: spread."""

    name: str
    partitions: int = DEFAULT
    replication: int = DEFAULT
    assignment: tuple[tuple[int, ...], ...] = ()
    config: tuple[tuple[str, str], ...] = ()


class CreateTopicsRequest(NamedTuple):
    """Make topics; ``validate_only``: say what would come of it, and make none."""

    correlation: int
    topics: tuple[CreatableTopic, ...]
    timeout_us: int = 30_000_000
    validate_only: bool = False


class CreatableTopicResult(NamedTuple):
    """The result for one new topic: how many partitions and replicas it has, -1 where it was refused (KIP-525)."""

    name: str
    error: int
    message: str = ""
    partitions: int = -1
    replication: int = -1
    config: tuple[tuple[str, ConfigValue], ...] = ()
    """Its own configurations."""


class CreateTopicsResponse(NamedTuple):
    """An entry per topic."""

    correlation: int
    topics: tuple[CreatableTopicResult, ...]


class DeleteTopicsRequest(NamedTuple):
    """Delete topics by name."""

    correlation: int
    topics: tuple[str, ...]
    timeout_us: int = 30_000_000


class DeleteTopicsResponse(NamedTuple):
    """An entry per topic."""

    correlation: int
    topics: tuple[AdminError, ...]


class NewPartitions(NamedTuple):
    """A topic that is to have ``total`` partitions in all; ``assignment`` is that of the new ones, or empty."""

    topic: str
    total: int
    assignment: tuple[tuple[int, ...], ...] = ()


class CreatePartitionsRequest(NamedTuple):
    """Give topics more partitions (KIP-195); ``validate_only``: say what would come of it, and give none."""

    correlation: int
    topics: tuple[NewPartitions, ...]
    timeout_us: int = 30_000_000
    validate_only: bool = False


class CreatePartitionsResponse(NamedTuple):
    """An entry per topic."""

    correlation: int
    topics: tuple[AdminError, ...]


class ReassignablePartition(NamedTuple):
    """Where a partition's replicas are to be; None takes a reassignment under way back."""

    partition: str
    replicas: tuple[int, ...] | None


class AlterPartitionReassignmentsRequest(NamedTuple):
    """Move replicas, or cancel a move (KIP-455)."""

    correlation: int
    partitions: tuple[ReassignablePartition, ...]
    timeout_us: int = 60_000_000


class AlterPartitionReassignmentsResponse(NamedTuple):
    """``error`` refuses the whole; else an entry per partition."""

    correlation: int
    error: int
    partitions: tuple[AdminError, ...]


class ListPartitionReassignmentsRequest(NamedTuple):
    """Ask what is under way; no partitions named: everything."""

    correlation: int
    partitions: tuple[str, ...] = ()


class OngoingReassignment(NamedTuple):
    """A partition on the move."""

    partition: str
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ListPartitionReassignmentsResponse(NamedTuple):
    """Only partitions that are on the move."""

    correlation: int
    error: int
    partitions: tuple[OngoingReassignment, ...]


class ElectLeadersRequest(NamedTuple):
    """Have leaders elected (KIP-460): the preferred ones, or anyone alive where nobody leads (``unclean``).

    No partitions named: all of them, and then only those come back for which there was something to do.
    """

    correlation: int
    unclean: bool
    partitions: tuple[str, ...] = ()
    timeout_us: int = 60_000_000


class ElectLeadersResponse(NamedTuple):
    """``error`` refuses the whole; else an entry per partition."""

    correlation: int
    error: int
    partitions: tuple[AdminError, ...]


class ConfigOperation(IntEnum):
    """What is to be done with a configuration (``AlterConfigOp.OpType``)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


SET: Final = ConfigOperation.SET
DELETE: Final = ConfigOperation.DELETE


class AlterableConfig(NamedTuple):
    """One configuration; DELETE goes back to the default, and needs no value."""

    key: str
    value: str = ""
    operation: int = SET


class AlterConfigsResource(NamedTuple):
    """Configurations of a topic, or of a broker: ``name`` is its id, empty for all brokers."""

    type: str
    """``topic`` or ``broker``."""
    name: str
    configs: tuple[AlterableConfig, ...]


class IncrementalAlterConfigsRequest(NamedTuple):
    """Change configurations live (KIP-339); ``validate_only``: say what would come of it, and change none."""

    correlation: int
    resources: tuple[AlterConfigsResource, ...]
    validate_only: bool = False


class IncrementalAlterConfigsResponse(NamedTuple):
    """An entry per resource, under its name."""

    correlation: int
    resources: tuple[AdminError, ...]


class DescribeConfigsRequest(NamedTuple):
    """Read what topics were configured with from ZooKeeper, as a broker in ZooKeeper mode does for each question."""

    correlation: int
    topics: tuple[str, ...]


class DescribeConfigsResponse(NamedTuple):
    """The configurations that each topic has of its own, in the order of the request."""

    correlation: int
    configs: tuple[tuple[str, tuple[tuple[str, ConfigValue], ...]], ...]


class UnregisterBrokerRequest(NamedTuple):
    """Forget a broker for good; KRaft only (``Admin.unregisterBroker``)."""

    correlation: int
    broker: int


class UnregisterBrokerResponse(NamedTuple):
    """What came of it."""

    correlation: int
    error: int
    message: str = ""


class UpgradeType(IntEnum):
    """In which direction a feature's level may go (``FeatureUpdate.UpgradeType``, KIP-778)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A level that a feature is to have."""

    feature: str
    level: int
    type: int = UpgradeType.UPGRADE


class UpdateFeaturesRequest(NamedTuple):
    """Change levels of features (KIP-584); ``validate_only``: answer as for the change, and make none."""

    correlation: int
    updates: tuple[FeatureUpdate, ...]
    validate_only: bool = False


class UpdateFeaturesResponse(NamedTuple):
    """``error`` refuses the whole; else an entry per feature."""

    correlation: int
    error: int
    message: str
    features: tuple[AdminError, ...]


class DescribeQuorumRequest(NamedTuple):
    """Ask the leader of the metadata quorum about its voters and observers; KRaft only (KIP-595)."""

    correlation: int


class QuorumReplica(NamedTuple):
    """A voter or an observer as the leader knows it, -1 for what it does not know (KIP-836)."""

    replica: int
    end: int
    fetched_at_us: int
    caught_up_at_us: int


class DescribeQuorumResponse(NamedTuple):
    """The quorum, or ``error`` NOT_LEADER_OR_FOLLOWER by a node that does not lead it."""

    correlation: int
    error: int
    leader: int = -1
    epoch: int = 0
    high_watermark: int = -1
    voters: tuple[QuorumReplica, ...] = ()
    observers: tuple[QuorumReplica, ...] = ()


class DescribeClusterRequest(NamedTuple):
    """Ask a broker who the controller is, and which brokers live (KIP-700)."""

    correlation: int


class DescribeClusterResponse(NamedTuple):
    """As the broker knows it. In KRaft mode ``controller`` is the broker asked: it hands requests on."""

    correlation: int
    controller: int
    brokers: tuple[int, ...]


class EnvelopeRequest(NamedTuple):
    """A broker hands an administrator's request on to the active controller, under a number of its own (KIP-590)."""

    correlation: int
    request: "AdminRequest | DescribeQuorumRequest"


class EnvelopeResponse(NamedTuple):
    """The answer, or ``error`` NOT_CONTROLLER and none."""

    correlation: int
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
"""What only the controller can answer."""

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
    """The answer to a request of which nothing was done: the error for everything that it asks for."""
    number = request.correlation

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


# One way to read every answer to an administrator.


def entries_of(response: Any) -> tuple[int, tuple[AdminError, ...]]:
    """The error of the whole, and what came of each thing asked for."""
    error = int(getattr(response, "error", 0))
    for field in ("topics", "resources", "partitions", "groups", "features"):
        entries = getattr(response, field, ())
        if entries:
            return error, tuple([told for entry in entries if (told := _entry(entry)) is not None])
    return error, ()


def _entry(entry: Any) -> AdminError | None:
    """What came of one thing; None where the answer only tells of it."""
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
