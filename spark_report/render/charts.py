"""Charts of one session as figures: dicts of data and layout, with the same meaning of colours everywhere.

Colours that depend on the light or dark theme are in the page's style sheet. :mod:`spark_report.render.svg` draws a
figure without escaping, so each name from a session must go through :func:`chart_text`.
"""

import html
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from cluster_model.util.quantities import counted, rounded_duration, rounded_time, thousands
from playbooks.text import printable
from spark_report.model import report
from spark_report.model.format import acks, is_internal, share
from spark_report.model.report import Row, SessionModel

CALM: Final = "#56B4E9"
WARNING: Final = "#F0C24B"
ALARM: Final = "#E8622C"
BROKERS: Final = ("#93A8E6", "#62C9A5", "#D7A5CC", "#B4BEC9", "#A9D37A", "#C8B4F0")
"""Fill colours for leaders, light enough for dark text; the broker id is always shown too."""
LINES: Final = ("#2F8FCE", "#D9822B", "#3BA272", "#B565A7", "#7A869A", "#9A8B1F")
"""Stroke colours that are visible on a light and on a dark background."""

MOST_CLIENTS: Final = 6
_SECOND: Final = 1_000_000

Figure = dict[str, Any]


def chart_text(value: object) -> str:
    """Escape a text for a chart."""
    return html.escape(printable(str(value)))


class Axis:
    """The horizontal axis of a session: seconds, or event numbers in a manual session."""

    def __init__(self, model: SessionModel) -> None:
        self.timeless = model.timeless
        self.end = model.recorded.last_seq + 1 if self.timeless else model.recorded.end_us / _SECOND
        self.title = "event number (manual session)" if self.timeless else "virtual time, s"

    def at(self, row: Row) -> float:
        """Return the position of an event."""
        return float(row["seq"]) if self.timeless else row["at_us"] / _SECOND

    def span(self, row: Row) -> tuple[float, float]:
        """Return the start and end of an interval."""
        if self.timeless:
            return float(max(0, row["began_seq"])), float(row["ended_seq"])
        return row["began_us"] / _SECOND, row["ended_us"] / _SECOND

    def when(self, row: Row) -> str:
        """Return an interval as text."""
        if self.timeless:
            return f"events {max(0, row['began_seq'])} to {row['ended_seq']}"
        length = rounded_duration(row["ended_us"] - row["began_us"])
        until = "to the end" if row["open"] else f"to {rounded_time(row['ended_us'])}"
        return f"{rounded_time(row['began_us'])} {until} ({length})"


def latency_chart(model: SessionModel) -> Figure | None:
    """Return median and maximum latency per client over time, with records per second; None without latencies."""
    if model.timeless or not model.tables["latency_series"]:
        return None
    axis = Axis(model)
    by_line: dict[tuple[str, str], list[Row]] = {}
    for row in model.tables["latency_series"]:
        by_line.setdefault((row["what"], row["client"]), []).append(row)
    traces: list[Figure] = []
    for index, (what, client) in enumerate(
        sorted(by_line, key=lambda line: (line[0] != "produce", line))[:MOST_CLIENTS]
    ):
        name = chart_text(f"{client}, {'produce' if what == 'produce' else 'end-to-end'}")
        traces += _latency_lines(name, LINES[index % len(LINES)], by_line[what, client])
    layout = {
        "height": 380,
        "shapes": bands(model, axis),
        "xaxis": {"title": axis.title, "range": [0, axis.end], "zoom": True},
        "yaxis": {"title": "latency", "type": "log", "domain": [0.38, 1], **decades(*_reach(model), margin=1.3)},
        "yaxis2": {"title": "records/s", "domain": [0, 0.28], "rangemode": "tozero"},
    }
    return {"data": traces, "layout": layout}


def _reach(model: SessionModel) -> tuple[float, float]:
    found = model.tables["latency_series"]
    return min(row["p50_us"] for row in found), max(row["max_us"] for row in found)


def decades(least: float, greatest: float, margin: float = 1.0) -> Figure:
    """Return range and tick marks of a logarithmic axis of microseconds, labelled with readable units."""
    low, high = max(1.0, least) / margin, max(1.0, greatest, least * 1.01) * margin
    steps: tuple[float, ...] = (1, 2, 5) if high <= 100 * low else (1,)
    if high <= 3 * low:
        steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    marks = [step * 10**power for power in range(10) for step in steps]
    # Marks beyond both ends, so that the axis always has some.
    shown = [mark for mark in marks if low / 10 <= mark <= high * 10]
    return {
        "range": [math.log10(low), math.log10(high)],
        "tickvals": shown,
        "ticktext": [rounded_duration(round(mark)) for mark in shown],
    }


def lag_chart(model: SessionModel) -> Figure | None:
    """Return the position lag of groups over time; None if there never was any."""
    by_group: dict[str, list[Row]] = {}
    for row in model.tables["group_position_lag"]:
        by_group.setdefault(row["group_id"], []).append(row)
    peaks = {name: max(row["position_lag"] for row in found) for name, found in by_group.items()}
    if model.timeless or not any(peaks.values()):
        return None
    axis = Axis(model)
    shown = sorted(by_group, key=lambda name: (-peaks[name], name))[:MOST_CLIENTS]
    traces = [
        {
            "type": "lines",
            "name": chart_text(name),
            "legend": chart_text(name),
            "x": [min((row["bin_began_us"] + row["bin_us"]) / _SECOND, axis.end) for row in by_group[name]],
            "y": [row["position_lag"] for row in by_group[name]],
            "line": {"color": LINES[place % len(LINES)], "width": 2},
            "says": [f"{counted(row['position_lag'], 'record')} behind" for row in by_group[name]],
        }
        for place, name in enumerate(shown)
    ]
    layout = {
        "height": 260,
        "shapes": bands(model, axis),
        "xaxis": {"title": axis.title, "range": [0, axis.end], "zoom": True},
        "yaxis": {"title": "records behind", "rangemode": "tozero"},
    }
    return {"data": traces, "layout": layout}


def _latency_lines(name: str, colour: str, rows: list[Row]) -> list[Figure]:
    width = rows[0]["bin_us"]
    by_bin = {row["bin_began_us"]: row for row in rows}
    bins = range(min(by_bin), max(by_bin) + width, width)
    x = [(begin + width / 2) / _SECOND for begin in bins]

    def line(column: str) -> list[float | None]:
        # A bin without records is a gap, not a straight line across it.
        return [max(by_bin[begin][column], 1) if begin in by_bin else None for begin in bins]

    rate = [by_bin[begin]["records"] * _SECOND / width if begin in by_bin else 0 for begin in bins]
    own: Figure = {"type": "lines", "x": x}

    def latencies(column: str, which: str, stroke: Figure) -> Figure:
        values = line(column)
        says = ["" if value is None else rounded_duration(round(value)) for value in values]
        return {**own, "y": values, "says": says, "name": f"{name}, {which}", "legend": f"{name}, {which}",
                "line": stroke}  # fmt: skip

    return [
        latencies("p50_us", "median", {"color": colour, "width": 2}),
        latencies("max_us", "maximum", {"color": colour, "width": 1, "dash": "dot"}),
        {
            **own,
            "y": rate,
            "yaxis": "y2",
            "name": name,
            "says": [f"{value:,.0f} records/s" for value in rate],
            "line": {"color": colour, "width": 1.5, "shape": "hvh"},
        },
    ]


def bands(model: SessionModel, axis: Axis) -> list[Figure]:
    """Return the active times of faults as bands over the whole height."""
    return [
        {
            "type": "rect",
            "x0": axis.span(row)[0],
            "x1": axis.span(row)[1],
            "fillcolor": WARNING,
            "opacity": 0.13,
        }
        for row in model.tables["faults"]
    ]


def wrapped(cause: str, width: int = 70) -> str:
    """Wrap a sentence to the width of a tooltip."""
    lines, line = [], ""
    for word in printable(cause).split():
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "<br>".join(html.escape(each) for each in [*lines, line])


def natural(name: str) -> tuple[str, int]:
    """Return the sort key of a partition: topic, then partition number."""
    topic, _dash, number = name.rpartition("-")
    return (topic, int(number)) if number.isdigit() else (name, -1)


# Charts around faults: a row for each target, with one mark each for before, during and after.


MOST_FAULTS_CHARTED: Final = 8
"""Most faults in these charts, the longest ones."""
MOST_CLIENTS_AROUND_FAULTS: Final = 4
_ROW_PX: Final = 24
_MARKS: Final = {
    "before": {"symbol": "circle-open", "color": LINES[0], "size": 11},
    "during": {"symbol": "diamond", "color": "#E8622C", "size": 12},
    "after": {"symbol": "circle", "color": LINES[0], "size": 9},
}
_OFFSETS: Final = {"before": -0.22, "during": 0.0, "after": 0.22}
"""Vertical offsets, so that marks of the same value do not cover each other."""
_FLOOR: Final = 0.9
"""Start of the availability scale, unless a value is less."""


def availability_around_faults(model: SessionModel) -> Figure | None:
    """Return the availability around each fault; None without faults or in a manual session."""
    if model.timeless:
        return None
    by_fault = {(row["fault_id"], row["scope"], row["phase"]): row for scope in ("partition", "client")
             for row in report.served(model, scope)}  # fmt: skip
    rows = [
        (fault, label, {phase: by_fault[fault["fault_id"], scope, phase]["availability"] * 100
                        for phase in report.PHASES if (fault["fault_id"], scope, phase) in by_fault})
        for fault in charted_faults(model)
        for scope, label in (("partition", "partitions"), ("client", "clients"))
    ]  # fmt: skip
    least = min((value for _fault, _label, values in rows for value in values.values()), default=None)
    if least is None:
        return None
    low = min(_FLOOR * 100, least - 2)
    axis = {"title": "availability, %", "range": [max(-2, low), 100.6]}
    return _around_faults_figure(rows, axis, lambda value: share(value / 100))


def latency_around_faults(model: SessionModel) -> Figure | None:
    """Return the p99 produce latency around each fault; None without latencies."""
    by_key = {
        (row["fault_id"], row["client"], row["phase"]): row
        for row in model.tables["fault_latency"]
        if row["what"] == "produce"
    }
    if model.timeless or not by_key:
        return None
    clients = sorted({client for _fault, client, _phase in by_key})[:MOST_CLIENTS_AROUND_FAULTS]
    rows = []
    for fault in charted_faults(model):
        for client in clients:
            own = {
                phase: float(max(1, by_key[fault["fault_id"], client, phase]["p99_us"]))
                for phase in report.PHASES
                if (fault["fault_id"], client, phase) in by_key
            }
            rows.append((fault, client, own))
    values = [value for _fault, _label, own in rows for value in own.values()]
    if not values:
        return None
    axis = {
        "title": "p99 produce latency",
        "type": "log",
        **decades(min(values), max(values), margin=1.35),
    }
    return _around_faults_figure(rows, axis, lambda value: rounded_duration(round(value)))


def charted_faults(model: SessionModel) -> list[Row]:
    """Return the faults with rows in these charts, in order."""
    faults = model.tables["faults"]
    longest = sorted(faults, key=lambda row: row["began_us"] - row["ended_us"])[:MOST_FAULTS_CHARTED]
    return [row for row in faults if row in longest]


def uncharted_faults(model: SessionModel) -> str:
    """Return a note on faults without rows; empty if all have some."""
    more = len(model.tables["faults"]) - MOST_FAULTS_CHARTED
    return f" {counted(more, 'shorter fault')} in the tables only." if more > 0 else ""


def _around_faults_figure(
    rows: list[tuple[Row, str, dict[str, float]]], axis: Figure, words: Callable[[float], str]
) -> Figure:
    labels: list[str] = []
    headings: list[tuple[int, str]] = []
    points: dict[str, list[tuple[float, float, str]]] = {phase: [] for phase in report.PHASES}
    last = None
    for fault, label, values in rows:
        if fault is not last:
            headings.append((len(labels), f"{fault['fault']} {fault['target']} at {rounded_time(fault['began_us'])}"))
            labels.append("")
            last = fault
        for phase, value in values.items():
            points[phase].append(
                (value, len(labels) + _OFFSETS[phase], f"{chart_text(label)}, {phase}: {words(value)}")
            )
        labels.append(label)
    traces = [
        {
            "type": "marks",
            "legend": phase,
            "x": [value for value, _place, _hover in found],
            "y": [place for _value, place, _hover in found],
            "marker": _MARKS[phase],
            "hovertext": [hover for _value, _place, hover in found],
        }
        for phase, found in points.items()
    ]
    layout = {
        "height": 52 + _ROW_PX * len(labels),
        "annotations": [{"y": place, "text": chart_text(words_)} for place, words_ in headings],
        "xaxis": axis,
        "yaxis": {
            "range": [len(labels) - 0.4, -0.6],
            "tickvals": [place for place, label in enumerate(labels) if label],
            "ticktext": [chart_text(label) for label in labels if label],
        },
    }
    return {"data": traces, "layout": layout}


# The timeline of a session as lanes: faults, and for each partition leader, ISR, service, high watermark and lag.
#
# Lanes are numbered from the top, so that bars and lines can share the axis. A line is scaled to the height of its
# lane, and its tooltip has the real values.


MOST_PARTITIONS: Final = 6
"""Most partitions in the timeline; each partition also has its own chart."""
MOST_FAULT_LANES: Final = 10
"""Most lanes of faults; the last lane has all faults of further kinds."""
MOST_GROUPS: Final = 3
"""Most groups in the lag lane, those with the greatest lag."""
OTHER_FAULTS: Final = "other faults"
_LANE_PX: Final = 24
_SECOND_US: Final = 1_000_000
_FALSE_MISSES: Final = 1e-9


def shown_partitions(model: SessionModel) -> list[str]:
    """Return the partitions in the timeline: the most affected ones, in natural order."""
    found = by_interest(model)
    users = [name for name in found if not is_internal(name)] or found
    return sorted(users[:MOST_PARTITIONS], key=natural)


def by_interest(model: SessionModel) -> list[str]:
    """Return all partitions, those with losses, unavailability or most changes first.

    Internal ones come last: they change as often as others, but are rarely of interest.
    """
    busy: dict[str, int] = {}
    for row in model.tables["partition_states"]:
        busy[row["partition"]] = busy.get(row["partition"], 0) + 1
    for row in [*model.tables["unavailability"], *model.lost]:
        busy[row["partition"]] = busy.get(row["partition"], 0) + 100
    return sorted(busy, key=lambda name: (is_internal(name), -busy[name], natural(name)))


class _Lanes:
    """Lanes of a timeline from top to bottom, with their traces."""

    def __init__(self, model: SessionModel) -> None:
        self.story = model
        self.axis = Axis(model)
        self.labels: list[str] = []
        self.traces: list[Figure] = []
        self.headings: list[tuple[int, str]] = []

    def heading(self, text: str) -> None:
        self.headings.append((len(self.labels), text))
        self.labels.append("")

    def bars(self, label: str, trace: Callable[[int], list[Figure]]) -> None:
        self.traces += trace(len(self.labels))
        self.labels.append(label)

    def figure(self) -> Figure:
        axis = self.axis
        layout = {
            "height": 52 + _LANE_PX * max(1, len(self.labels)),
            "shapes": [*bands(self.story, axis), *self._rules()],
            "annotations": [{"y": place, "text": chart_text(words)} for place, words in self.headings],
            "xaxis": {"title": axis.title, "range": [0, axis.end], "zoom": True},
            "yaxis": {
                "range": [len(self.labels) - 0.4, -0.6],
                "tickvals": list(range(len(self.labels))),
                "ticktext": [chart_text(label) for label in self.labels],
                "showgrid": False,
            },
        }
        return {"data": self.traces, "layout": layout}

    def _rules(self) -> list[Figure]:
        """Return a thin line above each partition's lanes."""
        return [{"type": "line", "y0": place - 0.5} for place, _words in self.headings if place]


def timeline_chart(model: SessionModel) -> Figure:
    """Return the timeline of a session: faults, and the lanes of the most affected partitions."""
    lanes = _Lanes(model)
    names = _fault_names(model)
    for name in dict.fromkeys(names):
        own = [row for row, lane in zip(model.tables["faults"], names, strict=True) if lane == name]
        lanes.bars(name, lambda lane_number, own=own: [_fault_bars(lane_number, own, lanes.axis)])  # type: ignore[misc]
    for partition in shown_partitions(model):
        lanes.heading(partition)
        _partition_lanes(lanes, partition)
    return lanes.figure()


def partition_chart(model: SessionModel, partition: str) -> Figure:
    """Return the timeline of one partition."""
    lanes = _Lanes(model)
    _partition_lanes(lanes, partition)
    return lanes.figure()


def _partition_lanes(lanes: _Lanes, partition: str) -> None:
    story, axis = lanes.story, lanes.axis
    states = [row for row in story.tables["partition_states"] if row["partition"] == partition]
    lanes.bars("leader", lambda lane: [_leader_bars(lane, partition, _joined(states), axis)])
    lanes.bars("ISR", lambda lane: [_isr_bars(lane, partition, states, axis)])
    lanes.bars("service", lambda lane: _service_bars(lane, partition, story, axis))
    if story.timeless:
        return
    marks = [row for row in story.tables["hw_series"] if row["partition"] == partition]
    if marks:
        lanes.bars("HW", lambda lane: [_hw_line(lane, partition, marks, axis)])
    by_group: dict[str, list[Row]] = {}
    for row in story.tables["partition_position_lag"]:
        if row["partition"] == partition:
            by_group.setdefault(row["group_id"], []).append(row)
    worst = sorted(by_group, key=lambda name: (-max(row["position_lag"] for row in by_group[name]), name))[:MOST_GROUPS]
    if worst:
        lanes.bars("position lag", lambda lane: _lag_lines(lane, {name: by_group[name] for name in sorted(worst)}))


def _bars(lane: int, axis: Axis, rows: list[Row], fills: list[str], labels: list[str], hovers: list[str]) -> Figure:
    spans = [axis.span(row) for row in rows]
    return {
        "type": "bar",
        "y": [lane] * len(rows),
        "base": [begin for begin, _end in spans],
        "x": [end - begin for begin, end in spans],
        "width": 0.74,
        "color": fills,
        "text": labels,
        "hovertext": hovers,
    }


def _fault_names(model: SessionModel) -> list[str]:
    """Return the lane of each fault: one lane for each kind, and more if faults of a kind overlap."""
    names = [str(row["fault"]) for row in model.tables["faults"]]
    spread = _overlapping(model, names)
    first = list(dict.fromkeys(spread))
    own = first if len(first) <= MOST_FAULT_LANES else first[: MOST_FAULT_LANES - 1]
    return [name if name in own else OTHER_FAULTS for name in spread]


def _overlapping(model: SessionModel, names: list[str]) -> list[str]:
    """Return lane names in which overlapping faults of one kind have numbered lanes."""
    axis = Axis(model)
    ends: dict[str, list[float]] = {}
    names_of_lanes = []
    for name, row in zip(names, model.tables["faults"], strict=True):
        begin, end = axis.span(row)
        lanes = ends.setdefault(name, [])
        free = next((place for place, until in enumerate(lanes) if until <= begin + _FALSE_MISSES), len(lanes))
        if free < MOST_FAULT_LANES:  # later lanes are merged into the last one
            lanes[free:] = [end, *lanes[free + 1 :]]
        names_of_lanes.append(name if not free else f"{name} ·{free + 1}")
    return names_of_lanes


def _fault_bars(lane: int, rows: list[Row], axis: Axis) -> Figure:
    names = [chart_text(row["target"] or row["fault"]) for row in rows]
    hovers = [
        f"{chart_text(row['fault'])} {chart_text(row['target'])}<br>{chart_text(row['detail'])}<br>{axis.when(row)}"
        for row in rows
    ]
    return _bars(lane, axis, rows, [WARNING] * len(rows), names, hovers)


def _leader_bars(lane: int, partition: str, rows: list[Row], axis: Axis) -> Figure:
    labels = ["no leader" if row["leader"] < 0 else f"{row['leader']} · epoch {row['leader_epoch']}" for row in rows]
    fills = [ALARM if row["leader"] < 0 else BROKERS[(row["leader"] - 1) % len(BROKERS)] for row in rows]
    hovers = [
        f"{chart_text(partition)}: " + ("no leader" if row["leader"] < 0 else f"leader broker {row['leader']}")
        + f" in epoch {row['leader_epoch']}<br>{axis.when(row)}"
        for row in rows
    ]  # fmt: skip
    return _bars(lane, axis, rows, fills, labels, hovers)


def _isr_bars(lane: int, partition: str, rows: list[Row], axis: Axis) -> Figure:
    most = max((row["isr_size"] for row in rows), default=0)
    fills = [
        ALARM if row["isr_size"] < (row["min_isr"] or 1) else CALM if row["isr_size"] == most else WARNING
        for row in rows
    ]
    labels = [f"{row['isr_size']} in sync" for row in rows]
    hovers = [
        f"{chart_text(partition)}: ISR {row['isr']}, min.insync.replicas "
        f"{'not known' if row['min_isr'] is None else row['min_isr']}<br>{axis.when(row)}"
        for row in rows
    ]
    return _bars(lane, axis, rows, fills, labels, hovers)


def _service_bars(lane: int, partition: str, model: SessionModel, axis: Axis) -> list[Figure]:
    """Return unavailable intervals (thin bars: of clients), and crosses for lost records."""
    traces: list[Figure] = []
    for scope, fill, width in (("partition", ALARM, 0.74), ("client", WARNING, 0.36)):
        rows = [row for row in model.unavailable(scope) if row["partition"] == partition]
        labels = ["" if scope == "client" else "unavailable" for _row in rows]
        hovers = [f"{_scope_text(row)}: {chart_text(row['began_by'])}<br>{axis.when(row)}" for row in rows]
        traces.append({**_bars(lane, axis, rows, [fill] * len(rows), labels, hovers), "width": width})
    lost, since = [row for row in model.lost if row["partition"] == partition], model.since()
    traces.append(
        {
            "type": "marks",
            "x": [min(axis.at(since(row)), axis.end * 0.995) for row in lost],
            "y": [lane] * len(lost),
            "marker": {"symbol": "x", "size": 12, "color": ALARM},
            "hovertext": [
                f"{counted(row['count'], 'record')} {row['status']}<br>{wrapped(row['cause'])}" for row in lost
            ],
        }
    )
    return traces


def _hw_line(lane: int, partition: str, rows: list[Row], axis: Axis) -> Figure:
    """Return the line of the high watermark: a flat part is a stall, a step down a loss by an unclean leader."""
    x = [(row["bin_began_us"] + row["bin_us"]) / _SECOND_US for row in rows]
    values = [row["hw"] for row in rows]
    if x[-1] < axis.end:
        x, values = [*x, axis.end], [*values, values[-1]]
    line = _line(lane, [min(at, axis.end) for at in x], values, LINES[0])
    return {**line, "name": f"{chart_text(partition)}: HW", "says": [thousands(value) for value in line["values"]]}


def _lag_lines(lane: int, by_group: dict[str, list[Row]]) -> list[Figure]:
    peak = max((row["position_lag"] for found in by_group.values() for row in found), default=0)
    lines = {
        name: _line(
            lane,
            [(row["bin_began_us"] + row["bin_us"]) / _SECOND_US for row in found],
            [row["position_lag"] for row in found],
            LINES[1 + number_],
            peak,
        )
        for number_, (name, found) in enumerate(by_group.items())
    }
    return [
        {**line, "name": chart_text(name), "says": [f"{counted(lag, 'record')} behind" for lag in line["values"]]}
        for name, line in lines.items()
    ]


def _line(lane: int, x: Sequence[float], values: list[int], colour: str, greatest: int = 0) -> Figure:
    """Return a line scaled to its lane, with points where its value changes, and at both ends."""
    top = max(greatest, *values, 1)
    last = len(values) - 1
    kept = [at for at, value in enumerate(values) if at in (0, last) or value != values[at - 1]]
    return {
        "type": "lines",
        "lane": lane,
        "x": [x[at] for at in kept],
        "y": [round(lane + 0.36 - 0.72 * values[at] / top, 4) for at in kept],
        "values": [values[at] for at in kept],
        "line": {"color": colour, "width": 1.75, "shape": "hv"},
    }


def _scope_text(row: Row) -> str:
    if row["scope"] == "partition":
        return f"{chart_text(row['partition'])} without a serving leader"
    return f"{chart_text(row['client'])} with acks={acks(row['acks'])} could not write"


def _joined(states: list[Row]) -> list[Row]:
    """Merge neighbouring states with the same leader and epoch, because the ISR has its own lane."""
    joined: list[Row] = []
    for row in states:
        if joined and all(joined[-1][key] == row[key] for key in ("leader", "leader_epoch")):
            joined[-1] = {**joined[-1], **{key: row[key] for key in ("ended_us", "ended_seq", "open")}}
        else:
            joined.append(row)
    return joined
