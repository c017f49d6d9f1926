"""A report of imported sessions: the recorded logs of a real cluster, with and without a history of clients."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kafka_logs.incident import read_incident
from kafka_logs.session_writer import write_session
from spark_report.job import run
from tests.kafka_logs.recorded import DATA, acknowledged, lost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def tables(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Tables of a report of two sessions: the first without acknowledgements, the second with them."""
    parent, out = tmp_path_factory.mktemp("sessions"), tmp_path_factory.mktemp("report")
    one = write_session(read_incident(lost("4.1.2")), parent, name="missing")
    incident = read_incident(DATA / "4.1.2-rejoined", clients=acknowledged("4.1.2"))
    other = write_session(incident, parent, name="lost")
    run([one, other], out=out, formats=["json"], spark=spark)
    found: dict[str, list[dict[str, Any]]] = json.loads((out / "report.json").read_text(encoding="utf-8"))["tables"]
    return found


def test_no_number_of_the_result_differs_from_the_events(tables: dict[str, list[dict[str, Any]]]) -> None:
    assert tables["disagreements"] == []
    assert [each["ledger_agrees"] for each in tables["sessions"]] == [True, True]


def test_the_losses_are_those_of_the_logs(tables: dict[str, list[dict[str, Any]]]) -> None:
    found = [row for row in tables["losses"] if row["status"] == "lost"]
    assert [(row["partition"], row["log_offset"], row["count"], row["committed"]) for row in found] == 2 * [
        ("orders-0", 12, 8, True)
    ]


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
