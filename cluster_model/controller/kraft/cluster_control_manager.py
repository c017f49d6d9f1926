"""Broker registrations and heartbeats at the active controller (``ClusterControlManager``). Sans-IO.

A broker can lead and be in an ISR only while it is registered, not fenced, and not shutting down.
"""

from typing import Any, Final

from cluster_model.controller.kraft.feature_control_manager import FeatureControlManager
from cluster_model.controller.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import (
    FENCE,
    UNFENCE,
    BrokerRegistration,
    BrokerRegistrationChangeRecord,
    MetadataImage,
    Record,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from cluster_model.controller.kraft.replication_control_manager import ReplicationControlManager
from cluster_model.controller.rules.partition_change import BrokerControlState, next_state
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.features import METADATA_FEATURE
from cluster_model.protocol.versions import Profile

# Sessions of brokers, which the active controller keeps in memory only (``BrokerHeartbeatManager``). Sans-IO. A new
# active controller has no last contact of any broker, so it counts every broker that is not fenced in the log as just
# contacted: a controller failover gives each broker another full session.


NEVER: Final = -1


class BrokerSession:
    """Last contact of a broker with the controller, and how far it has replayed the log."""

    __slots__ = ("contacted_at", "fenced", "metadata_offset", "shutdown_offset")

    def __init__(self, contact: int, *, fenced: bool) -> None:
        self.contacted_at = contact
        """Time of its last heartbeat or registration in µs."""
        self.fenced = fenced
        self.metadata_offset = NEVER
        """Offset up to which it reports to have replayed the log."""
        self.shutdown_offset = NEVER
        """End offset of the log when its controlled shutdown began."""


class BrokerHeartbeatManager:
    """Sessions of all brokers at one active controller (``BrokerHeartbeatManager``)."""

    __slots__ = ("_session_us", "sessions")

    def __init__(self, session_us: int) -> None:
        self.sessions: dict[int, BrokerSession] = {}
        self._session_us = session_us

    def activate(self, brokers: dict[int, BrokerRegistration], now: int) -> None:
        """Start with the brokers in the log; each counts as contacted now."""
        self.sessions = {broker: BrokerSession(now, fenced=known.fenced) for broker, known in brokers.items()}

    def clear(self) -> None:
        """Forget all sessions: no longer the active controller."""
        self.sessions = {}

    def valid(self, broker: int, now: int) -> bool:
        """Whether a broker has a session that has not expired; a fenced broker has none."""
        session = self.sessions.get(broker)
        return session is not None and not session.fenced and now < session.contacted_at + self._session_us

    def touch(self, broker: int, now: int, *, fenced: bool, metadata_offset: int = NEVER) -> None:
        """Record a contact of a broker, and whether it is fenced from now on."""
        session = self.sessions.get(broker)
        if session is None:
            session = self.sessions[broker] = BrokerSession(now, fenced=fenced)
        session.contacted_at = now
        session.fenced = fenced
        session.metadata_offset = metadata_offset
        if fenced:
            session.shutdown_offset = NEVER

    def fence(self, broker: int) -> None:
        """End the session of a broker that was fenced."""
        session = self.sessions.get(broker)
        if session is not None:
            session.fenced = True
            session.shutdown_offset = NEVER

    def remove(self, broker: int) -> None:
        """Remove a broker that was unregistered."""
        self.sessions.pop(broker, None)

    def shutting_down(self, broker: int, end: int) -> None:
        """Record that a controlled shutdown is in progress; the first call sets the log end at which it began."""
        session = self.sessions[broker]
        if session.shutdown_offset == NEVER:
            session.shutdown_offset = end

    def next_deadline(self) -> int:
        """Time at which the next session expires in µs, -1 if there is none."""
        contacts = [session.contacted_at for session in self.sessions.values() if not session.fenced]
        return min(contacts) + self._session_us if contacts else NEVER

    def stale(self, now: int) -> int:
        """The broker whose session expired first, -1 if none did: brokers are fenced one at a time."""
        late = [
            (session.contacted_at, broker)
            for broker, session in self.sessions.items()
            if not session.fenced and session.contacted_at + self._session_us <= now
        ]
        return min(late)[1] if late else NEVER

    def next_state(
        self, registration: BrokerRegistration, request: BrokerHeartbeatRequest, *, leads: bool
    ) -> BrokerControlState:
        """Return the state that a heartbeat brings a broker to; ``leads``: whether it leads any partition.

        A new active controller restarts a controlled shutdown that began under its predecessor.
        """
        session = self.sessions[registration.broker]
        state = (
            BrokerControlState.FENCED if registration.fenced
            else BrokerControlState.CONTROLLED_SHUTDOWN if registration.in_controlled_shutdown
            else BrokerControlState.UNFENCED
        )  # fmt: skip
        begun = state is not BrokerControlState.CONTROLLED_SHUTDOWN or session.shutdown_offset != NEVER
        active = [
            peer.metadata_offset for peer in self.sessions.values() if not peer.fenced and peer.shutdown_offset == NEVER
        ]
        return next_state(
            state,
            want_fence=request.want_fence,
            want_shut_down=request.want_shut_down,
            metadata_offset=request.metadata_offset,
            registration_offset=registration.epoch,
            leads=leads or not begun,
            shutdown_offset=session.shutdown_offset,
            lowest_active_offset=min(active, default=None),
        )

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return tuple(
            (broker, session.contacted_at, session.fenced, session.metadata_offset, session.shutdown_offset)
            for broker, session in self.sessions.items()
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.sessions = {}
        for broker, contact, fenced, metadata_offset, shutdown_offset in saved:
            session = self.sessions[broker] = BrokerSession(contact, fenced=fenced)
            session.metadata_offset, session.shutdown_offset = metadata_offset, shutdown_offset


class ClusterControlManager:
    """Decides about registrations and the fencing of brokers, from one metadata image."""

    __slots__ = ("_features", "_image", "_profile", "_replication", "heartbeats")

    def __init__(
        self,
        image: MetadataImage,
        profile: Profile,
        replication: ReplicationControlManager,
        heartbeats: BrokerHeartbeatManager,
        features: FeatureControlManager,
    ) -> None:
        self.heartbeats = heartbeats
        self._features = features
        self._image = image
        self._profile = profile
        self._replication = replication

    def register(
        self, request: BrokerRegistrationRequest, end: int, now: int
    ) -> tuple[list[Record], BrokerRegistrationResponse]:
        """Register a broker's process; ``end`` is the offset of the next record.

        The registration is rejected while the session of another process of that broker is valid: a broker that
        restarts fast has to wait until its former session expires.
        """
        number, broker = request.correlation_id, request.broker
        if request.newest_level < self._features.level(METADATA_FEATURE):
            # ``ClusterControlManager.processRegistrationFeature``
            return [], BrokerRegistrationResponse(number, KafkaError.UNSUPPORTED_VERSION, -1)
        registration = self._image.brokers.get(broker)
        other = registration is not None and registration.incarnation != request.incarnation
        if other and self.heartbeats.valid(broker, now):
            return [], BrokerRegistrationResponse(number, KafkaError.DUPLICATE_BROKER_REGISTRATION, -1)
        if registration is not None and not other:
            renewed = RegisterBrokerRecord(
                broker, registration.incarnation, registration.epoch, request.rack, registration.fenced,
                registration.in_controlled_shutdown, request.newest_level,
            )  # fmt: skip
            self.heartbeats.touch(broker, now, fenced=registration.fenced)
            return [renewed], BrokerRegistrationResponse(number, KafkaError.NONE, registration.epoch)
        records: list[Record] = [] if registration is None else self._end_former_session(registration, request)
        epoch = end + len(records)
        records.append(
            RegisterBrokerRecord(broker, request.incarnation, epoch, request.rack, newest_level=request.newest_level)
        )
        self.heartbeats.touch(broker, now, fenced=True)
        return records, BrokerRegistrationResponse(number, KafkaError.NONE, epoch)

    def _end_former_session(self, registration: BrokerRegistration, request: BrokerRegistrationRequest) -> list[Record]:
        """Fence the former process; with KIP-966 a wrong clean-shutdown epoch means an unclean shutdown."""
        broker = registration.broker
        if self._profile.elr and request.previous_epoch != registration.epoch:
            return self._replication.handle_unclean_shutdown(broker, f"broker {broker} had not shut down cleanly")
        return (
            []
            if registration.fenced
            else self._replication.handle_broker_fenced(broker, f"broker {broker} registered again")
        )

    def heartbeat(
        self, request: BrokerHeartbeatRequest, end: int, now: int
    ) -> tuple[list[Record], BrokerHeartbeatResponse]:
        """Handle a broker's heartbeat: renew its session, and change its state as it requests."""
        number, broker = request.correlation_id, request.broker
        registration = self._image.brokers.get(broker)
        if registration is None:
            return [], BrokerHeartbeatResponse(number, KafkaError.BROKER_ID_NOT_REGISTERED)
        if registration.epoch != request.broker_epoch:
            return [], BrokerHeartbeatResponse(number, KafkaError.STALE_BROKER_EPOCH)
        if broker not in self.heartbeats.sessions:
            self.heartbeats.touch(broker, now, fenced=registration.fenced)
        leads = (request.want_shut_down or registration.in_controlled_shutdown) and self._replication.leads_any(broker)
        state = self.heartbeats.next_state(registration, request, leads=leads)
        records = self._transition(registration, state)
        fenced = state in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)
        self.heartbeats.touch(broker, now, fenced=fenced, metadata_offset=request.metadata_offset)
        if state is BrokerControlState.CONTROLLED_SHUTDOWN:
            self.heartbeats.shutting_down(broker, end + len(records) - 1)
        response = BrokerHeartbeatResponse(
            number,
            KafkaError.NONE,
            caught_up=request.metadata_offset >= registration.epoch,
            fenced=fenced,
            should_shut_down=state is BrokerControlState.SHUTDOWN_NOW,
        )
        return records, response

    def _transition(self, registration: BrokerRegistration, state: BrokerControlState) -> list[Record]:
        broker, epoch = registration.broker, registration.epoch
        if state is BrokerControlState.UNFENCED:
            if not registration.fenced:
                return []
            back = self._replication.handle_broker_unfenced(broker, f"broker {broker} unfenced")
            return [*back, BrokerRegistrationChangeRecord(broker, epoch, UNFENCE)]
        if state is BrokerControlState.CONTROLLED_SHUTDOWN:
            if registration.in_controlled_shutdown:
                return []
            gone = self._replication.handle_broker_fenced(broker, f"broker {broker} shutting down")
            return [BrokerRegistrationChangeRecord(broker, epoch, in_controlled_shutdown=True), *gone]
        if registration.fenced:
            return []
        why = "shut down" if state is BrokerControlState.SHUTDOWN_NOW else "requested to be fenced"
        return self._fencing(registration, why)

    def _fencing(self, registration: BrokerRegistration, why: str) -> list[Record]:
        gone = self._replication.handle_broker_fenced(registration.broker, f"broker {registration.broker} fenced")
        return [*gone, BrokerRegistrationChangeRecord(registration.broker, registration.epoch, FENCE, reason=why)]

    def fence_stale(self, now: int) -> list[Record]:
        """Fence the one broker whose session expired first, if there is one."""
        return self.expire(self.heartbeats.stale(now))

    def expire(self, broker: int) -> list[Record]:
        """End a broker's session and fence it; does nothing for one that is unknown or already fenced."""
        registration = self._image.brokers.get(broker)
        if registration is None:
            return []
        self.heartbeats.fence(broker)
        if registration.fenced:
            return []
        return self._fencing(registration, "session timed out")

    def unregister(self, broker: int) -> tuple[KafkaError, list[Record]]:
        """Unregister a broker permanently."""
        registration = self._image.brokers.get(broker)
        if registration is None:
            return KafkaError.BROKER_ID_NOT_REGISTERED, []
        self.heartbeats.remove(broker)
        forget = (
            self._replication.handle_unclean_shutdown if self._profile.elr else self._replication.handle_broker_fenced
        )
        records = forget(broker, f"broker {broker} unregistered")
        return KafkaError.NONE, [*records, UnregisterBrokerRecord(broker, registration.epoch)]
