"""Handlers of admin APIs: topics, partitions, records, elections and reassignments."""

from collections.abc import Iterable
from typing import Any, Final

from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterPartitionReassignmentsRequest,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    FeatureUpdate,
    ListPartitionReassignmentsRequest,
    NewPartitions,
    ReassignablePartition,
    UnregisterBrokerRequest,
    UpdateFeaturesRequest,
    UpgradeType,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import DeleteRecordsRequest, MetadataRequest
from gateway.handlers.configs import topic_configs
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol.codec import NO_ID
from gateway.protocol.context import (
    LOG_DIR,
    ApiCall,
    RequestHandlerGenerator,
    ask,
    by_topic,
    ms,
    partition_name,
    split_partition,
    topic_of_id,
    topic_uuid,
)


def _result(each: AdminError | CreatableTopicResult) -> dict[str, Any]:
    return {"name": each.name, "error_code": each.error, "error_message": each.message or None}


def create_topics(call: ApiCall) -> RequestHandlerGenerator:
    """Handle CreateTopics: create topics, or only validate the request."""
    wanted = tuple(
        CreatableTopic(
            topic.name, topic.num_partitions, topic.replication_factor,
            tuple(tuple(each.broker_ids) for each in sorted(topic.assignments, key=lambda each: each.partition_index)),
            tuple((each.name, each.value or "") for each in topic.configs),
        )
        for topic in call.request.topics
    )  # fmt: skip
    validate_only = bool(call.get("validate_only", False))
    (answer,) = yield ask(CreateTopicsRequest(0, wanted, ms(call.request.timeout), validate_only))
    return {"topics": [_created(call, each, made=not validate_only) for each in answer.topics]}


def _created(call: ApiCall, topic: CreatableTopicResult, *, made: bool) -> dict[str, Any]:
    """Return the result for a new topic, with all its configurations (KIP-525)."""
    result = {**_result(topic), "configs": ()}
    if topic.error:
        return result
    state = call.context.states(call.broker).get(f"{topic.name}-0")
    return {
        **result,
        "topic_id": topic_uuid(topic.name, state.topic_id) if made and state is not None else NO_ID,
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication,
        "configs": topic_configs(call, topic.name, dict(topic.config)),
    }


def delete_topics(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DeleteTopics, by name or by id."""
    topics = [(name, NO_ID) for name in call.get("topic_names", ())]
    topics += [
        (topic.name or topic_of_id(call.context, call.broker, topic.topic_id), topic.topic_id)
        for topic in call.get("topics", ())
    ]
    names = tuple(name for name, _topic_id in topics if name)
    (answer,) = yield ask(DeleteTopicsRequest(0, names, ms(call.request.timeout)))
    results = [{**_result(each), "topic_id": dict(topics)[each.name]} for each in answer.topics]
    results += [{"name": None, "topic_id": found, "error_code": UNKNOWN_TOPIC_ID} for name, found in topics if not name]
    return {"responses": results}


def create_partitions(call: ApiCall) -> RequestHandlerGenerator:
    """Handle CreatePartitions: increase the partition count of topics."""
    wanted = tuple(
        NewPartitions(topic.name, topic.count, tuple(tuple(each.broker_ids) for each in topic.assignments or ()))
        for topic in call.request.topics
    )
    validate_only = bool(call.get("validate_only", False))
    (answer,) = yield ask(CreatePartitionsRequest(0, wanted, ms(call.request.timeout), validate_only))
    return {"results": [_result(each) for each in answer.topics]}


def delete_records(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DeleteRecords: advance the log start offset of partitions."""
    partitions = [(partition_name(topic.name, each.partition_index), each.offset) for topic in call.request.topics
             for each in topic.partitions]  # fmt: skip
    timeout_us = ms(call.request.timeout)
    answers = yield ask(*[DeleteRecordsRequest(0, name, offset, timeout_us) for name, offset in partitions])
    rows = [
        (
            each.partition,
            {
                "partition_index": split_partition(each.partition)[1], "low_watermark": each.low_watermark,
                "error_code": each.error,
            },
        )
        for each in answers
    ]  # fmt: skip
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


PREFERRED: Final = 0
UNCLEAN: Final = 1
"""Values of ``ElectionType``."""


def elect_leaders(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ElectLeaders: for all partitions if no list is given, for none if it is empty."""
    topics = call.request.topic_partitions
    names = tuple(partition_name(topic.topic, number) for topic in topics or () for number in topic.partitions)
    kind = call.get("election_type", PREFERRED)
    if kind not in (PREFERRED, UNCLEAN):
        yield ask(MetadataRequest(0))
        message = f"found election type {kind}, expected {PREFERRED} (preferred) or {UNCLEAN} (unclean)"
        refused = [AdminError(each, KafkaError.INVALID_REQUEST, message) for each in names]
        return _elected(KafkaError.INVALID_REQUEST, refused)
    if topics is not None and not names:
        yield ask(MetadataRequest(0))
        return _elected(KafkaError.NONE, ())
    (answer,) = yield ask(ElectLeadersRequest(0, kind == UNCLEAN, names, ms(call.request.timeout)))
    return _elected(answer.error, answer.partitions)


def _elected(error: int, partitions: Iterable[AdminError]) -> dict[str, Any]:
    rows = [
        (
            each.name,
            {
                "partition_id": split_partition(each.name)[1],
                "error_code": each.error,
                "error_message": each.message or None,
            },
        )
        for each in partitions
    ]
    results = [{"topic": topic, "partition_result": found} for topic, found in by_topic(rows).items()]
    return {"error_code": error, "replica_election_results": results}


def alter_replica_log_dirs(call: ApiCall) -> RequestHandlerGenerator:
    """Handle AlterReplicaLogDirs (KIP-113): a broker has one log directory (``ReplicaManager``)."""
    yield ask(MetadataRequest(0))
    rows = [
        (
            partition_name(topic.name, number),
            {"partition_index": number, "error_code": _moved(call, each.path, topic, number)},
        )
        for each in call.request.dirs
        for topic in each.topics
        for number in topic.partitions
    ]
    return {"results": [{"topic_name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _moved(call: ApiCall, path: str, topic: Any, number: int) -> int:
    """Return the error code of ``ReplicaManager.alterReplicaLogDirs``.

    REPLICA_NOT_AVAILABLE: the partition exists, but the broker does not host a replica of it.
    """
    broker = call.context.cluster.brokers[call.broker]
    partition = partition_name(topic.name, number)
    if path != LOG_DIR:
        return KafkaError.LOG_DIR_NOT_FOUND
    if partition in broker.replicas:
        return KafkaError.NONE
    known = partition in broker.states
    return KafkaError.REPLICA_NOT_AVAILABLE if known else KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def unregister_broker(call: ApiCall) -> RequestHandlerGenerator:
    """Handle UnregisterBroker (``ClusterControlManager.unregisterBroker``)."""
    (answer,) = yield ask(UnregisterBrokerRequest(0, call.request.broker_id))
    return {"error_code": answer.error, "error_message": answer.message or None}


def update_features(call: ApiCall) -> RequestHandlerGenerator:
    """Handle UpdateFeatures: change feature levels (KIP-584), or only validate the change."""
    updates = tuple(
        FeatureUpdate(each.feature, each.max_version_level, _type(each)) for each in call.request.feature_updates
    )
    (answer,) = yield ask(UpdateFeaturesRequest(0, updates, bool(call.get("validate_only", False))))
    results = [
        {"feature": each.name, "error_code": each.error, "error_message": each.message or None}
        for each in answer.features
    ]
    return {"error_code": answer.error, "error_message": answer.message or None, "results": results}


def _type(update: Any) -> int:
    """Return the upgrade type (``UpdateFeaturesRequest.featureUpdates``).

    Version 0 only contains whether a downgrade is allowed.
    """
    if hasattr(update, "upgrade_type"):
        return int(update.upgrade_type)
    return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE


# Reassignments (KIP-455).


def alter_partition_reassignments(call: ApiCall) -> RequestHandlerGenerator:
    """Handle AlterPartitionReassignments: move replicas or cancel a move; the client may fix the factor (KIP-860)."""
    request = call.request
    may_change = bool(call.get("allow_replication_factor_change", True))
    wanted, refused = [], []
    for topic in request.topics:
        for each in topic.partitions:
            replicas = None if each.replicas is None else tuple(each.replicas)
            move = ReassignablePartition(partition_name(topic.name, each.partition_index), replicas)
            error = None if may_change else _other_factor(call, move)
            if error is None:
                wanted.append(move)
            else:
                refused.append(error)
    code, answers = KafkaError.NONE, refused
    if wanted:
        (answer,) = yield ask(AlterPartitionReassignmentsRequest(0, tuple(wanted), ms(request.timeout)))
        code, answers = answer.error, [*answer.partitions, *refused]
    rows = [
        (
            each.name,
            {
                "partition_index": split_partition(each.name)[1],
                "error_code": each.error,
                "error_message": each.message or None,
            },
        )
        for each in answers
    ]
    results = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    return {
        "error_code": code,
        "error_message": None,
        "allow_replication_factor_change": may_change,
        "responses": results,
    }


def _other_factor(call: ApiCall, move: ReassignablePartition) -> AdminError | None:
    """Return the error of a move that changes a partition's replication factor in the broker's metadata (KIP-860)."""
    state = call.context.states(call.broker).get(move.partition)
    had = 0 if state is None else len([broker for broker in state.replicas if broker not in state.adding])
    if not had or not move.replicas or len(move.replicas) == had:
        return None
    message = f"found {len(move.replicas)} replicas, expected {had}"
    return AdminError(move.partition, KafkaError.INVALID_REPLICATION_FACTOR, message)


def list_partition_reassignments(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ListPartitionReassignments: the moves in progress."""
    topics = call.request.topics
    names = tuple(partition_name(topic.name, number) for topic in topics or () for number in topic.partition_indexes)
    if topics is not None and not names:
        return {"error_code": 0, "error_message": None, "topics": ()}
    (answer,) = yield ask(ListPartitionReassignmentsRequest(0, names))
    rows = [
        (
            each.partition,
            {
                "partition_index": split_partition(each.partition)[1], "replicas": each.replicas,
                "adding_replicas": each.adding, "removing_replicas": each.removing,
            },
        )
        for each in answer.partitions
    ]  # fmt: skip
    found_topics = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    return {"error_code": answer.error, "error_message": None, "topics": found_topics}
