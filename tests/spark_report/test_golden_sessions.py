"""A session of every version of the schema stays reportable."""

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from playbooks.bundling import open_bundle
from spark_report.job import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUNDLES = sorted((Path(__file__).parents[1] / "playbooks" / "golden_sessions").glob("schema-*.floodmark"))


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
