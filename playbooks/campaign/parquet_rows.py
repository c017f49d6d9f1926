"""Parquet files with the rows of a campaign on Spark, stored beside ``runs.jsonl``.

There is a column for each field of :class:`playbooks.campaign.run_rows.RunRow`; the options of a run stay JSON text.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from playbooks.campaign.run_rows import RunFailure, RunRow

_TEXT: Final = pa.string()
SCHEMA: Final = pa.schema(
    [
        ("run", pa.int64()),
        ("seed", pa.int64()),
        ("swarm", _TEXT),
        ("digest", _TEXT),
        ("found", pa.list_(pa.struct([("key", _TEXT), ("expected", _TEXT), ("sentence", _TEXT)]))),
        ("coverage", pa.map_(_TEXT, pa.map_(_TEXT, pa.int64()))),
        ("counts", pa.map_(_TEXT, pa.int64())),
        ("error", _TEXT),
        ("code", pa.int64()),
        ("result", _TEXT),
    ]
)

DDL: Final = (
    "run bigint, seed bigint, swarm string, digest string, "
    "found array<struct<key: string, expected: string, sentence: string>>, "
    "coverage map<string, map<string, bigint>>, counts map<string, bigint>, error string, "
    "code bigint, result string"
)
"""The same columns as a Spark schema."""


def batch_of(rows: Iterable[RunRow]) -> Any:
    """Return rows as an Arrow batch."""
    return pa.RecordBatch.from_pylist([_values(row) for row in rows], schema=SCHEMA)


def rows_in(path: Path) -> Iterator[RunRow]:
    """Yield the rows of a Parquet file. Raises OSError or ``pyarrow.ArrowException`` for other files."""
    for values in pq.ParquetFile(path).read(columns=SCHEMA.names).to_pylist():
        yield _row(values)


def _values(row: RunRow) -> dict[str, Any]:
    values = asdict(row)
    values["swarm"] = json.dumps(values["swarm"], ensure_ascii=False, separators=(",", ":"))
    return values


def _row(values: dict[str, Any]) -> RunRow:
    return RunRow(
        run=values["run"],
        seed=values["seed"],
        swarm=json.loads(values["swarm"]),
        digest=values["digest"],
        found=tuple([RunFailure(**each) for each in values["found"]]),
        coverage={fault: dict(met) for fault, met in values["coverage"]},
        counts=dict(values["counts"]),
        error=values["error"],
        code=values.get("code") or 0,
        result=values.get("result") or "",
    )
