"""Validation of a fault's or an operation's parameters against its declaration, and their defaults."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from cluster_model.protocol.config_defs import Scope, check
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import RELEASES, unknown_hint
from faults.declarations.fault import NUMERIC, Action, Fault, FaultError, Param
from faults.declarations.operation import Operation
from faults.declarations.targets import parse

LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "scopes": (r"[A-Za-z0-9._-]{1,249}(?::[0-9]{1,9}(?:,[0-9]{1,9})*)?", "orders:0,2"),
    "offset lines": (r"[A-Za-z0-9._-]{1,249},[0-9]{1,9},[0-9]{1,18}", "orders,0,120"),
}
"""Types whose values are lists of strings: the pattern of each string, and an example."""


def with_defaults(fault: Fault, action: Action) -> dict[str, Any]:
    """Return all parameters of a fault, with the default for each one that is not given.

    Raises:
        FaultError: A parameter is missing, unknown or invalid.
    """
    return _filled(fault, action, ())


def _filled(declared: Fault | Operation, action: Action, brokers: Collection[int]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in action.params.items():
        param = declared.param(name)
        if param is None:
            known = ", ".join(param.name for param in declared.params) or "none"
            raise FaultError(f"{declared.name} has no parameter {name!r}; it has {known}", code="no_parameter")
        given[param.name] = value
    filled: dict[str, Any] = {}
    for param in declared.params:
        value = with_tuples(given.get(param.name, param.default))
        if value is None:
            raise FaultError(f"{declared.name} needs {param.name}: {param.doc}", code="missing_parameter")
        if value != param.default or type(value) is not type(param.default):
            wrong = _expected_instead(param, value, brokers)
            if wrong:
                raise FaultError(f"{declared.name}: {param.name} {wrong}, found {value!r}", code="wrong_value")
        filled[param.name] = value
    return filled


def details(fault: Fault, params: Mapping[str, Any], meant: Mapping[str, str]) -> str:
    """Return a fault's parameters as recorded in its event: ``latency=200000 to=leader(orders-0)->broker1``.

    Values contain no blanks. ``meant`` maps the text of a selector to the names of the nodes it resolved to; they are
    added if the selector may resolve to other nodes later.
    """
    shown = {name: str(value) for name, value in params.items() if value not in ("", -1) and value is not False}
    for name, text in shown.items():
        param = fault.param(name)
        if param is not None and param.type == "target" and text in meant and not parse(text).fixed:
            shown[name] = f"{text}->{meant[text]}"
    return " ".join(f"{name}={value.replace(' ', '')}" for name, value in shown.items())


def parameters_of(operation: Operation, action: Action, brokers: Collection[int]) -> dict[str, Any]:
    """Return all parameters of an operation; ``brokers`` are the ids of the cluster's brokers.

    Raises:
        FaultError: A parameter is missing, unknown or invalid.
    """
    values = _filled(operation, action, brokers)
    given = [param.name for param in operation.params if param.name in operation.one_of and _given(param, values)]
    if operation.one_of and len(given) != 1:
        raise FaultError(
            f"{operation.name} needs one of {', '.join(operation.one_of)}, found {', '.join(given) or 'none'}",
            code="choose_one",
        )
    return values


def _given(param: Param, values: Mapping[str, Any]) -> bool:
    """Return whether a parameter differs from its default."""
    return bool(values[param.name] != param.default)


def with_tuples(value: Any) -> Any:
    """Return the value with tuples instead of lists, as a recording contains it."""
    return tuple([with_tuples(each) for each in value]) if isinstance(value, (list, tuple)) else value


def _expected_instead(param: Param, value: Any, brokers: Collection[int]) -> str:
    """Return what the parameter takes instead of this value; empty if the value is valid."""
    if param.type in NUMERIC:
        right = _is_whole_number(value) and param.low <= value <= param.high
        return "" if right else f"takes {param.low} to {param.high}"
    if param.type == "bool":
        return "" if isinstance(value, bool) else "takes true or false"
    if param.type == "choice":
        return "" if value in param.choices else f"takes {', '.join(param.choices)}"
    if param.type == "broker":
        return "" if _is_whole_number(value) and value in brokers else f"takes one of {list(brokers)}"
    if param.type == "brokers":
        return _wrong_brokers(value, brokers)
    if param.type == "placement":
        if not isinstance(value, tuple):
            return "takes lists of brokers"
        return next((wrong for row in value if (wrong := _wrong_brokers(row, brokers))), "")
    if param.type in ("topic config", "broker config"):
        return _wrong_configs(value, "topic" if param.type == "topic config" else "broker")
    if param.type in ("topic keys", "broker keys"):
        good = isinstance(value, tuple) and all(isinstance(key, str) for key in value)
        return "" if good else "takes a list of configuration names"
    if param.type in LISTS:
        pattern, example = LISTS[param.type]
        texts = isinstance(value, tuple) and value and all(isinstance(each, str) for each in value)
        right = texts and all(re.fullmatch(pattern, each, re.ASCII) for each in value)
        return "" if right else f"takes a list such as [{example!r}]"
    if param.type == "release":
        return "" if value in RELEASES else f"takes a Kafka release such as 4.1 or 3.9.2{unknown_hint(str(value))}"
    return "" if isinstance(value, str) and value else "takes a name"


def _is_whole_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong_brokers(value: Any, brokers: Collection[int]) -> str:
    if not isinstance(value, tuple) or not value or not all(_is_whole_number(each) for each in value):
        return "takes a list of brokers"
    if len(dict.fromkeys(value)) < len(value):
        return "takes each broker once"
    return "" if all(each in brokers for each in value) else f"takes brokers of {list(brokers)}"


def _wrong_configs(value: Any, scope: Scope) -> str:
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return "takes configurations with their values"
    for key, each in value:
        try:
            check(scope, key, each)
        except ModelError as error:
            return f"takes configurations that Kafka accepts: {error}"
    return ""


def params_text(params: Mapping[str, Any], operation: Operation) -> str:
    """Return an operation's parameters as text, without those at their defaults."""
    texts = []
    for param in operation.params:
        value = params[param.name]
        if value != param.default:
            texts.append(f"{param.name}={written(value)}")
    return " ".join(texts)


def written(value: Any) -> str:
    """Return a value as text on one line: ``true``, ``[1,2]``, ``{retention.ms: 5}``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) for each in value):
            return "{" + ", ".join(f"{key}: {written(each)}" for key, each in value) + "}"
        return "[" + ",".join(written(each) for each in value) + "]"
    return str(value)
