"""Report of a safety check: the answer as text and JSON, and the worst future as a playbook.

The playbook has everything up to the time of the question, each step at its exact position, so that it needs neither
the session nor the question. It is run before it is written: its digest must be the same.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from cluster_model.protocol.events import StepTaken
from cluster_model.util.quantities import acks_text, counted, short_seconds, time_in_seconds
from cluster_model.util.ranges import length
from faults.injector import OPERATOR
from playbooks.conditions.condition import FUNCTIONS
from playbooks.engine.session import Session
from playbooks.engine.session_runner import repeat_action, run_to_position
from playbooks.errors import FAILED, INCONCLUSIVE, OK, PlaybookError
from playbooks.export.playbook_writer import replaced
from playbooks.model.playbook import Step, Trigger
from playbooks.model.step_text import (
    Line,
    action_lines,
    block,
    exact_time_text,
    scalar,
    step_lines,
    step_name,
    step_text,
    trigger_lines,
)
from playbooks.parser.loader import loads
from playbooks.parser.yaml_edit import EditError, put, rewritten, without, written_out
from playbooks.recording.reader import RecordedAction
from playbooks.results.result import SessionResult
from playbooks.safety_check.check import STALL_US, WHY_STALL, SafetyAnswer, SafetyCheckResult, SafetyEffect, SeedSpread
from playbooks.safety_check.simulation import Future, ReaderImpact, longest, reseeding
from playbooks.safety_check.start_point import StartPoint
from playbooks.units import duration_text
from playbooks.version import VERSION

PATH: Final = "witness.yaml"
"""Name of the text in messages."""
SUFFIX: Final = "-witness"
UNEXPECTED: Final = "unexpected_violations"


class WitnessError(Exception):
    """The worst future cannot be written as an equivalent playbook; the message says why."""


def witness(result: SafetyCheckResult) -> str:
    """Return the text of the playbook of the worst future.

    Raises:
        WitnessError: there is no equivalent playbook.
    """
    start_point, effect = result.start_point, result.answer.worst
    future = effect.pair.action
    lines = ["steps:", *_before(start_point), *_from_there(start_point, result.question.plan.steps, future)]
    text = _text(start_point, result, lines, ["expect:", *_expected(effect)])
    found = _run_witness(text)
    if found.digest != future.digest:
        raise WitnessError(f"the playbook of the worst seed has digest {found.digest}, expected {future.digest}")
    return text


def _run_witness(text: str) -> SessionResult:
    return Session.start(loads(text, PATH)).finish()


# -- the steps ------------------------------------------------------------------------------------------------------


def _before(start: StartPoint) -> list[str]:
    """Return the past steps of the playbook and the operator, each at its position."""
    playbook = start.playbook()
    refused = _refused(start)
    lines: list[str] = []
    actions = list(start.actions)
    for number, step in enumerate(playbook.steps[: start.steps]):
        while actions and actions[0].steps <= number:
            lines += _operators(actions.pop(0), refused)
        if step.verb == "round":
            continue
        written = block(step_lines(step, _exactly(step, start.acted[number])), 2)
        lines += _remark(written, refused.get(step_name(step), ""))
    for each in actions:
        lines += _operators(each, refused)
    return lines


def _operators(action: RecordedAction, refused: dict[str, str]) -> list[str]:
    trigger = Trigger("at", action.at_us, executed=action.executed)
    lines: list[Line] = [*trigger_lines(trigger), *action_lines(action.action())]
    return _remark(block(lines, 2, "the operator"), refused.get(_key(action.at_us, action.executed), ""))


def _remark(written: list[str], refused: str) -> list[str]:
    """Turn a refused action into comments."""
    return [f"  # {line[2:]}" for line in [*written, f"    refused: {refused}"]] if refused else written


def _key(at_us: int, executed: int) -> str:
    return f"{OPERATOR} {at_us} {executed}"


def _refused(start: StartPoint) -> dict[str, str]:
    """Return the refused steps by name and the refused operator actions by position, with the reason."""
    playbook = start.playbook()
    session = Session.start(replace(playbook, steps=playbook.steps[: start.steps]), seed=start.seed, open_ended=True)
    errors: dict[str, str] = {}

    def note(operator: str = "") -> None:
        for event in session.drain():
            if isinstance(event, StepTaken) and event.error:
                errors[operator if event.by == OPERATOR else event.by] = event.error

    for each in start.actions:
        run_to_position(session, each.at_us, each.executed, each.steps)
        note()
        repeat_action(session, each.verb, each.action())
        note(_key(each.at_us, each.executed))
    run_to_position(session, start.at_us, start.executed, start.steps)
    note()
    asserted = {step_name(step) for step in playbook.steps if step.refused}
    return {name: error for name, error in errors.items() if name not in asserted}


def _exactly(step: Step, position: tuple[int, int]) -> Trigger:
    """Return the exact trigger: a time, with an event count only if a condition or position put it within that time."""
    at_us, executed = position
    return Trigger("at", at_us, executed=executed if step.trigger.kind == "when" or step.trigger.executed >= 0 else -1)


def _from_there(start: StartPoint, steps: Sequence[Step], future: Future) -> list[str]:
    """Return the steps that reseed, act, and end the session."""
    parting = reseeding(start, future.seed)
    lines = block(step_lines(parting), 2, "from here on one of the simulated futures")
    in_rounds = any(step.verb == "round" for step in steps)
    for step, place in zip(steps, future.acted, strict=False):
        if step.verb != "round":
            written = block(step_lines(step, _exactly(step, place) if in_rounds else None), 2)
            lines += _remark(written, "it was refused" if step_name(step) in future.seen.undone else "")
    return [*lines, *block([("at", exact_time_text(future.end_us)), ("settle", "now")], 2)]


# -- expectations ---------------------------------------------------------------------------------------------------


def _expected(effect: SafetyEffect) -> list[str]:
    """Return expectations with the numbers that were found."""
    future = effect.pair.action
    notes = {
        "acked": "",
        "acked_lost": f"{kept} without the action" if (kept := effect.pair.baseline.acked_lost) else "",
        "committed_lost": "consumers could have read these" if future.committed_lost else "",
        "duplicates": "",
        "failed": "",
        "unknown": "",
    }
    lines = []
    for name, why in notes.items():
        lines.append(f"  - {name}() == {getattr(future, name)}" + (f"  # {why}" if why else ""))
    unexpected = UNEXPECTED if UNEXPECTED in FUNCTIONS else ""
    if unexpected:
        lines.append(f"  - {unexpected}() == {len(future.violations)}")
    if future.seen.under_min:
        lines.append(f"  - eventually: {scalar('under_min_isr() > 0')}")
    for group, felt in future.readers.items():
        name = scalar(group, inside=True)
        if felt.skipped or felt.reread:
            lines.append(f"  - skipped({name}) == {felt.skipped} and reread({name}) == {felt.reread}")
    for (client, _acks, partition), spans in effect.writes.items():
        longest_us = max(end - start for start, end in spans)
        lines.append(f"  # {client} was out of service at {partition} for up to {short_seconds(longest_us)} more")
    return lines


# -- the file -------------------------------------------------------------------------------------------------------


def _text(start: StartPoint, result: SafetyCheckResult, steps: list[str], expect: list[str]) -> str:
    """Return the author's file with other steps and expectations, rewritten where it cannot be edited."""
    own = start.text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if start.fragments:
        own = written_out(own, start.path, dict(start.fragments))
    for write in (lambda text: text, lambda text: rewritten(text, PATH, {})):
        try:
            text = _edited(write(own), start, steps, expect)
            loads(text, PATH)
        except (EditError, PlaybookError) as error:
            wrong = str(error)
        else:
            return f"{_head(result)}{text}"
    raise WitnessError(f"{start.path}: the session cannot be written as steps: {wrong}")


def _edited(text: str, start: StartPoint, steps: list[str], expect: list[str]) -> str:
    playbook = start.playbook()
    text = put(text, "name", scalar(f"{playbook.name.removesuffix(SUFFIX)}{SUFFIX}"))
    if start.seed != playbook.seed:
        text = put(text, "seed", str(start.seed))
    text = without(text, "profiles", "The answer is for one version only:")
    text = without(text, "vary", "It is one cell of:")
    return replaced(replaced(text, "steps", steps), "expect", expect)


def _head(result: SafetyCheckResult) -> str:
    """Return the comment about the origin of the file."""
    asked_of = result.question.text or "the remaining steps of the playbook"
    lines = [
        f"Made by floodmark {VERSION}: is it safe to do this at {exact_time_text(result.start_point.at_us)}?",
        asked_of,
        f"This is the worst of {len(result.answer.effects)} seeds: {result.answer.verdict}.",
        result.answer.why,
    ]
    return "".join(f"# {line}\n" for line in lines if line)


# The answer as lines of text and as the published document.


EXIT_CODES: Final = {
    "safe": OK, "loses": FAILED, "violates": FAILED, "skips": FAILED, "stalls": FAILED, "refused": INCONCLUSIVE,
    "inconclusive": INCONCLUSIVE,
}  # fmt: skip
_LABEL: Final = 20
_COUNTS: Final = {
    "committed_lost": "committed records lost", "duplicates": "duplicates",
    "failed": "failed writes", "unknown": "writes with an unknown outcome",
}  # fmt: skip


def headline(answer: SafetyAnswer) -> str:
    """Return the answer in one line: ``not safe: writes stall for up to 6 s (median 6 s) in 20 of 20 seeds``."""
    if EXIT_CODES[answer.verdict] == FAILED:
        seeds = _seeds_of(answer)
        median = f" (median {short_seconds(_stalls(answer).median)})" if answer.verdict == "stalls" else ""
        return f"not safe: {witness_text(answer)}{median} {_among(seeds, answer)}"
    if answer.verdict == "safe":
        return f"safe over {counted(len(answer.effects), 'seed')}"
    share = sum(each.verdict(answer.stall_us) == answer.verdict for each in answer.effects)
    return f"{answer.verdict}, {_among(share, answer)}"


def witness_text(answer: SafetyAnswer) -> str:
    """Describe the result of a run of the witness: ``up to 3 acknowledged records lost``."""
    if answer.verdict == "loses":
        return f"up to {counted(answer.spread_of('lost').worst, 'acknowledged record')} lost"
    if answer.verdict == "violates":
        return "a protocol guarantee is violated"
    if answer.verdict == "skips":
        return f"consumer groups skip up to {counted(answer.spread_of('skipped').worst, 'record')}"
    if answer.verdict == "stalls":
        what = "reads" if answer.by_reads else "writes"
        return f"{what} stall for up to {short_seconds(_stalls(answer).worst)}"
    return answer.verdict


def _stalls(answer: SafetyAnswer) -> SeedSpread:
    return answer.spread_of("read_stall_us" if answer.by_reads else "stall_us")


def _seeds_of(answer: SafetyAnswer) -> int:
    """Return the number of seeds with the effect that makes the action unsafe."""
    if answer.verdict == "violates":
        return sum(bool(each.violations) for each in answer.effects)
    if answer.verdict == "stalls":
        return _stalls(answer).seeds
    return answer.spread_of("lost" if answer.verdict == "loses" else "skipped").seeds


def _among(number: int, answer: SafetyAnswer) -> str:
    total = len(answer.effects)
    return f"in {number} of {total} seeds" if total > 1 else "in the only seed simulated"


def _spread(spread: SeedSpread) -> str:
    return f"up to {short_seconds(spread.worst)} (median {short_seconds(spread.median)})"


def lines(result: SafetyCheckResult) -> list[str]:
    """Return the whole answer as lines."""
    answer, worst = result.answer, result.answer.worst
    lines_of_report = [headline(answer)]
    if answer.why:
        lines_of_report.append(_line("why", answer.why))
    if answer.verdict != "stalls" and answer.spread_of("stall_us").worst:
        lines_of_report.append(_line("stalls", f"writes for {_spread(answer.spread_of('stall_us'))}"))
    lines_of_report += [_line(f"stalled (acks={acks_text(acks)})", text) for acks, text in _by_acks(worst)]
    lines_of_report += _besides(answer)
    lines_of_report.append(_line("baseline", _baseline(worst)))
    lines_of_report.append(
        _line("horizon", f"{duration_text(result.question.plan.horizon_us)}: {result.question.horizon_words}")
    )
    reason = WHY_STALL if answer.stall_us == STALL_US else "as requested"
    lines_of_report.append(_line("threshold", f"more than {duration_text(answer.stall_us)}: {reason}"))
    seeds = counted(len(answer.effects), "simulated seed")
    lines_of_report.append(_line("note", f"based on {seeds}; other seeds may differ"))
    return lines_of_report


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _by_acks(effect: SafetyEffect) -> list[tuple[int, str]]:
    """For each acks level, return the clients with the longest outages, under the seed that is shown."""
    stalls: dict[int, list[str]] = {}
    for (client, acks, partition), spans in effect.writes.items():
        if longest(spans):
            stalls.setdefault(acks, []).append(f"{client} into {partition} {short_seconds(longest(spans))}")
    few = 4
    return [
        (acks, ", ".join(each[:few]) + (f" and {len(each) - few} more" if len(each) > few else ""))
        for acks, each in sorted(stalls.items())
    ]


def _besides(answer: SafetyAnswer) -> list[str]:
    lines_of_report = []
    leaderless = answer.spread_of("leaderless_us")
    if leaderless.worst:
        lines_of_report.append(_line("reads", f"a partition without a leader for {_spread(leaderless)}"))
    lines_of_report += [
        _line("groups", text) for name, felt in answer.worst.readers.items() if (text := _felt(name, felt))
    ]
    under = max(sum(map(length, each.under_min.values())) for each in answer.effects)
    if under:
        lines_of_report.append(
            _line("ISR", f"below min.insync.replicas for up to {short_seconds(under)}, over all partitions")
        )
    for name, words in _COUNTS.items():
        if answer.maximum(name):
            lines_of_report.append(_line("up to", f"{answer.maximum(name)} {words}"))
    return lines_of_report


LEAST_STALL_US: Final = 1_000_000
"""Shorter read stalls are normal between polls, and are not shown."""
LEAST_IDLE_US: Final = 100_000
"""The same for time without an owner."""


def _felt(group: str, felt: ReaderImpact) -> str:
    """Describe the added effect on a group under the seed that is shown; empty if there is none."""
    parts = [
        f"no records for up to {short_seconds(felt.read_stall_us)}" if felt.read_stall_us >= LEAST_STALL_US else "",
        f"skips {counted(felt.skipped, 'record')}" if felt.skipped else "",
        f"reads {counted(felt.reread, 'record')} again" if felt.reread else "",
        counted(felt.resets, "offset reset") if felt.resets else "",
        f"partitions without an owner for {short_seconds(felt.idle_us)} in total"
        if felt.idle_us >= LEAST_IDLE_US
        else "",
    ]
    text = ", ".join(part for part in parts if part)
    return f"{group}: {text}" if text else ""


def _baseline(effect: SafetyEffect) -> str:
    baseline = effect.pair.baseline
    stall_us = max(map(longest, baseline.seen.writes.values()), default=0)
    stalls = f"writes stall {short_seconds(stall_us)}" if stall_us else "no write stalls"
    lost = f"{baseline.acked_lost} acknowledged records are lost" if baseline.acked_lost else "nothing is lost"
    skipped = sum(each.skipped for each in baseline.readers.values())
    waits = {name: felt.read_stall_us for name, felt in baseline.readers.items()}
    waiting = max(waits, key=lambda name: waits[name], default="")
    if waiting and waits[waiting] >= LEAST_STALL_US:
        lost += f", {waiting} receives nothing for up to {short_seconds(waits[waiting])}"
    return f"{stalls}, {lost}" + (f", consumer groups skip {counted(skipped, 'record')}" if skipped else "")


def title(result: SafetyCheckResult, name: str) -> str:
    """Return the question, with its session and time."""
    text = f'to "{result.question.text}"' if result.question.text else "to continue with the remaining steps"
    at_us = result.start_point.at_us
    at = f"right before {time_in_seconds(at_us + 1)}" if at_us % 1_000 == 999 else f"at {time_in_seconds(at_us)}"
    return f"{name}, {at}, after {result.start_point.executed} events: is it safe {text}?"


def to_json(result: SafetyCheckResult, name: str, witness: str) -> dict[str, Any]:
    """Return the published document."""
    answer, start_point = result.answer, result.start_point
    return {
        "of": name,
        "at_us": start_point.at_us,
        "executed": start_point.executed,
        "question": result.question.text,
        "steps": [step_text(step) for step in result.question.plan.steps],
        "verdict": answer.verdict,
        "exit_code": EXIT_CODES[answer.verdict],
        "answer": headline(answer),
        "why": answer.why,
        "seeds": len(answer.effects),
        "worst_seed": answer.worst.seed,
        "horizon_us": result.question.plan.horizon_us,
        "stall_threshold_us": answer.stall_us,
        "lost": _spread_json(answer.spread_of("lost")),
        "write_stall_us": _spread_json(answer.spread_of("stall_us")),
        "read_stall_us": _spread_json(answer.spread_of("read_stall_us")),
        "skipped": _spread_json(answer.spread_of("skipped")),
        "most": {key: answer.maximum(key) for key in _COUNTS},
        "runs": [_run_document(each, answer.stall_us) for each in answer.effects],
        "witness": witness,
    }


def _spread_json(spread: SeedSpread) -> dict[str, int]:
    return {"worst": spread.worst, "median": spread.median, "seeds": spread.seeds}


def _run_document(effect: SafetyEffect, stall_us: int) -> dict[str, Any]:
    action = effect.pair.action
    return {
        "seed": effect.seed,
        "verdict": effect.verdict(stall_us),
        "lost": effect.lost,
        "committed_lost": effect.more("committed_lost"),
        "duplicates": effect.more("duplicates"),
        "write_stall_us": effect.stall_us,
        "read_stall_us": effect.read_stall_us,
        "readers": {name: asdict(felt) for name, felt in effect.readers.items()},
        "writes": [
            {"client": client, "acks": acks_text(acks), "partition": partition, "longest_us": longest(spans),
             "us": length(spans)}
            for (client, acks, partition), spans in effect.writes.items()
        ],
        "under_min_isr_us": {name: length(spans) for name, spans in effect.under_min.items()},
        "losses": [
            {"partition": each.partition, "count": each.count, "committed": each.committed,
             "acks": acks_text(each.acks), "cause": each.cause}
            for each in effect.losses
        ],
        "violations": [list(each) for each in effect.violations],
        "refused": list(action.seen.refused),
        "waited": action.waited,
        "unfinished": list(effect.unfinished),
        "baseline": {
            "lost": effect.pair.baseline.acked_lost,
            "write_stall_us": max(map(longest, effect.pair.baseline.seen.writes.values()), default=0),
            "read_stall_us": max([felt.read_stall_us for felt in effect.pair.baseline.readers.values()], default=0),
        },
        "digest": action.digest,
    }  # fmt: skip
