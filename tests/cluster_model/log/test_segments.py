"""Segments of a log: when they roll, their indexes, their retention, and what a recovery must read."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.log.crash_recovery import RECOVERY_BYTES_PER_SECOND, bytes_to_check, recovery_us
from cluster_model.log.log_cleaner import retain
from cluster_model.log.offset_index import OffsetEntry, TimeEntry, TimestampAndOffset, indexes_of, offset_for_timestamp
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.log.segments import INT32_MAX, NO_TIMESTAMP, Segment, Segments
from cluster_model.protocol.configs import LogConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.records import CODECS, Batch, codec_of
from cluster_model.protocol.versions import Profile

SMALL = LogConfig(segment_bytes=100, index_interval=20)


class Leader:
    """A leader's log with one log branch; a batch has ``records`` records of ten bytes by default."""

    def __init__(self, rules: LogConfig = SMALL, start: int = 0) -> None:
        self.log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True, rules=rules)
        self.log.restart_at(start)
        self.rolls: list[tuple[int, int, str]] = []
        self.log.on_roll = lambda now, base, rule: self.rolls.append((now, base, rule))
        self.epoch_branch: EpochBranch = self.log.epoch_branches.begin(1, 0, start)

    def write(self, size: int, timestamp: int = 0, *, records: int = 1, now: int = 0) -> None:
        base = self.log.leo
        batch = Batch(base, records, size, now, "p", -1, base, 1, timestamp_us=timestamp)
        self.log.append_batch(self.epoch_branch, batch)

    def bases(self) -> list[int]:
        return [segment.base for segment in self.log.segments.all]


def test_a_batch_that_does_not_fit_begins_a_segment_at_its_first_offset() -> None:
    leader = Leader()
    for size in (60, 40, 1):
        leader.write(size, records=3, now=7)
    assert leader.bases() == [0, 6]
    assert leader.rolls == [(7, 6, "segment.bytes")]
    assert [segment.size for segment in leader.log.segments.all] == [100, 1]


def test_time_is_reported_by_the_records_and_looked_at_on_appends_only() -> None:
    leader = Leader(LogConfig(roll_us=50))
    leader.write(10, 1_000, now=0)
    leader.write(10, 1_050, now=900)
    assert leader.bases() == [0]
    leader.write(10, 1_051, now=901)
    assert (leader.bases(), leader.rolls) == ([0, 2], [(901, 2, "segment.ms")])
    leader.write(10, 400, now=99_999)
    assert leader.bases() == [0, 2], "a record of the past makes no segment old"


@pytest.mark.parametrize("rules", [LogConfig(roll_us=50, by_timestamp=False), LogConfig(roll_us=50)])
def test_without_timestamps_the_age_of_the_segment_counts(rules: LogConfig) -> None:
    timestamp = -1 if rules.by_timestamp else 7
    leader = Leader(rules)
    for now in (0, 50, 51):
        leader.write(10, timestamp, now=now)
    assert leader.rolls == [(51, 2, "segment.ms")]


def test_a_full_offset_index_begins_a_segment() -> None:
    leader = Leader(LogConfig(index_interval=0, index_bytes=36))
    for _batch in range(7):
        leader.write(10, 0)
    # The first batch adds no entry; 36 bytes hold 4 offset entries, and one time entry for the one timestamp.
    assert (leader.bases(), leader.rolls[0][2]) == ([0, 5], "index full")


def test_a_full_time_index_does_so_earlier() -> None:
    leader = Leader(LogConfig(index_interval=0, index_bytes=36))
    for at in range(5):
        leader.write(10, at)
    assert leader.bases() == [0, 3]


def test_an_offset_must_fit_its_index_relative_to_the_base() -> None:
    segments = Segments(LogConfig())
    segments.count_append(1, 0, 0, 0)
    assert segments.roll_reason(INT32_MAX + 1, 1, 0, 0) == ""
    assert segments.roll_reason(INT32_MAX + 2, 1, 0, 0) == "offset overflow"


def test_an_empty_segment_takes_anything() -> None:
    segments = Segments(LogConfig(segment_bytes=10, roll_us=1))
    assert segments.roll_reason(INT32_MAX + 9, 1_000, 1_000, 1_000) == ""


def test_a_roll_flushes_what_precedes_it_and_nothing_else() -> None:
    leader = Leader()
    for _batch in range(3):
        leader.write(60)
    assert (leader.log.recovery_point, leader.log.durable, leader.log.leo) == (2, 2, 3)


def test_a_follower_appends_what_one_fetch_brought_as_one_piece() -> None:
    leader = Leader()
    for size in (60, 30, 20, 20):
        leader.write(size)
    follower = ReplicaLog(leader.log.epoch_branches, uses_epochs=True, replaces=True, rules=SMALL)
    follower.append_slice(leader.log.read(0, 1, 1_000))
    follower.append_slice(leader.log.read(1, 4, 1_000))
    assert leader.bases() == [0, 2]
    assert [segment.base for segment in follower.segments.all] == [0, 1]


def test_a_fetch_larger_than_a_segment_goes_in_batch_by_batch() -> None:
    leader = Leader()
    for at, size in enumerate((60, 30, 20, 20, 90)):
        leader.write(size, at)
    follower = ReplicaLog(leader.log.epoch_branches, uses_epochs=True, replaces=True, rules=SMALL)
    follower.append_slice(leader.log.read(0, 5, 1_000))
    ours = [segment._replace(created_us=0, modified_us=0) for segment in follower.segments.all]
    assert ours == [segment._replace(created_us=0, modified_us=0) for segment in leader.log.segments.all]


def test_flush_messages_counts_from_the_recovery_point_on_leader_and_follower() -> None:
    rules = LogConfig(flush_messages=3)
    leader = Leader(rules)
    points = []
    for _batch in range(4):
        leader.write(10)
        points.append(leader.log.recovery_point)
    assert points == [0, 0, 3, 3]
    follower = ReplicaLog(leader.log.epoch_branches, uses_epochs=True, replaces=True, rules=rules)
    follower.append_slice(leader.log.read(0, 4, 1_000))
    assert follower.recovery_point == 4


# --- truncation -----------------------------------------------------------------------------------------------------


def test_truncation_deletes_later_segments_and_takes_the_recovery_point_along() -> None:
    leader = Leader()
    for at in range(6):
        leader.write(40, at)
    assert (leader.bases(), leader.log.recovery_point) == ([0, 2, 4], 4)
    leader.log.truncate(3)
    assert (leader.bases(), leader.log.recovery_point, leader.log.durable) == ([0, 2], 3, 3)
    assert leader.log.segments.active[:4] == (2, 40, 2, 2)


def test_truncation_to_a_base_leaves_that_segment_empty() -> None:
    leader = Leader()
    for at in range(4):
        leader.write(60, at)
    leader.log.truncate(2)
    assert (leader.bases(), leader.log.segments.size) == ([0, 1, 2], 0)


def test_truncation_below_the_first_segment_begins_anew() -> None:
    leader = Leader(start=50)
    leader.write(60)
    leader.log.truncate(20)
    assert (leader.bases(), leader.log.log_start, leader.log.leo, leader.log.epochs.entries) == ([20], 20, 20, ())


# --- indexes --------------------------------------------------------------------------------------------------------


def test_index_entries_come_after_more_than_the_interval() -> None:
    leader = Leader(LogConfig(index_interval=20))
    for timestamp, size in ((5, 10), (3, 10), (9, 10), (8, 30), (8, 10)):
        leader.write(size, timestamp, records=2)
    found = indexes_of(leader.log, leader.log.segments.active)
    # 10 and 20 bytes are not more than 20: the fourth batch adds the first entry, the fifth the second.
    assert found.offsets == (OffsetEntry(7, 30), OffsetEntry(9, 60))
    assert found.times == (TimeEntry(9, 5),)
    assert leader.log.segments.entries == (2, 1)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40), st.integers(1, 3)), min_size=1, max_size=30))
def test_look_ups_find_what_a_scan_of_everything_finds(batches: list[tuple[int, int, int]]) -> None:
    leader = Leader()
    for size, timestamp, records in batches:
        leader.write(size, timestamp, records=records)
    every = [batch for _epoch_branch, batch, _start, _end in leader.log.batches()]
    for wanted in range(42):
        first = next((batch for batch in every if batch.timestamp_us >= wanted), None)
        expected = None if first is None else TimestampAndOffset(first.base, first.timestamp_us)
        assert offset_for_timestamp(leader.log, wanted) == expected


def test_a_look_up_answers_nothing_below_the_log_start() -> None:
    leader = Leader()
    for timestamp in (10, 20, 30):
        leader.write(10, timestamp, records=2)
    leader.log.move_start(3)
    assert offset_for_timestamp(leader.log, 5) == TimestampAndOffset(3, 20)
    assert offset_for_timestamp(leader.log, 31) is None


# --- retention ------------------------------------------------------------------------------------------------------


def kept(leader: Leader, hw: int, now: int = 0, **rules: int) -> tuple[list[tuple[str, int]], int, list[int]]:
    leader.log.rules = replace(leader.log.rules, **rules)
    return list(retain(leader.log, hw, now)), leader.log.log_start, leader.bases()


def six() -> Leader:
    """Return a leader with segments of one 60-byte batch each, with timestamps 0 to 50."""
    leader = Leader()
    for at in range(6):
        leader.write(60, at * 10)
    return leader


def test_by_size_the_log_keeps_at_least_what_it_is_allowed() -> None:
    assert kept(six(), 6, retention_bytes=180) == ([("retention.bytes", 0)], 3, [3, 4, 5])
    assert kept(six(), 6, retention_bytes=179) == ([("retention.bytes", 0)], 3, [3, 4, 5])
    assert kept(six(), 6, retention_bytes=-1) == ([], 0, [0, 1, 2, 3, 4, 5])


def test_by_time_the_largest_timestamp_of_a_segment_counts() -> None:
    assert kept(six(), 6, now=60, retention_us=40)[1:] == (2, [2, 3, 4, 5])
    pinned = Leader()
    for timestamp in (1_000, 0, 0):
        pinned.write(60, timestamp)
    assert kept(pinned, 3, now=500, retention_us=10)[1] == 0, "a record of the future pins what follows it"


def test_retention_deletes_nothing_above_the_high_watermark() -> None:
    assert kept(six(), 2, retention_bytes=0)[1:] == (2, [2, 3, 4, 5])


def test_the_active_segment_goes_too_and_leaves_an_empty_one() -> None:
    leader = six()
    assert kept(leader, 6, now=10_000, retention_us=1) == ([("retention.ms", 0)], 6, [6])
    assert (leader.log.leo, leader.log.extents, leader.log.recovery_point) == (6, [], 6)
    leader.write(60, 70)
    assert [batch.base for _epoch_branch, batch, _start, _end in leader.log.batches()] == [6]
    assert leader.log.epochs.entries == ((0, 6),)


def test_an_empty_log_stays_as_it_is() -> None:
    assert kept(Leader(), 0, now=10**9, retention_us=0, retention_bytes=0) == ([], 0, [0])


def test_segments_below_the_log_start_are_deleted_by_the_next_retention_check() -> None:
    leader = six()
    assert leader.log.move_start(3)
    assert not leader.log.move_start(2)
    assert leader.log.last_deleted == ((0, 0, 3),)
    assert kept(leader, 6, retention_us=-1) == ([], 3, [3, 4, 5])


def test_before_0_10_1_the_age_of_the_file_counts() -> None:
    leader = Leader(replace(SMALL, by_timestamp=False))
    for at in range(3):
        leader.write(60, 999_999, now=at * 10)
    assert kept(leader, 3, now=25, retention_us=10)[1] == 2


def test_the_epoch_that_spans_the_new_start_begins_there() -> None:
    leader = six()
    second = leader.log.epoch_branches.begin(1, 4, 6)
    leader.log.append_batch(second, Batch(6, 1, 60, 0, "p", -1, 6, 1, timestamp_us=60))
    kept(leader, 7, retention_bytes=200)
    assert leader.log.epochs.entries == ((0, leader.log.log_start), (4, 6))


def test_deleted_files_stay_until_their_delay_is_over() -> None:
    leader = six()
    kept(leader, 6, now=0, retention_bytes=180, delete_delay_us=100)
    assert (leader.log.segments.total, leader.log.disk_bytes) == (180, 360)
    leader.log.unlink(99)
    assert leader.log.disk_bytes == 360
    leader.log.unlink(100)
    assert leader.log.disk_bytes == 180


# --- recovery and power loss ----------------------------------------------------------------------------------------


def test_every_segment_that_reaches_the_recovery_point_is_read_whole() -> None:
    leader = six()
    assert [bytes_to_check(leader.log.segments, point) for point in (0, 1, 4, 5, 6)] == [360, 300, 120, 60, 60]


def test_recovery_threads_take_the_next_log_when_free() -> None:
    second = RECOVERY_BYTES_PER_SECOND
    assert recovery_us([second, second, 2 * second], 1) == 4_000_000
    assert recovery_us([second, second, 2 * second], 2) == 3_000_000
    assert recovery_us([], 2) == 0


def test_a_log_that_ends_below_its_checkpointed_start_begins_anew_there() -> None:
    leader = six()
    leader.log.truncate(2)
    leader.log.reload(4, 9)
    assert (leader.log.log_start, leader.log.leo, leader.log.recovery_point, leader.bases()) == (4, 4, 4, [4])


def test_a_power_loss_cuts_between_batches() -> None:
    leader = Leader(LogConfig())
    for _batch in range(3):
        leader.write(10, records=4)
    assert [leader.log.durable_end(keep) for keep in (0, 3, 4, 7, 11, 12, 99)] == [0, 0, 4, 4, 8, 12, 12]
    assert leader.log.durable_end() == 0
    leader.log.flush()
    assert leader.log.durable_end() == 12


# --- codecs ---------------------------------------------------------------------------------------------------------


def test_codec_numbers_are_those_of_the_record_format() -> None:
    assert {name: codec.code for name, codec in CODECS.items()} == {
        "none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4,
    }  # fmt: skip


def test_zstd_came_with_2_1(snapshot: SnapshotAssertion) -> None:
    assert codec_of(Profile.of("2.1"), "zstd") is CODECS["zstd"]
    with pytest.raises(ModelError) as caught:
        codec_of(Profile.of("2.0"), "zstd")
    assert caught.value.code == "not_in_version"
    assert str(caught.value) == snapshot


def test_only_no_compression_is_free() -> None:
    for name, codec in CODECS.items():
        assert (codec.size(10_000) < 10_000, codec.cost_us(10_000) > 0) == (name != "none", name != "none")


# --- against a plain list -------------------------------------------------------------------------------------------

ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 100), st.integers(0, 90)),
        st.tuples(st.just("cut"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("start"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("retain"), st.integers(0, 300), st.integers(0, 40)),
    ),
    max_size=40,
)


class Naive:
    """Segments as lists of (offset, size, timestamp), with the rules written out plainly."""

    def __init__(self) -> None:
        self.segments: list[tuple[int, list[tuple[int, int, int]]]] = [(0, [])]
        self.start = self.end = 0

    def write(self, size: int, timestamp: int) -> None:
        held = self.segments[-1][1]
        if held and (sum(one[1] for one in held) + size > 100 or timestamp - held[0][2] > 50):
            self.segments.append((self.end, []))
        self.segments[-1][1].append((self.end, size, timestamp))
        self.end += 1

    def cut(self, offset: int) -> None:
        if offset >= self.end:
            return
        if offset < self.segments[0][0]:
            self.segments, self.start, self.end = [(offset, [])], offset, offset
            return
        kept = [(base, [one for one in held if one[0] < offset]) for base, held in self.segments if base <= offset]
        self.segments, self.start, self.end = kept, min(self.start, offset), offset

    def retain(self, limit: int, hw: int) -> None:
        while len(self.segments) > 1 and hw >= self.segments[1][0] <= self.start:
            del self.segments[0]
        while True:
            _base, held = self.segments[0]
            end = self.segments[1][0] if len(self.segments) > 1 else self.end
            size = sum(one[1] for one in held)
            total = sum(one[1] for _base, held in self.segments for one in held)
            if hw < end or total - size < limit or (len(self.segments) == 1 and not held):
                return
            if len(self.segments) == 1:
                self.segments.append((self.end, []))
            del self.segments[0]
            self.start = max(self.start, self.segments[0][0])


@pytest.mark.slow
@given(ACTIONS)
def test_a_segmented_log_is_what_the_rules_say(actions: list[tuple[str, int, int]]) -> None:
    leader = Leader(replace(SMALL, roll_us=50, retention_us=-1))
    naive = Naive()
    for name, one, two in actions:
        if name == "write":
            leader.write(one, two)
            naive.write(one, two)
        elif name == "cut":
            if one < naive.end:
                leader.epoch_branch = leader.log.epoch_branches.begin(1, 0, one)
            leader.log.truncate(one)
            naive.cut(one)
        elif name == "start":
            if one <= naive.end:
                leader.log.move_start(one)
                naive.start = max(naive.start, one)
        else:
            hw = max(naive.start, min(two, naive.end))
            kept(leader, hw, retention_bytes=one)
            naive.retain(one, hw)
        saved = leader.log.save()
        leader.log.load(saved)
        assert leader.log.save() == saved
        log = leader.log
        assert (log.log_start, log.leo) == (naive.start, naive.end)
        expected = [
            (
                base,
                sum(o[1] for o in held),
                held[0][2] if held else NO_TIMESTAMP,
                max((o[2] for o in held), default=NO_TIMESTAMP),
            )
            for base, held in naive.segments
        ]
        assert [Segment(*segment)[:4] for segment in log.segments.all] == expected
        held_offsets = [one[0] for _base, held in naive.segments for one in held]
        found = [
            batch.base for _epoch_branch, batch, _start, _end in log.batches_between(log.segments.first_base, log.leo)
        ]
        assert found == held_offsets
        assert [batch.base for _l, batch, _s, _e in log.batches()] == [at for at in held_offsets if at >= log.log_start]
        assert log.recovery_point <= log.durable <= log.leo
