"""A slow disk, write by write: who waits for it, and for how long."""

from dataclasses import replace
from typing import Any

import pytest

from cluster_model.broker.control_plane_client import Handlers, MetadataUpdate
from cluster_model.cluster import Cluster
from cluster_model.protocol.configs import BrokerConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event, IsrChanged, RecoveryFinished
from cluster_model.protocol.messages import ProduceRequest
from cluster_model.protocol.versions import Profile
from cluster_model.spec.cluster_spec import ClusterSpec, NetworkSpec, ProducerSpec
from tests.faults.disks import MIB, Probe, appended, coordinated, quiet, told
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject
from tests.support.breadth import spread_sample


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
def test_all_requests_wait_while_every_io_thread_is_blocked(threads: int, late: int) -> None:
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


def test_healing_lets_continue_what_was_being_written_and_what_waited() -> None:
    cluster = quiet()
    board = board_of(cluster)
    inject(board, "slow_disk", "broker(1)", latency=60 * SECOND)
    probes = [Probe(cluster, number) for number in (901, 902)]
    for probe in probes:
        probe.produce(100)
        probe.ask()
    cluster.run(5 * SECOND)
    assert appended(cluster) == []
    assert cluster.brokers[1].append_queue.active
    board.heal("all")
    cluster.run(6 * SECOND)
    assert appended(cluster) == [5 * SECOND] * 2
    assert [len(probe.answers) for probe in probes] == [2, 2]
    assert not cluster.brokers[1].append_queue.active


def test_rejected_produce_requests_do_not_wait_for_the_disk() -> None:
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


@pytest.mark.parametrize(("direction", "error", "after_ms"), [
    ("ahead", KafkaError.INVALID_TIMESTAMP, 2), ("behind", KafkaError.NONE, 1_002),
])  # fmt: skip
def test_timestamp_rejections_do_not_wait_for_the_disk(direction: str, error: KafkaError, after_ms: int) -> None:
    cluster = quiet({"log.message.timestamp.before.max.ms": 60_000})
    board = board_of(cluster)
    inject(board, "clock_skew", "broker(1)", direction=direction)
    inject(board, "slow_disk", "broker(1)", latency=SECOND)
    probe = Probe(cluster, 901)
    probe.produce(100, stamp=cluster.now_us)
    cluster.run(5 * SECOND)
    assert [((at - SECOND) // MS, answer.error) for at, answer in probe.answers] == [(after_ms, error)]


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


@pytest.mark.slow
def test_the_isr_sheds_a_follower_that_cannot_keep_up() -> None:
    cluster = busy_cluster()
    board = board_of(cluster)
    cluster.run(SECOND)
    inject(board, "slow_disk", "broker(3)", throughput=1_024)
    cluster.run(30 * SECOND)
    left = [event for event in told(cluster, IsrChanged) if 3 not in event.isr]
    assert {event.partition for event in left} == {"orders-0", "orders-1"}
    assert cluster.query.isr("orders-0") == [1, 2]


# --- coordinators ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kafka", "mode"), spread_sample([("3.9", "kraft"), ("4.1", "kraft"), ("2.8", "zookeeper"), ("0.11", None)], 2)
)
def test_groups_and_transactions_continue_over_slow_disks(kafka: str, mode: str | None) -> None:
    cluster = coordinated(kafka, mode or "zookeeper")
    board = board_of(cluster)
    cluster.run(5 * SECOND)
    before = cluster.query.committed("billing", "orders-0")
    inject(board, "slow_disk", "brokers", latency=40 * MS)
    cluster.run(12 * SECOND)
    assert cluster.query.committed("billing", "orders-0") > before
    inject(board, "crash", "broker(1)", 6 * SECOND)
    cluster.run(24 * SECOND)
    board.heal("all")
    cluster.run(30 * SECOND)
    cluster.stop_producers()
    cluster.run(80 * SECOND)
    cluster.close()
    query = cluster.query
    assert (query.lag("billing"), query.violations(), query.under_replicated()) == (0, 0, 0)
    assert query.acked() > 1_500


class Keeper:
    """Stands for a coordinator whose state is ``orders``; it keeps what it is told."""

    topic = "orders"
    handlers: Handlers = {}  # noqa: RUF012 - as the protocol has it

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def leads(self, partition: str, leader_epoch: int) -> None:
        self.told.append(("leads", partition, leader_epoch))

    def resigned(self, partition: str) -> None:
        self.told.append(("resigned", partition))

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        self.told.append(("appended", token, error, base))

    def started(self) -> None:
        """Nothing to do."""

    stopped = started

    def on_timer(self, timer: tuple[Any, ...]) -> bool:
        return not timer

    def on_disconnect(self, peer: int) -> None:
        """Nothing to do."""

    def deleted(self, partition: str) -> None:
        """Nothing to do."""

    def save(self) -> tuple[Any, ...]:
        return ()

    def load(self, saved: tuple[Any, ...]) -> None:
        """Nothing to do."""


@pytest.mark.parametrize("how", ["another leader", "no replica"])
def test_a_coordinator_learns_of_its_pending_writes_before_it_resigns(how: str) -> None:
    cluster = quiet()
    broker, keeper = cluster.brokers[1], Keeper()
    broker.hosted.add(keeper)
    inject(board_of(cluster), "slow_disk", "broker(1)", latency=5 * SECOND)
    for token in (1, 2):
        broker.hosted.append("orders", "orders-0", ("k=v",), token, SECOND)
    cluster.run(2 * SECOND)
    assert keeper.told == []
    if how == "no replica":
        broker.stop_replica("orders-0", delete=True)
    else:
        state = broker.states["orders-0"]._replace(leader=2, leader_epoch=9, partition_epoch=9)
        broker.apply_metadata(MetadataUpdate((state,), (1, 2, 3), (1, 2, 3)))
    lost = KafkaError.NOT_LEADER_OR_FOLLOWER
    expected = [("appended", 1, lost, -1), ("appended", 2, lost, -1), ("resigned", "orders-0")]
    assert keeper.told == expected
    cluster.run(20 * SECOND)
    assert [each for each in keeper.told if each[0] == "appended"] == expected[:2]


def test_a_coordinators_write_is_an_append_when_it_is_through() -> None:
    cluster = quiet()
    broker, keeper = cluster.brokers[1], Keeper()
    broker.hosted.add(keeper)
    inject(board_of(cluster), "slow_disk", "broker(1)", throughput=1 << 40, latency=SECOND)
    broker.hosted.append("orders", "orders-0", ("k=v",), 1, SECOND)
    cluster.run(2 * SECOND - 1)
    assert cluster.query.leo("orders-0", 1) == 0
    cluster.run(2 * SECOND + 4 * MS)
    assert cluster.query.leo("orders-0", 1) == 1
    assert keeper.told == [("appended", 1, KafkaError.NONE, 0)]


def test_acks_0_writes_delay_the_next_write_on_a_slow_disk() -> None:
    cluster = quiet()
    broker = cluster.brokers[1]
    inject(board_of(cluster), "slow_disk", "broker(1)", throughput=1 << 40, latency=SECOND)
    assert broker.hosted.write("orders-0", ("k=",))
    Probe(cluster, 901).produce(100)
    cluster.run(5 * SECOND)
    assert appended(cluster) == [SECOND, 3 * SECOND]


def test_a_batch_behind_another_of_its_producer_is_judged_after_it() -> None:
    cluster = quiet(kafka="2.3")  # There who is unknown must begin with sequence 0.
    inject(board_of(cluster), "slow_disk", "broker(1)", latency=SECOND)
    probes = [Probe(cluster, number) for number in (901, 902)]
    for sequence, probe in enumerate(probes):
        request = ProduceRequest(7, "orders-0", 1, SECOND, "p", 4_000, sequence, 1, 100, producer_epoch=0)
        probe.port.send(1, request)
    cluster.run(5 * SECOND)
    assert [(answer.error, answer.log_offset) for probe in probes for _at, answer in probe.answers] == [(0, 0), (0, 1)]


@pytest.mark.parametrize("kafka", ["2.0", "3.9"])
def test_a_leader_without_a_free_thread_learns_of_no_follower(kafka: str) -> None:
    cluster = quiet({"num.io.threads": 1, "replica.lag.time.max.ms": 6_000}, kafka)
    inject(board_of(cluster), "slow_disk", "broker(1)", latency=25 * SECOND)
    cluster.run(3 * SECOND)
    Probe(cluster, 901).produce(100)
    cluster.run(24 * SECOND)
    # Since 2.1 a follower that has everything is in sync however long ago it asked.
    shrunk = [event.isr for event in told(cluster, IsrChanged)]
    assert shrunk == ([(1,)] if kafka == "2.0" else [])


def test_a_restart_after_a_healed_disk_fault_has_no_pending_writes() -> None:
    cluster = quiet()
    board = board_of(cluster)
    slow = inject(board, "slow_disk", "broker(1)", latency=SECOND)
    Probe(cluster, 901).produce(100)
    cluster.run(cluster.now_us + 100 * MS)
    inject(board, "gc_pause", "broker(1)")
    board.heal(str(slow))
    assert cluster.brokers[1].append_queue.active
    inject(board, "crash", "broker(1)")
    assert not cluster.brokers[1].append_queue.active


def test_num_io_threads_is_eight_by_default() -> None:
    profile = Profile.of("3.9")
    assert BrokerConfig.of(profile, {}).io_threads == 8
    assert BrokerConfig.of(profile, {"num.io.threads": 3}) == replace(BrokerConfig.of(profile, {}), io_threads=3)
