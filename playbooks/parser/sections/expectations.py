"""What a playbook expects: a condition at the end, always, or eventually within a time since an instant."""

from dataclasses import replace
from typing import Any, Final, cast

from playbooks.conditions.conditions import Condition
from playbooks.errors import listed
from playbooks.model.playbook import Expectation, Position
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import BAD, DURATION, Choice, Fields, Key, Record, Schema
from playbooks.parser.document.given import GIVEN, counts
from playbooks.parser.document.references import ConditionText
from playbooks.parser.document.versions import KAFKA
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, item_key
from playbooks.units import duration_text

MAX_EXPECTATIONS: Final = 500
SINCE: Final = ("start", "heal")

AT_END: Final = Record(
    {"end": Key(ConditionText(), "Holds at the end.", required=True), "kafka": KAFKA, "given": GIVEN}
)
ALWAYS: Final = Record(
    {"always": Key(ConditionText(), "Holds from the start to the end.", required=True), "kafka": KAFKA, "given": GIVEN}
)
EVENTUALLY: Final = Record(
    {
        "eventually": Key(ConditionText(), "Holds at some instant.", required=True),
        "within": Key(DURATION, "At most so long after 'since'; until the end unless given."),
        "since": Key(Choice(SINCE), "The start, or the moment the last fault was healed; start unless given."),
        "kafka": KAFKA,
        "given": GIVEN,
    }
)
EITHER: Final = Record(
    {name: replace(entry, required=False) for name, entry in {**AT_END.keys, **ALWAYS.keys, **EVENTUALLY.keys}.items()}
)
END: Final = ConditionText()
RECORDS: Final = {"end": AT_END, "always": ALWAYS, "eventually": EVENTUALLY}


def read_expectations(node: Node, notes: Notes, *, manual: bool) -> tuple[Expectation, ...]:
    """All expectations that are right; the others are noted."""
    if not isinstance(node, Sequence):
        notes.refuse(node, "expect", "a list of conditions")
        return ()
    if len(node.items) > MAX_EXPECTATIONS:
        notes.problem(node, "expect", f"found {len(node.items)} expectations, allowed are at most {MAX_EXPECTATIONS}")
        return ()
    read = (_read_one(item, item_key(item, f"expect[{i}]"), notes, manual) for i, item in enumerate(node.items, 1))
    return tuple(expectation for expectation in read if expectation is not None)


def _read_one(node: Node, key: str, notes: Notes, manual: bool) -> Expectation | None:
    if isinstance(node, Scalar):
        at_end = END.read(node, key, notes)
        return None if at_end is BAD else _expectation("end", at_end, node)
    if not isinstance(node, Mapping):
        notes.refuse(node, key, "a condition, or a mapping with 'end', 'always' or 'eventually'")
        return None
    kinds = [kind for kind in RECORDS if kind in node.entries]
    if len(kinds) > 1:
        notes.problem(node, key, f"found {listed(kinds, 'and')} together, allowed is one of them")
        return None
    record = RECORDS[kinds[0]] if kinds else EVENTUALLY
    if not kinds and any(name not in EVENTUALLY.keys for name in node.entries):
        record = EITHER  # the unknown key is the mistake, and may be meant for any of both
    fields: Fields = record.read(node, key, notes)
    if manual:
        _refuse_time(fields, notes)
    condition: Condition | None = fields.get(kinds[0]) if kinds else None
    if condition is None or not counts(fields, notes):
        return None
    return _expectation(kinds[0], condition, node, fields.get("within", -1), fields.get("since", "start"))


def _refuse_time(fields: Fields, notes: Notes) -> None:
    for name in ("within", "since"):
        if fields.given(name):
            message = "found a time, allowed is none in 'stepping: manual', where time stands still"
            notes.problem(fields.at(name), fields.path(name), message)


def _expectation(kind: str, condition: Condition, node: Node, within: int = -1, since: str = "start") -> Expectation:
    """``text`` says the whole expectation as a person would."""
    words = [] if kind == "end" else [f"{kind}:"]
    words.append(condition.text)
    if within >= 0:
        words.append(f"within {duration_text(within)}")
    if since != "start":
        words.append(f"since {since}")
    where = Position(node.line, node.column)
    return Expectation(" ".join(words), cast("Any", kind), condition, where, within, since)


def schema() -> Schema:
    """JSON Schema of the list of expectations."""
    shapes = [END.schema(), *(record.schema() for record in RECORDS.values())]
    return {"type": "array", "items": {"anyOf": shapes}, "maxItems": MAX_EXPECTATIONS}
