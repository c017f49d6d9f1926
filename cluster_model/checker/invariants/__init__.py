"""Safety properties of the protocol.

base: what a property promises, what it works with, and what excuses a loss.
durability, high_watermark, isr, epochs and log: the properties, by subject.
invariant_checker: the registry of all properties, and the dispatch of events to them.

It builds on observation and the layers below.
"""

from cluster_model.checker.invariants.base import CIRCUMSTANCES, InvariantDefinition
from cluster_model.checker.invariants.invariant_checker import INVARIANTS, PROMISES

__all__ = [
    "CIRCUMSTANCES",
    "INVARIANTS",
    "PROMISES",
    "InvariantDefinition",
]
