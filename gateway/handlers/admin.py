"""Handlers of administrators' APIs: topics, partitions, records, elections and configurations."""

from typing import Any, Final

from cluster_model.observation import Setting, of_broker, of_topic, of_topic_with
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    CreatableTopic,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    NewPartitions,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import DeleteRecordsRequest, MetadataRequest
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol.codec import NO_ID
from gateway.protocol.context import Call, Flow, ask, by_topic, ms, named, split, topic_named, topic_uuid

TOPIC: Final = 2
BROKER: Final = 4
_TYPES: Final = {TOPIC: "topic", BROKER: "broker"}
_SOURCES: Final = {"own": 1, "run time": 2, "start": 4, "default": 5, "brokers": 5}
"""``DescribeConfigsResponse.ConfigSource``."""
FOR_EVER: Final = "never"
"""The largest number, as the model writes it."""
LONG_MAX: Final = str(2**63 - 1)


def _told(each: AdminError | CreatableTopicResult) -> dict[str, Any]:
    return {"name": each.name, "error_code": each.error, "error_message": each.message or None}


def create_topics(call: Call) -> Flow:
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


def _created(call: Call, topic: CreatableTopicResult, *, made: bool) -> dict[str, Any]:
    """A new topic, with all its configurations (KIP-525)."""
    told = {**_told(topic), "configs": ()}
    if topic.error:
        return told
    cluster = call.house.cluster
    state = call.house.states(call.broker).get(f"{topic.name}-0")
    found = of_topic_with(cluster.brokers[call.broker].settings.broker, cluster.profile, dict(topic.config))
    return {
        **told,
        "topic_id": topic_uuid(topic.name, state.topic_id) if made and state is not None else NO_ID,
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication,
        "configs": [_config(each) for each in found],
    }


def _config(each: Setting) -> dict[str, Any]:
    value = LONG_MAX if each.value == FOR_EVER else each.value
    return {"name": each.key.name, "value": value, "read_only": False, "is_sensitive": False,
            "config_source": _SOURCES[each.source]}  # fmt: skip


def delete_topics(call: Call) -> Flow:
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


def create_partitions(call: Call) -> Flow:
    """Give topics more partitions."""
    wanted = tuple(
        NewPartitions(topic.name, topic.count, tuple(tuple(each.broker_ids) for each in topic.assignments or ()))
        for topic in call.request.topics
    )
    validate_only = bool(call.get("validate_only", False))
    (answer,) = yield ask(CreatePartitionsRequest(0, wanted, ms(call.request.timeout), validate_only))
    return {"results": [_told(each) for each in answer.topics]}


def delete_records(call: Call) -> Flow:
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


def elect_leaders(call: Call) -> Flow:
    """Have leaders elected."""
    topics = call.request.topic_partitions
    names = tuple(named(topic.topic, number) for topic in topics or () for number in topic.partitions)
    unclean = bool(call.get("election_type", 0))
    (answer,) = yield ask(ElectLeadersRequest(0, unclean, names, ms(call.request.timeout)))
    rows = [
        (
            each.name,
            {"partition_id": split(each.name)[1], "error_code": each.error, "error_message": each.message or None},
        )
        for each in answer.partitions
    ]
    told = [{"topic": topic, "partition_result": found} for topic, found in by_topic(rows).items()]
    return {"error_code": answer.error, "replica_election_results": told}


def alter_configs(call: Call) -> Flow:
    """Change configurations live, of topics and of brokers, or say what would come of it."""
    asked = call.request.resources
    known = [each for each in asked if each.resource_type in _TYPES]
    resources = tuple(
        AlterConfigsResource(
            _TYPES[each.resource_type], each.resource_name,
            tuple(AlterableConfig(one.name, one.value or "", one.config_operation) for one in each.configs),
        )
        for each in known
    )  # fmt: skip
    answers: list[AdminError] = []
    if resources:
        (answer,) = yield ask(IncrementalAlterConfigsRequest(0, resources, bool(call.get("validate_only", False))))
        answers += answer.resources
    told = []
    for each in asked:
        error = answers.pop(0) if each.resource_type in _TYPES else _no_resource(each.resource_type)
        told.append(
            {"error_code": error.error, "error_message": error.message or None, "resource_type": each.resource_type,
             "resource_name": each.resource_name}
        )  # fmt: skip
    return {"responses": told}


def _no_resource(kind: int) -> AdminError:
    return AdminError(
        "", KafkaError.INVALID_REQUEST, f"found resource type {kind}, allowed are 2 (topic) and 4 (broker)"
    )


def describe_configs(call: Call) -> Flow:
    """What is configured, as the broker that is asked has been told."""
    yield ask(MetadataRequest(0))
    return {"results": [_described(call, each) for each in call.request.resources]}


def _described(call: Call, asked: Any) -> dict[str, Any]:
    house, said = call.house, {"resource_type": asked.resource_type, "resource_name": asked.resource_name}
    cluster = house.cluster
    found: tuple[Setting, ...]
    if asked.resource_type == TOPIC:
        if f"{asked.resource_name}-0" not in house.states(call.broker):
            return {**said, "error_code": KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "error_message": None}
        found = of_topic(cluster.brokers[call.broker].settings, cluster.profile, asked.resource_name)
    elif asked.resource_type == BROKER and asked.resource_name == str(call.broker):
        found = of_broker(cluster.brokers[call.broker].settings, cluster.profile)
    else:
        return {**said, "error_code": KafkaError.INVALID_REQUEST, "error_message": "neither a topic nor this broker"}
    wanted = asked.configuration_keys
    configs = [_config(each) for each in found if wanted is None or each.key.name in wanted]
    return {**said, "error_code": 0, "error_message": None, "configs": configs}
