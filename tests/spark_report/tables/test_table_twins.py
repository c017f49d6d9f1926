"""Spark and the plain-Python twins say the same about random sessions, table by table.

All sessions are in one report: a query on them shows as well that none leaks into another.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from playbooks.session_format import session_files
from spark_report.input.sessions import Recorded, look_at
from spark_report.tables import anomaly_recount, collect, compute
from spark_report.tables.collect import Tables
from spark_report.tables.registry import TABLES
from tests.spark_report import twins_clients, twins_lasting, twins_numbers, twins_points, twins_troubles
from tests.spark_report.random_histories import CONTROLLERS, MIN_ISR, PLACED, random_history
from tests.spark_report.twins_common import Found, History, Twin
from tests.support.sessions import Row, ledger_of, write_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SESSIONS = 20
TORN = "random-07"
"""A session that was never sealed: it has no result, and ends with its last event."""

TWINS: Final[dict[str, Twin]] = {
    name: getattr(module, name)
    for module in (twins_points, twins_lasting, twins_troubles, twins_numbers, twins_clients)
    for name in compute.COLUMNS
    if hasattr(module, name)
}

RETOLD: Final = {*anomaly_recount.RECOUNT_TABLES, "findings", "anomalies_told"}
"""Tables that are no query: what one walk in Python counts again, and what a session's result says of itself."""


def write(parent: Path) -> dict[str, History]:
    """Random sessions, recorded; and what their twins are to know of them."""
    found = {}
    for number in range(SESSIONS):
        name, rows = f"random-{number:02}", random_history(number)
        last = rows[-1]["at_us"]
        # What happens at a session's very end is part of it, and the last bin may begin there.
        end_us = last if name == TORN else last + (0, 50, 3_000_000)[number % 3]
        controller = (None, "", *CONTROLLERS)[number % 5]
        first = {} if controller is None else {"controller": controller}
        topics = [_topic(topic) for topic in ("orders", "audit")]
        write_session(parent, rows, session_id=name, sealed=name != TORN, end_us=end_us, topics=topics, **first)
        ledger = None if name == TORN else ledger_of(rows)
        found[name] = History(rows, end_us, PLACED, MIN_ISR, controller, ledger)
    return found


def _topic(name: str) -> dict[str, Any]:
    assignment = {each: replicas for each, replicas in PLACED.items() if each.startswith(name)}
    width = len(next(iter(assignment.values())))
    plain = {"name": name, "partitions": len(assignment), "replication": width, "assignment": assignment}
    return {**plain, "min_isr": MIN_ISR[f"{name}-0"]}


def recorded(parent: Path, names: Iterable[str]) -> list[Recorded]:
    return [look_at(session_files.directory_of(parent, name)) for name in names]


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, History]]:
    parent = tmp_path_factory.mktemp("sessions")
    return parent, write(parent)


@pytest.fixture(scope="module")
def computed(spark: "SparkSession", histories: tuple[Path, dict[str, History]]) -> Tables:
    parent, known = histories
    return compute.compute(spark, recorded(parent, known), lambda _stage: None)


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


def alike(found: str) -> None:
    if found:
        pytest.fail(found, pytrace=False)


def test_every_table_that_is_computed_has_a_twin() -> None:
    assert set(TWINS) == set(compute.COLUMNS) - RETOLD


def test_the_sessions_have_rows_for_every_table(computed: Tables) -> None:
    assert {name for name in TWINS if not computed[name].num_rows} == set()
    assert computed["left_out"].num_rows == 0


@pytest.mark.parametrize("table", TWINS)
def test_spark_says_what_the_twin_says(
    table: str, computed: Tables, histories: tuple[Path, dict[str, History]]
) -> None:
    alike(differences(table, computed[table].to_pylist(), by_twin(table, histories[1])))


def test_the_path_for_much_data_comes_to_the_same(
    spark: "SparkSession",
    computed: Tables,
    histories: tuple[Path, dict[str, History]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent, known = histories
    monkeypatch.setattr(collect, "LITTLE_EVENTS", 0)
    much = compute.compute(spark, recorded(parent, known), lambda _stage: None)
    assert list(much) == list(computed)
    for name, table in computed.items():
        alike(differences(name, much[name].to_pylist(), table.to_pylist()))
