"""``storm``: what the storms over a playbook draw from, and what they may find without surprising anybody."""

from typing import Any, Final

from faults.catalogue import CATALOGUE
from playbooks.errors import listed
from playbooks.model.ranges import Ranges
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import (
    DURATION,
    ByShape,
    Choice,
    Fields,
    Integer,
    Key,
    Kind,
    ListOf,
    Record,
    Text,
)

MOST_AT_ONCE: Final = 20
STORM_OPERATIONS: Final = ("reassign", "elect_leaders", "set_replication", "add_partitions", "shutdown")
"""What an administrator does in a storm: what moves replicas, leaders and brokers."""

_NAMES: Final = ListOf(
    Choice((*CATALOGUE, *STORM_OPERATIONS), "a fault of the catalogue, or one of " + listed(STORM_OPERATIONS)), 1
)


def _span(kind: Kind, what: str) -> Kind:
    """One value, or the least and the most."""
    return ByShape(f"{what}, or a list of the least and the most", scalar=kind, sequence=ListOf(kind, 2, 2))


STORM: Final = Record(
    {
        "chaos": Key(_span(DURATION, "a duration"), "How long faults are injected; [15s, 25s] unless given."),
        "fault": Key(
            _span(DURATION, "a duration"), "How long the longest fault of a run may last; [500ms, 12s] unless given."
        ),
        "healthy": Key(
            _span(DURATION, "a duration"), "The longest from a strike to the next; [250ms, 5s] unless given."
        ),
        "at_once": Key(
            _span(Integer(1, MOST_AT_ONCE), "a number"), "Faults that are active at once; [1, 3] unless given."
        ),
        "steered": Key(
            _span(Integer(0, 100), "a number"),
            "Strikes in a hundred that wait for an interesting state; [30, 90] unless given.",
        ),
        "faults": Key(_NAMES, "What may come; every fault that fits the cluster unless given."),
        "without": Key(_NAMES, "... but these."),
        "expected": Key(ListOf(Text(), 1, 100), "Keys of what is no surprise, as in finding:lost/*."),
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


def read_storm(fields: Fields | None, notes: Notes, *, manual: bool) -> Ranges | None:
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
    return Ranges(**values)
