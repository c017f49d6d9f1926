"""Handlers of Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, and of transactions (KIP-98)."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition import Replica
from cluster_model.protocol.configs import NEVER, PRODUCERS_CODEC, LogConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    NO_LEADER,
    EpochEndRequest,
    FetchData,
    FetchPartition,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from cluster_model.protocol.transaction_messages import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol import api_versions
from gateway.protocol.codec import RequestError
from gateway.protocol.context import (
    ApiCall,
    GatewayCluster,
    ModelRequests,
    RequestHandlerGenerator,
    ask,
    by_topic,
    ms,
    partition_name,
    split_partition,
    topic_id_in,
    topic_of_id,
)
from gateway.protocol.record_batches import (
    ZSTD,
    BatchError,
    BatchHeader,
    UnreadableError,
    batch_at,
    bytes_of,
    code_of,
    oldest_ms,
    recompress,
    record_at,
    validate_batch,
)

# The current leader in an error response of Produce or Fetch, and its address (KIP-951).
#
# Only versions with a field for the addresses include it: ``KafkaApis.handleProduceRequest`` from 10 on,
# ``handleFetchRequest`` from 16 on, although Fetch has the leader's field since 12. A client that received a leader
# without its address would have to look it up among its known brokers, where it may be missing.


_SINCE: Final = {api_versions.PRODUCE: 10, api_versions.FETCH: 16}

Hint = tuple[int, int] | None
"""(leader, leader epoch), as the modelled broker returns it."""


def leader_field(call: ApiCall, hint: Hint) -> dict[str, Any]:
    """Return the leader field of a partition, if this version has it."""
    if hint is None or call.version < _SINCE[call.api]:
        return {}
    return {"current_leader": {"leader_id": hint[0], "leader_epoch": hint[1]}}


def leader_endpoints(call: ApiCall, hints: Iterable[Hint]) -> list[dict[str, Any]]:
    """Return the addresses of these leaders, each once, if the broker knows them to be alive."""
    if call.version < _SINCE[call.api]:
        return []
    live = call.context.cluster.brokers[call.broker].metadata.live
    racks = call.context.racks()
    endpoints = []
    for leader in dict.fromkeys(hint[0] for hint in hints if hint is not None):
        if leader in live:
            host, port = call.context.addresses[leader]
            endpoints.append({"node_id": leader, "host": host, "port": port, "rack": racks[leader]})
    return endpoints


NO_SESSION: Final = 0
"""Fetch sessions are not offered: every fetch is a full one, which KIP-227 allows."""
EARLIEST_LOCAL: Final = -4
"""First offset on the leader's disk: the log start offset, since there is no tiered storage (KIP-405)."""
LATEST_TIERED: Final = -5
"""Last offset in tiered storage, which does not exist here (KIP-1005)."""
EARLIEST_PENDING_UPLOAD: Final = -6
"""First offset that is not in tiered storage yet, which does not exist here (KIP-1023)."""
_SPECIAL: Final = (LATEST, EARLIEST, MAX_TIMESTAMP)
_ZSTD_IS_READ: Final = 10
"""First version of Fetch that reads topics with ``compression.type`` zstd (``KafkaApis.handleFetchRequest``)."""
_SINCE_VERSION: Final = {
    LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11,
}  # fmt: skip
"""Special timestamp → first version of ListOffsets that allows it."""


def fetch(call: ApiCall) -> RequestHandlerGenerator:
    """Handle Fetch. A broker without data delays the response, and so the client's connection."""
    request = call.request
    partitions: list[FetchPartition] = []
    max_bytes = 0
    refused: list[dict[str, Any]] = []
    for topic in request.topics:
        name = topic.topic if call.version < 13 else topic_of_id(call.context, call.broker, topic.topic_id)
        if not name:
            refused.append({"topic_id": topic.topic_id, "partitions": _errors(topic, UNKNOWN_TOPIC_ID)})
            continue
        if call.version < _ZSTD_IS_READ and _rules(call, name).codec == ZSTD:
            errors = _errors(topic, KafkaError.UNSUPPORTED_COMPRESSION_TYPE)
            refused.append({"topic": name, "partitions": errors})
            continue
        for each in topic.partitions:
            max_bytes = max(max_bytes, each.partition_max_bytes)
            partitions.append(
                FetchPartition(
                    partition_name(name, each.partition), each.fetch_offset, getattr(each, "current_leader_epoch", -1),
                    getattr(each, "last_fetched_epoch", -1),
                )
            )  # fmt: skip
    if not partitions and refused:
        return {"error_code": 0, "session_id": NO_SESSION, "responses": refused}
    wait_us = 0 if refused else ms(request.max_wait)
    (answer,) = yield ask(
        FetchRequest(
            0, CONSUMER, -1, wait_us, max_bytes, tuple(partitions), rack=call.get("rack_id", "") or "",
            min_bytes=max(1, request.min_bytes), response_max_bytes=request.max_bytes,
            isolation=request.isolation_level,
        )
    )  # fmt: skip
    rows = [(data.partition, _data(call, data)) for data in answer.partitions]
    states = call.context.states(call.broker)
    responses = [
        {
            "topic": topic,
            "topic_id": topic_id_in(states, partition_name(topic, found[0]["partition_index"])),
            "partitions": found,
        }
        for topic, found in by_topic(rows).items()
    ]
    return {
        "error_code": answer.error, "session_id": NO_SESSION, "responses": [*responses, *refused],
        "node_endpoints": leader_endpoints(call, [data.current for data in answer.partitions]),
    }  # fmt: skip


def _errors(topic: Any, error: int) -> list[dict[str, Any]]:
    """Return an error for each requested partition."""
    error_fields = {"error_code": error, "high_watermark": -1, "records": b""}
    return [{"partition_index": each.partition, **error_fields} for each in topic.partitions]


def _data(call: ApiCall, data: FetchData) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "partition_index": split_partition(data.partition)[1],
        "error_code": data.error,
        "high_watermark": data.hw,
        "last_stable_offset": data.last_stable_offset,
        "log_start_offset": data.log_start,
        "preferred_read_replica": data.preferred,
        "aborted_transactions": [
            {"producer_id": producer_id, "first_offset": first} for producer_id, first in data.aborted
        ],
        "records": partial(bytes_of, call.context, data) if data.records.extents else b"",
    }
    if data.diverging is not None:
        fields["diverging_epoch"] = {"epoch": data.diverging[0], "end_offset": data.diverging[1]}
    return {**fields, **leader_field(call, data.current)}


def list_offsets(call: ApiCall) -> RequestHandlerGenerator:
    """Handle ListOffsets: offsets by time, and log start and end offsets."""
    requests, refused, stamps = [], {}, {}
    for topic in call.request.topics:
        for each in topic.partitions:
            name, stamp = partition_name(topic.name, each.partition_index), each.timestamp
            if name in stamps:
                refused[name] = KafkaError.INVALID_REQUEST
            elif stamp < 0 and call.version < _SINCE_VERSION.get(stamp, call.version + 1):
                refused[name] = KafkaError.UNSUPPORTED_VERSION
            else:
                requests.append(
                    ListOffsetsRequest(
                        0, name, _model_time(call, stamp), getattr(each, "current_leader_epoch", -1), CONSUMER,
                        call.get("isolation_level", 0),
                    )
                )  # fmt: skip
            stamps[name] = stamp
    answers: tuple[ListOffsetsResponse, ...] = ()
    requests = [each for each in requests if each.partition not in refused]
    if requests:
        answers = yield ask(*requests)
    rows = [(each.partition, _offset(call, each, stamps[each.partition])) for each in answers]
    for name, error in refused.items():
        result = {"partition_index": split_partition(name)[1], "error_code": error, "timestamp": -1, "offset": -1}
        rows.append((name, result))
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _model_time(call: ApiCall, stamp: int) -> int:
    if stamp in (EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return EARLIEST
    if stamp in _SPECIAL:
        return stamp
    stamp_us = call.context.model_us(stamp)
    return min(_SPECIAL) - 1 if stamp_us in _SPECIAL else stamp_us


def _offset(call: ApiCall, answer: ListOffsetsResponse, asked_ms: int) -> dict[str, Any]:
    """Return a result; the model looks up batches by time, so a real client's batch is searched for the record."""
    offset, stamp_ms, epoch = answer.log_offset, -1, answer.leader_epoch
    if not answer.error and asked_ms in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        offset = epoch = -1
    elif answer.timestamp_us != -1:
        stamp_ms = call.context.timestamp_ms(answer.timestamp_us)
        replica = call.context.cluster.brokers[call.broker].replicas.get(answer.partition)
        if asked_ms >= 0 and replica is not None:
            offset, stamp_ms = _record(call.context, replica, offset, asked_ms)
        elif asked_ms == MAX_TIMESTAMP and replica is not None:
            offset = _newest(call.context, replica, offset)
    return {
        "partition_index": split_partition(answer.partition)[1],
        "error_code": answer.error,
        "timestamp": stamp_ms,
        "offset": offset,
        "leader_epoch": epoch,
    }


def _newest(context: GatewayCluster, replica: Replica, offset: int) -> int:
    """Return the offset of a batch's newest record; before 3.8 the last one if compressed (``LogValidator``)."""
    found = batch_at(replica, offset)
    if found is None or not found[1]:
        return offset
    batch, payload = found
    if batch.codec and not context.cluster.profile.max_timestamp_compressed:
        return batch.end - 1
    try:
        record = record_at(payload, context.timestamp_ms(batch.timestamp_us))
    except UnreadableError:
        return offset
    return offset if record is None else batch.base + record[0]


def _record(context: GatewayCluster, replica: Replica, offset: int, asked_ms: int) -> tuple[int, int]:
    """Return (offset, time) of the first record at or after a time, from a batch on; both -1 if there is none.

    Records of the model's own batches have the batch's time, and so do records that cannot be decoded.
    """
    while offset < replica.hw and (found := batch_at(replica, offset)) is not None:
        batch, payload = found
        newest_ms = context.timestamp_ms(batch.timestamp_us)
        if newest_ms >= asked_ms:
            if not payload:
                return offset, newest_ms
            try:
                record = record_at(payload, asked_ms, offset - batch.base)
            except UnreadableError:
                return offset, newest_ms
            if record is not None:
                return batch.base + record[0], record[1]
        offset = batch.end
    return -1, -1


def epoch_ends(call: ApiCall) -> RequestHandlerGenerator:
    """Handle OffsetForLeaderEpoch: end offsets of epochs, with which a client detects log truncation (KIP-320)."""
    epochs = tuple(
        (partition_name(topic.topic, each.partition), each.leader_epoch, each.current_leader_epoch)
        for topic in call.request.topics
        for each in topic.partitions
    )
    (answer,) = yield ask(EpochEndRequest(0, epochs, NO_LEADER))
    rows = [
        (
            each.partition,
            {
                "error_code": each.error, "partition": split_partition(each.partition)[1],
                "leader_epoch": each.epoch, "end_offset": each.end,
            },
        )
        for each in answer.partitions
    ]  # fmt: skip
    return {"topics": [{"topic": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


# Produce: a client's batches, not decompressed, one model request for each partition.


_ACKS: Final = (-1, 0, 1)
_BY_ID: Final = 13
"""First version of Produce with topic ids instead of names (KIP-516)."""


class _BatchTarget(NamedTuple):
    """Target of a batch in a request: a topic's name or id, and a partition number."""

    topic: Any
    number: int
    partition: str
    """Empty if the id is unknown."""


def produce(call: ApiCall) -> RequestHandlerGenerator:
    """Handle Produce; with acks=0 there is no response, and an error closes the connection."""
    acks = call.request.acks
    refused: dict[_BatchTarget, tuple[int, str]] = {}
    requests: list[ProduceRequest] = []
    targets: list[_BatchTarget] = []
    states = call.context.states(call.broker)
    for target, records in _sent(call):
        targets.append(target)
        if not target.partition:
            refused[target] = (UNKNOWN_TOPIC_ID, "")
        elif target.partition not in states:
            refused[target] = (KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "")
        elif acks not in _ACKS:
            refused[target] = (KafkaError.INVALID_REQUIRED_ACKS, f"found acks={acks}, expected -1, 0 and 1")
        else:
            try:
                head, data = _taken(call, target.partition, bytes(records or b""))
            except BatchError as error:
                refused[target] = (code_of(error, call.context.cluster.profile), str(error))
                continue
            requests.append(_request(call, target.partition, head, data))
    answers: tuple[ProduceResponse, ...] = ()
    if requests:
        answers = yield ModelRequests(tuple(requests), waits=acks != 0, closes=True)
    if not acks:
        for target, (code, message) in refused.items():
            raise RequestError(f"{target.partition or target.topic}: error {code}, {message or 'no such topic'}")
        return None
    answered = {each.partition: each for each in answers}
    rows: dict[Any, list[dict[str, Any]]] = {}
    for target in targets:
        result = (
            _refused(target, *refused[target]) if target in refused else _appended(call, answered[target.partition])
        )
        rows.setdefault(target.topic, []).append(result)
    key = "topic_id" if call.version >= _BY_ID else "name"
    responses = [{key: topic, "partition_responses": found} for topic, found in rows.items()]
    return {"responses": responses, "node_endpoints": leader_endpoints(call, [each.current for each in answers])}


def _sent(call: ApiCall) -> Iterator[tuple[_BatchTarget, Any]]:
    """Yield each batch with its target."""
    for topic in call.request.topic_data:
        by_id = call.version >= _BY_ID
        name = topic_of_id(call.context, call.broker, topic.topic_id) if by_id else topic.name
        for each in topic.partition_data:
            partition = partition_name(name, each.index) if name or not by_id else ""
            yield _BatchTarget(topic.topic_id if by_id else name, each.index, partition), each.records


def _taken(call: ApiCall, partition: str, data: bytes) -> tuple[BatchHeader, bytes]:
    """Return a batch as it is appended, recompressed if its topic has a codec of its own.

    Raises:
        BatchError: The batch is rejected.
    """
    head = validate_batch(data, call.version)
    rules = _rules(call, split_partition(partition)[0])
    if rules.codec in (PRODUCERS_CODEC, head.codec):
        return head, data
    if head.size > rules.max_message:
        message = f"found a batch of {head.size} bytes, expected {rules.max_message}"
        raise BatchError(KafkaError.MESSAGE_TOO_LARGE, message)
    try:
        data = recompress(data, rules.codec)
    except UnreadableError as error:
        raise BatchError(KafkaError.CORRUPT_MESSAGE, f"its records cannot be unpacked: {error}") from None
    return head._replace(codec=rules.codec, size=len(data)), data


def _rules(call: ApiCall, topic: str) -> LogConfig:
    """Return the log settings of a topic, as this broker knows them."""
    return call.context.cluster.brokers[call.broker].settings.of(topic).log


def _request(call: ApiCall, partition: str, head: BatchHeader, data: bytes) -> ProduceRequest:
    stamp_us = _model_us(call, head.max_timestamp_ms)
    return ProduceRequest(
        0, partition, call.request.acks, ms(call.request.timeout), call.context.ledger_name(call.client),
        head.producer_id, head.base_sequence, head.records, head.size, (), stamp_us, head.codec, head.producer_epoch,
        kind=int(head.transactional), transactional_id=(call.get("transactional_id") or "") if head.transactional else
        "", version=call.version, payload=data, oldest_us=_oldest_us(call, partition, data),
    )  # fmt: skip


def _oldest_us(call: ApiCall, partition: str, data: bytes) -> int:
    """Return the time of a batch's oldest record, -1 if unknown; records are decoded only if their age is limited."""
    rules = _rules(call, split_partition(partition)[0])
    if rules.oldest_us == NEVER or rules.log_append_time:
        return -1
    try:
        return _model_us(call, oldest_ms(data))
    except UnreadableError:
        return -1


def _model_us(call: ApiCall, stamp_ms: int) -> int:
    """Convert a timestamp to the model's time; -1 stays "none", and no other value becomes -1."""
    if stamp_ms == -1:
        return -1
    found = call.context.model_us(stamp_ms)
    return -2 if found == -1 else found


def _appended(call: ApiCall, answer: ProduceResponse) -> dict[str, Any]:
    return {
        "index": split_partition(answer.partition)[1],
        "error_code": answer.error,
        "base_offset": answer.log_offset,
        "log_start_offset": _log_start(call, answer),
        **leader_field(call, answer.current),
    }


def _log_start(call: ApiCall, answer: ProduceResponse) -> int:
    """Return the log start offset: from the response, or on an error from the broker's replica."""
    replica = call.context.cluster.brokers[call.broker].replicas.get(answer.partition)
    return answer.log_start if answer.error or replica is None else replica.log.log_start


def _refused(target: _BatchTarget, error: int, message: str) -> dict[str, Any]:
    return {
        "index": target.number, "error_code": error, "base_offset": -1, "log_start_offset": -1,
        "error_message": message or None,
    }  # fmt: skip


# Producer ids and transactions (KIP-98).


def init_producer_id(call: ApiCall) -> RequestHandlerGenerator:
    """Handle InitProducerId; with a transactional id, an open transaction of an earlier process is aborted first."""
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


def add_partitions(call: ApiCall) -> RequestHandlerGenerator:
    """Handle AddPartitionsToTxn: add partitions to the open transaction."""
    request = call.request
    names = tuple(
        partition_name(topic.name, number) for topic in request.v3_and_below_topics for number in topic.partitions
    )
    (answer,) = yield ask(
        AddPartitionsToTxnRequest(
            0, request.v3_and_below_transactional_id, request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch, names,
        )
    )  # fmt: skip
    rows = [
        (name, {"partition_index": split_partition(name)[1], "partition_error_code": answer.error})
        for name in names
    ]  # fmt: skip
    results = [{"name": topic, "results_by_partition": found} for topic, found in by_topic(rows).items()]
    return {"results_by_topic_v3_and_below": results}


def add_offsets(call: ApiCall) -> RequestHandlerGenerator:
    """Handle AddOffsetsToTxn: add a group's offsets to the open transaction."""
    request = call.request
    (answer,) = yield ask(
        AddOffsetsToTxnRequest(
            0, request.transactional_id, request.producer_id, request.producer_epoch, request.group_id
        )
    )  # fmt: skip
    return {"error_code": answer.error}


def end_txn(call: ApiCall) -> RequestHandlerGenerator:
    """Handle EndTxn: commit or abort."""
    request = call.request
    (answer,) = yield ask(
        EndTxnRequest(
            0, request.transactional_id, request.producer_id, request.producer_epoch, request.committed, call.version
        )
    )  # fmt: skip
    return {"error_code": answer.error, "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
