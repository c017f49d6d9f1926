"""Kinds of values that name a part of the playbook's own cluster, and are checked against it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from cluster_model.checker.anomalies.definitions import KINDS
from cluster_model.checker.invariants.registry import INVARIANTS
from cluster_model.checker.liveness.liveness_checker import NAMES
from cluster_model.checker.root_cause.cause_codes import BY_CODE
from cluster_model.spec.cluster_spec import MAX_BROKER
from faults.catalogue import CATALOGUE
from playbooks.conditions.conditions import Condition, parse
from playbooks.conditions.types import ConditionError
from playbooks.errors import listed, nearest, shown
from playbooks.parser.document.context import Facts, Notes
from playbooks.parser.document.field_types import BAD, Integer, Kind, Schema
from playbooks.parser.document.yaml_source import Node, Scalar


@dataclass(frozen=True, slots=True)
class BrokerId(Kind):
    """The id of a broker of the cluster."""

    @staticmethod
    def is_one(text: str) -> bool:
        """Whether ``text`` could be a broker's id at all."""
        return text.isascii() and text.isdigit() and len(text) < 10

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        value = Integer(1, MAX_BROKER, "the id of a broker").read(node, key, notes)
        wrong = notes.facts.wrong_broker(value) if isinstance(value, int) else ""
        if wrong:
            notes.problem(node, key, wrong)
        return BAD if wrong else value

    def _schema(self) -> Schema:
        return Integer(1, MAX_BROKER).schema()


@dataclass(frozen=True, slots=True)
class PartitionName(Kind):
    """A partition as Kafka prints it: ``orders-0``."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, "a partition such as orders-0")
            return BAD
        wrong = notes.facts.wrong_partition(node.text)
        if wrong:
            notes.problem(node, key, wrong)
        return BAD if wrong else node.text

    def _schema(self) -> Schema:
        return {"type": "string", "pattern": "^[A-Za-z0-9._-]+-[0-9]+$"}


@dataclass(frozen=True, slots=True)
class Reference(Kind):
    """The name of a topic of the playbook."""

    kind: Literal["topic"]

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, f"the name of a {self.kind}")
            return BAD
        wrong = notes.facts.wrong_name(self.kind, node.text)
        if wrong:
            notes.problem(node, key, wrong)
        return BAD if wrong else node.text

    def _schema(self) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class ConditionText(Kind):
    """A condition that holds or does not, about brokers, partitions and clients that exist."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, "a condition such as acked_lost() == 0")
            return BAD
        text, shift = _stripped(node.text)
        try:
            condition = parse(text, node.line, (node.exact or node.column) + shift)
        except ConditionError as error:
            notes.problem(node, key, error.message, error.column if node.exact else 0)
            return BAD
        if condition.type != "boolean":
            message = f"found a {condition.type}, allowed is a condition that is true or false, such as {text} == 0"
            notes.problem(node, key, message)
            return BAD
        return BAD if _names_wrong(condition, node, key, notes, shift) else condition

    def _schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


def _stripped(text: str) -> tuple[str, int]:
    stripped = text.lstrip()
    return stripped.rstrip(), len(text) - len(stripped)


def _names_wrong(condition: Condition, node: Scalar, key: str, notes: Notes, shift: int) -> bool:
    """Note every name that the playbook does not have."""
    before = len(notes.problems)
    for column, wrong in wrong_names(condition, notes.facts):
        notes.inside(node, key, wrong, column + shift)
    return len(notes.problems) > before


def wrong_names(condition: Condition, facts: Facts) -> Iterator[tuple[int, str]]:
    """Columns of a condition at which it speaks of what there is not, and what is wrong there."""
    for use in condition.uses:
        if use.kind == "broker":
            wrong = facts.wrong_broker(int(use.name))
        elif use.kind == "partition":
            wrong = facts.wrong_partition(use.name)
        elif use.kind in VOCABULARIES:
            wrong = _wrong_word(use.kind, use.name)
        else:
            wrong = facts.wrong_name(use.kind, use.name)
        if wrong:
            yield use.column, wrong


VOCABULARIES: Final = {
    "anomaly": tuple(KINDS),
    "cause": tuple(BY_CODE),
    "fault": tuple(CATALOGUE),
    "invariant": INVARIANTS,
    "property": NAMES,
}
"""What may be asked for by name, by kind of argument."""


def _wrong_word(kind: str, name: str) -> str:
    """A misspelt one would be counted as never found."""
    known = VOCABULARIES[kind]
    return "" if name in known else f"found the {kind} {shown(name)}, allowed is {listed(known)}{nearest(name, known)}"
