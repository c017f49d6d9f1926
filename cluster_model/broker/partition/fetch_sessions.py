"""Incremental fetch sessions (KIP-227): at the leader, in the broker's cache, and at the fetching side.

A follower asks the same of most partitions every time, and most answers are as before. A session keeps the question,
and ``dirty`` the places in it that must be looked at again; a place *rests* while the follower has everything, is in
the ISR and knows the HW, for then another fetch would change nothing but the time of its last arrival. That one time
serves all resting places, and is booked where somebody needs it (``Remote.settle``). Where everything rests, the
whole exchange with the follower may sleep.

Versions before 1.1 send everything every time, to the same effect: what a session leaves out is what would have been
read as no news. It is therefore a way of counting, not a part of the protocol, and it outlives the leader's process.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.kernel.long_poll import Exchange
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import CONSUMER, FetchPartition, FetchRequest, FetchResponse

# The cache of fetch sessions of a broker, and its eviction (``FetchSessionCache``, KIP-227, 1.1).
#
# A full fetch asks for a session; its answer names one, or 0 where there is no room. Later fetches name it with a
# number that rises by one each time. Who names a session that is gone, or another number, is told so and starts again
# in full.
#
# Slots are limited by ``max.incremental.fetch.session.cache.slots``. A newcomer takes the slot of a session that
# nobody has used for two minutes; else, if it is a follower, that of a consumer, or that of a smaller session which
# has had its two minutes. Consumers never displace a session before it has had them.
#
# What a response leaves out is a matter of :class:`FetchSession`, which counts alike with and without a slot.


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


FETCH_WAIT: Final = "fetch wait"
"""Name of the timer of a fetch that waits."""
Source = tuple[int, int]
"""(follower, which of its fetcher threads)."""


class FetchSession:
    """One fetcher's standing fetch. ``parked`` is the request that waits here, None while none does."""

    __slots__ = (
        "_armed", "_arrived", "_cache", "_session_id", "asked", "dirty", "exchange", "parked", "places", "serial",
        "source",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        serial: int,
        asked: tuple[FetchPartition, ...],
        exchange: Exchange,
        cache: SessionCache,
    ) -> None:
        self.source = source
        self.serial = serial
        self.exchange = exchange
        self.asked = list(asked)
        self.places = {entry.partition: place for place, entry in enumerate(asked)}
        self.dirty: dict[int, None] = dict.fromkeys(range(len(asked)))
        self.parked: FetchRequest | None = None
        self._cache = cache
        self._session_id = 0
        """Of the fetch that is left out of the exchange's idle cycles."""
        self._arrived = -1
        self._armed = False
        """Whether a timer will look at the deadline."""

    @property
    def arrived(self) -> int:
        """When the last fetch arrived."""
        return max(self._arrived, self.exchange.arrived)

    def came(self, request: FetchRequest, arrived: int) -> None:
        """Fetches were left out: this one arrived last."""
        self._arrived = arrived
        if request.session_epoch > FULL:
            self._cache.used(request.session_id, request.session_epoch, arrived)

    def arrive(self, now: int) -> None:
        """A fetch arrived."""
        self._arrived = now

    def late(self, now: int, most: int) -> bool:
        """Whether the last fetch arrived more than ``most`` ago."""
        exchange = self.exchange
        return not (exchange.asleep and exchange.longest_us <= most) and now - self.arrived > most

    @property
    def deadline(self) -> int:
        """When the parked fetch has waited long enough."""
        return self._arrived + (0 if self.parked is None else self.parked.max_wait_us)

    def wait(self, request: FetchRequest) -> None:
        """The fetch that has just arrived finds nothing and waits."""
        self._session_id = request.session_id
        if self.dirty or not self.exchange.sleep(request.correlation, request.max_wait_us, self.serial, self):
            self._park(request)

    def _park(self, request: FetchRequest) -> None:
        self.parked = request
        if not self._armed:
            self._arm()

    def _arm(self) -> None:
        self._armed = True
        self.exchange.deadline(self.deadline, self.serial, (FETCH_WAIT, *self.source, self.serial))

    def rang(self, now: int) -> bool:
        """The timer: True when the parked fetch has waited long enough."""
        self._armed = False
        if self.parked is None:
            return False
        if self.deadline <= now:
            return True
        self._arm()
        return False

    def take(self) -> FetchRequest | None:
        """The parked fetch, which waits no longer."""
        request, self.parked = self.parked, None
        return request

    def nothing(self, number: int) -> FetchResponse:
        """The answer to a fetch that waited in vain."""
        return FetchResponse(number, (), 0, self._session_id)

    def woken(self, request: FetchRequest, arrived: int) -> None:
        """Fetches were left out: this one arrived last, and waits."""
        self.came(request, arrived)
        self._park(request)

    def mark(self, place: int) -> None:
        """A place must be looked at again: it is about to change."""
        if self.exchange.asleep:
            self.exchange.wake()
        self.dirty[place] = None

    def put_last(self, place: int) -> None:
        """A place got records: the others go before it next time."""
        if place in self.dirty:
            del self.dirty[place]
            self.dirty[place] = None

    def disturb(self) -> None:
        """Everything must be looked at again."""
        if self.exchange.asleep:
            self.exchange.wake()
        self.dirty = dict.fromkeys(range(len(self.asked)))

    def stopped(self) -> None:
        """The leader's process died, and its timers with it."""
        self.parked = None
        self._armed = False
        self.disturb()

    def save(self) -> tuple[Any, ...]:
        """All state; whether the exchange sleeps is the exchange's."""
        return (
            self.source, self.serial, tuple(self.asked), tuple(self.dirty), self._arrived, self._armed, self.parked,
            self._session_id, self.exchange.asleep,
        )  # fmt: skip

    @classmethod
    def loaded(cls, saved: tuple[Any, ...], exchange: Exchange, cache: SessionCache) -> "FetchSession":
        """Undo of :meth:`save`."""
        source, serial, asked, dirty, arrived, armed, parked, session_id, asleep = saved
        session = cls(source, serial, asked, exchange, cache)
        session.dirty = dict.fromkeys(dirty)
        session._arrived, session._armed, session.parked, session._session_id = arrived, armed, parked, session_id
        if asleep:
            exchange.answering = session
        return session


class FetchSessions:
    """All sessions of a leader, one per source, and by partition those that must hear of its changes."""

    __slots__ = ("_by_partition", "_by_source", "_cache", "_exchange", "_serial")

    def __init__(self, exchange: Callable[[int, int], Exchange], cache: SessionCache) -> None:
        """``exchange`` gives a follower's connection by broker and number; ``cache``: of this broker's sessions."""
        self._exchange = exchange
        self._cache = cache
        self._serial = 0
        self._by_source: dict[Source, FetchSession] = {}
        self._by_partition: dict[str, list[FetchSession]] = {}

    def of(self, source: Source) -> FetchSession | None:
        """A fetcher's session."""
        return self._by_source.get(source)

    def watching(self, partition: str) -> list[FetchSession]:
        """Sessions that ask for a partition."""
        return self._by_partition.get(partition, _NONE)

    def open(self, source: Source, asked: tuple[FetchPartition, ...]) -> FetchSession:
        """A new session takes the place of the fetcher's last one.

        A fetch that is still parked there goes unanswered: who asks anew has closed the connection it came by.
        """
        former = self._by_source.pop(source, None)
        if former is not None:
            for entry in former.asked:
                self._by_partition[entry.partition].remove(former)
        self._serial += 1
        session = FetchSession(source, self._serial, asked, self._exchange(*source), self._cache)
        self._add(session)
        return session

    def _add(self, session: FetchSession) -> None:
        self._by_source[session.source] = session
        for entry in session.asked:
            self._by_partition.setdefault(entry.partition, []).append(session)

    def late(self, now: int, most: int) -> dict[str, None]:
        """Partitions of fetchers that were last heard of more than ``most`` ago."""
        late = [session for session in self._by_source.values() if session.late(now, most)]
        return {entry.partition: None for session in late for entry in session.asked}

    def wake(self) -> None:
        """Leave out nothing that has happened so far."""
        for session in self._by_source.values():
            session.exchange.wake()

    def disturb(self) -> None:
        """Roles or the live brokers changed: nothing rests."""
        for session in self._by_source.values():
            session.disturb()

    def stopped(self) -> None:
        """The process died, and every parked fetch with it."""
        for session in self._by_source.values():
            session.stopped()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self._serial, tuple([session.save() for session in self._by_source.values()]))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._by_source.clear()
        self._by_partition.clear()
        self._serial, sessions = saved
        for state in sessions:
            self._add(FetchSession.loaded(state, self._exchange(*state[0]), self._cache))


_NONE: list[FetchSession] = []
"""Nobody watches."""


# The fetching side of a fetch session (``FetchSessionHandler``, KIP-227).


class SessionHandle:
    """The session's id, 0 for none, and the number of the next fetch in it, 0 for a full one; -1 before 1.1."""

    __slots__ = ("epoch", "id")

    def __init__(self, *, uses_sessions: bool) -> None:
        self.id = 0
        self.epoch = FULL if uses_sessions else SESSIONLESS

    def answered(self, response: FetchResponse) -> bool:
        """Take an answer; False if the broker refused the session: the next fetch is a full one."""
        epoch = self.epoch
        if epoch == SESSIONLESS:
            return True
        if response.error:
            self.epoch = FULL
            if response.error == KafkaError.FETCH_SESSION_ID_NOT_FOUND:
                self.id = 0
            return False
        self.epoch = next_epoch(epoch) if response.session_id else FULL
        self.id = response.session_id
        return True

    def skipped(self, fetches: int) -> None:
        """That many fetches were asked and answered by nothing."""
        if self.epoch > FULL:
            self.epoch = later_epoch(self.epoch, fetches)

    def lost(self) -> None:
        """No answer came: the next fetch is a full one, which gives up this session."""
        if self.epoch != SESSIONLESS:
            self.epoch = FULL

    def closed(self) -> None:
        """Whoever had it is gone: the next fetch begins one."""
        self.lost()
        self.id = 0

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.id, self.epoch)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.id, self.epoch = saved
