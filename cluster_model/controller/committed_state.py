"""The committed state of all topics and partitions, independent of what any broker has learned of it.

The node that commits a decision records it here, at once; brokers learn of it later by messages, and create or delete
their replicas then. So a partition can exist before any of its replicas does, and a replica can outlive its partition.

A partition's batch stores are kept when it is deleted: a topic created again under its name adds new log branches, so
that records of the old and the new topic are never mistaken for each other.
"""

from collections import deque
from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.broker.partition.partition import BrokerMetadata, Observer, Replica
from cluster_model.broker.topic_configs import TopicConfigs, format_configs, topic_of
from cluster_model.controller.rules.partition_change import LEADER, PartitionChange, created
from cluster_model.log.batch_store import BatchStore, BatchStoreView
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
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.spec import TopicSpec
from cluster_model.util.deterministic_math import number_of

# The committed state of all partitions, independent of what any node has learned of it. The node that commits a
# decision (the quorum, the ZooKeeper ensemble, a manual step) records it here, and it becomes events. The checker, the
# views and the target selectors read it; no node ever does. The decisions are made in
# :mod:`cluster_model.controller.rules`.


_PLAIN: Final = len(PartitionState._fields) - len(PartitionState._field_defaults)
"""Number of fields that every partition sets, name first."""
_NOTHING: Final = tuple(PartitionState._field_defaults.values())
"""Values of the remaining fields for most partitions."""


@dataclass(slots=True)
class CommittedPartition:
    """A partition as committed; changed only by :class:`CommittedState`."""

    state: PartitionState
    """The state that is sent to brokers."""
    topic_config: TopicConfig

    @property
    def name(self) -> str:
        """Name as Kafka prints it: ``orders-0``."""
        return self.state.partition

    @property
    def assignment(self) -> tuple[int, ...]:
        """Replicas, in order; during a reassignment the old and the new ones."""
        return self.state.replicas

    @property
    def leader(self) -> int:
        """Broker id of the leader, -1 if there is none."""
        return self.state.leader

    @property
    def leader_epoch(self) -> int:
        """Leader epoch; raised with every election."""
        return self.state.leader_epoch

    @property
    def partition_epoch(self) -> int:
        """Partition epoch; raised with every change. In ZooKeeper mode the version of the state znode."""
        return self.state.partition_epoch

    @property
    def isr(self) -> tuple[int, ...]:
        """Broker ids of the in-sync replicas."""
        return self.state.isr

    @property
    def topic_id(self) -> int:
        """Id of the topic; topics created one after another under one name have different ids."""
        return self.state.topic_id

    @property
    def under_replicated(self) -> bool:
        """Whether in-sync replicas are missing; those that a reassignment adds are not counted (``Partition``)."""
        return len(self.isr) < len(self.assignment) - len(self.state.adding)


def first_state(name: str, assignment: tuple[int, ...], live: Container[int], topic_id: int = 0) -> PartitionState:
    """Return the state of a new partition: every live replica in the ISR, the first of them leader, epochs 0."""
    return created(name, assignment, lambda broker: broker in live)._replace(topic_id=topic_id)


class CommittedState:
    """Committed partitions by name, and the events of their changes."""

    __slots__ = ("_at_first", "_emit", "_places", "records")

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.records: dict[str, CommittedPartition] = {}
        self._emit = emit
        self._at_first: list[tuple[str, TopicConfig]] = []
        """Partitions that exist from the start, with their settings: a snapshot does not repeat them."""
        self._places: dict[str, int] = {}
        """Partition → its index in that list."""

    def create(self, name: str, assignment: tuple[int, ...], topic: TopicConfig, live: Container[int]) -> None:
        """Add a partition at the start: every live replica in the ISR, the first of them leader, epochs 0."""
        self._places[name] = len(self._at_first)
        self._at_first.append((name, topic))
        self.add(created(name, assignment, lambda broker: broker in live), topic)

    def add(self, state: PartitionState, topic: TopicConfig) -> CommittedPartition:
        """Add a new partition in a given state; emits no event."""
        record = self.records[state.partition] = CommittedPartition(state, topic)
        return record

    def delete(self, name: str) -> None:
        """Remove a partition; emits no event, and does nothing if there is no such partition."""
        self.records.pop(name, None)

    def configure(self, name: str, topic: TopicConfig) -> None:
        """Replace the settings of a partition's topic."""
        self.records[name].topic_config = topic

    def commit(self, change: PartitionChange, now: int) -> bool:
        """Apply a committed change and emit events for what differs.

        Return False, without any effect, if the change changes nothing or its partition was deleted.
        """
        record = self.records.get(change.state.partition)
        if record is None or record.state == change.state:
            return False
        before, record.state = record.state, change.state
        self._emit_leader_changes(before, change, now)
        self._emit_other_changes(before, change.state, now)
        return True

    def _emit_leader_changes(self, before: PartitionState, change: PartitionChange, now: int) -> None:
        after = change.state
        epochs = (after.leader_epoch, after.partition_epoch)
        # A leader that stays gets a new epoch by an election, or merely because the ISR shrank.
        again = after.leader_epoch > before.leader_epoch and after.isr == before.isr
        if after.leader == NO_LEADER:
            if before.leader != NO_LEADER:
                self._emit(PartitionOffline(now, after.partition, *epochs, after.isr))
        elif after.leader != before.leader or again:
            by = "reassignment completed" if change.by == LEADER else change.by
            self._emit(LeaderElected(now, after.partition, after.leader, *epochs, after.isr, change.clean, by))
        if after.isr != before.isr:
            by = LEADER if change.by == LEADER else "controller"
            self._emit(IsrChanged(now, after.partition, after.leader, *epochs, after.isr, before.isr, by))

    def _emit_other_changes(self, before: PartitionState, after: PartitionState, now: int) -> None:
        name, epochs = after.partition, (after.leader_epoch, after.partition_epoch)
        if (after.elr, after.last_known) != (before.elr, before.last_known):
            self._emit(ElrChanged(now, name, after.leader, *epochs, after.isr, after.elr, after.last_known))
        if after.recovering != before.recovering:
            self._emit(RecoveryChanged(now, name, after.leader, *epochs, after.recovering))
        assigned = (after.replicas, after.adding, after.removing)
        if assigned != (before.replicas, before.adding, before.removing):
            self._emit(AssignmentChanged(now, name, after.leader, *epochs, *assigned))

    def save(self) -> tuple[Any, ...]:
        """Return all state: a row per partition, with name and settings only if it did not start with them."""
        rows: list[tuple[Any, ...]] = []
        for name, record in self.records.items():
            state, index = record.state, self._places.get(name, -1)
            rest = () if state[_PLAIN:] == _NOTHING else tuple(state[_PLAIN:])
            known = index >= 0 and record.topic_config is self._at_first[index][1]
            rows.append((index if known else (name, record.topic_config), *state[1:_PLAIN], rest))
        return tuple(rows)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned: partitions created since are removed, deleted ones restored."""
        current = dict(self.records)
        self.records.clear()
        for which, *plain, rest in saved:
            name, topic = self._at_first[which] if isinstance(which, int) else which
            state = PartitionState(name, *plain, *rest)
            record = current.get(name)
            if record is None:
                record = CommittedPartition(state, topic)
            record.state, record.topic_config = state, topic
            self.records[name] = record


Overrides = Mapping[str, ConfigValue]
Keys = Callable[[str, str], dict[str, KeyModel]]
"""Topic and partition → the key model of each producer."""


class TopicRegistry:
    """Registry of all topics, partitions and replicas, for observers; a broker only gets its own replicas."""

    __slots__ = (
        "_config", "_emit", "_full_stores", "_installed", "_keys", "_last_id", "_metadata", "_profile", "_seed",
        "_settings", "committed", "epoch_branches", "observer", "replicas",
    )  # fmt: skip

    def __init__(
        self,
        profile: Profile,
        config: BrokerConfig,
        settings: TopicConfigs,
        committed: CommittedState,
        metadata: dict[int, BrokerMetadata],
        emit: Callable[[Event], None],
        keys: Keys,
        seed: int,
        full_stores: Mapping[str, BatchStore] | None = None,
    ) -> None:
        """``settings`` are the committed ones; with ``full_stores``, batches are looked up in those logs."""
        self.committed = committed
        self.replicas: dict[str, dict[int, Replica]] = {}
        """Partition → broker → replica; a deleted partition's replica stays until its broker has deleted it."""
        self.epoch_branches: dict[str, BatchStore] = {}
        """Batch stores of all partitions that ever existed."""
        self._profile = profile
        self._config = config
        self._installed: dict[int, tuple[Profile, BrokerConfig]] = {}
        """Rules and configuration of brokers that run another release than the cluster was formed with."""
        self._settings = settings
        self._metadata = metadata
        self._emit = emit
        self.observer = Observer()
        """Observer of every replica that is made."""
        self._keys = keys
        self._seed = seed
        self._full_stores = full_stores
        self._last_id = 0

    def new_topic_id(self) -> int:
        """Return an id that no topic has had."""
        self._last_id += 1
        return self._last_id

    def partitions(self, topic: str) -> tuple[str, ...]:
        """A topic's partitions, none if there is no such topic."""
        return tuple(name for name in self.committed.records if topic_of(name) == topic)

    def has_topic(self, topic: str) -> bool:
        """Whether a topic has partitions; searched from the newest, so a topic being created is found quickly."""
        return any(topic_of(name) == topic for name in reversed(self.committed.records))

    def overrides(self, topic: str) -> Overrides:
        """A topic's own configuration values, as given."""
        return self._settings.overrides(topic)

    # -- committed changes ----------------------------------------------------------------------------------------

    def create(
        self, topic: str, placement: tuple[tuple[int, ...], ...], overrides: Overrides, live: Collection[int], now: int
    ) -> tuple[PartitionState, ...]:
        """Create a topic as any controller does at first; return the partition states to send to brokers.

        Raises:
            ModelError: a topic of that name exists.
        """
        if self.has_topic(topic):
            raise ModelError(f"topic {topic!r} already exists", code="topic_exists")
        topic_id = self.new_topic_id()
        states = tuple(
            first_state(f"{topic}-{index}", assignment, live, topic_id) for index, assignment in enumerate(placement)
        )
        self.record_created(states, overrides, now)
        return states

    def add_partitions(
        self, topic: str, placement: tuple[tuple[int, ...], ...], live: Collection[int], now: int
    ) -> tuple[PartitionState, ...]:
        """Add partitions to a topic; return the partition states to send to brokers.

        Raises:
            ModelError: no such topic.
        """
        existing = self.partitions(topic)
        if not existing:
            raise ModelError(f"no topic {topic!r}", code="no_topic")
        topic_id = self.committed.records[existing[0]].topic_id
        states = tuple(
            first_state(f"{topic}-{index}", assignment, live, topic_id)
            for index, assignment in enumerate(placement, len(existing))
        )
        self.record_created(states, None, now)
        return states

    def record_created(self, states: tuple[PartitionState, ...], overrides: Overrides | None, now: int) -> None:
        """Record committed partitions; ``overrides`` are their topic's, None if the topic existed before."""
        for number, state in enumerate(states):
            self._add(state, None if number else overrides)
            needed = self._settings.of(topic_of(state.partition)).effective_min_isr(self._profile, len(state.replicas))
            detail = f"replicas {', '.join(map(str, state.replicas))}; {MIN_ISR}={needed}"
            epochs = (state.leader_epoch, state.partition_epoch)
            self._emit(PartitionCreated(now, state.partition, state.leader, *epochs, state.isr, detail))

    def _add(self, state: PartitionState, overrides: Overrides | None) -> None:
        topic = topic_of(state.partition)
        if overrides is not None:
            self._settings.configure(topic, overrides)
        self._branches_of(state.partition)
        self.replicas.setdefault(state.partition, {})
        self.committed.add(state, self._settings.of(topic))

    def create_initial(self, topic: TopicSpec, placement: tuple[tuple[int, ...], ...], live: Collection[int]) -> None:
        """Create a topic that exists from the start: no event, and every broker has its replicas."""
        topic_id, leaders = self.new_topic_id(), dict(topic.leaders)
        for index, assignment in enumerate(placement):
            state = first_state(f"{topic.name}-{index}", assignment, live, topic_id)
            if leaders.get(index) in state.isr:
                state = state._replace(leader=leaders[index])
            self._add(state, None if index else topic.config)
            for broker in assignment:
                self.create_replica(broker, state, self._settings.of(topic.name))

    def delete(self, topic: str, now: int) -> tuple[str, ...]:
        """Delete a topic whose deletion was committed; return its former partitions.

        Raises:
            ModelError: no such topic.
        """
        deleted = self.partitions(topic)
        if not deleted:
            raise ModelError(f"no topic {topic!r}", code="no_topic")
        for partition in deleted:
            self._emit(PartitionDeleted(now, partition))  # the checker still reads its settings
            del self.committed.records[partition]
            self._forget_empty(partition)
        self._settings.forget(topic)
        return deleted

    def configure(self, topic: str, overrides: Overrides, now: int) -> None:
        """Replace a topic's committed settings; ``overrides`` holds all of them, including unchanged ones.

        Raises:
            ModelError: no such topic, or a cleanup policy that the version lacks.
        """
        known = self.partitions(topic)
        if not known:
            raise ModelError(f"no topic {topic!r}", code="no_topic")
        self._settings.configure(topic, overrides)
        self._refresh(known)
        self._emit(TopicConfigChanged(now, topic, format_configs(overrides)))

    def configure_brokers(self, overrides: Overrides) -> None:
        """Replace the cluster-wide dynamic defaults of brokers, including topics' defaults (KIP-226)."""
        self._settings.reconfigure(overrides)
        self._refresh(tuple(self.committed.records))

    def _refresh(self, partitions: tuple[str, ...]) -> None:
        for partition in partitions:
            self.committed.records[partition].topic_config = self._settings.of(topic_of(partition))

    # -- replicas on brokers ----------------------------------------------------------------------------------------

    def create_replica(self, broker: int, state: PartitionState, topic: TopicConfig) -> Replica:
        """Create an empty replica on a broker: a new log directory."""
        partition = state.partition
        epoch_branches = self._branches_of(partition)
        profile, config = self._installed.get(broker, (self._profile, self._config))
        replica = Replica(
            broker, partition, state.replicas, profile, config, topic, epoch_branches, self._metadata[broker],
            self._emit, state.topic_id,
        )  # fmt: skip
        replica.observer = self.observer
        replica.log.segments.set_jitter_seed(number_of(f"{self._seed}/segment-jitter:{broker}:{partition}"))
        self.replicas.setdefault(partition, {})[broker] = replica
        return replica

    def install(self, broker: int, profile: Profile, config: BrokerConfig) -> None:
        """Give a broker another release: its replicas are recreated, to be loaded with their former state."""
        self._installed[broker] = (profile, config)
        for name, holders in self.replicas.items():
            if broker in holders:
                self.create_replica(broker, first_state(name, (), ()), self._settings.of(topic_of(name)))

    def replica(self, broker: int, partition: str) -> Replica:
        """Return the replica that a snapshot refers to."""
        return self.replicas[partition][broker]

    def remove_replica(self, broker: int, partition: str) -> None:
        """Remove a replica whose broker deleted its log directory."""
        self.replicas[partition].pop(broker, None)
        self._forget_empty(partition)

    def _forget_empty(self, partition: str) -> None:
        if partition not in self.committed.records and not self.replicas[partition]:
            del self.replicas[partition]

    def _branches_of(self, partition: str) -> BatchStore:
        store = self.epoch_branches.get(partition)
        if store is None:
            store = (
                BatchStore()
                if self._full_stores is None
                else BatchStoreView(self._full_stores.get(partition) or BatchStore())
            )
            store.keys = self._keys(topic_of(partition), partition)
            self.epoch_branches[partition] = store
        return store

    # -- snapshots --------------------------------------------------------------------------------------------------

    def save(self) -> tuple[Any, ...]:
        """The partitions and replicas that exist, and the lengths of their batch stores.

        The states themselves are saved elsewhere: partition records by the control plane, logs by the brokers.
        """
        return (
            self._last_id,
            self._settings.save(),
            tuple([(name, record.topic_id) for name, record in self.committed.records.items()]),
            tuple([(name, tuple(holders)) for name, holders in self.replicas.items()]),
            tuple(self.epoch_branches),
            tuple([epoch_branches.save() for epoch_branches in self.epoch_branches.values()]),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore exactly the partitions and replicas that :meth:`save` returned; their own ``load`` fills them.

        Raises:
            ValueError: the snapshot does not belong to this history.
        """
        self._last_id, settings, records, replicas, names, lengths = saved
        self._settings.load(settings)
        self._load_branches(names, lengths)
        committed = dict(self.committed.records)
        self.committed.records.clear()
        for name, topic_id in records:
            topic = self._settings.of(topic_of(name))
            record = committed.get(name) or self.committed.add(first_state(name, (), (), topic_id), topic)
            record.topic_config = topic
            self.committed.records[name] = record
        former = dict(self.replicas)
        self.replicas.clear()
        for name, holders in replicas:
            existing = former.get(name, {})
            self.replicas[name] = {}
            for broker in holders:
                replica = existing.get(broker)
                if replica is not None and replica.log.epoch_branches is self.epoch_branches[name]:
                    self.replicas[name][broker] = replica
                else:
                    self.create_replica(broker, first_state(name, (), ()), self._settings.of(topic_of(name)))

    def _load_branches(self, names: tuple[str, ...], lengths: tuple[Any, ...]) -> None:
        stores = dict(self.epoch_branches)
        unknown = [name for name in names if name not in (stores if self._full_stores is None else self._full_stores)]
        if unknown:
            raise ValueError(f"snapshot holds partition {unknown[0]}, which never existed in this cluster")
        self.epoch_branches.clear()
        for name, saved in zip(names, lengths, strict=True):
            ours = stores.get(name)
            if ours is not None and (self._full_stores is None or ours.is_past_of(self._full_stores[name])):
                self.epoch_branches[name] = ours
            self._branches_of(name).load(saved)


# Metadata updates that a process has received and that a fault delays, in order. Sans-IO. Several faults can delay
# them: their delays add up, and while one of them has no end, no update passes.


NEVER: Final = -1


class DelayedUpdates:
    """Queue of delayed metadata updates; it has no effect while no fault delays updates and none waits."""

    __slots__ = ("_delays", "_waiting")

    def __init__(self) -> None:
        self._delays: dict[int, int] = {}
        """Fault → delay in µs, 0: until the fault is healed."""
        self._waiting: deque[tuple[int, Any]] = deque()
        """(time received in µs, update)."""

    @property
    def delaying(self) -> bool:
        """Whether a new update has to wait."""
        return bool(self._delays)

    @property
    def nonempty(self) -> bool:
        """Whether any update waits, perhaps only until the process handles it: a new one must not overtake it."""
        return bool(self._waiting)

    def delay(self, fault: int, delay_us: int) -> None:
        """Delay each update by ``delay_us`` from its arrival; 0: until :meth:`release`."""
        self._delays[fault] = delay_us

    def release(self, fault: int) -> None:
        """Undo :meth:`delay`; :meth:`take_due` then returns the updates that are due."""
        self._delays.pop(fault, None)

    def put(self, what: Any, now: int) -> None:
        """Add an update to the queue."""
        self._waiting.append((now, what))

    def next_at(self) -> int:
        """Time at which the oldest update is due in µs, -1 if none waits or a fault has no end."""
        if not self._waiting or not all(self._delays.values()):
            return NEVER
        return self._waiting[0][0] + sum(self._delays.values())

    def take_due(self, now: int) -> Any:
        """Remove and return the oldest update if it is due, else None."""
        at = self.next_at()
        return self._waiting.popleft()[1] if 0 <= at <= now else None

    def clear(self) -> None:
        """The process died and lost its waiting updates; the delays remain."""
        self._waiting.clear()

    def save(self) -> tuple[Any, ...]:
        """Return all state; empty if there is none."""
        if not self._delays and not self._waiting:
            return ()
        return (tuple(self._delays.items()), tuple(self._waiting))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        delays, waiting = saved or ((), ())
        self._delays = dict(delays)
        self._waiting = deque(waiting)
