"""Queue of real runs with processes and comparisons that a test makes up: order, time, repetitions, exit codes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.real_kafka.conformance import __main__ as command_line
from tests.real_kafka.conformance import results, run_queue
from tests.real_kafka.conformance.comparison import EQUAL, Difference, facts
from tests.real_kafka.conformance.observed import Observed, ObservedPartition
from tests.real_kafka.conformance.results import Comparison
from tests.real_kafka.conformance.run_queue import AGREES, DIFFERS, FAILED, RunJob, RunQueue, expected_s, jobs_of
from tests.real_kafka.conformance.scenario_table import SCENARIOS, scenario_named
from tests.real_kafka.kafka_jars import KafkaUnavailableError

NAMES = ("gc-pause-short", "two-failures", "leader-shutdown")


@dataclass(slots=True)
class Machine:
    """What runs do on this machine: exit codes of the processes, and facts that differ, run by run."""

    codes: dict[str, list[int]] = field(default_factory=dict)
    differing: dict[str, list[str]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    most: int = 0
    """The most runs that were in progress at once."""
    started: list[str] = field(default_factory=list)
    seconds: float = 0
    """Time that has passed after each run."""
    now_s: float = 0
    _running: int = 0

    def popen(self, command: list[str], **_files: Any) -> "Process":
        """Start a process that ends when it is asked for the second time."""
        directory = Path(command[command.index("--out") + 1])
        self.started.append(directory.name)
        self._running += 1
        self.most = max(self.most, self._running)
        return Process(self, self._next(self.codes, directory.name, 0))

    def compare(self, directory: Path) -> tuple[Observed, Comparison]:
        """Return facts of a run, and its differences."""
        scenario, release = directory.name.removesuffix(".repeated").split("@")
        fact = self._next(self.differing, directory.name, "")
        found = (Difference(fact, "yes", "no", EQUAL),) if fact else ()
        return Observed(scenario, f"Kafka {release}", {"orders-0": ObservedPartition()}), Comparison(
            scenario, release, found
        )

    @staticmethod
    def _next(given: dict[str, list[Any]], name: str, default: Any) -> Any:
        left = given.get(name.removesuffix(".repeated").split("@")[0], [])
        return left.pop(0) if left else default

    def ended(self) -> None:
        """Count a process that has ended."""
        self.now_s += self.seconds
        self._running -= 1


@dataclass(slots=True)
class Process:
    """A process that runs until it has been asked once."""

    machine: Machine
    code: int
    returncode: int | None = None
    asked: int = 0

    def poll(self) -> int | None:
        """Return the exit code once it has ended."""
        self.asked += 1
        if self.asked > 1 and self.returncode is None:
            self.returncode = self.code
            self.machine.ended()
        return self.returncode


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr(run_queue.subprocess, "Popen", found.popen)  # type: ignore[attr-defined]
    monkeypatch.setattr(run_queue, "compare_evidence", found.compare)
    monkeypatch.setattr(run_queue, "compiled_clients", Path)
    monkeypatch.setattr(run_queue.time, "monotonic", lambda: found.now_s)  # type: ignore[attr-defined]
    monkeypatch.setattr(run_queue.time, "sleep", lambda seconds: None)  # type: ignore[attr-defined]
    monkeypatch.setattr(results, "RECORDED", tmp_path / "recorded")
    return found


@pytest.fixture
def conform(machine: Machine, tmp_path: Path) -> Callable[..., tuple[int, RunQueue]]:
    def run(minutes: float = 40, parallel: int = 2) -> tuple[int, RunQueue]:
        queue = RunQueue(tmp_path / "evidence", minutes, parallel, machine.lines.append)
        return queue.run([RunJob(scenario_named(name), "4.1.2") for name in NAMES]), queue

    return run


Conform = Callable[..., tuple[int, RunQueue]]


def left_out(queue: RunQueue) -> list[list[str]]:
    """Return the names of jobs that were not run, reason by reason."""
    return [[job.name for job in jobs] for jobs in queue.left_out.values()]


def test_runs_are_recorded_in_order_so_many_at_a_time(machine: Machine, conform: Conform) -> None:
    code, queue = conform()
    assert code == 0
    assert machine.started == [f"{name}@4.1.2" for name in NAMES]
    assert machine.most == 2
    assert results.recorded() == [(name, "4.1.2") for name in NAMES]
    assert queue.verdicts == {f"{name}@4.1.2": AGREES for name in NAMES}


def test_a_recording_stays_and_another_outcome_is_named(machine: Machine, conform: Conform) -> None:
    conform()
    path = results.recording("two-failures", "4.1.2")
    old = path.read_text(encoding="utf-8").replace('"lost": 0', '"lost": 5')
    path.write_text(old, encoding="utf-8")
    assert conform()[0] == 0
    assert path.read_text(encoding="utf-8") == old
    fact = next(name for name in facts(results.read_recording("two-failures", "4.1.2")) if name.endswith("lost"))
    assert any(line.endswith(fact) for line in machine.lines)


def test_a_run_that_differs_is_repeated_alone(machine: Machine, conform: Conform) -> None:
    machine.differing["two-failures"] = ["orders-0 elections"]
    code, queue = conform()
    assert (code, queue.verdicts["two-failures@4.1.2"]) == (0, AGREES)
    assert machine.started[-1] == "two-failures@4.1.2.repeated"
    machine.differing["two-failures"] = ["orders-0 elections"] * 2
    code, queue = conform()
    assert (code, queue.verdicts["two-failures@4.1.2"]) == (1, DIFFERS)


def test_runs_that_fail_have_their_own_code(machine: Machine, conform: Conform) -> None:
    machine.codes["leader-shutdown"] = [70, 70]
    machine.differing["two-failures"] = ["orders-0 elections"] * 2
    code, queue = conform()
    assert code == 70
    assert list(queue.verdicts.values()) == [AGREES, DIFFERS, FAILED]
    assert not results.recording("leader-shutdown", "4.1.2").exists()


def test_runs_that_would_end_too_late_are_left_out(machine: Machine, conform: Conform) -> None:
    seconds = expected_s(RunJob(scenario_named(NAMES[0]), "4.1.2"))
    code, queue = conform(minutes=(seconds + 1) / 60, parallel=1)
    assert code == 0
    assert machine.started == [f"{NAMES[0]}@4.1.2"]
    assert left_out(queue) == [[f"{name}@4.1.2" for name in NAMES[1:]]]
    assert any(f"{NAMES[1]}@4.1.2, {NAMES[2]}@4.1.2" in line for line in machine.lines)


def test_a_queue_in_which_nothing_fits_agrees_with_nothing(machine: Machine, conform: Conform) -> None:
    code, queue = conform(minutes=0.1)
    assert (code, queue.verdicts, machine.started) == (2, {}, [])
    assert len(left_out(queue)[0]) == len(NAMES)


def test_a_run_that_cannot_be_repeated_in_time_keeps_its_verdict(machine: Machine, conform: Conform) -> None:
    machine.differing[NAMES[0]] = ["orders-0 elections"]
    seconds = expected_s(RunJob(scenario_named(NAMES[0]), "4.1.2"))
    machine.seconds = seconds
    code, queue = conform(minutes=(seconds + 1) / 60, parallel=1)
    assert (code, queue.verdicts) == (1, {f"{NAMES[0]}@4.1.2": DIFFERS})
    assert left_out(queue) == [[f"{name}@4.1.2" for name in NAMES[1:]]]


def test_runs_of_a_release_without_jars_are_left_out(
    machine: Machine, conform: Conform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(release: str) -> Path:
        raise KafkaUnavailableError(release)

    monkeypatch.setattr(run_queue, "compiled_clients", refuse)
    code, queue = conform()
    assert code == 70
    assert machine.started == []
    assert left_out(queue) == [[f"{name}@4.1.2" for name in NAMES]]
    assert list(queue.left_out) == ["4.1.2"]


def test_every_scenario_runs_once_before_any_runs_on_a_second_release() -> None:
    jobs = jobs_of()
    assert [job.scenario for job in jobs[: len(SCENARIOS)]] == list(SCENARIOS)
    assert {job.name for job in jobs} == {f"{each.name}@{release}" for each in SCENARIOS for release in each.releases}
    assert [job.name for job in jobs_of(["two-failures"], ["4.0.2"])] == ["two-failures@4.0.2"]


def test_a_run_is_expected_to_take_its_steps_and_to_settle() -> None:
    assert expected_s(RunJob(scenario_named("gc-pause-short"), "4.1.2")) == run_queue.START_S + 18 + 15
    assert expected_s(RunJob(scenario_named("rolling-restart"), "4.1.2")) == run_queue.START_S + 12 + 120 / 2 + 20


def test_a_machine_without_kafkas_needs_starts_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "missing", lambda: ["the program mvn"])
    monkeypatch.setattr("sys.argv", ["conformance", "conform"])
    assert command_line.main() == 2
    assert machine.started == []
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert errors[0].endswith("the program mvn")


def test_an_unknown_scenario_starts_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["conformance", "conform", "no-such-scenario"])
    assert command_line.main() == 2
    assert machine.started == []


def test_a_directory_without_a_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["conformance", "compare", str(tmp_path)])
    assert command_line.main() == 2
    assert str(tmp_path) in capsys.readouterr().err
