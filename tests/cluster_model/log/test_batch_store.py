"""Log branches: batches found by offset and measured in bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.batch_store import BatchStore, EpochBranch
from cluster_model.protocol.records import Batch


def batch(base: int, records: int, size: int = 100) -> Batch:
    return Batch(base, records, size, 0, "p", -1, base, 1)


def written(start: int, *sizes: tuple[int, int]) -> EpochBranch:
    epoch_branch = BatchStore().begin(1, 0, start)
    for records, size in sizes:
        epoch_branch.append(batch(epoch_branch.end, records, size))
    return epoch_branch


def test_a_log_branch_begins_empty_at_its_leaders_end() -> None:
    epoch_branch = BatchStore().begin(3, 7, 50)
    assert (epoch_branch.broker, epoch_branch.epoch, epoch_branch.start, epoch_branch.end) == (3, 7, 50, 50)


def test_its_end_is_behind_the_last_record() -> None:
    assert written(50, (3, 10), (2, 10)).end == 55


def test_the_batch_that_holds_an_offset_is_found_at_every_offset_of_it() -> None:
    epoch_branch = written(10, (1, 10), (3, 10), (2, 10))
    assert [epoch_branch.batch_at(offset).base for offset in range(10, 16)] == [10, 11, 11, 11, 14, 14]


def test_ids_are_given_out_in_order_even_for_the_same_broker_and_epoch() -> None:
    epoch_branches = BatchStore()
    twins = [epoch_branches.begin(1, 4, 10), epoch_branches.begin(1, 4, 8)]
    assert [epoch_branch.id for epoch_branch in twins] == [0, 1]
    assert [epoch_branches.by_id[epoch_branch.id] for epoch_branch in twins] == twins


@pytest.mark.parametrize(
    ("start", "end", "total"),
    [(0, 2, 10), (1, 2, 10), (0, 3, 30), (1, 3, 30), (2, 6, 50), (3, 4, 20), (4, 6, 30), (0, 6, 60)],
)
def test_bytes_count_every_batch_that_is_touched(start: int, end: int, total: int) -> None:
    epoch_branch = written(0, (2, 10), (2, 20), (2, 30))
    assert epoch_branch.bytes_between(start, end) == total


@pytest.mark.parametrize(
    ("start", "end", "most", "stop"),
    [
        pytest.param(0, 6, 60, 6, id="everything fits"),
        pytest.param(0, 6, 59, 4, id="a byte too little for the last"),
        pytest.param(0, 6, 30, 4, id="two fit exactly"),
        pytest.param(0, 6, 29, 2, id="one fits"),
        pytest.param(0, 6, 1, 2, id="at least one whole batch"),
        pytest.param(3, 6, 1, 4, id="from within a batch to its end"),
        pytest.param(2, 6, 1, 4, id="one from its start"),
        pytest.param(0, 5, 60, 5, id="the bound may be inside a batch"),
        pytest.param(0, 1, 1, 1, id="a bound inside the first"),
    ],
)
def test_a_read_stops_behind_whole_batches(start: int, end: int, most: int, stop: int) -> None:
    assert written(0, (2, 10), (2, 20), (2, 30)).fit(start, end, most) == stop


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 30)), min_size=1, max_size=8), st.data())
def test_a_read_fits_as_a_scan_over_batches_would(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    epoch_branch = written(5, *sizes)
    start = data.draw(st.integers(5, epoch_branch.end - 1))
    end = data.draw(st.integers(start + 1, epoch_branch.end))
    most = data.draw(st.integers(0, 130))
    stop, used = start, 0
    for found in epoch_branch.between(epoch_branch.start, epoch_branch.end):
        if found.end <= start or found.base >= end:
            continue
        used += found.size
        if used > most and stop > start:
            break
        stop = min(end, found.end)
    assert epoch_branch.fit(start, end, most) == stop


def test_going_back_forgets_later_log_branches_and_later_batches() -> None:
    epoch_branches = BatchStore()
    first = epoch_branches.begin(1, 0, 0)
    first.append(batch(0, 2, 10))
    saved = epoch_branches.save()
    first.append(batch(2, 2, 10))
    epoch_branches.begin(2, 1, 4).append(batch(4, 1, 10))
    epoch_branches.load(saved)
    assert epoch_branches.by_id == [first]
    assert (first.end, first.length, first.bytes_between(0, 2), first.index_at(1)) == (2, 1, 10, 0)
    first.append(batch(2, 5, 30))
    assert (first.bytes_between(0, 7), epoch_branches.begin(2, 1, 7).id) == (40, 1)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 50), st.integers(-1, 9)), min_size=1, max_size=12), st.data()
)
def test_a_stretch_is_measured_as_its_batches_are(made: list[tuple[int, int, int]], data: st.DataObject) -> None:
    epoch_branch = BatchStore().begin(1, 0, 5)
    for records, size, timestamp in made:
        epoch_branch.append(Batch(epoch_branch.end, records, size, 0, "p", -1, 0, 1, timestamp_us=timestamp))
    start = data.draw(st.integers(5, epoch_branch.end - 1))
    end = data.draw(st.integers(start + 1, epoch_branch.end))
    touched = [
        one for one in epoch_branch.between(epoch_branch.start, epoch_branch.end) if one.base < end and start < one.end
    ]
    newest = max(one.timestamp_us for one in touched)
    assert epoch_branch.measure(start, end) == (sum(one.size for one in touched), touched[0].timestamp_us, newest)
