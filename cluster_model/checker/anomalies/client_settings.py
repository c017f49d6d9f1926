"""The settings that decide which anomalies may be seen: what producers asked for, and what topics keep."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies.index import KeyIndex
from cluster_model.checker.anomalies.operations import ASSIGN, COMMITTED, SUBSCRIBE
from cluster_model.checker.anomalies.rules import unread
from cluster_model.checker.invariants.base import LOSSY, Excuses
from cluster_model.checker.invariants.durability import DURABILITY
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import BatchDamaged, LeaderElected, LogStartMoved, PartitionDeleted, TraceEvent

_ALL: Final = -1


class ProducerSettings(NamedTuple):
    """What of a producer's configuration matters. ``acks`` is -1 for all."""

    acks: int = _ALL
    idempotent: bool = True
    retries: int = 1
    in_flight: int = 1
    transactional: bool = False
    resends: bool = False
    """Its application sends again what a process before was not told the outcome of."""


class ClientSettings(NamedTuple):
    """All clients, by the names that they have in the trace."""

    producers: Mapping[str, ProducerSettings] = {}
    groups: Mapping[str, str] = {}
    """Group → how its members read."""
    readers: Mapping[str, str] = {}
    """Client outside of the model → how it reads."""
    copiers: frozenset[str] = frozenset()
    """Members that write what they read."""
    static: frozenset[str] = frozenset()
    """Members with a ``group.instance.id``."""


def manner(*, coordinated: bool, committed_only: bool) -> str:
    """How a group's members read, as the language has it."""
    return f"{SUBSCRIBE if coordinated else ASSIGN} {COMMITTED if committed_only else ''}".strip()


class InForce:
    """Settings, and what of them was done: a loss is excused by an unclean election, not by a broker's crash."""

    __slots__ = ("_buried", "_clients", "_damaged", "_deleted", "_excuses", "_facts", "_unclean", "_undone", "_world")

    def __init__(
        self,
        world: World,
        clients: ClientSettings,
        facts: KeyIndex,
        excuses: Excuses,
        undone: Callable[[str | None], int],
    ) -> None:
        """``undone`` tells how many acknowledged records of a client's transactions are aborted in the log."""
        self._world = world
        self._clients = clients
        self._facts = facts
        self._excuses = excuses
        self._undone = undone
        self._unclean: dict[str, None] = {}
        """Partitions that had an unclean election."""
        self._damaged: dict[str, None] = {}
        self._deleted: dict[str, None] = {}
        """Partitions of which records were deleted on purpose."""
        self._buried: dict[str, str] = {}
        """Partition that was deleted → what had excused its losses."""

    def observe(self, event: TraceEvent) -> None:
        """Hear what decides."""
        if isinstance(event, LeaderElected):
            if not event.clean:
                self._unclean[event.partition] = None
        elif isinstance(event, BatchDamaged):
            self._damaged[event.partition] = None
        elif isinstance(event, LogStartMoved):
            self._deleted[event.partition] = None
        elif isinstance(event, PartitionDeleted):
            why = self._happened(event.partition)
            if why:
                self._buried[event.partition] = why
            self._unclean.pop(event.partition, None)
            self._damaged.pop(event.partition, None)

    def _producer(self, client: str) -> ProducerSettings:
        return self._clients.producers.get(client, ProducerSettings())

    def may_lose(self, client: str, key: str, *, written: bool = False) -> str:
        """Why an acknowledged write may be lost; empty if it may not. Without a client any that sent to the key.

        Settings alone excuse nothing but weak acks: what they allow must have happened to the partition. ``written``:
        it is about what nobody has read of the client, and must have happened since that was written.
        """
        senders = (client,) if client else tuple(self._facts.key(key).sent)
        weak = [self._producer(each).acks for each in senders if self._producer(each).acks != _ALL]
        if weak:
            return f"acks={weak[0]}"
        if key not in self._world.records:
            return "the partition is deleted"
        why = self._buried.get(key, "") or self._happened(key)
        if why and written and not self._all_covered(client, key):
            why = ""
        why = why or self._unreadable(client, key)
        why = why or DURABILITY.known(self._world.profile, (LOSSY,) if self._excuses.ever_lossy(key) else ())
        if why or not any(map(self.transactional, senders)) or not self._undone(client or None):
            return why
        return self.may_end_another()

    def _happened(self, key: str) -> str:
        """What ended the promise of acks=all for records of a partition."""
        if self._excuses.covered(key) < 0:
            return ""
        if key in self._unclean:
            return "an unclean leader election"
        return "a damaged disk" if key in self._damaged else "the last copies in sync lost what was on no disk"

    def _unreadable(self, client: str, key: str) -> str:
        """Whether all that nobody has read stands where the leader's disk is damaged."""
        missed = unread(self._facts.key(key)).get(client)
        if missed is None or key not in self._damaged:
            return ""
        found = [(place.offset, place.offset + place.size) for place in self._facts.key(key).places({client: missed})]
        return "a damaged disk" if found and all(self._excuses.damaged(key, *span) for span in found) else ""

    def _all_covered(self, client: str, key: str) -> bool:
        """Whether all that nobody has read was written before what ended the promise."""
        facts = self._facts.key(key)
        missed = unread(facts).get(client)
        if missed is None:
            return True
        strands = dict.fromkeys(place.strand for place in facts.places({client: missed}))
        lineages = self._world.lineages[key].by_id
        return all(self._excuses.covers(key, lineages[strand].epoch) for strand in strands)

    def may_repeat(self, client: str) -> str:
        """Why a value may be written twice."""
        producer = self._producer(client)
        if producer.resends:
            return "the application sends again after a restart"
        return "retries without idempotence" if producer.retries and not producer.idempotent else ""

    def may_reorder(self, client: str) -> str:
        """Why values may be written in another order."""
        producer = self._producer(client)
        if producer.resends:
            return "the application sends again after a restart"
        loose = producer.retries and producer.in_flight > 1 and not producer.idempotent
        return "retries without idempotence" if loose else ""

    def may_skip(self, key: str) -> str:
        """Why a reader may not be handed what others were."""
        if key in self._deleted:
            return "records were deleted on purpose"
        return "the topic is compacted" if self.compacted(key) else ""

    def may_end_another(self) -> str:
        """Why an aborted transaction may turn out to be committed, or the other way round."""
        return "" if self._world.profile.transactions_v2 else "a late request can end the next transaction (KIP-890)"

    def compacted(self, key: str) -> bool:
        """Whether a key's topic keeps the newest value of each record key only."""
        record = self._world.records.get(key)
        return record is not None and record.topic.log.compact

    @property
    def static(self) -> frozenset[str]:
        """Members with a ``group.instance.id``."""
        return self._clients.static

    def transactional(self, client: str) -> bool:
        """Whether a producer has transactions."""
        return self._producer(client).transactional

    def caught_up(self, key: str) -> bool:
        """Whether the last read came to the end."""
        return self._facts.key(key).caught_up

    def led(self, key: str) -> bool:
        """Whether anybody was there to serve the last read."""
        return self._facts.key(key).led

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._unclean), tuple(self._damaged), tuple(self._deleted), tuple(self._buried.items()))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        *names, buried = saved
        self._unclean, self._damaged, self._deleted = map(dict.fromkeys, names)
        self._buried = dict(buried)
