"""A chart as a still picture: the same figure that Plotly draws, as inline SVG, for paper and for pages without script.

It knows what the figures of this package use, and no more: bars that lie, lines, marks, bands and rules, on numbers or
their logarithms. Texts in a figure are escaped already.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from markupsafe import Markup

from spark_report.render.charts import Figure

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
