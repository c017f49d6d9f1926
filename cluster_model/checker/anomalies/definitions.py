"""Every anomaly by name: its rule in one sentence, and the settings that allow it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.checker.anomalies import cycles, order_rules, rules
from cluster_model.checker.anomalies.anomaly_case import AnomalyCase
from cluster_model.checker.anomalies.index import KeyIndex
from cluster_model.checker.anomalies.operations import ASSIGN, COMMITTED, SUBSCRIBE, WIRE
from cluster_model.checker.anomalies.rules import unread
from cluster_model.checker.invariants.base import LOSSY, AllowedLosses
from cluster_model.checker.invariants.durability import DURABILITY
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import BatchCorrupted, LeaderElected, LogStartMoved, PartitionDeleted, TraceEvent

# The settings that decide which anomalies are allowed: producer configurations and topic retention.


_ALL: Final = -1


class ProducerSettings(NamedTuple):
    """Producer settings that decide which anomalies are allowed. ``acks`` is -1 for all."""

    acks: int = _ALL
    idempotent: bool = True
    retries: int = 1
    in_flight: int = 1
    transactional: bool = False
    resends: bool = False
    """Whether its application resends records whose outcome the former process did not learn."""


class ClientSettings(NamedTuple):
    """Settings of all clients, by their names in the trace."""

    producers: Mapping[str, ProducerSettings] = {}
    groups: Mapping[str, str] = {}
    """Group → manner of its members."""
    readers: Mapping[str, str] = {}
    """Client outside the model → its manner."""
    copiers: frozenset[str] = frozenset()
    """Group members that write what they read."""
    static: frozenset[str] = frozenset()
    """Group members with a ``group.instance.id``."""


def manner(*, coordinated: bool, committed_only: bool) -> str:
    """Return the manner of a group's members: ``subscribe`` or ``assign``, with ``committed`` for read_committed."""
    return f"{SUBSCRIBE if coordinated else ASSIGN} {COMMITTED if committed_only else ''}".strip()


class AllowedAnomalies:
    """Effective settings and events that allow an anomaly: an unclean election does, a broker's crash does not."""

    __slots__ = (
        "_allowed_deletions",
        "_allowed_losses",
        "_clients",
        "_cluster_state",
        "_damaged",
        "_deleted",
        "_facts",
        "_unclean",
        "_undone",
    )

    def __init__(
        self,
        cluster_state: ClusterState,
        clients: ClientSettings,
        facts: KeyIndex,
        allowed_losses: AllowedLosses,
        acked_aborted: Callable[[str | None], int],
    ) -> None:
        """``acked_aborted`` returns how many acknowledged records of a client's transactions are aborted in the log."""
        self._cluster_state = cluster_state
        self._clients = clients
        self._facts = facts
        self._allowed_losses = allowed_losses
        self._undone = acked_aborted
        self._unclean: dict[str, None] = {}
        """Partitions that had an unclean election."""
        self._damaged: dict[str, None] = {}
        self._deleted: dict[str, None] = {}
        """Partitions with records deleted on purpose."""
        self._allowed_deletions: dict[str, str] = {}
        """Deleted partition → the reason that allowed its losses."""

    def observe(self, event: TraceEvent) -> None:
        """Record an event that may allow an anomaly."""
        if isinstance(event, LeaderElected):
            if not event.clean:
                self._unclean[event.partition] = None
        elif isinstance(event, BatchCorrupted):
            self._damaged[event.partition] = None
        elif isinstance(event, LogStartMoved):
            self._deleted[event.partition] = None
        elif isinstance(event, PartitionDeleted):
            why = self._loss_event(event.partition)
            if why:
                self._allowed_deletions[event.partition] = why
            self._unclean.pop(event.partition, None)
            self._damaged.pop(event.partition, None)

    def _producer(self, client: str) -> ProducerSettings:
        return self._clients.producers.get(client, ProducerSettings())

    def why_lost(self, client: str, key: str, *, written: bool = False) -> str:
        """Return why an acknowledged write may be lost; empty if it may not. An empty client stands for all senders.

        Weak acks allow a loss by themselves; other settings only if what they allow has happened to the partition.
        ``written``: consider the client's unread values only, so it must have happened after they were written.
        """
        senders = (client,) if client else tuple(self._facts.key(key).sent)
        weak = [self._producer(each).acks for each in senders if self._producer(each).acks != _ALL]
        if weak:
            return f"acks={weak[0]}"
        if key not in self._cluster_state.records:
            return "the partition is deleted"
        why = self._allowed_deletions.get(key, "") or self._loss_event(key)
        if why and written and not self._all_covered(client, key):
            why = ""
        why = why or self._unreadable(client, key)
        why = why or DURABILITY.known(
            self._cluster_state.profile, (LOSSY,) if self._allowed_losses.ever_lossy(key) else ()
        )
        if why or not any(map(self.transactional, senders)) or not self._undone(client or None):
            return why
        return self.why_wrong_outcome()

    def _loss_event(self, key: str) -> str:
        """Return the event that allows the loss of acks=all records of a partition; empty for none."""
        if self._allowed_losses.covered(key) < 0:
            return ""
        if key in self._unclean:
            return "an unclean leader election"
        return "a damaged disk" if key in self._damaged else "the last in-sync replicas lost unflushed data"

    def _unreadable(self, client: str, key: str) -> str:
        """Return a reason if all unread values are in damaged batches on the leader's disk; else empty."""
        missed = unread(self._facts.key(key)).get(client)
        if missed is None or key not in self._damaged:
            return ""
        found = [(place.offset, place.offset + place.size) for place in self._facts.key(key).places({client: missed})]
        return "a damaged disk" if found and all(self._allowed_losses.damaged(key, *span) for span in found) else ""

    def _all_covered(self, client: str, key: str) -> bool:
        """Return whether all unread values were written before the event that allows their loss."""
        facts = self._facts.key(key)
        missed = unread(facts).get(client)
        if missed is None:
            return True
        log_branches = dict.fromkeys(place.log_branch for place in facts.places({client: missed}))
        epoch_branches = self._cluster_state.epoch_branches[key].by_id
        return all(self._allowed_losses.covers(key, epoch_branches[log_branch].epoch) for log_branch in log_branches)

    def why_duplicated(self, client: str) -> str:
        """Return why a value may be written twice; empty if it may not."""
        producer = self._producer(client)
        if producer.resends:
            return "the application sends again after a restart"
        return "retries without idempotence" if producer.retries and not producer.idempotent else ""

    def why_reordered(self, client: str) -> str:
        """Return why values may be written out of order; empty if they may not."""
        producer = self._producer(client)
        if producer.resends:
            return "the application sends again after a restart"
        loose = producer.retries and producer.in_flight > 1 and not producer.idempotent
        return "retries without idempotence" if loose else ""

    def why_skipped(self, key: str) -> str:
        """Return why a reader may skip values that others received; empty if it may not."""
        if key in self._deleted:
            return "records were deleted on purpose"
        return "the topic is compacted" if self.compacted(key) else ""

    def why_wrong_outcome(self) -> str:
        """Return why a transaction may have the wrong outcome in the log; empty if it may not."""
        return (
            ""
            if self._cluster_state.profile.transactions_v2
            else "a delayed request can end the next transaction (KIP-890)"
        )

    def compacted(self, key: str) -> bool:
        """Return whether a key's topic is compacted."""
        record = self._cluster_state.records.get(key)
        return record is not None and record.topic_config.log.compact

    @property
    def static(self) -> frozenset[str]:
        """Group members with a ``group.instance.id``."""
        return self._clients.static

    def transactional(self, client: str) -> bool:
        """Return whether a producer is transactional."""
        return self._producer(client).transactional

    def caught_up(self, key: str) -> bool:
        """Return whether the final read reached the end of the partition."""
        return self._facts.key(key).caught_up

    def had_leader(self, key: str) -> bool:
        """Return whether a leader served the final read."""
        return self._facts.key(key).had_leader

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        return (
            tuple(self._unclean),
            tuple(self._damaged),
            tuple(self._deleted),
            tuple(self._allowed_deletions.items()),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        *names, buried = saved
        self._unclean, self._damaged, self._deleted = map(dict.fromkeys, names)
        self._allowed_deletions = dict(buried)


# Every anomaly by name: its rule in one sentence, and when it is allowed.


Excuse = Callable[[AnomalyCase, AllowedAnomalies], str]
"""Callable that returns why a case is allowed, in one phrase; empty if it is not."""


class Anomaly(NamedTuple):
    """Definition of an anomaly. ``own``: it is not in Jepsen's checker for Kafka but specific to this model."""

    name: str
    rule: str
    legal: str
    excuse: Excuse
    own: bool = False


def _never(_case: AnomalyCase, _now: AllowedAnomalies) -> str:
    return ""


def _always(why: str) -> Excuse:
    return lambda _case, _now: why


def _losses(case: AnomalyCase, now: AllowedAnomalies) -> str:
    return now.why_lost(case.client, case.key, written=True)


def _never_read(case: AnomalyCase, now: AllowedAnomalies) -> str:
    """Allow a lost write: readers may have started above it, so only the final read of an online partition counts."""
    return _losses(case, now) if now.had_leader(case.key) else "the partition had no leader at the end"


def _losses_of_any_client(case: AnomalyCase, now: AllowedAnomalies) -> str:
    return now.why_lost("", case.key)


def _owners(case: AnomalyCase, now: AllowedAnomalies) -> str:
    return "another process may use the same group.instance.id" if case.client in now.static else ""


def _duplicate(case: AnomalyCase, now: AllowedAnomalies) -> str:
    return now.why_duplicated(case.client)


def _unseen(case: AnomalyCase, now: AllowedAnomalies) -> str:
    if not now.caught_up(case.key):
        return "the final read did not reach the end of the partition"
    return now.why_lost(case.client, case.key, written=True) or _compacted(case, now)


def _aborted(case: AnomalyCase, now: AllowedAnomalies) -> str:
    if not now.transactional(case.client):
        return ""
    if case.manner != COMMITTED:
        return "the reader is read_uncommitted"
    return now.why_wrong_outcome()


def _precommitted(case: AnomalyCase, _now: AllowedAnomalies) -> str:
    return "" if case.manner == COMMITTED else "the reader is read_uncommitted"


def _compacted(case: AnomalyCase, now: AllowedAnomalies) -> str:
    return "the topic is compacted" if now.compacted(case.key) else ""


def _between_polls(case: AnomalyCase, now: AllowedAnomalies) -> str:
    if case.manner.startswith(SUBSCRIBE):
        return "the reader uses its group's commits"
    if case.manner.startswith(WIRE):
        return "a real client may read from any offset"
    return now.why_lost("", case.key) or now.why_skipped(case.key)


def _reordered(case: AnomalyCase, now: AllowedAnomalies) -> str:
    return now.why_reordered(case.client) or now.why_lost(case.client, case.key)


def _cycle_excuse(case: AnomalyCase, _now: AllowedAnomalies) -> str:
    if not case.manner:
        return "writes are not isolated, and the cycle contains writes"
    return "" if COMMITTED in case.manner else "a reader is read_uncommitted"


_LOSS: Final = (
    "`acks` other than `all`; since the write the partition had an unclean leader election, a batch damaged on disk, "
    "or its last in-sync replicas lost unflushed data; a version with a known defect (before KIP-101, KIP-279 and "
    "KIP-320); without KIP-890 a transaction aborted by the end of another one"
)

_TABLE: Final = (
    Anomaly(rules.INCONSISTENT_OFFSETS, "one offset was observed with two different records",
         "a write may be lost, since its offset is then reused", _losses_of_any_client),
    Anomaly(rules.DUPLICATE, "one record is at two offsets",
         "a producer that retries without idempotence, or resends after a restart", _duplicate),
    Anomaly(rules.LOST_WRITE,
            "a committed record at or below the highest offset read was never read",
         f"the partition had no leader at the end; {_LOSS}", _never_read),
    Anomaly(rules.UNSEEN, "an acknowledged record has not been returned by any poll at the end",
         "the final read did not reach the end of the partition; or a write may be lost", _unseen),
    Anomaly(rules.ABORTED_READ, "a poll returned a record whose send failed or was aborted",
         "`read_uncommitted`; without KIP-890 (`transaction.version` 2) a delayed request may end another transaction",
         _aborted),
    Anomaly(rules.PRECOMMITTED_READ, "one operation both sent a record and read it", "`read_uncommitted`",
            _precommitted),
    Anomaly(order_rules.INTERNAL_NONMONOTONIC_POLL, "within one poll a record does not follow the previous one",
         "a rebalance moved the partition meanwhile", _never),
    Anomaly(order_rules.INTERNAL_POLL_SKIP, "within one poll records that others observed are skipped",
         "a rebalance moved the partition meanwhile; the topic is compacted", _compacted),
    Anomaly(order_rules.NONMONOTONIC_POLL, "a process received a record that does not follow its last one",
         "the group assigns partitions, or a real client; or a write may be lost",
         _between_polls),
    Anomaly(order_rules.POLL_SKIP, "a process skipped records that others observed",
         "the group assigns partitions, or a real client; a write may be lost, or records are deleted or compacted",
         _between_polls),
    Anomaly(order_rules.INTERNAL_NONMONOTONIC_SEND,
         "within one transaction a record is not after the one sent before it", "never", _never),
    Anomaly(order_rules.INTERNAL_SEND_SKIP, "within one transaction other records are between two that were sent",
         "always: writers interleave", _always("writers interleave")),
    Anomaly(order_rules.NONMONOTONIC_SEND, "a record is not after the one that its process sent before",
         "retries without idempotence and with more than one request in flight; or a write may be lost", _reordered),
    Anomaly(cycles.WRITES, "a cycle of transactions that wrote after each other", "always: writes are not isolated",
         _always("writes are not isolated")),
    Anomaly(cycles.READS, "a cycle of transactions that wrote after or read each other, with at least one read",
         "the cycle contains writes; a cycle of reads only under `read_uncommitted`", _cycle_excuse),
    Anomaly(rules.PHANTOM, "a poll returned a record that no client has sent", "never", _never),
    Anomaly(rules.CONSUME_DUP, "a process of a group received a record more than once",
         "always: delivery is at least once", _always("delivery is at least once")),
    Anomaly(order_rules.REALTIME_LAG, "a poll returned less than was known to exist when it was called",
         "always: a metric, not a fault", _always("metric only")),
    Anomaly(order_rules.REALTIME_ORDER, "a record is before one that was acknowledged before it was sent",
         "a write may be lost", _losses_of_any_client, own=True),
    Anomaly(rules.COMMIT_REGRESSION, "a group's committed offset decreased",
         "always: the coordinator keeps the last commit", _always("the coordinator keeps the last commit"),
         own=True),
    Anomaly(rules.TWO_OWNERS, "two members own a partition in one generation of their group",
         "another process uses the same `group.instance.id`", _owners, own=True),
)  # fmt: skip

KINDS: Final[dict[str, Anomaly]] = {kind.name: kind for kind in _TABLE}
"""Name → anomaly, in the order of the documentation."""
