"""Invariants (safety properties) of the replication protocol.

base: the definition of an invariant, the context that all share, and the allowed losses.
durability, high_watermark, isr, epochs and log: the invariants, by subject.
invariant_checker: the registry of all invariants, and the dispatch of events to them.

It builds on observation and the layers below.
"""

from cluster_model.checker.invariants.base import CIRCUMSTANCES, InvariantDefinition
from cluster_model.checker.invariants.invariant_checker import DEFINITIONS, INVARIANTS

__all__ = [
    "CIRCUMSTANCES",
    "DEFINITIONS",
    "INVARIANTS",
    "InvariantDefinition",
]
