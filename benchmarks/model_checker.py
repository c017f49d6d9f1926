"""Benchmark of state-space exploration: the configuration of Kafka's TLA+ module of KIP-320 with three epochs."""

from benchmarks.measure import cpu_seconds
from cluster_model.model_checker.search import SearchResult, StateSpaceSearch
from cluster_model.model_checker.transitions import ExplorationBounds, Transitions
from cluster_model.protocol.versions import Profile


def states_per_cpu_second(*, symmetry: bool) -> tuple[int, float]:
    """Return the number of distinct states, and how many are found per CPU second."""
    seen: list[SearchResult] = []

    def explore() -> None:
        moves = Transitions(Profile.of("2.1"), ExplorationBounds(epochs=3), as_module=True)
        seen.append(StateSpaceSearch(moves, symmetry=symmetry).run())

    spent = cpu_seconds(explore)
    return seen[0].distinct, seen[0].distinct / spent
