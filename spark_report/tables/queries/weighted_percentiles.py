"""Exact percentiles of very many weighted values in groups by sorting, executed on Arrow batches.

A first function sorts the rows of a task and emits one *run* for each group: its values in order and their weights. A
second function merges the runs of a group. The module is sent to executors by value, and imports no floodmark.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

SET: Final = "_set"
"""Column with the number of a group's set of keys."""
VALUES: Final = "_values"
WEIGHTS: Final = "_weights"
AT_A_TIME: Final = 1 << 20
"""Rows that are sorted at a time: some tens of megabytes."""
_ROWS: Final = 1 << 12

Keys = tuple[Any, ...]
Run = tuple[Any, Any]
"""Values in order and their weights, as arrays of 64-bit integers."""
Batches = Iterator[pa.RecordBatch]


def sorting(sets: Sequence[Sequence[str]], schema: pa.Schema, value: str, weight: str) -> Callable[[Batches], Batches]:
    """Return a function from rows to runs with ``schema``, for each group of every set of keys."""

    def sorted_runs(batches: Batches) -> Batches:
        for table in _chunks(batches):
            weights, values = table[weight].to_numpy(), table[value].to_numpy()
            by_value = np.argsort(values, kind="stable")
            codes = {name: _dense(table[name].combine_chunks()) for keys in sets for name in keys}
            for number, keys in enumerate(sets):
                group, firsts = _groups([codes[name] for name in keys])
                named = table.select(list(keys)).take(pa.array(firsts))
                order = by_value[np.argsort(group[by_value], kind="stable")]
                for columns in _runs(named, group[order], values[order], weights[order]):
                    count = len(columns[VALUES])
                    columns[SET] = pa.array([number] * count, pa.int32())
                    lacking = {each.name: pa.nulls(count, each.type) for each in schema if each.name not in columns}
                    yield from pa.table({**lacking, **columns}).select(schema.names).cast(schema).to_batches()

    return sorted_runs


def _chunks(batches: Batches) -> Iterator[pa.Table]:
    """Yield batches combined to tables of at least :data:`AT_A_TIME` rows, except the last."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= AT_A_TIME:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _runs(named: pa.Table, group: Any, values: Any, weights: Any) -> Iterator[dict[str, Any]]:
    """Yield the columns of runs of sorted rows, a number of groups at a time; ``named`` has the keys of each group."""
    fresh = np.empty(len(group), dtype=bool)
    fresh[0] = True
    fresh[1:] = (group[1:] != group[:-1]) | (values[1:] != values[:-1])
    begin = np.flatnonzero(fresh)
    group, values, weights = group[begin], values[begin], np.add.reduceat(weights, begin)
    edges = [*np.flatnonzero(np.r_[True, group[1:] != group[:-1]]).tolist(), len(group)]
    for first in range(0, len(edges) - 1, _ROWS):
        spans = list(zip(edges[first : first + _ROWS], edges[first + 1 : first + _ROWS + 1], strict=False))
        columns = {name: named[name].slice(first, len(spans)) for name in named.column_names}
        columns[VALUES] = pa.array([values[low:high].tobytes() for low, high in spans], pa.binary())
        columns[WEIGHTS] = pa.array([weights[low:high].tobytes() for low, high in spans], pa.binary())
        yield columns


def _groups(codes: Sequence[tuple[Any, int]]) -> tuple[Any, Any]:
    """Return the group number of each row, from 0, and for each group the index of one of its rows."""
    together, groups = codes[0]
    for code, distinct in codes[1:]:
        together, groups = _dense(pa.array(together * distinct + code))
    firsts = np.empty(groups, dtype=np.int64)
    firsts[together] = np.arange(len(together))
    # 16-bit numbers are sorted by radix sort, without comparisons.
    return together.astype(np.uint16) if groups <= 1 << 16 else together, firsts


def _dense(column: Any) -> tuple[Any, int]:
    """Return values encoded as numbers from 0, and the number of distinct values."""
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def merging(schema: pa.Schema, quantiles: Sequence[float], limit: int = _ROWS) -> Callable[[Batches], Batches]:
    """Return a function from runs, with a group in one task, to rows: records, minimum, percentiles and maximum."""
    keys = [name for name in schema.names if name not in ("records", "low", "at", "high")]

    def merged(batches: Batches) -> Batches:
        runs: dict[Keys, list[Run]] = {}
        for batch in batches:
            named = zip(*(batch.column(name).to_pylist() for name in keys), strict=True)
            arrays = (map(_array, batch.column(name)) for name in (VALUES, WEIGHTS))
            for group, values, weights in zip(named, *arrays, strict=True):
                runs.setdefault(group, []).append((values, weights))
        rows = [(*group, *summed_up(own, quantiles)) for group, own in runs.items()]
        for first in range(0, len(rows), limit):
            part = rows[first : first + limit]
            columns = [
                pa.array(cells, field.type) for cells, field in zip(zip(*part, strict=True), schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return merged


def _array(cell: Any) -> Any:
    return np.frombuffer(cell.as_buffer(), dtype=np.int64)


def summed_up(runs: Iterable[Run], quantiles: Sequence[float]) -> tuple[int, int, list[float], int]:
    """Return the total weight, the minimum, the percentiles, and the maximum of runs.

    A percentile is interpolated between ranks, as in Spark's ``percentile``: at ``quantile * (weight - 1)``, from 0.
    """
    own = list(runs)
    values, weights = (np.concatenate([run[part] for run in own]) for part in (0, 1))
    order = np.argsort(values, kind="stable")
    values, upto = values[order], np.cumsum(weights[order])
    total = int(upto[-1])
    places = [quantile * (total - 1) for quantile in quantiles]
    return total, int(values[0]), [_at(place, values, upto) for place in places], int(values[-1])


def _at(position: float, values: Any, upto: Any) -> float:
    lower, higher = int(np.floor(position)), int(np.ceil(position))
    low, high = (int(values[np.searchsorted(upto, rank, side="right")]) for rank in (lower, higher))
    if lower == higher or low == high:
        return float(low)
    return (higher - position) * low + (position - lower) * high
