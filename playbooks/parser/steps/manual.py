"""Steps of ``stepping: manual``: one protocol action each, with the state they are expected to leave behind."""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS, ManualParam
from playbooks.errors import counted, listed, shown
from playbooks.model.playbook import Position, Step, Trigger
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
    Text,
    Truth,
)
from playbooks.parser.document.given import GIVEN, counts
from playbooks.parser.document.references import BrokerId, PartitionName
from playbooks.parser.document.versions import KAFKA
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar
from playbooks.parser.steps.manual_steps import MAX_RECORDS, THEN, settle_partitions
from playbooks.parser.steps.timed_steps import NOTE, REFUSED, TIMED_VERBS, TRIGGERS, the_verb

_OFFSETS: Final = Integer(0, 2**53)


@dataclass(frozen=True, slots=True)
class NumberOr(Kind):
    """A whole number, or one of a few words."""

    words: tuple[str, ...]
    number: Integer
    allowed: str

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if isinstance(node, Scalar) and node.text in self.words:
            return node.text
        if isinstance(node, Scalar) and node.plain and node.text.lstrip("-").isdigit():
            return replace(self.number, allowed=self.allowed).read(node, key, notes)
        notes.refuse(node, key, self.allowed)
        return BAD

    def _schema(self) -> Schema:
        return {"anyOf": [{"enum": list(self.words)}, self.number.schema()]}


EVENT: Final = Key(Text(), "Begins a row of the printed table, and says what happens in it.")


def kind_of(param: ManualParam) -> Kind:
    """How the value of a parameter of a step by hand is written."""
    kinds: dict[str, Kind] = {
        "int": Integer(0, MAX_RECORDS),
        "ints": ListOf(_OFFSETS),
        "str": Text(),
        "strs": ListOf(NAME, 1, MAX_RECORDS),
        "bool": Truth(),
        "partition": PartitionName(),
        "broker": BrokerId(),
        "brokers": ListOf(BrokerId(), 1),
        "acks": NumberOr(("all",), Integer(-1, 1), "0, 1, -1 or all"),
        "epoch": NumberOr(("latest",), Integer(0, 2**31 - 1), "a leader epoch or latest"),
        "choice": Choice(param.choices),
        "before": NumberOr(("hw",), _OFFSETS, "an offset or hw"),
    }
    return kinds[param.type]


def manual_parameters(verb: str) -> Record:
    """The keys below a verb."""
    params = MANUAL_VERBS[verb].params
    return Record({name: Key(kind_of(param), param.doc, param.required) for name, param in params.items()})


@dataclass(frozen=True, slots=True)
class Nothing(Kind):
    """For a verb without parameters: no value, or an empty mapping."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if (isinstance(node, Scalar) and node.empty) or (isinstance(node, YamlMapping) and not node.entries):
            return Fields(YamlMapping(node.line, node.column, {}, node.origin), key)
        notes.refuse(node, key, "nothing")
        return BAD

    def _schema(self) -> Schema:
        return {"type": ["null", "object"], "maxProperties": 0}


def manual_record(verb: str) -> Record:
    """All keys of a step by hand with this verb."""
    params = manual_parameters(verb) if MANUAL_VERBS[verb].params else Nothing()
    return Record(
        {
            verb: Key(params, MANUAL_VERBS[verb].doc, required=True),
            "event": EVENT,
            "kafka": KAFKA,
            "given": GIVEN,
            "refused": REFUSED,
            "then": THEN,
            "note": NOTE,
        }
    )


class ManualSteps:
    """Reads the steps of a manual playbook."""

    def begin_round(self) -> None:
        """What follows belongs to a round of a group."""

    def end_round(self) -> int:
        """The round is over; no time has passed."""
        return 0

    def took(self, at_least_us: int) -> None:
        """A group has been read."""

    def trigger(self, fields: Fields, notes: Notes) -> Trigger:
        """Steps by hand follow each other."""
        del fields, notes
        return Trigger("after")

    def read(self, node: YamlMapping, index: int, key: str, notes: Notes) -> Step | None:
        """The step, or None after noting what is wrong with it."""
        before = len(notes.problems)
        others = {**TIMED_VERBS, **TRIGGERS}
        hint = "which has no place in 'stepping: manual', where time stands still"
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


def _check_replicas(verb: str, params: Fields, notes: Notes) -> None:
    """A broker that a step asks about a partition has to hold it."""
    partition = params.get("partition")
    for name, param in MANUAL_VERBS[verb].params.items():
        brokers = {"broker": [params.get(name)], "brokers": params.get(name, [])}.get(param.type, [])
        for broker in brokers:
            wrong = notes.facts.wrong_replica(broker, partition) if partition and broker else ""
            if wrong:
                notes.problem(params.at(name), params.path(name), wrong)


def _check_names(params: Fields, notes: Notes) -> None:
    names, records = params.get("names"), params.get("records")
    if names is not None and records is not None and len(names) != records:
        message = (
            f"found {counted(len(names), 'name')}, allowed {'is' if records == 1 else 'are'} {records} as in records"
        )
        notes.problem(params.at("names"), params.path("names"), message)
    if names is not None and len(set(names)) != len(names):
        twice = listed(sorted({shown(name) for name in names if names.count(name) > 1}), "and")
        notes.problem(params.at("names"), params.path("names"), f"found {twice} more than once, allowed is once")
