"""Percentiles put together from sorted runs, against values written out one by one."""

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_report.tables.queries import weighted_percentiles

pytestmark = pytest.mark.slow

QUANTILES = (0.0, 0.5, 0.95, 0.99, 1.0)
SETS = (("who",), ("who", "phase"), ("who", "bin"))
KEYS = [("who", pa.string()), ("phase", pa.string()), ("bin", pa.int64()), (weighted_percentiles.SET, pa.int32())]
RUNS = pa.schema([*KEYS, (weighted_percentiles.VALUES, pa.binary()), (weighted_percentiles.WEIGHTS, pa.binary())])
MEASURES = [("records", pa.int64()), ("low", pa.int64()), ("at", pa.list_(pa.float64())), ("high", pa.int64())]
FOUND = pa.schema([*KEYS, *MEASURES])

rows = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from(("before", "during", None)),
        st.integers(0, 3),
        st.integers(0, 40),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=60,
)
Rows = list[tuple[Any, ...]]


def frame(own: Rows) -> pa.RecordBatch:
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64())
    columns = [pa.array(cells, kind) for cells, kind in zip(zip(*own, strict=True), types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=["who", "phase", "bin", "value", "weight"])


def by_runs(parts: list[Rows]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Each part as a task of its own has it."""
    sort = weighted_percentiles.sorting(SETS, RUNS, "value", "weight")
    runs = [run for part in parts for run in sort(iter([frame(part)]))]
    merged = pa.Table.from_batches(
        weighted_percentiles.merging(FOUND, QUANTILES, limit=3)(iter(runs)), FOUND
    ).to_pylist()
    names = [name for name, _type in KEYS]
    assert len({tuple(row[name] for name in names) for row in merged}) == len(merged)
    return {tuple(row[name] for name in names): (row["records"], row["low"], row["at"], row["high"]) for row in merged}


def written_out(own: Rows) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    values = defaultdict(list)
    for who, phase, begin, value, weight in own:
        for keys in ((who, None, None, 0), (who, phase, None, 1), (who, None, begin, 2)):
            values[keys] += [value] * weight
    return {keys: (len(own), min(own), [between(own, q) for q in QUANTILES], max(own)) for keys, own in values.items()}


def between(values: list[int], quantile: float) -> Any:
    return pytest.approx(np.percentile(values, quantile * 100))


@given(rows, st.integers(0, 60))
def test_percentiles_of_merged_runs_equal_those_of_the_values(own: Rows, cut: int) -> None:
    parts = [part for part in (own[:cut], own[cut:]) if part]
    assert by_runs(parts) == written_out(own)


def test_very_many_rows_are_sorted_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted_percentiles, "AT_A_TIME", 10)
    own = [("a", None, place % 2, place * 7 % 23, 1) for place in range(35)]
    sort = weighted_percentiles.sorting(SETS[:1], RUNS, "value", "weight")
    runs = pa.Table.from_batches(sort(iter([frame(own[:5]), frame(own[5:25]), frame(own[25:])])), RUNS)
    assert [len(run.as_py()) // 8 for run in runs[weighted_percentiles.WEIGHTS]] == [23, 10]
    assert by_runs([own]) == written_out(own)


def test_more_groups_than_fit_into_few_bits() -> None:
    own = [(f"client-{number}", None, 0, number, 1) for number in range((1 << 16) + 2)]
    sort = weighted_percentiles.sorting(SETS[:1], RUNS, "value", "weight")
    table = pa.Table.from_batches(sort(iter([frame(own)])), RUNS)
    found = {
        row["who"]: int.from_bytes(row[weighted_percentiles.VALUES], "little")
        for row in table.select(["who", weighted_percentiles.VALUES]).to_pylist()
    }
    assert found == {name: value for name, _phase, _bin, value, _weight in own}
