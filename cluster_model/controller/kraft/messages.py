"""What brokers and the active controller of a KRaft quorum say to each other, by Kafka's names.

``correlation`` numbers a broker's requests on one connection; the answer repeats it.
"""

from typing import NamedTuple

from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse


class BrokerRegistrationRequest(NamedTuple):
    """A process that just started says that it is broker ``broker``, and its ``broker.rack`` (empty for none).

    ``incarnation`` is drawn anew by every process. ``previous_epoch`` is the broker epoch that a clean shutdown left on
    disk, -1 for none (KIP-966).
    """

    correlation: int
    broker: int
    incarnation: int
    rack: str = ""
    previous_epoch: int = -1


class BrokerRegistrationResponse(NamedTuple):
    """``broker_epoch`` names this registration from here on; -1 with an error."""

    correlation: int
    error: int
    broker_epoch: int


class BrokerHeartbeatRequest(NamedTuple):
    """A broker lives, has replayed the metadata log up to ``metadata_offset``, and says what it wants to be."""

    correlation: int
    broker: int
    broker_epoch: int
    metadata_offset: int
    want_fence: bool = False
    want_shut_down: bool = False


class BrokerHeartbeatResponse(NamedTuple):
    """How the controller sees it: whether it has heard of its own registration, is fenced, may stop now."""

    correlation: int
    error: int
    caught_up: bool = False
    fenced: bool = True
    should_shut_down: bool = False


class AlterPartitionBatchRequest(NamedTuple):
    """All that the leaders on one broker propose at a time: one AlterPartition of Kafka, which has many partitions."""

    correlation: int
    broker: int
    broker_epoch: int
    partitions: tuple[AlterPartitionRequest, ...]


class AlterPartitionBatchResponse(NamedTuple):
    """``error`` refuses all of it; else an answer to each, in the order asked."""

    correlation: int
    error: int
    partitions: tuple[AlterPartitionResponse, ...]
