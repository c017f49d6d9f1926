"""Fewer shapes for a picture of very many: neighbours that one could hardly tell apart are drawn as one."""

from collections.abc import Sequence
from typing import Any, Final

from spark_report.render.charts import ALARM, WARNING, Figure

MOST_SHAPES: Final = 400
"""Shapes of one lane that are drawn one by one, unless there is less room."""

_EACH_SHAPE: Final = {"bar": ("base", "x", "y", "color", "text", "hovertext"), "marks": ("x", "y", "hovertext")}
"""Kind of a trace → the lists in it that have a value for each shape."""


def downsampled(figure: Figure, length: float, most: int) -> Figure:
    """The figure with at most about ``most`` shapes in each trace, over an axis of this length; lines stay.

    Shapes are joined that begin in the same part of the axis and end in the same part, of ``most`` parts. A joined bar
    has the worst colour among them.
    """
    traces = [_downsampled(trace, length / most, most) for trace in figure["data"]]
    bands = _downsampled_bands(figure["layout"].get("shapes", ()), length / most, most)
    layout = figure["layout"] if bands is None else {**figure["layout"], "shapes": bands}
    return {**figure, "data": traces, "layout": layout}


def _downsampled(trace: Figure, part: float, most: int) -> Figure:
    lists = _EACH_SHAPE.get(trace["type"], ())
    if not lists or len(trace["x"]) <= most or "whiskers" in trace:
        return trace
    begins = trace["base"] if trace["type"] == "bar" else trace["x"]
    lengths = trace["x"] if trace["type"] == "bar" else [0] * len(begins)
    ends = [begin + length for begin, length in zip(begins, lengths, strict=True)]
    groups: dict[tuple[int, int, float], list[int]] = {}
    for place, (begin, end, y) in enumerate(zip(begins, ends, trace["y"], strict=True)):
        groups.setdefault((int(begin // part), int(end // part), y), []).append(place)
    joined = {**trace, **{name: [trace[name][group[0]] for group in groups.values()] for name in lists}}
    for at, group in enumerate(groups.values()):
        if len(group) == 1:
            continue
        joined["hovertext"][at] += f"<br>and {len(group) - 1:,} more close to it"
        if trace["type"] == "bar":
            joined["base"][at] = min(begins[place] for place in group)
            joined["x"][at] = max(ends[place] for place in group) - joined["base"][at]
            joined["color"][at] = _worst([trace["color"][place] for place in group])
            joined["text"][at] = ""
    return joined


def _worst(colours: Sequence[str]) -> str:
    return next((colour for colour in (ALARM, WARNING) if colour in colours), colours[0])


def _downsampled_bands(shapes: Sequence[Figure], part: float, most: int) -> list[Figure] | None:
    """The shapes with fewer bands; None where they may stay."""
    bands = [shape for shape in shapes if shape["type"] == "rect"]
    if len(bands) <= most:
        return None
    groups: dict[tuple[int, int], dict[str, Any]] = {}
    for band in bands:
        own = groups.setdefault((int(band["x0"] // part), int(band["x1"] // part)), dict(band))
        own["x0"], own["x1"] = min(own["x0"], band["x0"]), max(own["x1"], band["x1"])
    return [*groups.values(), *(shape for shape in shapes if shape["type"] != "rect")]
