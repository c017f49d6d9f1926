"""Factory of a cluster's clients; each client is a process of its own."""

from collections import ChainMap
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from cluster_model.checker.anomalies.definitions import ClientSettings, ProducerSettings, manner
from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.consumer import Consumer, ReadProcessWrite
from cluster_model.clients.consumer.record_handler import SUFFIX, DeadLetters, LetterProducer
from cluster_model.clients.producer.application_producers import BATCH, DRIVEN, Output, PlainOutput, TransactionalOutput
from cluster_model.clients.producer.application_producers import SUFFIX as OUTPUT
from cluster_model.clients.producer.config import ProducerConfig
from cluster_model.clients.producer.producer import Producer
from cluster_model.clients.producer.transactional_producer import USUAL_US, TransactionalProducer
from cluster_model.controller.cluster_parts import Parts
from cluster_model.external_clients import Manners
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.rng import Stream, Streams
from cluster_model.log.record_keys import ProducerKeys
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import ConsumerConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import RIVAL, TRANSACTION, Application, ClusterSpec, GroupSpec, ProducerSpec
from cluster_model.util.latency import SERVICE_BOUND_US

FIRST_PRODUCER: Final = 2_000
FIRST_CONSUMER: Final = 3_000
LETTERS: Final = 2_000
"""Offset from the node id of a member to that of its own producer, for dead letters or output."""


ProducerNeeds = tuple[
    NodeContext, ProducerSpec, ProducerConfig, tuple[int, ...], Callable[[Event], None], Stream, Stream,
    ProducerKeys | None, int,
]  # fmt: skip


class ClientContext(NamedTuple):
    """Environment of clients: spec, cluster parts, network, event sink and random streams."""

    spec: ClusterSpec
    parts: Parts
    network: Network
    emit: Callable[[Event], None]
    streams: Streams

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
            raise ModelError(f"no topic {topic!r}", code="no_topic")


def make_producer(ground: ClientContext, node: int, each: ProducerSpec) -> Producer:
    """Create one process of a producer."""
    needs = _needs(ground, node, each)
    config = needs[2]
    return TransactionalProducer(ground.parts.profile, *needs) if config.transactional_id else Producer(*needs)


def _needs(ground: ClientContext, node: int, each: ProducerSpec) -> ProducerNeeds:
    streams = ground.streams
    return (
        NodeContext(ground.network, node), each, ProducerConfig.of(ground.parts.profile, each.config), ground.brokers,
        ground.emit, streams.named(f"retry:{each.name}"), streams.named(f"partitioner:{each.name}"),
        ground.parts.keys.get(each.name), streams.seed,
    )  # fmt: skip


def _make_letters(ground: ClientContext, node: int, each: GroupSpec, consumer: Consumer) -> DeadLetters:
    """Create a member's producer of dead letters: defaults of the version except ``acks=all``."""
    spec = ProducerSpec(consumer.name + SUFFIX, each.dead_letter, 0, config={"acks": "all"}, send="sync")
    producer = LetterProducer(*_needs(ground, node + LETTERS, spec))
    letters = DeadLetters(producer, (consumer.name, each.name), max(1, each.fails), ground.emit)
    letters.on_done(consumer.delivered)
    return letters


def _make_output(ground: ClientContext, node: int, each: GroupSpec, name: str) -> Output:
    """Create a member's output producer; its transactional id, if it has one, is the member's name."""
    config = {"acks": "all", **each.to_config}
    if each.commit != TRANSACTION:
        spec = ProducerSpec(name + OUTPUT, each.to, 0, BATCH, config=config)
        return PlainOutput(*_needs(ground, node + LETTERS, spec))
    config["transactional.id"] = name
    spec = ProducerSpec(name + OUTPUT, each.to, 0, BATCH, config=config, transactions=DRIVEN)
    return TransactionalOutput(ground.parts.profile, *_needs(ground, node + LETTERS, spec))


def own_producer(consumer: Consumer) -> LetterProducer | Output | None:
    """Return the producer that a member has besides its consumer, None if it has none."""
    if isinstance(consumer, ReadProcessWrite):
        return consumer.output
    return None if consumer.letters is None else consumer.letters.producer


def make_consumer(ground: ClientContext, node: int, each: GroupSpec, member: int, instance: str = "") -> Consumer:
    """Create one process of a group member; ``instance`` replaces the configured ``group.instance.id``."""
    parts = ground.parts
    # Groups have members since 0.9: before that a consumer's partitions are always assigned manually.
    coordinated = each.coordinated and parts.profile.group_membership
    application = Application(each.processing_us, each.commit, each.fails, each.retries, each.retry_pause_us)
    config = ConsumerConfig.of(parts.profile, each.config)
    if each.racks:
        config = replace(config, rack=each.racks[member])
    share = () if coordinated else _share(ground, each, member)
    consumer = (ReadProcessWrite if each.to else Consumer)(
        NodeContext(ground.network, node), f"{each.name}/{member}", each.name, parts.profile, config, share,
        ground.brokers,
        application, parts.lineages, ground.emit, ground.streams.seed,
        ground.streams.named(f"retry:{each.name}/{member}"),
    )  # fmt: skip
    if isinstance(consumer, ReadProcessWrite):
        consumer.write_with(_make_output(ground, node, each, consumer.name))
    elif each.dead_letter:
        consumer.letters = _make_letters(ground, node, each, consumer)
    if coordinated:
        settings = _settings(parts, each, instance or configured_instance(each, member))
        stream = ground.streams.named(f"member:{consumer.name}") if settings.modern else None
        consumer.subscribe(settings, each.topics, each.pattern, stream)
    return consumer


def _share(ground: ClientContext, group: GroupSpec, member: int) -> tuple[str, ...]:
    """Return the partitions of a member of a group without a coordinator: each topic in ranges over the members."""
    return tuple(
        partition
        for topic in group.topics
        for partition in range_share(ground.partitions_of(topic), member, group.members)
    )


def _settings(parts: Parts, group: GroupSpec, instance: str) -> GroupSettings:
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


def range_share(partitions: tuple[str, ...], member: int, members: int) -> tuple[str, ...]:
    """Return a member's partitions of one topic (``RangeAssignor``): the first members get one more."""
    share, extra = divmod(len(partitions), members)
    start = member * share + min(member, extra)
    return partitions[start : start + share + (member < extra)]


# Client settings from the spec that decide which anomalies are allowed.


def client_settings(spec: ClusterSpec, profile: Profile, outside: Manners) -> ClientSettings:
    """Return the settings of all producers, members' own producers, groups and external clients."""
    producers: dict[str, ProducerSettings] = {}
    for each in spec.producers:
        settings = _producer(profile, each.config, resends=each.resends)
        producers[each.name] = producers[each.name + RIVAL] = settings
    copiers: dict[str, None] = {}
    static: dict[str, None] = {}
    groups: dict[str, str] = {}
    for group in spec.groups:
        coordinated = group.coordinated and profile.group_membership
        committed_only = ConsumerConfig.of(profile, group.config).committed_only
        groups[group.name] = manner(coordinated=coordinated, committed_only=committed_only)
        for number, member in enumerate(f"{group.name}/{number}" for number in range(group.members)):
            if configured_instance(group, number):
                static[member] = None
            producers[member + SUFFIX] = _producer(profile, {"acks": "all"})
            if group.to:
                config: dict[str, ConfigValue] = {"acks": "all", **group.to_config}
                if group.commit == TRANSACTION:
                    config["transactional.id"] = member
                    copiers[member] = None
                producers[member + OUTPUT] = _producer(profile, config)
    return ClientSettings(
        ChainMap(producers, outside.producers), groups, outside.readers, frozenset(copiers), frozenset(static)
    )


def _producer(profile: Profile, config: dict[str, ConfigValue], *, resends: bool = False) -> ProducerSettings:
    found = ProducerConfig.of(profile, config)
    return ProducerSettings(
        found.acks, found.idempotent, found.retries, found.max_in_flight, bool(found.transactional_id), resends
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
        bounds[each.name] = bounds[each.name + RIVAL] = trips + config.linger_us + waits
    for group in (group for group in spec.groups if group.to):
        linger_us = ProducerConfig.of(spec.profile, {"acks": "all", **group.to_config}).linger_us
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
