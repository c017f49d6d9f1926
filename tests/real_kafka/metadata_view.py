"""State of a real cluster from the records of its metadata log, and the functions of conditions that it answers.

The records come as the Java program prints them (MetadataJsonConverters), from every controller's copy of the log. A
record of a newer epoch replaces one at the same offset, which was never committed then.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from playbooks.conditions.condition import ALSO, Condition

NO_LEADER: Final = -1
_UNCHANGED: Final = -2
"""Leader of a PartitionChangeRecord that keeps the leader."""


@dataclass(frozen=True, slots=True)
class PartitionRegistrationView:
    """One partition, as Kafka's PartitionRegistration."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(slots=True)
class MetadataView:
    """Topics, partitions and brokers after the records received so far.

    Records come from another thread than questions: a change replaces a dictionary and never alters one.
    """

    partitions: dict[str, PartitionRegistrationView] = field(default_factory=dict)
    """``orders-0`` → its state."""
    fenced: dict[int, bool] = field(default_factory=dict)
    """Registered broker → whether it is fenced."""
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Topic → its configurations."""
    _topics: dict[str, str] = field(default_factory=dict)
    """Topic id → name."""
    _records: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> bool:
        """Add a record; return whether it is new."""
        offset = int(record["offset"])
        known = self._records.get(offset)
        if known is not None and int(known["epoch"]) >= int(record["epoch"]):
            return False
        self._records[offset] = record
        if known is None and offset == max(self._records):
            self._apply(record)
        else:
            self._fold()
        return True

    def records(self) -> list[Mapping[str, Any]]:
        """Return all records by offset."""
        return [self._records[offset] for offset in sorted(self._records)]

    def _fold(self) -> None:
        folded = MetadataView()
        for record in self.records():
            folded._apply(record)
        self.partitions, self.fenced = folded.partitions, folded.fenced
        self.configs, self._topics = folded.configs, folded._topics

    def _apply(self, record: Mapping[str, Any]) -> None:
        change = _CHANGES.get(str(record["type"]))
        if change is not None:
            change(self, record["data"])

    # -- records ------------------------------------------------------------------------------------------------------

    def _topic(self, data: Mapping[str, Any]) -> None:
        self._topics[data["topicId"]] = data["name"]

    def _remove_topic(self, data: Mapping[str, Any]) -> None:
        name = self._topics.pop(data["topicId"])
        self.partitions = {key: state for key, state in self.partitions.items() if key.rpartition("-")[0] != name}
        self.configs = {topic: config for topic, config in self.configs.items() if topic != name}

    def _partition(self, data: Mapping[str, Any]) -> None:
        state = PartitionRegistrationView(
            data["leader"],
            data["leaderEpoch"],
            data["partitionEpoch"],
            tuple(data["replicas"]),
            tuple(data["isr"]),
            tuple(data.get("eligibleLeaderReplicas") or ()),
            tuple(data.get("addingReplicas") or ()),
            tuple(data.get("removingReplicas") or ()),
        )
        self.partitions = {**self.partitions, self._name(data): state}

    def _partition_change(self, data: Mapping[str, Any]) -> None:
        name = self._name(data)
        state = self.partitions[name]
        state = replace(state, partition_epoch=state.partition_epoch + 1)
        if data.get("leader", _UNCHANGED) != _UNCHANGED:
            state = replace(state, leader=data["leader"], leader_epoch=state.leader_epoch + 1)
        changed: dict[str, Any] = {
            attribute: tuple(data[key]) for key, attribute in _LISTS.items() if data.get(key) is not None
        }
        self.partitions = {**self.partitions, name: replace(state, **changed)}

    def _broker(self, data: Mapping[str, Any]) -> None:
        self.fenced = {**self.fenced, data["brokerId"]: bool(data.get("fenced", True))}

    def _broker_change(self, data: Mapping[str, Any]) -> None:
        change = int(data.get("fenced", 0))
        if change:
            self.fenced = {**self.fenced, data["brokerId"]: change > 0}

    def _unregister(self, data: Mapping[str, Any]) -> None:
        self.fenced = {broker: fenced for broker, fenced in self.fenced.items() if broker != data["brokerId"]}

    def _config(self, data: Mapping[str, Any]) -> None:
        if data["resourceType"] == _TOPIC:
            config = {**self.configs.get(data["resourceName"], {}), data["name"]: data.get("value")}
            kept = {name: value for name, value in config.items() if value is not None}
            self.configs = {**self.configs, data["resourceName"]: kept}

    def _name(self, data: Mapping[str, Any]) -> str:
        return f"{self._topics[data['topicId']]}-{data['partitionId']}"


_TOPIC: Final = 2
"""ConfigResource.Type.TOPIC."""
_LISTS: Final = {
    "isr": "isr",
    "replicas": "replicas",
    "eligibleLeaderReplicas": "elr",
    "addingReplicas": "adding",
    "removingReplicas": "removing",
}
_CHANGES: Final[Mapping[str, Callable[[MetadataView, Mapping[str, Any]], None]]] = {
    "TOPIC_RECORD": MetadataView._topic,
    "REMOVE_TOPIC_RECORD": MetadataView._remove_topic,
    "PARTITION_RECORD": MetadataView._partition,
    "PARTITION_CHANGE_RECORD": MetadataView._partition_change,
    "REGISTER_BROKER_RECORD": MetadataView._broker,
    "BROKER_REGISTRATION_CHANGE_RECORD": MetadataView._broker_change,
    "UNREGISTER_BROKER_RECORD": MetadataView._unregister,
    "CONFIG_RECORD": MetadataView._config,
}


@dataclass(slots=True)
class RealClusterQuery:
    """Functions of the condition language that a real cluster answers while it runs."""

    view: MetadataView
    brokers: tuple[int, ...]
    min_isr: int
    """``min.insync.replicas`` of topics without their own."""
    clock: Callable[[], int]
    is_up: Callable[[int], bool]
    active_controller: Callable[[], int]
    describe_group: Callable[[str], Mapping[str, Any]]
    count_operations: Callable[[], int]
    count_faults: Callable[[str], int]
    """Return the number of active faults of a name, or of all."""

    def now(self) -> int:
        """Return the time in microseconds."""
        return self.clock()

    def leader(self, partition: str) -> int:
        """Return the leader, -1 for none."""
        return self._state(partition).leader

    def isr(self, partition: str) -> list[int]:
        """Return the in-sync replicas in ascending order."""
        return sorted(self._state(partition).isr)

    def elr(self, partition: str) -> list[int]:
        """Return the eligible leader replicas in ascending order."""
        return sorted(self._state(partition).elr)

    def replicas(self, partition: str) -> list[int]:
        """Return the assigned replicas."""
        return list(self._state(partition).replicas)

    def epoch(self, partition: str) -> int:
        """Return the leader epoch."""
        return self._state(partition).leader_epoch

    def partition_epoch(self, partition: str) -> int:
        """Return the partition epoch."""
        return self._state(partition).partition_epoch

    def offline_partitions(self) -> int:
        """Return the number of partitions without a leader."""
        return sum(state.leader == NO_LEADER for state in self.view.partitions.values())

    def under_replicated(self) -> int:
        """Return the number of partitions with fewer in-sync replicas than assigned ones."""
        return sum(len(state.isr) < len(state.replicas) for state in self.view.partitions.values())

    def under_min_isr(self) -> int:
        """Return the number of partitions below their ``min.insync.replicas``."""
        return sum(size < least for size, least in self._isr_sizes())

    def at_min_isr(self) -> int:
        """Return the number of partitions exactly at their ``min.insync.replicas``."""
        return sum(size == least for size, least in self._isr_sizes())

    def _isr_sizes(self) -> Iterator[tuple[int, int]]:
        for name, state in self.view.partitions.items():
            config = self.view.configs.get(name.rpartition("-")[0], {})
            yield len(state.isr), int(config.get("min.insync.replicas", self.min_isr))

    def up(self, broker: int) -> bool:
        """Return whether a broker's process runs."""
        return self.is_up(broker)

    def fenced(self, broker: int = -1) -> int:
        """Return the number of fenced brokers, or 1 or 0 for one."""
        wanted = self.brokers if broker < 0 else (broker,)
        return sum(self.view.fenced.get(each, True) for each in wanted)

    def controller(self) -> int:
        """Return the node id of the active controller, -1 for none."""
        return self.active_controller()

    def operations(self) -> int:
        """Return the number of operations in progress."""
        return self.count_operations()

    def faults(self, name: str = "") -> int:
        """Return the number of active faults, all or of one name."""
        return self.count_faults(name)

    def members(self, group: str) -> int:
        """Return the number of a group's members by its coordinator."""
        return int(self.describe_group(group).get("members", 0))

    def group_state(self, group: str) -> str:
        """Return the state of a group as conditions write it: ``Stable``, ``Empty``."""
        return str(self.describe_group(group).get("state", "Dead"))

    def committed(self, group: str, partition: str) -> int:
        """Return a group's committed offset, -1 for none."""
        return int(self.describe_group(group).get("committed", {}).get(partition, -1))

    def _state(self, partition: str) -> PartitionRegistrationView:
        return self.view.partitions.get(partition, _UNKNOWN)


_UNKNOWN: Final = PartitionRegistrationView(NO_LEADER, -1, -1, (), ())
_CALL: Final = re.compile(r"([a-z_]+)\s*\(")
_NOT_FUNCTIONS: Final = ("len", "and", "or", "not", "in")


def unanswered(condition: Condition) -> list[str]:
    """Return the functions of a condition that a real cluster does not answer while it runs."""
    names = [ALSO.get(name, name) for name in _CALL.findall(condition.text) if name not in _NOT_FUNCTIONS]
    return sorted({name for name in names if not hasattr(RealClusterQuery, name)})
