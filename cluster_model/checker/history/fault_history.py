"""History of faults: injected faults, process ends and pauses, fenced brokers, and the step that caused each.

It keeps active faults and the last ended one of each kind, so its size depends on the nodes, not on the length of the
run.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.protocol.events import (
    BrokerFenced,
    FaultHealed,
    FaultInjected,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    StepTaken,
    TraceEvent,
)

HEALED_KEPT: Final = 32
"""Number of healed faults that are kept, because they may still explain something."""
STEPS_KEPT: Final = 512
"""Number of steps that are kept to attribute events to them."""

SELF_EXIT_PREFIX: Final = "exit: "
"""Prefix of the reason for which a process exited by itself."""
_ENDS: Final = {
    "crash": "crashed",
    "power_loss": "lost power",
    "disk_loss": "lost its disk",
    "shutdown": "was shut down",
    "out_of_memory": "ran out of memory",
    "close": "was closed",
}


PROCESS_STOPPING_FAULTS: Final = (
    "crash", "power_loss", "clean_shutdown", "bounce", "out_of_memory", "gc_pause", "pause_train", "quorum_loss",
    "rejoin_storm", "duplicate_instance", "zombie_producer",
)  # fmt: skip
"""Faults that end or pause the processes of their targets."""
EXIT_CAUSING_FAULTS: Final = ("full_disk", "read_only_disk", "log_dir_failure")
"""Faults by which a broker exits when it next uses the disk."""
NON_DISRUPTIVE_FAULTS: Final = (*EXIT_CAUSING_FAULTS, "corrupt_batch", "lost_writeback", "clock_skew")
"""Faults that do not stop a broker. Later consequences, such as the end of its process, are events of their own."""


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """One fault, process end, pause or fencing of a node."""

    moment: int
    """Its index among the rare events of the :class:`ClusterHistory`."""
    at_us: int
    event_kind: str
    node: str
    """Names of the affected nodes, separated by commas."""
    broker: int
    """Broker number; -1 for none or several."""
    what: str
    """Name of the fault, or ``detail`` of a process end."""
    fault_id: int
    """-1 if no fault caused it."""
    fault: str
    ended_us: int = -1

    @property
    def is_non_disruptive(self) -> bool:
        """True if the node continued to work: a fault of :data:`NON_DISRUPTIVE_FAULTS`."""
        return self.event_kind == FaultInjected.kind and self.fault in NON_DISRUPTIVE_FAULTS

    @property
    def is_stop(self) -> bool:
        """True if the node's process ended or was paused."""
        return self.event_kind != FaultInjected.kind

    @property
    def key(self) -> tuple[str, int]:
        """Key shared by all records of one fault."""
        return ("fault", self.fault_id) if self.fault_id >= 0 else ("moment", self.moment)


class FaultHistory:
    """Active and recently ended faults, by node and by fault."""

    __slots__ = ("_active", "_fenced", "_healed", "_pauses", "_process_ends", "_steps")

    def __init__(self) -> None:
        self._active: dict[int, FaultRecord] = {}
        self._healed: tuple[FaultRecord, ...] = ()
        self._process_ends: dict[str, FaultRecord] = {}
        self._pauses: dict[str, FaultRecord] = {}
        self._fenced: dict[int, FaultRecord] = {}
        self._steps: list[tuple[int, int, str]] = []
        """(moment, virtual time in microseconds, step), in order."""

    def observe(self, event: TraceEvent, moment: int) -> None:
        """Record the event if it is a fault, process event, fencing or step."""
        if isinstance(event, StepTaken):
            self._steps.append((moment, event.at_us, event.by))
            if len(self._steps) > 2 * STEPS_KEPT:
                del self._steps[:STEPS_KEPT]
        elif isinstance(event, FaultInjected):
            names = event.target
            record = FaultRecord(moment, event.at_us, event.kind, names, -1, event.fault, event.fault_id, event.fault)
            self._active[event.fault_id] = record
        elif isinstance(event, FaultHealed):
            healed = self._active.pop(event.fault_id, None)
            if healed is not None:
                self._healed = (*self._healed[1 - HEALED_KEPT :], replace(healed, ended_us=event.at_us))
        elif isinstance(event, NodeDown):
            self._process_ends[event.node] = self._record(event, event.detail, moment)
        elif isinstance(event, NodePaused):
            self._pauses[event.node] = self._record(event, "paused", moment)
        elif isinstance(event, NodeUp):
            self._end(self._process_ends, event.node, event.at_us)
        elif isinstance(event, NodeResumed):
            self._end(self._pauses, event.node, event.at_us)
        elif isinstance(event, BrokerFenced):
            node = f"broker {event.broker}"
            self._fenced[event.broker] = FaultRecord(
                moment, event.at_us, event.kind, node, event.broker, event.detail, -1, ""
            )  # fmt: skip

    def _record(self, event: NodeDown | NodePaused, what: str, moment: int) -> FaultRecord:
        """Return the record of a process end or pause, with the active fault that caused it, if there is one."""
        does = EXIT_CAUSING_FAULTS if what.startswith(SELF_EXIT_PREFIX) else PROCESS_STOPPING_FAULTS
        causing = [
            each
            for each in self._active.values()
            if event.node in each.node.split(", ") and (each.fault in does or each.at_us == event.at_us)
        ]
        fault = max(causing, key=lambda each: each.moment, default=None)
        number, name = (-1, "") if fault is None else (fault.fault_id, fault.fault)
        return FaultRecord(moment, event.at_us, event.kind, event.node, event.broker, what, number, name)

    @staticmethod
    def _end(table: dict[str, FaultRecord], node: str, at_us: int) -> None:
        if node in table:
            table[node] = replace(table[node], ended_us=at_us)

    def records(self) -> tuple[FaultRecord, ...]:
        """Return all kept records but fencings, in order."""
        found = [*self._active.values(), *self._healed, *self._process_ends.values(), *self._pauses.values()]
        return tuple(sorted(found, key=lambda record: record.moment))

    def fenced(self, broker: int) -> FaultRecord | None:
        """Return when the controller last fenced a broker, None if never."""
        return self._fenced.get(broker)

    def step_of(self, moment: int, at_us: int) -> str:
        """Return the step that caused an event; empty for none. A step is recorded right after its effects."""
        index = bisect_left(self._steps, (moment, -1, ""))
        if index == len(self._steps):
            return ""
        _moment, step_us, step = self._steps[index]
        return step if step_us == at_us and step != "playbook" else ""

    @property
    def entries(self) -> int:
        """Number of records kept."""
        tables = (self._active, self._healed, self._process_ends, self._pauses, self._fenced, self._steps)
        return sum(len(table) for table in tables)

    def save(self) -> tuple[Any, ...]:
        """Return the whole state, to be restored by :meth:`load`."""
        tables = (self._active, self._process_ends, self._pauses, self._fenced)
        return (self._healed, tuple(self._steps), *(tuple(table.items()) for table in tables))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore a state that :meth:`save` returned."""
        self._healed, steps, active, process_ends, pauses, fenced = saved
        self._steps = list(steps)
        self._active, self._process_ends = dict(active), dict(process_ends)
        self._pauses, self._fenced = dict(pauses), dict(fenced)


def faults_on_node(records: tuple[FaultRecord, ...], node: str, since_us: int) -> tuple[FaultRecord, ...]:
    """Return the records of a node that had not ended by a time, in order."""
    return tuple(
        record
        for record in records
        if node in record.node.split(", ") and (record.ended_us < 0 or record.ended_us >= since_us)
    )  # fmt: skip


def about(records: tuple[FaultRecord, ...], node: str, since_us: int) -> tuple[FaultRecord, ...]:
    """Return the records by which a node may have stopped to respond or send: those that are not quiet."""
    return tuple(record for record in faults_on_node(records, node, since_us) if not record.is_non_disruptive)


def fault_text(record: FaultRecord, node: str, step: str) -> str:
    """Return a record as text: ``broker 1 lost power (step 3)``."""
    if record.event_kind == NodeDown.kind:
        exits = record.what.removeprefix(SELF_EXIT_PREFIX)
        text = f"{node} {_ENDS[record.what]}" if record.what in _ENDS else f"{node} exited: {exits}"
    elif record.event_kind == NodePaused.kind:
        text = f"{node} was paused"
    else:
        return f"fault {record.fault} was injected into {node}" + (f" ({step})" if step else "")
    notes = (
        [record.fault]
        if record.fault and record.fault.replace("_", " ") not in (record.what, record.what.replace("_", " "))
        else []
    )
    notes += [step] if step else []
    return text + (f" ({', '.join(notes)})" if notes else "")
