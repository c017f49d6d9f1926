"""Compaction of one log: what may be cleaned, the result of a pass, and that offsets never change."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.batch_store import BatchStore
from cluster_model.log.log_cleaner import LogToClean, _groups, clean, to_clean
from cluster_model.log.offset_index import TimestampAndOffset, indexes_of, largest_timestamp, offset_for_timestamp
from cluster_model.log.record_keys import (
    KeySet,
    ProducerKeys,
    key_model,
    keys_of,
    keys_of_numbers,
    lacks_key,
    named_keys,
)
from cluster_model.log.replica_log import ReplicaLog, differing
from cluster_model.log.segments import INT32_MAX
from cluster_model.protocol.configs import LogConfig
from cluster_model.protocol.records import Batch, CompactionOverlay

SECOND = 1_000_000
RULES = LogConfig(segment_bytes=40, compact=True, delete=False, min_dirty_ppm=0, tombstone_us=10 * SECOND)
MANY = 1 << 30


class Compacted:
    """A leader's log of named records of ten bytes; a segment holds four."""

    def __init__(self, rules: LogConfig = RULES) -> None:
        self.log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True, rules=rules)
        self.log_branch = self.log.epoch_branches.begin(1, 0, 0)
        self.dirty = 0
        self.now = 0

    def cut(self, offset: int) -> None:
        """Truncate, and continue with a new log branch."""
        self.log.truncate(self.log.durable_end(offset), self.now)
        self.log_branch = self.log.epoch_branches.begin(1, 0, self.log.leo)

    def write(self, *names: str, each: bool = True, timestamp: int = -1) -> "Compacted":
        """Append one batch for each record, or one for all."""
        for group in [(name,) for name in names] if each else [names]:
            base = self.log.leo
            stamp = self.now if timestamp < 0 else timestamp
            batch = Batch(base, len(group), 10 * len(group), self.now, "p", -1, base, 1, group, stamp)
            self.log.append_batch(self.log_branch, batch)
        return self

    def follower(self, max_bytes: int = 25, rules: LogConfig | None = None) -> ReplicaLog:
        """Return a log that fetched everything from this one."""
        copy = ReplicaLog(self.log.epoch_branches, uses_epochs=True, replaces=True, rules=rules or self.log.rules)
        while copy.leo < self.log.leo:
            copy.append_slice(self.log.read(copy.leo, self.log.leo, max_bytes), self.now)
        return copy

    def work(self, hw: int | None = None) -> LogToClean | None:
        return to_clean(self.log, self.log.leo if hw is None else hw, self.dirty, self.now)

    def clean(self, hw: int | None = None, room: int = MANY, *, horizons: bool = True) -> int:
        """Run a pass, if there is anything to clean; returns the number of removed records."""
        work = self.work(hw)
        if work is None:
            return 0
        done = clean(self.log, work, self.now, room=room, horizons=horizons)
        self.dirty = done.cleaned_to
        return done.removed


def names(log: ReplicaLog) -> dict[int, str]:
    """Return a log's remaining record names, by offset."""
    return {
        offset: batch.name[offset - batch.base]
        for _epoch_branch, batch, start, end in log.batches()
        for low, high in log.remaining(start, end)
        for offset in range(low, high)
    }


def latest(records: dict[int, str]) -> dict[str, str]:
    """Return the final state of a reader: value by key, without deleted keys."""
    table: dict[str, str] = {}
    for offset in sorted(records):
        key, _sign, value = records[offset].partition("=")
        table[key] = value
    return {key: value for key, value in table.items() if value}


# --- what may be cleaned --------------------------------------------------------------------------------------------


def test_neither_the_active_segment_nor_anything_from_the_high_watermark_on() -> None:
    rig = Compacted().write("a=1", "a=2", "a=3", "a=4")
    assert rig.work() is None
    rig.write("a=5")
    assert rig.work() == LogToClean(0, 4, 0, 40, overdue=False)
    assert rig.work(hw=3) is None
    rig.write("a=6", "a=7", "a=8", "a=9")
    assert rig.work(hw=7) == LogToClean(0, 4, 0, 40, overdue=False)
    assert rig.work(hw=8) == LogToClean(0, 8, 0, 80, overdue=False)


def test_only_above_the_dirty_ratio_and_not_at_it() -> None:
    rig = Compacted(replace(RULES, min_dirty_ppm=500_000)).write("a=1", "b=1", "c=1", "d=1", "e=1")
    assert rig.clean() == 0
    assert rig.dirty == 4
    rig.write("f=1", "g=1", "h=1", "i=1")
    assert (rig.dirty, rig.work()) == (4, None), "40 clean bytes, 40 dirty ones: half is not above half"
    rig.write("j=1", "k=1", "l=1", "m=1")
    work = rig.work()
    assert work is not None
    assert (work.clean_bytes, work.dirty_bytes, work.dirty_ppm) == (40, 80, 666_666)


def test_a_segment_younger_than_the_compaction_lag_ends_what_can_be_cleaned() -> None:
    rig = Compacted(replace(RULES, min_lag_us=5 * SECOND)).write("a=1", "a=2", "a=3", "a=4")
    rig.now = 3 * SECOND
    rig.write("a=5", "a=6", "a=7", "a=8", "a=9")
    rig.now = 4 * SECOND
    assert rig.work() is None
    rig.now = 5 * SECOND
    assert rig.work() == LogToClean(0, 4, 0, 40, overdue=False)
    rig.now = 8 * SECOND
    assert rig.work() == LogToClean(0, 8, 0, 80, overdue=False)


def test_an_old_dirty_record_is_cleaned_at_any_ratio() -> None:
    rig = Compacted(replace(RULES, min_dirty_ppm=999_999, max_lag_us=5 * SECOND))
    rig.now = SECOND
    rig.write("a=1", "b=2", "c=3", "d=4", "e=5")
    rig.clean()
    rig.dirty = 0
    rig.log.rules = replace(rig.log.rules, min_dirty_ppm=1_000_000)
    rig.now = 6 * SECOND
    assert rig.work() is None
    rig.now += 1
    assert rig.work() == LogToClean(0, 4, 0, 40, overdue=True)


def test_a_checkpoint_outside_the_log_counts_as_its_start() -> None:
    rig = Compacted().write("a=1", "a=2", "a=3", "a=4", "a=5")
    for wrong in (-1, 99):
        rig.dirty = wrong
        assert rig.work() == LogToClean(0, 4, 0, 40, overdue=False)


# --- result of a pass -------------------------------------------------------------------------------------------------


def test_the_newest_of_every_key_stays_at_its_offset_and_nothing_else_moves() -> None:
    rig = Compacted().write("a=1", "b=1", "a=2", "c=1", "b=2", "c=2", "d=1", "a=3", "e=1")
    before = (rig.log.leo, rig.log.log_start, rig.log.epochs.entries, rig.log.extents, rig.log.recovery_point)
    assert rig.clean() == 4
    assert names(rig.log) == {4: "b=2", 5: "c=2", 6: "d=1", 7: "a=3", 8: "e=1"}
    assert before == (rig.log.leo, rig.log.log_start, rig.log.epochs.entries, rig.log.extents, rig.log.recovery_point)
    assert (rig.dirty, rig.clean()) == (8, 0)


def test_records_of_the_active_segment_shadow_nothing_yet() -> None:
    rig = Compacted().write("a=1", "b=1", "c=1", "d=1", "a=2")
    assert rig.clean() == 0
    assert len(names(rig.log)) == 5


def test_records_without_a_key_go() -> None:
    rig = Compacted().write("one", "a=1", "two", "b=1", "three")
    assert rig.clean() == 2
    assert names(rig.log) == {1: "a=1", 3: "b=1", 4: "three"}


def test_a_batch_shrinks_with_its_records_and_small_segments_become_one() -> None:
    rig = Compacted().write("a=1", "b=1", "a=2", each=False).write("b=2", "a=3", "c=1", each=False).write("x=1", "y=1")
    assert [segment.size for segment in rig.log.segments.all] == [30, 40, 10]
    assert rig.clean() == 3
    assert names(rig.log) == {3: "b=2", 4: "a=3", 5: "c=1", 6: "x=1", 7: "y=1"}
    assert [(segment.base, segment.size) for segment in rig.log.segments.all] == [(0, 0), (3, 40), (7, 10)]
    assert rig.log.disk_bytes == 50 + 70, "the old files stay for file.delete.delay.ms"
    rig.log.unlink(RULES.delete_delay_us)
    assert rig.log.disk_bytes == 50
    rig.write("c=2", "d=1", "e=1", "f=1")
    assert rig.clean() == 1
    assert [(segment.base, segment.size) for segment in rig.log.segments.sealed] == [(0, 30), (7, 40)]


def test_a_full_map_ends_the_pass_and_the_next_continues_there() -> None:
    rig = Compacted().write("a=1", "b=1", "a=2", "c=1", "c=2", "b=2", "a=3", "d=1", "z=1")
    passes = [(rig.clean(room=2), rig.dirty) for _pass in range(5)]
    # The map takes a and b; then a again and c; then c and b, at offsets 4 and 5; then a and d.
    assert passes == [(0, 2), (1, 4), (2, 6), (1, 8), (0, 8)]
    assert names(rig.log) == {4: "c=2", 5: "b=2", 6: "a=3", 7: "d=1", 8: "z=1"}


def test_a_full_offset_map_leaves_the_rest_to_the_next_cleaning() -> None:
    rig = Compacted().write("a=1", "b=1", "plain", "c=1", "z=1")
    assert (rig.clean(room=1), rig.dirty, rig.clean(), rig.dirty) == (0, 1, 1, 4)
    assert names(rig.log) == {0: "a=1", 1: "b=1", 3: "c=1", 4: "z=1"}


def test_whole_batches_that_a_full_map_did_not_get_to_stay_too() -> None:
    rig = Compacted().write("a=1", "b=1", each=False).write("plain", "c=1", each=False).write("z=1")
    assert (rig.clean(room=1), rig.dirty, len(names(rig.log))) == (0, 1, 5)


def test_a_tombstone_that_a_full_map_did_not_get_to_gets_its_time_all_the_same() -> None:
    rig = Compacted().write("x=1", "y=", "b=1", "c=1", "z=1")
    assert rig.clean(room=1) == 0
    assert rig.log.cleaned == CompactionOverlay((), ((1, 10 * SECOND),))


def test_copied_holes_above_what_is_cleaned_stay() -> None:
    rig = Compacted().write("a=1", "a=2", "b=1", "c=1", "d=1", "e=1", "e=2", "f=1", "z=1")
    rig.clean()
    copy = rig.follower(10, replace(RULES, segment_bytes=10))
    work = to_clean(copy, 3, 0, 0)
    assert work is not None
    clean(copy, work, 0, room=MANY, horizons=True)
    assert copy.cleaned == CompactionOverlay(((0, 1), (5, 6)))


# --- tombstones -----------------------------------------------------------------------------------------------------


def test_a_tombstone_goes_some_time_after_the_cleaning_that_first_kept_it() -> None:
    rig = Compacted().write("a=1", "b=1", "a=", "c=1", "x=1")
    rig.now = 100 * SECOND
    assert rig.clean() == 1
    assert rig.log.cleaned == CompactionOverlay(((0, 1),), ((2, 110 * SECOND),))
    rig.write("d=1", "e=1", "f=1", "g=1")
    rig.now = 110 * SECOND - 1
    assert rig.clean() == 0
    assert rig.log.cleaned == CompactionOverlay(((0, 1),), ((2, 110 * SECOND),)), "its time was set once"
    rig.write("h=1", "i=1", "j=1", "k=1")
    rig.now = 110 * SECOND
    assert rig.clean() == 1
    assert rig.log.cleaned == CompactionOverlay(((0, 1), (2, 3)), ())
    assert "a=" not in names(rig.log).values()


def test_before_kip_534_tombstones_expire_by_segment_age() -> None:
    rig = Compacted(replace(RULES, segment_bytes=20)).write("a=1", "a=", "b=1")
    rig.now = 5 * SECOND
    assert rig.clean(horizons=False) == 1
    assert rig.log.cleaned == CompactionOverlay(((0, 1),)), "no time is written into the batch"
    rig.now = 10 * SECOND
    rig.write("c=1", "d=1", "e=1")
    assert rig.clean(horizons=False) == 0, "the last clean segment is as old as the tombstone's"
    rig.now = 11 * SECOND
    rig.write("f=1", "g=1", "h=1")
    assert rig.clean(horizons=False) == 1, "it is more than ten seconds older than the last clean one"
    assert "a=" not in names(rig.log).values()


def test_a_replaced_tombstone_goes_at_once() -> None:
    rig = Compacted().write("a=", "a=1", "b=1", "c=1", "x=1")
    assert rig.clean() == 1
    assert rig.log.cleaned == CompactionOverlay(((0, 1),), ())


# --- a cleaned log in further use -------------------------------------------------------------------------------------


def test_a_follower_copies_what_is_left_and_ends_where_its_leader_ends() -> None:
    rig = Compacted().write("a=1", "a=2", "a=3", "a=", "a=4", "b=", "c=1", "d=1", "z=1")
    rig.now = SECOND
    rig.clean()
    for max_bytes in (1, 10, 25, 1_000):
        copy = rig.follower(max_bytes)
        assert (copy.leo, copy.extents, copy.epochs.entries) == (rig.log.leo, rig.log.extents, rig.log.epochs.entries)
        assert (names(copy), copy.cleaned) == (names(rig.log), rig.log.cleaned)
        assert copy.segments.total == rig.log.segments.total == 50


def test_a_read_within_a_hole_continues_behind_it() -> None:
    rig = Compacted().write("a=1", "a=2", "a=3", "a=4", "z=1", "y=1")
    rig.clean()
    rig.log.cleaned = CompactionOverlay(((0, 3),))
    read = rig.log.read(1, rig.log.leo, 10)
    assert (read.start, read.end, read.cleaned) == (1, 4, CompactionOverlay(((1, 3),)))
    assert rig.log.read(1, 3, 10).end == 3, "a bound within the hole is reached all the same"
    assert rig.log.read(3, rig.log.leo, 10).cleaned is None


def test_truncation_into_a_cleaned_part_keeps_the_holes_below_it() -> None:
    rig = Compacted().write("a=1", "b=1", "a=2", "c=1", "b=2", "a=3", "d=1", "e=1", "z=1")
    rig.clean()
    rig.cut(2)
    assert (rig.log.leo, names(rig.log), rig.log.segments.total) == (2, {}, 0)
    assert rig.log.cleaned == CompactionOverlay(((0, 2),))
    rig.write("n=1", "o=1")
    assert names(rig.log) == {2: "n=1", 3: "o=1"}


def test_retention_takes_the_holes_of_what_it_deletes_along() -> None:
    rig = Compacted().write("a=1", "a=2", "b=1", "c=1", "a=3", "a=4", "d=1", "e=1", "z=1")
    rig.clean()
    rig.log.delete_segments(1, 0)
    start = rig.log.log_start
    assert start > 0
    assert rig.log.cleaned is None or rig.log.cleaned.holes[0][0] >= start


def test_log_diff_ignores_compacted_offsets() -> None:
    rig = Compacted().write("a=1", "a=2", "a=3", "a=4", "z=1", "y=1")
    other = rig.follower()
    rig.clean()
    assert names(other) != names(rig.log)
    assert differing(rig.log, other) == differing(other, rig.log) == []
    rewritten = rig.follower()
    rewritten.truncate(2)
    log_branch = rewritten.epoch_branches.begin(2, 1, 2)
    for at in range(2, 6):
        rewritten.append_batch(log_branch, Batch(at, 1, 10, 0, "p", -1, 0, 1, ("q=1",)))
    assert differing(rig.log, rewritten) == differing(rewritten, rig.log) == [(3, 6)]


def test_look_ups_skip_what_is_gone() -> None:
    rig = Compacted(replace(RULES, index_interval=5))
    for at, name in enumerate(("a=1", "b=1", "a=2", "b=2", "z=1")):
        rig.write(name, timestamp=at * 10)
    rig.write("y=1", timestamp=5)
    rig.clean()
    assert names(rig.log) == {2: "a=2", 3: "b=2", 4: "z=1", 5: "y=1"}
    assert offset_for_timestamp(rig.log, 0) == TimestampAndOffset(2, 20)
    assert offset_for_timestamp(rig.log, 21) == TimestampAndOffset(3, 30)
    assert largest_timestamp(rig.log) == TimestampAndOffset(4, 40)
    assert [entry.offset for entry in indexes_of(rig.log, rig.log.segments.sealed[0]).offsets] == [3]


def test_saving_and_loading_keeps_the_holes() -> None:
    rig = Compacted().write("a=1", "a=2", "a=", "a=4", "b=", "z=1")
    rig.clean()
    saved = rig.log.save()
    again = ReplicaLog(rig.log.epoch_branches, uses_epochs=True, replaces=True, rules=RULES)
    again.load(saved)
    assert (again.save(), names(again)) == (saved, names(rig.log))


# --- against an oracle ----------------------------------------------------------------------------------------------

STEP = st.one_of(
    st.tuples(st.just("write"), st.lists(st.sampled_from(["a=1", "a=2", "b=1", "b=", "c=1", "c="]), min_size=1)),
    st.tuples(st.just("clean"), st.integers(0, 40)),
    st.tuples(st.just("wait"), st.integers(1, 12)),
    st.tuples(st.just("cut"), st.integers(0, 5)),
)


@pytest.mark.slow
@given(st.lists(STEP, max_size=25), st.booleans(), st.integers(1, 4))
def test_no_reader_ends_with_anything_else_for_it(steps: list[tuple[str, object]], horizons: bool, room: int) -> None:
    rig = Compacted()
    written: dict[int, str] = {}
    cleaned_to = 0
    for step, value in steps:
        if isinstance(value, list):
            written.update(enumerate(value, rig.log.leo))
            rig.write(*value, each=len(value) % 2 == 0)
        elif step == "clean" and isinstance(value, int):
            rig.clean(max(cleaned_to, rig.log.leo - value), room, horizons=horizons)
            cleaned_to = max(cleaned_to, rig.dirty)
        elif step == "wait" and isinstance(value, int):
            rig.now += value * SECOND
        elif isinstance(value, int):
            # The protocol never truncates anything below the high watermark, and so nothing that was cleaned.
            rig.cut(max(cleaned_to, rig.log.leo - value))
            written = {offset: name for offset, name in written.items() if offset < rig.log.leo}
        left = names(rig.log)
        assert left.items() <= written.items()
        assert all(offset in left for offset in written if offset >= rig.log.segments.base)
        assert latest(left) == latest(written)
        assert rig.log.segments.total == 10 * len(left)
        copy = rig.follower(30)
        assert (names(copy), copy.leo, differing(copy, rig.log)) == (left, rig.log.leo, [])


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 6)), max_size=12), st.integers(0, 60), st.integers(0, 60))
def test_the_overlay_counts_as_a_set_of_offsets_does(pairs: list[tuple[int, int]], one: int, other: int) -> None:
    offsets = {at for start, length in pairs for at in range(start, start + length)}
    holes: list[tuple[int, int]] = []
    for at in sorted(offsets):
        if holes and holes[-1][1] == at:
            holes[-1] = (holes[-1][0], at + 1)
        else:
            holes.append((at, at + 1))
    cleaned, (start, end) = CompactionOverlay(tuple(holes)), sorted((one, other))
    inside = [at for at in range(start, end) if at in offsets]
    kept = [at for at in range(start, end) if at not in offsets]
    assert [at for low, high in cleaned.within(start, end) for at in range(low, high)] == inside
    assert [at for low, high in cleaned.remaining(start, end) for at in range(low, high)] == kept
    assert cleaned.removed(start, end) == len(inside)
    assert [at for at in range(70) if cleaned.covers(at)] == sorted(offsets)
    for most in (1, 3, 100):
        taken = kept[:most]
        behind = taken[-1] + 1 if len(taken) == most else end
        assert cleaned.take(start, end, most) == (behind, len(taken), taken[-1] if taken else -1)


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_named_record_says_its_key() -> None:
    told = named_keys(("a=1", "a=", "a=b=c", "a", "=x", "="))
    assert list(told.keys) == ["a", "a", "a", None, "", ""]
    assert sorted(told.deletes) == [1, 5]


def test_a_producers_keys_are_drawn_once_for_every_record() -> None:
    model = key_model("checkout", "orders", 0, ProducerKeys(KeySet(10), 4))
    batch = Batch(100, 50, 1, 0, "checkout", -1, 7, 1)
    told = keys_of({"checkout": model}, batch)
    assert told == keys_of_numbers(model, 7, 50)
    assert [keys_of_numbers(model, 7 + index, 1).keys[0] for index in range(50)] == list(told.keys)
    many = keys_of_numbers(model, 0, 4_000)
    counts = {key: list(many.keys).count(key) for key in sorted(set(many.keys), key=str)}
    assert sorted(counts, key=str) == list(range(10))
    assert (min(counts.values()) > 300, max(counts.values()) < 500) == (True, True)
    assert 900 < len(many.deletes) < 1_100
    assert not keys_of_numbers(key_model("p", "t", 0, ProducerKeys(KeySet(2))), 0, 99).deletes
    assert keys_of_numbers(key_model("checkout", "orders", 1, ProducerKeys(KeySet(10), 4)), 0, 50) != keys_of_numbers(
        model, 0, 50
    )


def test_a_batch_of_an_unknown_producer_has_no_keys() -> None:
    told = keys_of({}, Batch(0, 3, 1, 0, "checkout", -1, 0, 1))
    assert (list(told.keys), sorted(told.deletes)) == ([None] * 3, [])


@pytest.mark.parametrize(
    ("client", "records", "lacks"),
    [("p", (), False), ("q", (), True), ("q", ("a=1", "b="), False), ("p", ("a=1", "plain"), True)],
)
def test_clients_that_write_records_without_keys(client: str, records: tuple[str, ...], lacks: bool) -> None:
    assert lacks_key({"p": key_model("p", "t", 0, ProducerKeys(KeySet(3)))}, client, records) is lacks


@pytest.mark.parametrize(("more", "groups"), [(0, [4]), (1, [3, 1])])
def test_segments_are_joined_as_long_as_an_offset_fits_the_index(more: int, groups: list[int]) -> None:
    """Relative offsets have 31 bits (``Cleaner.groupSegmentsBySize``)."""
    log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True, rules=replace(RULES, segment_bytes=1 << 30))
    log_branch = log.epoch_branches.begin(1, 0, 0)
    for records in (1, 1, INT32_MAX - 2 + more, 1):
        log.append_batch(log_branch, Batch(log.leo, records, 10, 0, "p", -1, log.leo, 1))
        log.segments.roll(log.leo, 0)
    assert [len(segments) for segments, _end in _groups(log, log.segments.sealed)] == groups
