"""Recorder of a session while it runs, so that a kill loses almost nothing; also of its end, and of crash reports.

Events go to an unbuffered append-only file in batches of complete lines: after 1024 events, after 200 ms of wall time,
and at once for rare kinds. Data for which ``flush`` returned is in the kernel, and survives ``kill -9``; ``fsync``
decides what survives a power loss.

``start.json`` is the last file created, so that a directory with it has all the others, and one without it has no
recorded events yet.
"""

import errno
import platform
import secrets
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from cluster_model.checker.ledger import RecordLocations, client_partition_outcomes
from cluster_model.client_factory import client_settings, service_bounds
from cluster_model.cluster import Cluster
from cluster_model.external_clients import ExternalClientSettings
from cluster_model.observation import ClusterView, PartitionView
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import CodedError
from cluster_model.protocol.events import DATA_KINDS, SCHEMA_VERSION, Event
from cluster_model.util.quantities import counted
from faults.declarations import Action
from playbooks.model.playbook import Playbook
from playbooks.recording.event_codec import encode
from playbooks.results.result import CollectedEvents, ExpectationResult, SessionResult, build_result
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem, Fsync, put, write_whole
from playbooks.session_format.session_files import CRASH_LOG
from playbooks.text import without_modeline
from playbooks.version import VERSION

if TYPE_CHECKING:
    from cluster_model.manual.cluster import ManualCluster

FLUSH_EVENTS: Final = 1024
FLUSH_SECONDS: Final = 0.2
SYNC_SECONDS: Final = 1.0
"""Longest time before written data is synced to disk, with ``fsync=INTERVAL``."""


class RecordingError(CodedError):
    """The session cannot be recorded: the message says where and why."""


class Recorder:
    """Writer of one session directory. Nothing is on disk before :meth:`begin`."""

    def __init__(
        self,
        parent: Path,
        *,
        live: bool = False,
        settings: Mapping[str, str] | None = None,
        fsync: Fsync = Fsync.INTERVAL,
        clock: Callable[[], float] = time.monotonic,
        disk: FileSystem | None = None,
        branch: session_files.BranchOrigin | None = None,
        root: str = "",
    ) -> None:
        """``parent`` has one directory per session; ``clock`` gives seconds for the intervals of flush and fsync.

        ``branch`` is the origin of a branch, and ``root`` the common prefix of the ids of all branches.
        """
        self.parent = parent
        self.live = live
        self.settings = dict(settings or {})
        self.path = Path()
        self.session_id = ""
        self.fsync = fsync
        self.failure = ""
        """Why nothing more can be recorded; empty without an error."""
        self.branch = branch
        self._root = root
        self._clock = clock
        self._disk = disk or FileSystem()
        self._fd = -1
        self._actions_fd = -1
        self._progress: tuple[int, int, list[Event]] = (0, 0, [])
        """Events written, their bytes, and pending events: one tuple, so that an interrupt leaves it consistent."""
        self._flushed_at = 0.0
        self._synced_at = 0.0
        self._unsynced = False
        self._loose = False
        """Whether requests of external clients are among the unsynced data."""

    def of_branch(self, branch: session_files.BranchOrigin) -> "Recorder":
        """Return a recorder for a branch of this session."""
        return Recorder(
            self.parent, live=self.live, settings=self.settings, fsync=self.fsync, clock=self._clock, disk=self._disk,
            branch=branch, root=self._root or self.session_id,
        )  # fmt: skip

    @property
    def events(self) -> int:
        """Number of events taken so far."""
        return self._progress[0] + len(self._progress[2])

    def begin(self, playbook: Playbook, seed: int, view: ClusterView, until_us: int = -1) -> None:
        """Create the directory with the playbook and ``start.json``.

        Raises:
            RecordingError: the directory cannot be written.
        """
        try:
            self._make_directory(playbook.name, seed)
            write_whole(self._disk, self.path / session_files.PLAYBOOK, without_modeline(playbook.source).encode())
            if playbook.fragments:
                fragments = msgspec.json.format(msgspec.json.encode(playbook.fragments))
                write_whole(self._disk, self.path / session_files.FRAGMENTS, fragments + b"\n")
            self._fd = self._disk.create(self.path / session_files.EVENTS)
            self._actions_fd = self._disk.create(self.path / session_files.ACTIONS)
            start = {"until_us": until_us, **self._start(playbook, seed, view)}
            text = msgspec.json.format(msgspec.json.encode(start)) + b"\n"
            write_whole(self._disk, self.path / session_files.START, text)
            self._disk.sync_directory(self.parent)
        except OSError as error:
            self._let_go()
            raise RecordingError(
                f"cannot record a session under {self.parent}: {error.strerror}", code="cannot_begin"
            ) from error
        self._flushed_at = self._synced_at = self._clock()

    def write(self, events: Sequence[Event]) -> None:
        """Take events in order; they reach the file by the flush rules of this module.

        Raises:
            RecordingError: they cannot be written; events written before are readable.
        """
        waiting = self._progress[2]
        waiting.extend(events)
        if not waiting and not self._unsynced:
            return
        rare = any(event.kind not in DATA_KINDS for event in events)
        now = self._clock()
        if rare or len(waiting) >= FLUSH_EVENTS or (waiting and now - self._flushed_at >= FLUSH_SECONDS):
            self.flush()
        if self.fsync == Fsync.INTERVAL and self._unsynced and now - self._synced_at >= SYNC_SECONDS:
            self._sync()

    def flush(self) -> None:
        """Pass all pending events to the operating system; raises :class:`RecordingError`."""
        if self.failure:
            raise RecordingError(self.failure, code="cannot_go_on")
        written, size, waiting = self._progress
        while waiting:
            batch = waiting[:FLUSH_EVENTS]
            lines = encode(written, batch)
            self._guarded(self._cut_to_counted)
            self._put(self._fd, lines)
            self._unsynced = True
            written, size, waiting = written + len(batch), size + len(lines), waiting[FLUSH_EVENTS:]
            self._progress = (written, size, waiting)
        self._flushed_at = self._clock()
        if self.fsync == Fsync.ALWAYS and self._unsynced:
            self._sync()

    def action(self, line: Mapping[str, Any], *, at_once: bool = True) -> None:
        """Write external input at once, since a replay needs it.

        An operator's action is synced to disk at once as well: later events without it could never be replayed.
        Requests of external clients are too many for that; they are synced with the events, and before them.
        """
        if self.failure:
            raise RecordingError(self.failure, code="cannot_go_on")
        self._put(self._actions_fd, msgspec.json.encode(line) + b"\n")
        if not at_once:
            self._unsynced = self._loose = True
        elif self.fsync != Fsync.NEVER:
            self._guarded(lambda: self._disk.sync_data(self._actions_fd))

    def seal(self, result: SessionResult, survey: RecordLocations | None = None) -> None:
        """Close the live files and write the columns, the ledger, the result and, last of all, the manifest.

        ``survey`` has the locations of the records, for ``ledger.parquet``.

        Raises:
            RecordingError: the directory cannot be written.
        """
        from playbooks.recording.seal import seal  # noqa: PLC0415 - pyarrow takes half a second to import

        self.close()
        if self.failure:
            raise RecordingError(self.failure, code="cannot_go_on")
        try:
            seal(self.path, result, survey, wall_end=wall(), disk=self._disk)
        except OSError as error:
            raise RecordingError(
                f"cannot seal the session in {self.path}: {error.strerror}; its events are readable", code="cannot_seal"
            ) from error
        except session_files.LayoutError as error:  # it was removed meanwhile
            raise RecordingError(f"cannot seal the session: {error}", code="cannot_seal") from error

    def crash(self, text: str) -> Path:
        """Keep the session unsealed, with a crash report beside it; return the report's path."""
        self.close()
        log = self.path / session_files.CRASH_LOG
        log.write_text(text, encoding="utf-8")
        return log

    def close(self) -> None:
        """Write pending events, sync them and close the files; does nothing the second time."""
        if self._fd < 0:
            return
        self.flush()
        self._sync()
        self._guarded(lambda: self._disk.sync_data(self._actions_fd))
        self._let_go()

    def discard(self) -> None:
        """Delete the recording of an unwanted branch; files that cannot be deleted stay as an incomplete session."""
        if not self.session_id:
            return
        self._progress = (self._progress[0], self._progress[1], [])
        with suppress(OSError):
            self._let_go()
        with suppress(OSError):
            for path in sorted(self.path.iterdir(), key=lambda path: path.name != session_files.START):
                self._disk.remove(path)
            self.path.rmdir()

    def _let_go(self) -> None:
        for fd in (self._fd, self._actions_fd):
            if fd >= 0:
                self._disk.close(fd)
        self._fd = self._actions_fd = -1

    def _sync(self) -> None:
        if self._loose:
            self._guarded(lambda: self._disk.sync_data(self._actions_fd))
            self._loose = False
        self._guarded(lambda: self._disk.sync_data(self._fd))
        self._unsynced = False
        self._synced_at = self._clock()

    def _make_directory(self, name: str, seed: int) -> None:
        self.parent.mkdir(parents=True, exist_ok=True)
        salt = ""
        while True:
            if self.branch is not None and self._root:
                session_id = session_files.branch_name(self._root, self.branch.letter, salt)
            else:
                session_id = session_files.session_name(datetime.now(UTC), name, seed, secrets.token_hex(2))
            salt = secrets.token_hex(2)
            path = session_files.directory_of(self.parent, session_id)
            try:
                self._disk.make_directory(path)
            except FileExistsError:
                continue
            self.session_id, self.path = session_id, path
            return

    def _start(self, playbook: Playbook, seed: int, view: ClusterView) -> dict[str, Any]:
        return {
            "format": session_files.FORMAT,
            "schema_version": SCHEMA_VERSION,
            "tool_version": VERSION,
            "session_id": self.session_id,
            "playbook": playbook.name,
            "title": playbook.title,
            "seed": seed,
            "profile": view.profile,
            "wall_start": wall(),
            "live": self.live,
            "settings": self.settings,
            "topics": _topics(playbook, view),
            "brokers": [{"id": broker.id, "rack": broker.rack} for broker in view.brokers],
            "producers": [{"name": each.name, "topic": each.topic, "acks": each.acks} for each in view.producers],
            "groups": [group.name for group in view.groups],
            "readers": dict(client_settings(playbook.spec, playbook.spec.profile, ExternalClientSettings()).groups),
            "service_bounds": service_bounds(playbook.spec),
            "controller": next((each.name for each in view.controllers if each.role == "active"), ""),
            **({"branch": asdict(self.branch)} if self.branch is not None else {}),
        }

    def _put(self, fd: int, data: bytes) -> None:
        self._guarded(lambda: put(self._disk, fd, data))

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do file operations; after an error nothing more is recorded."""
        try:
            work()
        except OSError as error:
            full = " (the disk is full)" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
            kept = f"{counted(self._progress[0], 'event')} readable"
            self.failure = f"cannot continue recording in {self.path}: {error.strerror}{full}; {kept}"
            self._cut_to_whole_lines()
            raise RecordingError(self.failure, code="cannot_go_on") from error

    def _cut_to_counted(self) -> None:
        """Remove data that was written but not counted because of an interrupt."""
        size = self._progress[1]
        if self._disk.size(self._fd) != size:
            self._disk.truncate(self._fd, size)

    def _cut_to_whole_lines(self) -> None:
        """Remove an incomplete last line, if still possible, and close the files."""
        with suppress(OSError):
            self._disk.truncate(self._fd, self._progress[1])
        with suppress(OSError):
            self._let_go()
        self._fd = self._actions_fd = -1


def _topics(playbook: Playbook, view: ClusterView) -> list[dict[str, Any]]:
    """Return the topics with the current placement of their replicas; internal topics come last."""
    spec = playbook.spec
    default = TopicConfig.of(spec.profile, spec.config, {}).min_isr
    replication = {topic.name: topic.replication for topic in spec.topics}
    placed: dict[str, list[PartitionView]] = {topic.name: [] for topic in spec.topics}
    for partition in sorted(view.partitions, key=lambda each: each.internal):
        placed.setdefault(partition.name.rpartition("-")[0], []).append(partition)
    return [
        {
            "name": topic,
            "partitions": len(partitions),
            "replication": max((len(each.assignment) for each in partitions), default=replication.get(topic, 1)),
            "min_isr": max((each.min_isr for each in partitions), default=1),
            "assignment": {each.name: list(each.assignment) for each in partitions},
            "default_min_isr": default,
        }
        for topic, partitions in placed.items()
    ]


def action_line(verb: str, action: Action) -> dict[str, Any]:
    """Return an operator's action as a line of ``actions.jsonl``, without its position."""
    return {
        "verb": verb,
        "name": action.name,
        "target": action.target,
        "params": dict(action.params),
        "for_us": action.for_us,
        "if_any": action.if_any,
    }


def wall() -> str:
    """Return the wall-clock time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


# Crash reports of internal errors of floodmark, stored beside the session.


def crash_report(what: str) -> str:
    """Return the details of an internal error; ``what`` is the traceback, or a sentence."""
    where = f"floodmark {VERSION}, Python {platform.python_version()}, {platform.platform()}"
    return "\n".join((where, f"command: {' '.join(sys.argv)}", "", what))


def write_crash_report(error: BaseException, recorder: Recorder | None = None) -> Path:
    """Write a crash report, beside the session if there is one; return its path."""
    text = crash_report("".join(traceback.format_exception(error)))
    if recorder is not None and recorder.session_id:
        try:
            return recorder.crash(text)
        except (OSError, RecordingError):
            pass  # a full disk, perhaps: write the report elsewhere
    directory = Path(tempfile.mkdtemp(prefix="floodmark-"))
    log = directory / CRASH_LOG
    log.write_text(text, encoding="utf-8")
    return log


# The end of a session of either engine: its result, and the seal of its recording.


def conclude_session(
    playbook: Playbook,
    cluster: "Cluster | ManualCluster",
    recorder: Recorder | None,
    findings: CollectedEvents,
    *,
    checked: tuple[ExpectationResult, ...],
    broken: bool,
    reason: str,
) -> SessionResult:
    """Return the result of a session that has ended; ``broken`` and ``reason`` as for :func:`build_result`.

    Raises:
        RecordingError: the recording cannot be sealed.
    """
    view, query = cluster.view(), cluster.query
    outcomes = client_partition_outcomes(cluster.cluster_state, cluster.checker.ledger)
    ledger = replace(
        view.ledger, acked_aborted=query.acked_aborted(), aborted_committed=query.aborted_committed(), clients=outcomes,
        unknown_written=sum(each.unknown_written for each in outcomes),
    )  # fmt: skip
    result = build_result(
        playbook=playbook.name,
        title=playbook.title,
        seed=cluster.seed,
        checked=checked,
        broken=broken,
        reason=reason,
        digest=cluster.digest(),
        session=str(recorder.path) if recorder else "",
        findings=findings,
        view=replace(view, ledger=ledger),
    )
    result = replace(result, anomalies=cluster.checker.anomalies.report(view.now_us))
    result = result.with_findings(cluster.checker.findings.findings(cluster.now_us))
    if recorder is not None:
        recorder.seal(result, RecordLocations(cluster.cluster_state, cluster.checker.ledger))
    return result
