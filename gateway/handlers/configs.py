"""Handlers of configurations: what a broker and its topics have, and changes while they run."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from cluster_model.observation import of_broker, of_topic_with
from cluster_model.protocol.admin_messages import (
    DELETE,
    LEGAL_NAMES,
    SET,
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    is_legal,
)
from cluster_model.protocol.config_defs import LISTS, LONG_MAX, ConfigKey, ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import MetadataRequest
from gateway.protocol.context import Call, Flow, ask

TOPIC: Final = 2
BROKER: Final = 4
_TYPES: Final = {TOPIC: "topic", BROKER: "broker"}
"""``ConfigResource.Type``, as far as it is modelled."""

OWN, RUN_TIME, START, DEFAULT = 1, 2, 4, 5
"""``DescribeConfigsResponse.ConfigSource``: of the topic, of the broker while it runs, from its file, Kafka's."""
_SOURCES: Final = {"run time": RUN_TIME, "start": START, "default": DEFAULT}

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7
"""``DescribeConfigsResponse.ConfigType``."""

FOR_EVER: Final = "never"
"""The largest number, as the model writes it."""

SYNONYMS: Final = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.type": "compression.type",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms": "log.message.timestamp.difference.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
"""A topic's configuration → that of a broker beneath it (``ServerTopicConfigSynonyms``)."""


def describe_configs(call: Call) -> Flow:
    """What is configured, as the broker that is asked has been told."""
    yield ask(MetadataRequest(0))
    return {"results": [_described(call, each) for each in call.request.resources]}


def _described(call: Call, asked: Any) -> dict[str, Any]:
    kind, name = asked.resource_type, asked.resource_name
    said = {"resource_type": kind, "resource_name": name}
    refused = _not_here(call, kind, name)
    if refused.error:
        return {**said, "error_code": refused.error, "error_message": refused.message or None}
    found = topic_configs(call, name) if kind == TOPIC else _broker_configs(call, name)
    wanted = asked.configuration_keys
    configs = [each for each in found if not wanted or each["name"] in wanted]
    if not call.get("include_synonyms", False):
        configs = [{**each, "synonyms": ()} for each in configs]
    if not call.get("include_documentation", False):
        configs = [{**each, "documentation": None} for each in configs]
    return {**said, "error_code": 0, "error_message": None, "configs": configs}


def _not_here(call: Call, kind: int, name: str) -> AdminError:
    """Why this broker cannot tell of a resource, if so."""
    if kind == TOPIC and not is_legal(name):
        return AdminError(name, KafkaError.INVALID_TOPIC_EXCEPTION, LEGAL_NAMES)
    if kind == TOPIC:
        there = f"{name}-0" in call.house.states(call.broker)
        return AdminError(name, 0 if there else KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
    if kind == BROKER:
        return _other_broker(call, name) or AdminError(name, 0)
    return _no_resource(kind)


def _other_broker(call: Call, name: str) -> AdminError | None:
    """The refusal of a broker's configurations by another one (``validateResourceNameIsCurrentNodeId``)."""
    if name in ("", str(call.broker)):
        return None
    return AdminError(name, KafkaError.INVALID_REQUEST, f"found broker {name!r}, this is {call.broker}")


def _no_resource(kind: int) -> AdminError:
    return AdminError(
        "", KafkaError.INVALID_REQUEST, f"found resource type {kind}, allowed are {TOPIC} (topic) and {BROKER} (broker)"
    )


def topic_configs(call: Call, topic: str, own: Mapping[str, ConfigValue] | None = None) -> list[dict[str, Any]]:
    """All of a topic; ``own``: its own configurations where the broker has not heard of it yet."""
    cluster = call.house.cluster
    settings = cluster.brokers[call.broker].settings
    if own is None:
        own = settings.overrides(topic)
    defaults = {each.key.name: each.value for each in of_topic_with({}, cluster.profile, {})}
    found = []
    for each in of_topic_with(settings.broker, cluster.profile, own):
        name = each.key.name
        beneath = SYNONYMS.get(name, name)
        synonyms = [(name, each.value, OWN)] if name in own else []
        if beneath in settings.broker:
            source = RUN_TIME if beneath in settings.given else START
            synonyms.append((beneath, written(settings.broker[beneath]), source))
        if name in defaults:
            synonyms.append((beneath, defaults[name], DEFAULT))
        source = synonyms[0][2] if synonyms else DEFAULT
        found.append(_config(each.key, each.value, source, read_only=False, synonyms=synonyms))
    return found


def _broker_configs(call: Call, name: str) -> list[dict[str, Any]]:
    """All of this broker, or with an empty name what all brokers were given while they run."""
    cluster = call.house.cluster
    found = []
    for each in of_broker(cluster.brokers[call.broker].settings, cluster.profile):
        if not name and each.source != "run time":
            continue
        source = _SOURCES[each.source]
        fixed = not cluster.profile.dynamic_config or each.key.dynamic == "read-only"
        synonyms = [(each.key.name, each.value, source)]
        found.append(_config(each.key, each.value, source, read_only=fixed, synonyms=synonyms))
    return found


def _config(
    key: ConfigKey, value: str, source: int, *, read_only: bool, synonyms: Iterable[tuple[str, str, int]]
) -> dict[str, Any]:
    told = [{"name": name, "value": as_number(text), "source": where} for name, text, where in synonyms]
    return {
        "name": key.name, "value": as_number(value), "read_only": read_only, "config_source": source,
        "is_sensitive": False, "synonyms": told, "config_type": type_of(key), "documentation": key.doc,
    }  # fmt: skip


def written(value: ConfigValue) -> str:
    """A value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_number(text: str) -> str:
    """The largest number is one."""
    return str(LONG_MAX) if text == FOR_EVER else text


def type_of(key: ConfigKey) -> int:
    """``DescribeConfigsResponse.ConfigType`` of a configuration."""
    if key.type == "int":
        return LONG if key.high == LONG_MAX else INT
    if key.name in LISTS:
        return LIST
    return {"bool": BOOLEAN, "ratio": DOUBLE}.get(key.type, STRING)


# Changes: IncrementalAlterConfigs (KIP-339), and AlterConfigs, which gives a resource what is named and nothing else.


def incremental_alter_configs(call: Call) -> Flow:
    """Change configurations of topics and brokers, or say what would come of it."""
    changes = {
        place: tuple(AlterableConfig(one.name, one.value or "", one.config_operation) for one in each.configs)
        for place, each in enumerate(call.request.resources)
    }
    return (yield from _altered(call, changes))


def alter_configs(call: Call) -> Flow:
    """The same, where what is not named goes back to its default: of what the broker that is asked knows to be set."""
    cluster = call.house.cluster
    settings = cluster.brokers[call.broker].settings
    changes = {}
    for place, each in enumerate(call.request.resources):
        named = {one.name: one.value or "" for one in each.configs}
        had = settings.overrides(each.resource_name) if each.resource_type == TOPIC else settings.given
        gone = [AlterableConfig(name, "", DELETE) for name in had if name not in named]
        changes[place] = (*(AlterableConfig(name, value, SET) for name, value in named.items()), *gone)
    return (yield from _altered(call, changes))


def _altered(call: Call, changes: Mapping[int, tuple[AlterableConfig, ...]]) -> Flow:
    asked = call.request.resources
    refused = {place: error for place, each in enumerate(asked) if (error := _refused(call, each)) is not None}
    resources = tuple(
        AlterConfigsResource(_TYPES[each.resource_type], each.resource_name, changes[place])
        for place, each in enumerate(asked)
        if place not in refused
    )
    answers: list[AdminError] = []
    if resources:
        (answer,) = yield ask(IncrementalAlterConfigsRequest(0, resources, bool(call.request.validate_only)))
        answers += answer.resources
    told = []
    for place, each in enumerate(asked):
        error = refused[place] if place in refused else answers.pop(0)
        told.append(
            {"error_code": error.error, "error_message": error.message or None, "resource_type": each.resource_type,
             "resource_name": each.resource_name}
        )  # fmt: skip
    return {"responses": told}


def _refused(call: Call, asked: Any) -> AdminError | None:
    """Why nobody is asked for a change of a resource, if so (``ConfigAdminManager``)."""
    kind, name = asked.resource_type, asked.resource_name
    if kind not in _TYPES:
        return _no_resource(kind)
    names = [each.name for each in asked.configs]
    nulls = [each.name for each in asked.configs if each.value is None and _operation(each) != DELETE]
    if nulls:
        return AdminError(name, KafkaError.INVALID_REQUEST, f"found no value for {', '.join(nulls)}")
    if len(set(names)) < len(names):
        return AdminError(name, KafkaError.INVALID_REQUEST, "found a configuration twice")
    return _other_broker(call, name) if kind == BROKER else None


def _operation(config: Any) -> int:
    """What is to be done; AlterConfigs sets."""
    return int(getattr(config, "config_operation", SET))
