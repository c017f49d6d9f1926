"""Random elections and partial replication: which generations of truncation let logs part for good."""

import pytest

from cluster_model.kernel.rng import RandomStream
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P
from tests.support.breadth import sample_count

pytestmark = pytest.mark.slow

SCHEDULES = sample_count(250, 4_000)
PARTED_BY_KIP_101 = sample_count(73, 1_388)
"""Of that many; exact, because a schedule's draws come from its number alone."""
STEPS = 30


def synced_pairs_that_differ(kafka: str, schedule: int) -> int:
    """Run one schedule; how many followers, having caught up with their leader, hold other records than it.

    A follower hears of the newest decision before each fetch, so nobody follows a leader of the past: what is left to
    chance is who leads, how far each had got, and that those in between hear of some epochs only later.
    """
    stepped = HandSteppedCluster(kafka)
    stepped.cluster.trace.set_observer(lambda _event: None, {})  # the logs themselves are compared here
    stepped.notify(1, 2, 3)
    draw = RandomStream(schedule, "schedule")
    for _step in range(STEPS):
        choice = draw.below(10)
        broker = 1 + draw.below(3)
        if choice < 4:
            stepped.do("append", broker=stepped.cluster.query.leader(P))
        elif choice < 7:
            stepped.do("deliver", broker=broker)
            stepped.do("fetch", follower=broker)
        else:
            stepped.do("elect", leader=broker)
            stepped.do("deliver", broker=broker)
    leader = stepped.cluster.query.leader(P)
    return sum(_synced_and_different(stepped, leader, follower) for follower in (1, 2, 3) if follower != leader)


def _synced_and_different(stepped: HandSteppedCluster, leader: int, follower: int) -> int:
    stepped.do("deliver", broker=follower)
    for _round in range(8):
        stepped.do("fetch", follower=follower)
    return int(stepped.names(leader) != stepped.names(follower))


def parted(kafka: str) -> int:
    """Schedules of all that leave a follower with other records than the leader with which it is in step."""
    return sum(_differing(kafka, number) > 0 for number in range(SCHEDULES))


def _differing(kafka: str, schedule: int) -> int:
    """Followers that differ; none if one of them never comes to fetch, which 2.0.1 to 2.6.0 allow (KAFKA-10706)."""
    try:
        return synced_pairs_that_differ(kafka, schedule)
    except ModelError as error:
        if error.code == "endless_truncation" and Profile.of(kafka).keeps_empty_epochs:
            return 0
        raise


def test_the_kip_101_rule_lets_logs_part_in_some_schedules() -> None:
    assert parted("1.1") == PARTED_BY_KIP_101


@pytest.mark.parametrize("kafka", ["2.0", "2.1", "2.7", "4.1"])
def test_no_schedule_parts_logs_from_kip_279_on(kafka: str) -> None:
    """Asked by epoch and again (2.0), fenced too (2.1), told in the fetch (2.7), and as it is now."""
    assert parted(kafka) == 0
