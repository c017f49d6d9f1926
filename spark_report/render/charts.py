"""Charts of one session as plain Plotly figures: dicts of data and layout, colours that mean the same everywhere.

The page puts in what depends on light or dark; here is only what carries meaning. Plotly reads a little HTML in every
text it draws, so each name from a session goes through :func:`text`.
"""

import html
from typing import Any, Final

from spark_report.story import Row, SessionStory
from spark_report.wording import acks, clean, duration, instant, several

CALM: Final = "#56B4E9"
WARNING: Final = "#F0C24B"
ALARM: Final = "#E8622C"
BROKERS: Final = ("#93A8E6", "#62C9A5", "#D7A5CC", "#B4BEC9", "#A9D37A", "#C8B4F0")
"""Fills for leaders, light enough for dark letters; the broker is always named as well."""
LINES: Final = (CALM, "#4DB893", "#C98ABB", "#8C9BE0", "#9AA6B2", "#8FBF5A")
INK: Final = "#10151C"

MOST_PARTITIONS: Final = 8
MOST_CLIENTS: Final = 6
MOST_FAULTS: Final = 10
"""Lanes of faults; where there are more kinds and targets, the last lane is for all the others."""
OTHER_FAULTS: Final = "other faults"
_LANE_PX: Final = 26
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


def shown_partitions(story: SessionStory) -> list[str]:
    """The partitions that get lanes: all of a few, else those in which most happened."""
    busy: dict[str, int] = {}
    for row in story.tables["partition_states"]:
        busy[row["partition"]] = busy.get(row["partition"], 0) + 1
    for row in [*story.tables["unavailability"], *story.lost]:
        busy[row["partition"]] = busy.get(row["partition"], 0) + 100
    chosen = sorted(busy, key=lambda name: (-busy[name], _natural(name)))[:MOST_PARTITIONS]
    return sorted(chosen, key=_natural)


def timeline(story: SessionStory) -> Figure:
    """Faults, and for each partition its leader, its ISR and its service, as lanes over time."""
    axis = Axis(story)
    lanes: list[str] = []
    traces: list[Figure] = []
    if story.tables["faults"]:
        lanes += list(dict.fromkeys(_fault_lanes(story)))
        traces.append(_fault_lane(story, axis))
    for partition in shown_partitions(story):
        lanes += [f"{partition} leader", f"{partition} ISR", f"{partition} service"]
        states = [row for row in story.tables["partition_states"] if row["partition"] == partition]
        traces += [_leader_lane(partition, _joined(states), axis), _isr_lane(partition, states, axis)]
        traces += _service_lane(partition, story, axis)
    layout = {
        "barmode": "overlay",
        "bargap": 0.22,
        "height": 90 + _LANE_PX * max(1, len(lanes)),
        "showlegend": False,
        "hovermode": "closest",
        "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
        "uniformtext": {"mode": "hide", "minsize": 9},
        "shapes": [*_bands(story, axis), *_rules(lanes, shown_partitions(story))],
        "xaxis": {"title": {"text": axis.title}, "range": [0, axis.end], "zeroline": False},
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": [text(lane) for lane in lanes],
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
        },
    }
    return {"data": traces, "layout": layout}


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
        "shapes": _bands(story, axis),
        "xaxis": {"title": {"text": axis.title}, "range": [0, axis.end], "zeroline": False, "anchor": "y2"},
        "yaxis": {
            "title": {"text": "latency"},
            "type": "log",
            "domain": [0.38, 1],
            "automargin": True,
            **_ticks(story),
        },
        "yaxis2": {"title": {"text": "records/s"}, "domain": [0, 0.28], "automargin": True, "rangemode": "tozero"},
    }
    return {"data": traces, "layout": layout}


def _ticks(story: SessionStory) -> Figure:
    """Marks of a logarithmic axis of time, in the units a person would say."""
    found = story.tables["latency_series"]
    least = max(1, min(row["p50_us"] for row in found))
    most = max(row["max_us"] for row in found)
    steps = (1, 2, 5) if most <= 100 * least else (1,)
    marks = [step * 10**power for power in range(10) for step in steps]
    # One mark beyond either end, so that there are always some on the axis.
    shown = [mark for mark in marks if least / 10 <= mark <= most * 10]
    return {"tickmode": "array", "tickvals": shown, "ticktext": [duration(mark) for mark in shown]}


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


def _bars(lane: str, axis: Axis, found: list[Row], fills: list[str], labels: list[str], hovers: list[str]) -> Figure:
    spans = [axis.span(row) for row in found]
    return {
        "type": "bar",
        "orientation": "h",
        "y": [text(lane)] * len(found),
        "base": [begin for begin, _end in spans],
        "x": [end - begin for begin, end in spans],
        "marker": {"color": fills, "line": {"width": 1, "color": "rgba(16,21,28,0.55)"}},
        "text": labels,
        "textposition": "inside",
        "insidetextanchor": "start",
        "textangle": 0,
        "textfont": {"color": INK, "size": 11},
        "hoverinfo": "text",
        "hovertext": hovers,
        "cliponaxis": True,
    }


def _fault_lane(story: SessionStory, axis: Axis) -> Figure:
    found = story.tables["faults"]
    names = [text(_fault_name(row)) for row in found]
    hovers = [f"{name}<br>{text(row['detail'])}<br>{axis.when(row)}" for name, row in zip(names, found, strict=True)]
    bars = _bars("", axis, found, [WARNING] * len(found), names, hovers)
    return {**bars, "y": [text(lane) for lane in _fault_lanes(story)]}


def _fault_lanes(story: SessionStory) -> list[str]:
    """The lane of each fault: one for each kind and target, so that faults at one time do not cover each other."""
    names = [_fault_name(row) for row in story.tables["faults"]]
    first = list(dict.fromkeys(names))
    own = first if len(first) <= MOST_FAULTS else first[: MOST_FAULTS - 1]
    return [f"fault: {name}" if name in own else OTHER_FAULTS for name in names]


def _fault_name(row: Row) -> str:
    return f"{row['fault']} {row['target']}".strip()


def _leader_lane(partition: str, found: list[Row], axis: Axis) -> Figure:
    labels = ["no leader" if row["leader"] < 0 else f"{row['leader']} · epoch {row['leader_epoch']}" for row in found]
    fills = [ALARM if row["leader"] < 0 else BROKERS[(row["leader"] - 1) % len(BROKERS)] for row in found]
    hovers = [
        f"{text(partition)}: " + ("nobody leads" if row["leader"] < 0 else f"broker {row['leader']} leads")
        + f" in epoch {row['leader_epoch']}<br>{axis.when(row)}"
        for row in found
    ]  # fmt: skip
    return _bars(f"{partition} leader", axis, found, fills, labels, hovers)


def _isr_lane(partition: str, found: list[Row], axis: Axis) -> Figure:
    most = max((row["isr_size"] for row in found), default=0)
    fills = [
        ALARM if row["isr_size"] < (row["min_isr"] or 1) else CALM if row["isr_size"] == most else WARNING
        for row in found
    ]
    labels = [f"{row['isr_size']} in sync" for row in found]
    hovers = [
        f"{text(partition)}: ISR {row['isr']}, min.insync.replicas {row['min_isr']}<br>{axis.when(row)}"
        for row in found
    ]
    return _bars(f"{partition} ISR", axis, found, fills, labels, hovers)


def _service_lane(partition: str, story: SessionStory, axis: Axis) -> list[Figure]:
    """Intervals without service, the thin ones as clients felt them, and crosses where records were lost."""
    lane = f"{partition} service"
    traces: list[Figure] = []
    for scope, fill, width in (("client", WARNING, 0.38), ("partition", ALARM, 0.78)):
        found = [row for row in story.unavailable(scope) if row["partition"] == partition]
        labels = ["" if scope == "client" else "unavailable" for _row in found]
        hovers = [f"{_who(row)}: {text(row['began_by'])}<br>{axis.when(row)}" for row in found]
        traces.append({**_bars(lane, axis, found, [fill] * len(found), labels, hovers), "width": width})
    # The thin bars lie on the broad ones.
    traces.reverse()
    lost = [row for row in story.lost if row["partition"] == partition]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [min(axis.at(story.since(row)), axis.end * 0.995) for row in lost],
            "y": [text(lane)] * len(lost),
            "marker": {"symbol": "x", "size": 12, "color": ALARM, "line": {"width": 1.5, "color": "#FFFFFF"}},
            "hoverinfo": "text",
            "hovertext": [
                f"{several(row['count'], 'record')} {row['fate']}<br>{_wrapped(row['cause'])}" for row in lost
            ],
        }
    )
    if not lost and not any(trace["y"] for trace in traces):
        # An empty lane would have no name on the axis.
        traces[-1] |= {"x": [None], "y": [text(lane)], "hovertext": [""]}
    return traces


def _who(row: Row) -> str:
    if row["scope"] == "partition":
        return f"{text(row['partition'])} without a serving leader"
    return f"{text(row['client'])} with acks={acks(row['acks'])} could not write"


def _joined(states: list[Row]) -> list[Row]:
    """Neighbouring states under one leader and epoch as one: the ISR has its own lane."""
    joined: list[Row] = []
    for row in states:
        if joined and all(joined[-1][key] == row[key] for key in ("leader", "leader_epoch")):
            joined[-1] = {**joined[-1], **{key: row[key] for key in ("ended_us", "ended_seq", "open")}}
        else:
            joined.append(row)
    return joined


def _bands(story: SessionStory, axis: Axis) -> list[Figure]:
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


def _rules(lanes: list[str], partitions: list[str]) -> list[Figure]:
    """A thin line above each partition's lanes."""
    leaders = {f"{partition} leader" for partition in partitions}
    return [
        {
            "type": "line",
            "xref": "paper",
            "yref": "y",
            "x0": 0,
            "x1": 1,
            "y0": place - 0.5,
            "y1": place - 0.5,
            "line": {"width": 1, "color": "rgba(128,140,155,0.5)"},
        }
        for place, lane in enumerate(lanes)
        if place and lane in leaders
    ]


def _wrapped(cause: str, width: int = 70) -> str:
    """A sentence in lines that fit a hover box."""
    lines, line = [], ""
    for word in clean(cause).split():
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "<br>".join(html.escape(each) for each in [*lines, line])


def _natural(name: str) -> tuple[str, int]:
    topic, _dash, number = name.rpartition("-")
    return (topic, int(number)) if number.isdigit() else (name, -1)
