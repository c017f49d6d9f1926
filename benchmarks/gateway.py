"""Benchmark of the gateway and librdkafka's mock cluster, with the same stock producer, one after the other."""

import asyncio
import io
import os
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Producer
from kio.index import load_request_schema
from kio.serial import entity_writer

from benchmarks.measure import cpu_seconds
from gateway.protocol import record_batches
from gateway.protocol.codec import Header, _maker, read_request, write_response
from gateway.server import Frames, Gateway, framed
from playbooks.engine.session import Session
from playbooks.parser.loader import loads

VALUE = b"x" * 1024
SPAN_S = 5.0
ACKS = 300
PLAYBOOK = """
floodmark: 1
name: bench
seed: 1
cluster: {kafka: "3.9", brokers: 3, network: {latency: 0us, jitter: 0us}}
topics: [{name: bench, partitions: 1, replication: 3}]
settle: 0s
"""


class GatewayComparison(NamedTuple):
    """Messages per second against both, and the p99 latency of single acknowledgements, in milliseconds."""

    ours: float
    mock: float
    ours_ms: float
    mock_ms: float

    @property
    def ratio(self) -> float:
        return self.ours / self.mock


def beside() -> GatewayComparison:
    with _served() as bootstrap:
        ours, ours_ms = _messages(bootstrap), _latency_ms(bootstrap)
    mock = Producer({"test.mock.num.brokers": 3, "log_level": 0})
    brokers = mock.list_topics(timeout=30).brokers.values()
    bootstrap = ",".join(f"{each.host}:{each.port}" for each in brokers)
    return GatewayComparison(ours, _messages(bootstrap), ours_ms, _latency_ms(bootstrap))


@contextmanager
def _served() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gateway"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


async def _serve() -> None:
    session = Session.start(loads(PLAYBOOK, "bench.yaml"), open_ended=True)
    gateway = Gateway(session)
    await gateway.open(0)
    print(gateway.bootstrap, flush=True)
    while True:
        await asyncio.sleep(60)


def _messages(bootstrap: str) -> float:
    """Return acknowledged messages per second, with the producer's defaults."""
    acked = 0

    def delivered(error: Any, _message: Any) -> None:
        nonlocal acked
        acked += error is None

    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce("bench", VALUE, partition=0)
    producer.flush(30)
    began = time.perf_counter()
    while time.perf_counter() - began < SPAN_S:
        for _turn in range(200):
            try:
                producer.produce("bench", VALUE, partition=0, callback=delivered)
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    seconds = time.perf_counter() - began
    rate = acked / seconds
    producer.purge()
    producer.flush(30)
    return rate


def _latency_ms(bootstrap: str) -> float:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 0})
    spent: list[float] = []
    for _turn in range(ACKS):
        began = time.perf_counter()
        producer.produce("bench", VALUE, partition=0)
        producer.flush(30)
        spent.append((time.perf_counter() - began) * 1_000)
    return statistics.quantiles(spent, n=100)[98]


def produce_us() -> float:
    """Return the gateway's own CPU microseconds for one Produce of 16 KB: decode, validate, encode the response."""
    batch = record_batches.encode_batch(0, 0, 1, [(None, VALUE)] * 16)
    schema = load_request_schema(0, 9)
    request = {
        "acks": -1, "timeout": 1000,
        "topic_data": [{"name": "bench", "partition_data": [{"index": 0, "records": batch}]}],
    }  # fmt: skip
    out = io.BytesIO()
    out.write(struct.pack(">hhih", 0, 9, 1, 1) + b"c\0")
    entity_writer(schema)(out, _maker(schema)(request))
    frame, header = framed(out.getvalue()), Header(0, 9, 1, "c")
    answer = {
        "responses": [{"name": "bench", "partition_responses": [
            {"index": 0, "error_code": 0, "base_offset": 7, "log_start_offset": 0}]}]
    }  # fmt: skip
    frames, times = Frames(), 2_000

    def work() -> None:
        for _turn in range(times):
            (whole,) = frames.feed(frame)
            records = read_request(header, whole).topic_data[0].partition_data[0].records
            record_batches.validate_batch(records)
            record_batches.with_offset_and_epoch(bytes(records), 7, 3)
            framed(write_response(0, 9, 1, answer))

    work()
    return min(cpu_seconds(work) for _turn in range(3)) / times * 1e6


if __name__ == "__main__":
    asyncio.run(_serve())
