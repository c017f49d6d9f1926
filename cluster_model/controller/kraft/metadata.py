"""Metadata replayed from the log: brokers, topics, partitions, configurations (``MetadataImage``, ``MetadataDelta``).

The same class serves the brokers, who replay what is committed, and the active controller, whose own image runs ahead
by what it has decided and the quorum has yet to take. The same records give the same image, down to the order in it.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cluster_model.controller.kraft.records import (
    FENCE,
    UNFENCE,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    topic_of,
)
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.messages import NOBODY, PartitionState

FIRST: Final = 1
"""Offset of the first record behind those that a formed cluster begins with: they count as one."""

Resource = tuple[str, str]
"""Type and name of what has configurations."""


class Registration(NamedTuple):
    """A broker as registered (``BrokerRegistration``)."""

    broker: int
    epoch: int
    incarnation: int
    rack: str
    fenced: bool
    in_controlled_shutdown: bool = False

    @property
    def active(self) -> bool:
        """Whether it may lead and be in an ISR."""
        return not self.fenced and not self.in_controlled_shutdown


class Base(NamedTuple):
    """What a formed cluster's log begins with, instead of thousands of records."""

    brokers: tuple[Registration, ...]
    topics: tuple[tuple[str, int], ...]
    """Name and id."""
    partitions: tuple[PartitionState, ...]
    configs: tuple[tuple[Resource, tuple[tuple[str, ConfigValue], ...]], ...] = ()


class MetadataImage:
    """One node's."""

    __slots__ = ("_saved", "brokers", "configs", "partitions", "topics", "until")

    def __init__(self, base: Base) -> None:
        self.brokers: dict[int, Registration] = {}
        self.topics: dict[str, int] = {}
        """Name → id."""
        self.partitions: dict[str, PartitionState] = {}
        self.configs: dict[Resource, dict[str, ConfigValue]] = {}
        self.until = FIRST
        """Offset of the first record that has not been replayed."""
        self._saved: tuple[Any, ...] | None = None
        self.reset(base)

    def reset(self, base: Base) -> None:
        """Be as at the beginning of the log."""
        self.brokers = {known.broker: known for known in base.brokers}
        self.topics = dict(base.topics)
        self.partitions = {state.partition: state for state in base.partitions}
        self.configs = {resource: dict(values) for resource, values in base.configs}
        self.until = FIRST
        self._saved = None

    def copy_of(self, other: "MetadataImage") -> None:
        """Be as another image is now."""
        self.load(other.save())

    def replay(self, base_offset: int, records: Iterable[Record]) -> None:
        """Take up records that follow; the first stands at ``base_offset``."""
        offset = base_offset
        for record in records:
            self._apply(record)
            offset += 1
        self.until = offset
        self._saved = None

    def _apply(self, record: Record) -> None:
        if isinstance(record, PartitionChangeRecord | PartitionRecord):
            self.partitions[record.state.partition] = record.state
        elif isinstance(record, BrokerRegistrationChangeRecord):
            self._change(record)
        elif isinstance(record, RegisterBrokerRecord):
            self.brokers[record.broker] = Registration(
                record.broker, record.epoch, record.incarnation, record.rack, record.fenced,
                record.in_controlled_shutdown,
            )  # fmt: skip
        elif isinstance(record, UnregisterBrokerRecord):
            self.brokers.pop(record.broker, None)
        elif isinstance(record, TopicRecord):
            self.topics[record.name] = record.topic_id
        elif isinstance(record, RemoveTopicRecord):
            self._remove(record.name)
        elif isinstance(record, ClearElrRecord):
            self._clear_elr(record.topic)
        else:
            self._configure(record)

    def _change(self, record: BrokerRegistrationChangeRecord) -> None:
        known = self.brokers[record.broker]
        fenced = known.fenced if record.fenced not in (FENCE, UNFENCE) else record.fenced == FENCE
        stopping = known.in_controlled_shutdown or record.in_controlled_shutdown
        self.brokers[record.broker] = known._replace(fenced=fenced, in_controlled_shutdown=stopping)

    def _remove(self, topic: str) -> None:
        del self.topics[topic]
        self.configs.pop(("topic", topic), None)
        for partition in self.partitions_of(topic):
            del self.partitions[partition]

    def _configure(self, record: ConfigRecord) -> None:
        values = self.configs.setdefault((record.type, record.name), {})
        if record.value is None:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if not values:
            del self.configs[record.type, record.name]

    def _clear_elr(self, topic: str) -> None:
        """A change like any other: it raises the partition epoch, and the leader epoch only where it sets a leader."""
        for name in self.with_elr(topic):
            state = self.partitions[name]
            epoch = state.partition_epoch + 1
            self.partitions[name] = state._replace(elr=(), last_known=NOBODY, partition_epoch=epoch)

    def with_elr(self, topic: str) -> tuple[str, ...]:
        """Partitions of a topic, of all with an empty name, that have an ELR or a last known leader."""
        return tuple(
            name
            for name, state in self.partitions.items()
            if (state.elr or state.last_known != NOBODY) and topic in ("", topic_of(name))
        )

    def partitions_of(self, topic: str) -> tuple[str, ...]:
        """A topic's partitions, in the order of their numbers."""
        return tuple(name for name in self.partitions if topic_of(name) == topic)

    def active(self, broker: int) -> bool:
        """Whether a broker is registered, not fenced and not shutting down."""
        known = self.brokers.get(broker)
        return known is not None and known.active

    def config(self, type_: str, name: str) -> dict[str, ConfigValue]:
        """A resource's own configurations; empty for one that has none."""
        return self.configs.get((type_, name), {})

    def save(self) -> tuple[Any, ...]:
        """All state; the same tuple for as long as nothing changes."""
        if self._saved is None:
            configs = tuple((resource, tuple(values.items())) for resource, values in self.configs.items())
            self._saved = (
                self.until, tuple(self.brokers.values()), tuple(self.topics.items()), tuple(self.partitions.values()),
                configs,
            )  # fmt: skip
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        until, brokers, topics, partitions, configs = saved
        self.reset(Base(brokers, topics, partitions, configs))
        self.until = until
        self._saved = saved
