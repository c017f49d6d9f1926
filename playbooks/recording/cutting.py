"""A span of a recording on its own: its events as lines, as they stand in ``events.jsonl``."""

from pathlib import Path
from typing import Final

import msgspec

from playbooks.session_format import session_files
from playbooks.session_format.filesystem import put_in_place

SUFFIX: Final = ".jsonl"


class CutError(Exception):
    """A span that cannot be cut out; the message says why."""


class _Head(msgspec.Struct):
    at_us: int


_DECODER: Final = msgspec.json.Decoder(_Head)


def cut_name(session_id: str, start_us: int, end_us: int) -> str:
    """What the file of a span is called: the same span of the same session has the same name, and the same lines."""
    return f"{session_id}-{_seconds(start_us)}-{_seconds(end_us)}{SUFFIX}"


def cut_out(session: Path, start_us: int, end_us: int, target: Path) -> int:
    """Write the events of ``[start_us, end_us)`` of a recording, which may still be growing; how many there are.

    Raises:
        CutError: the recording cannot be read, or the file cannot be written.
    """
    events = session / session_files.EVENTS
    try:
        lines = _lines(events, start_us, end_us)
    except OSError as error:
        raise CutError(f"{events}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CutError(f"{events}: holds a line that is no event: {error}") from None
    try:
        put_in_place(target, "".join(lines))
    except OSError as error:
        raise CutError(f"{target}: cannot be written: {error.strerror}") from None
    return len(lines)


def _lines(events: Path, start_us: int, end_us: int) -> list[str]:
    found = []
    with events.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):  # its end is not written yet
                break
            at_us = _DECODER.decode(line).at_us
            if at_us >= end_us:
                break
            if at_us >= start_us:
                found.append(line.decode())
    return found


def _seconds(at_us: int) -> str:
    whole, rest = divmod(at_us, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + "s"
