"""The report as one HTML file that needs nothing else: styles, script and Plotly are inside, once.

Names in a session are a stranger's. The template escapes every value, figures travel as JSON in which no ``<`` is
left, and the page forbids itself the network by a content security policy. Each chart is there twice: as a still
picture, for paper and for readers without script, and as a figure that Plotly draws in its place.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from playbooks.text import printable
from spark_report.model.comparison import compare
from spark_report.model.format import duration, number, several, share
from spark_report.model.report import Row, SessionStory, Story, Tone, headline, overall, sentences, tone
from spark_report.render import charts, tables
from spark_report.render.charts import Figure
from spark_report.render.sections import (
    Section,
    comparison_baseline,
    comparison_changes,
    comparison_extremes,
    comparison_legend,
    comparison_matrix,
    key_figures,
    sections,
    shown_sessions,
)
from spark_report.render.tables import View

# A chart as a still picture: the same figure that Plotly draws, as inline SVG, for paper and for pages without
# script.
#
# It knows what the figures of this package use, and no more: bars that lie, lines, marks, bands and rules, on numbers
# or their logarithms. Texts in a figure are escaped already.


WIDTH: Final = 960
_LETTER: Final = 6.3
"""About how wide a letter is."""
_TAG: Final = re.compile(r"</?[a-z]+>")
_TOP: Final = 8
_FOOT: Final = 40
_RIGHT: Final = 14
_LEGEND: Final = 24
_AXES: Final = ("yaxis", "yaxis2")


class _Scale:
    """Values to pixels."""

    def __init__(self, axis: Figure, values: list[float], begin: float, end: float) -> None:
        self.log = axis.get("type") == "log"
        low, high = axis.get("range") or self._around(axis, values)
        self._low, self._high = float(low), float(high)
        self._begin, self._end = begin, end

    def _around(self, axis: Figure, values: list[float]) -> tuple[float, float]:
        low = 0.0 if axis.get("rangemode") == "tozero" else min(values, default=0.0)
        return low, max(values, default=1.0) * 1.06 or 1.0

    def __call__(self, value: float) -> float:
        at = math.log10(max(value, 1e-9)) if self.log else value
        share = (at - self._low) / ((self._high - self._low) or 1)
        return round(self._begin + share * (self._end - self._begin), 1)

    def inside(self, value: float) -> float:
        """The same, kept within the plot."""
        low, high = sorted((self._begin, self._end))
        return min(max(self(value), low), high)

    def marks(self, axis: Figure) -> list[tuple[float, str]]:
        """Where ticks stand, and what they say."""
        if "tickvals" in axis:
            found = zip(axis["tickvals"], axis["ticktext"], strict=True)
        else:
            found = ((mark, f"{mark:,g}") for mark in _round_marks(self._low, self._high))  # type: ignore[assignment]
        low, high = sorted((self._begin, self._end))
        return [(self(value), words) for value, words in found if low - 0.5 <= self(value) <= high + 0.5]


def svg(figure: Figure, label: str) -> Markup:
    """The picture; ``label`` says what it shows, and is escaped here."""
    layout = figure["layout"]
    # Texts are escaped where figures are made.
    parts = [*_drawn(figure)]
    opening = Markup('<svg class="still" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, layout["height"], label
    )
    return opening + Markup("".join(parts)) + Markup("</svg>")


def _drawn(figure: Figure) -> Iterator[str]:
    layout, data = figure["layout"], figure["data"]
    names = [name for name in _AXES if name in layout]
    left = 10 + max((len(words) * _LETTER for name in names for words in _labels(layout[name], data, name)), default=20)
    legend = [trace for trace in data if _in_legend(layout, trace)]
    top = _TOP + (_LEGEND if legend else 0)
    foot, right = layout["height"] - _FOOT, WIDTH - _RIGHT
    across = _Scale(layout["xaxis"], [], left, right)
    downs = {}
    for name in names:
        low, high = layout[name].get("domain", (0, 1))
        bottom, ceiling = foot - low * (foot - top), foot - high * (foot - top)
        downs[name] = _Scale(layout[name], _values(data, name), bottom, ceiling)
    yield from _frame(layout, across, downs, (left, right, top, foot))
    for shape in layout.get("shapes", ()):
        yield _shape(shape, across, downs["yaxis"], (left, right, top, foot))
    for trace in data:
        down = downs["yaxis2" if trace.get("yaxis") == "y2" else "yaxis"]
        yield from _bars(trace, across, down) if trace["type"] == "bar" else _points(trace, across, down)
    for note in layout.get("annotations", ()):
        yield _text(left + 2, downs["yaxis"](note["y"]) + 4, note["text"], "start", "bold")
    yield from _legend(legend, left)


def _frame(
    layout: Figure, across: _Scale, downs: dict[str, _Scale], box: tuple[float, float, float, float]
) -> Iterator[str]:
    left, right, top, foot = box
    for x, words in across.marks(layout["xaxis"]):
        yield f'<path class="grid" d="M{x} {top}V{foot}"/>'
        yield _text(x, foot + 15, words, "middle")
    yield _text((left + right) / 2, foot + 33, layout["xaxis"]["title"]["text"], "middle", "quiet")
    for name, down in downs.items():
        for y, words in down.marks(layout[name]):
            if layout[name].get("showgrid", True):
                yield f'<path class="grid" d="M{left} {y}H{right}"/>'
            yield _text(left - 6, y + 4, words, "end")


def _bars(trace: Figure, across: _Scale, down: _Scale) -> Iterator[str]:
    half = trace["width"] / 2
    rows = zip(trace["base"], trace["x"], trace["y"], trace["marker"]["color"], trace["text"], trace["hovertext"],
               strict=True)  # fmt: skip
    for base, length, y, fill, words, hover in rows:
        begin, end = across.inside(base), across.inside(base + length)
        width = max(1.0, round(end - begin, 1))
        above = down(y - half)
        height = round(down(y + half) - above, 1)
        yield (
            f'<rect x="{begin}" y="{above}" width="{width}" height="{height}" fill="{fill}" class="bar">'
            f"<title>{_lines(hover)}</title></rect>"
        )
        if words and len(words) * _LETTER + 6 < width:
            yield _text(begin + 4, down(y) + 4, words, "start", "dark")


def _points(trace: Figure, across: _Scale, down: _Scale) -> Iterator[str]:
    if "lines" in trace["mode"]:
        stroke = trace["line"]
        dash = ' stroke-dasharray="2 3"' if stroke.get("dash") == "dot" else ""
        path = _path(trace, across, down, stroke.get("shape", "linear"))
        yield f'<path d="{path}" fill="none" stroke="{stroke["color"]}" stroke-width="{stroke["width"]}"{dash}/>'
        return
    hovers = trace.get("hovertext") or [""] * len(trace["x"])
    for x, y, hover in zip(trace["x"], trace["y"], hovers, strict=True):
        if x is not None and y is not None:
            yield f"<g>{_mark(trace['marker'], across.inside(x), down(y))}<title>{_lines(hover)}</title></g>"


def _path(trace: Figure, across: _Scale, down: _Scale, shape: str) -> str:
    steps: list[str] = []
    last: tuple[float, float] | None = None
    for x_value, y_value in zip(trace["x"], trace["y"], strict=True):
        if x_value is None or y_value is None:
            last = None
            continue
        x, y = across.inside(x_value), down.inside(y_value)
        if last is None:
            # A point with gaps on either side would be nothing without a little length.
            steps.append(f"M{x} {y}h.8")
        elif shape == "hv":
            steps.append(f"H{x}V{y}")
        elif shape == "hvh":
            steps.append(f"H{round((last[0] + x) / 2, 1)}V{y}H{x}")
        else:
            steps.append(f"L{x} {y}")
        last = (x, y)
    return "".join(steps)


def _mark(marker: Figure, x: float, y: float) -> str:
    colour, size = marker["color"], marker["size"] / 2
    if marker["symbol"] == "circle-open":
        return f'<circle cx="{x}" cy="{y}" r="{size - 0.5}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
    if marker["symbol"] == "diamond":
        return f'<path d="M{x} {y - size}l{size} {size}l{-size} {size}l{-size} {-size}z" fill="{colour}"/>'
    if marker["symbol"] == "x":
        cross = f"M{x - size} {y - size}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}"
        return (
            f'<path d="{cross}" stroke="#FFFFFF" stroke-width="6"/><path d="{cross}" stroke="{colour}" '
            f'stroke-width="3.5"/>'
        )
    return f'<circle cx="{x}" cy="{y}" r="{size}" fill="{colour}"/>'


def _shape(shape: Figure, across: _Scale, down: _Scale, box: tuple[float, float, float, float]) -> str:
    left, right, top, foot = box
    if shape["type"] == "line":
        return f'<path class="rule" d="M{left} {down(shape["y0"])}H{right}"/>'
    begin, end = across.inside(shape["x0"]), across.inside(shape["x1"])
    width = max(1.0, round(end - begin, 1))
    return (
        f'<rect x="{begin}" y="{top}" width="{width}" height="{foot - top}" fill="{shape["fillcolor"]}" '
        f'opacity="{shape["opacity"]}"/>'
    )


def _legend(traces: list[Figure], left: float) -> Iterator[str]:
    x = left
    for trace in traces:
        words = trace["name"]
        if "lines" in trace["mode"]:
            dash = ' stroke-dasharray="2 3"' if trace["line"].get("dash") == "dot" else ""
            yield f'<path d="M{x} 14h16" stroke="{trace["line"]["color"]}" stroke-width="2"{dash}/>'
        else:
            yield _mark(trace["marker"], x + 8, 14)
        yield _text(x + 22, 18, words, "start")
        x += 40 + len(words) * _LETTER
        if x > WIDTH - 160:
            return


def _in_legend(layout: Figure, trace: Figure) -> bool:
    shown = layout.get("showlegend", True) and trace.get("showlegend", True)
    return bool(shown) and "legend" in layout and bool(trace.get("name"))


def _labels(axis: Figure, data: list[Figure], name: str) -> list[str]:
    if "ticktext" in axis:
        return [str(words) for words in axis["ticktext"]]
    most = max(_values(data, name), default=0)
    return [f"{most:,.0f}"]


def _values(data: list[Figure], name: str) -> list[float]:
    own = [trace for trace in data if (trace.get("yaxis") == "y2") == (name == "yaxis2")]
    return [float(value) for trace in own for value in trace["y"] if value is not None]


def _round_marks(low: float, high: float, most: int = 9) -> list[float]:
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9) / most))
    step = next(step * nice for nice in (1, 2, 5, 10, 20) if (high - low) / (step * nice) <= most)
    first = math.ceil(low / step)
    return [round((first + place) * step, 9) for place in range(most + 1) if (first + place) * step <= high]


def _text(x: float, y: float, words: Any, anchor: str, kind: str = "") -> str:
    plain = _TAG.sub("", str(words))
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}"{style}>{plain}</text>'


def _lines(hover: str) -> str:
    return _TAG.sub("", hover.replace("<br>", "\n"))


# One partition after the other: its lanes, and every table that speaks of it.


MOST_PARTITIONS: Final = 40
"""Partitions told on a page, those first in which most happened."""
_TABLES: Final = (
    *("partition_states", "unavailability", "isr_conditions", "hw_stalls", "elections", "isr_changes", "truncations"),
    *("losses", "hw_series", "partition_position_lag", "outcomes", "availability", "partitions", "violations"),
)


@dataclass(frozen=True, slots=True)
class Partition:
    """What there is to say of a partition."""

    name: str
    tone: Tone
    summary: str
    facts: tuple[tuple[str, str], ...]
    picture: Markup
    views: tuple[View, ...]


def drill_down(story: SessionStory) -> tuple[list[Partition], int]:
    """The partitions that are told, and how many are left out."""
    names = charts.by_interest(story)
    own = {name: {table: [] for table in _TABLES} for name in names[:MOST_PARTITIONS]}  # type: dict[str, dict[str, list[Row]]]
    for table in _TABLES:
        for row in story.tables[table]:
            if row["partition"] in own:
                own[row["partition"]][table].append(row)
    told = [_partition(name, replace(story, tables={**story.tables, **found})) for name, found in own.items()]
    return told, len(names) - len(told)


def _partition(name: str, story: SessionStory) -> Partition:
    lost = sum(row["count"] for row in story.lost)
    out = sum(row["duration_us"] for row in story.unavailable("partition"))
    whole = next(iter(story.tables["partitions"]), None)
    said = []
    if lost:
        said.append(f"{several(lost, 'record')} lost")
    if out:
        said.append(f"{duration(out)} without a leader")
    if whole and whole["under_min_isr_us"]:
        said.append(f"{duration(whole['under_min_isr_us'])} under min.insync.replicas")
    if whole and whole["under_replicated_us"]:
        said.append(f"{duration(whole['under_replicated_us'])} under-replicated")
    if not said and len(story.tables["partition_states"]) > 1:
        said.append(several(len(story.tables["partition_states"]) - 1, "change"))
    tone: Tone = "alarm" if lost or out else "warning" if said else "calm"
    views = (
        tables.losses(story),
        tables.unavailability(story),
        tables.states(story),
        tables.conditions(story, name),
        tables.stalls(story, name),
        tables.elections(story),
        tables.truncations(story),
        tables.outcomes(story),
    )
    picture = svg(charts.partition_chart(story, name), f"{name} over time")
    return Partition(name, tone, ", ".join(said) or "quiet", _facts(story, whole), picture, tuple(filter(None, views)))


def _facts(story: SessionStory, whole: Row | None) -> tuple[tuple[str, str], ...]:
    if whole is None:
        return ()
    served = next((row["availability"] for row in story.tables["availability"] if row["scope"] == "partition"), None)
    minimum = "not known" if whole["min_isr"] is None else whole["min_isr"]
    elections = f"{number(whole['elections_clean'])} clean, {number(whole['elections_unclean'])} unclean"
    found = [
        ("replicas", f"{whole['replication']}, min.insync.replicas {minimum}"),
        ("available", "" if served is None or story.timeless else share(served)),
        ("leader epochs", f"{whole['epochs']}, the last {whole['last_epoch']}"),
        ("elections", elections),
        ("ISR", f"{number(whole['isr_shrinks'])} shrinks, {number(whole['isr_expands'])} expands"),
        ("HW stalls", _stalls(whole)),
    ]
    return tuple((label, value) for label, value in found if value)


def _stalls(whole: Row) -> str:
    if not whole["hw_stalls"]:
        return ""
    return f"{number(whole['hw_stalls'])}, the longest {duration(whole['longest_hw_stall_us'])}"


MOST_ROWS: Final = 400
"""Rows of one table on the page; the files under ``tables/`` hold all."""

_KEY: Final = (
    ("calm", "every replica in sync"),
    ("warning", "a fault; a replica out of sync; a client whose writes were refused or unanswered (thin bar)"),
    ("alarm", "no serving leader; fewer in sync than min.insync.replicas"),
)
_OVER_TIME: Final = (
    "Solid is the median, dotted the slowest of each moment; a gap is a time in which nothing came through. "
    "Below are records a second."
)
_UNSAFE_IN_SCRIPT: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure, drawn twice, with what is said about it."""

    id: str
    title: str
    note: str
    key: tuple[tuple[str, str], ...]
    """What colours mean: tone and words."""
    figure: Markup
    picture: Markup
    height: int


def write_html(path: Path, story: Story) -> None:
    """Write the page."""
    path.write_text(html_page(story), encoding="utf-8")


def html_page(story: Story) -> str:
    """The page as text."""
    worst, verdict = overall(story)
    told = shown_sessions(story)
    anchors = {one.session_id: f"s{place}" for place, one in enumerate(told)}
    short = tables.letters(story)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            verdict=verdict,
            tone=worst,
            comparison=_comparison(story) if len(story.sessions) > 1 else None,
            links=[anchors.get(one.session_id, "") for one in story.sessions],
            sessions=[_section(anchors[one.session_id], short[one.session_id], one) for one in told],
            left_out=len(story.sessions) - len(told),
            several=len(story.sessions) > 1,
            set_aside=story.set_aside,
            most_rows=MOST_ROWS,
            plotly=Markup(plotly_script()),
        )
    )


def environment() -> Environment:
    """Where templates are, with every value escaped."""
    return Environment(
        loader=PackageLoader("spark_report.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def embedded(figure: dict[str, Any]) -> Markup:
    """A figure as JSON that can stand in a script element: no text in it can end the element."""
    return Markup(json.dumps(figure, ensure_ascii=True, separators=(",", ":")).translate(_UNSAFE_IN_SCRIPT))


def _comparison(story: Story) -> dict[str, Any]:
    compared = compare(story)
    matrix = comparison_matrix(story, compared)
    changes = comparison_changes(story, compared)
    return {
        "overview": tables.overview(story),
        "legend": comparison_legend(story),
        "against": comparison_baseline(story, compared),
        "changes": changes,
        "matrix": matrix,
        "extremes": comparison_extremes(story, compared) if not matrix else None,
    }


def _section(anchor: str, letter: str, story: SessionStory) -> dict[str, Any]:
    drawn = {chart.id: chart for chart in _charts(anchor, story)}
    told, left_out = drill_down(story)
    found = sections(story)
    return {
        "id": anchor,
        "letter": letter,
        "name": story.name,
        "profile": story.recorded.start.profile,
        "tone": tone(story),
        "headline": headline(story),
        "complaint": story.complaint,
        "problems": story.problems,
        "key_figures": key_figures(story),
        "facts": tables.facts(story),
        "sentences": sentences(story),
        "told": [_with_charts(anchor, one, drawn) for one in found if not one.folded and one.name != "partitions"],
        "partitions": told,
        "partitions_left_out": left_out,
        "folded": [one for one in found if one.folded],
    }


def _with_charts(anchor: str, section: Section, drawn: dict[str, Chart]) -> dict[str, Any]:
    own = [chart for name, chart in drawn.items() if name.startswith(f"{anchor}-{section.name}-")]
    # A chart's data is for looking up; where there is none, the tables are what there is to read.
    behind = section.name in ("timeline", "latency") and bool(own)
    return {
        "name": section.name,
        "title": section.title,
        "nothing": "" if any(section.views) else section.nothing,
        "charts": own,
        "open": [] if behind else [view for view in section.views if view],
        "behind": [view for view in section.views if view] if behind else [],
    }


def _charts(anchor: str, story: SessionStory) -> list[Chart]:
    note = "A cross stands where acknowledged records went missing for good. HW and position lag rise with their lanes."
    if story.tables["faults"]:
        note = f"Bands are times with a fault active. {note}"
    if left_out := len(charts.by_interest(story)) - charts.MOST_PARTITIONS:
        note += f" {left_out} partitions in which less happened are below." if left_out > 0 else ""
    around = "As long before and after as the fault lasted, and a second at least."
    figures = [
        ("timeline-lanes", "", note, _KEY, charts.timeline_chart(story)),
        (
            "availability-faults",
            "Around each fault",
            f"{around}{charts.uncharted_faults(story)}",
            (),
            charts.availability_around_faults(story),
        ),
        (
            "latency-faults",
            "Around each fault",
            f"{around}{charts.uncharted_faults(story)}",
            (),
            charts.latency_around_faults(story),
        ),
        (
            "latency-series",
            "Over time",
            _OVER_TIME,
            (),
            charts.latency_chart(story),
        ),
        (
            "lag-series",
            "",
            "Position lag: records between what a group has read and the high watermark.",
            (),
            charts.lag_chart(story),
        ),
    ]
    return [
        Chart(
            f"{anchor}-{kind}",
            title,
            said,
            key,
            embedded(figure),
            svg(figure, f"{title or 'What happened when'}: {story.name}"),
            figure["layout"]["height"],
        )
        for kind, title, said, key, figure in figures
        if figure is not None
    ]


def _finalize(value: object) -> object:
    return printable(value) if type(value) is str else value


def plotly_script() -> str:
    """Plotly's own."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - five megabytes that other formats do not need

    script: str = get_plotlyjs()
    return script
