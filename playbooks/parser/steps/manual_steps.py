"""Parser of the steps of ``stepping: manual``: one protocol action each, with their expected state (``then``)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS, ManualParam
from cluster_model.util.quantities import counted, listed
from playbooks.errors import shown
from playbooks.model.playbook import Position, Step, Trigger
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    KAFKA,
    NAME,
    BooleanType,
    BrokerId,
    ChoiceType,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    PartitionName,
    Record,
    Schema,
    TextType,
)
from playbooks.parser.document.variables import GIVEN, counts
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, Sequence
from playbooks.parser.steps.timed_steps import NOTE, REFUSED, TIMED_VERBS, TRIGGERS, the_verb

MAX_RECORDS: Final = 100_000
"""Maximum number of records of one append: a manual trace is meant to be read."""
_OFFSET: Final = Integer(0, 2**53)
PARTITION_PATTERN: Final = "^[A-Za-z0-9._-]+-[0-9]+$"


@dataclass(frozen=True, slots=True)
class PairType(FieldType):
    """A list of two values, such as ``[epoch, start offset]``."""

    first: FieldType
    second: FieldType
    allowed: str

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
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
class RecordNameType(FieldType):
    """A record by the name that ``append`` gave it, or by its number."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        plain_number = isinstance(node, Scalar) and node.plain and node.text.isascii() and node.text.isdigit()
        return _OFFSET.read(node, key, notes) if plain_number else NAME.read(node, key, notes)

    def _schema(self) -> Schema:
        return {"anyOf": [NAME.schema(), _OFFSET.schema()]}


@dataclass(frozen=True, slots=True)
class ByBroker(FieldType):
    """A mapping with brokers' ids as keys, or words for other components with a state."""

    broker: FieldType
    others: Mapping[str, FieldType] = field(default_factory=dict)

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        allowed = listed(["a broker's id", *map(repr, self.others)])
        if not isinstance(node, YamlMapping):
            notes.refuse(node, key, f"a mapping with {allowed} as keys")
            return BAD
        values: dict[str, Any] = {}
        for name, (where, value) in node.entries.items():
            kind = self.broker if BrokerId.is_one(name) else self.others.get(name)
            if kind is None:
                notes.problem(where, key, f"found {shown(name)}, expected {allowed}")
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
        "leo": FieldSpec(_OFFSET, "Log end offset: next offset to be written."),
        "hw": FieldSpec(_OFFSET, "High watermark (exclusive) of this broker."),
        "log_start": FieldSpec(_OFFSET, "Log start offset."),
        "epochs": FieldSpec(
            ListOf(PairType(_EPOCH, _OFFSET, "[epoch, start offset]")),
            "Leader-epoch cache: [[epoch, start offset], ...].",
        ),
        "isr": FieldSpec(ListOf(BrokerId()), "ISR of this broker as a leader, in ascending order; [] on a follower."),
        "leader": FieldSpec(_LEADER, "Leader in this broker's metadata; -1 for none."),
        "epoch": FieldSpec(_EPOCH, "Its leader epoch; -1 before it received any."),
        "role": FieldSpec(ChoiceType(("leader", "follower", "none")), "Its role."),
        "followers": FieldSpec(
            ByBroker(Integer(-1, 2**53)), "Each follower's LEO as known to the leader; -1 for unknown."
        ),
        "log": FieldSpec(
            ListOf(PairType(_EPOCH, RecordNameType(), "[epoch, record]"), 0, MAX_RECORDS),
            "Records of its log: [[epoch, name or number], ...].",
        ),
        "up": FieldSpec(BooleanType(), "Whether its process runs."),
        "pending": FieldSpec(ListOf(BrokerId()), "The pending ISR proposed by this leader; [] for none."),
        "fetcher": FieldSpec(
            ChoiceType(("running", "truncating", "failed", "none")),
            "State of a follower's fetcher: truncating, or failed until the next leader change.",
        ),
        "segments": FieldSpec(ListOf(_OFFSET), "First offset of each segment, the active one last."),
        "flushed": FieldSpec(_OFFSET, "Recovery point: all offsets below have been flushed to disk."),
        "checkpointed": FieldSpec(_OFFSET, "Checkpointed high watermark, used after a restart."),
    }
)

CONTROLLER_STATE: Final = Record(
    {
        "leader": FieldSpec(_LEADER, "Leader in the controller's state; -1 for none."),
        "epoch": FieldSpec(_EPOCH, "The newest leader epoch."),
        "partition_epoch": FieldSpec(_EPOCH, "Partition epoch: number of state changes."),
        "isr": FieldSpec(ListOf(BrokerId()), "The committed ISR, in ascending order."),
        "elr": FieldSpec(ListOf(BrokerId()), "Eligible leader replicas (KIP-966), in ascending order."),
        "recovering": FieldSpec(
            BooleanType(), "Whether the leader of an unclean election is still recovering (KIP-704)."
        ),
        "live": FieldSpec(ListOf(BrokerId()), "Brokers that are not fenced, in ascending order."),
    }
)

CONSUMER_STATE: Final = Record(
    {
        "position": FieldSpec(_OFFSET, "The next offset to read."),
        "epoch": FieldSpec(_EPOCH, "Leader epoch of the last record returned; -1 for none."),
        "read": FieldSpec(
            ListOf(PairType(_EPOCH, RecordNameType(), "[epoch, record]"), 0, MAX_RECORDS),
            "Records returned to it, in order: [[epoch, name or number], ...].",
        ),
    }
)

BY_BROKER: Final = ByBroker(BROKER_STATE, {"controller": CONTROLLER_STATE, "consumer": CONSUMER_STATE})


@dataclass(frozen=True, slots=True)
class ByPartition(FieldType):
    """The state of one partition, or a mapping with partitions as keys."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        """Return partition → component → field → value; the partition is empty if the playbook names none."""
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


THEN: Final = FieldSpec(ByPartition(), "Expected state after the step.")


def settle_partitions(fields: Fields, partition: str | None, notes: ErrorNotes) -> dict[str, dict[str, Any]]:
    """Return ``then`` by partition: a state without partition is that of the step's partition, or of the only one.

    Report states without a partition, and brokers without a replica of theirs.
    """
    states: dict[str, dict[str, Any]] = fields.get("then", {})
    if "" in states:
        name = partition or _only_partition(notes)
        if name is None:
            if notes.facts.topics is not None:
                first = f"{next(iter(notes.facts.topics), 'orders')}-0"
                why = "since there are several and the step names none"
                message = f"found no partition, expected {{{first}: {{1: ...}}}}, {why}"
                notes.problem(fields.at("then"), fields.path("then"), message)
            return {}
        states = {name: states[""]}
    for name, by_broker in states.items():
        for who in by_broker:
            wrong = notes.facts.wrong_replica(int(who), name) if BrokerId.is_one(who) else ""
            if wrong:
                notes.problem(fields.at("then"), fields.path("then"), wrong)
    return states


def _only_partition(notes: ErrorNotes) -> str | None:
    topics = notes.facts.topics or {}
    if len(topics) != 1:
        return None
    [(topic, count)] = topics.items()
    return f"{topic}-0" if count in (1, None) else None


# Steps of ``stepping: manual``: one protocol action each, with their expected state.


@dataclass(frozen=True, slots=True)
class NumberOrWord(FieldType):
    """A whole number, or one of a few words."""

    words: tuple[str, ...]
    number: Integer
    allowed: str

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if isinstance(node, Scalar) and node.text in self.words:
            return node.text
        if isinstance(node, Scalar) and node.plain and node.text.lstrip("-").isdigit():
            return replace(self.number, allowed=self.allowed).read(node, key, notes)
        notes.refuse(node, key, self.allowed)
        return BAD

    def _schema(self) -> Schema:
        return {"anyOf": [{"enum": list(self.words)}, self.number.schema()]}


EVENT: Final = FieldSpec(TextType(), "Heading of a new row in the printed table.")


def kind_of(param: ManualParam) -> FieldType:
    """Return the type of a parameter of a manual step."""
    kinds: dict[str, FieldType] = {
        "int": Integer(0, MAX_RECORDS),
        "ints": ListOf(_OFFSET),
        "str": TextType(),
        "strs": ListOf(NAME, 1, MAX_RECORDS),
        "bool": BooleanType(),
        "partition": PartitionName(),
        "broker": BrokerId(),
        "brokers": ListOf(BrokerId(), 1),
        "acks": NumberOrWord(("all",), Integer(-1, 1), "0, 1, -1 or all"),
        "epoch": NumberOrWord(("latest",), Integer(0, 2**31 - 1), "a leader epoch or latest"),
        "choice": ChoiceType(param.choices),
        "before": NumberOrWord(("hw",), _OFFSET, "an offset or hw"),
    }
    return kinds[param.type]


def manual_parameters(verb: str) -> Record:
    """Return the parameters of a verb."""
    params = MANUAL_VERBS[verb].params
    return Record({name: FieldSpec(kind_of(param), param.doc, param.required) for name, param in params.items()})


@dataclass(frozen=True, slots=True)
class Nothing(FieldType):
    """For a verb without parameters: no value, or an empty mapping."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if (isinstance(node, Scalar) and node.empty) or (isinstance(node, YamlMapping) and not node.entries):
            return Fields(YamlMapping(node.line, node.column, {}, node.origin), key)
        notes.refuse(node, key, "nothing")
        return BAD

    def _schema(self) -> Schema:
        return {"type": ["null", "object"], "maxProperties": 0}


def manual_record(verb: str) -> Record:
    """Return all keys of a manual step with this verb."""
    params = manual_parameters(verb) if MANUAL_VERBS[verb].params else Nothing()
    return Record(
        {
            verb: FieldSpec(params, MANUAL_VERBS[verb].doc, required=True),
            "event": EVENT,
            "kafka": KAFKA,
            "given": GIVEN,
            "refused": REFUSED,
            "then": THEN,
            "note": NOTE,
        }
    )


class ManualSteps:
    """Parser of the steps of a manual playbook."""

    def begin_round(self) -> None:
        """Begin a round of a group."""

    def end_round(self) -> int:
        """End the round; no time has passed."""
        return 0

    def took(self, at_least_us: int) -> None:
        """Note the duration of a group."""

    def trigger(self, fields: Fields, notes: ErrorNotes) -> Trigger:
        """Return the trigger: manual steps follow each other."""
        del fields, notes
        return Trigger("after")

    def read(self, node: YamlMapping, index: int, key: str, notes: ErrorNotes) -> Step | None:
        """Return the step, or None after adding its errors to the notes."""
        before = len(notes.problems)
        others = {**TIMED_VERBS, **TRIGGERS}
        hint = "not allowed with 'stepping: manual', which has no time"
        verb = the_verb(
            node, key, tuple(MANUAL_VERBS), others, hint, notes, ("refused", "then", "event", "kafka", "given")
        )
        if verb is None:
            return None
        fields: Fields = manual_record(verb).read(node, key, notes)
        params: Fields | None = fields.get(verb)
        if params is not None:
            _check_names(params, notes)
            _check_replicas(verb, params, notes)
        partition = params.get("partition") if params is not None else None
        states = settle_partitions(fields, partition, notes)
        if len(notes.problems) > before or params is None or not counts(fields, notes):
            return None
        return Step(
            index=index,
            where=Position(node.line, node.column),
            trigger=Trigger("after"),
            verb="manual",
            name=verb,
            params=params.values,
            refused=fields.get("refused", ""),
            then=states,
            note=fields.get("note", ""),
            event=fields.get("event", ""),
        )


def _check_replicas(verb: str, params: Fields, notes: ErrorNotes) -> None:
    """Check that the brokers of a step have a replica of the partition."""
    partition = params.get("partition")
    for name, param in MANUAL_VERBS[verb].params.items():
        brokers = {"broker": [params.get(name)], "brokers": params.get(name, [])}.get(param.type, [])
        for broker in brokers:
            wrong = notes.facts.wrong_replica(broker, partition) if partition and broker is not None else ""
            if wrong:
                notes.problem(params.at(name), params.path(name), wrong)


def _check_names(params: Fields, notes: ErrorNotes) -> None:
    names, records = params.get("names"), params.get("records")
    if names is not None and records is not None and len(names) != records:
        message = f"found {counted(len(names), 'name')}, expected {records} as in records"
        notes.problem(params.at("names"), params.path("names"), message)
    if names is not None and len(set(names)) != len(names):
        twice = listed(sorted({shown(name) for name in names if names.count(name) > 1}), "and")
        notes.problem(params.at("names"), params.path("names"), f"found {twice} more than once, expected once")
