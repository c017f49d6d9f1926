"""Catalogue of all faults by name, and the names that other tools use for faults and operations."""

import difflib
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, get_args

from faults.declarations.fault import ACCEPTS, FAMILIES, Alias, DeclarationError, Fault, Param, ParamType
from faults.declarations.operation import OPERATIONS, Operation
from faults.kinds import client, control_plane, disk, network, partition, process

# Declarations are checked when this module is imported: of two declarations with the same name, letter or alias, one
# would be lost silently.


FAULT_LETTERS: Final = string.ascii_lowercase + string.ascii_uppercase + string.digits
"""Characters allowed as a fault's key on its sheet."""
OPERATION_LETTERS: Final = string.ascii_lowercase
"""Characters allowed as an operation's key on its sheet."""


def check_declarations(faults: Sequence[Fault], operations: Sequence[Operation]) -> None:
    """Refuse declarations that are invalid or conflict with each other.

    Raises:
        DeclarationError: One line per mistake: which faults or operations, what was found, what is allowed.
    """
    mistakes = [
        *_names_taken(faults, operations),
        *_titles_taken("fault", faults),
        *_titles_taken("operation", operations),
        *_letters_taken("fault", faults, FAULT_LETTERS),
        *_letters_taken("operation", operations, OPERATION_LETTERS),
        *(mistake for fault in faults for mistake in _unknown_words(fault)),
        *(mistake for fault in faults for mistake in _unknown_types(f"fault {fault.name!r}", fault.params)),
        *(mistake for each in operations for mistake in _unknown_types(f"operation {each.name!r}", each.params)),
    ]
    if mistakes:
        raise DeclarationError("\n".join(mistakes))


def _names_taken(faults: Sequence[Fault], operations: Sequence[Operation]) -> Iterator[str]:
    """Yield conflicts of names and aliases: each must identify one fault or operation in a playbook."""
    owners: dict[str, str] = {}
    kinds: list[tuple[str, Fault | Operation]] = [("fault", fault) for fault in faults]
    kinds += [("operation", operation) for operation in operations]
    own = [(each.name, f"the name of {kind} {each.title!r}") for kind, each in kinds]
    aliases = [(alias.name, f"an alias of {kind} {each.name!r}") for kind, each in kinds for alias in each.aliases]
    for name, owner in (*own, *aliases):
        if name in owners:
            yield f"found {name!r}, which is {owners[name]} and {owner}; use a name that is not taken"
        owners.setdefault(name, owner)


def _titles_taken(kind: str, declared: Sequence[Fault] | Sequence[Operation]) -> Iterator[str]:
    owners: dict[str, str] = {}
    for each in declared:
        if each.title in owners:
            taken = f"found the title {each.title!r}, which {kind} {owners[each.title]!r} uses"
            yield f"{kind} {each.name!r}: {taken}; use a title that is not taken"
        owners.setdefault(each.title, each.name)


def _letters_taken(kind: str, declared: Sequence[Fault] | Sequence[Operation], allowed: str) -> Iterator[str]:
    """Yield conflicts of letters: one key on the sheet must identify one fault or operation."""
    owners: dict[str, str] = {}
    free = ", ".join(letter for letter in allowed if letter not in {each.letter for each in declared})
    for each in declared:
        if each.letter in owners:
            taken = f"which {kind} {owners[each.letter]!r} uses"
            yield f"{kind} {each.name!r}: found the letter {each.letter!r}, {taken}; free are {free}"
        elif len(each.letter) != 1 or each.letter not in allowed:
            yield f"{kind} {each.name!r}: found the letter {each.letter!r}; free are {free}"
        owners.setdefault(each.letter, each.name)


def _unknown_words(fault: Fault) -> Iterator[str]:
    if fault.family not in FAMILIES:
        yield f"fault {fault.name!r}: found the family {fault.family!r}, expected {', '.join(FAMILIES)}"
    for accepts in (fault.accepts, *(alias.accepts for alias in fault.aliases if alias.accepts)):
        if accepts not in ACCEPTS:
            yield f"fault {fault.name!r}: found {accepts!r} in 'accepts', expected {', '.join(ACCEPTS)}"


def _unknown_types(owner: str, params: Iterable[Param]) -> Iterator[str]:
    known = get_args(ParamType)
    for param in params:
        if param.type not in known:
            found = f"found the type {param.type!r} of parameter {param.name!r}"
            yield f"{owner}: {found}, expected {', '.join(known)}"


def _by_family(*tables: Mapping[str, Fault]) -> dict[str, Fault]:
    declared = [fault for table in tables for fault in table.values()]
    check_declarations(declared, [*OPERATIONS.values()])
    return {fault.name: fault for family in FAMILIES for fault in declared if fault.family == family}


CATALOGUE: Final = _by_family(
    process.STOP_FAULTS,
    control_plane.SLOW_FOLLOWER_FAULTS,
    process.BOUNCE_FAULTS,
    process.PAUSE_TRAIN_FAULTS,
    process.SLOW_CPU_FAULTS,
    process.MEMORY_FAULTS,
    network.LAG_FAULTS,
    network.BANDWIDTH_FAULTS,
    network.LOSS_FAULTS,
    network.RESPONSE_FAULTS,
    network.CONNECTION_FAULTS,
    partition.PARTITION_FAULTS,
    partition.DIVISION_FAULTS,
    partition.FLAPPING_FAULTS,
    disk.CORRUPTION_FAULTS,
    disk.SLOW_DISK_FAULTS,
    disk.BROKEN_DISK_FAULTS,
    control_plane.CONTROLLER_FAULTS,
    control_plane.QUORUM_FAULTS,
    control_plane.CLOCK_FAULTS,
    control_plane.METADATA_FAULTS,
    client.POLL_STALL_FAULTS,
    client.PROCESSING_FAULTS,
    client.HANDLER_FAULTS,
    client.LOAD_FAULTS,
    client.MEMBERSHIP_FAULTS,
    client.LOST_ACK_FAULTS,
    client.ZOMBIE_FAULTS,
)
"""All faults by name, grouped by family."""


def fault_hint(name: str) -> str:
    """Return a hint with the most similar fault name; empty if none is similar."""
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    return f"; did you mean {near[0]}?" if near else ""


# Names that other tools use for faults and operations: Kafka's system tests, Trogdor and the Admin client, Jepsen,
# Toxiproxy, Pumba, Chaos Mesh and Litmus. Names with a different meaning in different tools are left out: ``delay``,
# ``stop``, ``pod_failure``, ``timeout``.


def _by_alias(declared: Iterable[Fault | Operation]) -> dict[str, tuple[str, Alias]]:
    return {alias.name: (each.name, alias) for each in declared for alias in each.aliases}


FAULT_ALIASES: Final = _by_alias(CATALOGUE.values())
"""Alias → the fault's name, and the alias."""
OPERATION_ALIASES: Final = _by_alias(OPERATIONS.values())
"""Alias → the operation's name, and the alias."""


def canonical_name(name: str) -> str:
    """Return the catalogue's name for a fault's or an operation's alias; any other text unchanged."""
    found = FAULT_ALIASES.get(name) or OPERATION_ALIASES.get(name)
    return found[0] if found else name


def alias_names(aliases: Iterable[Alias]) -> list[str]:
    """Return aliases as text: ``kill_broker (brokers)``."""
    return [f"{each.name} ({each.accepts})" if each.accepts else each.name for each in aliases]
