"""What would have saved it: the session once more with one thing set otherwise, and what that would have cost.

Every change (:mod:`playbooks.diagnosis.counterfactuals`) is run with the same seed, steps and operator's actions. It *saves* if
nothing of the finding's kind is left, *helps* if there is less by a tenth
or more and that is no chance of one seed. Its price is what the session
rejects more, records that failed or whose outcome nobody knows, and for how much longer clients are refused. A session
that does not come to its end the same way, because a step waited in vain, is inconclusive and proves nothing.

What saves at the least price is run over more seeds before it is recommended: one that disagrees takes it back.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from cluster_model.checker.root_cause.findings import DUPLICATE, LOST, REORDERED
from playbooks.diagnosis.counterfactuals import WRITING, Change, changes
from playbooks.engine.job import Job, Outcome
from playbooks.engine.worker_pool import run_all
from playbooks.exit_codes import BAD_INPUT
from playbooks.model.playbook import Playbook, Step
from playbooks.parser.cells import cell_text
from playbooks.parser.loader import loads
from playbooks.parser.settings import SettingError
from playbooks.results.result import Result
from playbooks.results.sweep_matrix import TENTH_US

SEEDS: Final = 5
"""Over how many seeds, its own first, a remedy is confirmed."""
CONFIRMED: Final = 3
"""How many remedies are tried over more seeds until one holds."""

NEEDS_ACKS: Final = "needs acks=all"
_WHERE: Final = re.compile(r"^.*?:[0-9]+:[0-9]+: ")

Verdict = Literal["saves", "helps", "would not have helped", "refused", "inconclusive"]
_ORDER: Final[tuple[Verdict, ...]] = ("saves", "helps", "inconclusive", "would not have helped", "refused")

Run = Callable[[Sequence[Job]], list[Outcome]]


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change and what came of it."""

    change: Change
    verdict: Verdict
    left: int = 0
    """Records that still meet the fate in question."""
    before: int = 0
    """How many did in the session."""
    rejected: int = 0
    """Records rejected more than in the session; negative: fewer."""
    unavailable_us: int = 0
    """Virtual time for which clients are refused longer; negative: shorter."""
    note: str = ""
    """Why it was refused or is inconclusive."""
    seeds_kept: int = 0
    """Seeds over which nothing was lost, of ``seeds``."""
    seeds: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether it saves with every seed tried."""
        return self.verdict == "saves" and self.seeds_kept == self.seeds

    def to_json(self) -> dict[str, Any]:
        """As the answer prints it."""
        return {
            "change": self.change.name,
            "set": list(self.change.options),
            "because": self.change.note,
            "verdict": self.verdict,
            "before": self.before,
            "after": self.left,
            "rejected": self.rejected,
            "unavailable_us": self.unavailable_us,
            "note": self.note,
            "seeds_kept": self.seeds_kept,
            "seeds": self.seeds,
        }


def count_of(result: Result, kind: str) -> int:
    """Records of a result that met this fate."""
    ledger = result.ledger
    if kind == LOST:
        return ledger.acked_lost
    if kind == DUPLICATE:
        return ledger.duplicates
    if kind == REORDERED:
        return ledger.reordered
    return sum(finding.count for finding in getattr(result, "findings", ()) if finding.kind == kind)


def evaluate(
    playbook: Playbook,
    seed: int,
    actual: Result,
    kind: str,
    *,
    run: Run = run_all,
    until_us: int = -1,
    seeds: int = SEEDS,
) -> tuple[Remedy, ...]:
    """Every change tried, what saves at the least price first.

    ``actual`` is the result of the session as it was; ``seeds`` how many the best is to hold for, 1 for none but its
    own.
    """
    wanted = changes(playbook, kind)
    tried = [_job(playbook, change, seed, until_us) for change in wanted]
    outcomes = iter(run([job for job in tried if isinstance(job, Job)]))
    found = [
        _judged(playbook, change, next(outcomes), actual, kind)
        if isinstance(job, Job)
        else Remedy(change, "refused", note=job, before=count_of(actual, kind))
        for change, job in zip(wanted, tried, strict=True)
    ]
    ranked = sorted(_fewer_versions(found), key=price)
    return _confirmed(playbook, ranked, seed, kind, run, until_us, 1 if playbook.spec.manual else seeds)


def _fewer_versions(found: list[Remedy]) -> list[Remedy]:
    """Of the versions only the first that saves and the newest: those in between say nothing more."""
    versions = [each for each in found if _is_version(each)]
    told = [each for each in versions if each.verdict == "saves"][:1] + versions[-1:]
    return [each for each in found if not _is_version(each) or each in told]


def _is_version(remedy: Remedy) -> bool:
    return remedy.change.settings[0][0] == "cluster.kafka"


def price(remedy: Remedy) -> tuple[int, ...]:
    """What remedies are ranked by, the best first; times to the tenth of a second."""
    tenths = (remedy.unavailable_us + TENTH_US // 2) // TENTH_US
    return (_ORDER.index(remedy.verdict), remedy.left, max(0, remedy.rejected), max(0, tenths))


def _job(playbook: Playbook, change: Change, seed: int, until_us: int) -> Job | str:
    """The session with a change made; a sentence where it cannot be made."""
    settings = dict(change.settings)
    try:
        text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    except SettingError as error:
        return str(error)
    return Job(text, playbook.path, seed, None, settings, until_us, playbook.fragments)


def _judged(playbook: Playbook, change: Change, outcome: Outcome, actual: Result, kind: str) -> Remedy:
    before = count_of(actual, kind)
    result = outcome.result
    if result is None:
        verdict: Verdict = "refused" if outcome.code == BAD_INPUT else "inconclusive"
        return Remedy(change, verdict, before=before, note=_first(outcome.error))
    left = count_of(result, kind)
    if result.reason and not actual.reason:
        verdict = "inconclusive"
    else:
        verdict = "saves" if not left else "helps" if left * 10 <= before * 9 else "would not have helped"
    return Remedy(
        change,
        verdict,
        left,
        before,
        _rejected(result, _changed(playbook, outcome.job)) - _rejected(actual, playbook),
        result.unavailable.us - actual.unavailable.us,
        result.reason if verdict == "inconclusive" else "",
        int(verdict == "saves"),
        1,
    )


def _changed(playbook: Playbook, job: Job) -> Playbook:
    """What was run; only by hand do its steps count here."""
    return loads(job.text, job.path, job.fragments) if playbook.spec.manual else playbook


def _rejected(result: Result, playbook: Playbook) -> int:
    """Records that failed or whose outcome nobody knows.

    By hand a step that is refused gives up at its first record: those that it was to send and did not count, too.
    """
    ledger = result.ledger
    asked = sum(_written(step) for step in playbook.steps if step.name in WRITING) if playbook.spec.manual else 0
    return ledger.failed + ledger.unknown + max(0, asked - ledger.sent)


def _written(step: Step) -> int:
    return int(step.params.get("records", len(step.params.get("names", ())) or 1))


def _first(text: str) -> str:
    """The first line of what was said, without its place in a text that nobody has."""
    line = text.partition("\n")[0]
    said = _WHERE.sub("", line)
    return NEEDS_ACKS if "acks must be all" in said else said


def _confirmed(
    playbook: Playbook, ranked: list[Remedy], seed: int, kind: str, run: Run, until_us: int, seeds: int
) -> tuple[Remedy, ...]:  # fmt: skip
    """The same, the best of them run over more seeds: one that loses with another seed only helps."""
    others = [seed + number for number in range(1, seeds)]
    for _attempt in range(CONFIRMED):
        place = next((n for n, each in enumerate(ranked) if each.verdict == "saves"), -1)
        if place < 0 or not others or ranked[place].seeds > 1:
            break
        best = ranked[place]
        jobs = [_job(playbook, best.change, other, until_us) for other in others]
        outcomes = run([job for job in jobs if isinstance(job, Job)])
        results = [each.result for each in outcomes if each.result is not None and not each.result.reason]
        kept = sum(not count_of(each, kind) for each in results)
        best = replace(best, seeds_kept=1 + kept, seeds=1 + len(results))
        ranked[place] = best if best.is_certain else replace(best, verdict="helps")
        ranked.sort(key=price)
    if not playbook.spec.manual:
        ranked = sorted(map(_by_chance, ranked), key=price)
    return tuple(ranked)


def _by_chance(remedy: Remedy) -> Remedy:
    """Less with one seed of a timed session proves nothing: any other course of events has less or more."""
    if remedy.verdict != "helps" or remedy.seeds > 1:
        return remedy
    return replace(remedy, verdict="inconclusive", note=f"{remedy.left} of {remedy.before} left, with 1 seed")
