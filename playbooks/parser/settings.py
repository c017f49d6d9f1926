"""Changes single values of a playbook's text (``--set cluster.kafka=0.10.2``), also for each cell of a grid.

The text is edited in place rather than written anew, so that comments, order and line numbers stay as their author
left them, and the changed text can be kept with the session and run again.

A path is made of keys joined by dots. Elements of lists go by their ``name`` (or ``id``), or by their number from 1;
whatever follows ``config`` is one key, since Kafka's own names have dots in them. ``producers`` and ``groups`` may be
written without ``clients`` in front, and variables (``pause``) without ``vars``. A value in quotes is the text in them.

What a fragment brings is not reached: the fragment is another file, and may be included by others. It is changed by a
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
from playbooks.model.playbook import SEED, Cell, Grid, cell_words, value_words
from playbooks.parser.document.context import Notes
from playbooks.parser.document.grid import CASES, GridNodes, paths_of
from playbooks.parser.document.includes import JOINED
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, syntax_tree

_CLIENTS: Final = ("producers", "groups")
_PLACES: Final = {"broker": "cluster", "topic": "topics.NAME", "producer": "producers.NAME", "consumer": "groups.NAME"}
"""Scope of a configuration → where it stands."""

_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./%+-]*|-[0-9]+", re.ASCII)
_LIST: Final = re.compile(r"\[[A-Za-z0-9_./%+,\[\] -]*\]", re.ASCII)
"""What means the same plain in a file as where it was typed."""


class SettingError(Exception):
    """A setting that cannot be made; the message repeats it and says what is possible."""


def parse_setting(text: str) -> tuple[str, str]:
    """Path and value of ``path=value``. Raises :class:`SettingError`."""
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
    """The playbook's text with every setting made, in order. ``text`` must be YAML already found to be sound.

    ``fragments`` and ``variables`` are those of the playbook: of fragments at its head, too.

    Raises:
        SettingError: a path that leads nowhere, or a value that is not YAML.
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
        raise SettingError(f"--set {path}: the playbook is no mapping")
    setting = _Setting(path, value)
    _refuse_bare_configuration(path, root, setting)
    parts = _of_variable(parts, root, variables, setting)
    _check_reach(parts, root, fragments, setting)
    return _set(text, root, parts, setting)


def _refuse_bare_configuration(path: str, root: yaml.MappingNode, setting: "_Setting") -> None:
    """Refuse one of Kafka's configurations without the place where it is to be set."""
    places = [f"{_PLACES[scope]}.config.{path}" for scope, keys in SCOPES.items() if path in keys]
    if places and path not in _names_in(_child_of(root, "vars")):
        raise setting.error(
            f"it is set where it belongs, as in {listed(places)}; everywhere at once with --vary {path}={setting.value}"
        )


def _of_variable(parts: list[str], root: yaml.MappingNode, variables: Sequence[str], setting: "_Setting") -> list[str]:
    """The path of a variable, where one is meant; any other path as it is."""
    from playbooks.parser.loader import PLAYBOOK  # noqa: PLC0415 - the loader checks grids, whose cells are settings

    known = list(dict.fromkeys([*variables, *_names_in(_child_of(root, "vars"))]))
    if parts[0] == "include":
        raise setting.error("which fragments there are cannot be set; a variable can say what one does")
    if parts[0] == "vars":
        if len(parts) != 2 or parts[1] not in known:
            have = f"the playbook has {listed(known, 'and')}" if known else "the playbook has none"
            hint = nearest(".".join(parts[1:]), known)
            raise setting.error(f"there is no variable {shown('.'.join(parts[1:]))}, {have}{hint}")
    elif len(parts) == 1 and parts[0] in known:
        parts = ["vars", *parts]
    elif known and len(parts) == 1 and parts[0] not in PLAYBOOK.keys:
        hint = nearest(parts[0], [*known, *PLAYBOOK.keys])
        raise setting.error(f"there is no key and no variable {shown(parts[0])}{hint}; variables: {', '.join(known)}")
    setting.verbatim = parts[0] == "vars"
    return parts


def _check_reach(parts: list[str], root: yaml.Node, fragments: Mapping[str, str], setting: "_Setting") -> None:
    """Refuse what only a fragment has: topics, clients and expectations by name, steps by number."""
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
    """A value on its way to its place."""

    def __init__(self, path: str, value: str) -> None:
        self.path = path
        self.verbatim = False
        """Whether the value goes into the file as it was typed: a variable may be anything."""
        try:
            self.parsed = yaml.safe_load(value) if value else ""
        except yaml.YAMLError:
            raise SettingError(f"--set {path}: {shown(value)} is not a YAML value") from None
        self.is_text = isinstance(self.parsed, str) and value.lstrip().startswith(('"', "'"))
        """Whether it was typed in quotes: a text, whatever it would be without them."""
        self.value = self.parsed if self.is_text else value

    def written(self, *, quoted: bool) -> str:
        """The value as it goes into the text: texts in quotes, so that they mean the same wherever they stand."""
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
        """An error about this setting."""
        return SettingError(f"--set {self.path}: {message}")


def _set(text: str, node: yaml.Node, parts: list[str], setting: _Setting) -> str:
    while parts:
        if isinstance(node, yaml.SequenceNode):
            node = _element(node, parts[0], setting)
            parts = parts[1:]
            continue
        if not isinstance(node, yaml.MappingNode):
            raise setting.error(f"{parts[0]!r} cannot be found inside a single value")
        found = _child(node, parts)
        if found is None:
            return _insert(text, node, parts, setting)
        key, node, parts = found
        if key == "config" and len(parts) > 1:
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
    """The element of a list by its name or id, or by its number from 1."""
    for name, element in _named_elements(node):
        if name == part:
            return element
    if part.isascii() and part.isdigit() and len(part) < 9 and 1 <= int(part) <= len(node.value):
        numbered: yaml.Node = node.value[int(part) - 1]
        return numbered
    return None


def _named_elements(node: yaml.SequenceNode) -> list[tuple[str, yaml.Node]]:
    """The elements that have a name or an id."""
    found: list[tuple[str, yaml.Node]] = []
    for element in node.value:
        if isinstance(element, yaml.MappingNode):
            found += [
                (value.value, element)
                for key, value in element.value
                if key.value in ("name", "id") and isinstance(value, yaml.ScalarNode)
            ][:1]
    return found


def _insert(text: str, node: yaml.MappingNode, parts: list[str], setting: _Setting) -> str:
    """Put a new key first into its mapping: there the place and the indentation are known."""
    entry = _nested(parts, setting)[1:-1]
    if node.flow_style or not node.value:
        at = node.start_mark.index + 1
        return f"{text[:at]}{entry}{', ' if node.value else ''}{text[at:]}"
    first = node.value[0][0].start_mark
    return f"{text[: first.index]}{entry}\n{' ' * first.column}{text[first.index :]}"


def _nested(parts: list[str], setting: _Setting) -> str:
    if parts[0] == "config" and len(parts) > 1:
        parts = ["config", ".".join(parts[1:])]
    written = setting.written(quoted=False)
    for part in reversed(parts):
        written = "{" + f"{_key(part)}: {written}" + "}"
    return written


def _key(name: str) -> str:
    return name if name.replace(".", "").replace("_", "").replace("-", "").isalnum() else json.dumps(name)


def _replace(text: str, node: yaml.Node, setting: _Setting) -> str:
    if isinstance(node, yaml.ScalarNode):
        if node.style in ("|", ">"):
            raise setting.error("a text of several lines cannot be set from here")
        space = " " if node.start_mark.index == node.end_mark.index else ""
        return _splice(text, node, space + setting.written(quoted=node.style in ("'", '"')))
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        return _splice(text, node, setting.written(quoted=False))
    raise setting.error("there is a whole block of values here; name one of them")


def _splice(text: str, node: yaml.Node, new: str) -> str:
    start: int = node.start_mark.index
    end: int = node.end_mark.index
    return text[:start] + new + text[end:]


# From a playbook with a grid to the text of each of its cells: the cell's settings made, and no grid any more.
#
# A cell's text is a playbook of its own. It is recorded with its session, so that each can be replayed alone.


NOTHING: Final = "{}"


def settings_of(cell: Cell, root: YamlMapping, brought: Sequence[str] = ()) -> dict[str, str]:
    """The ``--set`` paths of a cell with their values; the seed is none of them.

    ``root`` is the playbook's tree, ``brought`` are the variables of its fragments.

    Raises:
        AxisError: an axis that leads nowhere.
    """
    return {path: value for name, value in cell for path in paths_of(name, root, brought)}


def seed_of(cell: Cell) -> int | None:
    """The seed that the cell asks for, None for the playbook's own."""
    return next((int(value) for name, value in cell if name == SEED), None)


def cell_text(
    text: str,
    settings: Mapping[str, str],
    fragments: Mapping[str, str] = MappingProxyType({}),
    variables: Sequence[str] = (),
) -> str:
    """The playbook's text with a cell's settings, and with an empty grid; lines stay where they are.

    Raises:
        SettingError: a path that leads nowhere, or a grid whose anchors the rest of the file uses.
    """
    try:
        return apply_settings(without_grid(text), settings, fragments, variables)
    except yaml.YAMLError:
        raise SettingError("vary: an anchor in it is used outside of it, where a cell has none") from None


def without_grid(text: str) -> str:
    """The text with an empty ``vary``; the same where there is none."""
    root = syntax_tree(text)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "vary" and isinstance(value, yaml.MappingNode):
            start, end = value.start_mark.index, value.end_mark.index
            lines = "\n" * text.count("\n", start, end)
            return text[:start] + NOTHING + lines + text[end:]
    return text


# Reads every cell of a grid as the playbook that it will be; mistakes are reported at the axis.
#
# A value that no cell can live with is told once, where it stands. What goes wrong only in company is told as the
# cell.


TOLD: Final = 10
"""Cells that are told one by one."""

Part = Cell
"""One value of one axis, or a case."""


def check_cells(
    grid: Grid, places: GridNodes, load: Callable[[Mapping[str, str]], object], notes: Notes
) -> None:  # fmt: skip
    """Note what is wrong with the cells of a grid. ``load`` reads the playbook with a cell's settings."""
    if notes.root is None:
        return
    checker = _Checker(notes.root, notes.variables, load)
    plain = grid.without(SEED)
    wrong = {cell: message for cell in plain.cells() if cell and (message := checker.why(_without_seed(cell)))}
    if not wrong:
        return
    explained: set[Cell] = set()
    for part, key, node in _parts(plain, places):
        of_it = [cell for cell in plain.cells() if _has(cell, part)]
        blamed = checker.blamed(part, of_it, plain) if of_it and all(cell in wrong for cell in of_it) else ""
        if blamed:
            notes.problem(node, key, f"found {_axis_value_name(part, key)}, with which {blamed}")
            explained.update(of_it)
    rest = [cell for cell in wrong if cell not in explained]
    for cell in rest[:TOLD]:
        notes.problem(places.whole, "vary", f"found the cell {cell_words(cell)}, in which {wrong[cell]}")
    if len(rest) > TOLD:
        notes.problem(places.whole, "vary", f"found {counted(len(rest) - TOLD, 'more cell')} that cannot be run")


class _Checker:
    """Loads cells, each once."""

    def __init__(
        self, root: YamlMapping, variables: Sequence[str], load: Callable[[Mapping[str, str]], object]
    ) -> None:
        self._root = root
        self._variables = variables
        self._load = load
        self._known: dict[Cell, str] = {}

    def why(self, cell: Cell) -> str:
        """Why a cell is no playbook; empty when it is one."""
        if cell not in self._known:
            self._known[cell] = self._try(cell)
        return self._known[cell]

    def _try(self, cell: Cell) -> str:
        try:
            self._load(settings_of(cell, self._root, self._variables))
        except SettingError as error:
            return str(error).removeprefix("--set ")
        except PlaybookError as error:
            first = error.problems[0]
            more = len(error.problems) - 1
            rest = f" (and {counted(more, 'more mistake')})" if more else ""
            return f"{first.key}: {first.message}{rest}" if first.key else f"{first.message}{rest}"
        return ""

    def blamed(self, part: Part, cells: Iterable[Cell], grid: Grid) -> str:
        """Why a part is wrong that none of its cells can live with; empty where something else fails alone."""
        if alone := self.why(part):
            return alone
        others = {other for cell in cells for other in _parts_of(cell, grid) if other != part}
        if any(self.why(other) for other in sorted(others)):
            return ""
        return next((self.why(cell) for cell in cells), "")


def _parts(grid: Grid, places: GridNodes) -> Iterable[tuple[Part, str, Node]]:
    """Each value and case with its key and its place."""
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
    return shown(value_words(part[0][1])) if not key.startswith(f"vary.{CASES}") else cell_words(part)
