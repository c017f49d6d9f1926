"""A report over Spark Connect is the one of a local Spark, and a server that is none is told in one line."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.standalone import HOST, connect_server, free_ports
from spark_report import connecting, masters
from spark_report.campaigns.job import Campaign, Wanted
from spark_report.errors import ReportError
from tests.spark_report.random_histories import random_history
from tests.support.sessions import write_session
from tests.tui.test_launch import ROOT


def reported(sessions: Path, out: Path, *options: str) -> str:
    command = (sys.executable, "-m", "spark_report", sessions, "--out", out, "--format", "json", *options)
    environment = {**os.environ, "SPARK_LOCAL_IP": HOST}
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.spark
def test_over_spark_connect_the_report_is_the_same(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    for number in range(2):
        rows = random_history(number)
        write_session(sessions, rows, session_id=f"random-{number}", end_us=rows[-1]["at_us"])
    reported(sessions, tmp_path / "local")
    with connect_server() as url:
        said = reported(sessions, tmp_path / "there", "--master", url)
    assert "is up (Spark Connect)" in said
    local, there = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("local", "there"))
    assert there == local
    assert all(there["tables"][name] for name in ("elections", "latency", "partition_lag"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sc://", "found 'sc://', expected"),
        ("sc://host", "found 'sc://host', expected"),
        ("sc://host:99999", "found 'sc://host:99999', expected"),
        ("sc://host:1x/;token=secret", "found 'sc://host:1x/', expected"),
    ],
)
def test_a_url_that_is_none_is_told_without_its_token(url: str, expected: str) -> None:
    with pytest.raises(ReportError) as told:
        masters.check(url)
    assert expected in str(told.value)
    assert "sc://HOST:PORT" in str(told.value)
    assert "secret" not in str(told.value)


def test_nobody_listens_there() -> None:
    (port,) = free_ports(1)
    with pytest.raises(ReportError, match=f"--master: sc://{HOST}:{port}/ cannot be reached: Connection refused"):
        masters.check(f"sc://{HOST}:{port}/;token=secret")


def test_what_listens_is_no_such_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "READY_SECONDS", 0.2)
    with socket.create_server((HOST, 0)) as silent:
        url = f"sc://{HOST}:{silent.getsockname()[1]}"
        with pytest.raises(ReportError, match=f"{url} does not answer as a Spark Connect server"):
            connecting.check(url)


def test_without_its_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ReportError, match=r"pip install 'floodmark\[connect\]'"):
        connecting.check("sc://host:15002")


def test_runs_are_not_given_out_over_it(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="name the cluster's own address"):
        Campaign(Wanted(tmp_path, 1, master="sc://host:15002"), lambda _stage: None)
