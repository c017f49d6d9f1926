"""Handlers of inspection APIs: producers, transactions, log directories, quorum, quotas and ACLs.

There are no client quotas and no authorizer: responses are those of a cluster without them.
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
from gateway.protocol.context import (
    LOG_DIR,
    ApiCall,
    RequestHandlerGenerator,
    ask,
    by_topic,
    partition_name,
    split_partition,
)
from playbooks.engine.session import compile_re2_pattern

SIZE_UNKNOWN: Final = -1
STATES: Final = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip
"""States of Kafka's ``TransactionState``."""


def describe_producers(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeProducers: the producer state of partition leaders (KIP-664)."""
    partitions = [
        partition_name(topic.name, number) for topic in call.request.topics for number in topic.partition_indexes
    ]
    answers = yield ask(*[DescribeProducersRequest(0, each) for each in partitions])
    rows = [(each.partition, _producers(call, each)) for each in answers or ()]
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _producers(call: ApiCall, answer: DescribeProducersResponse) -> dict[str, Any]:
    producers = [
        {
            "producer_id": each.producer_id, "producer_epoch": each.producer_epoch, "last_sequence": each.last_sequence,
            "last_timestamp": call.context.timestamp_ms(each.last_us), "coordinator_epoch": each.coordinator_epoch,
            "current_txn_start_offset": each.start_offset,
        }
        for each in answer.producers
    ]  # fmt: skip
    number = split_partition(answer.partition)[1]
    return {"partition_index": number, "error_code": answer.error, "error_message": None, "active_producers": producers}


def describe_transactions(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeTransactions: the transactional ids that this broker coordinates (KIP-664)."""
    answers = yield ask(*[DescribeTransactionsRequest(0, each) for each in call.request.transactional_ids])
    return {"transaction_states": [_transaction(call, each) for each in answers or ()]}


def _transaction(call: ApiCall, answer: DescribeTransactionsResponse) -> dict[str, Any]:
    topics = by_topic((each, {"number": split_partition(each)[1]}) for each in answer.partitions)
    return {
        "error_code": answer.error,
        "transactional_id": answer.transactional_id,
        "transaction_state": answer.state,
        "transaction_timeout": answer.timeout_us // 1_000,
        "transaction_start_time": _start_ms(call, answer),
        "producer_id": answer.producer_id,
        "producer_epoch": answer.producer_epoch,
        "topics": [
            {"topic": topic, "partitions": [each["number"] for each in found]} for topic, found in topics.items()
        ],
    }


def _start_ms(call: ApiCall, answer: DescribeTransactionsResponse) -> int:
    if answer.error:
        return 0
    return _stamp_ms(call, answer.start_us)


def list_transactions(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ListTransactions: this broker's transactional ids, filtered (KIP-664, KIP-994, KIP-1152)."""
    request = call.request
    wanted, pattern = tuple(request.state_filters), call.get("transactional_id_pattern") or ""
    try:
        matches = compile_re2_pattern(pattern)
    except PatternError:
        return {"error_code": KafkaError.INVALID_REGULAR_EXPRESSION}
    (answer,) = yield ask(ListTransactionsRequest(0, tuple(request.producer_id_filters)))
    matching = [
        each
        for each in answer.transactions
        if each.state != "Dead"
        and (not wanted or each.state in wanted)
        and (not pattern or matches(each.transactional_id))
    ]
    longer_ms = call.get("duration_filter", -1)
    if longer_ms >= 0 and matching:
        described = yield ask(*[DescribeTransactionsRequest(0, each.transactional_id) for each in matching])
        now = call.context.cluster.now_us
        old = {each.transactional_id for each in described if now - each.start_us > longer_ms * 1_000}
        matching = [each for each in matching if each.transactional_id in old]
    return {
        "error_code": answer.error,
        "unknown_state_filters": [each for each in wanted if each not in STATES],
        "transaction_states": [
            {
                "transactional_id": each.transactional_id,
                "producer_id": each.producer_id,
                "transaction_state": each.state,
            }
            for each in matching
        ],
    }


def describe_log_dirs(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeLogDirs: the contents of a broker's disk (KIP-113)."""
    yield ask(MetadataRequest(0))
    wanted = call.request.topics
    names = (
        None
        if wanted is None
        else {partition_name(topic.topic, number) for topic in wanted for number in topic.partitions}
    )
    rows = [
        (
            partition,
            {
                "partition_index": split_partition(partition)[1], "partition_size": replica.log.segments.total,
                "offset_lag": max(0, replica.hw - replica.log.leo), "is_future_key": False,
            },
        )
        for partition, replica in call.context.cluster.brokers[call.broker].replicas.items()
        if names is None or partition in names
    ]  # fmt: skip
    topics = [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]
    directory = {"error_code": 0, "log_dir": LOG_DIR, "topics": topics,
                 "total_bytes": SIZE_UNKNOWN, "usable_bytes": SIZE_UNKNOWN}  # fmt: skip
    return {"error_code": 0, "results": [directory]}


METADATA_TOPIC: Final = "__cluster_metadata"
"""Topic of the quorum's log, which has one partition."""


def describe_quorum(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeQuorum: the metadata quorum, as its leader knows it (KIP-595, KIP-836, KIP-853).

    The response has no listeners or directory ids of voters: the gateway has no listeners for controllers.
    """
    partitions = [
        (topic.topic_name, each.partition_index) for topic in call.request.topics for each in topic.partitions
    ]
    (answer,) = yield ask(DescribeQuorumRequest(0))
    if partitions != [(METADATA_TOPIC, 0)]:
        rows = [
            (
                partition_name(topic, number),
                {"partition_index": number, "error_code": KafkaError.UNKNOWN_TOPIC_OR_PARTITION},
            )
            for topic, number in partitions
        ]
        return {"topics": [{"topic_name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}
    if answer.error:
        failed = [{"partition_index": 0, "error_code": answer.error}]
        return {"topics": [{"topic_name": METADATA_TOPIC, "partitions": failed}]}
    partition = {
        "partition_index": 0, "error_code": 0, "leader_id": answer.leader, "leader_epoch": answer.epoch,
        "high_watermark": answer.high_watermark, "current_voters": [_replica(call, each) for each in answer.voters],
        "observers": [_replica(call, each) for each in answer.observers],
    }  # fmt: skip
    return {
        "error_code": 0,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}],
        "nodes": [{"node_id": each.replica, "listeners": ()} for each in answer.voters],
    }


def _replica(call: ApiCall, replica: QuorumReplica) -> dict[str, Any]:
    return {
        "replica_id": replica.replica,
        "replica_directory_id": NO_ID,
        "log_end_offset": replica.end,
        "last_fetch_timestamp": _stamp_ms(call, replica.fetched_at_us),
        "last_caught_up_timestamp": _stamp_ms(call, replica.caught_up_at_us),
    }


def _stamp_ms(call: ApiCall, model_us: int) -> int:
    """Convert a time of the model to a timestamp; -1 for none."""
    return NOTHING if model_us == NOTHING else call.context.timestamp_ms(model_us)


def describe_client_quotas(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeClientQuotas: there are none."""
    yield ask(MetadataRequest(0))
    return {"error_code": 0, "error_message": None, "entries": ()}


_NO_AUTHORIZER: Final = {
    "error_code": KafkaError.SECURITY_DISABLED, "error_message": "No Authorizer is configured on the broker",
}  # fmt: skip
"""Response of a broker without an authorizer to every ACL request (``AclApis``)."""


def describe_acls(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DescribeAcls: refused, since there is no authorizer."""
    yield ask(MetadataRequest(0))
    return _NO_AUTHORIZER


def create_acls(call: ApiCall) -> RequestHandlerGenerator:
    """Handle CreateAcls: refused, since there is no authorizer."""
    yield ask(MetadataRequest(0))
    return {"results": [_NO_AUTHORIZER for _each in call.request.creations]}


def delete_acls(call: ApiCall) -> RequestHandlerGenerator:
    """Handle DeleteAcls: refused, since there is no authorizer."""
    yield ask(MetadataRequest(0))
    return {"filter_results": [{**_NO_AUTHORIZER, "matching_acls": ()} for _each in call.request.filters]}
