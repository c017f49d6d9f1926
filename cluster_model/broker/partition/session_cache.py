"""The fetch sessions that a broker keeps, and whose turn it is to lose one (``FetchSessionCache``, KIP-227, 1.1).

A full fetch asks for a session; its answer names one, or 0 where there is no room. Later fetches name it with a number
that rises by one each time. Who names a session that is gone, or another number, is told so and starts again in full.

Slots are limited by ``max.incremental.fetch.session.cache.slots``. A newcomer takes the slot of a session that nobody
has used for two minutes; else, if it is a follower, that of a consumer, or that of a smaller session which has had its
two minutes. Consumers never displace a session before it has had them.

What a session leaves out is a matter of :mod:`cluster_model.broker.partition.fetch_sessions`, which counts alike with and without.
"""

from typing import Any, Final

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import CONSUMER, FetchRequest

EVICTION_US: Final = 120_000_000
"""Time after which a session may be displaced (``MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS``)."""
FULL: Final = 0
"""``session_epoch`` of a fetch that asks for a new session."""
SESSIONLESS: Final = -1
"""``session_epoch`` of a fetch that wants none; before 1.1 every one."""
_LAST_EPOCH: Final = 2**31 - 1
NONE: Final = KafkaError.NONE


def next_epoch(epoch: int) -> int:
    """The number of a session's next fetch (``FetchMetadata.nextEpoch``)."""
    return 1 if epoch == _LAST_EPOCH else epoch + 1


def later_epoch(epoch: int, fetches: int) -> int:
    """The number after that many more fetches of a session."""
    return (epoch - 1 + fetches) % _LAST_EPOCH + 1


class CachedSession:
    """One session: who has it matters only as far as followers go first."""

    __slots__ = ("created_us", "epoch", "id", "privileged", "ripe", "size", "used_us")

    def __init__(self, session_id: int, now: int, size: int, *, privileged: bool) -> None:
        self.id = session_id
        self.epoch = 1
        self.privileged = privileged
        """Whether a follower has it."""
        self.size = size
        """Partitions in it."""
        self.created_us = now
        self.used_us = now
        self.ripe = False
        """Whether it had had its two minutes when it was last used."""

    def use(self, epoch: int, at_us: int) -> None:
        """Fetch number ``epoch`` arrived."""
        self.epoch = next_epoch(epoch)
        self.used_us = at_us
        self.ripe = at_us - self.created_us > EVICTION_US

    def rank(self) -> tuple[bool, int, int]:
        """The least goes first (``EvictableKey``)."""
        return (self.privileged, self.size, self.id)


class SessionCache:
    """All sessions of one life of a broker."""

    __slots__ = ("_sessions", "_slots", "_started")

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._started = 0
        self._sessions: dict[int, CachedSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def arrived(self, now: int, request: FetchRequest) -> KafkaError:
        """Whether a fetch may go on (``FetchManager.newContext``). A full one gives up the session that it names."""
        epoch = request.session_epoch
        if epoch <= FULL:
            self._sessions.pop(request.session_id, None)
            return NONE
        session = self._sessions.get(request.session_id)
        if session is None:
            return KafkaError.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return KafkaError.INVALID_FETCH_SESSION_EPOCH
        session.use(epoch, now)
        if not request.incremental:
            session.size = len(request.partitions)
        return NONE

    def used(self, session_id: int, epoch: int, at_us: int) -> None:
        """Fetch number ``epoch`` of a session had arrived, if it is still there; those before it were left out."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.use(epoch, at_us)

    @property
    def full(self) -> bool:
        """Whether a newcomer needs another one's slot."""
        return 0 < self._slots <= len(self._sessions)

    def begun(self, now: int, request: FetchRequest, size: int, incarnation: int) -> int:
        """A new session for the answer to a full fetch of ``size`` partitions, 0 if there is no room."""
        privileged = request.replica != CONSUMER
        if len(self._sessions) >= self._slots and not self._evict(now, (privileged, size, 0)):
            return 0
        self._started += 1
        # Kafka draws it. It must not be one that a former life of this process gave away.
        session_id = (incarnation << 32) + self._started
        self._sessions[session_id] = CachedSession(session_id, now, size, privileged=privileged)
        return session_id

    def _evict(self, now: int, newcomer: tuple[bool, int, int]) -> bool:
        """Make room if anybody must give way (``FetchSessionCache.tryEvict``)."""
        sessions = self._sessions.values()
        stale = min(sessions, key=lambda session: (session.used_us, session.id), default=None)
        if stale is None:
            return False
        if now - stale.used_us > EVICTION_US:
            del self._sessions[stale.id]
            return True
        evictable = [session for session in sessions if session.ripe or (newcomer[0] and not session.privileged)]
        least = min(evictable, key=CachedSession.rank, default=None)
        if least is None or newcomer < least.rank():
            return False
        del self._sessions[least.id]
        return True

    def clear(self) -> None:
        """The process died."""
        self._sessions.clear()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        sessions = tuple(
            (s.id, s.epoch, s.privileged, s.size, s.created_us, s.used_us, s.ripe) for s in self._sessions.values()
        )
        return (self._started, sessions)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._started, sessions = saved
        self._sessions.clear()
        for session_id, epoch, privileged, size, created_us, used_us, ripe in sessions:
            session = CachedSession(session_id, created_us, size, privileged=privileged)
            session.epoch, session.used_us, session.ripe = epoch, used_us, ripe
            self._sessions[session_id] = session
