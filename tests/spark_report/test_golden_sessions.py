"""A session of every version of the schema stays reportable."""

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from playbooks.bundling import open_bundle
from spark_report.job import run
from tests.playbooks.test_versions import BUNDLES, NEWEST, of_tomorrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_golden_sessions_are_reported(spark: "SparkSession", tmp_path: Path) -> None:
    assert BUNDLES
    for bundle in BUNDLES:
        session = open_bundle(bundle, tmp_path / bundle.stem)
        stream = io.StringIO()
        outcome = run([session], out=tmp_path / "out", spark=spark, console=Console(file=stream, width=100))
        assert (outcome.reported, list(outcome.set_aside)) == (1, [])
        assert "19" in stream.getvalue()
        shutil.rmtree(tmp_path / "out")


@pytest.mark.spark
def test_what_a_later_version_adds_is_left_out_of_a_report(spark: "SparkSession", tmp_path: Path) -> None:
    session = of_tomorrow(open_bundle(NEWEST, tmp_path / "newer"))
    stream = io.StringIO()
    outcome = run([session], out=tmp_path / "out", spark=spark, console=Console(file=stream, width=200))
    assert outcome.reported == 1
    assert "1 moon_rose" in stream.getvalue()
