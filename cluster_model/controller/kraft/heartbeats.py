"""Sessions of brokers as the active controller keeps them, in its memory alone (``BrokerHeartbeatManager``). Sans-IO.

A new active controller knows of no contact, so it counts every broker that the log does not have fenced as heard of in
this moment: a failover of the controller gives each another whole session.
"""

from typing import Any, Final

from cluster_model.controller.kraft.messages import BrokerHeartbeatRequest
from cluster_model.controller.kraft.metadata import Registration
from cluster_model.controller.rules.partition_change import BrokerControlState, next_state

NEVER: Final = -1


class Session:
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
        self.sessions: dict[int, Session] = {}
        self._session_us = session_us

    def activate(self, brokers: dict[int, Registration], now: int) -> None:
        """Begin with what the log knows; everybody counts as heard of now."""
        self.sessions = {broker: Session(now, fenced=known.fenced) for broker, known in brokers.items()}

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
            session = self.sessions[broker] = Session(now, fenced=fenced)
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
            session = self.sessions[broker] = Session(contact, fenced=fenced)
            session.metadata_offset, session.shutdown_offset = metadata_offset, shutdown_offset
