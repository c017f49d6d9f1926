"""Replicas that a broker hosts, their configuration, and which of them changed (``ReplicaManager``, ``LogManager``).

A log directory is created when metadata first assigns the partition to the broker. It is deleted by StopReplica, or in
KRaft mode when metadata no longer assigns it to the broker. A broker that was down finds stray logs when it is back:
the newest assignments have them deleted. Up to 3.6 it then has no replica of a new topic of that name (KAFKA-14616).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from cluster_model.broker.fetch.replication_quota import ReplicationQuota
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.request_handler import RequestHandler
from cluster_model.broker.storage.log_manager import LogManager
from cluster_model.broker.topic_configs import TopicConfigs, topic_of
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.config_defs import BROKER, THREADS, ConfigValue, check
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import Event, ReplicaDeleted
from cluster_model.protocol.messages import PartitionState
from cluster_model.protocol.versions import Profile

# Replicas that may have changed since the last check: for keyframes, checkpoints and the ISR task.


class DirtyReplicas:
    """Tracker of changed replicas: changes go to ``fresh``, each reader has a list of what is new to it."""

    __slots__ = ("_replicas", "_saved", "fresh", "may_have_laggards", "moved")

    def __init__(self, replicas: dict[str, Replica]) -> None:
        self._replicas = replicas
        self._saved: dict[str, tuple[Any, ...]] = {}
        """Each replica's last saved state: keyframes share the state of replicas that have not changed since."""
        self.fresh: dict[str, None] = {}
        self.moved: dict[str, None] = {}
        """Replicas that may have changed since the last checkpoint."""
        self.may_have_laggards: dict[str, None] = {}
        """Replicas that lead and may have a follower that is not idle."""

    def collect(self) -> None:
        """Move the changed partitions to the readers' lists."""
        for partition in self.fresh:
            self._saved.pop(partition, None)
            if partition in self._replicas:
                self.moved[partition] = None
                self.may_have_laggards[partition] = None
        self.fresh.clear()

    def forget(self, partition: str) -> None:
        """Forget a deleted replica."""
        for table in (self._saved, self.fresh, self.moved, self.may_have_laggards):
            table.pop(partition, None)

    def forget_all(self) -> None:
        """Forget all replicas, before another set replaces them."""
        for table in (self._saved, self.fresh, self.moved, self.may_have_laggards):
            table.clear()

    def everything(self) -> None:
        """Mark every replica as changed."""
        self.fresh.update(dict.fromkeys(self._replicas))

    def checkpoint(self, now: int) -> None:
        """Checkpoint the high watermarks that may have moved, and age the dirty pages of those logs."""
        self.collect()
        for partition in tuple(self.moved):
            replica = self._replicas[partition]
            replica.checkpoint(now)
            self._saved.pop(partition, None)
            if not replica.log.has_dirty_marks:
                del self.moved[partition]

    def may_lag(self) -> dict[str, None]:
        """Return the partitions led here whose followers are not all idle, which the ISR task has to check."""
        self.collect()
        for partition in tuple(self.may_have_laggards):
            leadership = self._replicas[partition].leadership
            if leadership is None or leadership.rests:
                del self.may_have_laggards[partition]
        return self.may_have_laggards

    def save(self) -> tuple[tuple[Any, ...], ...]:
        """Return the state of all replicas."""
        self.collect()
        saved = self._saved
        for partition, replica in self._replicas.items():
            if partition not in saved:
                saved[partition] = replica.save()
        return tuple([saved[partition] for partition in self._replicas])


Overrides = Mapping[str, ConfigValue]

_UNPUBLISHED: Final = (-1, -1)
"""Epochs of a hidden replica until the broker applies the state of its partition."""


class ReplicaSource(Protocol):
    """Factory of replicas, which also registers them with the observers."""

    def create_replica(self, broker: int, state: PartitionState, topic: TopicConfig) -> Replica:
        """Create a new, empty replica."""

    def replica(self, broker: int, partition: str) -> Replica:
        """Return the replica that a keyframe refers to."""

    def remove_replica(self, broker: int, partition: str) -> None:
        """Unregister a deleted replica."""


class ReplicaManager:
    """Replicas of one broker. Logs survive the process on disk; the rest comes again with metadata."""

    __slots__ = (
        "_emit", "_hidden", "_leaves", "_logs", "_port", "_profile", "_quotas", "_replicas", "_service", "_settings",
        "_source", "_touched",
    )  # fmt: skip

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        replicas: dict[str, Replica],
        logs: LogManager,
        service: RequestHandler,
        touched: DirtyReplicas,
        quotas: tuple[ReplicationQuota, ...],
        settings: TopicConfigs,
        source: ReplicaSource,
        emit: Callable[[Event], None],
        leaves: Callable[[str], None],
    ) -> None:
        """Keep the broker's parts; ``leaves`` stops fetching a partition."""
        self._port = port
        self._profile = profile
        self._replicas = replicas
        self._logs = logs
        self._service = service
        self._touched = touched
        self._quotas = quotas
        self._settings = settings
        self._source = source
        self._emit = emit
        self._leaves = leaves
        self._hidden: dict[str, tuple[int, int]] = {}
        """Partition that a stray log kept from getting a replica → its leader and partition epoch (KAFKA-14616)."""

    def host(self, state: PartitionState) -> Replica | None:
        """Return the replica of a partition state, None for none; the state may create or delete it."""
        replica = self._replicas.get(state.partition)
        if replica is not None and self._deletes(replica, state):
            replica = None
        if replica is None:
            is_assigned = self._port.node_id in state.replicas and not self._is_hidden(state)
            return self._make(state) if is_assigned else None
        if not _same_topic(replica, state):
            if self.refusal(state) or state.leader_epoch <= replica.leader_epoch:
                return None
            replica.topic_id = state.topic_id  # the old log cannot be distinguished from the new topic's
        return replica

    def _is_hidden(self, state: PartitionState) -> bool:
        """Whether a stray log was in the way of this replica; the next change of the partition creates it."""
        epochs = self._hidden.get(state.partition)
        if epochs is None:
            return False
        if epochs == _UNPUBLISHED:
            epochs = self._hidden[state.partition] = (state.leader_epoch, state.partition_epoch)
        if (state.leader_epoch, state.partition_epoch) <= epochs:
            return True
        del self._hidden[state.partition]
        return False

    def refusal(self, state: PartitionState) -> KafkaError:
        """Return LeaderAndIsr's error for a partition: INCONSISTENT_TOPIC_ID if the log is of another topic."""
        replica = self._replicas.get(state.partition)
        if replica is None or _same_topic(replica, state) or not self._profile.topic_ids:
            return KafkaError.NONE
        return KafkaError.INCONSISTENT_TOPIC_ID

    def _deletes(self, replica: Replica, state: PartitionState) -> bool:
        """Whether a partition state deletes this replica, in KRaft mode (``TopicDelta.localChanges``)."""
        if not self._profile.kraft:
            return False
        if not _same_topic(replica, state):
            if state.topic_id < replica.topic_id:
                return False
            self.stop(state.partition, delete=True, by="stray")
            return True
        newer = (state.leader_epoch, state.partition_epoch) > (replica.leader_epoch, replica.partition_epoch)
        if self._port.node_id in state.replicas or not newer:
            return False
        self.stop(state.partition, delete=True, by="moved")
        return True

    def _make(self, state: PartitionState) -> Replica:
        replica = self._source.create_replica(self._port.node_id, state, self._settings.of(topic_of(state.partition)))
        self._replicas[state.partition] = replica
        self._touched.fresh[state.partition] = None
        self._logs.wake_cleaner((replica,))
        return replica

    def clock_stepped(self, by: int, *, runs: bool) -> None:
        """Handle a change of the machine's clock, whether the process runs or not."""
        del runs
        self._touched.everything()
        self._service.end_idle()
        for replica in self._replicas.values():
            replica.clock_stepped(by)

    def stop(self, partition: str, *, delete: bool, by: str = "deleted") -> None:
        """Stop leading and fetching a partition; with ``delete`` its log directory is renamed and dropped."""
        replica = self._replicas.get(partition)
        if replica is None:
            return
        self._leaves(partition)
        replica.retire()
        self._touched.fresh[partition] = None
        if delete:
            del self._replicas[partition]
            self._touched.forget(partition)
            for quota in self._quotas:
                quota.forget(partition)
            self._logs.delete(replica)
            log = replica.log
            event = ReplicaDeleted(self._port.now, partition, replica.broker, log.log_start, log.leo, by)
            self._emit(event)
            self._source.remove_replica(replica.broker, partition)
        self._service.retired(replica)

    def strays(self, assigned: Mapping[str, int]) -> list[str]:
        """Return partitions with a stray log; ``assigned`` maps this broker's partitions to topic ids.

        A recreated topic is distinguished from its predecessor only where there are topic ids; 0 is an unknown id.
        """
        stray_partitions: list[str] = []
        for partition, replica in self._replicas.items():
            topic_id = assigned.get(partition)
            is_other_topic = self._profile.topic_ids and topic_id not in (0, replica.topic_id)
            if topic_id is None or is_other_topic:
                stray_partitions.append(partition)
        return stray_partitions

    def delete_strays(self, assigned: Mapping[str, int]) -> None:
        """Delete the logs that :meth:`strays` returns, at the start of the broker."""
        self._hidden.clear()
        for partition in self.strays(assigned):
            self.stop(partition, delete=True, by="stray")
            if self._profile.strays_hide_new_replicas and partition in assigned:
                self._hidden[partition] = _UNPUBLISHED

    def configure_topic(self, topic: str, overrides: Overrides) -> None:
        """Set all overrides of a topic's configuration, for existing and future replicas."""
        self._settings.configure(topic, overrides)
        self._apply_to([replica for name, replica in self._replicas.items() if topic_of(name) == topic])

    def _apply_to(self, replicas: list[Replica]) -> None:
        for replica in replicas:
            replica.configure(self._settings.of(topic_of(replica.partition)))
            for quota in self._quotas:
                quota.forget(replica.partition)
        self._logs.wake_cleaner(replicas)

    def validate_config(self, overrides: Overrides, config: BrokerConfig) -> KafkaError:
        """Validate dynamic broker configs (``DynamicBrokerConfig.validate``).

        INVALID_REQUEST: one is read-only, the version does not have it, or a number of threads is more than doubled or
        less than halved (``DynamicThreadPool``). INVALID_CONFIG: an unknown name or an invalid value.
        """
        threads = {
            "num.io.threads": config.io_threads,
            "num.replica.fetchers": config.fetchers,
            "num.recovery.threads.per.data.dir": config.recovery_threads,
        }
        for name, value in overrides.items():
            try:
                checked = check("broker", name, value)
            except ModelError:
                return KafkaError.INVALID_CONFIG
            exists = self._profile.dynamic_config or BROKER[name].dynamic == "per-broker"
            if BROKER[name].dynamic == "read-only" or not exists or not self._profile.throttles:
                return KafkaError.INVALID_REQUEST
            if name in THREADS and not threads[name] <= 2 * int(checked) <= 4 * threads[name]:
                return KafkaError.INVALID_REQUEST
        try:
            TopicConfig.of(self._profile, {**self._settings.broker, **overrides}, {})
        except ModelError:
            return KafkaError.INVALID_CONFIG
        return KafkaError.NONE

    def reconfigure(self, overrides: Overrides) -> BrokerConfig:
        """Set all dynamic broker configs; returns the resulting broker config."""
        self._settings.reconfigure(overrides)
        self._apply_to(list(self._replicas.values()))
        return BrokerConfig.of(self._profile, self._settings.broker)

    def restarted(self) -> None:
        """Start with the static configuration of topics again, if a dynamic change had removed part of it."""
        if self._settings.restarted():
            self._apply_to(list(self._replicas.values()))

    def save(self) -> tuple[Any, ...]:
        """Return the names of the replicas, and the configuration; the replicas' own state is saved elsewhere."""
        return (tuple(self._replicas), self._settings.save(), tuple(self._hidden.items()))

    def load(self, saved: tuple[Any, ...]) -> BrokerConfig:
        """Restore the state returned by :meth:`save`; returns the broker config."""
        names, settings, hidden = saved
        self._hidden = dict(hidden)
        self._settings.load(settings)
        self._replicas.clear()
        for name in names:
            replica = self._replicas[name] = self._source.replica(self._port.node_id, name)
            topic = self._settings.of(topic_of(name))
            if replica.topic is not topic and replica.topic != topic:
                replica.configure(topic)
        for quota in self._quotas:
            quota.forget_all()
        return BrokerConfig.of(self._profile, self._settings.broker)


def _same_topic(replica: Replica, state: PartitionState) -> bool:
    return state.topic_id in (0, replica.topic_id) or not replica.topic_id
