"""A session of every version of the schema stays reportable; one that contradicts its own events is told of.

Such a session says something else of itself than its events do: in the report, and as the command ends. All are in one
report.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from playbooks.engine.session_runner import start_session
from playbooks.parser.loader import load
from playbooks.recording.recorder import Recorder
from playbooks.session_format import session_files
from playbooks.session_format.bundle import open_bundle
from spark_report.job import JobResult, run
from tests.playbooks.session_format.test_versions import BUNDLES, GOLDENS, NEWEST, edit, of_tomorrow, reseal
from tests.support.sessions import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FORMAT_1 = ("losses", "violations")
FORMAT_1_PLAYBOOKS = {"format-1", "kip-101-loss-two-brokers"}
SAME = {"inconsistent-offsets", "lost-write", "unseen", "realtime-order"}


class Reported(NamedTuple):
    """What came of the report: its directory, its terminal; and the ids of the two sessions that were recorded now."""

    outcome: JobResult
    out: Path
    terminal: str
    clean: str
    edited: str

    def rows(self, table: str) -> list[Row]:
        rows: list[Row] = pq.read_table(self.out / "tables" / f"{table}.parquet").to_pylist()
        return rows


def renamed(session: Path) -> Path:
    """The session under another id: a report takes no session twice."""
    for name in (session_files.START, session_files.MANIFEST):
        edit(session / name, lambda document: document.update(session_id="newer"))
    reseal(session)
    return session.rename(session_files.directory_of(session.parent, "newer"))


def add_two_records(session: Path) -> None:
    """To the table of a session's records, behind the back of all else that it says."""
    table = pq.read_table(session / session_files.LEDGER)
    rows = table.to_pylist()
    rows[0]["records"] += 2
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), session / session_files.LEDGER)


@pytest.fixture(scope="module")
def reported(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Reported:
    parent, recorded, out = (tmp_path_factory.mktemp(name) for name in ("sessions", "recorded", "report"))
    sessions = [open_bundle(bundle, parent / bundle.stem) for bundle in BUNDLES]
    sessions += [open_bundle(GOLDENS / f"format-1-{name}.floodmark", parent / name) for name in FORMAT_1]
    sessions += [renamed(of_tomorrow(open_bundle(NEWEST, parent / "newer")))]
    for _ in range(2):
        start_session(load(GOLDENS / "playbook.yaml"), recorder=Recorder(recorded)).finish()
    clean, edited = sorted(recorded.iterdir())
    add_two_records(edited)
    stream = io.StringIO()
    outcome = run([*sessions, recorded], out=out / "out", spark=spark, console=Console(file=stream, width=300))
    ids = (each.name.removeprefix(session_files.DIRECTORY_PREFIX) for each in (clean, edited))
    return Reported(outcome, out / "out", stream.getvalue(), *ids)


def test_golden_sessions_are_reported_and_what_a_later_version_adds_is_left_out(reported: Reported) -> None:
    assert BUNDLES
    assert (reported.outcome.reported, list(reported.outcome.set_aside)) == (len(BUNDLES) + len(FORMAT_1) + 1 + 2, [])
    rows = reported.rows("sessions")
    assert len(rows) == len(BUNDLES) + len(FORMAT_1) + 1 + 2
    assert {row["acked_lost"] for row in rows if row["playbook"] not in FORMAT_1_PLAYBOOKS} == {19}
    assert {row["playbook"]: row["acked_lost"] for row in rows if row["playbook"] in FORMAT_1_PLAYBOOKS} == {
        "format-1": 4,
        "kip-101-loss-two-brokers": 1,
    }
    assert reported.terminal.count("1 moon_rose") == 1


def test_an_edited_table_of_records_is_reported(reported: Reported) -> None:
    assert reported.outcome.contradicted == (reported.edited,)
    told = reported.rows("disagreements")
    assert {row["session_id"] for row in told} == {reported.edited}
    assert {(row["source"], row["partition"]) for row in told} == {("ledger.parquet", "orders-0")}
    assert all(row["reported"] - row["found"] == 2 for row in told)
    assert "Disagreement: ledger.parquet has" in reported.terminal
    again = [row for row in reported.rows("anomalies") if row["session_id"] == reported.clean]
    assert {row["anomaly"]: row["found"] for row in again if row["anomaly"] in SAME} == dict.fromkeys(SAME, 19)
