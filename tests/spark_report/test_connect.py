"""Spark Connect: a server comes to the same tables and rows as this machine; one that will not do is told at once."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import grpc
import pyspark
import pytest
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto import base_pb2_grpc as service
from syrupy.assertion import SnapshotAssertion

from benchmarks.spark_servers import connect_server
from playbooks.campaign.store import rows_kept
from spark_report import __main__ as command
from spark_report.spark import errors, master, session
from spark_report.spark.errors import ReportError
from tests.spark_report.campaigns.test_campaigns import RUNS, plan_at, running
from tests.spark_report.conftest import ReportedSessions, tables_of
from tests.support.sessions import leader_crash, write_session
from tests.support.wording import masked_text

ROOT = Path(__file__).parents[2]
MOUNT = "spark.hadoop.fs.viewfs.mounttable.lab.link./there"


def typed(module: str, *arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A command in a process of its own: PySpark is of one kind for as long as a process lives."""
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.fixture(scope="module")
def server(known: ReportedSessions) -> Iterator[str]:
    """Where a Spark Connect server listens, which has the known sessions behind a view of Hadoop's."""
    with contextlib.ExitStack() as end:
        with pytest.MonkeyPatch.context() as patch:
            # A server lives for a minute: what would make it faster later makes it slower now.
            patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            url = end.enter_context(connect_server(more={MOUNT: known.sessions.as_uri()}))
        yield url


@pytest.mark.evening
@pytest.mark.spark
def test_a_connect_server_computes_the_same_tables(known: ReportedSessions, server: str, tmp_path: Path) -> None:
    """Over sessions that both see on a disk, and over those that only the server can reach."""
    there, out = "viewfs://lab/there", tmp_path / "out"
    paths = (f"{there}/session_id=one", known.sessions / "session_id=three", f"{there}/session_id=torn", "nosuch://h/x")
    done = typed("spark_report", *paths, "--out", out, "--format", "json", SPARK_REMOTE=f"{server}/;user_id=somebody")
    assert done.returncode == 0, done.stderr
    up = next(line for line in done.stderr.splitlines() if server in line)
    assert up.endswith(f" at {server})")
    tables = tables_of(out, known.sessions, there)
    aside = [row for row in tables["quarantine"] if row["what"] == "directory"]
    tables["quarantine"] = [row for row in tables["quarantine"] if row not in aside]
    assert tables == known.tables
    assert ["nosuch://h/x" in row["reason"] for row in aside] == [True]


@pytest.mark.evening
@pytest.mark.spark
def test_a_connect_server_computes_the_same_rows(server: str, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    plan = plan_at(folder)
    ran = typed("spark_report.campaigns", folder, "--runs", str(RUNS), "--quiet", "--master", server)
    assert ran.returncode == 0, ran.stderr
    assert " on 2 cores" in ran.stderr
    assert rows_kept(folder) == {run: plan.row(run) for run in range(1, RUNS + 1)}
    assert json.loads((folder / "fleet" / "fleet.json").read_text())["fleets"][0]["runs"] == RUNS


@pytest.mark.evening
@pytest.mark.spark
def test_a_server_that_dies_is_one_line_and_leaves_the_earlier_report(server: str, tmp_path: Path) -> None:
    """It is the last test that has this server."""
    recorded, out = write_session(tmp_path, leader_crash()), tmp_path / "out"
    out.mkdir()
    earlier = '{\n "schema_version": 1,\n "headline": "earlier"}'
    (out / "report.json").write_text(earlier)
    printed = []
    process = subprocess.Popen(
        [sys.executable, "-m", "spark_report", recorded, "--out", out, "--format", "json", "--master", server],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        printed.append(line)
        if "elections, ISR" in line:
            break
    (java,) = running("SparkConnectServer")
    os.kill(java, signal.SIGKILL)
    printed += process.stderr.readlines()
    assert process.wait() == 70
    (line,) = [line for line in printed if not line.startswith("[")]
    assert "Spark Connect" in line
    assert (out / "report.json").read_text() == earlier


class _Server(service.SparkConnectServiceServicer):
    """As much of a server as is asked before anything else."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.released: list[str] = []

    def AnalyzePlan(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        told = proto.AnalyzePlanResponse.SparkVersion(version=self.version)
        return proto.AnalyzePlanResponse(session_id=request.session_id, spark_version=told)

    def ReleaseSession(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.released.append(request.session_id)
        return proto.ReleaseSessionResponse(session_id=request.session_id)


@contextlib.contextmanager
def serving(servicer: _Server) -> Iterator[str]:
    server: Any = grpc.server(ThreadPoolExecutor(1))
    add: Any = service.add_SparkConnectServiceServicer_to_server
    add(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def refused(capsys: pytest.CaptureFixture[str], recorded: Path, *more: str) -> str:
    assert command.main([str(recorded), *more]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("[")]
    return line


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_session(tmp_path, leader_crash())


class TestRefused:
    """One line and exit code 2, before anything is asked of Spark."""

    def test_where_nobody_listens(
        self, recorded: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        line = refused(capsys, recorded, "--master", "sc://127.0.0.1:1/;token=secret")
        assert line == snapshot

    def test_where_something_else_listens(
        self, recorded: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def hang_up() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        server.accept()[0].close()

            threading.Thread(target=hang_up, daemon=True).start()
            url = f"sc://127.0.0.1:{server.getsockname()[1]}"
            line = refused(capsys, recorded, "--master", f"{url}/;user_id=me")
            server.shutdown(socket.SHUT_RDWR)
        about, _colon, why = masked_text(line, url=url).rpartition(" server: ")
        assert about == snapshot
        assert why

    def test_another_version(
        self,
        recorded: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        snapshot: SnapshotAssertion,
    ) -> None:
        servicer = _Server("3.5.9")
        with serving(servicer) as url:
            monkeypatch.setenv("SPARK_REMOTE", url)
            line = refused(capsys, recorded)
        assert masked_text(line, url=url, ours=pyspark.__version__) == snapshot
        assert len(servicer.released) == 1

    def test_without_the_libraries(
        self,
        recorded: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        snapshot: SnapshotAssertion,
    ) -> None:
        monkeypatch.setattr(master, "_has", lambda module: module == "grpc")
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"sc://127.0.0.1:{server.getsockname()[1]}"
            line = refused(capsys, recorded, "--master", url)
        assert masked_text(line, url=url) == snapshot

    def test_a_heap(self, recorded: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
        with serving(_Server(pyspark.__version__)) as url:
            line = refused(capsys, recorded, "--master", url, "--memory", "2g")
        assert masked_text(line, url=url) == snapshot

    @pytest.mark.parametrize(
        "url",
        ["sc:", "sc://", "sc://h:0", "sc://h:70000", "sc://h/x", "sc://h;token=secret", "sc://h:1x/;token=secret"],
    )
    def test_invalid_master_urls_are_rejected(self, url: str, snapshot: SnapshotAssertion) -> None:
        with pytest.raises(ReportError) as told:
            master.check_master(url)
        assert told.value.code == "malformed_master"
        assert "secret" not in str(told.value)
        assert str(told.value) == snapshot


def test_an_address_without_a_port_has_that_of_spark() -> None:
    assert master._server("sc://h", "--master") == ("h", 15002)
    assert master._server("sc://[::1]:7/;use_ssl=true;token=a", "--master") == ("::1", 7)


def test_the_environment_names_a_server_where_no_option_does() -> None:
    remote = {"SPARK_REMOTE": "sc://h"}
    assert master.choose_master(None, remote) == ("sc://h", "SPARK_REMOTE")
    assert master.choose_master("local[2]", remote) == ("local[2]", "--master")
    assert master.choose_master(None, {}) == (None, "--master")


def test_the_checked_modules_are_those_of_the_connect_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["connect"] == [f"pyspark[connect]=={pyspark.__version__}"]
    extra = [each for each in metadata.requires("pyspark") or () if each.endswith('extra == "connect"')]
    names = {each.partition(">=")[0] for each in extra}
    assert names - {"numpy", "pandas", "pyarrow"} == set(master.NEEDED.values())
    assert all(map(master._has, master.NEEDED))
    assert not master._has("no_such_thing.at_all")


def test_only_session_settings_are_sent_to_a_connect_server() -> None:
    static = ("spark.master", "spark.driver.", "spark.ui.", "spark.local.", "spark.hadoop.", "spark.sql.warehouse")
    for events in (0, session.MANY_EVENTS):
        assert session._of_session(events)["spark.sql.session.timeZone"] == "UTC"
        assert not [name for name in session._of_session(events) if name.startswith(static)]
    assert errors.known_failure(
        Exception("<_Rendezvous with:\n\tstatus = StatusCode.UNAVAILABLE\n\tConnection refused")
    )
