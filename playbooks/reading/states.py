"""The state that a step is expected to leave behind: ``then``, by broker, or by partition and broker."""

from dataclasses import dataclass, replace
from typing import Any, Final

from playbooks.problems import listed, nearest, shown
from playbooks.reading.kinds import BAD, NAME, Choice, Fields, Integer, Key, Kind, ListOf, Record, Schema, Truth
from playbooks.reading.notes import Notes
from playbooks.reading.references import BrokerId
from playbooks.yamlpos import Mapping as YamlMapping
from playbooks.yamlpos import Node, Scalar, Sequence

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
    """A mapping with brokers' ids as keys, and ``controller`` where ``controller`` has a kind."""

    broker: Kind
    controller: Kind | None = None

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, YamlMapping):
            notes.refuse(node, key, "a mapping with a broker's id or 'controller' as keys")
            return BAD
        values: dict[str, Any] = {}
        for name, (where, value) in node.entries.items():
            kind = self.broker if BrokerId.is_one(name) else self.controller if name == CONTROLLER else None
            if kind is None:
                notes.problem(where, key, f"found {shown(name)}, allowed is {_WHO[self.controller is None]}")
                return BAD
            wrong = notes.facts.wrong_broker(int(name)) if kind is self.broker else ""
            if wrong:
                notes.problem(where, key, wrong)
                return BAD
            values[name] = kind.read(value, f"{key}.{name}", notes)
        read = {name: value.values if isinstance(value, Fields) else value for name, value in values.items()}
        return BAD if BAD in read.values() else read

    def _schema(self) -> Schema:
        properties = {CONTROLLER: self.controller.schema()} if self.controller else {}
        patterns = {"^[0-9]+$": self.broker.schema()}
        return {
            "type": "object",
            "properties": properties,
            "patternProperties": patterns,
            "additionalProperties": False,
        }


_WHO: Final = {False: "a broker's id or 'controller'", True: "a broker's id"}

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
    }
)

CONTROLLER_STATE: Final = Record(
    {
        "leader": Key(_LEADER, "Who leads by the controller's decision; -1 for nobody."),
        "epoch": Key(_EPOCH, "The newest leader epoch."),
        "isr": Key(ListOf(BrokerId()), "The committed ISR, in ascending order."),
    }
)

THEN: Final = Key(ByBroker(BROKER_STATE, CONTROLLER_STATE), "State that the step is expected to leave behind.")


