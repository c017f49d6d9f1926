"""Guardrails of a playbook: limits that refuse a fault, or heal what is active once they are crossed."""

from typing import Final

from faults.guardrails import ON_BREACH, REFUSE, Limits
from playbooks.errors import listed
from playbooks.model.playbook import Guarding
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Choice, Fields, Integer, Key, Record, Truth
from playbooks.parser.document.references import ConditionText

MOST: Final = 10_000
"""The largest limit that may be written."""

GUARDS: Final = Record(
    {
        "max_brokers_down": Key(
            Integer(0, MOST), "Brokers that may be dead, paused or cut off from the controller at once."
        ),
        "keep_last_in_sync": Key(Truth(), "Never take away the last in-sync replica of any partition."),
        "max_faults": Key(Integer(0, MOST), "Faults that last and may be active at once."),
        "stop_when": Key(
            ConditionText(), "Chaos ends when this holds: all is healed, and no fault is injected any more."
        ),
        "on_breach": Key(
            Choice(ON_BREACH),
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
