"""Writes a session down while it runs, so that killing the process loses next to nothing.

Events go to an unbuffered append-only file in batches of whole lines: after 1024 events, after 200 ms of wall time,
and at once for the rare kinds. Whatever ``write`` returned for is in the kernel's hands, and survives ``kill -9``.
"""

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from cluster_model.events import DATA_KINDS, SCHEMA_VERSION, Event
from cluster_model.views import ClusterView
from faults.action import Action
from playbooks import layout
from playbooks.event_lines import encode
from playbooks.model import Playbook
from playbooks.result import Result
from playbooks.version import tool_version

FLUSH_EVENTS: Final = 1024
FLUSH_SECONDS: Final = 0.2


class RecordingError(Exception):
    """The session cannot be written: the message says where and why."""


class Recorder:
    """The writer of one session directory. Nothing is on disk before :meth:`begin`."""

    def __init__(
        self,
        parent: Path,
        *,
        live: bool = False,
        settings: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``parent`` holds one directory per session; ``clock`` gives seconds for the flush interval."""
        self.parent = parent
        self.live = live
        self.settings = dict(settings or {})
        self.path = Path()
        self.session_id = ""
        self._clock = clock
        self._fd = -1
        self._actions_fd = -1
        self._progress: tuple[int, int, list[Event]] = (0, 0, [])
        """Events written, their bytes, and the events that wait: one value, so that an interrupt finds it whole."""
        self._flushed_at = 0.0

    @property
    def events(self) -> int:
        """Events taken so far."""
        return self._progress[0] + len(self._progress[2])

    def begin(self, playbook: Playbook, seed: int, view: ClusterView, until_us: int = -1) -> None:
        """Create the directory with the playbook and ``start.json``.

        Raises:
            RecordingError: the directory cannot be written.
        """
        try:
            self._make_directory(playbook.name, seed)
            _write(self.path / layout.PLAYBOOK, playbook.source.encode())
            if playbook.fragments:
                fragments = msgspec.json.format(msgspec.json.encode(playbook.fragments))
                _write(self.path / layout.FRAGMENTS, fragments + b"\n")
            start = {"until_us": until_us, **self._start(playbook, seed, view)}
            _write(self.path / layout.START, msgspec.json.format(msgspec.json.encode(start)) + b"\n")
            self._fd = _append_only(self.path / layout.EVENTS)
            self._actions_fd = _append_only(self.path / layout.ACTIONS)
        except OSError as error:
            raise RecordingError(f"cannot record a session under {self.parent}: {error.strerror}") from error
        self._flushed_at = self._clock()

    def write(self, events: Sequence[Event]) -> None:
        """Take events, in order; they reach the file by the flush rules of this module."""
        if not events:
            return
        waiting = self._progress[2]
        waiting.extend(events)
        rare = any(event.kind not in DATA_KINDS for event in events)
        if rare or len(waiting) >= FLUSH_EVENTS or self._clock() - self._flushed_at >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Hand everything taken so far to the operating system."""
        written, size, waiting = self._progress
        while waiting:
            batch = waiting[:FLUSH_EVENTS]
            lines = encode(written, batch)
            if os.fstat(self._fd).st_size != size:  # an interrupt came between a write and its being counted
                os.ftruncate(self._fd, size)
            self._put(self._fd, lines)
            written, size, waiting = written + len(batch), size + len(lines), waiting[FLUSH_EVENTS:]
            self._progress = (written, size, waiting)
        self._flushed_at = self._clock()

    def action(self, line: Mapping[str, Any]) -> None:
        """Write down an operator's action at once: it is half of what a replay needs."""
        self._put(self._actions_fd, msgspec.json.encode(line) + b"\n")

    def seal(self, result: Result) -> None:
        """Close the live files and write the columns, the result and, last of all, the manifest.

        Raises:
            RecordingError: the directory cannot be written.
        """
        from playbooks.sealing import seal  # noqa: PLC0415 - pyarrow takes half a second that a short command lacks

        self.close()
        try:
            seal(self.path, result, wall_end=_wall())
        except OSError as error:
            raise RecordingError(f"cannot seal the session in {self.path}: {error.strerror}") from error

    def crash(self, text: str) -> Path:
        """Keep the session as it is, with an account of the crash beside it; returns the account's path."""
        self.close()
        log = self.path / layout.CRASH_LOG
        log.write_text(text, encoding="utf-8")
        return log

    def close(self) -> None:
        """Write what is still waiting and let go of the files; does nothing the second time."""
        if self._fd < 0:
            return
        self.flush()
        for fd in (self._fd, self._actions_fd):
            os.fsync(fd)
            os.close(fd)
        self._fd = self._actions_fd = -1

    def _make_directory(self, name: str, seed: int) -> None:
        self.parent.mkdir(parents=True, exist_ok=True)
        while True:
            self.session_id = layout.session_name(datetime.now(UTC), name, seed, secrets.token_hex(2))
            self.path = layout.directory_of(self.parent, self.session_id)
            try:
                self.path.mkdir()
            except FileExistsError:
                continue
            return

    def _start(self, playbook: Playbook, seed: int, view: ClusterView) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "tool_version": tool_version(),
            "session_id": self.session_id,
            "playbook": playbook.name,
            "title": playbook.title,
            "seed": seed,
            "profile": view.profile,
            "wall_start": _wall(),
            "live": self.live,
            "settings": self.settings,
            "topics": _topics(playbook, view),
            "brokers": [{"id": broker.id, "rack": broker.rack} for broker in view.brokers],
            "producers": [{"name": each.name, "topic": each.topic, "acks": each.acks} for each in view.producers],
            "groups": [group.name for group in view.groups],
        }

    def _put(self, fd: int, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError as error:
            raise RecordingError(f"cannot go on recording in {self.path}: {error.strerror}") from error


def _topics(playbook: Playbook, view: ClusterView) -> list[dict[str, Any]]:
    """The topics as they stand, whoever placed their replicas."""
    topics = []
    for topic in playbook.spec.topics:
        partitions = [each for each in view.partitions if each.name.rpartition("-")[0] == topic.name]
        topics.append(
            {
                "name": topic.name,
                "partitions": len(partitions),
                "replication": max((len(each.assignment) for each in partitions), default=topic.replication),
                "min_isr": max((each.min_isr for each in partitions), default=1),
                "assignment": {each.name: list(each.assignment) for each in partitions},
            }
        )
    return topics


def action_line(verb: str, action: Action) -> dict[str, Any]:
    """An operator's action as a line of ``actions.jsonl`` has it, without the place where it happened."""
    return {
        "verb": verb,
        "name": action.name,
        "target": action.target,
        "params": dict(action.params),
        "for_us": action.for_us,
        "if_any": action.if_any,
    }


def _wall() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)


def _append_only(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
