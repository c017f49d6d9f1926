"""The worst future as a playbook: what led there, the seed at which futures part, the action, and what came of it.

Everything up to the question's instant is written as it happened, step by step at its exact place, so that the file
needs neither the session nor the question. It is run before it is given away: it has to come to the very same digest.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cluster_model.protocol.events import StepTaken
from faults.injector import OPERATOR
from playbooks.conditions.functions import FUNCTIONS
from playbooks.engine.repeating import reach, repeat
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.export.playbook_writer import replaced
from playbooks.model.playbook import Step, Trigger
from playbooks.model.step_text import Line, action_lines, block, instant, scalar, step_lines, trigger_lines
from playbooks.model.wording import step_name
from playbooks.parser.loader import loads
from playbooks.parser.written_out import rewritten, written_out
from playbooks.parser.yaml_edit import EditError, put, without
from playbooks.recording.reader import RecordedAction
from playbooks.results.outages import short_seconds
from playbooks.results.result import Result
from playbooks.safety_check.asking import Asked
from playbooks.safety_check.check import Effect
from playbooks.safety_check.futures import Future, reseeding
from playbooks.safety_check.start_point import Standing
from playbooks.version import VERSION

PATH: Final = "witness.yaml"
"""What the text is called in messages."""
SUFFIX: Final = "-witness"
UNEXPECTED: Final = "unexpected_violations"


class WitnessError(Exception):
    """The worst future cannot be written as a playbook that comes to the same; the message says why."""


def witness(asked: Asked) -> str:
    """The text of the playbook.

    Raises:
        WitnessError: there is no such text.
    """
    standing, effect = asked.standing, asked.answer.worst
    future = effect.pair.action
    lines = ["steps:", *_before(standing), *_from_there(standing, asked.question.plan.steps, future)]
    text = _text(standing, asked, lines, ["expect:", *_expected(effect)])
    found = _run(text)
    if found.digest != future.digest:
        raise WitnessError(
            f"the playbook of the worst seed does not come to the same: wanted {future.digest}, found {found.digest}"
        )
    return text


def _run(text: str) -> Result:
    return Session.start(loads(text, PATH)).finish()


# -- the steps ------------------------------------------------------------------------------------------------------


def _before(standing: Standing) -> list[str]:
    """What the playbook and the operator did, each at its place."""
    playbook = standing.playbook()
    refused = _refused(standing)
    lines: list[str] = []
    actions = list(standing.actions)
    for number, step in enumerate(playbook.steps[: standing.steps]):
        while actions and actions[0].steps <= number:
            lines += _operators(actions.pop(0), refused)
        if step.verb == "round":
            continue
        written = block(step_lines(step, _exactly(step, standing.acted[number])), 2)
        lines += _remark(written, refused.get(step_name(step), ""))
    for each in actions:
        lines += _operators(each, refused)
    return lines


def _operators(action: RecordedAction, refused: dict[str, str]) -> list[str]:
    trigger = Trigger("at", action.at_us, executed=action.executed)
    lines: list[Line] = [*trigger_lines(trigger), *action_lines(action.action())]
    return _remark(block(lines, 2, "the operator"), refused.get(_key(action.at_us, action.executed), ""))


def _remark(written: list[str], refused: str) -> list[str]:
    """What could not be done is only told."""
    return [f"  # {line[2:]}" for line in [*written, f"    refused: {refused}"]] if refused else written


def _key(at_us: int, executed: int) -> str:
    return f"{OPERATOR} {at_us} {executed}"


def _refused(standing: Standing) -> dict[str, str]:
    """Steps by name, and what the operator did by its place, that were refused: why."""
    playbook = standing.playbook()
    session = Session.start(
        replace(playbook, steps=playbook.steps[: standing.steps]), seed=standing.seed, open_ended=True
    )
    found: dict[str, str] = {}

    def note(operator: str = "") -> None:
        for event in session.drain():
            if isinstance(event, StepTaken) and event.error:
                found[operator if event.by == OPERATOR else event.by] = event.error

    for each in standing.actions:
        reach(session, each.at_us, each.executed, each.steps)
        note()
        repeat(session, each.verb, each.action())
        note(_key(each.at_us, each.executed))
    reach(session, standing.at_us, standing.executed, standing.steps)
    note()
    asserted = {step_name(step) for step in playbook.steps if step.refused}
    return {name: error for name, error in found.items() if name not in asserted}


def _exactly(step: Step, place: tuple[int, int]) -> Trigger:
    """By the clock: in the middle of an instant only where a condition, or a place of its own, brought it there."""
    at_us, executed = place
    return Trigger("at", at_us, executed=executed if step.trigger.kind == "when" or step.trigger.executed >= 0 else -1)


def _from_there(standing: Standing, steps: Sequence[Step], future: Future) -> list[str]:
    """The seed, the action, and the end."""
    parting = reseeding(standing, future.seed)
    lines = block(step_lines(parting), 2, "from here on one of the futures that the question was put to")
    in_rounds = any(step.verb == "round" for step in steps)
    for step, place in zip(steps, future.acted, strict=False):
        if step.verb != "round":
            written = block(step_lines(step, _exactly(step, place) if in_rounds else None), 2)
            lines += _remark(written, "it could not be done" if step_name(step) in future.seen.undone else "")
    return [*lines, *block([("at", instant(future.end_us)), ("settle", "now")], 2)]


# -- what is expected -----------------------------------------------------------------------------------------------


def _expected(effect: Effect) -> list[str]:
    """What was found, in numbers that the same run comes to again."""
    future = effect.pair.action
    told = {
        "acked": "",
        "acked_lost": f"without the action {kept} of these" if (kept := effect.pair.baseline.acked_lost) else "",
        "committed_lost": "a consumer could have read these" if future.committed_lost else "",
        "duplicates": "",
        "failed": "",
        "unknown": "",
    }
    lines = []
    for name, why in told.items():
        lines.append(f"  - {name}() == {getattr(future, name)}" + (f"  # {why}" if why else ""))
    counted = UNEXPECTED if UNEXPECTED in FUNCTIONS else ""
    if counted:
        lines.append(f"  - {counted}() == {len(future.violations)}")
    if future.seen.under_min:
        lines.append(f"  - eventually: {scalar('under_min_isr() > 0')}")
    for (client, _acks, partition), spans in effect.writes.items():
        longest_us = max(end - start for start, end in spans)
        lines.append(f"  # {client} was not served on {partition} for up to {short_seconds(longest_us)} more")
    return lines


# -- the file -------------------------------------------------------------------------------------------------------


def _text(standing: Standing, asked: Asked, steps: list[str], expect: list[str]) -> str:
    """The author's file with other steps and expectations; what cannot be edited in place is written anew."""
    own = standing.text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if standing.fragments:
        own = written_out(own, standing.path, dict(standing.fragments))
    for write in (lambda text: text, lambda text: rewritten(text, PATH, {})):
        try:
            text = _edited(write(own), standing, steps, expect)
            loads(text, PATH)
        except (EditError, PlaybookError) as error:
            wrong = str(error)
        else:
            return f"{_head(asked)}{text}"
    raise WitnessError(f"{standing.path}: what happened cannot be written as steps: {wrong}")


def _edited(text: str, standing: Standing, steps: list[str], expect: list[str]) -> str:
    playbook = standing.playbook()
    text = put(text, "name", scalar(f"{playbook.name.removesuffix(SUFFIX)}{SUFFIX}"))
    if standing.seed != playbook.seed:
        text = put(text, "seed", str(standing.seed))
    text = without(text, "profiles", "The answer is of one version only:")
    text = without(text, "vary", "It is one cell of this:")
    return replaced(replaced(text, "steps", steps), "expect", expect)


def _head(asked: Asked) -> str:
    """Where the file comes from."""
    asked_of = asked.question.text or "what the playbook would still do"
    lines = [
        f"Made by floodmark {VERSION}: is it safe to do this at {instant(asked.standing.at_us)}?",
        asked_of,
        f"This is the worst of {len(asked.answer.effects)} seeds: {asked.answer.verdict}.",
        asked.answer.why,
    ]
    return "".join(f"# {line}\n" for line in lines if line)
