"""Where a producer of a playbook sends its records: a partition of its own, or a partitioner of its application's."""

import re
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.partitioning_keys import PARTITIONER_CLASS
from cluster_model.spec.load_spec import OwnPartitioner
from playbooks.errors import counted, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, Fields, Integer, Kind, Schema
from playbooks.parser.document.yaml_source import Mapping, Node

OTHERS: Final = "others"
_KEY: Final = "key-(0|[1-9][0-9]{0,6})"
_ALLOWED: Final = "a mapping of keys to partitions, as in {key-0: 2, others: 1}"
_PARTITION: Final = Integer(0, 999, "a partition's number")


@dataclass(frozen=True, slots=True)
class KeysToPartitions(Kind):
    """``key-N`` → partition, and ``others``; an :class:`OwnPartitioner`."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Mapping) or not node.entries:
            notes.refuse(node, key, _ALLOWED)
            return BAD
        found: dict[str, Any] = {}
        for name, (where, value) in node.entries.items():
            if name != OTHERS and not re.fullmatch(_KEY, name, re.ASCII):
                notes.problem(where, key, f"found {shown(name)}, allowed are keys such as key-0, and {OTHERS}")
                continue
            found[name] = _PARTITION.read(value, f"{key}.{name}", notes)
        if len(found) < len(node.entries) or BAD in found.values():
            return BAD
        others = found.pop(OTHERS, -1)
        return OwnPartitioner(tuple((int(name[4:]), partition) for name, partition in found.items()), others)

    def _schema(self) -> Schema:
        partition = _PARTITION.schema()
        return {
            "type": "object",
            "properties": {OTHERS: partition},
            "patternProperties": {f"^{_KEY}$": partition},
            "additionalProperties": False,
            "minProperties": 1,
        }


def check_placing(fields: Fields, distinct: int, notes: Notes) -> None:
    """A producer's ``partition`` and ``partitioner``: partitions that its topic has, keys that its records have."""
    own: OwnPartitioner | None = fields.get("partitioner")
    total = (notes.facts.topics or {}).get(fields.get("topic", ""))
    if fields.get("partition") is not None:
        _check_partition(fields.get("partition"), total, fields.at("partition"), fields.path("partition"), notes)
    if not fields.given("partitioner"):
        return
    node, path = fields.at("partitioner"), fields.path("partitioner")
    if fields.given("partition"):
        notes.problem(node, path, "found a partitioner beside a partition, allowed is one of them")
    if PARTITIONER_CLASS in fields.get("config", {}):
        notes.problem(node, path, f"found a partitioner beside {PARTITIONER_CLASS}, allowed is one of them")
    if not fields.given("keys"):
        notes.problem(node, path, "found a partitioner of keys without keys, allowed only with keys")
    if own is None or not isinstance(node, Mapping):
        return
    for name, (where, _value) in node.entries.items():
        if name != OTHERS and distinct and int(name[4:]) >= distinct:
            most = f"allowed are key-0 to key-{distinct - 1}" if distinct > 1 else "allowed is key-0"
            notes.problem(where, path, f"found {name} of {counted(distinct, 'key')}, {most}")
    for name, partition in (*((f"key-{number}", where) for number, where in own.keys), (OTHERS, own.others)):
        if partition >= 0:
            _check_partition(partition, total, node.entries[name][1], f"{path}.{name}", notes)


def _check_partition(partition: int, total: int | None, node: Node, path: str, notes: Notes) -> None:
    if total is not None and partition >= total:
        allowed = f"allowed are 0 to {total - 1}" if total > 1 else "allowed is 0"
        notes.problem(node, path, f"found {partition} of {counted(total, 'partition')}, {allowed}")
