"""Requests of administrators on the active controller (``ControllerApis``): each gets records and one answer."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from cluster_model.controller.kraft.cluster_control_manager import ClusterControl
from cluster_model.controller.kraft.configuration_control import ConfigurationControl
from cluster_model.controller.kraft.metadata import MetadataImage
from cluster_model.controller.kraft.partition_control import PartitionControl
from cluster_model.controller.kraft.records import Record
from cluster_model.controller.kraft.replication_control import ReplicationControl
from cluster_model.controller.kraft.replication_control_manager import TopicControl
from cluster_model.controller.rules.replica_placement import Draw
from cluster_model.protocol.admin_messages import (
    AdminRequest,
    AdminResponse,
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    EnvelopeRequest,
    EnvelopeResponse,
    IncrementalAlterConfigsRequest,
    ListPartitionReassignmentsRequest,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    refusal,
)
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.versions import Profile

REQUESTS: Final[tuple[type[Any], ...]] = (
    CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest, AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest, ElectLeadersRequest, IncrementalAlterConfigsRequest, UnregisterBrokerRequest,
)  # fmt: skip
"""What an administrator may ask of a controller itself (KIP-919); brokers hand the same on in an envelope."""


class AdminControl:
    """Decisions over one image."""

    __slots__ = ("_cluster", "_configs", "_partitions", "_topics")

    REQUESTS: Final = (*REQUESTS, EnvelopeRequest)

    def __init__(
        self,
        image: MetadataImage,
        profile: Profile,
        replication: ReplicationControl,
        cluster: ClusterControl,
        defaults: Mapping[str, ConfigValue],
        draw: Callable[[str], Draw],
    ) -> None:
        self._cluster = cluster
        self._topics = TopicControl(image, draw, defaults)
        self._configs = ConfigurationControl(image, elr=profile.elr)
        self._partitions = PartitionControl(image, profile, replication)

    @staticmethod
    def failure(request: AdminRequest | EnvelopeRequest) -> AdminResponse | EnvelopeResponse:
        """What is answered by a controller that is not active, or not any more."""
        if isinstance(request, EnvelopeRequest):
            return EnvelopeResponse(request.correlation, KafkaError.NOT_CONTROLLER, None)
        return refusal(request, KafkaError.NOT_CONTROLLER, "This is not the active controller.")

    def handle(
        self, request: AdminRequest | EnvelopeRequest, end: int
    ) -> tuple[list[Record], AdminResponse | EnvelopeResponse]:
        """Decide; ``end`` is the offset of the next record."""
        if isinstance(request, EnvelopeRequest):
            records, response = self._handle(request.request, end)
            return records, EnvelopeResponse(request.correlation, KafkaError.NONE, response)
        return self._handle(request, end)

    def _handle(self, request: AdminRequest, end: int) -> tuple[list[Record], AdminResponse]:
        if isinstance(request, CreateTopicsRequest):
            return self._topics.create(request, end)
        if isinstance(request, DeleteTopicsRequest):
            return self._topics.delete(request)
        if isinstance(request, CreatePartitionsRequest):
            return self._topics.add_partitions(request)
        if isinstance(request, AlterPartitionReassignmentsRequest):
            return self._partitions.reassign(request)
        if isinstance(request, ListPartitionReassignmentsRequest):
            return [], self._partitions.list_reassignments(request)
        if isinstance(request, ElectLeadersRequest):
            return self._partitions.elect(request)
        if isinstance(request, IncrementalAlterConfigsRequest):
            return self._configs.alter(request)
        error, records = self._cluster.unregister(request.broker)
        return records, UnregisterBrokerResponse(request.correlation, error)
