"""Charts of one session as plain Plotly figures: dicts of data and layout, colours that mean the same everywhere.

The page puts in what depends on light or dark; here is only what carries meaning. Plotly reads a little HTML in every
text it draws, so each name from a session goes through :func:`text`.
"""

import html
import math
from typing import Any, Final

from spark_report.model.format import clean, duration, instant, several
from spark_report.model.report import Row, SessionStory

CALM: Final = "#56B4E9"
WARNING: Final = "#F0C24B"
ALARM: Final = "#E8622C"
BROKERS: Final = ("#93A8E6", "#62C9A5", "#D7A5CC", "#B4BEC9", "#A9D37A", "#C8B4F0")
"""Fills for leaders, light enough for dark letters; the broker is always named as well."""
LINES: Final = ("#2F8FCE", "#D9822B", "#3BA272", "#B565A7", "#7A869A", "#9A8B1F")
"""Strokes that can be seen on light and on dark ground."""
INK: Final = "#10151C"

MOST_CLIENTS: Final = 6
_SECOND: Final = 1_000_000

Figure = dict[str, Any]


def text(value: object) -> str:
    """A text for Plotly to draw as it stands."""
    return html.escape(clean(str(value)))


class Axis:
    """Where things stand from left to right: seconds, or the numbers of events where nothing takes time."""

    def __init__(self, story: SessionStory) -> None:
        self.timeless = story.timeless
        self.end = story.recorded.last_seq + 1 if self.timeless else story.recorded.end_us / _SECOND
        self.title = "event number (no time passes in manual steps)" if self.timeless else "virtual time, s"

    def at(self, row: Row) -> float:
        """Where an instant stands."""
        return float(row["seq"]) if self.timeless else row["at_us"] / _SECOND

    def span(self, row: Row) -> tuple[float, float]:
        """Where an interval begins and ends."""
        if self.timeless:
            return float(max(0, row["began_seq"])), float(row["ended_seq"])
        return row["began_us"] / _SECOND, row["ended_us"] / _SECOND

    def when(self, row: Row) -> str:
        """An interval in words."""
        if self.timeless:
            return f"events {max(0, row['began_seq'])} to {row['ended_seq']}"
        length = duration(row["ended_us"] - row["began_us"])
        until = "to the end" if row["open"] else f"to {instant(row['ended_us'])}"
        return f"{instant(row['began_us'])} {until} ({length})"


def latency(story: SessionStory) -> Figure | None:
    """Median and greatest latency per client over time, and records a second below; None where nothing was timed."""
    if story.timeless or not story.tables["latency_series"]:
        return None
    axis = Axis(story)
    by_line: dict[tuple[str, str], list[Row]] = {}
    for row in story.tables["latency_series"]:
        by_line.setdefault((row["what"], row["client"]), []).append(row)
    traces: list[Figure] = []
    for place, (what, client) in enumerate(
        sorted(by_line, key=lambda line: (line[0] != "produce", line))[:MOST_CLIENTS]
    ):
        name = text(f"{client}, {'acknowledged' if what == 'produce' else 'read'}")
        traces += _latency_lines(name, LINES[place % len(LINES)], by_line[what, client])
    layout = {
        "height": 380,
        "hovermode": "x unified",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "shapes": bands(story, axis),
        "xaxis": {"title": {"text": axis.title}, "range": [0, axis.end], "zeroline": False, "anchor": "y2"},
        "yaxis": {
            "title": {"text": "latency"},
            "type": "log",
            "domain": [0.38, 1],
            "automargin": True,
            **decades(*_reach(story), margin=1.3),
        },
        "yaxis2": {"title": {"text": "records/s"}, "domain": [0, 0.28], "automargin": True, "rangemode": "tozero"},
    }
    return {"data": traces, "layout": layout}


def _reach(story: SessionStory) -> tuple[float, float]:
    found = story.tables["latency_series"]
    return min(row["p50_us"] for row in found), max(row["max_us"] for row in found)


def decades(least: float, most: float, margin: float = 1.0) -> Figure:
    """Range and marks of a logarithmic axis of microseconds, in the units a person would say."""
    low, high = max(1.0, least) / margin, max(1.0, most, least * 1.01) * margin
    steps = (1, 2, 5) if high <= 100 * low else (1,)
    marks = [step * 10**power for power in range(10) for step in steps]
    # One mark beyond either end, so that there are always some on the axis.
    shown = [mark for mark in marks if low / 10 <= mark <= high * 10]
    return {
        "range": [math.log10(low), math.log10(high)],
        "tickmode": "array",
        "tickvals": shown,
        "ticktext": [duration(mark) for mark in shown],
    }


def lag(story: SessionStory) -> Figure | None:
    """How far groups were behind over time; None where none ever was."""
    by_group: dict[str, list[Row]] = {}
    for row in story.tables["group_lag"]:
        by_group.setdefault(row["group_id"], []).append(row)
    most = {name: max(row["lag"] for row in found) for name, found in by_group.items()}
    if story.timeless or not any(most.values()):
        return None
    axis = Axis(story)
    shown = sorted(by_group, key=lambda name: (-most[name], name))[:MOST_CLIENTS]
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": text(name),
            "x": [min((row["bin_began_us"] + row["bin_us"]) / _SECOND, axis.end) for row in by_group[name]],
            "y": [row["lag"] for row in by_group[name]],
            "line": {"color": LINES[place % len(LINES)], "width": 2},
            "hoverinfo": "x+text",
            "hovertext": [f"{text(name)} is {several(row['lag'], 'record')} behind" for row in by_group[name]],
        }
        for place, name in enumerate(shown)
    ]
    layout = {
        "height": 260,
        "hovermode": "x unified",
        "showlegend": True,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "shapes": bands(story, axis),
        "xaxis": {"title": {"text": axis.title}, "range": [0, axis.end], "zeroline": False},
        "yaxis": {"title": {"text": "records behind"}, "automargin": True, "rangemode": "tozero"},
    }
    return {"data": traces, "layout": layout}


def _latency_lines(name: str, colour: str, found: list[Row]) -> list[Figure]:
    width = found[0]["bin_us"]
    by_bin = {row["bin_began_us"]: row for row in found}
    bins = range(min(by_bin), max(by_bin) + width, width)
    x = [(begin + width / 2) / _SECOND for begin in bins]

    def line(column: str) -> list[float | None]:
        # A bin in which nothing came through is a gap, not a straight line across it.
        return [max(by_bin[begin][column], 1) if begin in by_bin else None for begin in bins]

    rate = [by_bin[begin]["records"] * _SECOND / width if begin in by_bin else 0 for begin in bins]
    own: Figure = {"type": "scatter", "mode": "lines", "x": x, "legendgroup": name, "hoverinfo": "x+y+name"}
    # A line through a single point is nothing; the dots keep it in sight.
    dotted = {**own, "mode": "lines+markers", "marker": {"size": 3, "color": colour}, "hoverinfo": "x+text"}

    def latencies(column: str, which: str, stroke: Figure) -> Figure:
        values = line(column)
        hovers = ["" if value is None else f"{duration(round(value))} {which}, {name}" for value in values]
        return {**dotted, "y": values, "hovertext": hovers, "name": f"{name}, {which}", "line": stroke}

    return [
        latencies("p50_us", "median", {"color": colour, "width": 2}),
        latencies("max_us", "slowest", {"color": colour, "width": 1, "dash": "dot"}),
        {
            **own,
            "y": rate,
            "yaxis": "y2",
            "name": f"{name}, records/s",
            "showlegend": False,
            "line": {"color": colour, "width": 1.5, "shape": "hvh"},
        },
    ]


def bands(story: SessionStory, axis: Axis) -> list[Figure]:
    """Fault times as bands over the whole height."""
    return [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": axis.span(row)[0],
            "x1": axis.span(row)[1],
            "y0": 0,
            "y1": 1,
            "fillcolor": WARNING,
            "opacity": 0.13,
            "line": {"width": 0},
            "layer": "below",
        }
        for row in story.tables["faults"]
    ]


def wrapped(cause: str, width: int = 70) -> str:
    """A sentence in lines that fit a hover box."""
    lines, line = [], ""
    for word in clean(cause).split():
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "<br>".join(html.escape(each) for each in [*lines, line])


def natural(name: str) -> tuple[str, int]:
    """A partition's place among others: by topic, then by number."""
    topic, _dash, number = name.rpartition("-")
    return (topic, int(number)) if number.isdigit() else (name, -1)
