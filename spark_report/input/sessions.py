"""Looks at session directories before Spark starts: what is there, is it whole, and if not, what can still be read.

Three outcomes for a directory: it is whole; it is *incomplete*, and is reported with the reasons beside it; or it is
set aside, with one sentence that says why.
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
from playbooks.session_format import session_files
from playbooks.version import VERSION
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import HadoopPath, Somewhere

LEDGER_TERMS: Final = (
    *("sent", "acked", "failed", "unknown", "aborted"),
    *("acked_lost", "committed_lost", "duplicates", "reordered"),
)
FINAL_READ: Final = session_files.FINAL_READ_COLUMNS
LEDGER: Final = {name: session_files.LEDGER_COLUMNS[name] for name in ("partition", "outcome", "records", "place")}
"""The columns that are read of the tables beside the events; those that old sessions lack are not among them."""
_KIND: Final = re.compile(rb'\{"seq": ?\d+, ?"kind": ?"([^"\\]{1,80})"')
"""How a line begins, as the recorder writes it."""
_TAIL_BYTES: Final = 1 << 20
"""How far from its end the log of a torn session is searched for a whole line."""


@dataclass(frozen=True, slots=True)
class SessionInput:
    """A session that can be read. ``problems`` empty means whole; a torn or damaged one says here what is wrong."""

    path: Somewhere
    start: session_files.Start
    manifest: session_files.Manifest | None
    result: Mapping[str, Any]
    """``result.json``; empty where there is none."""
    source: Literal["parquet", "jsonl"]
    last_seq: int
    """The last event to read; a torn log may hold half a line after it."""
    end_us: int
    """Virtual time at which the recording ends."""
    problems: tuple[str, ...] = ()
    final_read: Somewhere | None = None
    """The table of what was read at the end; None where there is none."""
    ledger: Somewhere | None = None
    """The table of what became of every record; None where there is none."""
    why: Mapping[str, Any] = field(default_factory=dict)
    """What ``floodmark why`` found out about its losses; empty where nobody asked."""

    @property
    def session_id(self) -> str:
        """The id in ``start.json``."""
        return self.start.session_id

    @property
    def events_file(self) -> Somewhere:
        """Where its events are read from."""
        return self.path / (session_files.EVENTS_PARQUET if self.source == "parquet" else session_files.EVENTS)

    @property
    def timeless(self) -> bool:
        """Nothing in it took time, as in a session of manual steps: only the order of events means anything."""
        return self.end_us == 0


@dataclass(frozen=True, slots=True)
class SetAside:
    """A directory that cannot be reported, and why."""

    path: Somewhere
    reason: str


@dataclass(slots=True)
class _Collected:
    sessions: dict[str, SessionInput] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)


def collect(paths: Iterable[Somewhere]) -> tuple[list[SessionInput], list[SetAside]]:
    """Look at session directories, or directories of them; those that cannot be read are listed, not raised.

    Raises:
        ReportError: not one session can be read.
    """
    found = _Collected()
    for path in _each(paths):
        try:
            session = look_at(path)
        except session_files.LayoutError as error:
            found.set_aside.append(SetAside(path, str(error)))
            continue
        twin = found.sessions.get(session.session_id)
        if twin is not None:
            kept, other = (session, twin) if _worth(session) > _worth(twin) else (twin, session)
            found.set_aside.append(SetAside(other.path, f"{other.path}: the same session as {kept.path}"))
            session = kept
        found.sessions[session.session_id] = session
    if not found.sessions:
        raise ReportError("\n".join(aside.reason for aside in found.set_aside) or "no session given", code="no_session")
    return list(found.sessions.values()), found.set_aside


def look_at(path: Somewhere) -> SessionInput:
    """Look at one session directory.

    Raises :class:`playbooks.session_format.session_files.LayoutError` when it cannot be read.
    """
    if isinstance(path, HadoopPath) and path.trouble:
        raise session_files.LayoutError(f"{path}: {path.trouble}", code="unreachable")
    if not path.exists():
        raise session_files.LayoutError(f"{path}: not found", code="no_such_session")
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
    """Which of two copies is better: the sealed one, the longer one, the one with less wrong with it."""
    return session.manifest is not None, session.last_seq, -len(session.problems)


def _each(paths: Iterable[Somewhere]) -> list[Somewhere]:
    """The session directories meant, each once."""
    meant: dict[Somewhere, Somewhere] = {}
    for path in paths:
        inside = (
            session_files.sessions_under(path) if path.is_dir() and not (path / session_files.START).exists() else []
        )
        for session in inside or [path]:
            meant.setdefault(session.resolve(), session)
    return list(meant.values())


def _sealed(path: Somewhere, start: session_files.Start, manifest: session_files.Manifest) -> SessionInput:
    problems = [] if manifest.status == "complete" else [f"its status is {manifest.status}: it was sealed afterwards"]
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
    last, trouble = _table(path / session_files.FINAL_READ, manifest, FINAL_READ)
    ledger, more = _table(path / session_files.LEDGER, manifest, LEDGER)
    return SessionInput(
        path, start, manifest, result, "parquet", manifest.last_seq, manifest.virtual_us,
        (*problems, *trouble, *more), last, ledger, session_files.read_why(path, manifest.digest, VERSION),
    )  # fmt: skip


def _torn(
    path: Somewhere,
    start: session_files.Start,
    *problems: str,
    manifest: session_files.Manifest | None = None,
    result: Mapping[str, Any] | None = None,
) -> SessionInput:
    """A session read from its live log, up to the last whole line."""
    seq, at_us, rest = _last_whole_line(path / session_files.EVENTS)
    half = (f"{session_files.EVENTS} ends in {rest} bytes of a broken line, left out",) if rest else ()
    unknown = () if manifest else _unknown(_kinds(path / session_files.EVENTS))
    end_us = max(at_us, manifest.virtual_us if manifest else 0)
    return SessionInput(path, start, manifest, result or {}, "jsonl", seq, end_us, (*problems, *half, *unknown))


def _newer(start: session_files.Start) -> tuple[str, ...]:
    """That a session has more to it than this version knows."""
    if start.schema_version <= SCHEMA_VERSION:
        return ()
    said = f"recorded by floodmark {start.tool_version} with schema version {start.schema_version}"
    return (f"{said}, this one knows {SCHEMA_VERSION}: what it does not know is left out",)


def _unknown(kinds: Mapping[str, int]) -> tuple[str, ...]:
    """How many events are of kinds that this version has never heard of."""
    strange = {kind: count for kind, count in kinds.items() if kind not in FIELDS}
    if not strange:
        return ()
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(strange.items()))
    return (f"{sum(strange.values())} events of kinds that this floodmark does not know are left out: {told}",)


def _kinds(path: Somewhere) -> dict[str, int]:
    """Kind → how many lines of a live log say that they are of it."""
    if isinstance(path, HadoopPath):
        return dict(path.first_words(f"^{_KIND.pattern.decode()}"))
    found: Counter[str] = Counter()
    with path.open("rb") as file:
        for line in file:
            kind = _KIND.match(line)
            found[kind[1].decode("utf-8", "replace") if kind else ""] += 1
    del found[""]
    return dict(found)


def _last_whole_line(path: Somewhere) -> tuple[int, int, int]:
    """``seq`` and ``at_us`` of the last whole event of a live log, and how many bytes come after it."""
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
        place = _place(tail[begin:end])
        if place is not None:
            return *place, len(tail) - end
        end = begin
    raise session_files.LayoutError(f"{path}: holds no whole event", code="no_whole_event")


def _place(line: bytes) -> tuple[int, int] | None:
    try:
        event = json.loads(line)
        seq, at_us = event["seq"], event["at_us"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (seq, at_us) if isinstance(seq, int) and isinstance(at_us, int) else None


def _damage(path: Somewhere, manifest: session_files.Manifest) -> session_files.LayoutError | None:
    """What is wrong with the sealed table; None when it is what the manifest says."""
    seal = manifest.files.get(path.name)
    if seal is None:
        return session_files.LayoutError(f"{path}: not named in {session_files.MANIFEST}", code="seal_missing")
    if not path.exists():
        return session_files.LayoutError(f"{path}: not found", code="file_missing")
    if _digest(path) != seal.sha256:
        size = path.stat().st_size
        return session_files.LayoutError(
            f"{path}: damaged: {size} bytes that are not the {seal.bytes} sealed in {session_files.MANIFEST}",
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
                f"{path}: {table.metadata.num_rows} rows, {session_files.MANIFEST} says {manifest.events}",
                code="row_count_differs",
            )
        return _foreign_column(path, table.schema_arrow)


def _foreign_column(path: Somewhere, schema: Any) -> session_files.LayoutError | None:
    for name, kind in {"seq": "int", **COLUMNS}.items():
        place = schema.get_field_index(name)
        if place < 0 and name in ("seq", "at_us", "kind"):
            return session_files.LayoutError(f"{path}: column {name} is missing", code="column_missing")
        if place >= 0 and schema.field(place).type != ARROW_TYPES[kind]:
            return session_files.LayoutError(
                f"{path}: column {name}: found {schema.field(place).type}, expected {ARROW_TYPES[kind]}",
                code="wrong_column_type",
            )
    return None


def _result(path: Somewhere, manifest: session_files.Manifest) -> tuple[dict[str, Any], list[str]]:
    """``result.json``, as far as it can be trusted, and what is wrong with it."""
    file = path / session_files.RESULT
    try:
        result = session_files.read_object(file)
    except session_files.LayoutError as error:
        return {}, [str(error)]
    ledger = result.get("ledger")
    if not isinstance(ledger, dict) or not all(type(ledger.get(term, 0)) is int for term in LEDGER_TERMS):
        return {}, [f"{file}: ledger: expected an object of whole numbers"]
    seal = manifest.files.get(file.name)
    if seal is not None and _digest(file) != seal.sha256:
        return result, [f"{file}: changed after it was sealed"]
    return result, []


def _table(
    path: Somewhere, manifest: session_files.Manifest, columns: Mapping[str, str]
) -> tuple[Somewhere | None, list[str]]:
    """A sealed table beside the events, if it can be read, and what is wrong with it; old sessions have none."""
    seal = manifest.files.get(path.name)
    # A recovered session ends where its process died: nobody has read it to its end.
    if seal is None or manifest.status != "complete":
        return None, []
    if not path.exists():
        return None, [f"{path}: not found"]
    try:
        schema = pq.read_schema(_opened(path))
    except (pa.ArrowException, OSError) as error:
        return None, [f"{path}: not a Parquet file: {str(error).splitlines()[0]}"]
    for name, kind in columns.items():
        if name not in schema.names or schema.field(name).type != ARROW_TYPES[kind]:
            return None, [f"{path}: column {name} is missing or of another type, left out"]
    return path, [] if _digest(path) == seal.sha256 else [f"{path}: changed after it was sealed"]


def _opened(path: Somewhere) -> Any:
    """What Arrow's readers take."""
    return path.open("rb") if isinstance(path, HadoopPath) else path


def _digest(path: Somewhere) -> str:
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
"""Type names of the record schema → the Arrow types they are sealed as."""
