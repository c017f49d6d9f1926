"""Who led a partition, who was in sync and who was down at any moment so far: rare events, kept to look back."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.checker.root_cause.findings import Link

KEEP: Final = 50_000
"""Events kept; what stood before them is taken from them as far as they tell."""
NODES: Final = frozenset({"node_down", "node_up", "node_paused", "node_resumed"})
DECISIONS: Final = frozenset({"leader_elected", "partition_offline", "isr_changed", "partition_created"})
RULES: Final = frozenset({"invariant_violated", "liveness_overdue"})
LOSSES: Final = frozenset({"records_missing", "records_lost"})
_FIRST: Final = "became_leader"
"""Kept of the very beginning only: nobody is elected then."""
KINDS: Final = NODES | DECISIONS | RULES


@dataclass(frozen=True, slots=True)
class Standing:
    """A partition at one moment."""

    leader: int
    """-1: nobody."""
    isr: tuple[int, ...]
    down: tuple[int, ...]
    paused: tuple[int, ...]
    clean: bool = True
    """Whether the newest election was."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A property found broken, or overdue."""

    at_us: int
    name: str
    partition: str
    detail: str


class Chronicle:
    """Takes trace events in order."""

    def __init__(self) -> None:
        self._events: deque[Any] = deque(maxlen=KEEP)
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

    def standing(self, partition: str, replicas: tuple[int, ...], link: Link) -> Standing:
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
        return Standing(leader, isr, tuple(down), tuple(paused), clean)

    def broken(self, partitions: tuple[str, ...], now_us: int) -> tuple[Broken, ...]:
        """Properties that had been found broken in any of these partitions by then, each once, the first time."""
        found: dict[tuple[str, str], Broken] = {}
        for event in self._events:
            if event.kind in RULES and event.partition in partitions and event.at_us <= now_us:
                name = event.invariant if event.kind == "invariant_violated" else event.property
                found.setdefault((name, event.partition), Broken(event.at_us, name, event.partition, event.detail))
        return tuple(found.values())

    def all_broken(self, now_us: int) -> tuple[Broken, ...]:
        """The same of every partition, in the order of their times."""
        there = dict.fromkeys(event.partition for event in self._events if event.kind in RULES)
        return tuple(sorted(self.broken(tuple(there), now_us), key=lambda each: each.at_us))

    def _until(self, link: Link) -> list[Any]:
        """All before a link's instant, and of that what came up to the link's own event."""
        before = [event for event in self._events if event.at_us < link.at_us]
        same = [event for event in self._events if event.at_us == link.at_us]
        last = max((place for place, event in enumerate(same) if _is(event, link)), default=len(same) - 1)
        return before + same[: last + 1]


def _is(event: Any, link: Link) -> bool:
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
