"""The charts of a fleet report as plain Plotly figures; the page puts in what depends on light or dark."""

from typing import Any, Final

from spark_report.fleet.render import SUMS, FleetStory, Row, chosen, rate, when
from spark_report.render.charts import ALARM, CALM, LINES, WARNING, Figure, text

MOST_BARS: Final = 24
_ROW_PX: Final = 26
_SECOND: Final = 1_000_000


def findings(story: FleetStory) -> Figure | None:
    """A dot with its interval for each finding; None where nothing was found."""
    rows = [row for row in story.tables["fleet_findings"] if row["key"] not in SUMS][:MOST_BARS]
    if not rows:
        return None
    traces = []
    for name, color, own in (
        ("surprising", ALARM, [row for row in rows if not row["expected"]]),
        ("expected", WARNING, [row for row in rows if row["expected"]]),
    ):
        if own:
            traces.append(_dots(name, color, own, [_label(story, row["fleet"], row["key"]) for row in own]))
    return _laid_out(traces, len(rows), "share of the runs, with its 95 % interval")


def ranked(story: FleetStory) -> Figure | None:
    """A dot with its interval for each combination of settings; None where there is only one."""
    rows = story.tables["fleet_settings"][:MOST_BARS]
    if len(rows) < 2:
        return None
    labels = [_label(story, row["fleet"], chosen(row)) for row in rows]
    trace = _dots("found anything", CALM, rows, labels)
    return _laid_out([trace], len(rows), "share of the runs that found anything, with its 95 % interval")


def times(story: FleetStory) -> Figure | None:
    """Quantiles of the times until all was well, and of the longest outages, side by side; None without any."""
    rows = [row for row in story.tables["fleet_times"] if row["measure"] != "unavailable_us"]
    traces: list[Figure] = []
    words = {"recovery_us": "until all was well", "longest_unavailable_us": "longest outage"}
    lines = dict.fromkeys((row["fleet"], row["measure"]) for row in rows)
    for place, (fleet, measure) in enumerate(lines):
        own = [row for row in rows if (row["fleet"], row["measure"]) == (fleet, measure)]
        traces.append(
            {
                "type": "bar",
                "name": text(_label(story, fleet, words[measure])),
                "x": [row["quantile"] for row in own],
                "y": [None if row["value_us"] is None else row["value_us"] / _SECOND for row in own],
                "text": [when(row["value_us"]) for row in own],
                "hovertext": [text(f"{when(row['value_us'])}: run {row['run']}, seed {row['seed']}") for row in own],
                "hoverinfo": "text",
                "marker": {"color": LINES[place % len(LINES)]},
            }
        )
    if not traces:
        return None
    layout = {
        "barmode": "group",
        "height": 320,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
        "legend": {"orientation": "h", "y": 1.12},
        "xaxis": {"type": "category"},
        "yaxis": {"title": {"text": "virtual time, s"}, "rangemode": "tozero", "automargin": True},
    }
    return {"data": traces, "layout": layout}


def _dots(name: str, color: str, rows: list[Row], labels: list[str]) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [row["probability"] * 100 for row in rows],
        "y": [text(label) for label in labels],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [(row["high"] - row["probability"]) * 100 for row in rows],
            "arrayminus": [(row["probability"] - row["low"]) * 100 for row in rows],
            "color": color,
        },
        "hovertext": [text(f"{rate(row)}, run {row['run']}") for row in rows],
        "hoverinfo": "text+y",
        "marker": {"color": color, "size": 10, "symbol": "circle" if name != "expected" else "diamond"},
    }


def _laid_out(traces: list[Figure], lanes: int, title: str) -> Figure:
    layout: dict[str, Any] = {
        "height": 100 + _ROW_PX * max(2, lanes),
        "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "showlegend": True,
        "hovermode": "closest",
        "xaxis": {"title": {"text": title}, "rangemode": "tozero", "ticksuffix": " %"},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True, "fixedrange": True},
    }
    return {"data": traces, "layout": layout}


def _label(story: FleetStory, fleet: str, what: str) -> str:
    return f"{fleet}: {what}" if story.several else what
