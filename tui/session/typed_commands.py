"""Commands as they are typed: ``crash b2 8s``, ``elect_leaders orders-0``, ``go 12.5s``, ``speed 10``.

What breaks, heals or administers is read as a question is (:mod:`playbooks.safety_check.question`), so that it has the words
of a playbook and comes to the same actions. Beside those a few short forms are for fingers: ``b2``, ``c1001`` and
``zk1`` for nodes, a client's name for the client, a time at the end for how long, and no target for what the cursor is
on.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from cluster_model.observation.views import ClusterView
from faults.aliases import true_name
from faults.catalogue import CATALOGUE
from faults.declarations.action import Action
from playbooks.errors import PlaybookError, nearest, shown
from playbooks.model.wording import action_of
from playbooks.parser.document.context import Facts
from playbooks.safety_check.grammar import ASSIGNED, pieces, words
from playbooks.safety_check.question import FAULTS, VERBS, read_question
from playbooks.units import DURATION_PATTERN
from tui.keybindings.keymap import KEYS
from tui.terminal.instant import InstantError, instant_us
from tui.terminal.speeds import SPEEDS

NODES: Final = {"b": "broker", "c": "controller", "zk": "zookeeper"}
_NODE: Final = re.compile(r"(b|c|zk)([0-9]{1,9})", re.ASCII)
_ENDING: Final = re.compile(DURATION_PATTERN, re.ASCII)


class TypedError(ValueError):
    """That is no command; the message says on one line what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is no fault, no operation and no key."""

    name: str
    takes: str
    words: str


COMMANDS: Final = (
    Command("go", "TIME", "to a time of the session, such as 12.5s or 1m"),
    Command("speed", "X", "virtual seconds per second"),
    Command("play", "", "let time go on"),
)
NAMES: Final = tuple(dict.fromkeys((*(each.name for each in COMMANDS), *VERBS, *(key.id for key in KEYS))))
"""Everything that a line can begin with."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a line can speak of: the cluster's names, the times of the session, and what the cursor is on."""

    facts: Facts
    clients: tuple[str, ...] = ()
    is_down: Callable[[str], bool] = field(default=lambda _target: False, compare=False)
    aimed: str = ""
    """A target for a fault that is typed without one."""
    first_us: int = 0
    present_us: int = 0


@dataclass(frozen=True, slots=True)
class Act:
    """Do these, now, one after the other."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Go:
    """Show that instant."""

    at_us: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Run at that many virtual seconds per second."""

    speed: float


@dataclass(frozen=True, slots=True)
class Play:
    """Let time go on."""


@dataclass(frozen=True, slots=True)
class Press:
    """What the key of that id does."""

    id: str


Typed = Act | Go | Speed | Play | Press


def read_line(text: str, place: Place) -> Typed:
    """What a line stands for.

    Raises:
        TypedError: nothing.
    """
    line = text.strip().removeprefix(":").strip()
    name, _blank, rest = line.partition(" ")
    rest = rest.strip()
    if not name:
        raise TypedError("found nothing, allowed is a fault, an operation, heal, go, speed or what a key does")
    if not rest and name in _PRESSED:
        return Press(name)
    if name == "play":
        return _alone(name, rest, Play())
    if name == "go":
        try:
            return Go(instant_us(rest, place.first_us, place.present_us))
        except InstantError as error:
            raise TypedError(f"go: {error}") from None
    if name == "speed":
        return Speed(_speed(rest))
    if true_verb(name) not in VERBS:
        if name in _PRESSED:
            return _alone(name, rest, Press(name))
        raise TypedError(f"found {shown(name)}, which is no command{nearest(name, NAMES)}; see: floodmark faults")
    return Act(_actions(line, place))


_PRESSED: Final = tuple(key.id for key in KEYS)


def true_verb(word: str) -> str:
    """A verb as the catalogue writes it."""
    return word.replace("-", "_").rstrip(":")


def facts_now(facts: Facts, view: ClusterView) -> Facts:
    """The names of a cluster as it is now: topics come and go."""
    topics: dict[str, int | None] = {}
    for each in (*view.partitions, *view.internal):
        topic = each.name.rpartition("-")[0]
        topics[topic] = (topics.get(topic) or 0) + 1
    return replace(facts, topics={**(facts.topics or {}), **topics}, replicas={})


def _alone(name: str, rest: str, found: Typed) -> Typed:
    if rest:
        raise TypedError(f"found {shown(rest)} behind {name}, allowed is nothing")
    return found


def _speed(text: str) -> float:
    allowed = f"allowed is a number from {SPEEDS[0]:g} to {SPEEDS[-1]:g}"
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", text.removeprefix("x").removeprefix("×"), re.ASCII):
        raise TypedError(f"speed: found {shown(text) if text else 'nothing'}, {allowed}")
    speed = float(text.removeprefix("x").removeprefix("×"))
    if not SPEEDS[0] <= speed <= SPEEDS[-1]:
        raise TypedError(f"speed: found {text}, {allowed}")
    return speed


def _actions(line: str, place: Place) -> tuple[Action, ...]:
    try:
        spelled = "; ".join(_spelled(piece.text, place) for piece in pieces(line))
        steps = read_question(spelled, place.facts, place.is_down)
    except PlaybookError as error:
        problem = error.problems[0]
        told = f"{problem.key}: {problem.message}" if problem.key else problem.message
        raise TypedError(told) from None
    if any(step.trigger.kind != "after" or step.trigger.time_us for step in steps):
        raise TypedError("found after or when, allowed is what is done at once")
    return tuple(action_of(step) for step in steps)


def _spelled(text: str, place: Place) -> str:
    """One action with its short forms written out."""
    found = [each.text for each in words(pieces(text)[0], text)]
    if not found or true_verb(found[0]) in ("heal", "after", "when"):
        return text
    verb, rest = found[0], [node(word, place) for word in found[1:]]
    if true_verb(verb) not in FAULTS:
        return " ".join([verb, *rest])
    if len(rest) > 1 and _ENDING.fullmatch(rest[-1]) and rest[-2] != "for":
        rest.insert(len(rest) - 1, "for")
    elif len(rest) == 1 and _ENDING.fullmatch(rest[0]):
        rest.insert(0, "for")
    if not _aims(rest) and not CATALOGUE[true_name(true_verb(verb))].target and place.aimed:
        rest.insert(0, place.aimed)
    return " ".join([verb, *rest])


def node(word: str, place: Place) -> str:
    """A word with the short form of a node or a client written out."""
    short = _NODE.fullmatch(word)
    if short is not None:
        return f"{NODES[short[1]]}({int(short[2])})"
    return f"client({word})" if word in place.clients else word


def _aims(rest: list[str]) -> bool:
    """Whether any word is a target."""
    return any(
        not ASSIGNED.fullmatch(word) and word not in ("for", "if", "any", "on") and (not at or rest[at - 1] != "for")
        for at, word in enumerate(rest)
    )
