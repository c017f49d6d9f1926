"""A session that says something else of itself than its events do is told of, in the report and as the command ends."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import load
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from spark_report.job import run
from tests.playbooks.session_format.test_versions import GOLDENS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAME = {"inconsistent-offsets", "lost-write", "unseen", "realtime-order"}


@pytest.mark.spark
def test_an_edited_table_of_records_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    parent = tmp_path / "sessions"
    for _ in range(2):
        start_session(load(GOLDENS / "playbook.yaml"), recorder=Recorder(parent)).finish()
    clean, edited = sorted(parent.iterdir())
    table = pq.read_table(edited / session_files.LEDGER)
    rows = table.to_pylist()
    rows[0]["records"] += 2
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), edited / session_files.LEDGER)
    stream = io.StringIO()
    outcome = run([parent], out=tmp_path / "out", spark=spark, console=Console(file=stream, width=300))
    name = edited.name.removeprefix(session_files.DIRECTORY_PREFIX)
    assert outcome.contradicted == (name,)
    tables = tmp_path / "out" / "tables"
    told = pq.read_table(tables / "disagreements.parquet").to_pylist()
    assert {row["session_id"] for row in told} == {name}
    assert {(row["source"], row["partition"]) for row in told} == {("ledger.parquet", "orders-0")}
    assert all(row["told"] - row["found"] == 2 for row in told)
    assert "Its ledger.parquet says" in stream.getvalue()
    again = [row for row in pq.read_table(tables / "anomalies.parquet").to_pylist() if row["session_id"] != name]
    assert {row["anomaly"]: row["found"] for row in again if row["anomaly"] in SAME} == dict.fromkeys(SAME, 19)
    assert {row["session_id"] for row in again} == {clean.name.removeprefix(session_files.DIRECTORY_PREFIX)}
