"""The keys that variables and includes are written with; the values are read by ``includes`` and ``scopes``."""

from dataclasses import dataclass
from typing import Any, Final

from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import NAME, Key, Kind, Record, Schema, Text
from playbooks.parser.document.scopes import VALUE_ALLOWED
from playbooks.parser.document.variables import NAME_PATTERN
from playbooks.parser.document.yaml_source import Node


@dataclass(frozen=True, slots=True)
class Passed(Kind):
    """A value that was read before; here it passes as it is."""

    allowed: str

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        del key, notes
        return node


@dataclass(frozen=True, slots=True)
class Values(Passed):
    """Names of variables and their values."""

    allowed: str = f"a mapping of names to values: {VALUE_ALLOWED}"

    def _schema(self) -> Schema:
        value: Schema = {"type": ["string", "number", "boolean", "array", "null"]}
        return {"type": "object", "patternProperties": {f"^{NAME_PATTERN}$": value}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Paths(Passed):
    """One fragment or several."""

    allowed: str = "the path of a fragment from this file, or the name of a bundled one; or a list of those"

    def _schema(self) -> Schema:
        text: Schema = {"type": "string", "minLength": 1}
        return {"anyOf": [text, {"type": "array", "items": text}]}


VARS: Final = Key(Values(), "Variables by name; a value anywhere in the file may use one as ${name}.")
INCLUDE: Final = Key(Paths(), "Fragments that give defaults: lists are joined, of single values the file's own wins.")
FRAGMENT_NAME: Final = Key(NAME, "Its name; a file that has it is no playbook by itself.", required=True)

STEP_INCLUDE: Final = Record(
    {
        "include": Key(
            Text(allowed="the path of a fragment"), "A fragment, whose steps take this place.", required=True
        ),
        "with": Key(Values(), "Values for the fragment's variables."),
    }
)
"""A step that stands for the steps of a fragment."""


VARIABLE: Final[Schema] = {
    "type": "string",
    "pattern": r"\$\{",
    "description": "A variable as ${name}, alone or inside a text.",
}
"""JSON Schema of a value that a variable brings."""


def with_variables(schema: Schema) -> Schema:
    """The same schema where each value may also be a variable, which stands for a text, a number or a list."""
    opened = dict(schema)
    for part in ("properties", "patternProperties"):
        if part in schema:
            opened[part] = {name: _open(name, each) for name, each in schema[part].items()}
    if "items" in schema:
        opened["items"] = _open("", schema["items"])
    if "anyOf" in schema:
        opened["anyOf"] = [with_variables(each) for each in schema["anyOf"]]
    return opened


def _open(name: str, schema: Schema) -> Schema:
    if name in _FIXED or "$ref" in schema:
        return schema
    inner = with_variables(schema)
    if schema.get("type") == "object" or (schema.get("type") == "string" and "pattern" not in schema):
        return inner
    told = {"description": inner.pop("description")} if "description" in inner else {}
    forms = inner["anyOf"] if set(inner) == {"anyOf"} else [inner]
    return {"anyOf": [*forms, {"$ref": "#/$defs/variable"}], **told}


_FIXED: Final = ("floodmark", "vars", "with", "include", "fragment")
"""Keys whose values no variable brings."""
