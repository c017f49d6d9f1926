"""Fetch, ListOffsets, OffsetsForLeaderEpoch: what of a log a broker lets be read, as bytes."""

from typing import Any, Final

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
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from gateway.handlers.leaders import endpoints, told
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol.context import Call, Flow, ask, by_topic, ms, split, topic_id_in, topic_named
from gateway.protocol.records import bytes_of

NO_SESSION: Final = 0
"""Fetch sessions are not offered: every fetch is a full one (KIP-227 lets a broker do so)."""
_SPECIAL: Final = (LATEST, EARLIEST, MAX_TIMESTAMP)
_NEEDS_V7: Final = {-4: "earliest local", -5: "latest tiered"}


def fetch(call: Call) -> Flow:
    """Read. A broker with nothing to say waits, and so does the client's connection."""
    request = call.request
    asked: list[FetchPartition] = []
    most = 0
    unknown: list[dict[str, Any]] = []
    for topic in request.topics:
        name = topic.topic if call.version < 13 else topic_named(call.house, call.broker, topic.topic_id)
        if not name:
            errors = [
                {
                    "partition_index": each.partition,
                    "error_code": UNKNOWN_TOPIC_ID,
                    "high_watermark": -1,
                    "records": b"",
                }
                for each in topic.partitions
            ]
            unknown.append({"topic_id": topic.topic_id, "partitions": errors})
            continue
        for each in topic.partitions:
            most = max(most, each.partition_max_bytes)
            asked.append(
                FetchPartition(
                    f"{name}-{each.partition}", each.fetch_offset, getattr(each, "current_leader_epoch", -1),
                    getattr(each, "last_fetched_epoch", -1),
                )
            )  # fmt: skip
    if not asked and unknown:
        return {"error_code": 0, "session_id": NO_SESSION, "responses": unknown}
    wait_us = 0 if unknown else ms(request.max_wait)
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
            "topic_id": topic_id_in(states, f"{topic}-{found[0]['partition_index']}"),
            "partitions": found,
        }
        for topic, found in by_topic(rows).items()
    ]
    return {
        "error_code": answer.error, "session_id": NO_SESSION, "responses": [*responses, *unknown],
        "node_endpoints": endpoints(call, [data.current for data in answer.partitions]),
    }  # fmt: skip


def _data(call: Call, data: FetchData) -> dict[str, Any]:
    said: dict[str, Any] = {
        "partition_index": split(data.partition)[1],
        "error_code": data.error,
        "high_watermark": data.hw,
        "last_stable_offset": data.last_stable_offset,
        "log_start_offset": data.log_start,
        "preferred_read_replica": data.preferred,
        "aborted_transactions": [{"producer_id": who, "first_offset": first} for who, first in data.aborted],
        "records": bytes_of(call.house, data) if data.records.extents else b"",
    }
    if data.diverging is not None:
        said["diverging_epoch"] = {"epoch": data.diverging[0], "end_offset": data.diverging[1]}
    return {**said, **told(call, data.current)}


def list_offsets(call: Call) -> Flow:
    """Offsets by time, and the ends of logs."""
    requests, refused = [], {}
    for topic in call.request.topics:
        for each in topic.partitions:
            name = f"{topic.name}-{each.partition_index}"
            stamp = each.timestamp
            if stamp in _NEEDS_V7 or stamp < min(_SPECIAL):
                refused[name] = KafkaError.UNSUPPORTED_VERSION
                continue
            stamp_us = stamp if stamp in _SPECIAL else call.house.model_us(stamp)
            if stamp >= 0 and stamp_us in _SPECIAL:
                stamp_us = min(_SPECIAL) - 1
            requests.append(
                ListOffsetsRequest(
                    0, name, stamp_us, getattr(each, "current_leader_epoch", -1), CONSUMER,
                    call.get("isolation_level", 0),
                )
            )  # fmt: skip
    answers: tuple[ListOffsetsResponse, ...] = ()
    if requests:
        answers = yield ask(*requests)
    rows = [(each.partition, _offset(call, each)) for each in answers]
    for name, error in refused.items():
        said = {"partition_index": split(name)[1], "error_code": error, "timestamp": -1, "offset": -1}
        rows.append((name, said))
    return {"topics": [{"name": topic, "partitions": found} for topic, found in by_topic(rows).items()]}


def _offset(call: Call, answer: ListOffsetsResponse) -> dict[str, Any]:
    return {
        "partition_index": split(answer.partition)[1],
        "error_code": answer.error,
        "timestamp": call.house.stamp_ms(answer.timestamp_us) if answer.timestamp_us != -1 else -1,
        "offset": answer.log_offset,
        "leader_epoch": answer.leader_epoch,
    }


def epoch_ends(call: Call) -> Flow:
    """Where epochs ended, for a client that looks whether its position was cut off (KIP-320)."""
    asked = tuple(
        (f"{topic.topic}-{each.partition}", each.leader_epoch, each.current_leader_epoch)
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
