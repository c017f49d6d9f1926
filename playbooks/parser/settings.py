"""Changes single values of a playbook's text: ``--set cluster.kafka=0.10.2``.

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
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import yaml

from cluster_model.protocol.config_defs import SCOPES
from playbooks.errors import listed, nearest, shown
from playbooks.parser.document.includes import JOINED

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
    root = yaml.compose(text, yaml.SafeLoader)
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
    from playbooks.parser.playbook_keys import PLAYBOOK  # noqa: PLC0415 - the loader checks grids, whose cells are settings

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
        there = _at(yaml.compose(text, yaml.SafeLoader), parts[:length])
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
    names = [name for name, _ in _named(node)]
    known = listed(names) if names else f"elements 1 to {len(node.value)}"
    raise setting.error(f"there is no {shown(part)} here, only {known}{nearest(part, names)}")


def _find(node: yaml.SequenceNode, part: str) -> yaml.Node | None:
    """The element of a list by its name or id, or by its number from 1."""
    for name, element in _named(node):
        if name == part:
            return element
    if part.isascii() and part.isdigit() and len(part) < 9 and 1 <= int(part) <= len(node.value):
        numbered: yaml.Node = node.value[int(part) - 1]
        return numbered
    return None


def _named(node: yaml.SequenceNode) -> list[tuple[str, yaml.Node]]:
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
