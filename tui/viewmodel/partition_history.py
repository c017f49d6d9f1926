"""History of partitions (leaders, ISR, node states, violations, truncations), kept to look back."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cluster_model.checker.root_cause import ChainEvent

KEPT_CHANGES: Final = 50_000
"""Maximum number of events kept; older state is inferred from the events kept."""
NODES: Final = frozenset({"node_down", "node_up", "node_paused", "node_resumed"})
DECISIONS: Final = frozenset({"leader_elected", "partition_offline", "isr_changed", "partition_created"})
RULES: Final = frozenset({"invariant_violated", "liveness_violated"})
LOSSES: Final = frozenset({"records_missing", "records_lost"})
_FIRST: Final = "became_leader"
"""Kept at time 0 only, when initial leaders are set without an election."""
KINDS: Final = NODES | DECISIONS | RULES


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """State of a partition at one time."""

    leader: int
    """Broker that leads, -1: none."""
    isr: tuple[int, ...]
    down: tuple[int, ...]
    paused: tuple[int, ...]
    clean: bool = True
    """Whether the latest election was clean."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Violation of an invariant, or a missed liveness deadline."""

    at_us: int
    name: str
    partition: str
    detail: str


class PartitionHistory:
    """Events that change the state of partitions and nodes, kept from the trace in order."""

    def __init__(self) -> None:
        self._events: deque[Any] = deque(maxlen=KEPT_CHANGES)
        self.losses = 0
        """Number of events so far that report acknowledged records missing or lost."""

    def take(self, events: Iterable[Any]) -> None:
        """Keep the events that change the state of a partition or node."""
        for event in events:
            kind = event.kind
            if kind in KINDS or (kind == _FIRST and event.at_us == 0):
                self._events.append(event)
            elif kind in LOSSES:
                self.losses += 1

    def status_after(self, partition: str, replicas: tuple[int, ...], link: ChainEvent) -> PartitionStatus:
        """Return the state of a partition right after a link of a chain; by default all ``replicas`` are in sync."""
        leader, isr, clean = -1, replicas, True
        down: dict[int, None] = {}
        paused: dict[int, None] = {}
        for event in self._until(link):
            kind = event.kind
            if kind in NODES:
                if event.broker >= 0:
                    _node(kind, event.broker, down, paused)
            elif kind in RULES or event.partition != partition:
                continue
            elif kind == _FIRST:
                leader = event.broker
            else:
                isr = event.isr
                leader = getattr(event, "leader", -1)
                clean = getattr(event, "clean", clean)
        return PartitionStatus(leader, isr, tuple(down), tuple(paused), clean)

    def violations(self, partitions: tuple[str, ...], now_us: int) -> tuple[Violation, ...]:
        """Return the violations in these partitions up to ``now_us``, the first one per property and partition."""
        by_name: dict[tuple[str, str], Violation] = {}
        for event in self._events:
            if event.kind in RULES and event.partition in partitions and event.at_us <= now_us:
                name = event.invariant if event.kind == "invariant_violated" else event.property
                by_name.setdefault((name, event.partition), Violation(event.at_us, name, event.partition, event.detail))
        return tuple(by_name.values())

    def all_violations(self, now_us: int) -> tuple[Violation, ...]:
        """Return the violations of all partitions up to ``now_us``, in order of time."""
        there = dict.fromkeys(event.partition for event in self._events if event.kind in RULES)
        return tuple(sorted(self.violations(tuple(there), now_us), key=lambda each: each.at_us))

    def _until(self, link: ChainEvent) -> list[Any]:
        """Return the events before a link's time, and those of that time up to the link's own event."""
        before = [event for event in self._events if event.at_us < link.at_us]
        same = [event for event in self._events if event.at_us == link.at_us]
        last = max((index for index, event in enumerate(same) if _is(event, link)), default=len(same) - 1)
        return before + same[: last + 1]


def _is(event: Any, link: ChainEvent) -> bool:
    if event.kind != link.event_kind:
        return False
    return event.broker == link.broker if event.kind in NODES else bool(event.partition == link.partition)


def _node(kind: str, broker: int, down: dict[int, None], paused: dict[int, None]) -> None:
    if kind == "node_down":
        down[broker] = None
        paused.pop(broker, None)
    elif kind == "node_up":
        down.pop(broker, None)
    elif kind == "node_paused":
        paused[broker] = None
    else:
        paused.pop(broker, None)


# When the records of a log were acknowledged, and when replicas truncated it.


KEPT_ACKNOWLEDGEMENTS: Final = 4096
"""Maximum number of acknowledgements (each of a batch) kept per partition, the newest."""
CUTS: Final = 64
"""Maximum number of truncations kept per partition."""


class ReplicaTruncation(NamedTuple):
    """Truncation of a replica, which dropped ``[start, end)`` of its log."""

    at_us: int
    broker: int
    start: int
    end: int
    rule: str


class LogHistory:
    """Times of acknowledgements and truncations by partition, kept from the trace in order."""

    def __init__(self) -> None:
        self._acked: dict[str, deque[tuple[int, int, int, int]]] = {}
        """Partition → (log branch, start, end, time of the acknowledgement)."""
        self._cuts: dict[str, deque[ReplicaTruncation]] = {}

    def take(self, events: Iterable[Any]) -> None:
        """Keep the events about acknowledgements and truncations."""
        for event in events:
            kind = event.kind
            if kind == "records_acked":
                if event.log_branch >= 0:
                    start = event.log_offset
                    entry = (event.log_branch, start, start + event.count, event.at_us)
                    self._acked.setdefault(event.partition, deque(maxlen=KEPT_ACKNOWLEDGEMENTS)).append(entry)
            elif kind == "truncated" and event.end_offset > event.log_offset:
                cut = ReplicaTruncation(event.at_us, event.broker, event.log_offset, event.end_offset, event.rule)
                self._cuts.setdefault(event.partition, deque(maxlen=CUTS)).append(cut)
            elif kind == "partition_deleted":
                self._acked.pop(event.partition, None)
                self._cuts.pop(event.partition, None)

    def acked_us(self, partition: str, log_branch: int, offset: int) -> int:
        """Return when a record was acknowledged, -1 if that is not, or no longer, known."""
        for owner, start, end, at_us in reversed(self._acked.get(partition, ())):
            if owner == log_branch and start <= offset < end:
                return at_us
        return -1

    def truncations(self, partition: str, until_us: int) -> tuple[ReplicaTruncation, ...]:
        """Return the truncations of a partition's replicas up to a time, the newest first."""
        return tuple(cut for cut in reversed(self._cuts.get(partition, ())) if cut.at_us <= until_us)
