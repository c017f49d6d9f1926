"""Registrations, heartbeats and levels of features at the active controller (``ClusterControlManager``). Sans-IO.

A broker may lead and be in an ISR only while it is registered, not fenced, and not shutting down.
"""

from collections.abc import Mapping
from typing import Any, Final

from cluster_model.controller.kraft.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from cluster_model.controller.kraft.metadata import (
    FENCE,
    UNFENCE,
    BrokerRegistrationChangeRecord,
    MetadataImage,
    Record,
    RegisterBrokerRecord,
    Registration,
    UnregisterBrokerRecord,
)
from cluster_model.controller.kraft.replication_control_manager import ReplicationControl
from cluster_model.controller.rules.partition_change import BrokerControlState, next_state
from cluster_model.protocol.admin_messages import (
    AdminError,
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
    UpgradeType,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.features import (
    CHANGED_METADATA,
    ELR_NEEDS,
    LOWEST_BOOTSTRAP_LEVEL,
    METADATA_FEATURE,
    Feature,
    features_of,
)
from cluster_model.protocol.versions import ELR_FEATURE, Profile

# Sessions of brokers as the active controller keeps them, in its memory alone (``BrokerHeartbeatManager``). Sans-IO.
#
# A new active controller knows of no contact, so it counts every broker that the log does not have fenced as heard of
# in this moment: a failover of the controller gives each another whole session.


NEVER: Final = -1


class BrokerSession:
    """A broker's contact with the controller."""

    __slots__ = ("contact", "fenced", "metadata_offset", "shutdown_offset")

    def __init__(self, contact: int, *, fenced: bool) -> None:
        self.contact = contact
        """When it was last heard of."""
        self.fenced = fenced
        self.metadata_offset = NEVER
        """How far it has replayed the log, by its own word."""
        self.shutdown_offset = NEVER
        """End of the log when its controlled shutdown began."""


class HeartbeatManager:
    """All sessions of one active controller."""

    __slots__ = ("_session_us", "sessions")

    def __init__(self, session_us: int) -> None:
        self.sessions: dict[int, BrokerSession] = {}
        self._session_us = session_us

    def activate(self, brokers: dict[int, Registration], now: int) -> None:
        """Begin with what the log knows; everybody counts as heard of now."""
        self.sessions = {broker: BrokerSession(now, fenced=known.fenced) for broker, known in brokers.items()}

    def clear(self) -> None:
        """No longer the active controller."""
        self.sessions = {}

    def valid(self, broker: int, now: int) -> bool:
        """Whether a broker has a session that has not run out; a fenced one has none."""
        session = self.sessions.get(broker)
        return session is not None and not session.fenced and now < session.contact + self._session_us

    def touch(self, broker: int, now: int, *, fenced: bool, metadata_offset: int = NEVER) -> None:
        """Heard of a broker; ``fenced`` is how it stands from here on."""
        session = self.sessions.get(broker)
        if session is None:
            session = self.sessions[broker] = BrokerSession(now, fenced=fenced)
        session.contact = now
        session.fenced = fenced
        session.metadata_offset = metadata_offset
        if fenced:
            session.shutdown_offset = NEVER

    def fence(self, broker: int) -> None:
        """A broker is fenced; it has no session from here on."""
        session = self.sessions.get(broker)
        if session is not None:
            session.fenced = True
            session.shutdown_offset = NEVER

    def remove(self, broker: int) -> None:
        """A broker is unregistered."""
        self.sessions.pop(broker, None)

    def shutting_down(self, broker: int, end: int) -> None:
        """A broker's controlled shutdown is under way; the first call tells at which end of the log it began."""
        session = self.sessions[broker]
        if session.shutdown_offset == NEVER:
            session.shutdown_offset = end

    def next_deadline(self) -> int:
        """When the next session runs out, -1 with none."""
        contacts = [session.contact for session in self.sessions.values() if not session.fenced]
        return min(contacts) + self._session_us if contacts else NEVER

    def stale(self, now: int) -> int:
        """The broker whose session ran out first, -1 with none: one is fenced at a time."""
        late = [
            (session.contact, broker)
            for broker, session in self.sessions.items()
            if not session.fenced and session.contact + self._session_us <= now
        ]
        return min(late)[1] if late else NEVER

    def next_state(self, known: Registration, request: BrokerHeartbeatRequest, *, leads: bool) -> BrokerControlState:
        """What a broker becomes by its heartbeat; ``leads``: some partition.

        A controller that has only just taken over lets a controlled shutdown begin anew.
        """
        session = self.sessions[known.broker]
        state = (
            BrokerControlState.FENCED if known.fenced
            else BrokerControlState.CONTROLLED_SHUTDOWN if known.in_controlled_shutdown
            else BrokerControlState.UNFENCED
        )  # fmt: skip
        begun = state is not BrokerControlState.CONTROLLED_SHUTDOWN or session.shutdown_offset != NEVER
        active = [
            other.metadata_offset
            for other in self.sessions.values()
            if not other.fenced and other.shutdown_offset == NEVER
        ]
        return next_state(
            state,
            want_fence=request.want_fence,
            want_shut_down=request.want_shut_down,
            metadata_offset=request.metadata_offset,
            registration_offset=known.epoch,
            leads=leads or not begun,
            shutdown_offset=session.shutdown_offset,
            lowest_active_offset=min(active, default=None),
        )

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(
            (broker, session.contact, session.fenced, session.metadata_offset, session.shutdown_offset)
            for broker, session in self.sessions.items()
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.sessions = {}
        for broker, contact, fenced, metadata_offset, shutdown_offset in saved:
            session = self.sessions[broker] = BrokerSession(contact, fenced=fenced)
            session.metadata_offset, session.shutdown_offset = metadata_offset, shutdown_offset


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


# Levels of features at the active controller (``FeatureControlManager``). Sans-IO.
#
# Levels are those that the cluster was formed with: what Kafka refuses is refused here by the same error, and a change
# that Kafka would make is FEATURE_UPDATE_FAILED, for the rules of a running cluster stay what they are.


_FIXED: Final = "levels of features are those that the cluster was formed with"


class FeatureControl:
    """Decisions about the features of one cluster."""

    __slots__ = ("_features", "_whole")

    def __init__(self, profile: Profile, config: Mapping[str, ConfigValue]) -> None:
        self._features = {feature.name: feature for feature in features_of(profile, config)}
        self._whole = profile.atomic_feature_updates

    def update(self, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """The result of each update; the last one of a feature counts."""
        updates = {update.feature: update for update in request.updates}
        proposed = {name: feature.level for name, feature in self._features.items()}
        proposed.update({name: update.level for name, update in updates.items()})
        results = []
        for name, update in sorted(updates.items()):
            refused = self._refused(update, proposed)
            if refused:
                results.append(AdminError(name, KafkaError.INVALID_UPDATE_VERSION, refused))
            elif not request.validate_only and update.level != self._features[name].level:
                results.append(AdminError(name, KafkaError.FEATURE_UPDATE_FAILED, _FIXED))
            else:
                results.append(AdminError(name, KafkaError.NONE))
        number = request.correlation
        failed = [result for result in results if result.error]
        if self._whole and failed:
            return UpdateFeaturesResponse(number, failed[0].error, f"{failed[0].name}: {failed[0].message}", ())
        return UpdateFeaturesResponse(number, KafkaError.NONE, "", tuple(results))

    def _refused(self, update: FeatureUpdate, proposed: Mapping[str, int]) -> str:
        """Why Kafka refuses an update, empty if it does not (``FeatureControlManager.updateFeature``)."""
        level = update.level
        if update.type not in tuple(UpgradeType):
            return f"found upgrade type {update.type}, allowed are 1 to 3"
        feature = self._features.get(update.feature)
        if feature is None:
            return f"found {update.feature!r}, supported are {', '.join(self._features)}"
        if not feature.lowest <= level <= feature.highest:
            return f"found level {level}, supported are {feature.lowest} to {feature.highest}"
        if level < feature.level and update.type == UpgradeType.UPGRADE:
            return f"found level {level}, which is a downgrade from {feature.level}, by an upgrade"
        if level > feature.level and update.type != UpgradeType.UPGRADE:
            return f"found level {level}, which is an upgrade from {feature.level}, by a downgrade"
        if update.feature == METADATA_FEATURE:
            return _metadata_refused(level, feature)
        if update.feature == ELR_FEATURE and level and proposed[METADATA_FEATURE] < ELR_NEEDS:
            return f"found {METADATA_FEATURE} {proposed[METADATA_FEATURE]}, needed is {ELR_NEEDS}"
        return ""


def _metadata_refused(level: int, feature: Feature) -> str:
    """``updateMetadataVersion``: no downgrade over a level that changed the records, safe or not (KAFKA-13896)."""
    if level < LOWEST_BOOTSTRAP_LEVEL:
        return f"found level {level}, allowed from {LOWEST_BOOTSTRAP_LEVEL} on"
    lost = [each for each in CHANGED_METADATA if level < each <= feature.level]
    return f"found level {level}, and level {lost[0]} has changed the metadata since" if lost else ""
