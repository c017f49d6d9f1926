"""Charts of what a fault changed: a row for whom it struck, a mark each for before, during and after."""

from collections.abc import Callable
from typing import Final

from spark_report.model import phases
from spark_report.model.format import duration, instant, several, share
from spark_report.model.report import Row, SessionStory
from spark_report.render.charts import LINES, Figure, decades, text

MOST_FAULTS: Final = 8
"""Faults with rows of their own, those that lasted longest."""
MOST_CLIENTS: Final = 4
_LANE_PX: Final = 24
_MARKS: Final = {
    "before": {"symbol": "circle-open", "color": LINES[0], "size": 11, "line": {"width": 2.5}},
    "during": {"symbol": "diamond", "color": "#E8622C", "size": 12},
    "after": {"symbol": "circle", "color": LINES[0], "size": 9},
}
_OFFSETS: Final = {"before": -0.22, "during": 0.0, "after": 0.22}
"""Marks of one value would cover each other."""
_FLOOR: Final = 0.9
"""The scale of shares begins here, unless one is less."""


def availability(story: SessionStory) -> Figure | None:
    """The share of time with service around each fault; None without faults or without time."""
    if story.timeless:
        return None
    found = {(row["fault_id"], row["scope"], row["phase"]): row for scope in ("partition", "client")
             for row in phases.served(story, scope)}  # fmt: skip
    rows = [
        (fault, label, {phase: found[fault["fault_id"], scope, phase]["availability"] * 100
                        for phase in phases.PHASES if (fault["fault_id"], scope, phase) in found})
        for fault in shown(story)
        for scope, label in (("partition", "partitions"), ("client", "clients"))
    ]  # fmt: skip
    least = min((value for _fault, _label, values in rows for value in values.values()), default=None)
    if least is None:
        return None
    low = min(_FLOOR * 100, least - 2)
    axis = {"title": {"text": "share of the time with service, %"}, "range": [max(-2, low), 100.6], "zeroline": False}
    return _figure(rows, axis, lambda value: share(value / 100))


def latency(story: SessionStory) -> Figure | None:
    """The latency of 99 % of acknowledgements around each fault; None where none was timed."""
    by_key = {
        (row["fault_id"], row["client"], row["phase"]): row
        for row in story.tables["fault_latency"]
        if row["what"] == "produce"
    }
    if story.timeless or not by_key:
        return None
    clients = sorted({client for _fault, client, _phase in by_key})[:MOST_CLIENTS]
    rows = []
    for fault in shown(story):
        for client in clients:
            own = {
                phase: float(max(1, by_key[fault["fault_id"], client, phase]["p99_us"]))
                for phase in phases.PHASES
                if (fault["fault_id"], client, phase) in by_key
            }
            rows.append((fault, client, own))
    values = [value for _fault, _label, own in rows for value in own.values()]
    if not values:
        return None
    axis = {
        "title": {"text": "99 % acknowledged within"},
        "type": "log",
        **decades(min(values), max(values), margin=1.35),
        "zeroline": False,
    }
    return _figure(rows, axis, lambda value: duration(round(value)))


def shown(story: SessionStory) -> list[Row]:
    """The faults with rows in these charts, in order."""
    faults = story.tables["faults"]
    longest = sorted(faults, key=lambda row: row["began_us"] - row["ended_us"])[:MOST_FAULTS]
    return [row for row in faults if row in longest]


def left_out(story: SessionStory) -> str:
    """What to say of faults without rows; empty where all have some."""
    more = len(story.tables["faults"]) - MOST_FAULTS
    return f" {several(more, 'fault')} that passed sooner are in the tables." if more > 0 else ""


def _figure(rows: list[tuple[Row, str, dict[str, float]]], axis: Figure, words: Callable[[float], str]) -> Figure:
    labels: list[str] = []
    headings: list[tuple[int, str]] = []
    points: dict[str, list[tuple[float, float, str]]] = {phase: [] for phase in phases.PHASES}
    last = None
    for fault, label, values in rows:
        if fault is not last:
            headings.append((len(labels), f"{fault['fault']} {fault['target']} at {instant(fault['began_us'])}"))
            labels.append("")
            last = fault
        for phase, value in values.items():
            points[phase].append((value, len(labels) + _OFFSETS[phase], f"{text(label)}, {phase}: {words(value)}"))
        labels.append(label)
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": phase,
            "x": [value for value, _place, _hover in found],
            "y": [place for _value, place, _hover in found],
            "marker": _MARKS[phase],
            "hoverinfo": "text",
            "hovertext": [hover for _value, _place, hover in found],
        }
        for phase, found in points.items()
    ]
    layout = {
        "height": 100 + _LANE_PX * len(labels),
        "hovermode": "closest",
        "margin": {"l": 8, "r": 14, "t": 8, "b": 44},
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        "annotations": [
            {
                "xref": "paper",
                "yref": "y",
                "x": 0,
                "y": place,
                "xanchor": "left",
                "text": f"<b>{text(words_)}</b>",
                "showarrow": False,
            }
            for place, words_ in headings
        ],
        "xaxis": axis,
        "yaxis": {
            "range": [len(labels) - 0.4, -0.6],
            "tickmode": "array",
            "tickvals": [place for place, label in enumerate(labels) if label],
            "ticktext": [text(label) for label in labels if label],
            "automargin": True,
            "fixedrange": True,
            "zeroline": False,
        },
    }
    return {"data": traces, "layout": layout}
