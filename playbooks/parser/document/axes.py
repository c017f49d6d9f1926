"""What an axis of a grid stands for: the ``--set`` paths behind its name, and the values that are there now.

A name is, in this order: a variable of the file; ``seed``, ``kafka`` or ``mode``; one of Kafka's configurations,
meaning it wherever it fits; or a path as ``--set`` takes it. A configuration that topics and brokers both have is set
on the topics, whose own value is the one that counts. ``producers.config.NAME`` and its like mean it on all of them.
"""

from collections.abc import Mapping as Table
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from cluster_model.protocol.config_defs import SCOPES, Scope
from playbooks.errors import listed, nearest, shown
from playbooks.model.grid import SEED
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar
from playbooks.parser.document.yaml_source import Sequence as Items

SHORT: Final = {"kafka": "cluster.kafka", "mode": "cluster.mode"}
CLIENTS: Final = ("producers", "groups")
_SCOPES: Final[dict[str, Scope]] = {
    "topics": "topic",
    "producers": "producer",
    "groups": "consumer",
    "cluster": "broker",
}
"""Where a configuration stands → the scope whose names it takes."""
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
    """A name that leads nowhere, or to more than one place; the message says ``found ..., allowed ...``."""


def paths_of(name: str, root: Mapping, brought: Sequence[str] = ()) -> tuple[str, ...]:
    """The ``--set`` paths behind an axis; none for the seed. ``brought`` are variables of fragments.

    Raises:
        AxisError: it leads nowhere, or to more than one place.
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
    """Names of the file's variables."""
    found = root.get("vars")
    return tuple(found.entries) if isinstance(found, Mapping) else ()


def values_at(name: str, root: Mapping, brought: Variables = _NONE) -> list[Node | None]:
    """What stands at each path of an axis now, None where nothing does. ``brought`` are the values of variables.

    Raises:
        AxisError: it leads nowhere, or to more than one place.
    """
    paths = paths_of(name, root, tuple(brought))
    return [brought[name]] if name in brought else [_at(root, path) for path in paths]


def _unknown(name: str, root: Mapping, brought: Sequence[str]) -> str:
    named = list(dict.fromkeys([*variables(root), *brought]))
    known = [*named, SEED, *SHORT, *[key for scope in _SCOPES.values() for key in SCOPES[scope]]]
    allowed = f"{SEED}, {', '.join(SHORT)}, a Kafka configuration such as acks, or a path such as cluster.brokers"
    own = f"the variables {listed(named, 'and')}, " if named else ""
    return f"found an axis {shown(name)} that leads nowhere, allowed are {own}{allowed}{nearest(name, known)}"


def _configuration(name: str, root: Mapping) -> tuple[str, ...]:
    places = [place for place, scope in _SCOPES.items() if name in SCOPES[scope]]
    if "topics" in places and "cluster" in places:
        places.remove("cluster")
    there = [place for place in places if place == "cluster" or _elements(root, place)]
    if not there:
        raise AxisError(f"found {shown(name)}, but the playbook has no {listed(places)} that could have it")
    if len(there) > 1:
        choices = listed([f"{place}.config.{name}" for place in there])
        raise AxisError(f"found {shown(name)}, which {listed(there, 'and')} have; say which: {choices}")
    return _everywhere(there[0], name, root)


def _everywhere(place: str, name: str, root: Mapping) -> tuple[str, ...]:
    if place == "cluster":
        return (f"cluster.config.{name}",)
    elements = _elements(root, place)
    if not elements:
        raise AxisError(f"found {shown(name)} of {place}, but the playbook has none")
    prefix = f"clients.{place}" if place in CLIENTS else place
    return tuple(f"{prefix}.{each}.config.{name}" for each in elements)


def _elements(root: Mapping, place: str) -> list[str]:
    """How ``--set`` calls the elements of a list: by name, by number where the name would not do."""
    clients = root.get("clients")
    holder = (clients if isinstance(clients, Mapping) else None) if place in CLIENTS else root
    found = holder.get(place) if holder is not None else None
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
