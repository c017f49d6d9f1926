"""Handlers of Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, and of transactions (KIP-98)."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition import Replica
from cluster_model.protocol.configs import NEVER, PRODUCERS_CODEC, LogRules
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import (
    CONSUMER,
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    NOBODY,
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
    Flow,
    House,
    ModelRequests,
    ask,
    by_topic,
    ms,
    named,
    split,
    topic_id_in,
    topic_named,
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
    read_head,
    recompressed,
    record_at,
)

# The current leader in a refusal of Produce or Fetch, and where that broker listens (KIP-951).
#
# Only versions that have room for the addresses tell: ``KafkaApis.handleProduceRequest`` from 10 on,
# ``handleFetchRequest`` from 16 on, though the leader's field is in Fetch since 12. A client that heard of a leader
# without its address would have to look it up among brokers of which it may be the one that is missing.


_SINCE: Final = {api_versions.PRODUCE: 10, api_versions.FETCH: 16}

Hint = tuple[int, int] | None
"""(leader, its epoch), as the model's broker says."""


def told(call: ApiCall, hint: Hint) -> dict[str, Any]:
    """The field of a partition, if this version has it."""
    if hint is None or call.version < _SINCE[call.api]:
        return {}
    return {"current_leader": {"leader_id": hint[0], "leader_epoch": hint[1]}}


def endpoints(call: ApiCall, hints: Iterable[Hint]) -> list[dict[str, Any]]:
    """Where those leaders listen that the broker knows to be alive, each once."""
    if call.version < _SINCE[call.api]:
        return []
    live = call.house.cluster.brokers[call.broker].metadata.live
    racks = call.house.racks()
    found = []
    for leader in dict.fromkeys(hint[0] for hint in hints if hint is not None):
        if leader in live:
            host, port = call.house.addresses[leader]
            found.append({"node_id": leader, "host": host, "port": port, "rack": racks[leader]})
    return found


NO_SESSION: Final = 0
"""Fetch sessions are not offered: every fetch is a full one (KIP-227 lets a broker do so)."""
EARLIEST_LOCAL: Final = -4
"""Where a log begins on the leader's disk: at its start, since nothing is tiered (KIP-405)."""
LATEST_TIERED: Final = -5
"""The last offset in tiered storage, which there is none of (KIP-1005)."""
_SPECIAL: Final = (LATEST, EARLIEST, MAX_TIMESTAMP)
_ZSTD_IS_READ: Final = 10
"""Version of Fetch from which topics with ``compression.type`` zstd are read (``KafkaApis.handleFetchRequest``)."""
_SINCE_VERSION: Final = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""From which version of ListOffsets on a special timestamp may be asked for."""


def fetch(call: ApiCall) -> Flow:
    """Read. A broker with nothing to say waits, and so does the client's connection."""
    request = call.request
    asked: list[FetchPartition] = []
    most = 0
    refused: list[dict[str, Any]] = []
    for topic in request.topics:
        name = topic.topic if call.version < 13 else topic_named(call.house, call.broker, topic.topic_id)
        if not name:
            refused.append({"topic_id": topic.topic_id, "partitions": _errors(topic, UNKNOWN_TOPIC_ID)})
            continue
        if call.version < _ZSTD_IS_READ and _rules(call, name).codec == ZSTD:
            errors = _errors(topic, KafkaError.UNSUPPORTED_COMPRESSION_TYPE)
            refused.append({"topic": name, "partitions": errors})
            continue
        for each in topic.partitions:
            most = max(most, each.partition_max_bytes)
            asked.append(
                FetchPartition(
                    named(name, each.partition), each.fetch_offset, getattr(each, "current_leader_epoch", -1),
                    getattr(each, "last_fetched_epoch", -1),
                )
            )  # fmt: skip
    if not asked and refused:
        return {"error_code": 0, "session_id": NO_SESSION, "responses": refused}
    wait_us = 0 if refused else ms(request.max_wait)
    (answer,) = yield ask(
        FetchRequest(
            0, CONSUMER, -1, wait_us, most, tuple(asked), rack=call.get("rack_id", "") or "",
            min_bytes=max(1, request.min_bytes), response_max_bytes=request.max_bytes,
            isolation=request.isolation_level,
        )
    )  # fmt: skip
    rows = [(data.partition, _data(call, data)) for data in answer.partitions]
    states = call.house.states(call.broker)
    responses = [
        {
            "topic": topic,
            "topic_id": topic_id_in(states, named(topic, found[0]["partition_index"])),
            "partitions": found,
        }
        for topic, found in by_topic(rows).items()
    ]
    return {
        "error_code": answer.error, "session_id": NO_SESSION, "responses": [*responses, *refused],
        "node_endpoints": endpoints(call, [data.current for data in answer.partitions]),
    }  # fmt: skip


def _errors(topic: Any, error: int) -> list[dict[str, Any]]:
    """An error for each partition that is asked for."""
    said = {"error_code": error, "high_watermark": -1, "records": b""}
    return [{"partition_index": each.partition, **said} for each in topic.partitions]


def _data(call: ApiCall, data: FetchData) -> dict[str, Any]:
    said: dict[str, Any] = {
        "partition_index": split(data.partition)[1],
        "error_code": data.error,
        "high_watermark": data.hw,
        "last_stable_offset": data.last_stable_offset,
        "log_start_offset": data.log_start,
        "preferred_read_replica": data.preferred,
        "aborted_transactions": [{"producer_id": who, "first_offset": first} for who, first in data.aborted],
        "records": partial(bytes_of, call.house, data) if data.records.extents else b"",
    }
    if data.diverging is not None:
        said["diverging_epoch"] = {"epoch": data.diverging[0], "end_offset": data.diverging[1]}
    return {**said, **told(call, data.current)}


def list_offsets(call: ApiCall) -> Flow:
    """Offsets by time, and the ends of logs."""
    requests, refused, stamps = [], {}, {}
    for topic in call.request.topics:
        for each in topic.partitions:
            name, stamp = named(topic.name, each.partition_index), each.timestamp
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
        said = {"partition_index": split(name)[1], "error_code": error, "timestamp": -1, "offset": -1}
        rows.append((name, said))
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _model_time(call: ApiCall, stamp: int) -> int:
    if stamp in (EARLIEST_LOCAL, LATEST_TIERED):
        return EARLIEST
    if stamp in _SPECIAL:
        return stamp
    stamp_us = call.house.model_us(stamp)
    return min(_SPECIAL) - 1 if stamp_us in _SPECIAL else stamp_us


def _offset(call: ApiCall, answer: ListOffsetsResponse, asked_ms: int) -> dict[str, Any]:
    """An answer by time is a batch of the model; of a real client's it is the record in it that was asked for."""
    offset, stamp_ms, epoch = answer.log_offset, -1, answer.leader_epoch
    if not answer.error and asked_ms == LATEST_TIERED:
        offset = epoch = -1
    elif answer.timestamp_us != -1:
        stamp_ms = call.house.stamp_ms(answer.timestamp_us)
        replica = call.house.cluster.brokers[call.broker].replicas.get(answer.partition)
        if asked_ms >= 0 and replica is not None:
            offset, stamp_ms = _record(call.house, replica, offset, asked_ms)
        elif asked_ms == MAX_TIMESTAMP and replica is not None:
            offset = _newest(call.house, replica, offset)
    return {
        "partition_index": split(answer.partition)[1],
        "error_code": answer.error,
        "timestamp": stamp_ms,
        "offset": offset,
        "leader_epoch": epoch,
    }


def _newest(house: House, replica: Replica, offset: int) -> int:
    """The offset of the newest record of a batch; before 3.8 of a compressed one it is the last (``LogValidator``)."""
    found = batch_at(replica, offset)
    if found is None or not found[1]:
        return offset
    batch, payload = found
    if batch.codec and not house.cluster.profile.max_timestamp_compressed:
        return batch.end - 1
    try:
        record = record_at(payload, house.stamp_ms(batch.timestamp_us))
    except UnreadableError:
        return offset
    return offset if record is None else batch.base + record[0]


def _record(house: House, replica: Replica, offset: int, asked_ms: int) -> tuple[int, int]:
    """(offset, time) of the first record of a time or later from a batch on, both -1 for none.

    Records of the model's own batches have one time; of what cannot be read it is that of the batch.
    """
    while offset < replica.hw and (found := batch_at(replica, offset)) is not None:
        batch, payload = found
        newest_ms = house.stamp_ms(batch.timestamp_us)
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


def epoch_ends(call: ApiCall) -> Flow:
    """Where epochs ended, for a client that looks whether its position was cut off (KIP-320)."""
    asked = tuple(
        (named(topic.topic, each.partition), each.leader_epoch, each.current_leader_epoch)
        for topic in call.request.topics
        for each in topic.partitions
    )
    (answer,) = yield ask(EpochEndRequest(0, asked, NOBODY))
    rows = [
        (
            each.partition,
            {
                "error_code": each.error, "partition": split(each.partition)[1],
                "leader_epoch": each.epoch, "end_offset": each.end,
            },
        )
        for each in answer.partitions
    ]  # fmt: skip
    return {"topics": [{"topic": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


# Produce: a client's batches, unopened, one model request for each partition.


_ACKS: Final = (-1, 0, 1)
_BY_ID: Final = 13
"""Version from which topics have ids instead of names (KIP-516)."""


class _Place(NamedTuple):
    """Where a batch is to go, by the client's words: a topic's name or its id, and a number."""

    topic: Any
    number: int
    partition: str
    """Empty where nobody knows the id."""


def produce(call: ApiCall) -> Flow:
    """Append; with acks=0 nobody is answered, and the connection of who sent what is refused is closed."""
    acks = call.request.acks
    refused: dict[_Place, tuple[int, str]] = {}
    requests: list[ProduceRequest] = []
    places: list[_Place] = []
    known = call.house.states(call.broker)
    for place, records in _sent(call):
        places.append(place)
        if not place.partition:
            refused[place] = (UNKNOWN_TOPIC_ID, "")
        elif place.partition not in known:
            refused[place] = (KafkaError.UNKNOWN_TOPIC_OR_PARTITION, "")
        elif acks not in _ACKS:
            refused[place] = (KafkaError.INVALID_REQUIRED_ACKS, f"found acks={acks}, allowed are -1, 0 and 1")
        else:
            try:
                head, data = _taken(call, place.partition, bytes(records or b""))
            except BatchError as error:
                refused[place] = (code_of(error, call.house.cluster.profile), str(error))
                continue
            requests.append(_request(call, place.partition, head, data))
    answers: tuple[ProduceResponse, ...] = ()
    if requests:
        answers = yield ModelRequests(tuple(requests), waits=acks != 0, closes=True)
    if not acks:
        for place, (code, why) in refused.items():
            raise RequestError(f"{place.partition or place.topic}: error {code}, {why or 'no such topic'}")
        return None
    answered = {each.partition: each for each in answers}
    rows: dict[Any, list[dict[str, Any]]] = {}
    for place in places:
        said = _refused(place, *refused[place]) if place in refused else _said(call, answered[place.partition])
        rows.setdefault(place.topic, []).append(said)
    key = "topic_id" if call.version >= _BY_ID else "name"
    responses = [{key: topic, "partition_responses": found} for topic, found in rows.items()]
    return {"responses": responses, "node_endpoints": endpoints(call, [each.current for each in answers])}


def _sent(call: ApiCall) -> Iterator[tuple[_Place, Any]]:
    """Each batch, and where it is to go."""
    for topic in call.request.topic_data:
        by_id = call.version >= _BY_ID
        name = topic_named(call.house, call.broker, topic.topic_id) if by_id else topic.name
        for each in topic.partition_data:
            partition = named(name, each.index) if name or not by_id else ""
            yield _Place(topic.topic_id if by_id else name, each.index, partition), each.records


def _taken(call: ApiCall, partition: str, data: bytes) -> tuple[BatchHeader, bytes]:
    """A batch as it goes into the log: with the codec of its topic, if it has one of its own.

    Raises:
        BatchError: it is refused.
    """
    head = read_head(data, call.version)
    rules = _rules(call, split(partition)[0])
    if rules.codec in (PRODUCERS_CODEC, head.codec):
        return head, data
    if head.size > rules.max_message:
        said = f"found a batch of {head.size} bytes, allowed are {rules.max_message}"
        raise BatchError(KafkaError.MESSAGE_TOO_LARGE, said)
    try:
        data = recompressed(data, rules.codec)
    except UnreadableError as error:
        raise BatchError(KafkaError.CORRUPT_MESSAGE, f"its records cannot be unpacked: {error}") from None
    return head._replace(codec=rules.codec, size=len(data)), data


def _rules(call: ApiCall, topic: str) -> LogRules:
    """Settings of a topic's logs, as the broker that is asked knows them."""
    return call.house.cluster.brokers[call.broker].settings.of(topic).log


def _request(call: ApiCall, partition: str, head: BatchHeader, data: bytes) -> ProduceRequest:
    stamp_us = _model_us(call, head.max_timestamp_ms)
    return ProduceRequest(
        0, partition, call.request.acks, ms(call.request.timeout), call.house.account(call.client), head.producer_id,
        head.base_sequence,
        head.records, head.size, (), stamp_us, head.codec, head.producer_epoch,
        kind=int(head.transactional),
        transactional_id=(call.get("transactional_id") or "") if head.transactional else "",
        version=call.version, payload=data, oldest_us=_oldest_us(call, partition, data),
    )  # fmt: skip


def _oldest_us(call: ApiCall, partition: str, data: bytes) -> int:
    """When the oldest record of a batch was made, -1 untold; every record is looked at where their age is bounded."""
    rules = _rules(call, split(partition)[0])
    if rules.oldest_us == NEVER or rules.log_append_time:
        return -1
    try:
        return _model_us(call, oldest_ms(data))
    except UnreadableError:
        return -1


def _model_us(call: ApiCall, stamp_ms: int) -> int:
    """A timestamp in the model's time; -1 stays "none", and no other becomes it."""
    if stamp_ms == -1:
        return -1
    found = call.house.model_us(stamp_ms)
    return -2 if found == -1 else found


def _said(call: ApiCall, answer: ProduceResponse) -> dict[str, Any]:
    return {
        "index": split(answer.partition)[1],
        "error_code": answer.error,
        "base_offset": answer.log_offset,
        "log_start_offset": _log_start(call, answer),
        **told(call, answer.current),
    }


def _log_start(call: ApiCall, answer: ProduceResponse) -> int:
    """Where the log begins: of what was appended, and where the broker says so of what was not."""
    replica = call.house.cluster.brokers[call.broker].replicas.get(answer.partition)
    return answer.log_start if answer.error or replica is None else replica.log.log_start


def _refused(place: _Place, error: int, message: str) -> dict[str, Any]:
    return {
        "index": place.number, "error_code": error, "base_offset": -1, "log_start_offset": -1,
        "error_message": message or None,
    }  # fmt: skip


# Producer ids and transactions (KIP-98).


def init_producer_id(call: ApiCall) -> Flow:
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


def add_partitions(call: ApiCall) -> Flow:
    """Let partitions be part of the open transaction."""
    request = call.request
    names = tuple(named(topic.name, number) for topic in request.v3_and_below_topics for number in topic.partitions)
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


def add_offsets(call: ApiCall) -> Flow:
    """Let a group's offsets be part of it."""
    request = call.request
    (answer,) = yield ask(
        AddOffsetsToTxnRequest(
            0, request.transactional_id, request.producer_id, request.producer_epoch, request.group_id
        )
    )  # fmt: skip
    return {"error_code": answer.error}


def end_txn(call: ApiCall) -> Flow:
    """Commit or abort."""
    request = call.request
    (answer,) = yield ask(
        EndTxnRequest(
            0, request.transactional_id, request.producer_id, request.producer_epoch, request.committed, call.version
        )
    )  # fmt: skip
    return {"error_code": answer.error, "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
