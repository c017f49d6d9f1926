"""Requests to brokers, gathered while states change and sent together (``ControllerBrokerRequestBatch``)."""

from collections.abc import Callable, Iterable

from cluster_model.controller.zookeeper.controller_context import ControllerContext
from cluster_model.controller.zookeeper.messages import (
    DELETE_EPOCH,
    DURING_DELETE,
    ControlRequest,
    LeaderAndIsrRequest,
    StoppedReplica,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile


class RequestBatch:
    """What is to be sent; :meth:`send` empties it."""

    __slots__ = ("_broker_id", "_context", "_leader_and_isr", "_metadata", "_profile", "_stop", "_told")

    def __init__(self, broker_id: int, profile: Profile, context: ControllerContext) -> None:
        self._broker_id = broker_id
        self._profile = profile
        self._context = context
        self._leader_and_isr: dict[int, dict[str, PartitionState]] = {}
        self._metadata: dict[str, PartitionState] = {}
        self._told: dict[int, None] = {}
        """Brokers that get an UpdateMetadata."""
        self._stop: dict[int, dict[str, StoppedReplica]] = {}

    def lead_and_follow(self, brokers: Iterable[int], partition: str) -> None:
        """LeaderAndIsr to these brokers, and UpdateMetadata to all."""
        state = self._context.partitions[partition]
        for broker in brokers:
            self._leader_and_isr.setdefault(broker, {})[partition] = state
        self.tell(self._context.reachable, (partition,))

    def tell(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        """UpdateMetadata to these brokers, about these partitions as far as anything was decided of them."""
        self._told.update(dict.fromkeys(brokers))
        for partition in partitions:
            state = self._context.partitions[partition]
            if self._context.is_deleting(partition):
                self._metadata[partition] = state._replace(leader=DURING_DELETE)
            elif self._context.decided(partition):
                self._metadata[partition] = state

    def stop(self, broker: int, partition: str, *, delete: bool) -> None:
        """StopReplica; the leader epoch is told from 2.6 on (KIP-570)."""
        if self._profile.number < (2, 6, 0):
            epoch = -1
        elif self._context.is_deleting(partition):
            epoch = DELETE_EPOCH
        else:
            epoch = self._context.partitions[partition].leader_epoch
        self._stop.setdefault(broker, {})[partition] = StoppedReplica(partition, epoch, delete)

    def send(self, send: Callable[[int, ControlRequest], None]) -> None:
        """LeaderAndIsr first, then UpdateMetadata, then StopReplica, each to whom it is for."""
        for broker in sorted(self._leader_and_isr):
            states = tuple(self._leader_and_isr[broker].values())
            self._to(send, broker, LeaderAndIsrRequest(0, self._broker_id, self._context.epoch, -1, states))
        if self._told:
            request = self._update_metadata()
            for broker in sorted(self._told):
                self._to(send, broker, request)
        for broker in sorted(self._stop):
            stopped = tuple(self._stop[broker].values())
            self._to(send, broker, StopReplicaRequest(0, self._broker_id, self._context.epoch, -1, stopped))
        self.clear()

    def clear(self) -> None:
        """Forget what was gathered: who gathered it has failed half-way."""
        self._leader_and_isr.clear()
        self._metadata.clear()
        self._told.clear()
        self._stop.clear()

    def _update_metadata(self) -> UpdateMetadataRequest:
        known = self._context.brokers
        return UpdateMetadataRequest(
            0,
            self._broker_id,
            self._context.epoch,
            -1,
            tuple(self._metadata.values()),
            tuple(known),
            tuple(broker.epoch for broker in known.values()),
            tuple(broker.rack for broker in known.values()),
        )

    def _to(self, send: Callable[[int, ControlRequest], None], broker: int, request: ControlRequest) -> None:
        known = self._context.brokers.get(broker)
        if known is None:
            return
        if self._profile.bounce_detected:
            request = request._replace(broker_epoch=known.epoch)
        send(broker, request)
