"""A session of every version of the schema stays reportable."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from playbooks.session_format import session_files
from playbooks.session_format.bundle import open_bundle
from spark_report.job import run
from tests.playbooks.session_format.test_versions import BUNDLES, NEWEST, edit, of_tomorrow, reseal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def renamed(session: Path) -> Path:
    """The session under another id: a report takes no session twice."""
    for name in (session_files.START, session_files.MANIFEST):
        edit(session / name, lambda document: document.update(session_id="newer"))
    reseal(session)
    return session.rename(session_files.directory_of(session.parent, "newer"))


@pytest.mark.spark
def test_golden_sessions_are_reported_and_what_a_later_version_adds_is_left_out(
    spark: "SparkSession", tmp_path: Path
) -> None:
    assert BUNDLES
    parent = tmp_path / "sessions"
    sessions = [open_bundle(bundle, parent / bundle.stem) for bundle in BUNDLES]
    sessions += [renamed(of_tomorrow(open_bundle(NEWEST, parent / "newer")))]
    stream = io.StringIO()
    outcome = run(sessions, out=tmp_path / "out", spark=spark, console=Console(file=stream, width=200))
    assert (outcome.reported, list(outcome.set_aside)) == (len(BUNDLES) + 1, [])
    rows = pq.read_table(tmp_path / "out" / "tables" / "sessions.parquet").to_pylist()
    assert {row["acked_lost"] for row in rows} == {19}
    assert stream.getvalue().count("1 moon_rose") == 1
