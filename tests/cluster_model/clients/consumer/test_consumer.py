"""A consumer against brokers that answer as the test says: positions, resets, limits, timeouts, metadata."""

from itertools import pairwise

import pytest

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ConsumerFailed, ConsumerReset, RecordsRead
from cluster_model.protocol.messages import (
    EARLIEST,
    LATEST,
    FetchData,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
)
from cluster_model.protocol.records import Batch, Slice
from tests.cluster_model.rigs import CONNECTING, LATENCY, MS, SECOND, ConsumerRig, ReadingRig, state

E = KafkaError


def fill(rig: ReadingRig, partition: str, *batches: int) -> None:
    """Write batches in a new log branch at the end of what is there."""
    epoch_branches = rig.epoch_branches[partition]
    start = epoch_branches.by_id[-1].end if epoch_branches.by_id else 0
    epoch_branch = epoch_branches.begin(1, len(epoch_branches.by_id), start)
    for records in batches:
        epoch_branch.append(Batch(epoch_branch.end, records, 10, rig.now, "p", -1, 0, 1))


def data(rig: ReadingRig, partition: str, start: int, end: int, *, error: KafkaError = E.NONE) -> FetchData:
    """Records ``[start, end)`` as a broker finds them."""
    extents = tuple(
        (max(start, epoch_branch.start), epoch_branch.id)
        for epoch_branch in rig.epoch_branches[partition].by_id
        if epoch_branch.start < end and epoch_branch.end > start
    )
    return FetchData(partition, start, error, end, 0, 4, Slice(start, end, extents))


def answer(rig: ReadingRig, *found: FetchData, broker: int = 1, request: FetchRequest | None = None) -> None:
    """Answer a broker's newest fetch, and let the answer and what follows from it arrive."""
    asked = request or rig.asked(FetchRequest, broker)[-1]
    rig.reply(broker, FetchResponse(asked.correlation_id, found))
    rig.run(2 * LATENCY)


def refuse(rig: ConsumerRig, partition: str, error: KafkaError, *, broker: int = 1) -> None:
    position = rig.consumer.positions[partition]
    empty = Slice(position, position, ())
    answer(rig, FetchData(partition, position, error, -1, -1, -1, empty), broker=broker)


def test_the_first_fetch_asks_for_the_start_of_every_partition_of_a_leader() -> None:
    rig = ConsumerRig(leaders=(1, 2, 1))
    (first,) = rig.asked(FetchRequest, 1)
    assert [(asked.partition, asked.offset) for asked in first.partitions] == [("t-0", 0), ("t-2", 0)]
    assert [asked.partition for asked in rig.asked(FetchRequest, 2)[0].partitions] == ["t-1"]
    assert (first.replica, first.max_wait_us, first.max_bytes) == (-1, SECOND // 2, 1_048_576)
    assert rig.asked(FetchRequest, 3) == []


@pytest.mark.parametrize(("kafka", "epoch"), [("2.2", -1), ("2.3", 0), ("3.9", 0)])
def test_fetches_carry_the_leader_epoch_since_2_3_and_never_a_fetched_one(kafka: str, epoch: int) -> None:
    asked = ConsumerRig(kafka=kafka).asked(FetchRequest, 1)[0].partitions[0]
    assert (asked.current_leader_epoch, asked.last_fetched_epoch) == (epoch, -1)


def test_records_are_returned_in_order_and_the_position_moves_with_them() -> None:
    rig = ConsumerRig()
    fill(rig, "t-0", 2, 3)
    answer(rig, data(rig, "t-0", 0, 2))
    answer(rig, data(rig, "t-0", 2, 5))
    assert [(read.log_offset, read.count) for read in rig.of(RecordsRead)] == [(0, 2), (2, 3)]
    assert [fetch.partitions[0].offset for fetch in rig.asked(FetchRequest, 1)] == [0, 2, 5]
    assert (rig.consumer.positions, rig.consumer.read) == ({"t-0": 5}, 5)


def test_reads_are_recorded_with_broker_and_latency() -> None:
    rig = ConsumerRig()
    rig.run(5 * MS)
    fill(rig, "t-0", 1, 1)
    written = rig.now
    rig.run(7 * MS)
    answer(rig, data(rig, "t-0", 0, 2))
    (read,) = rig.of(RecordsRead)
    assert (read.client, read.group_id, read.partition, read.broker, read.leader_epoch) == ("g/0", "g", "t-0", 1, 4)
    assert read.latency_us == read.at_us - written == 7 * MS + LATENCY


def test_an_empty_answer_moves_nothing_and_is_followed_by_another_fetch() -> None:
    rig = ConsumerRig()
    answer(rig, data(rig, "t-0", 0, 0))
    assert rig.of(RecordsRead) == []
    assert [fetch.partitions[0].offset for fetch in rig.asked(FetchRequest, 1)] == [0, 0]


def test_only_one_fetch_is_under_way_to_each_leader() -> None:
    rig = ConsumerRig(leaders=(1, 2))
    rig.run(10 * SECOND)
    assert (len(rig.asked(FetchRequest, 1)), len(rig.asked(FetchRequest, 2))) == (1, 1)
    answer(rig, data(rig, "t-1", 0, 0), broker=2)
    assert (len(rig.asked(FetchRequest, 1)), len(rig.asked(FetchRequest, 2))) == (1, 2)


def test_records_beyond_max_poll_records_stay_buffered_for_the_next_poll() -> None:
    rig = ConsumerRig(config={"max.poll.records": 3}, processing_us=10 * MS)
    fill(rig, "t-0", 5)
    answer(rig, data(rig, "t-0", 0, 5))
    assert [(read.log_offset, read.count) for read in rig.of(RecordsRead)] == [(0, 3)]
    assert (rig.consumer.positions, len(rig.asked(FetchRequest, 1))) == ({"t-0": 3}, 1)
    rig.run(40 * MS)
    first, second = rig.of(RecordsRead)
    assert (second.log_offset, second.count, second.at_us - first.at_us) == (3, 2, 30 * MS)
    assert rig.asked(FetchRequest, 1)[-1].partitions[0].offset == 5


def test_the_limit_of_a_poll_is_for_all_partitions_together() -> None:
    rig = ConsumerRig(leaders=(1, 1, 1), config={"max.poll.records": 4}, processing_us=10 * MS)
    for partition in rig.partitions:
        fill(rig, partition, 3)
    answer(rig, *(data(rig, partition, 0, 3) for partition in rig.partitions))
    assert rig.consumer.positions == {"t-0": 3, "t-1": 1, "t-2": 0}


def test_records_cut_off_by_the_limit_get_the_age_of_the_newest_that_was_returned() -> None:
    rig = ConsumerRig(config={"max.poll.records": 2}, processing_us=10 * MS)
    fill(rig, "t-0", 2)
    written = rig.now
    rig.run(9 * MS)
    fill(rig, "t-0", 2)
    answer(rig, data(rig, "t-0", 0, 4))
    (read,) = rig.of(RecordsRead)
    assert read.latency_us == read.at_us - written


def test_processing_holds_up_the_next_poll_and_not_the_next_fetch() -> None:
    rig = ConsumerRig(processing_us=50 * MS)
    fill(rig, "t-0", 4, 1)
    answer(rig, data(rig, "t-0", 0, 4))
    handed = rig.of(RecordsRead)[0].at_us
    assert rig.times(FetchRequest, 1)[1] == handed + LATENCY
    answer(rig, data(rig, "t-0", 4, 5))
    rig.run(handed + 200 * MS - 1 - rig.now)
    assert (rig.consumer.read, len(rig.asked(FetchRequest, 1))) == (4, 2)
    rig.run(1 + LATENCY)
    assert [read.at_us for read in rig.of(RecordsRead)] == [handed, handed + 200 * MS]
    assert len(rig.asked(FetchRequest, 1)) == 3


def test_a_partition_with_anything_buffered_is_not_fetched_and_the_others_are() -> None:
    rig = ConsumerRig(leaders=(1, 1), config={"max.poll.records": 2}, processing_us=10 * MS)
    fill(rig, "t-0", 3)
    fill(rig, "t-1", 1)
    answer(rig, data(rig, "t-0", 0, 3))
    assert [asked.partition for asked in rig.asked(FetchRequest, 1)[-1].partitions] == ["t-1"]
    answer(rig, data(rig, "t-1", 0, 1))
    rig.run(20 * MS)
    assert [(read.partition, read.log_offset) for read in rig.of(RecordsRead)] == [("t-0", 0), ("t-0", 2), ("t-1", 0)]
    assert rig.of(RecordsRead)[1].at_us == rig.of(RecordsRead)[2].at_us


def test_a_consumer_that_was_read_is_fetched_after_the_others() -> None:
    rig = ConsumerRig(leaders=(1, 1, 1))
    fill(rig, "t-0", 1)
    answer(rig, data(rig, "t-0", 0, 1))
    assert [asked.partition for asked in rig.asked(FetchRequest, 1)[-1].partitions] == ["t-1", "t-2", "t-0"]


def test_buffered_records_of_a_former_position_are_dropped() -> None:
    rig = ConsumerRig(config={"max.poll.records": 2}, processing_us=10 * MS)
    fill(rig, "t-0", 6)
    answer(rig, data(rig, "t-0", 0, 4))
    rig.consumer._positions.seek("t-0", 5)
    rig.run(25 * MS)
    assert (rig.consumer.read, rig.consumer.positions) == (2, {"t-0": 5})
    assert rig.asked(FetchRequest, 1)[-1].partitions[0].offset == 5


def test_fetches_carry_their_limits() -> None:
    rig = ConsumerRig(config={"fetch.min.bytes": 10, "fetch.max.bytes": 20, "max.partition.fetch.bytes": 30})
    (request,) = rig.asked(FetchRequest, 1)
    assert (request.min_bytes, request.response_max_bytes, request.max_bytes) == (10, 20, 30)


def test_an_exception_waits_for_the_next_poll_where_this_one_has_records() -> None:
    rig = ConsumerRig(leaders=(1, 1), config={"auto.offset.reset": "none"}, processing_us=10 * MS)
    fill(rig, "t-0", 2)
    empty = Slice(0, 0, ())
    answer(rig, data(rig, "t-0", 0, 2), FetchData("t-1", 0, E.OFFSET_OUT_OF_RANGE, -1, -1, -1, empty))
    assert (rig.consumer.read, rig.consumer.failed) == (2, "")
    rig.run(20 * MS)
    assert rig.consumer.failed == "OffsetOutOfRangeException"
    (failed,) = rig.of(ConsumerFailed)
    assert failed.at_us == rig.of(RecordsRead)[0].at_us + 20 * MS
    asked = len(rig.asked(FetchRequest, 1))
    rig.run(5 * SECOND)
    assert len(rig.asked(FetchRequest, 1)) == asked


def test_an_answer_to_another_fetch_is_not_taken() -> None:
    rig = ConsumerRig()
    fill(rig, "t-0", 2)
    old = rig.asked(FetchRequest, 1)[0]
    answer(rig, data(rig, "t-0", 0, 2))
    answer(rig, data(rig, "t-0", 0, 2), request=old)
    assert rig.consumer.read == 2


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        E.NOT_LEADER_OR_FOLLOWER,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.FENCED_LEADER_EPOCH,
        E.OFFSET_NOT_AVAILABLE,
        E.REPLICA_NOT_AVAILABLE,
    ],
    ids=lambda error: error.name,
)
def test_a_fetch_error_causes_backoff_and_a_metadata_request(error: KafkaError) -> None:
    rig = ConsumerRig()
    refuse(rig, "t-0", error)
    assert len(rig.metadata_asked()) == 1
    rig.run(95 * MS)
    assert len(rig.asked(FetchRequest, 1)) == 1
    rig.run(10 * MS)
    assert len(rig.asked(FetchRequest, 1)) == 2
    assert rig.consumer.positions == {"t-0": 0}


@pytest.mark.slow
def test_unknown_leader_epoch_is_retried_without_a_metadata_request() -> None:
    rig = ConsumerRig()
    refuse(rig, "t-0", E.UNKNOWN_LEADER_EPOCH)
    rig.run(105 * MS)
    assert (rig.metadata_asked(), len(rig.asked(FetchRequest, 1))) == ([], 2)


def test_an_error_in_one_partition_does_not_hold_up_the_others() -> None:
    rig = ConsumerRig(leaders=(1, 1))
    fill(rig, "t-1", 2)
    empty = Slice(0, 0, ())
    answer(rig, FetchData("t-0", 0, E.NOT_LEADER_OR_FOLLOWER, -1, -1, -1, empty), data(rig, "t-1", 0, 2))
    assert rig.consumer.positions == {"t-0": 0, "t-1": 2}
    assert [asked.partition for asked in rig.asked(FetchRequest, 1)[-1].partitions] == ["t-1"]


def test_it_continues_at_the_leader_that_metadata_names() -> None:
    rig = ConsumerRig()
    refuse(rig, "t-0", E.NOT_LEADER_OR_FOLLOWER)
    rig.answer_metadata(rig.metadata_asked()[0], state("t-0", 3, 1))
    rig.run(200 * MS)
    assert rig.asked(FetchRequest, 3)[0].partitions[0].current_leader_epoch == 1
    assert len(rig.asked(FetchRequest, 1)) == 1


def test_a_partition_without_a_leader_waits_for_metadata() -> None:
    rig = ConsumerRig(leaders=(-1,))
    rig.run(10 * MS)
    assert [rig.asked(FetchRequest, broker) for broker in (1, 2, 3)] == [[], [], []]
    rig.answer_metadata(rig.metadata_asked()[0], state("t-0", 2, 1))
    rig.run(2 * LATENCY)
    assert len(rig.asked(FetchRequest, 2)) == 1


# --- resets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "kafka", "asked", "epoch"),
    [("earliest", "3.9", EARLIEST, 0), ("latest", "3.9", LATEST, 0), ("latest", "2.0", LATEST, -1)],
)
def test_a_position_out_of_range_is_reset_by_the_policy(policy: str, kafka: str, asked: int, epoch: int) -> None:
    rig = ConsumerRig(kafka=kafka, config={"auto.offset.reset": policy})
    rig.consumer.positions["t-0"] = 50
    answer(rig, data(rig, "t-0", 0, 0))
    refuse(rig, "t-0", E.OFFSET_OUT_OF_RANGE)
    (request,) = rig.asked(ListOffsetsRequest, 1)
    assert (request.partition, request.timestamp_us, request.current_leader_epoch) == ("t-0", asked, epoch)
    assert len(rig.asked(FetchRequest, 1)) == 2
    rig.reply(1, ListOffsetsResponse(request.correlation_id, "t-0", 0, 12))
    rig.run(2 * LATENCY)
    (reset,) = rig.of(ConsumerReset)
    assert (reset.partition, reset.log_offset, reset.end_offset) == ("t-0", 12, 50)
    assert rig.asked(FetchRequest, 1)[-1].partitions[0].offset == 12


def test_while_one_partition_is_reset_the_others_continue() -> None:
    rig = ConsumerRig(leaders=(1, 1))
    empty = Slice(0, 0, ())
    answer(rig, FetchData("t-0", 0, E.OFFSET_OUT_OF_RANGE, -1, -1, -1, empty), data(rig, "t-1", 0, 0))
    assert [asked.partition for asked in rig.asked(FetchRequest, 1)[-1].partitions] == ["t-1"]
    assert len(rig.asked(ListOffsetsRequest, 1)) == 1


def test_a_reset_that_is_refused_is_tried_again_after_the_back_off() -> None:
    rig = ConsumerRig()
    refuse(rig, "t-0", E.OFFSET_OUT_OF_RANGE)
    (request,) = rig.asked(ListOffsetsRequest, 1)
    rig.reply(1, ListOffsetsResponse(request.correlation_id, "t-0", E.OFFSET_NOT_AVAILABLE, -1))
    rig.run(2 * LATENCY)
    assert (rig.consumer.positions, len(rig.metadata_asked())) == ({"t-0": 0}, 1)
    rig.run(110 * MS)
    assert (len(rig.asked(FetchRequest, 1)), len(rig.asked(ListOffsetsRequest, 1))) == (1, 2)
    assert rig.of(ConsumerReset) == []


def test_a_reset_that_is_never_answered_is_given_up_at_the_request_timeout() -> None:
    rig = ConsumerRig(config={"request.timeout.ms": 2_000})
    refuse(rig, "t-0", E.OFFSET_OUT_OF_RANGE)
    rig.run(3 * SECOND)
    first, second = rig.times(ListOffsetsRequest, 1)
    assert second - first == 2 * SECOND + 100 * MS + CONNECTING


def test_a_reset_ends_with_the_connection_even_if_the_leader_has_changed_since() -> None:
    rig = ConsumerRig(leaders=(1, 1))
    empty = Slice(0, 0, ())
    answer(
        rig,
        FetchData("t-0", 0, E.OFFSET_OUT_OF_RANGE, -1, -1, -1, empty),
        FetchData("t-1", 0, E.NOT_LEADER_OR_FOLLOWER, -1, -1, -1, empty),
    )
    rig.answer_metadata(rig.metadata_asked()[0], state("t-0", 2, 1), state("t-1", 2, 1))
    rig.run(2 * LATENCY)
    rig.network.crash(1)
    rig.run(SECOND)
    asked = {asked.partition for fetch in rig.asked(FetchRequest, 2) for asked in fetch.partitions}
    assert "t-1" in asked
    assert [request.partition for request in rig.asked(ListOffsetsRequest, 2)] == ["t-0"]


def test_a_late_answer_to_a_reset_that_was_given_up_changes_nothing() -> None:
    rig = ConsumerRig(config={"request.timeout.ms": 500})
    refuse(rig, "t-0", E.OFFSET_OUT_OF_RANGE)
    (request,) = rig.asked(ListOffsetsRequest, 1)
    rig.run(SECOND)
    rig.reply(1, ListOffsetsResponse(request.correlation_id, "t-0", 0, 99))
    rig.run(2 * LATENCY)
    assert (rig.consumer.positions, rig.of(ConsumerReset)) == ({"t-0": 0}, [])


# --- silence --------------------------------------------------------------------------------------------------------


def test_a_fetch_without_an_answer_is_given_up_at_the_request_timeout() -> None:
    rig = ConsumerRig(config={"request.timeout.ms": 2_000})
    sent_at = rig.times(FetchRequest, 1)[0] - LATENCY
    rig.run(sent_at + 2 * SECOND + LATENCY - 1 - rig.now)
    assert (len(rig.asked(FetchRequest, 1)), rig.metadata_asked()) == (1, [])
    rig.run(SECOND)
    assert len(rig.asked(FetchRequest, 1)) == 2
    assert rig.times(FetchRequest, 1)[1] == sent_at + 2 * SECOND + 100 * MS + CONNECTING + LATENCY
    assert rig.metadata_asked()[0] != 1


def test_a_broken_connection_is_backed_off_from() -> None:
    rig = ConsumerRig()
    rig.network.crash(1)
    rig.network.restart(1)
    broken = rig.now + LATENCY
    rig.run(SECOND)
    assert rig.times(FetchRequest, 1)[1] == broken + 100 * MS + CONNECTING + LATENCY
    assert len(rig.metadata_asked()) >= 1


def test_a_silent_leader_does_not_hold_up_fetches_from_others() -> None:
    rig = ConsumerRig(leaders=(1, 2))
    fill(rig, "t-1", 1, 1, 1)
    rig.network.power_off(1)
    for offset in range(3):
        answer(rig, data(rig, "t-1", offset, offset + 1), broker=2)
    assert rig.consumer.positions == {"t-0": 0, "t-1": 3}


def test_a_consumer_refreshes_metadata_after_its_maximum_age() -> None:
    rig = ConsumerRig(config={"metadata.max.age.ms": 3_000})
    rig.run(3 * SECOND - LATENCY - 1)
    assert rig.metadata_asked() == []
    rig.run(LATENCY + 1)
    assert len(rig.metadata_asked()) == 1


def test_metadata_rotates_away_from_a_broker_that_does_not_answer() -> None:
    rig = ConsumerRig(leaders=(-1,), config={"request.timeout.ms": 400})
    rig.run(2 * SECOND)
    assert set(rig.metadata_asked()[:3]) == {1, 2, 3}
    times = sorted(at for broker in (1, 2, 3) for at in rig.times(MetadataRequest, broker))
    assert all(later - earlier >= 400 * MS for earlier, later in pairwise(times))


def test_a_loaded_consumer_continues_exactly_as_the_first_time() -> None:
    rig = ConsumerRig(leaders=(1, 2, 1), config={"max.poll.records": 2})
    for partition in rig.partitions:
        fill(rig, partition, 3, 3)
    empty = Slice(0, 0, ())
    answer(rig, FetchData("t-0", 0, E.OFFSET_OUT_OF_RANGE, -1, -1, -1, empty), data(rig, "t-2", 0, 3))
    answer(rig, FetchData("t-1", 0, E.NOT_LEADER_OR_FOLLOWER, -1, -1, -1, empty), broker=2)
    saved = rig.network.save(), rig.consumer.save()
    got = {broker: len(node.got) for broker, node in rig.brokers.items()}
    told = len(rig.events)

    def go_on() -> tuple[object, object, object]:
        reset = rig.asked(ListOffsetsRequest, 1)[0]
        rig.reply(1, ListOffsetsResponse(reset.correlation_id, "t-0", 0, 3))
        answer(rig, data(rig, "t-2", 2, 6))
        rig.network.crash(2)
        rig.run(SECOND)
        asked = {broker: node.got[got[broker] :] for broker, node in rig.brokers.items()}
        return asked, [(event.kind, event.values()) for event in rig.events[told:]], rig.consumer.save()

    first = go_on()
    for broker, node in rig.brokers.items():
        del node.got[got[broker] :]
    del rig.events[told:]
    rig.network.load(saved[0])
    rig.consumer.load(saved[1])
    assert rig.consumer.save() == saved[1]
    assert go_on() == first


# --- pauses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "kept"), [("2.4", True), ("2.3", False)])
def test_records_fetched_before_a_pause_are_kept_since_2_4(kafka: str, kept: bool) -> None:
    rig = ConsumerRig(kafka=kafka, processing_us=100 * MS)
    fill(rig, "t-0", 2, 3)
    answer(rig, data(rig, "t-0", 0, 2))
    assert rig.consumer.read == 2
    answer(rig, data(rig, "t-0", 2, 5))  # arrives while the first two are processed
    rig.consumer.pause(1)
    rig.consumer.pause(2)
    asked = len(rig.asked(FetchRequest, 1))
    rig.run(SECOND)
    assert (rig.consumer.read, len(rig.asked(FetchRequest, 1))) == (2, asked)
    rig.consumer.resume(1)
    rig.run(SECOND)
    assert rig.consumer.read == 2
    rig.consumer.resume(2)
    rig.run(10 * MS)
    assert rig.consumer.read == (5 if kept else 2)
    again = rig.asked(FetchRequest, 1)[asked:]
    assert [request.partitions[0].offset for request in again] == [5 if kept else 2]


def test_a_pause_is_forgotten_with_the_partition() -> None:
    rig = ConsumerRig(leaders=(1, 1))
    positions = rig.consumer._positions
    rig.consumer.pause(1)
    assert (positions.fetchable("t-0"), positions.fetchable("t-1")) == (False, False)
    positions.assign(("t-1",))
    positions.assign(("t-0", "t-1"))
    positions.seek("t-0", 0)
    assert (positions.fetchable("t-0"), positions.fetchable("t-1")) == (True, False)
