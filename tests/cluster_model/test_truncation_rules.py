"""Where a follower cuts, by what its leader answered, and what a broker answers that is asked where an epoch ended."""

import pytest

from cluster_model.broker.fetch.fetch_reads import epoch_end
from cluster_model.broker.partition.replication_rules import truncation_by_epoch_end
from cluster_model.log.leader_epoch_cache import UNDEFINED, EpochCache
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import EpochEnd
from tests.cluster_model.leaders import LeaderRig, P

HW, LEO = 5, 12


@pytest.mark.parametrize(
    ("epoch", "end", "to", "settled"),
    [
        pytest.param(UNDEFINED, UNDEFINED, HW, True, id="the leader knows nothing: the own HW, as before KIP-101"),
        pytest.param(UNDEFINED, 9, 9, True, id="KIP-101 names no epoch: its end"),
        pytest.param(UNDEFINED, 99, LEO, True, id="KIP-101, and the leader's is longer"),
        pytest.param(1, 10, 10, True, id="KIP-279: the same epoch, ended sooner there"),
        pytest.param(1, 99, 11, True, id="KIP-279: the same epoch, ended sooner here"),
        pytest.param(3, 99, LEO, True, id="KIP-279: the latest one here"),
        pytest.param(2, 12, 11, False, id="KIP-279: one that is not here: the nearest older one, and again"),
        pytest.param(7, 9, 9, True, id="KIP-279: newer than all here"),
    ],
)
def test_where_a_follower_cuts(epoch: int, end: int, to: int, settled: bool) -> None:
    cache = EpochCache(replaces=True)
    for each in ((0, 0), (1, 10), (3, 11)):
        cache.assign(*each)
    assert truncation_by_epoch_end(cache, LEO, HW, epoch, end) == (to, settled)


def asked(rig: LeaderRig, epoch: int, current: int = UNDEFINED) -> tuple[int, int, int]:
    answer: EpochEnd = epoch_end(rig.replica, P, epoch, current)
    assert (answer.partition, answer.requested_epoch) == (P, epoch)
    return answer.error, answer.epoch, answer.end


@pytest.mark.parametrize(("kafka", "named"), [("0.11", UNDEFINED), ("1.1", UNDEFINED), ("2.0", 1), ("3.9", 1)])
def test_a_leader_answers_and_names_the_epoch_since_kip_279(kafka: str, named: int) -> None:
    rig = LeaderRig(kafka)
    rig.append(3)
    assert asked(rig, 1) == (KafkaError.NONE, named, 3)
    assert asked(rig, 7) == (KafkaError.NONE, UNDEFINED, UNDEFINED)


@pytest.mark.parametrize("kafka", ["1.1", "2.0"])
def test_the_version_of_the_request_decides_whether_the_epoch_is_named(kafka: str) -> None:
    """In a rolling upgrade, where a follower and its leader have other levels."""
    rig = LeaderRig(kafka)
    rig.append(3)
    named = [epoch_end(rig.replica, P, 1, UNDEFINED, finds_epoch=finds).epoch for finds in (False, True)]
    assert named == [UNDEFINED, 1]


def test_a_follower_answers_offset_for_leader_epoch_with_an_error() -> None:
    assert asked(LeaderRig("1.1", leader=2), 1) == (KafkaError.NOT_LEADER_OR_FOLLOWER, UNDEFINED, UNDEFINED)
    unknown = EpochEnd(P, 1, KafkaError.UNKNOWN_TOPIC_OR_PARTITION, UNDEFINED, UNDEFINED)
    assert epoch_end(None, P, 1, UNDEFINED) == unknown


def test_offset_for_leader_epoch_checks_the_current_leader_epoch() -> None:
    rig = LeaderRig("3.9")
    assert asked(rig, 1, 0) == (KafkaError.FENCED_LEADER_EPOCH, UNDEFINED, UNDEFINED)
    assert asked(rig, 1, 2) == (KafkaError.UNKNOWN_LEADER_EPOCH, UNDEFINED, UNDEFINED)
    assert asked(rig, 1, 1)[0] == KafkaError.NONE
