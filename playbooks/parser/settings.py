"""Changes of single values of a playbook's text (``--set cluster.kafka=0.10.2``), also for each cell of a grid.

The text is edited in place, so that comments, order and line numbers stay as their author left them, and the changed
text can be stored with the session and run again.

A path consists of keys joined by dots. List elements are selected by ``name`` (or ``id``), or by number from 1;
everything after ``config`` or ``to_config`` is one key, since Kafka's names have dots. ``producers`` and ``groups`` may
be written without ``clients`` in front, and variables (``pause``) without ``vars``. A value in quotes is a string.

Values in a fragment cannot be changed: the fragment is another file, and may be included by others. Use a
variable of the fragment.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import yaml

from cluster_model.protocol.config_defs import SCOPES
from cluster_model.util.quantities import counted, listed
from playbooks.errors import PlaybookError, nearest, shown
from playbooks.model.playbook import SEED, Cell, Grid, cell_label, value_label
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.grid import CASES, GridNodes, paths_of
from playbooks.parser.document.includes import JOINED
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, syntax_tree

_CONFIGS: Final = ("config", "to_config")
_CLIENTS: Final = ("producers", "groups")
_PLACES: Final = {"broker": "cluster", "topic": "topics.NAME", "producer": "producers.NAME", "consumer": "groups.NAME"}
"""Scope of a configuration → its path."""

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./%+-]*|-[0-9]+", re.ASCII)
_LIST: Final = re.compile(r"\[[A-Za-z0-9_./%+,\[\] -]*\]", re.ASCII)
"""A list that needs no quotes in a file."""


class SettingError(Exception):
    """A setting that cannot be applied; the message repeats it and says what is allowed."""


def parse_setting(text: str) -> tuple[str, str]:
    """Parse ``path=value``. Raises :class:`SettingError`."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip(".") or not all(path.split(".")):
        raise SettingError(f"--set takes key=value such as cluster.kafka=0.10.2, found {shown(text)}")
    return path, value


def apply_settings(
    text: str,
    settings: Mapping[str, str],
    fragments: Mapping[str, str] = MappingProxyType({}),
    variables: Sequence[str] = (),
) -> str:
    """Return the playbook's text with all settings applied, in order. ``text`` must be valid YAML.

    ``fragments`` and ``variables`` are those of the playbook, including fragments at its head.

    Raises:
        SettingError: a path without a target, or a value that is not YAML.
    """
    for path, value in settings.items():
        text = _apply(text, path, value, fragments, variables)
    return text


def _apply(text: str, path: str, value: str, fragments: Mapping[str, str], variables: Sequence[str]) -> str:
    parts = path.split(".")
    if parts[0] in _CLIENTS:
        parts.insert(0, "clients")
    root = syntax_tree(text)
    if not isinstance(root, yaml.MappingNode):
        raise SettingError(f"--set {path}: the playbook is not a mapping")
    setting = _Setting(path, value)
    _refuse_bare_configuration(path, root, setting)
    parts = _of_variable(parts, root, variables, setting)
    _check_reach(parts, root, fragments, setting)
    return _set(text, root, parts, setting)


def _refuse_bare_configuration(path: str, root: yaml.MappingNode, setting: "_Setting") -> None:
    """Reject a Kafka configuration without the path where it belongs."""
    places = [f"{_PLACES[scope]}.config.{path}" for scope, keys in SCOPES.items() if path in keys]
    if places and path not in _names_in(_child_of(root, "vars")):
        raise setting.error(
            f"set it where it belongs, as in {listed(places)}; or everywhere with --vary {path}={setting.value}"
        )


def _of_variable(parts: list[str], root: yaml.MappingNode, variables: Sequence[str], setting: "_Setting") -> list[str]:
    """Return the path of a variable, if one is meant; other paths are unchanged."""
    from playbooks.parser.loader import PLAYBOOK  # noqa: PLC0415 - the loader checks grids, whose cells are settings

    variable_names = list(dict.fromkeys([*variables, *_names_in(_child_of(root, "vars"))]))
    if parts[0] == "include":
        raise setting.error("includes cannot be set; use a variable of the fragment")
    if parts[0] == "vars":
        if len(parts) != 2 or parts[1] not in variable_names:
            have = f"the playbook has {listed(variable_names, 'and')}" if variable_names else "the playbook has none"
            hint = nearest(".".join(parts[1:]), variable_names)
            raise setting.error(f"there is no variable {shown('.'.join(parts[1:]))}, {have}{hint}")
    elif len(parts) == 1 and parts[0] in variable_names:
        parts = ["vars", *parts]
    elif variable_names and len(parts) == 1 and parts[0] not in PLAYBOOK.keys:
        hint = nearest(parts[0], [*variable_names, *PLAYBOOK.keys])
        raise setting.error(
            f"there is no key and no variable {shown(parts[0])}{hint}; variables: {', '.join(variable_names)}"
        )
    setting.verbatim = parts[0] == "vars"
    return parts


def _check_reach(parts: list[str], root: yaml.Node, fragments: Mapping[str, str], setting: "_Setting") -> None:
    """Reject paths into a fragment: topics, clients and expectations by name, steps by number."""
    length = 2 if parts[0] == "clients" else 1
    if ".".join(parts[:length]) not in JOINED or len(parts) <= length or not fragments:
        return
    own, name = _at(root, parts[:length]), parts[length]
    if own is not None and _find(own, name) is not None:
        return
    for path, text in fragments.items():
        there = _at(syntax_tree(text), parts[:length])
        if there is not None and _find(there, name) is not None:
            raise setting.error(
                f"{shown('.'.join(parts[: length + 1]))} is in the fragment {path}, which --set does not reach; "
                "write ${NAME} there, declare NAME under its 'vars', and set that variable"
            )


def _at(root: yaml.Node | None, parts: Sequence[str]) -> yaml.SequenceNode | None:
    for part in parts:
        root = _child_of(root, part)
    return root if isinstance(root, yaml.SequenceNode) else None


def _child_of(node: yaml.Node | None, name: str) -> yaml.Node | None:
    found = _child(node, [name]) if isinstance(node, yaml.MappingNode) else None
    return found[1] if found else None


def _names_in(node: yaml.Node | None) -> list[str]:
    return [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []


class _Setting:
    """One setting that is being applied."""

    def __init__(self, path: str, value: str) -> None:
        self.path = path
        self.verbatim = False
        """Whether the value is inserted as typed, as for variables, which have no type."""
        try:
            self.parsed = yaml.safe_load(value) if value else ""
        except yaml.YAMLError:
            raise SettingError(f"--set {path}: {shown(value)} is not a YAML value") from None
        self.is_text = isinstance(self.parsed, str) and value.lstrip().startswith(('"', "'"))
        """Whether it was typed in quotes, so that it is a string."""
        self.value = self.parsed if self.is_text else value

    def written(self, *, quoted: bool) -> str:
        """Return the value as inserted into the text: strings in quotes, so that they stay strings."""
        typed = self.value.strip()
        if self.verbatim and not (quoted or self.is_text) and (_WORD.fullmatch(typed) or _LIST.fullmatch(typed)):
            return typed
        if quoted or self.is_text or self.path.endswith("kafka"):
            return json.dumps(self.value, ensure_ascii=False)
        if isinstance(self.parsed, (list, dict)):
            return yaml.safe_dump(self.parsed, default_flow_style=True, width=1 << 30, allow_unicode=True).strip()
        plain = isinstance(self.parsed, (bool, int, float)) or self.parsed is None
        return json.dumps(self.parsed if plain else self.value, ensure_ascii=False)

    def error(self, message: str) -> SettingError:
        """Return an error about this setting."""
        return SettingError(f"--set {self.path}: {message}")


def _set(text: str, node: yaml.Node, parts: list[str], setting: _Setting) -> str:
    while parts:
        if isinstance(node, yaml.SequenceNode):
            node = _element(node, parts[0], setting)
            parts = parts[1:]
            continue
        if not isinstance(node, yaml.MappingNode):
            raise setting.error(f"there is no key {parts[0]!r} in a single value; expected a mapping or a list")
        child = _child(node, parts)
        if child is None:
            return _insert(text, node, parts, setting)
        key, node, parts = child
        if key in _CONFIGS and len(parts) > 1:
            parts = [".".join(parts)]
        if isinstance(node, yaml.ScalarNode) and parts and node.value == "":
            return _splice(text, node, " " + _nested(parts, setting))
    return _replace(text, node, setting)


def _child(node: yaml.MappingNode, parts: list[str]) -> tuple[str, yaml.Node, list[str]] | None:
    for key, value in node.value:
        if key.value == parts[0]:
            return key.value, value, parts[1:]
    return None


def _element(node: yaml.SequenceNode, part: str, setting: _Setting) -> yaml.Node:
    chosen = _find(node, part)
    if chosen is not None:
        return chosen
    names = [name for name, _ in _named_elements(node)]
    known = listed(names) if names else f"elements 1 to {len(node.value)}"
    raise setting.error(f"there is no {shown(part)} here, only {known}{nearest(part, names)}")


def _find(node: yaml.SequenceNode, part: str) -> yaml.Node | None:
    """Return the element of a list by its name or id, or by its number from 1."""
    for name, element in _named_elements(node):
        if name == part:
            return element
    if part.isascii() and part.isdigit() and len(part) < 9 and 1 <= int(part) <= len(node.value):
        numbered: yaml.Node = node.value[int(part) - 1]
        return numbered
    return None


def _named_elements(node: yaml.SequenceNode) -> list[tuple[str, yaml.Node]]:
    """Return the elements that have a name or an id."""
    elements: list[tuple[str, yaml.Node]] = []
    for element in node.value:
        if isinstance(element, yaml.MappingNode):
            elements += [
                (value.value, element)
                for key, value in element.value
                if key.value in ("name", "id") and isinstance(value, yaml.ScalarNode)
            ][:1]
    return elements


def _insert(text: str, node: yaml.MappingNode, parts: list[str], setting: _Setting) -> str:
    """Insert a new key first into its mapping, where position and indentation are known."""
    entry = _nested(parts, setting)[1:-1]
    if node.flow_style or not node.value:
        at = node.start_mark.index + 1
        return f"{text[:at]}{entry}{', ' if node.value else ''}{text[at:]}"
    first = node.value[0][0].start_mark
    return f"{text[: first.index]}{entry}\n{' ' * first.column}{text[first.index :]}"


def _nested(parts: list[str], setting: _Setting) -> str:
    if parts[0] in _CONFIGS and len(parts) > 1:
        parts = [parts[0], ".".join(parts[1:])]
    written = setting.written(quoted=False)
    for part in reversed(parts):
        written = "{" + f"{_key(part)}: {written}" + "}"
    return written


def _key(name: str) -> str:
    return name if name.replace(".", "").replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def _replace(text: str, node: yaml.Node, setting: _Setting) -> str:
    if isinstance(node, yaml.ScalarNode):
        if node.style in ("|", ">"):
            raise setting.error("a string of several lines cannot be set with --set")
        space = " " if node.start_mark.index == node.end_mark.index else ""
        return _splice(text, node, space + setting.written(quoted=node.style in ("'", '"')))
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        return _splice(text, node, setting.written(quoted=False))
    raise setting.error("there is a block of values here; set one of them")


def _splice(text: str, node: yaml.Node, new: str) -> str:
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    return text[:start] + new + text[end:]


# From a playbook with a grid to the text of each of its cells: with the cell's settings, without the grid.
#
# A cell's text is a complete playbook. It is recorded with its session, so that each can be replayed alone.


NOTHING: Final = "{}"


def settings_of(cell: Cell, root: YamlMapping, brought: Sequence[str] = ()) -> dict[str, str]:
    """Return the ``--set`` paths of a cell with their values, without the seed.

    ``root`` is the playbook's tree, ``brought`` are the variables of its fragments.

    Raises:
        AxisError: an axis without a target.
    """
    return {path: value for name, value in cell for path in paths_of(name, root, brought)}


def seed_of(cell: Cell) -> int | None:
    """Return the seed of a cell, None for the playbook's own."""
    return next((int(value) for name, value in cell if name == SEED), None)


def cell_text(
    text: str,
    settings: Mapping[str, str],
    fragments: Mapping[str, str] = MappingProxyType({}),
    variables: Sequence[str] = (),
) -> str:
    """Return the playbook's text with a cell's settings, and with an empty grid; line numbers are unchanged.

    Raises:
        SettingError: a path without a target, or a grid whose anchors the rest of the file uses.
    """
    try:
        return apply_settings(without_grid(text), settings, fragments, variables)
    except yaml.YAMLError:
        raise SettingError("vary: one of its anchors is used outside of it, which cells do not have") from None


def without_grid(text: str) -> str:
    """Return the text with an empty ``vary``; unchanged if there is none."""
    root = syntax_tree(text)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "vary" and isinstance(value, yaml.MappingNode):
            start, end = value.start_mark.index, value.end_mark.index
            lines = "\n" * text.count("\n", start, end)
            return text[:start] + NOTHING + lines + text[end:]
    return text


# Validation of a grid: every cell is parsed as a playbook; errors are reported at the axis.
#
# A value that is invalid in every cell is reported once, at its position. Errors of combinations are reported for the
# cell.


TOLD: Final = 10
"""Maximum number of invalid cells that are reported individually."""

Part = Cell
"""One value of one axis, or a case."""


def check_cells(
    grid: Grid, places: GridNodes, load: Callable[[Mapping[str, str]], object], notes: ErrorNotes
) -> None:  # fmt: skip
    """Report the errors in the cells of a grid. ``load`` parses the playbook with a cell's settings."""
    if notes.root is None:
        return
    checker = _Checker(notes.root, notes.variables, load)
    plain = grid.without(SEED)
    invalid = {cell: message for cell in plain.cells() if cell and (message := checker.why(_without_seed(cell)))}
    if not invalid:
        return
    explained: set[Cell] = set()
    for part, key, node in _parts(plain, places):
        of_it = [cell for cell in plain.cells() if _has(cell, part)]
        blamed = checker.blamed(part, of_it, plain) if of_it and all(cell in invalid for cell in of_it) else ""
        if blamed:
            notes.problem(node, key, f"found {_axis_value_name(part, key)}, which is invalid: {blamed}")
            explained.update(of_it)
    unexplained = [cell for cell in invalid if cell not in explained]
    for cell in unexplained[:TOLD]:
        notes.problem(places.grid, "vary", f"found the cell {cell_label(cell)}, which is invalid: {invalid[cell]}")
    if len(unexplained) > TOLD:
        notes.problem(places.grid, "vary", f"found {counted(len(unexplained) - TOLD, 'more invalid cell')}")


class _Checker:
    """Parser of cells, each parsed once."""

    def __init__(
        self, root: YamlMapping, variables: Sequence[str], load: Callable[[Mapping[str, str]], object]
    ) -> None:
        self._root = root
        self._variables = variables
        self._load = load
        self._messages: dict[Cell, str] = {}

    def why(self, cell: Cell) -> str:
        """Return the error of a cell; empty if it is valid."""
        if cell not in self._messages:
            self._messages[cell] = self._try(cell)
        return self._messages[cell]

    def _try(self, cell: Cell) -> str:
        try:
            self._load(settings_of(cell, self._root, self._variables))
        except SettingError as error:
            return str(error).removeprefix("--set ")
        except PlaybookError as error:
            first = error.problems[0]
            more = len(error.problems) - 1
            rest = f" (and {counted(more, 'more error')})" if more else ""
            return f"{first.key}: {first.message}{rest}" if first.key else f"{first.message}{rest}"
        return ""

    def blamed(self, part: Part, cells: Iterable[Cell], grid: Grid) -> str:
        """Return the error of a part that is invalid in all of its cells; empty if something else is to blame."""
        if alone := self.why(part):
            return alone
        others = {other for cell in cells for other in _parts_of(cell, grid) if other != part}
        if any(self.why(other) for other in sorted(others)):
            return ""
        return next((self.why(cell) for cell in cells), "")


def _parts(grid: Grid, places: GridNodes) -> Iterable[tuple[Part, str, Node]]:
    """Yield each value and case with its key and its node."""
    for number, (case, node) in enumerate(zip(grid.cases, places.cases, strict=False), 1):
        yield case, f"vary.{CASES}[{number}]", node
    for axis in grid.axes:
        _where, nodes = places.axes[axis.name]
        for number, (value, node) in enumerate(zip(axis.values, nodes, strict=False), 1):
            yield ((axis.name, value),), f"vary.{axis.name}[{number}]", node


def _parts_of(cell: Cell, grid: Grid) -> list[Part]:
    cases = [case for case in grid.cases if _has(cell, case)]
    axes = [(pair,) for pair in cell if any(axis.name == pair[0] for axis in grid.axes)]
    return [*cases, *axes]


def _has(cell: Cell, part: Part) -> bool:
    return all(pair in cell for pair in part)


def _without_seed(cell: Cell) -> Cell:
    return tuple(pair for pair in cell if pair[0] != SEED)


def _axis_value_name(part: Part, key: str) -> str:
    return shown(value_label(part[0][1])) if not key.startswith(f"vary.{CASES}") else cell_label(part)
