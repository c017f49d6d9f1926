"""Stock members by the consumer protocol (KIP-848): librdkafka with ``group.protocol=consumer``."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, TopicPartition
from confluent_kafka.admin import AdminClient

from cluster_model.cluster import Cluster
from cluster_model.coordinators.group.consumer_protocol.consumer_group import ConsumerGroup
from playbooks.engine.replay import replay
from playbooks.recording.reader import read_session
from tests.gateway import hosting
from tests.gateway.hosting import Served, playbook, served
from tests.gateway.own_history import OwnHistory
from tests.gateway.running import PATIENCE_S, AckedMessage, Log
from tests.gateway.stock import StockClient, read_all, writer

pytestmark = [pytest.mark.sockets, pytest.mark.slow]
QUICK = (
    ", broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500, group.consumer.heartbeat.interval.ms: 1000"
    ", group.consumer.session.timeout.ms: 20000"
)
LOSSES = ("lost-write", "unseen", "inconsistent-offsets", "phantom", "G1a")


def until(what: Callable[[], bool], *members: "Member") -> None:
    hosting.until(what, lambda: [(each.has, each.log.notices) for each in members])


def share(one: "Member", two: "Member") -> bool:
    """Whether both have something, and together everything once."""
    return one.has | two.has == {0, 1, 2} and sorted((len(one.has), len(two.has))) == [1, 2]


class Member:
    """A member in a thread, and what it was told."""

    def __init__(self, host: Served, name: str, topics: tuple[str, ...] = ("orders",), **config: Any) -> None:
        self.log = Log(0)
        self.has: set[int] = set()
        self.expired: list[int] = []
        self.leave = threading.Event()
        self._consumer = Consumer(
            {"bootstrap.servers": host.bootstrap, "client.id": name, "group.id": "g", "group.protocol": "consumer",
             "auto.offset.reset": "earliest", "auto.commit.interval.ms": 500, "log_level": 0,
             **{key.replace("_", "."): value for key, value in config.items()}}
        )  # fmt: skip
        self._consumer.subscribe(list(topics), on_assign=self._gets, on_revoke=self._loses, on_lost=self._loses)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _gets(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.has |= {each.partition for each in partitions}
        consumer.incremental_assign(partitions)

    def _loses(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.has -= {each.partition for each in partitions}
        self.expired += [each.partition for each in partitions]
        consumer.incremental_unassign(partitions)

    def _run(self) -> None:
        while not self.leave.is_set():
            message = self._consumer.poll(0.05)
            if message is None:
                continue
            if message.error():
                self.log.notices.append(message.error().str())
            else:
                self.log.read.append(AckedMessage(message.partition(), message.offset(), message.value() or b""))
        self._consumer.close()

    def stop(self) -> Log:
        self.leave.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "a member does not come to its end"
        return self.log


def known(cluster: Cluster) -> ConsumerGroup | None:
    """The group at its coordinator."""
    found = [
        each.consumer_groups.groups["g"] for each in cluster.coordinators.values() if "g" in each.consumer_groups.groups
    ]
    return found[0] if found else None


def epochs(host: Served) -> dict[str, int]:
    """Client → its member's epoch."""

    def ask(cluster: Cluster) -> dict[str, int]:
        group = known(cluster)
        if group is None:
            return {}
        return {says.client_id: group.current[member].epoch for member, says in group.members.items()}

    found: dict[str, int] = host.asked(ask)
    return found


def committed(host: Served, partition: int) -> int:
    def ask(cluster: Cluster) -> int:
        for each in cluster.coordinators.values():
            told = each.registry.groups["g"].offsets.committed if "g" in each.registry.groups else {}
            if f"orders-{partition}" in told:
                return int(told[f"orders-{partition}"].offset)
        return -1

    found: int = host.asked(ask)
    return found


def test_two_members_share_lose_their_coordinator_and_part_and_nothing_is_lost(tmp_path: Path) -> None:
    with served(playbook("4.1", config=QUICK), tmp_path) as host:
        writers = [
            writer(StockClient("confluent-kafka", host.bootstrap, f"writes {each}", partition=each))
            for each in (0, 1, 2)
        ]
        one = Member(host, "one")
        until(lambda: one.has == {0, 1, 2}, one)
        two = Member(host, "two")
        until(lambda: share(one, two), one, two)
        assert sorted(one.expired) == sorted(two.has), "no more is given up than the other one gets"
        until(lambda: len(set(epochs(host).values())) == 1, one, two)
        before = epochs(host)
        host.act("crash", "coordinator(g)", 3_000_000)
        seen = len(two.log.read)
        until(lambda: len(two.log.read) > seen + 50, one, two)
        assert epochs(host) == before, "the new coordinator has read what the old one wrote"
        assert sorted(one.expired) == sorted(two.has)
        two.stop()
        until(lambda: one.has == {0, 1, 2}, one)
        assert epochs(host)["one"] > before["one"]
        for each in writers:
            each.leave.set()
        logs = {f"writes {number}": each.stop() for number, each in enumerate(writers)}
        there = read_all(host.bootstrap, 3)
        ends = {each.partition: each.offset for each in there}
        until(lambda: all(committed(host, each) > ends[each] for each in ends), one)
        one.stop()
    result = host.stop()
    acked = sum(len(log.acked) for log in logs.values())
    assert acked == sum(log.sent for log in logs.values()) > 200
    assert (result.ledger.acked, result.ledger.acked_lost) == (acked, 0)
    assert {each.value for each in (*one.log.read, *two.log.read)} == {each.value for each in there}
    own = OwnHistory(logs, {"one": one.log, "two": two.log}, there)
    assert {name: own.found[name] for name in LOSSES if own.found[name]} == {}
    assert [each for each in result.anomalies if not each.legal] == []
    assert result.violations == ()
    recorded = read_session(host.session.recorder.path)  # type: ignore[union-attr]
    assert replay(recorded).digest == result.digest


def test_the_coordinator_uses_pattern_assignor_and_instance_id_of_clients() -> None:
    with served(playbook("4.1", config=QUICK)) as host:
        one = Member(host, "one", ("^ord.*",), group_remote_assignor="range", group_instance_id="i")
        two = Member(host, "two", ("^ord.*",), group_remote_assignor="range")
        until(lambda: share(one, two), one, two)
        admin = AdminClient({"bootstrap.servers": host.bootstrap, "log_level": 0})
        told = admin.describe_consumer_groups(["g"])["g"].result(PATIENCE_S)
        assert (told.state, told.type) == (ConsumerGroupState.STABLE, ConsumerGroupType.CONSUMER)
        assert told.partition_assignor == "range"
        members = {each.client_id: each for each in told.members}
        assert members["one"].group_instance_id == "i"
        assert {each.partition for each in members["two"].assignment.topic_partitions} == two.has
        listed = admin.list_consumer_groups().result(PATIENCE_S)
        assert [(each.group_id, each.type) for each in listed.valid] == [("g", ConsumerGroupType.CONSUMER)]
        had = set(one.has)
        one.stop()
        host.let_pass(3_000_000)
        assert two.has == {0, 1, 2} - had, "what a static member had waits for it"
        again = Member(host, "one", ("^ord.*",), group_remote_assignor="range", group_instance_id="i")
        until(lambda: again.has == had, again, two)
        again.stop()
        two.stop()


def test_members_of_an_unknown_assignor_are_reported() -> None:
    with served(playbook("4.1", config=QUICK)) as host:
        one = Member(host, "one", group_remote_assignor="mine")
        until(lambda: any("assignor" in each for each in one.log.notices), one)
        assert any("assignor" in each for each in one.log.notices)
        one.stop()
