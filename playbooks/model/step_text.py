"""Steps, faults and triggers as text: for messages and screens, and as YAML of a playbook."""

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

# Parameters and targets of a declaration as text of a playbook: values with their units, examples.


_TEXTS: Final[Mapping[str, Callable[[int], str]]] = {
    "duration": duration_text,
    "percent": percent,
    "size": size_text,
    "throughput": throughput_text,
}
"""How the model's whole numbers are written."""

_WITHOUT_END: Final = 1 << 40
"""A limit from here on is there for safety, not to be read."""

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
"""A target that makes sense in documentation, by whom a fault is for."""

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
"""A value that makes sense in documentation, for a parameter that must be given."""


def value_text(type_: str, value: Any) -> str:
    """A value in model units as a playbook has it: ``200ms``, ``5%``, ``64KiB``, ``3Mbit/s``, ``true``."""
    if type_ in _TEXTS and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return _TEXTS[type_](value) if value or type_ != "duration" else "0s"
    return written(value)


def default_text(param: Param) -> str:
    """Its default, empty where it must be given or nothing stands for nothing."""
    value = param.default
    if value is None or value in ("", ()) or (value == -1 and param.low >= 0):
        return ""
    return value_text(param.type, value)


def allowed_text(param: Param) -> str:
    """What it may be: its choices, or its range with units; empty where the type says it all."""
    if param.choices:
        return ", ".join(param.choices)
    if param.type not in NUMERIC:
        return ""
    low = value_text(param.type, param.low)
    return f"{low} or more" if param.high >= _WITHOUT_END else f"{low} to {value_text(param.type, param.high)}"


def described(param: Param) -> str:
    """What it means, its range and its default on one line, for an editor to show."""
    default, allowed = default_text(param), allowed_text(param)
    more = [f"{allowed[0].upper()}{allowed[1:]}."] if allowed and param.type in NUMERIC else []
    more += [f"{default} unless given."] if default else []
    return " ".join([param.doc, *more])


def example_target(fault: Fault) -> str:
    """Whom its example strikes."""
    return fault.example or fault.target or _TARGETS[fault.accepts]


def example_value(param: Param) -> str:
    """A value for an example: the default where there is one that says something."""
    if param.default not in (None, "", -1, 0, False, ()):
        return value_text(param.type, param.default)
    if param.choices:
        return param.choices[0]
    value = _VALUES.get(param.type, "")
    if param.type in NUMERIC and isinstance(value, int):
        value = min(max(value, param.low), param.high)
    return value_text(param.type, value)


def example_step(fault: Fault) -> str:
    """A step of a playbook that injects it, in YAML: what must be given, and what its defaults say with their units."""
    lines = ["at: 10s", f"inject: {fault.name}"]
    if fault.example or not fault.target:
        lines.append(f"target: {example_target(fault)}")
    if fault.lasting:
        lines.append(f"for: {duration_text(fault.usual_for_us if fault.usual_for_us > 0 else 30 * SECOND_US)}")
    lines += [f"{param.name}: {example_value(param)}" for param in fault.params if _is_told(param)]
    return "- " + "\n  ".join(lines) + "\n"


def _is_told(param: Param) -> bool:
    return param.default is None or (param.type in NUMERIC and param.default not in (0, -1))


# Steps and actions in words: for the trace, the screen and messages.


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


# A playbook in words: its steps, each with when it acts.


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


# What is expected of a fault, a line for each kind of thing that it would hit.


DOWN: Final = "brokers down"
"""What the line of brokers that are lost is about."""

MOST: Final = 6
"""Names told one by one; the rest is counted."""


def expected_lines(expected: ExpectedImpact, most: int = MOST) -> list[tuple[str, str]]:
    """What is hit and its names, such as ``another leader`` and ``orders-0, orders-3``; nothing for what is not."""
    lines = [
        (DOWN, _named([f"broker {each}" for each in expected.down], most)),
        ("another leader", _partitions(expected.leaders_moved, most)),
        ("no leader", _partitions(expected.offline, most)),
        ("smaller ISR", _partitions(expected.shrunk, most)),
        ("under min ISR", _partitions(expected.under_min_isr, most)),
        ("clients hit", _named(expected.clients, most)),
        ("coordinators", _named([*[f"of {group}" for group in expected.groups], *_of(expected.transactional)], most)),
        ("control plane", _control(expected)),
    ]
    return [(label, text) for label, text in lines if text]


def expected_json(expected: ExpectedImpact) -> dict[str, Any]:
    """All of it as plain values."""
    return {
        "sentence": expected.sentence,
        "brokers_down": list(expected.down),
        "leaders_moved": list(expected.leaders_moved),
        "offline": list(expected.offline),
        "shrunk": list(expected.shrunk),
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
        return "no majority: nothing can be decided"
    return "another controller" if expected.controller_moves else ""


def _partitions(names: Sequence[str], most: int) -> str:
    """Kafka's own by their topic and number, for they are many and nobody knows them by heart."""
    own = [name for name in names if name.rpartition("-")[0] not in INTERNAL]
    internal = Counter(name.rpartition("-")[0] for name in names if name.rpartition("-")[0] in INTERNAL)
    return _named(
        [*own[:most], *_rest(own, most), *[f"{count} of {topic}" for topic, count in internal.items()]], 1 << 30
    )


def _rest(names: Sequence[str], most: int) -> list[str]:
    return [f"{len(names) - most} more"] if len(names) > most else []


def _named(names: Sequence[str], most: int) -> str:
    return ", ".join([*names[:most], *_rest(names, most)])
