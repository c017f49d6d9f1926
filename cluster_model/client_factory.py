"""Factory of a cluster's clients; each client is a process of its own."""

from collections import ChainMap
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from cluster_model.checker.anomalies.definitions import ClientSettings, ProducerSettings, manner
from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer import Consumer, ReadProcessWrite
from cluster_model.clients.consumer.record_handler import SUFFIX, DeadLetterProducer, DeadLetters
from cluster_model.clients.producer.application_producers import BATCH, DRIVEN, Output, PlainOutput, TransactionalOutput
from cluster_model.clients.producer.application_producers import SUFFIX as OUTPUT
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.producer.transactional_producer import USUAL_US, TransactionalProducer
from cluster_model.controller.cluster_parts import ClusterParts
from cluster_model.external_clients import ExternalClientSettings
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import RandomStream, RandomStreams
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import (
    DUPLICATE_SUFFIX,
    TRANSACTION,
    Application,
    ClusterSpec,
    GroupSpec,
    ProducerSpec,
)
from cluster_model.util.latency import SERVICE_BOUND_US

FIRST_PRODUCER: Final = 2_000
FIRST_CONSUMER: Final = 3_000
LETTERS: Final = 2_000
"""Offset from the node id of a member to that of its own producer, for dead-letter records or output."""


ProducerNeeds = tuple[
    NodeContext, ProducerSpec, ProducerConfig, tuple[int, ...], Callable[[Event], None], RandomStream, RandomStream,
    ProducerKeys | None, int,
]  # fmt: skip


class ClientContext(NamedTuple):
    """Environment of clients: spec, cluster parts, network, event sink and random streams."""

    spec: ClusterSpec
    parts: ClusterParts
    network: Network
    emit: Callable[[Event], None]
    streams: RandomStreams

    @property
    def brokers(self) -> tuple[int, ...]:
        """Ids of all brokers."""
        return tuple(broker.id for broker in self.spec.brokers)

    def partitions_of(self, topic: str) -> tuple[str, ...]:
        """Return a topic's partitions, in order; none if there is no such topic."""
        return tuple(name for name in self.parts.committed.records if name.rpartition("-")[0] == topic)

    def check_topic(self, topic: str) -> None:
        """Check that a topic of the spec's clients exists.

        Raises:
            ModelError: no such topic.
        """
        if not self.partitions_of(topic):
            topics = dict.fromkeys(name.rpartition("-")[0] for name in self.parts.committed.records)
            raise ModelError(f"no topic {topic!r}; known topics: {', '.join(topics) or 'none'}", code="no_topic")


def make_producer(context: ClientContext, node: int, spec: ProducerSpec) -> Producer:
    """Create one process of a producer."""
    needs = _needs(context, node, spec)
    config = needs[2]
    return TransactionalProducer(context.parts.profile, *needs) if config.transactional_id else Producer(*needs)


def _needs(context: ClientContext, node: int, spec: ProducerSpec) -> ProducerNeeds:
    streams = context.streams
    return (
        NodeContext(context.network, node), spec, ProducerConfig.of(context.parts.profile, spec.config),
        context.brokers, context.emit, streams.named(f"retry:{spec.name}"), streams.named(f"partitioner:{spec.name}"),
        context.parts.keys.get(spec.name), streams.seed,
    )  # fmt: skip


def _make_dead_letter_producers(context: ClientContext, node: int, group: GroupSpec, consumer: Consumer) -> DeadLetters:
    """Create a member's producer of dead-letter records: defaults of the version except ``acks=all``."""
    spec = ProducerSpec(consumer.name + SUFFIX, group.dead_letter, 0, config={"acks": "all"}, send="sync")
    producer = DeadLetterProducer(*_needs(context, node + LETTERS, spec))
    letters = DeadLetters(producer, (consumer.name, group.name), max(1, group.fails), context.emit)
    letters.on_done(consumer.delivered)
    return letters


def _make_output(context: ClientContext, node: int, group: GroupSpec, name: str) -> Output:
    """Create a member's output producer; its transactional id, if it has one, is the member's name."""
    config = {"acks": "all", **group.output_config}
    if group.commit != TRANSACTION:
        spec = ProducerSpec(name + OUTPUT, group.output_topic, 0, BATCH, config=config)
        return PlainOutput(*_needs(context, node + LETTERS, spec))
    config["transactional.id"] = name
    spec = ProducerSpec(name + OUTPUT, group.output_topic, 0, BATCH, config=config, transactions=DRIVEN)
    return TransactionalOutput(context.parts.profile, *_needs(context, node + LETTERS, spec))


def own_producer(consumer: Consumer) -> DeadLetterProducer | Output | None:
    """Return the producer that a member has besides its consumer, None if it has none."""
    if isinstance(consumer, ReadProcessWrite):
        return consumer.output
    return None if consumer.letters is None else consumer.letters.producer


def make_consumer(context: ClientContext, node: int, group: GroupSpec, member: int, instance: str = "") -> Consumer:
    """Create one process of a group member; ``instance`` replaces the configured ``group.instance.id``."""
    parts = context.parts
    profile = parts.profile.for_client(str(group.config.get("client.version", "")))
    # Groups have members since 0.9: before that a consumer's partitions are always assigned manually.
    coordinated = group.coordinated and profile.group_membership
    application = Application(group.processing_us, group.commit, group.fails, group.retries, group.retry_pause_us)
    config = ConsumerConfig.of(parts.profile, group.config)
    if group.racks:
        config = replace(config, rack=group.racks[member])
    share = () if coordinated else _share(context, group, member)
    consumer = (ReadProcessWrite if group.output_topic else Consumer)(
        NodeContext(context.network, node), f"{group.name}/{member}", group.name, profile, config, share,
        context.brokers,
        application, parts.epoch_branches, context.emit, context.streams.seed,
        context.streams.named(f"retry:{group.name}/{member}"),
    )  # fmt: skip
    if isinstance(consumer, ReadProcessWrite):
        consumer.write_with(_make_output(context, node, group, consumer.name))
    elif group.dead_letter:
        consumer.letters = _make_dead_letter_producers(context, node, group, consumer)
    if coordinated:
        settings = _settings(parts, group, instance or configured_instance(group, member))
        stream = context.streams.named(f"member:{consumer.name}") if settings.consumer_protocol else None
        consumer.subscribe(settings, group.topics, group.pattern, stream)
    return consumer


def _share(context: ClientContext, group: GroupSpec, member: int) -> tuple[str, ...]:
    """Return the partitions of a member of a group without a coordinator: each topic in ranges over the members."""
    return tuple(
        partition
        for topic in group.topics
        for partition in range_assignment(context.partitions_of(topic), member, group.members)
    )


def _settings(parts: ClusterParts, group: GroupSpec, instance: str) -> GroupSettings:
    """Return a member's settings; automatic commits are off by default for an application that commits itself."""
    config = {"enable.auto.commit": Application(commit=group.commit).auto_commits, **group.config}
    return GroupSettings.of(parts.profile, config, instance)


def configured_instance(group: GroupSpec, member: int) -> str:
    """Return a member's ``group.instance.id``, empty for none.

    It is the member's own if each member has one, else the group's followed by the member's number.
    """
    if group.instances:
        return group.instances[member]
    instance = str(group.config.get("group.instance.id", ""))
    return f"{instance}-{member}" if instance else ""


def range_assignment(partitions: tuple[str, ...], member: int, members: int) -> tuple[str, ...]:
    """Return a member's partitions of one topic (``RangeAssignor``): the first members get one more."""
    share, extra = divmod(len(partitions), members)
    start = member * share + min(member, extra)
    return partitions[start : start + share + (member < extra)]


# Client settings from the spec that decide which anomalies are allowed.


def client_settings(spec: ClusterSpec, profile: Profile, outside: ExternalClientSettings) -> ClientSettings:
    """Return the settings of all producers, members' own producers, groups and external clients."""
    producers: dict[str, ProducerSettings] = {}
    for each in spec.producers:
        settings = _producer(profile, each.config, resends=each.resends)
        producers[each.name] = producers[each.name + DUPLICATE_SUFFIX] = settings
    copiers: dict[str, None] = {}
    static: dict[str, None] = {}
    groups: dict[str, str] = {}
    for group in spec.groups:
        version = str(group.config.get("client.version", ""))
        coordinated = group.coordinated and profile.for_client(version).group_membership
        committed_only = ConsumerConfig.of(profile, group.config).committed_only
        groups[group.name] = manner(coordinated=coordinated, committed_only=committed_only)
        for number, member in enumerate(f"{group.name}/{number}" for number in range(group.members)):
            if configured_instance(group, number):
                static[member] = None
            producers[member + SUFFIX] = _producer(profile, {"acks": "all"})
            if group.output_topic:
                config: dict[str, ConfigValue] = {"acks": "all", **group.output_config}
                if group.commit == TRANSACTION:
                    config["transactional.id"] = member
                    copiers[member] = None
                producers[member + OUTPUT] = _producer(profile, config)
    return ClientSettings(
        ChainMap(producers, outside.producers), groups, outside.readers, frozenset(copiers), frozenset(static)
    )


def _producer(profile: Profile, config: dict[str, ConfigValue], *, resends: bool = False) -> ProducerSettings:
    producer_config = ProducerConfig.of(profile, config)
    return ProducerSettings(
        producer_config.acks,
        producer_config.idempotent,
        producer_config.retries,
        producer_config.max_in_flight,
        bool(producer_config.transactional_id),
        resends,
    )


# Longest wait of a producer that still counts as service.


def service_bounds(spec: ClusterSpec) -> dict[str, int]:
    """Return for each producer how long its records may wait, in microseconds, before it is out of service.

    That is ``linger.ms`` and three round trips, at least :data:`SERVICE_BOUND_US`. A transactional producer learns of
    an outcome when the transaction ends: its bound is longer by the usual duration of a transaction. A producer that is
    not listed has :data:`SERVICE_BOUND_US`.
    """
    trips = max(SERVICE_BOUND_US, 6 * (spec.network.latency_us + spec.network.jitter_us))
    bounds: dict[str, int] = {}
    for each in spec.producers:
        config = ProducerConfig.of(spec.profile, each.config)
        waits = _transaction_us(each, config) if config.transactional_id else 0
        bounds[each.name] = bounds[each.name + DUPLICATE_SUFFIX] = trips + config.linger_us + waits
    for group in (group for group in spec.groups if group.output_topic):
        linger_us = ProducerConfig.of(spec.profile, {"acks": "all", **group.output_config}).linger_us
        polled = ConsumerConfig.of(spec.profile, group.config).max_poll_records
        waits = group.processing_us * polled + USUAL_US if group.commit == TRANSACTION else 0
        for number in range(group.members):
            bounds[f"{group.name}/{number}{OUTPUT}"] = trips + linger_us + waits
    return bounds


def _transaction_us(spec: ProducerSpec, config: ProducerConfig) -> int:
    """Return the usual duration of an application's transaction; its timeout where that is unknown."""
    plan = spec.transactions
    if plan is None or not (plan.records or plan.every_us):
        return USUAL_US
    lasts = [plan.every_us] if plan.every_us else []
    if plan.records:
        steady = spec.interval_us and spec.profile is None and spec.loop is None
        lasts.append(spec.interval_us * -(-plan.records // spec.batch) if steady else config.transaction_timeout_us)
    return min(lasts)
