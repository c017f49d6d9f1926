"""Skewed key frequencies: shares as configured, the same everywhere, in integer arithmetic."""

from bisect import bisect_right
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.log.record_keys import KeySet, ProducerKeys, key_model, keys_of_numbers, rank
from cluster_model.spec.cluster_spec import HotKeys, KeySkew, ZipfKeys

TOP = 1 << 64
skews = st.one_of(
    st.none(),
    st.builds(ZipfKeys, st.integers(1, 5_000)),
    st.builds(HotKeys, st.integers(1, 999_999)),
)


def share(skew: KeySkew, distinct: int, key: int) -> Fraction:
    """Return the share of random numbers that give keys up to and including ``key``."""

    class Draws:
        def __len__(self) -> int:
            return 1 << 62

        def __getitem__(self, index: int) -> int:
            return rank(skew, distinct, index << 2)

    return Fraction(bisect_right(Draws(), key) << 2, TOP)


@pytest.mark.slow
@given(skews, st.integers(1, 10_000_000), st.integers(0, TOP - 1))
def test_every_draw_is_a_key(skew: KeySkew | None, distinct: int, draw: int) -> None:
    assert 0 <= rank(skew, distinct, draw) < distinct


@pytest.mark.slow
@given(skews, st.integers(1, 10_000_000), st.integers(0, TOP - 1), st.integers(0, TOP - 1))
def test_higher_draws_are_rarer_keys(skew: KeySkew | None, distinct: int, one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert rank(skew, distinct, low) <= rank(skew, distinct, high)


@pytest.mark.slow
@pytest.mark.parametrize("exponent", [500, 1_000, 1_100, 2_000])
@pytest.mark.parametrize("distinct", [2, 100, 5_000, 200_000])
def test_zipf_shares_are_those_of_the_law(exponent: int, distinct: int) -> None:
    whole = sum((key + 1) ** (-exponent / 1_000) for key in range(distinct))
    for key in sorted({0, 1, 9, 255, 256, 999, distinct // 2, distinct - 1}):
        if key < distinct:
            expected = sum((each + 1) ** (-exponent / 1_000) for each in range(key + 1)) / whole
            assert float(share(ZipfKeys(exponent), distinct, key)) == pytest.approx(expected, rel=2e-3)


def test_the_hot_key_has_its_share_and_the_others_are_alike() -> None:
    skew = HotKeys(800_000)
    assert float(share(skew, 101, 0)) == pytest.approx(0.8)
    for key in (1, 50, 99):
        assert float(share(skew, 101, key) - share(skew, 101, key - 1)) == pytest.approx(0.002)


def test_one_key_is_always_drawn() -> None:
    assert {rank(skew, 1, draw) for skew in (None, ZipfKeys(1_000), HotKeys(1)) for draw in (0, TOP - 1)} == {0}


def test_a_producers_keys_follow_the_skew() -> None:
    model = key_model("checkout", "orders", 0, ProducerKeys(KeySet(50, ZipfKeys(1_000))))
    counted = Counter(key for start in range(0, 20_000, 100) for key in keys_of_numbers(model, start, 100).keys)
    assert sorted(map(int, counted)) == list(range(50))
    assert counted[0] > 1.8 * counted[1] > 2 * counted[9]


def test_a_record_has_its_key_whatever_batch_it_is_in() -> None:
    model = key_model("checkout", "orders", 0, ProducerKeys(KeySet(50, HotKeys(500_000)), 7))
    alone = [keys_of_numbers(model, number, 1) for number in range(40)]
    together = keys_of_numbers(model, 0, 40)
    assert [each.keys[0] for each in alone] == list(together.keys)
    assert {number for number, each in enumerate(alone) if each.deletes} == set(together.deletes)
