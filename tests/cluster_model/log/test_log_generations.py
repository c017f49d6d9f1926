"""The rules of the area "log" of every release line: each version flag of a log, seen in its effect."""

import pytest

from cluster_model.broker.partition.partition import Replica
from cluster_model.controller.cluster_parts import build_parts
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.events import Event, LogCleaned
from cluster_model.protocol.messages import PartitionState, ProduceRequest
from cluster_model.protocol.records import Batch, CompactionOverlay
from cluster_model.protocol.releases import RELEASE_LINES
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster

SECOND = 1_000_000
EVERY = pytest.mark.parametrize("kafka", RELEASE_LINES)
PATCHES = pytest.mark.parametrize("kafka", [*RELEASE_LINES, "2.0.0"])


def number(kafka: str) -> tuple[int, ...]:
    return Profile.of(kafka).number


def lone(kafka: str, **topic: int | str) -> tuple[Replica, list[Event]]:
    """Return a replica of a topic, and the list of its events."""
    events: list[Event] = []
    config = {name.replace("_", "."): value for name, value in topic.items()}
    spec = ClusterSpec(kafka, None, (BrokerSpec(1),), (TopicSpec("t", 1, 1, ((1,),), dict(config)),))
    return build_parts(spec, RandomStreams(1), events.append, {1: 0}).replicas["t-0"][1], events


def lead(replica: Replica, epoch: int) -> None:
    replica.apply(PartitionState("t-0", 1, epoch, (1,), epoch, (1,)), 0)


def write(replica: Replica, *names: str, now: int = 0) -> None:
    assert replica.leadership is not None
    for name in names:
        request = ProduceRequest(1, "t-0", 1, 1, "p", -1, replica.log.leo, 1, 10, (name,), now)
        assert not replica.leadership.append(now, request).error


@EVERY
def test_epoch_truncation_batches_carry_epochs_since_0_11(kafka: str) -> None:
    replica, _events = lone(kafka)
    lead(replica, 3)
    write(replica, "a")
    assert replica.log.uses_epochs is Profile.of(kafka).epoch_truncation is (number(kafka) >= (0, 11, 0))
    assert replica.log.epochs.entries == (((3, 0),) if number(kafka) >= (0, 11, 0) else ())


@PATCHES
def test_epoch_on_elect_a_new_leader_enters_its_epoch_at_once_since_2_0_1(kafka: str) -> None:
    replica, _events = lone(kafka)
    lead(replica, 3)
    assert replica.log.epochs.entries == (((3, 0),) if number(kafka) >= (2, 0, 1) else ())
    assert Profile.of(kafka).epoch_on_elect is (number(kafka) >= (2, 0, 1))


@PATCHES
def test_an_epoch_that_contradicts_older_ones_takes_their_place_since_2_0_1(kafka: str) -> None:
    """KAFKA-7415."""
    replica, _events = lone(kafka)
    epochs = replica.log.epochs
    epochs.assign(3, 0)
    epochs.assign(5, 10)
    epochs.assign(4, 12)
    assert epochs.entries == (((3, 0), (4, 12)) if number(kafka) >= (2, 0, 1) else ((3, 0), (5, 10)))


@PATCHES
def test_an_epoch_without_records_is_replaced_since_2_0_1(kafka: str) -> None:
    """KAFKA-7415."""
    replica, _events = lone(kafka)
    epochs = replica.log.epochs
    epochs.assign(3, 0)
    epochs.assign(4, 10)
    epochs.assign(5, 10)
    assert epochs.entries == (((3, 0), (5, 10)) if number(kafka) >= (2, 0, 1) else ((3, 0), (4, 10), (5, 10)))


@EVERY
def test_kip_279_the_end_of_an_epoch_is_reported_with_the_epoch_found_since_2_0(kafka: str) -> None:
    replica, _events = lone(kafka)
    epochs = replica.log.epochs
    epochs.assign(3, 0)
    epochs.assign(5, 10)
    if Profile.of(kafka).kip_279:
        assert (epochs.end_offset_for(4, 20), epochs.end_offset_for(2, 20)) == ((3, 10), (2, 0))
    else:
        assert (epochs.end_offset_kip_101(4, 20), epochs.end_offset_kip_101(2, 20)) == (10, -1)
    assert Profile.of(kafka).kip_279 is (number(kafka) >= (2, 0, 0))


@EVERY
def test_delete_horizon_tombstones_get_their_time_from_a_cleaning_since_3_1(kafka: str) -> None:
    rules = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0"}
    replica, events = lone(kafka, segment_bytes=20, delete_retention_ms=10_000, **rules)
    log_branch = replica.log.epoch_branches.begin(1, 0, 0)

    def append(now: int, *names: str) -> None:
        for name in names:
            replica.log.append_batch(log_branch, Batch(replica.log.leo, 1, 10, now, "p", -1, 0, 1, (name,), now))
        replica.hw = replica.log.leo

    def cleaned(now: int) -> CompactionOverlay:
        assert replica.clean(now, 99) > 0
        assert replica.log.cleaned is not None
        return replica.log.cleaned

    newer = Profile.of(kafka).delete_horizon
    assert newer is (number(kafka) >= (3, 1, 0))
    append(0, "a=1", "a=", "b=1", "c=1", "d=1")
    assert cleaned(5 * SECOND).horizons == (((1, 15 * SECOND),) if newer else ())
    append(20 * SECOND, "e=1", "f=1", "g=1", "h=1")
    # The last file that was clean before is as old as the tombstone's, so by file age it may not expire yet.
    assert cleaned(21 * SECOND).covers(1) is newer
    append(21 * SECOND, "i=1", "j=1", "k=1", "l=1")
    assert cleaned(22 * SECOND).covers(1)
    assert [event.count for event in events if isinstance(event, LogCleaned)] == ([1, 1, 0] if newer else [1, 0, 1])


@EVERY
def test_rolling_and_retention_use_record_timestamps_since_0_10_1(kafka: str) -> None:
    replica, _events = lone(kafka, segment_ms=5_000, retention_ms=20_000)
    lead(replica, 1)
    write(replica, "a", now=10 * SECOND)
    assert replica.leadership is not None
    late = ProduceRequest(1, "t-0", 1, 1, "p", -1, 1, 1, 10, ("b",), 10 * SECOND)
    replica.leadership.append(16 * SECOND, late)
    by_records = number(kafka) >= (0, 10, 1)
    assert [segment.base for segment in replica.log.segments.all] == ([0] if by_records else [0, 1])
    replica.hw = 2
    replica.retain(31 * SECOND)
    # By record timestamps both are 21 s old; by files the first is, and the second is 15 s old.
    assert replica.log.log_start == (2 if by_records else 1)


@EVERY
def test_the_first_message_formats_have_no_timestamps(kafka: str) -> None:
    stamped = {"message_timestamp_type": "LogAppendTime"} if number(kafka) >= (0, 10, 0) else {}
    replica, _events = lone(kafka, **stamped)
    lead(replica, 1)
    write(replica, "a", now=7)
    ((_epoch_branch, batch, _start, _end),) = replica.log.batches()
    assert batch.timestamp_us == (7 if number(kafka) >= (0, 10, 0) else -1)


@EVERY
def test_a_clean_start_and_a_crash_find_the_same_log_in_every_release(kafka: str) -> None:
    for clean in (True, False):
        replica, _events = lone(kafka)
        lead(replica, 1)
        write(replica, "a", "b", "c")
        replica.hw = 3
        if clean:
            replica.closed(9)
        replica.stopped()
        checked = replica.recovered(clean=clean)
        assert (replica.log.leo, replica.hw, checked) == (3, 3 if clean else 0, 0 if clean else 30)


@pytest.mark.parametrize("kafka", RELEASE_LINES)
def test_a_returning_follower_truncates_by_its_own_generations_rule(kafka: str) -> None:
    stepped = HandSteppedCluster(kafka)
    stepped.notify(1, 2, 3)
    stepped.append(1, "m1", "m2")
    stepped.fetch(2, 3)
    stepped.fetch(2)
    stepped.append(1, "m3")
    stepped.do("crash", broker=1)
    stepped.lead(2, notify=(2, 3))
    stepped.append(2, "n3")
    stepped.do("restart", broker=1)
    stepped.notify(1)
    if Profile.of(kafka).diverging_fetch:
        stepped.fetch(1)
    # No high watermark was checkpointed: by HW everything is truncated, by epochs only what the new leader lacks.
    assert stepped.names(1) == (["m1", "m2"] if Profile.of(kafka).epoch_truncation else [])
