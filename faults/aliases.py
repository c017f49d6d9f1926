"""What faults and operations are called elsewhere.

That is in Kafka's system tests, Trogdor and Admin client, and in Jepsen, Toxiproxy, Pumba, Chaos Mesh and Litmus.
Names that mean different things in different places are left out: ``delay``, ``stop``, ``pod_failure``, ``timeout``.
"""

from collections.abc import Iterable
from typing import Final

from faults.catalogue import CATALOGUE
from faults.declarations.fault import Alias, Fault
from faults.declarations.operation import OPERATIONS, Operation


def _by_alias(declared: Iterable[Fault | Operation]) -> dict[str, tuple[str, Alias]]:
    return {alias.name: (each.name, alias) for each in declared for alias in each.aliases}


FAULT_ALIASES: Final = _by_alias(CATALOGUE.values())
"""Other name → the fault's own, and the alias."""
OPERATION_ALIASES: Final = _by_alias(OPERATIONS.values())
"""Other name → the operation's own, and the alias."""


def true_name(name: str) -> str:
    """The name that the catalogue has for a fault or an operation; any other text as it is."""
    found = FAULT_ALIASES.get(name) or OPERATION_ALIASES.get(name)
    return found[0] if found else name


def called(aliases: Iterable[Alias]) -> list[str]:
    """Other names for people: ``kill_broker (brokers)``."""
    return [f"{each.name} ({each.accepts})" if each.accepts else each.name for each in aliases]
