"""A candidate of shrinking: a playbook as plain data that can be edited, and the decisions made so far."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import instant, step_lines
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, compose
from playbooks.parser.loader import loads
from playbooks.parser.yaml_edit import rewritten

# The text of a playbook as plain mappings, lists and words, which can be edited, and written again.
#
# A value keeps the characters that it was written with: nothing here knows what a key means.


WIDE: Final = 118
_SAFE: Final = re.compile(r"[A-Za-z0-9_./(-][A-Za-z0-9_./()+&=<>!%*@ -]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Word:
    """A single value; ``plain`` if it stands without quotes, and may be meant as a number."""

    text: str
    plain: bool = True


Tree = Word | Mapping[str, "Tree"] | tuple["Tree", ...]
"""A value of a playbook. It is never changed: an edit makes another one."""
Path = tuple[str | int, ...]
"""The way to a value: keys, and numbers of elements."""


def read(text: str) -> Mapping[str, Tree]:
    """The mapping that a text is."""
    root, _problems = compose(text, "")
    found = _tree(root)
    if not isinstance(found, Mapping):
        raise TypeError("a playbook is a mapping")
    return found


def _tree(node: Node) -> Tree:
    if isinstance(node, Scalar):
        return Word(node.text, node.plain)
    if isinstance(node, YamlMapping):
        return {key: _tree(value) for key, (_where, value) in node.entries.items()}
    return tuple([_tree(item) for item in node.items])


def at(tree: Tree, path: Path) -> Tree:
    """The value at a path. Raises LookupError where there is none."""
    for part in path:
        if isinstance(tree, Word):
            raise LookupError(part)
        tree = tree[part]  # type: ignore[index]
    return tree


def put(tree: Tree, path: Path, value: Tree) -> Tree:
    """The tree with another value at a path; a key that is new comes last."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(tree, Mapping):
        return {**tree, str(first): put(tree.get(str(first), {}), rest, value)}
    assert isinstance(tree, tuple)
    place = int(first)
    return (*tree[:place], put(tree[place], rest, value), *tree[place + 1 :])


def without(tree: Tree, path: Path) -> Tree:
    """The tree without the value at a path."""
    if len(path) > 1:
        return put(tree, path[:1], without(at(tree, path[:1]), path[1:]))
    if isinstance(tree, Mapping):
        return {key: value for key, value in tree.items() if key != path[0]}
    assert isinstance(tree, tuple)
    place = int(path[0])
    return (*tree[:place], *tree[place + 1 :])


def flow(tree: Tree) -> str:
    """A value on one line."""
    if isinstance(tree, Word):
        return word(tree)
    if isinstance(tree, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {flow(value)}" for key, value in tree.items()) + "}"
    return "[" + ", ".join(map(flow, tree)) + "]"


def word(value: Word) -> str:
    """A single value so that it is read back as it was."""
    if value.plain and not value.text:
        return "null"
    good = _SAFE.fullmatch(value.text) and not value.text.endswith((" ", "-"))
    return value.text if value.plain and good else json.dumps(value.text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name, re.ASCII) else json.dumps(name)


def entry(key: str, value: Tree, indent: int = 0) -> list[str]:
    """A key with its value, on one line if that is short enough."""
    head = f"{' ' * indent}{_key(key)}:"
    one = f"{head} {flow(value)}"
    if isinstance(value, Word) or not value or (len(one) <= WIDE and not (indent == 0 and isinstance(value, tuple))):
        return [one]
    if isinstance(value, Mapping):
        return [head, *(line for name, each in value.items() for line in entry(name, each, indent + 2))]
    return [head, *(line for each in value for line in element(each, indent + 2))]


def element(value: Tree, indent: int) -> list[str]:
    """An element of a list, its dash at a column; on one line if that is short enough."""
    one = f"{' ' * indent}- {flow(value)}"
    if len(one) <= WIDE or not isinstance(value, Mapping) or not value:
        return [one]
    lines = [line for name, each in value.items() for line in entry(name, each, indent + 2)]
    return [f"{' ' * indent}- {lines[0].lstrip()}", *lines[1:]]


PATH: Final = "shrunk.yaml"
"""What a draft is called in messages."""
_HEAD: Final = ("stepping", "cluster", "topics", "clients", "guards", "settle")
"""What is kept of a playbook beside its steps, in the order in which it is written."""
_TOLD: Final = ("note", "event", "then", "refused")
"""What a step says and asserts, and does not do."""


@dataclass(frozen=True, slots=True)
class RemovableStep:
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
    steps: tuple[RemovableStep, ...]
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
        RemovableStep(number, _keys(step, times[number - 1] if times is not None else None, exact=exact, told=expect))
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
