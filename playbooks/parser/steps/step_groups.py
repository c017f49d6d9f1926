"""The list of a playbook's steps. Groups are unrolled here: round after round, as if each had been written out."""

from dataclasses import dataclass, replace

from playbooks.model.playbook import Position, Step, Trigger
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields
from playbooks.parser.document.given import counts
from playbooks.parser.document.variables import substitute
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, item_key
from playbooks.parser.steps.manual import ManualSteps
from playbooks.parser.steps.repeats import MAX_GROUPS, Rounds, is_group, read_group, read_rounds
from playbooks.parser.steps.timed_steps import MAX_STEPS, TimedSteps


def read_steps(node: Node | None, notes: Notes, *, manual: bool) -> tuple[Step, ...]:
    """The steps in the order in which they act; ``node`` is None where the playbook has none."""
    if node is None:
        return ()
    if not isinstance(node, Sequence):
        notes.refuse(node, "steps", "a list of steps")
        return ()
    if len(node.items) > MAX_STEPS:
        notes.problem(node, "steps", f"found {len(node.items)} steps, allowed are at most {MAX_STEPS}")
        return ()
    reader = _Reader(notes, manual=manual)
    reader.read_list(node, "steps", "", ())
    return tuple(reader.steps)


class _Reader:
    """Reads a list of steps and the groups in it, counting what they come to."""

    def __init__(self, notes: Notes, *, manual: bool) -> None:
        self.steps: list[Step] = []
        self._notes = notes
        self._manual = manual
        self._single: ManualSteps | TimedSteps = ManualSteps() if manual else TimedSteps()
        self._count = 0
        self._told = False
        self._grouped = False
        """Whether a group was met, after which places in the file and order of acting are two things."""

    def read_list(self, node: Sequence, key: str, number: str, rounds: tuple[int, ...]) -> None:
        """A list in ``rounds`` (from 1, the outermost group's first) of the group called ``number``."""
        for place, item in enumerate(node.items, 1):
            here = item_key(item, f"{key}[{place}]")
            mapping = _as_mapping(item)
            if mapping is None:
                self._notes.refuse(item, here, "a mapping with one verb")
                self._count += 1
            elif is_group(mapping):
                self._grouped = True
                self._group(mapping, here, f"{number}{place}", rounds)
            else:
                step = self._single.read(mapping, self._count, here, self._notes)
                self._count += 1
                if step is not None:
                    name = label(f"{number}{place}", rounds) if self._grouped else ""
                    self.steps.append(replace(step, label=name))
            if self._full(item, here):
                return

    def _full(self, node: Node, key: str) -> bool:
        """Whether there are too many steps, which is told where the first of them stands."""
        if self._count <= MAX_STEPS:
            return False
        if not self._told:
            self._told = True
            message = f"found more than {MAX_STEPS} steps with all rounds written out, the most allowed"
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
        """Every round: the step that begins it, and the steps of the list with its value put in."""
        round_us = 0
        for place, value in enumerate(group.found.values):
            self.steps.append(group.begins(place, self._count))
            self._count += 1
            self._single.begin_round()
            round_steps = substitute(steps, {group.found.variable: value}, self._notes)
            assert isinstance(round_steps, Sequence)  # a list stays one
            self.read_list(round_steps, f"{group.fields.key}.steps", f"{group.number}.", (*group.rounds, place + 1))
            round_us = max(round_us, self._single.end_round())
            if self._full(steps, f"{group.fields.key}.steps"):
                return
        every_us = max(group.fields.get("every", 0), round_us)
        self._single.took(every_us * (len(group.found.values) - 1) + round_us)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group that is being unrolled."""

    number: str
    """``3.2`` is the second step of the third."""
    rounds: tuple[int, ...]
    """Of the groups around it, from 1."""
    fields: Fields
    trigger: Trigger
    found: Rounds

    def begins(self, place: int, index: int) -> Step:
        """The step that begins the round at ``place``."""
        depth = len(self.rounds) + 1
        trigger = self.trigger
        if place:
            every_us = self.fields.get("every", -1)
            trigger = Trigger("at", every_us, since_round=depth) if every_us >= 0 else Trigger("after")
        node = self.fields.node
        return Step(
            index=index,
            where=Position(node.line, node.column),
            trigger=trigger,
            verb="round",
            name=self.found.name(place),
            note=self.fields.get("note", "") if place == 0 else "",
            label=label(self.number, (*self.rounds, place + 1)),
            depth=depth,
        )


def label(number: str, rounds: tuple[int, ...]) -> str:
    """How people call a step of a playbook with groups."""
    return f"{number} round {'.'.join(map(str, rounds))}" if rounds else number


def _as_mapping(node: Node) -> Mapping | None:
    """A step; a bare word stands for a verb without anything to say about it: ``- show``."""
    if isinstance(node, Scalar) and not node.empty:
        nothing = Scalar(node.line, node.column, "", True, 0, node.origin)
        return Mapping(node.line, node.column, {node.text: (node, nothing)}, node.origin)
    return node if isinstance(node, Mapping) else None
