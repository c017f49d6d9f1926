"""Kafka's own topics: ``__consumer_offsets`` and ``__transaction_state``, and the rules by which they are made.

Kafka makes one when a coordinator is first looked for. A cluster here is formed with those that its clients need, so
that they begin ready; what is missing nevertheless is made as in Kafka
(:mod:`cluster_model.coordinators.group.group_coordinator`).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from cluster_model.protocol.config_defaults import Configured
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import TRANSACTION, ClusterSpec, TopicSpec

OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
INTERNAL: Final = (OFFSETS, TRANSACTIONS)
_PREFIX: Final = {OFFSETS: "offsets.topic", TRANSACTIONS: "transaction.state.log"}
"""What the names of a topic's configurations begin with."""


def with_internal_topics(spec: ClusterSpec) -> ClusterSpec:
    """The spec with the internal topics that its clients use, behind its own topics; unchanged where it names them.

    Up to 0.8.1 offsets were kept in ZooKeeper, and a group of 0.8.2 may use either: here the topic.
    """
    names = [topic.name for topic in spec.topics]
    if spec.manual:
        return spec
    made = [offsets_topic(spec)] if spec.groups and OFFSETS not in names else []
    transactional = any("transactional.id" in each.config for each in spec.producers)
    transactional = transactional or any(each.to and each.commit == TRANSACTION for each in spec.groups)
    if transactional and TRANSACTIONS not in names:
        made.append(transactions_topic(spec))
    return replace(spec, topics=(*spec.topics, *[topic for topic in made if topic is not None]))


def offsets_topic(spec: ClusterSpec) -> TopicSpec | None:
    """``__consumer_offsets`` as this version makes it, None while there are too few brokers for it."""
    topic = template(OFFSETS, Profile.of(spec.kafka, spec.mode), spec.config, len(spec.brokers))
    return topic if topic.replication <= len(spec.brokers) else None


def transactions_topic(spec: ClusterSpec) -> TopicSpec | None:
    """``__transaction_state``, None before 0.11 and while there are too few brokers for it."""
    profile = Profile.of(spec.kafka, spec.mode)
    topic = template(TRANSACTIONS, profile, spec.config, len(spec.brokers))
    return topic if profile.transactions and topic.replication <= len(spec.brokers) else None


def template(topic: str, profile: Profile, config: Mapping[str, ConfigValue], brokers: int) -> TopicSpec:
    """One of the two as brokers of this configuration want it, with so many ``brokers`` alive.

    Up to 0.10.2 ``__consumer_offsets`` got as many replicas as there were brokers, at most the number configured; since
    0.11 that number is insisted on (KIP-115).
    """
    broker = Configured("broker", profile.number, config)
    segment_bytes = broker.number(f"{_PREFIX[topic]}.segment.bytes")
    own: dict[str, int | str | bool] = {"cleanup.policy": "compact", "segment.bytes": segment_bytes}
    partitions = configured_partitions(profile, config)[topic]
    if topic == OFFSETS:
        replication = broker.number("offsets.topic.replication.factor")
        if brokers and not profile.offsets_topic_replication:
            replication = min(replication, brokers)
        return TopicSpec(OFFSETS, partitions, replication, (), own)
    own["min.insync.replicas"] = broker.number("transaction.state.log.min.isr")
    own["unclean.leader.election.enable"] = False
    replication = broker.number("transaction.state.log.replication.factor")
    return TopicSpec(TRANSACTIONS, partitions, replication, (), own)


def configured_partitions(profile: Profile, config: Mapping[str, ConfigValue]) -> dict[str, int]:
    """How many partitions each of the two is made with."""
    broker = Configured("broker", profile.number, config)
    return {topic: broker.number(f"{prefix}.num.partitions") for topic, prefix in _PREFIX.items()}


@lru_cache(maxsize=4_096)
def coordinator_partition(group: str, partitions: int) -> int:
    """Which partition of ``__consumer_offsets`` is a group's (``GroupMetadataManager.partitionFor``).

    That of a transactional id in ``__transaction_state`` is found likewise (``TransactionStateManager.partitionFor``).
    """
    return absolute(java_hash(group)) % partitions


def java_hash(text: str) -> int:
    """``String.hashCode``: a signed number of 32 bits over the UTF-16 code units."""
    number = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        number = (31 * number + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def absolute(number: int) -> int:
    """Kafka's own ``Utils.abs`` of an int: the least one, which has no counterpart, counts as 0."""
    return 0 if number == -(1 << 31) else abs(number)
