"""Parser of steps with ``admin:``: the keys of each operation from its declaration, and the names known after it."""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.protocol.config_defs import SCOPES, Scope
from cluster_model.protocol.versions import Profile
from cluster_model.util.quantities import listed
from faults.declarations import LISTS, OPERATIONS, Operation, Param, with_tuples
from playbooks.errors import shown
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    NAME,
    BrokerId,
    ChoiceType,
    Fields,
    FieldType,
    Integer,
    ListOf,
    PartitionName,
    Reference,
    Schema,
    TextType,
)
from playbooks.parser.document.yaml_source import Node
from playbooks.parser.sections.cluster import Config, KafkaVersion, check_releases

# Parameters of operations on consumer groups: scopes, lines of an offsets file, valid combinations.


_ALLOWED: Final = {
    "scopes": "a topic, or partitions of one as in orders:0,2",
    "offset lines": "topic, partition and offset as in orders,0,120",
}


@dataclass(frozen=True, slots=True)
class TopicPartitionsType(FieldType):
    """A topic of the playbook, optionally with partitions, in the form of Kafka's tools."""

    type: str

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        text = self._text().read(node, key, notes)
        message = "" if text is BAD else self._reject_reason(text, notes)
        if message:
            notes.problem(node, key, message)
        return BAD if message else text

    def _text(self) -> TextType:
        return TextType(LISTS[self.type][0], _ALLOWED[self.type])

    def _reject_reason(self, text: str, notes: ErrorNotes) -> str:
        if self.type == "scopes":
            topic, _colon, rest = text.partition(":")
            numbers = rest.split(",") if rest else []
        else:
            topic, number, _offset = text.split(",")
            numbers = [number]
        unknown = notes.facts.wrong_name("topic", topic)
        return unknown or next(filter(None, (notes.facts.wrong_partition(f"{topic}-{each}") for each in numbers)), "")

    def _schema(self) -> Schema:
        return self._text().schema()


@dataclass(frozen=True, slots=True)
class TopicPartitionsListType(FieldType):
    """A list of topics or partitions, as a tuple."""

    type: str

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        found = ListOf(TopicPartitionsType(self.type), 1).read(node, key, notes)
        return BAD if found is BAD else tuple(found)

    def _schema(self) -> Schema:
        return ListOf(TopicPartitionsType(self.type), 1).schema()


def check_reset(operation: Operation, fields: Fields, notes: ErrorNotes) -> None:
    """Report a reset of offsets without a scope, or with several."""
    if operation.name != "reset_offsets":
        return
    scopes = [name for name in ("topics", "all_topics") if fields.given(name) and fields.get(name) is not False]
    if fields.given("from_file") and scopes:
        message = f"found {scopes[0]} beside from_file, which names its partitions itself"
        notes.problem(fields.at(scopes[0]), fields.path(scopes[0]), message)
    elif not fields.given("from_file") and len(scopes) != 1:
        found = f"{listed(scopes, 'and')} together" if scopes else "neither topics nor all_topics"
        notes.problem(fields.node, fields.key, f"found {found}, expected one of topics or all_topics")


@dataclass(frozen=True, slots=True)
class NewTopic(FieldType):
    """The name of a topic that does not exist yet."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        return NAME.read(node, key, notes)

    def _schema(self) -> Schema:
        return NAME.schema()


@dataclass(frozen=True, slots=True)
class Brokers(FieldType):
    """A list of distinct brokers in order."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        brokers = ListOf(BrokerId(), 1).read(node, key, notes)
        if brokers is BAD:
            return BAD
        twice = [broker for place, broker in enumerate(brokers) if broker in brokers[:place]]
        if twice:
            notes.problem(node, key, f"found broker {twice[0]} twice, expected each broker once")
            return BAD
        return tuple(brokers)

    def _schema(self) -> Schema:
        return {**ListOf(BrokerId(), 1).schema(), "uniqueItems": True}


@dataclass(frozen=True, slots=True)
class Pairs(FieldType):
    """Configurations of a scope, as pairs."""

    config: Config

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        found = self.config.read(node, key, notes)
        return BAD if found is BAD else tuple(found.items())

    def _schema(self) -> Schema:
        return self.config.schema()


@dataclass(frozen=True, slots=True)
class AsTuple(FieldType):
    """A list, parsed to a tuple."""

    kind: ListOf

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        found = self.kind.read(node, key, notes)
        return BAD if found is BAD else with_tuples(found)

    def _schema(self) -> Schema:
        return self.kind.schema()


@dataclass(frozen=True, slots=True)
class OperationSelector(FieldType):
    """The number or the name of an operation, or all."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        allowed = ("all", *OPERATIONS)
        text = str(getattr(node, "text", ""))
        return text if text.isdecimal() else ChoiceType(allowed, f"a number, {listed(allowed)}").read(node, key, notes)

    def _schema(self) -> Schema:
        return {"anyOf": [{"enum": ["all", *OPERATIONS]}, Integer(1, 1 << 31).schema()]}


_KINDS: Final[dict[str, FieldType]] = {
    "topic": Reference("topic"),
    "new topic": NewTopic(),
    "partition": PartitionName(),
    "broker": BrokerId(),
    "brokers": Brokers(),
    "placement": AsTuple(ListOf(Brokers(), 1)),
    "topic config": Pairs(Config("topic")),
    "broker config": Pairs(Config("broker")),
    "topic keys": AsTuple(ListOf(ChoiceType(tuple(SCOPES["topic"]), "configurations of a topic"), 1)),
    "broker keys": AsTuple(ListOf(ChoiceType(tuple(SCOPES["broker"]), "configurations of a broker"), 1)),
    "text": OperationSelector(),
    "group": NAME,
    "scopes": TopicPartitionsListType("scopes"),
    "offset lines": TopicPartitionsListType("offset lines"),
    "release": KafkaVersion(),
}


_SCOPES: Final[dict[str, Scope]] = {"topic config": "topic", "broker config": "broker"}
"""Type of a configuration parameter → its scope."""


def operation_kind(param: Param) -> FieldType | None:
    """Return the type of an operation's parameter, None for the types shared with faults."""
    return _KINDS.get(param.type)


def check_operation(operation: Operation, fields: Fields, notes: ErrorNotes) -> None:
    """Report errors that involve several keys, and operations that the playbook's cluster does not support."""
    given = [name for name in operation.one_of if fields.given(name) and fields.get(name) is not False]
    if operation.one_of and len(given) != 1:
        found = listed(given, "and") + " together" if given else f"neither {listed(operation.one_of, 'nor')}"
        notes.problem(fields.node, fields.key, f"found {found}, expected one of {listed(operation.one_of)}")
    check_reset(operation, fields, notes)
    if operation.name == "reassign" and fields.given("brokers") == bool(fields.get("cancel", False)):
        notes.problem(fields.node, fields.key, "expected either brokers to move to, or 'cancel: true'")
    if operation.param("set") is not None and not (fields.given("set") or fields.given("reset")):
        notes.problem(fields.node, fields.key, "found nothing to change, expected set, reset or both")
    kafka = notes.facts.kafka
    if kafka is not None and not fields.given("refused") and not fields.given("kafka"):
        lacking = operation.unsupported_reason(Profile.of(kafka).number, "")
        if lacking and operation.since:
            notes.problem(
                fields.at("admin"),
                fields.path("admin"),
                f"found {shown(operation.name)} under Kafka {kafka}: {lacking}",
            )
        for param in operation.params:
            if param.type in _SCOPES:
                check_releases(_SCOPES[param.type], fields, param.name, kafka, notes)


def add_known_names(operation: Operation, fields: Fields, notes: ErrorNotes, *, sure: bool = True) -> None:
    """Add the names known after this step; as far as possible if it is not ``sure`` that the step acts."""
    facts = notes.facts
    topic = fields.get("topic") or str(fields.get("partition", "")).rpartition("-")[0]
    if facts.topics is None or not topic:
        return
    counts = dict(facts.topics)
    if operation.name == "create_topic":
        placement = fields.get("placement", ())
        partitions = len(placement) or fields.get("partitions", -1)
        counts.setdefault(topic, partitions if sure and partitions > 0 else None)
    elif operation.name == "add_partitions":
        known = counts.get(topic)
        counts[topic] = max(known, fields.get("total", 0)) if sure and known is not None else None
    replication = {name: factor for name, factor in facts.replication.items() if name != topic}
    kept = facts.replication if operation.name in ("elect_leaders", "delete_records") else replication
    notes.facts = replace(facts, topics=counts, replication=kept)
