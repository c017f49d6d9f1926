"""Handlers of administrators' APIs: topics, partitions, records, elections and reassignments."""

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
from gateway.protocol.context import LOG_DIR, ApiCall, Flow, ask, by_topic, ms, named, split, topic_named, topic_uuid


def _told(each: AdminError | CreatableTopicResult) -> dict[str, Any]:
    return {"name": each.name, "error_code": each.error, "error_message": each.message or None}


def create_topics(call: ApiCall) -> Flow:
    """Make topics, or say what would come of it."""
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
    """A new topic, with all its configurations (KIP-525)."""
    told = {**_told(topic), "configs": ()}
    if topic.error:
        return told
    state = call.house.states(call.broker).get(f"{topic.name}-0")
    return {
        **told,
        "topic_id": topic_uuid(topic.name, state.topic_id) if made and state is not None else NO_ID,
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication,
        "configs": topic_configs(call, topic.name, dict(topic.config)),
    }


def delete_topics(call: ApiCall) -> Flow:
    """Delete topics, by name or by id."""
    asked = [(name, NO_ID) for name in call.get("topic_names", ())]
    asked += [
        (topic.name or topic_named(call.house, call.broker, topic.topic_id), topic.topic_id)
        for topic in call.get("topics", ())
    ]
    names = tuple(name for name, _topic_id in asked if name)
    (answer,) = yield ask(DeleteTopicsRequest(0, names, ms(call.request.timeout)))
    told = [{**_told(each), "topic_id": dict(asked)[each.name]} for each in answer.topics]
    told += [{"name": None, "topic_id": found, "error_code": UNKNOWN_TOPIC_ID} for name, found in asked if not name]
    return {"responses": told}


def create_partitions(call: ApiCall) -> Flow:
    """Give topics more partitions."""
    wanted = tuple(
        NewPartitions(topic.name, topic.count, tuple(tuple(each.broker_ids) for each in topic.assignments or ()))
        for topic in call.request.topics
    )
    validate_only = bool(call.get("validate_only", False))
    (answer,) = yield ask(CreatePartitionsRequest(0, wanted, ms(call.request.timeout), validate_only))
    return {"results": [_told(each) for each in answer.topics]}


def delete_records(call: ApiCall) -> Flow:
    """Let partitions begin later."""
    asked = [(named(topic.name, each.partition_index), each.offset) for topic in call.request.topics
             for each in topic.partitions]  # fmt: skip
    timeout_us = ms(call.request.timeout)
    answers = yield ask(*[DeleteRecordsRequest(0, name, offset, timeout_us) for name, offset in asked])
    rows = [
        (
            each.partition,
            {
                "partition_index": split(each.partition)[1], "low_watermark": each.low_watermark,
                "error_code": each.error,
            },
        )
        for each in answers
    ]  # fmt: skip
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


PREFERRED: Final = 0
UNCLEAN: Final = 1
"""``ElectionType``."""


def elect_leaders(call: ApiCall) -> Flow:
    """Have leaders elected: of all partitions where no list of them is given, of none where it is empty."""
    topics = call.request.topic_partitions
    names = tuple(named(topic.topic, number) for topic in topics or () for number in topic.partitions)
    kind = call.get("election_type", PREFERRED)
    if kind not in (PREFERRED, UNCLEAN):
        yield ask(MetadataRequest(0))
        said = f"found election type {kind}, allowed are {PREFERRED} (preferred) and {UNCLEAN} (unclean)"
        refused = [AdminError(each, KafkaError.INVALID_REQUEST, said) for each in names]
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
            {"partition_id": split(each.name)[1], "error_code": each.error, "error_message": each.message or None},
        )
        for each in partitions
    ]
    told = [{"topic": topic, "partition_result": found} for topic, found in by_topic(rows).items()]
    return {"error_code": error, "replica_election_results": told}


def alter_replica_log_dirs(call: ApiCall) -> Flow:
    """Move replicas to another log directory (KIP-113): a broker has one, in which they are (``ReplicaManager``)."""
    yield ask(MetadataRequest(0))
    rows = [
        (named(topic.name, number), {"partition_index": number, "error_code": _moved(call, each.path, topic, number)})
        for each in call.request.dirs
        for topic in each.topics
        for number in topic.partitions
    ]
    return {"results": [{"topic_name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _moved(call: ApiCall, path: str, topic: Any, number: int) -> int:
    """``ReplicaManager.alterReplicaLogDirs``: REPLICA_NOT_AVAILABLE by a broker that does not host the replica."""
    broker = call.house.cluster.brokers[call.broker]
    partition = named(topic.name, number)
    if path != LOG_DIR:
        return KafkaError.LOG_DIR_NOT_FOUND
    if partition in broker.replicas:
        return KafkaError.NONE
    known = partition in broker.states
    return KafkaError.REPLICA_NOT_AVAILABLE if known else KafkaError.UNKNOWN_TOPIC_OR_PARTITION


def unregister_broker(call: ApiCall) -> Flow:
    """Forget a broker for good (``ClusterControlManager.unregisterBroker``)."""
    (answer,) = yield ask(UnregisterBrokerRequest(0, call.request.broker_id))
    return {"error_code": answer.error, "error_message": answer.message or None}


def update_features(call: ApiCall) -> Flow:
    """Change levels of features (KIP-584), or only validate the change."""
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
    """Version 0 has only whether a downgrade is allowed (``UpdateFeaturesRequest.featureUpdates``)."""
    if hasattr(update, "upgrade_type"):
        return int(update.upgrade_type)
    return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE


# Reassignments (KIP-455).


def alter_partition_reassignments(call: ApiCall) -> Flow:
    """Move replicas, or take a move back; the replication factor stays where the client says so (KIP-860)."""
    request = call.request
    may_change = bool(call.get("allow_replication_factor_change", True))
    wanted, refused = [], []
    for topic in request.topics:
        for each in topic.partitions:
            replicas = None if each.replicas is None else tuple(each.replicas)
            move = ReassignablePartition(named(topic.name, each.partition_index), replicas)
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
            {"partition_index": split(each.name)[1], "error_code": each.error, "error_message": each.message or None},
        )
        for each in answers
    ]
    told = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    return {
        "error_code": code,
        "error_message": None,
        "allow_replication_factor_change": may_change,
        "responses": told,
    }


def _other_factor(call: ApiCall, move: ReassignablePartition) -> AdminError | None:
    """The refusal of a move that changes how many replicas a partition has, as far as the broker knows (KIP-860)."""
    state = call.house.states(call.broker).get(move.partition)
    had = 0 if state is None else len([broker for broker in state.replicas if broker not in state.adding])
    if not had or not move.replicas or len(move.replicas) == had:
        return None
    said = f"found {len(move.replicas)} replicas, allowed are {had}"
    return AdminError(move.partition, KafkaError.INVALID_REPLICATION_FACTOR, said)


def list_partition_reassignments(call: ApiCall) -> Flow:
    """What is on the move."""
    asked = call.request.topics
    names = tuple(named(topic.name, number) for topic in asked or () for number in topic.partition_indexes)
    if asked is not None and not names:
        return {"error_code": 0, "error_message": None, "topics": ()}
    (answer,) = yield ask(ListPartitionReassignmentsRequest(0, names))
    rows = [
        (
            each.partition,
            {
                "partition_index": split(each.partition)[1], "replicas": each.replicas,
                "adding_replicas": each.adding, "removing_replicas": each.removing,
            },
        )
        for each in answer.partitions
    ]  # fmt: skip
    told = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    return {"error_code": answer.error, "error_message": None, "topics": told}
