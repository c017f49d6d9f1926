"""OpenMetrics text of a session's time series, with timestamps.

``promtool tsdb create-blocks-from openmetrics`` reads it. Virtual time 0 is a given Unix time.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from playbooks.metrics.catalogue import METRICS
from playbooks.metrics.sampler import Series
from playbooks.metrics.time_series import SessionSeries

START_S: Final = 1_735_689_600
"""Unix time of virtual time 0: 2025-01-01 00:00 UTC."""
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def openmetrics_text(series: SessionSeries, start_s: int = START_S) -> str:
    """Return the whole text: each metric with its type, then its samples by series and time."""
    return "".join(f"{line}\n" for line in _lines(series, start_s))


def _lines(series: SessionSeries, start_s: int) -> Iterator[str]:
    families: dict[str, list[tuple[Series, list[float | None]]]] = defaultdict(list)
    for column in series.columns().items():
        families[column[0][0]].append(column)
    for name, columns in sorted(families.items()):
        metric = METRICS[name]
        family = name.removesuffix("_total") if metric.kind == "counter" else name
        yield f"# TYPE {family} {metric.kind}"
        yield f"# HELP {family} {metric.meaning.translate(_ESCAPES)}"
        for (_, labels), values in columns:
            text = series_text(name, labels)
            for number, value in enumerate(values):
                if value is not None:
                    at_us = start_s * 1_000_000 + number * series.interval_us
                    yield f"{text} {value_text(value)} {at_us // 1_000_000}.{at_us // 1000 % 1000:03d}"
    yield "# EOF"


def series_text(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    """Return a series as PromQL and the exposition format write it."""
    pairs = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in labels)
    return f"{name}{{{pairs}}}"


def value_text(value: float) -> str:
    """Return a value without a superfluous fraction."""
    return str(int(value)) if value == int(value) else repr(value)
