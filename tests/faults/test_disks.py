"""Faults of disks on a busy cluster: it is whole again after, whatever came together, and however it was run."""

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.events import NodeDown
from faults.declarations.fault import FaultError
from faults.injector import FaultInjector
from tests.faults.disks import MIB, coordinated, told
from tests.faults.rigs import MS, SECOND, begun, board_of, busy_cluster, inject, unsettled, until_well
from tests.support.breadth import covering_cases

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize(("era", "history"), covering_cases([(("3.9", "kraft"),), (("2.8", "zookeeper"),)], HISTORIES))
def test_the_cluster_is_whole_again_after(history: str, era: tuple[str, str]) -> None:
    cluster, board = begun(SECOND, busy_cluster, kafka=era[0], mode=era[1])
    for name, target, params in HISTORIES[history]:
        inject(board, name, target, **params)
        cluster.run(cluster.now_us + 400 * MS)
    cluster.run(cluster.now_us + 9 * SECOND)
    assert board.heal("all") == len(HISTORIES[history])
    cluster.run(cluster.now_us + 5 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    cluster.close()
    assert unsettled(cluster) == []
    if era[0] == "3.9":  # acks=all by default
        assert cluster.query.acked_lost() == 0
    assert [broker.append_queue.active for broker in cluster.brokers.values()] == [False] * 5
    assert not any(process.wakeful for process in cluster.network.processes.values())


@pytest.mark.parametrize("kafka", ["0.8.2", "0.10.2", "0.11", "1.0", "2.3"])
def test_disk_faults_begin_and_end_in_every_release(kafka: str, snapshot: SnapshotAssertion) -> None:
    cluster = busy_cluster(kafka=kafka, mode="zookeeper")
    board = board_of(cluster)
    cluster.run(SECOND)
    inject(board, "full_disk", "broker(1)", 9 * SECOND)
    inject(board, "slow_disk", "broker(2)", 9 * SECOND, latency=150 * MS)
    cluster.run(9 * SECOND)
    assert [event.detail for event in told(cluster, NodeDown)] == snapshot
    cluster.run(16 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    assert (board.active(), unsettled(cluster)) == ((), [])


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


def test_a_twin_continues_from_a_keyframe() -> None:
    cluster = coordinated("3.9", "kraft")
    cluster.run(5 * SECOND)
    cluster.disks.slow(1, 1, MIB, 300 * MS)
    cluster.run(6 * SECOND)
    twin = cluster.twin()
    twin.load(cluster.save())
    assert [broker.append_queue.save() for broker in twin.brokers.values()] == [
        broker.append_queue.save() for broker in cluster.brokers.values()
    ]
    assert twin.brokers[1].append_queue.active


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
def test_disks_are_brokers(board: FaultInjector, name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(FaultError) as caught:
        inject(board, name, "client(checkout)")
    assert caught.value.code == "wrong_kind_of_target"
    assert str(caught.value) == snapshot


@pytest.mark.parametrize(
    ("name", "params", "code"),
    [
        ("slow_disk", {"throughput": 1_023}, "wrong_value"),
        ("slow_disk", {"latency": -1}, "wrong_value"),
        ("full_disk", {"free": -1}, "wrong_value"),
        ("log_dir_failure", {"lost": 1}, "wrong_value"),
    ],
)
def test_parameters_out_of_range_are_refused(
    board: FaultInjector, name: str, params: dict[str, Any], code: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(FaultError) as caught:
        inject(board, name, "broker(1)", **params)
    assert caught.value.code == code
    assert str(caught.value) == snapshot
    assert board.active() == ()


def test_predicted_impact_of_disk_faults(board: FaultInjector, snapshot: SnapshotAssertion) -> None:
    assert {name: board.impact_sentence(name, 1) for name in ("slow_disk", "full_disk")} == snapshot
