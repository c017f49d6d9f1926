"""Why records were lost, when that became inevitable, and what would have saved them: one session's ``why``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from cluster_model.checker.root_cause import LOST, MISSING, Finding
from cluster_model.util.quantities import alternatives, counted, short_seconds, time_in_seconds
from playbooks.diagnosis.evidence import lost_findings
from playbooks.diagnosis.point_of_no_return import SET as BY_HAND
from playbooks.diagnosis.point_of_no_return import NoReturn, NoReturnSearch, find_by_hand
from playbooks.diagnosis.remedies import SEEDS, SET, Remedy, changes, evaluate
from playbooks.engine.replay import playbook_of
from playbooks.engine.session import SLICE_US, Session
from playbooks.engine.session_runner import reach, repeat, start_session
from playbooks.engine.worker_pool import cores, run_all
from playbooks.errors import INTERRUPTED
from playbooks.export.playbook_writer import export
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.recording.reader import RecordedSession, read_session
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import put_in_place
from playbooks.text import json_text
from playbooks.timetravel.branches import ForkAction, acted_of
from playbooks.version import VERSION

# The answer of ``why`` in words: the point of no return, and what a change leaves and costs.


def no_return_words(found: NoReturn) -> list[tuple[str, str]]:
    """The point of no return in a few lines, each with its label; the last may have none."""
    lines = [("no return", _point(found))]
    if found.actions:
        still = "still would keep it" if found.kind == "open" else "would have kept it"
        lines.append(("until then", f"{alternatives(each.words for each in found.actions)} {still}"))
    if found.kind == "event" and found.sign:
        lines.append(("warned by", _sign(found)))
    if found.clean is not None:
        kept = (
            f"; until then {alternatives(each.words for each in found.clean.actions)} would have kept it"
            if found.clean.actions
            else ""
        )
        lines.append(("", f"without an unclean election: {_point(found.clean)}{kept}"))
    return lines


def remedy_words(remedy: Remedy) -> str:
    """What it leaves and what it costs: ``acks=all: 0 of 99 left, rejected 0, unavailable -0.5 s, in 5 of 5 seeds``.

    Of a change that was refused, or that proves nothing, why: ``kafka 4.1: the playbook uses ZooKeeper``.
    """
    note = f" ({remedy.change.note})" if remedy.change.note else ""
    if remedy.verdict in ("refused", "inconclusive"):
        return f"{remedy.change.name}{note}: {remedy.note or remedy.verdict}"
    rejected = f"{remedy.rejected:+d}" if remedy.rejected else "0"
    parts = [
        f"{remedy.left} of {remedy.before} left",
        f"rejected {rejected}",
        f"unavailable {_span(remedy.unavailable_us)}",
    ]
    parts += [f"in {remedy.seeds_kept} of {remedy.seeds} seeds"] if remedy.seeds > 1 else []
    return f"{remedy.change.name}{note}: {', '.join(parts)}"


def _point(found: NoReturn) -> str:
    if found.kind == "unplaced":
        return "at the acknowledgement itself: it was given before any broker had the records, and none ever did"
    if found.kind == "acknowledgement":
        when = found.step(found.at_us) if found.by_hand else time_in_seconds(found.at_us)
        return f"at the acknowledgement itself ({when}): no action could have kept it from then on"
    if found.kind == "open":
        return "not yet: at the end of the session it could still be kept"
    return found.words if found.by_hand else f"{time_in_seconds(found.at_us)}, {found.words}"


def _sign(found: NoReturn) -> str:
    if found.by_hand:
        left = found.at_us - found.sign_us
        return f"{found.step(found.sign_us)} ({found.sign}), {counted(left, 'step')} before"
    return f"{time_in_seconds(found.sign_us)} ({found.sign}), {short_seconds(found.time_left_us)} before"


def _span(us: int) -> str:
    """A difference of times; less than a tenth of a second is chance."""
    if abs(us) < 50_000:
        return "0"
    return f"{'+' if us > 0 else '-'}{short_seconds(abs(us))}"


# Why records were lost, when that became inevitable, and what would have saved them: one session's whole answer.


EXPLAINED: Final = 3
"""Losses of which the point of no return is looked for, unless one is asked for; the others are told without."""

Telling = Callable[[str], None]
"""Called with how far it is."""


class WhyError(Exception):
    """A question that cannot be answered; the message says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class SessionCase:
    """A session to explain, as it can be run again."""

    playbook: Playbook
    seed: int
    until_us: int = -1
    """Virtual time at which it is cut off, with nothing healed; -1: never."""
    live: bool = False
    actions: tuple[ForkAction, ...] = ()
    """What its operator did."""
    written: Playbook | None = None
    """The session as a playbook without an operator, for runs with changes; None: ``playbook`` is that."""

    def start(self) -> Session:
        """It at its beginning; nothing is expected of it, for that is judged already."""
        session = start_session(
            replace(self.playbook, expectations=()), seed=self.seed, until_us=self.until_us, open_ended=self.live
        )
        assert isinstance(session, Session)
        return session

    def run(self) -> SessionResult:
        """It from beginning to end."""
        if self.playbook.spec.manual:
            return start_session(self.playbook, seed=self.seed).finish()
        session = start_session(self.playbook, seed=self.seed, until_us=self.until_us, open_ended=self.live)
        for acted in self.actions:
            reach(session, acted.at_us, acted.executed, acted.steps)
            repeat(session, acted.verb, acted.action)
        while self.until_us >= 0 and session.advance(session.cluster.now_us + SLICE_US):
            pass
        return session.finish()

    def standing(self) -> tuple[Finding, ...]:
        """The findings right where it is cut off, as somebody sees them who looks: in this order, nothing final."""
        session = self.start()
        for acted in self.actions:
            reach(session, acted.at_us, acted.executed, acted.steps)
            repeat(session, acted.verb, acted.action)
        session.advance(self.until_us)
        return session.cluster.checker.casebook.findings(session.cluster.now_us)


def case_of(recorded: RecordedSession, tell: Telling = lambda text: None, *, at_us: int = -1) -> SessionCase:
    """A recorded session as a case: the whole of it, or up to a virtual time.

    Without a time, one from a screen whose end is missing is cut off where it breaks off: it has no other end.

    Raises:
        PlaybookError: its playbook is not one that this version runs.
        ExportError, ReplayMismatchError, SessionError: it cannot be made a playbook of, which a live one has to be.
    """
    playbook = playbook_of(recorded)
    until_us = recorded.last_us if at_us < 0 and recorded.start.live and recorded.cut_short else at_us
    until_us = recorded.until_us if until_us < 0 else until_us
    actions = tuple(each for each in acted_of(recorded.actions) if until_us < 0 or each.at_us <= until_us)
    written = None
    if actions or recorded.start.live:
        written = loads(export(recorded, tell=tell).text, f"{recorded.path} as a playbook")
    return SessionCase(playbook, recorded.start.seed, until_us, recorded.start.live, actions, written)


def at_the_end(seen: Finding, findings: Sequence[Finding]) -> int:
    """The number, from 1, of what became of a finding that was seen before the books were closed.

    Closing them makes ``lost`` of what was ``missing``, and may put two findings together.

    Raises:
        WhyError: it is not there any more.
    """
    places = {(each.partition, each.log_offset, each.leader_epoch) for each in seen.places}
    kinds = (LOST, MISSING) if seen.kind in (LOST, MISSING) else (seen.kind,)
    shared = [
        sum((each.partition, each.log_offset, each.leader_epoch) in places for each in finding.places)
        if finding.kind in kinds
        else 0
        for finding in findings
    ]
    if not any(shared):
        raise WhyError("that finding is not there any more")
    return shared.index(max(shared)) + 1


@dataclass(frozen=True, slots=True)
class FindingDiagnosis:
    """One finding with what is known of it."""

    number: int
    """From 1, in the order of the result."""
    finding: Finding
    no_return: NoReturn | None
    """None where it was not looked for: only of lost records, and of many findings the first."""
    remedies: tuple[Remedy, ...]
    """The best first; the same for all findings of a kind."""

    def to_json(self) -> dict[str, Any]:
        """As the answer prints it."""
        return {
            "number": self.number,
            **self.finding.to_json(),
            "no_return": None if self.no_return is None else _no_return_json(self.no_return),
            "remedies": [{**remedy.to_json(), "text": remedy_words(remedy)} for remedy in self.remedies],
        }


def _no_return_json(found: NoReturn) -> dict[str, Any]:
    lines = [f"{label}: {words}" if label else words for label, words in no_return_words(found)[1:]]
    return {**found.to_json(), "text": [no_return_words(found)[0][1], *lines]}


@dataclass(frozen=True, slots=True)
class Why:
    """The whole answer; without findings nothing was lost."""

    result: SessionResult
    explained: tuple[FindingDiagnosis, ...]
    by_hand: bool

    def to_json(self) -> dict[str, Any]:
        """The published document."""
        return {
            "version": VERSION,
            "playbook": self.result.playbook,
            "seed": self.result.seed,
            "profile": self.result.profile,
            "digest": self.result.digest,
            "operator_actions": dict(BY_HAND if self.by_hand else SET),
            "findings": [each.to_json() for each in self.explained],
        }


def findings_of(result: SessionResult) -> tuple[Finding, ...]:
    """What there is to explain: every finding, in the order of the result; of older sessions what they lost."""
    return tuple(getattr(result, "findings", ())) or lost_findings(result)


def explain(
    case: SessionCase,
    result: SessionResult,
    *,
    number: int = 0,
    workers: int = 0,
    seeds: int = SEEDS,
    tell: Telling = lambda text: None,
) -> Why:
    """Everything about the findings of a result, or about the one of that number.

    Raises:
        WhyError: there is no such finding.
        KeyboardInterrupt: it was stopped.
    """
    findings = findings_of(result)
    if number > len(findings):
        raise WhyError(f"there is no finding {number}, the session has {len(findings) or 'none'}")
    remedies: dict[str, tuple[Remedy, ...]] = {}
    explained: list[FindingDiagnosis] = []
    first_lost = [place for place, finding in enumerate(findings, 1) if finding.kind == LOST][:EXPLAINED]
    for place, finding in enumerate(findings, 1):
        if number not in (0, place):
            continue
        no_return = None
        if finding.kind == LOST and (number or place in first_lost):
            telling = partial(_tell_of, tell, place)
            no_return = _no_return(case, finding, findings, telling)
        if finding.kind not in remedies:
            remedies[finding.kind] = _remedies(case, result, finding.kind, workers, seeds, tell)
        explained.append(FindingDiagnosis(place, finding, no_return, remedies[finding.kind]))
    return Why(result, tuple(explained), case.playbook.spec.manual)


def _tell_of(tell: Telling, number: int, text: str) -> None:
    tell(f"looking for the point of no return of finding {number}: {text}")


def _no_return(case: SessionCase, finding: Finding, findings: tuple[Finding, ...], tell: Telling) -> NoReturn:
    given_up = [place for other in findings if other.kind == LOST for place in other.places]
    if case.playbook.spec.manual:
        return find_by_hand(case.playbook, case.seed, finding, given_up)
    return NoReturnSearch(case.start, case.actions, finding, given_up, tell).find()


def _remedies(
    case: SessionCase, result: SessionResult, kind: str, workers: int, seeds: int, tell: Telling
) -> tuple[Remedy, ...]:  # fmt: skip
    playbook = case.written or case.playbook
    tried = len(changes(playbook, kind))
    at_a_time = 1 if playbook.spec.manual else workers or cores()
    done = 0

    def run(jobs: Any) -> Any:
        def ended(_number: int, _outcome: object) -> None:
            nonlocal done
            done += 1
            tell(f"running it with {counted(tried, 'change')}, one at a time or two: {counted(done, 'run')} over")

        outcomes = run_all(jobs, workers=at_a_time, on_end=ended)
        if any(each.code == INTERRUPTED for each in outcomes):
            raise KeyboardInterrupt
        return outcomes

    return evaluate(playbook, case.seed, result, kind, run=run, until_us=case.until_us, seeds=seeds)


# The explanation of a recorded session in a file beside it, so that a report need not run the session again.


def explain_recorded(directory: Path, *, tell: Telling = lambda text: None) -> Why:
    """Explain the losses of a recorded session.

    Raises:
        WhyError: this version runs it otherwise than it was recorded.
        PlaybookError, ExportError, ReplayMismatchError, SessionError: see :func:`playbooks.diagnosis.why.case_of`.
    """
    recorded = read_session(directory)
    case = case_of(recorded, tell)
    tell("running it again")
    result = case.run()
    if recorded.manifest is None or result.digest != recorded.manifest.digest:
        raise WhyError(f"{directory}: this version runs it otherwise than it was recorded")
    return explain(case, result, tell=tell)


def keep(directory: Path, why: Why) -> None:
    """Put an explanation beside the session that it is of. Raises OSError."""
    put_in_place(directory / session_files.WHY, json_text(why.to_json(), indent=1) + "\n")
