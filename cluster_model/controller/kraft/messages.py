"""Messages between brokers and the active controller of a KRaft cluster, named after Kafka's.

``correlation_id`` numbers a broker's requests on one connection; the response repeats it.
"""

from typing import NamedTuple

from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse


class BrokerRegistrationRequest(NamedTuple):
    """Registration of a newly started process as broker ``broker``, with its ``broker.rack`` (empty for none).

    ``incarnation`` is generated anew by every process. ``previous_epoch`` is the broker epoch that a clean shutdown
    left on disk, -1 for none (KIP-966). ``newest_level`` is the newest level of ``metadata.version`` that its release
    supports, and stands for the ranges of all features (KIP-584).
    """

    correlation_id: int
    broker: int
    incarnation: int
    rack: str = ""
    previous_epoch: int = -1
    newest_level: int = 0


class BrokerRegistrationResponse(NamedTuple):
    """Result of a registration; ``broker_epoch`` identifies it from now on, -1 with an error."""

    correlation_id: int
    error: int
    broker_epoch: int


class BrokerHeartbeatRequest(NamedTuple):
    """Heartbeat of a broker: how far it has replayed the metadata log, and the state that it requests."""

    correlation_id: int
    broker: int
    broker_epoch: int
    metadata_offset: int
    want_fence: bool = False
    want_shut_down: bool = False


class BrokerHeartbeatResponse(NamedTuple):
    """The controller's view of a broker: whether it has replayed its registration, is fenced, and can shut down."""

    correlation_id: int
    error: int
    caught_up: bool = False
    fenced: bool = True
    should_shut_down: bool = False


class AlterPartitionBatchRequest(NamedTuple):
    """All ISR changes that the leaders on one broker propose at a time: Kafka's AlterPartition with many partitions."""

    correlation_id: int
    broker: int
    broker_epoch: int
    partitions: tuple[AlterPartitionRequest, ...]


class AlterPartitionBatchResponse(NamedTuple):
    """Results in the order of the request; ``error`` rejects the whole request."""

    correlation_id: int
    error: int
    partitions: tuple[AlterPartitionResponse, ...]
