"""What a ZooKeeper-mode controller and the brokers tell each other, by Kafka's names. Frozen, like every message."""

from typing import Final, NamedTuple

from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse, PartitionState

DURING_DELETE: Final = -2
"""``leader`` of a partition whose topic is being deleted (``LeaderAndIsr.LeaderDuringDelete``)."""
DELETE_EPOCH: Final = -2
"""``leader_epoch`` of a StopReplica that deletes its topic: it passes every fence (``EpochDuringDelete``)."""


class LeaderAndIsrRequest(NamedTuple):
    """Lead these partitions, or follow their leaders.

    ``broker_epoch`` is the registration that is meant, -1 before KIP-380 (2.2).
    """

    correlation: int
    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[PartitionState, ...]


class LeaderAndIsrResponse(NamedTuple):
    """``error`` refuses the whole; else (partition, error) for each that was refused."""

    correlation: int
    error: int
    partitions: tuple[tuple[str, int], ...]


class UpdateMetadataRequest(NamedTuple):
    """What the metadata cache is to say of these partitions, and which brokers live, with their epochs and racks."""

    correlation: int
    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    racks: tuple[str, ...]


class UpdateMetadataResponse(NamedTuple):
    """What came of it."""

    correlation: int
    error: int


class StoppedReplica(NamedTuple):
    """A replica to stop; ``leader_epoch`` is -1 before 2.6, where none is told."""

    partition: str
    leader_epoch: int
    delete: bool


class StopReplicaRequest(NamedTuple):
    """Stop fetching for these replicas, and delete some of them."""

    correlation: int
    controller: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[StoppedReplica, ...]


class StopReplicaResponse(NamedTuple):
    """``error`` refuses the whole; else (partition, error) for each, NONE included."""

    correlation: int
    error: int
    partitions: tuple[tuple[str, int], ...]


ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
"""What a controller sends to brokers, one at a time and in order."""
ControlResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse


class ControlledShutdownRequest(NamedTuple):
    """A broker is about to stop, and would rather lead nothing by then."""

    correlation: int
    broker: int
    broker_epoch: int


class ControlledShutdownResponse(NamedTuple):
    """``remaining`` are the partitions that it still leads."""

    correlation: int
    error: int
    remaining: tuple[str, ...]


class AlterPartitionsRequest(NamedTuple):
    """All ISR changes that a broker's leaders have to propose (KIP-497): one such request under way per broker."""

    correlation: int
    broker: int
    broker_epoch: int
    partitions: tuple[AlterPartitionRequest, ...]


class AlterPartitionsResponse(NamedTuple):
    """``error`` refuses the whole."""

    correlation: int
    error: int
    partitions: tuple[AlterPartitionResponse, ...]
