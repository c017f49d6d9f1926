"""Produce: a client's batches, unopened, one model request for each partition."""

from typing import Any

from cluster_model.errors import KafkaError
from cluster_model.messages import ProduceRequest, ProduceResponse
from gateway.batches import BatchError, Head, read_head
from gateway.handlers.leaders import endpoints, told
from gateway.house import Ask, Call, Flow, by_topic, ms, split

_ACKS = (-1, 0, 1)


def produce(call: Call) -> Flow:
    """Append; with acks=0 nobody is answered."""
    acks = call.request.acks
    refused: dict[str, tuple[int, str]] = {}
    requests: list[ProduceRequest] = []
    order: list[str] = []
    for topic in call.request.topic_data:
        for each in topic.partition_data:
            partition = f"{topic.name}-{each.index}"
            order.append(partition)
            try:
                head = read_head(each.records or b"")
            except BatchError as error:
                refused[partition] = (error.code, str(error))
                continue
            if acks in _ACKS:
                requests.append(_request(call, partition, head, bytes(each.records)))
            else:
                refused[partition] = (KafkaError.INVALID_REQUIRED_ACKS, f"found acks={acks}, allowed are -1, 0 and 1")
    answers: tuple[ProduceResponse, ...] = ()
    if requests:
        answers = yield Ask(tuple(requests), waits=acks != 0)
    if not acks:
        return None
    answered = {each.partition: each for each in answers}
    rows = [
        (name, _refused(name, *refused[name]) if name in refused else _said(call, answered[name])) for name in order
    ]
    responses = [{"name": topic, "partition_responses": found} for topic, found in by_topic(rows).items()]
    return {"responses": responses, "node_endpoints": endpoints(call, [each.current for each in answers])}


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


def _refused(partition: str, error: int, message: str) -> dict[str, Any]:
    return {
        "index": split(partition)[1], "error_code": error, "base_offset": -1, "log_start_offset": -1,
        "error_message": message,
    }  # fmt: skip
