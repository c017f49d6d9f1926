"""Definitions of configurations (every ``ConfigDef``), compared with the model's tables of keys and defaults."""

import re
from collections.abc import Iterator
from typing import Any, Final

from cluster_model.protocol.config_defaults import DEFAULTS, ConfigHistory, DefaultScope
from cluster_model.protocol.config_defs import SCOPES, ConfigKey, ConfigValue
from cluster_model.protocol.releases import ReleaseRule, Version, parse_version
from cluster_model.protocol.versions import ELR_FEATURE, FLAG_BY_NAME, TRANSACTION_FEATURE
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject

NOT_IN_CONFIG_DEFS: Final = {"client.version", ELR_FEATURE, TRANSACTION_FEATURE}
"""Of the model alone, and levels of features (``Feature``)."""
TYPES: Final = {
    "int": ("SHORT", "INT", "LONG"), "bool": ("BOOLEAN",), "ratio": ("DOUBLE",), "str": ("STRING", "LIST", "CLASS"),
}  # fmt: skip
"""Type of the model → types of Kafka that it stands for."""
CONSUMER: Final = ReleaseRule("consumer", "the Java client is the consumer: 0.8.2 has the one in core", (0, 9, 0))
WIDER: Final = " wider than Kafka's"
_BITS: Final = {"SHORT": 15, "INT": 31, "LONG": 63}
_PACKAGES: Final = (
    "org.apache.kafka.clients.consumer.", "org.apache.kafka.clients.producer.internals.",
    "org.apache.kafka.clients.producer.", "org.apache.kafka.coordinator.group.assignor.",
)  # fmt: skip
_SERVER_ASSIGNORS: Final = {"UniformAssignor": "uniform", "RangeAssignor": "range"}


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return type, default and range of every configuration of the model, of either the model or the release."""
    number = parse_version(release)
    scopes = {item.partition("/")[0] for item in kafka}
    found: dict[str, Any] = {}
    if not CONSUMER.holds(number):
        scopes.discard("consumer")
    for scope, entries in DEFAULTS.items():
        if scope in scopes:
            for name, entry in entries.items():
                if name not in NOT_IN_CONFIG_DEFS:
                    found.update(_of_key(scope, name, entry, number, kafka))
    return found


def _of_key(
    scope: DefaultScope, name: str, entry: ConfigHistory, number: Version, kafka: Answers
) -> Iterator[tuple[str, Any]]:
    item = next((f"{place}/{name}" for place in (scope, f"dynamic {scope}") if f"{place}/{name}/type" in kafka), None)
    if item is None:
        if entry.exists(number):
            yield f"{scope}/{name}/default", _text(entry.default(number))
        return
    theirs: str = kafka[f"{item}/default"]
    if not entry.exists(number):
        yield f"{item}/default", None
        return
    ours = _text(entry.default(number))
    yield f"{item}/default", theirs if ours == _short(name, theirs) else ours
    key = SCOPES[scope].get(name) if scope != "admin" else None
    if key is not None:
        type_: str = kafka[f"{item}/type"]
        yield f"{item}/type", type_ if type_ in TYPES[key.type] else key.type
        text: str = kafka[f"{item}/range"]
        if key.type == "int" and type_ in _BITS:
            yield f"{item}/range", _compared_range(key, type_, text)
        elif key.choices and "..." not in text and text.startswith("["):
            choices = _choices(key, number)
            yield f"{item}/range", text if choices == set(text[1:-1].replace(" ", "").split(",")) else sorted(choices)


def _compared_range(key: ConfigKey, type_: str, text: str) -> str:
    """Return Kafka's range if the model's is the same, else the model's, marked where it is wider."""
    low, high = _limits(type_, text)
    if (key.low, key.high) == (low, high):
        return text
    return f"[{key.low},...,{key.high}]{WIDER if key.low < low or key.high > high else ''}"


def _choices(key: ConfigKey, number: Version) -> set[str]:
    """Return the values that a list of choices is made of; which codecs a release has is checked elsewhere."""
    choices = {each for choice in key.choices for each in choice.split(",")}
    if key.name == "acks":
        choices.add("-1")
    return choices if FLAG_BY_NAME["zstd"].holds(number) else choices - {"zstd"}


def _text(value: ConfigValue | None) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _short(name: str, text: str) -> str:
    """Return a default as the model has it: classes without their packages, server-side assignors by their names."""
    found = []
    for each in text.split(","):
        package = next((prefix for prefix in _PACKAGES if each.startswith(prefix)), "")
        short = each.removeprefix(package)
        found.append(_SERVER_ASSIGNORS.get(short, short) if name == "group.consumer.assignors" else short)
    return ",".join(found)


def _limits(type_: str, text: str) -> tuple[int, int]:
    """Return the least and the greatest value of a type and a validator such as ``[1,...]``."""
    highest = 2 ** _BITS[type_] - 1
    parts = re.fullmatch(r"\[(-?\d+)?,?\.\.\.,?(-?\d+)?\]", text)
    low, high = parts.groups() if parts else (None, None)
    return int(low) if low else -highest - 1, int(high) if high else highest


def _narrow(reason: str, *names: str) -> tuple[Exemption, ...]:
    return tuple(Exemption(f"*/{name}/range", reason) for name in names)


_STATED: Final = (
    *_narrow(
        "a LONG in some releases only: the model takes at most Integer.MAX_VALUE, 24 days, as the others do",
        "linger.ms", "auto.commit.interval.ms",
    ),
    *_narrow(
        "Kafka also takes 0 or less, which waits or allows nothing at all: the model takes 1 or more",
        "metadata.max.age.ms", "fetch.max.wait.ms", "replica.lag.time.max.ms", "replica.fetch.wait.max.ms",
        "replica.fetch.max.bytes", "replica.fetch.response.max.bytes", "replica.fetch.backoff.ms",
        "replica.socket.timeout.ms", "replica.high.watermark.checkpoint.interval.ms", "zookeeper.session.timeout.ms",
        "log.roll.ms", "log.flush.scheduler.interval.ms", "log.flush.offset.checkpoint.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms", "default.replication.factor", "controller.socket.timeout.ms",
        "request.timeout.ms", "max.partition.fetch.bytes", "session.timeout.ms", "heartbeat.interval.ms",
        "*.replication.throttled.rate", "fetch.max.bytes", "transaction.timeout.ms", "delivery.timeout.ms",
        "log.cleaner.max.compaction.lag.ms", "socket.connection.setup.timeout.ms",
        "socket.connection.setup.timeout.max.ms", "broker.heartbeat.interval.ms", "broker.session.timeout.ms",
        "controller.quorum.election.timeout.ms", "controller.quorum.fetch.timeout.ms",
        "controller.quorum.request.timeout.ms", "initial.broker.registration.timeout.ms", "flush.messages",
        "segment.ms", "leader.imbalance.check.interval.seconds",
    ),
    *_narrow(
        "Kafka has no lower bound here: the model takes 0 or more, and -1 where it means no limit",
        "replica.fetch.min.bytes", "log.retention.hours", "log.retention.minutes",
        "log.retention.ms", "log.retention.bytes", "log.flush.interval.ms", "log.roll.jitter.ms",
        "log.cleaner.delete.retention.ms", "offset.metadata.max.bytes", "group.m??.session.timeout.ms",
        "leader.imbalance.per.broker.percentage", "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms", "retention.bytes", "retention.ms",
        "log.cleaner.min.compaction.lag.ms", "log.message.timestamp.difference.max.ms",
        "group.initial.rebalance.delay.ms", "controller.quorum.election.backoff.max.ms",
        "controller.quorum.retry.backoff.ms", "controller.quorum.append.linger.ms",
    ),
    *_narrow(
        "limits of the model's size", "num.replica.fetchers", "offsets.topic.num.partitions",
        "offsets.topic.replication.factor", "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
    ),
    *_narrow(
        "Kafka checks it against group.consumer.max.assignment.interval.ms, which is 15000",
        "group.consumer.assignment.interval.ms",
    ),
    *_narrow("an index has room for an entry of each kind", "log.index.size.max.bytes", "segment.index.bytes"),
    *_narrow("the model takes 1 MiB or more, as Kafka's cleaner does", "log.cleaner.dedupe.buffer.size"),
    *_narrow(
        "the model takes small segments in every release, so that a short session has several: with Kafka this is "
        "internal.segment.bytes since 4.0", "log.segment.bytes", "segment.bytes",
    ),
)  # fmt: skip


CONFIG_DEFINITIONS: Final = Subject(
    "config_definitions",
    "ConfigDefinitions",
    "ConfigDef of brokers, topics, producers, consumers, admin clients: type, default, range",
    model_answers,
    jars=SERVER,
    stated=_STATED,
)
