"""Every fault by name, and the names that other tools have for faults and operations."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from faults.declarations.fault import FAMILIES, Alias, Fault
from faults.declarations.operation import OPERATIONS, Operation
from faults.kinds import client, control_plane, disk, network, partition, process


def _by_family(*tables: Mapping[str, Fault]) -> dict[str, Fault]:
    declared = [fault for table in tables for fault in table.values()]
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
"""Faults by name, those of a family together."""


def nearest(name: str) -> str:
    """A hint at the fault that was perhaps meant, empty if none is near."""
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    return f"; did you mean {near[0]}?" if near else ""


# Names that other tools have for faults and operations.
#
# That is in Kafka's system tests, Trogdor and Admin client, and in Jepsen, Toxiproxy, Pumba, Chaos Mesh and Litmus.
# Names that mean different things in different places are left out: ``delay``, ``stop``, ``pod_failure``,
# ``timeout``.


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
