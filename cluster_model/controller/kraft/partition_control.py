"""What an administrator asks for partitions: reassignments (KIP-455) and elections (KIP-460). Sans-IO."""

from cluster_model.controller.kraft.metadata import MetadataImage
from cluster_model.controller.kraft.records import Record, topic_of
from cluster_model.controller.kraft.replication_control import ReplicationControl, recorded
from cluster_model.controller.rules.admin_rules import begin_kraft, cancel_kraft, check_target, in_progress
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    ReassignablePartition,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.versions import Profile

_BY = "reassignment"


class PartitionControl:
    """Decisions over one image."""

    __slots__ = ("_image", "_profile", "_replication")

    def __init__(self, image: MetadataImage, profile: Profile, replication: ReplicationControl) -> None:
        self._image = image
        self._profile = profile
        self._replication = replication

    def reassign(
        self, request: AlterPartitionReassignmentsRequest
    ) -> tuple[list[Record], AlterPartitionReassignmentsResponse]:
        """Begin or cancel reassignments; the brokers' own AlterPartition ends them."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for wanted in request.partitions:
            error, message, changes = self._reassign(wanted)
            records.extend(changes)
            answers.append(AdminError(wanted.partition, error, message))
        return records, AlterPartitionReassignmentsResponse(request.correlation, KafkaError.NONE, tuple(answers))

    def _reassign(self, wanted: ReassignablePartition) -> tuple[KafkaError, str, list[Record]]:
        image, profile = self._image, self._profile
        state = image.partitions.get(wanted.partition)
        if state is None:
            return KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "", []
        topic = self._replication.topic_config(topic_of(wanted.partition))
        if wanted.replicas is None:
            change = cancel_kraft(state, active=image.active, profile=profile, topic=topic, by=f"{_BY} cancelled")
            if isinstance(change, KafkaError):
                return change, "", []
            return KafkaError.NONE, "", [recorded(change)]
        error = check_target(wanted.replicas, lambda broker: broker in image.brokers)
        if error is not KafkaError.NONE:
            return error, "Replicas must be registered brokers, each once.", []
        begun = begin_kraft(state, wanted.replicas, active=image.active, profile=profile, topic=topic, by=_BY)
        return KafkaError.NONE, "", [] if begun is None else [recorded(begun)]

    def list_reassignments(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        """What is under way."""
        image = self._image
        names = request.partitions or tuple(image.partitions)
        states = [image.partitions[name] for name in names if name in image.partitions]
        found = tuple(
            OngoingReassignment(state.partition, state.replicas, state.adding, state.removing)
            for state in states
            if in_progress(state)
        )
        return ListPartitionReassignmentsResponse(request.correlation, KafkaError.NONE, found)

    def elect(self, request: ElectLeadersRequest) -> tuple[list[Record], ElectLeadersResponse]:
        """Elections on demand; of all partitions only those are told of for which there was something to do."""
        records: list[Record] = []
        answers: list[AdminError] = []
        for partition in request.partitions or tuple(self._image.partitions):
            error, changes = self._replication.elect(partition, unclean=request.unclean)
            records.extend(changes)
            if request.partitions or error is not KafkaError.ELECTION_NOT_NEEDED:
                answers.append(AdminError(partition, error))
        return records, ElectLeadersResponse(request.correlation, KafkaError.NONE, tuple(answers))
