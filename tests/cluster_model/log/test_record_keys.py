"""Assignment of keys to partitions, key frequencies, and that a record keeps its key when the topic grows."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.record_keys import KeyPool, KeySet, ProducerKeys, key_model, keys_of_numbers, pool, weights
from cluster_model.spec.cluster_spec import CustomPartitioner, HotKeys, ZipfKeys
from cluster_model.util.deterministic_math import mix64, partition_for_key

TOP = 1 << 64
skews = st.one_of(
    st.none(), st.builds(ZipfKeys, st.integers(1, 3_000)), st.builds(HotKeys, st.integers(1, 999_999))
)  # fmt: skip


def weight(keys: KeySet, key: int) -> Fraction:
    """Return the share of all records with a key."""
    begins, sums = weights(keys.skew, keys.distinct)
    group = next(number for number, begin in enumerate(begins[1:]) if key < begin)
    before = sums[group - 1] if group else 0
    return Fraction(sums[group] - before, (begins[group + 1] - begins[group]) * sums[-1])


@pytest.mark.slow
@given(skews, st.integers(1, 600), st.integers(1, 40))
def test_each_key_is_in_the_partition_of_its_hash_and_in_no_other(skew: object, distinct: int, total: int) -> None:
    found = KeyPool(KeySet(distinct, skew), total)  # type: ignore[arg-type]
    everything = {key: partition for partition in range(total) for key in found.keys(partition)}
    assert everything == {key: partition_for_key(b"key-%d" % key, total) for key in range(distinct)}
    assert sum(len(found.keys(partition)) for partition in range(total)) == distinct


@pytest.mark.slow
@given(skews, st.integers(1, 600), st.integers(1, 12), st.integers(0, TOP - 1), st.integers(0, TOP - 1))
def test_a_partition_that_is_drawn_has_the_key_that_is_drawn_there(
    skew: object, distinct: int, total: int, place: int, draw: int
) -> None:
    found = KeyPool(KeySet(distinct, skew), total)  # type: ignore[arg-type]
    partition = found.partition(place)
    assert found.key(partition, draw) in found.keys(partition)


@pytest.mark.slow
@pytest.mark.parametrize("skew", [None, ZipfKeys(1_200), HotKeys(600_000)])
def test_partition_and_key_together_come_as_often_as_the_key(skew: ZipfKeys | HotKeys | None) -> None:
    keys = KeySet(40, skew)
    found = pool(keys, 4)
    count = 60_000
    told: Counter[int] = Counter()
    for number in range(count):
        told[found.key(found.partition(mix64(number)), mix64(number + (1 << 40)))] += 1
    for key in range(40):
        expected = float(weight(keys, key) * count)
        assert abs(told[key] - expected) < 5 * expected**0.5 + 1


@pytest.mark.slow
@pytest.mark.parametrize("skew", [None, ZipfKeys(700), HotKeys(300_000)])
def test_the_share_of_a_partition_is_that_of_its_keys(skew: ZipfKeys | HotKeys | None) -> None:
    keys = KeySet(5_000, skew)
    found = pool(keys, 7)
    steps = 200_000
    told = Counter(found.partition(step * TOP // steps) for step in range(steps))
    for partition in range(7):
        share = sum(weight(keys, key) for key in found.keys(partition))
        assert abs(told[partition] / steps - float(share)) < 0.001


def test_a_hot_key_is_in_one_partition() -> None:
    found = pool(KeySet(1_000, HotKeys(800_000)), 6)
    hot = partition_for_key(b"key-0", 6)
    told = Counter(found.partition(mix64(number)) for number in range(6_000))
    assert told[hot] > 4_700
    assert max(told[partition] for partition in range(6) if partition != hot) < 350


def test_an_applications_own_partitioner_goes_first() -> None:
    keys = KeySet(50, None, CustomPartitioner(((0, 5), (7, 2)), -1))
    found = pool(keys, 3)
    by_hash = {key: partition_for_key(b"key-%d" % key, 3) for key in range(50)}
    assert found.keys(5) == (0,)
    assert 7 in found.keys(2)
    assert all(key in found.keys(by_hash[key]) for key in range(50) if key not in (0, 7))
    alone = pool(KeySet(50, None, CustomPartitioner(((3, 1),), 0)), 3)
    assert (alone.keys(1), len(alone.keys(0)), alone.keys(2)) == ((3,), 49, ())


def test_a_record_keeps_the_key_that_it_was_placed_by_when_the_topic_grows() -> None:
    of = ProducerKeys(KeySet(200))
    of.placed = ((3, ()), (6, (40, 10, 25)), (12, (40, 30, 25, 5)))
    before = {key for key in range(200) if partition_for_key(b"key-%d" % key, 3) == 1}
    between = {key for key in range(200) if partition_for_key(b"key-%d" % key, 6) == 1}
    after = {key for key in range(200) if partition_for_key(b"key-%d" % key, 12) == 1}
    model = key_model("p", "orders", 1, of)
    keys = list(keys_of_numbers(model, 0, 200).keys)
    assert set(keys[:10]) <= before
    assert not set(keys[:10]) <= between
    assert set(keys[10:30]) <= between
    assert not set(keys[10:30]) <= after
    assert set(keys[30:]) <= after
    # Nothing was placed in partition 0 between the two.
    first = list(keys_of_numbers(key_model("p", "orders", 0, of), 0, 60).keys)
    assert all(partition_for_key(b"key-%d" % key, 3) == 0 for key in first[:40])
    assert all(partition_for_key(b"key-%d" % key, 12) == 0 for key in first[40:])
    # Partition 7 did not exist before.
    late = keys_of_numbers(key_model("p", "orders", 7, of), 0, 50).keys
    assert all(partition_for_key(b"key-%d" % key, 12) == 7 for key in late)


@given(st.integers(0, 90), st.integers(1, 60), st.integers(0, 60), st.integers(0, 9))
def test_keys_and_tombstones_do_not_depend_on_how_records_are_cut(start: int, count: int, cut: int, every: int) -> None:
    of = ProducerKeys(KeySet(30), every)
    of.placed = ((2, ()), (5, (33, 20)), (9, (70, 64, 3, 4, 5)))
    model = key_model("p", "orders", 1, of)
    whole = keys_of_numbers(model, start, count)
    cut = min(cut, count)
    parts = [keys_of_numbers(model, start, cut)] if cut else []
    parts += [keys_of_numbers(model, start + cut, count - cut)] if cut < count else []
    assert list(whole.keys) == [key for part in parts for key in part.keys]
    deletes = set(parts[0].deletes)
    if len(parts) > 1:
        deletes |= {cut + index for index in parts[1].deletes}
    assert set(whole.deletes) == deletes


def test_where_keys_do_not_matter_any_key_is_anywhere() -> None:
    model = key_model("p", "orders", 1, ProducerKeys(KeySet(20)))
    assert set(keys_of_numbers(model, 0, 400).keys) == set(range(20))
