"""The history of a partition: leaders, ISR, acknowledgements and truncations, kept to look back."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cluster_model.checker.root_cause import ChainEvent

KEPT_CHANGES: Final = 50_000
"""Events kept; what stood before them is taken from them as far as they tell."""
NODES: Final = frozenset({"node_down", "node_up", "node_paused", "node_resumed"})
DECISIONS: Final = frozenset({"leader_elected", "partition_offline", "isr_changed", "partition_created"})
RULES: Final = frozenset({"invariant_violated", "liveness_overdue"})
LOSSES: Final = frozenset({"records_missing", "records_lost"})
_FIRST: Final = "became_leader"
"""Kept of the very beginning only: nobody is elected then."""
KINDS: Final = NODES | DECISIONS | RULES


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """A partition at one moment."""

    leader: int
    """-1: nobody."""
    isr: tuple[int, ...]
    down: tuple[int, ...]
    paused: tuple[int, ...]
    clean: bool = True
    """Whether the newest election was."""


@dataclass(frozen=True, slots=True)
class InvariantBreach:
    """A property found broken, or overdue."""

    at_us: int
    name: str
    partition: str
    detail: str


class Chronicle:
    """Takes trace events in order."""

    def __init__(self) -> None:
        self._events: deque[Any] = deque(maxlen=KEPT_CHANGES)
        self.losses = 0
        """Verdicts so far that acknowledged records went missing or are lost."""

    def take(self, events: Iterable[Any]) -> None:
        """Keep what tells how things stand."""
        for event in events:
            kind = event.kind
            if kind in KINDS or (kind == _FIRST and event.at_us == 0):
                self._events.append(event)
            elif kind in LOSSES:
                self.losses += 1

    def standing(self, partition: str, replicas: tuple[int, ...], link: ChainEvent) -> PartitionStatus:
        """How a partition stood right behind a link of a chain; nothing else known, all ``replicas`` are in sync."""
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

    def broken(self, partitions: tuple[str, ...], now_us: int) -> tuple[InvariantBreach, ...]:
        """Properties that had been found broken in any of these partitions by then, each once, the first time."""
        found: dict[tuple[str, str], InvariantBreach] = {}
        for event in self._events:
            if event.kind in RULES and event.partition in partitions and event.at_us <= now_us:
                name = event.invariant if event.kind == "invariant_violated" else event.property
                found.setdefault(
                    (name, event.partition), InvariantBreach(event.at_us, name, event.partition, event.detail)
                )
        return tuple(found.values())

    def all_broken(self, now_us: int) -> tuple[InvariantBreach, ...]:
        """The same of every partition, in the order of their times."""
        there = dict.fromkeys(event.partition for event in self._events if event.kind in RULES)
        return tuple(sorted(self.broken(tuple(there), now_us), key=lambda each: each.at_us))

    def _until(self, link: ChainEvent) -> list[Any]:
        """All before a link's instant, and of that what came up to the link's own event."""
        before = [event for event in self._events if event.at_us < link.at_us]
        same = [event for event in self._events if event.at_us == link.at_us]
        last = max((place for place, event in enumerate(same) if _is(event, link)), default=len(same) - 1)
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
"""Acknowledgements kept of each partition, the newest: each is of a batch."""
CUTS: Final = 64
"""Truncations kept of each partition."""


class ReplicaTruncation(NamedTuple):
    """A replica dropped ``[start, end)`` of its log."""

    at_us: int
    broker: int
    start: int
    end: int
    rule: str


class LogBook:
    """Takes trace events in order."""

    def __init__(self) -> None:
        self._acked: dict[str, deque[tuple[int, int, int, int]]] = {}
        """Partition → (stint, start, end, when)."""
        self._cuts: dict[str, deque[ReplicaTruncation]] = {}

    def take(self, events: Iterable[Any]) -> None:
        """Note what concerns logs."""
        for event in events:
            kind = event.kind
            if kind == "records_acked":
                if event.stint >= 0:
                    start = event.log_offset
                    entry = (event.stint, start, start + event.count, event.at_us)
                    self._acked.setdefault(event.partition, deque(maxlen=KEPT_ACKNOWLEDGEMENTS)).append(entry)
            elif kind == "truncated" and event.end_offset > event.log_offset:
                cut = ReplicaTruncation(event.at_us, event.broker, event.log_offset, event.end_offset, event.rule)
                self._cuts.setdefault(event.partition, deque(maxlen=CUTS)).append(cut)
            elif kind == "partition_deleted":
                self._acked.pop(event.partition, None)
                self._cuts.pop(event.partition, None)

    def acked_us(self, partition: str, stint: int, offset: int) -> int:
        """When a record was acknowledged, -1 where that is not known (any more)."""
        for owner, start, end, at_us in reversed(self._acked.get(partition, ())):
            if owner == stint and start <= offset < end:
                return at_us
        return -1

    def cuts(self, partition: str, until_us: int) -> tuple[ReplicaTruncation, ...]:
        """Truncations of a partition's replicas up to a time, the newest first."""
        return tuple(cut for cut in reversed(self._cuts.get(partition, ())) if cut.at_us <= until_us)
