"""Validation of session directories before Spark starts: whether they are complete, and what can be read.

A directory is complete; or incomplete, and reported with the reasons; or set aside with one reason.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.protocol.events import COLUMNS, FIELDS, SCHEMA_VERSION
from playbooks.session_format import format_1, session_files
from playbooks.version import VERSION
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import AnyPath, HadoopPath

LEDGER_TERMS: Final = (
    *("sent", "acked", "failed", "unknown", "aborted"),
    *("acked_lost", "committed_lost", "duplicates", "reordered"),
)
FINAL_READ: Final = session_files.FINAL_READ_COLUMNS
LEDGER: Final = {name: session_files.LEDGER_COLUMNS[name] for name in ("partition", "outcome", "records", "location")}
"""Columns that are read of the tables beside the events, without those that old sessions lack."""
_KIND: Final = re.compile(rb'\{"seq": ?\d+, ?"kind": ?"([^"\\]{1,80})"')
"""Pattern of the start of a log line, as the recorder writes it."""
_TAIL_BYTES: Final = 1 << 20
"""Bytes at the end of a torn session's log that are searched for a complete line."""


@dataclass(frozen=True, slots=True)
class SessionInput:
    """A readable session; ``problems`` lists what is wrong with a torn or damaged one, and is empty otherwise."""

    path: AnyPath
    start: session_files.Start
    manifest: session_files.Manifest | None
    result: Mapping[str, Any]
    """Contents of ``result.json``; empty if there is none."""
    source: Literal["parquet", "jsonl"]
    last_seq: int
    """Sequence number of the last event to read; a torn log may have an incomplete line after it."""
    end_us: int
    """Virtual time at which the recording ends."""
    problems: tuple[str, ...] = ()
    final_read: AnyPath | None = None
    """The table of the final read of all partitions; None if there is none."""
    ledger: AnyPath | None = None
    """The table with the outcome of every record; None if there is none."""
    why: Mapping[str, Any] = field(default_factory=dict)
    """The explanation of its losses by ``floodmark why``; empty if there is none."""

    @property
    def session_id(self) -> str:
        """The session id in ``start.json``."""
        return self.start.session_id

    @property
    def events_file(self) -> AnyPath:
        """The file with its events."""
        return self.path / (session_files.EVENTS_PARQUET if self.source == "parquet" else session_files.EVENTS)

    @property
    def timeless(self) -> bool:
        """Whether it is a manual session without virtual time, in which only the order of events matters."""
        return self.end_us == 0


@dataclass(frozen=True, slots=True)
class SkippedDirectory:
    """A directory that cannot be reported, with the reason."""

    path: AnyPath
    reason: str


@dataclass(slots=True)
class _Collected:
    sessions: dict[str, SessionInput] = field(default_factory=dict)
    set_aside: list[SkippedDirectory] = field(default_factory=list)


def collect_sessions(paths: Iterable[AnyPath]) -> tuple[list[SessionInput], list[SkippedDirectory]]:
    """Check session directories, or directories of them; return readable sessions, and unreadable ones as set aside.

    Raises:
        ReportError: no session can be read.
    """
    collected = _Collected()
    for path in _each(paths):
        try:
            session = check_session(path)
        except session_files.LayoutError as error:
            collected.set_aside.append(SkippedDirectory(path, str(error)))
            continue
        twin = collected.sessions.get(session.session_id)
        if twin is not None:
            kept, other = (session, twin) if _worth(session) > _worth(twin) else (twin, session)
            collected.set_aside.append(SkippedDirectory(other.path, f"{other.path}: the same session as {kept.path}"))
            session = kept
        collected.sessions[session.session_id] = session
    if not collected.sessions:
        raise ReportError(
            "\n".join(aside.reason for aside in collected.set_aside) or "no session given", code="no_session"
        )
    return list(collected.sessions.values()), collected.set_aside


def check_session(path: AnyPath) -> SessionInput:
    """Check one session directory.

    Raises:
        LayoutError: it cannot be read.
    """
    if isinstance(path, HadoopPath) and path.trouble:
        raise session_files.LayoutError(f"{path}: {path.trouble}", code="unreachable")
    if not path.exists():
        raise session_files.LayoutError(f"{path}: no such directory", code="no_such_session")
    if not path.is_dir():
        raise session_files.LayoutError(
            f"{path}: found a file, expected the directory of a recorded session", code="not_a_directory"
        )
    if not (path / session_files.START).exists():
        raise session_files.why_no_session(path)
    start = session_files.read_start(path)
    manifest = session_files.read_manifest(path)
    if manifest is None:
        return _torn(path, start, "no manifest: the recording was cut short", *_newer(start))
    if manifest.session_id != start.session_id:
        raise session_files.LayoutError(
            f"{path / session_files.MANIFEST}: session_id: found {manifest.session_id}, expected {start.session_id}",
            code="another_session",
        )
    return _sealed(path, start, manifest)


def _worth(session: SessionInput) -> tuple[bool, int, int]:
    """Return the sort key that prefers a sealed copy, then a longer one, then one with fewer problems."""
    return session.manifest is not None, session.last_seq, -len(session.problems)


def _each(paths: Iterable[AnyPath]) -> list[AnyPath]:
    """Return the session directories of the paths, each once."""
    meant: dict[AnyPath, AnyPath] = {}
    for path in paths:
        inside = (
            session_files.sessions_under(path) if path.is_dir() and not (path / session_files.START).exists() else []
        )
        for session in inside or [path]:
            meant.setdefault(session.resolve(), session)
    return list(meant.values())


def _sealed(path: AnyPath, start: session_files.Start, manifest: session_files.Manifest) -> SessionInput:
    problems = [] if manifest.status == "complete" else [f"its status is {manifest.status}: it was sealed later"]
    problems += [*_newer(start), *_unknown(manifest.kinds)]
    damage = _damage(path / session_files.EVENTS_PARQUET, manifest)
    result, trouble = _result(path, manifest)
    problems += trouble
    if damage:
        if not (path / session_files.EVENTS).exists():
            raise damage
        return _torn(
            path,
            start,
            f"{damage}; read from {session_files.EVENTS} instead",
            *problems,
            manifest=manifest,
            result=result,
        )
    earlier = manifest.format == format_1.FORMAT
    last, trouble = _table(
        path / session_files.FINAL_READ, manifest, recorded_columns(FINAL_READ, format_1.FINAL_READ_COLUMNS, earlier)
    )
    ledger, more = _table(
        path / session_files.LEDGER, manifest, recorded_columns(LEDGER, format_1.LEDGER_COLUMNS, earlier)
    )
    return SessionInput(
        path, start, manifest, result, "parquet", manifest.last_seq, manifest.virtual_us,
        (*problems, *trouble, *more), last, ledger, session_files.read_why(path, manifest.digest, VERSION),
    )  # fmt: skip


def _torn(
    path: AnyPath,
    start: session_files.Start,
    *problems: str,
    manifest: session_files.Manifest | None = None,
    result: Mapping[str, Any] | None = None,
) -> SessionInput:
    """Return a session that is read from its live log, up to the last complete line."""
    seq, at_us, rest = _last_whole_line(path / session_files.EVENTS)
    half = (f"{session_files.EVENTS} ends with {rest} bytes of an incomplete line, left out",) if rest else ()
    kinds = {} if manifest else _kinds(path / session_files.EVENTS)
    unknown = _unknown(format_1.current_kinds(kinds) if start.format == format_1.FORMAT else kinds)
    end_us = max(at_us, manifest.virtual_us if manifest else 0)
    return SessionInput(path, start, manifest, result or {}, "jsonl", seq, end_us, (*problems, *half, *unknown))


def _newer(start: session_files.Start) -> tuple[str, ...]:
    """Return a problem if a session has a newer schema than this version."""
    if start.schema_version <= SCHEMA_VERSION:
        return ()
    recorded = f"recorded by floodmark {start.tool_version} with schema version {start.schema_version}"
    return (f"{recorded}; this version supports {SCHEMA_VERSION} and leaves out unknown parts",)


def _unknown(kinds: Mapping[str, int]) -> tuple[str, ...]:
    """Return a problem if a session has events of unknown kinds."""
    strange = {kind: count for kind, count in kinds.items() if kind not in FIELDS}
    if not strange:
        return ()
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(strange.items()))
    return (f"{sum(strange.values())} events of unknown kinds are left out: {counts}",)


def _kinds(path: AnyPath) -> dict[str, int]:
    """Return event kind → number of lines of that kind in a live log."""
    if isinstance(path, HadoopPath):
        return dict(path.first_words(f"^{_KIND.pattern.decode()}"))
    counts: Counter[str] = Counter()
    with path.open("rb") as file:
        for line in file:
            kind = _KIND.match(line)
            counts[kind[1].decode("utf-8", "replace") if kind else ""] += 1
    del counts[""]
    return dict(counts)


def _last_whole_line(path: AnyPath) -> tuple[int, int, int]:
    """Return ``seq`` and ``at_us`` of the last complete event of a live log, and the number of bytes after it."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except OSError as error:
        raise session_files.LayoutError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from None
    end = tail.rfind(b"\n") + 1
    while end > 0:
        begin = tail.rfind(b"\n", 0, end - 1) + 1
        place = _time_and_number(tail[begin:end])
        if place is not None:
            return *place, len(tail) - end
        end = begin
    raise session_files.LayoutError(f"{path}: no complete event", code="no_whole_event")


def _time_and_number(line: bytes) -> tuple[int, int] | None:
    try:
        event = json.loads(line)
        seq, at_us = event["seq"], event["at_us"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (seq, at_us) if isinstance(seq, int) and isinstance(at_us, int) else None


def _damage(path: AnyPath, manifest: session_files.Manifest) -> session_files.LayoutError | None:
    """Return the error of the sealed table of events; None if it matches the manifest."""
    seal = manifest.files.get(path.name)
    if seal is None:
        return session_files.LayoutError(f"{path}: not listed in {session_files.MANIFEST}", code="seal_missing")
    if not path.exists():
        return session_files.LayoutError(f"{path}: no such file", code="file_missing")
    if _digest(path) != seal.sha256:
        size = path.stat().st_size
        return session_files.LayoutError(
            f"{path}: damaged: its {size} bytes are not the {seal.bytes} bytes sealed in {session_files.MANIFEST}",
            code="content_changed",
        )
    try:
        table = pq.ParquetFile(_opened(path))
    except (pa.ArrowException, OSError) as error:
        return session_files.LayoutError(
            f"{path}: not a Parquet file: {str(error).splitlines()[0]}", code="not_parquet"
        )
    with table:
        if table.metadata.num_rows != manifest.events:
            return session_files.LayoutError(
                f"{path}: found {table.metadata.num_rows} rows, {session_files.MANIFEST} has {manifest.events}",
                code="row_count_differs",
            )
        earlier = manifest.format == format_1.FORMAT
        return _foreign_column(path, table.schema_arrow, recorded_columns(COLUMNS, format_1.EVENT_FIELDS, earlier))


def recorded_columns(columns: Mapping[str, str], renamed: Mapping[str, str], earlier: bool) -> dict[str, str]:
    """Return the columns of a sealed table, name → type, as recorded; ``earlier``: in format 1."""
    return {format_1.earlier_name(name, renamed) if earlier else name: kind for name, kind in columns.items()}


def _foreign_column(path: AnyPath, schema: Any, columns: Mapping[str, str]) -> session_files.LayoutError | None:
    for name, kind in {"seq": "int", **columns}.items():
        index = schema.get_field_index(name)
        if index < 0 and name in ("seq", "at_us", "kind"):
            return session_files.LayoutError(f"{path}: column {name} is missing", code="column_missing")
        if index >= 0 and schema.field(index).type != ARROW_TYPES[kind]:
            return session_files.LayoutError(
                f"{path}: column {name}: found {schema.field(index).type}, expected {ARROW_TYPES[kind]}",
                code="wrong_column_type",
            )
    return None


def _result(path: AnyPath, manifest: session_files.Manifest) -> tuple[dict[str, Any], list[str]]:
    """Return ``result.json`` if it is valid, and its problems."""
    file = path / session_files.RESULT
    try:
        result = session_files.read_result(path, manifest)
    except session_files.LayoutError as error:
        return {}, [str(error)]
    ledger = result.get("ledger")
    if not isinstance(ledger, dict) or not all(type(ledger.get(term, 0)) is int for term in LEDGER_TERMS):
        return {}, [f"{file}: ledger: expected an object of integers"]
    seal = manifest.files.get(file.name)
    if seal is not None and _digest(file) != seal.sha256:
        return result, [f"{file}: changed after it was sealed"]
    return result, []


def _table(
    path: AnyPath, manifest: session_files.Manifest, columns: Mapping[str, str]
) -> tuple[AnyPath | None, list[str]]:
    """Return a sealed table beside the events if it is readable, and its problems; old sessions have none."""
    seal = manifest.files.get(path.name)
    # A recovered session ends with its process, without a final read.
    if seal is None or manifest.status != "complete":
        return None, []
    if not path.exists():
        return None, [f"{path}: no such file"]
    try:
        schema = pq.read_schema(_opened(path))
    except (pa.ArrowException, OSError) as error:
        return None, [f"{path}: not a Parquet file: {str(error).splitlines()[0]}"]
    for name, kind in columns.items():
        if name not in schema.names or schema.field(name).type != ARROW_TYPES[kind]:
            return None, [f"{path}: column {name} is missing or has another type; left out"]
    return path, [] if _digest(path) == seal.sha256 else [f"{path}: changed after it was sealed"]


def _opened(path: AnyPath) -> Any:
    """Return the path, or for a remote one its open file, for Arrow's readers."""
    return path.open("rb") if isinstance(path, HadoopPath) else path


def _digest(path: AnyPath) -> str:
    try:
        if isinstance(path, HadoopPath):
            return path.sha256()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise session_files.LayoutError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from None


ARROW_TYPES: Final[dict[str, Any]] = {
    "int": pa.int64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "ints": pa.list_(pa.int64()),
}
"""Type name of the record schema → Arrow type in sealed tables."""
