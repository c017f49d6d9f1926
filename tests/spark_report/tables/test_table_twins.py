"""Spark and the plain-Python twins say the same about random sessions, table by table.

All sessions are in one report: a query on them shows as well that none leaks into another.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pytest

from spark_report.tables import anomaly_recount, collect, compute
from spark_report.tables.registry import TABLES
from tests.spark_report import twins_clients, twins_lasting, twins_numbers, twins_points, twins_troubles
from tests.spark_report.conftest import Computed
from tests.spark_report.twins_common import Found, History, Twin
from tests.support.sessions import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TWINS: Final[dict[str, Twin]] = {
    name: getattr(module, name)
    for module in (twins_points, twins_lasting, twins_troubles, twins_numbers, twins_clients)
    for name in compute.COLUMNS
    if hasattr(module, name)
}

RETOLD: Final = {
    *anomaly_recount.RECOUNT_TABLES,
    *("findings", "reported_anomalies", "points_of_no_return", "remedies"),
}
"""Tables that are no query: what one walk in Python counts again, and what a session's result says of itself."""


def said(table: str, rows: Iterable[Row]) -> Counter[str]:
    """Rows with the columns of a table, whatever their order."""
    return Counter(repr({name: row[name] for name in TABLES[table].columns}) for row in rows)


def by_twin(table: str, known: dict[str, History]) -> Found:
    return [{"session_id": name, **row} for name, history in known.items() for row in TWINS[table](history)]


def differences(table: str, found: Iterable[Row], expected: Iterable[Row]) -> str:
    """The first rows that only one of them has; empty where they say the same."""
    has, wants = said(table, found), said(table, expected)
    only = [("only Spark", row) for row in sorted(has - wants)] + [("only twin", row) for row in sorted(wants - has)]
    only.sort(key=lambda pair: pair[1])
    told = "\n".join(f"{who}: {row}" for who, row in only[:12])
    return f"{table}: {len(only)} rows differ\n{told}" if only else ""


def test_every_table_that_is_computed_has_a_twin() -> None:
    assert set(TWINS) == set(compute.COLUMNS) - RETOLD


def test_the_sessions_have_rows_for_every_table(computed_together: Computed) -> None:
    assert {name for name in TWINS if not computed_together.of_random(name)} == set()
    assert computed_together.tables["left_out"].num_rows == 0


@pytest.mark.parametrize("table", TWINS)
def test_spark_says_what_the_twin_says(table: str, computed_together: Computed) -> None:
    found, expected = computed_together.of_random(table), by_twin(table, computed_together.histories)
    assert differences(table, found, expected) == ""


@pytest.mark.evening
def test_the_path_for_large_data_computes_the_same_tables(
    spark: "SparkSession", computed_together: Computed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "LITTLE_EVENTS", 0)
    sessions = [computed_together.sessions[name] for name in computed_together.histories]
    much = compute.compute(spark, sessions, lambda _stage: None)
    assert list(much) == list(computed_together.tables)
    for name, table in much.items():
        assert differences(name, table.to_pylist(), computed_together.of_random(name)) == ""
