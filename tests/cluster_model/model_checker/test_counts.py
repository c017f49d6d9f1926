"""Numbers of states, compared with those of Kafka's TLA+ module of KIP-320 from its own model checker."""

import pytest

from cluster_model.model_checker.search import SearchResult, StateSpaceSearch
from cluster_model.model_checker.transitions import ExplorationBounds, Transitions
from cluster_model.protocol.versions import Profile

pytestmark = pytest.mark.slow


def explored(epochs: int, *, kafka: str = "2.1", symmetry: bool = False, fingerprints: bool = False) -> SearchResult:
    moves = Transitions(Profile.of(kafka), ExplorationBounds(epochs=epochs), as_module=True)
    return StateSpaceSearch(moves, symmetry=symmetry, fingerprints=fingerprints).run()


@pytest.mark.evening
def test_two_epochs() -> None:
    seen = explored(2)
    assert (seen.distinct, seen.depth, seen.violated, seen.is_complete) == (39_619, 21, {}, True)


@pytest.mark.parametrize(("kafka", "fingerprints"), [("2.1", False), ("4.1", True)])
def test_two_epochs_where_brokers_are_alike(kafka: str, fingerprints: bool) -> None:
    seen = explored(2, kafka=kafka, symmetry=True, fingerprints=fingerprints)
    assert (seen.distinct, seen.depth, seen.violated) == (6_713, 21, {})
    assert seen.pairs == (6_713 * 6_712 // 2 if fingerprints else 0)


@pytest.mark.evening
def test_three_epochs() -> None:
    seen = explored(3)
    assert (seen.distinct, seen.depth, seen.violated) == (737_794, 25, {})


@pytest.mark.evening
def test_three_epochs_where_brokers_are_alike() -> None:
    seen = explored(3, symmetry=True)
    assert (seen.distinct, seen.depth, seen.violated) == (123_311, 25, {})


def test_one_replica_alone_has_states_that_can_be_counted_by_hand() -> None:
    """With one record and one epoch a replica is undecided; elected, leading, has written; or fenced, and knows it.

    It commits as it writes. In Kafka's module that is a step of its own, and replicas never learn that a leader is
    fenced.
    """
    moves = Transitions(Profile.of("4.1"), ExplorationBounds(replicas=1, records=1, log_size=1, epochs=1))
    seen = StateSpaceSearch(moves).run()
    assert (seen.distinct, seen.depth) == (6, 3)
    module = StateSpaceSearch(Transitions(moves.profile, moves.bounds, as_module=True)).run()
    assert (module.distinct, module.depth) == (6, 4)


def test_a_search_ends_at_its_limit_and_reports_what_is_left() -> None:
    moves = Transitions(Profile.of("4.1"), ExplorationBounds(), as_module=True)
    seen = StateSpaceSearch(moves).run(max_states=1_000)
    assert not seen.is_complete
    assert 1_000 <= seen.distinct < 39_619
    stopped = StateSpaceSearch(moves).run(progress=lambda so_far: so_far.depth < 3)
    assert stopped.depth == 3
    assert stopped.frontier > 0
