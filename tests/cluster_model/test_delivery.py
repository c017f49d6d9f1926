"""What an application may see of its records, by acks, idempotence, retries and fault: Kafka's promises as runs.

L: an acknowledged record is lost. D: a record stands twice. R: records of one producer changed places. S: the
application was told of a failure, and the record is there.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.config import ConfigValue
from cluster_model.spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec
from faults.action import Action
from faults.board import FaultBoard

SECOND = 1_000_000
P = "orders-0"
PLAIN: dict[str, ConfigValue] = {"enable.idempotence": False}
ONE: dict[str, ConfigValue] = {"max.in.flight.requests.per.connection": 1}
NEVER_AGAIN: dict[str, ConfigValue] = {"retries": 0}


@dataclass
class Seen:
    """Counts at the end."""

    sent: int
    acked: int
    failed: int
    unknown: int
    lost: int
    twice: int
    moved: int
    in_log: int
    epoch: int

    @property
    def letters(self) -> str:
        """Which of L, D, R and S happened."""
        told_wrong = self.unknown and self.in_log - self.twice > self.acked - self.lost
        return "".join(
            letter
            for letter, seen in (("L", self.lost), ("D", self.twice), ("R", self.moved), ("S", told_wrong))
            if seen
        )


class Run:
    """Three brokers with the leader on the first, one producer with several requests under way at any time."""

    def __init__(
        self, acks: str, config: dict[str, ConfigValue], *, min_isr: int = 2, unclean: bool = False, kafka: str = "3.9"
    ) -> None:
        topic = TopicSpec(
            "orders", 1, 3, ((1, 2, 3),), {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
        )
        settings = {"acks": acks, "request.timeout.ms": 2_000, "linger.ms": 0, "retry.backoff.max.ms": 100, **config}
        producer = ProducerSpec("checkout", "orders", 4_000, config=settings)
        brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
        network = NetworkSpec(6_000, 2_000)
        self.cluster = Cluster.build(ClusterSpec(kafka, None, brokers, (topic,), (producer,), network=network), 3)  # type: ignore[arg-type]
        self.board = FaultBoard(self.cluster)
        self.cluster.run(3 * SECOND)

    def inject(self, name: str, target: str, for_ms: int = -1, **params: Any) -> "Run":
        self.board.inject(Action("inject", name, target, params, for_ms * 1_000))
        return self

    def wait(self, seconds: float) -> "Run":
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))
        return self

    def ack_lost(self) -> "Run":
        """Answers of the leader do not get through for longer than the producer waits."""
        node = 2_000
        self.cluster.cut(1, node, 99)
        self.wait(2.5)
        self.cluster.mend(1, node, 99)
        return self.wait(3)

    def leader_changes(self) -> "Run":
        """The leader is shut down in order, so that requests under way are refused."""
        self.cluster.shutdown(1)
        self.wait(6)
        self.cluster.restart(1)
        return self.wait(4)

    def leader_crashes(self) -> "Run":
        return self.inject("crash", "leader(orders-0)", 12_000).wait(15)

    def leader_pauses(self) -> "Run":
        return self.inject("gc_pause", "leader(orders-0)", 15_000).wait(20)

    def end(self) -> Seen:
        cluster = self.cluster
        self.board.heal("all")
        cluster.stop_producers()
        self.wait(25)
        producer = cluster.producers["checkout"]
        epoch = producer._sender._sequences.epoch
        cluster.close()
        assert cluster.query.violations() == 0
        query = cluster.query
        return Seen(
            query.sent(), query.acked(), query.failed(), query.unknown(), query.acked_lost(), query.duplicates(),
            query.reordered(), query.leo(P), epoch,
        )  # fmt: skip


# --- acks=0 and 1 ---------------------------------------------------------------------------------------------------


def test_acks_0_loses_silently_whatever_happens_to_the_leader() -> None:
    seen = Run("0", {}).leader_crashes().end()
    assert seen.acked == seen.sent
    assert seen.in_log < seen.sent


def test_acks_0_loses_at_a_mere_change_of_leader() -> None:
    seen = Run("0", {}).leader_changes().end()
    assert seen.acked == seen.sent
    assert seen.in_log < seen.sent


def test_acks_1_loses_what_only_a_leader_had_that_is_replaced() -> None:
    assert "L" in Run("1", dict(NEVER_AGAIN)).leader_pauses().end().letters


def test_acks_1_without_retries_and_a_lost_ack_tells_of_failures_that_are_none() -> None:
    seen = Run("1", dict(NEVER_AGAIN)).ack_lost().end()
    assert seen.letters == "S"
    assert seen.unknown > 0


def test_acks_1_with_retries_writes_twice_when_an_ack_is_lost() -> None:
    assert "D" in Run("1", {}).ack_lost().end().letters


def test_acks_1_with_retries_changes_the_order_when_the_leader_changes() -> None:
    assert "R" in Run("1", {}).leader_changes().end().letters


def test_acks_1_with_retries_loses_when_its_leader_is_replaced() -> None:
    assert "L" in Run("1", {}).leader_pauses().end().letters


@pytest.mark.parametrize("fault", ["ack_lost", "leader_changes"])
def test_one_request_in_flight_keeps_the_order(fault: str) -> None:
    letters = getattr(Run("1", dict(ONE)), fault)().end().letters
    assert letters == ("D" if fault == "ack_lost" else "")


# --- acks=all without idempotence -----------------------------------------------------------------------------------


def test_acks_all_with_retries_writes_twice_when_an_ack_is_lost_and_loses_nothing() -> None:
    letters = Run("all", dict(PLAIN)).ack_lost().end().letters
    assert "D" in letters
    assert "L" not in letters


def test_acks_all_with_retries_changes_the_order_when_the_leader_changes_and_loses_nothing() -> None:
    letters = Run("all", dict(PLAIN)).leader_changes().end().letters
    assert "R" in letters
    assert "L" not in letters


@pytest.mark.parametrize("fault", ["ack_lost", "leader_changes", "leader_crashes"])
def test_acks_all_without_retries_neither_repeats_nor_loses(fault: str) -> None:
    seen = getattr(Run("all", {**PLAIN, **NEVER_AGAIN}), fault)().end()
    assert seen.letters in ("", "S")
    assert seen.failed + seen.unknown > 0
    if fault == "ack_lost":
        assert seen.letters == "S"


# --- idempotence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["ack_lost", "leader_changes", "leader_crashes", "leader_pauses"])
@pytest.mark.parametrize("kafka", ["1.1", "2.5", "3.9", "4.1"])
def test_an_idempotent_producer_sees_nothing_of_a_single_fault(fault: str, kafka: str) -> None:
    config: dict[str, ConfigValue] = {"enable.idempotence": True, "retries": 1_000}
    if kafka == "1.1" and fault != "ack_lost":  # Before KIP-91 this is all the time that a retry without a leader has.
        config["request.timeout.ms"] = 30_000
    seen = getattr(Run("all", config, kafka=kafka), fault)().end()
    assert seen.letters == ""
    assert (seen.acked, seen.failed, seen.unknown) == (seen.sent, 0, 0)
    assert seen.in_log == seen.sent


def test_only_a_delivery_timeout_tells_an_idempotent_producer_of_failures_that_are_none() -> None:
    run = Run("all", {"delivery.timeout.ms": 2_100})
    seen = run.ack_lost().end()
    assert seen.letters == "S"


def alone(*, min_isr: int, unclean: bool = False) -> Run:
    """The leader alone is left in the ISR, and writes on where it may."""
    run = Run("all", {}, min_isr=min_isr, unclean=unclean)
    run.inject("gc_pause", "followers(orders-0)", 60_000).wait(50)
    assert run.cluster.query.isr(P) == [1]
    return run


def test_with_a_minimum_of_one_what_the_last_replica_had_goes_with_its_disk() -> None:
    run = alone(min_isr=1)
    run.cluster.disk_loss(1)
    run.cluster.restart(1)
    assert "L" in run.wait(30).end().letters


def test_with_a_minimum_of_one_the_last_replica_is_waited_for() -> None:
    run = alone(min_isr=1)
    run.inject("crash", "broker(1)").wait(30)
    assert run.cluster.query.offline_partitions() == 1
    seen = run.end()
    assert seen.letters in ("", "S")


def test_an_unclean_election_loses_and_the_producer_goes_on_in_a_new_epoch_behind_the_gap() -> None:
    run = alone(min_isr=1, unclean=True)
    run.inject("crash", "broker(1)").wait(60)
    before = run.cluster.query.acked()
    seen = run.end()
    assert seen.lost > 0
    assert seen.acked > before
    assert seen.epoch > 0


def test_a_power_loss_of_all_replicas_at_once_loses_what_was_not_on_disk() -> None:
    run = Run("all", {})
    for broker in (1, 2, 3):
        run.cluster.power_loss(broker, keep=100)
    for broker in (1, 2, 3):
        run.cluster.restart(broker)
    assert "L" in run.wait(30).end().letters
