"""Replay of a recorded session, compared event by event, and sealing of sessions whose process died.

The same version of floodmark, playbook, seed and operator's actions give the same events, so any difference is caused
by another version of the model or by a bug.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cluster_model.checker.ledger import RecordLocations
from cluster_model.protocol.events import FIELDS, Event
from cluster_model.util.quantities import time_in_seconds
from playbooks.engine.session import Session
from playbooks.engine.session_runner import repeat_action, run_to_position, start_session
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.recording.event_codec import encode
from playbooks.recording.reader import RecordedAction, RecordedSession, read_session
from playbooks.recording.recorder import RecordingError, wall
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem, write_whole
from playbooks.session_format.session_files import SessionError
from playbooks.version import VERSION

if TYPE_CHECKING:
    from playbooks.engine.manual_session import ManualSession


# Description of the difference between a recorded event and the replayed one.


_SHOWN: Final = 120
"""Maximum number of characters of a value in a message."""

_Event = dict[str, Any] | None


def difference_text(
    number: int, recorded: str, replayed: str, versions: str, next_recorded: str = "", next_replayed: str = ""
) -> str:
    """Return the message: which event, when, what kind of difference, and both lines.

    ``recorded`` and ``replayed`` are lines of the event log, or another text if there is no event. The following lines
    help to distinguish a missing or extra event from a changed one; empty if unknown.
    """
    was, now = _event(recorded), _event(replayed)
    at_us = next((event["at_us"] for event in (was, now) if event and type(event.get("at_us")) is int), None)
    when = "" if at_us is None else f", at {time_in_seconds(at_us)} of virtual time"
    return (
        f"the replay differs from event {number} on{when}{versions}\n"
        f"  difference: {_difference(was, now, _event(next_recorded), _event(next_replayed))}\n"
        f"  recorded: {recorded.strip()}\n"
        f"  replayed: {replayed.strip()}"
    )


def _difference(was: _Event, now: _Event, was_next: _Event, now_next: _Event) -> str:
    if was is None:
        return f"an extra {_kind(now)}, which was not recorded" if now else "neither is an event"
    if was["kind"] not in FIELDS:
        return f"a recorded {_kind(was)}, a kind unknown to this version"
    if now is None:
        return f"a missing {_kind(was)}, which is not replayed"
    if was_next is not None and _same(was_next, now):
        return f"a missing {_kind(was)}: the next recorded event is replayed instead"
    if now_next is not None and _same(now_next, was):
        return f"an extra {_kind(now)}, which was not recorded: the recorded event follows it"
    if was["kind"] != now["kind"]:
        return f"another kind: recorded {_kind(was)}, replayed {_kind(now)}"
    fields = [*_values(was, now), *_names(was, now)]
    return "; ".join(fields) or "the same values in another notation"


def _values(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [
        f"{name} of the {_kind(was)}: recorded {_shown(was[name])}, replayed {_shown(now[name])}"
        for name in was
        if name in now and was[name] != now[name]
    ]


def _names(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    gone = [f"recorded field {name} is not replayed" for name in was if name not in now]
    new = [f"replayed field {name} was not recorded" for name in now if name not in was]
    return gone + new


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return {**one, "seq": 0} == {**other, "seq": 0}


def _kind(event: _Event) -> str:
    return str(event["kind"])[:_SHOWN] if event else "nothing"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _event(line: str) -> _Event:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("kind"), str) else None


SLICE_US: Final = 1_000_000
"""Virtual time between two comparisons."""

Progress = Callable[[int, int], None]
"""Progress callback with the numbers of compared and recorded events."""


class ReplayMismatchError(Exception):
    """The replay differs from the recording; the message names the first differing event."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A replay that agreed with its recording."""

    events: int
    """Number of events compared."""
    digest: str
    """Digest of the whole session; empty for an incomplete recording, which has none."""
    notes: tuple[str, ...]


def replay(recorded: RecordedSession, progress: Progress = lambda done, total: None) -> ReplayResult:
    """Replay ``recorded`` and compare it.

    Raises:
        ReplayMismatchError: the replay differs.
        SessionError: the recording has nothing to compare with.
        PlaybookError: the session's playbook is not valid in this version.
    """
    comparison = begin(recorded, progress)
    if recorded.manifest is not None and recorded.manifest.recovered:
        comparison.run_to_last_event()
        return ReplayResult(
            comparison.compared, comparison.check_digest(comparison.session.cluster.digest()), recorded.notes
        )
    for action in recorded.actions:
        comparison.repeat(action)
        if comparison.done:
            break
    digest = comparison.run_to_end()
    return ReplayResult(comparison.compared, digest, recorded.notes)


def replay_to_last_event(
    recorded: RecordedSession, progress: Progress = lambda done, total: None
) -> "Session | ManualSession":
    """Replay an incomplete session up to its last complete event.

    That is always the same position: right after the kernel event, step or action of the last recorded event.

    Raises:
        ReplayMismatchError: the replay differs before that.
        SessionError: the recording has nothing to compare with.
        PlaybookError: the session's playbook is not valid in this version.
    """
    comparison = begin(recorded, progress)
    comparison.run_to_last_event()
    return comparison.session


def rerun(
    recorded: RecordedSession, at_us: int = -1, progress: Progress = lambda done, total: None
) -> "Session | ManualSession":
    """Replay ``recorded`` up to a virtual time, by default to its end, and return the session there.

    A manual session has no time: it is replayed to its end.

    Raises:
        ReplayMismatchError: the replay differs before that.
        SessionError: the recording has nothing to compare with.
        PlaybookError: the session's playbook is not valid in this version.
    """
    comparison = begin(recorded, progress)
    timed = at_us >= 0 and isinstance(comparison.session, Session)
    for action in recorded.actions:
        if comparison.done or (timed and action.at_us > at_us):
            break
        comparison.repeat(action)
    if timed:
        comparison.run_to(at_us)
    else:
        comparison.run_to_end()
    return comparison.session


def playbook_of(recorded: RecordedSession) -> Playbook:
    """Return the playbook of a recorded session.

    Raises:
        PlaybookError: it is not valid in this version.
        SessionError: it has none: it was imported from a real cluster.
    """
    check_can_rerun(recorded)
    return loads(recorded.playbook, str(recorded.path / session_files.PLAYBOOK), recorded.fragments)


def check_can_rerun(recorded: RecordedSession) -> None:
    """Check that the model can run a session again.

    Raises:
        SessionError: it was imported from the logs of a real cluster.
    """
    if recorded.start.imported:
        raise SessionError(f"{recorded.path} {session_files.NOT_RUN}", code="imported")


def begin(recorded: RecordedSession, progress: Progress = lambda done, total: None) -> "ReplayComparison":
    """Start a replay of ``recorded``.

    Raises:
        SessionError: the recording has nothing to compare with.
        PlaybookError: the session's playbook is not valid in this version.
    """
    playbook = playbook_of(recorded)
    if not recorded.count:
        raise SessionError(
            f"{recorded.path / session_files.EVENTS} has no complete event: nothing to compare with",
            code="no_whole_event",
        )
    session = start_session(
        playbook, seed=recorded.start.seed, until_us=recorded.until_us, open_ended=recorded.start.live
    )
    return ReplayComparison(recorded, session, progress)


class ReplayComparison:
    """Replay of a session, compared with its recording."""

    def __init__(self, recorded: RecordedSession, session: "Session | ManualSession", progress: Progress) -> None:
        self._recorded = recorded
        self.session = session
        self._progress = progress
        self._at = 0
        self.compared = 0
        self.on_events: Callable[[list[Event]], None] = lambda events: None
        """Callbacks for the events of the replay."""

    @property
    def done(self) -> bool:
        """Whether an incomplete recording has been compared to its end."""
        return self._recorded.cut_short and self.compared == self._recorded.count

    def run_to_action(self, action: RecordedAction) -> None:
        """Run to the position of an operator's action; an incomplete recording may end before.

        Raises:
            ReplayMismatchError: the replay never reaches it.
        """
        session = self.session
        wanted = {"at_us": action.at_us, "executed": action.executed, "steps": action.steps}
        run_to_position(session, **wanted)
        self.compare(session.drain())
        if self.done:
            return
        if session.position() != wanted:
            raise ReplayMismatchError(
                f"the replay never reaches the operator's action: recorded {wanted}, replayed {session.position()}"
                + self._versions()
            )

    def repeat(self, action: RecordedAction) -> bool:
        """Run to the position of an operator's action, and repeat it; return whether it was not refused.

        Raises:
            ReplayMismatchError: the replay differs.
        """
        self.run_to_action(action)
        if self.done:
            return False
        session = self.session
        done = repeat_action(session, action.verb, action.action())
        self.compare(session.drain())
        return done

    def run_to_last_event(self) -> None:
        """Stop right after the last complete event, before the next event of the model."""
        last_us = self._recorded.last_us
        for action in self._recorded.actions:
            if action.at_us > last_us:
                break
            if action.at_us == last_us:
                self._step_up_to(last_us, action)
            if self.done:
                return
            self.repeat(action)
            if self.done:
                return
        self._step_up_to(last_us)
        if self.session.phase == "ended":  # the events of the end may be incomplete or missing
            self.session.finish()
            self.compare(self.session.drain())
        if not self.done:
            raise self._difference(self._next_line(), "nothing: the replay has ended")

    def _step_up_to(self, last_us: int, action: RecordedAction | None = None) -> None:
        """Run one event of the model at a time, up to the end of that time or the position of the operator's action."""
        session = self.session
        self.run_to(last_us - 1)
        before: object = None
        running = True
        while running and not self.done and before != (before := (session.position(), session.phase)):
            if action is not None and (session.cluster.executed, session.steps_taken) == (
                action.executed,
                action.steps,
            ):
                return
            running = session.advance(last_us, 1)
            self.compare(session.drain())

    def check_digest(self, digest: str) -> str:
        """Compare a digest with that of the recording; return it."""
        manifest = self._recorded.manifest
        if manifest is not None and digest != manifest.digest:
            raise ReplayMismatchError(
                f"all {self.compared} events are equal, but the digest differs: "
                f"recorded {manifest.digest}, replayed {digest}{self._versions()}"
            )
        return digest

    def _next_line(self) -> str:
        return self._recorded.events[self._at :].split(b"\n", 1)[0].decode()

    def run_to(self, at_us: int) -> None:
        """Run to a virtual time, or to the end if that comes first."""
        session = self.session
        running = True
        while running and not self.done and session.cluster.now_us < at_us:
            running = session.advance(min(at_us, session.cluster.now_us + SLICE_US))
            self.compare(session.drain())

    def run_to_end(self) -> str:
        """Run the rest; return the digest of the session, empty for a recording without its end."""
        session = self.session
        running = True
        while running and not self.done:
            running = session.advance(session.cluster.now_us + SLICE_US)
            self.compare(session.drain())
            if session.cluster.now_us > self._recorded.last_us and self._recorded.cut_short:
                break
        if self.done:
            return ""
        result = session.finish()
        self.compare(session.drain())
        if self.compared < self._recorded.count:
            raise self._difference(self._next_line(), "no event: the replay has ended")
        return "" if self._recorded.cut_short else self.check_digest(result.digest)

    def compare(self, events: list[Event]) -> None:
        """Compare the next events of the replay with the recording.

        Raises:
            ReplayMismatchError: one of them differs.
        """
        self.on_events(events)
        block = encode(self.compared, events)
        recorded = self._recorded.events
        if recorded.startswith(block, self._at):
            self._at += len(block)
            self.compared += len(events)
        else:
            self._compare_lines(block.splitlines(keepends=True))
        self._progress(self.compared, self._recorded.count)

    def _compare_lines(self, lines: list[bytes]) -> None:
        """Find the first differing line; none if an incomplete recording ends before."""
        for index, line in enumerate(lines):
            if self.done:
                return
            end = self._recorded.events.find(b"\n", self._at) + 1
            recorded = self._recorded.events[self._at : end] if end else b""
            if recorded != line:
                following = lines[index + 1].decode() if index + 1 < len(lines) else ""
                raise self._difference(recorded.decode() or "no event: the replay has ended", line.decode(), following)
            self._at = end
            self.compared += 1

    def _difference(self, recorded: str, replayed: str, next_replayed: str = "") -> ReplayMismatchError:
        rest = self._recorded.events[self._at :].split(b"\n", 2)
        next_recorded = rest[1].decode() if len(rest) > 1 else ""
        versions = self._versions()
        return ReplayMismatchError(
            difference_text(self.compared, recorded, replayed, versions, next_recorded, next_replayed)
        )

    def _versions(self) -> str:
        then, now = self._recorded.start.tool_version, VERSION
        return "" if then == now else f" (recorded by floodmark {then}, replayed by {now})"


# Sealing of a session whose process died, by replaying it up to its last complete event.
#
# The recording is not changed, except that an incomplete line at the end of a log is moved to a file beside it.


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """A session sealed after the death of its process."""

    path: Path
    events: int
    """Number of complete events."""
    end_us: int
    dropped: int
    """Bytes of incomplete lines that were moved from its logs to files beside them."""
    manifest: dict[str, Any]


def recover(
    path: Path, progress: Progress = lambda done, total: None, disk: FileSystem | None = None
) -> RecoveryResult:
    """Seal an incomplete session with status ``recovered``. If interrupted, it can be repeated.

    Raises:
        SessionError: it is sealed already, or has nothing to recover.
        ReplayMismatchError: this version replays it differently, so that its end cannot be computed.
        PlaybookError: the session's playbook is not valid in this version.
        RecordingError: the directory cannot be written.
    """
    disk = disk or FileSystem()
    recorded = read_session(path)
    if recorded.manifest is not None:
        raise SessionError(
            f"{path} is sealed already, with status {recorded.manifest.status}: nothing to recover",
            code="sealed_already",
        )
    if recorded.start.format != session_files.FORMAT:
        raise SessionError(
            f"{path} was recorded in format {recorded.start.format} by floodmark {recorded.start.tool_version}: only "
            f"sessions of format {session_files.FORMAT} can be sealed; it can be reported as it is",
            code="earlier_format",
        )
    session = replay_to_last_event(recorded, progress)
    reason = f"the recording ends at {time_in_seconds(recorded.last_us)}: its process died"
    result = session.finish() if session.phase == "ended" else session.result_so_far(reason)
    from playbooks.recording.seal import seal  # noqa: PLC0415 - pyarrow takes half a second to import

    try:
        dropped = sum(_cut(disk, path / log, path / side) for log, side in session_files.TORN_TAILS.items())
        survey = RecordLocations(session.cluster.cluster_state, session.cluster.checker.ledger)
        manifest = seal(
            path, replace(result, session=str(path)), survey, wall_end=wall(), status="recovered", disk=disk
        )
    except OSError as error:
        raise RecordingError(f"cannot seal the session in {path}: {error.strerror}", code="cannot_seal") from error
    return RecoveryResult(path, recorded.count, recorded.last_us, dropped, manifest)


def _cut(disk: FileSystem, log: Path, side: Path) -> int:
    """Move an incomplete line at the end of a log to a file of its own; return its bytes."""
    data = log.read_bytes()
    complete = data.rfind(b"\n") + 1
    if complete == len(data):
        return 0
    write_whole(disk, side, data[complete:])
    fd = disk.open(log)
    try:
        disk.truncate(fd, complete)
        disk.sync_data(fd)
    finally:
        disk.close(fd)
    return len(data) - complete
