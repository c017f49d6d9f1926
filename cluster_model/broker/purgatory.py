"""Requests that wait at a broker: fetches for something to read, produces for the high watermark, deletions.

A parked follower fetch waits for records beyond its offset; a rise of the HW does not wake it, except in 2.4 and 2.5
(``DelayedFetch``). A parked consumer fetch waits for the HW. Both are read anew when they end.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from cluster_model.broker.deleting import Deletions
from cluster_model.broker.partition.fetch_sessions import FetchSessions
from cluster_model.broker.partition.session_cache import SessionCache
from cluster_model.kernel.node_context import Alarm, Port
from cluster_model.protocol.messages import FetchRequest

if TYPE_CHECKING:
    from cluster_model.broker.hosted_coordinators import Tenants


class ParkedFetch(NamedTuple):
    """A consumer's fetch; a follower's waits in its session."""

    source: int
    request: FetchRequest
    deadline: int


class ParkedProduce(NamedTuple):
    """A produce with acks=all that waits for ``required``.

    That of a tenant has ``source`` LOCAL, its token for ``correlation`` and its place for ``lineage``.
    """

    source: int
    correlation: int
    partition: str
    base: int
    leader_epoch: int
    lineage: int
    deadline: int


class Purgatory:
    """Fetches and produces by token, and deletions of records."""

    __slots__ = (
        "_alarm",
        "_fetches_due",
        "_token",
        "deletions",
        "fetches",
        "produces",
        "readers",
        "sessions",
        "tenants",
    )

    def __init__(self, port: Port, cache: SessionCache) -> None:
        self.deletions: Deletions
        """Those that wait for the low watermark; given by the broker."""
        self.tenants: Tenants
        """Who waits for appends of their own; given by the broker."""
        self.fetches: dict[int, ParkedFetch] = {}
        self.produces: dict[int, ParkedProduce] = {}
        self.sessions = FetchSessions(port.asked, cache)
        self.readers: dict[str, list[int]] = {}
        """Partition → tokens of the consumers' fetches that wait for it, oldest first."""
        self._fetches_due: list[tuple[int, int]] = []
        """(deadline, token) of fetches, a heap; those that were answered stay in it until their time."""
        self._token = 0
        self._alarm = Alarm(port, "purgatory")

    def _wait(self, deadline: int) -> int:
        self._token += 1
        self._alarm.want(deadline)
        return self._token

    def park_fetch(self, fetch: ParkedFetch) -> int:
        """Keep a fetch until its deadline at the latest."""
        token = self._wait(fetch.deadline)
        self.fetches[token] = fetch
        heappush(self._fetches_due, (fetch.deadline, token))
        for asked in fetch.request.partitions:
            self.readers.setdefault(asked.partition, []).append(token)
        return token

    def park_produce(self, produce: ParkedProduce) -> int:
        """Keep a produce until its deadline at the latest."""
        token = self._wait(produce.deadline)
        self.produces[token] = produce
        return token

    def take_fetch(self, token: int) -> ParkedFetch | None:
        """Remove a fetch; None when it has gone."""
        fetch = self.fetches.pop(token, None)
        if fetch is not None:
            for asked in fetch.request.partitions:
                self.readers[asked.partition].remove(token)
        return fetch

    def due(self, now: int) -> list[int]:
        """Tokens still waiting whose time is over; to be called when the alarm rings."""
        if not self._alarm.rang():
            return []
        waiting = [(produce.deadline, token) for token, produce in self.produces.items()]
        fetches = self._fetches_due
        while fetches and (fetches[0][0] <= now or fetches[0][1] not in self.fetches):
            first = heappop(fetches)
            if first[1] in self.fetches:
                waiting.append(first)
        later = [deadline for deadline, _token in waiting if deadline > now]
        if fetches:
            later.append(fetches[0][0])
        if later:
            self._alarm.want(min(later))
        return [token for deadline, token in sorted(waiting) if deadline <= now]

    def clear(self) -> None:
        """The process died."""
        self.fetches.clear()
        self._fetches_due.clear()
        self.produces.clear()
        self.sessions.stopped()
        self.readers.clear()
        self.deletions.stopped()
        self._alarm.forget()

    def save(self) -> tuple[Any, ...]:
        """All state."""
        watching = tuple((name, tuple(tokens)) for name, tokens in self.readers.items())
        fetches = tuple(self.fetches.items())
        return (
            self.sessions.save(), fetches, tuple(self.produces.items()), watching, self._token,
            self._alarm.save(), self.deletions.save(),
        )  # fmt: skip

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        sessions, fetches, produces, watching, self._token, alarm, deletions = saved
        self.sessions.load(sessions)
        self.fetches = dict(fetches)
        self._fetches_due = [(fetch.deadline, token) for token, fetch in fetches]
        heapify(self._fetches_due)
        self.produces = dict(produces)
        self.readers = {name: list(tokens) for name, tokens in watching}
        self._alarm.load(alarm)
        self.deletions.load(deletions)
