"""What to build, as plain, checked data: a cluster, its topics, Kafka's own among them, and clients with their load."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from cluster_model.protocol.config_defaults import Configured
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import WRITEBACK_US
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE, Profile, with_elr, with_transactions

# Settings of an application: how it handles its records, and when it commits them.


AUTO: Final = "auto"
BEFORE: Final = "before"
ASYNC_RETRY: Final = "async_retry"
HANDED_OFF: Final = "handed_off"
TRANSACTION: Final = "transaction"
COMMIT_MODES: Final = {
    AUTO: "enable.auto.commit: inside of polls, what earlier ones handed out",
    "sync": "commitSync when the records of a poll have been processed",
    "async": "commitAsync then",
    ASYNC_RETRY: "commitAsync then, and once more behind the next one where it failed: offsets may go back",
    BEFORE: "commitSync before they are processed: at most once",
    HANDED_OFF: "enable.auto.commit, while another thread processes: what is committed may not have been processed",
    "none": "never",
    TRANSACTION: "in the transaction in which what came out of the records is written: exactly once",
}
"""How a group commits, with what that means."""

Failing = tuple[str, int, int]
"""(partition, first offset, how many) of records that the handler cannot process."""


@dataclass(frozen=True, slots=True)
class Application:
    """``processing_us`` is spent on every record; ``commit`` is one of :data:`COMMIT_MODES`.

    The handler fails for the last of every ``fails`` offsets of a partition (0: never), whoever reads it. It is tried
    ``retries`` times more, each after ``pause_us``, without a poll meanwhile; then the record is left unprocessed.
    """

    processing_us: int = 0
    commit: str = AUTO
    fails: int = 0
    retries: int = 0
    pause_us: int = 0

    @property
    def commits_before(self) -> bool:
        """Whether a crash loses what was being processed, rather than have it processed again."""
        return self.commit == BEFORE

    @property
    def hands_off(self) -> bool:
        """Whether another thread processes the records, one poll's after the other's, while polls go on."""
        return self.commit == HANDED_OFF

    @property
    def commits_async(self) -> bool:
        """Whether it does not wait for its commits."""
        return self.commit in ("async", ASYNC_RETRY)

    @property
    def auto_commits(self) -> bool:
        """What ``enable.auto.commit`` is unless it is given."""
        return self.commit in (AUTO, HANDED_OFF)

    def failing(self, partition: str, start: int, last: int) -> Failing | None:
        """Which of the records from ``start`` to ``last`` the handler cannot process."""
        if not self.fails:
            return None
        first = start + (self.fails - 1 - start) % self.fails
        return (partition, first, (last - first) // self.fails + 1) if first <= last else None


# The load of a producer, as plain, checked data.


HOUR_US: Final = 3_600_000_000
RATE_UNITS: Final = 1_000_000
"""Rates are whole numbers of millionths of a record per hour: every rate that can be written is one exactly."""
RECORD: Final = HOUR_US * RATE_UNITS
"""One record, in rate units times microseconds."""


class Stretch(NamedTuple):
    """A stretch of time in which the rate goes evenly from ``start`` to ``end`` (in :data:`RATE_UNITS`).

    ``duration_us`` -1: for ever, and ``start`` and ``end`` are the same.
    """

    duration_us: int
    start: int
    end: int


class RateProfile(NamedTuple):
    """A rate that changes with time: stretches, one after the other, counted from the producer's start.

    ``repeats``: after the last one the first one comes again; no stretch is endless then. Otherwise the last one is.
    """

    stretches: tuple[Stretch, ...]
    repeats: bool = False


def constant(rate: int) -> RateProfile:
    """One rate for ever."""
    return RateProfile((Stretch(-1, rate, rate),))


class ClosedLoop(NamedTuple):
    """At most ``outstanding`` records are not settled; each batch is followed by the next after ``think_us``."""

    outstanding: int
    think_us: int = 0


class UniformSizes(NamedTuple):
    """Records of ``low`` to ``high`` bytes, all alike often."""

    low: int
    high: int


class TwoSizes(NamedTuple):
    """Records of ``small`` bytes, and ``large_ppm`` in a million of ``large`` bytes."""

    small: int
    large: int
    large_ppm: int


class SpreadSizes(NamedTuple):
    """Sizes whose logarithm is normal: half are below ``median`` bytes, one in a hundred is above ``p99``."""

    median: int
    p99: int


Sizes = UniformSizes | TwoSizes | SpreadSizes
"""How the sizes of records are drawn."""


class ZipfKeys(NamedTuple):
    """The second key is had by 2^s times fewer records than the first, the third by 3^s times fewer, and so on.

    ``exponent`` is s in thousandths.
    """

    exponent: int


class HotKeys(NamedTuple):
    """``share_ppm`` in a million records have the first key, the others any of the rest."""

    share_ppm: int


KeySkew = ZipfKeys | HotKeys
"""How keys are drawn that are not all alike."""


class OwnPartitioner(NamedTuple):
    """An application's own partitioner: some keys go to a partition each."""

    keys: tuple[tuple[int, int], ...]
    """(N of ``key-N``, partition)."""
    others: int = -1
    """Partition of all other keys; -1: each goes by Kafka's hash."""


MAX_BROKER: Final = 999
"""Largest id of a broker."""
FIRST_CONTROLLER: Final = 1_001
"""Node id of the first dedicated KRaft controller; brokers have smaller ones."""
FIRST_ZOOKEEPER: Final = 1_501
"""Node id of the first ZooKeeper server."""
DEFAULT_QUORUM: Final = 3
SEND_MODES: Final = ("async", "sync", "fire_and_forget")
"""How an application sends: with callbacks, one record after the other (``send().get()``), without looking back."""
QUORUM_SIZES: Final = (1, 3, 5)
"""How many voters a quorum may have here."""


@dataclass(frozen=True, slots=True)
class BrokerSpec:
    """A broker's id (from 1) and rack (empty for none)."""

    id: int
    rack: str = ""


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """Every link's one-way latency and the most that jitter adds to it."""

    latency_us: int = 1_000
    jitter_us: int = 200


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic. ``placement`` gives each partition's replicas in assignment order; empty: spread by the rules."""

    name: str
    partitions: int = 1
    replication: int = 3
    placement: tuple[tuple[int, ...], ...] = ()
    config: dict[str, int | str | bool] = field(default_factory=dict)


RIVAL: Final = ".rival"
"""Behind a producer's name: a second process of it."""


class TransactionPlan(NamedTuple):
    """When an application ends its transactions; with neither ``records`` nor ``every_us``, every 100 ms."""

    records: int = 0
    """After so many records; 0: they do not matter."""
    every_us: int = 0
    """So long after it began; 0: time does not matter."""
    abort: int = 0
    """One in so many is aborted on purpose; 0: none."""
    hang: int = 0
    """This one, counted from 1, is left open for good, and no more records are made; 0: none."""


@dataclass(frozen=True, slots=True)
class Interceptor:
    """One of a producer's interceptors: it adds ``adds`` bytes of headers to a record, unless it throws.

    It does so at one record in ``fails`` of each partition; 0: never.
    """

    name: str
    adds: int = 0
    fails: int = 0


@dataclass(frozen=True, slots=True)
class ProducerSpec:
    """A producer that makes ``batch`` records every ``interval_us``; ``records`` names what they hold.

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
    """-1: goes on until the settling begins."""
    config: dict[str, int | str | bool] = field(default_factory=dict)
    keys: int = 0
    """Distinct keys of its records, ``key-0`` and so on; 0: records without keys."""
    tombstones: int = 0
    """One record in so many deletes its key; 0: none."""
    send: str = "async"
    """One of :data:`SEND_MODES`."""
    profile: RateProfile | None = None
    """A rate that changes with time, or that no whole interval gives; instead of ``interval_us``."""
    loop: ClosedLoop | None = None
    """None: an open loop, at the rate. Otherwise the rate means nothing."""
    sizes: Sizes | None = None
    """Sizes that are drawn, instead of ``record_bytes``."""
    skew: KeySkew | None = None
    """None: all keys are alike often."""
    transactions: TransactionPlan | None = None
    """Of a producer whose configuration has ``transactional.id``; None: all as usual."""
    fields: tuple[tuple[str, str], ...] = ()
    """Fields of its records with what each is made of, instead of ``records``; for whoever looks at them."""
    close_us: int = -1
    """When it stops it closes its producer, and gives it so long; -1: what is on its way then goes on."""
    flush_every: int = 0
    """It flushes after so many records, and waits for all of them; 0: never."""
    callback_us: int = 0
    """What the callback of a record takes, on the thread that sends."""
    serializer_fails: int = 0
    """One record in so many cannot be serialized; 0: all can."""
    interceptors: tuple[Interceptor, ...] = ()
    """In the order in which they see a record."""
    resends: bool = False
    """Whether a restarted application sends again what the process before it was not told the outcome of."""
    partition: int = -1
    """The partition that all its records name; -1: they leave it to the partitioner."""
    partitioner: OwnPartitioner | None = None
    """The application's own, for records with keys; None: Kafka's, by the configuration."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group of ``members`` consumers; each spends ``processing_us`` on every record it reads."""

    name: str
    topics: tuple[str, ...]
    members: int = 1
    processing_us: int = 0
    config: dict[str, int | str | bool] = field(default_factory=dict)
    coordinated: bool = True
    """Whether the group's coordinator shares the partitions out, in versions with group membership (0.9); else they
    are given once, in ranges, and read from the beginning (``KafkaConsumer.assign``)."""
    commit: str = "auto"
    """When its applications commit, where it is coordinated (:data:`COMMIT_MODES`)."""
    fails: int = 0
    """The handler cannot process one record in so many; 0: it can process all."""
    retries: int = 0
    """How often it is tried again before the record is left unprocessed ..."""
    retry_pause_us: int = 0
    """... and how long after."""
    dead_letter: str = ""
    """The topic that such a record is sent to instead; empty: none. Not where ``commit`` hands off."""
    to: str = ""
    """The topic that a record is written to for each that was processed; empty: none. Not with ``dead_letter``, nor
    where ``commit`` hands off."""
    to_config: dict[str, int | str | bool] = field(default_factory=dict)
    """Configuration of the members' producers for it; ``acks`` is all unless given."""
    pattern: str = ""
    """A regular expression: a coordinated group's topics are all that match it, instead of ``topics``."""
    racks: tuple[str, ...] = ()
    """``client.rack`` of each member, where they differ."""
    instances: tuple[str, ...] = ()
    """``group.instance.id`` of each member, instead of one with the members' numbers; two may be the same."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A whole cluster. ``kafka`` and ``mode`` choose the rules, ``manual`` turns every timer and delivery off."""

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
    """KRaft controllers with processes of their own, one of :data:`QUORUM_SIZES`, unless ``combined`` names any."""
    combined: tuple[int, ...] = ()
    """Brokers that are KRaft controllers too (``process.roles=broker,controller``)."""
    zookeepers: int = DEFAULT_QUORUM
    """Servers of the ZooKeeper ensemble, one of :data:`QUORUM_SIZES`."""
    writeback_us: int = WRITEBACK_US
    """Age at which the brokers' operating systems have written a dirty page to disk."""

    @property
    def profile(self) -> Profile:
        """The rules that the cluster goes by.

        Raises:
            ModelError: an unknown release line, a mode or a feature level that it does not have.
        """
        profile = Profile.of(self.kafka, self.mode)
        level = self.config.get(ELR_FEATURE)
        if level is not None:
            profile = with_elr(profile, int(level))
        level = self.config.get(TRANSACTION_FEATURE)
        return profile if level is None else with_transactions(profile, int(level))

    @property
    def voters(self) -> tuple[int, ...]:
        """Node ids of the KRaft quorum."""
        return self.combined or tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + self.controllers))


# Kafka's own topics: ``__consumer_offsets`` and ``__transaction_state``, and the rules by which they are made.
#
# Kafka makes one when a coordinator is first looked for. A cluster here is formed with those that its clients need, so
# that they begin ready; what is missing nevertheless is made as in Kafka
# (:mod:`cluster_model.coordinators.group.group_coordinator`).


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
