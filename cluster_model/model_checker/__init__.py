"""Bounded exhaustive model checking of the replication protocol.

transitions: the state, all transitions from it, and the replicas that perform them.
search: breadth-first search with symmetry reduction, and the properties checked in each state.

It runs the replicas of broker and does not import clusters.
"""

from cluster_model.model_checker.search import (
    LOG_BOUNDS,
    LOG_MATCHING,
    STRONG_ISR,
    STUCK,
    WEAK_ISR,
    Counterexample,
    SearchResult,
    StateSpaceSearch,
)
from cluster_model.model_checker.transitions import (
    ACTIONS,
    NO_NODE,
    Entry,
    ExplorationBounds,
    ReplicaState,
    Step,
    Transitions,
)

__all__ = [
    "ACTIONS",
    "LOG_BOUNDS",
    "LOG_MATCHING",
    "NO_NODE",
    "STRONG_ISR",
    "STUCK",
    "WEAK_ISR",
    "Counterexample",
    "Entry",
    "ExplorationBounds",
    "ReplicaState",
    "SearchResult",
    "StateSpaceSearch",
    "Step",
    "Transitions",
]
