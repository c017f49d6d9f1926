"""Evaluation of Prometheus rule files over time series, by promtool.

``promtool test rules`` loads the series into Prometheus' own storage and evaluates the rules at a fixed interval by
Prometheus' own rule manager: recording rules, ``for``, ``keep_firing_for``, labels and staleness are all its own. This
module writes its input, which asks for ``ALERTS`` at each evaluation, and reads the series that it found.
"""

import ast
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from playbooks.metrics.openmetrics import series_text, value_text
from playbooks.metrics.time_series import SessionSeries

PROGRAM: Final = "promtool"
BUILTIN_RULES: Final = Path(__file__).parent / "rules" / "kafka-alerts.yml"
"""The bundled rule file: what public runbooks recommend."""
LIMIT_S: Final = 300
"""Longest time that promtool may take, in seconds."""
SUFFIXES: Final = (".yml", ".yaml", ".rules")
_ALERTS: Final = "ALERTS"
_TIME: Final = re.compile(rf'^ *expr: "{_ALERTS}", time: ([0-9a-z.]+),', re.MULTILINE)
_FOUND: Final = re.compile(r"^ *got: ?(.*)$", re.MULTILINE)
_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_SERIES: Final = re.compile(r'\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}')
_UNIT: Final = re.compile(r"([0-9.]+)(ms|h|m|s)")
_UNITS_US: Final = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}


class PromtoolError(Exception):
    """promtool is missing, or it refuses a rule file; the message says which."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class AlertInterval:
    """A time in which one alert was pending or firing; times in virtual microseconds."""

    alert: str
    labels: tuple[tuple[str, str], ...]
    """Labels of the alert, without its name and state."""
    active_us: int
    """First evaluation at which its expression held."""
    firing_us: int
    """First evaluation at which it fired, -1 if it never did."""
    until_us: int
    """First evaluation at which it was inactive again, -1 if it was active at the last one."""


def find_promtool() -> str:
    """Return the path of promtool.

    Raises:
        PromtoolError: it is not installed.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise PromtoolError(
            f"found no {PROGRAM} on the PATH; install Prometheus, for example with: apt-get install prometheus",
            code="no_promtool",
        )
    return found


def rule_files(path: Path) -> list[Path]:
    """Return a rule file, or the rule files in a directory.

    Raises:
        PromtoolError: no such file, or none in the directory.
    """
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES and each.is_file())
        if not found:
            raise PromtoolError(f"{path}: found no rule file, expected *.yml, *.yaml or *.rules", code="no_rules")
        return found
    if not path.is_file():
        raise PromtoolError(f"{path}: no such file; builtin is the bundled rule file", code="no_rules")
    return [path]


def check_rules(files: Sequence[Path]) -> int:
    """Let promtool check rule files; return the number of alerting and recording rules.

    Raises:
        PromtoolError: promtool is missing, or a file is malformed; the message has promtool's line and reason.
    """
    done = _run(["check", "rules", *map(str, files)])
    if done.returncode:
        raise PromtoolError(refusal(done.stdout + done.stderr), code="bad_rules")
    return sum(map(int, re.findall(r"SUCCESS: (\d+) rules? found", done.stdout)))


def refusal(output: str) -> str:
    """Return promtool's reasons in one line."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    kept = [line for line in lines if line and not re.match(r"Checking |FAILED:?$|SUCCESS", line)]
    text = "; ".join(dict.fromkeys(kept)).replace(":; ", ": ")
    return text or "promtool refuses the rule files without a reason"


def evaluate(files: Sequence[Path], series: SessionSeries, interval_us: int) -> list[AlertInterval]:
    """Evaluate rule files over a session's time series, at each multiple of ``interval_us``.

    Raises:
        PromtoolError: promtool is missing, refuses a rule file, or cannot evaluate a rule.
    """
    last_us = (len(series.scrapes) - 1) * series.interval_us
    times = range(0, last_us + 1, interval_us)
    with tempfile.TemporaryDirectory(prefix="floodmark-alerts-") as folder:
        document = Path(folder) / "session.yml"
        document.write_text(json.dumps(_document(files, series, interval_us, times)), encoding="utf-8")
        done = _run(["test", "rules", str(document)])
    return _intervals(list(_active_at(done.stdout + done.stderr)), times, done)


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [find_promtool(), *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise PromtoolError(f"promtool took longer than {LIMIT_S} s", code="too_slow") from None
    except OSError as error:
        raise PromtoolError(f"cannot start {command[0]}: {error.strerror}", code="no_promtool") from None


# The input of promtool.


def _document(files: Sequence[Path], series: SessionSeries, interval_us: int, times: Sequence[int]) -> dict[str, Any]:
    scrapes = duration(series.interval_us)
    return {
        "rule_files": [str(each.resolve()) for each in files],
        "evaluation_interval": duration(interval_us),
        "tests": [
            {
                "name": series.name,
                "interval": scrapes,
                "input_series": [
                    {"series": series_text(*key), "values": values_text(values)}
                    for key, values in series.columns().items()
                ],
                "promql_expr_test": [{"expr": _ALERTS, "eval_time": duration(at_us)} for at_us in times],
            }
        ],
    }


def duration(us: int) -> str:
    """Return a duration as Prometheus writes it, in milliseconds."""
    return f"{us // 1000}ms"


def values_text(values: Sequence[float | None]) -> str:
    """Return values in promtool's notation: runs of equal values, ``_`` for none, ``stale`` where a series ends."""
    parts, before = [], None
    for value, run in groupby(values):
        count = len(list(run))
        if value is None:
            if before is not None:
                parts.append("stale")
                count -= 1
            parts += [f"_x{count}"] if count else []
        else:
            parts.append(value_text(value) if count == 1 else f"{value_text(value)}+0x{count - 1}")
        before = value
    return " ".join(parts)


# The output of promtool.


def parsed_us(text: str) -> int:
    """Return a duration as Prometheus writes it, in microseconds: ``1m5s``, ``500ms``, ``2.5s``."""
    return sum(round(float(number) * _UNITS_US[unit]) for number, unit in _UNIT.findall(text))


def _active_at(output: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the time and the labels of each active alert of each evaluation."""
    for block in output.split("\n    expr: ")[1:]:
        time, found = _TIME.match(f"    expr: {block}"), _FOUND.search(block)
        if time is None or found is None:
            continue
        for series in _SERIES.findall(found.group(1)):
            yield parsed_us(time.group(1)), {name: _unquoted(value) for name, value in _LABEL.findall(series)}


def _unquoted(text: str) -> str:
    try:
        return str(ast.literal_eval(f'"{text}"'))
    except (SyntaxError, ValueError):
        return text


def _intervals(
    active: Sequence[tuple[int, dict[str, str]]], times: range, done: subprocess.CompletedProcess[str]
) -> list[AlertInterval]:
    if done.returncode and not active:
        raise PromtoolError(refusal(done.stdout + done.stderr), code="not_evaluated")
    states: dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, str]] = {}
    for at_us, labels in active:
        own = tuple(sorted(item for item in labels.items() if item[0] not in ("__name__", "alertname", "alertstate")))
        at = states.setdefault((labels.get("alertname", ""), own), {})
        # While an alert is kept firing it may be in both series for one evaluation.
        if at.get(at_us) != "firing":
            at[at_us] = labels.get("alertstate", "")
    found = [each for (alert, labels), at in states.items() for each in _of_alert(alert, labels, at, times)]
    return sorted(found, key=lambda each: (each.active_us, each.firing_us, each.alert, each.labels))


def _of_alert(
    alert: str, labels: tuple[tuple[str, str], ...], states: dict[int, str], times: range
) -> Iterator[AlertInterval]:
    began, firing = -1, -1
    for at_us in times:
        state = states.get(at_us, "")
        if began >= 0 and (not state or (state == "pending" and firing >= 0)):
            yield AlertInterval(alert, labels, began, firing, at_us)
            began, firing = -1, -1
        if state:
            began = at_us if began < 0 else began
            firing = at_us if firing < 0 and state == "firing" else firing
    if began >= 0:
        yield AlertInterval(alert, labels, began, firing, -1)
