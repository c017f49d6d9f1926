"""Reader of recorded sessions, also of those whose process died before sealing; extraction of a time span."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

import msgspec

from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.events import SCHEMA_VERSION
from cluster_model.util.quantities import counted, exact_seconds, listed
from faults.declarations import Action, Value, Verb, with_tuples
from playbooks.session_format import format_1, session_files
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import SessionError

_ACTION_VERBS: Final = ("inject", "heal", "admin", "settle", "take_over", "wire")


class RecordedAction(msgspec.Struct, frozen=True):
    """A line of ``actions.jsonl``: an operator's action, and the exact position of the session."""

    at_us: int
    executed: int
    steps: int
    verb: str
    name: str
    target: str
    params: dict[str, Value]
    for_us: int
    if_any: bool = False

    def action(self) -> Action:
        """Return the action itself; for ``settle`` and ``take_over`` only the verb is used."""
        params = {name: with_tuples(value) for name, value in self.params.items()}
        return Action(cast("Verb", self.verb), self.name, self.target, params, self.for_us, self.if_any)


class _EventHead(msgspec.Struct):
    seq: int
    at_us: int


@dataclass(frozen=True)
class RecordedSession:
    """A session as stored on disk."""

    path: Path
    start: session_files.Start
    until_us: int
    """Virtual time at which the run was cut off on purpose, -1 if it was not."""
    manifest: session_files.Manifest | None
    """None for an incomplete session."""
    playbook: str
    """Text of the playbook."""
    fragments: dict[str, str] = field(repr=False)
    """Texts of the included fragments, by their paths from the playbook."""
    events: bytes = field(repr=False)
    """Complete lines of the event log."""
    count: int
    """Number of complete lines."""
    last_us: int
    """Virtual time of the last line, -1 without any."""
    actions: tuple[RecordedAction, ...]
    notes: tuple[str, ...]
    """Notes for the reader: that the session is incomplete, and where."""

    @property
    def cut_short(self) -> bool:
        """Whether it ends where its process died: incomplete, or sealed after that."""
        return self.manifest is None or self.manifest.recovered


def read_session(path: Path) -> RecordedSession:
    """Read a session.

    Raises:
        SessionError: a file is missing, invalid, or has changed since it was sealed.
    """
    if not (path / session_files.START).is_file():
        why = session_files.why_no_session(path)
        raise SessionError(f"{why}{_sessions_inside(path)}", code=why.code)
    try:
        start = session_files.read_start(path)
        manifest = session_files.read_manifest(path)
        until_us = session_files.read_object(path / session_files.START).get("until_us", -1)
        fragments = session_files.read_fragments(path)
    except session_files.LayoutError as error:
        raise SessionError(str(error), code=error.code) from None
    if manifest is not None:
        _check_seal(path, manifest)
    notes = _of_another_version(start)
    if start.branch is not None:
        notes.append(start.branch.words())
    events = _whole_lines(path / session_files.EVENTS, notes)
    if start.format == format_1.FORMAT:
        events = format_1.current_events(events)
    if manifest is None:
        notes.append("not sealed: the recording process died, so its end is missing")
    elif manifest.recovered:
        notes.append("recovered: the recording process died, so its end is missing")
    count, last_us = _check_events(path / session_files.EVENTS, events)
    return RecordedSession(
        path=path,
        start=start,
        until_us=until_us if isinstance(until_us, int) else -1,
        manifest=manifest,
        playbook=_text(path / session_files.PLAYBOOK),
        fragments=fragments,
        events=events,
        count=count,
        last_us=last_us,
        actions=_actions(path / session_files.ACTIONS, notes),
        notes=tuple(notes),
    )


def _of_another_version(start: session_files.Start) -> list[str]:
    if start.schema_version <= SCHEMA_VERSION:
        return []
    version = f"recorded by floodmark {start.tool_version} with schema version {start.schema_version}"
    return [f"{version}, this version has {SCHEMA_VERSION}: unknown events and fields are left out"]


def _sessions_inside(path: Path) -> str:
    """List the sessions inside a directory that is not a session, for a message."""
    inside = [each.name for each in session_files.sessions_under(path)]
    return f"; it contains the sessions {listed(reversed(inside), 'and')}" if inside else ""


def _check_seal(path: Path, manifest: session_files.Manifest) -> None:
    fragments = session_files.FRAGMENTS in manifest.files or (path / session_files.FRAGMENTS).exists()
    for name in (
        session_files.EVENTS,
        session_files.PLAYBOOK,
        session_files.START,
        session_files.ACTIONS,
        *([session_files.FRAGMENTS] * fragments),
    ):
        seal = manifest.files.get(name)
        if seal is None:
            raise SessionError(f"{path / session_files.MANIFEST}: files: {name} is missing", code="seal_missing")
        data = _bytes(path / name)
        if len(data) != seal.bytes:
            raise SessionError(
                f"{path / name} has {len(data)} bytes, it had {seal.bytes} when the session was sealed",
                code="size_changed",
            )
        if hashlib.sha256(data).hexdigest() != seal.sha256:
            raise SessionError(f"{path / name} has changed since the session was sealed", code="content_changed")


def _check_events(path: Path, events: bytes) -> tuple[int, int]:
    """Return the number of events, and the time of the last; reject gaps in the numbering."""
    decoder = msgspec.json.Decoder(_EventHead)
    head = None
    number = -1
    for number, line in enumerate(events.splitlines()):
        try:
            head = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SessionError(f"{path}:{number + 1}: not an event: {error}", code="not_an_event") from None
        if head.seq != number:
            raise SessionError(
                f"{path}:{number + 1}: expected event {number}, found {head.seq}: events are missing",
                code="events_missing",
            )
    return number + 1, head.at_us if head else -1


def _actions(path: Path, notes: list[str]) -> tuple[RecordedAction, ...]:
    decoder = msgspec.json.Decoder(RecordedAction)
    recorded = []
    for number, line in enumerate(_whole_lines(path, notes).splitlines(), 1):
        try:
            action = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SessionError(f"{path}:{number}: not an action: {error}", code="not_an_action") from None
        if action.verb not in _ACTION_VERBS:
            raise SessionError(
                f"{path}:{number}: verb {action.verb!r}, expected {', '.join(_ACTION_VERBS)}", code="unknown_verb"
            )
        recorded.append(action)
    return tuple(recorded)


def _whole_lines(path: Path, notes: list[str]) -> bytes:
    data = _bytes(path)
    end = data.rfind(b"\n") + 1
    if end < len(data):
        notes.append(f"{path.name} ends in the middle of a line; {counted(len(data) - end, 'byte')} at its end ignored")
    return data[:end]


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise SessionError(f"{path} is not text in UTF-8", code="not_utf8") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise SessionError(f"{path.parent} is not a session: it has no {path.name}", code="file_missing") from None
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}", code="unreadable") from None


# Extraction of a time span of a recording: its events as lines of ``events.jsonl``.


SUFFIX: Final = ".jsonl"


class SpanError(CodedError):
    """A span that cannot be extracted; the message says why."""


class _EventTime(msgspec.Struct):
    at_us: int


_DECODER: Final = msgspec.json.Decoder(_EventTime)


def span_file_name(session_id: str, start_us: int, end_us: int) -> str:
    """Return the file name of a span: the same span of the same session has the same name, and the same lines."""
    return f"{session_id}-{exact_seconds(start_us)}-{exact_seconds(end_us)}{SUFFIX}"


def extract_span(session: Path, start_us: int, end_us: int, target: Path) -> int:
    """Write the events of ``[start_us, end_us)`` of a recording, which may still grow; return their number.

    Raises:
        CutError: the recording cannot be read, or the file cannot be written.
    """
    events = session / session_files.EVENTS
    try:
        lines = _lines(events, start_us, end_us)
    except OSError as error:
        raise SpanError(f"{events}: cannot be read: {error.strerror}", code="unreadable") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SpanError(f"{events}: has a line that is not an event: {error}", code="not_an_event") from None
    try:
        put_in_place(target, "".join(lines))
    except OSError as error:
        raise SpanError(f"{target}: cannot be written: {error.strerror}", code="unwritable") from None
    return len(lines)


def _lines(events: Path, start_us: int, end_us: int) -> list[str]:
    lines = []
    with events.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):  # an incomplete last line
                break
            at_us = _DECODER.decode(line).at_us
            if at_us >= end_us:
                break
            if at_us >= start_us:
                lines.append(line.decode())
    return lines
