"""What is left of intervals where others are taken away."""

import pytest

from playbooks.safety_check.simulation import Spans, longest_added, without


@pytest.mark.parametrize(
    ("spans", "others", "added"),
    [
        (((0, 30),), (), 30),
        (((0, 33),), ((0, 32),), 1),
        (((0, 10),), ((20, 30),), 10),  # as long, but at another time
        (((0, 10), (40, 45)), ((0, 9),), 5),
        (((5, 25),), ((0, 10), (10, 20), (20, 30)), 10),  # it was served at 10 and at 20 without the action
        (((5, 25),), ((0, 40),), 0),
        ((), ((0, 40),), 0),
    ],
)
def test_a_wait_that_would_have_come_anyway_is_taken_off(spans: Spans, others: Spans, added: int) -> None:
    assert longest_added(spans, others) == added


def test_times_are_cut_out() -> None:
    assert without(((0, 10), (20, 30)), ((5, 25),)) == ((0, 5), (25, 30))
