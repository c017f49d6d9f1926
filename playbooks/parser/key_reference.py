"""Reference of a playbook's keys, as text and as JSON Schema, generated from the loader's tables."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS
from cluster_model.util.quantities import listed
from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS
from playbooks.model.playbook import SEED
from playbooks.parser.document.field_types import (
    KAFKA,
    BooleanType,
    BrokerId,
    ChoiceType,
    ConditionText,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    PartitionName,
    Profiles,
    Record,
    Reference,
    Schema,
    TextType,
    TypeByShape,
    VersionRanges,
)
from playbooks.parser.document.grid import CASES
from playbooks.parser.document.includes import FROM
from playbooks.parser.document.variables import GIVEN, STEP_INCLUDE, VARIABLE, with_variables
from playbooks.parser.loader import FRAGMENT, PLAYBOOK
from playbooks.parser.sections import expectations
from playbooks.parser.sections.cluster import Config, KafkaVersion, Rules
from playbooks.parser.steps.manual_steps import THEN, Nothing, manual_record
from playbooks.parser.steps.step_groups import GROUP
from playbooks.parser.steps.timed_steps import MAX_STEPS, NOTE, TIMED_VERBS, TRIGGERS, timed_record

BY_HAND: Final = "manual"
"""Path of the steps of manual playbooks in the reference."""
FEW: Final = 8
"""Maximum number of choices that are all listed; of longer lists only the first."""


@dataclass(frozen=True, slots=True)
class MappingReference:
    """Reference of one mapping of a playbook: its path, such as ``clients.producers``, and its keys."""

    path: str
    heading: str
    keys: Mapping[str, FieldSpec]
    bare: bool = False
    """Whether the keys are values of another key, so that their types are not shown."""


def key_mappings() -> dict[str, MappingReference]:
    """Return every mapping of a playbook by its path; that of the whole file is the empty one."""
    pages = {page.path: page for page in _walked("", PLAYBOOK, "A playbook")}
    for page in (*_grids(), *_steps(), *_expectations()):
        pages[page.path] = page
    return pages


def allowed_values_text(kind: FieldType) -> str:
    """Describe the values of a key: ``a duration such as 5s``, ``a list``, ``timed or manual``."""
    if isinstance(kind, ListOf):
        return (
            "a list of mappings" if isinstance(kind.kind, Record) else f"a list; each: {allowed_values_text(kind.kind)}"
        )
    if isinstance(kind, Record):
        return "a mapping"
    if isinstance(kind, Config):
        return f"a mapping of configurations, see: floodmark configs {kind.scope}"
    if isinstance(kind, ChoiceType) and not kind.allowed:
        rest = len(kind.names) - FEW
        return listed(kind.names) if rest <= 0 else f"{', '.join(kind.names[:FEW])} and {rest} more"
    if isinstance(kind, Integer) and not kind.allowed:
        return f"a whole number from {kind.low} to {kind.high}"
    if isinstance(kind, Reference):
        return f"the name of a {kind.kind} of the playbook"
    named = _PLAIN.get(type(kind)) or _cut(getattr(kind, "allowed", ""))
    return named or _by_schema(kind)


def _cut(text: str) -> str:
    """Shorten a long list of choices to the first ones."""
    words = text.replace(" or ", ", ").split(", ")
    return text if len(words) <= 2 * FEW else f"{', '.join(words[:FEW])} and {len(words) - FEW} more"


ANYTHING: Final = "a string, a list or a mapping"
"""Description of a value of unknown type."""

_PLAIN: Final[Mapping[type[FieldType], str]] = {
    BooleanType: "true or false",
    BrokerId: "the id of a broker",
    PartitionName: "a partition such as orders-0",
    ConditionText: "a condition such as acked_lost() == 0",
    KafkaVersion: "a release such as 3.9 or 3.9.1, see: floodmark profiles",
    Nothing: "nothing",
    Rules: "a mapping of rules to true or false, see: floodmark profiles",
    VersionRanges: "versions such as 2.1+, 0.8.2-2.0 or 1.1, or a list of them",
    Profiles: "versions such as 2.1+, 0.8.2-2.0 or 1.1, or a list of them",
    type(THEN.kind): "a mapping of a partition's brokers to their state, such as 1: {leo: 2, hw: 1}",
}


def full_path(path: str) -> str:
    """Expand an abbreviated path: ``producers`` is ``clients.producers``; other paths are unchanged."""
    pages = key_mappings()
    return next((page for page in pages if path in (page, page.rpartition(".")[2])), path)


def _by_schema(kind: FieldType) -> str:
    """Describe a type without its own description by its JSON Schema."""
    schema = kind.schema()
    if "enum" in schema:
        return listed(map(str, schema["enum"]))
    names = {"array": "a list", "object": "a mapping", "string": "a string", "number": "a number"}
    return names.get(str(schema.get("type")), ANYTHING)


def inner(kind: FieldType) -> Iterator[Record]:
    """Yield the mappings that a value is, or has as list elements."""
    if isinstance(kind, Record):
        yield kind
    elif isinstance(kind, ListOf):
        yield from inner(kind.kind)
    elif isinstance(kind, TypeByShape):
        for each in (kind.scalar, kind.sequence, kind.mapping):
            if each is not None:
                yield from inner(each)


def _walked(path: str, record: Record, heading: str) -> Iterator[MappingReference]:
    """Yield the mapping and those inside it; keys of several forms of a mapping are merged."""
    yield MappingReference(path, heading, record.keys)
    for name, key in record.keys.items():
        below = f"{path}.{name}" if path else name
        forms = list(inner(key.kind))
        if forms:
            joined = Record({each: entry for form in forms for each, entry in form.keys.items()})
            yield from _walked(below, joined, key.doc)


def _steps() -> Iterator[MappingReference]:
    verbs = {name: FieldSpec(key.kind, key.doc) for name, key in TIMED_VERBS.items()}
    common = {**TRIGGERS, **verbs, "kafka": KAFKA, "given": GIVEN, "note": NOTE}
    yield MappingReference("steps", "A step: at most one of at, after and when, and one verb", common)
    yield MappingReference(
        "steps.inject", "A fault: 'floodmark faults NAME' shows its parameters", _verbs(CATALOGUE), bare=True
    )
    yield MappingReference(
        "steps.admin", "An operation: 'floodmark faults NAME' shows its parameters", _verbs(OPERATIONS), bare=True
    )
    yield MappingReference(
        "steps.repeat",
        "A group of steps, with repeat or each: the steps of each round in order",
        GROUP[False].keys,
    )
    yield MappingReference("steps.include", "A fragment of steps, in the place of a step", STEP_INCLUDE.keys)
    yield MappingReference("fragment", "A fragment: a part of playbooks, not a playbook by itself", FRAGMENT.keys)
    beside = {name: key for name, key in manual_record("show").keys.items() if name not in MANUAL_VERBS}
    by_hand = {name: FieldSpec(manual_record(name).keys[name].kind, verb.doc) for name, verb in MANUAL_VERBS.items()}
    yield MappingReference(BY_HAND, "A manual step, with 'stepping: manual': one verb", {**by_hand, **beside})
    for name, verb in MANUAL_VERBS.items():
        keys = {each: key for form in inner(by_hand[name].kind) for each, key in form.keys.items()}
        if keys:
            yield MappingReference(f"{BY_HAND}.{name}", verb.doc, keys)


def _grids() -> Iterator[MappingReference]:
    axis = TextType(allowed=f"a list of values; {SEED} also takes a range, such as 1..20")
    combined = TextType(allowed="a list of mappings of axes to one value each")
    told_of = (
        f"An axis is a variable, {SEED}, kafka, mode, a Kafka configuration such as acks, or a path as --set takes it"
    )
    yield MappingReference(
        "vary",
        told_of,
        {
            "AXIS": FieldSpec(axis, "Values, each combined with all values of the other axes."),
            CASES: FieldSpec(combined, "Explicit combinations, besides the axes."),
        },
    )
    yield MappingReference(
        "given",
        "Condition on settings for a part of the playbook, as in some cells of vary",
        {"AXIS": FieldSpec(TextType(allowed="a value, or a list of values"), "An axis as in vary, except seed.")},
    )


def _verbs(table: Mapping[str, object]) -> dict[str, FieldSpec]:
    return {name: FieldSpec(ChoiceType((name,)), str(getattr(entry, "summary", ""))) for name, entry in table.items()}


def _expectations() -> Iterator[MappingReference]:
    keys: dict[str, FieldSpec] = {}
    for record in expectations.RECORDS.values():
        for name, key in record.keys.items():
            keys.setdefault(name, FieldSpec(key.kind, key.doc))
    yield MappingReference(
        "expect", "An expectation: a condition alone holds at the end, or one of end, always, eventually", keys
    )


# JSON Schema of playbooks, for editors; generated from the loader's tables.
#
# ``python -m playbooks.parser.key_reference`` prints it. It describes the form only: whether a broker exists, or a
# condition makes sense, is checked by the loader.


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Schema:
    """Return the whole schema."""
    document = PLAYBOOK.schema()
    document["properties"]["steps"] |= {"items": {"$ref": "#/$defs/step"}, "maxItems": MAX_STEPS}
    document["properties"]["expect"] |= expectations.schema()
    document["required"] = ["floodmark"]
    from_file = {"required": ["cluster"], "properties": {"cluster": {"required": [FROM]}}}
    either = [{"required": ["topics"]}, {"required": ["include"]}, from_file]
    groups = [GROUP[manual].schema() for manual in (False, True)]
    steps = {"anyOf": [*_timed_steps(), *_manual_steps(), *groups, STEP_INCLUDE.schema()]}
    opened = {
        "then": with_variables(THEN.kind.schema()),
        "given": with_variables(GIVEN.kind.schema()),
        "step": with_variables(steps),
        "variable": VARIABLE,
    }
    head = {"$schema": DIALECT, "title": "floodmark playbook"}
    return {**head, **with_variables(document), "anyOf": either, "$defs": opened}


def text() -> str:
    """Return the schema as in the published file."""
    return json.dumps(schema(), indent=2) + "\n"


def _timed_steps() -> list[Schema]:
    faults = [
        _step(timed_record("inject", name).schema(), "inject", name, fault.summary) for name, fault in CATALOGUE.items()
    ]
    narrow = [
        _step(timed_record("inject", alias.name).schema(), "inject", alias.name, f"{name} of {alias.accepts}")
        for name, fault in CATALOGUE.items()
        for alias in fault.aliases
        if alias.accepts
    ]
    admin = [_step(timed_record("admin", name).schema(), "admin", name, op.summary) for name, op in OPERATIONS.items()]
    names = (("heal", "all"), ("settle", "now"), ("stop", "now"), ("reseed", "1"))
    others = [timed_record(verb, name).schema() for verb, name in names]
    return [_referring(each, "given") for each in (*faults, *narrow, *others, *admin)]


def _step(record: Schema, verb: str, name: str, summary: str) -> Schema:
    """Return the schema of a step whose verb has this value; aliases of the value are included."""
    declared = CATALOGUE.get(name) or OPERATIONS.get(name)
    names = [name, *(alias.name for alias in declared.aliases if not alias.accepts)] if declared else [name]
    which = {"enum": names} if len(names) > 1 else {"const": name}
    properties: dict[str, Any] = {**record["properties"], verb: {**which, "description": summary}}
    return {**record, "properties": properties}


def _manual_steps() -> list[Schema]:
    bare = [name for name, verb in MANUAL_VERBS.items() if not any(param.required for param in verb.params.values())]
    return [
        *(_referring(_referring(manual_record(name).schema(), "then"), "given") for name in MANUAL_VERBS),
        {"enum": bare},
    ]


def _referring(record: Schema, name: str) -> Schema:
    """Return the schema with a reference for a part that occurs in every step."""
    reference = {"$ref": f"#/$defs/{name}", "description": record["properties"][name]["description"]}
    return {**record, "properties": {**record["properties"], name: reference}}


if __name__ == "__main__":
    print(text(), end="")
