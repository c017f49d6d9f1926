"""Every anomaly by name: its rule in one sentence, and by which settings it may be seen."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies import cycles, order_rules, rules
from cluster_model.checker.anomalies.anomaly_case import AnomalyCase
from cluster_model.checker.anomalies.index import KeyIndex
from cluster_model.checker.anomalies.operations import ASSIGN, COMMITTED, SUBSCRIBE, WIRE
from cluster_model.checker.anomalies.rules import unread
from cluster_model.checker.invariants.base import LOSSY, Excuses
from cluster_model.checker.invariants.durability import DURABILITY
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import BatchDamaged, LeaderElected, LogStartMoved, PartitionDeleted, TraceEvent

# The settings that decide which anomalies may be seen: what producers asked for, and what topics keep.


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


# Every anomaly by name: its rule in one sentence, and whether it may be seen under the settings in force.


Excuse = Callable[[AnomalyCase, InForce], str]
"""Why a case is legal, in one phrase; empty if it is not."""


class Anomaly(NamedTuple):
    """An anomaly. ``own``: it is no rule of Jepsen's checker for Kafka, but one of this model's."""

    name: str
    rule: str
    legal: str
    excuse: Excuse
    own: bool = False


def _never(_case: AnomalyCase, _now: InForce) -> str:
    return ""


def _always(why: str) -> Excuse:
    return lambda _case, _now: why


def _losses(case: AnomalyCase, now: InForce) -> str:
    return now.may_lose(case.who, case.key, written=True)


def _never_read(case: AnomalyCase, now: InForce) -> str:
    """Readers may have begun above it; that the last one is not served it, where anybody serves, is what tells."""
    return _losses(case, now) if now.led(case.key) else "nobody led the partition at the end"


def _losses_of_anybody(case: AnomalyCase, now: InForce) -> str:
    return now.may_lose("", case.key)


def _owners(case: AnomalyCase, now: InForce) -> str:
    return "a group.instance.id may be claimed by another process" if case.who in now.static else ""


def _duplicate(case: AnomalyCase, now: InForce) -> str:
    return now.may_repeat(case.who)


def _unseen(case: AnomalyCase, now: InForce) -> str:
    if not now.caught_up(case.key):
        return "the last read did not come to the partition's end"
    return now.may_lose(case.who, case.key, written=True) or _compacted(case, now)


def _aborted(case: AnomalyCase, now: InForce) -> str:
    if not now.transactional(case.who):
        return ""
    if case.manner != COMMITTED:
        return "the reader is read_uncommitted"
    return now.may_end_another()


def _precommitted(case: AnomalyCase, _now: InForce) -> str:
    return "" if case.manner == COMMITTED else "the reader is read_uncommitted"


def _compacted(case: AnomalyCase, now: InForce) -> str:
    return "the topic is compacted" if now.compacted(case.key) else ""


def _between_polls(case: AnomalyCase, now: InForce) -> str:
    if case.manner.startswith(SUBSCRIBE):
        return "the reader goes by its group's commits"
    if case.manner.startswith(WIRE):
        return "a real client reads from where it likes"
    return now.may_lose("", case.key) or now.may_skip(case.key)


def _reordered(case: AnomalyCase, now: InForce) -> str:
    return now.may_reorder(case.who) or now.may_lose(case.who, case.key)


def _circle(case: AnomalyCase, _now: InForce) -> str:
    if not case.manner:
        return "writes are not isolated, and one was behind another"
    return "" if COMMITTED in case.manner else "a reader is read_uncommitted"


_LOSS: Final = (
    "`acks` other than `all`; since it was written the partition had an unclean leader election, a batch damaged on "
    "disk, or its last copies in sync lost what was on no disk; a version that is known for it (before KIP-101, "
    "KIP-279 and KIP-320); without KIP-890 a transaction that another one's end has undone"
)

_TABLE: Final = (
    Anomaly(rules.INCONSISTENT_OFFSETS, "one offset of a key was seen with two values",
         "where a write may be lost, for then its offset is used again", _losses_of_anybody),
    Anomaly(rules.DUPLICATE, "one value stands at two offsets",
         "a producer that retries without idempotence, or sends again after a restart", _duplicate),
    Anomaly(rules.LOST_WRITE,
            "a committed value that stands no higher than what somebody has read there was never read",
         f"nobody led the partition at the end; {_LOSS}", _never_read),
    Anomaly(rules.UNSEEN, "at the end a value whose send was ok has not been returned by any poll",
         "the last read did not come to the partition's end; or where a write may be lost", _unseen),
    Anomaly(rules.ABORTED_READ, "a poll returned a value whose send failed or was aborted",
         "`read_uncommitted`; without KIP-890 (`transaction.version` 2) a late request may end another transaction",
         _aborted),
    Anomaly(rules.PRECOMMITTED_READ, "one operation both sends a value and reads it", "`read_uncommitted`",
            _precommitted),
    Anomaly(order_rules.INTERNAL_NONMONOTONIC_POLL, "inside one poll a value does not come behind the one before it",
         "a rebalance moved the partition meanwhile", _never),
    Anomaly(order_rules.INTERNAL_POLL_SKIP, "inside one poll values that were seen by others are left out",
         "a rebalance moved the partition meanwhile; the topic is compacted", _compacted),
    Anomaly(order_rules.NONMONOTONIC_POLL, "a process is returned a value that does not come behind its last one",
         "partitions are assigned by a group, or the client is a real one; or where a write may be lost",
         _between_polls),
    Anomaly(order_rules.POLL_SKIP, "a process leaves out values that were seen by others",
         "partitions are assigned by a group, or the client is a real one; a write may be lost, or records are "
         "deleted or compacted", _between_polls),
    Anomaly(order_rules.INTERNAL_NONMONOTONIC_SEND,
         "inside one transaction a value does not stand behind the one sent before it", "never", _never),
    Anomaly(order_rules.INTERNAL_SEND_SKIP, "inside one transaction other values stand between two that were sent",
         "always: writers interleave", _always("writers interleave")),
    Anomaly(order_rules.NONMONOTONIC_SEND, "a value does not stand behind the one that its process sent before",
         "retries without idempotence and more than one request in flight; or where a write may be lost", _reordered),
    Anomaly(cycles.WRITES, "transactions wrote behind each other in a circle", "always: writes are not isolated",
         _always("writes are not isolated")),
    Anomaly(cycles.READS, "transactions wrote behind or read each other in a circle, and one of them has read",
         "with writes in the circle; of reads alone under `read_uncommitted`", _circle),
    Anomaly(rules.PHANTOM, "a poll returned a value that nobody has sent", "never", _never),
    Anomaly(rules.CONSUME_DUP, "a process of a group was returned a value more than once",
         "always: delivery is at least once", _always("delivery is at least once")),
    Anomaly(order_rules.REALTIME_LAG, "a poll stopped short of what was known to exist when it was called",
         "always: a measure, not a fault", _always("a measure")),
    Anomaly(order_rules.REALTIME_ORDER, "a value stands before one that was acknowledged before it was sent",
         "where a write may be lost", _losses_of_anybody, own=True),
    Anomaly(rules.COMMIT_REGRESSION, "a group's committed offset goes back",
         "always: a coordinator keeps what it is told last", _always("a coordinator keeps what it is told last"),
         own=True),
    Anomaly(rules.TWO_OWNERS, "two members own a partition in one generation of their group",
         "a `group.instance.id` is claimed by another process", _owners, own=True),
)  # fmt: skip

KINDS: Final[dict[str, Anomaly]] = {kind.name: kind for kind in _TABLE}
"""Name → anomaly, in the order of the documentation."""
