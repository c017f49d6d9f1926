"""Exact percentiles of very many weighted values in groups, by sorting: what executors run, on Arrow's batches.

A first function sorts what one task has and emits for each group one *run*: its values in order and their weights. A
second one puts the runs of a group together. The module goes to executors by value, and imports nothing of floodmark.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

SET: Final = "_set"
"""Which of the sets of keys a group is of, by its number."""
VALUES: Final = "_values"
WEIGHTS: Final = "_weights"
AT_A_TIME: Final = 1 << 20
"""Rows that are sorted together: some tens of megabytes."""
_ROWS: Final = 1 << 12

Keys = tuple[Any, ...]
Run = tuple[Any, Any]
"""Values in order and their weights, as arrays of 64-bit integers."""
Batches = Iterator[pa.RecordBatch]


def sorting(sets: Sequence[Sequence[str]], schema: pa.Schema, value: str, weight: str) -> Callable[[Batches], Batches]:
    """A function from rows to runs of ``schema``, of each group of every set of keys."""

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
    """Batches put together until there are enough of their rows."""
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
    """Columns of the runs of sorted rows, of so many groups at a time; ``named`` has the keys of each group."""
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
    """A number for each row's group, from 0 on, and of each group the place of a row of it."""
    together, groups = codes[0]
    for code, distinct in codes[1:]:
        together, groups = _dense(pa.array(together * distinct + code))
    firsts = np.empty(groups, dtype=np.int64)
    firsts[together] = np.arange(len(together))
    # Few groups fit into few bits, which are sorted without comparing.
    return together.astype(np.uint16) if groups <= 1 << 16 else together, firsts


def _dense(column: Any) -> tuple[Any, int]:
    """Numbers from 0 on in place of values, and how many there are."""
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def merging(schema: pa.Schema, quantiles: Sequence[float], most: int = _ROWS) -> Callable[[Batches], Batches]:
    """A function from runs, all of a group in one task, to a row a group: records, least, percentiles and greatest."""
    keys = [name for name in schema.names if name not in ("records", "low", "at", "high")]

    def merged(batches: Batches) -> Batches:
        runs: dict[Keys, list[Run]] = {}
        for batch in batches:
            named = zip(*(batch.column(name).to_pylist() for name in keys), strict=True)
            arrays = (map(_array, batch.column(name)) for name in (VALUES, WEIGHTS))
            for group, values, weights in zip(named, *arrays, strict=True):
                runs.setdefault(group, []).append((values, weights))
        rows = [(*group, *summed_up(own, quantiles)) for group, own in runs.items()]
        for first in range(0, len(rows), most):
            part = rows[first : first + most]
            columns = [
                pa.array(cells, field.type) for cells, field in zip(zip(*part, strict=True), schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return merged


def _array(cell: Any) -> Any:
    return np.frombuffer(cell.as_buffer(), dtype=np.int64)


def summed_up(runs: Iterable[Run], quantiles: Sequence[float]) -> tuple[int, int, list[float], int]:
    """How much all weighs, the least value, the percentiles, and the greatest value.

    A percentile lies between two ranks, as in Spark's ``percentile``: at ``quantile * (weight - 1)``, counted from 0.
    """
    own = list(runs)
    values, weights = (np.concatenate([run[part] for run in own]) for part in (0, 1))
    order = np.argsort(values, kind="stable")
    values, upto = values[order], np.cumsum(weights[order])
    total = int(upto[-1])
    places = [quantile * (total - 1) for quantile in quantiles]
    return total, int(values[0]), [_at(place, values, upto) for place in places], int(values[-1])


def _at(place: float, values: Any, upto: Any) -> float:
    lower, higher = int(np.floor(place)), int(np.ceil(place))
    low, high = (int(values[np.searchsorted(upto, rank, side="right")]) for rank in (lower, higher))
    if lower == higher or low == high:
        return float(low)
    return (higher - place) * low + (place - lower) * high
