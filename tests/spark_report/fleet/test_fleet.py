"""Fleets: every table agrees with its plain twin over many random fleets at once, and is told without a surprise."""

import io
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from docs.generate.report_pages import fleet_tables_page
from spark_report.fleet.render import (
    HTML_MOST_ROWS,
    TERMINAL_MOST_ROWS,
    FleetModel,
    html_page,
    percent,
    rate,
    show_in_terminal,
)
from spark_report.fleet.sources import RUNS
from spark_report.fleet.tables import MEANINGS, TABLES
from spark_report.input.sessions import SkippedDirectory
from tests.spark_report import fleet_twins as twins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = ("finding:lost/tail", "violation:log-matching", "liveness:leader-elected")
FAULTS = ("crash", "gc_pause", "isolate", "power_loss")
FLEETS = 12


def drawn() -> list[dict[str, Any]]:
    """Fleets of one to forty runs, some of them broken inside, some without any measure."""
    dice = random.Random(11)
    return [row for fleet in range(FLEETS) for row in _fleet(dice, f"f{fleet:02}", dice.randint(1, 40))]


def _fleet(dice: random.Random, fleet: str, runs: int) -> list[dict[str, Any]]:
    made = []
    for run in range(1, runs + 1):
        broken = dice.random() < 0.1 and run > 1
        found = [
            {"key": key, "expected": dice.choice(("", "acks=1")), "sentence": f"{key} in {run}"}
            for key in KEYS
            if dice.random() < 0.3
        ]
        error = {"key": "error:ValueError", "expected": "", "sentence": "no"}
        made.append(
            {
                "fleet": fleet,
                "run": run,
                "seed": run * 7,
                "settings": dice.choice(("", "acks=1", "acks=all")),
                "found": [error] if broken else found,
                "faults": [] if broken else dice.sample(FAULTS, dice.randint(0, 4)),
                "recovery_us": None if broken else dice.choice((-1, 0, dice.randint(1, 9) * 1000)),
                "longest_unavailable_us": None if broken else dice.randint(0, 5),
                "unavailable_us": None if broken else dice.randint(0, 50),
                "acked_lost": None if broken else dice.choice((0, 0, 3)),
                "error": "ValueError: no" if broken else "",
                "again": f"floodmark storm x --only {run}",
                "session": "",
            }
        )
    return made


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return drawn()


@pytest.fixture(scope="module")
def runs(spark: "SparkSession", rows: list[dict[str, Any]]) -> "DataFrame":
    return spark.createDataFrame(rows, RUNS).persist()  # type: ignore[type-var]


def same(name: str, frame: "DataFrame", expected: list[dict[str, Any]]) -> None:
    """The frame has the twin's rows, and exactly the columns of its table."""
    names = TABLES[name].columns
    assert sorted(frame.columns) == sorted(names)
    got = [row.asDict() for row in frame.collect()]
    assert len(got) == len(expected) > 0
    text = [each for each in names if MEANINGS[each][0] != "float"]
    order = [each for each in text if each in ("fleet", "key", "measure", "quantile", "one", "other", "settings")]
    for one, other in zip(*(sorted(each, key=lambda row: [row[name] for name in order]) for each in (got, expected)),
                          strict=True):  # fmt: skip
        assert {each: one[each] for each in text} == {each: other[each] for each in text}
        for each in set(names) - set(text):
            assert one[each] == pytest.approx(other[each], abs=1e-9), each


@pytest.mark.spark
def test_findings_and_changes(rows: list[dict[str, Any]], runs: "DataFrame") -> None:
    from spark_report.fleet import tables  # noqa: PLC0415 - imports PySpark

    found = tables.finding_rates(runs)
    same("fleet_findings", found, twins.findings(rows))
    expected = twins.changes(rows, "f03")
    same("fleet_changes", tables.changes(found, runs, "f03"), expected)
    assert {row["change"] for row in expected} >= {"same"}


@pytest.mark.spark
def test_times(rows: list[dict[str, Any]], runs: "DataFrame") -> None:
    from spark_report.fleet import tables  # noqa: PLC0415

    same("fleet_times", tables.recovery_times(runs), twins.times(rows))


@pytest.mark.spark
def test_pairs(rows: list[dict[str, Any]], runs: "DataFrame") -> None:
    from spark_report.fleet import tables  # noqa: PLC0415

    same("fleet_pairs", tables.fault_pairs(runs), twins.pairs(rows, tables.MOST_PAIRS))


@pytest.mark.spark
def test_settings(rows: list[dict[str, Any]], runs: "DataFrame") -> None:
    from spark_report.fleet import tables  # noqa: PLC0415

    same("fleet_settings", tables.ranked_settings(runs), twins.settings(rows))


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    [(0, 10, 0.0, 0.2775), (1, 10, 0.0179, 0.4042), (10, 10, 0.7225, 1.0), (42, 1000, 0.0312, 0.0563)],
)
def test_the_twin_has_wilsons_numbers(hits: int, runs: int, low: float, high: float) -> None:
    assert twins.wilson(hits, runs) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("value", "told"), [(0.0, "0 %"), (1.0, "100 %"), (0.042, "4.2 %"), (0.0005, "0.05 %"), (0.1234, "12.3 %")]
)
def test_a_share_has_three_figures_at_most(value: float, told: str) -> None:
    assert percent(value) == told
    assert rate({"probability": value, "low": 0.0, "high": 1.0}) == f"{told} (0 to 100)"


@pytest.mark.parametrize("beyond", [0, 3])
def test_only_the_first_skipped_directories_are_shown(beyond: int) -> None:
    def told(most: int) -> FleetModel:
        aside = tuple(SkippedDirectory(Path(f"/s/{place}"), f"set-{place} is torn") for place in range(most + beyond))
        return FleetModel((), "", {}, {}, {name: [] for name in TABLES}, aside)

    page = html_page(told(HTML_MOST_ROWS))
    assert page.count(" is torn<") == HTML_MOST_ROWS
    assert page.count(f">{beyond} more, ") == bool(beyond)
    lines = io.StringIO()
    show_in_terminal(Console(file=lines, width=200), told(TERMINAL_MOST_ROWS))
    assert lines.getvalue().count(" is torn\n") == TERMINAL_MOST_ROWS
    assert lines.getvalue().count(f": {beyond} more, ") == bool(beyond)


def test_the_dictionary_is_made_from_the_tables() -> None:
    made = (Path(__file__).parents[3] / "docs" / "reference" / "fleet-tables.md").read_text(encoding="utf-8")
    assert made == fleet_tables_page(), "run: python -m docs.generate fleet-tables > docs/reference/fleet-tables.md"
    assert set(MEANINGS) == {column for table in TABLES.values() for column in table.columns}
