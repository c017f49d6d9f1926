"""Producer ids and transactions (KIP-98)."""

from cluster_model.protocol.messages import InitProducerIdRequest
from cluster_model.protocol.transaction_messages import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest
from gateway.protocol.context import Call, Flow, ask, by_topic, ms, split


def init_producer_id(call: Call) -> Flow:
    """An id and an epoch; with a transactional id whatever an earlier process left open is aborted first."""
    request = call.request
    (answer,) = yield ask(
        InitProducerIdRequest(
            0, request.transactional_id, ms(request.transaction_timeout), call.get("producer_id", -1),
            call.get("producer_epoch", -1),
        )
    )  # fmt: skip
    return {
        "error_code": answer.error, "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch,
    }  # fmt: skip


def add_partitions(call: Call) -> Flow:
    """Let partitions be part of the open transaction."""
    request = call.request
    names = tuple(f"{topic.name}-{number}" for topic in request.v3_and_below_topics for number in topic.partitions)
    (answer,) = yield ask(
        AddPartitionsToTxnRequest(
            0, request.v3_and_below_transactional_id, request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch, names,
        )
    )  # fmt: skip
    rows = [
        (name, {"partition_index": split(name)[1], "partition_error_code": answer.error})
        for name in names
    ]  # fmt: skip
    told = [{"name": topic, "results_by_partition": found} for topic, found in by_topic(rows).items()]
    return {"results_by_topic_v3_and_below": told}


def add_offsets(call: Call) -> Flow:
    """Let a group's offsets be part of it."""
    request = call.request
    (answer,) = yield ask(
        AddOffsetsToTxnRequest(
            0, request.transactional_id, request.producer_id, request.producer_epoch, request.group_id
        )
    )  # fmt: skip
    return {"error_code": answer.error}


def end_txn(call: Call) -> Flow:
    """Commit or abort."""
    request = call.request
    (answer,) = yield ask(
        EndTxnRequest(
            0, request.transactional_id, request.producer_id, request.producer_epoch, request.committed, call.version
        )
    )  # fmt: skip
    return {"error_code": answer.error, "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
