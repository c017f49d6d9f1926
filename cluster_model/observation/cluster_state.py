"""Omniscient access to a cluster and its effective configuration, for checkers, views, conditions and targets only.

Protocol code must not use it. The timed cluster and the manual one each create theirs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.topic_configs import TopicConfigs
from cluster_model.controller.committed_state import CommittedPartition
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.config_defaults import defaults_of
from cluster_model.protocol.config_defs import BROKER, TOPIC, ConfigKey, ConfigValue
from cluster_model.protocol.configs import NEVER, topic_values
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile


@dataclass(slots=True)
class ClusterState:
    """Live objects of a cluster by name, for reading only."""

    profile: Profile
    """Rules that every node follows: those of the oldest one during an upgrade."""
    records: dict[str, CommittedPartition]
    """The controller's committed state, by partition."""
    replicas: dict[str, dict[int, Replica]]
    """Partition → broker → replica, in assignment order."""
    epoch_branches: dict[str, BatchStore]
    is_up: Callable[[int], bool]
    """Whether a broker's process is running or paused."""
    brokers: tuple[int, ...]
    cached_states: Callable[[int], Mapping[str, PartitionState]]
    """Return the partitions in a running broker's metadata cache."""
    registration: Callable[[int], int]
    """Return the committed registration epoch of a broker, -1 for none."""
    being_deleted: Callable[[str], bool] = lambda _topic: False
    """Whether a topic's deletion is committed while its partitions still exist (ZooKeeper mode)."""
    session_us: Callable[[], int] = lambda: 0
    """Return the session timeout after which the controller fences a broker, in microseconds."""

    def record(self, partition: str) -> CommittedPartition:
        """Return a partition's committed state.

        Raises:
            ModelError: no such partition.
        """
        record = self.records.get(partition)
        if record is None:
            raise ModelError(
                f"no partition {partition!r}; known partitions: {', '.join(self.records)}", code="no_partition"
            )
        return record

    def replica(self, partition: str, broker: int) -> Replica:
        """Return a replica by partition and broker.

        Raises:
            ModelError: no such partition, or the broker has no replica of it.
        """
        self.record(partition)
        replica = self.replicas[partition].get(broker)
        if replica is None:
            holders = ", ".join(map(str, self.replicas[partition]))
            raise ModelError(
                f"broker {broker} holds no replica of {partition}; its replicas are on {holders}", code="no_replica"
            )
        return replica

    def committed_leader(self, partition: str) -> Replica | None:
        """Return the replica of the controller's leader, None if there is none."""
        state = (self.records.get(partition) or self.record(partition)).state
        if state.leader < 0:
            return None
        replica = self.replicas[partition].get(state.leader)
        return None if replica is None or replica.topic_id != state.topic_id else replica

    def representative(self, partition: str) -> Replica | None:
        """Return the leader's replica, else one that may represent it; None while no broker has created any."""
        record = self.record(partition)
        leader = self.committed_leader(partition)
        replicas = self.replicas[partition]
        return leader or next(
            (replicas[broker] for broker in (*record.isr, *record.assignment) if broker in replicas), None
        )

    def is_stale(self, partition: str, broker: int) -> bool:
        """Whether a broker's replica belongs to a partition that has been deleted, and perhaps recreated."""
        record = self.records.get(partition)
        replica = self.replicas.get(partition, {}).get(broker)
        return record is None or (replica is not None and replica.topic_id != record.topic_id)

    def low_watermark(self, partition: str) -> int:
        """Return the lowest log start of a partition's running replicas, as for DeleteRecords; -1 if none runs."""
        self.record(partition)
        replicas = self.replicas[partition].items()
        return min((replica.log.log_start for broker, replica in replicas if self.is_up(broker)), default=-1)

    def effective_min_isr(self, partition: str) -> int:
        """Return the number of in-sync replicas that acks=all needs."""
        record = self.record(partition)
        return record.topic_config.effective_min_isr(self.profile, len(record.assignment))


# Effective configuration of a broker or topic by Kafka's names, with its source: dynamic, static or default.
#
# The defaults are those of the version, from the same table that the model itself uses.


Source = Literal["run time", "start", "default", "own", "brokers"]


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One effective config with its source."""

    key: ConfigKey
    value: str
    """Value as text, empty if unset."""
    source: Source
    """``own`` and ``brokers`` are sources of a topic: its own overrides, or the brokers and the version."""


def of_broker(settings: TopicConfigs, profile: Profile) -> tuple[ConfigEntry, ...]:
    """Return all configs that a broker honours, in the order of the reference."""
    return of_broker_with(settings.broker, profile, settings.dynamic_defaults)


def of_broker_with(
    held: Mapping[str, ConfigValue], profile: Profile, given: Mapping[str, ConfigValue] | None = None
) -> tuple[ConfigEntry, ...]:
    """Return all configs of a broker with these values, some of them ``given`` dynamically."""
    defaults = defaults_of("broker", profile.number)
    entries = []
    for name, key in BROKER.items():
        if name in defaults:
            source: Source = "run time" if given and name in given else "start" if name in held else "default"
            value = held.get(name, defaults[name])
            entries.append(ConfigEntry(key, "" if value is None else format_value(value), source))
    return tuple(entries)


def of_topic(settings: TopicConfigs, profile: Profile, topic: str) -> tuple[ConfigEntry, ...]:
    """Return all configs that a topic honours in this version."""
    return of_topic_with(settings.broker, profile, settings.overrides(topic))


def of_topic_with(
    broker: Mapping[str, ConfigValue], profile: Profile, own: Mapping[str, ConfigValue]
) -> tuple[ConfigEntry, ...]:
    """Return all configs of a topic with overrides, over those of the brokers."""
    held = topic_values(profile, broker, own)
    return tuple(
        ConfigEntry(TOPIC[name], "" if value is None else format_value(value), "own" if name in own else "brokers")
        for name in defaults_of("topic", profile.number)
        for value in (own.get(name, held[name]),)
    )


def format_value(value: ConfigValue) -> str:
    """Format a value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "never" if isinstance(value, int) and value >= NEVER else str(value)
