"""Candidate of shrinking: a playbook as editable plain data, and its removable steps."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import exact_time_text, step_lines
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, compose
from playbooks.parser.loader import loads
from playbooks.parser.yaml_edit import rewritten

# The text of a playbook as plain mappings, lists and words that can be edited and written again.
#
# A value keeps the characters that it was written with: this module does not know what a key means.


WIDE: Final = 118
_SAFE: Final = re.compile(r"[A-Za-z0-9_./(-][A-Za-z0-9_./()+&=<>!%*@ -]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Word:
    """A single value; ``plain`` if it has no quotes, so that it may be a number."""

    text: str
    plain: bool = True


Tree = Word | Mapping[str, "Tree"] | tuple["Tree", ...]
"""A value of a playbook. It is immutable: an edit makes a new one."""
Path = tuple[str | int, ...]
"""Path to a value: keys, and list indices."""


def read(text: str) -> Mapping[str, Tree]:
    """Parse a text to a mapping."""
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
    """Return the value at a path. Raises LookupError if there is none."""
    for part in path:
        if isinstance(tree, Word):
            raise LookupError(part)
        tree = tree[part]  # type: ignore[index]
    return tree


def put(tree: Tree, path: Path, value: Tree) -> Tree:
    """Return the tree with another value at a path; a new key comes last."""
    if not path:
        return value
    first, remainder = path[0], path[1:]
    if isinstance(tree, Mapping):
        return {**tree, str(first): put(tree.get(str(first), {}), remainder, value)}
    assert isinstance(tree, tuple)
    index = int(first)
    return (*tree[:index], put(tree[index], remainder, value), *tree[index + 1 :])


def without(tree: Tree, path: Path) -> Tree:
    """Return the tree without the value at a path."""
    if len(path) > 1:
        return put(tree, path[:1], without(at(tree, path[:1]), path[1:]))
    if isinstance(tree, Mapping):
        return {key: value for key, value in tree.items() if key != path[0]}
    assert isinstance(tree, tuple)
    index = int(path[0])
    return (*tree[:index], *tree[index + 1 :])


def flow(tree: Tree) -> str:
    """Return a value on one line."""
    if isinstance(tree, Word):
        return word(tree)
    if isinstance(tree, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {flow(value)}" for key, value in tree.items()) + "}"
    return "[" + ", ".join(map(flow, tree)) + "]"


def word(value: Word) -> str:
    """Return a single value as it was written."""
    if value.plain and not value.text:
        return "null"
    good = _SAFE.fullmatch(value.text) and not value.text.endswith((" ", "-"))
    return value.text if value.plain and good else json.dumps(value.text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name, re.ASCII) else json.dumps(name)


def entry(key: str, value: Tree, indent: int = 0) -> list[str]:
    """Return a key with its value, on one line if that is short enough."""
    head = f"{' ' * indent}{_key(key)}:"
    one = f"{head} {flow(value)}"
    if isinstance(value, Word) or not value or (len(one) <= WIDE and not (indent == 0 and isinstance(value, tuple))):
        return [one]
    if isinstance(value, Mapping):
        return [head, *(line for name, each in value.items() for line in entry(name, each, indent + 2))]
    return [head, *(line for each in value for line in element(each, indent + 2))]


def element(value: Tree, indent: int) -> list[str]:
    """Return a list element, its dash at a column; on one line if that is short enough."""
    one = f"{' ' * indent}- {flow(value)}"
    if len(one) <= WIDE or not isinstance(value, Mapping) or not value:
        return [one]
    lines = [line for name, each in value.items() for line in entry(name, each, indent + 2)]
    return [f"{' ' * indent}- {lines[0].lstrip()}", *lines[1:]]


PATH: Final = "shrunk.yaml"
"""Name of a draft in messages."""
_HEAD: Final = ("stepping", "cluster", "topics", "clients", "guards", "settle")
"""Keys of a playbook that are kept besides its steps, in the order in which they are written."""
_TOLD: Final = ("note", "event", "then", "refused")
"""Keys of a step that describe or assert, without effect on the session."""


@dataclass(frozen=True, slots=True)
class RemovableStep:
    """One step that may be removed."""

    number: int
    """Its number in the original list, from 1; the same through all edits."""
    keys: Mapping[str, Tree]


@dataclass(frozen=True, slots=True)
class Draft:
    """A candidate: a playbook that can be run."""

    name: str
    seed: int
    head: Mapping[str, Tree]
    """All keys except the steps and the expectations."""
    steps: tuple[RemovableStep, ...]
    expect: tuple[Tree, ...] = ()
    manual: bool = field(default=False)

    def text(self) -> str:
        """Return the playbook with one step or key per line."""
        lines = [*self.opening(), *(line for each in self.steps for line in element(each.keys, 2))]
        if not self.steps:
            lines[-1] = "steps: []"
        return "\n".join([*lines, *self.closing()]) + "\n"

    def opening(self) -> list[str]:
        """Return all lines before the first step."""
        lines = ["floodmark: 1", f"name: {self.name}", f"seed: {self.seed}"]
        for key in _HEAD:
            if key in self.head:
                lines += entry(key, self.head[key])
        return [*lines, "steps:"]

    def closing(self) -> list[str]:
        """Return all lines after the last step."""
        return entry("expect", self.expect) if self.expect else []

    def playbook(self) -> Playbook:
        """Parse the draft. Raises :class:`PlaybookError` if the edits are inconsistent."""
        return loads(self.text(), PATH)

    def without(self, numbers: Sequence[int]) -> "Draft":
        """Return the draft without these steps."""
        gone = set(numbers)
        return replace(self, steps=tuple([each for each in self.steps if each.number not in gone]))

    def with_step(self, number: int, keys: Mapping[str, Tree]) -> "Draft":
        """Return the draft with another version of a step."""
        steps = [replace(each, keys=keys) if each.number == number else each for each in self.steps]
        return replace(self, steps=tuple(steps))


def digest(text: str) -> str:
    """Return a short hash of a text, the same everywhere."""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def drafted(
    playbook: Playbook, seed: int, times: Sequence[tuple[int, int]] | None, *, exact: bool, expect: bool
) -> Draft:
    """Convert a playbook to a draft, each step at the time when it acted.

    ``times`` has these times with the number of kernel events before; None for manual stepping. With ``exact`` the
    event counts are written as well. ``expect``: keep the expectations of the playbook and its steps.
    """
    root = read(rewritten(playbook.source, playbook.path, playbook.fragments))
    head = {key: root[key] for key in _HEAD if key in root}
    manual = playbook.spec.manual
    if not manual:
        head["settle"] = Word(exact_time_text(playbook.settle_us))
    acting = [step for step in playbook.steps if step.verb != "round"]
    if times is not None:
        acting = acting[: len(times)]
    steps = [
        RemovableStep(
            number, _keys(step, times[number - 1] if times is not None else None, exact=exact, with_notes=expect)
        )
        for number, step in enumerate(acting, 1)
    ]
    kept = root.get("expect", ()) if expect else ()
    assert isinstance(kept, tuple)
    return Draft(playbook.name, seed, head, tuple(steps), kept, manual)


def _keys(step: Step, time: tuple[int, int] | None, *, exact: bool, with_notes: bool) -> Mapping[str, Tree]:
    keys: dict[str, Tree] = {}
    own = read("\n".join(f"{key}: {value}" for key, value in step_lines(step)))
    if time is not None:
        keys["at"] = Word(exact_time_text(time[0]))
        if exact:
            keys["executed"] = Word(str(time[1]))
    keys |= {key: value for key, value in own.items() if key not in ("at", "after", "when", "within", "executed")}
    return keys if with_notes else {key: value for key, value in keys.items() if key not in _TOLD}
