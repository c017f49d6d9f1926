"""The committed state of all partitions: what is true, whoever has heard of it.

Whoever commits a decision tells it here (the quorum, the ZooKeeper ensemble, a step by hand), and it becomes events.
The checker, the views and the target selectors look here; no node ever does. How decisions come about is in
:mod:`cluster_model.controller.rules`.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.controller.rules.change import LEADER, Change, created
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.events import (
    AssignmentChanged,
    ElrChanged,
    Event,
    IsrChanged,
    LeaderElected,
    PartitionOffline,
    RecoveryChanged,
)
from cluster_model.protocol.messages import NOBODY, PartitionState

_PLAIN: Final = len(PartitionState._fields) - len(PartitionState._field_defaults)
"""Fields that every partition needs, name first."""
_NOTHING: Final = tuple(PartitionState._field_defaults.values())
"""The rest of most partitions."""


@dataclass(slots=True)
class PartitionRecord:
    """A partition as committed. Changed only by :class:`Committed`."""

    state: PartitionState
    """As it is sent to brokers."""
    topic: TopicConfig

    @property
    def name(self) -> str:
        """As Kafka prints it: ``orders-0``."""
        return self.state.partition

    @property
    def assignment(self) -> tuple[int, ...]:
        """Its replicas, in order; during a reassignment the old and the new ones."""
        return self.state.replicas

    @property
    def leader(self) -> int:
        """Who leads, -1 for nobody."""
        return self.state.leader

    @property
    def leader_epoch(self) -> int:
        """Raised with every election."""
        return self.state.leader_epoch

    @property
    def partition_epoch(self) -> int:
        """Raised with every change; in ZooKeeper mode the version of the state node."""
        return self.state.partition_epoch

    @property
    def isr(self) -> tuple[int, ...]:
        """Who is in sync."""
        return self.state.isr

    @property
    def topic_id(self) -> int:
        """Which topic of that name."""
        return self.state.topic_id

    @property
    def under_replicated(self) -> bool:
        """Whether in-sync replicas are missing; those that a reassignment adds are not counted (``Partition``)."""
        return len(self.isr) < len(self.assignment) - len(self.state.adding)


def first_state(name: str, assignment: tuple[int, ...], live: Container[int], topic_id: int = 0) -> PartitionState:
    """A partition at its creation: every live replica in the ISR, the first of them leads, epochs 0."""
    return created(name, assignment, lambda broker: broker in live)._replace(topic_id=topic_id)


class Committed:
    """All partitions, by name."""

    __slots__ = ("_at_first", "_emit", "_places", "records")

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.records: dict[str, PartitionRecord] = {}
        self._emit = emit
        self._at_first: list[tuple[str, TopicConfig]] = []
        """Partitions that there were before anything happened, with their settings: no keyframe has to repeat them."""
        self._places: dict[str, int] = {}
        """Where they are in that list."""

    def create(self, name: str, assignment: tuple[int, ...], topic: TopicConfig, live: Container[int]) -> None:
        """A partition to begin with: every live replica in the ISR, the first of them leads, epochs 0."""
        self._places[name] = len(self._at_first)
        self._at_first.append((name, topic))
        self.add(created(name, assignment, lambda broker: broker in live), topic)

    def add(self, state: PartitionState, topic: TopicConfig) -> PartitionRecord:
        """A new partition in a state that was decided; no event."""
        record = self.records[state.partition] = PartitionRecord(state, topic)
        return record

    def delete(self, name: str) -> None:
        """A partition is gone; no event, and nothing if there is none."""
        self.records.pop(name, None)

    def configure(self, name: str, topic: TopicConfig) -> None:
        """A partition's topic has other settings from now on."""
        self.records[name].topic = topic

    def commit(self, change: Change, now: int) -> bool:
        """A decision stands: take it up, and tell what it changed.

        False, and nothing, if it changes nothing or its partition was deleted.
        """
        record = self.records.get(change.state.partition)
        if record is None or record.state == change.state:
            return False
        before, record.state = record.state, change.state
        self._tell_leader(before, change, now)
        self._tell_rest(before, change.state, now)
        return True

    def _tell_leader(self, before: PartitionState, change: Change, now: int) -> None:
        after = change.state
        epochs = (after.leader_epoch, after.partition_epoch)
        # A leader that stays gets a new epoch by an election, or merely because the ISR shrank.
        again = after.leader_epoch > before.leader_epoch and after.isr == before.isr
        if after.leader == NOBODY:
            if before.leader != NOBODY:
                self._emit(PartitionOffline(now, after.partition, *epochs, after.isr))
        elif after.leader != before.leader or again:
            by = "reassignment completed" if change.by == LEADER else change.by
            self._emit(LeaderElected(now, after.partition, after.leader, *epochs, after.isr, change.clean, by))
        if after.isr != before.isr:
            by = LEADER if change.by == LEADER else "controller"
            self._emit(IsrChanged(now, after.partition, after.leader, *epochs, after.isr, before.isr, by))

    def _tell_rest(self, before: PartitionState, after: PartitionState, now: int) -> None:
        name, epochs = after.partition, (after.leader_epoch, after.partition_epoch)
        if (after.elr, after.last_known) != (before.elr, before.last_known):
            self._emit(ElrChanged(now, name, after.leader, *epochs, after.isr, after.elr, after.last_known))
        if after.recovering != before.recovering:
            self._emit(RecoveryChanged(now, name, after.leader, *epochs, after.recovering))
        assigned = (after.replicas, after.adding, after.removing)
        if assigned != (before.replicas, before.adding, before.removing):
            self._emit(AssignmentChanged(now, name, after.leader, *epochs, *assigned))

    def save(self) -> tuple[Any, ...]:
        """All state: a small row per partition, with its name and its settings only if it did not begin with them."""
        rows: list[tuple[Any, ...]] = []
        for name, record in self.records.items():
            state, place = record.state, self._places.get(name, -1)
            rest = () if state[_PLAIN:] == _NOTHING else tuple(state[_PLAIN:])
            known = place >= 0 and record.topic is self._at_first[place][1]
            rows.append((place if known else (name, record.topic), *state[1:_PLAIN], rest))
        return tuple(rows)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`: partitions that came since are gone, those that went are back."""
        standing = dict(self.records)
        self.records.clear()
        for which, *plain, rest in saved:
            name, topic = self._at_first[which] if isinstance(which, int) else which
            state = PartitionState(name, *plain, *rest)
            record = standing.get(name)
            if record is None:
                record = PartitionRecord(state, topic)
            record.state, record.topic = state, topic
            self.records[name] = record
