"""Pool of worker processes for sessions, each session a job.

Workers are started once and execute one job after another. They are fresh interpreters, not forks, so that threads,
locks and open files are not inherited. A worker that dies only loses its own job: its outcome has the signal, and the
batch continues with another worker.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

from cluster_model.protocol.errors import ModelError
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import Session
from playbooks.engine.session_runner import stage, start_session
from playbooks.errors import BAD_INPUT, CODES, INTERNAL, INTERRUPTED, PlaybookError, os_error_text
from playbooks.parser.loader import loads
from playbooks.recording.recorder import Recorder, RecordingError, crash_report, write_crash_report
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import Fsync

# A session as a job for another process, and its outcome.


SLICE_US: Final = 500_000
"""Virtual time between two progress reports."""

NOT_RUN: Final = -1
"""Code of a job that was never started, because the batch stopped before."""


@dataclass(frozen=True, slots=True)
class PlaybookJob:
    """One run of a playbook, as plain data that can be sent to another process."""

    text: str
    """Text of the playbook, with settings applied."""
    path: str
    """Path of the playbook: used in messages, and as name if the text has none."""
    seed: int | None = None
    """Seed; None: the playbook's own."""
    out: Path | None = None
    """Parent directory of its session; None: it is not recorded."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of ``--set``, as stored in the session; the text has them already."""
    until_us: int = -1
    """Virtual time at which it is cut off; -1 never."""
    fragments: Mapping[str, str] = field(default_factory=dict)
    """Texts of included fragments, as in ``Playbook.fragments``."""
    fsync: Fsync = Fsync.INTERVAL
    settle_us: int = -1
    """Virtual time at which it begins to settle, whatever steps remain; -1 never."""

    def execute(self, on_progress: "Callable[[JobProgress], None]") -> "JobOutcome":
        """Execute the job in this process; never raises, as :func:`execute`."""
        return executed(self, lambda recorder: _run(self, recorder, on_progress))


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Progress of a job in a worker process."""

    now_us: int
    """Virtual time."""
    stage: str
    session: str
    """Directory of its recording; empty without one."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Outcome of a job: its result, or an error with an exit code."""

    job: PlaybookJob
    result: SessionResult | None = None
    """None without a verdict: then ``error`` says why."""
    error: str = ""
    code: int = NOT_RUN
    """Exit code, or :data:`NOT_RUN`."""
    session: str = ""
    """Directory of the recording, complete or not; empty without one."""
    crash_report: str = ""
    """File with the details of an internal error; empty unless the code is 70."""
    wall_s: float = 0.0
    """Duration in real seconds."""
    found: Any = None
    """Result of a job of another kind."""


def execute(job: PlaybookJob, on_progress: Callable[[JobProgress], None]) -> JobOutcome:
    """Execute a job in this process. Never raises: errors and Ctrl-C (``KeyboardInterrupt``) are outcomes, too."""
    return job.execute(on_progress)


def executed(job: PlaybookJob, drive: Callable[[Recorder | None], SessionResult]) -> JobOutcome:
    """Return the outcome of a job that ``drive`` executes with its recorder; never raises, as :func:`execute`."""
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
    except Exception as found:  # any error must be reported, with the session kept
        error, code = os_error_text(found), BAD_INPUT
        if not error:
            error, code = f"internal error: {type(found).__name__}: {found}", INTERNAL
            account = str(write_crash_report(found, recorder))
    session = str(recorder.path) if recorder is not None and recorder.session_id else ""
    return JobOutcome(job, result, error, code, session, account, time.perf_counter() - began)


def _run(job: PlaybookJob, recorder: Recorder | None, on_progress: Callable[[JobProgress], None]) -> SessionResult:
    playbook = loads(job.text, job.path, job.fragments)
    session = start_session(playbook, seed=job.seed, recorder=recorder, until_us=job.until_us)
    recording = str(recorder.path) if recorder is not None else ""
    on_progress(JobProgress(0, stage(session), recording))
    by_hand = isinstance(session, ManualSession)
    while True:
        until_us = session.cluster.now_us + SLICE_US
        if isinstance(session, Session) and session.phase == "steps" and 0 <= job.settle_us <= until_us:
            session.advance(job.settle_us)
            session.settle()
        if not session.advance(until_us, int(by_hand)):
            break
        session.drain()
        on_progress(JobProgress(session.cluster.now_us, stage(session), recording))
    on_progress(JobProgress(session.cluster.now_us, "sealing the session" if recording else "ended", recording))
    return session.finish()


def _stopped(recorder: Recorder | None) -> str:
    """Close the recording of a session that was stopped; return a message about it."""
    if recorder is None or not recorder.session_id:
        return "stopped"
    try:
        recorder.close()
    except (RecordingError, OSError) as error:
        return f"stopped; its last events could not be recorded: {error}"
    return f"stopped; the recording so far: {recorder.path}"


EVERY_S: Final = 0.1
"""Interval between two progress messages of a worker."""
GRACE_S: Final = 10.0
"""Time that a worker may take to close its recording when the batch is stopped."""


def cores() -> int:
    """Return the number of processes that this machine runs in parallel."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _ignore(_number: int, _what: object) -> None:
    pass


@dataclass(slots=True)
class _Batch:
    """Jobs of a batch with their outcomes, and its callbacks."""

    jobs: Sequence[PlaybookJob]
    on_start: Callable[[int, PlaybookJob], None]
    on_progress: Callable[[int, JobProgress], None]
    on_end: Callable[[int, JobOutcome], None]
    stop_after: Callable[[JobOutcome], bool]
    outcomes: dict[int, JobOutcome] = field(default_factory=dict)
    begun: int = 0
    stopping: bool = False

    @property
    def more(self) -> bool:
        """Return whether a job is waiting to be started."""
        return not self.stopping and self.begun < len(self.jobs)

    def begin(self) -> int:
        """Return the number of the next job, which starts now."""
        number = self.begun
        self.begun += 1
        self.on_start(number, self.jobs[number])
        return number

    def end(self, number: int, outcome: JobOutcome) -> None:
        """Store the outcome of a job."""
        if number in self.outcomes:
            return  # it had ended when the batch was stopped
        self.outcomes[number] = outcome
        self.stopping = self.stopping or outcome.code == INTERRUPTED or self.stop_after(outcome)
        self.on_end(number, outcome)

    def close(self, *, interrupted: bool) -> list[JobOutcome]:
        """Return all outcomes, in the order of the jobs; jobs that were never started have :data:`NOT_RUN`."""
        stopped = interrupted or any(each.code == INTERRUPTED for each in self.outcomes.values())
        code = INTERRUPTED if stopped else NOT_RUN
        return [
            self.outcomes.get(number) or JobOutcome(job, code=code, error="not started")
            for number, job in enumerate(self.jobs)
        ]


def run_all(
    jobs: Sequence[PlaybookJob],
    *,
    workers: int = 0,
    kept: "KeptWorkers | None" = None,
    on_start: Callable[[int, PlaybookJob], None] = _ignore,
    on_progress: Callable[[int, JobProgress], None] = _ignore,
    on_end: Callable[[int, JobOutcome], None] = _ignore,
    stop_after: Callable[[JobOutcome], bool] = lambda outcome: False,
) -> list[JobOutcome]:
    """Execute jobs and return their outcomes, in order, independent of their distribution.

    ``workers`` is the number of processes (0: the number of cores); with 1 everything happens in this process. ``kept``
    has the processes of earlier batches, which run this one, too; new ones are added to it.
    Callbacks get the number of the job (from 0) and are called one at a time, in this process. After an outcome for
    which ``stop_after`` returns True, running jobs are completed and no more are started (:data:`NOT_RUN`).

    Never raises for what a job does. Ctrl-C stops every worker; recordings are closed as far as they are, and the
    outcomes of unfinished jobs have code 130. A worker killed by a signal gives its job code 70.

    Scripts that call this need the guard ``if __name__ == "__main__"``, as for all of multiprocessing.
    """
    count = workers or cores()
    if kept is None:
        count = min(count, len(jobs))
    batch = _Batch(jobs, on_start, on_progress, on_end, stop_after)
    if count > 1:
        return batch.close(interrupted=_in_processes(batch, count, kept))
    interrupted = False
    try:
        while batch.more:
            number = batch.begin()
            batch.end(number, execute(jobs[number], lambda progress, number=number: on_progress(number, progress)))  # type: ignore[misc]
    except KeyboardInterrupt:  # between two jobs
        interrupted = True
    return batch.close(interrupted=interrupted)


@dataclass(slots=True)
class _Worker:
    """A worker process and its current job."""

    process: SpawnProcess
    line: Connection
    number: int = -1
    """Number of its job; -1 none."""
    session: str = ""
    """Directory of its job's recording."""
    began: float = 0.0

    @classmethod
    def hire(cls) -> "_Worker":
        """Start a process. It ignores Ctrl-C, which a terminal sends to all processes: this process decides."""
        context = get_context("spawn")
        parent_end, child_end = context.Pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = context.Process(target=_serve, args=(child_end,), daemon=True)
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        child_end.close()
        return cls(process, parent_end)

    def give(self, number: int, job: PlaybookJob) -> None:
        """Send it a job. A dead worker is noticed when its answer is read."""
        self.number, self.session, self.began = number, "", time.perf_counter()
        with suppress(OSError):
            self.line.send(job)

    def death(self, job: PlaybookJob, *, stopped: bool) -> JobOutcome:
        """Return the outcome of its job after its death; ``stopped``: the batch had requested a stop."""
        self.process.join(GRACE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        took = time.perf_counter() - self.began
        if stopped:
            kept = f"; the recording so far: {self.session}" if self.session else ""
            return JobOutcome(job, None, f"stopped{kept}", INTERRUPTED, self.session, "", took)
        error = f"internal error: {job.path}: its process {_how(self.process.exitcode)} before the session ended"
        log = Path(self.session) / session_files.CRASH_LOG if self.session else None
        if log is not None:
            with suppress(OSError):
                log.write_text(crash_report(error + "\n"), encoding="utf-8")
        return JobOutcome(job, None, error, INTERNAL, self.session, str(log or ""), took)


def _how(code: int | None) -> str:
    """Describe how a process ended."""
    if code is None or code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


class KeptWorkers:
    """Worker processes that are kept from one batch to the next; use it as a context manager, which stops them."""

    def __init__(self) -> None:
        self.team: list[_Worker] = []

    def __enter__(self) -> "KeptWorkers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop all workers."""
        _stop_workers(self.team)
        self.team.clear()


def _in_processes(batch: _Batch, count: int, kept: KeptWorkers | None) -> bool:
    """Execute all jobs with that many workers; return whether Ctrl-C ended it."""
    workers = KeptWorkers() if kept is None else kept
    team = workers.team
    interrupted = False
    try:
        _work(batch, count, team)
    except KeyboardInterrupt:
        interrupted = batch.stopping = True
        _stop(batch, team)
    finally:
        if kept is None or interrupted:
            workers.stop()
    return interrupted


def _work(batch: _Batch, count: int, team: list[_Worker]) -> None:
    while True:
        while batch.more:
            free = next((worker for worker in team if worker.number < 0), None)
            if free is None and len(team) >= count:
                break
            if free is None:
                free = _Worker.hire()
                team.append(free)
            number = batch.begin()
            free.give(number, batch.jobs[number])
        if not _listen(batch, team, None, stopped=False):
            return


def _listen(batch: _Batch, team: list[_Worker], timeout: float | None, *, stopped: bool) -> bool:
    """Receive messages of the workers; return whether any of them has a job. Dead workers are removed."""
    busy = {worker.line: worker for worker in team if worker.number >= 0}
    if not busy:
        return False
    for line in wait(list(busy), timeout):
        worker = busy[line]  # type: ignore[index]
        number = worker.number
        try:
            message = worker.line.recv()
        except (EOFError, OSError):
            team.remove(worker)
            outcome = worker.death(batch.jobs[number], stopped=stopped)
            worker.line.close()
            worker.process.close()
            batch.end(number, outcome)
            continue
        if isinstance(message, JobProgress):
            worker.session = message.session
            batch.on_progress(number, message)
        else:
            batch.end(number, message)
            worker.number = -1
    return True


def _stop(batch: _Batch, team: list[_Worker]) -> None:
    """Let every worker close its recording, and wait for it a while; a second Ctrl-C does not wait."""
    for worker in team:
        worker.process.terminate()
    deadline = time.monotonic() + GRACE_S
    with suppress(KeyboardInterrupt):
        while (left := deadline - time.monotonic()) > 0 and _listen(batch, team, left, stopped=True):
            pass
    for worker in [each for each in team if each.number >= 0]:
        worker.process.kill()
        batch.end(worker.number, worker.death(batch.jobs[worker.number], stopped=True))
        worker.number = -1


def _stop_workers(team: list[_Worker]) -> None:
    """Stop all workers."""
    for worker in team:
        worker.line.close()  # which ends the worker
    for worker in team:
        worker.process.join(GRACE_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()


def _serve(line: Connection) -> None:
    """Main loop of a worker: one job after another, until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _give_up)
    reported = 0.0

    def on_progress(progress: JobProgress) -> None:
        nonlocal reported
        now = time.monotonic()
        if reported and now - reported < EVERY_S:
            return
        reported = now
        try:
            line.send(progress)
        except OSError:
            raise KeyboardInterrupt from None  # the parent process is gone

    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            job = line.recv()
            reported = 0.0
            line.send(execute(job, on_progress))


def _give_up(number: int, _frame: FrameType | None) -> None:
    """Stop at the first signal, and ignore further ones while the recording is closed."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
