"""Steps that call a fault or an operation as another tool does: whom the name narrows it to, and ``broker: 2``."""

from faults.aliases import FAULT_ALIASES, OPERATION_ALIASES
from faults.declarations.fault import Alias
from playbooks.parser.document.context import Notes
from playbooks.parser.document.field_types import Fields


def alias_of(name: str) -> Alias | None:
    """The alias that a name is, None for a name of our own."""
    found = FAULT_ALIASES.get(name) or OPERATION_ALIASES.get(name)
    return found[1] if found else None


def may_name_broker(name: str) -> bool:
    """Whether a step that calls the fault so may say ``broker: 2`` instead of a target."""
    alias = alias_of(name)
    return alias is not None and alias.accepts == "brokers"


def struck(name: str, fields: Fields, notes: Notes) -> str:
    """The selector of a step's target, however it is given."""
    if not may_name_broker(name):
        return str(fields.get("target", ""))
    if fields.given("target") and fields.given("broker"):
        message = "found target and broker together, allowed is one of them"
        notes.problem(fields.at("broker"), fields.path("broker"), message)
    elif not fields.given("target") and not fields.given("broker"):
        notes.problem(fields.node, fields.key, "found neither target nor broker, allowed is one of them")
    broker = fields.get("broker")
    return f"broker({broker})" if broker is not None else str(fields.get("target", ""))
