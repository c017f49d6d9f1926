"""Settings of a playbook as Kafka's configurations and as settings of the Java clients, or the reason why not.

Servers get the configurations of the playbook and, where it says nothing, fewer threads and internal partitions than
Kafka's defaults (:data:`SMALL`): four servers share a machine. Clients get the playbook's configurations alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from cluster_model.client_factory import range_assignment
from cluster_model.protocol.config_defs import PARTITIONERS, ConfigValue
from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE
from cluster_model.spec import (
    HOUR_US,
    OFFSETS,
    RATE_UNITS,
    TRANSACTIONS,
    ClusterSpec,
    GroupSpec,
    ProducerSpec,
    TransactionPlan,
)

FEATURES: Final = (ELR_FEATURE, TRANSACTION_FEATURE)
"""Feature levels that a playbook writes as configurations; a real cluster is formatted with them."""

SMALL: Final[Mapping[str, str]] = {
    "num.network.threads": "2",
    "num.io.threads": "3",
    "background.threads": "2",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.coordinator.threads": "1",
    "log.cleaner.dedupe.buffer.size": str(16 << 20),
}
"""Configurations of servers that differ from Kafka's defaults unless the playbook sets them."""
MODELLED: Final = ("num.io.threads", "offsets.topic.num.partitions", "transaction.state.log.num.partitions")
"""Those of :data:`SMALL` that the model has as well: a run states them as deviations from its playbook."""

_INTERNAL: Final = {OFFSETS: "offsets.topic.num.partitions", TRANSACTIONS: "transaction.state.log.num.partitions"}

CLIENT_VERSION: Final = "client.version"
_ASSIGNORS: Final = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_CONSUMER_PACKAGE: Final = "org.apache.kafka.clients.consumer."
_COMMITS: Final = ("auto", "sync", "async", "before", "none")
"""Commit modes that the Java client program has."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Part of a playbook that cannot be run on real brokers: its line (0: no single one), what, and the reason."""

    line: int
    what: str
    reason: str

    def text(self, path: str) -> str:
        """Return the refusal as one line of an error message."""
        return f"{path}:{self.line}: {self.what}: {self.reason}" if self.line else f"{path}: {self.what}: {self.reason}"


def config_text(value: ConfigValue) -> str:
    """Return a configuration's value as in a properties file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def config_texts(config: Mapping[str, ConfigValue]) -> dict[str, str]:
    """Return configurations as in a properties file."""
    return {name: config_text(value) for name, value in config.items()}


# Servers.


def with_small_cluster(spec: ClusterSpec) -> ClusterSpec:
    """Return the spec with those configurations of :data:`SMALL` that the model has, unless it sets them.

    An internal topic of the playbook's own has as many partitions as it says: coordinators count them at their start.
    """
    sizes = {
        _INTERNAL[topic.name]: len(topic.placement) or topic.partitions
        for topic in spec.topics
        if topic.name in _INTERNAL
    }
    added = {name: sizes.get(name, int(SMALL[name])) for name in MODELLED if name in sizes or name not in spec.config}
    return replace(spec, config={**spec.config, **added})


def server_config(spec: ClusterSpec) -> dict[str, str]:
    """Return the configurations of every broker and controller."""
    given = {name: value for name, value in spec.config.items() if name not in FEATURES}
    return {**SMALL, **config_texts(given)}


def features(spec: ClusterSpec) -> dict[str, int]:
    """Return the feature levels that the playbook asks for."""
    return {name: int(spec.config[name]) for name in FEATURES if name in spec.config}


# Producers.


def producer_settings(spec: ProducerSpec, bootstrap: str, seed: int) -> dict[str, str]:
    """Return the settings of a producer for the Java program."""
    config = {"bootstrap.servers": bootstrap, "client.id": spec.name, **_client_config(spec.config)}
    if "partitioner.class" in config:
        config["partitioner.class"] = _partitioner(config["partitioner.class"])
    interval_ns = _interval_ns(spec)
    found: dict[str, int | str] = {
        "kind": "producer",
        "name": spec.name,
        "topic": spec.topic,
        "interval_ns": interval_ns or 0,
        "batch": spec.batch,
        "bytes": spec.record_bytes,
        "start_us": spec.start_us,
        "stop_us": spec.stop_us,
        "keys": spec.keys,
        "tombstones": spec.tombstones,
        "partition": spec.partition,
        "send": spec.send,
        "flush_every": spec.flush_every,
        "seed": seed,
    }
    if spec.loop is not None:
        found |= {"loop.outstanding": spec.loop.outstanding, "loop.think_us": spec.loop.think_us}
    if spec.close_us >= 0:
        found |= {"closes": "true", "close_ms": spec.close_us // 1_000}
    found |= {
        f"transaction.{name}": value for name, value in (spec.transactions or TransactionPlan())._asdict().items()
    }
    return {name: str(value) for name, value in found.items()} | {
        f"config.{name}": text for name, text in config.items()
    }


def _interval_ns(spec: ProducerSpec) -> int | None:
    """Return the time between batches in nanoseconds, 0 for no records by itself, None for a changing rate."""
    if spec.profile is None:
        return spec.interval_us * 1_000
    pieces = spec.profile.stretches
    if len(pieces) > 1 or pieces[0].start != pieces[0].end:
        return None
    return HOUR_US * RATE_UNITS * 1_000 * spec.batch // pieces[0].start if pieces[0].start else 0


def _client_config(config: Mapping[str, ConfigValue]) -> dict[str, str]:
    return config_texts({name: value for name, value in config.items() if name != CLIENT_VERSION})


def _partitioner(name: str) -> str:
    return next((known for known in PARTITIONERS if known.rpartition(".")[2] == name), name)


def refused_producer(spec: ProducerSpec) -> Iterator[str]:
    """Yield what this producer has that the Java program does not, in words."""
    absent = {
        "a rate that changes": _interval_ns(spec) is None,
        "sizes that vary": spec.sizes is not None,
        "keys that are not uniform": spec.skew is not None,
        "a custom partitioner": spec.partitioner is not None,
        "interceptors": bool(spec.interceptors),
        "a serializer that fails": bool(spec.serializer_fails),
        "a callback that takes time": bool(spec.callback_us),
        "resending after a restart": spec.resends,
        CLIENT_VERSION: CLIENT_VERSION in spec.config,
    }
    yield from (word for word, found in absent.items() if found)


# Consumers.


def members(spec: GroupSpec) -> list[str]:
    """Return the names of a group's members."""
    return [f"{spec.name}/{number}" for number in range(spec.members)]


def consumer_settings(
    spec: GroupSpec, member: int, bootstrap: str, partitions: Mapping[str, int] = MappingProxyType({})
) -> dict[str, str]:
    """Return the settings of a member of a group for the Java program.

    ``partitions`` is the number of partitions of each topic, which a group without a coordinator shares in ranges.
    """
    config = {
        "bootstrap.servers": bootstrap,
        "client.id": f"{spec.name}/{member}",
        "group.id": spec.name,
        "enable.auto.commit": config_text(spec.commit == "auto"),
        **_client_config(spec.config),
    }
    if "partition.assignment.strategy" in config:
        names = config["partition.assignment.strategy"].split(",")
        config["partition.assignment.strategy"] = ",".join(_assignor(name.strip()) for name in names)
    instance = spec.instances[member] if spec.instances else config.get("group.instance.id", "")
    if instance:
        config["group.instance.id"] = instance if spec.instances else f"{instance}-{member}"
    if spec.racks and spec.racks[member]:
        config["client.rack"] = spec.racks[member]
    found = {
        "kind": "consumer",
        "name": f"{spec.name}/{member}",
        "group": spec.name,
        "topics": ",".join(spec.topics),
        "pattern": spec.pattern,
        "commit": spec.commit,
        "processing_us": str(spec.processing_us),
    }
    if not spec.coordinated:
        of_topics = {
            topic: [f"{topic}-{number}" for number in range(partitions.get(topic, 0))] for topic in spec.topics
        }
        shares = [range_assignment(tuple(of_topics[topic]), member, spec.members) for topic in spec.topics]
        found |= {"coordinated": "false", "assign": ",".join(name for share in shares for name in share)}
        config["enable.auto.commit"] = "false"
        del config["group.id"]
    return found | {f"config.{name}": text for name, text in config.items()}


def _assignor(name: str) -> str:
    name = _ASSIGNORS.get(name, name)
    return name if "." in name else _CONSUMER_PACKAGE + name


def refused_group(spec: GroupSpec) -> Iterator[str]:
    """Yield what this group has that the Java program does not, in words."""
    absent = {
        f"commit: {spec.commit}": spec.commit not in _COMMITS,
        "records that cannot be processed": bool(spec.fails),
        "dead letters": bool(spec.dead_letter),
        "an output topic": bool(spec.output_topic),
        CLIENT_VERSION: CLIENT_VERSION in spec.config,
    }
    yield from (word for word, found in absent.items() if found)


def refused_settings(spec: ClusterSpec) -> list[Refusal]:
    """Return what a spec has that cannot be run on real brokers, except its steps."""
    found = []
    if spec.mode != "kraft":
        found.append(Refusal(0, f"mode: {spec.mode}", "only KRaft clusters are run here"))
    if spec.manual:
        found.append(Refusal(0, "stepping: manual", "real brokers take no single protocol steps"))
    if len(spec.brokers) > _MOST_BROKERS:
        reason = f"at most {_MOST_BROKERS} real brokers are run here"
        found.append(Refusal(0, f"{len(spec.brokers)} brokers", reason))
    missing = "the Java client program does not have that"
    for producer in spec.producers:
        found += [Refusal(0, f"producer {producer.name}: {word}", missing) for word in refused_producer(producer)]
    for group in spec.groups:
        found += [Refusal(0, f"group {group.name}: {word}", missing) for word in refused_group(group)]
    return found


_MOST_BROKERS: Final = 5


def properties_text(settings: Mapping[str, str] | Iterable[tuple[str, str]]) -> str:
    """Return a Java properties file."""
    pairs = settings.items() if isinstance(settings, Mapping) else settings
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in pairs)


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if c in "\\=:#! \n\r\t\f" or not c.isascii() else c for c in text)
