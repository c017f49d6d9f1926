"""The text of a playbook as plain mappings, lists and words, which can be edited, and written again.

A value keeps the characters that it was written with: nothing here knows what a key means.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, compose

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
