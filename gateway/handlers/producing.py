"""Produce: a client's batches, unopened, one model request for each partition."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ProduceRequest, ProduceResponse
from gateway.handlers.leaders import endpoints, told
from gateway.handlers.metadata import UNKNOWN_TOPIC_ID
from gateway.protocol.codec import RequestError
from gateway.protocol.context import Ask, Call, Flow, ms, split, topic_named
from gateway.protocol.record_batches import BatchError, Head, read_head

_ACKS: Final = (-1, 0, 1)
_BY_ID: Final = 13
"""Version from which topics have ids instead of names (KIP-516)."""


class _Place(NamedTuple):
    """Where a batch is to go, by the client's words: a topic's name or its id, and a number."""

    topic: Any
    number: int
    partition: str
    """Empty where nobody knows the id."""


def produce(call: Call) -> Flow:
    """Append; with acks=0 nobody is answered, and the connection of who sent what is refused is closed."""
    acks = call.request.acks
    refused: dict[_Place, tuple[int, str]] = {}
    requests: list[ProduceRequest] = []
    places: list[_Place] = []
    for place, records in _sent(call):
        places.append(place)
        try:
            head = read_head(records or b"")
        except BatchError as error:
            refused[place] = (error.code, str(error))
            continue
        if not place.partition:
            refused[place] = (UNKNOWN_TOPIC_ID, "")
        elif acks in _ACKS:
            requests.append(_request(call, place.partition, head, bytes(records)))
        else:
            refused[place] = (KafkaError.INVALID_REQUIRED_ACKS, f"found acks={acks}, allowed are -1, 0 and 1")
    answers: tuple[ProduceResponse, ...] = ()
    if requests:
        answers = yield Ask(tuple(requests), waits=acks != 0)
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


def _sent(call: Call) -> Iterator[tuple[_Place, Any]]:
    """Each batch, and where it is to go."""
    for topic in call.request.topic_data:
        by_id = call.version >= _BY_ID
        name = topic_named(call.house, call.broker, topic.topic_id) if by_id else topic.name
        for each in topic.partition_data:
            partition = f"{name}-{each.index}" if name or not by_id else ""
            yield _Place(topic.topic_id if by_id else name, each.index, partition), each.records


def _request(call: Call, partition: str, head: Head, data: bytes) -> ProduceRequest:
    stamp_us = call.house.model_us(head.max_timestamp_ms)
    return ProduceRequest(
        0, partition, call.request.acks, ms(call.request.timeout), call.house.account(call.client), head.producer_id,
        head.base_sequence,
        head.records, head.size, (), -2 if stamp_us == -1 else stamp_us, head.codec, head.producer_epoch,
        kind=int(head.transactional),
        transactional_id=(call.get("transactional_id") or "") if head.transactional else "",
        version=call.version, payload=data,
    )  # fmt: skip


def _said(call: Call, answer: ProduceResponse) -> dict[str, Any]:
    return {
        "index": split(answer.partition)[1],
        "error_code": answer.error,
        "base_offset": answer.log_offset,
        "log_start_offset": answer.log_start,
        **told(call, answer.current),
    }


def _refused(place: _Place, error: int, message: str) -> dict[str, Any]:
    return {
        "index": place.number, "error_code": error, "base_offset": -1, "log_start_offset": -1,
        "error_message": message or None,
    }  # fmt: skip
