"""Parser of ``vary``: the axes of a grid and their values, with positions.

An axis is checked twice: its name and its list while the file is parsed, and the effect of its values once the rest of
the file is known to be valid (:mod:`playbooks.parser.settings`).
"""

import json
import re
from collections.abc import Mapping as Table
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import yaml

from cluster_model.protocol.config_defs import SCOPES, Scope
from cluster_model.util.quantities import counted, listed, thousands
from playbooks.errors import nearest, shown
from playbooks.model.playbook import SEED, Cell, Grid, GridAxis
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import BAD, FieldType, Schema
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, found
from playbooks.parser.document.yaml_source import Sequence as Items

# Axes of a grid: the ``--set`` paths of a name, and their current values.
#
# A name is, in this order: a variable of the file; ``seed``, ``kafka`` or ``mode``; a Kafka configuration, which is
# applied wherever it fits; or a path as for ``--set``. A configuration that topics and brokers both have is set on the
# topics, whose value takes precedence. ``producers.config.NAME`` and the like apply it to all of them.


SHORT: Final = {"kafka": "cluster.kafka", "mode": "cluster.mode"}
CLIENTS: Final = ("producers", "groups")
_SCOPES: Final[dict[str, Scope]] = {
    "topics": "topic",
    "producers": "producer",
    "groups": "consumer",
    "cluster": "broker",
}
"""Path of a configuration → its scope."""
_TOP: Final = (
    "cluster",
    "topics",
    "clients",
    *CLIENTS,
    "settle",
    "seed",
    "stepping",
    "vars",
    "guards",
    "steps",
    "expect",
)


Variables = Table[str, Node]
_NONE: Final[Variables] = MappingProxyType({})


class AxisError(Exception):
    """A name without a target, or with several; the message says ``found ..., allowed ...``."""


def paths_of(name: str, root: Mapping, brought: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the ``--set`` paths of an axis; none for the seed. ``brought`` are variables of fragments.

    Raises:
        AxisError: it has no target, or several.
    """
    if name in variables(root) or name in brought:
        return (f"vars.{name}",)
    if name == SEED:
        return ()
    if name in SHORT:
        return (SHORT[name],)
    if any(name in SCOPES[scope] for scope in _SCOPES.values()):
        return _configuration(name, root)
    place, _config, rest = name.partition(".config.")
    if place in _SCOPES and rest:
        return _everywhere(place, rest, root)
    if name.split(".", maxsplit=1)[0] not in _TOP or not all(name.split(".")):
        raise AxisError(_unknown(name, root, brought))
    return (name,)


def variables(root: Mapping) -> tuple[str, ...]:
    """Return the names of the file's variables."""
    found = root.get("vars")
    return tuple(found.entries) if isinstance(found, Mapping) else ()


def values_at(name: str, root: Mapping, brought: Variables = _NONE) -> list[Node | None]:
    """Return the current node at each path of an axis, None for a missing one. ``brought`` are the values of variables.

    Raises:
        AxisError: it has no target, or several.
    """
    paths = paths_of(name, root, tuple(brought))
    return [brought[name]] if name in brought else [_at(root, path) for path in paths]


def _unknown(name: str, root: Mapping, brought: Sequence[str]) -> str:
    named = list(dict.fromkeys([*variables(root), *brought]))
    known = [*named, SEED, *SHORT, *[key for scope in _SCOPES.values() for key in SCOPES[scope]]]
    allowed = f"{SEED}, {', '.join(SHORT)}, a Kafka configuration such as acks, or a path such as cluster.brokers"
    own = f"the variables {listed(named, 'and')}, " if named else ""
    return f"found an axis {shown(name)} without a target, expected {own}{allowed}{nearest(name, known)}"


def _configuration(name: str, root: Mapping) -> tuple[str, ...]:
    places = [place for place, scope in _SCOPES.items() if name in SCOPES[scope]]
    if "topics" in places and "cluster" in places:
        places.remove("cluster")
    there = [place for place in places if place == "cluster" or _elements(root, place)]
    if not there:
        raise AxisError(f"found {shown(name)}, but the playbook has no {listed(places)} to set it on")
    if len(there) > 1:
        choices = listed([f"{place}.config.{name}" for place in there])
        raise AxisError(f"found {shown(name)}, which {listed(there, 'and')} have; choose one of {choices}")
    return _everywhere(there[0], name, root)


def _everywhere(section: str, name: str, root: Mapping) -> tuple[str, ...]:
    if section == "cluster":
        return (f"cluster.config.{name}",)
    elements = _elements(root, section)
    if not elements:
        raise AxisError(f"found {shown(name)} of {section}, but the playbook has none")
    prefix = f"clients.{section}" if section in CLIENTS else section
    return tuple(f"{prefix}.{each}.config.{name}" for each in elements)


def _elements(root: Mapping, section: str) -> list[str]:
    """Return the names that ``--set`` uses for list elements: by name, or by number if the name is unsuitable."""
    clients = root.get("clients")
    holder = (clients if isinstance(clients, Mapping) else None) if section in CLIENTS else root
    found = holder.get(section) if holder is not None else None
    if not isinstance(found, Items):
        return []
    return [_called(item, number) for number, item in enumerate(found.items, 1)]


def _called(item: Node, number: int) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    return name.text if isinstance(name, Scalar) and name.text and "." not in name.text else str(number)


def _at(root: Mapping, path: str) -> Node | None:
    parts = path.split(".")
    if parts[0] in CLIENTS:
        parts.insert(0, "clients")
    node: Node | None = root
    while parts and node is not None:
        if isinstance(node, Mapping):
            key = parts.pop(0)
            node = node.get(key)
            if key == "config":
                parts = [".".join(parts)] if parts else []
        elif isinstance(node, Items):
            node = _element(node, parts.pop(0))
        else:
            return None
    return node


def _element(node: Items, part: str) -> Node | None:
    for item in node.items:
        for key in ("name", "id"):
            value = item.get(key) if isinstance(item, Mapping) else None
            if isinstance(value, Scalar) and value.text == part:
                return item
    return node.items[int(part) - 1] if part.isdecimal() and 1 <= int(part) <= len(node.items) else None


MAX_CELLS: Final = 1_000
MAX_SETTINGS: Final = 200
"""Maximum number of cells that differ in more than their seed: each is parsed and checked like a file."""
CASES: Final = "cases"
_RANGE: Final = re.compile(r"([0-9]{1,18})\.\.([0-9]{1,18})", re.ASCII)
_SEED: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+/%:-]+", re.ASCII)


@dataclass(slots=True)
class GridNodes:
    """Nodes of a grid: of each axis' name, of its values, and of each case."""

    grid: Node
    axes: dict[str, tuple[Scalar, tuple[Node, ...]]] = field(default_factory=dict)
    cases: tuple[Node, ...] = ()


class VaryType(FieldType):
    """The mapping of axes; its value is the node, which :func:`read_grid` parses."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if isinstance(node, Mapping) or (isinstance(node, Scalar) and node.empty):
            return node
        notes.refuse(node, key, "a mapping of axes to lists of values, such as acks: [1, all]")
        return BAD

    def _schema(self) -> Schema:
        value: Schema = {"type": ["string", "number", "boolean", "array", "object"]}
        case = {"type": "object", "additionalProperties": value}
        axis = {"anyOf": [{"type": "array", "items": value, "minItems": 1}, value]}
        cases = {"type": "array", "items": case, "minItems": 1}
        return {"type": "object", "properties": {CASES: cases}, "additionalProperties": axis}


VARY: Final = VaryType()


def read_grid(node: Node, root: Mapping, notes: ErrorNotes, key: str = "vary") -> tuple[Grid, GridNodes] | None:
    """Return the grid with its nodes; None if it has no axis, or has errors."""
    node = VARY.read(node, key, notes)
    if not isinstance(node, Mapping) or not node.entries:
        return None
    before = len(notes.problems)
    places = GridNodes(node)
    axes: list[GridAxis] = []
    for name, (where, values) in node.entries.items():
        if name == CASES:
            continue
        _check_name(name, where, f"{key}.{shown(name)[1:-1]}", root, notes)
        axis = read_axis(name, where, values, places, notes, key)
        if axis is not None:
            axes.append(axis)
    cases = node.get(CASES)
    read = _cases(cases, places, root, notes, f"{key}.{CASES}") if cases is not None else ()
    grid = Grid(tuple(axes), read)
    for axis in axes:
        if any(axis.name == name for case in read for name, _value in case):
            notes.problem(places.axes[axis.name][0], f"{key}.{axis.name}", "found an axis that the cases have, too")
    if len(notes.problems) > before:
        return None
    check_size(grid, node, notes, key)
    return None if len(notes.problems) > before else (grid, places)


def check_size(grid: Grid, node: Node, notes: ErrorNotes, key: str) -> None:
    """Report a grid with too many cells."""
    settings = grid.without(SEED).size
    if grid.size > MAX_CELLS:
        notes.problem(node, key, f"found {counted(grid.size, 'cell')}, expected at most {thousands(MAX_CELLS)}")
    elif settings > MAX_SETTINGS:
        message = f"found {counted(settings, 'cell')} apart from seeds, expected at most {thousands(MAX_SETTINGS)}"
        notes.problem(node, key, message)


def read_axis(
    name: str, where: Scalar, values: Node, places: GridNodes, notes: ErrorNotes, key: str
) -> GridAxis | None:
    """Parse an axis with its values, each once; None if it has errors."""
    axis_key = f"{key}.{shown(name)[1:-1]}"
    items = values.items if isinstance(values, Items) else (values,)
    if not items or (len(items) == 1 and isinstance(items[0], Scalar) and items[0].empty):
        notes.refuse(values, axis_key, "a list of values, such as [1, all]")
        return None
    texts: dict[str, Node] = {}
    good = True
    for number, item in enumerate(items, 1):
        inside = f"{axis_key}[{number}]" if isinstance(values, Items) else axis_key
        for text in _texts(name, item, inside, notes):
            if text is None:
                good = False
            elif text in texts:
                message = f"found {shown(text)} twice, expected once (first in line {texts[text].line})"
                notes.problem(item, inside, message)
                good = False
            else:
                texts[text] = item
    places.axes[name] = (where, tuple(texts.values()))
    return GridAxis(name, tuple(texts)) if good else None


def _check_name(name: str, where: Scalar, key: str, root: Mapping, notes: ErrorNotes) -> None:
    try:
        paths_of(name, root, notes.variables)
    except AxisError as error:
        notes.problem(where, key, str(error))


def _texts(name: str, item: Node, key: str, notes: ErrorNotes) -> list[str | None]:
    """Return an element's value as text; for seeds all values of a range."""
    if name == SEED:
        return list(_seeds(item, key, notes))
    if isinstance(item, Scalar) and item.empty:
        notes.refuse(item, key, "a value")
        return [None]
    return [_quoted(item.text) if isinstance(item, Scalar) and _means_else(item) else text_of(item)]


def _seeds(item: Node, key: str, notes: ErrorNotes) -> list[str | None]:
    text = item.text.strip() if isinstance(item, Scalar) else ""
    span = _RANGE.fullmatch(text)
    if span is not None and int(span[1]) <= int(span[2]):
        count = int(span[2]) - int(span[1]) + 1
        if count <= MAX_CELLS:
            return [str(seed) for seed in range(int(span[1]), int(span[2]) + 1)]
        notes.problem(item, key, f"found {thousands(count)} seeds, expected at most {thousands(MAX_CELLS)}")
        return [None]
    if _SEED.fullmatch(text):
        return [str(int(text))]
    notes.problem(item, key, f"found {found(item)}, expected whole numbers and ranges such as 1..20")
    return [None]


def _means_else(node: Scalar) -> bool:
    """Return whether a quoted text would have another meaning, or none, without quotes."""
    if node.plain:
        return False
    try:
        parsed = yaml.safe_load(node.text)
    except (yaml.YAMLError, ValueError):
        return True
    if isinstance(parsed, str):
        return node.text.startswith(('"', "'"))
    return not isinstance(parsed, (bool, int, float)) or json.dumps(parsed) != node.text


def text_of(node: Node) -> str:
    """Return a value as for ``--set``: a scalar as written, anything else on one line."""
    return node.text if isinstance(node, Scalar) else _flow(node)


def _flow(node: Node) -> str:
    if isinstance(node, Items):
        return f"[{', '.join(map(_flow, node.items))}]"
    if isinstance(node, Mapping):
        return f"{{{', '.join(f'{_quoted(key)}: {_flow(value)}' for key, (_, value) in node.entries.items())}}}"
    return node.text if node.plain and _PLAIN.fullmatch(node.text) else _quoted(node.text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)
    return f'"{plain}"'


def _cases(node: Node, places: GridNodes, root: Mapping, notes: ErrorNotes, key: str) -> tuple[Cell, ...]:
    if not isinstance(node, Items) or not node.items:
        notes.refuse(node, key, "a list of mappings of axes to values, such as {acks: 1, kafka: 0.10.2}")
        return ()
    cases: dict[Cell, Node] = {}
    first: tuple[str, ...] = ()
    for number, item in enumerate(node.items, 1):
        case_key = f"{key}[{number}]"
        case = _case(item, root, notes, case_key)
        if case is None:
            continue
        names = tuple(sorted(name for name, _value in case))
        first = first or names
        if names != first:
            notes.problem(item, case_key, f"found the axes {', '.join(names)}, expected {', '.join(first)} as before")
        elif case in cases:
            notes.problem(item, case_key, f"found the case twice, expected once (first in line {cases[case].line})")
        else:
            cases[case] = item
    places.cases = tuple(cases.values())
    return tuple(cases)


def _case(node: Node, root: Mapping, notes: ErrorNotes, key: str) -> Cell | None:
    if not isinstance(node, Mapping) or not node.entries:
        notes.refuse(node, key, "a mapping of axes to values, such as {acks: 1, kafka: 0.10.2}")
        return None
    pairs: list[tuple[str, str]] = []
    good = True
    for name, (where, value) in node.entries.items():
        inside = f"{key}.{shown(name)[1:-1]}"
        before = len(notes.problems)
        _check_name(name, where, inside, root, notes)
        texts = _texts(name, value, inside, notes)
        if name == SEED and len(texts) > 1:
            notes.problem(value, inside, "found a range, expected one seed in a case")
        good = good and len(notes.problems) == before
        pairs += [(name, text) for text in texts[:1] if text is not None]
    return tuple(sorted(pairs)) if good else None


def from_option(text: str, root: Mapping, notes: ErrorNotes) -> tuple[GridAxis, GridNodes] | None:
    """Parse the axis of ``--vary acks=1,all``; None if it has errors. Positions are those in the option's text."""
    from playbooks.errors import PlaybookError  # noqa: PLC0415
    from playbooks.parser.document.yaml_source import compose  # noqa: PLC0415

    name, equals, values = text.partition("=")
    option = Scalar(1, 1, text, True, 1)
    if not equals or not name or not values.strip():
        notes.problem(option, "", f"--vary takes axis=value,value such as acks=1,all, found {shown(text)}")
        return None
    try:
        node, problems = compose(f"[{values}]", notes.path)
    except PlaybookError:
        problems, node = [], option
    if problems or not isinstance(node, Items):
        notes.problem(option, "", f"--vary {name}: {shown(values)} is not a list of YAML values")
        return None
    _check_name(name, option, name, root, notes)
    before = len(notes.problems)
    places = GridNodes(option)
    axis = read_axis(name, option, replace(node), places, notes, "")
    return (axis, places) if axis is not None and len(notes.problems) == before else None
