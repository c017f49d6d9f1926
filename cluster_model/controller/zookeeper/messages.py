"""Messages between a ZooKeeper-mode controller and the brokers, named after Kafka's. Frozen, like every message."""

from typing import Final, NamedTuple

from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse, PartitionState

DURING_DELETE: Final = -2
"""``leader`` of a partition whose topic is being deleted (``LeaderAndIsr.LeaderDuringDelete``)."""
DELETE_EPOCH: Final = -2
"""``leader_epoch`` of a StopReplica that deletes its topic: it passes every fence (``EpochDuringDelete``)."""


class LeaderAndIsrRequest(NamedTuple):
    """Makes a broker leader or follower of partitions.

    ``broker_epoch`` is that of the addressed registration, -1 before KIP-380 (2.2).
    """

    correlation_id: int
    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[PartitionState, ...]


class LeaderAndIsrResponse(NamedTuple):
    """Response to LeaderAndIsr: ``error`` of the whole request, else (partition, error) of rejected partitions."""

    correlation_id: int
    error: int
    partitions: tuple[tuple[str, int], ...]


class UpdateMetadataRequest(NamedTuple):
    """Update of a metadata cache: partition states, and the live brokers with their epochs and racks."""

    correlation_id: int
    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    racks: tuple[str, ...]


class UpdateMetadataResponse(NamedTuple):
    """Response to UpdateMetadata, which succeeds or fails as a whole."""

    correlation_id: int
    error: int


class StoppedReplica(NamedTuple):
    """A replica to stop; ``leader_epoch`` is -1 before 2.6, where the request does not carry it."""

    partition: str
    leader_epoch: int
    delete: bool


class StopReplicaRequest(NamedTuple):
    """Stops fetching of replicas, and deletes some of them."""

    correlation_id: int
    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[StoppedReplica, ...]


class StopReplicaResponse(NamedTuple):
    """Response to StopReplica: ``error`` rejects the whole request, else (partition, error) of every partition."""

    correlation_id: int
    error: int
    partitions: tuple[tuple[str, int], ...]


ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
"""Requests of a controller to brokers, sent to each broker one at a time and in order."""
ControlResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse


NO_EPOCH: Final = -1
"""Stands for no broker epoch in a request (``AbstractControlRequest.UNKNOWN_BROKER_EPOCH``)."""


class ControlledShutdownRequest(NamedTuple):
    """Announces the shutdown of a broker, and requests that its leaderships are moved.

    ``broker_epoch`` is :data:`NO_EPOCH` before KIP-380 (2.2).
    """

    correlation_id: int
    broker: int
    broker_epoch: int


class ControlledShutdownResponse(NamedTuple):
    """Response to a controlled shutdown; ``remaining`` are the partitions that the broker still leads."""

    correlation_id: int
    error: int
    remaining: tuple[str, ...]


class AlterPartitionsRequest(NamedTuple):
    """All ISR changes that the leaders on one broker propose (KIP-497); one such request in flight per broker."""

    correlation_id: int
    broker: int
    broker_epoch: int
    partitions: tuple[AlterPartitionRequest, ...]


class AlterPartitionsResponse(NamedTuple):
    """Results of proposed ISR changes; ``error`` rejects the whole request."""

    correlation_id: int
    error: int
    partitions: tuple[AlterPartitionResponse, ...]
