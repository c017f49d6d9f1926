"""Slow, full, read-only and failed disks: what a broker's writes do then, and everybody who waits for them."""

from typing import Any, TypeVar

import pytest

from cluster_model.cluster import Cluster
from cluster_model.errors import KafkaError
from cluster_model.events import (
    Appended,
    Event,
    IsrChanged,
    NodeDown,
    NodeUp,
    RecordsAcked,
    RecoveryFinished,
    TraceEvent,
    Truncated,
)
from cluster_model.kernel.port import Port
from cluster_model.messages import CONSUMER, FetchPartition, FetchRequest, MetadataRequest, ProduceRequest
from cluster_model.replication.disk import BLOCK
from cluster_model.spec import BrokerSpec, ClusterSpec, GroupSpec, NetworkSpec, ProducerSpec, TopicSpec
from faults.board import FaultBoard
from faults.fault import FaultError
from tests.cluster_model.transacting import producer
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject, unsettled

MIB = 1 << 20
FULL = "exit: all log directories have failed: no space left on device"
READ_ONLY = "exit: all log directories have failed: read-only file system"
FAILED = "exit: all log directories have failed: input/output error"


@pytest.fixture
def cluster() -> Cluster:
    """A second into its life."""
    cluster = busy_cluster()
    cluster.run(SECOND)
    cluster.drain()
    return cluster


@pytest.fixture
def board(cluster: Cluster) -> FaultBoard:
    return board_of(cluster)


E = TypeVar("E", bound=TraceEvent)


def told(cluster: Cluster, kind: type[E]) -> list[E]:
    return [event for event in cluster.drain() if isinstance(event, kind)]


# --- convergence ----------------------------------------------------------------------------------------------------

HISTORIES: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "slow disk of a leader": [("slow_disk", "broker(1)", {"latency": 200 * MS})],
    "slow disk of a follower": [("slow_disk", "broker(3)", {"latency": 700 * MS})],
    "slow disk beyond every timeout": [("slow_disk", "broker(3)", {"latency": 5 * SECOND})],
    "slow disks everywhere": [("slow_disk", "brokers", {"throughput": 64_000, "latency": 20 * MS})],
    "full disk of a leader": [("full_disk", "leader(orders-0)", {})],
    "full disk with some room": [("full_disk", "broker(2)", {"free": 20_000})],
    "full disk of one that holds nothing": [("full_disk", "broker(5)", {})],
    "full disks of both followers": [("full_disk", "followers(orders-0)", {})],
    "read-only disk of a leader": [("read_only_disk", "leader(orders-0)", {})],
    "failed directory of a leader": [("log_dir_failure", "leader(orders-0)", {})],
    "lost directory of a follower": [("log_dir_failure", "broker(3)", {"lost": True})],
    "slow and full": [("slow_disk", "broker(1)", {"latency": 100 * MS}), ("full_disk", "broker(1)", {"free": 5_000})],
    "full and crashed": [("full_disk", "broker(1)", {"free": 1 << 30}), ("crash", "broker(1)", {})],
    "slow and paused": [("slow_disk", "broker(2)", {"latency": 300 * MS}), ("gc_pause", "broker(2)", {})],
    "slow and without power": [("slow_disk", "broker(3)", {}), ("power_loss", "broker(3)", {})],
    "slow under a partition": [("slow_disk", "broker(3)", {"latency": SECOND}), ("partition", "broker(3)", {})],
}


@pytest.mark.parametrize("era", [("3.9", "kraft"), ("2.8", "zookeeper")], ids=["kraft", "zookeeper"])
@pytest.mark.parametrize("history", HISTORIES)
def test_the_cluster_is_whole_again_after(history: str, era: tuple[str, str]) -> None:
    cluster = busy_cluster(kafka=era[0], mode=era[1])
    board = board_of(cluster)
    cluster.run(SECOND)
    for name, target, params in HISTORIES[history]:
        inject(board, name, target, **params)
        cluster.run(cluster.now_us + 400 * MS)
    cluster.run(cluster.now_us + 9 * SECOND)
    assert board.heal("all") == len(HISTORIES[history])
    cluster.run(cluster.now_us + 15 * SECOND)
    cluster.stop_producers()
    cluster.run(cluster.now_us + 40 * SECOND)
    cluster.close()
    assert unsettled(cluster) == []
    if era[0] == "3.9":  # acks=all by default
        assert cluster.query.acked_lost() == 0
    assert [broker.writes.stands for broker in cluster.brokers.values()] == [False] * 5
    assert not any(process.wakeful for process in cluster.network.processes.values())


@pytest.mark.parametrize("kafka", ["0.8.2", "0.10.2", "0.11", "1.0", "2.3"])
def test_disks_of_every_era_fail_and_are_mended(kafka: str) -> None:
    cluster = busy_cluster(kafka=kafka, mode="zookeeper")
    board = board_of(cluster)
    cluster.run(SECOND)
    inject(board, "full_disk", "broker(1)", 9 * SECOND)
    inject(board, "slow_disk", "broker(2)", 9 * SECOND, latency=150 * MS)
    cluster.run(9 * SECOND)
    reason = "I/O error on its log directory" if kafka.startswith("0") else "all log directories have failed"
    assert [event.detail for event in told(cluster, NodeDown)] == [f"exit: {reason}: no space left on device"]
    cluster.run(30 * SECOND)
    cluster.stop_producers()
    cluster.run(80 * SECOND)
    assert (board.active(), unsettled(cluster)) == ((), [])


# --- a slow disk, write by write ------------------------------------------------------------------------------------


class Probe:
    """A node that asks brokers and keeps the times of their answers."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster = cluster
        self.answers: list[tuple[int, Any]] = []
        cluster.network.add(number, f"probe {number}", self)
        self.port = Port(cluster.network, number)

    def receive(self, _source: int, message: Any) -> None:
        self.answers.append((self.cluster.now_us, message))

    def on_timer(self, timer: tuple[Any, ...]) -> None:
        raise AssertionError(timer)

    def on_disconnect(self, peer: int) -> None:
        self.answers.append((self.cluster.now_us, f"disconnected from {peer}"))

    def produce(self, size: int, *, broker: int = 1, acks: int = 1, records: int = 1) -> None:
        number = len(self.answers) + 100
        request = ProduceRequest(number, "orders-0", acks, SECOND, "probe", -1, -1, records, size)
        self.port.send(broker, request)

    def ask(self, broker: int = 1) -> None:
        self.port.send(broker, MetadataRequest(7))


def quiet(config: dict[str, int | str | bool] | None = None, kafka: str = "3.9", **more: Any) -> Cluster:
    """Nobody writes; every message takes 1 ms. ``orders-0`` is led by 1, with followers 2 and 3."""
    placement = ((1, 2, 3),)
    spec = ClusterSpec(
        kafka,
        "kraft" if kafka == "3.9" else "zookeeper",
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("orders", 1, 3, placement),),
        network=NetworkSpec(MS, 0),
        config={"offsets.topic.replication.factor": 9, "replica.lag.time.max.ms": 60_000, **(config or {})},
        **more,
    )
    cluster = Cluster.build(spec, 5)
    cluster.run(SECOND)
    cluster.drain()
    return cluster


def appended(cluster: Cluster, broker: int = 1) -> list[int]:
    return [event.at_us for event in told(cluster, Appended) if event.broker == broker]


def test_writes_of_several_connections_queue_behind_each_other() -> None:
    cluster = quiet()
    board = board_of(cluster)
    inject(board, "slow_disk", "broker(1)", throughput=MIB, latency=10 * MS)
    for number in (901, 902, 903):
        Probe(cluster, number).produce(MIB // 2)
    cluster.run(4 * SECOND)
    arrived = SECOND + MS
    assert appended(cluster) == [arrived + 510 * MS, arrived + 1_020 * MS, arrived + 1_530 * MS]


def test_a_connection_is_mute_while_its_write_waits_and_others_are_not() -> None:
    cluster = quiet()
    inject(board_of(cluster), "slow_disk", "broker(1)", throughput=MIB, latency=300 * MS)
    writer, other = Probe(cluster, 901), Probe(cluster, 902)
    writer.produce(0)
    writer.ask()
    other.ask()
    cluster.run(3 * SECOND)
    assert [at for at, _answer in writer.answers] == [SECOND + 302 * MS] * 2
    assert [at for at, _answer in other.answers] == [SECOND + 2 * MS]


def test_requests_of_a_connection_are_handled_in_order() -> None:
    cluster = quiet()
    inject(board_of(cluster), "slow_disk", "broker(1)", latency=100 * MS)
    writer = Probe(cluster, 901)
    for size in (1, 2, 3):
        writer.produce(size)
    writer.ask()
    cluster.run(3 * SECOND)
    kinds = [type(answer).__name__ for _at, answer in writer.answers]
    assert kinds == ["ProduceResponse"] * 3 + ["MetadataResponse"]
    assert [answer.log_offset for _at, answer in writer.answers[:3]] == [0, 1, 2]


@pytest.mark.parametrize(("threads", "late"), [(1, 301 * MS), (2, 201 * MS), (3, 101 * MS), (4, MS), (8, MS)])
def test_everybody_waits_when_all_threads_do(threads: int, late: int) -> None:
    cluster = quiet({"num.io.threads": threads})
    inject(board_of(cluster), "slow_disk", "broker(1)", throughput=1 << 40, latency=100 * MS)
    for number in range(901, 904):
        Probe(cluster, number).produce(0)
    other = Probe(cluster, 910)
    other.ask()
    cluster.run(3 * SECOND)
    # With two threads the third write takes the thread that the first has left: one is free after the second.
    assert [at - SECOND - MS for at, _answer in other.answers] == [late]


def test_two_slow_disks_add_up_and_heal_apart() -> None:
    cluster = quiet()
    board = board_of(cluster)
    writer = Probe(cluster, 901)

    def takes() -> int:
        at = cluster.now_us
        writer.produce(MIB)
        cluster.run(at + 10 * SECOND)
        return appended(cluster)[0] - at - MS

    first = inject(board, "slow_disk", "broker(1)", throughput=MIB, latency=100 * MS)
    assert takes() == SECOND + 100 * MS
    second = inject(board, "slow_disk", "broker(1)", throughput=MIB // 2, latency=50 * MS)
    assert takes() == 2 * SECOND + 150 * MS
    board.heal(str(first))
    assert takes() == 2 * SECOND + 50 * MS
    board.heal(str(second))
    assert takes() == 0


def test_healing_lets_go_on_what_was_being_written_and_what_waited() -> None:
    cluster = quiet()
    board = board_of(cluster)
    inject(board, "slow_disk", "broker(1)", latency=60 * SECOND)
    probes = [Probe(cluster, number) for number in (901, 902)]
    for probe in probes:
        probe.produce(100)
        probe.ask()
    cluster.run(5 * SECOND)
    assert appended(cluster) == []
    assert cluster.brokers[1].writes.stands
    board.heal("all")
    cluster.run(6 * SECOND)
    assert appended(cluster) == [5 * SECOND] * 2
    assert [len(probe.answers) for probe in probes] == [2, 2]
    assert not cluster.brokers[1].writes.stands


def test_what_the_leader_refuses_waits_for_no_disk() -> None:
    cluster = quiet({"min.insync.replicas": 3})
    inject(board_of(cluster), "slow_disk", "broker(1)", latency=SECOND)
    inject(board_of(cluster), "slow_disk", "broker(2)", latency=SECOND)
    refused = Probe(cluster, 901)
    refused.produce(2_000_000)
    refused.produce(100, broker=2)
    cluster.run(5 * SECOND)
    assert sorted((at - SECOND, answer.error) for at, answer in refused.answers) == [
        (2 * MS, KafkaError.NOT_LEADER_OR_FOLLOWER),
        (2 * MS, KafkaError.MESSAGE_TOO_LARGE),
    ]


def test_a_followers_next_fetch_is_late_by_the_write() -> None:
    cluster = quiet()
    inject(board_of(cluster), "slow_disk", "broker(3)", throughput=MIB, latency=100 * MS)
    writer = Probe(cluster, 901)
    writer.produce(MIB // 4, acks=-1)
    cluster.run(SECOND + 3 * MS)
    writer.produce(MIB // 4, acks=-1)
    cluster.run(5 * SECOND)
    # 1 ms to the leader and 1 ms to the follower, which writes for 350 ms, then asks anew and is heard after 1 ms.
    assert [at - SECOND for at, _answer in writer.answers] == [
        (1 + 1 + 350 + 1 + 1) * MS,
        (1 + 1 + 350 + 1 + 1 + 350 + 1 + 1) * MS,
    ]


def test_a_write_longer_than_the_sockets_timeout_ends_all_the_same() -> None:
    cluster = quiet({"replica.socket.timeout.ms": 2_000})
    inject(board_of(cluster), "slow_disk", "broker(3)", latency=5 * SECOND)
    Probe(cluster, 901).produce(100)
    cluster.run(5 * SECOND)
    assert cluster.query.leo("orders-0", 3) == 0
    cluster.run(SECOND + 5 * SECOND + 3 * MS)
    assert cluster.query.leo("orders-0", 3) == 1


def test_a_fetcher_whose_leader_goes_away_takes_what_it_has() -> None:
    cluster = quiet()
    inject(board_of(cluster), "slow_disk", "broker(3)", latency=2 * SECOND)
    Probe(cluster, 901).produce(100)
    cluster.run(SECOND + 500 * MS)
    cluster.crash(1)
    cluster.run(3 * SECOND)
    assert cluster.query.leo("orders-0", 3) == 0
    cluster.run(3 * SECOND + 3 * MS)
    assert cluster.query.leo("orders-0", 3) == 1


@pytest.mark.parametrize("broker", [1, 3])
def test_left_out_idle_fetches_make_no_difference_beside_a_slow_disk(broker: int) -> None:
    traces: list[list[Event]] = []
    for naive in (False, True):
        spec = quiet().spec
        producers = (ProducerSpec("p", "orders", 700 * MS, config={"acks": "all"}),)
        many = ClusterSpec(
            spec.kafka, spec.mode, spec.brokers, spec.topics, producers, network=NetworkSpec(MS, 300),
            config={**spec.config, "num.io.threads": 1},
        )  # fmt: skip
        cluster = Cluster.build(many, 3, naive=naive)
        cluster.run(SECOND)
        board = board_of(cluster)
        inject(board, "slow_disk", f"broker({broker})", 9 * SECOND, latency=400 * MS)
        cluster.run(20 * SECOND)
        traces.append(cluster.drain())
    assert traces[0] == traces[1]


def test_recovery_reads_as_slowly() -> None:
    times = []
    for throughput in (None, 8 * 1024):
        cluster = quiet()
        board = board_of(cluster)
        Probe(cluster, 901).produce(64 * 1024)
        cluster.run(3 * SECOND)
        if throughput:
            inject(board, "slow_disk", "broker(3)", throughput=throughput)
        inject(board, "crash", "broker(3)", SECOND)
        cluster.run(30 * SECOND)
        times += [event.latency_us for event in told(cluster, RecoveryFinished) if event.broker == 3]
    assert times == [625, 8 * SECOND]


# --- acks=all waits for it, acks=1 does not --------------------------------------------------------------------------


def acks(cluster: Cluster, client: str, since_us: int, until_us: int) -> list[int]:
    return [
        event.latency_us
        for event in told(cluster, RecordsAcked)
        if event.client == client and since_us <= event.at_us < until_us
    ]


def test_the_isr_sheds_a_follower_that_cannot_keep_up() -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(SECOND)
    inject(board, "slow_disk", "broker(3)", throughput=1_024)
    cluster.run(90 * SECOND)
    left = [event for event in told(cluster, IsrChanged) if 3 not in event.isr]
    assert {event.partition for event in left} == {"orders-0", "orders-1"}
    assert cluster.query.isr("orders-0") == [1, 2]


# --- coordinators ---------------------------------------------------------------------------------------------------


def coordinated(kafka: str, mode: str) -> Cluster:
    spec = ClusterSpec(
        kafka,
        mode,
        tuple(BrokerSpec(number) for number in (1, 2, 3)),
        (TopicSpec("orders", 2, 3, ((1, 2, 3), (2, 3, 1)), {"min.insync.replicas": 2}),),
        (ProducerSpec("checkout", "orders", 20 * MS), producer()),
        (GroupSpec("billing", ("orders",), 2, config={"isolation.level": "read_committed"}),),
        NetworkSpec(500, 200),
        {"transaction.state.log.num.partitions": 3, "offsets.topic.num.partitions": 3, "num.io.threads": 2},
    )
    return Cluster.build(spec, 9)


@pytest.mark.parametrize(("kafka", "mode"), [("3.9", "kraft"), ("4.1", "kraft"), ("2.8", "zookeeper"), ("0.11", None)])
def test_groups_and_transactions_go_on_over_slow_disks(kafka: str, mode: str | None) -> None:
    cluster = coordinated(kafka, mode or "zookeeper")
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    before = cluster.query.committed("billing", "orders-0")
    inject(board, "slow_disk", "brokers", latency=40 * MS)
    cluster.run(20 * SECOND)
    assert cluster.query.committed("billing", "orders-0") > before
    inject(board, "crash", "broker(1)", 6 * SECOND)
    cluster.run(40 * SECOND)
    board.heal("all")
    cluster.run(60 * SECOND)
    cluster.stop_producers()
    cluster.run(110 * SECOND)
    cluster.close()
    query = cluster.query
    assert (query.lag("billing"), query.violations(), query.under_replicated()) == (0, 0, 0)
    assert query.acked() > 3_000


# --- full -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["3.9", "2.8", "1.0", "0.11"])
def test_a_broker_halts_at_the_append_that_does_not_fit(kafka: str) -> None:
    cluster = quiet(kafka=kafka)
    board = board_of(cluster)
    writer = Probe(cluster, 901)
    inject(board, "full_disk", "broker(1)", free=BLOCK + 250)
    for _time in range(3):
        writer.produce((BLOCK + 250) // 2, acks=1)
        cluster.run(cluster.now_us + 100 * MS)
    assert cluster.query.leo("orders-0", 1) == 2
    down = told(cluster, NodeDown)
    assert [event.node for event in down] == ["broker 1"]
    errors = [answer if isinstance(answer, str) else answer.error for _at, answer in writer.answers]
    storage = [KafkaError.KAFKA_STORAGE_ERROR] if kafka != "0.11" else []
    assert errors == [0, 0, *storage, "disconnected from 1"]


def test_an_idle_broker_halts_at_its_next_checkpoint() -> None:
    cluster = quiet()
    inject(board_of(cluster), "full_disk", "broker(2)", free=BLOCK - 1)
    inject(board_of(cluster), "full_disk", "broker(3)", free=BLOCK)
    cluster.run(7 * SECOND)
    assert [(event.node, event.detail) for event in told(cluster, NodeDown)] == [("broker 2", FULL)]


def test_a_follower_halts_too_and_acks_all_goes_on(cluster: Cluster, board: FaultBoard) -> None:
    inject(board, "full_disk", "broker(3)")
    cluster.run(cluster.now_us + 100 * MS)
    assert [(event.node, event.detail) for event in told(cluster, NodeDown)] == [("broker 3", FULL)]
    acked = cluster.query.acked()
    cluster.run(cluster.now_us + 12 * SECOND)
    assert cluster.query.isr("orders-0") == [1, 2]
    assert cluster.query.acked() > acked + 150


def test_a_restart_ends_again_and_healing_starts_it(cluster: Cluster, board: FaultBoard) -> None:
    inject(board, "full_disk", "broker(1)")
    cluster.run(2 * SECOND)
    assert not cluster.is_up(1)
    cluster.drain()
    inject(board, "restart", "broker(1)")
    cluster.run(3 * SECOND)
    assert not cluster.is_up(1)
    events = [(type(event), event.at_us) for event in cluster.drain() if isinstance(event, (NodeUp, NodeDown))]
    assert events == [(NodeUp, 2 * SECOND), (NodeDown, 2 * SECOND)]
    assert board.on_node(1) == ("full_disk",)
    board.heal("full_disk")
    cluster.run(20 * SECOND)
    assert cluster.is_up(1)
    assert 1 in cluster.query.isr("orders-0")


def test_only_the_last_of_two_broken_disks_starts_it(cluster: Cluster, board: FaultBoard) -> None:
    first = inject(board, "full_disk", "broker(1)")
    second = inject(board, "read_only_disk", "broker(1)")
    cluster.run(2 * SECOND)
    board.heal(str(first))
    cluster.run(3 * SECOND)
    assert not cluster.is_up(1)
    board.heal(str(second))
    assert cluster.is_up(1)


def test_healing_starts_nothing_that_something_else_has_ended(cluster: Cluster, board: FaultBoard) -> None:
    inject(board, "full_disk", "broker(1)", free=MIB)
    crash = inject(board, "crash", "broker(1)")
    board.heal("full_disk")
    cluster.run(3 * SECOND)
    assert not cluster.is_up(1)
    board.heal(str(crash))
    assert cluster.is_up(1)


def test_a_broker_that_is_just_halting_starts_when_it_has() -> None:
    cluster = quiet()
    board = board_of(cluster)
    number = inject(board, "log_dir_failure", "broker(1)")
    board.heal(str(number))
    cluster.run(SECOND)
    events = [(type(event), event.at_us) for event in cluster.drain() if isinstance(event, (NodeUp, NodeDown))]
    assert events == [(NodeDown, SECOND), (NodeUp, SECOND)]
    cluster.run(20 * SECOND)
    assert sorted(cluster.query.isr("orders-0")) == [1, 2, 3]


def test_what_retention_deletes_makes_room() -> None:
    config: dict[str, int | str | bool] = {
        "log.retention.check.interval.ms": 1_000,
        "log.initial.task.delay.ms": 500,
        "log.segment.delete.delay.ms": 0,
        "log.segment.bytes": 1_100_000,
        "log.retention.bytes": 1_000_000,
    }
    cluster = quiet(config)
    board = board_of(cluster)
    writer = Probe(cluster, 901)
    inject(board, "full_disk", "broker(1)", free=3_000_000)
    for _time in range(20):
        writer.produce(500_000)
        cluster.run(cluster.now_us + 2 * SECOND)
    assert [answer.error for _at, answer in writer.answers] == [0] * 20
    assert cluster.is_up(1)


# --- read-only and gone ---------------------------------------------------------------------------------------------


def test_reads_go_on_until_a_write_ends_it() -> None:
    cluster = quiet()
    board = board_of(cluster)
    probe = Probe(cluster, 901)
    probe.produce(100)
    cluster.run(2 * SECOND)
    inject(board, "read_only_disk", "broker(1)")
    probe.answers.clear()
    fetch = FetchRequest(1, CONSUMER, -1, 0, MIB, (FetchPartition("orders-0", 0, -1, -1, -1),))
    probe.port.send(1, fetch)
    cluster.run(2 * SECOND + 10 * MS)
    assert [answer.partitions[0].records.end for _at, answer in probe.answers] == [1]
    assert cluster.is_up(1)
    probe.produce(100)
    cluster.run(2 * SECOND + 20 * MS)
    assert [event.detail for event in told(cluster, NodeDown)] == [READ_ONLY]
    assert cluster.query.leo("orders-0", 1) == 1


def test_an_idle_broker_on_a_read_only_disk_ends_by_its_next_checkpoint() -> None:
    cluster = quiet()
    inject(board_of(cluster), "read_only_disk", "brokers", 20 * SECOND)
    cluster.run(SECOND + 5 * SECOND)
    assert [event.detail for event in told(cluster, NodeDown)] == [READ_ONLY] * 3
    cluster.run(40 * SECOND)
    assert sorted(cluster.query.isr("orders-0")) == [1, 2, 3]


@pytest.mark.parametrize("task", ["log.flush.offset.checkpoint.interval.ms", "log.retention.check.interval.ms"])
def test_other_tasks_of_the_log_manager_end_it_too(task: str) -> None:
    config: dict[str, int | str | bool] = {
        "replica.high.watermark.checkpoint.interval.ms": 3_600_000,
        "log.initial.task.delay.ms": 100,
        "log.flush.offset.checkpoint.interval.ms": 3_600_000,
        "log.flush.start.offset.checkpoint.interval.ms": 3_600_000,
        "log.retention.check.interval.ms": 3_600_000,
        task: 2_000,
    }
    cluster = quiet(config)
    inject(board_of(cluster), "read_only_disk", "broker(2)")
    cluster.run(4 * SECOND)
    assert [event.detail for event in told(cluster, NodeDown)] == [READ_ONLY]


def test_a_failed_directory_ends_the_broker_at_once_and_keeps_what_it_held(cluster: Cluster, board: FaultBoard) -> None:
    leo = cluster.query.leo("orders-0", 1)
    inject(board, "log_dir_failure", "broker(1)", 6 * SECOND)
    cluster.run(2 * SECOND)
    assert [(event.at_us, event.detail) for event in told(cluster, NodeDown)] == [(SECOND, FAILED)]
    cluster.run(7 * SECOND)
    assert cluster.query.leo("orders-0", 1) >= leo
    cluster.run(25 * SECOND)
    assert 1 in cluster.query.isr("orders-0")


def test_a_lost_directory_comes_back_empty(cluster: Cluster, board: FaultBoard) -> None:
    inject(board, "log_dir_failure", "broker(1)", 6 * SECOND, lost=True)
    cut = [event for event in told(cluster, Truncated) if event.rule == "disk loss"]
    assert [(event.partition, event.broker, event.log_offset) for event in cut] == [("orders-0", 1, 0)]
    cluster.run(3 * SECOND)
    inject(board, "restart", "broker(1)")
    cluster.run(4 * SECOND)
    assert not cluster.is_up(1)
    cluster.run(30 * SECOND)
    assert 1 in cluster.query.isr("orders-0")
    cluster.stop_producers()
    cluster.run(60 * SECOND)
    assert (cluster.query.acked_lost(), unsettled(cluster)) == (0, [])


# --- what is asked of every fault -----------------------------------------------------------------------------------


def test_a_keyframe_in_the_middle_leads_to_the_same_end() -> None:
    cluster = coordinated("3.9", "kraft")
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    inject(board, "slow_disk", "brokers", latency=120 * MS)
    inject(board, "full_disk", "broker(2)", free=300_000)
    ends = []
    for at in range(6, 14):
        cluster.run(at * SECOND + 77 * MS)
        kept, faults = cluster.save(), board.save()
        if at % 2:
            cluster.run(15 * SECOND)
            ends.append(cluster.digest())
            cluster.load(kept)
            board.load(faults)
    cluster.run(15 * SECOND)
    assert [*ends, cluster.digest()] == [ends[0]] * 5


def test_a_twin_goes_on_from_a_keyframe() -> None:
    cluster = coordinated("3.9", "kraft")
    cluster.run(5 * SECOND)
    cluster.disks.slow(1, 1, MIB, 300 * MS)
    cluster.run(6 * SECOND)
    twin = cluster.twin()
    twin.load(cluster.save())
    assert [broker.writes.save() for broker in twin.brokers.values()] == [
        broker.writes.save() for broker in cluster.brokers.values()
    ]
    assert twin.brokers[1].writes.stands


@pytest.mark.parametrize("step", [7_919, 60 * SECOND])
def test_slices_make_no_difference(step: int) -> None:
    digests = []
    for slices in (step, 12 * SECOND):
        cluster = busy_cluster()
        board = board_of(cluster)
        cluster.run(SECOND)
        inject(board, "slow_disk", "broker(3)", 5 * SECOND, latency=250 * MS)
        inject(board, "full_disk", "broker(1)", 6 * SECOND, free=9_000)
        while cluster.now_us < 12 * SECOND:
            cluster.run(min(12 * SECOND, cluster.now_us + slices))
        digests.append((cluster.digest(), cluster.executed))
    assert digests[0] == digests[1]


@pytest.mark.parametrize("name", ["slow_disk", "full_disk", "read_only_disk", "log_dir_failure"])
def test_disks_are_brokers(board: FaultBoard, name: str) -> None:
    with pytest.raises(FaultError, match=r"is for brokers, checkout is none"):
        inject(board, name, "client(checkout)")


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("slow_disk", {"throughput": 1_023}, "throughput takes 1024 to"),
        ("slow_disk", {"latency": -1}, "latency takes 0 to"),
        ("full_disk", {"free": -1}, "free takes 0 to"),
        ("log_dir_failure", {"lost": 1}, "lost takes true or false"),
    ],
)
def test_parameters_out_of_range_are_refused(board: FaultBoard, name: str, params: dict[str, Any], words: str) -> None:
    with pytest.raises(FaultError, match=words):
        inject(board, name, "broker(1)", **params)
    assert board.active() == ()


def test_what_is_expected_of_them(board: FaultBoard) -> None:
    slow = board.expectation("slow_disk", 1)
    assert slow == (
        "broker 1 takes 26 ms to write 16 KiB: all appends to 1 partitions it leads, and acks=all to 0 more that have "
        "it in their ISR"
    )
    assert board.expectation("full_disk", 1) == (
        "halts at the first append or checkpoint that does not fit: broker 1 leads 1 partition; new leaders after its "
        "session of 3 s"
    )
