"""What can go wrong around a report: one line that says what to do, and an earlier report as it was."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from spark_report import __main__ as command
from spark_report import job
from spark_report.job import memory_size
from spark_report.render.output import Staging
from spark_report.spark import errors, session
from spark_report.spark.session import ExecutorMonitor
from tests.support.sessions import leader_crash, write_session
from tests.support.wording import masked_text
from tui.cli.runs import spark_jobs

ROOT = Path(__file__).parents[2]
HEAP = "An error occurred while calling o1.toArrow.\n: java.lang.OutOfMemoryError: Java heap space\n\tat x(Y.java:1)"


class TestWords:
    """Java's words for what a person can do something about."""

    @pytest.mark.parametrize(
        "text",
        [
            HEAP,
            '<_MultiThreadedRendezvous of RPC\n\tdetails = "Application error processing RPC"\n>',
            "x: java.io.IOException: No space left on device",
            "java.nio.file.FileSystemException: /t: Read-only file system",
            "Job aborted: All masters are unresponsive! Giving up.",
            "Task 1 failed 4 times: ExecutorLostFailure (executor 0 exited)",
            "java.io.InvalidClassException: org.apache.X; local class incompatible",
            "java.io.FileNotFoundException: File file:/s/events.parquet does not exist",
        ],
        ids=["heap", "server", "full disk", "read-only disk", "no master", "dead worker", "version", "no such file"],
    )
    def test_known_exceptions_are_explained(self, text: str, snapshot: SnapshotAssertion) -> None:
        assert errors.known_failure(Exception(text)) == snapshot

    def test_the_jvm_log_explains_a_lost_jvm(self, snapshot: SnapshotAssertion) -> None:
        gone = ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        assert errors.jvm_gone(gone)
        assert errors.known_failure(gone, "Could not reserve enough space for object heap") == snapshot
        assert errors.known_failure(gone) == ""

    @pytest.mark.parametrize(
        ("log", "blamed"),
        [
            ("WARN TaskSetManager: Lost task 3.0: ExecutorLostFailure (executor 0 exited)", False),
            ("WARN TaskSetManager: Lost task 3.0: java.io.FileNotFoundException: /s does not exist", False),
            ("ERROR StandaloneSchedulerBackend: Master removed our application: FAILED", True),
        ],
        ids=["dead worker", "no such file", "ended by the master"],
    )
    def test_a_task_that_was_done_again_is_not_blamed_for_what_fails_later(
        self, log: str, blamed: bool, snapshot: SnapshotAssertion
    ) -> None:
        later = Exception("AnalysisException: no column x")
        assert bool(errors.known_failure(later, log)) is blamed
        assert errors.known_failure(later, log) == snapshot

    def test_unknown_failures_get_no_explanation(self) -> None:
        assert errors.known_failure(Exception("AnalysisException: no column x")) == ""
        assert not errors.jvm_gone(Exception("AnalysisException: no column x"))

    def test_a_killed_jvm_is_reported_with_its_signal_and_its_log(
        self, tmp_path: Path, snapshot: SnapshotAssertion
    ) -> None:
        jvm = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE)
        jvm.kill()
        log = tmp_path / "spark.log"
        log.write_text("WARN x\n\tat y\n")
        started = session.RunningSpark(None, "x", log, jvm)  # type: ignore[arg-type]
        told = session.error_for(ConnectionError("Answer from Java side is empty"), started, log, "Spark failed")
        assert isinstance(told, errors.JobError)
        assert told.code == "spark_failed"
        kept = Path(str(told).rpartition(" ")[2])
        assert masked_text(told, kept=kept) == snapshot
        assert kept.read_text() == log.read_text()
        kept.unlink()


class TestOut:
    """A directory that cannot hold the report is found out before Spark starts."""

    def test_somebody_elses_is_named_with_its_owner(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
    ) -> None:
        monkeypatch.setattr("spark_report.render.output.os.access", lambda *_a: False)
        with (
            pytest.raises(errors.ReportError) as caught,
            Staging(tmp_path),
        ):
            pytest.fail("it was taken")  # pragma: no cover
        code, told = caught.value.code, str(caught.value)
        del caught  # with its traceback, which keeps what was begun from being cleared away
        assert code == "unwritable"
        assert f" {tmp_path.owner()}" in told
        assert masked_text(told, out=tmp_path, owner=tmp_path.owner()) == snapshot
        assert list(tmp_path.parent.glob(f".{tmp_path.name}.*")) == []

    def test_the_signal_to_end_takes_down_what_was_begun(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        recorded, out = write_session(tmp_path, leader_crash()), tmp_path / "out"
        out.mkdir()
        (out / "report.html").write_text("<title>floodmark report: x</title>")
        taken_down = []

        @contextlib.contextmanager
        def up(*_a: Any) -> Iterator[session.RunningSpark]:
            try:
                yield session.RunningSpark(None, "given", None)  # type: ignore[arg-type]
            finally:
                taken_down.append("Spark")

        monkeypatch.setattr(job, "_spark", up)
        monkeypatch.setattr(job, "_computed", lambda *_a: signal.raise_signal(signal.SIGTERM))
        before = signal.getsignal(signal.SIGTERM)
        try:
            with pytest.raises(SystemExit) as ended:
                command.main([str(recorded), "--out", str(out)])
        finally:
            signal.signal(signal.SIGTERM, before)
        assert (ended.value.code, taken_down) == (143, ["Spark"])
        assert (out / "report.html").read_text() == "<title>floodmark report: x</title>"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", recorded.name]

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS], ids=["full", "read-only"])
    def test_a_full_or_read_only_disk_leaves_the_earlier_report(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        number: int,
        capsys: pytest.CaptureFixture[str],
        snapshot: SnapshotAssertion,
    ) -> None:
        recorded, out = write_session(tmp_path, leader_crash()), tmp_path / "out"
        out.mkdir()
        (out / "report.html").write_text("<title>floodmark report: x</title>")

        def full(directory: Path, *_rest: Any) -> None:
            (directory / "report.html").write_text("half")
            raise OSError(number, os.strerror(number))

        up = session.RunningSpark(None, "given", None)  # type: ignore[arg-type]
        monkeypatch.setattr(job, "_spark", lambda *_a: contextlib.nullcontext(up))
        monkeypatch.setattr(job, "_computed", lambda *_a: {})
        monkeypatch.setattr(job, "build_story", lambda *_a: None)
        monkeypatch.setattr(job, "_write", full)
        assert command.main([str(recorded), "--out", str(out)]) == 2
        assert masked_text(capsys.readouterr().err.splitlines()[-1], out=out) == snapshot
        assert (out / "report.html").read_text() == "<title>floodmark report: x</title>"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", recorded.name]

    def test_no_place_for_working_files_is_said(
        self, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
    ) -> None:
        def nowhere() -> str:
            raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

        monkeypatch.setattr("spark_report.spark.session.tempfile.gettempdir", nowhere)
        with pytest.raises(errors.ReportError) as caught, session.start():
            pytest.fail("it started")  # pragma: no cover
        assert caught.value.code == "no_working_directory"
        assert str(caught.value) == snapshot

    @pytest.mark.parametrize("size", ["4", "0g", "4G", "4gb", "-1g", "x"])
    def test_a_malformed_size_is_refused(
        self, size: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        with pytest.raises(SystemExit):
            command.main(["x", f"--memory={size}"])
        typed = " ".join(capsys.readouterr().err.split()).rpartition("error: ")[2]
        asked = spark_jobs.engine_error("spark", None, size)  # before anything is made for a campaign
        assert [typed, asked] == snapshot

    @pytest.mark.parametrize("size", ["800m", "4g", "999999m"])
    def test_a_size_is_taken(self, size: str) -> None:
        assert memory_size(size) == size
        assert spark_jobs.engine_error("spark", None, size) == ""


class TestLeftovers:
    def test_leftovers_of_killed_processes_are_removed_but_not_directories_in_use(self, tmp_path: Path) -> None:
        program = (
            "import sys, time, pathlib\nfrom spark_report.spark.session import working_directory as w\n"
            "with w(pathlib.Path(sys.argv[1]), '.out.floodmark-') as d:\n print(d, flush=True)\n time.sleep(60)"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert other.stdout is not None
            held = Path(other.stdout.readline().strip())
            (tmp_path / ".out.git").mkdir()
            with session.working_directory(tmp_path, ".out.floodmark-") as mine:
                assert held.is_dir()
                assert mine.is_dir()
        finally:
            other.kill()
            other.wait()
        with session.working_directory(tmp_path, ".out.floodmark-"):
            assert not held.exists()
        assert [path.name for path in tmp_path.iterdir()] == [".out.git"]


class _Cluster:
    """A driver's view of a cluster, as far as the watch looks: how many processes report, the driver among them."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.cancelled = 0

    def __getattr__(self, _name: str) -> Any:
        return lambda: self

    @property
    def _jsc(self) -> Any:
        return self

    def getExecutorInfos(self) -> list[int]:  # noqa: N802 - Java's name
        return [0] * (self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0])

    def cancelAllJobs(self) -> None:  # noqa: N802 - Java's name
        self.cancelled += 1


@pytest.mark.parametrize(
    ("numbers", "starved"),
    [((1,), True), ((3, 1), True), ((3,), False)],
    ids=["none came", "all are gone", "one works"],
)
def test_a_cluster_without_workers_ends_the_job(
    numbers: tuple[int, ...], starved: bool, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("spark_report.spark.session._LOOK_SECONDS", 0.005)
    cluster: Any = _Cluster(*numbers)
    watch = ExecutorMonitor(cluster, wait=0.02)
    with watch.watching():
        until = time.monotonic() + (10 if starved else 0.2)
        while not watch.starved and time.monotonic() < until:
            time.sleep(0.005)
    assert (watch.starved, cluster.cancelled > 0) == (starved, starved)
    if starved:
        assert watch.why("spark://h:1") == snapshot


@pytest.mark.evening
@pytest.mark.spark
@pytest.mark.parametrize("victim", ["driver by TERM", "driver by KILL", "JVM by KILL"])
def test_a_report_that_is_killed_leaves_the_earlier_one(tmp_path: Path, victim: str) -> None:
    recorded, out = write_session(tmp_path, leader_crash()), tmp_path / "out"
    out.mkdir()
    earlier = '{\n "schema_version": 1,\n "headline": "earlier"}'
    (out / "report.json").write_text(earlier)
    process = subprocess.Popen(
        [sys.executable, "-m", "spark_report", str(recorded), "--out", str(out), "--format", "json"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    printed, jvm = [], 0
    for line in process.stderr:
        printed.append(line)
        if "elections, ISR" in line:
            jvm = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
            number = signal.SIGTERM if victim.endswith("TERM") else signal.SIGKILL
            os.kill(jvm if victim.startswith("JVM") else process.pid, number)
    codes = {"driver by TERM": 143, "driver by KILL": -9, "JVM by KILL": 70}
    assert process.wait() == codes[victim]
    assert (out / "report.json").read_text() == earlier
    if victim.startswith("JVM"):
        assert "signal 9" in printed[-1]
    give_up = time.monotonic() + 60
    while Path(f"/proc/{jvm}/exe").exists() and time.monotonic() < give_up:
        time.sleep(0.1)
    assert not Path(f"/proc/{jvm}/exe").exists()
    assert not any("Traceback" in line or "\tat " in line for line in printed)
