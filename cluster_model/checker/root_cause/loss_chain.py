"""Causes and event chains of lost and missing records, from the acknowledgement to the loss of each copy."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from cluster_model.broker.partition.replication_rules import EPOCH_UNKNOWN
from cluster_model.checker.history.fault_history import FaultRecord, about, fault_text, faults_on_node
from cluster_model.checker.history.partition_history import (
    ClusterHistory,
    LogTruncation,
    MissingRecords,
    PartitionSnapshot,
)
from cluster_model.checker.ledger.ledger import Ledger, truncation_text
from cluster_model.checker.ledger.ledger_report import LOST as LOST_PLACE
from cluster_model.checker.ledger.ledger_report import missing_or_lost_runs
from cluster_model.checker.root_cause import findings
from cluster_model.checker.root_cause.finding_text import (
    ACKNOWLEDGED_KIND,
    HOLDERS_PLACEHOLDER,
    RECORDS_PLACEHOLDER,
    SESSION_END_KIND,
    Acknowledgement,
    RangeExplanation,
    acks_levels_text,
    at,
    period_text,
)
from cluster_model.checker.root_cause.findings import ACKS_0, LOST, MISSING, ChainEvent, RecordBlock
from cluster_model.controller.rules.partition_change import LAST_KNOWN
from cluster_model.log.batch_store import EpochBranch
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS
from cluster_model.observation.cluster_state import ClusterState
from cluster_model.protocol.events import (
    BatchCorrupted,
    BecameLeader,
    BrokerFenced,
    IsrChanged,
    LeaderElected,
    NodeDown,
    RecordsLost,
)
from cluster_model.protocol.records import CORRUPT_BATCH
from cluster_model.protocol.versions import Profile
from cluster_model.util.quantities import brokers, counted, offsets
from cluster_model.util.ranges import Range

# The cause of a loss, as far as the recorded events prove it.
#
# A version or a setting alone proves nothing. If the kept events do not prove a cause, it is ``unexplained``.


HIGH_WATERMARK: Final = "high watermark"
_BY_RULE: Final = {
    POWER_LOSS: findings.POWER_LOSS_UNFLUSHED,
    DISK_LOSS: findings.DISK_LOST,
    CORRUPT_BATCH: findings.DAMAGED_BATCH,
}


@dataclass(frozen=True, slots=True)
class LossCase:
    """One range of lost or missing records, with the events and states that may explain it."""

    partition: str
    epoch_branch: EpochBranch
    offsets: Range
    acks: int
    committed: bool
    isr: tuple[int, ...]
    """Committed ISR at the acknowledgement; the leader may have used an older one and waited for more replicas."""
    min_isr: int
    """min.insync.replicas: with fewer in-sync replicas acks=all is rejected."""
    missing: MissingRecords | None
    snapshot: PartitionSnapshot
    truncation: LogTruncation | None
    """The truncation by which the new leader lost its copy; without a witness, the one that took the last copy."""
    leader: int
    """Broker that became leader, or resumed leadership, without the records; -1 for none."""

    @property
    def acknowledging_broker(self) -> int:
        """The broker that acknowledged the records."""
        return self.epoch_branch.broker

    @property
    def election(self) -> LeaderElected | None:
        """The election that made :attr:`leader` the leader, if any."""
        return self.snapshot.election

    @property
    def written_us(self) -> int:
        """Virtual time at which the first record was written, in microseconds."""
        return self.epoch_branch.appended_at(self.offsets[0])

    @property
    def single_copy(self) -> bool:
        """True if acks=all meant a single copy: min.insync.replicas is 1 and the leader was alone in the ISR."""
        return self.acks < 0 and self.min_isr == 1 and self.isr == (self.acknowledging_broker,)

    @property
    def acked_by_deposed_leader(self) -> bool:
        """True if a leader that had already been deposed acknowledged them."""
        election = self.election
        if self.missing is None or election is None or self.epoch_branch.epoch >= election.leader_epoch:
            return False
        return self.missing.trigger is None and self.written_us >= election.at_us


def loss_case_of(
    history: ClusterHistory,
    partition: str,
    epoch_branch: EpochBranch,
    offsets: Range,
    acks: int,
    isr: tuple[int, ...],
    *,
    min_isr: int,
    committed: bool,
    leader: int,
) -> LossCase:
    """Collect the events and states that may explain a loss. ``leader`` is the current leader, -1 for none."""
    witness = history.missing_records.of(partition, epoch_branch.epoch, offsets[0])
    truncations = history.truncations_of(partition, epoch_branch.id, offsets)
    late = None if witness is None else _later_truncation(witness, truncations)
    if witness is None or late is not None:
        snapshot = history.snapshot(partition)
        late = None if late is None else _truncation_of_leader(late, snapshot.election, truncations)
        cut = late or (truncations[-1] if truncations else None)
        leader = leader if late is None else late.event.broker
        return LossCase(partition, epoch_branch, offsets, acks, committed, isr, min_isr, None, snapshot, cut, leader)
    snapshot, trigger = witness.snapshot, witness.trigger
    if isinstance(trigger, LeaderElected):
        leader = trigger.leader
    elif snapshot.election is not None:
        leader = snapshot.election.leader
    elif trigger is None:
        leader = epoch_branch.broker  # No election since: it had lost them when its response arrived.
    elif hasattr(trigger, "broker"):
        leader = trigger.broker
    own = [cut for cut in truncations if cut.event.broker == leader and cut.moment <= snapshot.moment]
    cut = own[-1] if own else None
    return LossCase(partition, epoch_branch, offsets, acks, committed, isr, min_isr, witness, snapshot, cut, leader)


def _later_truncation(witness: MissingRecords, truncations: Sequence[LogTruncation]) -> LogTruncation | None:
    """Return the truncation by which the elected replica lost the records after the election.

    It had fetched them before it learned that it is the leader.
    """
    election = witness.snapshot.election
    if election is None:
        return None
    later = [cut for cut in truncations if cut.event.broker == election.leader and cut.moment > witness.snapshot.moment]
    return later[-1] if later else None


def _truncation_of_leader(
    cut: LogTruncation, election: LeaderElected | None, truncations: Sequence[LogTruncation]
) -> LogTruncation:
    """Return the leader's own truncation, if ``cut`` only followed a leader that had lost its copy before."""
    if election is None or cut.event.leader_epoch != election.leader_epoch:
        return cut
    own = [each for each in truncations if each.event.broker == election.leader and each.moment <= cut.moment]
    return own[-1] if own else cut


def loss_cause_of(case: LossCase, history: ClusterHistory, profile: Profile) -> str:
    """Return the cause of a loss, a code of :data:`findings.CAUSES`."""
    witness = case.missing
    if witness is None:
        if case.truncation is None:
            return _cause_without_truncation(case, history)
        return _cause_of_truncation(case, history, profile)
    if isinstance(witness.trigger, BatchCorrupted):
        return findings.DAMAGED_BATCH
    if case.acked_by_deposed_leader:
        return findings.ZOMBIE_LEADER
    election = case.election
    if election is not None and not election.clean and (witness.holders or case.truncation is None):
        return _cause_of_unclean(election)
    if case.truncation is not None:
        return _cause_of_truncation(case, history, profile)
    if history.damage(case.partition, case.leader, case.offsets, case.snapshot.moment) is not None:
        return findings.DAMAGED_BATCH
    if election is None or case.leader == case.acknowledging_broker:
        return findings.UNEXPLAINED
    if history.early_join(case.partition, case.leader, case.offsets[0], case.snapshot.moment) is not None:
        return findings.EARLY_JOIN
    return _cause_of_missing_fetch(case, witness, profile)


def _cause_of_unclean(election: LeaderElected) -> str:
    return findings.LAST_KNOWN_LEADER if election.by.endswith(LAST_KNOWN) else findings.UNCLEAN_ELECTION


def _cause_without_truncation(case: LossCase, history: ClusterHistory) -> str:
    """Return the cause if there is neither a leader nor a truncation of the records."""
    start, end = case.offsets
    gone = [event for _moment, event in history.removed(case.partition).values()]
    took = any(each.log_offset < end and each.end_offset > start and each.at_us >= case.written_us for each in gone)
    return findings.REPLICA_DELETED if took else findings.UNEXPLAINED


def _cause_of_truncation(case: LossCase, history: ClusterHistory, profile: Profile) -> str:
    """Return the cause if the leader had lost its copy by a truncation, or the last copy was lost by one."""
    assert case.truncation is not None
    rule = case.truncation.event.rule
    if rule in _BY_RULE:
        if rule != CORRUPT_BATCH and case.truncation.isr == (case.leader,) and case.missing and case.missing.holders:
            return findings.LAST_REPLICA
        if rule != CORRUPT_BATCH and case.single_copy:
            return findings.MIN_ISR_ONE
        return _BY_RULE[rule]
    if rule.startswith(HIGH_WATERMARK) and rule != EPOCH_UNKNOWN:
        return findings.HW_TRUNCATION
    if case.truncation.event.leader_epoch < case.epoch_branch.epoch and not _fences_followers(profile):
        return findings.UNFENCED_FOLLOWER  # It had fetched from a leader of a later epoch than its own.
    unclean = history.unclean(case.partition, case.truncation.event.leader_epoch)
    if unclean is not None:
        return _cause_of_unclean(unclean)
    if not case.committed and case.acks >= 0:
        return findings.UNREPLICATED_TAIL
    if case.truncation.epochs_differed and not _fences_followers(profile):
        return findings.UNFENCED_FOLLOWER
    if rule == EPOCH_UNKNOWN and not profile.epoch_on_elect:
        return findings.UNKNOWN_EPOCH
    if case.truncation.event.leader_epoch == case.epoch_branch.epoch and not _fences_followers(profile):
        # It had led in an earlier epoch with these records in its log, and replaced their epoch with that (KAFKA-7415).
        return findings.UNFENCED_FOLLOWER
    return findings.UNEXPLAINED


def _fences_followers(profile: Profile) -> bool:
    """Return whether every fetch in another leader epoch is fenced (KIP-320; in sessions KAFKA-9338)."""
    return profile.kip_320 and profile.session_epochs


def _cause_of_missing_fetch(case: LossCase, witness: MissingRecords, profile: Profile) -> str:
    """Return the cause if a clean election chose a replica that had never held the records."""
    counted = case.leader in case.isr or (case.leader in case.snapshot.isr and case.acks < 0)
    if case.committed and counted and not _fences_followers(profile):
        return _cause_of_wrong_isr(case, witness, profile)
    if case.single_copy:
        return findings.MIN_ISR_ONE
    if case.acks < 0 or (case.committed and counted):
        return findings.UNEXPLAINED  # Every member of the ISR holds what is committed.
    return findings.UNREPLICATED_TAIL


def _cause_of_wrong_isr(case: LossCase, witness: MissingRecords, profile: Profile) -> str:
    """Return the cause if the replica counted as in sync without the records.

    It held other records at these offsets, or it was in another leader epoch.
    """
    if witness.replacing_epoch > case.epoch_branch.epoch and not profile.kip_279:
        return findings.FAST_FAILOVER if profile.epoch_truncation else findings.HW_TRUNCATION
    if profile.epoch_truncation or witness.leader_was_stale or witness.replacing_epoch < 0:
        return findings.UNFENCED_FOLLOWER
    return findings.HW_TRUNCATION


# The event chain of a loss, from the acknowledgement to the loss of each copy.


_OrderedEvent = tuple[int, int, ChainEvent]
"""(virtual time in microseconds, order within it, chain event)."""


@dataclass(frozen=True, slots=True)
class ChainExplanation:
    """An event chain and the clauses that its finding's sentence consists of."""

    key: tuple[object, ...]
    clauses: tuple[str, ...]
    links: tuple[ChainEvent, ...]
    holders: tuple[int, ...]
    """Replicas that still held the records when another replica became leader without them."""


class LossChain:
    """Builder of the event chain of one loss."""

    def __init__(self, cluster_state: ClusterState, history: ClusterHistory, case: LossCase, now_us: int) -> None:
        self._cluster_state = cluster_state
        self._history = history
        self._case = case
        self._now_us = now_us
        self._links: list[_OrderedEvent] = []
        self._deletions: list[str] = []
        """Descriptions of deleted replicas that held the records."""

    def explain(self) -> ChainExplanation:
        """Return the chain, the clauses of the sentence, and the replicas that still held the records."""
        case = self._case
        root = self._root_fault()
        self._add_acknowledgement()
        if root is not None:
            self._add_fault(root, self._node_of(root))
        left_out = [*self._isr_removals(), *self._early_join()]
        self._add_fencing()
        truncations, held = self._copies()
        holders = self._holders(truncations, held)
        election_clause = self._add_election(
            f", while {HOLDERS_PLACEHOLDER}" if holders and self._lost_own_copy and not held else ""
        )
        damage = self._add_damage()
        dropped = self._add_last_loss(truncations, held, damage)
        happened = "" if root is None else self._fault_text(root, self._node_of(root))
        own = case.truncation
        lost_own = "" if own is None else f"broker {own.event.broker} {self._truncation_text(own)}"
        first = [happened, lost_own]
        if own is not None and root is not None and own.moment < root.moment:
            first.reverse()
        clauses = [*left_out, *first, damage, election_clause, dropped, *(self._deletions if own is None else ())]
        self._links.sort(key=lambda placed: placed[:2])
        links = tuple(dict.fromkeys(link for _at, _order, link in self._links))
        return ChainExplanation(self._key(root), tuple(dict.fromkeys(each for each in clauses if each)), links, holders)

    def _add(self, at_us: int, moment: int, kind: str, broker: int, text: str, *, partition: bool = True) -> None:
        link = ChainEvent(at_us, kind, self._case.partition if partition else "", broker, text)
        self._links.append((at_us, moment * 2, link))

    # -- the acknowledgement ----------------------------------------------------------------------------------------

    def _add_acknowledgement(self) -> None:
        case = self._case
        start, end = case.offsets
        text = (
            f"broker {case.acknowledging_broker}, leader in epoch {case.epoch_branch.epoch}, "
            f"wrote {offsets(start, end)} of "
            f"{case.partition}{period_text(case.written_us, case.epoch_branch.appended_at(end - 1))} and acknowledged "
            f"{RECORDS_PLACEHOLDER} with {acks_levels_text([case.acks])} and ISR {sorted(case.isr)}"
        )
        order = case.snapshot.moment * 2 + 1 if case.acked_by_deposed_leader else -1
        link = ChainEvent(case.written_us, ACKNOWLEDGED_KIND, case.partition, case.acknowledging_broker, text)
        self._links.append((case.written_us, order, link))

    # -- the fault --------------------------------------------------------------------------------------------------

    def _root_fault(self) -> FaultRecord | None:
        """Return the fault of the replica that lost its copy, else of the deposed leader; None if there is none."""
        case = self._case
        snapshot = case.snapshot
        if case.missing is not None and isinstance(case.missing.trigger, BatchCorrupted):
            damaged = self._leader_damage()
            return None if damaged is None else self._disk_fault(case.leader, damaged[0])
        cut = case.truncation
        if cut is not None and cut.event.rule in (POWER_LOSS, DISK_LOSS):
            node = f"broker {cut.event.broker}"
            process_ends = [
                fault
                for fault in about(snapshot.fault_records, node, 0)
                if fault.event_kind == NodeDown.kind and fault.at_us <= cut.event.at_us
            ]
            return process_ends[-1] if process_ends else None
        if cut is not None and cut.event.rule == CORRUPT_BATCH:
            found = self._history.damage(case.partition, cut.event.broker, case.offsets, cut.moment)
            return None if found is None else self._disk_fault(cut.event.broker, found[0])
        damaged = self._leader_damage()
        if damaged is not None:
            return self._disk_fault(case.leader, damaged[0])
        return None if self._elected_manually else self._active_fault(snapshot.deposed, snapshot.election_moment)

    @property
    def _elected_manually(self) -> bool:
        """Whether a manual step elected the new leader, so that the election needs no cause."""
        election = self._case.election
        return election is not None and election.at_us == 0

    def _disk_fault(self, broker: int, moment: int) -> FaultRecord | None:
        """Return the fault that damaged a broker's disk: its event is right before or after that of the damage."""
        faults = faults_on_node(self._case.snapshot.fault_records, f"broker {broker}", 0)
        return min(faults, key=lambda fault: abs(fault.moment - moment), default=None)

    def _active_fault(self, broker: int, until: int) -> FaultRecord | None:
        """Return the newest fault active on a broker at a moment, else the newest since the records were written.

        If the broker was fenced for its silence, the fault is one that was active when the silence began.
        """
        if broker < 0:
            return None
        faults = about(self._case.snapshot.fault_records, f"broker {broker}", self._case.written_us)
        started = [fault for fault in faults if fault.moment <= until]
        silent_us = self._silent_us(broker)
        active_when_silent = [fault for fault in started if fault.ended_us < 0 or fault.ended_us >= silent_us]
        if silent_us >= 0 and active_when_silent:
            return _newest(active_when_silent)
        active = [fault for fault in started if fault.ended_us < 0]
        ended = [fault for fault in started if fault.ended_us > 0]
        return _newest(active or ended)

    def _silent_us(self, broker: int) -> int:
        """Return since when a broker had sent the controller nothing, if that caused the election, else -1."""
        election = self._case.election
        fenced = [each for each in self._case.snapshot.fenced if each.broker == broker]
        if election is None or not fenced or f"broker {broker}" not in election.by:
            return -1
        return max(fenced[-1].at_us - self._cluster_state.session_us(), -1)

    def _node_of(self, fault: FaultRecord) -> str:
        cut, case = self._case.truncation, self._case
        for broker in (case.leader, case.snapshot.deposed, -1 if cut is None else cut.event.broker):
            if f"broker {broker}" in fault.node.split(", "):
                return f"broker {broker}"
        return fault.node

    def _fault_text(self, fault: FaultRecord, node: str) -> str:
        return fault_text(fault, node, self._history.fault_records.step_of(fault.moment, fault.at_us))

    def _add_fault(self, fault: FaultRecord, node: str) -> None:
        broker = int(node.removeprefix("broker ")) if node.startswith("broker ") else -1
        self._add(fault.at_us, fault.moment, fault.event_kind, broker, self._fault_text(fault, node), partition=False)

    def _key(self, root: FaultRecord | None) -> tuple[object, ...]:
        if root is not None:
            return root.key
        election = self._case.election
        if election is None:
            return ("partition", self._case.partition)
        return ("election", election.at_us, election.by, election.leader_epoch if election.at_us == 0 else 0)

    # -- the election -----------------------------------------------------------------------------------------------

    @property
    def _lost_own_copy(self) -> bool:
        """Whether the leader held the records before and lost them in a power loss or with its disk."""
        cut = self._case.truncation
        return cut is not None and cut.event.rule in (POWER_LOSS, DISK_LOSS)

    def _isr_removals(self) -> list[str]:
        """Return which replicas had left the ISR: the new leader, and all that did if the last ISR member matters."""
        case = self._case
        cut = case.truncation
        until = cut.moment if cut is not None and self._lost_own_copy else case.snapshot.election_moment
        unclean = case.election is not None and not case.election.clean
        alone = self._lost_own_copy or unclean or (case.acks < 0 and case.isr == (case.acknowledging_broker,))
        alike: dict[tuple[str, str], list[int]] = {}
        for broker, moment, event in sorted(case.snapshot.isr_removals, key=lambda each: each[1]):
            if moment >= until or not (alone or broker == case.leader):
                continue
            text = f"broker {broker} left the ISR (now {sorted(event.isr)}, changed by the {event.by})"
            self._add(event.at_us, moment, IsrChanged.kind, broker, text)
            why = ""
            for node in (f"broker {broker}", f"broker {case.acknowledging_broker}"):
                fault = self._fault_before(node, moment, event)
                if fault is not None:
                    self._add_fault(fault, node)
                    why = self._fault_text(fault, node)
                    break
            alike.setdefault((why, at(event.at_us)), []).append(broker)
        clauses = []
        for (why, when), leavers in alike.items():
            if not why:
                clauses.append(f"{brokers(leavers)} had left the ISR{when}")
            elif len(leavers) == 1 and why.startswith(f"broker {leavers[0]} "):
                clauses.append(f"{why} and left the ISR{when}")
            else:
                clauses.append(f"{why}, and {brokers(leavers)} left the ISR{when}")
        return clauses

    def _early_join(self) -> list[str]:
        """Return how the new leader joined the ISR without the records although its leader should have refused."""
        case = self._case
        if case.truncation is not None or case.missing is None:
            return []
        join = self._history.early_join(case.partition, case.leader, case.offsets[0], case.snapshot.moment)
        if join is None:
            return []
        event = join.event
        text = (
            f"broker {case.leader} joined the ISR of epoch {event.leader_epoch} with log end offset {join.end}, below "
            f"the start offset {join.epoch_start} of the leader's epoch"
        )
        self._add(event.at_us, join.moment, IsrChanged.kind, case.leader, text)
        return [text]

    def _fault_before(self, node: str, moment: int, event: IsrChanged) -> FaultRecord | None:
        """Return the newest fault of a node that was active when the ISR changed and began before that."""
        faults = about(self._case.snapshot.fault_records, node, event.at_us)
        found = [fault for fault in faults if fault.moment < moment]
        return found[-1] if found else None

    def _add_fencing(self) -> None:
        """Add the event by which the controller fenced the deposed leader; it may be recorded after the election."""
        snapshot, election = self._case.snapshot, self._case.election
        if election is None or f"broker {snapshot.deposed}" not in election.by:
            return
        for fault in [each for each in snapshot.fenced if each.broker == snapshot.deposed]:
            if fault.at_us <= election.at_us:
                text = f"the controller fenced broker {fault.broker} ({fault.what})"
                moment = min(fault.moment, snapshot.election_moment - 1)
                self._add(fault.at_us, moment, BrokerFenced.kind, fault.broker, text, partition=False)

    def _add_election(self, held: str) -> str:
        """Add the election and return its clause; ``held`` names the replicas that still held the records."""
        case = self._case
        trigger = None if case.missing is None else case.missing.trigger
        if isinstance(trigger, BecameLeader):
            text = (
                f"broker {trigger.broker} resumed leadership in epoch {trigger.leader_epoch} "
                f"without {RECORDS_PLACEHOLDER}{held}"
            )
            self._add(trigger.at_us, case.snapshot.moment, trigger.kind, trigger.broker, text)
            return text
        election = case.election
        if case.missing is None or election is None or isinstance(trigger, BatchCorrupted):
            return ""
        step = (
            self._history.fault_records.step_of(case.snapshot.election_moment, election.at_us)
            if election.at_us == 0
            else ""
        )
        by = step or election.by
        kind = "a clean" if election.clean else "an unclean"
        became = f"became leader in epoch {election.leader_epoch} by {kind} election ({by})"
        if case.acked_by_deposed_leader:
            self._add(
                election.at_us, case.snapshot.election_moment, election.kind, election.leader,
                f"broker {election.leader} {became}; broker {case.acknowledging_broker} "
                "had not yet received the new leader epoch",
            )  # fmt: skip
            elected = (
                f"broker {election.leader} had been elected in epoch {election.leader_epoch}{at(election.at_us)} ({by})"
            )
            return f"{elected}, and broker {case.acknowledging_broker} had not yet received the new leader epoch"
        text = f"broker {election.leader}{self._lacking_clause()} {became} with ISR {sorted(election.isr)}{held}"
        self._add(election.at_us, case.snapshot.election_moment, LeaderElected.kind, election.leader, text)
        return text

    def _lacking_clause(self) -> str:
        """Return why the elected replica lacked the records, if it had never held them; else empty."""
        case = self._case
        if case.truncation is not None or case.missing is None or self._leader_damage() is not None:
            return ""
        instead, election = case.missing.replacing_epoch, case.election
        in_sync = case.committed and case.leader in case.isr and election is not None and election.clean
        lacked = f"had not replicated {RECORDS_PLACEHOLDER}"
        if isinstance(case.missing.trigger, LeaderElected) and instead >= 0:
            lacked = f"held records of epoch {instead} at these offsets instead"
        return f", which was in the ISR and {lacked}," if in_sync else f", which {lacked},"

    # -- the copies -------------------------------------------------------------------------------------------------

    def _copies(self) -> tuple[list[LogTruncation], list[int]]:
        """Return the truncations that removed copies, in order, and the brokers that still hold one."""
        case = self._case
        name, log_branch, (start, end) = case.partition, case.epoch_branch.id, case.offsets
        truncations = self._history.truncations_of(name, log_branch, (start, end))
        for cut in truncations:
            event = cut.event
            text = f"broker {event.broker} {self._truncation_text(cut)}"
            self._add(event.at_us, cut.moment, event.kind, event.broker, text)
        for broker, (moment, deletion) in self._history.removed(name).items():
            if deletion.log_offset < end and deletion.end_offset > start and deletion.at_us >= case.written_us:
                text = f"broker {broker} deleted its replica ({deletion.by})"
                self._deletions.append(text)
                self._add(deletion.at_us, moment, deletion.kind, broker, text)
        replicas = self._cluster_state.replicas.get(name, {})
        return truncations, [
            broker for broker, replica in replicas.items() if replica.log.holds(log_branch, start, end)
        ]

    def _holders(self, truncations: list[LogTruncation], held: list[int]) -> tuple[int, ...]:
        """Return the brokers that held the records when the current leader was elected without them."""
        later = [cut.event.broker for cut in truncations if cut.moment > self._case.snapshot.moment]
        return tuple(sorted({*later, *held} - {self._case.leader}))

    def _leader_damage(self) -> tuple[int, BatchCorrupted] | None:
        """Return when the leader's copy was damaged on its disk, with the event; None if it was not."""
        case = self._case
        return self._history.damage(case.partition, case.leader, case.offsets, case.snapshot.moment)

    def _add_damage(self) -> str:
        found = self._leader_damage()
        if found is None:
            return ""
        moment, event = found
        text = f"the copy on broker {event.broker} was corrupted on disk and cannot be read"
        self._add(event.at_us, moment, event.kind, event.broker, text)
        return text

    def _add_last_loss(self, truncations: list[LogTruncation], held: list[int], damage: str) -> str:
        """Return where the last copy was dropped, or which brokers still hold one as the session ends."""
        case = self._case
        held = [broker for broker in held if not (damage and broker == case.leader)]
        never = [
            broker
            for broker in case.snapshot.replicas
            if broker not in held
            and broker != case.leader
            and not any(cut.event.broker == broker for cut in truncations)
        ]
        tail = (
            f"; {brokers(never)} had never held {RECORDS_PLACEHOLDER}"
            if never and case.acknowledging_broker not in never
            else ""
        )
        if held:
            down = [broker for broker in held if not self._cluster_state.is_up(broker)]
            state = ", down," if down == held else ""
            text = (
                f"{brokers(held)}{state} still held {RECORDS_PLACEHOLDER} as the session ended, and the leader did not"
            )
            link = ChainEvent(self._now_us, SESSION_END_KIND, case.partition, held[0], text + tail)
            self._links.append((self._now_us, self._history.moment * 2 + 2, link))
            return text
        if not truncations:
            return damage
        last = truncations[-1]
        self._append_text(last, f"no log held {RECORDS_PLACEHOLDER} any more{tail}")
        if case.truncation is not None and last.moment == case.truncation.moment:
            return ""
        return f"broker {last.event.broker} {self._truncation_text(last)}{at(last.event.at_us)}"

    def _truncation_text(self, cut: LogTruncation) -> str:
        """Return a truncation as text, without the power loss, which is an event of its own in the chain."""
        if cut.event.rule == POWER_LOSS:
            return f"lost its unflushed log from offset {cut.event.log_offset} on"
        return truncation_text(cut.event, committed=self._case.committed)

    def _append_text(self, cut: LogTruncation, text: str) -> None:
        """Append text to the chain event of a truncation."""
        for index, (at_us, order, link) in enumerate(self._links):
            if link.event_kind == cut.event.kind and order == cut.moment * 2:
                noted = ChainEvent(link.at_us, link.event_kind, link.partition, link.broker, f"{link.text}; {text}")
                self._links[index] = (at_us, order, noted)


def _newest(faults: Sequence[FaultRecord]) -> FaultRecord | None:
    """Return the newest fault that ended or paused a process, else the newest of all."""
    stops = [fault for fault in faults if fault.is_stop]
    return (stops or faults)[-1] if faults else None


def branch_of(
    cluster_state: ClusterState, partition: str, epoch: int, offset: int, client: str, sequence: int
) -> EpochBranch | None:
    """Return the log branch that holds a client's record written in a leader epoch at an offset, else None."""
    epoch_branches = cluster_state.epoch_branches.get(partition)
    for epoch_branch in reversed(() if epoch_branches is None else epoch_branches.by_id):
        if epoch_branch.epoch == epoch and epoch_branch.start <= offset < epoch_branch.end:
            batch = epoch_branch.batch_at(offset)
            if (batch.client, batch.sequence + offset - batch.base) == (client, sequence):
                return epoch_branch
    return None


# Explanations of all lost and missing ranges.


class LostFindings:
    """Explanations of the lost and missing records of the ledger, from the cluster's history."""

    def __init__(self, cluster_state: ClusterState, history: ClusterHistory, ledger: Ledger) -> None:
        self._cluster_state = cluster_state
        self._history = history
        self._ledger = ledger

    def explanations(self, now_us: int) -> Iterator[RangeExplanation]:
        """Yield the explanations of the lost and missing ranges of existing partitions."""
        for there, partition, epoch_branch, run in missing_or_lost_runs(self._cluster_state, self._ledger):
            kind = LOST if there == LOST_PLACE else MISSING
            block = RecordBlock(
                partition, run.client, run.sequence, run.end - run.start, run.start, epoch_branch.epoch, run.acks,
                run.committed,
            )  # fmt: skip
            yield from self.explain_block(kind, block, now_us)

    def input_state(self) -> tuple[object, ...]:
        """Return the state that :meth:`explanations` depends on: equal states give equal results, rare events aside."""
        ledger = self._ledger
        states: list[object] = []
        for name in self._cluster_state.records:
            intervals = (ledger.lost_in(name), ledger.missing_in(name))
            if intervals[0] or intervals[1]:
                log_branches = dict.fromkeys(log_branch for each in intervals for log_branch, _start, _end in each)
                records = ledger.acked_records_of(name)
                states.append((name, intervals, [records.committed_in(log_branch) for log_branch in log_branches]))
        return tuple(states)

    def explain_block(self, kind: str, block: RecordBlock, now_us: int) -> Iterator[RangeExplanation]:
        """Yield the explanations of one range, split where the evidence changes."""
        epoch_branch = branch_of(
            self._cluster_state, block.partition, block.leader_epoch, block.log_offset, block.client, block.sequence
        )
        if epoch_branch is None:
            return
        end = block.log_offset + block.count
        bounds = {block.log_offset, end, *self._bounds(block.partition, epoch_branch)}
        inside = sorted(bound for bound in bounds if block.log_offset <= bound <= end)
        for low, high in pairwise(inside):
            part = RecordBlock(
                block.partition, block.client, block.sequence + low - block.log_offset, high - low, low,
                block.leader_epoch, block.acks, block.committed,
            )  # fmt: skip
            yield self._explain(kind, part, epoch_branch, now_us)

    def _bounds(self, partition: str, epoch_branch: EpochBranch) -> list[int]:
        bounds = []
        for each in self._history.missing_records.of_partition(partition):
            if each.epoch == epoch_branch.epoch:
                bounds += [each.start, each.end]
                if each.trigger is None and each.snapshot.election is not None:
                    bounds.append(_written_since(epoch_branch, each.start, each.end, each.snapshot.election.at_us))
        for cut in self._history.truncations_of(partition, epoch_branch.id, (epoch_branch.start, epoch_branch.end)):
            bounds += [
                bound for log_branch, low, high in cut.removed if log_branch == epoch_branch.id for bound in (low, high)
            ]
        bounds += [start for start, _end, _isr in self._ledger.ack_isrs.entries(partition, epoch_branch.id)]
        return bounds

    def _explain(self, kind: str, block: RecordBlock, epoch_branch: EpochBranch, now_us: int) -> RangeExplanation:
        span = (block.log_offset, block.log_offset + block.count)
        isr = self._ledger.ack_isrs.isr_at(block.partition, epoch_branch.id, span[0])
        case = loss_case_of(
            self._history, block.partition, epoch_branch, span, block.acks, isr,
            min_isr=self._cluster_state.effective_min_isr(block.partition), committed=block.committed,
            leader=self._history.leader_of(block.partition),
        )  # fmt: skip
        cause = loss_cause_of(case, self._history, self._cluster_state.profile)
        explained = LossChain(self._cluster_state, self._history, case, now_us).explain()
        batch = epoch_branch.batch_at(span[0])
        names = batch.name[span[0] - batch.base :]
        last_us = epoch_branch.appended_at(span[1] - 1)
        acknowledgement = Acknowledgement(
            epoch_branch.broker, epoch_branch.epoch, isr, names, last_us, explained.holders
        )
        return RangeExplanation(kind, cause, explained.key, block, acknowledgement, explained.clauses, explained.links)

    def explain_unplaced(self, lost: RecordsLost) -> RangeExplanation:
        """Explain records of acks=0 that reached no leader."""
        history = self._history
        client = lost.client or "an unknown client"
        block = RecordBlock(lost.partition, lost.client, -1, lost.count, -1, -1, 0, committed=False)
        text = f"{client} counted {counted(lost.count, 'record')} for {lost.partition} as sent (acks=0 has no response)"
        links = [ChainEvent(0, ACKNOWLEDGED_KIND, lost.partition, -1, text)]
        snapshot = history.snapshot(lost.partition)
        happened = elected = ""
        fault = _newest(about(snapshot.fault_records, f"broker {snapshot.deposed}", 0))
        if fault is not None:
            happened = fault_text(
                fault, f"broker {snapshot.deposed}", history.fault_records.step_of(fault.moment, fault.at_us)
            )
            links.append(ChainEvent(fault.at_us, fault.event_kind, "", snapshot.deposed, happened))
        if snapshot.election is not None and happened:
            election = snapshot.election
            elected = f"broker {election.leader} was elected in its place in epoch {election.leader_epoch}"
            links.append(ChainEvent(election.at_us, LeaderElected.kind, lost.partition, election.leader, elected))
        links.sort(key=lambda link: link.at_us)
        end = f"{counted(lost.count, 'record')} had reached no leader as the session ended"
        links.append(ChainEvent(lost.at_us, SESSION_END_KIND, lost.partition, -1, end))
        elected += at(snapshot.election.at_us) if elected and snapshot.election is not None else ""
        clauses = [happened, elected, "they reached no leader, and no error was reported"]
        return RangeExplanation(
            LOST, ACKS_0, ("acks=0",), block, None, tuple(each for each in clauses if each), tuple(links)
        )


def _written_since(epoch_branch: EpochBranch, start: int, end: int, at_us: int) -> int:
    """Return the first offset of a range that was written at or after a time."""
    low, high = max(start, epoch_branch.start), min(end, epoch_branch.end)
    return low + bisect_left(range(low, high), at_us, key=epoch_branch.appended_at)
