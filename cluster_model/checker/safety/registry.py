"""All safety properties, in the order in which the manual tells of them."""

from typing import Final

from cluster_model.checker.safety.acks_one import AcksOneBounded
from cluster_model.checker.safety.bounds import LogBounds
from cluster_model.checker.safety.durability import AcksAllDurability
from cluster_model.checker.safety.epochs import EpochMonotonicity
from cluster_model.checker.safety.exclusion import UncleanExclusion
from cluster_model.checker.safety.ground import Property
from cluster_model.checker.safety.hw_within import HwWithin
from cluster_model.checker.safety.isr_eligibility import IsrEligibility
from cluster_model.checker.safety.keeps_newest import KeepsNewest
from cluster_model.checker.safety.leader_completeness import LeaderCompleteness
from cluster_model.checker.safety.leader_in_isr import LeaderInIsr
from cluster_model.checker.safety.log_matching import LogMatching
from cluster_model.checker.safety.maximal_isr import MaximalIsr
from cluster_model.checker.safety.min_isr import MinIsr
from cluster_model.checker.safety.promise import Promise
from cluster_model.checker.safety.recovery_barrier import RecoveryBarrier
from cluster_model.checker.safety.single_leader import SingleLeader
from cluster_model.checker.safety.stable_reads import StableReads
from cluster_model.checker.safety.true_hw import TrueHw
from cluster_model.checker.safety.weak_isr import WeakIsr
from cluster_model.checker.safety.zombie_fencing import ZombieFencing

PROPERTIES: Final[tuple[type[Property], ...]] = (
    LogMatching, LeaderCompleteness, WeakIsr, AcksAllDurability, AcksOneBounded, LogBounds, SingleLeader, LeaderInIsr,
    EpochMonotonicity, HwWithin, StableReads, MaximalIsr, IsrEligibility, RecoveryBarrier, ZombieFencing, MinIsr,
    UncleanExclusion, TrueHw, KeepsNewest,
)  # fmt: skip

PROMISES: Final[dict[str, Promise]] = {each.promise.name: each.promise for each in PROPERTIES}
"""Name → what is promised."""

INVARIANTS: Final = tuple(PROMISES)
"""All of them, by name."""
