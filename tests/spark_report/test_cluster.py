"""A real master with two workers comes to the same tables as this machine alone, by every way in."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.spark_servers import spark_home
from spark_report.spark import jvm
from spark_report.spark import master as masters
from tests.spark_report.conftest import ReportedSessions, tables_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKED = ("cluster_model", "faults", "playbooks", "spark_report")


def said(out: Path, *command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that writes the tables to ``out``; what it says."""
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
    answer = subprocess.run(
        [*map(str, command), "--out", str(out), "--format", "json"],
        cwd=cwd,
        env={**known, "SPARK_LOCAL_IP": "127.0.0.1", **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return answer.stderr + answer.stdout


def packed(place: Path) -> Path:
    """floodmark as one file, as the page on clusters has it made."""
    subprocess.run([sys.executable, "-m", "zipfile", "-c", str(place), *PACKED], cwd=ROOT, check=True)
    return place


def by_master(sessions: Path, place: Path, url: str) -> Any:
    """By the report's own option."""
    report = (sys.executable, "-m", "spark_report", sessions)
    assert "started (Java" in said(place / "cluster", *report, "--master", url, cwd=ROOT)
    return tables_of(place / "cluster", sessions)


def submitted(sessions: Path, place: Path, url: str) -> Any:
    """By Spark's own program, with floodmark as one file."""
    home = spark_home()
    told = said(
        place / "submitted",
        *(home / "bin" / "spark-submit", "--master", url, "--conf", "spark.driver.host=127.0.0.1"),
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
        *("--py-files", packed(place / "floodmark.zip")),
        *(ROOT / "spark_report" / "submit.py", sessions),
        cwd=place,
        SPARK_HOME=str(home),
        JAVA_HOME=str(jvm.find_java(place).home),
        PYSPARK_DRIVER_PYTHON=sys.executable,
        PYSPARK_PYTHON=sys.executable,
    )
    assert "started (spark-submit)" in told
    return tables_of(place / "submitted", sessions)


@pytest.mark.spark
@pytest.mark.evening
@pytest.mark.parametrize("way", [by_master, submitted])
def test_a_standalone_cluster_computes_the_same_tables(
    way: Callable[[Path, Path, str], Any], known: ReportedSessions, workers: str, tmp_path: Path
) -> None:
    assert way(known.sessions, tmp_path, workers) == known.tables


def test_the_packed_file_holds_all_that_the_report_reads(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path / "floodmark.zip")) as file:
        names = set(file.namelist())
    assert {
        "spark_report/job.py",
        "spark_report/render/templates/report.html.j2",
        "playbooks/session_format/session_files.py",
    } <= names


@pytest.mark.parametrize(
    ("master", "here"),
    [(None, True), ("local[2]", True), ("spark://127.0.0.1:1", True), ("spark://h:1", False), ("yarn", False)],
)
def test_the_driver_listens_to_others_only_where_there_are_others(master: str | None, here: bool) -> None:
    assert masters.is_here(master) is here
