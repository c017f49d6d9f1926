"""Handlers of ApiVersions, Metadata and DescribeCluster, answered from the broker's own, possibly stale, metadata."""

from collections.abc import Iterable
from typing import Any, Final

from cluster_model.protocol.admin_messages import CreatableTopic, CreateTopicsRequest, is_legal
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.features import features_of
from cluster_model.protocol.messages import NO_LEADER, MetadataRequest, MetadataResponse, PartitionState
from cluster_model.spec import OFFSETS, TRANSACTIONS
from gateway.protocol.api_versions import advertised
from gateway.protocol.codec import NO_ID
from gateway.protocol.context import (
    CLUSTER_ID,
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    ApiCall,
    ModelRequests,
    RequestHandlerGenerator,
    ask,
    split_partition,
    topic_uuid,
)

UNKNOWN_TOPIC_ID: Final = 100
REBOOTSTRAP_REQUIRED: Final = 129
INTERNAL: Final = (OFFSETS, TRANSACTIONS)
FORMED: Final = 0
"""Features epoch of the cluster's initial features: they are never changed at run time."""
_HAS_FEATURES: Final = 3
_HAS_RANGES_FROM_0: Final = 4
NO_BROKER: Final = -1
_HAS_TARGET: Final = 5
"""First version of ApiVersions with the cluster and the broker that the client means to reach (KIP-1242)."""


def api_versions(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ApiVersions. It sends a model request, so that an unresponsive broker does not answer."""
    yield ask(MetadataRequest(0))
    error = _target_error(call)
    if error:
        return {"error_code": error}
    keys = [
        {"api_key": api, "min_version": low, "max_version": high}
        for api, low, high in advertised(call.context.ranges)
    ]  # fmt: skip
    return {"error_code": 0, "api_keys": keys, **_features(call)}


def _target_error(call: ApiCall) -> int:
    """Return the error of an ApiVersions request that names another cluster or broker, or only one of the two."""
    if call.version < _HAS_TARGET:
        return KafkaError.NONE
    cluster, node = call.request.cluster_id, call.request.node_id
    if (cluster is None) != (node == NO_BROKER):
        return KafkaError.INVALID_REQUEST
    reached = cluster is None or (cluster, node) == (CLUSTER_ID, call.broker)
    return KafkaError.NONE if reached else REBOOTSTRAP_REQUIRED


def _features(call: ApiCall) -> dict[str, Any]:
    """Return supported and finalized feature levels (KIP-584)."""
    cluster = call.context.cluster
    features = features_of(cluster.profile_of(call.broker), cluster.spec.config)
    if not features or call.version < _HAS_FEATURES:
        return {}
    return {
        # Older clients cannot parse a range that starts at 0.
        "supported_features": [
            {"name": each.name, "min_version": each.lowest, "max_version": each.highest}
            for each in features
            if each.lowest or call.version >= _HAS_RANGES_FROM_0
        ],
        "finalized_features_epoch": max(FORMED, cluster.plane.finalized_features(call.broker).offset),
        "finalized_features": [
            {"name": each.name, "min_version_level": each.level, "max_version_level": each.level}
            for each in features
            if each.level
        ],
    }  # fmt: skip


def metadata(call: ApiCall) -> RequestHandlerGenerator:
    """Handle Metadata: topics by name or id, or all; missing topics are created if client and broker allow it."""
    (cluster_metadata,) = yield ask(MetadataRequest(0))
    existing = _by_name(cluster_metadata)
    topics: list[dict[str, Any]] = []
    missing: list[str] = []
    for name, topic_id in _wanted(call, existing):
        if name in existing:
            topics.append(_topic(name, existing[name], cluster_metadata))
        elif name:
            topics.append({"error_code": _why_missing(call, name), "name": name, "topic_id": NO_ID})
            missing.append(name)
        else:
            topics.append({"error_code": UNKNOWN_TOPIC_ID, "name": None, "topic_id": topic_id})
    if call.get("include_topic_authorized_operations", False):
        for each in topics:
            each["topic_authorized_operations"] = TOPIC_OPERATIONS
    of_cluster = call.get("include_cluster_authorized_operations", False)
    wanted = tuple(CreatableTopic(name) for name in missing if is_legal(name))
    if wanted and _creates(call):
        target = cluster_metadata.controller if cluster_metadata.controller != NO_LEADER else call.broker
        yield ModelRequests((CreateTopicsRequest(0, wanted),), waits=False, broker=target)
    return {
        "brokers": _brokers(call, cluster_metadata.brokers, "node_id"),
        "cluster_id": CLUSTER_ID,
        "controller_id": cluster_metadata.controller,
        "topics": topics,
        **({"cluster_authorized_operations": CLUSTER_OPERATIONS} if of_cluster else {}),
    }


def _by_name(cluster_metadata: MetadataResponse) -> dict[str, list[PartitionState]]:
    """Return topic → its partitions."""
    found: dict[str, list[PartitionState]] = {}
    for state in cluster_metadata.partitions:
        found.setdefault(split_partition(state.partition)[0], []).append(state)
    return found


def _creates(call: ApiCall) -> bool:
    """Return whether missing topics are created: both the broker and the client must allow it."""
    return bool(call.context.creates_topics and call.get("allow_auto_topic_creation", True))


def _why_missing(call: ApiCall, name: str) -> KafkaError:
    """Return the error for a topic that does not exist (``AutoTopicCreationManager``).

    In ZooKeeper mode the controller has already created a new topic by then, and only its leader is missing.
    """
    if not is_legal(name):
        return KafkaError.INVALID_TOPIC_EXCEPTION
    creating = _creates(call) and not call.context.cluster.profile.kraft
    return KafkaError.LEADER_NOT_AVAILABLE if creating else KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def _wanted(call: ApiCall, existing: dict[str, list[PartitionState]]) -> list[tuple[str, Any]]:
    requested = call.get("topics")
    if requested is None or (call.version == 0 and not requested):
        return [(name, None) for name in existing]
    ids = {topic_uuid(name, states[0].topic_id): name for name, states in existing.items()}
    found = []
    for topic in requested:
        topic_id = getattr(topic, "topic_id", None)
        found.append((topic.name or ids.get(topic_id or NO_ID, ""), topic_id))
    return found


def _topic(name: str, states: list[PartitionState], cluster_metadata: MetadataResponse) -> dict[str, Any]:
    partitions = []
    for state in states:
        led = state.leader in cluster_metadata.brokers
        partitions.append(
            {
                "error_code": 0 if led else KafkaError.LEADER_NOT_AVAILABLE,
                "partition_index": split_partition(state.partition)[1],
                "leader_id": state.leader if led else NO_LEADER,
                "leader_epoch": state.leader_epoch,
                "replica_nodes": state.replicas,
                "isr_nodes": state.isr,
                "offline_replicas": [each for each in state.replicas if each not in cluster_metadata.brokers],
            }
        )
    partitions.sort(key=lambda each: int(str(each["partition_index"])))
    topic_id = topic_uuid(name, states[0].topic_id)
    return {"error_code": 0, "name": name, "topic_id": topic_id, "is_internal": name in INTERNAL,
            "partitions": partitions}  # fmt: skip


def _brokers(call: ApiCall, brokers: Iterable[int], key: str) -> list[dict[str, Any]]:
    racks = call.context.racks()
    found = []
    for broker in brokers:
        host, port = call.context.addresses[broker]
        found.append({key: broker, "host": host, "port": port, "rack": racks[broker]})
    return found


# DescribeTopicPartitions (KIP-966): pages of topics, with their eligible leader replicas.


MOST_PARTITIONS: Final = 2_000
"""Default of ``max.request.partition.size.limit``."""


def describe_topic_partitions(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeTopicPartitions: topics by name from a cursor on, up to a limit, and the next cursor."""
    (cluster_metadata,) = yield ask(MetadataRequest(0))
    existing = _by_name(cluster_metadata)
    request = call.request
    requested = {topic.name for topic in request.topics}
    cursor = request.cursor
    begin = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    if begin[1] < 0 or (cursor is not None and requested and begin[0] not in requested):
        return _no_cursor(requested)
    left = max(1, min(MOST_PARTITIONS, request.response_partition_limit))
    topics: list[dict[str, Any]] = []
    for name in sorted(each for each in (requested or existing) if each >= begin[0]):
        if not left:
            return _page(topics, (name, 0))
        if name not in existing:
            topics.append({"name": name, "error_code": _why_missing(call, name), "topic_id": NO_ID,
                           "is_internal": name in INTERNAL, "partitions": ()})  # fmt: skip
            continue
        fields = _topic(name, existing[name], cluster_metadata)
        first = begin[1] if name == begin[0] else 0
        page = fields["partitions"][first : first + left]
        eligible = {split_partition(state.partition)[1]: state for state in existing[name]}
        topics.append({**fields, "partitions": [_with_elr(each, eligible) for each in page]})
        if first + left < len(fields["partitions"]):
            return _page(topics, (name, first + left))
        left -= len(page)
    return _page(topics, None)


def _with_elr(partition: dict[str, Any], states: dict[int, PartitionState]) -> dict[str, Any]:
    state = states[partition["partition_index"]]
    last = () if state.last_known == NO_LEADER else (state.last_known,)
    return {**partition, "error_code": 0, "eligible_leader_replicas": state.elr, "last_known_elr": last}


def _page(topics: list[dict[str, Any]], cursor: tuple[str, int] | None) -> dict[str, Any]:
    for each in topics:
        each["topic_authorized_operations"] = TOPIC_OPERATIONS
    following = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
    return {"topics": topics, "next_cursor": following}


def _no_cursor(requested: set[str]) -> dict[str, Any]:
    """Return the response to an invalid cursor: every topic has the error (``getErrorResponse``)."""
    topics = [
        {"name": name, "error_code": KafkaError.INVALID_REQUEST, "topic_id": NO_ID, "partitions": ()}
        for name in sorted(requested)
    ]
    return {"topics": topics, "next_cursor": None}


BROKERS: Final = 1
CONTROLLERS: Final = 2
"""Values of ``EndpointType`` (KIP-919)."""


def describe_cluster(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeCluster: brokers and controller (KIP-700), with fenced brokers on request (KIP-1073)."""
    (cluster_metadata,) = yield ask(MetadataRequest(0))
    wanted = call.get("endpoint_type", BROKERS)
    if wanted != BROKERS:
        mismatched = wanted == CONTROLLERS
        error = KafkaError.MISMATCHED_ENDPOINT_TYPE if mismatched else KafkaError.UNSUPPORTED_ENDPOINT_TYPE
        return {"error_code": error, "error_message": f"found endpoint type {wanted}, expected {BROKERS} (brokers)"}
    brokers = [{**each, "is_fenced": False} for each in _brokers(call, cluster_metadata.brokers, "broker_id")]
    if call.get("include_fenced_brokers", False):
        fenced = call.context.cluster.brokers[call.broker].control.fenced_brokers()
        brokers += [{**each, "is_fenced": True} for each in _brokers(call, fenced, "broker_id")]
    allowed = call.get("include_cluster_authorized_operations", False)
    return {
        "error_code": 0,
        "cluster_id": CLUSTER_ID,
        "controller_id": cluster_metadata.controller,
        "brokers": brokers,
        **({"cluster_authorized_operations": CLUSTER_OPERATIONS} if allowed else {}),
    }
