"""Findings on a terminal: each a sentence, and the chain of events that it is built from."""

from collections.abc import Sequence

from rich.console import Console

from cluster_model.checker.root_cause.findings import ABANDONED, DUPLICATE, REORDERED, SKIPPED, Finding, Link
from playbooks.engine.expectations import seconds
from playbooks.errors import counted
from tui.output.console import say
from tui.output.wrapping import PIPED, width_of, wrapped

FINDINGS_SHOWN = 5
"""Findings told one by one; the rest is counted."""
LINKS_SHOWN = 12
"""Links of a chain that are told; of a longer one the middle is counted."""
_INDENT = " " * 9
_STYLES = {DUPLICATE: "yellow", REORDERED: "yellow", SKIPPED: "yellow", ABANDONED: "yellow"}


def print_findings(console: Console, findings: Sequence[Finding], *, timed: bool) -> None:
    """Every finding, in full; where time stands still the links have none."""
    for finding in findings[:FINDINGS_SHOWN]:
        style = _STYLES.get(finding.kind, "red")
        for line in finding_lines(finding, timed=timed, width=width_of(console)):
            say(console, line, style if not line.startswith(_INDENT + "  ") else "dim")
    rest = len(findings) - FINDINGS_SHOWN
    if rest > 0:
        say(console, f"{_INDENT}and {counted(rest, 'more finding')}", "yellow")


def finding_lines(finding: Finding, *, timed: bool, width: int = 0) -> list[str]:
    """The sentence, wrapped, then the chain, indented."""
    sentence = f"{finding.kind:<8} {finding.sentence} [{finding.cause}]"
    return [
        *wrapped(sentence, width or PIPED, _INDENT),
        *chain_lines(finding.chain, timed=timed, width=width or 10_000),
    ]


def chain_lines(chain: Sequence[Link], *, timed: bool, width: int = 10_000) -> list[str]:
    """A line for each link, at most :data:`LINKS_SHOWN` of them."""
    shown = list(chain)
    left_out = len(shown) - LINKS_SHOWN
    lines = []
    if left_out > 0:
        half = LINKS_SHOWN // 2
        lines = _lines(shown[:half], width, timed=timed)
        lines.append(f"{_INDENT}  {'':>9}  ... {left_out} more ...")
        shown = shown[-half:]
    return lines + _lines(shown, width, timed=timed)


def _lines(links: Sequence[Link], width: int, *, timed: bool) -> list[str]:
    hanging = _INDENT + " " * (13 if timed else 4)
    return [line for link in links for line in wrapped(_line(link, timed=timed), width, hanging)]


def _line(link: Link, *, timed: bool) -> str:
    when = f"{seconds(link.at_us):>9}  " if timed else ""
    return f"{_INDENT}  {when}{link.words}"
