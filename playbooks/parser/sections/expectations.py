"""Parser of the sections ``expect``, ``guards`` and ``storm`` of a playbook."""

from dataclasses import replace
from typing import Any, Final, cast

from cluster_model.util.quantities import listed
from faults.catalogue import CATALOGUE
from faults.guardrails import ON_BREACH, REFUSE, Limits
from playbooks.conditions.condition import Condition
from playbooks.model.playbook import Expectation, Guards, Position, StormRanges
from playbooks.parser.document.context import ErrorNotes
from playbooks.parser.document.field_types import (
    BAD,
    DURATION,
    KAFKA,
    BooleanType,
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
    TypeByShape,
)
from playbooks.parser.document.variables import GIVEN, counts
from playbooks.parser.document.yaml_source import Mapping, Node, Scalar, Sequence, item_key
from playbooks.units import duration_text

MAX_EXPECTATIONS: Final = 500
SINCE: Final = ("start", "heal")

AT_END: Final = Record(
    {"end": FieldSpec(ConditionText(), "Must hold at the end.", required=True), "kafka": KAFKA, "given": GIVEN}
)
ALWAYS: Final = Record(
    {
        "always": FieldSpec(ConditionText(), "Must hold from start to end.", required=True),
        "kafka": KAFKA,
        "given": GIVEN,
    }
)
EVENTUALLY: Final = Record(
    {
        "eventually": FieldSpec(ConditionText(), "Must hold at some time.", required=True),
        "within": FieldSpec(DURATION, "Maximum time after since; default: until the end."),
        "since": FieldSpec(ChoiceType(SINCE), "start, or heal: when the last fault was healed; default start."),
        "kafka": KAFKA,
        "given": GIVEN,
    }
)
EITHER: Final = Record(
    {name: replace(entry, required=False) for name, entry in {**AT_END.keys, **ALWAYS.keys, **EVENTUALLY.keys}.items()}
)
END: Final = ConditionText()
RECORDS: Final = {"end": AT_END, "always": ALWAYS, "eventually": EVENTUALLY}


def read_expectations(node: Node, notes: ErrorNotes, *, manual: bool) -> tuple[Expectation, ...]:
    """Return the valid expectations; the errors of others are reported."""
    if not isinstance(node, Sequence):
        notes.refuse(node, "expect", "a list of conditions")
        return ()
    if len(node.items) > MAX_EXPECTATIONS:
        notes.problem(node, "expect", f"found {len(node.items)} expectations, expected at most {MAX_EXPECTATIONS}")
        return ()
    read = (_read_one(item, item_key(item, f"expect[{i}]"), notes, manual) for i, item in enumerate(node.items, 1))
    return tuple(expectation for expectation in read if expectation is not None)


def _read_one(node: Node, key: str, notes: ErrorNotes, manual: bool) -> Expectation | None:
    if isinstance(node, Scalar):
        at_end = END.read(node, key, notes)
        return None if at_end is BAD else _expectation("end", at_end, node)
    if not isinstance(node, Mapping):
        notes.refuse(node, key, "a condition, or a mapping with 'end', 'always' or 'eventually'")
        return None
    kinds = [kind for kind in RECORDS if kind in node.entries]
    if len(kinds) > 1:
        notes.problem(node, key, f"found {listed(kinds, 'and')} together, expected one of them")
        return None
    record = RECORDS[kinds[0]] if kinds else EVENTUALLY
    if not kinds and any(name not in EVENTUALLY.keys for name in node.entries):
        record = EITHER  # the error is the unknown key, which may be meant for either kind
    fields: Fields = record.read(node, key, notes)
    if manual:
        _refuse_time(fields, notes)
    condition: Condition | None = fields.get(kinds[0]) if kinds else None
    if condition is None or not counts(fields, notes):
        return None
    return _expectation(kinds[0], condition, node, fields.get("within", -1), fields.get("since", "start"))


def _refuse_time(fields: Fields, notes: ErrorNotes) -> None:
    for name in ("within", "since"):
        if fields.given(name):
            message = "found a time, not allowed with 'stepping: manual', which has no time"
            notes.problem(fields.at(name), fields.path(name), message)


def _expectation(kind: str, condition: Condition, node: Node, within: int = -1, since: str = "start") -> Expectation:
    """Return an expectation; its ``text`` is the whole expectation as one line."""
    words = [] if kind == "end" else [f"{kind}:"]
    words.append(condition.text)
    if within >= 0:
        words.append(f"within {duration_text(within)}")
    if since != "start":
        words.append(f"since {since}")
    where = Position(node.line, node.column)
    return Expectation(" ".join(words), cast("Any", kind), condition, where, within, since)


def schema() -> Schema:
    """Return the JSON Schema of the list of expectations."""
    shapes = [END.schema(), *(record.schema() for record in RECORDS.values())]
    return {"type": "array", "items": {"anyOf": shapes}, "maxItems": MAX_EXPECTATIONS}


# Guards of a playbook: limits that refuse a fault, or heal all faults when exceeded.


MOST: Final = 10_000
"""Maximum value of a limit."""

GUARDS: Final = Record(
    {
        "max_brokers_down": FieldSpec(
            Integer(0, MOST), "Maximum number of brokers down, paused or isolated from the controller."
        ),
        "keep_last_in_sync": FieldSpec(BooleanType(), "Never remove the last in-sync replica of a partition."),
        "max_faults": FieldSpec(Integer(0, MOST), "Maximum number of active lasting faults."),
        "stop_when": FieldSpec(
            ConditionText(), "Condition that ends the chaos: all faults heal, and no more are injected."
        ),
        "on_breach": FieldSpec(
            ChoiceType(ON_BREACH),
            "refuse faults that would exceed a limit, or inject them and heal everything once exceeded; default given.",
        ),
    }
)
"""All keys of ``guards``."""

_LIMITS: Final = tuple(name for name in GUARDS.keys if name != "on_breach")


def read_guards(fields: Fields | None, notes: ErrorNotes, *, manual: bool) -> Guards | None:
    """Return the guards, None if there are none or they have errors."""
    if fields is None:
        return None
    if manual:
        message = "found guards, not allowed with 'stepping: manual', which has no faults"
        notes.problem(fields.node, fields.key, message)
        return None
    if not any(fields.given(name) for name in _LIMITS):
        if any(name not in GUARDS.keys for name in fields.node.entries):
            return None  # the error is the unknown key, which may be meant as a limit
        notes.problem(fields.node, fields.key, f"found no limit, expected {listed(_LIMITS)}")
        return None
    limits = Limits(
        fields.get("max_brokers_down", -1),
        fields.get("keep_last_in_sync", False),
        fields.get("max_faults", -1),
        fields.get("on_breach", REFUSE),
    )
    return Guards(limits, fields.get("stop_when"))


# ``storm``: ranges of the random options of storms, and expected findings.


MOST_AT_ONCE: Final = 20
STORM_OPERATIONS: Final = ("reassign", "elect_leaders", "set_replication", "add_partitions", "shutdown")
"""Administrator operations in storms: those that move replicas, leaders and brokers."""

_NAMES: Final = ListOf(
    ChoiceType((*CATALOGUE, *STORM_OPERATIONS), "a fault of the catalogue, or one of " + listed(STORM_OPERATIONS)), 1
)


def _span(kind: FieldType, what: str) -> FieldType:
    """Return the type of one value, or a list of minimum and maximum."""
    return TypeByShape(f"{what}, or a list of minimum and maximum", scalar=kind, sequence=ListOf(kind, 2, 2))


STORM: Final = Record(
    {
        "chaos": FieldSpec(_span(DURATION, "a duration"), "Time in which faults are injected; default [15s, 25s]."),
        "fault": FieldSpec(
            _span(DURATION, "a duration"), "Longest duration of a fault in a run; default [500ms, 12s]."
        ),
        "healthy": FieldSpec(_span(DURATION, "a duration"), "Longest time between two faults; default [250ms, 5s]."),
        "at_once": FieldSpec(_span(Integer(1, MOST_AT_ONCE), "a number"), "Number of active faults; default [1, 3]."),
        "steered": FieldSpec(
            _span(Integer(0, 100), "a number"),
            "Percentage of faults that wait for an interesting state; default [30, 90].",
        ),
        "faults": FieldSpec(_NAMES, "Allowed faults; default: all that fit the cluster."),
        "without": FieldSpec(_NAMES, "Excluded faults."),
        "expected": FieldSpec(ListOf(TextType(), 1, 100), "Keys of expected findings, as in finding:lost/*."),
    }
)
"""All keys of ``storm``."""

_SPANS: Final = {
    "chaos": "chaos_us",
    "fault": "fault_us",
    "healthy": "healthy_us",
    "at_once": "at_once",
    "steered": "steered",
}


def read_storm(fields: Fields | None, notes: ErrorNotes, *, manual: bool) -> StormRanges | None:
    """Return the ranges, None if there are none or they have errors."""
    if fields is None:
        return None
    if manual:
        message = "found storms, not allowed with 'stepping: manual', which has no faults"
        notes.problem(fields.node, fields.key, message)
        return None
    values: dict[str, Any] = {}
    for name, field in _SPANS.items():
        if fields.given(name) and not fields.bad(name):
            value = fields.get(name)
            low, high = value if isinstance(value, list) else (value, value)
            if low > high:
                notes.problem(
                    fields.at(name), fields.path(name), "found the larger value first, expected the smaller first"
                )
            values[field] = (low, high)
    for name in ("faults", "without", "expected"):
        if fields.given(name) and not fields.bad(name):
            values[name] = tuple(fields.get(name))
    left = [name for name in values.get("faults", ()) if name not in values.get("without", ())]
    if "faults" in values and not left:
        notes.problem(
            fields.at("without"), fields.path("without"), "found all allowed faults, at least one must remain"
        )
    return StormRanges(**values)
