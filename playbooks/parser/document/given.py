"""``given``: a part of a playbook counts only where settings have certain values, as in some cells of a grid.

It looks at what the file says where the setting stands, and not at which grid there is: so it means the same in a cell
of a grid, in its recording, under ``--set``, and where the file is run as it stands.
"""

from typing import Any, Final

from playbooks.errors import shown
from playbooks.model.grid import SEED
from playbooks.parser.document.axes import AxisError, values_at
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, Fields, Key, Kind, Schema
from playbooks.parser.document.grid import text_of
from playbooks.parser.document.versions import is_for
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence


class Given(Kind):
    """A mapping of axes to a value or a list of values; its value is whether all of them are so in this file."""

    def _read(self, node: Node, key: str, notes: Notes) -> Any:
        if not isinstance(node, Mapping) or not node.entries:
            notes.refuse(node, key, "a mapping of axes to values, such as {acks: all}")
            return BAD
        before = len(notes.problems)
        # All of them are read, so that all mistakes are told.
        held = [_holds(name, where, value, f"{key}.{shown(name)[1:-1]}", notes)
                for name, (where, value) in node.entries.items()]  # fmt: skip
        return BAD if len(notes.problems) > before else all(held)

    def _schema(self) -> Schema:
        value: Schema = {"type": ["string", "number", "boolean", "array", "object"]}
        return {"type": "object", "additionalProperties": value}


GIVEN: Final = Key(Given(), "Only where these settings have these values, as in some cells of vary.")


def _holds(name: str, where: Scalar, value: Node, place: str, notes: Notes) -> bool:
    root = notes.root
    wanted = value.items if isinstance(value, Sequence) else (value,)
    if not wanted or any(isinstance(each, Scalar) and each.empty for each in wanted):
        notes.refuse(value, place, "a value, or a list of values")
        return False
    if name == SEED:
        notes.problem(where, place, "found the seed, allowed are the other axes: what holds for one seed is no promise")
        return False
    if root is None:
        return False
    try:
        found = values_at(name, root, notes.values)
    except AxisError as error:
        notes.problem(where, place, str(error))
        return False
    texts = [_plain(text_of(each)) for each in wanted]
    standing = [_standing(name, node, notes) for node in found]
    return all(each is not None and _plain(each) in texts for each in standing)


def _standing(name: str, node: Node | None, notes: Notes) -> str | None:
    """What a setting is now: as the file says, and where it says nothing of version and mode, their own."""
    if node is not None:
        return text_of(node)
    return {"kafka": notes.facts.kafka, "mode": notes.facts.mode}.get(name.removeprefix("cluster."))


def _plain(text: str) -> str:
    return text.lower() if text.lower() in ("true", "false") else text


def counts(fields: Fields, notes: Notes) -> bool:
    """Whether a part counts in this file, by its ``kafka`` and its ``given``; without them it does."""
    given: bool = fields.get("given", True)
    return is_for(fields.get("kafka"), notes) and given
