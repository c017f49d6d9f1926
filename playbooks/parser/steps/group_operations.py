"""Parameters of the operations on consumer groups: scopes, lines of a file of offsets, and what goes with what."""

from dataclasses import dataclass
from typing import Any, Final

from faults.declarations.operation import Operation
from faults.declarations.parameters import LISTS
from playbooks.errors import listed
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, Fields, Kind, ListOf, Schema, Text
from playbooks.parser.document.yaml_source import Node

_ALLOWED: Final = {
    "scopes": "a topic, or partitions of one as in orders:0,2",
    "offset lines": "topic, partition and offset as in orders,0,120",
}


@dataclass(frozen=True, slots=True)
class Place(Kind):
    """A topic of the playbook, perhaps with partitions, as Kafka's tools write it; ``type`` is the parameter's."""

    type: str

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        text = self._text().read(node, key, notes)
        wrong = "" if text is BAD else self._wrong(text, notes)
        if wrong:
            notes.problem(node, key, wrong)
        return BAD if wrong else text

    def _text(self) -> Text:
        return Text(LISTS[self.type][0], _ALLOWED[self.type])

    def _wrong(self, text: str, notes: Notes) -> str:
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
class Places(Kind):
    """A list of them, as a tuple."""

    type: str

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        found = ListOf(Place(self.type), 1).read(node, key, notes)
        return BAD if found is BAD else tuple(found)

    def _schema(self) -> Schema:
        return ListOf(Place(self.type), 1).schema()


def check_reset(operation: Operation, fields: Fields, notes: Notes) -> None:
    """Note a reset of offsets without a scope, or with more than one."""
    if operation.name != "reset_offsets":
        return
    scopes = [name for name in ("topics", "all_topics") if fields.given(name) and fields.get(name) is not False]
    if fields.given("from_file") and scopes:
        message = f"found {scopes[0]} beside from_file, which names its partitions itself"
        notes.problem(fields.at(scopes[0]), fields.path(scopes[0]), message)
    elif not fields.given("from_file") and len(scopes) != 1:
        found = f"{listed(scopes, 'and')} together" if scopes else "neither topics nor all_topics"
        notes.problem(fields.node, fields.key, f"found {found}, allowed is one of topics or all_topics")
