"""Queue of real runs: scenarios on real brokers, some at a time, each then compared with the model.

Each run is a process of its own (``python -m tests.real_kafka run``). What is left out is named with the reason: a
release whose jars cannot be had, or a run that would end after the time is over.
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka_logs.segments import KafkaLogsError
from playbooks.model import Playbook
from tests.real_kafka.conformance.comparison import facts
from tests.real_kafka.conformance.known_differences import KNOWN
from tests.real_kafka.conformance.observed import Observed
from tests.real_kafka.conformance.results import (
    Comparison,
    compare_evidence,
    playbook_of,
    read_recording,
    recording,
    report_comparison,
    write_recording,
)
from tests.real_kafka.conformance.scenario_table import SCENARIOS, ConformanceScenario
from tests.real_kafka.kafka_jars import KafkaUnavailableError
from tests.real_kafka.processes import compiled_clients
from tests.real_kafka.run import FAILURES, RunRefusedError

AGREES: Final = "agrees"
DIFFERS: Final = "differs"
FAILED: Final = "failed"
_VERDICTS: Final = {AGREES: "agree", DIFFERS: "differ", FAILED: "failed"}
_LATE: Final = "would end after"
"""Beginning of the reason for runs that are left out for time."""
START_S: Final = 25
"""Time that a cluster takes to form and its evidence to be collected, with some to spare on two cores."""
_POLL_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class RunJob:
    """A scenario on a release."""

    scenario: ConformanceScenario
    release: str

    @property
    def name(self) -> str:
        """The job in one word, also the name of its directory of evidence."""
        return f"{self.scenario.name}@{self.release}"


@dataclass(slots=True)
class StartedRun:
    """A real run in progress."""

    job: RunJob
    process: "subprocess.Popen[bytes]"
    directory: Path
    log: Path
    since_s: float


@dataclass(slots=True)
class RunQueue:
    """Runs of a list of jobs, ``parallel`` at a time, for at most so many minutes."""

    output: Path
    minutes: float
    parallel: int
    report: Callable[[str], None]
    verdicts: dict[str, str] = field(default_factory=dict)
    """Name of a job → :data:`AGREES`, :data:`DIFFERS` or :data:`FAILED`."""
    left_out: dict[str, list[RunJob]] = field(default_factory=dict)
    """Reason → jobs that were not run."""
    _start_s: float = 0
    _started: list[StartedRun] = field(default_factory=list)
    _total: int = 0

    def run(self, jobs: Iterable[RunJob]) -> int:
        """Run jobs and compare them; return the exit code.

        0: all that were run agree; 1: new differences; 2: none was run; 70: runs failed, or jars cannot be had.

        A run that differs or fails beside another one is repeated alone, if there is time.
        """
        self._start_s = time.monotonic()
        waiting = self._available(list(jobs))
        self._total = len(waiting)
        seconds = sum(expected_s(job) for job in waiting) / self.parallel
        self._say(
            f"{len(waiting)} runs, {self.parallel} at a time: about {seconds / 60:.0f} of {self.minutes:g} minutes"
        )
        self._take(waiting, self.parallel)
        self._take([job for job in waiting if self.verdicts.get(job.name) in (DIFFERS, FAILED)], 1)
        return self._summary()

    def _available(self, jobs: Sequence[RunJob]) -> list[RunJob]:
        """Return the jobs of the releases whose jars are here or can be fetched."""
        absent: dict[str, str] = {}
        for release in dict.fromkeys(job.release for job in jobs):
            try:
                compiled_clients(release)
            except KafkaUnavailableError as error:
                absent[release] = str(error)
        for job in jobs:
            if job.release in absent:
                self.left_out.setdefault(absent[job.release], []).append(job)
        return [job for job in jobs if job.release not in absent]

    @property
    def elapsed_s(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self._start_s

    def _take(self, jobs: Sequence[RunJob], parallel: int) -> None:
        """Run jobs; each is compared in a thread while the next ones run."""
        waiting, ended = list(jobs), list[StartedRun]()
        compared: tuple[RunJob, Future[tuple[Observed, Comparison]]] | None = None
        if parallel < self.parallel and waiting:
            self._say(f"repeating alone: {', '.join(job.name for job in waiting)}")
        with ThreadPoolExecutor(1) as thread, self._stopped_first():
            while waiting or self._started or ended or compared:
                ended += [each for each in self._started if each.process.poll() is not None]
                self._started = [each for each in self._started if each not in ended]
                while waiting and len(self._started) < parallel:
                    self._start_or_leave_out(waiting.pop(0))
                if compared and compared[1].done():
                    self._judge(*compared)
                    compared = None
                if ended and compared is None:
                    run = ended.pop(0)
                    compared = run.job, thread.submit(_compared, run)
                time.sleep(_POLL_S)

    @contextlib.contextmanager
    def _stopped_first(self) -> Iterator[None]:
        """End the runs in progress at an interrupt, before the comparison is waited for."""
        try:
            yield
        except KeyboardInterrupt:
            self._stop()
            raise

    def _start_or_leave_out(self, job: RunJob) -> None:
        if self.elapsed_s + expected_s(job) > self.minutes * 60:
            reason = f"{_LATE} {self.minutes:g} minutes"
            if job.name in self.verdicts:
                self._say(f"{job.name} is not repeated: it {reason}")
            else:
                self.left_out.setdefault(reason, []).append(job)
            return
        repeated = ".repeated" if job.name in self.verdicts else ""
        directory = self.output / f"{job.name}{repeated}"
        log = self.output / f"{job.name}{repeated}.log"
        self.output.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.real_kafka", "run", str(job.scenario.path)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, "--kafka", job.release, "--out", str(directory)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        self._started.append(StartedRun(job, process, directory, log, self.elapsed_s))
        self._say(f"{job.scenario.name} on Kafka {job.release}: started")

    def _judge(self, job: RunJob, compared: "Future[tuple[Observed, Comparison]]") -> None:
        """Print the verdict of a run, and record it if it agrees and there is no recording."""
        try:
            real, found = compared.result()
        except (*FAILURES, RunRefusedError, KafkaLogsError, OSError, ValueError, KeyError) as error:
            self._end(job, FAILED, str(error))
            return
        if found.unknown:
            self._end(job, DIFFERS, "")
            report_comparison(found, self.report)
            return
        self._end(job, AGREES, _kept(real, found))

    def _end(self, job: RunJob, verdict: str, detail: str) -> None:
        before = self.verdicts.get(job.name)
        self.verdicts[job.name] = verdict
        text = f"{job.scenario.name} on Kafka {job.release}: {verdict}" + (f": {detail}" if detail else "")
        self._say(text + (f"; at its first run it {before}" if before else ""))

    def _say(self, text: str) -> None:
        """Print a line with the time and how many runs have a verdict."""
        minutes, seconds = divmod(int(self.elapsed_s), 60)
        self.report(f"{minutes:2}:{seconds:02} [{len(self.verdicts)}/{self._total}] {text}")

    def _stop(self) -> None:
        """End the runs in progress with one signal, which no terminal sends them; each ends its processes itself."""
        for each in self._started:
            each.process.terminate()
        for each in self._started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.process.wait(30)

    def _summary(self) -> int:
        """Print the outcome, the last line alone with all counts; return the exit code."""
        names = {verdict: [name for name, found in self.verdicts.items() if found == verdict] for verdict in _VERDICTS}
        for verdict in (DIFFERS, FAILED):
            if names[verdict]:
                self.report(f"{verdict}: {', '.join(names[verdict])}")
        for reason, jobs in self.left_out.items():
            self.report(f"not run, {reason}: {', '.join(job.name for job in jobs)}")
        absent = sum(map(len, self.left_out.values()))
        minutes, seconds = divmod(int(self.elapsed_s), 60)
        counts = ", ".join(f"{len(names[verdict])} {_VERDICTS[verdict]}" for verdict in _VERDICTS)
        text = f"{counts}, {absent} not run, of {len(self.verdicts) + absent} runs, in {minutes} min {seconds} s"
        self.report(f"conformance: {text}; evidence: {self.output}")
        unavailable = any(not reason.startswith(_LATE) for reason in self.left_out)
        if names[FAILED] or unavailable:
            return 70
        return int(bool(names[DIFFERS])) if self.verdicts else 2


def jobs_of(names: Collection[str] = (), releases: Sequence[str] = ()) -> list[RunJob]:
    """Return the jobs of scenarios, by default of all, on releases, by default on their own.

    First comes one run of each scenario, then the second releases: runs at the end are left out first.
    """
    chosen = [scenario for scenario in SCENARIOS if not names or scenario.name in names]
    rounds = range(max(len(releases or scenario.releases) for scenario in chosen))
    return [
        RunJob(scenario, own[number])
        for number in rounds
        for scenario in chosen
        if number < len(own := releases or scenario.releases)
    ]


def expected_s(job: RunJob) -> float:
    """Return about how long a run takes: its steps, half of the limits of its waits, settling, start and collection."""
    playbook: Playbook = playbook_of(job.scenario.path, job.release)
    now_us = end_us = 0
    for step in playbook.steps:
        trigger = step.trigger
        if trigger.kind == "at":
            now_us = max(now_us, trigger.time_us)
        else:
            now_us += max(trigger.time_us, trigger.within_us // 2)
        end_us = max(end_us, now_us, now_us + step.for_us)
    return START_S + (end_us + playbook.settle_us) / 1e6


def _compared(run: StartedRun) -> tuple[Observed, Comparison]:
    """Compare a run that has ended with the model.

    Raises:
        ValueError: it failed.
        One of the errors of :func:`compare_evidence`.
    """
    if run.process.returncode:
        lines = run.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise ValueError(f"{lines[-1] if lines else 'no output'} (all of its output: {run.log})")
    return compare_evidence(run.directory)


def _kept(real: Observed, found: Comparison) -> str:
    """Record a run if there is no recording; return in words what is new about it.

    A recording stays as it is, so that a run that decides the same changes no file. Another outcome that the model has
    as well is only named: which one happens is a race.
    """
    expected = {each.field for each in KNOWN if each.scenario == found.scenario and found.release in each.releases}
    absent = sorted(expected - {each.field for each in found.differences})
    words = [f"known difference not seen: {name}" for name in absent]
    if not recording(found.scenario, found.release).is_file():
        return "; ".join([*words, f"recorded in {write_recording(real, found.release).name}"])
    old, new = facts(read_recording(found.scenario, found.release)), facts(real)
    other = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    words += [f"another outcome than the recorded one: {name}" for name in other]
    return "; ".join(words)
