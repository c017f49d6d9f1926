"""``floodmark alerts``: evaluates Prometheus rule files over playbooks and recorded sessions."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rich.console import Console

from cluster_model.util.quantities import counted, seconds_to_the_tenth
from playbooks.errors import BAD_INPUT, FAILED, OK
from playbooks.metrics.alert_report import WINDOW_US, AlertReport, FaultDetection, ReportedAlert, report_alerts
from playbooks.metrics.promtool import BUILTIN_RULES, PromtoolError, check_rules, evaluate, rule_files
from playbooks.metrics.time_series import (
    Disturbance,
    SessionSeries,
    interval_us,
    scrape_playbook,
    scrape_recording,
)
from playbooks.parser.settings import SettingError
from playbooks.recording.reader import read_session
from playbooks.session_format.session_files import SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.text import escaped, printable, table_text
from tui.output.command_end import exit_code_of, to_text, write_file
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    stderr_console,
    stdout_console,
    table,
)
from tui.session.playbook_choice import choose, settings_of

BUILTIN: Final = "builtin"
WIDTH: Final = 80
LABELS: Final = 32
"""Most characters of an alert's name and labels in the table."""
HEADS: Final = ("alert", "active", "fires", "until", "after")
PLAIN_LABELS: Final = ("severity", "job")
"""Labels that the table leaves out."""


@dataclass(frozen=True, slots=True)
class AlertsRequest:
    """The options of ``alerts`` as typed."""

    rules: str
    sources: tuple[str, ...]
    scrape_interval: str | None = None
    evaluation_interval: str | None = None
    window: str | None = None
    seed: int | None = None
    settings: tuple[str, ...] = ()
    json: bool = False
    junit: Path | None = None
    markdown: Path | None = None


class _AlertsInputError(Exception):
    """An option has a value that is not allowed."""


def run_alerts(request: AlertsRequest) -> int:
    """Evaluate the rules over each source; return 0 if an alert saw every fault and none fired without one, else 1."""

    def work() -> int:
        try:
            return _run(request)
        except (PromtoolError, SettingError, _AlertsInputError) as error:
            print_error(str(error))
            return BAD_INPUT

    return exit_code_of(work)


def print_builtin() -> int:
    """Print the bundled rule file."""
    print_document(BUILTIN_RULES.read_text(encoding="utf-8").rstrip("\n"))
    return OK


def _run(request: AlertsRequest) -> int:
    scrape_us = interval_us("--scrape-interval", request.scrape_interval)
    evaluation_us = interval_us("--evaluation-interval", request.evaluation_interval, scrape_us)
    window_us = interval_us("--window", request.window, WINDOW_US, 0)
    builtin = request.rules == BUILTIN and not Path(BUILTIN).exists()
    files = rule_files(BUILTIN_RULES if builtin else Path(request.rules))
    if not check_rules(files):
        raise _AlertsInputError(f"{request.rules}: found no rules, expected at least one alerting rule")
    if not request.sources:
        raise _AlertsInputError("found no playbook or session, expected at least one")
    reports = []
    with ProgressLine(stderr_console()) as progress_line:
        for source in request.sources:
            series = scrape(source, request, scrape_us, progress_line)
            progress_line.update(lambda: f"{series.name}: evaluating rules")  # noqa: B023 - called at once
            intervals = evaluate(files, series, evaluation_us)
            reports.append(report_alerts(series, intervals, evaluation_us, window_us))
    return _finish(request, reports)


def scrape(source: str, request: AlertsRequest, scrape_us: int, progress_line: ProgressLine) -> SessionSeries:
    """Return the time series of a recorded session or of a playbook; a session takes precedence."""

    def progress(now_us: int) -> None:
        progress_line.update(lambda: f"{source}: {seconds_to_the_tenth(now_us)} s simulated")

    try:
        path = find_session(source, sessions_root())
    except SessionError:
        chosen = choose(source, request.seed, settings_of(request.settings))
        return scrape_playbook(chosen.playbook, seed=chosen.seed, interval_us=scrape_us, progress=progress)
    if request.seed is not None or request.settings:
        raise _AlertsInputError("found --seed or --set with a recorded session, allowed only with a playbook")
    recorded = read_session(path)
    for note in recorded.notes:
        print_line(stderr_console(), f"note: {note}", "yellow")
    series = scrape_recording(recorded, interval_us=scrape_us, progress=progress)
    series.name = recorded.start.session_id
    return series


def _finish(request: AlertsRequest, reports: Sequence[AlertReport]) -> int:
    good = all(each.good for each in reports)
    written = True
    if request.junit is not None:
        written = write_file("--junit", request.junit, junit(reports))
    if request.markdown is not None:
        written = write_file("--markdown", request.markdown, markdown(reports)) and written
    if request.json:
        print_document(to_text([each.to_json() for each in reports]))
    else:
        console = stdout_console()
        for number, report in enumerate(reports):
            if number:
                print_line(console, "")
            print_report(console, report)
    if not written:
        return BAD_INPUT
    return OK if good else FAILED


# Text.


def summary(report: AlertReport) -> str:
    """Return how many faults an alert saw, and how many alerts fired without a fault."""
    seen = len(report.faults) - len(report.unseen)
    alone = len(report.without_fault)
    faults = counted(len(report.faults), "fault", zero="0")
    return f"alerts saw {seen} of {faults}; {alone} of {len(report.fired)} fired without one"


def print_report(console: Console, report: AlertReport) -> None:
    """Print the faults and the alerts of a session."""
    head = f"{report.name}, seed {report.seed}, {_seconds(report.end_us)}: {summary(report)}"
    for line in textwrap.wrap(head, WIDTH, break_on_hyphens=False):
        print_line(console, line, "bold")
    for detection in report.faults:
        for line in fault_lines(detection):
            print_line(console, line)
    if report.alerts:
        print_line(console, "")
        table(console, HEADS, [_row(each) for each in report.alerts])


def fault_lines(detection: FaultDetection) -> list[str]:
    """Return a fault with its detection, and the alerts that saw it or did not fire."""
    seen = detection.detected_us >= 0
    found = f"detected after {_seconds(detection.time_to_detect_us)}" if seen else "no alert fired"
    lines = _wrapped(f"fault {_fault(detection.fault)}: {found}", "  ")
    for title, alerts in (
        ("seen by", detection.seen_by),
        ("only pending", detection.pending),
        ("firing already", detection.already_firing),
    ):
        if alerts:
            lines += _wrapped(f"{title}: {', '.join(alerts)}", "    ")
    return lines


def _wrapped(text: str, margin: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=margin, subsequent_indent=f"{margin}  ", break_on_hyphens=False)


def _fault(fault: Disturbance) -> str:
    ended = f" to {_seconds(fault.ended_us)}" if fault.ended_us >= 0 else ", not healed"
    return f"{fault.id}, {fault.name} of {fault.target}, {_seconds(fault.began_us)}{ended}"


def _row(alert: ReportedAlert) -> tuple[str, ...]:
    own = alert.interval
    until = _seconds(own.until_us) if own.until_us >= 0 else "end"
    fires = _seconds(own.firing_us) if alert.fired else "pending"
    return (_cut(alert_name(alert)), _seconds(own.active_us), fires, until, _after(alert))


def alert_name(alert: ReportedAlert) -> str:
    """Return an alert's name with the values of the labels that distinguish it."""
    values = [value for name, value in alert.interval.labels if name not in PLAIN_LABELS]
    return printable(" ".join([alert.interval.alert, *values]))


def _after(alert: ReportedAlert) -> str:
    if alert.faults:
        numbers = ", ".join(str(each.id) for each in alert.faults)
        return f"fault {numbers}" + (f": {_seconds(alert.delay_us)}" if alert.fired else "")
    if alert.operations:
        return f"no fault; {alert.operations[-1].name}"
    return "no fault"


def _cut(text: str) -> str:
    return text if len(text) <= LABELS else f"{text[: LABELS - 3]}..."


def _seconds(us: int) -> str:
    return f"{seconds_to_the_tenth(us)} s"


# JUnit: a test case for each fault, and one for each alert that fired without a fault.


def junit(reports: Sequence[AlertReport]) -> str:
    """Return the JUnit XML document. Times are the times to detect, in seconds of virtual time."""
    suites = Element("testsuites", name="floodmark alerts")
    for report in reports:
        suite = SubElement(suites, "testsuite", name=_clean(report.name))
        for detection in report.faults:
            _fault_case(suite, report, detection)
        for alert in report.without_fault:
            name = f"{alert_name(alert)} fires without a fault at {_seconds(alert.interval.firing_us)}"
            failure = SubElement(_case(suite, report, name, 0), "failure", type="alert", message=_clean(_after(alert)))
            failure.text = _clean(name)
        suite.set("tests", str(len(suite.findall("testcase"))))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
    for attribute in ("tests", "failures"):
        suites.set(attribute, str(sum(int(each.get(attribute, "0")) for each in suites)))
    indent(suites)
    return tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _fault_case(suite: Element, report: AlertReport, detection: FaultDetection) -> None:
    case = _case(suite, report, f"fault {_fault(detection.fault)}", max(0, detection.time_to_detect_us))
    lines = _clean("\n".join(line.strip() for line in fault_lines(detection)))
    if detection.detected_us < 0:
        failure = SubElement(case, "failure", type="unseen", message="no alert fired")
        failure.text = lines
    else:
        SubElement(case, "system-out").text = lines


def _case(suite: Element, report: AlertReport, name: str, us: int) -> Element:
    classname = _clean(f"floodmark.alerts.{report.name}")
    return SubElement(suite, "testcase", classname=classname, name=_clean(name), time=f"{us / 1_000_000:.6f}")


def _clean(text: str) -> str:
    return printable(text, "\n")


# Markdown.


def markdown(reports: Sequence[AlertReport]) -> str:
    """Return tables of faults and alerts for a pull request or a ticket."""
    good = all(each.good for each in reports)
    parts = [f"### floodmark alerts: {'passed' if good else 'not passed'}"]
    for report in reports:
        parts.append(f"**{escaped(report.name)}**: {escaped(summary(report))}")
        if report.faults:
            heads = ("fault", "time to detect", "seen by", "only pending")
            parts.append(table_text(heads, [_markdown_fault(each) for each in report.faults], escaped).rstrip())
        if report.alerts:
            rows = [(alert_name(each), *_row(each)[1:]) for each in report.alerts]
            parts.append(table_text(HEADS, rows, escaped).rstrip())
    return "\n\n".join(parts) + "\n"


def _markdown_fault(detection: FaultDetection) -> tuple[str, ...]:
    time = _seconds(detection.time_to_detect_us) if detection.detected_us >= 0 else "not detected"
    return (_fault(detection.fault), time, ", ".join(detection.seen_by), ", ".join(detection.pending))
