"""Load that a fault changes: how many records are made, how many are in flight, and which keys they have."""

import re
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.cluster import Cluster
from cluster_model.log.record_keys import key_model, keys_of_numbers
from cluster_model.protocol.events import RecordsSent
from cluster_model.spec.cluster_spec import ClosedLoop, CustomPartitioner, ProducerSpec, RateProfile, RateSegment
from cluster_model.util.deterministic_math import partition_for_key
from faults.declarations.fault import PERCENT, Action, FaultError
from faults.injector import FaultInjector
from tests.faults.client_rigs import CHECKOUT, client_cluster, whole
from tests.faults.rigs import MS, SECOND, begun, board_of, inject, until_well
from tests.support.breadth import covering_cases

pytestmark = pytest.mark.slow

TARGET = "client(checkout)"


def made(cluster: Cluster, until_us: int) -> int:
    """Records that are made until then."""
    before = cluster.query.sent()
    cluster.run(until_us)
    return cluster.query.sent() - before


def started(**how: Any) -> tuple[Cluster, FaultInjector]:
    return begun(10 * SECOND, client_cluster, **how)


@pytest.mark.parametrize(
    ("fault", "params", "count"),
    [
        ("rate_change", {}, 600),
        ("rate_change", {"rate": 250 * PERCENT}, 500),
        ("rate_change", {"rate": 10 * PERCENT}, 20),
        ("rate_change", {"rate": 0}, 0),
        ("traffic_spike", {}, 2_000),
    ],
)
def test_a_steady_producer_makes_so_many_more_or_fewer(fault: str, params: dict[str, int], count: int) -> None:
    cluster, board = started()
    inject(board, fault, TARGET, **params)
    assert made(cluster, 14 * SECOND) == count
    board.heal(fault)
    assert made(cluster, 18 * SECOND) == 200


def test_two_changes_multiply_and_each_heals_for_itself() -> None:
    cluster, board = started()
    first = inject(board, "rate_change", TARGET, rate=400 * PERCENT)
    second = inject(board, "traffic_spike", TARGET, rate=50 * PERCENT)
    assert made(cluster, 20 * SECOND) == 1_000
    board.heal(str(first))
    assert made(cluster, 30 * SECOND) == 250
    board.heal(str(second))
    assert made(cluster, 40 * SECOND) == 500


def test_a_rate_that_changes_with_time_is_changed_as_a_whole() -> None:
    an_hour = 3_600_000_000
    profile = RateProfile((RateSegment(20 * SECOND, 0, an_hour * 60), RateSegment(-1, an_hour * 20, an_hour * 20)))
    cluster, board = started(producer={"profile": profile})
    inject(board, "rate_change", TARGET)
    # A ramp from 0 to 60 a second in 20 s has made 3 * t^2 / 2 by t: 450 of them between 10 s and 20 s.
    assert abs(made(cluster, 20 * SECOND) - 3 * 450) <= 2
    assert abs(made(cluster, 30 * SECOND) - 3 * 200) <= 2
    board.heal("all")
    assert abs(made(cluster, 40 * SECOND) - 200) <= 2


def test_in_a_closed_loop_as_many_more_are_in_flight() -> None:
    loop = {"interval_us": 0, "loop": ClosedLoop(10), "config": {"linger.ms": 5}}
    cluster, board = closed(**loop)
    producer = cluster.producers["loop"]

    def most(seconds: int) -> int:
        found = 0
        for _ in range(seconds * 50):
            cluster.run(cluster.now_us + 20 * MS)
            found = max(found, producer.sent - producer.acked)
        return found

    assert most(2) == 10
    first = inject(board, "rate_change", "client(loop)")
    assert most(2) == 30
    inject(board, "rate_change", "client(loop)", rate=50 * PERCENT)
    most(1)
    assert most(2) == 15
    board.heal(str(first))
    most(1)
    assert most(2) == 5
    stop = inject(board, "rate_change", "client(loop)", rate=0)
    most(1)
    assert most(1) == 0
    board.heal(str(stop))
    board.heal("all")
    assert most(2) == 10


def closed(**loop: Any) -> tuple[Cluster, FaultInjector]:
    base = client_cluster()
    spec = ProducerSpec("loop", "bills", **loop)
    cluster = Cluster.build(_with(base, spec), 7)
    cluster.run(5 * SECOND)
    return cluster, board_of(cluster)


def _with(base: Cluster, more: ProducerSpec) -> Any:

    return replace(base.spec, producers=(*base.spec.producers, more))


def test_a_restarted_process_finds_the_pace_that_it_left() -> None:
    cluster, board = started()
    inject(board, "rate_change", TARGET)
    cluster.run(12 * SECOND)
    inject(board, "crash", TARGET, 2 * SECOND)
    cluster.run(16 * SECOND)
    assert made(cluster, 26 * SECOND) == 1_500
    inject(board, "crash", TARGET)
    cluster.run(28 * SECOND)
    board.heal("rate_change")
    board.heal("crash")
    cluster.run(30 * SECOND)
    assert made(cluster, 40 * SECOND) == 500


def test_a_paused_producer_does_not_catch_up() -> None:
    cluster, board = started()
    inject(board, "rate_change", TARGET)
    inject(board, "gc_pause", TARGET, 5 * SECOND)
    assert 750 <= made(cluster, 20 * SECOND) <= 751


def test_other_producers_draw_as_ever() -> None:
    def others(fault: bool) -> list[tuple[int, str, int]]:
        base = client_cluster()
        cluster = Cluster.build(_with(base, ProducerSpec("other", "orders", 30 * MS, keys=50)), 7)
        cluster.run(5 * SECOND)
        if fault:
            inject(board_of(cluster), "traffic_spike", TARGET)
            inject(board_of(cluster), "hot_key", TARGET)
        cluster.run(8 * SECOND)
        sent = [event for event in cluster.drain() if isinstance(event, RecordsSent) and event.client == "other"]
        return [(event.at_us, event.partition, event.count) for event in sent]

    assert others(fault=True) == others(fault=False) != []


# --- hot keys -------------------------------------------------------------------------------------------------------


def ends(cluster: Cluster) -> list[int]:
    return [cluster.query.leo(f"orders-{number}") for number in range(4)]


def gains(cluster: Cluster, until_us: int) -> list[int]:
    before = ends(cluster)
    cluster.run(until_us)
    return [after - former for former, after in zip(before, ends(cluster), strict=True)]


@pytest.mark.parametrize("key", [0, 7, 42])
def test_all_records_go_where_murmur2_sends_the_key(key: int) -> None:
    cluster, board = started()
    inject(board, "hot_key", TARGET, share=100 * PERCENT, key=key)
    home = partition_for_key(b"key-%d" % key, 4)
    cluster.run(11 * SECOND)
    gained = gains(cluster, 21 * SECOND)
    assert gained[home] == sum(gained) == 500
    board.heal("hot_key")
    cluster.run(22 * SECOND)
    assert min(gains(cluster, 32 * SECOND)) > 80


def test_the_share_is_that_of_all_records_and_keys_say_the_same() -> None:
    cluster, board = started()
    inject(board, "hot_key", TARGET, share=60 * PERCENT, key=7)
    cluster.run(11 * SECOND)
    home = partition_for_key(b"key-7", 4)
    start = cluster.query.leo(f"orders-{home}")
    gained = gains(cluster, 51 * SECOND)
    assert sum(gained) == 2_000
    # Six in ten, and a quarter or so of the others.
    assert 1_280 < gained[home] < 1_530
    keys = keys_between(cluster, home, start, start + gained[home])
    assert 1_140 < keys.count(7) < 1_280
    others = [key for key in keys if key != 7]
    assert len(others) > 150
    assert {partition_for_key(b"key-%d" % key, 4) for key in others} == {home}


def keys_between(cluster: Cluster, number: int, start: int, end: int) -> list[int]:
    """The keys of the leader's records of a partition."""

    keys = cluster.producers["checkout"]._places._keys  # type: ignore[attr-defined]
    assert keys is not None
    log = cluster.cluster_state.replica(f"orders-{number}", cluster.query.leader(f"orders-{number}")).log
    found: list[int] = []
    for _epoch_branch, batch, low, high in log.batches():
        drawn_keys = keys_of_numbers(key_model("checkout", "orders", number, keys), batch.sequence, batch.records).keys
        found += [int(drawn_keys[at - batch.base] or 0) for at in range(max(low, start), min(high, end))]
    return found


def test_two_hot_keys_overlap_and_each_cools_for_itself() -> None:
    cluster, board = started()
    first = inject(board, "hot_key", TARGET, share=50 * PERCENT, key=0)
    inject(board, "hot_key", TARGET, share=100 * PERCENT, key=2)
    homes = [partition_for_key(b"key-%d" % key, 4) for key in (0, 2)]
    assert homes[0] != homes[1]
    cluster.run(11 * SECOND)
    gained = gains(cluster, 31 * SECOND)
    assert gained[homes[0]] + gained[homes[1]] == 1_000
    assert 440 < gained[homes[0]] < 560
    board.heal(str(first))
    cluster.run(32 * SECOND)
    gained = gains(cluster, 42 * SECOND)
    assert gained[homes[1]] == sum(gained) == 500


def test_a_key_fault_does_not_change_existing_records() -> None:
    cluster, board = started()
    end = cluster.query.leo("orders-0")
    before = keys_between(cluster, 0, 0, end)
    inject(board, "hot_key", TARGET)
    cluster.run(20 * SECOND)
    assert keys_between(cluster, 0, 0, end) == before


def test_a_drawn_key_is_of_the_seed_and_asking_draws_nothing(snapshot: SnapshotAssertion) -> None:
    _cluster, board = started()
    action = Action("inject", "hot_key", TARGET)
    told = board.predict_action(action).sentence
    assert board.predict_action(action).sentence == told
    inject(board, "hot_key", TARGET)
    key = board.active()[0].detail.partition("key=")[2]
    assert {f"key-{key}", f"orders-{partition_for_key(b'key-%d' % int(key), 4)}"} <= set(re.findall(r"[\w-]+", told))
    assert told == snapshot


@pytest.mark.parametrize(
    ("producer", "params", "code"),
    [
        ({"keys": 0}, {}, "no_keys"),
        ({}, {"key": 100}, "no_such_key"),
        ({"partition": 1}, {}, "not_partitioned_by_key"),
    ],
)
def test_there_must_be_keys_to_be_hot(
    producer: dict[str, Any], params: dict[str, int], code: str, snapshot: SnapshotAssertion
) -> None:
    _cluster, board = started(producer=producer)
    with pytest.raises(FaultError) as caught:
        inject(board, "hot_key", TARGET, **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert board.active() == ()


def test_an_applications_own_partitioner_takes_hot_keys_where_it_says() -> None:
    cluster, board = started(producer={"partitioner": CustomPartitioner(((5, 3),))})
    inject(board, "hot_key", TARGET, share=100 * PERCENT, key=5)
    cluster.run(11 * SECOND)
    gained = gains(cluster, 21 * SECOND)
    assert gained[3] == sum(gained) == 500


def test_a_hot_key_outlives_the_process() -> None:
    cluster, board = started()
    inject(board, "hot_key", TARGET, share=100 * PERCENT, key=0)
    inject(board, "crash", TARGET, SECOND)
    cluster.run(15 * SECOND)
    gained = gains(cluster, 25 * SECOND)
    assert gained[partition_for_key(b"key-0", 4)] == sum(gained) == 500


@pytest.mark.parametrize(
    ("kafka", "mode", "fault"),
    covering_cases([("3.9", "kraft"), ("2.8", "zookeeper")], ["rate_change", "traffic_spike", "hot_key"]),
)
def test_all_is_well_after_it(kafka: str, mode: str, fault: str) -> None:
    cluster, board = started(kafka=kafka, mode=mode)
    inject(board, fault, TARGET, 4 * SECOND)
    cluster.run(18 * SECOND)
    assert board.active() == ()
    cluster.stop_producers()
    until_well(cluster, whole, 20 * SECOND)
    assert whole(cluster) == []
    assert cluster.is_up(CHECKOUT)
