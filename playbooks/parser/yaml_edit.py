"""Edits a playbook's text in place, so that comments, order and wording stay as their author left them."""

import re
from dataclasses import dataclass
from typing import Final

import yaml

from playbooks.model.step_text import Line

_FIRST: Final = ("floodmark", "name", "title", "story", "source", "tags", "seed")
"""Keys that say what a file is: what is new among them stands with them."""
_COMMENT: Final = re.compile(r"\s*(#.*)?")


class EditError(ValueError):
    """Text that cannot be edited in place; it has to be written anew."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of the file, an element a chunk of lines, its comments before it."""

    before: list[str]
    """All lines up to the first chunk, the list's own key the last of them."""
    chunks: list[list[str]]
    after: list[str]
    indent: int
    """Column of the dashes."""

    def text(self, chunks: list[list[str]]) -> str:
        """The file with other chunks."""
        lines = [*self.before, *(line for chunk in chunks for line in chunk), *self.after]
        return "\n".join(lines).rstrip("\n") + "\n"


def root_of(text: str) -> yaml.MappingNode:
    """The mapping that the file is. Raises :class:`EditError`."""
    root = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise EditError("the file is no block of keys")
    return root


def value_of(root: yaml.MappingNode, key: str) -> yaml.Node | None:
    """The value of a key, None without it."""
    found: list[yaml.Node] = [value for name, value in root.value if name.value == key]
    return found[0] if found else None


def put(text: str, key: str, value: str) -> str:
    """Give a key of the file a value on one line, in the place of its own or with what says what the file is.

    Raises:
        EditError: it has a value of several lines, or the file is written in one.
    """
    root = root_of(text)
    node = value_of(root, key)
    if node is not None:
        if node.start_mark.line != node.end_mark.line or not isinstance(node, yaml.ScalarNode):
            raise EditError(f"{key} has a value of several lines")
        space = " " if node.start_mark.index == node.end_mark.index else ""
        return text[: node.start_mark.index] + space + value + text[node.end_mark.index :]
    at = len(text)
    for name, _ in root.value:
        if name.value not in _FIRST[: _FIRST.index(key)] if key in _FIRST else name.value in ("steps", "expect"):
            at = name.start_mark.index
            break
    head = text[:at]
    if head and not head.endswith("\n"):
        head += "\n"
    return f"{head}{key}: {value}\n{text[at:]}"


def without(text: str, key: str, why: str) -> str:
    """The file with a key made a comment. Raises :class:`EditError`."""
    root = root_of(text)
    for number, (name, _value) in enumerate(root.value):
        if name.value == key:
            later = root.value[number + 1][0].start_mark.line if number + 1 < len(root.value) else None
            lines = text.split("\n")
            first, last = name.start_mark.line, _last_line(lines, name.start_mark.line, later)
            lines[first:last] = [f"# {why}", *(f"# {line}".rstrip() for line in lines[first:last])]
            return "\n".join(lines)
    return text


def listed(text: str, key: str) -> Listed:
    """The list at a key of the file, in chunks.

    Raises:
        EditError: it is not written as a block, a dash a line.
    """
    root = root_of(text)
    node = value_of(root, key)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style or not node.value:
        raise EditError(f"{key} is no block of elements")
    lines = text.split("\n")
    starts = []
    for item in node.value:
        mark = item.start_mark
        dash = re.fullmatch(r"( *)- +", lines[mark.line][: mark.column])
        if dash is None:
            raise EditError(f"an element of {key} does not begin beside its dash")
        starts.append((mark.line, len(dash[1])))
    names = [name.start_mark.line for name, _ in root.value if name.start_mark.line > starts[-1][0]]
    ends = [*(line for line, _ in starts[1:]), names[0] if names else None]
    chunks: list[list[str]] = []
    lead: list[str] = []
    end = starts[0][0]
    for (start, _), limit in zip(starts, ends, strict=True):
        end = _last_line(lines, start, limit)
        chunks.append([*lead, *lines[start:end]])
        lead = lines[end:limit] if limit is not None else []
    return Listed(lines[: starts[0][0]], chunks, lines[end:], starts[0][1])


def _last_line(lines: list[str], start: int, limit: int | None) -> int:
    """Where what begins on a line ends: blank lines and comments before the next thing are that one's."""
    end = len(lines) if limit is None else limit
    while end > start + 1 and _COMMENT.fullmatch(lines[end - 1]):
        end -= 1
    return end


def retriggered(chunk: list[str], lines: list[Line]) -> list[str]:
    """A step's chunk that acts by other keys than it did: at most one of its own gives way to them.

    Raises:
        EditError: the step is not simple enough for that.
    """
    text = "\n".join(chunk)
    found = yaml.compose(text, yaml.SafeLoader)
    item = found.value[0] if isinstance(found, yaml.SequenceNode) and len(found.value) == 1 else None
    if not isinstance(item, yaml.MappingNode) or not item.value:
        raise EditError("the step is no mapping")
    own = [(name, value) for name, value in item.value if name.value in ("at", "after", "when", "within")]
    if len(own) > 1 or (own and own[0][1].start_mark.line != own[0][1].end_mark.line):
        raise EditError("the step acts by more than one key")
    join = ", " if item.flow_style else "\n" + " " * item.value[0][0].start_mark.column
    new = join.join(f"{key}: {value}" for key, value in lines)
    if own:
        start, end = own[0][0].start_mark.index, own[0][1].end_mark.index
        return (text[:start] + new + text[end:]).split("\n")
    start = item.value[0][0].start_mark.index
    return (text[:start] + new + join + text[start:]).split("\n")


def commented(chunk: list[str], indent: int) -> list[str]:
    """A chunk made a comment."""
    return [f"{' ' * indent}# {line[indent:]}".rstrip() if line.strip() else "" for line in chunk]
