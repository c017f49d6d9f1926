"""Typed commands: ``crash b2 8s``, ``elect_leaders orders-0``, ``go 12.5s``, ``speed 10``; and their completion.

Faults, heals and operations are parsed as questions are (:mod:`playbooks.safety_check.question`), so they use the
terms of playbooks and give the same actions. Short forms are allowed as well: ``b2``, ``c1001`` and ``zk1`` for nodes,
a client's name for the client, a duration at the end, and no target for the one under the cursor.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from cluster_model.observation import ClusterView
from cluster_model.protocol.releases import RELEASE_LINES
from faults.catalogue import CATALOGUE, FAULT_ALIASES, OPERATION_ALIASES, canonical_name
from faults.declarations import OPERATIONS, Action, Fault, FaultError, Operation, Param
from playbooks.errors import PlaybookError, nearest, shown
from playbooks.model import action_of, allowed_text, default_text
from playbooks.parser.document import PlaybookNames
from playbooks.parser.steps import facts_in
from playbooks.safety_check import ASSIGNED, FAULTS, VERBS, pieces, read_question, words
from playbooks.timetravel.history_view import HistoryView
from playbooks.units import DURATION_PATTERN
from tui.keybindings.keymap import KEYS, MODES
from tui.terminal.format import InstantError, instant_us
from tui.terminal.frame_clock import SPEEDS

NODES: Final = {"b": "broker", "c": "controller", "zk": "zookeeper"}
_NODE: Final = re.compile(r"(b|c|zk)([0-9]{1,9})", re.ASCII)
_ENDING: Final = re.compile(DURATION_PATTERN, re.ASCII)


class TypedError(ValueError):
    """Invalid command; the message has what was found and what is allowed, on one line."""


@dataclass(frozen=True, slots=True)
class Command:
    """Command that is neither a fault, an operation nor a key."""

    name: str
    takes: str
    words: str


COMMANDS: Final = (
    Command("go", "TIME", "go to a time of the session, such as 12.5s or 1m"),
    Command("speed", "X", "set the speed in virtual seconds per second"),
    Command("play", "", "let time continue"),
)
VIEWS: Final = {
    **{mode.name: f"mode_{mode.name}" for mode in MODES if mode.name not in [key.id for key in KEYS]},
    **dict.fromkeys(("brokers", "partitions", "topics"), "mode_cluster"),
    **dict.fromkeys(("consumers", "groups", "members", "producers"), "mode_clients"),
    "sessions": "mode_playbooks",
    **dict.fromkeys(("q", "q!", "exit"), "quit"),
}
"""Name of a view, or a word of k9s and vi → id of the key that it presses."""
NAMES: Final = tuple(dict.fromkeys((*(each.name for each in COMMANDS), *VERBS, *(key.id for key in KEYS), *VIEWS)))
"""Everything that a command line can begin with."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Context of a command: names of the cluster, times of the session, and the target under the cursor."""

    facts: PlaybookNames
    clients: tuple[str, ...] = ()
    is_down: Callable[[str], bool] = field(default=lambda _target: False, compare=False)
    aimed: str = ""
    """Target of a fault that is typed without one."""
    first_us: int = 0
    present_us: int = 0


@dataclass(frozen=True, slots=True)
class ActionCommand:
    """Perform these actions now, in order."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class JumpCommand:
    """Typed command that goes to a time."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Set the speed in virtual seconds per second."""

    speed: float


@dataclass(frozen=True, slots=True)
class PlayCommand:
    """Typed command that lets time continue."""


@dataclass(frozen=True, slots=True)
class KeyCommand:
    """Press the key with that id."""

    id: str


@dataclass(frozen=True, slots=True)
class ShowCommand:
    """Show something by its name."""

    kind: Literal["topic", "partition", "broker", "client"]
    name: str


Typed = ActionCommand | JumpCommand | Speed | PlayCommand | KeyCommand | ShowCommand


def read_line(text: str, context: CommandContext) -> Typed:
    """Parse a command line.

    Raises:
        TypedError: it is no command.
    """
    line = text.strip().removeprefix(":").strip()
    name, _blank, argument = line.partition(" ")
    argument = argument.strip()
    if not name:
        raise TypedError("found nothing, expected a fault, an operation, heal, go, speed, play or the id of a key")
    if name in VIEWS:
        return _alone(name, argument, KeyCommand(VIEWS[name]))
    if not argument and name in _PRESSED:
        return KeyCommand(name)
    if not argument and (found := _named(name, context)) is not None:
        return found
    if name == "play":
        return _alone(name, argument, PlayCommand())
    if name == "go":
        try:
            return JumpCommand(instant_us(argument, context.first_us, context.present_us))
        except InstantError as error:
            raise TypedError(f"go: {error}") from None
    if name == "speed":
        return Speed(_speed(argument))
    if true_verb(name) not in VERBS:
        if name in _PRESSED:
            return _alone(name, argument, KeyCommand(name))
        known = (*NAMES, *(context.facts.topics or ()), *(context.facts.groups or ()))
        raise TypedError(f"found {shown(name)}, which is no command{nearest(name, known)}; see: floodmark faults")
    return ActionCommand(_actions(line, context))


_PRESSED: Final = tuple(key.id for key in KEYS)


def _named(word: str, context: CommandContext) -> ShowCommand | None:
    """Return the command that shows a topic, partition, broker, group or client with that name, None for others."""
    facts = context.facts
    topic, _hyphen, number = word.rpartition("-")
    short = _NODE.fullmatch(word)
    if word in (facts.topics or ()):
        return ShowCommand("topic", word)
    if number.isdecimal() and int(number) < ((facts.topics or {}).get(topic) or 0):
        return ShowCommand("partition", word)
    if short is not None and short[1] == "b" and int(short[2]) in (facts.brokers or ()):
        return ShowCommand("broker", short[2])
    return ShowCommand("client", word) if word in (*context.clients, *(facts.groups or ())) else None


def true_verb(word: str) -> str:
    """Return a verb as the catalogue writes it."""
    return word.replace("-", "_").rstrip(":")


def facts_now(facts: PlaybookNames, view: ClusterView) -> PlaybookNames:
    """Return the current names of a cluster, as topics change."""
    topics: dict[str, int | None] = {}
    for each in (*view.partitions, *view.internal):
        topic = each.name.rpartition("-")[0]
        topics[topic] = (topics.get(topic) or 0) + 1
    return replace(facts, topics={**(facts.topics or {}), **topics}, replicas={})


def _alone(name: str, argument: str, typed: Typed) -> Typed:
    if argument:
        raise TypedError(f"found {shown(argument)} after {name}, expected nothing")
    return typed


def _speed(text: str) -> float:
    allowed = f"expected a number from {SPEEDS[0]:g} to {SPEEDS[-1]:g}"
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", text.removeprefix("x").removeprefix("×"), re.ASCII):
        raise TypedError(f"speed: found {shown(text) if text else 'nothing'}, {allowed}")
    speed = float(text.removeprefix("x").removeprefix("×"))
    if not SPEEDS[0] <= speed <= SPEEDS[-1]:
        raise TypedError(f"speed: found {text}, {allowed}")
    return speed


def _actions(line: str, context: CommandContext) -> tuple[Action, ...]:
    try:
        spelled = "; ".join(_spelled(piece.text, context) for piece in pieces(line))
        steps = read_question(spelled, context.facts, context.is_down)
    except PlaybookError as error:
        problem = error.problems[0]
        message = f"{problem.key}: {problem.message}" if problem.key else problem.message
        raise TypedError(message) from None
    if any(step.trigger.kind != "after" or step.trigger.time_us for step in steps):
        raise TypedError("found after or when, expected actions without a condition")
    return tuple(action_of(step) for step in steps)


def _spelled(text: str, context: CommandContext) -> str:
    """Return one action with its short forms written out."""
    found = [each.text for each in words(pieces(text)[0], text)]
    if not found or true_verb(found[0]) in ("heal", "after", "when"):
        return text
    verb, other_words = found[0], [node(word, context) for word in found[1:]]
    if true_verb(verb) not in FAULTS:
        return " ".join([verb, *other_words])
    if len(other_words) > 1 and _ENDING.fullmatch(other_words[-1]) and other_words[-2] != "for":
        other_words.insert(len(other_words) - 1, "for")
    elif len(other_words) == 1 and _ENDING.fullmatch(other_words[0]):
        other_words.insert(0, "for")
    if not _aims(other_words) and not CATALOGUE[canonical_name(true_verb(verb))].target and context.aimed:
        other_words.insert(0, context.aimed)
    return " ".join([verb, *other_words])


def node(word: str, context: CommandContext) -> str:
    """Return a word with the short form of a node or a client written out."""
    short = _NODE.fullmatch(word)
    if short is not None:
        return f"{NODES[short[1]]}({int(short[2])})"
    return f"client({word})" if word in context.clients else word


def _aims(words: list[str]) -> bool:
    """Return whether any word is a target."""
    return any(
        not ASSIGNED.fullmatch(word) and word not in ("for", "if", "any", "on") and (not at or words[at - 1] != "for")
        for at, word in enumerate(words)
    )


# Completion: names of commands, faults and operations, their parameters, and names of the cluster.


OF_PARTITIONS: Final = ("leader", "followers", "isr")
"""Selectors offered for every partition; others can be typed as well."""
PLAIN: Final = ("controller", "all", "clients", "producers", "consumers")


@dataclass(frozen=True, slots=True)
class Hints:
    """Completions of the last word, and one line about the word before it."""

    words: tuple[str, ...]
    about: str


def hints(text: str, view: ClusterView) -> Hints:
    """Return the completions of a line."""
    typed = text.rpartition(";")[2].lstrip().removeprefix(":").lstrip()
    found = typed.split(" ")
    if len(found) == 1:
        known = [name for name in NAMES if name.startswith(true_verb(found[0])) and not _is_alias(name)]
        return Hints(tuple(known), _about(known[0]) if len(known) == 1 else "")
    verb, last, given = canonical_name(true_verb(found[0])), found[-1], found[1:-1]
    declared = CATALOGUE.get(verb) or OPERATIONS.get(verb)
    if "=" in last and declared is not None:
        name, _equals, value = last.partition("=")
        return _of_value(declared.param(name), name, value)
    offered = [each for each in _offered(verb, declared, given, view) if each.startswith(last)]
    return Hints(tuple(offered), _about(verb))


def completed(text: str, view: ClusterView) -> str:
    """Return the line with its last word completed as far as it is unambiguous."""
    matches = hints(text, view).words
    if not matches:
        return text
    last = text.rpartition(" ")[2].rpartition(";")[2]
    common = _common(matches)
    if len(common) < len(last) - last.startswith(":"):
        return text
    behind = "" if len(matches) > 1 or common.endswith("=") else " "
    colon = ":" if last.startswith(":") else ""
    return f"{text[: len(text) - len(last)]}{colon}{common}{behind}"


def _common(matches: tuple[str, ...]) -> str:
    """Return the common prefix."""
    first, last = min(matches), max(matches)
    at = next((at for at, each in enumerate(first) if at >= len(last) or each != last[at]), len(first))
    return first[:at]


def _is_alias(name: str) -> bool:
    return name in FAULT_ALIASES or name in OPERATION_ALIASES


def _about(name: str) -> str:
    if name in CATALOGUE:
        return CATALOGUE[name].summary
    if name in OPERATIONS:
        return OPERATIONS[name].summary
    about = {each.name: f"{each.takes} {each.words}".strip() for each in COMMANDS}
    about |= {key.id: key.description for key in KEYS}
    about |= {name: about[key] for name, key in VIEWS.items()}
    return "heal a fault by its number or name, or all" if name == "heal" else about.get(name, "")


_CHOICES: Final = {"bool": ("true", "false"), "release": RELEASE_LINES}


def _of_value(param: Param | None, name: str, value: str) -> Hints:
    if param is None:
        return Hints((), f"no parameter {name}")
    choices = param.choices or _CHOICES.get(param.type, ())
    words = tuple(f"{name}={each}" for each in choices if each.startswith(value))
    allowed, default = allowed_text(param), default_text(param)
    about = [param.doc, *([f"{allowed}."] if allowed else []), *([f"Default {default}."] if default else [])]
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
    if declared.is_lasting and "for" not in given:
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
    """Return the completions of the first word of an operation."""
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
        elif param.type == "release":
            words += RELEASE_LINES
    return list(dict.fromkeys(words))


# Names that a command line can use in a session at the time shown.


def place_in(session: HistoryView, view: ClusterView, *, aimed: str = "", ahead_us: int = 0) -> CommandContext:
    """Return the context of commands for ``view``; ``aimed`` is the target of faults typed without one.

    ``ahead_us`` is the virtual time beyond the present that ``go`` accepts.
    """

    def is_down(target: str) -> bool:
        """Return whether all nodes of a target are down; False for a target without nodes."""
        down = [each.id for each in view.brokers if each.state == "down"]
        down += [each.node for each in view.controllers if each.role == "down"]
        down += [each.node for each in view.clients if each.state == "down"]
        try:
            nodes = session.board.targets(target)
        except FaultError:
            return False
        return bool(nodes) and all(node in down for node in nodes)

    return CommandContext(
        facts_now(facts_in(session.cluster), view), tuple(each.name for each in view.clients), is_down, aimed,
        session.timeline.first_us, session.present_us + ahead_us,
    )  # fmt: skip
