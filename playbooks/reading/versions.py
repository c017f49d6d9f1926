"""Which Kafka versions a part of a playbook is for: ``2.1+``, ``0.8.2-2.0`` or ``1.1``."""

from dataclasses import dataclass
from typing import Any, Final

from cluster_model.profiles import PROFILE_VERSIONS
from playbooks.problems import nearest, shown
from playbooks.reading.kinds import BAD, Key, Kind, Schema
from playbooks.reading.notes import Notes
from playbooks.yamlpos import Node, Scalar

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


KAFKA: Final = Key(Versions(), "Only under these versions; under others it is as if it did not stand in the file.")


def is_for(versions: tuple[str, ...] | None, notes: Notes) -> bool:
    """Whether what is for ``versions`` (None: for all) counts under the version of this playbook's cluster."""
    kafka = notes.facts.kafka
    return versions is None or kafka is None or kafka in versions
