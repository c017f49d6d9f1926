"""A broker's replay of the metadata log, and what it makes of it (``MetadataLoader``, ``BrokerMetadataPublisher``).

Committed records come batch by batch. Until the broker has loaded its logs they only change the image; then it takes
all of it at once, and from there on each batch's delta: each broker at its own time, so that brokers disagree for as
long as the way takes.
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from cluster_model.broker.control_plane_client import Decisions
from cluster_model.controller.kraft.metadata import MetadataImage
from cluster_model.controller.kraft.records import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    Record,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    UnregisterBrokerRecord,
)
from cluster_model.protocol.config_key import ConfigValue
from cluster_model.protocol.messages import PartitionState

_OF_BROKERS: Final = (RegisterBrokerRecord, BrokerRegistrationChangeRecord, UnregisterBrokerRecord)


class Publishes(Protocol):
    """What the broker does with news; see ``Broker``."""

    def take(self, decisions: Decisions) -> None:
        """Lead, follow and know what was decided."""

    def forget(self, partition: str) -> None:
        """A partition is gone, and the broker's replica of it is not wanted any more."""

    def clean_up(self, assigned: Mapping[str, int]) -> None:
        """Whatever log is not of these partitions, by their topics' ids, is not wanted any more."""

    def configure(self, topic: str, overrides: dict[str, ConfigValue]) -> None:
        """A topic's own configurations are these."""

    def reconfigure(self, overrides: dict[str, ConfigValue]) -> None:
        """The broker's dynamic configurations are these."""


class MetadataLoader:
    """One broker's image and how much of it has been published."""

    __slots__ = ("_broker", "_publisher", "_told", "image", "published")

    def __init__(self, broker: int, image: MetadataImage, publisher: Publishes) -> None:
        self.image = image
        self.published = False
        """Whether the broker goes by it already."""
        self._broker = broker
        self._told: dict[str, ConfigValue] = {}
        """Dynamic configurations that the broker was told of."""
        self._publisher = publisher

    def begin(self) -> None:
        """The broker stands in a formed cluster: it knows all settings, and takes the rest of the image."""
        self.published = True
        self._take(tuple(self.image.partitions.values()))

    def first(self) -> None:
        """A broker that has come up is ready: it takes the whole image."""
        self.published = True
        image = self.image
        for topic in image.topics:
            self._configure(topic)
        self._reconfigure()
        states = tuple(image.partitions.values())
        mine = {state.partition: state.topic_id for state in states if self._broker in state.replicas}
        self._publisher.clean_up(mine)
        self._take(states)

    def _reconfigure(self) -> None:
        overrides = self._broker_config()
        if overrides != self._told:
            self._told = overrides
            self._publisher.reconfigure(overrides)

    def _configure(self, topic: str) -> None:
        self._publisher.configure(topic, dict(self.image.config("topic", topic)))

    def _broker_config(self) -> dict[str, ConfigValue]:
        """What holds for all brokers, and above it what holds for this one."""
        return {**self.image.config("broker", ""), **self.image.config("broker", str(self._broker))}

    def _take(self, states: tuple[PartitionState, ...]) -> None:
        live = [known for known in self.image.brokers.values() if known.active]
        racks = tuple(known.rack for known in live)
        self._publisher.take(
            Decisions(
                states,
                tuple(known.broker for known in live),
                tuple(known.epoch for known in live),
                racks if any(racks) else (),
            )
        )

    def replay(self, base_offset: int, records: tuple[Record, ...]) -> None:
        """A committed batch."""
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

    def _publish(self, records: tuple[Record, ...], gone: tuple[str, ...], cleared: tuple[str, ...]) -> None:
        """The delta: configurations first, since a new replica is made by them; what is deleted last."""
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
        for partition in gone:
            publisher.forget(partition)
        if states or brokers:
            self._take(states)

    def stopped(self) -> None:
        """The process died."""
        self.published = False

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (self.published, tuple(self._told.items()), self.image.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.published, told, image = saved
        self._told = dict(told)
        self.image.load(image)
