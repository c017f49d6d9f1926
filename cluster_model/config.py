"""Kafka's own configuration keys that the model honours: types, ranges, and defaults by version.

Only keys that change something here are listed: an unknown or misspelt key is refused, never ignored.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cluster_model.errors import ModelError
from cluster_model.profiles import Profile

ConfigValue = int | str | bool
Scope = Literal["broker", "topic", "producer", "consumer"]

LONG_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration: its type, the range of an ``int``, the choices of a ``str``, and what it does."""

    name: str
    type: Literal["int", "bool", "str"]
    doc: str
    low: int = 0
    high: int = INT_MAX
    choices: tuple[str, ...] = ()


def _table(*keys: ConfigKey) -> dict[str, ConfigKey]:
    return {key.name: key for key in keys}


_MIN_ISR: Final = ConfigKey("min.insync.replicas", "int", "In-sync replicas that acks=all needs.", 1)
_UNCLEAN: Final = ConfigKey("unclean.leader.election.enable", "bool", "Whether a replica outside the ISR may lead.")

BROKER: Final = _table(
    ConfigKey("replica.lag.time.max.ms", "int", "How long a follower may be behind before it leaves the ISR.", 1),
    ConfigKey("replica.lag.max.messages", "int", "How many records a follower may be behind (0.8.x only).", 1),
    ConfigKey("replica.fetch.wait.max.ms", "int", "How long a leader parks a follower's fetch.", 1),
    ConfigKey("replica.fetch.max.bytes", "int", "Bytes a follower's fetch takes from a partition.", 1),
    ConfigKey("replica.fetch.backoff.ms", "int", "Pause of a follower after a fetch error.", 1),
    ConfigKey("replica.socket.timeout.ms", "int", "How long a follower waits for an answer.", 1),
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", "int", "How often the HW is written to disk.", 1),
    ConfigKey("broker.heartbeat.interval.ms", "int", "How often a broker tells the controller it lives (KRaft).", 1),
    ConfigKey("broker.session.timeout.ms", "int", "Silence after which the controller fences a broker (KRaft).", 1),
    ConfigKey("zookeeper.session.timeout.ms", "int", "Silence after which a broker's session expires (ZooKeeper).", 1),
    ConfigKey("log.flush.interval.messages", "int", "Records appended before the log is forced to disk.", 1, LONG_MAX),
    ConfigKey("default.replication.factor", "int", "Replicas of a topic that names no number.", 1),
    _MIN_ISR,
    _UNCLEAN,
)
"""Broker configurations; the last two are also the default of every topic."""

TOPIC: Final = _table(
    _MIN_ISR,
    _UNCLEAN,
    ConfigKey("flush.messages", "int", "Records appended before this topic's log is forced to disk.", 1, LONG_MAX),
)
"""Topic configurations."""

PRODUCER: Final = _table(
    ConfigKey("acks", "str", "Who must have the record before it counts as sent.", choices=("0", "1", "all")),
    ConfigKey("retries", "int", "How often a failed request is tried again."),
    ConfigKey("retry.backoff.ms", "int", "Pause before a retry."),
    ConfigKey("retry.backoff.max.ms", "int", "Longest pause before a retry, where pauses grow (3.7 and later)."),
    ConfigKey("request.timeout.ms", "int", "How long to wait for an answer.", 1),
    ConfigKey("delivery.timeout.ms", "int", "Time a record has to be acknowledged, retries included.", 1),
    ConfigKey("max.in.flight.requests.per.connection", "int", "Unanswered requests to one broker.", 1),
    ConfigKey("linger.ms", "int", "How long a batch waits for company."),
    ConfigKey("batch.size", "int", "Bytes a batch may grow to."),
    ConfigKey("enable.idempotence", "bool", "Whether the broker removes duplicates of retried batches."),
    ConfigKey("metadata.max.age.ms", "int", "Age at which metadata is asked for again.", 1),
)
"""Producer configurations."""

CONSUMER: Final = _table(
    ConfigKey("fetch.max.wait.ms", "int", "How long a broker parks an empty fetch.", 1),
    ConfigKey("max.partition.fetch.bytes", "int", "Bytes a fetch takes from a partition.", 1),
    ConfigKey("max.poll.records", "int", "Records handed out by one poll.", 1),
    ConfigKey("auto.offset.reset", "str", "Where to go when the position is gone.", choices=("earliest", "latest")),
    ConfigKey("request.timeout.ms", "int", "How long to wait for an answer.", 1),
    ConfigKey("retry.backoff.ms", "int", "Pause after a fetch error."),
    ConfigKey("metadata.max.age.ms", "int", "Age at which metadata is asked for again.", 1),
)
"""Consumer configurations."""

SCOPES: Final[dict[Scope, dict[str, ConfigKey]]] = {
    "broker": BROKER,
    "topic": TOPIC,
    "producer": PRODUCER,
    "consumer": CONSUMER,
}


def check(scope: Scope, name: str, value: object) -> ConfigValue:
    """The value of a configuration in its own type.

    Raises:
        ModelError: an unknown name (the nearest known one is told), a wrong type, or a value out of range.
    """
    table = SCOPES[scope]
    key = table.get(name)
    if key is None:
        elsewhere = [other for other, names in SCOPES.items() if name in names]
        near = difflib.get_close_matches(name, table, n=1)
        hint = f"; it is a {elsewhere[0]} configuration" if elsewhere else f"; did you mean {near[0]}?" if near else ""
        raise ModelError(f"unknown {scope} configuration {name!r}{hint}")
    if key.type == "bool":
        return _bool(key, value)
    if key.type == "str":
        return _choice(key, value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ModelError(f"{name} takes a whole number, found {value!r}")
    if not key.low <= value <= key.high:
        raise ModelError(f"{name} takes {key.low} to {key.high}, found {value}")
    return value


def _bool(key: ConfigKey, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise ModelError(f"{key.name} takes true or false, found {value!r}")


def _choice(key: ConfigKey, value: object) -> str:
    text = "all" if key.name == "acks" and str(value) == "-1" else str(value)
    if isinstance(value, bool) or text not in key.choices:
        raise ModelError(f"{key.name} takes {', '.join(key.choices)}, found {value!r}")
    return text


MS: Final = 1_000
"""Microseconds in the millisecond that Kafka's configurations count in."""


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """A broker's settings in model units, with the defaults of the version."""

    lag_time_us: int
    lag_messages: int
    fetch_wait_us: int
    fetch_bytes: int
    fetch_backoff_us: int
    socket_timeout_us: int
    hw_checkpoint_us: int
    heartbeat_us: int
    session_us: int
    shrink_period_us: int

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "BrokerConfig":
        """Settings for a profile; ``config`` overrides by Kafka's names."""
        since_25 = profile.number >= (2, 5, 0)

        def number(name: str, default: int) -> int:
            return int(config.get(name, default))

        lag_us = number("replica.lag.time.max.ms", 30_000 if since_25 else 10_000) * MS
        if profile.kraft:
            session_us = number("broker.session.timeout.ms", 9_000) * MS
            heartbeat_us = number("broker.heartbeat.interval.ms", 2_000) * MS
        else:
            session_us = number("zookeeper.session.timeout.ms", 18_000 if since_25 else 6_000) * MS
            heartbeat_us = max(1, session_us // 3)
        return BrokerConfig(
            lag_time_us=lag_us,
            lag_messages=number("replica.lag.max.messages", 4_000),
            fetch_wait_us=number("replica.fetch.wait.max.ms", 500) * MS,
            fetch_bytes=number("replica.fetch.max.bytes", 1_048_576),
            fetch_backoff_us=number("replica.fetch.backoff.ms", 1_000) * MS,
            socket_timeout_us=number("replica.socket.timeout.ms", 30_000) * MS,
            hw_checkpoint_us=number("replica.high.watermark.checkpoint.interval.ms", 5_000) * MS,
            heartbeat_us=heartbeat_us,
            session_us=session_us,
            shrink_period_us=lag_us // 2 if profile.shrink_half else lag_us,
        )


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic's settings, the broker's defaults beneath them."""

    min_isr: int
    """As configured."""
    unclean: bool
    flush_messages: int

    @staticmethod
    def of(profile: Profile, broker: Mapping[str, ConfigValue], topic: Mapping[str, ConfigValue]) -> "TopicConfig":
        """Settings of a topic: its own, else the broker's, else the version's."""
        merged = {**broker, **topic}
        flush = topic.get("flush.messages", broker.get("log.flush.interval.messages", LONG_MAX))
        return TopicConfig(
            min_isr=int(merged.get("min.insync.replicas", 1)),
            unclean=bool(merged.get("unclean.leader.election.enable", not profile.unclean_default_false)),
            flush_messages=int(flush),
        )

    def effective_min_isr(self, profile: Profile, replicas: int) -> int:
        """What acks=all needs: since 3.7 at most the number of replicas (``Partition.effectiveMinIsr``)."""
        return min(self.min_isr, replicas) if profile.effective_min_isr else self.min_isr


@dataclass(frozen=True, slots=True)
class ProducerConfig:
    """A producer's settings in model units; ``acks`` is -1 for all."""

    acks: int
    retries: int
    backoff_us: int
    backoff_max_us: int
    request_timeout_us: int
    delivery_timeout_us: int
    max_in_flight: int
    linger_us: int
    batch_bytes: int
    idempotent: bool
    metadata_age_us: int

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue]) -> "ProducerConfig":
        """Settings for a client of the cluster's own version.

        Raises:
            ModelError: idempotence asked for together with what it rules out (``ProducerConfig`` of Kafka refuses too).
        """
        acks_text = str(config.get("acks", "all" if profile.number >= (3, 0, 0) else "1"))
        acks = -1 if acks_text == "all" else int(acks_text)
        retries = int(config.get("retries", INT_MAX if profile.number >= (2, 1, 0) else 0))
        in_flight = int(config.get("max.in.flight.requests.per.connection", 5))
        backoff_us = int(config.get("retry.backoff.ms", 100)) * MS
        grows = profile.number >= (3, 7, 0)
        return ProducerConfig(
            acks=acks,
            retries=retries,
            backoff_us=backoff_us,
            backoff_max_us=int(config.get("retry.backoff.max.ms", 1_000)) * MS if grows else backoff_us,
            request_timeout_us=int(config.get("request.timeout.ms", 30_000)) * MS,
            delivery_timeout_us=int(config.get("delivery.timeout.ms", 120_000)) * MS,
            max_in_flight=in_flight,
            linger_us=int(config.get("linger.ms", 5 if profile.number >= (4, 0, 0) else 0)) * MS,
            batch_bytes=int(config.get("batch.size", 16_384)),
            idempotent=_idempotent(profile, config, acks, retries, in_flight),
            metadata_age_us=int(config.get("metadata.max.age.ms", 300_000)) * MS,
        )


def _idempotent(profile: Profile, config: Mapping[str, ConfigValue], acks: int, retries: int, in_flight: int) -> bool:
    """Idempotence by ``ProducerConfig.postProcessAndValidateIdempotenceConfigs``: a default gives way, a wish does not.

    It exists since 0.11 (KIP-98) and is the default since 3.0: a release line stands for its last patch, and
    KAFKA-13598, which kept it off at first, was mended in 3.0.1 and 3.1.1.
    """
    asked = config.get("enable.idempotence")
    conflict = (
        "acks must be all" if acks != -1
        else "retries must be above 0" if retries == 0
        else "max.in.flight.requests.per.connection must be at most 5" if in_flight > 5
        else ""
    )  # fmt: skip
    if asked is True:
        if profile.number < (0, 11, 0):
            raise ModelError(f"enable.idempotence exists since Kafka 0.11, this is {profile.version}")
        if conflict:
            raise ModelError(f"enable.idempotence is true, so {conflict}")
        return True
    return asked is None and profile.number >= (3, 0, 0) and not conflict


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """A consumer's settings in model units."""

    fetch_wait_us: int
    fetch_bytes: int
    max_poll_records: int
    reset_to_earliest: bool
    request_timeout_us: int
    backoff_us: int
    metadata_age_us: int

    @staticmethod
    def of(config: Mapping[str, ConfigValue]) -> "ConsumerConfig":
        """Settings of a consumer, Kafka's defaults beneath."""
        return ConsumerConfig(
            fetch_wait_us=int(config.get("fetch.max.wait.ms", 500)) * MS,
            fetch_bytes=int(config.get("max.partition.fetch.bytes", 1_048_576)),
            max_poll_records=int(config.get("max.poll.records", 500)),
            reset_to_earliest=config.get("auto.offset.reset", "latest") == "earliest",
            request_timeout_us=int(config.get("request.timeout.ms", 30_000)) * MS,
            backoff_us=int(config.get("retry.backoff.ms", 100)) * MS,
            metadata_age_us=int(config.get("metadata.max.age.ms", 300_000)) * MS,
        )
