"""A report of imported sessions: the recorded logs of a real cluster, with and without a history of clients."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kafka_logs.incident import read_incident
from kafka_logs.session_writer import write_session
from spark_report.fleet.sources import read_sessions
from spark_report.input.sessions import collect_sessions
from spark_report.model.comparison import all_tables
from spark_report.model.report import build_story
from tests.kafka_logs.recorded import lost
from tests.spark_report.conftest import Computed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def tables(computed_together: Computed) -> dict[str, list[dict[str, Any]]]:
    """Rows of the two imported sessions in the tables of a report, ``missing`` first."""
    sessions = [computed_together.sessions[name] for name in ("missing", "lost")]
    story = build_story(sessions, [], computed_together.tables, "")
    ids = [session.session_id for session in sessions]
    return {
        name: sorted(
            (row for row in table.to_pylist() if row.get("session_id") in ids),
            key=lambda row: ids.index(row["session_id"]),
        )
        for name, table in all_tables(story).items()
    }


def test_no_number_of_the_result_differs_from_the_events(tables: dict[str, list[dict[str, Any]]]) -> None:
    assert tables["disagreements"] == []
    assert [each["ledger_agrees"] for each in tables["sessions"]] == [True, True]


def test_the_losses_are_those_of_the_logs(tables: dict[str, list[dict[str, Any]]]) -> None:
    found = [row for row in tables["losses"] if row["status"] == "lost"]
    assert [(row["partition"], row["log_offset"], row["count"], row["committed"]) for row in found] == 2 * [
        ("orders-0", 12, 8, True)
    ]


def test_a_fleet_opens_it_and_does_not_know_what_clients_waited_for(spark: "SparkSession", tmp_path: Path) -> None:
    session = write_session(read_incident(lost("4.1.2")), tmp_path, name="missing")
    sessions, aside = collect_sessions([tmp_path])
    (row,) = read_sessions(spark, "fleet", sessions).collect()
    assert (aside, row.again) == ([], f"floodmark open {shlex.quote(str(session))}")
    assert (row.longest_unavailable_us, row.unavailable_us, row.recovery_us) == (None, None, None)
    assert (row.acked_lost, row.error, list(row.faults)) == (8, "", [])
    assert [each.key for each in row.found] == ["finding:missing/unclean-election"]


def test_the_headlines(tables: dict[str, list[dict[str, Any]]], snapshot: SnapshotAssertion) -> None:
    assert {each["playbook"]: each["headline"] for each in tables["sessions"]} == snapshot


def test_a_partition_is_unavailable_until_its_next_leader(tables: dict[str, list[dict[str, Any]]]) -> None:
    first = next(each["session_id"] for each in tables["sessions"] if each["playbook"] == "missing")
    spans = [
        (row["began_us"], row["ended_us"])
        for row in tables["unavailability"]
        if (row["session_id"], row["partition"], row["scope"]) == (first, "orders-0", "partition")
    ]
    assert spans == [(21_574_000, 25_334_000)]
