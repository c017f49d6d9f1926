"""Handlers of administrators' APIs: topics, partitions, records, elections and configurations."""

from typing import Any, Final

from cluster_model.observation import Setting, of_broker, of_topic
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterableConfig,
    AlterConfigsResource,
    CreatableTopic,
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
from gateway.protocol.context import Call, Flow, ask, by_topic, ms, split, topic_named, topic_uuid

TOPIC: Final = 2
BROKER: Final = 4
_TYPES: Final = {TOPIC: "topic", BROKER: "broker"}
_SOURCES: Final = {"own": 1, "run time": 2, "start": 4, "default": 5, "brokers": 5}
"""``DescribeConfigsResponse.ConfigSource``."""


def _told(each: AdminError) -> dict[str, Any]:
    return {"name": each.name, "error_code": each.error, "error_message": each.message or None}


def create_topics(call: Call) -> Flow:
    """Make topics."""
    wanted = tuple(
        CreatableTopic(
            topic.name, topic.num_partitions, topic.replication_factor,
            tuple(tuple(each.broker_ids) for each in sorted(topic.assignments, key=lambda each: each.partition_index)),
            tuple((each.name, each.value or "") for each in topic.configs),
        )
        for topic in call.request.topics
    )  # fmt: skip
    if call.get("validate_only", False):
        refused = [
            {
                "name": each.name,
                "error_code": KafkaError.INVALID_REQUEST,
                "error_message": "validate_only is not modelled",
            }
            for each in wanted
        ]
        return {"topics": refused}
    (answer,) = yield ask(CreateTopicsRequest(0, wanted, ms(call.request.timeout)))
    topics = []
    for each, topic in zip(answer.topics, wanted, strict=True):
        state = call.house.states(call.broker).get(f"{each.name}-0")
        topic_id = NO_ID if each.error or state is None else topic_uuid(each.name, state.topic_id)
        topics.append(
            {**_told(each), "topic_id": topic_id, "num_partitions": topic.partitions,
             "replication_factor": topic.replication}
        )  # fmt: skip
    return {"topics": topics}


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
    (answer,) = yield ask(CreatePartitionsRequest(0, wanted, ms(call.request.timeout)))
    return {"results": [_told(each) for each in answer.topics]}


def delete_records(call: Call) -> Flow:
    """Let partitions begin later."""
    asked = [(f"{topic.name}-{each.partition_index}", each.offset) for topic in call.request.topics
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
    names = tuple(f"{topic.topic}-{number}" for topic in topics or () for number in topic.partitions)
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
    """Change configurations live."""
    resources = tuple(
        AlterConfigsResource(
            _TYPES.get(each.resource_type, "topic"), each.resource_name,
            tuple(AlterableConfig(one.name, one.value or "", one.config_operation) for one in each.configs),
        )
        for each in call.request.resources
    )  # fmt: skip
    (answer,) = yield ask(IncrementalAlterConfigsRequest(0, resources))
    told = [
        {
            "error_code": each.error, "error_message": each.message or None, "resource_type": asked.resource_type,
            "resource_name": asked.resource_name,
        }
        for each, asked in zip(answer.resources, call.request.resources, strict=True)
    ]  # fmt: skip
    return {"responses": told}


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
    configs = [
        {
            "name": each.key.name, "value": each.value, "read_only": False, "is_sensitive": False,
            "config_source": _SOURCES[each.source],
        }
        for each in found
        if wanted is None or each.key.name in wanted
    ]  # fmt: skip
    return {**said, "error_code": 0, "error_message": None, "configs": configs}
