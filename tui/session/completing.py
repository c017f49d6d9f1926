"""What can be typed next: names of commands, faults and operations, their parameters, the cluster's own names."""

from dataclasses import dataclass
from typing import Final

from cluster_model.observation.views import ClusterView
from faults.aliases import FAULT_ALIASES, OPERATION_ALIASES, true_name
from faults.catalogue import CATALOGUE
from faults.declarations.fault import Fault, Param
from faults.declarations.operation import OPERATIONS, Operation
from playbooks.model.fault_words import allowed_text, default_text
from tui.keybindings.keymap import KEYS
from tui.session.typed_commands import COMMANDS, NAMES, true_verb

OF_PARTITIONS: Final = ("leader", "followers", "isr")
"""Selectors that are offered for every partition; the others can be typed all the same."""
PLAIN: Final = ("controller", "all", "clients", "producers", "consumers")


@dataclass(frozen=True, slots=True)
class Hints:
    """What the last word may become, and one line about what stands before it."""

    words: tuple[str, ...]
    about: str


def hints(text: str, view: ClusterView) -> Hints:
    """What can stand at the end of a line that is being typed."""
    typed = text.rpartition(";")[2].lstrip().removeprefix(":").lstrip()
    found = typed.split(" ")
    if len(found) == 1:
        known = [name for name in NAMES if name.startswith(true_verb(found[0])) and not _is_alias(name)]
        return Hints(tuple(known), _about(known[0]) if len(known) == 1 else "")
    verb, last, given = true_name(true_verb(found[0])), found[-1], found[1:-1]
    declared = CATALOGUE.get(verb) or OPERATIONS.get(verb)
    if "=" in last and declared is not None:
        name, _equals, value = last.partition("=")
        return _of_value(declared.param(name), name, value)
    offered = [each for each in _offered(verb, declared, given, view) if each.startswith(last)]
    return Hints(tuple(offered), _about(verb))


def completed(text: str, view: ClusterView) -> str:
    """The line with its last word as far as only one thing can be meant."""
    found = hints(text, view).words
    if not found:
        return text
    last = text.rpartition(" ")[2].rpartition(";")[2]
    common = _common(found)
    if len(common) < len(last) - last.startswith(":"):
        return text
    behind = "" if len(found) > 1 or common.endswith("=") else " "
    colon = ":" if last.startswith(":") else ""
    return f"{text[: len(text) - len(last)]}{colon}{common}{behind}"


def _common(found: tuple[str, ...]) -> str:
    """What all of them begin with."""
    first, last = min(found), max(found)
    at = next((at for at, each in enumerate(first) if at >= len(last) or each != last[at]), len(first))
    return first[:at]


def _is_alias(name: str) -> bool:
    return name in FAULT_ALIASES or name in OPERATION_ALIASES


def _about(name: str) -> str:
    if name in CATALOGUE:
        return CATALOGUE[name].summary
    if name in OPERATIONS:
        return OPERATIONS[name].summary
    told = {each.name: f"{each.takes} {each.words}".strip() for each in COMMANDS}
    told |= {key.id: key.words for key in KEYS}
    return "heal a fault by its number or name, or all" if name == "heal" else told.get(name, "")


def _of_value(param: Param | None, name: str, value: str) -> Hints:
    if param is None:
        return Hints((), f"no parameter {name}")
    choices = param.choices or (("true", "false") if param.type == "bool" else ())
    words = tuple(f"{name}={each}" for each in choices if each.startswith(value))
    allowed, default = allowed_text(param), default_text(param)
    about = [param.doc, *([f"{allowed}."] if allowed else []), *([f"{default} unless given."] if default else [])]
    return Hints(words, " ".join(about))


def _offered(verb: str, declared: Fault | Operation | None, given: list[str], view: ClusterView) -> list[str]:
    if verb == "heal":
        names = dict.fromkeys(each.name for each in view.faults)
        return [] if given else ["all", *(str(each.id) for each in view.faults), *names]
    if declared is None:
        return []
    named = [word.partition("=")[0] for word in given]
    params = [f"{each.name}=" for each in declared.params if each.name not in named]
    if isinstance(declared, Operation):
        return [*([] if given else _about_what(declared, view)), *params]
    if declared.lasting and "for" not in given:
        params.append("for")
    aimed = any("=" not in word for word in given)
    return [*([] if aimed else _targets(declared, view)), *params]


def _targets(fault: Fault, view: ClusterView) -> list[str]:
    brokers = [f"b{each.id}" for each in view.brokers]
    clients = [each.name for each in view.clients]
    plane = [f"c{each.node}" for each in view.controllers if each.node not in [broker.id for broker in view.brokers]]
    some = [f"{kind}({each.name})" for kind in OF_PARTITIONS for each in view.partitions]
    if fault.accepts in ("clients", "producers", "consumers"):
        return [*clients, *PLAIN[2:]]
    if fault.accepts in ("controllers", "plane"):
        return ["controller", "controllers", *plane]
    return [*brokers, *plane, *some, *PLAIN, *clients]


def _about_what(operation: Operation, view: ClusterView) -> list[str]:
    """What its first word may stand for."""
    words: list[str] = []
    partitions = [each.name for each in view.partitions]
    for param in operation.params:
        if param.type == "partition":
            words += partitions
        elif param.type == "topic":
            words += list(dict.fromkeys(each.rpartition("-")[0] for each in partitions))
        elif param.type == "group":
            words += [each.name for each in view.groups]
        elif param.type == "broker":
            words += [f"b{each.id}" for each in view.brokers]
    return list(dict.fromkeys(words))
