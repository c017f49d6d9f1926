"""Requests that wait at a broker: fetches for something to read, produces for the high watermark.

A parked follower fetch waits for records beyond its offset; a rise of the HW does not wake it, except in 2.4 and 2.5
(``DelayedFetch``). A parked consumer fetch waits for the HW. Both are read anew when they end.
"""

from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple

from cluster_model.kernel.port import Alarm, Port
from cluster_model.messages import FetchRequest
from cluster_model.replication.sessions import FetchSession, FetchSessions

SPARE: Final = 64
"""Deadlines of answered requests that may lie about before they are swept up."""


class ParkedFetch(NamedTuple):
    """A follower's fetch has its session, which knows what it asks; a consumer's stands for itself."""

    source: int
    request: FetchRequest
    session: FetchSession | None


class ParkedProduce(NamedTuple):
    """A produce with acks=all that waits for ``required``."""

    source: int
    correlation: int
    partition: str
    base: int
    leader_epoch: int
    lineage: int


class Purgatory:
    """Both kinds by token, with their deadlines."""

    __slots__ = ("_alarm", "_deadlines", "_token", "fetches", "produces", "readers", "sessions")

    def __init__(self, port: Port) -> None:
        self.fetches: dict[int, ParkedFetch] = {}
        self.produces: dict[int, ParkedProduce] = {}
        self.sessions = FetchSessions()
        self.readers: dict[str, list[int]] = {}
        """Partition → tokens of the consumers' fetches that wait for it, oldest first."""
        self._deadlines: list[tuple[int, int]] = []
        self._token = 0
        self._alarm = Alarm(port, "purgatory")

    def _wait(self, deadline: int) -> int:
        self._token += 1
        if len(self._deadlines) > 4 * (len(self.fetches) + len(self.produces)) + SPARE:
            self._deadlines = [entry for entry in self._deadlines if self._waits(entry[1])]
            heapify(self._deadlines)
        heappush(self._deadlines, (deadline, self._token))
        self._alarm.want(deadline)
        return self._token

    def _waits(self, token: int) -> bool:
        return token in self.fetches or token in self.produces

    def park_fetch(self, fetch: ParkedFetch, deadline: int) -> int:
        """Keep a fetch until its deadline at the latest."""
        token = self._wait(deadline)
        self.fetches[token] = fetch
        if fetch.session is not None:
            fetch.session.parked = token
            return token
        for asked in fetch.request.partitions:
            self.readers.setdefault(asked.partition, []).append(token)
        return token

    def park_produce(self, produce: ParkedProduce, deadline: int) -> int:
        """Keep a produce until its deadline at the latest."""
        token = self._wait(deadline)
        self.produces[token] = produce
        return token

    def watchers(self, partition: str) -> list[int]:
        """Tokens of the fetches that wait for this partition, oldest first."""
        tokens = [session.parked for session in self.sessions.watching(partition) if session.parked]
        consumers = self.readers.get(partition)
        if consumers:
            tokens += consumers
        tokens.sort()
        return tokens

    def take_fetch(self, token: int) -> ParkedFetch | None:
        """Remove a fetch; None when it has gone."""
        fetch = self.fetches.pop(token, None)
        if fetch is None:
            return None
        if fetch.session is not None:
            fetch.session.parked = 0
            self.sessions.drop_if_over(fetch.session)
        else:
            for asked in fetch.request.partitions:
                self.readers[asked.partition].remove(token)
        return fetch

    def due(self, now: int) -> list[int]:
        """Tokens still waiting whose time is over; to be called when the alarm rings."""
        if not self._alarm.rang():
            return []
        over: list[int] = []
        deadlines = self._deadlines
        while deadlines:
            deadline, token = deadlines[0]
            waiting = self._waits(token)
            if waiting and deadline > now:
                self._alarm.want(deadline)
                break
            heappop(deadlines)
            if waiting:
                over.append(token)
        return over

    def clear(self) -> None:
        """The process died."""
        self.fetches.clear()
        self.produces.clear()
        self.sessions.unpark()
        self.readers.clear()
        self._deadlines.clear()
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        watching = tuple((name, tuple(tokens)) for name, tokens in self.readers.items())
        fetches = tuple((token, parked.source, parked.request) for token, parked in self.fetches.items())
        return (
            self.sessions.save(), fetches, tuple(self.produces.items()), watching, tuple(self._deadlines), self._token,
            self._alarm.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        sessions, fetches, produces, watching, deadlines, self._token, alarm = saved
        parked = self.sessions.load(sessions)
        self.fetches = {token: ParkedFetch(source, request, parked.get(token)) for token, source, request in fetches}
        self.produces = dict(produces)
        self.readers = {name: list(tokens) for name, tokens in watching}
        self._deadlines = list(deadlines)
        self._alarm.load(alarm)
