"""A cluster's clients, each a process of its own, from the spec."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from cluster_model.building import Parts, range_share
from cluster_model.clients.application import Application
from cluster_model.clients.consumer import Consumer
from cluster_model.clients.group_settings import GroupSettings
from cluster_model.clients.producer import Producer
from cluster_model.clients.producer_config import ProducerConfig
from cluster_model.clients.transactional_producer import TransactionalProducer
from cluster_model.config import ConsumerConfig
from cluster_model.errors import ModelError
from cluster_model.events import Event
from cluster_model.kernel.port import Port
from cluster_model.kernel.processes import Network
from cluster_model.kernel.streams import Streams
from cluster_model.spec import ClusterSpec, GroupSpec, ProducerSpec

FIRST_PRODUCER: Final = 2_000
FIRST_CONSUMER: Final = 3_000


class Ground(NamedTuple):
    """What clients stand on."""

    spec: ClusterSpec
    parts: Parts
    network: Network
    emit: Callable[[Event], None]
    streams: Streams

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of all of them."""
        return tuple(broker.id for broker in self.spec.brokers)

    def partitions_of(self, topic: str) -> tuple[str, ...]:
        """A topic's partitions, in order; none if there is no such topic."""
        return tuple(name for name in self.parts.committed.records if name.rpartition("-")[0] == topic)

    def check_topic(self, topic: str) -> None:
        """A client of the spec needs its topic from the beginning.

        Raises:
            ModelError: no such topic.
        """
        if not self.partitions_of(topic):
            raise ModelError(f"no topic {topic!r}")


def make_producer(ground: Ground, node: int, each: ProducerSpec) -> Producer:
    """One process of a producer."""
    config = ProducerConfig.of(ground.parts.profile, each.config)
    streams = ground.streams
    needs = (
        Port(ground.network, node), each, config, ground.brokers, ground.emit, streams.named(f"retry:{each.name}"),
        streams.named(f"partitioner:{each.name}"), ground.parts.keys.get(each.name), streams.seed,
    )  # fmt: skip
    return TransactionalProducer(ground.parts.profile, *needs) if config.transactional_id else Producer(*needs)


def make_consumer(ground: Ground, node: int, each: GroupSpec, member: int) -> Consumer:
    """One process of a group's member."""
    parts = ground.parts
    # Groups have members since 0.9: before that a consumer's partitions are always given.
    coordinated = each.coordinated and parts.profile.group_membership
    application = Application(each.processing_us, each.commit, each.fails, each.retries, each.retry_pause_us)
    config = ConsumerConfig.of(parts.profile, each.config)
    if each.racks:
        config = replace(config, rack=each.racks[member])
    share = () if coordinated else _share(ground, each, member)
    consumer = Consumer(
        Port(ground.network, node), f"{each.name}/{member}", each.name, parts.profile, config, share, ground.brokers,
        application, parts.lineages, ground.emit,
    )  # fmt: skip
    if coordinated:
        settings = _settings(parts, each, member)
        stream = ground.streams.named(f"member:{consumer.name}") if settings.modern else None
        consumer.subscribe(settings, each.topics, each.pattern, stream)
    return consumer


def _share(ground: Ground, group: GroupSpec, member: int) -> tuple[str, ...]:
    """What a member of a group without a coordinator has: each topic in ranges over the members."""
    return tuple(
        partition
        for topic in group.topics
        for partition in range_share(ground.partitions_of(topic), member, group.members)
    )


def _settings(parts: Parts, group: GroupSpec, member: int) -> GroupSettings:
    """A member's settings. ``group.instance.id`` gets its number, unless each member's is given.

    Who commits by itself does not have it done automatically.
    """
    config = {"enable.auto.commit": Application(commit=group.commit).auto_commits, **group.config}
    if group.instances:
        return GroupSettings.of(parts.profile, config, group.instances[member])
    instance = str(config.get("group.instance.id", ""))
    return GroupSettings.of(parts.profile, config, f"{instance}-{member}" if instance else "")
