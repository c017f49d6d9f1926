"""Between a broker and the test double that is all its control plane."""

from typing import NamedTuple

from cluster_model.protocol.messages import PartitionState


class BrokerRegistrationRequest(NamedTuple):
    """A process that just started says that it is broker ``broker``, and its ``broker.rack`` (empty for none)."""

    broker: int
    incarnation: int
    rack: str = ""


class BrokerRegistrationResponse(NamedTuple):
    """``broker_epoch`` names this registration from here on."""

    error: int
    broker_epoch: int


class BrokerHeartbeatRequest(NamedTuple):
    """A broker lives. In ZooKeeper mode this is its session's ping."""

    broker: int
    broker_epoch: int


class BrokerHeartbeatResponse(NamedTuple):
    """``error`` STALE_BROKER_EPOCH: register again."""

    error: int


class LeaderAndIsrRequest(NamedTuple):
    """Decisions that changed, and the brokers that live: LeaderAndIsr with UpdateMetadata, or the metadata log.

    ``racks`` are those brokers' racks, in the same order; empty where none has any.
    """

    controller_epoch: int
    partitions: tuple[PartitionState, ...]
    brokers: tuple[int, ...]
    broker_epochs: tuple[int, ...]
    racks: tuple[str, ...] = ()
