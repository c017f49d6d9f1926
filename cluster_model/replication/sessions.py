"""Fetch sessions at a leader: a follower's standing question, and which parts of it may have a new answer (KIP-227).

A follower asks the same of most partitions every time, and most answers are as before. A session keeps the question,
and ``dirty`` the places in it that must be looked at again; a place *rests* while the follower has everything, is in
the ISR and knows the HW, for then another fetch would change nothing but the time of its last arrival. That one time
serves all resting places, and is booked where somebody needs it (``Remote.settle``).

Versions before 1.1 send everything every time, to the same effect: what a session leaves out is what would have been
read as no news. It is therefore a way of counting, not a part of the protocol, and it outlives the leader's process.
"""

from typing import Any

from cluster_model.messages import FetchPartition

Source = tuple[int, int]
"""A follower's broker id, and the number of its fetcher."""


class FetchSession:
    """One fetcher's standing fetch. ``parked`` is its token in the purgatory, 0 while it is not waiting."""

    __slots__ = ("arrived", "asked", "dirty", "parked", "places", "source")

    def __init__(self, source: Source, asked: tuple[FetchPartition, ...]) -> None:
        self.source = source
        self.asked = list(asked)
        self.places = {entry.partition: place for place, entry in enumerate(asked)}
        self.dirty: dict[int, None] = dict.fromkeys(range(len(asked)))
        self.arrived = -1
        """When the last fetch arrived."""
        self.parked = 0

    def disturb(self) -> None:
        """Everything must be looked at again."""
        self.dirty = dict.fromkeys(range(len(self.asked)))

    def save(self) -> tuple[Any, ...]:
        """The question; that nothing rests after a load changes nothing but the work."""
        return (self.source, tuple(self.asked), self.arrived, self.parked)

    @classmethod
    def loaded(cls, saved: tuple[Any, ...]) -> "FetchSession":
        """Undo of :meth:`save`."""
        source, asked, arrived, parked = saved
        session = cls(source, asked)
        session.arrived, session.parked = arrived, parked
        return session


class FetchSessions:
    """All sessions of a leader: the newest by fetcher, and by partition those that must hear of its changes."""

    __slots__ = ("_by_partition", "_by_source", "_sessions")

    def __init__(self) -> None:
        self._sessions: list[FetchSession] = []
        self._by_source: dict[Source, FetchSession] = {}
        self._by_partition: dict[str, list[FetchSession]] = {}

    def of(self, source: Source) -> FetchSession | None:
        """A fetcher's session."""
        return self._by_source.get(source)

    def asking(self, follower: int, partition: str) -> FetchSession | None:
        """The newest session in which a follower asks for a partition."""
        found = [session for session in self.watching(partition) if session.source[0] == follower]
        return found[-1] if found else None

    def watching(self, partition: str) -> list[FetchSession]:
        """Sessions that ask for a partition."""
        return self._by_partition.get(partition, [])

    def open(self, source: Source, asked: tuple[FetchPartition, ...]) -> FetchSession:
        """A new session takes the place of the fetcher's last one, which stays while a fetch of it is parked."""
        former = self._by_source.get(source)
        session = FetchSession(source, asked)
        self._add(session)
        if former is not None:
            self.drop_if_over(former)
        return session

    def _add(self, session: FetchSession) -> None:
        self._by_source[session.source] = session
        self._sessions.append(session)
        for entry in session.asked:
            self._by_partition.setdefault(entry.partition, []).append(session)

    def drop_if_over(self, session: FetchSession) -> None:
        """Forget a session that nobody uses any more."""
        if not session.parked and self._by_source[session.source] is not session:
            self._sessions.remove(session)
            for entry in session.asked:
                self._by_partition[entry.partition].remove(session)

    def disturb(self) -> None:
        """Roles or the live brokers changed: nothing rests."""
        for session in self._sessions:
            session.disturb()

    def unpark(self) -> None:
        """The process died, and every parked fetch with it."""
        for session in tuple(self._sessions):
            session.parked = 0
            session.disturb()
            self.drop_if_over(session)

    def save(self) -> tuple[Any, ...]:
        """All state, in the order of opening, in which the newest of a fetcher is the last."""
        return tuple([session.save() for session in self._sessions])

    def load(self, saved: tuple[Any, ...]) -> dict[int, FetchSession]:
        """Undo of :meth:`save`; those that are parked, by token."""
        self._sessions.clear()
        self._by_source.clear()
        self._by_partition.clear()
        for state in saved:
            self._add(FetchSession.loaded(state))
        return {session.parked: session for session in self._sessions if session.parked}
