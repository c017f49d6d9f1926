"""What records hold, as a playbook says it: a template by its name, or a map of fields."""

import re
from dataclasses import dataclass
from typing import Any, Final

from playbooks.errors import counted, listed, nearest, shown
from playbooks.model.payloads import FAKER
from playbooks.model.record_contents import FIELD_PATTERN, FieldError, parse
from playbooks.model.templates import TEMPLATES
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, ByShape, Kind, Schema
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, found

MOST_FIELDS: Final = 100
_FIELD_NAME: Final = r"[A-Za-z_][A-Za-z0-9_.-]{0,99}"


@dataclass(frozen=True, slots=True)
class Template(Kind):
    """``faker:NAME`` of a built-in template."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        known = [FAKER + name for name in TEMPLATES]
        if isinstance(node, Scalar) and node.text in known:
            return node.text
        hint = nearest(node.text, known) if isinstance(node, Scalar) else ""
        notes.problem(node, key, f"found {found(node)}, allowed are {listed(known)}, or a mapping of fields{hint}")
        return BAD

    def _schema(self) -> Schema:
        return {"enum": [FAKER + name for name in TEMPLATES]}


@dataclass(frozen=True, slots=True)
class FieldMap(Kind):
    """Field → provider with its arguments. The value is a tuple of both, in the file's order."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        assert isinstance(node, Mapping)
        if not 1 <= len(node.entries) <= MOST_FIELDS:
            message = f"found {counted(len(node.entries), 'field')}, allowed are 1 to {MOST_FIELDS}"
            notes.problem(node, key, message)
            return BAD
        read = [(name, _field(name, where, value, key, notes)) for name, (where, value) in node.entries.items()]
        fields = [(name, text) for name, text in read if text]
        return tuple(fields) if len(fields) == len(node.entries) else BAD

    def _schema(self) -> Schema:
        provider = {"type": "string", "pattern": f"^{FIELD_PATTERN}$"}
        return {
            "type": "object",
            "patternProperties": {f"^{_FIELD_NAME}$": provider},
            "additionalProperties": False,
            "maxProperties": MOST_FIELDS,
        }


def _field(name: str, where: Node, value: Node, key: str, notes: Notes) -> str:
    """What a field is made of; empty after noting what is wrong with it."""
    path = f"{key}.{shown(name)[1:-1]}"
    if not re.fullmatch(_FIELD_NAME, name, re.ASCII):
        notes.problem(
            where, path, f"found a field {shown(name)}, allowed are letters, digits, dots, dashes, underscores"
        )
        return ""
    if not isinstance(value, Scalar) or value.empty:
        notes.refuse(value, path, "a provider such as uuid4 or pyint(1, 500)")
        return ""
    try:
        parse(value.text)
    except FieldError as error:
        notes.problem(value, path, str(error))
        return ""
    return value.text


RECORDS: Final = ByShape(
    f"a template such as {FAKER}order, or a mapping of fields", scalar=Template(), mapping=FieldMap()
)
