"""Records on the wire: what is refused and by which error, and where a broker that has no replica stands."""

from typing import Any

import pytest

from cluster_model.protocol.errors import KafkaError as E
from gateway.protocol import api_versions as api
from gateway.protocol.record_batches import encode_batch
from tests.gateway.hosting import playbook
from tests.gateway.test_admin_wire import create
from tests.gateway.wire import Wire

BATCH = encode_batch(0, 0, 1_700_000_000_000, [(None, b"v")])
ELSEWHERE = "elsewhere"
"""A topic of broker 1 alone."""


@pytest.fixture(scope="module", params=["2.8", "4.1"])
def wire(request: pytest.FixtureRequest) -> Wire:
    wire = Wire(playbook(request.param, min_isr=1))
    wire.run(2)
    placed = [{"partition_index": 0, "broker_ids": (1,)}]
    assert create(wire, ELSEWHERE, assignments=placed).error_code == E.NONE
    wire.run(2)
    return wire


def produce(wire: Wire, broker: int, topic: str, number: int, records: bytes = BATCH, acks: int = 1) -> Any:
    data = [{"name": topic, "partition_data": [{"index": number, "records": records}]}]
    answer = wire.ask(broker, api.PRODUCE, 8, transactional_id=None, acks=acks, timeout=9_000, topic_data=data)
    ((told,),) = [each.partition_responses for each in answer.responses]
    return told


def fetch(wire: Wire, broker: int, topic: str, number: int) -> int:
    asked = {"partition": number, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    answer = wire.ask(
        broker, api.FETCH, 4, replica_id=-1, max_wait=0, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
        topics=[{"topic": topic, "partitions": [asked]}],
    )  # fmt: skip
    ((told,),) = [each.partitions for each in answer.responses]
    assert told.partition_index == number
    return int(told.error_code)


def offset(wire: Wire, broker: int, topic: str, number: int) -> int:
    asked = [{"partition_index": number, "timestamp": -1}]
    answer = wire.ask(broker, api.LIST_OFFSETS, 1, replica_id=-1, topics=[{"name": topic, "partitions": asked}])
    ((told,),) = [each.partitions for each in answer.topics]
    assert told.partition_index == number
    return int(told.error_code)


def epoch_end(wire: Wire, broker: int, topic: str, number: int) -> int:
    asked = [{"partition": number, "current_leader_epoch": -1, "leader_epoch": 0}]
    answer = wire.ask(broker, api.EPOCH_ENDS, 3, replica_id=-1, topics=[{"topic": topic, "partitions": asked}])
    ((told,),) = [each.partitions for each in answer.topics]
    assert told.partition == number
    return int(told.error_code)


def delete(wire: Wire, broker: int, topic: str, number: int) -> int:
    asked = [{"partition_index": number, "offset": 0}]
    answer = wire.ask(broker, api.DELETE_RECORDS, 1, timeout=900, topics=[{"name": topic, "partitions": asked}])
    ((told,),) = [each.partitions for each in answer.topics]
    assert told.partition_index == number
    return int(told.error_code)


def write(wire: Wire, broker: int, topic: str, number: int) -> int:
    return int(produce(wire, broker, topic, number).error_code)


@pytest.mark.parametrize("ask", [write, fetch, offset, epoch_end, delete])
class TestWhere:
    def test_a_broker_without_a_replica_answers_not_leader_or_follower(self, wire: Wire, ask: Any) -> None:
        assert ask(wire, 1, ELSEWHERE, 0) == E.NONE
        assert ask(wire, 2, ELSEWHERE, 0) == E.NOT_LEADER_OR_FOLLOWER

    @pytest.mark.parametrize(("topic", "number"), [("orders", -1), ("orders", 9), ("orders-", 1), ("nope", 0)])
    def test_list_offsets_of_missing_partitions_is_unknown(self, wire: Wire, ask: Any, topic: str, number: int) -> None:
        assert ask(wire, 1, topic, number) == E.UNKNOWN_TOPIC_OR_PARTITION


def test_an_invalid_batch_is_rejected_and_the_next_accepted(wire: Wire) -> None:
    for records in (b"", b"x" * 70, BATCH[:16] + b"\1" + BATCH[17:], BATCH + BATCH):
        told = produce(wire, 1, ELSEWHERE, 0, records)
        assert (told.error_code, told.base_offset, told.log_start_offset) == (E.INVALID_RECORD, -1, -1)
    assert produce(wire, 1, ELSEWHERE, 0, BATCH[:-1] + b"?").error_code == E.CORRUPT_MESSAGE
    assert produce(wire, 1, "nope", 0, b"").error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(wire, 1, ELSEWHERE, 0, acks=2).error_code == E.INVALID_REQUIRED_ACKS
    assert produce(wire, 1, ELSEWHERE, 0).error_code == E.NONE


def test_the_log_start_is_reported_with_what_is_written(wire: Wire) -> None:
    first = produce(wire, 1, ELSEWHERE, 0).base_offset
    asked = [{"partition_index": 0, "offset": first}]
    answer = wire.ask(1, api.DELETE_RECORDS, 1, timeout=900, topics=[{"name": ELSEWHERE, "partitions": asked}])
    assert answer.topics[0].partitions[0].low_watermark == first
    for acks in (1, -1):
        told = produce(wire, 1, ELSEWHERE, 0, acks=acks)
        assert (told.error_code, told.log_start_offset) == (E.NONE, first)


def test_a_subscription_that_cannot_be_read_is_passed_on(wire: Wire) -> None:
    at = -1
    while at < 0:
        wire.run(0.2)
        at = wire.ask(1, api.FIND_COORDINATOR, 3, key="odd", key_type=0).node_id
    said = {
        "group_id": "odd", "session_timeout": 30_000, "rebalance_timeout": 30_000, "member_id": "",
        "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b"\xff\xff\xff"}],
    }  # fmt: skip
    while (told := wire.ask(at, api.JOIN_GROUP, 3, **said)).error_code != E.NONE:
        assert told.error_code in (E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR)
        wire.run(0.2)
    (member,) = told.members
    assert (told.leader, member.metadata) == (member.member_id, b"\xff\xff\xff")
    assert wire.complaints == 0
