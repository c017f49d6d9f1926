"""Renderer of figures as inline SVG, with a limited number of shapes.

A figure is a dict of ``data`` (traces) and ``layout``. It may have horizontal bars, lines, marks with whiskers, bands
and rules, on a linear or logarithmic scale. Texts in a figure are escaped already.

The SVG contains what the page's script needs to fit a chart to its column and to zoom: elements that may be stretched
are in the group ``zoom``, elements that keep their shape have a position in ``data-x``, and lines have their values.
"""

import html
import math
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from playbooks.text import printable
from spark_report.render.charts import ALARM, WARNING, Figure

# Downsampling of charts with very many shapes: neighbours that could hardly be distinguished are merged.


MOST_SHAPES: Final = 400
"""Default maximum of shapes in one lane."""

_EACH_SHAPE: Final = {"bar": ("base", "x", "y", "color", "text", "hovertext"), "marks": ("x", "y", "hovertext")}
"""Type of a trace → its lists with a value for each shape."""


def downsampled(figure: Figure, length: float, limit: int) -> Figure:
    """Return the figure with at most about ``limit`` shapes in each trace, over an axis of this length; lines stay.

    Shapes are merged if both start in the same and end in the same of ``limit`` parts of the axis. A merged bar has the
    most severe colour among them.
    """
    traces = [_downsampled(trace, length / limit, limit) for trace in figure["data"]]
    bands = _downsampled_bands(figure["layout"].get("shapes", ()), length / limit, limit)
    layout = figure["layout"] if bands is None else {**figure["layout"], "shapes": bands}
    return {**figure, "data": traces, "layout": layout}


def _downsampled(trace: Figure, part: float, limit: int) -> Figure:
    lists = _EACH_SHAPE.get(trace["type"], ())
    if not lists or len(trace["x"]) <= limit or "whiskers" in trace:
        return trace
    begins = trace["base"] if trace["type"] == "bar" else trace["x"]
    lengths = trace["x"] if trace["type"] == "bar" else [0] * len(begins)
    ends = [begin + length for begin, length in zip(begins, lengths, strict=True)]
    groups: dict[tuple[int, int, float], list[int]] = {}
    for index, (begin, end, y) in enumerate(zip(begins, ends, trace["y"], strict=True)):
        groups.setdefault((int(begin // part), int(end // part), y), []).append(index)
    joined = {**trace, **{name: [trace[name][group[0]] for group in groups.values()] for name in lists}}
    for at, group in enumerate(groups.values()):
        if len(group) == 1:
            continue
        joined["hovertext"][at] += f"<br>and {len(group) - 1:,} more nearby"
        if trace["type"] == "bar":
            joined["base"][at] = min(begins[index] for index in group)
            joined["x"][at] = max(ends[index] for index in group) - joined["base"][at]
            joined["color"][at] = _worst([trace["color"][index] for index in group])
            joined["text"][at] = ""
    return joined


def _worst(colours: Sequence[str]) -> str:
    return next((colour for colour in (ALARM, WARNING) if colour in colours), colours[0])


def _downsampled_bands(shapes: Sequence[Figure], part: float, limit: int) -> list[Figure] | None:
    """Return the shapes with fewer bands; None if there are few enough."""
    bands = [shape for shape in shapes if shape["type"] == "rect"]
    if len(bands) <= limit:
        return None
    groups: dict[tuple[int, int], dict[str, Any]] = {}
    for band in bands:
        own = groups.setdefault((int(band["x0"] // part), int(band["x1"] // part)), dict(band))
        own["x0"], own["x1"] = min(own["x0"], band["x0"]), max(own["x1"], band["x1"])
    return [*groups.values(), *(shape for shape in shapes if shape["type"] != "rect")]


# Draws a figure as inline SVG, which needs no script and can be printed.


WIDTH: Final = 960
"""Width of a chart before it is fitted to its column, in pixels."""
_LETTER: Final = 7.0
"""Approximate width of a character, in pixels."""
_MOST_LETTERS: Final = 44
"""Most characters of a label beside the plot."""
_TAG: Final = re.compile(r"</?[a-z]+>")
_TOP: Final = 8
_FOOT: Final = 40
_RIGHT: Final = 14
_AXES: Final = ("yaxis", "yaxis2")


class PlotArea(NamedTuple):
    """The plot area within a chart, in pixels."""

    left: float
    right: float
    top: float
    foot: float


class Scale:
    """Linear or logarithmic scale from values to pixels."""

    def __init__(self, axis: Figure, values: list[float], begin: float, end: float) -> None:
        self.log = axis.get("type") == "log"
        low, high = axis.get("range") or self._around(axis, values)
        self.low, self.high = float(low), float(high)
        self._begin, self._end = begin, end

    def _around(self, axis: Figure, values: list[float]) -> tuple[float, float]:
        low = 0.0 if axis.get("rangemode") == "tozero" else min(values, default=0.0)
        return low, max(values, default=1.0) * 1.06 or 1.0

    def __call__(self, value: float) -> float:
        """Return the pixel position of a value."""
        at = math.log10(max(value, 1e-9)) if self.log else value
        share = (at - self.low) / ((self.high - self.low) or 1)
        return round(self._begin + share * (self._end - self._begin), 1)

    def inside(self, value: float) -> float:
        """Return the pixel position of a value, clamped to the plot."""
        low, high = sorted((self._begin, self._end))
        return min(max(self(value), low), high)

    def marks(self, axis: Figure) -> list[tuple[float, str]]:
        """Return the positions and labels of ticks."""
        if "tickvals" in axis:
            marked = zip(axis["tickvals"], axis["ticktext"], strict=True)
        else:
            room = 90 if self._end > self._begin else 26
            most = min(9, max(2, int(abs(self._end - self._begin) / room)))
            marked = ((mark, f"{mark:,g}") for mark in _round_marks(self.low, self.high, most))  # type: ignore[assignment]
        low, high = sorted((self._begin, self._end))
        return [(self(value), words) for value, words in marked if low - 0.5 <= self(value) <= high + 0.5]


def svg(figure: Figure, label: str, limit: int = MOST_SHAPES) -> Markup:
    """Draw a figure, with its legend before it; ``label`` is its accessible name, and is escaped here.

    If a lane has more than ``limit`` shapes, neighbours are merged.
    """
    if figure["layout"]["xaxis"].get("zoom"):
        figure = downsampled(figure, (figure["layout"]["xaxis"]["range"][1] or 1), limit)
    layout, data = figure["layout"], figure["data"]
    names = [name for name in _AXES if name in layout]
    lengths = [len(_short(text)) for name in names for text in _labels(layout[name], data, name)]
    left = round(10 + max((length * _LETTER for length in lengths), default=20), 1)
    box = PlotArea(left, WIDTH - _RIGHT, _TOP, layout["height"] - _FOOT)
    across = Scale(layout["xaxis"], _reach(data) if "range" not in layout["xaxis"] else [], box.left, box.right)
    downs = {}
    for name in names:
        low, high = layout[name].get("domain", (0, 1))
        tall = box.foot - box.top
        downs[name] = Scale(layout[name], _values(data, name), box.foot - low * tall, box.foot - high * tall)
    plot = f"{box.left} {box.right} {box.top} {box.foot}"
    opening = Markup('<svg class="still" viewBox="0 0 {} {}" role="img" aria-label="{}" data-plot="{}"{}>').format(
        *(WIDTH, layout["height"], printable(label), plot, _range(layout["xaxis"])),
    )
    return _legend(figure) + opening + Markup("".join(_drawn(figure, across, downs, box))) + Markup("</svg>")


def _range(axis: Figure) -> Markup:
    """Return the attribute with the range of a zoomable axis."""
    return Markup(' data-range="{} {}"').format(*axis["range"]) if axis.get("zoom") else Markup("")


def _drawn(figure: Figure, across: Scale, downs: dict[str, Scale], box: PlotArea) -> Iterator[str]:
    layout, data = figure["layout"], figure["data"]
    for x, words in across.marks(layout["xaxis"]):
        yield f'<g class="tick" data-x="{x}"><path class="grid" d="M{x} {box.top}V{box.foot}"/>'
        yield f"{_text(x, box.foot + 15, words, 'middle')}</g>"
    title = layout["xaxis"].get("title", "")
    yield _text((box.left + box.right) / 2, box.foot + 33, title, "middle", "quiet middle")
    width, height = round(box.right - box.left, 1), round(box.foot - box.top, 1)
    yield (
        f'<svg class="plot" x="{box.left}" y="{box.top}" width="{width}" height="{height}" '
        f'viewBox="{box.left} {box.top} {width} {height}" preserveAspectRatio="none"><g class="zoom">'
    )
    yield from _grid(layout, downs, box)
    for shape in layout.get("shapes", ()):
        yield _shape(shape, across, downs["yaxis"], box)
    for lane, traces in groupby(data, lambda trace: trace.get("lane") if trace["type"] == "lines" else trace["type"]):
        drawn_traces = list(traces)
        if drawn_traces[0]["type"] == "lines":
            yield from _lines_of(drawn_traces, lane, across, downs, box)
        else:
            for trace in drawn_traces:
                yield from (_bars if trace["type"] == "bar" else _points)(trace, across, downs["yaxis"])
    yield "</g></svg>"
    for name, down in downs.items():
        for y, words in down.marks(layout[name]):
            yield _text(box.left - 6, y + 4, html.escape(_short(words)), "end")
        if title := layout[name].get("title", ""):
            yield _text(box.left + 5, down(10**down.high if down.log else down.high) + 12, title, "start", "quiet")
    for note in layout.get("annotations", ()):
        yield _text(box.left + 2, downs["yaxis"](note["y"]) + 4, note["text"], "start", "bold")


def _grid(layout: Figure, downs: dict[str, Scale], box: PlotArea) -> Iterator[str]:
    for name, down in downs.items():
        if layout[name].get("showgrid", True):
            for y, _words in down.marks(layout[name]):
                yield f'<path class="grid" d="M{box.left} {y}H{box.right}"/>'


def _bars(trace: Figure, across: Scale, down: Scale) -> Iterator[str]:
    half = trace["width"] / 2
    rows = zip(trace["base"], trace["x"], trace["y"], trace["color"], trace["text"], trace["hovertext"], strict=True)
    for base, length, y, fill, text, hover in rows:
        begin, end = across.inside(base), across.inside(base + length)
        width = max(1.0, round(end - begin, 1))
        above = down(y - half)
        height = round(down(y + half) - above, 1)
        yield (
            f'<rect x="{begin}" y="{above}" width="{width}" height="{height}" fill="{fill}" class="bar">'
            f"<title>{_plain_lines(hover)}</title></rect>"
        )
        if text:
            needed = round(len(_TAG.sub("", text)) * _LETTER + 6)
            hidden = " tight" if needed > width else ""
            yield (
                f'<text class="dark in{hidden}" x="{round(begin + 4, 1)}" y="{round(down(y) + 4, 1)}" '
                f'data-x="{begin}" data-room="{width} {needed}">{_TAG.sub("", text)}</text>'
            )


def _lines_of(traces: list[Figure], lane: Any, across: Scale, downs: dict[str, Scale], box: PlotArea) -> Iterator[str]:
    """Draw lines over the whole plot or in one lane, below a rectangle that receives pointer events."""
    top, foot = (box.top, box.foot) if lane is None else (downs["yaxis"](lane - 0.5), downs["yaxis"](lane + 0.5))
    yield '<g class="lines">' if lane is None else '<g class="lines" data-steps="1">'
    for trace in traces:
        yield _line(trace, across, downs["yaxis2" if trace.get("yaxis") == "y2" else "yaxis"])
    width, height = round(box.right - box.left, 1), round(foot - top, 1)
    yield f'<rect class="hit" x="{box.left}" y="{top}" width="{width}" height="{height}"/></g>'


def _line(trace: Figure, across: Scale, down: Scale) -> str:
    stroke = trace["line"]
    dash = ' stroke-dasharray="2 3"' if stroke.get("dash") == "dot" else ""
    shown = [
        (across.inside(x), text) for x, y, text in zip(trace["x"], trace["y"], trace["says"], strict=True)
        if y is not None
    ]  # fmt: skip
    path = path_of(trace, across, down, stroke.get("shape", "linear"))
    return (
        f'<path d="{path}" stroke="{stroke["color"]}" stroke-width="{stroke["width"]}"{dash} class="line" '
        f'data-name="{trace["name"]}" data-xs="{" ".join(f"{x:g}" for x, _words in shown)}" '
        f'data-says="{"|".join(text for _x, text in shown)}"/>'
    )


def path_of(trace: Figure, across: Scale, down: Scale, shape: str) -> str:
    """Return the SVG path of a line through its points; a point without a value is a gap."""
    steps: list[str] = []
    last: tuple[float, float] | None = None
    for x_value, y_value in zip(trace["x"], trace["y"], strict=True):
        if x_value is None or y_value is None:
            last = None
            continue
        x, y = across.inside(x_value), down.inside(y_value)
        if last is None:
            # A short segment makes a point between two gaps visible.
            steps.append(f"M{x:g} {y:g}h.8")
        elif shape == "hv":
            steps.append(f"H{x:g}V{y:g}")
        elif shape == "hvh":
            steps.append(f"H{round((last[0] + x) / 2, 1):g}V{y:g}H{x:g}")
        else:
            steps.append(f"L{x:g} {y:g}")
        last = (x, y)
    return "".join(steps)


def _points(trace: Figure, across: Scale, down: Scale) -> Iterator[str]:
    whiskers = trace.get("whiskers") or [None] * len(trace["x"])
    for x, y, hover, ends in zip(trace["x"], trace["y"], trace["hovertext"], whiskers, strict=True):
        at, height = across.inside(x), down(y)
        if ends:
            low, high = across.inside(ends[0]), across.inside(ends[1])
            colour = trace["marker"]["color"]
            yield f'<path class="whisker" d="M{low} {height}H{high}" stroke="{colour}"/>'
        yield f'<g data-x="{at}">{_mark(trace["marker"], at, height)}<title>{_plain_lines(hover)}</title></g>'


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


def _shape(shape: Figure, across: Scale, down: Scale, box: PlotArea) -> str:
    if shape["type"] == "line":
        return f'<path class="rule" d="M{box.left} {down(shape["y0"])}H{box.right}"/>'
    begin, end = across.inside(shape["x0"]), across.inside(shape["x1"])
    width = max(1.0, round(end - begin, 1))
    return (
        f'<rect x="{begin}" y="{box.top}" width="{width}" height="{round(box.foot - box.top, 1)}" '
        f'fill="{shape["fillcolor"]}" opacity="{shape["opacity"]}"/>'
    )


def _legend(figure: Figure) -> Markup:
    """Return the legend of marks and lines; empty if lanes are labelled."""
    shown = [trace for trace in figure["data"] if trace.get("legend")]
    items = [f"<li>{_sample(trace)}{trace['legend']}</li>" for trace in shown]
    return Markup(f'<ul class="legend">{"".join(items)}</ul>' if items else "")


def _sample(trace: Figure) -> str:
    if trace["type"] == "lines":
        dash = ' stroke-dasharray="2 3"' if trace["line"].get("dash") == "dot" else ""
        drawn = f'<path d="M0 7h18" fill="none" stroke="{trace["line"]["color"]}" stroke-width="2"{dash}/>'
    else:
        drawn = _mark(trace["marker"], 9, 7)
    return f'<svg viewBox="0 0 18 14" width="18" height="14" aria-hidden="true">{drawn}</svg>'


def _labels(axis: Figure, data: list[Figure], name: str) -> list[str]:
    if "ticktext" in axis:
        return [str(words) for words in axis["ticktext"]]
    most = max(_values(data, name), default=0)
    return [f"{most:,.0f}"]


def _values(data: list[Figure], name: str) -> list[float]:
    own = [trace for trace in data if (trace.get("yaxis") == "y2") == (name == "yaxis2")]
    return [float(value) for trace in own for value in trace["y"] if value is not None]


def _reach(data: list[Figure]) -> list[float]:
    """Return the right ends of traces, including whiskers."""
    ends = [end for trace in data for _begin, end in trace.get("whiskers") or ()]
    bars = [base + length for trace in data if trace["type"] == "bar"
            for base, length in zip(trace["base"], trace["x"], strict=True)]  # fmt: skip
    return [float(value) for value in [*ends, *bars]]


def _round_marks(low: float, high: float, limit: int) -> list[float]:
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9) / limit))
    step = next(step * nice for nice in (1, 2, 5, 10, 20) if (high - low) / (step * nice) <= limit)
    first = math.ceil(low / step)
    return [round((first + place) * step, 9) for place in range(limit + 1) if (first + place) * step <= high]


def _text(x: float, y: float, content: Any, anchor: str, kind: str = "") -> str:
    plain = _TAG.sub("", str(content))
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}"{style}>{plain}</text>'


def _short(label: str) -> str:
    """Return a label as plain text, shortened to leave space for the plot."""
    plain = html.unescape(_TAG.sub("", str(label)))
    return plain if len(plain) <= _MOST_LETTERS else f"{plain[: _MOST_LETTERS - 1]}…"


def _plain_lines(hover: str) -> str:
    return _TAG.sub("", hover.replace("<br>", "\n"))
