"""What a declaration says of parameters and targets, in a playbook's own words: values with their units, examples."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from faults.declarations.action import Value
from faults.declarations.fault import NUMERIC, SECOND, Fault, Param
from faults.declarations.parameters import written
from faults.declarations.spelling import percent
from playbooks.units import duration_text, size_text, throughput_text

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
    "duration": 5 * SECOND,
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
        lines.append(f"for: {duration_text(fault.usual_for_us if fault.usual_for_us > 0 else 30 * SECOND)}")
    lines += [f"{param.name}: {example_value(param)}" for param in fault.params if _is_told(param)]
    return "- " + "\n  ".join(lines) + "\n"


def _is_told(param: Param) -> bool:
    return param.default is None or (param.type in NUMERIC and param.default not in (0, -1))
