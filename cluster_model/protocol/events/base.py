"""Base class, columns and kinds of trace events, and their one-line text form.

Every event class has a ``kind`` (its name in a recorded session) and only fields named in :data:`COLUMNS`, so that a
session is one flat table: a row has the event's fields and nulls elsewhere. Columns are only added, never reused with
another meaning or type.

Units: ``_us`` is virtual microseconds; ``log_offset`` is the first offset of a range, ``end_offset`` is
exclusive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, dataclass_transform

SCHEMA_VERSION: Final = 4
"""Version of the recorded columns; raised when a column is added."""

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
    "log_branch": "int",
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
    """Base class of all events: a ``kind``, and fields in a fixed order, ``at_us`` first."""

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
    """Decorate an event class: a slotted dataclass, frozen for type checkers only, and registered by its kind.

    Freezing at run time costs three times as much.
    """
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
"""Kinds that occur with every batch; all others are rare: they are shown in the TUI and flushed at once."""


def describe(event: Event) -> str:
    """Return an event as one line of text without its time, the same in the TUI, in a log and in a golden file."""
    parts = [event.kind]
    for name, value in list(zip(event.fields(), event.values(), strict=True))[1:]:
        if value in ("", -1) or value == ():
            continue
        parts.append(f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return " ".join(parts)
