"""Exact percentiles of latencies, compared with the list of every record's."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cluster_model.util.latency import LatencyHistogram

COUNTED = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 4)), min_size=1, max_size=12)


def by_rank(values: list[int], percent: int) -> int:
    rank = Fraction((len(values) - 1) * percent, 100)
    low = int(rank)
    high = min(low + 1, len(values) - 1)
    exact = values[low] + (values[high] - values[low]) * (rank - low)
    return int(exact + Fraction(1, 2))


@given(COUNTED)
def test_percentiles_are_those_of_every_record(counted: list[tuple[int, int]]) -> None:
    known = LatencyHistogram()
    for value, records in counted:
        known.add(value, records)
    values = sorted(value for value, records in counted for _ in range(records))
    assert (known.records, known.least, known.greatest) == (len(values), values[0], values[-1])
    assert [known.percentile(each) for each in range(101)] == [by_rank(values, each) for each in range(101)]
    again = LatencyHistogram(known.save())
    again.include(LatencyHistogram([(200, 7)]))
    assert (again.records, again.greatest) == (len(values) + 7, 200)
    assert again.save()[:-1] == known.save()


def test_nothing_has_no_latency() -> None:
    assert (LatencyHistogram().percentile(99), LatencyHistogram().least, LatencyHistogram().greatest) == (0, 0, 0)
