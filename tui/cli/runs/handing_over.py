"""What is left of a run when it has ended: documents for other programs, and the exit code."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from playbooks.engine.job import NOT_RUN
from playbooks.exit_codes import BAD_INPUT, FAILED, INTERRUPTED, worst
from playbooks.results.baseline import Difference, compare, saved
from tui.cli.runs.markdown import markdown
from tui.cli.runs.request import STDOUT, Checked, Request
from tui.cli.runs.suite_report import print_differences
from tui.cli.runs.summary_documents import junit
from tui.cli.runs.verdicts import Ended
from tui.output.command_end import to_text, write
from tui.output.console import complain, print_document

Summary = Callable[[Sequence[Ended], Sequence[Difference] | None], str]
"""Markdown of what ended, and of how it differs from a baseline if there is one."""


def hand_over(
    console: Console, request: Request, checked: Checked, ended: Sequence[Ended], summary: Summary = markdown
) -> int:
    """Write the documents that were asked for; the exit code of the run.

    Of a run that was stopped before all had a verdict, nothing is written: it would look like a whole one.
    """
    code = worst(each.outcome.code for each in ended)
    if code == INTERRUPTED and any(each.outcome.result is None for each in ended):
        return code
    differences: list[Difference] = []
    if checked.baseline is not None:
        differences = compare(
            checked.baseline,
            [(each.playbook, each.entry()) for each in ended if each.outcome.code != NOT_RUN],
        )
        print_differences(console, checked.baseline.path, differences)
        if any(each.regression for each in differences):
            code = worst([code, FAILED])
    if not _write_all(request, ended, differences if checked.baseline is not None else None, summary):
        code = worst([code, BAD_INPUT])
    if request.json and (checked.is_suite or ended[0].outcome.result is not None):
        documents = [each.to_json() for each in ended]
        print_document(to_text(documents if checked.is_suite else documents[0]))
    return code


def _write_all(
    request: Request, ended: Sequence[Ended], differences: Sequence[Difference] | None, summary: Summary
) -> bool:
    """The files; whether all could be written."""
    good = True
    if request.junit is not None:
        good = write("--junit", request.junit, junit(ended))
    if request.markdown is not None:
        text = summary(ended, differences)
        if request.markdown == STDOUT:
            print_document(text)
        else:
            good = write("--markdown", request.markdown, text) and good
    if request.save_baseline is not None:
        good = _save_baseline(request.save_baseline, ended) and good
    return good


def _save_baseline(path: Path, ended: Sequence[Ended]) -> bool:
    entries = []
    for each in ended:
        entry = each.entry()
        if entry is None:
            complain(f"--save-baseline: {path} is left as it was: {each.name} has no verdict")
            return False
        entries.append(entry)
    return write("--save-baseline", path, to_text(saved(entries)) + "\n")
