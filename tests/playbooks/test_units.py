from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.units import (
    BYTES,
    MICROSECONDS,
    UnitError,
    duration_text,
    duration_us,
    interval_us,
    per_second,
    size_bytes,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("250us", 250),
        ("5ms", 5_000),
        ("10s", 10_000_000),
        ("2m", 120_000_000),
        ("1h", 3_600_000_000),
        ("0s", 0),
        ("1.5s", 1_500_000),
        ("0.1ms", 100),
        ("1.000001s", 1_000_001),
        ("10000h", 36_000_000_000_000),
    ],
)
def test_durations_are_exact_microseconds(text: str, us: int) -> None:
    assert duration_us(text) == us


@pytest.mark.parametrize("text", ["5", "", "5 s", "-5s", "5sec", "5S", "1e3s", ".5s", "٥s", "0.5us", "10001h", "5s\n"])
def test_other_texts_are_no_durations(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UnitError) as caught:
        duration_us(text)
    assert str(caught.value) == snapshot


@settings(deadline=None)
@given(st.integers(0, 10**13))
def test_a_duration_written_is_read_back(us: int) -> None:
    assert duration_us(duration_text(us)) == us


@pytest.mark.parametrize(("us", "text"), [(0, "0us"), (90_000_000, "90s"), (120_000_000, "2m"), (1_500, "1500us")])
def test_durations_are_written_in_the_largest_whole_unit(us: int, text: str) -> None:
    assert duration_text(us) == text


@pytest.mark.parametrize(
    ("text", "count"), [("512", 512), ("64KiB", 65_536), ("1.5MiB", 1_572_864), ("1GiB", 1 << 30), ("7B", 7)]
)
def test_sizes(text: str, count: int) -> None:
    assert size_bytes(text) == count


@pytest.mark.parametrize("text", ["64KB", "64kib", "-1", "1.5B", "2000GiB", "KiB"])
def test_other_texts_are_no_sizes(text: str) -> None:
    with pytest.raises(UnitError):
        size_bytes(text)


@settings(deadline=None)
@given(st.integers(0, 10**12))
def test_a_size_written_is_read_back(count: int) -> None:
    assert size_bytes(size_text(count)) == count


@pytest.mark.parametrize(
    ("rate", "batch", "us"),
    [
        ("200/s", 1, 5_000),
        ("200/s", 10, 50_000),
        ("5/ms", 1, 200),
        ("30/m", 1, 2_000_000),
        ("0.5/s", 1, 2_000_000),
        ("300/s", 1, 3_333),
        ("1/us", 1, 1),
    ],
)
def test_rates_become_intervals(rate: str, batch: int, us: int) -> None:
    assert interval_us(rate, batch) == us


def test_a_rate_is_exact() -> None:
    assert per_second("1/m") == Fraction(1, 60)


@pytest.mark.parametrize("text", ["200", "200/", "/s", "0/s", "-1/s", "200/d", "200 /s", "5000000/s", "0.000001/h"])
def test_other_texts_are_no_rates(text: str) -> None:
    with pytest.raises(UnitError):
        interval_us(text)


def test_units_are_whole_multiples_of_the_smallest() -> None:
    assert MICROSECONDS["us"] == BYTES["B"] == 1
