"""Requests of every API and version with bytes turned, cut and doubled: each ends its own connection at the worst."""

import io
import random
import struct
from typing import Any

import pytest
from kio.serial import entity_writer

from gateway.protocol.api_versions import offered
from gateway.protocol.codec import _maker, request_schema
from gateway.protocol.record_batches import encode_batch
from gateway.server import framed
from tests.gateway.wire import Wire
from tests.support.breadth import spread_sample

pytestmark = pytest.mark.slow

TURNS = 5
"""Steps that an answer gets: what is replicated first takes a few."""
MOST_PARTITIONS = 200
BATCH = encode_batch(0, 0, 1, [(b"k", b"v")])
SAID: dict[int, dict[str, Any]] = {
    0: {"acks": -1, "timeout": 1000, "topic_data": [
        {"name": "orders", "partition_data": [{"index": 0, "records": BATCH}]}]},
    1: {"replica_id": -1, "max_wait": 10, "min_bytes": 1, "max_bytes": 1 << 20, "topics": [
        {"topic": "orders", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}]},
    2: {"replica_id": -1, "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
    3: {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True},
    8: {"group_id": "g", "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]},
    9: {"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0]}], "groups": [{"group_id": "g"}]},
    10: {"key": "g", "key_type": 0, "coordinator_keys": ["g"]},
    11: {"group_id": "g", "protocol_type": "consumer", "session_timeout": 6000, "rebalance_timeout": 6000,
         "protocols": [{"name": "range", "metadata": bytes(20)}]},
    14: {"group_id": "g", "assignments": [{"member_id": "m", "assignment": bytes(9)}]},
    19: {"topics": [{"name": "made", "num_partitions": 1, "replication_factor": 1}], "timeout": 100},
    37: {"topics": [{"name": "orders", "count": 5}], "timeout": 100},
    68: {"group_id": "n", "member_id": "m", "member_epoch": 0, "rebalance_timeout": 9000, "rack_id": "a",
         "subscribed_topic_names": ["orders"], "subscribed_topic_regex": "o.*", "server_assignor": "range",
         "topic_partitions": []},
    69: {"group_ids": ["n", "g"]},
}  # fmt: skip
"""What is asked for by more than the defaults of its fields."""


def request(api: int, version: int) -> bytes:
    schema = request_schema(api, version)
    out = io.BytesIO()
    out.write(struct.pack(">hhih", api, version, 1, 1) + b"c" + (b"\0" if schema.__flexible__ else b""))
    entity_writer(schema)(out, _maker(schema)(SAID.get(api, {})))
    return out.getvalue()


def spoilt(data: bytes, draw: random.Random) -> bytes:
    """Behind its API and version."""
    body = bytearray(data)
    for _turn in range(draw.randint(1, 3)):
        place = draw.randrange(4, len(body))
        kind = draw.randrange(4)
        if kind == 0:
            body[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            body[place] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            del body[place : place + draw.randint(1, 4)]
        else:
            body[place:place] = body[place : place + draw.randint(1, 8)]
        if len(body) <= 5:
            break
    return bytes(body)


def _fuzzed(rounds: int) -> tuple[int, int, int]:
    """A new cluster wherever a spoilt request asked for partitions by the thousand, and got them."""
    wire, draw = Wire(), random.Random(11)
    answered = broken = complaints = 0
    for api, (low, high) in wire.context.ranges.items():
        for version in range(low, high + 1):
            whole = request(api, version)
            for turn in range(rounds + 1):
                pipe = wire.sent(1, framed(spoilt(whole, draw) if turn else whole), turns=TURNS)
                answered += bool(pipe.written)
                broken += pipe.closed
                if len(wire.session.cluster.cluster_state.records) > MOST_PARTITIONS:
                    complaints += wire.complaints
                    wire.close()
                    wire = Wire()
    wire.close()
    return answered, broken, complaints + wire.complaints


def test_every_api_in_every_version_is_taken() -> None:
    answered, broken, complaints = _fuzzed(0)
    every = sum(high - low + 1 for low, high in offered((4, 1, 0)).values())
    assert (answered, broken, complaints) == (every, 0, 0)


def test_no_spoilt_request_gets_out_of_its_connection() -> None:
    answered, broken, complaints = _fuzzed(len(spread_sample(range(40), 2)))
    assert answered > 160
    assert broken >= complaints > 20
