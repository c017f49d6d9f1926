"""Files of a recorded session: their names, its two small JSON files, its sealed columns, and errors of reading.

A session is one directory, ``session_id=<id>``. While it runs it has the playbook, ``start.json`` and a growing
``events.jsonl``. Sealing adds the Parquet table and the result, and last of all ``manifest.json``: a directory without
a manifest is *torn* (incomplete): its recorder died, and readers use the complete lines of ``events.jsonl``.

The recorder writes these files and the report reads them, so this module imports only the standard library.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Protocol, Self, TypeVar

from cluster_model.protocol.errors import CodedError
from cluster_model.util.quantities import time_in_seconds
from playbooks.session_format import format_1

PLAYBOOK: Final = "playbook.yaml"
FRAGMENTS: Final = "fragments.json"
"""Text of each fragment that the playbook includes; absent without includes."""
START: Final = "start.json"
EVENTS: Final = "events.jsonl"
ACTIONS: Final = "actions.jsonl"
EVENTS_PARQUET: Final = "events.parquet"
LEDGER: Final = "ledger.parquet"
"""All records in ranges: the outcome known to the producer, and the location."""
FINAL_READ: Final = "final_read.parquet"
"""Records that a new client would receive at the end when reading every partition from its beginning."""
RESULT: Final = "result.json"
MANIFEST: Final = "manifest.json"
WHY: Final = "why.json"
"""Result of ``why`` about its losses beside a sealed session, with the session's digest; not part of the seal."""
IMPORTED: Final = "imported.json"
"""Summary of the logs from which a session was imported; only in imported sessions."""
NOT_RUN: Final = (
    "was imported from the logs of a real cluster, which cannot be run again; open, report, fleet, diff and "
    "export --bundle read it"
)
"""Why a command refuses an imported session."""
CRASH_LOG: Final = "crash.log"
"""Crash report beside a session that ended in an internal error."""
TORN_TAILS: Final = {EVENTS: "events.torn", ACTIONS: "actions.torn"}
"""Log → file for its incomplete last line, when the session is recovered."""

FORMAT: Final = 2
"""Major version of the layout; readers reject newer ones and translate names of format 1 (:mod:`.format_1`).

Columns, fields, kinds and files may be added within a version.
"""

KAFKA: Final = "kafka"
"""Source of a session that was imported from the logs of real brokers."""

DIRECTORY_PREFIX: Final = "session_id="
SESSIONS_VARIABLE: Final = "FLOODMARK_SESSIONS"
"""Environment variable with the parent directory of sessions; default ``./sessions``."""

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

_T = TypeVar("_T")


class Sized(Protocol):
    """File status that has a size."""

    @property
    def st_size(self) -> int:
        """Bytes."""


class SessionPath(Protocol):
    """Part of the interface of :class:`pathlib.Path` that reading a session needs, in any file system."""

    @property
    def name(self) -> str:
        """Last component of the path."""

    @property
    def parent(self) -> Self:
        """Parent directory."""

    def __truediv__(self, name: str, /) -> Self: ...

    def resolve(self) -> Self:
        """Return the canonical path."""

    def exists(self) -> bool:
        """Return whether it exists."""

    def is_dir(self) -> bool:
        """Return whether it is a directory."""

    def is_file(self) -> bool:
        """Return whether it is a file."""

    def iterdir(self) -> Iterator[Self]:
        """Yield the entries of a directory."""

    def glob(self, pattern: str, /) -> Iterator[Self]:
        """Yield the entries of a directory that match a pattern."""

    def stat(self) -> Sized:
        """Return its status, with the size."""

    def open(self, mode: Literal["rb"], /) -> BinaryIO:
        """Open it for reading bytes."""

    def read_text(self, encoding: str | None = None) -> str:
        """Return its whole text."""


_Somewhere = TypeVar("_Somewhere", bound=SessionPath)


def has_scheme(text: str) -> bool:
    """Return whether a path has a URI scheme, as ``hdfs://namenode/sessions`` does."""
    return _SCHEME.match(text) is not None


class LayoutError(CodedError, ValueError):
    """A file of a session is missing or invalid; the message names the file and the error."""


@dataclass(frozen=True, slots=True)
class TopicStart:
    """A topic at the session's start; ``assignment``: partition (``orders-0``) → broker ids, preferred first."""

    name: str
    partitions: int
    replication: int
    min_isr: int
    assignment: dict[str, list[int]]
    default_min_isr: int | None = None
    """Default of ``min.insync.replicas`` for topics without their own; None in older sessions."""


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """Common header of ``start.json`` and ``manifest.json``."""

    format: int
    """Version of the format; files without it have format 1."""
    schema_version: int
    tool_version: str
    session_id: str
    playbook: str
    title: str
    """Title of the playbook, empty without one."""
    seed: int
    profile: str
    wall_start: str
    """Wall-clock start time, UTC, ISO 8601."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object as stored."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class BranchOrigin:
    """Origin of a branch: the session that it shares its events with up to a point in time."""

    letter: str
    """Letter of the branch among its siblings."""
    parent: str
    """Id of the session from which it branched."""
    at_us: int

    def words(self) -> str:
        """Describe the origin for display."""
        return f"branch {self.letter} of session {self.parent}, forked at {time_in_seconds(self.at_us)}"


@dataclass(frozen=True, slots=True)
class Start(SessionHeader):
    """``start.json``: the inputs of the run, written before the first event."""

    live: bool
    settings: dict[str, str]
    topics: tuple[TopicStart, ...]
    brokers: tuple[dict[str, Any], ...]
    """Brokers, each as ``{id, rack}``."""
    producers: tuple[dict[str, Any], ...]
    """Producers, each as ``{name, topic, acks}``."""
    groups: tuple[Any, ...]
    branch: BranchOrigin | None = None
    """None for a session that is not a branch."""
    readers: dict[str, str] = field(default_factory=dict)
    """Group → read guarantees of its members, in the terms of the anomaly checker; empty in older sessions."""
    controller: str | None = None
    """Id of the active controller's node; empty for none, None in older sessions."""
    service_bounds: dict[str, int] = field(default_factory=dict)
    """Producer → microseconds that its records may wait before it is out of service; empty in older sessions."""
    source: str = ""
    """Origin of the events: :data:`KAFKA` for an imported session, empty for a run of the model."""

    @property
    def imported(self) -> bool:
        """Whether the events are those of a real cluster, so that the model cannot run the session again."""
        return self.source != ""


@dataclass(frozen=True, slots=True)
class FileSeal:
    """Digest and size of one file when it was sealed."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest(SessionHeader):
    """``manifest.json``: the seal, written last. ``status`` is ``complete``, or ``recovered`` after a crash."""

    wall_end: str
    virtual_us: int
    events: int
    first_seq: int
    last_seq: int
    digest: str
    verdict: str
    status: str
    files: dict[str, FileSeal]
    scenario_sha256: str = ""
    """Digest of all inputs except operator actions; empty in older sessions."""
    actions: int = -1
    kinds: dict[str, int] = field(default_factory=dict)
    """Kind → number of events; empty in older sessions."""
    branch: BranchOrigin | None = None
    """None for a session that is not a branch."""
    source: str = ""
    """As in ``start.json``."""

    @property
    def recovered(self) -> bool:
        """Whether the session ends where its process died, not where its playbook does."""
        return self.status == "recovered"


def session_name(wall_start: datetime, playbook: str, seed: int, salt: str) -> str:
    """Return the id of a session, ``20260131T101500-leader-crash-s7-9f3a``; ``salt`` (hex) makes it unique."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", playbook).strip("-.") or "session"
    return f"{wall_start:%Y%m%dT%H%M%S}-{plain}-s{seed}-{salt}"


def branch_name(root: str, letter: str, salt: str = "") -> str:
    """Return the id of a branch, ``20260131T101500-leader-crash-s7-9f3a-B``; ``salt`` makes it unique."""
    return f"{root}-{letter}-{salt}" if salt else f"{root}-{letter}"


def directory_of(parent: Path, session_id: str) -> Path:
    """Return the directory of a session under ``parent``."""
    return parent / f"{DIRECTORY_PREFIX}{session_id}"


def sessions_root(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the default parent directory of sessions."""
    return Path(environment.get(SESSIONS_VARIABLE) or "sessions")


def sessions_under(parent: _Somewhere) -> list[_Somewhere]:
    """Return the session directories right under ``parent``, oldest id first."""
    return sorted((path for path in parent.glob(f"{DIRECTORY_PREFIX}*") if path.is_dir()), key=str)


def files_in(directory: Path) -> list[str]:
    """Return the files of a session in order, subdirectories with a slash; without incomplete files and links."""
    found = [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]
    names = [path.relative_to(directory).as_posix() for path in found if not path.name.startswith(".")]
    return sorted(names)


def why_no_session(directory: SessionPath) -> LayoutError:
    """Explain a directory without ``start.json``: nothing is recorded in it yet, or it is not a session."""
    early = {PLAYBOOK, EVENTS, ACTIONS}
    try:
        inside = list(directory.iterdir())
        empty = all(
            path.name.startswith(".")
            or path.name in (PLAYBOOK, FRAGMENTS)
            or (path.name in early and not path.stat().st_size)
            for path in inside
        )
    except OSError as error:
        return LayoutError(f"{directory} cannot be read: {error.strerror}", code="unreadable")
    if empty:
        return LayoutError(
            f"{directory}: nothing is recorded in it yet: it has no {START}, which precedes the first event",
            code="nothing_recorded",
        )
    return LayoutError(f"{directory} is not a session: it has no {START}", code="file_missing")


def read_start(directory: SessionPath) -> Start:
    """Read ``start.json``. Raises :class:`LayoutError`."""
    path = directory / START
    document = read_object(path)
    return Start(
        **_head(path, {"title": "", **document}),
        live=_take(path, document, "live", bool),
        settings=dict(_take(path, document, "settings", dict)),
        topics=tuple(_topic(path, topic) for topic in _take(path, document, "topics", list)),
        brokers=tuple(_take(path, document, "brokers", list)),
        producers=tuple(_take(path, document, "producers", list)),
        groups=tuple(_take(path, document, "groups", list)),
        branch=_origin(path, document),
        readers=_texts(path, _take(path, {"readers": {}, **document}, "readers", dict)),
        controller=_take(path, document, "controller", str) if "controller" in document else None,
        service_bounds=_counts(path, _take(path, {"service_bounds": {}, **document}, "service_bounds", dict)),
        source=_take(path, {"source": "", **document}, "source", str),
    )


def read_manifest(directory: SessionPath) -> Manifest | None:
    """Read ``manifest.json``; None for an incomplete session, which has none. Raises :class:`LayoutError`."""
    path = directory / MANIFEST
    if not path.exists():
        return None
    document = read_object(path)
    files = _take(path, document, "files", dict)
    head = _head(path, document)
    kinds = _counts(path, _take(path, {"kinds": {}, **document}, "kinds", dict))
    return Manifest(
        **head,
        wall_end=_take(path, document, "wall_end", str),
        virtual_us=_take(path, document, "virtual_us", int),
        events=_take(path, document, "events", int),
        first_seq=_take(path, document, "first_seq", int),
        last_seq=_take(path, document, "last_seq", int),
        digest=_take(path, document, "digest", str),
        verdict=_take(path, document, "verdict", str),
        status=_take(path, document, "status", str),
        files={name: _file_seal(path, name, seal) for name, seal in files.items()},
        scenario_sha256=_take(path, {"scenario_sha256": "", **document}, "scenario_sha256", str),
        actions=_take(path, {"actions": -1, **document}, "actions", int),
        kinds=format_1.current_kinds(kinds) if head["format"] == format_1.FORMAT else kinds,
        branch=_origin(path, document),
        source=_take(path, {"source": "", **document}, "source", str),
    )


def read_result(directory: SessionPath, manifest: SessionHeader) -> dict[str, Any]:
    """Read ``result.json`` of a sealed session, with the names of today's format. Raises :class:`LayoutError`."""
    found = read_object(directory / RESULT)
    return format_1.current_result(found) if manifest.format == format_1.FORMAT else found


def read_fragments(directory: Path) -> dict[str, str]:
    """Read ``fragments.json``: path from the playbook → text; empty without one. Raises :class:`LayoutError`."""
    path = directory / FRAGMENTS
    if not path.exists():
        return {}
    found = read_object(path)
    return {name: _take(path, found, name, str) for name in found}


def _head(path: SessionPath, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked fields of :class:`SessionHeader`."""
    document = {"format": 1, **document}
    number = _take(path, document, "format", int)
    if number > FORMAT:
        by = document.get("tool_version", "unknown")
        raise LayoutError(
            f"{path}: recorded by floodmark {by} in format {number}, this one reads up to {FORMAT}", code="later_format"
        )
    numbers = {name: _take(path, document, name, int) for name in ("format", "schema_version", "seed")}
    texts = ("tool_version", "session_id", "playbook", "title", "profile", "wall_start")
    return {**numbers, **{name: _take(path, document, name, str) for name in texts}}


def read_why(directory: SessionPath, digest: str, version: str) -> dict[str, Any]:
    """Read ``why.json``; empty unless readable, in the current format, and of this digest and version."""
    path = directory / WHY
    try:
        found = read_object(path) if path.exists() else {}
    except LayoutError:
        return {}
    current = (found.get("format"), found.get("digest"), found.get("version")) == (FORMAT, digest, version)
    return found if current else {}


def read_object(path: SessionPath) -> dict[str, Any]:
    """Read a file that holds one JSON object. Raises :class:`LayoutError`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LayoutError(f"{path}: not found", code="file_missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LayoutError(
            f"{path}: cannot be read: {error}",
            code=("not_utf8" if isinstance(error, UnicodeDecodeError) else "unreadable"),
        ) from None
    except json.JSONDecodeError as error:
        raise LayoutError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}", code="not_json") from None
    except RecursionError:
        raise LayoutError(f"{path}: not a file of a session: nested too deeply", code="nested_too_deeply") from None
    if not isinstance(document, dict):
        raise LayoutError(f"{path}: found {_json_name(document)}, expected an object", code="wrong_type")
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # JSON can spell half of a surrogate pair, which no file or column can hold afterwards.
        raise LayoutError(f"{path}: has a string that is not Unicode", code="not_unicode") from None
    return document


def _origin(path: SessionPath, document: Mapping[str, Any]) -> BranchOrigin | None:
    """Return the origin of a branch; None for other sessions, and for older ones."""
    branch = _take(path, {"branch": {}, **document}, "branch", dict)
    if not branch:
        return None
    letter, parent = (_take(path, branch, name, str) for name in ("letter", "parent"))
    return BranchOrigin(letter, parent, _take(path, branch, "at_us", int))


def _counts(path: SessionPath, document: Mapping[str, Any]) -> dict[str, int]:
    return {kind: _take(path, document, kind, int) for kind in document}


def _texts(path: SessionPath, document: Mapping[str, Any]) -> dict[str, str]:
    return {name: _take(path, document, name, str) for name in document}


def _topic(path: SessionPath, document: object) -> TopicStart:
    if not isinstance(document, dict):
        raise LayoutError(f"{path}: topics: found {_json_name(document)}, expected an object", code="wrong_type")
    assignment = _take(path, document, "assignment", dict)
    for partition, brokers in assignment.items():
        if not isinstance(brokers, list) or not all(_is(broker, int) for broker in brokers):
            raise LayoutError(
                f"{path}: topics: assignment of {partition}: expected a list of broker ids", code="wrong_type"
            )
    return TopicStart(
        name=_take(path, document, "name", str),
        partitions=_take(path, document, "partitions", int),
        replication=_take(path, document, "replication", int),
        min_isr=_take(path, document, "min_isr", int),
        assignment=assignment,
        default_min_isr=_take(path, document, "default_min_isr", int) if "default_min_isr" in document else None,
    )


def _file_seal(path: SessionPath, name: str, document: object) -> FileSeal:
    if not isinstance(document, dict):
        raise LayoutError(f"{path}: files: {name}: found {_json_name(document)}, expected an object", code="wrong_type")
    return FileSeal(sha256=_take(path, document, "sha256", str), bytes=_take(path, document, "bytes", int))


def _take(path: SessionPath, document: Mapping[str, Any], key: str, wanted: type[_T]) -> _T:
    if key not in document:
        raise LayoutError(f"{path}: {key} is missing", code="key_missing")
    value = document[key]
    if not _is(value, wanted):
        raise LayoutError(f"{path}: {key}: found {_json_name(value)}, expected {_NAMES[wanted]}", code="wrong_type")
    return value  # type: ignore[no-any-return]


def _is(value: object, wanted: type) -> bool:
    # JSON true is a Python int, and a seed of true is a mistake.
    return isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))


_NAMES: Final[dict[type, str]] = {
    int: "a whole number",
    str: "a string",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    float: "a number",
    type(None): "null",
}


def _json_name(value: object) -> str:
    return _NAMES.get(type(value), type(value).__name__)


# The columns of the tables that a sealed session has besides its events, by the type names of the record schema.
#
# ``ledger.parquet``: all records sent by producers. ``final_read.parquet``: records that a new client would receive
# when reading every partition to its end when a session ends. Only this shows losses after the last record read by any
# client. The records are identified by the events that wrote them: a row has the log branch and the offsets.
# the offsets.


LEDGER_COLUMNS: Final[dict[str, str]] = {
    "partition": "str",
    "client": "str",
    "outcome": "str",
    "sequence": "int",
    "records": "int",
    "acks": "int",
    "error": "str",
    "location": "str",
    "log_offset": "int",
    "leader_epoch": "int",
    "committed": "bool",
    "cause": "str",
}

FINAL_READ_COLUMNS: Final[dict[str, str]] = {
    "partition": "str",
    "caught_up": "bool",
    "log_start": "int",
    "log_branch": "int",
    "log_offset": "int",
    "end_offset": "int",
}
"""A partition without records has one row, with -1 for log branch and offsets.

``caught_up``: the read reached the end of the leader's log. ``log_start``: records below it were deleted on purpose.
"""


# Errors of reading a session, each one sentence.


class SessionError(CodedError):
    """A session that cannot be read; the message says which file, what was found and what was expected."""


class BundleError(SessionError):
    """A bundle that cannot be written or trusted; the message says which file and why."""
