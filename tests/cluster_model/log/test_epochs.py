"""The leader-epoch cache, rule by rule (``LeaderEpochFileCache``; KIP-101, KIP-279)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.leader_epoch_cache import UNDEFINED, EpochCache
from cluster_model.protocol.records import EpochEntry

Entries = tuple[EpochEntry, ...]


def cache_of(*entries: EpochEntry, replaces: bool = True) -> EpochCache:
    cache = EpochCache(replaces=replaces)
    cache.entries = entries
    return cache


@pytest.mark.parametrize(
    ("before", "epoch", "start", "after"),
    [
        pytest.param((), 0, 0, ((0, 0),), id="the first entry"),
        pytest.param((), 7, 30, ((7, 30),), id="a first entry in the middle of history"),
        pytest.param(((0, 0),), 1, 10, ((0, 0), (1, 10)), id="a newer epoch further on"),
        pytest.param(((0, 0),), 4, 10, ((0, 0), (4, 10)), id="epochs may be skipped"),
        pytest.param(((0, 0), (1, 10)), 1, 10, ((0, 0), (1, 10)), id="the same again changes nothing"),
        pytest.param(((0, 0), (1, 10)), 1, 25, ((0, 0), (1, 10)), id="a later batch of the latest epoch"),
        pytest.param(((0, 0), (1, 10)), 1, 8, ((0, 0), (1, 8)), id="the latest epoch begins earlier than noted"),
        pytest.param(((0, 0), (1, 10)), 2, 10, ((0, 0), (2, 10)), id="an epoch without a record gives way"),
        pytest.param(((0, 0), (1, 10), (2, 20)), 3, 10, ((0, 0), (3, 10)), id="several give way"),
        pytest.param(((0, 0), (1, 10), (2, 20)), 3, 5, ((0, 0), (3, 5)), id="all that begin behind it give way"),
        pytest.param(((0, 0), (5, 10)), 3, 20, ((0, 0), (3, 20)), id="an older epoch drops the newer ones"),
        pytest.param(((2, 4),), 1, 0, ((1, 0),), id="an older epoch before everything"),
    ],
)
def test_since_2_1_a_new_entry_takes_the_place_of_those_it_contradicts(
    before: Entries, epoch: int, start: int, after: Entries
) -> None:
    cache = cache_of(*before)
    cache.assign(epoch, start)
    assert cache.entries == after


@pytest.mark.parametrize(
    ("before", "epoch", "start", "after"),
    [
        pytest.param((), 3, 5, ((3, 5),), id="the first entry"),
        pytest.param(((0, 0),), 1, 10, ((0, 0), (1, 10)), id="newer and further on"),
        pytest.param(((0, 0), (1, 10)), 1, 8, ((0, 0), (1, 10)), id="the latest epoch earlier: ignored"),
        pytest.param(((0, 0), (5, 10)), 3, 20, ((0, 0), (5, 10)), id="an older epoch: ignored"),
        pytest.param(((0, 0), (1, 10)), 2, 9, ((0, 0), (1, 10)), id="newer but before the latest start: ignored"),
    ],
)
def test_before_2_1_what_contradicts_the_cache_is_ignored(
    before: Entries, epoch: int, start: int, after: Entries
) -> None:
    cache = cache_of(*before, replaces=False)
    cache.assign(epoch, start)
    assert cache.entries == after


def test_before_2_1_a_newer_epoch_with_the_latest_start_becomes_the_latest() -> None:
    cache = cache_of((0, 0), (1, 10), replaces=False)
    cache.assign(2, 10)
    assert cache.entries[0] == (0, 0)
    assert cache.entries[-1] == (2, 10)


THREE = ((2, 5), (4, 10), (7, 30))
LEO = 42


@pytest.mark.parametrize(
    ("entries", "asked", "answer"),
    [
        pytest.param(THREE, UNDEFINED, (UNDEFINED, UNDEFINED), id="nobody's epoch"),
        pytest.param((), 3, (UNDEFINED, UNDEFINED), id="an empty cache"),
        pytest.param((), UNDEFINED, (UNDEFINED, UNDEFINED), id="nothing asked of nothing"),
        pytest.param(THREE, 7, (7, LEO), id="the latest ends at the log's end"),
        pytest.param(THREE, 8, (UNDEFINED, UNDEFINED), id="newer than anything here"),
        pytest.param(THREE, 4, (4, 30), id="a known one ends where the next begins"),
        pytest.param(THREE, 2, (2, 10), id="the oldest known"),
        pytest.param(THREE, 5, (4, 30), id="one between two: the nearest older one, and its end"),
        pytest.param(THREE, 6, (4, 30), id="another between two"),
        pytest.param(THREE, 3, (2, 10), id="between the first two"),
        pytest.param(THREE, 1, (1, 5), id="older than everything: its data was deleted"),
        pytest.param(THREE, 0, (0, 5), id="epoch 0 is an epoch"),
        pytest.param(((9, 9),), 9, (9, LEO), id="the only one"),
        pytest.param(((9, 9),), 3, (3, 9), id="older than the only one"),
    ],
)
def test_end_offset_since_kip_279(entries: Entries, asked: int, answer: EpochEntry) -> None:
    assert cache_of(*entries).end_offset_for(asked, LEO) == answer


@pytest.mark.parametrize(
    ("entries", "asked", "answer"),
    [
        pytest.param(THREE, UNDEFINED, UNDEFINED, id="nobody's epoch"),
        pytest.param((), 3, UNDEFINED, id="an empty cache"),
        pytest.param(THREE, 7, LEO, id="the latest ends at the log's end"),
        pytest.param(THREE, 8, UNDEFINED, id="newer than anything here"),
        pytest.param(THREE, 4, 30, id="a known one"),
        pytest.param(THREE, 5, 30, id="one between two: the first that is newer"),
        pytest.param(THREE, 3, 10, id="between the first two"),
        pytest.param(THREE, 1, UNDEFINED, id="older than everything"),
        pytest.param(((9, 9),), 9, LEO, id="the only one"),
    ],
)
def test_end_offset_of_kip_101_names_no_epoch(entries: Entries, asked: int, answer: int) -> None:
    assert cache_of(*entries).end_offset_kip_101(asked, LEO) == answer


@pytest.mark.parametrize(
    ("leo", "after"),
    [(42, THREE), (31, THREE), (30, THREE[:2]), (11, THREE[:2]), (10, THREE[:1]), (6, THREE[:1]), (5, ()), (0, ())],
)
def test_truncating_the_end_drops_epochs_that_begin_there_or_behind(leo: int, after: Entries) -> None:
    cache = cache_of(*THREE)
    cache.truncate_from_end(leo)
    assert cache.entries == after


@pytest.mark.parametrize(
    ("log_start", "after"),
    [
        (0, THREE),
        (4, THREE),
        (5, THREE),
        (6, ((2, 6), (4, 10), (7, 30))),
        (9, ((2, 9), (4, 10), (7, 30))),
        (10, ((4, 10), (7, 30))),
        (29, ((4, 29), (7, 30))),
        (30, ((7, 30),)),
        (40, ((7, 40),)),
    ],
)
def test_truncating_the_start_moves_the_epoch_that_spans_it(log_start: int, after: Entries) -> None:
    cache = cache_of(*THREE)
    cache.truncate_from_start(log_start)
    assert cache.entries == after


def test_the_start_of_an_empty_cache_can_be_truncated() -> None:
    cache = cache_of()
    cache.truncate_from_start(10)
    assert cache.entries == ()


def test_clear_forgets_everything() -> None:
    cache = cache_of(*THREE)
    cache.clear()
    assert (cache.entries, cache.latest) == ((), UNDEFINED)


def test_latest_is_the_newest_epoch() -> None:
    assert (cache_of().latest, cache_of(*THREE).latest) == (UNDEFINED, 7)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("assign"), st.integers(0, 12), st.integers(0, 40)),
        st.tuples(st.just("end"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("start"), st.integers(0, 40), st.just(0)),
    ),
    max_size=25,
)


@pytest.mark.slow
@given(STEPS)
def test_epochs_and_starts_always_increase_together(steps: list[tuple[str, int, int]]) -> None:
    cache = EpochCache(replaces=True)
    for what, first, second in steps:
        if what == "assign":
            cache.assign(first, second)
            assert cache.latest == first
        elif what == "end":
            cache.truncate_from_end(first)
            assert all(start < first for _epoch, start in cache.entries)
        else:
            cache.truncate_from_start(first)
            assert all(start >= first for _epoch, start in cache.entries)
        for (epoch, start), (next_epoch, next_start) in zip(cache.entries, cache.entries[1:], strict=False):
            assert epoch < next_epoch
            assert start < next_start


@pytest.mark.slow
@given(STEPS, st.integers(-1, 14))
def test_the_answer_is_what_a_scan_of_the_whole_log_would_say(steps: list[tuple[str, int, int]], asked: int) -> None:
    """In a log written in increasing epochs the end of an epoch is the first offset written in a newer one."""
    cache = EpochCache(replaces=True)
    written: list[int] = []
    for what, epoch, records in steps:
        if what == "assign" and records and (not written or epoch >= written[-1]):
            cache.assign(epoch, len(written))
            written.extend([epoch] * (records % 4 + 1))
    found, end = cache.end_offset_for(asked, len(written))
    older = [epoch for epoch in written if epoch <= asked]
    newer = [offset for offset, epoch in enumerate(written) if epoch > asked]
    if asked == UNDEFINED or not written or asked > written[-1]:
        assert (found, end) == (UNDEFINED, UNDEFINED)
    else:
        assert found == (older[-1] if older else asked)
        assert end == (newer[0] if newer else len(written))
        assert cache.end_offset_kip_101(asked, len(written)) == (end if older else UNDEFINED)
