"""All safety properties, in the order in which the manual tells of them."""

from typing import Final

from cluster_model.checker.invariants.acks_one import AcksOneBounded
from cluster_model.checker.invariants.bounds import LogBounds
from cluster_model.checker.invariants.durability import AcksAllDurability
from cluster_model.checker.invariants.epochs import EpochMonotonicity
from cluster_model.checker.invariants.exclusion import UncleanExclusion
from cluster_model.checker.invariants.ground import Property
from cluster_model.checker.invariants.high_watermark import StableReads
from cluster_model.checker.invariants.hw_within import HwWithin
from cluster_model.checker.invariants.isr import MinIsr
from cluster_model.checker.invariants.isr_eligibility import IsrEligibility
from cluster_model.checker.invariants.keeps_newest import KeepsNewest
from cluster_model.checker.invariants.leader_completeness import LeaderCompleteness
from cluster_model.checker.invariants.leader_in_isr import LeaderInIsr
from cluster_model.checker.invariants.log import LogMatching
from cluster_model.checker.invariants.maximal_isr import MaximalIsr
from cluster_model.checker.invariants.promise import Promise
from cluster_model.checker.invariants.recovery_barrier import RecoveryBarrier
from cluster_model.checker.invariants.single_leader import SingleLeader
from cluster_model.checker.invariants.true_hw import TrueHw
from cluster_model.checker.invariants.weak_isr import WeakIsr
from cluster_model.checker.invariants.zombie_fencing import ZombieFencing

PROPERTIES: Final[tuple[type[Property], ...]] = (
    LogMatching, LeaderCompleteness, WeakIsr, AcksAllDurability, AcksOneBounded, LogBounds, SingleLeader, LeaderInIsr,
    EpochMonotonicity, HwWithin, StableReads, MaximalIsr, IsrEligibility, RecoveryBarrier, ZombieFencing, MinIsr,
    UncleanExclusion, TrueHw, KeepsNewest,
)  # fmt: skip

PROMISES: Final[dict[str, Promise]] = {each.promise.name: each.promise for each in PROPERTIES}
"""Name → what is promised."""

INVARIANTS: Final = tuple(PROMISES)
"""All of them, by name."""
