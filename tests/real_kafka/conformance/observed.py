"""Facts of one run of a playbook, the same for real brokers and for the model; small enough to keep as JSON.

Times are milliseconds since the scenario began. Partitions are those of the playbook's topics: where Kafka places the
partitions of internal topics is not compared.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from cluster_model.protocol.events import (
    AssignmentChanged,
    BrokerFenced,
    BrokerRegistered,
    ControllerChanged,
    ElrChanged,
    IsrChanged,
    LeaderElected,
    PartitionOffline,
    TraceEvent,
)

SHUT_DOWN: Final = "shut down"
TIMED_OUT: Final = "session timed out"
_LEADER: Final = "leader"


@dataclass(slots=True)
class ObservedPartition:
    """One partition: its elections, in-sync replicas, and what became of its records."""

    elections: list[list[Any]] = field(default_factory=list)
    """[time, leader or -1, leader epochs since the beginning, clean] of each election."""
    isrs: list[list[Any]] = field(default_factory=list)
    """[time, ISR in order of ids, ELR in order of ids, whether the leader changed it] of each change."""
    replicas: list[int] = field(default_factory=list)
    """Replicas at the end, if they were reassigned."""
    lost: int = 0
    """Acknowledged records that the leader's log does not hold at the end, and that nothing deleted."""
    duplicates: int = 0


@dataclass(slots=True)
class ObservedProducer:
    """One producer: records acknowledged, and errors that its callbacks or transactions got."""

    acked: int = 0
    errors: list[str] = field(default_factory=list)
    """Names of Kafka's ``Errors``, in alphabetical order."""
    committed: int = 0
    """Transactions committed."""
    aborted: int = 0
    """Transactions that ended without a commit, by the application or an error."""


@dataclass(slots=True)
class ObservedGroup:
    """One consumer group: its rebalances since the first step, and its state at the end."""

    coordinated: bool = True
    """Whether it has a coordinator: without one its partitions are assigned by hand, and nothing is committed."""
    rebalances: int = 0
    """Generations that began after the first step."""
    owners: dict[str, list[str]] = field(default_factory=dict)
    """Member → its partitions at the end."""
    lag: int = 0
    """Offsets between the committed ones and the ends of the logs, at the end."""
    reread: int = 0
    skipped: int = 0
    commit_errors: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Observed:
    """One run of a playbook."""

    scenario: str
    source: str
    """``Kafka 4.1.2``, or ``model 4.1, seed 3``."""
    partitions: dict[str, ObservedPartition] = field(default_factory=dict)
    fenced: list[list[Any]] = field(default_factory=list)
    """[time, broker, reason]; the reason is :data:`SHUT_DOWN` or :data:`TIMED_OUT`."""
    stopped: list[list[Any]] = field(default_factory=list)
    """[time, broker] whenever a broker was stopped, paused or cut off."""
    controllers: int = 0
    """Changes of the active controller since the beginning."""
    producers: dict[str, ObservedProducer] = field(default_factory=dict)
    groups: dict[str, ObservedGroup] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return JSON with one partition, producer or group a line."""
        found = asdict(self)
        lines = []
        for name, value in found.items():
            if isinstance(value, dict) and value:
                inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in value.items())
                lines.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
            else:
                lines.append(f" {json.dumps(name)}: {json.dumps(value)}")
        return "{\n" + ",\n".join(lines) + "\n}\n"


def observed_from_json(text: str) -> Observed:
    """Return the run that :meth:`Observed.to_json` wrote."""
    found: dict[str, Any] = json.loads(text)
    parts: Mapping[str, type] = {
        "partitions": ObservedPartition,
        "producers": ObservedProducer,
        "groups": ObservedGroup,
    }
    for name, kind in parts.items():
        found[name] = {key: kind(**value) for key, value in found[name].items()}
    return Observed(**found)


def add_cluster_events(observed: Observed, events: Iterable[TraceEvent], epochs: dict[str, int]) -> None:
    """Add the events of the control plane; their time 0 is the beginning of the scenario, earlier ones are left out.

    ``epochs`` has the leader epoch of every partition at the beginning; partitions that are created later begin at 0.
    """
    controllers = 0
    elrs: dict[str, list[int]] = {}
    fenced: set[int] = set()  # a controller fences a broker that has shut down again when its session times out
    for event in events:
        at_ms = int(event.values()[0]) // 1_000
        name = str(getattr(event, "partition", ""))
        if at_ms < 0 or name.startswith("__"):
            continue
        if isinstance(event, ControllerChanged):
            controllers += 1
        elif isinstance(event, BrokerRegistered):
            fenced.discard(event.broker)
        elif isinstance(event, BrokerFenced) and event.broker not in fenced:
            fenced.add(event.broker)
            observed.fenced.append([at_ms, event.broker, TIMED_OUT if "timed out" in event.detail else SHUT_DOWN])
        elif name:
            _add_partition_event(observed, name, event, at_ms, elrs, epochs.get(name, 0))
    observed.controllers = controllers


def _add_partition_event(
    observed: Observed, name: str, event: TraceEvent, at_ms: int, elrs: dict[str, list[int]], epoch: int
) -> None:
    partition = observed.partitions.setdefault(name, ObservedPartition())
    if isinstance(event, LeaderElected):
        partition.elections.append([at_ms, event.leader, event.leader_epoch - epoch, event.clean])
    elif isinstance(event, PartitionOffline):
        partition.elections.append([at_ms, -1, event.leader_epoch - epoch, True])
    elif isinstance(event, IsrChanged):
        _add_epoch(partition, event, at_ms, epoch)
        by_leader = event.by == _LEADER
        partition.isrs.append([at_ms, sorted(event.isr), elrs.get(name, []), by_leader])
    elif isinstance(event, ElrChanged):
        elrs[name] = sorted(event.elr)
        if partition.isrs and partition.isrs[-1][1] == sorted(event.isr):
            partition.isrs[-1][2] = elrs[name]
        else:
            partition.isrs.append([at_ms, sorted(event.isr), elrs[name], False])
    elif isinstance(event, AssignmentChanged):
        _add_epoch(partition, event, at_ms, epoch)
        partition.replicas = list(event.replicas)


def _add_epoch(partition: ObservedPartition, event: IsrChanged | AssignmentChanged, at_ms: int, epoch: int) -> None:
    """Add a leader epoch that began without an event of its own: the leader stays when replicas are removed."""
    last = partition.elections[-1][2] if partition.elections else 0
    if event.leader_epoch - epoch > last:
        partition.elections.append([at_ms, event.leader, event.leader_epoch - epoch, True])
