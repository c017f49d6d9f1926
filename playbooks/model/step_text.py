"""Steps written as a playbook has them: the other way round from :mod:`playbooks.parser.steps.timed_steps`."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS
from faults.catalogue import CATALOGUE
from faults.declarations.action import Action
from faults.declarations.fault import NUMERIC, Param
from faults.declarations.operation import OPERATIONS
from playbooks.model.fault_words import value_text
from playbooks.model.playbook import Step, Trigger
from playbooks.model.wording import action_of
from playbooks.units import duration_text

Line = tuple[str, str]
"""A key and its value, as they stand in the file."""

_PLAIN: Final = re.compile(r'[A-Za-z0-9_./(][]A-Za-z0-9_./()+&=<>!%*"@, [-]*', re.ASCII)
_WITHIN: Final = re.compile(r"[A-Za-z0-9_./(][A-Za-z0-9_./()+&=<>!%*@ -]*", re.ASCII)
"""The same inside brackets, where a comma ends a value."""
_NOTHING: Final = ("null", "~")
SECOND: Final = 1_000_000


def instant(us: int) -> str:
    """A virtual time exactly, as people read it: ``12.345678s``, ``2m``, ``250ms``."""
    if us < SECOND or us % SECOND == 0:
        return duration_text(us) if us else "0s"
    whole, rest = divmod(us, SECOND)
    return f"{whole}.{rest:06d}".rstrip("0") + "s"


def scalar(text: str, *, inside: bool = False) -> str:
    """A text so that YAML reads it back; in quotes where it must. ``inside``: it stands in brackets."""
    plain = _WITHIN if inside else _PLAIN
    text = text.replace("${", "$${")
    good = plain.fullmatch(text) and not text.endswith(" ") and text.lower() not in _NOTHING
    return text if good else json.dumps(text, ensure_ascii=False)


def flow(value: Any) -> str:
    """A value on one line: lists and mappings in brackets."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(str(value), inside=True)


def trigger_lines(trigger: Trigger) -> list[Line]:
    """When a step acts; nothing for one that acts right after the step before it."""
    if trigger.kind == "at":
        exact = [("executed", str(trigger.executed))] if trigger.executed >= 0 else []
        return [("at", instant(trigger.time_us)), *exact]
    if trigger.kind == "after":
        return [("after", instant(trigger.time_us))] if trigger.time_us else []
    assert trigger.condition is not None  # only a `when` is left
    within = [("within", instant(trigger.within_us))] if trigger.within_us >= 0 else []
    return [("when", scalar(trigger.condition.text)), *within]


def action_lines(action: Action, *, whole: bool = False) -> list[Line]:
    """What an action does, its verb first; without ``whole``, parameters at their defaults are left out."""
    lines: list[Line] = [(action.verb, action.name)]
    if action.target and action.verb == "inject":
        lines.append(("target", scalar(action.target)))
    declared = CATALOGUE.get(action.name) if action.verb == "inject" else OPERATIONS.get(action.name)
    params = {param.name: param for param in declared.params} if declared else {}
    for name, value in action.params.items():
        param = params.get(name)
        if whole or param is None or value != param.default or type(value) is not type(param.default):
            lines.append((name, _value(param, value)))
    if action.for_us >= 0 and action.verb == "inject":
        lines.append(("for", instant(action.for_us)))
    if action.if_any:
        lines.append(("if_any", "true"))
    return lines


def step_lines(step: Step, trigger: Trigger | None = None) -> list[Line]:
    """A whole step; with ``trigger`` it acts by that one instead of its own."""
    if step.verb == "manual":
        return _by_hand(step)
    lines = trigger_lines(step.trigger if trigger is None else trigger)
    if step.verb in ("settle", "stop", "reseed"):
        lines.append((step.verb, step.name))
    else:
        lines += action_lines(action_of(step), whole=True)
    if step.refused:
        lines.append(("refused", step.refused))
    return lines + ([("note", scalar(step.note))] if step.note else [])


def block(lines: list[Line], indent: int, remark: str = "") -> list[str]:
    """Lines as an element of a list whose dash stands at a column; ``remark`` is a comment on its first line."""
    dash, rest = " " * indent + "- ", " " * (indent + 2)
    written = [f"{rest if number else dash}{key}: {value}".rstrip() for number, (key, value) in enumerate(lines)]
    if remark:
        written[0] += f"  # {remark}"
    return written


def _value(param: Param | None, value: Any) -> str:
    if param is not None and param.type in NUMERIC:
        return value_text(param.type, value)
    if param is not None and param.type.endswith(" config") and isinstance(value, tuple):
        return flow(dict(value))
    return flow(value) if not isinstance(value, str) else scalar(value)


def _by_hand(step: Step) -> list[Line]:
    params = flow(step.params) if step.params else ("" if not MANUAL_VERBS[step.name].params else "{}")
    lines: list[Line] = [("event", scalar(step.event))] if step.event else []
    lines.append((step.name, params))
    if step.refused:
        lines.append(("refused", step.refused))
    if step.then:
        lines.append(("then", flow(step.then)))
    return lines + ([("note", scalar(step.note))] if step.note else [])
