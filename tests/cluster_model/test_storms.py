"""What clean elections promise in any weather: acks=all is kept, one leader an epoch, and all comes back.

A leader that was cut off or stood still goes on acknowledging acks=1 until it hears of its successor, and what it wrote
meanwhile is cut off its log: that is allowed, and happens here all the time. Nothing of acks=all is ever lost.
"""

from functools import cache

import pytest

from tests.cluster_model.storms import ALL, SECOND, Storm, disturbances, spec_of
from tests.support.breadth import EVENING

pytestmark = pytest.mark.slow

ACTS = 30
BACK_KRAFT = 60 * SECOND
"""A broker starts (2 s), is refused until its old session has lapsed and once more for its backoff (18 s), catches up
and fetches; a quorum that lost its leader takes up to 5 s before."""
BACK_ZOOKEEPER = 90 * SECOND
"""Two sessions of 18 s one after the other, a controller's and a broker's, and again where clocks start anew."""

PLANES = [
    ("3.3", "kraft", 0),
    ("3.5", "kraft", 3),
    ("3.6", "kraft", 0),
    ("3.9", "kraft", 0),
    ("3.9", "kraft", 3),
    ("4.1", "kraft", 0),
    ("4.1", "kraft", 1),
    ("2.6", "zookeeper", 0),
    ("2.8", "zookeeper", 0),
    ("3.9", "zookeeper", 0),
]
"""Versions that promise all of it (KIP-320, 2.1), with so many brokers that are controllers too."""
OLD = ["0.8.2", "0.10.2", "2.0"]


@cache
def storm(kafka: str, mode: str, combined: int, seed: int) -> Storm:
    """One that has blown over: all came back within the bound."""
    found = disturbances(seed, spec_of(seed, kafka, mode, combined), ACTS)
    found.settle(BACK_KRAFT if mode == "kraft" else BACK_ZOOKEEPER)
    return found


def holds(found: Storm) -> None:
    """All that is promised, a storm later."""
    assert -1 not in found.missing
    assert found.cluster.checker.invariants.unexpected == {}
    found.has_converged()
    found.cluster.close()
    assert found.cluster.query.acked_lost(ALL) == 0


@pytest.mark.parametrize(("kafka", "mode", "combined"), PLANES)
def test_a_storm_takes_nothing_that_acks_all_guaranteed(kafka: str, mode: str, combined: int) -> None:
    # Of the cluster that the next test looks at it has three anyway.
    for seed in (
        range(3) if EVENING or (kafka, combined) == ("3.9", 0) else [(PLANES.index((kafka, mode, combined)) + 1) % 2]
    ):
        holds(storm(kafka, mode, combined, seed))


@pytest.mark.evening
@pytest.mark.parametrize(("kafka", "mode", "combined"), PLANES)
def test_many_storms_take_nothing_that_acks_all_guaranteed(kafka: str, mode: str, combined: int) -> None:
    for seed in range(3, 30):
        holds(storm(kafka, mode, combined, seed))


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_zombies_acknowledge_with_acks_1_what_is_cut_off_later(mode: str) -> None:
    """Else these storms would be too calm to prove anything."""
    found = [storm("3.9", mode, 0, seed) for seed in range(3)]
    assert sum(each.missing.get(1, 0) for each in found) > 50
    assert sum(each.elections for each in found) > 5


@pytest.mark.parametrize("kafka", OLD)
def test_old_versions_come_back_with_one_leader_an_epoch(kafka: str) -> None:
    for seed in range(3):
        found = storm(kafka, "zookeeper", 0, seed)
        assert found.cluster.checker.invariants.unexpected == {}, "nothing but what KIPs have mended since"


def test_storms_detect_truncation_to_the_high_watermark() -> None:
    """Up to 0.10.2 acks=all is lost in such weather (KIP-101)."""
    assert any(storm("0.10.2", "zookeeper", 0, seed).missing.get(-1, 0) for seed in range(15))
