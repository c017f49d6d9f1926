"""Read-only views of earlier logs: repeated writes store nothing, and a different one separates the view."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.log.batch_store import BatchStore, BatchStoreView
from cluster_model.protocol.records import Batch


def batch(base: int, client: str = "c") -> Batch:
    return Batch(base, 10, 500, base, client, -1, base, 1, (), base * 7)


def whole() -> BatchStore:
    """Return two log branches, of three batches and of two."""
    epoch_branches = BatchStore()
    for epoch, start, count in ((0, 0, 3), (1, 30, 2)):
        epoch_branch = epoch_branches.begin(1, epoch, start)
        for number in range(count):
            epoch_branch.append(batch(start + 10 * number))
    return epoch_branches


def contents(epoch_branches: BatchStore) -> list[list[Batch]]:
    return [
        [epoch_branch.batch(index) for index in range(epoch_branch.length)] for epoch_branch in epoch_branches.by_id
    ]


def past_of(epoch_branches: BatchStore, *lengths: int) -> BatchStoreView:
    past = BatchStoreView(epoch_branches)
    past.load(lengths)
    return past


def test_the_past_is_a_length() -> None:
    past = past_of(whole(), 2)
    assert past.save() == (2,)
    assert past.by_id[0].end == 20
    assert past_of(whole(), 0).by_id[0].end == 0
    assert past.by_id[0].fit(0, 20, 1_000) == 20
    assert past.by_id[0].fit(0, 20, 999) == 10


def test_batches_already_in_the_store_are_shared() -> None:
    original = whole()
    past = past_of(original, 1)
    for base in (10, 20):
        past.by_id[0].append(batch(base))
    again = past.begin(1, 1, 30)
    again.append(batch(30))
    assert past.save() == (3, 1)
    assert [one._bases is other._bases for one, other in zip(past.by_id, original.by_id, strict=True)] == [True, True]
    assert original.save() == (3, 2)


@pytest.mark.parametrize("base", [10, 20])
def test_another_batch_parts_them(base: int) -> None:
    original = whole()
    before = contents(original)
    past = past_of(original, base // 10)
    for at in (base, base + 10, base + 20):
        past.by_id[0].append(batch(at, "other"))
    assert contents(past)[0] == [*before[0][: base // 10], *(batch(at, "other") for at in (base, base + 10, base + 20))]
    assert past.by_id[0].end == base + 30
    assert [one.base for one in past.by_id[0].between(0, base + 30)] == list(range(0, base + 30, 10))
    assert past.by_id[0].bytes_between(0, base + 30) == 500 * past.save()[0]
    assert contents(original) == before


def test_going_beyond_the_present_parts_them() -> None:
    original = whole()
    before = contents(original)
    past = past_of(original, 3, 2)
    past.by_id[1].append(batch(50))
    original.by_id[1].append(batch(50, "later"))
    assert contents(past)[1] == [*before[1], batch(50)]
    assert contents(original)[1] == [*before[1], batch(50, "later")]


@pytest.mark.parametrize("log_branch", [(2, 1, 30), (1, 2, 30), (1, 1, 20)])
def test_another_log_branch_is_its_own(log_branch: tuple[int, int, int]) -> None:
    original = whole()
    past = past_of(original, 3)
    other = past.begin(*log_branch)
    other.append(batch(log_branch[2], "other"))
    assert (other.id, other.broker, other.epoch, other.start) == (1, *log_branch)
    assert contents(past)[1] == [batch(log_branch[2], "other")]
    assert original.save() == (3, 2)


def test_the_original_may_grow_and_the_past_come_after() -> None:
    original = whole()
    past = past_of(original, 3, 1)
    original.by_id[1].append(batch(50))
    for base in (40, 50):
        past.by_id[1].append(batch(base))
    assert past.by_id[1]._bases is original.by_id[1]._bases
    assert past.save() == original.save() == (3, 3)


@pytest.mark.parametrize("lengths", [(4,), (3, 3), (3, 2, 0)])
def test_lengths_that_never_were_are_refused(lengths: tuple[int, ...], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(ValueError, match="keyframe") as caught:
        past_of(whole(), *lengths)
    assert str(caught.value) == snapshot
