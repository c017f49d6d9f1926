"""Quantities as text: an example of each digit that is kept, truncated or rounded, and of changes of units."""

from collections.abc import Callable

import pytest

from cluster_model.util import quantities

DURATIONS: list[tuple[Callable[[int], str], int, str]] = [
    (quantities.exact_seconds, 9_100_000, "9.1s"),
    (quantities.exact_seconds, 12_000_000, "12s"),
    (quantities.exact_seconds, 1, "0.000001s"),
    (quantities.exact_duration, 15_000_000, "15 s"),
    (quantities.exact_duration, 2_500_000, "2.5 s"),
    (quantities.exact_duration, 250_999, "250 ms"),
    (quantities.exact_duration, 40, "40 us"),
    (quantities.compact_duration, 999, "999us"),
    (quantities.compact_duration, 4_999, "4ms"),
    (quantities.compact_duration, 18_240_000, "18.2s"),
    (quantities.compact_duration, 99_999_999, "100.0s"),
    (quantities.compact_duration, 185_900_000, "3m05s"),
    (quantities.rounded_duration, 0, "0 us"),
    (quantities.rounded_duration, 999, "999 us"),
    (quantities.rounded_duration, 1_000, "1 ms"),
    (quantities.rounded_duration, 12_345, "12.3 ms"),
    (quantities.rounded_duration, 340_000, "340 ms"),
    (quantities.rounded_duration, 1_950_000, "1.95 s"),
    (quantities.rounded_duration, 9_996_000, "10 s"),
    (quantities.rounded_duration, 59_000_000, "59 s"),
    (quantities.rounded_duration, 125_000_000, "2 min 5 s"),
    (quantities.rounded_duration, 3_600_000_000, "1 h"),
    (quantities.short_seconds, 0, "0 s"),
    (quantities.short_seconds, 1, "1 ms"),
    (quantities.short_seconds, 40_400, "40 ms"),
    (quantities.short_seconds, 12_340_000, "12.3 s"),
    (quantities.short_seconds, 2_000_000, "2 s"),
    (quantities.seconds_to_the_tenth, 2_449_999, "2.4"),
    (quantities.seconds_to_the_tenth, 2_450_001, "2.5"),
    (quantities.minutes_and_seconds, 1_550_999, "1.55s"),
    (quantities.minutes_and_seconds, 185_250_000, "3m5.25s"),
    (quantities.minutes_and_seconds, 999, "0.000999s"),
    (quantities.elapsed, 100, "0:01:40"),
    (quantities.elapsed, 36_061, "10:01:01"),
    (quantities.clock, 62_345_999, "01:02.345"),
    (quantities.clock, 3_600_000_000, "1:00:00.000"),
    (quantities.clock, -1, "00:00.000"),
    (quantities.time_in_seconds, 12_345_000, "12.345s"),
    (quantities.time_in_seconds, 12_345_678, "12.345678s"),
    (quantities.seconds_to_the_millisecond, 12_345_999, "12.345"),
    (quantities.rounded_time, 5_000_000, "5.000 s"),
    (quantities.rounded_time, 1_234_567_890, "1,234.568 s"),
]


@pytest.mark.parametrize(("write", "us", "text"), DURATIONS)
def test_a_duration(write: Callable[[int], str], us: int, text: str) -> None:
    assert write(us) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "no records"), (1, "1 record"), (999, "999 records"), (1200, "1,200 records")]
)
def test_a_count_agrees_with_its_noun(number: int, text: str) -> None:
    assert quantities.counted(number, "record") == text


def test_a_count_has_another_plural_and_another_zero() -> None:
    assert quantities.counted(2, "copy", "copies") == "2 copies"
    assert quantities.counted(0, "record", zero="0") == "0 records"


@pytest.mark.parametrize(
    ("number", "text"), [(99_999, "99999"), (100_000, "100k"), (9_999_999, "9999k"), (45_600_000, "45M")]
)
def test_a_compact_count_has_five_characters_at_most(number: int, text: str) -> None:
    assert quantities.compact_count(number) == text


def test_thousands_are_apart() -> None:
    assert quantities.thousands(1_234_567) == "1,234,567"
    assert quantities.thousands(1_234, " ") == "1 234"


@pytest.mark.parametrize(("ppm", "text"), [(50_000, "5%"), (5_000, "0.5%"), (10_000_000, "1000%"), (1, "0.0001%")])
def test_a_share_in_millionths_is_exact(ppm: int, text: str) -> None:
    assert quantities.percent(ppm) == text


def test_acks_levels() -> None:
    assert [quantities.acks_text(level) for level in (-1, 0, 1)] == ["all", "0", "1"]


@pytest.mark.parametrize(("items", "text"), [("", "nothing"), ("a", "a"), ("ab", "a or b"), ("abc", "a, b or c")])
def test_a_list(items: str, text: str) -> None:
    assert quantities.listed(items) == text


def test_a_long_list_says_how_many_others_there_are() -> None:
    assert quantities.listed("abcd", limit=3).split()[-3:] == ["or", "1", "other"]
    assert quantities.listed("abcd", "and", limit=2).split()[-3:] == ["and", "2", "others"]


@pytest.mark.parametrize(("items", "text"), [("abc", "a, b, c"), ("abcd", "a, b +2")])
def test_long_lists_of_names_are_shortened(items: str, text: str) -> None:
    assert quantities.few_names(list(items)) == text


@pytest.mark.parametrize(("items", "text"), [("", ""), ("a", "a"), ("abac", "a; b; or c")])
def test_alternatives_are_named_once(items: str, text: str) -> None:
    assert quantities.alternatives(items) == text


@pytest.mark.parametrize(("ids", "text"), [([1], "broker 1"), ([2, 1, 2, 3], "brokers 2, 1 and 3")])
def test_brokers(ids: list[int], text: str) -> None:
    assert quantities.brokers(ids) == text


@pytest.mark.parametrize(("start", "end", "text"), [(3, 4, "offset 3"), (3, 10, "offsets 3 to 9")])
def test_offsets(start: int, end: int, text: str) -> None:
    assert quantities.offsets(start, end) == text
