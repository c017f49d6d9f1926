"""Every fault, declared once: the screen's sheet, the playbook language, the command line and the docs read this."""

import difflib
from collections.abc import Mapping
from typing import Final

from faults.declarations.fault import FAMILIES, Fault
from faults.kinds import (
    acknowledgements,
    answering,
    bouncing,
    broken_disks,
    client,
    control_plane,
    controlling,
    delaying,
    disk,
    flapping,
    handlers,
    lagging,
    limiting,
    loads,
    losing,
    network,
    outvoting,
    partition,
    partitioning,
    pausing,
    process,
    processing,
    slow_disks,
    slowing,
    stalling,
    thrashing,
    withholding,
    zombies,
)


def _by_family(*tables: Mapping[str, Fault]) -> dict[str, Fault]:
    declared = [fault for table in tables for fault in table.values()]
    return {fault.name: fault for family in FAMILIES for fault in declared if fault.family == family}


CATALOGUE: Final = _by_family(
    process.FAULTS,
    lagging.FAULTS,
    bouncing.FAULTS,
    pausing.FAULTS,
    slowing.FAULTS,
    thrashing.FAULTS,
    delaying.FAULTS,
    limiting.FAULTS,
    losing.FAULTS,
    answering.FAULTS,
    network.FAULTS,
    partitioning.FAULTS,
    partition.FAULTS,
    flapping.FAULTS,
    disk.FAULTS,
    slow_disks.FAULTS,
    broken_disks.FAULTS,
    controlling.FAULTS,
    outvoting.FAULTS,
    control_plane.FAULTS,
    withholding.FAULTS,
    stalling.FAULTS,
    processing.FAULTS,
    handlers.FAULTS,
    loads.FAULTS,
    client.FAULTS,
    acknowledgements.FAULTS,
    zombies.FAULTS,
)
"""Faults by name, those of a family together."""


def nearest(name: str) -> str:
    """A hint at the fault that was perhaps meant, empty if none is near."""
    near = difflib.get_close_matches(name, CATALOGUE, n=1)
    return f"; did you mean {near[0]}?" if near else ""
