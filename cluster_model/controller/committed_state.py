"""The committed state of all topics and partitions, whatever any broker has learned of it.

Whoever commits a decision says so here, and the truth follows at once; brokers hear of it by messages, in their own
time, and make or delete their replicas then. So a partition may be there before any of its replicas is, and a replica
may outlive its partition.

A partition's lineages stay when it is deleted: a topic created again under its name goes on with new stints, so that
the records of both are never taken for each other.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.broker.partition.partition import BrokerMetadata, Observer, Replica
from cluster_model.broker.topic_configs import TopicSettings, said, topic_of
from cluster_model.controller.rules.partition_change import LEADER, PartitionChange, created
from cluster_model.log.batch_store import Lineages, PastLineages
from cluster_model.log.record_keys import KeyModel
from cluster_model.protocol.config_defs import MIN_ISR, ConfigValue
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    AssignmentChanged,
    ElrChanged,
    Event,
    IsrChanged,
    LeaderElected,
    PartitionCreated,
    PartitionDeleted,
    PartitionOffline,
    RecoveryChanged,
    TopicConfigChanged,
)
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.util.deterministic_math import number_of

# The committed state of all partitions, whatever any node has learned of it.
#
# Whoever commits a decision tells it here (the quorum, the ZooKeeper ensemble, a step by hand), and it becomes
# events. The checker, the views and the target selectors look here; no node ever does. How decisions come about is in
# :mod:`cluster_model.controller.rules`.


_PLAIN: Final = len(PartitionState._fields) - len(PartitionState._field_defaults)
"""Fields that every partition needs, name first."""
_NOTHING: Final = tuple(PartitionState._field_defaults.values())
"""The rest of most partitions."""


@dataclass(slots=True)
class CommittedPartition:
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
        self.records: dict[str, CommittedPartition] = {}
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

    def add(self, state: PartitionState, topic: TopicConfig) -> CommittedPartition:
        """A new partition in a state that was decided; no event."""
        record = self.records[state.partition] = CommittedPartition(state, topic)
        return record

    def delete(self, name: str) -> None:
        """A partition is gone; no event, and nothing if there is none."""
        self.records.pop(name, None)

    def configure(self, name: str, topic: TopicConfig) -> None:
        """A partition's topic has other settings from now on."""
        self.records[name].topic = topic

    def commit(self, change: PartitionChange, now: int) -> bool:
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

    def _tell_leader(self, before: PartitionState, change: PartitionChange, now: int) -> None:
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
                record = CommittedPartition(state, topic)
            record.state, record.topic = state, topic
            self.records[name] = record


Overrides = Mapping[str, ConfigValue]
Keys = Callable[[str, str], dict[str, KeyModel]]
"""Topic and partition → the keys of its producers' records."""


class TopicRegistry:
    """Omniscient: no protocol code reads it, and a broker gets no more from it than replicas of its own."""

    __slots__ = (
        "_config", "_emit", "_keys", "_last_id", "_metadata", "_profile", "_seed", "_settings", "_whole", "committed",
        "lineages", "observer", "replicas",
    )  # fmt: skip

    def __init__(
        self,
        profile: Profile,
        config: BrokerConfig,
        settings: TopicSettings,
        committed: Committed,
        metadata: dict[int, BrokerMetadata],
        emit: Callable[[Event], None],
        keys: Keys,
        seed: int,
        whole: Mapping[str, Lineages] | None = None,
    ) -> None:
        """``settings`` are the topics' true ones; with ``whole``, batches are looked up in those logs."""
        self.committed = committed
        self.replicas: dict[str, dict[int, Replica]] = {}
        """Partition → broker → replica; those of deleted partitions until their broker has heard."""
        self.lineages: dict[str, Lineages] = {}
        """Of all partitions that there ever were."""
        self._profile = profile
        self._config = config
        self._settings = settings
        self._metadata = metadata
        self._emit = emit
        self.observer = Observer()
        """Of every replica that is made."""
        self._keys = keys
        self._seed = seed
        self._whole = whole
        self._last_id = 0

    def new_topic_id(self) -> int:
        """An id that no topic has had."""
        self._last_id += 1
        return self._last_id

    def partitions(self, topic: str) -> tuple[str, ...]:
        """A topic's partitions, none if there is no such topic."""
        return tuple(name for name in self.committed.records if topic_of(name) == topic)

    def has_topic(self, topic: str) -> bool:
        """Whether a topic has partitions; a topic that is being created is found at once."""
        return any(topic_of(name) == topic for name in reversed(self.committed.records))

    def overrides(self, topic: str) -> Overrides:
        """What a topic's settings were given as."""
        return self._settings.overrides(topic)

    # -- what has been decided --------------------------------------------------------------------------------------

    def create(
        self, topic: str, placement: tuple[tuple[int, ...], ...], overrides: Overrides, live: Collection[int], now: int
    ) -> tuple[PartitionState, ...]:
        """A new topic as any controller first has it; returns what brokers are to be told.

        Raises:
            ModelError: there is one of that name.
        """
        if self.has_topic(topic):
            raise ModelError(f"there is a topic {topic!r} already", code="topic_exists")
        topic_id = self.new_topic_id()
        states = tuple(
            first_state(f"{topic}-{index}", assignment, live, topic_id) for index, assignment in enumerate(placement)
        )
        self.created(states, overrides, now)
        return states

    def add_partitions(
        self, topic: str, placement: tuple[tuple[int, ...], ...], live: Collection[int], now: int
    ) -> tuple[PartitionState, ...]:
        """More partitions of a topic; returns what brokers are to be told.

        Raises:
            ModelError: no such topic.
        """
        known = self.partitions(topic)
        if not known:
            raise ModelError(f"no topic {topic!r}", code="no_topic")
        topic_id = self.committed.records[known[0]].topic_id
        states = tuple(
            first_state(f"{topic}-{index}", assignment, live, topic_id)
            for index, assignment in enumerate(placement, len(known))
        )
        self.created(states, None, now)
        return states

    def created(self, states: tuple[PartitionState, ...], overrides: Overrides | None, now: int) -> None:
        """Partitions were committed; ``overrides`` are their topic's, None where it was there before."""
        for state in states:
            self._add(state, overrides)
            needed = self._settings.of(topic_of(state.partition)).effective_min_isr(self._profile, len(state.replicas))
            detail = f"replicas {', '.join(map(str, state.replicas))}; {MIN_ISR}={needed}"
            epochs = (state.leader_epoch, state.partition_epoch)
            self._emit(PartitionCreated(now, state.partition, state.leader, *epochs, state.isr, detail))

    def _add(self, state: PartitionState, overrides: Overrides | None) -> None:
        topic = topic_of(state.partition)
        if overrides is not None:
            self._settings.configure(topic, overrides)
        self._lineages_of(state.partition)
        self.replicas.setdefault(state.partition, {})
        self.committed.add(state, self._settings.of(topic))

    def begin(
        self, topic: str, placement: tuple[tuple[int, ...], ...], overrides: Overrides, live: Collection[int]
    ) -> None:
        """A topic of the first instant: nothing is said of it, and every broker has its replicas."""
        topic_id = self.new_topic_id()
        for index, assignment in enumerate(placement):
            state = first_state(f"{topic}-{index}", assignment, live, topic_id)
            self._add(state, overrides)
            for broker in assignment:
                self.make(broker, state, self._settings.of(topic))

    def delete(self, topic: str, now: int) -> tuple[str, ...]:
        """A topic's deletion was committed; returns the partitions that are gone.

        Raises:
            ModelError: no such topic.
        """
        gone = self.partitions(topic)
        if not gone:
            raise ModelError(f"no topic {topic!r}", code="no_topic")
        for partition in gone:
            self._emit(PartitionDeleted(now, partition))  # who judges what was lost asks for its settings
            del self.committed.records[partition]
            self._forget_empty(partition)
        self._settings.forget(topic)
        return gone

    def configure(self, topic: str, overrides: Overrides, now: int) -> None:
        """A topic's settings were committed: all of its overrides, those that stay as they were included.

        Raises:
            ModelError: no such topic, or a cleanup policy that the version lacks.
        """
        known = self.partitions(topic)
        if not known:
            raise ModelError(f"no topic {topic!r}", code="no_topic")
        self._settings.configure(topic, overrides)
        self._refresh(known)
        self._emit(TopicConfigChanged(now, topic, said(overrides)))

    def configure_brokers(self, overrides: Overrides) -> None:
        """The cluster-wide defaults of brokers were committed, topics' defaults among them (KIP-226)."""
        self._settings.reconfigure(overrides)
        self._refresh(tuple(self.committed.records))

    def _refresh(self, partitions: tuple[str, ...]) -> None:
        for partition in partitions:
            self.committed.records[partition].topic = self._settings.of(topic_of(partition))

    # -- what brokers do --------------------------------------------------------------------------------------------

    def make(self, broker: int, state: PartitionState, topic: TopicConfig) -> Replica:
        """A broker's new log directory, empty."""
        partition = state.partition
        lineages = self._lineages_of(partition)
        replica = Replica(
            broker, partition, state.replicas, self._profile, self._config, topic, lineages, self._metadata[broker],
            self._emit, state.topic_id,
        )  # fmt: skip
        replica.observer = self.observer
        replica.log.segments.draw_from(number_of(f"{self._seed}/segment-jitter:{broker}:{partition}"))
        self.replicas.setdefault(partition, {})[broker] = replica
        return replica

    def find(self, broker: int, partition: str) -> Replica:
        """The one that a keyframe speaks of."""
        return self.replicas[partition][broker]

    def drop(self, broker: int, partition: str) -> None:
        """A broker deleted its log directory."""
        self.replicas[partition].pop(broker, None)
        self._forget_empty(partition)

    def _forget_empty(self, partition: str) -> None:
        if partition not in self.committed.records and not self.replicas[partition]:
            del self.replicas[partition]

    def _lineages_of(self, partition: str) -> Lineages:
        known = self.lineages.get(partition)
        if known is None:
            known = Lineages() if self._whole is None else PastLineages(self._whole.get(partition) or Lineages())
            known.keys = self._keys(topic_of(partition), partition)
            self.lineages[partition] = known
        return known

    # -- keyframes --------------------------------------------------------------------------------------------------

    def save(self) -> tuple[Any, ...]:
        """Which partitions and replicas there are, and the lengths of the lineages; their states are saved by others.

        Records are the controller's, logs the brokers'.
        """
        return (
            self._last_id,
            self._settings.save(),
            tuple([(name, record.topic_id) for name, record in self.committed.records.items()]),
            tuple([(name, tuple(holders)) for name, holders in self.replicas.items()]),
            tuple(self.lineages),
            tuple([lineages.save() for lineages in self.lineages.values()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`: exactly those partitions and replicas, to be filled by their own ``load``.

        Raises:
            ValueError: the keyframe is not of this history.
        """
        self._last_id, settings, records, replicas, names, lengths = saved
        self._settings.load(settings)
        self._load_lineages(names, lengths)
        known = dict(self.committed.records)
        self.committed.records.clear()
        for name, topic_id in records:
            topic = self._settings.of(topic_of(name))
            record = known.get(name) or self.committed.add(first_state(name, (), (), topic_id), topic)
            record.topic = topic
            self.committed.records[name] = record
        former = dict(self.replicas)
        self.replicas.clear()
        for name, holders in replicas:
            there = former.get(name, {})
            self.replicas[name] = {}
            for broker in holders:
                replica = there.get(broker)
                if replica is not None and replica.log.lineages is self.lineages[name]:
                    self.replicas[name][broker] = replica
                else:
                    self.make(broker, first_state(name, (), ()), self._settings.of(topic_of(name)))

    def _load_lineages(self, names: tuple[str, ...], lengths: tuple[Any, ...]) -> None:
        known = dict(self.lineages)
        unknown = [name for name in names if name not in (known if self._whole is None else self._whole)]
        if unknown:
            raise ValueError(f"a keyframe with a partition {unknown[0]}, which there never was")
        self.lineages.clear()
        for name, saved in zip(names, lengths, strict=True):
            ours = known.get(name)
            if ours is not None and (self._whole is None or ours.is_past_of(self._whole[name])):
                self.lineages[name] = ours
            self._lineages_of(name).load(saved)


# News that a process has, and takes up late: what a fault holds back of metadata, in order. Sans-IO.
#
# Several faults may hold it: their delays add up, and while one of them holds it for good nothing passes.


NEVER: Final = -1


class Holdback:
    """What waits, and how long. It is of no account while no fault holds anything and nothing waits."""

    __slots__ = ("_delays", "_waiting")

    def __init__(self) -> None:
        self._delays: dict[int, int] = {}
        """Fault → µs, 0: until it is healed."""
        self._waiting: deque[tuple[int, Any]] = deque()
        """(when it came, what)."""

    @property
    def holds(self) -> bool:
        """Whether what comes now has to wait."""
        return bool(self._delays)

    @property
    def waits(self) -> bool:
        """Whether anything waits, perhaps only until the process gets to it: what comes now must not overtake it."""
        return bool(self._waiting)

    def hold(self, fault: int, delay_us: int) -> None:
        """Have what comes wait that long from its coming on, 0: until :meth:`release`."""
        self._delays[fault] = delay_us

    def release(self, fault: int) -> None:
        """Undo of :meth:`hold`; what is due by that is told by :meth:`due`."""
        self._delays.pop(fault, None)

    def put(self, what: Any, now: int) -> None:
        """Keep it until it is due."""
        self._waiting.append((now, what))

    def next_at(self) -> int:
        """When the oldest is due, -1 if nothing waits or nobody knows."""
        if not self._waiting or not all(self._delays.values()):
            return NEVER
        return self._waiting[0][0] + sum(self._delays.values())

    def due(self, now: int) -> Any:
        """The oldest, if it is due, which then waits no longer; None if nothing is."""
        at = self.next_at()
        return self._waiting.popleft()[1] if 0 <= at <= now else None

    def clear(self) -> None:
        """The process died, and all that waited in it; what holds its news stands."""
        self._waiting.clear()

    def save(self) -> tuple[Any, ...]:
        """All state; empty while there is none."""
        if not self._delays and not self._waiting:
            return ()
        return (tuple(self._delays.items()), tuple(self._waiting))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        delays, waiting = saved or ((), ())
        self._delays = dict(delays)
        self._waiting = deque(waiting)
