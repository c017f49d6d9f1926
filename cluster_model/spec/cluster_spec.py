"""Specification of a cluster, its topics, internal topics, and clients with their load, as plain, validated data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from cluster_model.protocol.config_defaults import EffectiveConfig
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import WRITEBACK_US
from cluster_model.protocol.versions import (
    ELR_FEATURE,
    TRANSACTION_FEATURE,
    Profile,
    with_elr,
    with_rules,
    with_transactions,
)
from cluster_model.spec.rule_usage import observed

# Settings of an application: how it handles its records, and when it commits them.


AUTO: Final = "auto"
BEFORE: Final = "before"
ASYNC_RETRY: Final = "async_retry"
HANDED_OFF: Final = "handed_off"
TRANSACTION: Final = "transaction"
COMMIT_MODES: Final = {
    AUTO: "enable.auto.commit: polls commit the records that earlier polls returned",
    "sync": "commitSync after the records of a poll have been processed",
    "async": "commitAsync after the records of a poll have been processed",
    ASYNC_RETRY: "commitAsync, and after a failure once more after the next commit: offsets may go back",
    BEFORE: "commitSync before the records are processed: at most once",
    HANDED_OFF: "enable.auto.commit while another thread processes: committed records may be unprocessed",
    "none": "never",
    TRANSACTION: "in the transaction that writes the output: exactly once",
}
"""Commit mode of a group → its meaning."""

Failing = tuple[str, int, int]
"""(partition, first offset, count) of records that the handler cannot process."""


@dataclass(frozen=True, slots=True)
class Application:
    """A group's application and its handling of records; ``processing_us`` is the time for each record.

    ``commit`` is one of :data:`COMMIT_MODES`. The handler fails for the last of every ``fails`` offsets of a partition
    (0: never), whichever member reads it. It is retried ``retries`` times, each after ``pause_us``, without a poll
    meanwhile; then the record is left unprocessed.
    """

    processing_us: int = 0
    commit: str = AUTO
    fails: int = 0
    retries: int = 0
    pause_us: int = 0

    @property
    def commits_before(self) -> bool:
        """Whether a crash loses the records being processed, instead of processing them again."""
        return self.commit == BEFORE

    @property
    def processes_in_background(self) -> bool:
        """Whether another thread processes the records, poll by poll, while polls continue."""
        return self.commit == HANDED_OFF

    @property
    def commits_async(self) -> bool:
        """Whether it does not wait for its commits."""
        return self.commit in ("async", ASYNC_RETRY)

    @property
    def auto_commits(self) -> bool:
        """Default of ``enable.auto.commit``."""
        return self.commit in (AUTO, HANDED_OFF)

    def failing(self, partition: str, start: int, last: int) -> Failing | None:
        """Return which of the records from ``start`` to ``last`` the handler cannot process."""
        if not self.fails:
            return None
        first = start + (self.fails - 1 - start) % self.fails
        return (partition, first, (last - first) // self.fails + 1) if first <= last else None


# Load of a producer, as plain, validated data.


HOUR_US: Final = 3_600_000_000
RATE_UNITS: Final = 1_000_000
"""Rates are integers in millionths of a record per hour, so that every rate that can be written is exact."""
RECORD: Final = HOUR_US * RATE_UNITS
"""One record, in rate units times microseconds."""


class RateSegment(NamedTuple):
    """A period in which the rate changes linearly from ``start`` to ``end`` (in :data:`RATE_UNITS`).

    ``duration_us`` -1: unlimited, and ``start`` and ``end`` are the same.
    """

    duration_us: int
    start: int
    end: int


class RateProfile(NamedTuple):
    """A rate that changes over time: consecutive periods from the producer's start.

    ``repeats``: the first period follows the last one again; then no period is unlimited. Otherwise the last one is.
    """

    stretches: tuple[RateSegment, ...]
    repeats: bool = False


def constant(rate: int) -> RateProfile:
    """Return a profile with a constant rate."""
    return RateProfile((RateSegment(-1, rate, rate),))


class ClosedLoop(NamedTuple):
    """At most ``outstanding`` records without an outcome; each batch is followed by the next after ``think_us``."""

    outstanding: int
    think_us: int = 0


class UniformSizes(NamedTuple):
    """Record sizes from ``low`` to ``high`` bytes, uniformly distributed."""

    low: int
    high: int


class TwoSizes(NamedTuple):
    """Record sizes of ``small`` bytes, and ``large_ppm`` in a million of ``large`` bytes."""

    small: int
    large: int
    large_ppm: int


class SpreadSizes(NamedTuple):
    """Log-normal record sizes: half are below ``median`` bytes, one in a hundred is above ``p99``."""

    median: int
    p99: int


Sizes = UniformSizes | TwoSizes | SpreadSizes
"""Distribution of record sizes."""


class ZipfKeys(NamedTuple):
    """Zipf distribution: key ``i`` (from 1) has i^s times fewer records than the first.

    ``exponent`` is s in thousandths.
    """

    exponent: int


class HotKeys(NamedTuple):
    """``share_ppm`` in a million records have the first key, the others are uniform over the rest."""

    share_ppm: int


KeySkew = ZipfKeys | HotKeys
"""Distribution of keys that is not uniform."""


class CustomPartitioner(NamedTuple):
    """An application's custom partitioner: some keys have a fixed partition."""

    keys: tuple[tuple[int, int], ...]
    """(N of ``key-N``, partition)."""
    others: int = -1
    """Partition of all other keys; -1: by Kafka's hash."""


MAX_BROKER: Final = 999
"""Highest broker id."""
FIRST_CONTROLLER: Final = 1_001
"""Node id of the first dedicated KRaft controller; brokers have lower ids."""
FIRST_ZOOKEEPER: Final = 1_501
"""Node id of the first ZooKeeper server."""
DEFAULT_QUORUM: Final = 3
SEND_MODES: Final = ("async", "sync", "fire_and_forget")
"""How an application sends: with callbacks, waiting for each record (``send().get()``), or ignoring results."""
QUORUM_SIZES: Final = (1, 3, 5)
"""Allowed numbers of voters in a quorum."""


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    """A broker's id (from 1) and rack (empty for none)."""

    id: int
    rack: str = ""


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """Every link's one-way latency and maximal jitter, in microseconds."""

    latency_us: int = 1_000
    jitter_us: int = 200


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic; ``placement`` is each partition's replicas in assignment order, empty: placed by Kafka's rules.

    ``leaders`` are (partition number, broker) of partitions that another replica than the first leads at the start.
    """

    name: str
    partitions: int = 1
    replication: int = 3
    placement: tuple[tuple[int, ...], ...] = ()
    config: dict[str, int | str | bool] = field(default_factory=dict)
    leaders: tuple[tuple[int, int], ...] = ()


DUPLICATE_SUFFIX: Final = ".duplicate"
"""Suffix of a producer's name for its duplicate instance."""
MANUAL_CLIENT: Final = "client"
"""Name of the producer and the consumer of manual steps."""


def producer_text(client: str) -> str:
    """Return a producer's name in a sentence: ``producer client`` for that of manual steps."""
    return f"producer {client}" if client == MANUAL_CLIENT else client


class TransactionPlan(NamedTuple):
    """Length and outcome of an application's transactions; by default each lasts 100 ms."""

    records: int = 0
    """Number of records in a transaction; 0: any."""
    every_us: int = 0
    """Duration of a transaction in microseconds; 0: any."""
    abort: int = 0
    """One transaction in this many is aborted on purpose; 0: none."""
    hang: int = 0
    """Number, from 1, of the transaction that is left open forever, after which no records are made; 0: none."""


@dataclass(frozen=True, slots=True)
class Interceptor:
    """A producer interceptor that adds ``adds`` bytes of headers to a record, unless it throws.

    It throws for one record in ``fails`` of each partition; 0: never.
    """

    name: str
    adds: int = 0
    fails: int = 0


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """A producer that makes ``batch`` records every ``interval_us``; ``records`` names their content.

    With an interval of 0, and neither profile nor loop, it makes none by itself.
    """

    name: str
    topic: str
    interval_us: int
    batch: int = 1
    records: str = ""
    record_bytes: int = 200
    start_us: int = 0
    stop_us: int = -1
    """End of production in virtual time; -1: until settling begins."""
    config: dict[str, int | str | bool] = field(default_factory=dict)
    keys: int = 0
    """Number of distinct keys, ``key-0`` and so on; 0: records without keys."""
    tombstones: int = 0
    """One record in this many is a tombstone; 0: none."""
    send: str = "async"
    """One of :data:`SEND_MODES`."""
    profile: RateProfile | None = None
    """A changing rate, or one that is no whole interval; instead of ``interval_us``."""
    loop: ClosedLoop | None = None
    """Closed loop, which replaces the rate; None: an open loop at the rate."""
    sizes: Sizes | None = None
    """Distribution of sizes, instead of ``record_bytes``."""
    skew: KeySkew | None = None
    """Distribution of keys; None: uniform."""
    transactions: TransactionPlan | None = None
    """Transactions of a producer with ``transactional.id``; None: the defaults."""
    fields: tuple[tuple[str, str], ...] = ()
    """Fields of its records with their generators, instead of ``records``; for display only."""
    close_us: int = -1
    """Timeout of closing the producer when it stops; -1: it is not closed, and records in flight continue."""
    flush_every: int = 0
    """Number of records between flushes, which wait for all of them; 0: never."""
    callback_us: int = 0
    """Duration of a record's callback, on the sender thread."""
    serializer_fails: int = 0
    """One record in this many cannot be serialized; 0: none."""
    interceptors: tuple[Interceptor, ...] = ()
    """Interceptors, in the order in which they are called."""
    resends: bool = False
    """Whether a restarted application sends records again whose outcome the previous process did not learn."""
    partition: int = -1
    """Partition of all its records; -1: chosen by the partitioner."""
    partitioner: CustomPartitioner | None = None
    """Custom partitioner for records with keys; None: Kafka's, by the configuration."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group of ``members`` consumers; each spends ``processing_us`` on every record it reads."""

    name: str
    topics: tuple[str, ...]
    members: int = 1
    processing_us: int = 0
    config: dict[str, int | str | bool] = field(default_factory=dict)
    coordinated: bool = True
    """Whether the group's coordinator assigns the partitions, in versions with group membership (0.9).

    Otherwise they are assigned once, in ranges, and read from the beginning (``KafkaConsumer.assign``).
    """
    commit: str = "auto"
    """When its applications commit, if it is coordinated (:data:`COMMIT_MODES`)."""
    fails: int = 0
    """One record in this many cannot be processed; 0: none."""
    retries: int = 0
    """Number of retries before the record is left unprocessed."""
    retry_pause_us: int = 0
    """Pause before each retry in microseconds."""
    dead_letter: str = ""
    """Dead-letter topic for unprocessed records; empty: none. Not with ``commit: handed_off``."""
    output_topic: str = ""
    """Output topic, with one record for each processed one; empty: none.

    Not with ``dead_letter``, nor with ``commit: handed_off``.
    """
    output_config: dict[str, int | str | bool] = field(default_factory=dict)
    """Configuration of the members' output producers; ``acks`` is all by default."""
    pattern: str = ""
    """Regular expression for a coordinated group's topics, instead of ``topics``."""
    racks: tuple[str, ...] = ()
    """``client.rack`` of each member, if they differ."""
    instances: tuple[str, ...] = ()
    """``group.instance.id`` of each member, instead of one with the members' numbers; duplicates are allowed."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A whole cluster; ``kafka`` and ``mode`` choose the rules, ``manual`` turns every timer and delivery off."""

    kafka: str
    mode: str
    brokers: tuple[BrokerSpec, ...]
    topics: tuple[TopicSpec, ...]
    producers: tuple[ProducerSpec, ...] = ()
    groups: tuple[GroupSpec, ...] = ()
    network: NetworkSpec = NetworkSpec()
    config: dict[str, int | str | bool] = field(default_factory=dict)
    manual: bool = False
    controllers: int = DEFAULT_QUORUM
    """Number of dedicated KRaft controllers, one of :data:`QUORUM_SIZES`, unless ``combined`` lists any."""
    combined: tuple[int, ...] = ()
    """Brokers that are KRaft controllers too (``process.roles=broker,controller``)."""
    zookeepers: int = DEFAULT_QUORUM
    """Number of ZooKeeper servers, one of :data:`QUORUM_SIZES`."""
    writeback_us: int = WRITEBACK_US
    """Age at which the brokers' operating systems have written a dirty page to disk."""
    rules: tuple[tuple[str, bool], ...] = ()
    """Rules of the version that are switched on or off, by name."""

    @property
    def profile(self) -> Profile:
        """Rules of the cluster's version.

        Raises:
            ModelError: an unknown release line, a mode or a feature level that it does not have.
        """
        profile = Profile.of(self.kafka, self.mode)
        if self.rules:
            profile = with_rules(profile, self.rules)
        level = self.config.get(ELR_FEATURE)
        if level is not None:
            profile = with_elr(profile, int(level))
        level = self.config.get(TRANSACTION_FEATURE)
        if level is not None:
            profile = with_transactions(profile, int(level))
        return observed(profile)

    @property
    def voters(self) -> tuple[int, ...]:
        """Node ids of the KRaft quorum."""
        return self.combined or tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + self.controllers))


# Internal topics ``__consumer_offsets`` and ``__transaction_state``, and the rules by which they are created.
#
# Kafka creates one at the first request for a coordinator. A cluster here is formed with those that its clients need,
# so that they start ready; others are created as in Kafka (:mod:`cluster_model.coordinators.group.group_coordinator`).


OFFSETS: Final = "__consumer_offsets"
TRANSACTIONS: Final = "__transaction_state"
INTERNAL: Final = (OFFSETS, TRANSACTIONS)
_PREFIX: Final = {OFFSETS: "offsets.topic", TRANSACTIONS: "transaction.state.log"}
"""Prefix of the configs of each internal topic."""


def with_internal_topics(spec: ClusterSpec) -> ClusterSpec:
    """Return the spec with the internal topics that its clients use after its own topics, unless it names them.

    Up to 0.8.1 offsets were kept in ZooKeeper, and a group of 0.8.2 may use either: here the topic.
    """
    names = [topic.name for topic in spec.topics]
    if spec.manual:
        return spec
    made = [offsets_topic(spec)] if spec.groups and OFFSETS not in names else []
    transactional = any("transactional.id" in each.config for each in spec.producers)
    transactional = transactional or any(each.output_topic and each.commit == TRANSACTION for each in spec.groups)
    if transactional and TRANSACTIONS not in names:
        made.append(transactions_topic(spec))
    return replace(spec, topics=(*spec.topics, *[topic for topic in made if topic is not None]))


def offsets_topic(spec: ClusterSpec) -> TopicSpec | None:
    """Return ``__consumer_offsets`` as this version creates it, None if there are too few brokers."""
    topic = template(OFFSETS, Profile.of(spec.kafka, spec.mode), spec.config, len(spec.brokers))
    return topic if topic.replication <= len(spec.brokers) else None


def transactions_topic(spec: ClusterSpec) -> TopicSpec | None:
    """Return ``__transaction_state``, None before 0.11 and if there are too few brokers."""
    profile = Profile.of(spec.kafka, spec.mode)
    topic = template(TRANSACTIONS, profile, spec.config, len(spec.brokers))
    return topic if profile.transactions and topic.replication <= len(spec.brokers) else None


def template(topic: str, profile: Profile, config: Mapping[str, ConfigValue], brokers: int) -> TopicSpec:
    """Return an internal topic as brokers of this configuration create it, with that many live ``brokers``.

    Up to 0.10.2 ``__consumer_offsets`` got as many replicas as there were brokers, at most the configured number; since
    0.11 that number is required (KIP-115).
    """
    broker = EffectiveConfig("broker", profile.number, config)
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
    """Return the configured number of partitions of each internal topic."""
    broker = EffectiveConfig("broker", profile.number, config)
    return {topic: broker.number(f"{prefix}.num.partitions") for topic, prefix in _PREFIX.items()}


@lru_cache(maxsize=4_096)
def coordinator_partition(group: str, partitions: int) -> int:
    """Return a group's partition of ``__consumer_offsets`` (``GroupMetadataManager.partitionFor``).

    The partition of a transactional id in ``__transaction_state`` is found the same way
    (``TransactionStateManager.partitionFor``).
    """
    return absolute(java_hash(group)) % partitions


def java_hash(text: str) -> int:
    """Return Java's ``String.hashCode``: a signed 32-bit integer over the UTF-16 code units."""
    number = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        number = (31 * number + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


def absolute(number: int) -> int:
    """Return Kafka's ``Utils.abs`` of an int: the lowest one, which has no counterpart, counts as 0."""
    return 0 if number == -(1 << 31) else abs(number)
