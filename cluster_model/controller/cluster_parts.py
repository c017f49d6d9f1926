"""Putting a cluster's parts together from its spec: what the timed and the hand-stepped cluster have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.broker.topic_configs import TopicSettings
from cluster_model.controller.committed_state import Committed, TopicRegistry
from cluster_model.controller.rules.replica_placement import Usable, place, place_striped
from cluster_model.kernel.rng import Streams
from cluster_model.log.batch_store import Lineages
from cluster_model.log.record_keys import KeyModel, KeySet, ProducerKeys, key_model
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import RIVAL, ClusterSpec, ProducerSpec, TopicSpec


@dataclass(frozen=True, slots=True)
class Parts:
    """Brokers' disks and the controller's state, before anybody has been told anything."""

    profile: Profile
    config: BrokerConfig
    committed: Committed
    metadata: dict[int, BrokerMetadata]
    replicas: dict[str, dict[int, Replica]]
    lineages: dict[str, Lineages]
    registry: TopicRegistry
    keys: dict[str, ProducerKeys]
    """Producer → the keys of its records, of those that have any."""


def placement_of(topic: TopicSpec, spec: ClusterSpec, streams: Streams) -> tuple[tuple[int, ...], ...]:
    """Assignment of each partition: as given, else spread as Kafka's controller of that mode does.

    Raises:
        ModelError: more replicas than brokers, or an unknown broker.
    """
    known = [broker.id for broker in spec.brokers]
    if topic.placement:
        for replicas in topic.placement:
            for broker in replicas:
                if broker not in known:
                    raise ModelError(f"topic {topic.name} is placed on broker {broker}; there are {known}")
        return topic.placement
    if topic.replication > len(known):
        raise ModelError(f"topic {topic.name} wants {topic.replication} replicas of {len(known)} brokers")
    if len(known) == 1:
        return ((known[0],),) * topic.partitions
    stream = streams.named(f"placement:{topic.name}")
    if Profile.of(spec.kafka, spec.mode).kraft:
        usable = [Usable(broker.id, broker.rack) for broker in spec.brokers]
        return place_striped(usable, topic.partitions, topic.replication, stream.below)
    racks = [(broker.id, broker.rack) for broker in spec.brokers]
    count = len(known)
    return place(racks, topic.partitions, topic.replication, stream.below(count), stream.below(count))


def build_parts(
    spec: ClusterSpec,
    streams: Streams,
    emit: Callable[[Event], None],
    live: Mapping[int, int],
    whole: Mapping[str, Lineages] | None = None,
) -> Parts:
    """Create every topic's partitions and replicas; with ``whole``, their batches are looked up in those logs.

    Raises:
        ModelError: the spec contradicts itself.
    """
    profile = spec.profile
    config = BrokerConfig.of(profile, spec.config)
    committed = Committed(emit)
    metadata = {broker.id: BrokerMetadata() for broker in spec.brokers}
    settings = TopicSettings(profile, spec.config, spec.writeback_us)

    of_producers = {name: _keys_of(each) for each in spec.producers if each.keys for name in _processes_of(each)}

    def keys(topic: str, partition: str) -> dict[str, KeyModel]:
        number = int(partition.rpartition("-")[2])
        return {
            name: key_model(name, topic, number, of_producers[name])
            for each in spec.producers
            if each.topic == topic and each.keys
            for name in _processes_of(each)
        }

    registry = TopicRegistry(profile, config, settings, committed, metadata, emit, keys, streams.seed, whole)
    for topic in spec.topics:
        registry.begin(topic.name, placement_of(topic, spec, streams), topic.config, live)
    return Parts(profile, config, committed, metadata, registry.replicas, registry.lineages, registry, of_producers)


def settings_of(spec: ClusterSpec, profile: Profile) -> TopicSettings:
    """What one broker knows of topics' settings at the first instant: everything."""
    settings = TopicSettings(profile, spec.config, spec.writeback_us)
    for topic in spec.topics:
        settings.configure(topic.name, topic.config)
    return settings


def _processes_of(producer: ProducerSpec) -> tuple[str, ...]:
    """The names that a producer's records go by: a transactional one may have a second process for a while."""
    return (producer.name, producer.name + RIVAL) if producer.config.get("transactional.id") else (producer.name,)


def _keys_of(producer: ProducerSpec) -> ProducerKeys:
    return ProducerKeys(KeySet(producer.keys, producer.skew, producer.partitioner), producer.tombstones)
