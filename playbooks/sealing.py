"""Closes a recorded session: columns for Spark, the result, and the manifest that says "all of it is here".

Every file is written under a temporary name, forced to disk and renamed, the manifest last. A crash in between leaves
a session without a manifest, which every reader knows how to take.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.events import COLUMNS, FIELDS, SCHEMA_VERSION
from playbooks import layout
from playbooks.event_lines import decode
from playbooks.result import Result
from playbooks.version import tool_version

ROWS_PER_GROUP: Final = 131_072

_ARROW: Final[dict[str, Any]] = {
    "int": pa.int64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "ints": pa.list_(pa.int64()),
}

ORDER: Final = ("seq", "at_us", "kind", *(name for name in COLUMNS if name not in ("at_us", "kind")))
"""Columns of ``events.parquet``, in order."""

SCHEMA: Final = pa.schema([(name, pa.int64() if name == "seq" else _ARROW[COLUMNS[name]]) for name in ORDER])


def seal(
    directory: Path, result: Result, *, wall_end: str, status: Literal["complete", "recovered"] = "complete"
) -> dict[str, Any]:
    """Seal the session in ``directory`` and return its manifest.

    Raises:
        OSError: the directory cannot be written.
    """
    start = msgspec.json.decode((directory / layout.START).read_bytes())
    lines = decode((directory / layout.EVENTS).read_bytes())
    table = _table(lines)
    _atomically(
        directory / layout.EVENTS_PARQUET,
        lambda path: pq.write_table(table, path, compression="zstd", row_group_size=ROWS_PER_GROUP),
    )
    _atomically_json(directory / layout.RESULT, result.to_json())
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": tool_version(),
        "session_id": start["session_id"],
        "playbook": result.playbook,
        "title": result.title,
        "seed": result.seed,
        "profile": result.profile,
        "wall_start": start["wall_start"],
        "wall_end": wall_end,
        "virtual_us": result.virtual_us,
        "events": len(lines),
        "first_seq": lines[0].seq if lines else 0,
        "last_seq": lines[-1].seq if lines else -1,
        "digest": result.digest,
        "verdict": result.verdict,
        "status": status,
        "files": {path.name: _fingerprint(path) for path in sorted(directory.iterdir()) if path.is_file()},
    }
    _atomically_json(directory / layout.MANIFEST, manifest)
    return manifest


def _table(lines: list[Any]) -> Any:
    """All events as one table, by kind, then time: a filter on the kind may then skip row groups."""
    by_kind: dict[str, list[Any]] = {}
    for line in lines:
        by_kind.setdefault(line.kind, []).append(line)
    parts = []
    for kind in sorted(by_kind):
        rows = sorted(by_kind[kind], key=lambda row: (row.at_us, row.seq))
        present = {"seq", "kind", *FIELDS.get(kind, COLUMNS)}
        parts.append(
            pa.table(
                [
                    pa.array([getattr(row, field.name) for row in rows], field.type)
                    if field.name in present
                    else pa.nulls(len(rows), field.type)
                    for field in SCHEMA
                ],
                schema=SCHEMA,
            )
        )
    return pa.concat_tables(parts) if parts else SCHEMA.empty_table()


def _atomically_json(path: Path, document: dict[str, Any]) -> None:
    text = msgspec.json.format(msgspec.json.encode(document)) + b"\n"
    _atomically(path, lambda temporary: temporary.write_bytes(text))


def _atomically(path: Path, write: Callable[[Path], Any]) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    write(temporary)
    _force(temporary)
    temporary.replace(path)
    _force(path.parent)


def _force(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _fingerprint(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
