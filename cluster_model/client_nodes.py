"""A cluster's clients, each a process of its own, from the spec."""

from collections.abc import Callable
from typing import Final

from cluster_model.building import Parts, range_share
from cluster_model.clients.application import AUTO, Application
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
from cluster_model.spec import ClusterSpec, GroupSpec

FIRST_PRODUCER: Final = 2_000
FIRST_CONSUMER: Final = 3_000


def partitions_of(parts: Parts, topic: str) -> tuple[str, ...]:
    """A topic's partitions, in order.

    Raises:
        ModelError: no such topic.
    """
    found = tuple(name for name in parts.committed.records if name.rpartition("-")[0] == topic)
    if not found:
        raise ModelError(f"no topic {topic!r}")
    return found


def make_producers(
    spec: ClusterSpec, parts: Parts, network: Network, emit: Callable[[Event], None], streams: Streams
) -> dict[str, Producer]:
    """Every producer by name, added to the network."""
    brokers = tuple(broker.id for broker in spec.brokers)
    producers: dict[str, Producer] = {}
    for index, each in enumerate(spec.producers):
        config = ProducerConfig.of(parts.profile, each.config)
        node = FIRST_PRODUCER + index
        needs = (
            Port(network, node), each, config, partitions_of(parts, each.topic), brokers, emit,
            streams.named(f"retry:{each.name}"), streams.seed,
        )  # fmt: skip
        producer = TransactionalProducer(parts.profile, *needs) if config.transactional_id else Producer(*needs)
        producers[each.name] = producer
        network.add(node, each.name, producer)
    return producers


def make_consumers(
    spec: ClusterSpec, parts: Parts, network: Network, emit: Callable[[Event], None]
) -> dict[str, Consumer]:
    """Every member of every group by name, added to the network."""
    brokers = tuple(broker.id for broker in spec.brokers)
    consumers: dict[str, Consumer] = {}
    for each in spec.groups:
        # Groups have members since 0.9: before that a consumer's partitions are always given.
        coordinated = each.coordinated and parts.profile.group_membership
        application = Application(each.processing_us, each.commit, each.fails, each.retries, each.retry_pause_us)
        config = ConsumerConfig.of(parts.profile, each.config)
        for member in range(each.members):
            name = f"{each.name}/{member}"
            node = FIRST_CONSUMER + len(consumers)
            share = () if coordinated else _share(parts, each, member)
            consumer = Consumer(
                Port(network, node), name, each.name, parts.profile, config, share, brokers, application,
                parts.lineages, emit,
            )  # fmt: skip
            if coordinated:
                consumer.subscribe(_settings(parts, each, member), each.topics, each.pattern)
            consumers[name] = consumer
            network.add(node, name, consumer)
    return consumers


def _share(parts: Parts, group: GroupSpec, member: int) -> tuple[str, ...]:
    """What a member of a group without a coordinator has: each topic in ranges over the members."""
    return tuple(
        partition
        for topic in group.topics
        for partition in range_share(partitions_of(parts, topic), member, group.members)
    )


def _settings(parts: Parts, group: GroupSpec, member: int) -> GroupSettings:
    """A member's settings. ``group.instance.id`` gets its number: no two have the same one.

    Who commits by itself does not have it done automatically.
    """
    config = {"enable.auto.commit": group.commit == AUTO, **group.config}
    instance = str(config.get("group.instance.id", ""))
    return GroupSettings.of(parts.profile, config, f"{instance}-{member}" if instance else "")
