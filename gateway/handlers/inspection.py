"""Handlers of administrators' questions: producers, transactions, log directories, quotas and ACLs.

There are neither quotas of clients nor an authorizer: both are answered as a cluster answers that has none.
"""

from typing import Any, Final

from cluster_model.coordinators.group.consumer_protocol import PatternError
from cluster_model.protocol.admin_messages import DescribeQuorumRequest, QuorumReplica
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import MetadataRequest
from cluster_model.protocol.transaction_messages import (
    NOTHING,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
)
from gateway.protocol.codec import NO_ID
from gateway.protocol.context import LOG_DIR, ApiCall, Flow, ask, by_topic, named, split
from playbooks.engine.session import compile_re2_pattern

SIZE_UNKNOWN: Final = -1
STATES: Final = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip
"""``TransactionState``."""


def describe_producers(call: ApiCall) -> Flow:
    """Who has written to partitions, as their leader knows them (KIP-664)."""
    asked = [named(topic.name, number) for topic in call.request.topics for number in topic.partition_indexes]
    answers = yield ask(*[DescribeProducersRequest(0, each) for each in asked])
    rows = [(each.partition, _producers(call, each)) for each in answers or ()]
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _producers(call: ApiCall, told: DescribeProducersResponse) -> dict[str, Any]:
    producers = [
        {
            "producer_id": each.producer_id, "producer_epoch": each.producer_epoch, "last_sequence": each.last_sequence,
            "last_timestamp": call.house.stamp_ms(each.last_us), "coordinator_epoch": each.coordinator_epoch,
            "current_txn_start_offset": each.start_offset,
        }
        for each in told.producers
    ]  # fmt: skip
    number = split(told.partition)[1]
    return {"partition_index": number, "error_code": told.error, "error_message": None, "active_producers": producers}


def describe_transactions(call: ApiCall) -> Flow:
    """The state of transactional ids that this broker coordinates (KIP-664)."""
    answers = yield ask(*[DescribeTransactionsRequest(0, each) for each in call.request.transactional_ids])
    return {"transaction_states": [_transaction(call, each) for each in answers or ()]}


def _transaction(call: ApiCall, told: DescribeTransactionsResponse) -> dict[str, Any]:
    topics = by_topic((each, {"number": split(each)[1]}) for each in told.partitions)
    return {
        "error_code": told.error,
        "transactional_id": told.transactional_id,
        "transaction_state": told.state,
        "transaction_timeout": told.timeout_us // 1_000,
        "transaction_start_time": _start_ms(call, told),
        "producer_id": told.producer_id,
        "producer_epoch": told.producer_epoch,
        "topics": [
            {"topic": topic, "partitions": [each["number"] for each in found]} for topic, found in topics.items()
        ],
    }


def _start_ms(call: ApiCall, told: DescribeTransactionsResponse) -> int:
    if told.error:
        return 0
    return _stamp_ms(call, told.start_us)


def list_transactions(call: ApiCall) -> Flow:
    """The transactional ids that this broker coordinates, filtered (KIP-664, KIP-994, KIP-1152)."""
    request = call.request
    wanted, pattern = tuple(request.state_filters), call.get("transactional_id_pattern") or ""
    try:
        matches = compile_re2_pattern(pattern)
    except PatternError:
        return {"error_code": KafkaError.INVALID_REGULAR_EXPRESSION}
    (answer,) = yield ask(ListTransactionsRequest(0, tuple(request.producer_id_filters)))
    found = [
        each
        for each in answer.transactions
        if each.state != "Dead"
        and (not wanted or each.state in wanted)
        and (not pattern or matches(each.transactional_id))
    ]
    longer_ms = call.get("duration_filter", -1)
    if longer_ms >= 0 and found:
        described = yield ask(*[DescribeTransactionsRequest(0, each.transactional_id) for each in found])
        now = call.house.cluster.now_us
        old = {each.transactional_id for each in described if now - each.start_us > longer_ms * 1_000}
        found = [each for each in found if each.transactional_id in old]
    return {
        "error_code": answer.error,
        "unknown_state_filters": [each for each in wanted if each not in STATES],
        "transaction_states": [
            {
                "transactional_id": each.transactional_id,
                "producer_id": each.producer_id,
                "transaction_state": each.state,
            }
            for each in found
        ],
    }


def describe_log_dirs(call: ApiCall) -> Flow:
    """What a broker has on its disk (KIP-113)."""
    yield ask(MetadataRequest(0))
    asked = call.request.topics
    names = None if asked is None else {named(topic.topic, number) for topic in asked for number in topic.partitions}
    rows = [
        (
            partition,
            {
                "partition_index": split(partition)[1], "partition_size": replica.log.segments.total,
                "offset_lag": max(0, replica.hw - replica.log.leo), "is_future_key": False,
            },
        )
        for partition, replica in call.house.cluster.brokers[call.broker].replicas.items()
        if names is None or partition in names
    ]  # fmt: skip
    topics = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    directory = {"error_code": 0, "log_dir": LOG_DIR, "topics": topics,
                 "total_bytes": SIZE_UNKNOWN, "usable_bytes": SIZE_UNKNOWN}  # fmt: skip
    return {"error_code": 0, "results": [directory]}


METADATA_TOPIC: Final = "__cluster_metadata"
"""The log of the quorum, which has one partition."""


def describe_quorum(call: ApiCall) -> Flow:
    """The metadata quorum, as its leader knows it (KIP-595, KIP-836, KIP-853).

    Voters have no listeners and directory ids in the answer: the gateway has no listeners of controllers.
    """
    asked = [(topic.topic_name, each.partition_index) for topic in call.request.topics for each in topic.partitions]
    (told,) = yield ask(DescribeQuorumRequest(0))
    if asked != [(METADATA_TOPIC, 0)]:
        rows = [
            (named(topic, number), {"partition_index": number, "error_code": KafkaError.UNKNOWN_TOPIC_OR_PARTITION})
            for topic, number in asked
        ]
        return {"topics": [{"topic_name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}
    if told.error:
        failed = [{"partition_index": 0, "error_code": told.error}]
        return {"topics": [{"topic_name": METADATA_TOPIC, "partitions": failed}]}
    partition = {
        "partition_index": 0, "error_code": 0, "leader_id": told.leader, "leader_epoch": told.epoch,
        "high_watermark": told.high_watermark, "current_voters": [_replica(call, each) for each in told.voters],
        "observers": [_replica(call, each) for each in told.observers],
    }  # fmt: skip
    return {
        "error_code": 0,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}],
        "nodes": [{"node_id": each.replica, "listeners": ()} for each in told.voters],
    }


def _replica(call: ApiCall, told: QuorumReplica) -> dict[str, Any]:
    return {
        "replica_id": told.replica,
        "replica_directory_id": NO_ID,
        "log_end_offset": told.end,
        "last_fetch_timestamp": _stamp_ms(call, told.fetched_at_us),
        "last_caught_up_timestamp": _stamp_ms(call, told.caught_up_at_us),
    }


def _stamp_ms(call: ApiCall, model_us: int) -> int:
    """A time of the model as clients write it; -1 for none."""
    return NOTHING if model_us == NOTHING else call.house.stamp_ms(model_us)


def describe_client_quotas(call: ApiCall) -> Flow:
    """None."""
    yield ask(MetadataRequest(0))
    return {"error_code": 0, "error_message": None, "entries": ()}


_NO_AUTHORIZER: Final = {
    "error_code": KafkaError.SECURITY_DISABLED, "error_message": "No Authorizer is configured on the broker",
}  # fmt: skip
"""The answer of a broker without an authorizer to every request about ACLs (``AclApis``)."""


def describe_acls(call: ApiCall) -> Flow:
    """Refuse to describe ACLs: there is no authorizer."""
    yield ask(MetadataRequest(0))
    return _NO_AUTHORIZER


def create_acls(call: ApiCall) -> Flow:
    """Refuse to create ACLs: there is no authorizer."""
    yield ask(MetadataRequest(0))
    return {"results": [_NO_AUTHORIZER for _each in call.request.creations]}


def delete_acls(call: ApiCall) -> Flow:
    """Refuse to delete ACLs: there is no authorizer."""
    yield ask(MetadataRequest(0))
    return {"filter_results": [{**_NO_AUTHORIZER, "matching_acls": ()} for _each in call.request.filters]}
