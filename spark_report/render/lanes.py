"""The timeline of a session: faults, and of each partition its leader, ISR, service, high watermark and lag, as lanes.

Lanes are numbered from above, so that bars and lines can share the axis: a line is drawn to the height of its lane, and
tells its real values where one points at it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from spark_report.model.format import acks, number, several
from spark_report.model.own_topics import is_own
from spark_report.model.report import Row, SessionStory
from spark_report.render.charts import (
    ALARM,
    BROKERS,
    CALM,
    INK,
    LINES,
    WARNING,
    Axis,
    Figure,
    bands,
    natural,
    text,
    wrapped,
)

MOST_PARTITIONS: Final = 6
"""Partitions with lanes in the timeline; each has its own under the partitions."""
MOST_FAULTS: Final = 10
"""Lanes of faults; where there are more kinds and targets, the last lane is for all the others."""
MOST_GROUPS: Final = 3
"""Groups whose lag is drawn in one lane, those that were furthest behind."""
OTHER_FAULTS: Final = "other faults"
_LANE_PX: Final = 24
_SECOND: Final = 1_000_000
_FALSE_MISSES: Final = 1e-9


def shown_partitions(story: SessionStory) -> list[str]:
    """The partitions that get lanes in the timeline: all of a few, else those in which most happened."""
    found = by_interest(story)
    users = [name for name in found if not is_own(name)] or found
    return sorted(users[:MOST_PARTITIONS], key=natural)


def by_interest(story: SessionStory) -> list[str]:
    """All partitions, those first in which records were lost, that were out of service, or moved most.

    Kafka's own come last: they move as much as others, and readers look for theirs.
    """
    busy: dict[str, int] = {}
    for row in story.tables["partition_states"]:
        busy[row["partition"]] = busy.get(row["partition"], 0) + 1
    for row in [*story.tables["unavailability"], *story.lost]:
        busy[row["partition"]] = busy.get(row["partition"], 0) + 100
    return sorted(busy, key=lambda name: (is_own(name), -busy[name], natural(name)))


class _Lanes:
    """Lanes from above downwards, with what is drawn in them."""

    def __init__(self, story: SessionStory) -> None:
        self.story = story
        self.axis = Axis(story)
        self.labels: list[str] = []
        self.traces: list[Figure] = []
        self.headings: list[tuple[int, str]] = []

    def heading(self, words: str) -> None:
        self.headings.append((len(self.labels), words))
        self.labels.append("")

    def bars(self, label: str, trace: Callable[[int], list[Figure]]) -> None:
        self.traces += trace(len(self.labels))
        self.labels.append(label)

    def figure(self) -> Figure:
        axis = self.axis
        layout = {
            "barmode": "overlay",
            "height": 76 + _LANE_PX * max(1, len(self.labels)),
            "showlegend": False,
            "hovermode": "closest",
            "margin": {"l": 8, "r": 12, "t": 8, "b": 44},
            "uniformtext": {"mode": "hide", "minsize": 9},
            "shapes": [*bands(self.story, axis), *self._rules()],
            "annotations": [
                {
                    "xref": "paper",
                    "yref": "y",
                    "x": 0,
                    "y": place,
                    "xanchor": "left",
                    "text": f"<b>{text(words)}</b>",
                    "showarrow": False,
                }
                for place, words in self.headings
            ],
            "xaxis": {"title": {"text": axis.title}, "range": [0, axis.end], "zeroline": False},
            "yaxis": {
                "range": [len(self.labels) - 0.4, -0.6],
                "tickmode": "array",
                "tickvals": list(range(len(self.labels))),
                "ticktext": [text(label) for label in self.labels],
                "automargin": True,
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
            },
        }
        return {"data": self.traces, "layout": layout}

    def _rules(self) -> list[Figure]:
        """A thin line above each partition's lanes."""
        line = {"width": 1, "color": "rgba(128,140,155,0.5)"}
        return [
            {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": at, "y1": at, "line": line}
            for place, _words in self.headings
            if place
            for at in (place - 0.5,)
        ]


def timeline(story: SessionStory) -> Figure:
    """Faults, and the lanes of the partitions in which most happened."""
    lanes = _Lanes(story)
    names = _fault_names(story)
    for name in dict.fromkeys(names):
        own = [row for row, lane in zip(story.tables["faults"], names, strict=True) if lane == name]
        lanes.bars(name, lambda place, own=own: [_fault_bars(place, own, lanes.axis)])  # type: ignore[misc]
    for partition in shown_partitions(story):
        lanes.heading(partition)
        _partition_lanes(lanes, partition)
    return lanes.figure()


def of_partition(story: SessionStory, partition: str) -> Figure:
    """The lanes of one partition."""
    lanes = _Lanes(story)
    _partition_lanes(lanes, partition)
    return lanes.figure()


def _partition_lanes(lanes: _Lanes, partition: str) -> None:
    story, axis = lanes.story, lanes.axis
    states = [row for row in story.tables["partition_states"] if row["partition"] == partition]
    lanes.bars("leader", lambda place: [_leader_bars(place, partition, _joined(states), axis)])
    lanes.bars("ISR", lambda place: [_isr_bars(place, partition, states, axis)])
    lanes.bars("service", lambda place: _service_bars(place, partition, story, axis))
    if story.timeless:
        return
    marks = [row for row in story.tables["hw_series"] if row["partition"] == partition]
    if marks:
        lanes.bars("HW", lambda place: [_hw_line(place, partition, marks, axis)])
    by_group: dict[str, list[Row]] = {}
    for row in story.tables["partition_lag"]:
        if row["partition"] == partition:
            by_group.setdefault(row["group_id"], []).append(row)
    worst = sorted(by_group, key=lambda name: (-max(row["lag"] for row in by_group[name]), name))[:MOST_GROUPS]
    if worst:
        lanes.bars("lag", lambda place: _lag_lines(place, {name: by_group[name] for name in sorted(worst)}))


def _bars(place: int, axis: Axis, found: list[Row], fills: list[str], labels: list[str], hovers: list[str]) -> Figure:
    spans = [axis.span(row) for row in found]
    return {
        "type": "bar",
        "orientation": "h",
        "y": [place] * len(found),
        "base": [begin for begin, _end in spans],
        "x": [end - begin for begin, end in spans],
        "width": 0.74,
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


def _fault_names(story: SessionStory) -> list[str]:
    """The lane of each fault: one for each kind, so that faults of a kind stand in one line."""
    names = [str(row["fault"]) for row in story.tables["faults"]]
    spread = _overlapping(story, names)
    first = list(dict.fromkeys(spread))
    own = first if len(first) <= MOST_FAULTS else first[: MOST_FAULTS - 1]
    return [name if name in own else OTHER_FAULTS for name in spread]


def _overlapping(story: SessionStory, names: list[str]) -> list[str]:
    """Faults of one kind at one time would cover each other: they get lanes by their number."""
    axis = Axis(story)
    ends: dict[str, list[float]] = {}
    found = []
    for name, row in zip(names, story.tables["faults"], strict=True):
        begin, end = axis.span(row)
        lanes = ends.setdefault(name, [])
        free = next((place for place, until in enumerate(lanes) if until <= begin + _FALSE_MISSES), len(lanes))
        lanes[free:] = [end, *lanes[free + 1 :]]
        found.append(name if not free else f"{name} ·{free + 1}")
    return found


def _fault_bars(place: int, found: list[Row], axis: Axis) -> Figure:
    names = [text(row["target"] or row["fault"]) for row in found]
    hovers = [
        f"{text(row['fault'])} {text(row['target'])}<br>{text(row['detail'])}<br>{axis.when(row)}" for row in found
    ]
    return _bars(place, axis, found, [WARNING] * len(found), names, hovers)


def _leader_bars(place: int, partition: str, found: list[Row], axis: Axis) -> Figure:
    labels = ["no leader" if row["leader"] < 0 else f"{row['leader']} · epoch {row['leader_epoch']}" for row in found]
    fills = [ALARM if row["leader"] < 0 else BROKERS[(row["leader"] - 1) % len(BROKERS)] for row in found]
    hovers = [
        f"{text(partition)}: " + ("nobody leads" if row["leader"] < 0 else f"broker {row['leader']} leads")
        + f" in epoch {row['leader_epoch']}<br>{axis.when(row)}"
        for row in found
    ]  # fmt: skip
    return _bars(place, axis, found, fills, labels, hovers)


def _isr_bars(place: int, partition: str, found: list[Row], axis: Axis) -> Figure:
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
    return _bars(place, axis, found, fills, labels, hovers)


def _service_bars(place: int, partition: str, story: SessionStory, axis: Axis) -> list[Figure]:
    """Intervals without service, the thin ones as clients felt them, and crosses where records were lost."""
    traces: list[Figure] = []
    for scope, fill, width in (("partition", ALARM, 0.74), ("client", WARNING, 0.36)):
        found = [row for row in story.unavailable(scope) if row["partition"] == partition]
        labels = ["" if scope == "client" else "unavailable" for _row in found]
        hovers = [f"{_who(row)}: {text(row['began_by'])}<br>{axis.when(row)}" for row in found]
        traces.append({**_bars(place, axis, found, [fill] * len(found), labels, hovers), "width": width})
    lost = [row for row in story.lost if row["partition"] == partition]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [min(axis.at(story.since(row)), axis.end * 0.995) for row in lost],
            "y": [place] * len(lost),
            "marker": {"symbol": "x", "size": 12, "color": ALARM, "line": {"width": 1.5, "color": "#FFFFFF"}},
            "hoverinfo": "text",
            "hovertext": [
                f"{several(row['count'], 'record')} {row['fate']}<br>{wrapped(row['cause'])}" for row in lost
            ],
        }
    )
    return traces


def _hw_line(place: int, partition: str, found: list[Row], axis: Axis) -> Figure:
    """Up and to the right is well; a level stretch is a stall, a step down is what an unclean leader did not have."""
    x = [(row["bin_began_us"] + row["bin_us"]) / _SECOND for row in found]
    values = [row["hw"] for row in found]
    if x[-1] < axis.end:
        x, values = [*x, axis.end], [*values, values[-1]]
    hovers = [f"{text(partition)}: HW {number(value)}" for value in values]
    return {**_line(place, [min(at, axis.end) for at in x], values, LINES[0]), "hovertext": hovers}


def _lag_lines(place: int, by_group: dict[str, list[Row]]) -> list[Figure]:
    most = max((row["lag"] for found in by_group.values() for row in found), default=0)
    return [
        {
            **_line(
                place,
                [(row["bin_began_us"] + row["bin_us"]) / _SECOND for row in found],
                [row["lag"] for row in found],
                LINES[1 + number_],
                most,
            ),
            "hovertext": [f"{text(name)} is {several(row['lag'], 'record')} behind" for row in found],
        }
        for number_, (name, found) in enumerate(by_group.items())
    ]


def _line(place: int, x: Sequence[float], values: list[int], colour: str, most: int = 0) -> Figure:
    """A line within the height of its lane."""
    top = max(most, *values, 1)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": [round(place + 0.36 - 0.72 * value / top, 4) for value in values],
        "line": {"color": colour, "width": 1.75, "shape": "hv"},
        "hoverinfo": "x+text",
    }


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
