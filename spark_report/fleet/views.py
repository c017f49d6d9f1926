"""The tables of a fleet report as people read them, the same on a page, in a terminal and in Markdown."""

from collections.abc import Callable
from typing import Any, Final

from spark_report.fleet.render import SUMS, FleetStory, Row, chosen, percent, rate, when
from spark_report.model.format import number
from spark_report.render.tables import View, view

_MEASURES: Final = {
    "recovery_us": "until all was well",
    "longest_unavailable_us": "longest outage",
    "unavailable_us": "outages added up",
}

Columns = dict[str, Callable[[Row], Any]]


def views(story: FleetStory, *, short: bool = False) -> list[View]:
    """All tables that have rows, most telling first; ``short`` leaves the commands out, for a narrow terminal."""
    made = [changes(story), findings(story), times(story), pairs(story), ranked(story)]
    return [_narrowed(each) if short else each for each in made if each]


def changes(story: FleetStory) -> View:
    """Against the baseline: what changed for sure, and then the rest."""
    columns: Columns = {
        **_fleet(story),
        "finding": lambda row: row["key"],
        "change": lambda row: row["change"],
        "before": lambda row: percent(row["before"]),
        "now": lambda row: percent(row["probability"]),
        "difference": _difference,
        **_run(),
    }
    title = f"Against {story.baseline}"
    return view("fleet_changes", title, story.tables.get("fleet_changes", []), columns, "before|now|difference|run")


def findings(story: FleetStory) -> View:
    """How likely each finding is."""
    columns: Columns = {
        **_fleet(story),
        "finding": lambda row: _sum_words(row["key"]),
        "runs": lambda row: f"{number(row['hits'])} of {number(row['runs'])}",
        "probability": rate,
        "expected": lambda row: "" if row["key"] in SUMS else row["expected"] or "SURPRISING",
        **_run(),
    }
    return view("fleet_findings", "How likely it is", story.tables["fleet_findings"], columns, "runs|probability|run")


def times(story: FleetStory) -> View:
    """How long it takes."""
    columns: Columns = {
        **_fleet(story),
        "time": lambda row: _MEASURES[row["measure"]],
        "quantile": lambda row: row["quantile"],
        "took": lambda row: when(row["value_us"]),
        "never": lambda row: row["never"] or "",
        **_run(),
    }
    return view("fleet_times", "How long it takes", story.tables["fleet_times"], columns, "took|never|run")


def pairs(story: FleetStory) -> View:
    """Faults that are dangerous together."""
    columns: Columns = {
        **_fleet(story),
        "faults": lambda row: f"{row['one']} + {row['other']}",
        "finding": lambda row: _sum_words(row["key"]),
        "runs": lambda row: f"{number(row['hits'])} of {number(row['runs'])}",
        "probability": rate,
        "lift": lambda row: f"{row['lift']:.2f}",
        **_run(),
    }
    rows = sorted(story.tables["fleet_pairs"], key=lambda row: (row["fleet"], row["key"] not in SUMS, row["key"]))
    return view("fleet_pairs", "Faults that are dangerous together", rows, columns, "runs|probability|lift|run")


def ranked(story: FleetStory) -> View:
    """Settings, best first; nothing where there is nothing to choose from."""
    rows = story.tables["fleet_settings"]
    rows = rows if len(rows) > 1 else []
    columns: Columns = {
        "rank": lambda row: row["rank"],
        **_fleet(story),
        "settings": chosen,
        "runs": lambda row: number(row["runs"]),
        "surprising": lambda row: number(row["surprising_hits"]),
        "anything": rate,
        "lossy": lambda row: number(row["lossy_runs"]),
        "outage": lambda row: when(row["outage_p50_us"]) if row["outage_p50_us"] is not None else "",
        **_run("worst run"),
    }
    numeric = "rank|runs|surprising|anything|lossy|outage|worst run"
    return view("fleet_settings", "Settings, best first", rows, columns, numeric)


def _fleet(story: FleetStory) -> Columns:
    return {"fleet": lambda row: row["fleet"]} if story.several else {}


def _run(name: str = "run") -> Columns:
    return {name: lambda row: row["run"], "again": lambda row: row["again"]}


def _sum_words(key: str) -> str:
    return {"any": "(anything)", "surprising": "(anything surprising)"}.get(key, key)


def _difference(row: Row) -> str:
    sign = "+" if row["difference"] > 0 else "-" if row["difference"] < 0 else ""
    low, high = row["low"] * 100, row["high"] * 100
    return f"{sign}{percent(abs(row['difference']))} ({low:+.1f} to {high:+.1f})"


def _narrowed(whole: View) -> View:
    kept = [place for place, name in enumerate(whole.columns) if name not in ("again", "expected", "never", "lossy")]
    rows = tuple(tuple(row[place] for place in kept) for row in whole.rows)
    return View(whole.name, whole.title, tuple(whole.columns[place] for place in kept), whole.numeric, rows)
