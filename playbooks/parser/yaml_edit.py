"""Editor of a playbook's text in place, and writer of a playbook with variables and fragments expanded."""

import re
from collections.abc import Mapping as Table
from dataclasses import dataclass, replace
from typing import Any, Final

import yaml

from playbooks.errors import PlaybookError
from playbooks.model.step_text import Line
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.includes import FragmentStore, Includer, cluster_file
from playbooks.parser.document.variables import GIVEN
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, compose, syntax_tree
from playbooks.parser.loader import FRAGMENT, PLAYBOOK

_FIRST: Final = ("floodmark", "name", "title", "story", "source", "tags", "seed")
"""Keys that identify a file: new ones among them are inserted beside them."""
_COMMENT: Final = re.compile(r"\s*(#.*)?")


class EditError(ValueError):
    """Text that cannot be edited in place and has to be rewritten."""


@dataclass(frozen=True, slots=True)
class BlockList:
    """A list of the file, each element as a chunk of lines, its comments before it."""

    before: list[str]
    """All lines up to the first chunk, the last of them with the list's key."""
    chunks: list[list[str]]
    after: list[str]
    indent: int
    """Column of the dashes."""

    def text(self, chunks: list[list[str]]) -> str:
        """Return the file with other chunks."""
        lines = [*self.before, *(line for chunk in chunks for line in chunk), *self.after]
        return "\n".join(lines).rstrip("\n") + "\n"


def root_of(text: str) -> yaml.MappingNode:
    """Return the mapping at the root of the file. Raises :class:`EditError`."""
    root = syntax_tree(text)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise EditError("the file is not a block mapping")
    return root


def value_of(root: yaml.MappingNode, key: str) -> yaml.Node | None:
    """Return the value of a key, None without it."""
    found: list[yaml.Node] = [value for name, value in root.value if name.value == key]
    return found[0] if found else None


def put(text: str, key: str, value: str) -> str:
    """Set a key of the file to a value on one line, in place or beside the identifying keys.

    Raises:
        EditError: its value has several lines, or the file is written in one line.
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
    """Return the file with a key turned into a comment. Raises :class:`EditError`."""
    root = root_of(text)
    for number, (name, _value) in enumerate(root.value):
        if name.value == key:
            later = root.value[number + 1][0].start_mark.line if number + 1 < len(root.value) else None
            lines = text.split("\n")
            first, last = name.start_mark.line, _last_line(lines, name.start_mark.line, later)
            lines[first:last] = [f"# {why}", *(f"# {line}".rstrip() for line in lines[first:last])]
            return "\n".join(lines)
    return text


def listed(text: str, key: str) -> BlockList:
    """Return the list at a key of the file, in chunks.

    Raises:
        EditError: it is not a block list with a dash per line.
    """
    root = root_of(text)
    node = value_of(root, key)
    if not isinstance(node, yaml.SequenceNode) or node.flow_style or not node.value:
        raise EditError(f"{key} is not a block list")
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
    return BlockList(lines[: starts[0][0]], chunks, lines[end:], starts[0][1])


def _last_line(lines: list[str], start: int, limit: int | None) -> int:
    """Return the last line of a value: blank lines and comments before the next key belong to that key."""
    end = len(lines) if limit is None else limit
    while end > start + 1 and _COMMENT.fullmatch(lines[end - 1]):
        end -= 1
    return end


def retriggered(chunk: list[str], lines: list[Line]) -> list[str]:
    """Replace the trigger keys of a step's chunk: at most one of its own is replaced.

    Raises:
        EditError: the step is not simple enough.
    """
    text = "\n".join(chunk)
    found = syntax_tree(text)
    item = found.value[0] if isinstance(found, yaml.SequenceNode) and len(found.value) == 1 else None
    if not isinstance(item, yaml.MappingNode) or not item.value:
        raise EditError("the step is not a mapping")
    own = [(name, value) for name, value in item.value if name.value in ("at", "after", "when", "within")]
    if len(own) > 1 or (own and own[0][1].start_mark.line != own[0][1].end_mark.line):
        raise EditError("the step has more than one trigger")
    join = ", " if item.flow_style else "\n" + " " * item.value[0][0].start_mark.column
    new = join.join(f"{key}: {value}" for key, value in lines)
    if own:
        start, end = own[0][0].start_mark.index, own[0][1].end_mark.index
        return (text[:start] + new + text[end:]).split("\n")
    start = item.value[0][0].start_mark.index
    return (text[:start] + new + join + text[start:]).split("\n")


def commented(chunk: list[str], indent: int) -> list[str]:
    """Turn a chunk into a comment."""
    return [f"{' ' * indent}# {line[indent:]}".rstrip() if line.strip() else "" for line in chunk]


# A playbook expanded to one file: with values for variables, and steps of fragments in place of their includes.
#
# Comments and line breaks are lost. The meaning is the same, down to the digest of its run. Parts ``given`` by a
# variable are decided here.


_LEFT_OUT: Final = ("vars", "include")
_TEXT: Final = "tag:yaml.org,2002:str"
_WIDE: Final = 118


def written_out(text: str, path: str, fragments: Table[str, str]) -> str:
    """Expand a playbook to one file without variables; a text without variables and includes is unchanged.

    Raises:
        PlaybookError: it has errors.
    """
    root, _problems = compose(text, path)
    if not isinstance(root, Mapping):
        return text
    if not any(name in root.entries for name in _LEFT_OUT) and cluster_file(root) is None and not _includes(root):
        return text
    return rewritten(text, path, fragments)


def rewritten(text: str, path: str, fragments: Table[str, str]) -> str:
    """Expand any playbook: one without variables and includes becomes a block mapping, too.

    Raises:
        PlaybookError: it has errors.
    """
    root, problems = compose(text, path)
    notes = ErrorNotes(path, problems)
    includer = Includer(notes, FragmentStore(path, fragments), PLAYBOOK, FRAGMENT)
    root_node = includer.expand(root, unused=False, written=True)
    if isinstance(root_node, Mapping):
        notes.root, notes.variables = root_node, includer.variables
        entries = {name: (where, _decided(value, notes)) for name, (where, value) in root_node.entries.items()}
        root_node = replace(root_node, entries=entries)
    if notes.errors or not isinstance(root_node, Mapping):
        raise PlaybookError(notes.errors)
    left = {
        name: root_node.entries[name] for name in PLAYBOOK.keys if name in root_node.entries and name not in _LEFT_OUT
    }
    written: str = yaml.serialize(_node(Mapping(1, 1, left)), Dumper=yaml.SafeDumper, width=_WIDE, allow_unicode=True)
    return written


def _decided(node: Node, notes: ErrorNotes) -> Node:
    """Remove the steps or expectations that apply to other values of variables, which no longer exist."""
    if not isinstance(node, Sequence):
        return node
    items: list[Node] = []
    for item in node.items:
        entries = dict(item.entries) if isinstance(item, Mapping) else {}
        given = item.get("given") if isinstance(item, Mapping) else None
        if isinstance(given, Mapping):
            own = {name: entry for name, entry in given.entries.items() if name in notes.variables}
            if own and GIVEN.kind.read(replace(given, entries=own), "given", notes) is not True:
                continue
            others = {name: entry for name, entry in given.entries.items() if name not in own}
            entries["given"] = (entries["given"][0], replace(given, entries=others))
            if not others:
                del entries["given"]
        if "steps" in entries:
            entries["steps"] = (entries["steps"][0], _decided(entries["steps"][1], notes))
        items.append(replace(item, entries=entries) if isinstance(item, Mapping) else item)
    return replace(node, items=tuple(items))


def _includes(node: Node) -> bool:
    """Return whether a fragment is included anywhere."""
    if isinstance(node, Mapping):
        return "include" in node.entries or any(_includes(value) for _, value in node.entries.values())
    return isinstance(node, Sequence) and any(map(_includes, node.items))


def _node(node: Node) -> Any:
    if isinstance(node, Sequence):
        flow = all(isinstance(item, Scalar) for item in node.items)
        return yaml.SequenceNode("tag:yaml.org,2002:seq", [_node(item) for item in node.items], flow_style=flow)
    if isinstance(node, Mapping):
        pairs = [(_node(where), _node(value)) for where, value in node.entries.values()]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
    if node.plain:
        return yaml.ScalarNode(_RESOLVER.resolve(yaml.ScalarNode, node.text, (True, False)), node.text)
    return yaml.ScalarNode(_TEXT, node.text, style='"')


_RESOLVER: Final[Any] = yaml.resolver.Resolver()
