"""Many sessions at a time: the same outcomes as one after the other, and no worker's end stops the batch."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine import worker_pool
from playbooks.engine.worker_pool import NOT_RUN, JobOutcome, JobProgress, PlaybookJob, run_all
from playbooks.errors import worst
from playbooks.session_format import session_files
from tests.support.playbooks import CLUSTER, MANUAL
from tests.support.playbooks import CRASH as BUSY
from tests.support.wording import masked_text

CRASH = BUSY.replace("rate: 100/s", "rate: 20/s")
ENDLESS = CLUSTER + "settle: 1s\nsteps:\n  - at: 100000s\n    heal: all\n"
FAILING = CLUSTER + "settle: 1s\nsteps:\n  - at: 1s\n    heal: all\nexpect:\n  - acked() == 0\n"
BROKEN = "floodmark: 1\nname: broken\n"


def job(text: str, out: Path | None, name: str = "x") -> PlaybookJob:
    return PlaybookJob(text, f"{name}.yaml", out=out)


def told(outcomes: list[JobOutcome]) -> list[tuple[int, str, str]]:
    return [(each.code, each.error, each.result.digest if each.result else "") for each in outcomes]


def documents(outcomes: list[JobOutcome]) -> list[dict[str, object]]:
    return [each.result.to_json() | {"session": ""} for each in outcomes if each.result]


@pytest.mark.slow
def test_in_processes_all_comes_out_as_in_this_one(tmp_path: Path) -> None:
    jobs = [job(text, tmp_path) for text in (CRASH, BROKEN, FAILING, MANUAL)]
    starts: list[int] = []
    ends: list[int] = []
    spread = run_all(
        jobs,
        workers=2,
        on_start=lambda number, _job: starts.append(number),
        on_end=lambda number, _outcome: ends.append(number),
    )
    alone = run_all(jobs, workers=1)
    assert [each.code for each in alone] == [0, 2, 1, 0]
    assert told(spread) == told(alone)
    assert documents(spread) == documents(alone)
    assert (starts, sorted(ends)) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert [each.job for each in spread] == jobs
    recorded = [each.session for each in spread + alone if each.result]
    assert sorted(recorded) == [str(path) for path in session_files.sessions_under(tmp_path)]
    assert spread[1].error.startswith("x.yaml:1:1: ")


def test_without_a_place_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (outcome,) = run_all([job(MANUAL, None)])
    assert (outcome.code, outcome.session, list(tmp_path.iterdir())) == (0, "", [])


def test_after_the_outcome_that_stops_it_nothing_more_begins() -> None:
    outcomes = run_all(
        [job(text, None) for text in (MANUAL, BROKEN, MANUAL)], workers=1, stop_after=lambda outcome: outcome.code != 0
    )
    assert [each.code for each in outcomes] == [0, 2, NOT_RUN]
    assert outcomes[2].error == "not started"


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "file").write_text("")
    (outcome,) = run_all([job(MANUAL, tmp_path / "file")])
    assert (outcome.code, outcome.result) == (2, None)
    assert masked_text(outcome.error, place=tmp_path / "file") == snapshot


def test_an_internal_error_keeps_session_and_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    def explode(*_what: object) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("playbooks.engine.worker_pool.stage", explode)
    outcome, after = run_all([job(MANUAL, tmp_path), job(BROKEN, tmp_path)], workers=1)
    assert (outcome.code, after.code) == (70, 2)
    assert outcome.error == snapshot
    assert "ZeroDivisionError" in Path(outcome.crash_report).read_text()
    assert Path(outcome.crash_report).parent == Path(outcome.session)


@pytest.mark.slow
def test_a_killed_worker_takes_only_its_own_job_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    killed: list[int] = []
    dead: list[worker_pool._Worker] = []
    death = worker_pool._Worker.death

    def last_words(worker: worker_pool._Worker, job: PlaybookJob, *, stopped: bool) -> JobOutcome:
        dead.append(worker)
        return death(worker, job, stopped=stopped)

    monkeypatch.setattr(worker_pool._Worker, "death", last_words)

    def kill(number: int, progress: JobProgress) -> None:
        """As the kernel does to who takes too much memory: the worker of the endless one."""
        if number == 0 and progress.session and not killed:
            import multiprocessing  # noqa: PLC0415

            first = min(multiprocessing.active_children(), key=lambda child: child.name)
            assert first.pid is not None
            killed.append(first.pid)
            os.kill(first.pid, signal.SIGKILL)

    jobs = [job(ENDLESS, tmp_path, "endless"), job(MANUAL, tmp_path), job(CRASH, tmp_path), job(MANUAL, tmp_path)]
    outcomes = run_all(jobs, workers=2, on_progress=kill)
    assert killed
    assert [each.code for each in outcomes] == [70, 0, 0, 0]
    error = outcomes[0].error
    assert "SIGKILL" in error
    assert error == snapshot
    assert error in Path(outcomes[0].crash_report).read_text()
    assert Path(outcomes[0].crash_report).parent == Path(outcomes[0].session)
    (worker,) = dead
    assert worker.line.closed
    with pytest.raises(ValueError, match="closed"):
        worker.process.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_all_and_keeps_what_was_recorded(
    tmp_path: Path, workers: int, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead: list[worker_pool._Worker] = []
    death = worker_pool._Worker.death

    def last_words(worker: worker_pool._Worker, job: PlaybookJob, *, stopped: bool) -> JobOutcome:
        dead.append(worker)
        return death(worker, job, stopped=stopped)

    monkeypatch.setattr(worker_pool._Worker, "death", last_words)
    pid = os.getpid()
    seen: set[int] = set()

    def interrupt(number: int, progress: JobProgress) -> None:
        if progress.now_us >= 2_000_000 and len(seen) < workers:
            seen.add(number)
            if len(seen) == workers:
                threading.Thread(target=lambda: (time.sleep(0.05), os.kill(pid, signal.SIGINT))).start()

    outcomes = run_all([job(ENDLESS, tmp_path)] * 3, workers=workers, on_progress=interrupt)
    assert dead == [], "they are let finish, and tell themselves what they have"
    assert [each.code for each in outcomes] == [130, 130, 130]
    for each in outcomes[:workers]:
        assert masked_text(each.error, session=each.session) == snapshot
        assert (Path(each.session) / session_files.EVENTS).read_bytes().count(b"\n") > 100
    assert len(session_files.sessions_under(tmp_path)) == workers
    assert outcomes[2].error == "not started"


def test_the_worst_exit_code_wins() -> None:
    assert [worst(codes) for codes in ([], [0, NOT_RUN], [0, 3], [3, 1], [1, 2], [2, 70], [70, 130])] == [
        *[0, 0, 3],
        *[1, 2, 70],
        130,
    ]
