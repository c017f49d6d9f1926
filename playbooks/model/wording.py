"""Steps and actions in words: for the trace, the screen and messages."""

from typing import Any, cast

from faults.catalogue import CATALOGUE
from faults.declarations.action import Action, Verb
from faults.declarations.fault import Param
from faults.declarations.operation import OPERATIONS
from faults.declarations.parameters import written
from playbooks.model.fault_words import value_text
from playbooks.model.playbook import Step
from playbooks.units import duration_text


def action_of(step: Step) -> Action:
    """The action that a timed step asks for."""
    if step.verb in ("manual", "settle", "stop", "reseed", "round"):
        raise ValueError(f"{step.verb} {step.name} is no action")
    return Action(cast("Verb", step.verb), step.name, step.target, dict(step.params), step.for_us, step.if_any)


def words(action: Action) -> str:
    """An action as one short line: ``inject gc_pause on leader(orders-0) for 15s``."""
    parts = [action.verb, action.name]
    if action.target:
        parts += ["on", action.target]
    if action.params:
        parts.append(_parameters(action.params, _params(action.name)))
    if action.for_us >= 0:
        parts += ["for", duration_text(action.for_us)]
    if action.if_any:
        parts.append("if any")
    return " ".join(parts)


def step_words(step: Step) -> str:
    """A step as one short line, without its trigger and its note."""
    if step.verb == "manual":
        return " ".join([step.name, _parameters(step.params, {})]).strip()
    if step.verb in ("settle", "stop", "reseed", "round"):
        return f"{step.verb} {step.name}"
    return words(action_of(step))


def step_name(step: Step) -> str:
    """How people count steps: ``step 1`` is the first, ``step 3.1 round 2`` the first of a group, the second time."""
    return f"step {step.label or step.index + 1}"


def step_of(step: Step, steps: tuple[Step, ...]) -> str:
    """Which of all ``steps`` it is: ``step 2 of 5``, or ``step 3.1 round 2 (8 of 12)`` where numbers do not tell."""
    if not any(each.label for each in steps) and steps[-1].index == len(steps) - 1:
        return f"{step_name(step)} of {len(steps)}"
    return f"{step_name(step)} ({steps.index(step) + 1} of {len(steps)})"


def _params(name: str) -> dict[str, Param]:
    declared = CATALOGUE.get(name) or OPERATIONS.get(name)
    return {param.name: param for param in declared.params} if declared else {}


def _parameters(params: dict[str, Any], known: dict[str, Param]) -> str:
    return " ".join(
        f"{name}={value_text(known[name].type, value) if name in known else written(value)}"
        for name, value in params.items()
    )
