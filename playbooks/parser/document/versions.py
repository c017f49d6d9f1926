"""Which Kafka versions a part of a playbook is for: ``2.1+``, ``0.8.2-2.0`` or ``1.1``."""

from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.versions import PROFILE_VERSIONS
from playbooks.errors import nearest, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, Key, Kind, ListOf, Schema
from playbooks.parser.document.yaml_source import Node, Scalar, Sequence

ALLOWED: Final = "versions such as 2.1+ (and later), 0.8.2-2.0 (both included) or 1.1"


@dataclass(frozen=True, slots=True)
class Versions(Kind):
    """A range of Kafka versions, read as the tuple of those that it holds."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, ALLOWED)
            return BAD
        text = node.text.strip()
        first, dash, last = text.partition("-")
        first, last = first.strip(), last.strip()
        if not dash:
            last = PROFILE_VERSIONS[-1] if first.endswith("+") else first
            first = first.removesuffix("+")
        for version in (first, last):
            if version not in PROFILE_VERSIONS:
                message = f"found {shown(version or text)}, allowed are {ALLOWED}{nearest(version, PROFILE_VERSIONS)}"
                notes.problem(node, key, message)
                return BAD
        low, high = PROFILE_VERSIONS.index(first), PROFILE_VERSIONS.index(last)
        if low > high:
            notes.problem(node, key, f"found {shown(text)}, allowed is the older version first")
            return BAD
        return PROFILE_VERSIONS[low : high + 1]

    def _schema(self) -> Schema:
        return {"type": ["string", "number"], "pattern": r"^[0-9.]+(\+| ?- ?[0-9.]+)?$"}


@dataclass(frozen=True, slots=True)
class Profiles(Kind):
    """Ranges of Kafka versions, one or a list; read as the tuple of all those that they hold, oldest first."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        kind = ListOf(Versions(), 1, len(PROFILE_VERSIONS)) if isinstance(node, Sequence) else Versions()
        value = kind.read(node, key, notes)
        if value is BAD:
            return BAD
        named = {version for part in value for version in part} if isinstance(value, list) else set(value)
        return tuple(version for version in PROFILE_VERSIONS if version in named)

    def _schema(self) -> Schema:
        return {"anyOf": [Versions().schema(), ListOf(Versions(), 1, len(PROFILE_VERSIONS)).schema()]}


def ranges_text(versions: tuple[str, ...]) -> str:
    """Versions as a playbook writes them: ``0.11-2.6, 3.0+``."""
    places = [PROFILE_VERSIONS.index(version) for version in versions]
    parts: list[list[int]] = []
    for place in places:
        if parts and place == parts[-1][-1] + 1:
            parts[-1].append(place)
        else:
            parts.append([place])
    return ", ".join(_range_text(part[0], part[-1]) for part in parts)


def _range_text(low: int, high: int) -> str:
    first, last = PROFILE_VERSIONS[low], PROFILE_VERSIONS[high]
    if low == high:
        return first
    return f"{first}+" if last == PROFILE_VERSIONS[-1] else f"{first}-{last}"


KAFKA: Final = Key(Versions(), "Only under these versions; under others it is as if it did not stand in the file.")


def is_for(versions: tuple[str, ...] | None, notes: Notes) -> bool:
    """Whether what is for ``versions`` (None: for all) counts under the version of this playbook's cluster."""
    kafka = notes.facts.kafka
    return versions is None or kafka is None or kafka in versions
