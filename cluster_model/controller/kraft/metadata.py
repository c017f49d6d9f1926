"""Records of the metadata log, the image that they make, and its loader (``MetadataImage``, ``MetadataLoader``).

The same class serves the brokers, which replay committed records, and the active controller, whose own image also holds
records that are not committed yet. The same records give the same image, including its order.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from cluster_model.broker.control_plane_client import MetadataUpdate
from cluster_model.protocol.admin_messages import unify_collision_chars
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.messages import NO_LEADER, PartitionState

# Records of the metadata log by Kafka's names (``common/metadata/*.json``), in the order in which the controller
# decided them. Each holds the fields that the rules use. A partition change carries the whole new state, not only the
# changed fields: the effect is the same, and it is easier to read. ``by`` and ``clean`` are for observers; protocol
# code does not read them.


UNCHANGED: Final = 0
FENCE: Final = 1
UNFENCE: Final = -1
"""Values of ``fenced`` in a :class:`BrokerRegistrationChangeRecord`."""


class RegisterBrokerRecord(NamedTuple):
    """Registration of a process as a broker; ``epoch`` is the offset of the record, unless it registers once more."""

    broker: int
    incarnation: int
    epoch: int
    rack: str
    fenced: bool = True
    in_controlled_shutdown: bool = False
    newest_level: int = 0
    """Newest level of ``metadata.version`` that its release supports; it stands for all ranges of features."""


class BrokerRegistrationChangeRecord(NamedTuple):
    """A registered broker is fenced, unfenced, or starts its controlled shutdown."""

    broker: int
    epoch: int
    fenced: int = UNCHANGED
    in_controlled_shutdown: bool = False
    reason: str = ""


class UnregisterBrokerRecord(NamedTuple):
    """Removes the registration of a broker."""

    broker: int
    epoch: int


class TopicRecord(NamedTuple):
    """A topic exists; ``topic_id`` distinguishes it from earlier topics of that name."""

    name: str
    topic_id: int


class PartitionRecord(NamedTuple):
    """A partition exists, in its first state."""

    state: PartitionState
    by: str = "created"


class PartitionChangeRecord(NamedTuple):
    """A new state of a partition: leader, ISR or replicas changed."""

    state: PartitionState
    by: str
    clean: bool = True


class RemoveTopicRecord(NamedTuple):
    """A topic is deleted together with all its partitions."""

    name: str
    topic_id: int


class ConfigRecord(NamedTuple):
    """A configuration value of a resource; None restores the default."""

    type: str
    """``topic`` or ``broker``."""
    name: str
    """The topic, or the broker id; empty for all brokers."""
    key: str
    value: ConfigValue | None


class ClearElrRecord(NamedTuple):
    """Empties the ELR and the last known leader of a topic's partitions, or of all partitions (KIP-966)."""

    topic: str = ""
    """Name of the topic, empty for all."""


class FeatureLevelRecord(NamedTuple):
    """A feature has this finalized level from here on."""

    name: str
    level: int


Record = (
    RegisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | ConfigRecord
    | ClearElrRecord
    | FeatureLevelRecord
)


def topic_of(partition: str) -> str:
    """Return the topic of a partition as Kafka prints it: ``orders-0`` is of ``orders``."""
    return partition.rpartition("-")[0]


FIRST: Final = 1
"""Offset of the first record after those that a formed cluster starts with, which count as one."""

Resource = tuple[str, str]
"""Type and name of something that has configurations."""


class BrokerRegistration(NamedTuple):
    """Registration of a broker in the image (``BrokerRegistration``)."""

    broker: int
    epoch: int
    incarnation: int
    rack: str
    fenced: bool
    in_controlled_shutdown: bool = False
    newest_level: int = 0

    @property
    def active(self) -> bool:
        """Whether it can lead and be in an ISR."""
        return not self.fenced and not self.in_controlled_shutdown


class InitialImage(NamedTuple):
    """Initial content of a formed cluster's log, in place of thousands of records."""

    brokers: tuple[BrokerRegistration, ...]
    topics: tuple[tuple[str, int], ...]
    """Topic name and id."""
    partitions: tuple[PartitionState, ...]
    configs: tuple[tuple[Resource, tuple[tuple[str, ConfigValue], ...]], ...] = ()


class MetadataImage:
    """Metadata of one node: brokers, topics, partitions, configurations and features (``MetadataImage``)."""

    __slots__ = (
        "_saved", "brokers", "configs", "features", "features_offset", "freed_names", "next_offset", "partitions",
        "topics",
    )  # fmt: skip

    def __init__(self, base: InitialImage) -> None:
        self.brokers: dict[int, BrokerRegistration] = {}
        self.topics: dict[str, int] = {}
        """Topic name → id."""
        self.partitions: dict[str, PartitionState] = {}
        self.configs: dict[Resource, dict[str, ConfigValue]] = {}
        self.freed_names: dict[str, None] = {}
        """Unified names of deleted topics that a controller up to 3.3.1 keeps (KAFKA-14337)."""
        self.features: dict[str, int] = {}
        """Levels of features that were finalized after the cluster was formed."""
        self.features_offset = 0
        """Offset of the last record of a feature level, 0 if there is none: the epoch of the finalized features."""
        self.next_offset = FIRST
        """Offset of the first record that is not replayed."""
        self._saved: tuple[Any, ...] | None = None
        self.reset(base)

    def reset(self, base: InitialImage) -> None:
        """Go back to the start of the log."""
        self.brokers = {known.broker: known for known in base.brokers}
        self.topics = dict(base.topics)
        self.partitions = {state.partition: state for state in base.partitions}
        self.configs = {resource: dict(values) for resource, values in base.configs}
        self.freed_names = {}
        self.features, self.features_offset = {}, 0
        self.next_offset = FIRST
        self._saved = None

    def copy_of(self, other: "MetadataImage") -> None:
        """Become a copy of another image."""
        self.load(other.save())

    def replay(self, base_offset: int, records: Iterable[Record]) -> None:
        """Apply the next records; the first has offset ``base_offset``."""
        offset = base_offset
        for record in records:
            self._apply(record, offset)
            offset += 1
        self.next_offset = offset
        self._saved = None

    def _apply(self, record: Record, offset: int) -> None:
        if isinstance(record, PartitionChangeRecord | PartitionRecord):
            self.partitions[record.state.partition] = record.state
        elif isinstance(record, BrokerRegistrationChangeRecord):
            self._change(record)
        elif isinstance(record, RegisterBrokerRecord):
            self.brokers[record.broker] = BrokerRegistration(
                record.broker, record.epoch, record.incarnation, record.rack, record.fenced,
                record.in_controlled_shutdown, record.newest_level,
            )  # fmt: skip
        elif isinstance(record, UnregisterBrokerRecord):
            self.brokers.pop(record.broker, None)
        elif isinstance(record, TopicRecord):
            self.topics[record.name] = record.topic_id
            self.freed_names.pop(unify_collision_chars(record.name), None)
        elif isinstance(record, RemoveTopicRecord):
            self._remove(record.name)
        elif isinstance(record, ClearElrRecord):
            self._clear_elr(record.topic)
        elif isinstance(record, FeatureLevelRecord):
            self.features[record.name], self.features_offset = record.level, offset
        else:
            self._configure(record)

    def _change(self, record: BrokerRegistrationChangeRecord) -> None:
        known = self.brokers[record.broker]
        fenced = known.fenced if record.fenced not in (FENCE, UNFENCE) else record.fenced == FENCE
        stopping = known.in_controlled_shutdown or record.in_controlled_shutdown
        self.brokers[record.broker] = known._replace(fenced=fenced, in_controlled_shutdown=stopping)

    def _remove(self, topic: str) -> None:
        del self.topics[topic]
        unified = unify_collision_chars(topic)
        if unified != topic and all(unify_collision_chars(other) != unified for other in self.topics):
            self.freed_names[unified] = None
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
        """Clear ELRs as a regular change, which raises the partition epoch but not the leader epoch."""
        for name in self.with_elr(topic):
            state = self.partitions[name]
            epoch = state.partition_epoch + 1
            self.partitions[name] = state._replace(elr=(), last_known=NO_LEADER, partition_epoch=epoch)

    def with_elr(self, topic: str) -> tuple[str, ...]:
        """Partitions of a topic (empty: of all topics) that have an ELR or a last known leader."""
        return tuple(
            name
            for name, state in self.partitions.items()
            if (state.elr or state.last_known != NO_LEADER) and topic in ("", topic_of(name))
        )

    def partitions_of(self, topic: str) -> tuple[str, ...]:
        """Partitions of a topic, ordered by index."""
        return tuple(name for name in self.partitions if topic_of(name) == topic)

    def active(self, broker: int) -> bool:
        """Whether a broker is registered, not fenced and not shutting down."""
        known = self.brokers.get(broker)
        return known is not None and known.active

    def config(self, type_: str, name: str) -> dict[str, ConfigValue]:
        """A resource's own configurations; empty if it has none."""
        return self.configs.get((type_, name), {})

    def save(self) -> tuple[Any, ...]:
        """Return all state; the same tuple as long as nothing changes."""
        if self._saved is None:
            configs = tuple((resource, tuple(values.items())) for resource, values in self.configs.items())
            self._saved = (
                self.next_offset, tuple(self.brokers.values()), tuple(self.topics.items()),
                tuple(self.partitions.values()), configs, tuple(self.freed_names), tuple(self.features.items()),
                self.features_offset,
            )  # fmt: skip
        return self._saved

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        until, brokers, topics, partitions, configs, freed_names, features, features_offset = saved
        self.reset(InitialImage(brokers, topics, partitions, configs))
        self.freed_names = dict.fromkeys(freed_names)
        self.features, self.features_offset = dict(features), features_offset
        self.next_offset = until
        self._saved = saved


# A broker's replay of the metadata log (``MetadataLoader``, ``BrokerMetadataPublisher``). Committed records arrive in
# batches. Until the broker has loaded its logs they only change the image; then the broker gets the whole image at
# once, and from then on the delta of each batch. Each broker does so at its own time, so metadata differs between
# brokers for as long as records are in flight.


_OF_BROKERS: Final = (RegisterBrokerRecord, BrokerRegistrationChangeRecord, UnregisterBrokerRecord)


class MetadataPublisher(Protocol):
    """Publisher of metadata changes to a broker; see ``Broker``."""

    def apply_metadata(self, decisions: MetadataUpdate) -> None:
        """Apply metadata changes: leadership, followers and the metadata cache."""

    def remove_partition(self, partition: str) -> None:
        """Remove a deleted partition and the broker's replica of it."""

    def delete_strays(self, assigned: Mapping[str, int]) -> None:
        """Delete every log that is not one of these partitions with that topic id."""

    def configure(self, topic: str, overrides: dict[str, ConfigValue]) -> None:
        """Replace a topic's own configuration."""

    def reconfigure(self, overrides: dict[str, ConfigValue]) -> None:
        """Replace the broker's dynamic configuration."""


class MetadataLoader:
    """Image of one broker, and its publication to that broker (``MetadataLoader``)."""

    __slots__ = ("_broker", "_dynamic_config", "_publisher", "image", "published")

    def __init__(self, broker: int, image: MetadataImage, publisher: MetadataPublisher) -> None:
        self.image = image
        self.published = False
        """Whether the image has been published to the broker."""
        self._broker = broker
        self._dynamic_config: dict[str, ConfigValue] = {}
        """Dynamic configuration that was last published to the broker."""
        self._publisher = publisher

    def begin(self) -> None:
        """Start in a formed cluster: the broker knows all settings, and gets the rest of the image."""
        self.published = True
        self._take(tuple(self.image.partitions.values()))

    def publish_all(self) -> None:
        """Publish the whole image to a broker that has just loaded its logs."""
        self.published = True
        image = self.image
        for topic in image.topics:
            self._configure(topic)
        self._reconfigure()
        states = tuple(image.partitions.values())
        mine = {state.partition: state.topic_id for state in states if self._broker in state.replicas}
        self._publisher.delete_strays(mine)
        self._take(states)

    def _reconfigure(self) -> None:
        overrides = self._broker_config()
        if overrides != self._dynamic_config:
            self._dynamic_config = overrides
            self._publisher.reconfigure(overrides)

    def _configure(self, topic: str) -> None:
        self._publisher.configure(topic, dict(self.image.config("topic", topic)))

    def _broker_config(self) -> dict[str, ConfigValue]:
        """Configuration of all brokers, overridden by that of this broker."""
        return {**self.image.config("broker", ""), **self.image.config("broker", str(self._broker))}

    def _take(self, states: tuple[PartitionState, ...]) -> None:
        live = [known for known in self.image.brokers.values() if known.active]
        racks = tuple(known.rack for known in live)
        self._publisher.apply_metadata(
            MetadataUpdate(
                states,
                tuple(known.broker for known in live),
                tuple(known.epoch for known in live),
                racks if any(racks) else (),
            )
        )

    def replay(self, base_offset: int, records: tuple[Record, ...]) -> None:
        """Apply a committed batch to the image, and publish its delta."""
        gone = self._partitions_of_removed(records) if self.published else ()
        cleared = self._partitions_of_cleared(records) if self.published else ()
        self.image.replay(base_offset, records)
        if self.published:
            self._publish(records, gone, cleared)

    def _partitions_of_removed(self, records: tuple[Record, ...]) -> tuple[str, ...]:
        return tuple(
            partition
            for record in records
            if isinstance(record, RemoveTopicRecord)
            for partition in self.image.partitions_of(record.name)
        )

    def _partitions_of_cleared(self, records: tuple[Record, ...]) -> tuple[str, ...]:
        return tuple(
            partition
            for record in records
            if isinstance(record, ClearElrRecord)
            for partition in self.image.with_elr(record.topic)
        )

    def _publish(self, records: tuple[Record, ...], deleted: tuple[str, ...], cleared: tuple[str, ...]) -> None:
        """Publish a delta: configurations first, because new replicas use them; deletions after them."""
        image, publisher = self.image, self._publisher
        topics: dict[str, None] = {}
        changed: dict[str, None] = dict.fromkeys(cleared)
        brokers = reconfigured = False
        for record in records:
            if isinstance(record, PartitionChangeRecord | PartitionRecord):
                changed[record.state.partition] = None
            elif isinstance(record, ConfigRecord):
                if record.type == "topic":
                    topics[record.name] = None
                else:
                    reconfigured = reconfigured or record.name in ("", str(self._broker))
            elif isinstance(record, _OF_BROKERS):
                brokers = True
        for topic in topics:
            if topic in image.topics:
                self._configure(topic)
        if reconfigured:
            self._reconfigure()
        states = tuple(image.partitions[name] for name in changed if name in image.partitions)
        for partition in deleted:
            publisher.remove_partition(partition)
        if states or brokers:
            self._take(states)

    def stopped(self) -> None:
        """The process died."""
        self.published = False

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.published, tuple(self._dynamic_config.items()), self.image.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        self.published, dynamic_config, image = saved
        self._dynamic_config = dict(dynamic_config)
        self.image.load(image)
