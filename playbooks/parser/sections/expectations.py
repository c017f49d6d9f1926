"""The sections ``expect``, ``guards`` and ``storm`` of a playbook."""

from dataclasses import replace
from typing import Any, Final, cast

from cluster_model.util.quantities import listed
from faults.catalogue import CATALOGUE
from faults.guardrails import ON_BREACH, REFUSE, Limits
from playbooks.conditions.condition import Condition
from playbooks.model.playbook import Expectation, Guarding, Position, StormRanges
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    KAFKA,
    BooleanType,
    ByShape,
    ChoiceType,
    ConditionText,
    Fields,
    FieldSpec,
    FieldType,
    Integer,
    ListOf,
    Record,
    Schema,
    TextType,
)
from playbooks.parser.document.variables import GIVEN, counts
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, item_key
from playbooks.units import duration_text

MAX_EXPECTATIONS: Final = 500
SINCE: Final = ("start", "heal")

AT_END: Final = Record(
    {"end": FieldSpec(ConditionText(), "Holds at the end.", required=True), "kafka": KAFKA, "given": GIVEN}
)
ALWAYS: Final = Record(
    {
        "always": FieldSpec(ConditionText(), "Holds from the start to the end.", required=True),
        "kafka": KAFKA,
        "given": GIVEN,
    }
)
EVENTUALLY: Final = Record(
    {
        "eventually": FieldSpec(ConditionText(), "Holds at some instant.", required=True),
        "within": FieldSpec(DURATION, "At most so long after 'since'; until the end unless given."),
        "since": FieldSpec(
            ChoiceType(SINCE), "The start, or the moment the last fault was healed; start unless given."
        ),
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


# Guardrails of a playbook: limits that refuse a fault, or heal what is active once they are crossed.


MOST: Final = 10_000
"""The largest limit that may be written."""

GUARDS: Final = Record(
    {
        "max_brokers_down": FieldSpec(
            Integer(0, MOST), "Brokers that may be dead, paused or cut off from the controller at once."
        ),
        "keep_last_in_sync": FieldSpec(BooleanType(), "Never take away the last in-sync replica of any partition."),
        "max_faults": FieldSpec(Integer(0, MOST), "Faults that last and may be active at once."),
        "stop_when": FieldSpec(
            ConditionText(), "Chaos ends when this holds: all is healed, and no fault is injected any more."
        ),
        "on_breach": FieldSpec(
            ChoiceType(ON_BREACH),
            "Refuse what would cross a limit, or let it happen and heal everything once it is crossed; refuse unless "
            "given.",
        ),
    }
)
"""Every key of ``guards``."""

_LIMITS: Final = tuple(name for name in GUARDS.keys if name != "on_breach")


def read_guards(fields: Fields | None, notes: Notes, *, manual: bool) -> Guarding | None:
    """The guards, None where there are none or they are wrong."""
    if fields is None:
        return None
    if manual:
        message = "found guards, allowed are none in 'stepping: manual', where no fault is injected"
        notes.problem(fields.node, fields.key, message)
        return None
    if not any(fields.given(name) for name in _LIMITS):
        if any(name not in GUARDS.keys for name in fields.node.entries):
            return None  # the unknown key is the mistake, and may be meant for a limit
        notes.problem(fields.node, fields.key, f"found no limit, allowed are {listed(_LIMITS, 'and')}")
        return None
    limits = Limits(
        fields.get("max_brokers_down", -1),
        fields.get("keep_last_in_sync", False),
        fields.get("max_faults", -1),
        fields.get("on_breach", REFUSE),
    )
    return Guarding(limits, fields.get("stop_when"))


# ``storm``: ranges that the storms over a playbook draw from, and findings that are expected.


MOST_AT_ONCE: Final = 20
STORM_OPERATIONS: Final = ("reassign", "elect_leaders", "set_replication", "add_partitions", "shutdown")
"""What an administrator does in a storm: what moves replicas, leaders and brokers."""

_NAMES: Final = ListOf(
    ChoiceType((*CATALOGUE, *STORM_OPERATIONS), "a fault of the catalogue, or one of " + listed(STORM_OPERATIONS)), 1
)


def _span(kind: FieldType, what: str) -> FieldType:
    """One value, or the least and the most."""
    return ByShape(f"{what}, or a list of the least and the most", scalar=kind, sequence=ListOf(kind, 2, 2))


STORM: Final = Record(
    {
        "chaos": FieldSpec(_span(DURATION, "a duration"), "How long faults are injected; [15s, 25s] unless given."),
        "fault": FieldSpec(
            _span(DURATION, "a duration"), "How long the longest fault of a run may last; [500ms, 12s] unless given."
        ),
        "healthy": FieldSpec(
            _span(DURATION, "a duration"), "The longest from a strike to the next; [250ms, 5s] unless given."
        ),
        "at_once": FieldSpec(
            _span(Integer(1, MOST_AT_ONCE), "a number"), "Faults that are active at once; [1, 3] unless given."
        ),
        "steered": FieldSpec(
            _span(Integer(0, 100), "a number"),
            "Strikes in a hundred that wait for an interesting state; [30, 90] unless given.",
        ),
        "faults": FieldSpec(_NAMES, "What may come; every fault that fits the cluster unless given."),
        "without": FieldSpec(_NAMES, "... but these."),
        "expected": FieldSpec(ListOf(TextType(), 1, 100), "Keys of what is no surprise, as in finding:lost/*."),
    }
)
"""Every key of ``storm``."""

_SPANS: Final = {
    "chaos": "chaos_us",
    "fault": "fault_us",
    "healthy": "healthy_us",
    "at_once": "at_once",
    "steered": "steered",
}


def read_storm(fields: Fields | None, notes: Notes, *, manual: bool) -> StormRanges | None:
    """The ranges, None where there are none or they are wrong."""
    if fields is None:
        return None
    if manual:
        message = "found storms, allowed are none in 'stepping: manual', where no fault is injected"
        notes.problem(fields.node, fields.key, message)
        return None
    values: dict[str, Any] = {}
    for name, field in _SPANS.items():
        if fields.given(name) and not fields.bad(name):
            value = fields.get(name)
            low, high = value if isinstance(value, list) else (value, value)
            if low > high:
                notes.problem(
                    fields.at(name), fields.path(name), "found the larger value first, allowed is the smaller"
                )
            values[field] = (low, high)
    for name in ("faults", "without", "expected"):
        if fields.given(name) and not fields.bad(name):
            values[name] = tuple(fields.get(name))
    left = [name for name in values.get("faults", ()) if name not in values.get("without", ())]
    if "faults" in values and not left:
        notes.problem(
            fields.at("without"), fields.path("without"), "found every fault that may come, allowed is to leave one"
        )
    return StormRanges(**values)
