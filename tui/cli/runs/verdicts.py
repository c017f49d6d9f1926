"""What came of several playbooks, in words that the table, the Markdown and the JUnit document share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playbooks.diagnosis.why import Why
from playbooks.engine.expectations import seconds
from playbooks.engine.job import NOT_RUN, Outcome
from playbooks.errors import counted
from playbooks.exit_codes import BAD_INPUT, INTERRUPTED
from playbooks.results.baseline import Entry, entry_of

STYLES = {
    "pass": "bold green",
    "fail": "bold red",
    "inconclusive": "bold yellow",
    "error": "bold red",
    "refused": "bold red",
    "stopped": "bold yellow",
    "not run": "dim",
}
HEADS = ("playbook", "profile", "verdict", "acked", "lost", "duplicates", "unavailable", "time", "took", "events")


@dataclass(frozen=True, slots=True)
class Ended:
    """A playbook of a run, and how it ended."""

    name: str
    outcome: Outcome
    playbook: str
    """Its name as it gives it; ``name`` has a number where several have the same."""
    command: str
    """What to type to run just this one again."""
    why: Why | None = None
    """Why it lost what it lost, where that was asked for."""

    @property
    def verdict(self) -> str:
        """One word."""
        return verdict_of(self.outcome)

    def to_json(self) -> dict[str, Any]:
        """Its result; what can be said of one that has none."""
        result = self.outcome.result
        if result is not None:
            return result.to_json() | ({"why": self.why.to_json()} if self.why is not None else {})
        return {
            "playbook": self.playbook,
            "seed": self.outcome.job.seed,
            "verdict": self.verdict,
            "reason": self.outcome.error,
            "session": self.outcome.session,
            "expectations": [],
        }

    def entry(self) -> Entry | None:
        """What a baseline keeps of it; None without a verdict."""
        return entry_of(self.outcome.result.to_json()) if self.outcome.result is not None else None


def verdict_of(outcome: Outcome) -> str:
    """``pass``, ``fail`` or ``inconclusive``; else ``error``, ``refused``, ``stopped`` or ``not run``."""
    if outcome.result is not None:
        return outcome.result.verdict
    return {BAD_INPUT: "refused", INTERRUPTED: "stopped", NOT_RUN: "not run"}.get(outcome.code, "error")


def row(ended: Ended, *, took: bool = True) -> tuple[str, ...]:
    """The cells below :data:`HEADS`; without the wall time, which differs from run to run, where it is not wanted."""
    result = ended.outcome.result
    wall = (f"{ended.outcome.wall_s:.1f}s" if ended.outcome.code != NOT_RUN else "-",) if took else ()
    if result is None:
        return (ended.name, "-", ended.verdict, *["-"] * 5, *wall, "-")
    ledger = result.ledger
    return (
        ended.name,
        result.profile,
        result.verdict,
        str(ledger.acked),
        f"{ledger.acked_lost}/{ledger.committed_lost}",
        str(ledger.duplicates),
        _rounded(result.unavailable.us) if result.virtual_us else "-",
        _rounded(result.virtual_us) if result.virtual_us else "-",
        *wall,
        str(result.events),
    )


def _rounded(us: int) -> str:
    """Seconds to three digits, cut off."""
    return f"{us // 1_000_000}.{us // 1_000 % 1_000:03d}s"


def tally(all_ended: Sequence[Ended]) -> str:
    """``3 playbooks: 2 pass, 1 fail``; the words in the order of :data:`STYLES`."""
    words = [each.verdict for each in all_ended]
    counts = [f"{words.count(word)} {word}" for word in STYLES if word in words]
    return f"{counted(len(words), 'playbook')}: {', '.join(counts)}"


def cause_lines(ended: Ended) -> list[str]:
    """Why records were lost and invariants broken, every sentence once."""
    result = ended.outcome.result
    if result is None:
        return []
    causes = [each.sentence for each in result.findings]
    causes += [
        f"{each.invariant}{f' of {each.partition}' if each.partition else ''} at {seconds(each.at_us)}: {each.detail}"
        f"{f' ({each.known})' if each.known else ''}"
        for each in result.violations
    ]
    return list(dict.fromkeys(cause for cause in causes if cause))
