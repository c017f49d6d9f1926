"""Registrations and heartbeats as the active controller handles them (``ClusterControlManager``). Sans-IO.

A broker may lead and be in an ISR only while it is registered, not fenced, and not shutting down.
"""

from cluster_model.controller.kraft.heartbeats import HeartbeatManager
from cluster_model.controller.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import MetadataImage, Registration
from cluster_model.controller.kraft.records import (
    FENCE,
    UNFENCE,
    BrokerRegistrationChangeRecord,
    Record,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from cluster_model.controller.kraft.replication_control import ReplicationControl
from cluster_model.controller.rules.partition_change import BrokerControlState
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.versions import Profile


class ClusterControl:
    """Decisions about brokers over one image."""

    __slots__ = ("_image", "_profile", "_replication", "heartbeats")

    def __init__(
        self, image: MetadataImage, profile: Profile, replication: ReplicationControl, heartbeats: HeartbeatManager
    ) -> None:
        self.heartbeats = heartbeats
        self._image = image
        self._profile = profile
        self._replication = replication

    def register(
        self, request: BrokerRegistrationRequest, end: int, now: int
    ) -> tuple[list[Record], BrokerRegistrationResponse]:
        """A process says that it is a broker; ``end`` is the offset of the next record.

        While the old session of another process is valid it is refused: a broker that comes back fast has to wait until
        its former life is given up.
        """
        number, broker = request.correlation, request.broker
        known = self._image.brokers.get(broker)
        other = known is not None and known.incarnation != request.incarnation
        if other and self.heartbeats.valid(broker, now):
            return [], BrokerRegistrationResponse(number, KafkaError.DUPLICATE_BROKER_REGISTRATION, -1)
        if known is not None and not other:
            again = RegisterBrokerRecord(
                broker, known.incarnation, known.epoch, request.rack, known.fenced, known.in_controlled_shutdown
            )
            self.heartbeats.touch(broker, now, fenced=known.fenced)
            return [again], BrokerRegistrationResponse(number, KafkaError.NONE, known.epoch)
        records: list[Record] = [] if known is None else self._former_life_over(known, request)
        epoch = end + len(records)
        records.append(RegisterBrokerRecord(broker, request.incarnation, epoch, request.rack))
        self.heartbeats.touch(broker, now, fenced=True)
        return records, BrokerRegistrationResponse(number, KafkaError.NONE, epoch)

    def _former_life_over(self, known: Registration, request: BrokerRegistrationRequest) -> list[Record]:
        """With KIP-966 a process that cannot show the epoch of a clean shutdown has stopped uncleanly."""
        broker = known.broker
        if self._profile.elr and request.previous_epoch != known.epoch:
            return self._replication.forgotten(broker, f"broker {broker} had not stopped cleanly")
        return [] if known.fenced else self._replication.gone(broker, f"broker {broker} registered anew")

    def heartbeat(
        self, request: BrokerHeartbeatRequest, end: int, now: int
    ) -> tuple[list[Record], BrokerHeartbeatResponse]:
        """A broker lives; what it wants to be may change what it is."""
        number, broker = request.correlation, request.broker
        known = self._image.brokers.get(broker)
        if known is None:
            return [], BrokerHeartbeatResponse(number, KafkaError.BROKER_ID_NOT_REGISTERED)
        if known.epoch != request.broker_epoch:
            return [], BrokerHeartbeatResponse(number, KafkaError.STALE_BROKER_EPOCH)
        if broker not in self.heartbeats.sessions:
            self.heartbeats.touch(broker, now, fenced=known.fenced)
        leads = (request.want_shut_down or known.in_controlled_shutdown) and self._replication.leads(broker)
        state = self.heartbeats.next_state(known, request, leads=leads)
        records = self._transition(known, state)
        fenced = state in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)
        self.heartbeats.touch(broker, now, fenced=fenced, metadata_offset=request.metadata_offset)
        if state is BrokerControlState.CONTROLLED_SHUTDOWN:
            self.heartbeats.shutting_down(broker, end + len(records) - 1)
        response = BrokerHeartbeatResponse(
            number,
            KafkaError.NONE,
            caught_up=request.metadata_offset >= known.epoch,
            fenced=fenced,
            should_shut_down=state is BrokerControlState.SHUTDOWN_NOW,
        )
        return records, response

    def _transition(self, known: Registration, state: BrokerControlState) -> list[Record]:
        broker, epoch = known.broker, known.epoch
        if state is BrokerControlState.UNFENCED:
            if not known.fenced:
                return []
            back = self._replication.back(broker, f"broker {broker} is back")
            return [*back, BrokerRegistrationChangeRecord(broker, epoch, UNFENCE)]
        if state is BrokerControlState.CONTROLLED_SHUTDOWN:
            if known.in_controlled_shutdown:
                return []
            gone = self._replication.gone(broker, f"broker {broker} shutting down")
            return [BrokerRegistrationChangeRecord(broker, epoch, in_controlled_shutdown=True), *gone]
        if known.fenced:
            return []
        why = "shut down" if state is BrokerControlState.SHUTDOWN_NOW else "asked to be fenced"
        return self._fencing(known, why)

    def _fencing(self, known: Registration, why: str) -> list[Record]:
        gone = self._replication.gone(known.broker, f"broker {known.broker} fenced")
        return [*gone, BrokerRegistrationChangeRecord(known.broker, known.epoch, FENCE, why=why)]

    def fence_stale(self, now: int) -> list[Record]:
        """Fence the one broker whose session ran out first; nothing if none did."""
        return self.expire(self.heartbeats.stale(now))

    def expire(self, broker: int) -> list[Record]:
        """A broker's session is over: fence it; nothing for one that is not known, or fenced already."""
        known = self._image.brokers.get(broker)
        if known is None:
            return []
        self.heartbeats.fence(broker)
        if known.fenced:
            return []
        return self._fencing(known, "session timed out")

    def unregister(self, broker: int) -> tuple[KafkaError, list[Record]]:
        """Forget a broker for good."""
        known = self._image.brokers.get(broker)
        if known is None:
            return KafkaError.BROKER_ID_NOT_REGISTERED, []
        self.heartbeats.remove(broker)
        forget = self._replication.forgotten if self._profile.elr else self._replication.gone
        records = forget(broker, f"broker {broker} unregistered")
        return KafkaError.NONE, [*records, UnregisterBrokerRecord(broker, known.epoch)]
