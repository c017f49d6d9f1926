"""The state that a step is expected to leave behind: ``then``, by broker, or by partition and broker."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from playbooks.errors import listed, shown
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    BAD,
    NAME,
    Choice,
    Fields,
    Integer,
    Key,
    Kind,
    ListOf,
    Record,
    Schema,
    Truth,
)
from playbooks.parser.document.references import BrokerId
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, Sequence

MAX_RECORDS: Final = 100_000
"""Of one append: a trace by hand is to be read."""
_OFFSETS: Final = Integer(0, 2**53)
PARTITION_PATTERN: Final = "^[A-Za-z0-9._-]+-[0-9]+$"


@dataclass(frozen=True, slots=True)
class Pair(Kind):
    """A list of two, such as ``[epoch, start offset]``."""

    first: Kind
    second: Kind
    allowed: str

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Sequence) or len(node.items) != 2:
            notes.refuse(node, key, self.allowed)
            return BAD
        pair = [
            self.first.read(node.items[0], f"{key}[1]", notes),
            self.second.read(node.items[1], f"{key}[2]", notes),
        ]
        return BAD if BAD in pair else pair

    def _schema(self) -> Schema:
        return {
            "type": "array",
            "items": {"anyOf": [self.first.schema(), self.second.schema()]},
            "minItems": 2,
            "maxItems": 2,
        }


@dataclass(frozen=True, slots=True)
class RecordName(Kind):
    """A record by the name that ``append`` gave it, or by its number."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        plain_number = isinstance(node, Scalar) and node.plain and node.text.isascii() and node.text.isdigit()
        return _OFFSETS.read(node, key, notes) if plain_number else NAME.read(node, key, notes)

    def _schema(self) -> Schema:
        return {"anyOf": [NAME.schema(), _OFFSETS.schema()]}


@dataclass(frozen=True, slots=True)
class ByBroker(Kind):
    """A mapping with brokers' ids as keys, and a few words that stand for others who have a state."""

    broker: Kind
    others: Mapping[str, Kind] = field(default_factory=dict)

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        allowed = listed(["a broker's id", *map(repr, self.others)])
        if not isinstance(node, YamlMapping):
            notes.refuse(node, key, f"a mapping with {allowed} as keys")
            return BAD
        values: dict[str, Any] = {}
        for name, (where, value) in node.entries.items():
            kind = self.broker if BrokerId.is_one(name) else self.others.get(name)
            if kind is None:
                notes.problem(where, key, f"found {shown(name)}, allowed is {allowed}")
                return BAD
            wrong = notes.facts.wrong_broker(int(name)) if kind is self.broker else ""
            if wrong:
                notes.problem(where, key, wrong)
                return BAD
            values[name] = kind.read(value, f"{key}.{name}", notes)
        read = {name: value.values if isinstance(value, Fields) else value for name, value in values.items()}
        return BAD if BAD in read.values() else read

    def _schema(self) -> Schema:
        properties = {name: kind.schema() for name, kind in self.others.items()}
        patterns = {"^[0-9]+$": self.broker.schema()}
        return {
            "type": "object",
            "properties": properties,
            "patternProperties": patterns,
            "additionalProperties": False,
        }


_LEADER: Final = Integer(-1, 2**31 - 1)
_EPOCH: Final = Integer(-1, 2**31 - 1)

BROKER_STATE: Final = Record(
    {
        "leo": Key(_OFFSETS, "Log end offset: the next to be written."),
        "hw": Key(_OFFSETS, "High watermark (exclusive), as this broker knows it."),
        "log_start": Key(_OFFSETS, "First offset still held."),
        "epochs": Key(
            ListOf(Pair(_EPOCH, _OFFSETS, "[epoch, start offset]")), "Leader-epoch cache: [[epoch, start offset], ...]."
        ),
        "isr": Key(ListOf(BrokerId()), "The ISR this broker keeps as a leader, in ascending order; [] on a follower."),
        "leader": Key(_LEADER, "Who leads, as this broker believes; -1 for nobody."),
        "epoch": Key(_EPOCH, "The leader epoch it acts in; -1 before it was told any."),
        "role": Key(Choice(("leader", "follower", "none")), "What it acts as."),
        "followers": Key(ByBroker(Integer(-1, 2**53)), "A leader's idea of each follower's LEO; -1 for not known."),
        "log": Key(
            ListOf(Pair(_EPOCH, RecordName(), "[epoch, record]"), 0, MAX_RECORDS),
            "Its records: [[epoch, name or number], ...].",
        ),
        "up": Key(Truth(), "Whether its process runs."),
        "pending": Key(ListOf(BrokerId()), "The ISR that this leader has proposed and is not done with; [] for none."),
        "fetcher": Key(
            Choice(("running", "truncating", "failed", "none")),
            "A follower's fetcher: it must first find out where to truncate, or has failed until the next decision.",
        ),
        "segments": Key(ListOf(_OFFSETS), "First offset of each segment, the active one last."),
        "flushed": Key(_OFFSETS, "Recovery point: everything below has been forced to disk."),
        "checkpointed": Key(_OFFSETS, "High watermark on disk, with which a start begins."),
    }
)

CONTROLLER_STATE: Final = Record(
    {
        "leader": Key(_LEADER, "Who leads by the controller's decision; -1 for nobody."),
        "epoch": Key(_EPOCH, "The newest leader epoch."),
        "partition_epoch": Key(_EPOCH, "How often the state has changed."),
        "isr": Key(ListOf(BrokerId()), "The committed ISR, in ascending order."),
        "elr": Key(ListOf(BrokerId()), "Replicas out of the ISR that may lead (KIP-966), in ascending order."),
        "recovering": Key(Truth(), "Whether the winner of an unclean election has yet to report (KIP-704)."),
        "live": Key(ListOf(BrokerId()), "Brokers that the controller takes to be alive, in ascending order."),
    }
)

CONSUMER_STATE: Final = Record(
    {
        "position": Key(_OFFSETS, "The offset it reads next."),
        "epoch": Key(_EPOCH, "Epoch of the last record it was handed; -1 for none."),
        "read": Key(
            ListOf(Pair(_EPOCH, RecordName(), "[epoch, record]"), 0, MAX_RECORDS),
            "What it was handed, in order: [[epoch, name or number], ...].",
        ),
    }
)

BY_BROKER: Final = ByBroker(BROKER_STATE, {"controller": CONTROLLER_STATE, "consumer": CONSUMER_STATE})


@dataclass(frozen=True, slots=True)
class ByPartition(Kind):
    """The state of one partition as it is, or a mapping with partitions as keys."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        """Partition → who → field → value; the partition is empty where the playbook names none."""
        if not isinstance(node, YamlMapping) or not any(map(_like_a_partition, node.entries)):
            states = BY_BROKER.read(node, key, notes)
            return BAD if states is BAD else {"": states}
        values: dict[str, Any] = {}
        for name, (where, value) in node.entries.items():
            wrong = notes.facts.wrong_partition(name)
            if wrong:
                notes.problem(where, key, wrong)
                return BAD
            values[name] = BY_BROKER.read(value, f"{key}.{name}", notes)
        return BAD if BAD in values.values() else values

    def _schema(self) -> Schema:
        states = BY_BROKER.schema()
        many = {"type": "object", "patternProperties": {PARTITION_PATTERN: states}, "additionalProperties": False}
        return {"anyOf": [states, many]}


def _like_a_partition(name: str) -> bool:
    return re.search(PARTITION_PATTERN, name) is not None


THEN: Final = Key(ByPartition(), "State that the step is expected to leave behind.")


def settle_partitions(fields: Fields, partition: str | None, notes: Notes) -> dict[str, dict[str, Any]]:
    """``then`` by partition: what names none speaks of the step's own partition, or of the only one there is.

    Notes where neither helps, and who holds no replica of the partition.
    """
    states: dict[str, dict[str, Any]] = fields.get("then", {})
    if "" in states:
        name = partition or _only_partition(notes)
        if name is None:
            if notes.facts.topics is not None:
                first = f"{next(iter(notes.facts.topics), 'orders')}-0"
                why = "as there are several and the step names none"
                message = f"found no partition, allowed is {{{first}: {{1: ...}}}}, {why}"
                notes.problem(fields.at("then"), fields.path("then"), message)
            return {}
        states = {name: states[""]}
    for name, by_broker in states.items():
        for who in by_broker:
            wrong = notes.facts.wrong_replica(int(who), name) if BrokerId.is_one(who) else ""
            if wrong:
                notes.problem(fields.at("then"), fields.path("then"), wrong)
    return states


def _only_partition(notes: Notes) -> str | None:
    topics = notes.facts.topics or {}
    if len(topics) != 1:
        return None
    [(topic, count)] = topics.items()
    return f"{topic}-0" if count in (1, None) else None
