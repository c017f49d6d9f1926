"""Topics as they come and go, seen from above: partitions, their replicas wherever they are, and their records.

Whoever commits a decision says so here, and the truth follows at once; brokers hear of it by messages, in their own
time, and make or delete their replicas then. So a partition may be there before any of its replicas is, and a replica
may outlive its partition.

A partition's lineages stay when it is deleted: a topic created again under its name goes on with new stints, so that
the records of both are never taken for each other.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.topic_configs import TopicSettings, said, topic_of
from cluster_model.controller.committed import Committed, first_state
from cluster_model.log.batch_store import Lineages
from cluster_model.log.keys import KeyModel
from cluster_model.log.past import PastLineages
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event, PartitionCreated, PartitionDeleted, TopicConfigChanged
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.util.mixing import number_of

Overrides = Mapping[str, ConfigValue]
Keys = Callable[[str, str], dict[str, KeyModel]]
"""Topic and partition → the keys of its producers' records."""


class TopicRegistry:
    """Omniscient: no protocol code reads it, and a broker gets no more from it than replicas of its own."""

    __slots__ = (
        "_config", "_emit", "_keys", "_last_id", "_metadata", "_profile", "_seed", "_settings", "_whole", "committed",
        "lineages", "replicas",
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
        if self.partitions(topic):
            raise ModelError(f"there is a topic {topic!r} already")
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
            raise ModelError(f"no topic {topic!r}")
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
            detail = "replicas " + ", ".join(map(str, state.replicas))
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
            raise ModelError(f"no topic {topic!r}")
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
            raise ModelError(f"no topic {topic!r}")
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
