"""Real clients, unmodified, against modelled brokers; what they say is held against what the ledger says."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from kafka import KafkaProducer

from playbooks.engine.replay import replay
from playbooks.recording.reader import read_session
from tests.gateway.hosting import Served, playbook, served, until
from tests.gateway.running import PATIENCE_S
from tests.gateway.stock import LIBRARIES, StockClient, reader

pytestmark = [pytest.mark.sockets, pytest.mark.slow]
QUIET = {"log_level": 0}


def sent(host: Served, values: list[str], partition: int = 0, **config: Any) -> list[Any]:
    """Errors or offsets, by librdkafka."""
    told: list[Any] = []
    producer = Producer(
        {"bootstrap.servers": host.bootstrap, **QUIET, **{k.replace("_", "."): v for k, v in config.items()}}
    )
    for value in values:
        producer.produce("orders", value, partition=partition, callback=lambda e, m: told.append(e or m.offset()))
    assert producer.flush(PATIENCE_S) == 0
    return told


def read(host: Served, count: int, partition: int = 0, **config: Any) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": host.bootstrap, "group.id": "reader", **QUIET, **config})
    consumer.assign([TopicPartition("orders", partition, 0)])
    found: list[bytes] = []

    def enough() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            found.append(message.value())
        return len(found) >= count

    until(enough, lambda: found)
    consumer.close()
    return found


def test_librdkafka_writes_and_reads_by_every_acks_and_codec(tmp_path: Path) -> None:
    with served(parent=tmp_path) as host:
        for acks in ("1", "all"):
            assert len(sent(host, [f"a{acks}{number}" for number in range(5)], acks=acks)) == 5
        assert sent(host, ["b"], acks="0") == [None]
        for codec in ("gzip", "snappy", "lz4", "zstd"):
            sent(host, [codec] * 20, compression_codec=codec)
        assert len(sent(host, ["i"] * 5, enable_idempotence=True)) == 5
        values = read(host, 96)
        assert len(values) == 96
        assert values.count(b"zstd") == 20
    ledger = host.stop().ledger
    assert (ledger.sent, ledger.acked, ledger.acked_lost, ledger.duplicates) == (96, 96, 0, 0)
    recorded = read_session(host.session.recorder.path)  # type: ignore[union-attr]
    assert replay(recorded).digest == host.stop().digest


@pytest.mark.parametrize("kafka", ["3.9", "4.1"])
def test_transactions_are_seen_when_they_are_committed_and_never_when_aborted(kafka: str) -> None:
    with served(playbook(kafka)) as host:
        producer = Producer({"bootstrap.servers": host.bootstrap, "transactional.id": "t", **QUIET})
        producer.init_transactions(PATIENCE_S)
        for name in ("kept", "dropped", "kept too"):
            producer.begin_transaction()
            producer.produce("orders", name, partition=0)
            assert producer.flush(PATIENCE_S) == 0  # what is not sent yet is dropped by an abort
            (producer.abort_transaction if name == "dropped" else producer.commit_transaction)(PATIENCE_S)
        assert read(host, 2, **{"isolation.level": "read_committed"}) == [b"kept", b"kept too"]
        assert len(read(host, 3, **{"isolation.level": "read_uncommitted"})) == 3
    ledger = host.stop().ledger
    assert (ledger.acked, ledger.aborted, ledger.acked_lost) == (2, 1, 0)


def test_an_administrator_makes_describes_and_deletes() -> None:
    with served() as host:
        admin = AdminClient({"bootstrap.servers": host.bootstrap, **QUIET})
        admin.create_topics([NewTopic("made", 2, 3, config={"retention.ms": "60000"})])["made"].result(PATIENCE_S)
        resource = ConfigResource(ConfigResource.Type.TOPIC, "made")
        assert (
            len(host.asked(lambda cluster: [name for name in cluster.cluster_state.records if name.startswith("made")]))
            == 2
        )

        def kept() -> str:
            """Of the topic, once the broker that is asked has heard of it: the controller decides a little before."""
            with contextlib.suppress(KafkaException):
                return str(admin.describe_configs([resource])[resource].result(PATIENCE_S)["retention.ms"].value)
            return ""

        assert until(kept) == "60000"
        admin.delete_topics(["made"])["made"].result(PATIENCE_S)
        assert admin.create_topics([NewTopic("orders", 1, 1)])["orders"].exception(PATIENCE_S) is not None


def test_clients_of_three_libraries_share_a_group() -> None:
    with served() as host:
        for partition in range(3):
            sent(host, [f"sent/{partition}{number}" for number in range(5)], partition)
        members = [reader(StockClient(library, host.bootstrap, library, group="mixed")) for library in LIBRARIES]

        def seen() -> set[bytes]:
            return {told.value for each in members for told in each.log.read}

        until(lambda: len(seen()) >= 15 and host.asked(_members_of_mixed) == 3, seen)
        for each in members:
            each.stop()
    assert len(seen()) == 15


def _members_of_mixed(cluster: Any) -> int:
    return max(len(each.registry.groups["mixed"].members) if "mixed" in each.registry.groups else 0
               for each in cluster.coordinators.values())  # fmt: skip


@pytest.mark.parametrize("kafka", ["3.9", "4.1"])
def test_kafka_python_and_aiokafka_write_and_read(kafka: str) -> None:
    with served(playbook(kafka)) as host:
        producer = KafkaProducer(bootstrap_servers=host.bootstrap.split(","), acks="all", compression_type="gzip")
        assert [producer.send("orders", b"k", partition=1).get(PATIENCE_S).offset for _turn in range(3)] == [0, 1, 2]
        producer.close()

        async def write() -> int:
            writer = AIOKafkaProducer(bootstrap_servers=host.bootstrap, transactional_id="aio")
            await writer.start()
            async with writer.transaction():
                told = await writer.send_and_wait("orders", b"t", partition=1)
            await writer.stop()
            return int(told.offset)

        assert asyncio.run(write()) == 3
        assert read(host, 4, 1) == [b"k"] * 3 + [b"t"]
    assert host.stop().ledger.acked == 4


def test_a_leader_crashes_in_the_middle_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acked: list[int] = []
    with served(playbook(config=", broker.session.timeout.ms: 3000"), tmp_path) as host:
        producer = Producer({"bootstrap.servers": host.bootstrap, "acks": "all", **QUIET})

        def written(more: int) -> bool:
            """Whether so many more are acknowledged than before, which takes a write or two each time."""
            producer.produce("orders", b"x", partition=0, callback=lambda e, m: acked.append(m.offset()))
            producer.poll(0.005)
            return len(acked) >= more

        def leader() -> int:
            found: int = host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].leader)
            return found

        until(lambda: written(50))
        crashed = leader()
        host.act("crash", "leader(orders-0)", 2_000_000)
        until(lambda: written(0) and leader() not in (crashed, -1))
        then = len(acked)
        until(lambda: written(then + 100) and host.asked(lambda cluster: cluster.is_up(crashed)))
        over_us = host.now_us() + 1_000_000
        host.act("gc_pause", "leader(orders-0)", 1_000_000)
        then = len(acked)
        until(lambda: written(then + 50) and host.now_us() > over_us)
        assert producer.flush(PATIENCE_S) == 0
        assert len(read(host, len(acked))) == len(acked)
    result = host.stop()
    assert (result.ledger.acked, result.ledger.acked_lost) == (len(acked), 0)
    assert not result.violations
    recorded = read_session(host.session.recorder.path)  # type: ignore[union-attr]
    assert replay(recorded).digest == result.digest


def test_an_unclean_election_loses_what_acks_1_had_guaranteed_and_the_client_can_see_it() -> None:
    told = playbook(topic=", unclean.leader.election.enable: true", min_isr=1,
                    config=", replica.lag.time.max.ms: 1000, broker.session.timeout.ms: 3000")  # fmt: skip
    with served(told) as host:
        leader = host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].leader)
        assert len(sent(host, ["before"] * 10, acks="1")) == 10
        for broker in sorted({1, 2, 3} - {leader}):
            host.act("gc_pause", f"broker({broker})", 7_000_000)
        until(lambda: host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].isr) == (leader,))
        told_now = sent(host, ["lost"] * 20, acks="1")
        host.act("crash", f"broker({leader})")
        until(lambda: host.asked(lambda cluster: cluster.cluster_state.records["orders-0"].leader) not in (leader, -1))
        assert read(host, 10) == [b"before"] * 10
    result = host.stop()
    assert told_now == list(range(10, 30))
    assert (result.ledger.acked, result.ledger.acked_lost) == (30, 20)
    assert {each.client for each in result.ledger.clients if each.acked_lost} == {"rdkafka"}


def test_a_client_that_is_called_like_one_of_the_playbooks_has_statistics_of_its_own() -> None:
    with served(playbook(clients="clients: {producers: [{name: web, topic: orders, rate: 20/s}]}")) as host:
        assert len(sent(host, ["a", "b"], client_id="web", acks="all")) == 2
        assert len(sent(host, ["c"], client_id="shop", acks="all")) == 1
        until(lambda: host.asked(lambda cluster: cluster.query.acked("web")))
    books = {each.client: each.acked for each in host.stop().ledger.clients}
    assert (books["web (wire)"], books["shop"]) == (2, 1)
    assert books["web"] > 0
