"""Closes a recorded session: columns for Spark, the result, and the manifest that says "all of it is here".

Every file is written under a temporary name, forced to disk and renamed, the manifest last. A crash in between leaves
a session without a manifest, which every reader knows how to take.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.checker.ledger.record_ranges import Survey
from cluster_model.protocol.events import COLUMNS, FIELDS, SCHEMA_VERSION
from playbooks.recording.event_lines import decode
from playbooks.recording.seal import Row, rows
from playbooks.results.result import Result
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import Disk, is_temporary, write_whole
from playbooks.session_format.sealed_columns import FINAL_READ as FINAL_READ_COLUMNS
from playbooks.session_format.sealed_columns import LEDGER as LEDGER_COLUMNS
from playbooks.version import VERSION

ROWS_PER_GROUP: Final = 131_072

Status = Literal["complete", "recovered"]
"""Ended and sealed, or cut short by the death of its process and sealed afterwards."""

_ARROW: Final[dict[str, Any]] = {
    "int": pa.int64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "ints": pa.list_(pa.int64()),
}

ORDER: Final = ("seq", "at_us", "kind", *(name for name in COLUMNS if name not in ("at_us", "kind")))
"""Columns of ``events.parquet``, in order."""

FINAL_READ_SCHEMA: Final = pa.schema([(name, _ARROW[kind]) for name, kind in FINAL_READ_COLUMNS.items()])
LEDGER_SCHEMA: Final = pa.schema([(name, _ARROW[kind]) for name, kind in LEDGER_COLUMNS.items()])
SCHEMA: Final = pa.schema([(name, pa.int64() if name == "seq" else _ARROW[COLUMNS[name]]) for name in ORDER])


def seal(
    directory: Path,
    result: Result,
    survey: Survey | None,
    *,
    wall_end: str,
    status: Status = "complete",
    disk: Disk | None = None,
) -> dict[str, Any]:
    """Seal the session in ``directory`` and return its manifest; ``survey`` tells where its records are.

    Raises:
        OSError: the directory cannot be written.
    """
    disk = disk or Disk()
    start = session_files.read_object(directory / session_files.START)
    lines = decode((directory / session_files.EVENTS).read_bytes())
    for left in [path for path in directory.iterdir() if is_temporary(path)]:
        disk.remove(left)
    write_whole(disk, directory / session_files.EVENTS_PARQUET, _parquet(_table(lines)))
    write_whole(disk, directory / session_files.LEDGER, _parquet(_ledger(rows(lines, survey))))
    write_whole(disk, directory / session_files.FINAL_READ, _parquet(_final_read(survey)))
    write_whole(disk, directory / session_files.RESULT, _json(result.to_json()))
    manifest = {
        "format": session_files.FORMAT,
        "schema_version": SCHEMA_VERSION,
        "tool_version": VERSION,
        "session_id": start["session_id"],
        "playbook": result.playbook,
        "title": result.title,
        "seed": result.seed,
        "profile": result.profile,
        "scenario_sha256": scenario_digest(directory, start),
        "wall_start": start["wall_start"],
        "wall_end": wall_end,
        "virtual_us": result.virtual_us,
        "events": len(lines),
        "first_seq": lines[0].seq if lines else 0,
        "last_seq": lines[-1].seq if lines else -1,
        "actions": (directory / session_files.ACTIONS).read_bytes().count(b"\n"),
        "kinds": dict(sorted(Counter(line.kind for line in lines).items())),
        "digest": result.digest,
        "verdict": result.verdict,
        "status": status,
        **({"branch": start["branch"]} if "branch" in start else {}),
        "files": {name: _fingerprint(directory / name) for name in session_files.files_in(directory)},
    }
    write_whole(disk, directory / session_files.MANIFEST, _json(manifest))
    return manifest


def scenario_digest(directory: Path, start: Mapping[str, Any]) -> str:
    """SHA-256 of all that decides what happens, an operator apart: the playbook's texts, seed, cut-off and Kafka.

    Two sessions with the same are the same experiment, whenever and wherever they ran.
    """
    whole = hashlib.sha256()
    decides = {name: start.get(name) for name in ("seed", "until_us", "profile")}
    for path in (directory / session_files.FRAGMENTS, directory / session_files.PLAYBOOK):
        if path.name == session_files.PLAYBOOK or path.is_file():
            text = path.read_bytes()
            whole.update(f"{path.name} {len(text)}\n".encode() + text)
    whole.update(msgspec.json.encode(decides))
    return whole.hexdigest()


def _ledger(table: list[Row]) -> Any:
    columns = list(zip(*table, strict=True)) or [()] * len(LEDGER_SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, LEDGER_SCHEMA, strict=True)],
        schema=LEDGER_SCHEMA,
    )


def _final_read(survey: Survey | None) -> Any:
    rows = [part._asdict() for part in survey.last_read()] if survey else []
    return pa.Table.from_pylist(rows, schema=FINAL_READ_SCHEMA)


def _parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=ROWS_PER_GROUP)
    return bytes(sink.getvalue())


def _json(document: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


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


def _fingerprint(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
