"""Stock clients of three libraries in threads of their own, each with a log of what it was told and given."""

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from tests.gateway.running import PATIENCE_S, AckedMessage, Running

TOPIC = "orders"
RETRY_MS = 50


class StockClient(NamedTuple):
    """Whose client, and what it does."""

    library: str
    bootstrap: str
    name: str
    acks: str = "all"
    partition: int = 0
    rest_s: float = 0.01
    group: str = ""
    session_ms: int = 6_000
    """How long a member of a group holds out without its coordinator."""

    @property
    def servers(self) -> list[str]:
        return self.bootstrap.split(",")


def writer(asked: StockClient) -> Running:
    """Sends records, each of a value of its own, until it is stopped, and then waits for what is under way."""
    return Running(lambda running: _WRITERS[asked.library](asked, running), asked.partition)


def reader(asked: StockClient) -> Running:
    """A member of a group that reads from the beginning, and commits."""
    return Running(lambda running: _READERS[asked.library](asked, running), asked.partition)


def read_all(bootstrap: str, partitions: int) -> list[AckedMessage]:
    """What a fresh client of no group finds, from the beginning of each partition to its end."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "client.id": "last", "group.id": "last", "log_level": 0})
    ends = {number: consumer.get_watermark_offsets(TopicPartition(TOPIC, number), PATIENCE_S)[1]
            for number in range(partitions)}  # fmt: skip
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(partitions)])
    found: list[AckedMessage] = []
    deadline = time.monotonic() + PATIENCE_S
    while any(ends.values()):
        assert time.monotonic() < deadline, f"not read to the end: {ends}"
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            found.append(AckedMessage(message.partition(), message.offset(), message.value()))
            if message.offset() >= ends[message.partition()] - 1:
                ends[message.partition()] = 0
    consumer.close()
    return found


def _values(asked: StockClient, running: Running) -> Any:
    while not running.leave.is_set():
        value = f"{asked.name}/{running.log.sent}".encode()
        running.log.sent += 1
        yield value
        time.sleep(asked.rest_s)


def _confluent_writes(asked: StockClient, running: Running) -> None:
    log = running.log
    producer = Producer(
        {
            "bootstrap.servers": asked.bootstrap,
            "client.id": asked.name,
            "acks": asked.acks,
            "log_level": 0,
            "enable.idempotence": asked.acks == "all",
        }
    )

    running.drop = producer.purge

    def told(error: Any, message: Any) -> None:
        if error is None:
            log.acked.append(AckedMessage(message.partition(), message.offset(), message.value()))
        else:
            log.failed.append((message.value(), error.name()))

    for value in _values(asked, running):
        producer.produce(TOPIC, value, partition=asked.partition, callback=told)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def _python_writes(asked: StockClient, running: Running) -> None:
    log = running.log
    producer = KafkaProducer(
        bootstrap_servers=asked.servers, client_id=asked.name, acks=asked.acks if asked.acks == "all" else 1,
        enable_idempotence=asked.acks == "all", retry_backoff_ms=RETRY_MS,
    )  # fmt: skip
    running.drop = producer._sender.force_close  # close() would wait for what is under way
    waiting = [(value, producer.send(TOPIC, value, partition=asked.partition)) for value in _values(asked, running)]
    producer.flush(PATIENCE_S)
    for value, future in waiting:
        try:
            told = future.get(PATIENCE_S)
            log.acked.append(AckedMessage(told.partition, told.offset, value))
        except KafkaError as error:
            log.failed.append((value, type(error).__name__))
    producer.close()


def _run_until_dropped(what: Coroutine[Any, Any, None], running: Running) -> None:
    async def run() -> None:
        task, loop = asyncio.ensure_future(what), asyncio.get_running_loop()
        running.drop = lambda: loop.call_soon_threadsafe(task.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())


def _aio_writes(asked: StockClient, running: Running) -> None:
    _run_until_dropped(_aio_writing(asked, running), running)


async def _aio_writing(asked: StockClient, running: Running) -> None:
    log = running.log
    producer = AIOKafkaProducer(
        bootstrap_servers=asked.bootstrap, client_id=asked.name, acks=asked.acks if asked.acks == "all" else 1,
        enable_idempotence=asked.acks == "all", retry_backoff_ms=RETRY_MS,
    )  # fmt: skip
    await producer.start()
    waiting = []
    while not running.leave.is_set():
        value = f"{asked.name}/{log.sent}".encode()
        log.sent += 1
        waiting.append((value, await producer.send(TOPIC, value, partition=asked.partition)))
        await asyncio.sleep(asked.rest_s)
    for value, future in waiting:
        try:
            told = await asyncio.wait_for(future, PATIENCE_S)
            log.acked.append(AckedMessage(told.partition, told.offset, value))
        except Exception as error:
            log.failed.append((value, type(error).__name__))
    await producer.stop()


def _confluent_reads(asked: StockClient, running: Running) -> None:
    log = running.log
    consumer = Consumer(
        {"bootstrap.servers": asked.bootstrap, "client.id": asked.name, "group.id": asked.group, "log_level": 0,
         "auto.offset.reset": "earliest", "session.timeout.ms": asked.session_ms,
         "partition.assignment.strategy": "range", "auto.commit.interval.ms": 500}
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    while not running.leave.is_set():
        message = consumer.poll(0.05)
        if message is None:
            continue
        if message.error():
            log.notices.append(message.error().name())
        else:
            log.read.append(AckedMessage(message.partition(), message.offset(), message.value()))
    consumer.close()


def _python_reads(asked: StockClient, running: Running) -> None:
    log = running.log
    consumer = KafkaConsumer(
        bootstrap_servers=asked.servers, client_id=asked.name, group_id=asked.group,
        session_timeout_ms=asked.session_ms, auto_offset_reset="earliest", auto_commit_interval_ms=500,
        heartbeat_interval_ms=1000,
    )  # fmt: skip
    # It may join before it has heard of any partition, and be content with none until its metadata is old.
    assert consumer.partitions_for_topic(TOPIC)
    consumer.subscribe([TOPIC])
    while not running.leave.is_set():
        try:
            found = consumer.poll(100)
        except KafkaError as error:
            log.notices.append(type(error).__name__)
            continue
        for place, records in found.items():
            log.read += [AckedMessage(place.partition, each.offset, each.value) for each in records]
    consumer.close()


def _aio_reads(asked: StockClient, running: Running) -> None:
    _run_until_dropped(_aio_reading(asked, running), running)


async def _aio_reading(asked: StockClient, running: Running) -> None:
    log = running.log
    consumer = AIOKafkaConsumer(
        TOPIC, bootstrap_servers=asked.bootstrap, client_id=asked.name, group_id=asked.group,
        session_timeout_ms=asked.session_ms, auto_offset_reset="earliest", auto_commit_interval_ms=500,
        heartbeat_interval_ms=1000,
        partition_assignment_strategy=(RangePartitionAssignor,),
    )  # fmt: skip
    await consumer.start()
    try:
        while not running.leave.is_set():
            try:
                found = await consumer.getmany(timeout_ms=100)
            except Exception as error:
                log.notices.append(type(error).__name__)
                continue
            for place, records in found.items():
                log.read += [AckedMessage(place.partition, each.offset, each.value or b"") for each in records]
    finally:
        with contextlib.suppress(Exception):
            await consumer.stop()


_WRITERS = {"confluent-kafka": _confluent_writes, "kafka-python": _python_writes, "aiokafka": _aio_writes}
_READERS = {"confluent-kafka": _confluent_reads, "kafka-python": _python_reads, "aiokafka": _aio_reads}
LIBRARIES = tuple(_WRITERS)
