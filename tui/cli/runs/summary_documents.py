"""Documents of a run: JSON, JUnit XML, Markdown and the baseline, and its exit code.

Nothing in them depends on the wall clock: times are virtual, and there is no ``timestamp``.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rich.console import Console

from cluster_model.util.quantities import counted
from playbooks.engine.worker_pool import NOT_RUN
from playbooks.errors import BAD_INPUT, FAILED, INTERRUPTED, OK, worst
from playbooks.results.baseline import BaselineDifference, compare, saved, unused
from playbooks.results.result import ExpectationResult, SessionResult
from playbooks.results.sweep_matrix import SweepMatrix, matrix_markdown
from playbooks.text import escaped, printable, table_text
from tui.cli.runs.request import STDOUT, CheckedRequest, RunRequest
from tui.cli.runs.suite import (
    HEADS,
    SHOWN,
    TREND,
    PlaybookOutcome,
    cause_lines,
    count_text,
    print_differences,
    regression_words,
    row,
)
from tui.output.command_end import to_text, write_file
from tui.output.console import print_document, print_error, stderr_console
from tui.output.result import CAUSES_SHOWN, ledger_text

MICROSECONDS = 1_000_000
COUNTS = (("tests", ""), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
END = "the session reaches its end"


def junit(all_ended: Sequence[PlaybookOutcome]) -> str:
    """Return the JUnit XML document. Times are seconds of virtual time."""
    suites = Element("testsuites", name="floodmark")
    for ended in all_ended:
        suites.append(_suite(ended))
    for attribute, _ in COUNTS:
        suites.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in suites)))
    results = [each.outcome.result for each in all_ended]
    suites.set("time", _seconds(sum(each.virtual_us for each in results if each is not None)))
    indent(suites)
    return tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(ended: PlaybookOutcome) -> Element:
    suite = Element("testsuite", name=_clean(ended.name))
    result = ended.outcome.result
    _properties(suite, ended)
    if result is None:
        _unended(suite, ended)
    else:
        _cases(suite, ended, result)
    output = SubElement(suite, "system-out")
    output.text = _clean("\n".join(_output(ended)))
    for attribute, tag in COUNTS:
        found = suite.findall(f"./testcase/{tag}" if tag else "./testcase")
        suite.set(attribute, str(len(found)))
    suite.set("time", _seconds(result.virtual_us if result else 0))
    return suite


def _properties(suite: Element, ended: PlaybookOutcome) -> None:
    result, job = ended.outcome.result, ended.outcome.job
    values = {"seed": str(job.seed if result is None else result.seed), "verdict": ended.verdict, "file": job.path}
    if result is not None:
        values |= {"profile": result.profile, "digest": result.digest, "title": result.title}
    values |= {f"set {path}": value for path, value in job.settings.items()}
    properties = SubElement(suite, "properties")
    for name, value in values.items():
        SubElement(properties, "property", name=_clean(name), value=_clean(value))


def _cases(suite: Element, ended: PlaybookOutcome, result: SessionResult) -> None:
    inconclusive = result.verdict == "inconclusive"
    for checked in result.expectations:
        case = _case(suite, ended, checked.text, checked.at_us)
        if not checked.ok:
            _judge(case, ended, checked, inconclusive=inconclusive)
    if inconclusive or not result.expectations:
        case = _case(suite, ended, END, result.virtual_us)
        if inconclusive:
            error = SubElement(case, "error", type="inconclusive", message=_clean(result.reason))
            error.text = _clean(f"{result.reason}\nrun it again: {ended.command}")
    for skipped in result.skipped:
        case = _case(suite, ended, f"inject {skipped.fault} on {skipped.target}", skipped.at_us)
        SubElement(case, "skipped", message=_clean(skipped.detail))


def _unended(suite: Element, ended: PlaybookOutcome) -> None:
    """Add the only test case of a playbook without a verdict."""
    outcome = ended.outcome
    case = _case(suite, ended, END, 0)
    if outcome.code == NOT_RUN:
        SubElement(case, "skipped", message=_clean(outcome.error))
        return
    error = SubElement(case, "error", type=ended.verdict, message=_clean(outcome.error))
    account = f"\nlog: {outcome.crash_report}" if outcome.crash_report else ""
    error.text = _clean(f"{outcome.error}{account}\nrun it again: {ended.command}")


def _case(suite: Element, ended: PlaybookOutcome, name: str, at_us: int) -> Element:
    alone = unused(_clean(name), [case.get("name") for case in suite.iter("testcase")])
    return SubElement(suite, "testcase", classname=_clean(f"floodmark.{ended.name}"), name=alone, time=_seconds(at_us))


def _judge(case: Element, ended: PlaybookOutcome, checked: ExpectationResult, *, inconclusive: bool) -> None:
    if inconclusive:
        SubElement(case, "skipped", message=_clean(f"inconclusive: {checked.detail}"))
        return
    detail = checked.detail or "did not hold"
    failure = SubElement(case, "failure", type="expectation", message=_clean(detail))
    seed = ended.outcome.result.seed if ended.outcome.result else ended.outcome.job.seed
    lines = [f"{checked.text}: {detail}", *[f"cause: {cause}" for cause in cause_lines(ended)]]
    failure.text = _clean("\n".join([*lines, f"seed: {seed}", f"run it again: {ended.command}"]))


def _output(ended: PlaybookOutcome) -> list[str]:
    result = ended.outcome.result
    lines = [f"ledger: {ledger_text(result)}"] if result is not None else []
    return lines + ([f"session: {ended.outcome.session}"] if ended.outcome.session else [])


def _seconds(us: int) -> str:
    return f"{us // MICROSECONDS}.{us % MICROSECONDS:06d}"


def _clean(text: str) -> str:
    """Escape characters that XML cannot contain, and terminal control characters."""
    return printable(text, "\n\t")


# A summary for a pull request, in the Markdown that GitHub and GitLab show: tables, lists and details.
#
# Names, expectations and causes may come from outside, so every Markdown character in them is escaped.


def markdown(all_ended: Sequence[PlaybookOutcome], differences: Sequence[BaselineDifference] | None = None) -> str:
    """Return the verdict, a table, the playbooks that did not pass, and the differences to a baseline, if any."""
    regressed = _regressed(differences or ())
    passed = all(each.outcome.code == OK for each in all_ended) and not regressed
    parts = [f"### floodmark: {'passed' if passed else 'not passed'}", count_text(all_ended), *regressed]
    heads = [head for head in HEADS if head != "took"]
    parts.append(table_text(heads, [row(each, took=False) for each in all_ended], escaped).rstrip())
    parts += [_failed(each) for each in all_ended if each.outcome.code not in (OK, NOT_RUN)]
    if differences is not None:
        parts.append(_differences(differences))
    return "\n\n".join(parts) + "\n"


def grid_markdown(matrix: SweepMatrix, differences: Sequence[BaselineDifference] | None = None) -> str:
    """Return a grid's matrix, and the differences of its cells to a baseline, if any."""
    if differences is None:
        return matrix_markdown(matrix)
    parts = [matrix_markdown(matrix).rstrip(), *_regressed(differences), _differences(differences)]
    return "\n\n".join(parts) + "\n"


def _regressed(differences: Sequence[BaselineDifference]) -> list[str]:
    """Return the regressions in bold, if there are any."""
    found = [each.playbook for each in differences if each.regression]
    return [f"**{escaped(regression_words(found))}**"] if found else []


def code(text: str) -> str:
    """Return the text as inline code."""
    return f"<code>{escaped(text)}</code>"


def _failed(ended: PlaybookOutcome) -> str:
    """Return a playbook that did not pass, collapsed under its name."""
    outcome, result = ended.outcome, ended.outcome.result
    lines = []
    reason = outcome.error or (result.reason if result else "")
    if reason:
        lines.append(f"- reason: {escaped(reason)}")
    failed = [each for each in result.expectations if not each.ok] if result is not None else []
    lines += [f"- failed: {code(each.text)} {escaped(each.detail)}" for each in failed[:SHOWN]]
    if len(failed) > SHOWN:
        lines.append(f"- and {counted(len(failed) - SHOWN, 'more expectation')}")
    causes = cause_lines(ended)
    lines += [f"- cause: {escaped(cause)}" for cause in causes[:CAUSES_SHOWN]]
    if len(causes) > CAUSES_SHOWN:
        lines.append(f"- and {counted(len(causes) - CAUSES_SHOWN, 'more cause')}")
    if result is not None:
        lines.append(f"- ledger: {escaped(ledger_text(result))}")
    lines.append(f"- run it again: {code(ended.command)}")
    count = f", {counted(len(failed), 'failed expectation')}" if failed else ""
    head = f"<details><summary>{escaped(ended.name)}: {ended.verdict}{count}</summary>"
    return "\n".join([head, "", *lines, "", "</details>"])


def _differences(differences: Sequence[BaselineDifference]) -> str:
    rows = [
        (each.playbook, TREND[change.trend][0], change.what, change.before, change.now)
        for each in differences
        for change in each.changes
    ]
    if not rows:
        return f"No difference to the baseline in {counted(len(differences), 'playbook')}."
    heads = ("playbook", "trend", "what", "baseline", "now")
    return f"Differences to the baseline:\n\n{table_text(heads, rows, escaped).rstrip()}"


# The end of a run: documents for other programs, and the exit code.


Summary = Callable[[Sequence[PlaybookOutcome], Sequence[BaselineDifference] | None], str]
"""Function that returns the Markdown of the outcomes and of the differences to a baseline, if any."""


def write_documents(
    console: Console,
    request: RunRequest,
    checked: CheckedRequest,
    ended: Sequence[PlaybookOutcome],
    summary: Summary = markdown,
) -> int:
    """Write the requested documents; return the exit code of the run.

    If the run was stopped before all had a verdict, nothing is written: it would look complete.
    """
    code = worst(each.outcome.code for each in ended)
    if code == INTERRUPTED and any(each.outcome.result is None for each in ended):
        return code
    differences: list[BaselineDifference] = []
    if checked.baseline is not None:
        differences = compare(
            checked.baseline,
            [(each.playbook, each.entry()) for each in ended if each.outcome.code != NOT_RUN],
        )
        print_differences(stderr_console() if request.document else console, checked.baseline.path, differences)
        if any(each.regression for each in differences):
            code = worst([code, FAILED])
    if not _write_all(request, ended, differences if checked.baseline is not None else None, summary):
        code = worst([code, BAD_INPUT])
    if request.json and (checked.is_suite or ended[0].outcome.result is not None):
        documents = [each.to_json() for each in ended]
        print_document(to_text(documents if checked.is_suite else documents[0]))
    return code


def _write_all(
    request: RunRequest,
    ended: Sequence[PlaybookOutcome],
    differences: Sequence[BaselineDifference] | None,
    summary: Summary,
) -> bool:
    """Write the files; return whether all could be written."""
    good = True
    if request.junit is not None:
        good = write_file("--junit", request.junit, junit(ended))
    if request.markdown is not None:
        text = summary(ended, differences)
        if request.markdown == STDOUT:
            print_document(text)
        else:
            good = write_file("--markdown", request.markdown, text) and good
    if request.save_baseline is not None:
        good = _save_baseline(request.save_baseline, ended) and good
    return good


def _save_baseline(path: Path, ended: Sequence[PlaybookOutcome]) -> bool:
    entries = []
    for each in ended:
        entry = each.entry()
        if entry is None:
            print_error(f"--save-baseline: {path} is not written: {each.name} has no verdict")
            return False
        entries.append(entry)
    return write_file("--save-baseline", path, to_text(saved(entries)) + "\n")
