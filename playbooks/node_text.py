"""The tree of a playbook written as text, where it was put together from several files and has no text of its own."""

import json
from typing import Final

from playbooks.step_text import scalar
from playbooks.yamlpos import Mapping, Node, Scalar, Sequence

_GONE: Final = ("include", "vars")
"""Keys whose work is done in the tree."""
_BLOCKS: Final = ("cluster", "topics", "clients", "producers", "groups", "guards", "steps", "expect")
"""Keys whose values are written over several lines."""


def written_whole(root: Node) -> str:
    """The file. The names of rounds in groups of steps stay as they are used."""
    assert isinstance(root, Mapping)  # a playbook that was read is one
    kept = {key: value for key, (_, value) in root.entries.items() if key not in _GONE}
    lines: list[str] = []
    for key, value in kept.items():
        lines += _entry(key, value, "", put=key != "steps")
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Node, indent: str, *, put: bool) -> list[str]:
    if key in _BLOCKS and isinstance(value, Mapping) and value.entries:
        lines = [f"{indent}{key}:"]
        for name, (_, each) in value.entries.items():
            lines += _entry(name, each, indent + "  ", put=put)
        return lines
    if key in _BLOCKS and isinstance(value, Sequence) and value.items:
        return [f"{indent}{key}:", *(f"{indent}  - {_flow(each, put=put)}" for each in value.items)]
    return [f"{indent}{key}: {_flow(value, put=put)}".rstrip()]


def _flow(node: Node, *, put: bool) -> str:
    """A value on one line; ``put``: variables are put in, and what looks like one is not."""
    if isinstance(node, Scalar):
        return _scalar(node, put=put)
    if isinstance(node, Sequence):
        return "[" + ", ".join(_flow(each, put=put) for each in node.items) + "]"
    entries = [f"{scalar(key, inside=True)}: {_flow(value, put=put)}" for key, (_, value) in node.entries.items()]
    return "{" + ", ".join(entries) + "}"


def _scalar(node: Scalar, *, put: bool) -> str:
    if node.empty:
        return "null"
    text = node.text.replace("${", "$${") if put else node.text
    if node.plain and scalar(text, inside=True) == text:
        return text
    return json.dumps(text, ensure_ascii=False)
