"""YAML parsed safely, with line and column of every key and value, and every scalar as it was written.

Types are not guessed here: ``on``, ``no``, ``3.10`` and ``0777`` stay text, and the type of the key converts them.
Tags, duplicate keys, several documents and anything that grows too large (aliases of aliases, deep nesting, huge files)
are rejected.
"""

import re
from collections import abc
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import yaml

from playbooks.errors import PlaybookError, Problem, place_of, shown

MAX_BYTES: Final = 1024 * 1024
MAX_NODES: Final = 200_000
"""Maximum number of values in a file, each alias counted as everything it stands for."""
MAX_DEPTH: Final = 40
MAX_ALIASES: Final = 200

_FALLIBLE: Final = (yaml.YAMLError, ValueError, OverflowError)
"""Exceptions of PyYAML: its own, and Python's for an escape that is no character."""
_QUICK: Final = getattr(yaml, "CSafeLoader", None)
"""The libyaml parser, if PyYAML was built with it."""
_APART: Final = re.compile(r"[\t?!\ufeff]|:\s*[,}\]]")
"""Input that libyaml parses differently: tabs, byte order marks, tags, keys with a question mark, empty values."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Origin of a value that was not written in the main file at its position."""

    path: str = ""
    """The file, as shown in messages; empty for the main one."""
    notes: tuple[str, ...] = ()
    """Suffixes of errors in the value: its variable, or the include of its file."""
    key: str = ""
    """Path in its own file, for an element of a list that was joined from several; empty: the current path."""
    unknown: bool = False
    """Whether the value is unknown, so that it cannot have errors."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single YAML value as text, with its position."""

    line: int
    column: int
    text: str
    plain: bool
    """Whether it has no quotes, so that it may be a number, a boolean or null."""
    exact: int
    """Column at which ``text`` itself begins, or 0 if the file does not contain it unchanged."""
    origin: ValueOrigin | None = None

    @property
    def empty(self) -> bool:
        """Whether it is an empty value, ``~`` or ``null``."""
        return self.plain and self.text in {"", "~", "null", "Null", "NULL"}


@dataclass(frozen=True, slots=True)
class Sequence:
    """A YAML list with its position."""

    line: int
    column: int
    items: tuple["Node", ...]
    origin: ValueOrigin | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys and values, in the order of the file."""

    line: int
    column: int
    entries: abc.Mapping[str, tuple[Scalar, "Node"]]
    """Never modified: the result of parsing a text is shared."""
    origin: ValueOrigin | None = None

    def get(self, key: str) -> "Node | None":
        """Return the value of ``key``, or None without one."""
        entry = self.entries.get(key)
        return entry[1] if entry else None


Node = Scalar | Sequence | Mapping


def found(node: Node) -> str:
    """Describe a node for a message."""
    if isinstance(node, Scalar):
        return "nothing" if node.empty else shown(node.text)
    return "a list" if isinstance(node, Sequence) else "a mapping"


def item_key(item: Node, key: str) -> str:
    """Return the path of a list element: that of its own file, or ``key``."""
    return item.origin.key if item.origin is not None and item.origin.key else key


def decode(data: bytes, path: str) -> str:
    """Return the text of a file; raise :class:`PlaybookError` if it is too large or not UTF-8."""
    if len(data) > MAX_BYTES:
        raise PlaybookError([Problem(path, 1, 1, "", f"found more than {MAX_BYTES} bytes, the most allowed")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        line, column = place_of(before, len(before))
        message = f"found the byte 0x{data[error.start]:02x}, expected UTF-8 text"
        texts = {path: data.decode("utf-8-sig", "backslashreplace")}
        raise PlaybookError([Problem(path, line, column, "", message)], texts) from None


def compose(text: str, path: str, origin: ValueOrigin | None = None) -> tuple[Node, list[Problem]]:
    """Return the one document in ``text``, and errors that do not prevent parsing: duplicate keys.

    ``origin`` is that of every value, for a file that is not the main one.

    Raises:
        PlaybookError: at the first syntax error.
    """
    node, problems = _composed(text, path, origin)
    return node, [*problems]


@lru_cache(maxsize=64)
def _composed(text: str, path: str, origin: ValueOrigin | None) -> tuple[Node, tuple[Problem, ...]]:
    """Do the same as :func:`compose`, cached: grids and searches parse the same text and fragments repeatedly."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise PlaybookError([Problem(path, 1, 1, "", f"found more than {MAX_BYTES} bytes, the most allowed")])
    composer = _Composer(text, path, origin)
    return composer.document(), tuple(composer.problems)


@lru_cache(maxsize=16)
def syntax_tree(text: str) -> yaml.Node | None:
    """Return PyYAML's own nodes, which have end positions, for edits of the text. Raises ``yaml.YAMLError``."""
    return yaml.compose(text, yaml.SafeLoader)


class _Composer:
    """Builder of the tree from the parser's events, with limits."""

    def __init__(self, text: str, path: str, origin: ValueOrigin | None = None) -> None:
        self.path = path
        self._origin = origin
        self.problems: list[Problem] = []
        self._events = self._parse(text)
        self._nodes = 0
        self._aliases = 0
        self._anchors: dict[str, Node | None] = {}
        self._sizes: dict[str, int] = {}
        self._heights: dict[str, int] = {}

    def document(self) -> Node:
        next(self._events)  # the stream's start
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            raise self._refused(1, 1, "found an empty file, expected a playbook, which begins with 'floodmark: 1'")
        node = self._node(next(self._events), 0)
        next(self._events)  # the document's end
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise self._at(event, "found a second document, expected one per file")
        return node

    def _parse(self, text: str) -> abc.Iterator[yaml.Event]:
        """Yield PyYAML's events; its errors become :class:`PlaybookError`."""
        if (events := _quick_events(text)) is not None:
            yield from events
            return
        loader: yaml.SafeLoader | None = None
        try:
            loader = yaml.SafeLoader(text)
            while loader.check_event():
                yield loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            place = mark.index if mark else 0
            if text[max(0, place - 1) : place + 1] == "${":
                raise self._refused(line, column - 1, "found ${ inside { } or [ ], where a text needs quotes") from None
            raise self._refused(line, column, f"not YAML: {_explained(error)}") from None
        except yaml.reader.ReaderError as error:
            line, column = place_of(text, error.position)
            raise self._refused(line, column, "found a character that YAML does not allow") from None
        except _FALLIBLE:
            line, column = (loader.line + 1, loader.column + 1) if loader else (1, 1)
            raise self._refused(line, column, "not YAML: found an escape or number out of range") from None

    def _node(self, event: yaml.Event, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise self._at(event, f"found more than {MAX_NODES} values, the most allowed")
        if depth > MAX_DEPTH:
            raise self._at(event, f"nested deeper than {MAX_DEPTH} levels, the most allowed")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        tag, anchor = getattr(event, "tag", None), getattr(event, "anchor", None)
        if tag is not None and tag != "!":
            raise self._at(event, f"found the tag {shown(str(tag))}, expected plain values")
        before = self._nodes
        if anchor is not None:
            self._anchors[anchor] = None  # known but incomplete: an alias to it from inside is a cycle
        node = self._content(event, depth)
        if anchor is not None:
            self._anchors[anchor] = node
            self._sizes[anchor] = self._nodes - before + 1
            self._heights[anchor] = height(node)
        return node

    def _content(self, event: yaml.Event, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        line, column = _start(event)
        if isinstance(event, yaml.MappingStartEvent):
            return Mapping(line, column, self._entries(depth), self._origin)
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return Sequence(line, column, tuple(items), self._origin)

    def _entries(self, depth: int) -> dict[str, tuple[Scalar, Node]]:
        entries: dict[str, tuple[Scalar, Node]] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if not isinstance(key, Scalar):
                raise self._refused(key.line, key.column, f"found {found(key)} as a key, expected a single word")
            if key.text in entries:
                first = entries[key.text][0]
                message = f"found the key twice, expected once (first in line {first.line})"
                self.problems.append(Problem(self.path, key.line, key.column, shown(key.text).strip("'"), message))
                continue
            entries[key.text] = (key, value)
        return entries

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        value = str(event.value)
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise self._at(event, "found half of a surrogate pair, expected whole characters")
        line, column = _start(event)
        plain = not event.style  # empty in libyaml, None in PyYAML
        quotes = 0 if plain else 1
        end = event.end_mark
        one_line = end is not None and end.line + 1 == line and event.style not in {"|", ">"}
        exact = one_line and end is not None and end.column + 1 - column == len(value) + 2 * quotes
        return Scalar(line, column, value, plain, column + quotes if exact else 0, self._origin)

    def _alias(self, event: yaml.AliasEvent, depth: int) -> Node:
        name = str(event.anchor)
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise self._at(event, f"found more than {MAX_ALIASES} aliases, the most allowed")
        if name not in self._anchors:
            raise self._at(event, f"found the alias {shown(name)}, but nothing before it has that anchor")
        node = self._anchors[name]
        if node is None:
            raise self._at(event, f"found the alias {shown(name)} inside what it stands for")
        self._nodes += self._sizes[name]
        if depth + self._heights[name] > MAX_DEPTH:
            raise self._at(event, f"nested deeper than {MAX_DEPTH} levels, the most allowed")
        return node

    def _at(self, event: yaml.Event, message: str) -> PlaybookError:
        return self._refused(*_start(event), message)

    def _refused(self, line: int, column: int, message: str) -> PlaybookError:
        return PlaybookError([*self.problems, Problem(self.path, line, column, "", message)])


def _quick_events(text: str) -> list[yaml.Event] | None:
    """Return libyaml's events, ten times as fast; None if PyYAML's own parser is needed.

    It is needed for errors, whose messages and positions differ, and where the two parsers may differ.
    """
    if _QUICK is None or _APART.search(text):
        return None
    loader = _QUICK(text)
    events = []
    depth = 0
    try:
        while depth <= MAX_DEPTH + 1 and loader.check_event():
            events.append(event := loader.get_event())
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
    except _FALLIBLE:
        return None
    return events if depth == 0 else None


def height(node: Node) -> int:
    """Return the number of levels below a node."""
    children: tuple[Node, ...] = ()
    if isinstance(node, Sequence):
        children = node.items
    elif isinstance(node, Mapping):
        children = tuple(value for _, value in node.entries.values())
    return 1 + max(map(height, children)) if children else 0


_EXPLAINED: Final = {
    "mapping values are not allowed here": "found ': ' in a string, which then needs quotes, or wrong indentation",
    "found character '\\t' that cannot start any token": "found a tab, allowed for indentation are spaces",
}
"""PyYAML's messages of the most common errors → explanations for the author of a file."""


def _explained(error: yaml.MarkedYAMLError) -> str:
    problem = str(error.problem or "")
    return _EXPLAINED.get(problem) or " ".join(str(part) for part in (error.context, problem) if part)


def _start(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)
