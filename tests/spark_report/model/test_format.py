"""Numbers and names as a person reads them."""

import pytest

from spark_report.model import format as formats


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0, "0 us"),
        (999, "999 us"),
        (1_000, "1 ms"),
        (12_345, "12.3 ms"),
        (340_000, "340 ms"),
        (1_950_000, "1.95 s"),
        (59_000_000, "59 s"),
        (125_000_000, "2 min 5 s"),
        (3_600_000_000, "1 h"),
    ],
)
def test_a_duration_has_three_figures_and_a_unit(us: int, said: str) -> None:
    assert formats.duration(us) == said


@pytest.mark.parametrize(("count", "said"), [(0, "no records"), (1, "1 record"), (1200, "1,200 records")])
def test_counts_agree_with_their_nouns(count: int, said: str) -> None:
    assert formats.several(count, "record") == said
