"""What an application may see of its records, by acks, idempotence, retries and fault: Kafka's promises as runs.

L: an acknowledged record is lost. D: a record stands twice. R: records of one producer changed places. S: the
application was told of a failure, and the record is there.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import ProduceRefused
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, NetworkSpec, ProducerSpec, TopicSpec
from faults.declarations.fault import Action
from faults.injector import FaultInjector
from tests.support.breadth import covering_cases
from tests.support.releases import those_of

pytestmark = pytest.mark.slow

SECOND = 1_000_000
P = "orders-0"
CLIENT = 2_000
PLAIN: dict[str, ConfigValue] = {"enable.idempotence": False}
ONE: dict[str, ConfigValue] = {"max.in.flight.requests.per.connection": 1}
NEVER_AGAIN: dict[str, ConfigValue] = {"retries": 0}


@dataclass
class DeliveryCounts:
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
        self,
        acks: str,
        config: dict[str, ConfigValue],
        *,
        min_isr: int = 2,
        unclean: bool = False,
        kafka: str = "3.9",
        replicas: tuple[int, ...] = (1, 2, 3),
        topic: dict[str, ConfigValue] | None = None,
        resends: bool = False,
        each_us: int = 4_000,
    ) -> None:
        overrides = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean, **(topic or {})}
        orders = TopicSpec("orders", 1, len(replicas), (replicas,), overrides)
        usual = {"request.timeout.ms": 2_000, "linger.ms": 0, "retry.backoff.max.ms": 100}
        settings = {"acks": acks, **those_of("producer", kafka, usual), **config}
        producer = ProducerSpec("checkout", "orders", each_us, config=settings, resends=resends)
        brokers = tuple(BrokerSpec(broker) for broker in (1, 2, 3))
        network = NetworkSpec(6_000, 2_000)
        self.cluster = Cluster.build(ClusterSpec(kafka, None, brokers, (orders,), (producer,), network=network), 3)  # type: ignore[arg-type]
        self.board = FaultInjector(self.cluster)
        self.cluster.run(3 * SECOND)

    def inject(self, name: str, target: str, for_ms: int = -1, **params: Any) -> "Run":
        self.board.inject(Action("inject", name, target, params, for_ms * 1_000))
        return self

    def wait(self, seconds: float) -> "Run":
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))
        return self

    def ack_lost(self) -> "Run":
        """Answers of the leader do not get through for longer than the producer waits."""
        self.cluster.cut(1, CLIENT, 99)
        self.wait(2.5)
        self.cluster.heal_cut(1, CLIENT, 99)
        return self.wait(3)

    def connection_lost(self) -> "Run":
        """Nothing gets from the producer to the leader, until its system gives the connection up."""
        self.cluster.cut(CLIENT, 1, 99)
        self.wait(31)
        self.cluster.heal_cut(CLIENT, 1, 99)
        return self.wait(3)

    def timed_out(self) -> "Run":
        """Followers stand still for longer than the leader lets a request wait, and stay in the ISR."""
        return self.inject("gc_pause", "followers(orders-0)", 4_000).wait(10)

    def isr_shrinks(self) -> "Run":
        """Followers stand still for so long that requests that wait for them end with too small an ISR."""
        return self.inject("gc_pause", "followers(orders-0)", 20_000).wait(25)

    def follower_crashes(self) -> "Run":
        return self.inject("crash", "broker(3)", 8_000).wait(12)

    def follower_pauses(self) -> "Run":
        return self.inject("gc_pause", "broker(3)", 15_000).wait(20)

    def leader_partitioned(self) -> "Run":
        """The leader hears nobody, and nobody hears it."""
        others = [node for node in self.cluster.nodes() if node != 1]
        for other in others:
            self.cluster.cut(1, other, 99)
            self.cluster.cut(other, 1, 99)
        self.wait(15)
        for other in others:
            self.cluster.heal_cut(1, other, 99)
            self.cluster.heal_cut(other, 1, 99)
        return self.wait(5)

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

    def end(self) -> DeliveryCounts:
        cluster = self.cluster
        self.board.heal("all")
        cluster.stop_producers()
        self.wait(25)
        producer = cluster.producers["checkout"]
        epoch = producer._sender._sequences.epoch
        cluster.close()
        assert cluster.query.unexpected_violations() == 0
        query = cluster.query
        return DeliveryCounts(
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


def test_acks_0_loses_with_the_connection() -> None:
    seen = Run("0", {}).connection_lost().end()
    assert seen.acked == seen.sent
    assert seen.in_log < seen.sent


def test_acks_0_learns_of_no_error() -> None:
    seen = Run("0", {}, topic={"max.message.bytes": 100}).wait(1).end()
    assert (seen.acked, seen.in_log) == (seen.sent, 0)
    assert seen.sent > 0


@pytest.mark.parametrize("retries", [0, 9])
def test_acks_1_loses_when_the_leader_crashes_before_its_followers_have_fetched(retries: int) -> None:
    run = Run("1", {"retries": retries}, each_us=20_000)
    run.inject("gc_pause", "followers(orders-0)", 2_000).wait(1)
    assert "L" in run.leader_crashes().end().letters


def test_acks_1_loses_what_only_a_leader_had_that_is_replaced() -> None:
    assert "L" in Run("1", dict(NEVER_AGAIN)).leader_pauses().end().letters


def test_acks_1_without_retries_and_a_lost_ack_reports_failures_that_are_none() -> None:
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


PATIENT: dict[str, ConfigValue] = {"request.timeout.ms": 60_000}
"""Waits for longer than a leader waits for its followers."""


def refusals(run: Run) -> set[str]:
    return {event.error for event in run.cluster.drain() if isinstance(event, ProduceRefused)}


@pytest.mark.parametrize(
    ("fault", "error", "more"),
    [("timed_out", "REQUEST_TIMED_OUT", {}), ("isr_shrinks", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", PATIENT)],
)
@pytest.mark.parametrize("retries", [0, 1_000])
def test_acks_all_is_refused_what_is_written(
    fault: str, error: str, more: dict[str, ConfigValue], retries: int
) -> None:
    """Since 3.7 the HW stands still with too small an ISR, and the second error does not occur."""
    run = Run("all", {**PLAIN, **more, "retries": retries}, kafka="3.5")
    run.cluster.drain()
    getattr(run, fault)()
    assert error in refusals(run)
    letters = run.end().letters
    assert "L" not in letters
    assert ("D" in letters, "S" in letters) == ((True, False) if retries else (False, True))


@pytest.mark.parametrize("fault", ["ack_lost", "leader_changes", "leader_crashes"])
def test_acks_all_without_retries_neither_repeats_nor_loses(fault: str) -> None:
    # Where nobody leads for a while every record fails by itself.
    run = Run("all", {**PLAIN, **NEVER_AGAIN}, each_us=20_000 if fault == "leader_crashes" else 4_000)
    seen = getattr(run, fault)().end()
    assert seen.letters in ("", "S")
    assert seen.failed + seen.unknown > 0
    if fault == "ack_lost":
        assert seen.letters == "S"


# --- idempotence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "kafka"),
    covering_cases(["ack_lost", "leader_changes", "leader_crashes", "leader_pauses"], ["1.1", "2.5", "3.9", "4.1"]),
)
def test_an_idempotent_producer_sees_nothing_of_a_single_fault(fault: str, kafka: str) -> None:
    config: dict[str, ConfigValue] = {"enable.idempotence": True, "retries": 1_000}
    if kafka == "1.1" and fault != "ack_lost":  # Before KIP-91 this is all the time that a retry without a leader has.
        config["request.timeout.ms"] = 30_000
    seen = getattr(Run("all", config, kafka=kafka), fault)().end()
    assert seen.letters == ""
    assert (seen.acked, seen.failed, seen.unknown) == (seen.sent, 0, 0)
    assert seen.in_log == seen.sent


@pytest.mark.parametrize("fault", ["leader_partitioned", "follower_crashes", "follower_pauses", "connection_lost"])
def test_nor_of_other_faults_of_one_broker(fault: str) -> None:
    seen = getattr(Run("all", {}), fault)().end()
    assert seen.letters == ""
    assert (seen.acked, seen.failed, seen.unknown, seen.in_log) == (seen.sent, 0, 0, seen.sent)


@pytest.mark.parametrize(("resends", "letters"), [(True, "D"), (False, "S")])
def test_idempotence_ends_with_the_process(resends: bool, letters: str) -> None:
    run = Run("all", {}, resends=resends)
    run.cluster.crash(CLIENT)
    run.wait(1)
    run.cluster.restart(CLIENT)
    assert run.wait(2).end().letters == letters


def test_a_leader_that_has_forgotten_the_batches_before_the_last_takes_them_again() -> None:
    """After a clean restart it knows the last batch of a producer only."""
    run = Run("all", {}, min_isr=1, replicas=(1,))
    run.cluster.cut(1, CLIENT, 99)
    run.wait(0.5)
    run.cluster.shutdown(1)
    run.wait(4)
    run.cluster.restart(1)
    run.cluster.heal_cut(1, CLIENT, 99)
    seen = run.wait(10).end()
    assert "D" in seen.letters
    assert "L" not in seen.letters


def test_only_a_delivery_timeout_reports_an_idempotent_producer_of_failures_that_are_none() -> None:
    run = Run("all", {"delivery.timeout.ms": 2_100})
    seen = run.ack_lost().end()
    assert seen.letters == "S"


def alone(*, min_isr: int, unclean: bool = False) -> Run:
    """The leader alone is left in the ISR, and writes on where it may."""
    run = Run("all", {}, min_isr=min_isr, unclean=unclean)
    run.inject("gc_pause", "followers(orders-0)", 25_000)
    run.cluster.run(24 * SECOND, stop=lambda: run.cluster.query.isr(P) == [1])
    run.wait(1)
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


def test_an_unclean_election_loses_and_the_producer_continues_in_a_new_epoch_behind_the_gap() -> None:
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
