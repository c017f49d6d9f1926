"""One session as a piece of work that can be sent to another process, and what comes back of it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cluster_model.protocol.errors import ModelError
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.running import start_session
from playbooks.engine.staging import stage
from playbooks.errors import PlaybookError
from playbooks.exit_codes import BAD_INPUT, CODES, INTERNAL, INTERRUPTED
from playbooks.parser.loader import loads
from playbooks.recording.crash_log import keep_account
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.results.result import Result
from playbooks.session_format.filesystem import Fsync

SLICE_US: Final = 500_000
"""Virtual time between two looks at the progress."""

NOT_RUN: Final = -1
"""Code of a job that was never begun: a batch stopped before it."""


@dataclass(frozen=True, slots=True)
class Job:
    """A playbook to run once, and how. Everything in it is plain, so that it can go to another process."""

    text: str
    """The playbook's text, with settings made."""
    path: str
    """Where it comes from: stands in messages, and gives the name where the text has none."""
    seed: int | None = None
    """None: the playbook's own."""
    out: Path | None = None
    """Parent directory of its session; None: nothing is recorded."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What ``--set`` changed, as the session keeps it; the text has it already."""
    until_us: int = -1
    """Virtual time at which it is cut off; -1 never."""
    fragments: Mapping[str, str] = field(default_factory=dict)
    """Texts that the playbook includes, as ``Playbook.fragments`` has them."""
    fsync: Fsync = Fsync.INTERVAL

    def carry_out(self, tell: "Callable[[Progress], None]") -> "Outcome":
        """Run it here to its end; never raises, as :func:`perform`."""
        return carried_out(self, lambda recorder: _run(self, recorder, tell))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is."""

    now_us: int
    """Virtual time."""
    stage: str
    session: str
    """Directory of its recording; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended."""

    job: Job
    result: Result | None = None
    """None where there is no verdict: then ``error`` says why."""
    error: str = ""
    code: int = NOT_RUN
    """Exit code, or :data:`NOT_RUN`."""
    session: str = ""
    """Directory of the recording, whole or not; empty when there is none."""
    account: str = ""
    """File that says what went wrong inside; empty unless the code is 70."""
    wall_s: float = 0.0
    """Real seconds that it took."""
    found: Any = None
    """What a job of another kind came to."""


def perform(job: Job, tell: Callable[[Progress], None]) -> Outcome:
    """Run a job here to its end. Never raises: errors and Ctrl-C (``KeyboardInterrupt``) are outcomes, too."""
    return job.carry_out(tell)


def carried_out(job: Job, drive: Callable[[Recorder | None], Result]) -> Outcome:
    """What comes of a job that ``drive`` runs with the recorder it is given; never raises, as :func:`perform`."""
    began = time.perf_counter()
    recorder = Recorder(job.out, settings=job.settings, fsync=job.fsync) if job.out is not None else None
    result, error, code, account = None, "", 0, ""
    try:
        result = drive(recorder)
        code = CODES[result.verdict]
    except PlaybookError as found:
        error, code = str(found), BAD_INPUT
    except ModelError as found:
        error, code = f"{job.path}: {found}", BAD_INPUT
    except RecordingError as found:
        error, code = str(found), BAD_INPUT
    except KeyboardInterrupt:
        error, code = _stopped(recorder), INTERRUPTED
    except Exception as found:  # whatever it is, the session must be kept and the person told
        error, code = f"internal error: {type(found).__name__}: {found}", INTERNAL
        account = str(keep_account(found, recorder))
    session = str(recorder.path) if recorder is not None and recorder.session_id else ""
    return Outcome(job, result, error, code, session, account, time.perf_counter() - began)


def _run(job: Job, recorder: Recorder | None, tell: Callable[[Progress], None]) -> Result:
    playbook = loads(job.text, job.path, job.fragments)
    session = start_session(playbook, seed=job.seed, recorder=recorder, until_us=job.until_us)
    recording = str(recorder.path) if recorder is not None else ""
    tell(Progress(0, stage(session), recording))
    while session.advance(session.cluster.now_us + SLICE_US, int(isinstance(session, ManualSession))):
        session.drain()
        tell(Progress(session.cluster.now_us, stage(session), recording))
    tell(Progress(session.cluster.now_us, "sealing the session" if recording else "ended", recording))
    return session.finish()


def _stopped(recorder: Recorder | None) -> str:
    """Close the recording of a session that was stopped; returns what to say of it."""
    if recorder is None or not recorder.session_id:
        return "stopped"
    try:
        recorder.close()
    except (RecordingError, OSError) as error:
        return f"stopped; its last events could not be recorded: {error}"
    return f"stopped; what was recorded so far: {recorder.path}"
