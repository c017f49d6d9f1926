"""Groups of steps: how often one is gone through, how far apart, and what its steps may name in each round."""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS
from playbooks.errors import listed, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, DURATION, Fields, Integer, Key, Kind, Record, Schema, Text
from playbooks.parser.document.given import GIVEN
from playbooks.parser.document.variables import NAME_ALLOWED, NAME_PATTERN, ROUND
from playbooks.parser.document.versions import KAFKA
from playbooks.parser.document.yaml_source import Mapping, Node, Origin, Scalar, Sequence
from playbooks.parser.steps.timed_steps import MAX_STEPS, NOTE, TIMED_VERBS, TRIGGERS

MAX_GROUPS: Final = 3
"""Groups within each other."""


@dataclass(frozen=True, slots=True)
class Filled(Kind):
    """A list with something in it, which is read later."""

    of: str
    items: Schema

    @property
    def allowed(self) -> str:
        """In words."""
        return f"a list with at least one {self.of}"

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Sequence) or not node.items:
            notes.refuse(node, key, self.allowed)
            return BAD
        return node

    def _schema(self) -> Schema:
        return {"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": self.items}


_OWN: Final[dict[str, Key]] = {
    "repeat": Key(Integer(1, MAX_STEPS), "How many rounds there are."),
    "each": Key(Filled("value", {}), "Values instead of a number: a round for each."),
    "as": Key(
        Text(NAME_PATTERN, NAME_ALLOWED),
        "What the steps call the number of the round, or its value, as in ${round}; that unless given.",
    ),
    "steps": Key(Filled("step", {"$ref": "#/$defs/step"}), "The steps of a round.", required=True),
}
_TIMED: Final[dict[str, Key]] = {
    **{name: key for name, key in TRIGGERS.items() if name != "executed"},
    "every": Key(DURATION, "From the beginning of a round to that of the next, or as long as it takes if longer."),
}
GROUP: Final[dict[bool, Record]] = {
    True: Record({**_OWN, "kafka": KAFKA, "given": GIVEN, "note": NOTE}),
    False: Record({**_TIMED, **_OWN, "kafka": KAFKA, "given": GIVEN, "note": NOTE}),
}
"""Whether steps are by hand → the keys of a group."""


def is_group(node: Mapping) -> bool:
    """Whether a step is a group of steps."""
    return not {"repeat", "each", "steps"}.isdisjoint(node.entries)


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the rounds of a group are called, and what changes from one to the next."""

    variable: str
    values: tuple[Node, ...]
    numbered: bool
    """Whether the values only count the rounds."""

    def name(self, place: int) -> str:
        """``2 of 3``, and the value where it is more than that number."""
        number = f"{place + 1} of {len(self.values)}"
        return number if self.numbered else f"{number}, {self.variable} {_text(self.values[place])}"


def read_group(node: Mapping, key: str, notes: Notes, *, manual: bool) -> Fields:
    """The keys of a group; a verb beside them is told apart from an unknown key."""
    verbs = [name for name in node.entries if name in (MANUAL_VERBS if manual else TIMED_VERBS)]
    if verbs:
        message = f"found {listed(verbs, 'and')} beside the steps of a group, allowed is one or the other"
        notes.problem(node.entries[verbs[0]][0], f"{key}.{verbs[0]}", message)
        node = replace(node, entries={name: entry for name, entry in node.entries.items() if name not in verbs})
    fields: Fields = GROUP[manual].read(node, key, notes)
    return fields


def read_rounds(fields: Fields, notes: Notes) -> Rounds:
    """The rounds of a group whose keys were read; one, of an unknown value, where they are wrong."""
    sound = not any(fields.bad(name) for name in ("repeat", "each", "as"))
    if fields.given("repeat") and fields.given("each"):
        message = "found repeat and each together, allowed is one of them"
        notes.problem(fields.at("each"), fields.path("each"), message)
        sound = False
    elif not fields.given("repeat") and not fields.given("each"):
        message = "found steps without a number of rounds, allowed is 'repeat: 3' or 'each: [a, b]' beside them"
        notes.problem(fields.node, fields.key, message)
        sound = False
    node = fields.node
    variable = fields.get("as", ROUND)
    each: Sequence | None = fields.get("each")
    if sound and each is not None:
        return Rounds(variable, each.items, numbered=False)
    if not sound:
        return Rounds(variable, (Scalar(node.line, node.column, "", True, 0, Origin(unknown=True)),), numbered=True)
    numbers = range(1, fields.get("repeat", 1) + 1)
    return Rounds(variable, tuple(Scalar(node.line, node.column, str(n), True, 0) for n in numbers), numbered=True)


def _text(node: Node) -> str:
    """A value as it may stand in a line for people."""
    if isinstance(node, Scalar):
        return shown(node.text)[1:-1]
    if isinstance(node, Sequence):
        return shown("[" + ", ".join(_text(each) for each in node.items) + "]")[1:-1]
    return shown("{" + ", ".join(f"{key}: {_text(value)}" for key, (_, value) in node.entries.items()) + "}")[1:-1]
