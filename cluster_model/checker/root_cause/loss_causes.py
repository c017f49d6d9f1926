"""Why acknowledged records are gone: which of the causes of a loss the evidence bears out.

Nothing is concluded from a version or a setting alone. What the kept events do not tell is ``unexplained``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.broker.partition.replication_rules import EPOCH_UNKNOWN
from cluster_model.checker.history.partition_history import (
    ClusterHistory,
    LogTruncation,
    MissingRecords,
    PartitionSnapshot,
)
from cluster_model.checker.root_cause import findings
from cluster_model.controller.rules.partition_change import LAST_KNOWN
from cluster_model.log.batch_store import Lineage
from cluster_model.log.crash_recovery import DISK_LOSS, POWER_LOSS
from cluster_model.protocol.events import BatchDamaged, LeaderElected
from cluster_model.protocol.records import CORRUPT_BATCH
from cluster_model.protocol.versions import Profile
from cluster_model.util.ranges import Range

HIGH_WATERMARK: Final = "high watermark"
_BY_RULE: Final = {
    POWER_LOSS: findings.POWER_LOSS_UNFLUSHED,
    DISK_LOSS: findings.DISK_LOST,
    CORRUPT_BATCH: findings.DAMAGED_BATCH,
}


@dataclass(frozen=True, slots=True)
class LossCase:
    """One range of lost records, and what is known of it."""

    partition: str
    lineage: Lineage
    offsets: Range
    acks: int
    committed: bool
    isr: tuple[int, ...]
    """As it was committed when the client was told; its leader may have gone by an older one and asked more of them."""
    min_isr: int
    """In-sync replicas without which acks=all is refused."""
    witness: MissingRecords | None
    scene: PartitionSnapshot
    cut: LogTruncation | None
    """By which the replica that took over lost its copy; without a witness, that of the last copy."""
    leader: int
    """Who took over, or leads again, without the records; -1 nobody."""

    @property
    def voucher(self) -> int:
        """Who acknowledged them."""
        return self.lineage.broker

    @property
    def election(self) -> LeaderElected | None:
        """By which that one came to lead."""
        return self.scene.election

    @property
    def written_us(self) -> int:
        """When the first was written."""
        return self.lineage.appended_at(self.offsets[0])

    @property
    def alone(self) -> bool:
        """Whether acks=all was one copy's promise."""
        return self.acks < 0 and self.min_isr == 1 and self.isr == (self.voucher,)

    @property
    def in_vain(self) -> bool:
        """Whether a leader that had been deposed already acknowledged them."""
        election = self.election
        if self.witness is None or election is None or self.lineage.epoch >= election.leader_epoch:
            return False
        return self.witness.trigger is None and self.written_us >= election.at_us


def case_of(
    history: ClusterHistory,
    partition: str,
    lineage: Lineage,
    offsets: Range,
    acks: int,
    isr: tuple[int, ...],
    *,
    min_isr: int,
    committed: bool,
    leader: int,
) -> LossCase:
    """Gather what is known. ``leader`` leads now."""
    witness = history.witnesses.of(partition, lineage.epoch, offsets[0])
    cuts = history.cuts_of(partition, lineage.id, offsets)
    late = None if witness is None else _lost_later(witness, cuts)
    if witness is None or late is not None:
        scene = history.scene(partition)
        late = None if late is None else _of_its_leader(late, scene.election, cuts)
        cut = late or (cuts[-1] if cuts else None)
        leader = leader if late is None else late.event.broker
        return LossCase(partition, lineage, offsets, acks, committed, isr, min_isr, None, scene, cut, leader)
    scene, trigger = witness.scene, witness.trigger
    if isinstance(trigger, LeaderElected):
        leader = trigger.leader
    elif scene.election is not None:
        leader = scene.election.leader
    elif trigger is None:
        leader = lineage.broker  # nobody has been elected since: it had lost them when its answer came
    elif hasattr(trigger, "broker"):
        leader = trigger.broker
    own = [cut for cut in cuts if cut.event.broker == leader and cut.moment <= scene.moment]
    cut = own[-1] if own else None
    return LossCase(partition, lineage, offsets, acks, committed, isr, min_isr, witness, scene, cut, leader)


def _lost_later(witness: MissingRecords, cuts: Sequence[LogTruncation]) -> LogTruncation | None:
    """By which the one that was elected without them lost them: it got them before it heard that it leads."""
    election = witness.scene.election
    if election is None:
        return None
    later = [cut for cut in cuts if cut.event.broker == election.leader and cut.moment > witness.scene.moment]
    return later[-1] if later else None


def _of_its_leader(cut: LogTruncation, election: LeaderElected | None, cuts: Sequence[LogTruncation]) -> LogTruncation:
    """By which its leader lost them, where it only followed a leader that had lost its own copy before."""
    if election is None or cut.event.leader_epoch != election.leader_epoch:
        return cut
    own = [each for each in cuts if each.event.broker == election.leader and each.moment <= cut.moment]
    return own[-1] if own else cut


def cause_of(case: LossCase, history: ClusterHistory, profile: Profile) -> str:
    """One code of :data:`findings.CAUSES`."""
    witness = case.witness
    if witness is None:
        return _nowhere(case, history) if case.cut is None else _of_cut(case, history, profile)
    if isinstance(witness.trigger, BatchDamaged):
        return findings.DAMAGED_BATCH
    if case.in_vain:
        return findings.ZOMBIE_LEADER
    election = case.election
    if election is not None and not election.clean and (witness.holders or case.cut is None):
        return _of_unclean(election)
    if case.cut is not None:
        return _of_cut(case, history, profile)
    if history.damage(case.partition, case.leader, case.offsets, case.scene.moment) is not None:
        return findings.DAMAGED_BATCH
    if election is None or case.leader == case.voucher:
        return findings.UNEXPLAINED
    if history.early_join(case.partition, case.leader, case.offsets[0], case.scene.moment) is not None:
        return findings.EARLY_JOIN
    return _never_had(case, witness, profile)


def _of_unclean(election: LeaderElected) -> str:
    return findings.LAST_KNOWN_LEADER if election.by.endswith(LAST_KNOWN) else findings.UNCLEAN_ELECTION


def _nowhere(case: LossCase, history: ClusterHistory) -> str:
    """Nobody leads, and nobody cut them off."""
    start, end = case.offsets
    gone = [event for _moment, event in history.removed(case.partition).values()]
    took = any(each.log_offset < end and each.end_offset > start and each.at_us >= case.written_us for each in gone)
    return findings.REPLICA_DELETED if took else findings.UNEXPLAINED


def _of_cut(case: LossCase, history: ClusterHistory, profile: Profile) -> str:
    """The replica that leads without them had lost its copy, or the last copy was lost."""
    assert case.cut is not None
    rule = case.cut.event.rule
    if rule in _BY_RULE:
        if rule != CORRUPT_BATCH and case.cut.isr == (case.leader,) and case.witness and case.witness.holders:
            return findings.LAST_REPLICA
        if rule != CORRUPT_BATCH and case.alone:
            return findings.MIN_ISR_ONE
        return _BY_RULE[rule]
    if rule.startswith(HIGH_WATERMARK) and rule != EPOCH_UNKNOWN:
        return findings.HW_TRUNCATION
    if case.cut.event.leader_epoch < case.lineage.epoch and not profile.kip_320:
        return findings.UNFENCED_FOLLOWER  # it had fetched from a leader of a later epoch than its own
    unclean = history.unclean(case.partition, case.cut.event.leader_epoch)
    if unclean is not None:
        return _of_unclean(unclean)
    if not case.committed and case.acks >= 0:
        return findings.UNREPLICATED_TAIL
    if case.cut.apart and not profile.kip_320:
        return findings.UNFENCED_FOLLOWER
    unknown = rule == EPOCH_UNKNOWN and not profile.epoch_on_elect
    return findings.UNKNOWN_EPOCH if unknown else findings.UNEXPLAINED


def _never_had(case: LossCase, witness: MissingRecords, profile: Profile) -> str:
    """A clean election of a replica that had never had them."""
    counted = case.leader in case.isr or (case.leader in case.scene.isr and case.acks < 0)
    if case.committed and counted and not profile.kip_320:
        return _counted_wrongly(case, witness, profile)
    if case.alone:
        return findings.MIN_ISR_ONE
    if case.acks < 0 or (case.committed and counted):
        return findings.UNEXPLAINED  # every member of the ISR has what is committed
    return findings.UNREPLICATED_TAIL


def _counted_wrongly(case: LossCase, witness: MissingRecords, profile: Profile) -> str:
    """It counted for what it did not have: it had something else there, or was of another epoch."""
    if witness.instead > case.lineage.epoch and not profile.kip_279:
        return findings.FAST_FAILOVER if profile.epoch_truncation else findings.HW_TRUNCATION
    if profile.epoch_truncation or witness.behind or witness.instead < 0:
        return findings.UNFENCED_FOLLOWER
    return findings.HW_TRUNCATION
