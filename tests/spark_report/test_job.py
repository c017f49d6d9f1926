"""The whole job: real directories in, all four outputs out, as a function, a command and under spark-submit."""

import io
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from playbooks.session_format import session_files
from playbooks.session_format.bundle import write_bundle
from spark_report import __main__ as command
from spark_report import job
from spark_report.input.frames import read_events
from spark_report.input.sessions import check_session
from spark_report.job import JobResult, default_out, run
from spark_report.model.report import ReportModel
from spark_report.spark import jvm
from spark_report.tables.registry import TABLES
from tests.spark_report.stories import HOSTILE
from tests.support.sessions import leader_crash, tear, write_session
from tests.support.wording import masked_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
JOBS = "reported"
MOST_JOBS = 60
"""What a report may ask of Spark, however many sessions it is over: each costs planning and a round of tasks."""


def command_line(*arguments: str | Path, entry: tuple[str | Path, ...], **environment: str) -> Any:
    """Run a command as a user would, with this environment and nothing else."""
    return subprocess.run(
        [*map(str, entry), *map(str, arguments)],
        env={"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def reported(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """One report over a whole session, a torn one and a foreign one: where it is, its terminal, its stages."""
    parent = tmp_path_factory.mktemp("sessions")
    out = tmp_path_factory.mktemp("reports") / "out"
    write_session(parent, leader_crash(), session_id="a-whole")
    hostile = write_session(
        parent, leader_crash(HOSTILE, HOSTILE), session_id="b-torn", title=HOSTILE, topic=HOSTILE, client=HOSTILE
    )
    tear(hostile)
    (parent / "session_id=c-foreign").mkdir()
    stream = io.StringIO()
    stages: list[str] = []
    spark.sparkContext.setJobGroup(JOBS, "a report over several sessions")
    run([parent], out=out, spark=spark, stage=stages.append, console=Console(file=stream, width=100))
    return out, stream.getvalue(), stages


@pytest.mark.spark
class TestReport:
    @pytest.mark.slow
    def test_the_facts_of_a_session(self, reported: tuple[Path, str, list[str]], snapshot: SnapshotAssertion) -> None:
        rows = {
            row["session_id"]: row for row in pq.read_table(reported[0] / "tables" / "sessions.parquet").to_pylist()
        }
        whole = rows["a-whole"]
        facts = {
            "verdict": "fail",
            "status": "complete",
            "ledger_agrees": True,
            "events": len(leader_crash()),
            "sent": 4000,
            "acked": 3800,
            "unknown": 200,
            "acked_lost": 3,
            "committed_lost": 0,
            "consumed": 3800,
            "elections_clean": 1,
            "elections_unclean": 0,
            "isr_shrinks": 2,
            "isr_expands": 2,
            "unavailable_us": 2_004_330,
            "longest_unavailable_us": 2_004_330,
        }
        assert {name: whole[name] for name in facts} == facts
        assert whole["headline"] == snapshot

    @pytest.mark.usefixtures("reported")
    def test_it_takes_few_jobs_of_spark(self, spark: "SparkSession") -> None:
        assert 0 < len(spark.sparkContext.statusTracker().getJobIdsForGroup(JOBS)) <= MOST_JOBS

    def test_a_torn_session_is_reported_and_says_so(
        self, reported: tuple[Path, str, list[str]], snapshot: SnapshotAssertion
    ) -> None:
        rows = {
            row["session_id"]: row for row in pq.read_table(reported[0] / "tables" / "sessions.parquet").to_pylist()
        }
        torn = rows["b-torn"]
        assert (torn["status"], torn["verdict"], torn["ledger_agrees"]) == ("incomplete", "", None)
        assert torn["events"] == len(leader_crash()) - 1
        assert [torn["headline"], torn["problems"][0]] == snapshot

    def test_skipped_sessions_are_named_in_every_output(
        self, reported: tuple[Path, str, list[str]], snapshot: SnapshotAssertion
    ) -> None:
        out, terminal, stages = reported
        told = json.loads((out / "report.json").read_text(encoding="utf-8"))["set_aside"][0]["reason"]
        reason = told[told.index("session_id=c-foreign") :]
        assert reason == snapshot
        assert "".join(reason.split()) in "".join(terminal.split())  # wrapped wherever the path's length has it
        assert any(reason in stage for stage in stages)
        assert reason in (out / "report.html").read_text(encoding="utf-8")

    def test_all_tables_have_their_columns(self, reported: tuple[Path, str, list[str]]) -> None:
        found = {path.stem: pq.read_schema(path).names for path in (reported[0] / "tables").iterdir()}
        assert found == {name: list(table.columns) for name, table in TABLES.items() if name != "counts"}

    def test_names_from_a_session_stay_text_on_the_page(self, reported: tuple[Path, str, list[str]]) -> None:
        text = (reported[0] / "report.html").read_text(encoding="utf-8")
        assert HOSTILE[:20] not in text
        assert "&lt;/script&gt;&lt;script&gt;document.title=" in text

    def test_the_terminal_reports_cause_and_outage(
        self, reported: tuple[Path, str, list[str]], snapshot: SnapshotAssertion
    ) -> None:
        text = " ".join(reported[1].split())
        found = [re.search(start + r".*?\.(?= |$)", text) for start in ("2 sessions: ", "Why: ", "orders-0 had no ")]
        assert [each and each[0] for each in found] == snapshot


@pytest.mark.spark
class TestReading:
    @pytest.mark.slow
    def test_a_path_full_of_glob_characters_is_meant_literally(self, spark: "SparkSession", tmp_path: Path) -> None:
        parent = tmp_path / "we[i]rd {a,b} 100%?*"
        sealed = write_session(parent, leader_crash(), session_id="one")
        other = write_session(parent, leader_crash(), session_id="two")
        torn = write_session(parent, leader_crash(), session_id="three")
        tear(torn)
        events = read_events(spark, [check_session(path) for path in (sealed, other, torn)])
        length = len(leader_crash())
        counted = {row.session_id: row["count"] for row in events.groupBy("session_id").count().collect()}
        assert counted == {"one": length, "two": length, "three": length - 1}

    def test_a_broken_line_in_the_middle_is_a_hole(self, spark: "SparkSession", tmp_path: Path) -> None:
        session = write_session(tmp_path, leader_crash(), sealed=False)
        log = session / session_files.EVENTS
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        log.write_text("".join([*lines[:5], lines[5][:30] + "\n", *lines[6:]]), encoding="utf-8")
        events = read_events(spark, [check_session(session)])
        assert 5 not in {row.seq for row in events.filter("seq < 10").select("seq").collect()}
        assert events.count() == len(lines) - 1


class TestCommand:
    """Without Spark: what is wrong with the input is said before it would start."""

    def test_bad_input_is_one_line_and_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        assert command.main([str(tmp_path / "nothing")]) == 2
        assert masked_text(capsys.readouterr().err, path=tmp_path / "nothing") == snapshot

    def test_ids_and_bundles_are_sessions_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        recorded = write_session(tmp_path / "sessions", leader_crash())
        bundle = tmp_path / "sent.floodmark"
        write_bundle(recorded, bundle)
        monkeypatch.setenv("FLOODMARK_SESSIONS", str(tmp_path / "sessions"))
        given: list[Any] = []

        def stand_in(paths: list[Any], **options: Any) -> Any:
            given.extend([*paths, options["baseline"]])
            return JobResult(tmp_path, (), 1, ())

        monkeypatch.setattr(command, "run", stand_in)
        session_id = recorded.name.removeprefix(session_files.DIRECTORY_PREFIX)
        words = [session_id, str(bundle), "nowhere", str(tmp_path), "hdfs://h/s", "--baseline", session_id]
        assert command.main(words) == 0
        by_id, unpacked, missing, parent, remote, base = given
        assert (by_id, base, missing, parent, str(remote)) == (
            recorded,
            recorded,
            Path("nowhere"),
            tmp_path,
            "hdfs://h/s",
        )
        assert check_session(unpacked).session_id == session_id
        assert unpacked != recorded

    def test_a_bundle_that_is_none_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        bundle = tmp_path / "bad.floodmark"
        with zipfile.ZipFile(bundle, "w") as packed:
            packed.writestr("bundle.json", "{}")
        assert command.main([str(bundle)]) == 2
        assert masked_text(capsys.readouterr().err, bundle=bundle) == snapshot

    def test_a_baseline_that_is_no_session_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        session = write_session(tmp_path, leader_crash())
        assert command.main([str(session), "--baseline", str(tmp_path / "nothing")]) == 2
        assert masked_text(capsys.readouterr().err, path=tmp_path / "nothing") == snapshot

    def test_an_unknown_format_is_refused_with_those_that_exist(
        self, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        with pytest.raises(SystemExit) as stopped:
            command.main(["x", "--format", "html,pdf"])
        assert stopped.value.code == 2
        text = capsys.readouterr().err
        assert text.startswith("usage: floodmark report ")
        assert text.splitlines()[-1] == snapshot

    def test_a_place_that_cannot_be_written_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        session = write_session(tmp_path, leader_crash())
        blocked = tmp_path / "file"
        blocked.write_text("x", encoding="utf-8")
        assert command.main([str(session), "--out", str(blocked / "report")]) == 2
        assert masked_text(capsys.readouterr().err.splitlines()[-1], out=blocked / "report") == snapshot

    def test_an_id_cannot_lead_the_report_elsewhere(self, tmp_path: Path) -> None:
        start = {"session_id": "../../etc/x"}
        session = write_session(tmp_path, leader_crash(), session_id="x", sealed=False, seed=1)
        path = session / session_files.START
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **start}), encoding="utf-8")
        one = check_session(session)
        assert default_out([one]) == Path("reports/etc-x")
        assert default_out([one, one]) == Path("reports/2-sessions-etc-x")


@pytest.mark.spark
def test_under_spark_submit_the_spark_that_is_there_is_used_and_stopped(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The entry file, in a process that looks as if spark-submit had started it; its Spark goes on all the same."""
    recorded, stopped, used = write_session(tmp_path, leader_crash()), [], []

    def stop(self: "SparkSession") -> None:
        stopped.append(self)

    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(type(spark), "stop", stop)
    monkeypatch.setattr(job, "_computed", lambda session, *_a: used.append((session.range(3).count(), list(stopped))))
    monkeypatch.setattr(job, "build_story", lambda *_a: ReportModel((), (), {}))
    monkeypatch.setattr(job, "_write", lambda *_a: ["report.html"])
    monkeypatch.setattr(sys, "argv", ["submit.py", str(recorded), "--out", str(tmp_path / "out"), "--format", "html"])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "spark_report" / "submit.py"), run_name="__main__")
    finally:
        signal.signal(signal.SIGTERM, before)
    said_ = capsys.readouterr().err
    assert ended.value.code == 0, said_
    assert (used, stopped) == ([(3, [])], [spark])
    assert "started (spark-submit)" in said_
    assert "starting Spark" not in said_
    assert f"  {tmp_path / 'out'}/report.html\n" in said_


@pytest.mark.spark
@pytest.mark.evening
def test_the_same_job_runs_under_spark_submit(tmp_path: Path) -> None:
    import pyspark  # noqa: PLC0415

    home = Path(pyspark.__file__).parent
    session = write_session(tmp_path, leader_crash())
    answer = command_line(
        *(session, "--out", tmp_path / "out", "--format", "html,json"),
        entry=(
            *(home / "bin" / "spark-submit", "--master", "local[1]", "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
            *("--conf", "spark.sql.shuffle.partitions=1", "--conf", "spark.log.level=WARN"),
            *("--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
            ROOT / "spark_report" / "submit.py",
        ),
        PATH=os.environ["PATH"],
        HOME=str(tmp_path),
        JAVA_HOME=str(jvm.find_java(tmp_path).home),
        PYSPARK_PYTHON=sys.executable,
        SPARK_HOME=str(home),
        SPARK_LOCAL_IP="127.0.0.1",
    )
    assert answer.returncode == 0, answer.stderr
    # spark-submit hands all that Python says on to its standard output.
    assert "started (spark-submit)" in answer.stdout
    assert f"  {tmp_path / 'out'}/report.html\n" in answer.stdout
    document = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert document["tables"]["sessions"][0]["acked_lost"] == 3
