"""Pages about metrics: their catalogue, and what each bundled alert is worth over the library."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cluster_model.util.quantities import counted, seconds_to_the_tenth
from playbooks.errors import BAD_INPUT, OK, nearest, shown
from playbooks.library.bundled import path_of, runnable_names
from playbooks.metrics.alert_report import AlertReport, report_alerts
from playbooks.metrics.catalogue import CATALOGUE
from playbooks.metrics.promtool import BUILTIN_RULES, evaluate
from playbooks.metrics.time_series import INTERVAL_US, scrape_playbook
from playbooks.parser.loader import load
from playbooks.text import table_text

_HEAD: Final = """# Metrics of a session

The time series that [`floodmark alerts`](../operate/alerts.md), `export --openmetrics` and `serve --metrics` have. This
page is generated from their catalogue (`python -m docs.generate metrics > docs/reference/metrics.md`).

Each series has `job` and `instance`: `kafka` and `broker-1:7071` or `controller-1001:7071`, `kafka-clients` and the
name of the client, `kafka-exporter` and `kafka-exporter:9308`. A process that is down or paused has no series but `up`,
which is 0; its counters start again at 0. The network between Prometheus and the processes is never disturbed.

In KRaft mode each controller reports the state of the whole cluster, as Kafka's do: take the maximum, not the sum. In
ZooKeeper mode all brokers have the metrics of controllers, which are 0 on those that are not the controller.

| metric | type | labels | reported by | meaning | source |
|---|---|---|---|---|---|
"""


def metrics_page() -> str:
    """Return the page of metrics, in Markdown."""
    rows = [
        f"| `{each.name}` | {each.kind} | {' '.join(f'`{label}`' for label in each.labels)} | {each.reported_by} "
        f"| {each.meaning} | `{each.source}` |\n"
        for each in CATALOGUE
    ]
    return _HEAD + "".join(rows)


# What each alert is worth: part of docs/operate/alerts.md, made by ``python -m docs.generate alert-values``.

PAGE: Final = "docs/operate/alerts.md"
BEGIN: Final = "<!-- begin of the generated table -->"
END: Final = "<!-- end of the generated table -->"


@dataclass(slots=True)
class AlertValue:
    """What one alert was worth over many sessions."""

    saw: int = 0
    """Faults after which it fired ..."""
    first: int = 0
    """... and those that it saw before every other alert."""
    alone: int = 0
    """Faults that no other alert saw."""
    without_fault: int = 0
    pending: int = 0
    """Faults after which it was only pending."""
    times_us: list[int] = field(default_factory=list)
    """Times to detect, in microseconds."""


def alert_values(reports: Iterable[AlertReport]) -> dict[str, AlertValue]:
    """Return the value of each alert that was active in any session."""
    found: dict[str, AlertValue] = defaultdict(AlertValue)
    for report in reports:
        for detection in report.faults:
            for name in detection.pending:
                found[name].pending += name not in detection.seen_by
            for place, name in enumerate(detection.seen_by):
                value = found[name]
                value.saw += 1
                value.first += place == 0
                value.alone += len(detection.seen_by) == 1
                fired = [
                    each.interval.firing_us
                    for each in report.fired
                    if each.interval.alert == name and detection.fault in each.faults
                ]
                value.times_us.append(min(fired) - detection.fault.began_us)
        for alert in report.without_fault:
            found[alert.interval.alert].without_fault += 1
    return dict(found)


def alert_value_table(reports: Sequence[AlertReport], names: Sequence[str]) -> str:
    """Return the table of alerts, and the faults that no alert saw by their name."""
    values = alert_values(reports)
    rows = [(name, *_cells(values.get(name, AlertValue()))) for name in names]
    faults = [each for report in reports for each in report.faults]
    unseen = Counter(each.fault.name for each in faults if each.detected_us < 0)
    totals = Counter(each.fault.name for each in faults)
    missed = ", ".join(f"`{name}` {count} of {totals[name]}" for name, count in sorted(unseen.items()))
    heads = ("alert", "faults seen", "seen first", "seen alone", "only pending", "median time", "without a fault")
    return (
        f"{counted(len(reports), 'playbook')} with {counted(len(faults), 'fault')}; an alert saw "
        f"{len(faults) - sum(unseen.values())} of them.\n\n{table_text(heads, rows)}\nNot seen: {missed or 'none'}.\n"
    )


def _cells(value: AlertValue) -> tuple[str, ...]:
    times = sorted(value.times_us)
    median = f"{seconds_to_the_tenth(times[len(times) // 2])} s" if times else ""
    counts = (value.saw, value.first, value.alone, value.pending)
    return (*(str(count) for count in counts), median, str(value.without_fault))


def rule_names() -> list[str]:
    """Return the names of the bundled alerts, in the order of the file."""
    lines = BUILTIN_RULES.read_text(encoding="utf-8").splitlines()
    return [line.partition("alert: ")[2] for line in lines if "- alert: " in line]


def write_alert_values(names: Sequence[str], root: Path | None = None) -> int:
    """Run the bundled alerts over playbooks, and write the table into its page; return the exit code.

    The bundled playbooks are those named, else all that have a clock.
    """
    known = library_names()
    wrong = [name for name in names if name not in known]
    if wrong:
        print(f"no timed playbook {shown(wrong[0])}{nearest(wrong[0], known)}", file=sys.stderr)
        return BAD_INPUT
    reports = []
    for name in names or known:
        series = scrape_playbook(load(path_of(name)), seed=None, interval_us=INTERVAL_US)
        reports.append(report_alerts(series, evaluate([BUILTIN_RULES], series, INTERVAL_US), INTERVAL_US))
    path = (root or Path(__file__).parents[2]) / PAGE
    text = path.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n\n{alert_value_table(reports, rule_names())}\n{END}{after}", encoding="utf-8")
    print(f"wrote {path}")
    return OK


def library_names() -> list[str]:
    """Return the bundled playbooks that have a clock."""
    return [each for each in runnable_names() if not load(path_of(each)).spec.manual]
