"""Parser of a playbook's steps: groups and their rounds are unrolled to a flat list of steps."""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.util.quantities import listed
from playbooks.errors import shown
from playbooks.model.playbook import Position, Step, Trigger
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    KAFKA,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    Record,
    Schema,
    TextType,
)
from playbooks.parser.document.variables import GIVEN, NAME_ALLOWED, NAME_PATTERN, ROUND, counts, substitute
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, ValueOrigin, item_key
from playbooks.parser.steps.manual_steps import ManualSteps
from playbooks.parser.steps.timed_steps import MAX_STEPS, NOTE, TIMED_VERBS, TRIGGERS, TimedSteps

# Groups of steps: number of rounds, time between rounds, and the variable of the round.


MAX_GROUPS: Final = 3
"""Maximum nesting of groups."""


@dataclass(frozen=True, slots=True)
class NonEmptyList(FieldType):
    """A non-empty list that is parsed later."""

    of: str
    items: Schema

    @property
    def allowed(self) -> str:
        """Description of allowed values."""
        return f"a list with at least one {self.of}"

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Sequence) or not node.items:
            notes.refuse(node, key, self.allowed)
            return BAD
        return node

    def _schema(self) -> Schema:
        return {"type": "array", "minItems": 1, "maxItems": MAX_STEPS, "items": self.items}


_OWN: Final[dict[str, FieldSpec]] = {
    "repeat": FieldSpec(Integer(1, MAX_STEPS), "Number of rounds."),
    "each": FieldSpec(NonEmptyList("value", {}), "Values instead of a number, one round for each."),
    "as": FieldSpec(
        TextType(NAME_PATTERN, NAME_ALLOWED),
        "Variable of the steps for the number of the round, or its value; default round, as in ${round}.",
    ),
    "steps": FieldSpec(NonEmptyList("step", {"$ref": "#/$defs/step"}), "Steps of a round.", required=True),
}
_TIMED: Final[dict[str, FieldSpec]] = {
    **{name: key for name, key in TRIGGERS.items() if name != "executed"},
    "every": FieldSpec(
        DURATION, "Time from the start of a round to that of the next, or longer if a round takes longer."
    ),
}
GROUP: Final[dict[bool, Record]] = {
    True: Record({**_OWN, "kafka": KAFKA, "given": GIVEN, "note": NOTE}),
    False: Record({**_TIMED, **_OWN, "kafka": KAFKA, "given": GIVEN, "note": NOTE}),
}
"""Whether steps are manual → the keys of a group."""


def is_group(node: Mapping) -> bool:
    """Return whether a step is a group of steps."""
    return not {"repeat", "each", "steps"}.isdisjoint(node.entries)


@dataclass(frozen=True, slots=True)
class GroupRounds:
    """Rounds of a group: their variable and its values."""

    variable: str
    values: tuple[Node, ...]
    numbered: bool
    """Whether the values are only numbers from 1."""

    def name(self, index: int) -> str:
        """Return the name of a round: ``2 of 3``, with its value if that is not the number."""
        number = f"{index + 1} of {len(self.values)}"
        return number if self.numbered else f"{number}, {self.variable} {_text(self.values[index])}"


def read_group(node: Mapping, key: str, notes: ErrorNotes, *, manual: bool) -> Fields:
    """Return the keys of a group; report a verb beside them."""
    verbs = [name for name in node.entries if name in (MANUAL_VERBS if manual else TIMED_VERBS)]
    if verbs:
        message = f"found {listed(verbs, 'and')} beside the steps of a group, expected one or the other"
        notes.problem(node.entries[verbs[0]][0], f"{key}.{verbs[0]}", message)
        node = replace(node, entries={name: entry for name, entry in node.entries.items() if name not in verbs})
    fields: Fields = GROUP[manual].read(node, key, notes)
    return fields


def read_rounds(fields: Fields, notes: ErrorNotes) -> GroupRounds:
    """Return the rounds of a group; one round of an unknown value if they have errors."""
    sound = not any(fields.bad(name) for name in ("repeat", "each", "as"))
    if fields.given("repeat") and fields.given("each"):
        message = "found repeat and each together, expected one of them"
        notes.problem(fields.at("each"), fields.path("each"), message)
        sound = False
    elif not fields.given("repeat") and not fields.given("each"):
        message = "found steps without a number of rounds, expected 'repeat: 3' or 'each: [a, b]' beside them"
        notes.problem(fields.node, fields.key, message)
        sound = False
    node = fields.node
    variable = fields.get("as", ROUND)
    each: Sequence | None = fields.get("each")
    if sound and each is not None:
        return GroupRounds(variable, each.items, numbered=False)
    if not sound:
        return GroupRounds(
            variable, (Scalar(node.line, node.column, "", True, 0, ValueOrigin(unknown=True)),), numbered=True
        )
    numbers = range(1, fields.get("repeat", 1) + 1)
    return GroupRounds(variable, tuple(Scalar(node.line, node.column, str(n), True, 0) for n in numbers), numbered=True)


def _text(node: Node) -> str:
    """Return a value as one line of text."""
    if isinstance(node, Scalar):
        return shown(node.text)[1:-1]
    if isinstance(node, Sequence):
        return shown("[" + ", ".join(_text(each) for each in node.items) + "]")[1:-1]
    return shown("{" + ", ".join(f"{key}: {_text(value)}" for key, (_, value) in node.entries.items()) + "}")[1:-1]


def read_steps(node: Node | None, notes: ErrorNotes, *, manual: bool) -> tuple[Step, ...]:
    """Return the steps in acting order; ``node`` is None if the playbook has none."""
    if node is None:
        return ()
    if not isinstance(node, Sequence):
        notes.refuse(node, "steps", "a list of steps")
        return ()
    if len(node.items) > MAX_STEPS:
        notes.problem(node, "steps", f"found {len(node.items)} steps, expected at most {MAX_STEPS}")
        return ()
    reader = _Reader(notes, manual=manual)
    reader.read_list(node, "steps", "", ())
    return tuple(reader.steps)


class _Reader:
    """Parser of a list of steps with its groups, limiting their total number."""

    def __init__(self, notes: ErrorNotes, *, manual: bool) -> None:
        self.steps: list[Step] = []
        self._notes = notes
        self._manual = manual
        self._single: ManualSteps | TimedSteps = ManualSteps() if manual else TimedSteps()
        self._count = 0
        self._reported = False
        self._grouped = False
        """Whether a group was found, after which list positions differ from acting order."""

    def read_list(self, node: Sequence, key: str, number: str, rounds: tuple[int, ...]) -> None:
        """Parse a list in ``rounds`` (from 1, the outermost group's first) of the group ``number``."""
        for number_in_list, item in enumerate(node.items, 1):
            here = item_key(item, f"{key}[{number_in_list}]")
            mapping = _as_mapping(item)
            if mapping is None:
                self._notes.refuse(item, here, "a mapping with one verb")
                self._count += 1
            elif is_group(mapping):
                self._grouped = True
                self._group(mapping, here, f"{number}{number_in_list}", rounds)
            else:
                step = self._single.read(mapping, self._count, here, self._notes)
                self._count += 1
                if step is not None:
                    name = label(f"{number}{number_in_list}", rounds) if self._grouped else ""
                    self.steps.append(replace(step, label=name))
            if self._full(item, here):
                return

    def _full(self, node: Node, key: str) -> bool:
        """Return whether there are too many steps, reported once at the first excess step."""
        if self._count <= MAX_STEPS:
            return False
        if not self._reported:
            self._reported = True
            message = f"found more than {MAX_STEPS} steps with all rounds unrolled, the most allowed"
            self._notes.problem(node, key, message)
        return True

    def _group(self, node: Mapping, key: str, number: str, rounds: tuple[int, ...]) -> None:
        notes = self._notes
        if len(rounds) == MAX_GROUPS:
            notes.problem(node, key, f"found groups nested deeper than {MAX_GROUPS} levels, the most allowed")
            return
        fields = read_group(node, key, notes, manual=self._manual)
        trigger = self._single.trigger(fields, notes)
        found = read_rounds(fields, notes)
        steps: Sequence | None = fields.get("steps")
        first = len(self.steps)
        if steps is not None:
            self._unroll(steps, _Group(number, rounds, fields, trigger, found))
        if not counts(fields, notes):
            del self.steps[first:]

    def _unroll(self, steps: Sequence, group: "_Group") -> None:
        """Unroll every round: the step that begins it, and the steps of the list with its value inserted."""
        round_us = 0
        for round_index, value in enumerate(group.rounds_of_group.values):
            self.steps.append(group.begins(round_index, self._count))
            self._count += 1
            self._single.begin_round()
            round_steps = substitute(steps, {group.rounds_of_group.variable: value}, self._notes)
            assert isinstance(round_steps, Sequence)  # a list stays a list
            self.read_list(
                round_steps, f"{group.fields.key}.steps", f"{group.number}.", (*group.rounds, round_index + 1)
            )
            round_us = max(round_us, self._single.end_round())
            if self._full(steps, f"{group.fields.key}.steps"):
                return
        every_us = max(group.fields.get("every", 0), round_us)
        self._single.took(every_us * (len(group.rounds_of_group.values) - 1) + round_us)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group that is being unrolled."""

    number: str
    """Number of the group: ``3.2`` is the second step of the third."""
    rounds: tuple[int, ...]
    """Rounds of the enclosing groups, from 1."""
    fields: Fields
    trigger: Trigger
    rounds_of_group: GroupRounds

    def begins(self, round_index: int, index: int) -> Step:
        """Return the step that begins the round at index ``round_index``."""
        depth = len(self.rounds) + 1
        trigger = self.trigger
        if round_index:
            every_us = self.fields.get("every", -1)
            trigger = Trigger("at", every_us, since_round=depth) if every_us >= 0 else Trigger("after")
        node = self.fields.node
        return Step(
            index=index,
            where=Position(node.line, node.column),
            trigger=trigger,
            verb="round",
            name=self.rounds_of_group.name(round_index),
            note=self.fields.get("note", "") if round_index == 0 else "",
            label=label(self.number, (*self.rounds, round_index + 1)),
            depth=depth,
        )


def label(number: str, rounds: tuple[int, ...]) -> str:
    """Return the name of a step of a playbook with groups."""
    return f"{number} round {'.'.join(map(str, rounds))}" if rounds else number


def _as_mapping(node: Node) -> Mapping | None:
    """Return a step as a mapping; a bare word is a verb without parameters: ``- show``."""
    if isinstance(node, Scalar) and not node.empty:
        nothing = Scalar(node.line, node.column, "", True, 0, node.origin)
        return Mapping(node.line, node.column, {node.text: (node, nothing)}, node.origin)
    return node if isinstance(node, Mapping) else None
