"""What a group of a playbook reads: topics by name, or all that match a pattern; and where its members are."""

import re
from dataclasses import dataclass
from typing import Any

from cluster_model.protocol.versions import Profile
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, Fields, Kind, Schema
from playbooks.parser.document.yaml_source import Node, Scalar

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Pattern(Kind):
    """A regular expression that topics' whole names are to match."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Scalar) or node.empty or len(node.text) > LONGEST:
            notes.refuse(node, key, f"a regular expression of at most {LONGEST} characters")
            return BAD
        try:
            re.compile(node.text)
        except (re.error, OverflowError) as error:
            notes.problem(node, key, f"found {node.text!r}, allowed is a regular expression: {error}")
            return BAD
        return node.text

    def _schema(self) -> Schema:
        return {"type": "string", "minLength": 1, "maxLength": LONGEST}


def racks(fields: Fields, notes: Notes) -> tuple[str, ...]:
    """Racks of a group's members: as many as there are members."""
    given = tuple(fields.get("racks", ()))
    members = fields.get("members", 1)
    if given and len(given) != members:
        wrong = f"found {len(given)} racks for members: {members}, allowed is one for each"
    elif given and "client.rack" in fields.get("config", {}):
        wrong = "found racks and client.rack in config, allowed is one of them"
    else:
        return given
    notes.problem(fields.at("racks"), fields.path("racks"), wrong)
    return given


def subscription(fields: Fields, profile: Profile, notes: Notes) -> tuple[tuple[str, ...], str]:
    """The topics of a group and its pattern: one of the two, and a pattern only where partitions are shared out."""
    topics = tuple(dict.fromkeys(fields.get("topics", ())))
    pattern = fields.get("pattern", "")
    wrong = ""
    if fields.given("topics") and fields.given("pattern"):
        wrong = "found topics and a pattern, allowed is one of them"
    elif not fields.given("topics") and not fields.given("pattern"):
        wrong = "found neither topics nor a pattern, allowed is one of them"
    elif fields.given("pattern") and not fields.get("coordinated", True):
        wrong = "found a pattern with 'coordinated: false', allowed only where a coordinator shares partitions out"
    elif fields.given("pattern") and not profile.group_membership:
        wrong = f"found a pattern with Kafka {profile.version}, allowed since 0.9"
    if wrong:
        key = "pattern" if fields.given("pattern") else "topics"
        notes.problem(fields.at(key), fields.path(key), wrong)
    return topics, pattern
