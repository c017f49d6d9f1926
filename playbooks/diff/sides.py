"""One of two recorded sessions that are compared: its small files whole, its events line by line.

An event log can be larger than memory, so it is read once, in order, and its seal is checked on the way.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from playbooks.errors import counted
from playbooks.session_format import session_files
from playbooks.session_format.session_errors import SessionError

TAIL_BYTES: Final = 1 << 16
"""How much of a log's end is looked at for its last whole line; no line is as long."""


class Head(msgspec.Struct, gc=False):
    """What a comparison asks of an event; fields that its kind does not have keep their defaults."""

    seq: int
    at_us: int
    kind: str
    partition: str = ""
    client: str = ""
    acks: int = 0
    broker: int = -1
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    hw: int = -1
    clean: bool = True
    committed: bool = False
    count: int = 0
    by: str = ""
    cause: str = ""
    rule: str = ""
    ok: bool = False
    detail: str = ""


Line = tuple[Head, bytes]


@dataclass(frozen=True)
class Side:
    """A session as it stands on disk, its events unread."""

    path: Path
    start: session_files.Start
    manifest: session_files.Manifest | None
    """None for a torn session."""
    result: dict[str, Any] | None
    """``result.json``; None for a session that is torn or was recovered, which tells of its run only in part."""
    playbook: str
    fragments: dict[str, str]
    """Texts that the playbook includes, by path."""
    last_us: int
    """Virtual time of the last whole event where the end is missing, -1 without any; else of the session's end."""
    size: int
    """Bytes of the event log."""
    notes: list[str] = field(default_factory=list)
    """What a reader should know: that the session is torn, and where."""

    @property
    def torn(self) -> bool:
        """Whether its end is missing: it was not sealed, or only after the process that recorded it had died."""
        return self.manifest is None or self.manifest.recovered

    def lines(self, told: Callable[[int], None] = lambda size: None) -> Iterator[Line]:
        """Every whole event, in order; ``told`` is called with the bytes read so far.

        Raises:
            SessionError: a line is no event, one is missing, or the log is not what it was when it was sealed.
        """
        path = self.path / session_files.EVENTS
        digest, size = hashlib.sha256(), 0
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file):
                    if not line.endswith(b"\n"):
                        break
                    digest.update(line)
                    size += len(line)
                    if number % 1024 == 0:
                        told(size)
                    yield _head(path, number, line), line
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from None
        seal = self.manifest.files.get(session_files.EVENTS) if self.manifest else None
        if seal is not None and (seal.bytes, seal.sha256) != (self.size, digest.hexdigest()):
            raise SessionError(f"{path} has changed since the session was sealed")

    def event(self, line: Line) -> dict[str, Any]:
        """All of an event, as it was recorded.

        Raises:
            SessionError: it is none after all: what nobody asked for was not looked at.
        """
        head, text = line
        try:
            found = json.loads(text)
            json.dumps(found, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise SessionError(
                f"{self.path / session_files.EVENTS}:{head.seq + 1}: not an event: it is no sound JSON"
            ) from None
        return dict(found)


def open_side(path: Path) -> Side:
    """Read everything of a session but its events.

    Raises:
        SessionError: a file is missing, is not what it should be, or has changed since it was sealed.
    """
    if not (path / session_files.START).is_file():
        raise SessionError(session_files.why_no_session(path))
    try:
        start, manifest = session_files.read_start(path), session_files.read_manifest(path)
        whole = manifest is not None and not manifest.recovered
        result = session_files.read_object(path / session_files.RESULT) if whole else None
        fragments = session_files.read_fragments(path)
    except session_files.LayoutError as error:
        raise SessionError(str(error)) from None
    if manifest is not None:
        for name in (session_files.PLAYBOOK, session_files.START, session_files.RESULT, session_files.FRAGMENTS):
            seal = manifest.files.get(name)
            if seal is not None and hashlib.sha256(_bytes(path / name)).hexdigest() != seal.sha256:
                raise SessionError(f"{path / name} has changed since the session was sealed")
    try:
        playbook = _bytes(path / session_files.PLAYBOOK).decode()
    except UnicodeDecodeError:
        raise SessionError(f"{path / session_files.PLAYBOOK} is not text in UTF-8") from None
    notes: list[str] = []
    if whole and manifest is not None:
        last_us = manifest.virtual_us
    else:
        how = "not sealed" if manifest is None else "recovered"
        notes.append(f"{how}: the process that recorded it died, so its end is missing")
        last_us = _last_us(path / session_files.EVENTS, notes)
    return Side(path, start, manifest, result, playbook, fragments, last_us, _size(path / session_files.EVENTS), notes)


_DECODER: Final = msgspec.json.Decoder(Head)


def _head(path: Path, number: int, line: bytes) -> Head:
    try:
        head = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SessionError(f"{path}:{number + 1}: not an event: {error}") from None
    if head.seq != number:
        raise SessionError(f"{path}:{number + 1}: expected event {number}, found {head.seq}: events are missing")
    return head


def _last_us(path: Path, notes: list[str]) -> int:
    """When the last whole event of a torn log was; what is behind it is told."""
    size = _size(path)
    try:
        with path.open("rb") as file:
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read()
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}") from None
    end = tail.rfind(b"\n") + 1
    if end < len(tail):
        notes.append(f"{path.name} ends in the middle of a line; {counted(len(tail) - end, 'byte')} left out")
    begin = tail.rfind(b"\n", 0, max(0, end - 1)) + 1
    try:
        return _DECODER.decode(tail[begin:end]).at_us if end else -1
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SessionError(f"{path}: its last line is not an event: {error}") from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror}") from None
