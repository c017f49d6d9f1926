"""Types of values in a playbook: parsing, error messages, and JSON Schema."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from cluster_model.checker.anomalies import KINDS
from cluster_model.checker.invariants import INVARIANTS
from cluster_model.checker.liveness import NAMES
from cluster_model.checker.root_cause import BY_CODE
from cluster_model.protocol.releases import RELEASE_LINES, RELEASES, releases_between, unknown_hint
from cluster_model.spec import MAX_BROKER
from cluster_model.util.quantities import counted, listed
from faults.catalogue import CATALOGUE
from playbooks.conditions.condition import Condition, parse
from playbooks.conditions.grammar import ConditionError
from playbooks.errors import closest, nearest, shown
from playbooks.parser.document.context import ErrorNotes, PlaybookNames
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar, Sequence, found, item_key
from playbooks.units import (
    DURATION_ALLOWED,
    DURATION_PATTERN,
    RATE_ALLOWED,
    RATE_PATTERN,
    UnitError,
    duration_us,
    per_second,
)

Schema = dict[str, Any]


class InvalidValue:
    """The single value that replaces a value with errors, which are in the notes."""


BAD: Final = InvalidValue()


class FieldType(ABC):
    """Type of values. Subclasses implement ``_read`` and ``_schema``."""

    __slots__ = ()

    def read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        """Return the parsed value, or :data:`BAD` after adding its errors to the notes."""
        return self._read(node, key, notes)

    def schema(self) -> Schema:
        """Return the JSON Schema of allowed values."""
        return self._schema()

    @abstractmethod
    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any: ...

    @abstractmethod
    def _schema(self) -> Schema: ...


@dataclass(frozen=True, slots=True)
class TextType(FieldType):
    """A scalar as text, exactly as written (``on`` and ``3.10`` stay text)."""

    pattern: str = ""
    allowed: str = "a string"
    longest: int = 4_000

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, self.allowed)
        elif len(node.text) > self.longest:
            notes.problem(node, key, f"found {len(node.text)} characters, expected at most {self.longest}")
        elif self.pattern and not re.fullmatch(self.pattern, node.text, re.ASCII):
            notes.refuse(node, key, self.allowed)
        else:
            return node.text
        return BAD

    def _schema(self) -> Schema:
        return {"type": "string", "pattern": f"^{self.pattern}$"} if self.pattern else {"type": "string"}


NAME_PATTERN: Final = r"[A-Za-z0-9._-]{1,100}"
NAME: Final = TextType(NAME_PATTERN, "a name of letters, digits, dots, dashes and underscores, at most 100")


@dataclass(frozen=True, slots=True)
class Integer(FieldType):
    """A whole number in a range, written without quotes."""

    low: int
    high: int
    allowed: str = ""
    """Description of allowed values, instead of the range."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if isinstance(node, Scalar) and node.plain and re.fullmatch(r"-?[0-9]{1,19}", node.text, re.ASCII):
            value = int(node.text)
            if self.low <= value <= self.high:
                return value
        notes.refuse(node, key, self.allowed or f"a whole number from {self.low} to {self.high}")
        return BAD

    def _schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class BooleanType(FieldType):
    """``true`` or ``false``; the other booleans of YAML 1.1 are rejected."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if isinstance(node, Scalar) and node.plain and node.text.lower() in {"true", "false"}:
            return node.text.lower() == "true"
        notes.refuse(node, key, "true or false")
        return BAD

    def _schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class ChoiceType(FieldType):
    """One of a fixed set of words."""

    names: tuple[str, ...]
    allowed: str = ""
    """Description of allowed values, instead of all names."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if isinstance(node, Scalar) and node.text in self.names:
            return node.text
        hint = nearest(node.text, self.names) if isinstance(node, Scalar) else ""
        notes.refuse(node, key, (self.allowed or listed(self.names)) + hint)
        return BAD

    def _schema(self) -> Schema:
        return {"enum": list(self.names)}


@dataclass(frozen=True, slots=True)
class Numbered(ChoiceType):
    """One of a few words, or a number from 1."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        text = node.text if isinstance(node, Scalar) else ""
        if re.fullmatch(r"[1-9][0-9]{0,8}", text, re.ASCII):
            return text
        return ChoiceType.read(ChoiceType(self.names, self.allowed), node, key, notes)

    def _schema(self) -> Schema:
        return {"anyOf": [ChoiceType(self.names).schema(), {"type": "integer", "minimum": 1}]}


@dataclass(frozen=True, slots=True)
class Quantity(FieldType):
    """A number with a unit; ``convert`` turns the text into the model's unit."""

    convert: Callable[[str], Any]
    pattern: str
    allowed: str
    low: int = 0
    high: int | None = None
    raw: bool = False
    """Whether the value is the checked text itself, for callers that need more to convert it."""
    numbers: bool = False
    """Whether a number without unit is allowed, too."""
    write: Callable[[int], str] = str
    """Formatter of limits in messages."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, self.allowed)
            return BAD
        try:
            value = self.convert(node.text)
        except UnitError as error:
            allowed = str(error)
            wording = f"expected {allowed}" if allowed.startswith("a ") else allowed
            notes.problem(node, key, f"found {found(node)}, {wording}")
            return BAD
        if value < self.low or (self.high is not None and value > self.high):
            most = f" to {self.write(self.high)}" if self.high is not None else " or more"
            notes.refuse(node, key, f"{self.allowed}, from {self.write(self.low)}{most}")
            return BAD
        return node.text if self.raw else value

    def _schema(self) -> Schema:
        text: Schema = {"type": "string", "pattern": f"^{self.pattern}$"}
        return {"anyOf": [text, {"type": "integer", "minimum": 0}]} if self.numbers else text


DURATION: Final = Quantity(duration_us, DURATION_PATTERN, DURATION_ALLOWED)
RATE: Final = Quantity(per_second, RATE_PATTERN, RATE_ALLOWED, raw=True)


@dataclass(frozen=True, slots=True)
class ListOf(FieldType):
    """A list of ``min_items`` to ``max_items`` elements of a type. The value is the list without invalid elements."""

    kind: FieldType
    min_items: int = 0
    max_items: int = 1_000

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Sequence):
            notes.refuse(node, key, "a list")
            return BAD
        if not self.min_items <= len(node.items) <= self.max_items:
            message = f"found {counted(len(node.items), 'element')}, expected {self.min_items} to {self.max_items}"
            notes.problem(node, key, message)
            return BAD
        values = [self.kind.read(item, item_key(item, f"{key}[{i}]"), notes) for i, item in enumerate(node.items, 1)]
        return BAD if BAD in values else values

    def _schema(self) -> Schema:
        least = {"minItems": self.min_items} if self.min_items else {}
        return {"type": "array", "items": self.kind.schema(), **least, "maxItems": self.max_items}


@dataclass(frozen=True, slots=True)
class TypeByShape(FieldType):
    """A value that may be a scalar, a list or a mapping; each form has its own type."""

    allowed: str
    scalar: FieldType | None = None
    sequence: FieldType | None = None
    mapping: FieldType | None = None

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        shapes = {Scalar: self.scalar, Sequence: self.sequence, YamlMapping: self.mapping}
        kind = shapes[type(node)]
        if kind is not None:
            return kind.read(node, key, notes)
        notes.refuse(node, key, self.allowed)
        return BAD

    def _schema(self) -> Schema:
        kinds = [kind for kind in (self.scalar, self.sequence, self.mapping) if kind is not None]
        return {"anyOf": [kind.schema() for kind in kinds]}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A key of a mapping: the type of its value, and a line of documentation."""

    kind: FieldType
    doc: str
    required: bool = False
    old: str = ""
    """Earlier name of the key, which is still accepted."""


@dataclass(slots=True)
class Fields:
    """A parsed mapping: values by key, with their nodes for later checks."""

    node: YamlMapping
    key: str
    values: dict[str, Any] = field(default_factory=dict)
    """Values without absent keys and keys with invalid values."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a key, or ``default`` if it is absent or invalid."""
        return self.values.get(name, default)

    def given(self, name: str) -> bool:
        """Return whether the file has the key, with a valid value or not."""
        return name in self.node.entries

    def bad(self, name: str) -> bool:
        """Return whether the file has the key with an invalid value, so that nothing can be concluded from it."""
        return self.given(name) and name not in self.values

    def at(self, name: str) -> Node:
        """Return the node of a key's value, or the whole mapping if it is absent."""
        return self.node.get(name) or self.node

    def path(self, name: str) -> str:
        """Return the path of a key, for messages."""
        return f"{self.key}.{name}" if self.key else name


@dataclass(frozen=True, slots=True)
class Record(FieldType):
    """A mapping with known keys; other keys are rejected with the nearest known one."""

    keys: Mapping[str, FieldSpec]

    def open(self, node: Node, key: str, notes: ErrorNotes) -> Fields | None:
        """Return the mapping with its keys checked but no values parsed; None if it is not a mapping."""
        if not isinstance(node, YamlMapping):
            notes.refuse(node, key, f"a mapping with the keys {listed(self.keys)}")
            return None
        node = self._renamed(node, key, notes)
        fields = Fields(node, key)
        meant: set[str] = set()
        for name, (where, _) in node.entries.items():
            if name not in self.keys:
                hint = nearest(name, self.keys)
                meant.add(closest(name, self.keys))
                allowed = "" if hint else f", expected {listed(self.keys)}"
                notes.problem(where, fields.path(_safe(name)), f"found an unknown key {shown(name)}{allowed}{hint}")
        for name, entry in self.keys.items():
            if entry.required and name not in node.entries and name not in meant:
                notes.problem(node, key, f"missing key '{name}': {entry.doc.removeprefix('Target: ')}")
        return fields

    def _renamed(self, node: YamlMapping, key: str, notes: ErrorNotes) -> YamlMapping:
        """Return the mapping with the present names of keys in place of earlier ones."""
        present = {spec.old: name for name, spec in self.keys.items() if spec.old and spec.old in node.entries}
        if not present:
            return node
        for old, name in present.items():
            if name in node.entries:
                where = node.entries[old][0]
                notes.problem(
                    where,
                    f"{key}.{old}" if key else old,
                    f"found {old} and {name}, its current name; expected {name} alone",
                )
        entries = {present.get(name, name): entry for name, entry in node.entries.items()}
        return replace(node, entries=entries)

    def fill(self, fields: Fields, name: str, notes: ErrorNotes) -> None:
        """Parse one key of an opened mapping, if the file has it."""
        node = fields.node.get(name)
        if node is not None:
            value = self.keys[name].kind.read(node, fields.path(name), notes)
            if value is not BAD:
                fields.values[name] = value

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        """Parse all keys of a mapping to :class:`Fields`."""
        fields = self.open(node, key, notes)
        if fields is None:
            return BAD
        for name in self.keys:
            self.fill(fields, name, notes)
        return fields

    def _schema(self) -> Schema:
        properties = {name: {**entry.kind.schema(), "description": entry.doc} for name, entry in self.keys.items()}
        properties |= {
            entry.old: {**entry.kind.schema(), "description": f"Earlier name of {name}.", "deprecated": True}
            for name, entry in self.keys.items()
            if entry.old
        }
        required = [name for name, entry in self.keys.items() if entry.required]
        needed = {"required": required} if required else {}
        return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _safe(name: str) -> str:
    return shown(name).strip("'")


# Types of values that refer to the playbook's own cluster, and are checked against it.


@dataclass(frozen=True, slots=True)
class BrokerId(FieldType):
    """The id of a broker of the cluster."""

    @staticmethod
    def is_one(text: str) -> bool:
        """Return whether ``text`` is a valid broker id."""
        return text.isascii() and text.isdigit() and len(text) < 10

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        value = Integer(0, MAX_BROKER, "the id of a broker").read(node, key, notes)
        wrong = notes.facts.wrong_broker(value) if isinstance(value, int) else ""
        if wrong:
            notes.problem(node, key, wrong)
        return BAD if wrong else value

    def _schema(self) -> Schema:
        return Integer(0, MAX_BROKER).schema()


@dataclass(frozen=True, slots=True)
class PartitionName(FieldType):
    """A partition as Kafka prints it: ``orders-0``."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
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
class Reference(FieldType):
    """The name of a topic of the playbook."""

    kind: Literal["topic"]

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
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
class ConditionText(FieldType):
    """A true or false condition, about brokers, partitions and clients that exist."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
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
            message = f"found a {condition.type}, expected a condition that is true or false, such as {text} == 0"
            notes.problem(node, key, message)
            return BAD
        return BAD if _names_wrong(condition, node, key, notes, shift) else condition

    def _schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


def _stripped(text: str) -> tuple[str, int]:
    stripped = text.lstrip()
    return stripped.rstrip(), len(text) - len(stripped)


def _names_wrong(condition: Condition, node: Scalar, key: str, notes: ErrorNotes, shift: int) -> bool:
    """Add errors for all names that the playbook does not have; return whether there are any."""
    before = len(notes.problems)
    for column, wrong in wrong_names(condition, notes.facts):
        notes.inside(node, key, wrong, column + shift)
    return len(notes.problems) > before


def wrong_names(condition: Condition, facts: PlaybookNames) -> Iterator[tuple[int, str]]:
    """Yield column and error of each name in a condition that does not exist."""
    for use in condition.uses:
        if use.kind == "broker":
            message = facts.wrong_broker(int(use.name))
        elif use.kind == "partition":
            message = facts.wrong_partition(use.name)
        elif use.kind in VOCABULARIES:
            message = _wrong_word(use.kind, use.name)
        else:
            message = facts.wrong_name(use.kind, use.name) or facts.wrong_lag(use.name, use.function)
        if message:
            yield use.column, message


VOCABULARIES: Final = {
    "anomaly": tuple(KINDS),
    "cause": tuple(BY_CODE),
    "fault": tuple(CATALOGUE),
    "invariant": INVARIANTS,
    "property": NAMES,
}
"""Kind of argument → allowed names."""


def _wrong_word(kind: str, name: str) -> str:
    """Return why a name is unknown; a misspelt one would never be found."""
    known = VOCABULARIES[kind]
    return "" if name in known else f"found the {kind} {shown(name)}, expected {listed(known)}{nearest(name, known)}"


# Kafka versions to which a part of a playbook applies: ``2.1+``, ``0.8.2-2.0`` or ``1.1``.


ALLOWED: Final = "versions such as 2.1+ (and later), 0.8.2-2.0 (both included) or 1.1"


@dataclass(frozen=True, slots=True)
class Versions(FieldType):
    """A range of Kafka versions, parsed to the tuple of all release lines and patches in it."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        if not isinstance(node, Scalar) or node.empty:
            notes.refuse(node, key, ALLOWED)
            return BAD
        text = node.text.strip()
        first, dash, last = text.partition("-")
        first, last = first.strip(), last.strip()
        if not dash:
            last = RELEASE_LINES[-1] if first.endswith("+") else first
            first = first.removesuffix("+")
        for version in (first, last):
            if version not in RELEASES:
                notes.problem(node, key, f"found {shown(version or text)}, expected {ALLOWED}{unknown_hint(version)}")
                return BAD
        releases = releases_between(first, last)
        if not releases:
            notes.problem(node, key, f"found {shown(text)}, allowed with the older version first")
            return BAD
        return releases

    def _schema(self) -> Schema:
        return {"type": ["string", "number"], "pattern": r"^[0-9.]+(\+| ?- ?[0-9.]+)?$"}


_MOST_RANGES: Final = 20


def _ranges(node: Node, key: str, notes: ErrorNotes) -> list[tuple[str, ...]] | None:
    """Read one range of versions or a list of them; None for invalid ones."""
    if not isinstance(node, Sequence):
        value = Versions().read(node, key, notes)
        return None if value is BAD else [value]
    values = ListOf(Versions(), 1, _MOST_RANGES).read(node, key, notes)
    return None if values is BAD else values


_RANGES_SCHEMA: Final[Schema] = {"anyOf": [Versions().schema(), ListOf(Versions(), 1, _MOST_RANGES).schema()]}


@dataclass(frozen=True, slots=True)
class VersionRanges(FieldType):
    """Ranges of Kafka versions, one or a list; parsed to all release lines and patches in them."""

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        ranges = _ranges(node, key, notes)
        return BAD if ranges is None else tuple(dict.fromkeys(version for part in ranges for version in part))

    def _schema(self) -> Schema:
        return _RANGES_SCHEMA


@dataclass(frozen=True, slots=True)
class Profiles(FieldType):
    """Ranges of Kafka versions, one or a list; parsed to the release lines in them, oldest first.

    Of patch releases it has those that are named alone, such as ``2.4.0``.
    """

    def _read(self, node: Node, key: str, notes: ErrorNotes) -> Any:
        ranges = _ranges(node, key, notes)
        if ranges is None:
            return BAD
        named = {version for part in ranges for version in part if len(part) == 1 or version in RELEASE_LINES}
        return tuple(version for version in RELEASES if version in named)

    def _schema(self) -> Schema:
        return _RANGES_SCHEMA


def ranges_text(versions: tuple[str, ...]) -> str:
    """Format release lines and patch releases as in a playbook: ``0.11-2.6, 2.7.0, 3.0+``."""
    parts: list[list[str]] = []
    for version in versions:
        if parts and version in RELEASE_LINES and _is_next_line(parts[-1][-1], version):
            parts[-1].append(version)
        else:
            parts.append([version])
    return ", ".join(_range_text(part[0], part[-1]) for part in parts)


def _is_next_line(before: str, line: str) -> bool:
    return before in RELEASE_LINES and RELEASE_LINES.index(before) + 1 == RELEASE_LINES.index(line)


def _range_text(first: str, last: str) -> str:
    if first == last:
        return first
    return f"{first}+" if last == RELEASE_LINES[-1] else f"{first}-{last}"


KAFKA: Final = FieldSpec(VersionRanges(), "Only under these versions; under others it is ignored.")


def is_for(versions: tuple[str, ...] | None, notes: ErrorNotes) -> bool:
    """Return whether a part for ``versions`` (None: all) applies to the version of this playbook's cluster."""
    kafka = notes.facts.kafka
    return versions is None or kafka is None or kafka in versions
