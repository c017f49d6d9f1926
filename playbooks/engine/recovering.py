"""Seals a session whose process died, by running it again up to its last whole event.

What was recorded is never changed, except that half a line at the end of a log is cut off and kept beside it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cluster_model.checker.ledger.record_ranges import Survey
from playbooks.engine.expectations import seconds
from playbooks.engine.replay import Progress, run_to_the_last
from playbooks.recording.reader import read_session
from playbooks.recording.recorder import RecordingError, wall
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import Disk, write_whole
from playbooks.session_format.session_errors import SessionError


@dataclass(frozen=True, slots=True)
class Recovered:
    """A session that is sealed now."""

    path: Path
    events: int
    """Whole events in it."""
    end_us: int
    dropped: int
    """Bytes of half a line that were moved from its logs to a file beside them."""
    manifest: dict[str, Any]


def recover(path: Path, progress: Progress = lambda done, total: None, disk: Disk | None = None) -> Recovered:
    """Seal a torn session with status ``recovered``. Killed at any instant, it can be done again.

    Raises:
        SessionError: it is sealed already, or holds nothing to recover.
        ReplayMismatchError: this version runs it differently, so that its ending cannot be found out.
        PlaybookError: the session's playbook is not one that this version runs.
        RecordingError: the directory cannot be written.
    """
    disk = disk or Disk()
    recorded = read_session(path)
    if recorded.manifest is not None:
        raise SessionError(f"{path} is sealed already, with status {recorded.manifest.status}: nothing to recover")
    session = run_to_the_last(recorded, progress)
    reason = f"the recording ends at {seconds(recorded.last_us)}: its process died"
    result = session.finish() if session.phase == "ended" else session.standing(reason)
    from playbooks.recording.sealing import seal  # noqa: PLC0415 - pyarrow takes half a second that a refusal lacks

    try:
        dropped = sum(_cut(disk, path / log, path / side) for log, side in session_files.TORN_TAILS.items())
        survey = Survey(session.cluster.world, session.cluster.checker.ledger)
        manifest = seal(
            path, replace(result, session=str(path)), survey, wall_end=wall(), status="recovered", disk=disk
        )
    except OSError as error:
        raise RecordingError(f"cannot seal the session in {path}: {error.strerror}") from error
    return Recovered(path, recorded.count, recorded.last_us, dropped, manifest)


def _cut(disk: Disk, log: Path, side: Path) -> int:
    """Move half a line at the end of a log to a file of its own; returns its bytes."""
    data = log.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole == len(data):
        return 0
    write_whole(disk, side, data[whole:])
    fd = disk.open(log)
    try:
        disk.truncate(fd, whole)
        disk.sync_data(fd)
    finally:
        disk.close(fd)
    return len(data) - whole
