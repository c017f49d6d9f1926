"""The keys of a playbook and of a fragment: as tables, as text for people, and as JSON Schema."""

from dataclasses import replace
from typing import Final

from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    DURATION,
    NAME,
    ByShape,
    ChoiceType,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    Profiles,
    Record,
    Schema,
    TextType,
)
from playbooks.parser.document.grid import VARY
from playbooks.parser.document.includes import BROUGHT
from playbooks.parser.document.variables import (
    FRAGMENT_NAME,
    INCLUDE,
    VARS,
)
from playbooks.parser.document.yaml_source import Node
from playbooks.parser.sections.cluster import CLIENTS, CLUSTER, TOPICS
from playbooks.parser.sections.expectations import GUARDS, STORM


class Later(FieldType):
    """A value that is read after everything it refers to; here it passes as it is."""

    def _read(self, node: Node, key: str, notes: Notes) -> Node:
        del key, notes
        return node

    def _schema(self) -> Schema:
        return {"type": "array"}


LATER: Final = Later()


ONE_OR_MORE: Final = ByShape("a text or a list of texts", scalar=TextType(), sequence=ListOf(TextType(), 1, 20))


PLAYBOOK: Final = Record(
    {
        "floodmark": FieldSpec(
            Integer(1, 1, "1, the version of the format, without quotes"),
            "Version of the playbook format.",
            required=True,
        ),
        "name": FieldSpec(NAME, "Short name; the file's unless given."),
        "title": FieldSpec(TextType(), "One line that says what happens; the name unless given."),
        "story": FieldSpec(TextType(), "What this shows and why it matters, in a few sentences."),
        "source": FieldSpec(
            ONE_OR_MORE, "Where the story comes from: an improvement proposal, a report, a test; one or a list."
        ),
        "profiles": FieldSpec(
            Profiles(), "Kafka versions under which it is expected to pass; its cluster's unless given."
        ),
        "tags": FieldSpec(ListOf(NAME, 0, 50), "Words to find it by."),
        "vars": VARS,
        "include": INCLUDE,
        "seed": FieldSpec(Integer(0, 2**63 - 1), "Seed of every random stream; 0 unless given."),
        "stepping": FieldSpec(
            ChoiceType(("timed", "manual")), "Manual turns off every timer and delivery: only steps act."
        ),
        "cluster": FieldSpec(CLUSTER, "What to build; three brokers of the newest Kafka unless given."),
        "topics": FieldSpec(TOPICS, "The topics that exist from the start.", required=True),
        "clients": FieldSpec(CLIENTS, "Who writes and who reads."),
        "guards": FieldSpec(GUARDS, "Limits that refuse a fault, or heal what is active once they are crossed."),
        "steps": FieldSpec(LATER, "What happens, in order."),
        "vary": FieldSpec(
            VARY, "Settings to run it over: axes with the values of each, or cases that are written out."
        ),
        "storm": FieldSpec(STORM, "What random storms over it draw from, see: floodmark storm."),
        "settle": FieldSpec(
            DURATION, "Quiet time after the last step, faults healed, before the verdict; 30s unless given."
        ),
        "expect": FieldSpec(LATER, "What must hold for the playbook to pass."),
    }
)
"""Every key of a playbook."""


FRAGMENT: Final = Record(
    {"floodmark": PLAYBOOK.keys["floodmark"], "fragment": FRAGMENT_NAME}
    | {name: PLAYBOOK.keys[name] for name in ("title", "story", "vars", "include")}
    | {name: replace(PLAYBOOK.keys[name], required=False) for name in BROUGHT}
)
"""Every key of a fragment."""
