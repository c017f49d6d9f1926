"""Handlers of configuration APIs: configurations of brokers and topics, and changes at run time."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from itertools import dropwhile
from typing import Any, Final

from cluster_model.observation import of_broker, of_broker_with, of_topic_with
from cluster_model.protocol.admin_messages import (
    DELETE,
    LEGAL_NAMES,
    SET,
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    is_legal,
)
from cluster_model.protocol.config_defaults import COARSER_UNITS, TOPIC_SYNONYMS
from cluster_model.protocol.config_defs import BROKER as BROKER_KEYS
from cluster_model.protocol.config_defs import LISTS, LONG_MAX, MIN_ISR, ConfigKey, ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import MetadataRequest
from gateway.protocol.context import LOG_DIR, ApiCall, ModelRequests, RequestHandlerGenerator, ask, split_partition

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32
_TYPES: Final = {TOPIC: "topic", BROKER: "broker"}
"""Modelled values of ``ConfigResource.Type``."""

OWN, RUN_TIME, ALL_BROKERS, START, DEFAULT = 1, 2, 3, 4, 5
"""Values of ``DescribeConfigsResponse.ConfigSource``.

In this order: dynamic topic, dynamic broker, dynamic default broker, static broker (its file), and Kafka's default.
"""

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7
"""Values of ``DescribeConfigsResponse.ConfigType``."""

MODEL_LONG_MAX: Final = "never"
"""How the model writes the largest number."""


def describe_configs(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeConfigs: the broker's own view; topics in ZooKeeper mode: ZooKeeper's (``ConfigHelper``)."""
    own = yield from _of_topics(call)
    return {"results": [_described(call, each, own) for each in call.request.resources]}


def _of_topics(call: ApiCall) -> Generator[ModelRequests, tuple[Any, ...], Mapping[str, Mapping[str, ConfigValue]]]:
    """Return the overrides of topics: from ZooKeeper, or as far as the broker has applied the metadata log."""
    requested = [each.resource_name for each in call.request.resources if each.resource_type == TOPIC]
    names = tuple(dict.fromkeys(name for name in requested if is_legal(name)))
    if call.context.cluster.profile.kraft:
        yield ask(MetadataRequest(0))
        settings = call.context.cluster.brokers[call.broker].settings
        return {name: settings.overrides(name) for name in names}
    (answer,) = yield ask(DescribeConfigsRequest(0, names))
    return {name: dict(config) for name, config in answer.configs}


def list_config_resources(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ListConfigResources (KIP-1142); version 0 lists metrics subscriptions, of which there are none."""
    (cluster_metadata,) = yield ask(MetadataRequest(0))
    fenced = call.context.cluster.brokers[call.broker].control.fenced_brokers()
    brokers = [str(broker) for broker in (*cluster_metadata.brokers, *fenced)]
    listed: dict[int, list[str]] = {
        TOPIC: list(dict.fromkeys(split_partition(state.partition)[0] for state in cluster_metadata.partitions)),
        BROKER: brokers,
        BROKER_LOGGER: brokers,
        CLIENT_METRICS: [],
        GROUP: [],
    }
    supported = tuple(listed) if call.version else (CLIENT_METRICS,)
    wanted = tuple(call.get("resource_types", ())) or supported
    if not set(wanted) <= set(supported):
        return {"error_code": KafkaError.UNSUPPORTED_VERSION}
    resources = [
        {"resource_name": name, "resource_type": kind} for kind in listed if kind in wanted for name in listed[kind]
    ]
    return {"error_code": 0, "config_resources": resources}


def _described(call: ApiCall, requested: Any, own: Mapping[str, Mapping[str, ConfigValue]]) -> dict[str, Any]:
    kind, name = requested.resource_type, requested.resource_name
    resource = {"resource_type": kind, "resource_name": name}
    refused = _not_here(call, kind, name)
    if refused is not None:
        return {**resource, "error_code": refused.error, "error_message": refused.message or None}
    found = topic_configs(call, name, own[name]) if kind == TOPIC else _broker_configs(call, name)
    wanted = requested.configuration_keys
    chosen = [each for each in found if not wanted or each["name"] in wanted]
    configs = sorted(chosen, key=lambda config: str(config["name"]))
    if not call.get("include_synonyms", False):
        configs = [{**each, "synonyms": ()} for each in configs]
    if not call.get("include_documentation", False):
        configs = [{**each, "documentation": None} for each in configs]
    return {**resource, "error_code": 0, "error_message": None, "configs": configs}


def _not_here(call: ApiCall, kind: int, name: str) -> AdminError | None:
    """Return the error for a resource that this broker does not describe; None if it does."""
    if kind == TOPIC and not is_legal(name):
        return AdminError(name, KafkaError.INVALID_TOPIC_EXCEPTION, LEGAL_NAMES)
    if kind == TOPIC:
        exists = f"{name}-0" in call.context.states(call.broker)
        return None if exists else AdminError(name, KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
    return _other_broker(call, name) if kind == BROKER else _no_resource(kind)


def _other_broker(call: ApiCall, name: str) -> AdminError | None:
    """Return the error for configurations of another broker (``validateResourceNameIsCurrentNodeId``)."""
    if name in ("", str(call.broker)):
        return None
    return AdminError(name, KafkaError.INVALID_REQUEST, f"found broker {name!r}, this is {call.broker}")


def _no_resource(kind: int) -> AdminError:
    return AdminError(
        "", KafkaError.INVALID_REQUEST, f"found resource type {kind}, expected {TOPIC} (topic) or {BROKER} (broker)"
    )


def topic_configs(call: ApiCall, topic: str, own: Mapping[str, ConfigValue]) -> list[dict[str, Any]]:
    """Return all configurations of a topic; ``own`` are its overrides."""
    cluster = call.context.cluster
    settings = cluster.brokers[call.broker].settings
    layers = _layers(call)
    configs = []
    for each in of_topic_with(settings.broker, cluster.profile_of(call.broker), own):
        name = each.key.name
        beneath = TOPIC_SYNONYMS.get(name, name)
        synonyms = [(name, each.value, OWN)] if name in own else []
        synonyms += _synonyms(layers, beneath)
        configs.append(_config(each.key, each.value, synonyms, read_only=False))
    return configs


def _broker_configs(call: ApiCall, name: str) -> list[dict[str, Any]]:
    """Return all configurations of this broker, or with an empty name the dynamic ones of all brokers."""
    cluster = call.context.cluster
    if not name:
        given = _taken(call, "")
        rows = [(key, written(given[key.name])) for key in BROKER_KEYS.values() if key.name in given]
        return [
            _config(key, value, [(key.name, value, ALL_BROKERS)], read_only=_is_fixed(call, key)) for key, value in rows
        ]
    layers = _layers(call)
    configs = []
    for each in of_broker(cluster.brokers[call.broker].settings, cluster.profile_of(call.broker)):
        key = each.key
        synonyms = _synonyms(layers, key.name)
        configs.append(_config(key, each.value, synonyms, read_only=_is_fixed(call, key)))
    return configs + _of_this_listener(call)


def _of_this_listener(call: ApiCall) -> list[dict[str, Any]]:
    """Return the broker configurations that the gateway determines: listeners, and automatic topic creation."""
    cluster, broker = call.context.cluster, call.broker
    host, port = call.context.addresses[broker]
    listener = f"PLAINTEXT://{host}:{port}"
    creates = call.context.creates_topics
    rack = call.context.racks()[broker]
    rows = [
        ("broker.id", str(broker), INT, START),
        ("listeners", listener, LIST, START),
        ("advertised.listeners", listener, LIST, START),
        ("log.dirs", LOG_DIR, LIST, START),
        ("auto.create.topics.enable", written(creates), BOOLEAN, DEFAULT if creates else START),
    ]
    rows += [("node.id", str(broker), INT, START)] if cluster.profile.kraft else []
    rows += [("broker.rack", rack, STRING, START)] if rack is not None else []
    return [
        {
            "name": name, "value": value, "read_only": True, "config_source": source, "is_sensitive": False,
            "synonyms": [{"name": name, "value": value, "source": source}], "config_type": kind, "documentation": None,
        }
        for name, value, kind, source in rows
    ]  # fmt: skip


def _is_fixed(call: ApiCall, key: ConfigKey) -> bool:
    """Return whether a broker configuration only changes with a restart."""
    return not call.context.cluster.profile_of(call.broker).dynamic_config or key.dynamic == "read-only"


_Layer = tuple[Mapping[str, str], int]
"""Configurations of one ``ConfigSource``, as Kafka writes them."""


def _layers(call: ApiCall) -> tuple[_Layer, ...]:
    """Return the sources of a broker's configurations, highest priority first (``ConfigHelper.configSynonyms``)."""
    cluster = call.context.cluster
    given = (
        (_taken(call, str(call.broker)), RUN_TIME),
        (_taken(call, ""), ALL_BROKERS),
        (cluster.brokers[call.broker].settings.started_with, START),
    )
    defaults = {each.key.name: each.value for each in of_broker_with({}, cluster.profile_of(call.broker)) if each.value}
    layers = (({name: written(value) for name, value in held.items()}, source) for held, source in given)
    return (*layers, (defaults, DEFAULT))


def _synonyms(layers: Iterable[_Layer], name: str) -> list[tuple[str, str, int]]:
    """Return (name, value, source) of a broker configuration and its coarser units, in each source that has them.

    Entries before the first one of that very name are left out (``ConfigHelper.configSynonyms``), so a configuration
    whose default has another name has no synonym unless it is set.
    """
    names = (name, *(coarser for coarser, _millis in COARSER_UNITS.get(name, ())))
    found = [(each, held[each], source) for held, source in layers for each in names if each in held]
    return list(dropwhile(lambda synonym: synonym[0] != name, found))


def _given(call: ApiCall, name: str) -> dict[str, ConfigValue]:
    """Return the dynamic configurations of this broker, or of all with an empty name, that are effective here."""
    broker = call.context.cluster.brokers[call.broker]
    configs = broker.control.dynamic_config(name)
    return {key: value for key, value in configs.items() if key in broker.settings.dynamic_defaults}


def _taken(call: ApiCall, name: str) -> dict[str, ConfigValue]:
    """Return the dynamic configurations of this broker, or of all with an empty name, with ``min.insync.replicas``.

    With eligible leader replicas all brokers have ``min.insync.replicas``: the controller writes the value of its file
    if none is set (``ConfigurationControlManager.maybeGenerateElrSafetyRecords``).
    """
    cluster = call.context.cluster
    taken = _given(call, name)
    if cluster.profile.elr and not name:
        taken.setdefault(MIN_ISR, cluster.spec.config.get(MIN_ISR, 1))
    return taken


def _config(key: ConfigKey, value: str, synonyms: Sequence[tuple[str, str, int]], *, read_only: bool) -> dict[str, Any]:
    """Return the fields of a configuration; its source is that of its first synonym."""
    synonym_fields = [{"name": name, "value": as_number(text), "source": where} for name, text, where in synonyms]
    return {
        "name": key.name, "value": as_number(value), "read_only": read_only,
        "config_source": synonyms[0][2] if synonyms else DEFAULT,
        "is_sensitive": False, "synonyms": synonym_fields, "config_type": type_of(key), "documentation": key.doc,
    }  # fmt: skip


def written(value: ConfigValue) -> str:
    """Return a value as Kafka writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_number(text: str) -> str:
    """Return the text of the largest number as digits; any other text unchanged."""
    return str(LONG_MAX) if text == MODEL_LONG_MAX else text


def type_of(key: ConfigKey) -> int:
    """Return the ``DescribeConfigsResponse.ConfigType`` of a configuration."""
    if key.type == "int":
        return LONG if key.high == LONG_MAX else INT
    if key.name in LISTS:
        return LIST
    return {"bool": BOOLEAN, "ratio": DOUBLE}.get(key.type, STRING)


# Changes: IncrementalAlterConfigs (KIP-339), and AlterConfigs, which replaces all overrides of a resource.


def incremental_alter_configs(call: ApiCall) -> RequestHandlerGenerator:
    """Handle IncrementalAlterConfigs: change configurations of topics and brokers, or only validate."""
    changes = {
        index: tuple(AlterableConfig(one.name, one.value or "", one.config_operation) for one in each.configs)
        for index, each in enumerate(call.request.resources)
    }
    return (yield from _altered(call, changes))


def alter_configs(call: ApiCall) -> RequestHandlerGenerator:
    """Handle AlterConfigs: overrides known to this broker that are not in the request are reset."""
    own = yield from _of_topics(call)
    changes = {}
    for index, each in enumerate(call.request.resources):
        named = {one.name: one.value or "" for one in each.configs}
        name = each.resource_name
        had = own.get(name, {}) if each.resource_type == TOPIC else _given(call, name)
        gone = [AlterableConfig(key, "", DELETE) for key in had if key not in named]
        changes[index] = (*(AlterableConfig(key, value, SET) for key, value in named.items()), *gone)
    return (yield from _altered(call, changes))


def _altered(call: ApiCall, changes: Mapping[int, tuple[AlterableConfig, ...]]) -> RequestHandlerGenerator:
    requested = call.request.resources
    refused = {index: error for index, each in enumerate(requested) if (error := _refused(call, each)) is not None}
    resources = tuple(
        AlterConfigsResource(_TYPES[each.resource_type], each.resource_name, changes[index])
        for index, each in enumerate(requested)
        if index not in refused
    )
    answers: list[AdminError] = []
    if resources:
        (answer,) = yield ask(IncrementalAlterConfigsRequest(0, resources, bool(call.request.validate_only)))
        answers += answer.resources
    results = []
    for index, each in enumerate(requested):
        error = refused[index] if index in refused else answers.pop(0)
        results.append(
            {"error_code": error.error, "error_message": error.message or None, "resource_type": each.resource_type,
             "resource_name": each.resource_name}
        )  # fmt: skip
    return {"responses": results}


def _refused(call: ApiCall, requested: Any) -> AdminError | None:
    """Return the error of a change that this broker rejects itself, if any (``ConfigAdminManager``)."""
    kind, name = requested.resource_type, requested.resource_name
    if kind not in _TYPES:
        return _no_resource(kind)
    names = [each.name for each in requested.configs]
    nulls = [each.name for each in requested.configs if each.value is None and _operation(each) != DELETE]
    if nulls:
        return AdminError(name, KafkaError.INVALID_REQUEST, f"found no value for {', '.join(nulls)}")
    if len(set(names)) < len(names):
        return AdminError(name, KafkaError.INVALID_REQUEST, "found a configuration twice")
    return _other_broker(call, name) if kind == BROKER else None


def _operation(config: Any) -> int:
    """Return the operation of a change; AlterConfigs always sets."""
    return int(getattr(config, "config_operation", SET))
