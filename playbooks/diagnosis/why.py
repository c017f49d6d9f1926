"""Explanation of a session: known issues, the point of no return, and remedies (``floodmark why``)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from cluster_model.checker.root_cause import LOST, MISSING, Finding
from cluster_model.util.quantities import alternatives, counted, short_seconds, time_in_seconds
from playbooks.diagnosis.evidence import lost_findings
from playbooks.diagnosis.issue_search import (
    NOTHING_TRIED,
    CausingIssue,
    IssueSearch,
    failures_to_explain,
    search_issues,
)
from playbooks.diagnosis.point_of_no_return import SET as BY_HAND
from playbooks.diagnosis.point_of_no_return import PointOfNoReturn, PointOfNoReturnSearch, find_manual
from playbooks.diagnosis.remedies import SEEDS, SET, Remedy, Run, changes, evaluate
from playbooks.engine.replay import playbook_of
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import repeat_action, run_to_position, start_session
from playbooks.engine.worker_pool import JobOutcome, PlaybookJob, cores, run_all
from playbooks.errors import INTERRUPTED
from playbooks.export.playbook_writer import export
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.recording.reader import RecordedSession, read_session
from playbooks.results.failure_keys import FINDING, Failure
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import put_in_place
from playbooks.text import json_text
from playbooks.timetravel.branches import ForkAction, acted_of
from playbooks.version import VERSION

# The answer of ``why`` as text: the point of no return, and what a change leaves and costs.


def no_return_words(no_return: PointOfNoReturn) -> list[tuple[str, str]]:
    """Return the point of no return as a few lines, each with its label; the last label may be empty."""
    lines = [("point of no return", _point(no_return))]
    if no_return.actions:
        still = "would still keep the record" if no_return.kind == "open" else "would have kept the record"
        lines.append(("last chance", f"{alternatives(each.words for each in no_return.actions)} {still}"))
    if no_return.kind == "event" and no_return.sign:
        lines.append(("warning", _sign(no_return)))
    if no_return.clean is not None:
        kept = (
            f"; last chance: {alternatives(each.words for each in no_return.clean.actions)} would have kept the record"
            if no_return.clean.actions
            else ""
        )
        lines.append(("", f"point of no return without an unclean election: {_point(no_return.clean)}{kept}"))
    return lines


def remedy_words(remedy: Remedy) -> str:
    """Describe the remaining records and the cost of a remedy.

    For example: ``acks=all: 0 of 99 records still lost, 0 more rejected, 0.5 s less downtime``.
    For a change that was refused or is inconclusive, give the reason: ``kafka 4.1: the playbook uses ZooKeeper``.
    """
    note = f" ({remedy.change.note})" if remedy.change.note else ""
    if remedy.verdict in ("refused", "inconclusive"):
        return f"{remedy.change.name}{note}: {remedy.note or remedy.verdict}"
    less_or_more = "fewer" if remedy.rejected < 0 else "more"
    parts = [
        remedy.remaining_text,
        f"{abs(remedy.rejected)} {less_or_more} rejected",
        f"{_span(remedy.unavailable_us)} downtime",
    ]
    parts += [f"prevented in {remedy.seeds_kept} of {remedy.seeds} seeds"] if remedy.seeds > 1 else []
    return f"{remedy.change.name}{note}: {', '.join(parts)}"


def _point(no_return: PointOfNoReturn) -> str:
    if no_return.kind == "unplaced":
        return "at the acknowledgement itself: no broker had the records then or ever received them"
    if no_return.kind == "acknowledgement":
        when = no_return.step(no_return.at_us) if no_return.manual else time_in_seconds(no_return.at_us)
        return f"at the acknowledgement itself ({when}): no action could have kept the record from then on"
    if no_return.kind == "open":
        return "not reached: at the end of the session the record could still be kept"
    return no_return.words if no_return.manual else f"{time_in_seconds(no_return.at_us)}, {no_return.words}"


def _sign(no_return: PointOfNoReturn) -> str:
    if no_return.manual:
        left = no_return.at_us - no_return.sign_us
        return f"{no_return.step(no_return.sign_us)} ({no_return.sign}), {counted(left, 'step')} before"
    return f"{time_in_seconds(no_return.sign_us)} ({no_return.sign}), {short_seconds(no_return.time_left_us)} before"


def _span(us: int) -> str:
    """Format a difference of times; less than a tenth of a second is chance."""
    if abs(us) < 50_000:
        return "0 s more"
    return f"{short_seconds(abs(us))} {'more' if us > 0 else 'less'}"


# The whole explanation of one session.


EXPLAINED: Final = 3
"""Number of losses whose point of no return is searched for, unless one is selected; the others have none."""

ProgressText = Callable[[str], None]
"""Progress callback."""


class WhyError(Exception):
    """A question that cannot be answered; the message says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class SessionCase:
    """A session to explain, in a form that can be run again."""

    playbook: Playbook
    seed: int
    until_us: int = -1
    """Virtual time at which it is cut off, with nothing healed; -1: never."""
    live: bool = False
    actions: tuple[ForkAction, ...] = ()
    """Actions of its operator."""
    written: Playbook | None = None
    """The session as a playbook without an operator, for runs with changes; None: the same as ``playbook``."""

    def start(self) -> Session:
        """Start the session; expectations are left out, since they are already evaluated."""
        session = start_session(
            replace(self.playbook, expectations=()), seed=self.seed, until_us=self.until_us, open_ended=self.live
        )
        assert isinstance(session, Session)
        return session

    def run(self) -> SessionResult:
        """Run the session from beginning to end."""
        if self.playbook.spec.manual:
            return start_session(self.playbook, seed=self.seed).finish()
        session = start_session(self.playbook, seed=self.seed, until_us=self.until_us, open_ended=self.live)
        for acted in self.actions:
            run_to_position(session, acted.at_us, acted.executed, acted.steps)
            repeat_action(session, acted.verb, acted.action)
        while self.until_us >= 0 and session.advance(session.cluster.now_us + SLICE_US):
            pass
        return session.finish()

    def findings_at_cutoff(self) -> tuple[Finding, ...]:
        """Return the findings at the time of the cut-off, as seen live: in this order, none of them final."""
        session = self.start()
        for acted in self.actions:
            run_to_position(session, acted.at_us, acted.executed, acted.steps)
            repeat_action(session, acted.verb, acted.action)
        session.advance(self.until_us)
        return session.cluster.checker.findings.findings(session.cluster.now_us)


def case_of(
    recorded: RecordedSession, on_progress: ProgressText = lambda text: None, *, at_us: int = -1
) -> SessionCase:
    """Build a case from a recorded session: all of it, or up to a virtual time.

    Without a time, a TUI session whose end is missing is cut off where the recording ends.

    Raises:
        PlaybookError: its playbook is not valid in this version.
        ExportError, ReplayMismatchError, SessionError: it cannot be exported as a playbook, as live sessions need.
    """
    playbook = playbook_of(recorded)
    until_us = recorded.last_us if at_us < 0 and recorded.start.live and recorded.cut_short else at_us
    until_us = recorded.until_us if until_us < 0 else until_us
    actions = tuple(each for each in acted_of(recorded.actions) if until_us < 0 or each.at_us <= until_us)
    written = None
    if actions or recorded.start.live:
        written = loads(export(recorded, on_progress=on_progress).text, f"{recorded.path} as a playbook")
    return SessionCase(playbook, recorded.start.seed, until_us, recorded.start.live, actions, written)


def at_the_end(seen: Finding, findings: Sequence[Finding]) -> int:
    """Return the number, from 1, of the finding in the final result for one seen before the end of the session.

    The end turns ``missing`` records into ``lost`` ones, and may merge two findings.

    Raises:
        WhyError: there is no such finding any more.
    """
    places = {(each.partition, each.log_offset, each.leader_epoch) for each in seen.blocks}
    kinds = (LOST, MISSING) if seen.kind in (LOST, MISSING) else (seen.kind,)
    shared = [
        sum((each.partition, each.log_offset, each.leader_epoch) in places for each in finding.blocks)
        if finding.kind in kinds
        else 0
        for finding in findings
    ]
    if not any(shared):
        raise WhyError("that finding no longer exists at the end of the session; see all findings without --finding")
    return shared.index(max(shared)) + 1


@dataclass(frozen=True, slots=True)
class FindingDiagnosis:
    """One finding with its point of no return and remedies."""

    number: int
    """Number from 1, in the order of the result."""
    finding: Finding
    no_return: PointOfNoReturn | None
    """None if it was not searched for: only for lost records, and of many findings only the first."""
    remedies: tuple[Remedy, ...]
    """The best first; the same for all findings of a kind."""
    issues: tuple[CausingIssue, ...] = ()
    """Known issues of the release, each of which causes it alone."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "number": self.number,
            **self.finding.to_json(),
            "known_issues": [issue.to_json() for issue in self.issues],
            "no_return": None if self.no_return is None else _no_return_json(self.no_return),
            "remedies": [{**remedy.to_json(), "text": remedy_words(remedy)} for remedy in self.remedies],
        }


def _no_return_json(no_return: PointOfNoReturn) -> dict[str, Any]:
    lines = [f"{label}: {words}" if label else words for label, words in no_return_words(no_return)[1:]]
    return {**no_return.to_json(), "text": [no_return_words(no_return)[0][1], *lines]}


@dataclass(frozen=True, slots=True)
class FailureDiagnosis:
    """One failure that is not about single records, with the known issues that cause it."""

    failure: Failure
    issues: tuple[CausingIssue, ...]
    """Each causes it alone."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the published document."""
        return {
            "kind": self.failure.kind,
            "name": self.failure.name,
            "known_issues": [issue.to_json() for issue in self.issues],
        }


@dataclass(frozen=True, slots=True)
class LossExplanation:
    """The whole explanation; without findings nothing was lost."""

    result: SessionResult
    explained: tuple[FindingDiagnosis, ...]
    by_hand: bool
    failures: tuple[FailureDiagnosis, ...] = ()
    """All other failures: violated invariants, anomalies, expectations that do not hold, and so on."""
    search: IssueSearch = NOTHING_TRIED
    """What was tried to find known issues."""

    def to_json(self) -> dict[str, Any]:
        """Return the published document."""
        return {
            "version": VERSION,
            "playbook": self.result.playbook,
            "seed": self.result.seed,
            "profile": self.result.profile,
            "digest": self.result.digest,
            "operator_actions": dict(BY_HAND if self.by_hand else SET),
            "findings": [each.to_json() for each in self.explained],
            "failures": [each.to_json() for each in self.failures],
            "known_issues": self.search.to_json(),
        }


def findings_of(result: SessionResult) -> tuple[Finding, ...]:
    """Return all findings in the order of the result; for older sessions those made of its losses."""
    return tuple(getattr(result, "findings", ())) or lost_findings(result)


def explain(
    case: SessionCase,
    result: SessionResult,
    *,
    number: int = 0,
    workers: int = 0,
    seeds: int = SEEDS,
    on_progress: ProgressText = lambda text: None,
) -> LossExplanation:
    """Explain the findings of a result, or the one of that number.

    Raises:
        WhyError: there is no such finding.
        KeyboardInterrupt: the explanation was stopped.
    """
    findings = findings_of(result)
    if number > len(findings):
        allowed = f"expected a number from 1 to {len(findings)}" if findings else "the session has no findings"
        raise WhyError(f"found finding {number}, {allowed}")
    chosen = [(position, each) for position, each in enumerate(findings, 1) if number in (0, position)]
    wanted = {_key(each) for _place, each in chosen}
    failures = [
        each for each in failures_to_explain(result) if each.key in wanted or (not number and each.kind != FINDING)
    ]
    search = _search(case, result, failures, workers, seeds, on_progress)
    remedies: dict[str, tuple[Remedy, ...]] = {}
    explained: list[FindingDiagnosis] = []
    first_lost = [position for position, finding in enumerate(findings, 1) if finding.kind == LOST][:EXPLAINED]
    for position, finding in chosen:
        no_return = None
        if finding.kind == LOST and (number or position in first_lost):
            report_search = partial(_report_search, on_progress, position)
            no_return = _no_return(case, finding, findings, report_search)
        if finding.kind not in remedies:
            remedies[finding.kind] = _remedies(case, result, finding.kind, workers, seeds, on_progress)
        issues = search.causes.get(_key(finding), ())
        explained.append(FindingDiagnosis(position, finding, no_return, remedies[finding.kind], issues))
    others = [FailureDiagnosis(each, search.causes.get(each.key, ())) for each in failures if each.kind != FINDING]
    return LossExplanation(result, tuple(explained), case.playbook.spec.manual, tuple(others), search)


def _key(finding: Finding) -> str:
    return Failure(FINDING, f"{finding.kind}/{finding.cause}").key


def _report_search(on_progress: ProgressText, number: int, text: str) -> None:
    on_progress(f"searching the point of no return of finding {number}: {text}")


def _no_return(
    case: SessionCase, finding: Finding, findings: tuple[Finding, ...], on_progress: ProgressText
) -> PointOfNoReturn:
    already_lost = [place for other in findings if other.kind == LOST for place in other.blocks]
    if case.playbook.spec.manual:
        return find_manual(case.playbook, case.seed, finding, already_lost)
    return PointOfNoReturnSearch(case.start, case.actions, finding, already_lost, on_progress).find()


def _search(
    case: SessionCase,
    result: SessionResult,
    failures: Sequence[Failure],
    workers: int,
    seeds: int,
    on_progress: ProgressText,
) -> IssueSearch:
    if not failures:
        return NOTHING_TRIED
    playbook = case.written or case.playbook
    run = _runner(playbook, workers, "trying without known issues", on_progress)
    seeds = 1 if playbook.spec.manual else seeds
    return search_issues(playbook, case.seed, result, failures, run=run, until_us=case.until_us, seeds=seeds)


def _remedies(
    case: SessionCase, result: SessionResult, kind: str, workers: int, seeds: int, on_progress: ProgressText
) -> tuple[Remedy, ...]:  # fmt: skip
    playbook = case.written or case.playbook
    text = f"trying alternatives: {counted(len(changes(playbook, kind)), 'change')}"
    run = _runner(playbook, workers, text, on_progress)
    return evaluate(playbook, case.seed, result, kind, run=run, until_us=case.until_us, seeds=seeds)


def _runner(playbook: Playbook, workers: int, text: str, on_progress: ProgressText) -> Run:
    """Return a function that runs jobs and reports how many are done; it raises KeyboardInterrupt if stopped."""
    at_a_time = 1 if playbook.spec.manual else workers or cores()
    done = 0

    def run(jobs: Sequence[PlaybookJob]) -> list[JobOutcome]:
        def ended(_number: int, _outcome: object) -> None:
            nonlocal done
            done += 1
            on_progress(f"{text}, {counted(done, 'run')} done")

        outcomes = run_all(jobs, workers=at_a_time, on_end=ended)
        if any(each.code == INTERRUPTED for each in outcomes):
            raise KeyboardInterrupt
        return outcomes

    return run


# The explanation of a recorded session in a file beside it, so that a report need not run the session again.


def explain_recorded(directory: Path, *, on_progress: ProgressText = lambda text: None) -> LossExplanation:
    """Explain the losses of a recorded session.

    Raises:
        WhyError: this version replays it differently.
        PlaybookError, ExportError, ReplayMismatchError, SessionError: see :func:`playbooks.diagnosis.why.case_of`.
    """
    recorded = read_session(directory)
    case = case_of(recorded, on_progress)
    on_progress("replaying the session")
    result = case.run()
    if recorded.manifest is None or result.digest != recorded.manifest.digest:
        raise WhyError(f"{directory}: this version of floodmark replays the session differently from its recording")
    return explain(case, result, on_progress=on_progress)


def keep(directory: Path, why: LossExplanation) -> None:
    """Store an explanation beside its session. Raises OSError."""
    put_in_place(
        directory / session_files.WHY, json_text({"format": session_files.FORMAT, **why.to_json()}, indent=1) + "\n"
    )
