"""What a playbook does, told to somebody who has not run it: its steps in words, each with when it acts."""

from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.model.wording import step_words
from playbooks.units import duration_text


def when_words(trigger: Trigger) -> str:
    """When a step acts: ``at 60s``, ``10s later``, ``then``, ``when isr(orders-0) == [1], within 20s``."""
    if trigger.kind == "at":
        of_round = " of the round" if trigger.since_round else ""
        return f"at {duration_text(trigger.time_us)}{of_round}"
    if trigger.kind == "after":
        return f"{duration_text(trigger.time_us)} later" if trigger.time_us else "then"
    waiting = f", within {duration_text(trigger.within_us)}" if trigger.within_us >= 0 else ""
    return f"when {trigger.condition.text if trigger.condition else ''}{waiting}"


def timeline(playbook: Playbook) -> list[tuple[str, str]]:
    """Every step as (when, what), in order, and what comes after the last one.

    Where time stands still ``when`` is the step's number. A note follows its step with nothing for ``when``; the event
    of a trace goes before it.
    """
    manual = playbook.spec.manual
    lines: list[tuple[str, str]] = []
    for step in playbook.steps:
        if step.event:
            lines.append(("", f"{step.event}:"))
        lines.append((step.label or f"{step.index + 1}" if manual else when_words(step.trigger), _what(step)))
        if step.note:
            lines.append(("", step.note))
    if not manual and playbook.settle_us:
        lines.append((f"{duration_text(playbook.settle_us)} of quiet", _settling(playbook)))
    return lines


def _what(step: Step) -> str:
    """A step with the answer that it asserts."""
    words = step_words(step)
    if not step.refused:
        return words
    answers = {"never": "which is not refused", "any": "which is refused"}
    return f"{words}, {answers.get(step.refused, f'which is refused: {step.refused}')}"


def _settling(playbook: Playbook) -> str:
    if playbook.load_alone:
        return "producers write for as long first; then they stop, and the verdict"
    return "producers stop, faults are healed, and then the verdict"
