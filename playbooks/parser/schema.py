"""JSON Schema of playbooks, for editors; made from the tables that the loader reads by.

``python -m playbooks.parser.schema`` prints it. It describes form: that a broker exists, or that a condition makes
sense, only the loader can tell.
"""

import json
from typing import Any, Final

from cluster_model.manual.verbs import MANUAL_VERBS
from faults.catalogue import CATALOGUE
from faults.declarations import OPERATIONS
from playbooks.parser.document.field_types import (
    Schema,
)
from playbooks.parser.document.variables import (
    GIVEN,
    STEP_INCLUDE,
    VARIABLE,
    with_variables,
)
from playbooks.parser.playbook_keys import PLAYBOOK
from playbooks.parser.sections import expectations
from playbooks.parser.steps.manual_steps import THEN, manual_record
from playbooks.parser.steps.step_groups import GROUP
from playbooks.parser.steps.timed_steps import MAX_STEPS, timed_record

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema() -> Schema:
    """The whole schema."""
    whole = PLAYBOOK.schema()
    whole["properties"]["steps"] |= {"items": {"$ref": "#/$defs/step"}, "maxItems": MAX_STEPS}
    whole["properties"]["expect"] |= expectations.schema()
    whole["required"] = ["floodmark"]
    either = [{"required": ["topics"]}, {"required": ["include"]}]
    groups = [GROUP[manual].schema() for manual in (False, True)]
    steps = {"anyOf": [*_timed_steps(), *_manual_steps(), *groups, STEP_INCLUDE.schema()]}
    opened = {
        "then": with_variables(THEN.kind.schema()),
        "given": with_variables(GIVEN.kind.schema()),
        "step": with_variables(steps),
        "variable": VARIABLE,
    }
    head = {"$schema": DIALECT, "title": "floodmark playbook"}
    return {**head, **with_variables(whole), "anyOf": either, "$defs": opened}


def text() -> str:
    """The schema as the published file holds it."""
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
    """A step's schema where the verb's value says which step it is; other names of the same keys stand with it."""
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
    """The same with a reference for a part that stands in every step."""
    reference = {"$ref": f"#/$defs/{name}", "description": record["properties"][name]["description"]}
    return {**record, "properties": {**record["properties"], name: reference}}


if __name__ == "__main__":
    print(text(), end="")
