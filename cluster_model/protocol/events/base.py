"""What all events have: their columns, their kinds, and how one is written as a line.

Every class carries ``kind`` (its name in a recorded session) and only fields named in :data:`COLUMNS`, so that a
session is one flat table: a row has the event's fields and nulls elsewhere. Names are only ever added, never reused
with another meaning or type.

Units: ``_us`` is virtual microseconds; offsets called ``log_offset`` are the first offset meant, ``end_offset`` is
exclusive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, dataclass_transform

SCHEMA_VERSION: Final = 3
"""Version of the recorded columns; raised when one is added."""

COLUMNS: Final[dict[str, str]] = {
    "at_us": "int",
    "kind": "str",
    "partition": "str",
    "broker": "int",
    "node": "str",
    "leader": "int",
    "leader_epoch": "int",
    "partition_epoch": "int",
    "isr": "ints",
    "previous_isr": "ints",
    "log_offset": "int",
    "end_offset": "int",
    "hw": "int",
    "client": "str",
    "group_id": "str",
    "sequence": "int",
    "count": "int",
    "acks": "int",
    "error": "str",
    "latency_us": "int",
    "clean": "bool",
    "committed": "bool",
    "by": "str",
    "fault_id": "int",
    "fault": "str",
    "target": "str",
    "until_us": "int",
    "rule": "str",
    "invariant": "str",
    "detail": "str",
    "cause": "str",
    "ok": "bool",
    "stint": "int",
    "elr": "ints",
    "last_known": "int",
    "recovering": "bool",
    "replicas": "ints",
    "adding": "ints",
    "removing": "ints",
    "operation": "str",
    "operation_id": "int",
    "known": "str",
    "property": "str",
    "since_us": "int",
    "bound_us": "int",
}
"""Column name → type (``int``, ``str``, ``bool`` or ``ints``, a list of ints)."""


FIELDS: Final[dict[str, tuple[str, ...]]] = {}
"""Recorded kind → its fields, in order."""

_VALUES: Final[dict[str, Callable[[Any], tuple[Any, ...]]]] = {}


class TraceEvent:
    """What every event has: a ``kind``, and fields in a fixed order, ``at_us`` first."""

    __slots__ = ()
    kind: ClassVar[str]

    def fields(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return FIELDS[self.kind]

    def values(self) -> tuple[Any, ...]:
        """Values of the fields, in order."""
        values: tuple[Any, ...] = _VALUES[self.kind](self)
        return values


@dataclass_transform(frozen_default=True)
def event(cls: type[Any]) -> type[Any]:
    """A slotted dataclass that type checkers hold to be frozen: freezing it at run time costs three times as much."""
    made = dataclass(slots=True)(cls)
    names = tuple(made.__annotations__)[1:]
    KINDS[made.kind], FIELDS[made.kind], _VALUES[made.kind] = made, names, attrgetter(*names)
    return made


Event = TraceEvent
"""Any trace event."""

KINDS: Final[dict[str, type[TraceEvent]]] = {}
"""Recorded kind → event class."""

DATA_KINDS: Final = frozenset(
    {
        *("appended", "hw_advanced", "records_sent", "records_acked", "records_read", "produce_refused"),
        *("offsets_committed", "produce_retried", "transaction_begun", "transaction_committed", "records_aborted"),
    }
)
"""Kinds that come with every batch; all others are rare, worth a line on a screen and an immediate flush."""


def describe(event: Event) -> str:
    """One line of text for an event, the same on the screen, in a log and in a golden file (without its time)."""
    parts = [event.kind]
    for name, value in list(zip(event.fields(), event.values(), strict=True))[1:]:
        if value in ("", -1) or value == ():
            continue
        parts.append(f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return " ".join(parts)
