"""A playbook on its way to a shorter one: the decisions that were made, apart from what they were made on."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import instant, step_lines
from playbooks.parser.loader import loads
from playbooks.parser.written_out import rewritten
from playbooks.shrink.tree import Tree, Word, element, entry, read

PATH: Final = "shrunk.yaml"
"""What a draft is called in messages."""
_HEAD: Final = ("stepping", "cluster", "topics", "clients", "guards", "settle")
"""What is kept of a playbook beside its steps, in the order in which it is written."""
_TOLD: Final = ("note", "event", "then", "refused")
"""What a step says and asserts, and does not do."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One step: something that was decided, and may be left out."""

    number: int
    """The same through all edits: its place in what the shrinking began with, from 1."""
    keys: Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate: a playbook to be run as it is."""

    name: str
    seed: int
    head: Mapping[str, Tree]
    """All keys but the steps and what is expected."""
    steps: tuple[Decision, ...]
    expect: tuple[Tree, ...] = ()
    manual: bool = field(default=False)

    def text(self) -> str:
        """The playbook, a step or a key a line."""
        lines = [*self.opening(), *(line for each in self.steps for line in element(each.keys, 2))]
        if not self.steps:
            lines[-1] = "steps: []"
        return "\n".join([*lines, *self.closing()]) + "\n"

    def opening(self) -> list[str]:
        """All lines up to the first step."""
        lines = ["floodmark: 1", f"name: {self.name}", f"seed: {self.seed}"]
        for key in _HEAD:
            if key in self.head:
                lines += entry(key, self.head[key])
        return [*lines, "steps:"]

    def closing(self) -> list[str]:
        """All lines behind the last step."""
        return entry("expect", self.expect) if self.expect else []

    def playbook(self) -> Playbook:
        """To be run. Raises :class:`PlaybookError` where the edits do not go together."""
        return loads(self.text(), PATH)

    def without(self, numbers: Sequence[int]) -> "Draft":
        """The draft without these decisions."""
        gone = set(numbers)
        return replace(self, steps=tuple([each for each in self.steps if each.number not in gone]))

    def with_step(self, number: int, keys: Mapping[str, Tree]) -> "Draft":
        """The draft with a decision made otherwise."""
        steps = [replace(each, keys=keys) if each.number == number else each for each in self.steps]
        return replace(self, steps=tuple(steps))


def digest(text: str) -> str:
    """A short name of a text, the same everywhere."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def drafted(
    playbook: Playbook, seed: int, times: Sequence[tuple[int, int]] | None, *, exact: bool, expect: bool
) -> Draft:
    """The draft that a playbook is, each step at the time when it acted.

    ``times`` are these with the kernel events that had been handled by then, None where time stands still; ``exact``
    also tells these. ``expect``: keep what the playbook and its steps expect.
    """
    root = read(rewritten(playbook.source, playbook.path, playbook.fragments))
    head = {key: root[key] for key in _HEAD if key in root}
    manual = playbook.spec.manual
    if not manual:
        head["settle"] = Word(instant(playbook.settle_us))
    acting = [step for step in playbook.steps if step.verb != "round"]
    if times is not None:
        acting = acting[: len(times)]
    steps = [
        Decision(number, _keys(step, times[number - 1] if times is not None else None, exact=exact, told=expect))
        for number, step in enumerate(acting, 1)
    ]
    kept = root.get("expect", ()) if expect else ()
    assert isinstance(kept, tuple)
    return Draft(playbook.name, seed, head, tuple(steps), kept, manual)


def _keys(step: Step, time: tuple[int, int] | None, *, exact: bool, told: bool) -> Mapping[str, Tree]:
    keys: dict[str, Tree] = {}
    own = read("\n".join(f"{key}: {value}" for key, value in step_lines(step)))
    if time is not None:
        keys["at"] = Word(instant(time[0]))
        if exact:
            keys["executed"] = Word(str(time[1]))
    keys |= {key: value for key, value in own.items() if key not in ("at", "after", "when", "within", "executed")}
    return keys if told else {key: value for key, value in keys.items() if key not in _TOLD}
