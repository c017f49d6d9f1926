"""A HW that rises as ever, told at a glance: nearly all do, and then no property has anything to look at."""

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.invariants.high_watermark import StableReads
from cluster_model.checker.invariants.hw_within import HwWithin
from cluster_model.checker.invariants.true_hw import TrueHw
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.events import HwAdvanced
from cluster_model.protocol.messages import PartitionState


class Glance:
    """Notes for the properties that hear of every HW what they would note themselves."""

    __slots__ = ("_reads", "_replicas", "_true_hw", "_within")

    def __init__(self, world: World, within: HwWithin, reads: StableReads, true_hw: TrueHw) -> None:
        self._replicas = world.replicas
        self._within = within
        self._reads = reads
        self._true_hw = true_hw

    def as_ever(self, event: HwAdvanced, replica: Replica, state: PartitionState) -> bool:
        """Whether the committed leader's HW rose as it should in the stint that it stood in, and the ISR agrees.

        Then it is noted. If not, nothing is, and the properties have to look themselves.
        """
        log, hw, broker, epoch, partition = replica.log, event.hw, event.broker, event.leader_epoch, event.partition
        if state.leader != broker or state.leader_epoch != epoch or len(state.isr) < replica.min_isr:
            return False
        if not log.log_start <= replica.hw <= log.leo or log.recovery_point > log.leo:
            return False
        hws, ends, highest = self._within.hws.get(partition), self._reads.ends, self._true_hw.highest
        if hws is None or hws.get(broker, 0) > hw or highest.get(partition, 0) > hw or ends.get(partition, 0) >= hw:
            return False
        if self._reads.stints.get(partition, -1) != log.extents[-1][1] or not self.agree(replica, state):
            return False
        hws[broker] = ends[partition] = highest[partition] = hw
        self._true_hw.epochs[partition] = epoch
        return True

    def agree(self, leader: Replica, state: PartitionState) -> bool:
        """Whether all in-sync replicas hold what lies below a leader's HW."""
        leadership, isr = leader.leadership, state.isr
        if leadership is None or leadership.isr != isr:
            return False
        hw, extents, replicas = leader.hw, leader.log.extents, self._replicas[state.partition]
        for broker in isr:
            member = replicas.get(broker)
            if member is None or member.log.leo < hw or member.log.extents != extents:
                return False
        return True
