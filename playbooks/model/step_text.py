"""Text for steps, faults and triggers: for messages and the TUI, and as YAML of a playbook."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.spec import INTERNAL
from cluster_model.util.quantities import percent
from faults.catalogue import CATALOGUE
from faults.declarations import NUMERIC, OPERATIONS, Action, ExpectedImpact, Fault, Param, Value, Verb, written
from faults.declarations import SECOND as SECOND_US
from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.units import duration_text, size_text, throughput_text

# Parameters and targets of a declaration as text of a playbook: values with their units, and examples.


_TEXTS: Final[Mapping[str, Callable[[int], str]]] = {
    "duration": duration_text,
    "percent": percent,
    "size": size_text,
    "throughput": throughput_text,
}
"""Type → formatter of the model's whole numbers."""

_WITHOUT_END: Final = 1 << 40
"""Limits from here on are technical, and are not shown."""

_TARGETS: Final[Mapping[str, str]] = {
    "brokers": "leader(orders-0)",
    "processes": "leader(orders-0)",
    "nodes": "leader(orders-0)",
    "clients": "client(checkout)",
    "producers": "client(checkout)",
    "consumers": "client(billing/0)",
    "controllers": "controller",
    "plane": "controllers",
    "hosts": "leader(orders-0)",
}
"""An example target for documentation, by the kind of nodes that a fault accepts."""

_VALUES: Final[Mapping[str, Value]] = {
    "duration": 5 * SECOND_US,
    "percent": 50_000,
    "size": 64 * 1024,
    "throughput": 375_000,
    "int": 3,
    "bool": True,
    "target": "followers(orders-0)",
    "partition": "orders-0",
    "topic": "orders",
    "group": "billing",
}
"""An example value for documentation, for a required parameter."""


def value_text(type_: str, value: Any) -> str:
    """Return a value in model units as in a playbook: ``200ms``, ``5%``, ``64KiB``, ``3Mbit/s``, ``true``."""
    if type_ in _TEXTS and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return _TEXTS[type_](value) if value or type_ != "duration" else "0s"
    return written(value)


def default_text(param: Param) -> str:
    """Return the default as text; empty if the parameter is required or its default means none."""
    value = param.default
    if value is None or value in ("", ()) or (value == -1 and param.low >= 0):
        return ""
    return value_text(param.type, value)


def allowed_text(param: Param) -> str:
    """Return the allowed values: choices, or a range with units; empty if the type says enough."""
    if param.choices:
        return ", ".join(param.choices)
    if param.type not in NUMERIC:
        return ""
    low = value_text(param.type, param.low)
    return f"{low} or more" if param.high >= _WITHOUT_END else f"{low} to {value_text(param.type, param.high)}"


def described(param: Param) -> str:
    """Return description, range and default on one line, for an editor."""
    default, allowed = default_text(param), allowed_text(param)
    more = [f"{allowed[0].upper()}{allowed[1:]}."] if allowed and param.type in NUMERIC else []
    more += [f"Default {default}."] if default else []
    return " ".join([param.doc, *more])


def example_target(fault: Fault) -> str:
    """Return an example target."""
    return fault.example or fault.target or _TARGETS[fault.accepts]


def example_value(param: Param) -> str:
    """Return an example value: the default if it is meaningful."""
    if param.default not in (None, "", -1, 0, False, ()):
        return value_text(param.type, param.default)
    if param.choices:
        return param.choices[0]
    value = _VALUES.get(param.type, "")
    if param.type in NUMERIC and isinstance(value, int):
        value = min(max(value, param.low), param.high)
    return value_text(param.type, value)


def example_step(fault: Fault) -> str:
    """Return an example step in YAML that injects a fault, with the required parameters and meaningful defaults."""
    lines = ["at: 10s", f"inject: {fault.name}"]
    if fault.example or not fault.target:
        lines.append(f"target: {example_target(fault)}")
    if fault.is_lasting:
        lines.append(
            f"for: {duration_text(fault.default_duration_us if fault.default_duration_us > 0 else 30 * SECOND_US)}"
        )
    lines += [f"{param.name}: {example_value(param)}" for param in fault.params if _is_shown(param)]
    return "- " + "\n  ".join(lines) + "\n"


def _is_shown(param: Param) -> bool:
    return param.default is None or (param.type in NUMERIC and param.default not in (0, -1))


# Steps and actions as text: for the trace, the TUI and messages.


def action_of(step: Step) -> Action:
    """Return the action of a timed step."""
    if step.verb in ("manual", "settle", "stop", "reseed", "round"):
        raise ValueError(f"{step.verb} {step.name} is not an action")
    return Action(cast("Verb", step.verb), step.name, step.target, dict(step.params), step.for_us, step.if_any)


def action_text(action: Action) -> str:
    """Return an action as one short line: ``inject gc_pause on leader(orders-0) for 15s``."""
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


def step_text(step: Step) -> str:
    """Return a step as one short line, without its trigger and its note."""
    if step.verb == "manual":
        return " ".join([step.name, _parameters(step.params, {})]).strip()
    if step.verb in ("settle", "stop", "reseed", "round"):
        return f"{step.verb} {step.name}"
    return action_text(action_of(step))


def step_name(step: Step) -> str:
    """Name a step: ``step 1`` is the first, ``step 3.1 round 2`` the first of a group in its second round."""
    return f"step {step.label or step.index + 1}"


def step_of(step: Step, steps: tuple[Step, ...]) -> str:
    """Return the position of a step: ``step 2 of 5``, or ``step 3.1 round 2 (8 of 12)`` if there are groups."""
    if not any(each.label for each in steps) and steps[-1].index == len(steps) - 1:
        return f"{step_name(step)} of {len(steps)}"
    return f"{step_name(step)} ({steps.index(step) + 1} of {len(steps)})"


def _params(name: str) -> dict[str, Param]:
    declared = CATALOGUE.get(name) or OPERATIONS.get(name)
    return {param.name: param for param in declared.params} if declared else {}


def _parameters(params: dict[str, Any], declared: dict[str, Param]) -> str:
    return " ".join(
        f"{name}={value_text(declared[name].type, value) if name in declared else written(value)}"
        for name, value in params.items()
    )


Line = tuple[str, str]
"""A key and its value as text of the file."""

_PLAIN: Final = re.compile(r'[A-Za-z0-9_./(][]A-Za-z0-9_./()+&=<>!%*"@, [-]*', re.ASCII)
_WITHIN: Final = re.compile(r"[A-Za-z0-9_./(][A-Za-z0-9_./()+&=<>!%*@ -]*", re.ASCII)
"""The same inside brackets, where a comma ends a value."""
_NOTHING: Final = ("null", "~")
SECOND: Final = 1_000_000


def exact_time_text(us: int) -> str:
    """Return an exact virtual time for people: ``12.345678s``, ``2m``, ``250ms``."""
    if us < SECOND or us % SECOND == 0:
        return duration_text(us) if us else "0s"
    whole, rest = divmod(us, SECOND)
    return f"{whole}.{rest:06d}".rstrip("0") + "s"


def scalar(text: str, *, inside: bool = False) -> str:
    """Return a YAML scalar that parses back to the text, in quotes if needed. ``inside``: it is in brackets."""
    plain = _WITHIN if inside else _PLAIN
    text = text.replace("${", "$${")
    good = plain.fullmatch(text) and not text.endswith(" ") and text.lower() not in _NOTHING
    return text if good else json.dumps(text, ensure_ascii=False)


def flow(value: Any) -> str:
    """Return a value on one line: lists and mappings in brackets."""
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
    """Return the trigger of a step; empty for one that acts right after the step before it."""
    if trigger.kind == "at":
        exact = [("executed", str(trigger.executed))] if trigger.executed >= 0 else []
        return [("at", exact_time_text(trigger.time_us)), *exact]
    if trigger.kind == "after":
        return [("after", exact_time_text(trigger.time_us))] if trigger.time_us else []
    assert trigger.condition is not None  # only a `when` is left
    within = [("within", exact_time_text(trigger.within_us))] if trigger.within_us >= 0 else []
    return [("when", scalar(trigger.condition.text)), *within]


def action_lines(action: Action, *, with_defaults: bool = False) -> list[Line]:
    """Return the keys of an action, its verb first; parameters at their defaults only if ``with_defaults``."""
    lines: list[Line] = [(action.verb, action.name)]
    if action.target and action.verb == "inject":
        lines.append(("target", scalar(action.target)))
    declared = CATALOGUE.get(action.name) if action.verb == "inject" else OPERATIONS.get(action.name)
    for name, value in action.params.items():
        param = declared.param(name) if declared else None
        if with_defaults or param is None or value != param.default or type(value) is not type(param.default):
            lines.append((name, _value(param, value)))
    if action.for_us >= 0 and action.verb == "inject":
        lines.append(("for", exact_time_text(action.for_us)))
    if action.if_any:
        lines.append(("if_any", "true"))
    return lines


def step_lines(step: Step, trigger: Trigger | None = None) -> list[Line]:
    """Return all keys of a step; ``trigger`` replaces its own trigger."""
    if step.verb == "manual":
        return _by_hand(step)
    lines = trigger_lines(step.trigger if trigger is None else trigger)
    if step.verb in ("settle", "stop", "reseed"):
        lines.append((step.verb, step.name))
    else:
        lines += action_lines(action_of(step), with_defaults=True)
    if step.refused:
        lines.append(("refused", step.refused))
    return lines + ([("note", scalar(step.note))] if step.note else [])


def block(lines: list[Line], indent: int, remark: str = "") -> list[str]:
    """Format lines as a list element whose dash is at a column; ``remark`` is a comment on its first line."""
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


# The timeline of a playbook: its steps, each with its trigger.


def trigger_text(trigger: Trigger) -> str:
    """Return a trigger as text: ``at 60s``, ``10s later``, ``then``, ``when isr(orders-0) == [1], within 20s``."""
    if trigger.kind == "at":
        of_round = " of the round" if trigger.since_round else ""
        return f"at {duration_text(trigger.time_us)}{of_round}"
    if trigger.kind == "after":
        return f"{duration_text(trigger.time_us)} later" if trigger.time_us else "then"
    waiting = f", within {duration_text(trigger.within_us)}" if trigger.within_us >= 0 else ""
    return f"when {trigger.condition.text if trigger.condition else ''}{waiting}"


def timeline(playbook: Playbook) -> list[tuple[str, str]]:
    """Return every step as (when, what), in order, and what follows the last one.

    With manual stepping ``when`` is the step's number. A note follows its step with an empty ``when``; the event of a
    trace precedes it.
    """
    manual = playbook.spec.manual
    lines: list[tuple[str, str]] = []
    for step in playbook.steps:
        if step.event:
            lines.append(("", f"{step.event}:"))
        lines.append((step.label or f"{step.index + 1}" if manual else trigger_text(step.trigger), _what(step)))
        if step.note:
            lines.append(("", step.note))
    if not manual and playbook.settle_us:
        lines.append((f"{duration_text(playbook.settle_us)} of quiet time", _settling(playbook)))
    return lines


def _what(step: Step) -> str:
    """Return a step with the response that it expects."""
    words = step_text(step)
    if not step.refused:
        return words
    answers = {"never": "expected to succeed", "any": "expected to fail"}
    return f"{words}, {answers.get(step.refused, f'expected error {step.refused}')}"


def _settling(playbook: Playbook) -> str:
    if playbook.load_alone:
        return "first the producers write for this time; then they stop, and the expectations are evaluated"
    return "producers stop, faults heal, then the expectations are evaluated"


# Expected impact of a fault, a line for each kind of node that it affects.


DOWN: Final = "brokers down"
"""Label of the line with the brokers that go down."""

MOST: Final = 6
"""Maximum number of names that are listed; the others are counted."""


def expected_lines(expected: ExpectedImpact, limit: int = MOST) -> list[tuple[str, str]]:
    """Return label and names, such as ``leader change`` and ``orders-0, orders-3``; unaffected kinds are left out."""
    lines = [
        (DOWN, _named([f"broker {each}" for each in expected.down], limit)),
        ("leader change", _partitions(expected.leaders_moved, limit)),
        ("no leader", _partitions(expected.offline, limit)),
        ("ISR shrinks", _partitions(expected.shrunk_isr, limit)),
        ("under min ISR", _partitions(expected.under_min_isr, limit)),
        ("clients affected", _named(expected.clients, limit)),
        ("coordinators", _named([*[f"of {group}" for group in expected.groups], *_of(expected.transactional)], limit)),
        ("control plane", _control(expected)),
    ]
    return [(label, text) for label, text in lines if text]


def expected_json(expected: ExpectedImpact) -> dict[str, Any]:
    """Return the impact as plain values."""
    return {
        "sentence": expected.sentence,
        "brokers_down": list(expected.down),
        "leaders_moved": list(expected.leaders_moved),
        "offline": list(expected.offline),
        "shrunk": list(expected.shrunk_isr),
        "under_min_isr": list(expected.under_min_isr),
        "clients": list(expected.clients),
        "groups": list(expected.groups),
        "transactional": list(expected.transactional),
        "controller_moves": expected.controller_moves,
        "quorum_lost": expected.quorum_lost,
    }


def _of(transactional: Sequence[str]) -> list[str]:
    return [f"of the transactions of {name}" for name in transactional]


def _control(expected: ExpectedImpact) -> str:
    if expected.quorum_lost:
        return "no majority: no controller decisions"
    return "new controller" if expected.controller_moves else ""


def _partitions(names: Sequence[str], limit: int) -> str:
    """Return partitions by name; internal ones, which are many, counted by topic."""
    own = [name for name in names if name.rpartition("-")[0] not in INTERNAL]
    internal = Counter(name.rpartition("-")[0] for name in names if name.rpartition("-")[0] in INTERNAL)
    return _named(
        [*own[:limit], *_and_more(own, limit), *[f"{count} of {topic}" for topic, count in internal.items()]], 1 << 30
    )


def _and_more(names: Sequence[str], limit: int) -> list[str]:
    return [f"{len(names) - limit} more"] if len(names) > limit else []


def _named(names: Sequence[str], limit: int) -> str:
    return ", ".join([*names[:limit], *_and_more(names, limit)])
