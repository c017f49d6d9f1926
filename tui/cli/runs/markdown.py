"""A summary for a pull request, in the Markdown that GitHub and GitLab show: tables, lists and details.

Names, expectations and causes are other people's texts. They go in so that no character of theirs means anything.
"""

from collections.abc import Sequence

from playbooks.engine.job import NOT_RUN
from playbooks.errors import counted
from playbooks.exit_codes import OK
from playbooks.results.baseline import Difference
from playbooks.results.matrix_table import matrix_markdown
from playbooks.results.sweep_matrix import Matrix
from playbooks.text import escaped, table_text
from tui.cli.runs.suite_report import SHOWN, TREND, regression_words
from tui.cli.runs.verdicts import HEADS, Ended, cause_lines, row, tally
from tui.output.result import CAUSES_SHOWN, ledger_words


def markdown(all_ended: Sequence[Ended], differences: Sequence[Difference] | None = None) -> str:
    """The verdict, a table, what did not pass, and how it differs from a baseline (None: there is none)."""
    regressed = _regressed(differences or ())
    passed = all(each.outcome.code == OK for each in all_ended) and not regressed
    parts = [f"### floodmark: {'passed' if passed else 'not passed'}", tally(all_ended), *regressed]
    heads = [head for head in HEADS if head != "took"]
    parts.append(table_text(heads, [row(each, took=False) for each in all_ended], escaped).rstrip())
    parts += [_failed(each) for each in all_ended if each.outcome.code not in (OK, NOT_RUN)]
    if differences is not None:
        parts.append(_differences(differences))
    return "\n\n".join(parts) + "\n"


def grid_markdown(matrix: Matrix, differences: Sequence[Difference] | None = None) -> str:
    """A grid's matrix, and how its cells differ from a baseline (None: there is none)."""
    if differences is None:
        return matrix_markdown(matrix)
    parts = [matrix_markdown(matrix).rstrip(), *_regressed(differences), _differences(differences)]
    return "\n\n".join(parts) + "\n"


def _regressed(differences: Sequence[Difference]) -> list[str]:
    """In bold what is worse than the baseline, if anything is."""
    found = [each.playbook for each in differences if each.regression]
    return [f"**{escaped(regression_words(found))}**"] if found else []


def code(text: str) -> str:
    """The same in the letters of code."""
    return f"<code>{escaped(text)}</code>"


def _failed(ended: Ended) -> str:
    """One playbook that did not pass, folded away under its name."""
    outcome, result = ended.outcome, ended.outcome.result
    lines = []
    reason = outcome.error or (result.reason if result else "")
    if reason:
        lines.append(f"- why: {escaped(reason)}")
    failed = [each for each in result.expectations if not each.ok] if result is not None else []
    lines += [f"- failed: {code(each.text)} {escaped(each.detail)}" for each in failed[:SHOWN]]
    if len(failed) > SHOWN:
        lines.append(f"- and {counted(len(failed) - SHOWN, 'more expectation')}")
    causes = cause_lines(ended)
    lines += [f"- cause: {escaped(cause)}" for cause in causes[:CAUSES_SHOWN]]
    if len(causes) > CAUSES_SHOWN:
        lines.append(f"- and {counted(len(causes) - CAUSES_SHOWN, 'more cause')}")
    if result is not None:
        lines.append(f"- ledger: {escaped(ledger_words(result))}")
    lines.append(f"- run it again: {code(ended.command)}")
    count = f", {counted(len(failed), 'failed expectation')}" if failed else ""
    head = f"<details><summary>{escaped(ended.name)}: {ended.verdict}{count}</summary>"
    return "\n".join([head, "", *lines, "", "</details>"])


def _differences(differences: Sequence[Difference]) -> str:
    rows = [
        (each.playbook, TREND[change.trend][0], change.what, change.before, change.now)
        for each in differences
        for change in each.changes
    ]
    if not rows:
        return f"No difference to the baseline in {counted(len(differences), 'playbook')}."
    heads = ("playbook", "trend", "what", "baseline", "now")
    return f"Differences to the baseline:\n\n{table_text(heads, rows, escaped).rstrip()}"
