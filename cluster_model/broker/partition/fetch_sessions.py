"""Incremental fetch sessions (KIP-227): at the leader, in the broker's cache, and at the fetching side.

A follower fetches most partitions at the same offset each time, and most results are unchanged. A session keeps the
request, and in ``dirty`` the slots that must be read again. A slot *rests* (is idle) while the follower has everything,
is in the ISR and knows the HW: another fetch would then change nothing but the time of its last arrival. That one time
serves all idle slots, and is applied where it is needed (``RemoteReplicaState.settle``). If all slots are idle, the
whole exchange with the follower may be skipped.

Versions before 1.1 send everything every time, with the same effect: a session leaves out only what would be read as no
news. It is therefore an optimisation of the simulation, not a part of the protocol, and it outlives the leader's
process.
"""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.kernel.long_poll import LongPoll
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import CONSUMER, FetchPartition, FetchRequest, FetchResponse

# Cache of a broker's fetch sessions, and its eviction (``FetchSessionCache``, KIP-227, 1.1).
#
# A full fetch requests a session; its response names one, or 0 if the cache has no room. Later fetches name it with a
# session epoch that rises by one each time. A fetch that names an evicted session, or another epoch, gets an error, and
# the fetcher starts again with a full fetch.
#
# Slots are limited by ``max.incremental.fetch.session.cache.slots``. A new session takes the slot of a session that has
# not been used for two minutes; else, if it is a follower's, that of a consumer, or that of a smaller session that is
# older than two minutes. A consumer never evicts a session that is younger.
#
# What a response leaves out is decided by :class:`FetchSession`, which works the same with and without a slot.


EVICTION_US: Final = 120_000_000
"""Age after which a session may be evicted (``MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS``)."""
FULL: Final = 0
"""``session_epoch`` of a fetch that requests a new session."""
SESSIONLESS: Final = -1
"""``session_epoch`` of a fetch without a session; before 1.1 every fetch."""
_LAST_EPOCH: Final = 2**31 - 1
NONE: Final = KafkaError.NONE


def next_epoch(epoch: int) -> int:
    """Return the epoch of a session's next fetch (``FetchMetadata.nextEpoch``)."""
    return 1 if epoch == _LAST_EPOCH else epoch + 1


def later_epoch(epoch: int, fetches: int) -> int:
    """Return the epoch after that many more fetches of a session."""
    return (epoch - 1 + fetches) % _LAST_EPOCH + 1


class CachedSession:
    """One cached fetch session; its owner matters only because followers take precedence."""

    __slots__ = ("created_us", "epoch", "id", "privileged", "ripe", "size", "used_us")

    def __init__(self, session_id: int, now: int, size: int, *, privileged: bool) -> None:
        self.id = session_id
        self.epoch = 1
        self.privileged = privileged
        """Whether a follower owns it."""
        self.size = size
        """Number of its partitions."""
        self.created_us = now
        self.used_us = now
        self.ripe = False
        """Whether it was older than two minutes when it was last used."""

    def use(self, epoch: int, at_us: int) -> None:
        """Record the arrival of the fetch with this epoch."""
        self.epoch = next_epoch(epoch)
        self.used_us = at_us
        self.ripe = at_us - self.created_us > EVICTION_US

    def rank(self) -> tuple[bool, int, int]:
        """Return the eviction rank; the lowest is evicted first (``EvictableKey``)."""
        return (self.privileged, self.size, self.id)


class SessionCache:
    """Fetch sessions of one incarnation of a broker."""

    __slots__ = ("_sessions", "_slots", "_started")

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._started = 0
        self._sessions: dict[int, CachedSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def arrived(self, now: int, request: FetchRequest) -> KafkaError:
        """Validate a fetch's session (``FetchManager.newContext``); a full fetch closes the session that it names."""
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
        """Record the arrival of a session's fetch, if the session still exists, after skipped ones."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.use(epoch, at_us)

    @property
    def full(self) -> bool:
        """Whether a new session needs another one's slot."""
        return 0 < self._slots <= len(self._sessions)

    def create(self, now: int, request: FetchRequest, size: int, incarnation: int) -> int:
        """Return the id of a new session for a full fetch of ``size`` partitions, 0 if there is no room."""
        privileged = request.replica != CONSUMER
        if len(self._sessions) >= self._slots and not self._evict(now, (privileged, size, 0)):
            return 0
        session_id = self.next_id(incarnation)
        self._started += 1
        self._sessions[session_id] = CachedSession(session_id, now, size, privileged=privileged)
        return session_id

    def next_id(self, incarnation: int) -> int:
        """Return the lowest id that the next session can have."""
        # Kafka's id is random. It must differ from those of former incarnations of this process.
        return (incarnation << 32) + self._started + 1

    def _evict(self, now: int, newcomer: tuple[bool, int, int]) -> bool:
        """Evict a session if one may be evicted (``FetchSessionCache.tryEvict``)."""
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
        """Discard all sessions of a process that died."""
        self._sessions.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        sessions = tuple(
            (s.id, s.epoch, s.privileged, s.size, s.created_us, s.used_us, s.ripe) for s in self._sessions.values()
        )
        return (self._started, sessions)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._started, sessions = saved
        self._sessions.clear()
        for session_id, epoch, privileged, size, created_us, used_us, ripe in sessions:
            session = CachedSession(session_id, created_us, size, privileged=privileged)
            session.epoch, session.used_us, session.ripe = epoch, used_us, ripe
            self._sessions[session_id] = session


FETCH_WAIT: Final = "fetch wait"
"""Name of the timer of a delayed fetch."""
Source = tuple[int, int]
"""(follower, index of its fetcher thread)."""


class FetchSession:
    """A fetcher's incremental fetch at the leader; ``delayed_request`` may be None."""

    __slots__ = (
        "_armed", "_arrived", "_cache", "_session_id", "delayed_request", "dirty", "exchange", "lowest_id",
        "partitions", "serial", "slot_of", "source",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        serial: int,
        requested: tuple[FetchPartition, ...],
        exchange: LongPoll,
        cache: SessionCache,
    ) -> None:
        self.source = source
        self.serial = serial
        self.exchange = exchange
        self.partitions = list(requested)
        self.slot_of = {entry.partition: slot for slot, entry in enumerate(requested)}
        self.dirty: dict[int, None] = dict.fromkeys(range(len(requested)))
        self.delayed_request: FetchRequest | None = None
        self._cache = cache
        self._session_id = 0
        """Session id of the fetch that the exchange skips in idle cycles."""
        self.lowest_id = 0
        """Lowest id that this session can have: fetches with a lower one are of a closed connection."""
        self._arrived = -1
        self._armed = False
        """Whether a timer for the deadline is set."""

    @property
    def arrived(self) -> int:
        """Time of the last fetch's arrival."""
        return max(self._arrived, self.exchange.arrived)

    def is_outdated(self, request: FetchRequest) -> bool:
        """Whether a fetch was sent on an earlier connection, so that its response is no longer awaited.

        Kafka handles it in the session that it names, and its response fails.
        """
        if request.session_epoch > FULL and request.session_id < self.lowest_id:
            return True
        return request.incremental and any(each.partition not in self.slot_of for each in request.partitions)

    def account_skipped(self, request: FetchRequest, arrived: int) -> None:
        """Account for skipped fetches: this one arrived last."""
        self._arrived = arrived
        if request.session_epoch > FULL:
            self._cache.used(request.session_id, request.session_epoch, arrived)

    def arrive(self, now: int) -> None:
        """Record the arrival of a fetch."""
        self._arrived = now

    def late(self, now: int, limit_us: int) -> bool:
        """Whether the last fetch arrived more than ``limit_us`` microseconds ago."""
        exchange = self.exchange
        return not (exchange.asleep and exchange.longest_us <= limit_us) and now - self.arrived > limit_us

    @property
    def deadline(self) -> int:
        """Time at which the delayed fetch completes at the latest."""
        return self._arrived + (0 if self.delayed_request is None else self.delayed_request.max_wait_us)

    def wait(self, request: FetchRequest) -> None:
        """Delay the fetch that has just arrived and found nothing."""
        self._session_id = request.session_id
        if self.dirty or not self.exchange.sleep(request.correlation_id, request.max_wait_us, self.serial, self):
            self._delay(request)

    def _delay(self, request: FetchRequest) -> None:
        self.delayed_request = request
        if not self._armed:
            self._arm()

    def _arm(self) -> None:
        self._armed = True
        self.exchange.deadline(self.deadline, self.serial, (FETCH_WAIT, *self.source, self.serial))

    def on_timer(self, now: int) -> bool:
        """Handle the timer; True if the delayed fetch has reached its deadline."""
        self._armed = False
        if self.delayed_request is None:
            return False
        if self.deadline <= now:
            return True
        self._arm()
        return False

    def take(self) -> FetchRequest | None:
        """Return the delayed fetch and stop delaying it."""
        request, self.delayed_request = self.delayed_request, None
        return request

    def empty_response(self, number: int) -> FetchResponse:
        """Return the empty response to a fetch that reached its deadline."""
        return FetchResponse(number, (), 0, self._session_id)

    def on_wake(self, request: FetchRequest, arrived: int) -> None:
        """Account for skipped fetches: this one arrived last, and is delayed."""
        self.account_skipped(request, arrived)
        self._delay(request)

    def mark(self, slot: int) -> None:
        """Mark a slot dirty: it is about to change."""
        if self.exchange.asleep:
            self.exchange.wake()
        self.dirty[slot] = None

    def put_last(self, slot: int) -> None:
        """Move a slot that got records to the end, so that the others come first next time."""
        if slot in self.dirty:
            del self.dirty[slot]
            self.dirty[slot] = None

    def mark_dirty(self) -> None:
        """Mark all slots dirty."""
        if self.exchange.asleep:
            self.exchange.wake()
        self.dirty = dict.fromkeys(range(len(self.partitions)))

    def stopped(self) -> None:
        """Discard the delayed fetch and the timer of a leader's process that died."""
        self.delayed_request = None
        self._armed = False
        self.mark_dirty()

    def save(self) -> tuple[Any, ...]:
        """Return all state; the exchange saves whether it is idle."""
        return (
            self.source, self.serial, tuple(self.partitions), tuple(self.dirty), self._arrived, self._armed,
            self.delayed_request, self._session_id, self.exchange.asleep, self.lowest_id,
        )  # fmt: skip

    @classmethod
    def from_saved(cls, saved: tuple[Any, ...], exchange: LongPoll, cache: SessionCache) -> "FetchSession":
        """Return a session with the state returned by :meth:`save`."""
        source, serial, partitions, dirty, arrived, armed, delayed_request, session_id, asleep, lowest_id = saved
        session = cls(source, serial, partitions, exchange, cache)
        session.dirty = dict.fromkeys(dirty)
        session._arrived, session._armed, session.lowest_id = arrived, armed, lowest_id
        session.delayed_request, session._session_id = delayed_request, session_id
        if asleep:
            exchange.answering = session
        return session


class FetchSessions:
    """All fetch sessions of a leader, one per source, indexed by partition."""

    __slots__ = ("_by_partition", "_by_source", "_cache", "_exchange", "_serial")

    def __init__(self, exchange: Callable[[int, int], LongPoll], cache: SessionCache) -> None:
        """Start without sessions; ``exchange`` returns a follower's connection by broker and fetcher index."""
        self._exchange = exchange
        self._cache = cache
        self._serial = 0
        self._by_source: dict[Source, FetchSession] = {}
        self._by_partition: dict[str, list[FetchSession]] = {}

    def of(self, source: Source) -> FetchSession | None:
        """Return a fetcher's session, None for none."""
        return self._by_source.get(source)

    def watching(self, partition: str) -> list[FetchSession]:
        """Return the sessions that fetch a partition."""
        return self._by_partition.get(partition, _NONE)

    def open(self, source: Source, requested: tuple[FetchPartition, ...]) -> FetchSession:
        """Open a session that replaces the fetcher's last one.

        A fetch that is still delayed there gets no response: a fetcher that starts anew has closed its old connection.
        """
        previous = self._by_source.pop(source, None)
        if previous is not None:
            for entry in previous.partitions:
                self._by_partition[entry.partition].remove(previous)
        self._serial += 1
        session = FetchSession(source, self._serial, requested, self._exchange(*source), self._cache)
        self._add(session)
        return session

    def _add(self, session: FetchSession) -> None:
        self._by_source[session.source] = session
        for entry in session.partitions:
            self._by_partition.setdefault(entry.partition, []).append(session)

    def late(self, now: int, limit_us: int) -> dict[str, None]:
        """Return the partitions of fetchers whose last fetch arrived more than ``limit_us`` microseconds ago."""
        late = [session for session in self._by_source.values() if session.late(now, limit_us)]
        return {entry.partition: None for session in late for entry in session.partitions}

    def wake(self) -> None:
        """Account for all skipped fetches up to now."""
        for session in self._by_source.values():
            session.exchange.wake()

    def mark_dirty(self) -> None:
        """Mark everything dirty after a change of roles or live brokers."""
        for session in self._by_source.values():
            session.mark_dirty()

    def stopped(self) -> None:
        """Discard the delayed fetches of a process that died."""
        for session in self._by_source.values():
            session.stopped()

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self._serial, tuple([session.save() for session in self._by_source.values()]))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self._by_source.clear()
        self._by_partition.clear()
        self._serial, sessions = saved
        for state in sessions:
            self._add(FetchSession.from_saved(state, self._exchange(*state[0]), self._cache))


_NONE: list[FetchSession] = []
"""Sessions of a partition that no fetcher fetches."""


# The fetching side of a fetch session (``FetchSessionHandler``, KIP-227).


class FetchSessionHandler:
    """A fetcher's session id, 0 for none, and next session epoch, 0 for a full fetch; -1 before 1.1."""

    __slots__ = ("epoch", "id")

    def __init__(self, *, uses_sessions: bool) -> None:
        self.id = 0
        self.epoch = FULL if uses_sessions else SESSIONLESS

    def on_response(self, response: FetchResponse) -> bool:
        """Handle a response; False if the broker rejected the session: the next fetch is a full one."""
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
        """Account for skipped fetches with empty responses."""
        if self.epoch > FULL:
            self.epoch = later_epoch(self.epoch, fetches)

    def on_error(self) -> None:
        """Handle that no response came: the next fetch is a full one, which closes this session."""
        if self.epoch != SESSIONLESS:
            self.epoch = FULL

    def closed(self) -> None:
        """Forget the session of a thread that has ended: the next fetch requests a new one."""
        self.on_error()
        self.id = 0

    def save(self) -> tuple[Any, ...]:
        """Return all state as nested tuples."""
        return (self.id, self.epoch)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state returned by :meth:`save`."""
        self.id, self.epoch = saved
