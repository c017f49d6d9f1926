"""Random elections and partial replication: which generations of truncation let logs part for good."""

import pytest

from cluster_model.kernel.streams import Stream
from tests.cluster_model.hands import Hands, P

SCHEDULES = 500
STEPS = 30


def synced_pairs_that_differ(kafka: str, schedule: int) -> int:
    """Run one schedule; how many followers, having caught up with their leader, hold other records than it.

    A follower hears of the newest decision before each fetch, so nobody follows a leader of the past: what is left to
    chance is who leads, how far each had got, and that those in between hear of some epochs only later.
    """
    hands = Hands(kafka)
    hands.tell(1, 2, 3)
    draw = Stream(schedule, "schedule")
    for _step in range(STEPS):
        choice = draw.below(10)
        broker = 1 + draw.below(3)
        if choice < 4:
            hands.do("append", broker=hands.cluster.query.leader(P))
        elif choice < 7:
            hands.do("deliver", broker=broker)
            hands.do("fetch", follower=broker)
        else:
            hands.do("elect", leader=broker)
            hands.do("deliver", broker=broker)
    leader = hands.cluster.query.leader(P)
    return sum(_synced_and_different(hands, leader, follower) for follower in (1, 2, 3) if follower != leader)


def _synced_and_different(hands: Hands, leader: int, follower: int) -> int:
    hands.do("deliver", broker=follower)
    for _round in range(8):
        hands.do("fetch", follower=follower)
    return int(hands.names(leader) != hands.names(follower))


@pytest.mark.parametrize("kafka", ["1.1"])
def test_the_kip_101_rule_lets_logs_part_in_some_schedules(kafka: str) -> None:
    parted = sum(synced_pairs_that_differ(kafka, number) > 0 for number in range(SCHEDULES))

    assert parted > SCHEDULES // 20


@pytest.mark.parametrize("kafka", ["2.1", "2.6", "2.7", "3.9", "4.1"])
def test_no_schedule_parts_logs_from_kip_279_and_kip_320_on(kafka: str) -> None:
    parted = sum(synced_pairs_that_differ(kafka, number) > 0 for number in range(SCHEDULES))

    assert parted == 0
