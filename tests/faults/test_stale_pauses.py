"""Metadata that is let through to a broker whose process stands still, or gets to it late."""

from typing import Any

import pytest

from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.metadata import MetadataLoader, Record
from cluster_model.controller.zookeeper.controller_requests import ControllerRequestHandler
from cluster_model.protocol.events import BecameFollower, TraceEvent
from faults.injector import FaultInjector
from tests.faults.rigs import MS, SECOND, board_of, busy_cluster, inject, unsettled, until_well

pytestmark = pytest.mark.slow

modes = pytest.mark.parametrize(
    ("kafka", "mode", "what"), [("3.9", "kraft", "all"), ("2.8", "zookeeper", "all"), ("2.8", "zookeeper", "cache")]
)


def run_for(cluster: Cluster, us: int) -> list[Any]:
    cluster.run(cluster.now_us + us)
    return [event for event in cluster.drain() if isinstance(event, TraceEvent)]


def behind(kafka: str, mode: str, **params: Any) -> tuple[Cluster, FaultInjector]:
    """Broker 3 has not taken up that orders-0 is led by 2 now."""
    cluster = busy_cluster(kafka=kafka, mode=mode)
    board = board_of(cluster)
    cluster.run(2 * SECOND)
    inject(board, "stale_metadata", "broker(3)", **params)
    inject(board, "session_expiry", "broker(1)")
    cluster.run(3 * SECOND)
    cluster.drain()
    assert knows(cluster) == 0 < knows(cluster, 5)
    return cluster, board


def knows(cluster: Cluster, broker: int = 3, partition: str = "orders-0") -> int:
    return cluster.brokers[broker].states[partition].leader_epoch


def settled(cluster: Cluster, board: FaultInjector) -> list[str]:
    board.heal("all")
    cluster.run(cluster.now_us + 5 * SECOND)
    cluster.stop_producers()
    until_well(cluster, unsettled)
    return unsettled(cluster)


@modes
def test_a_paused_process_takes_nothing_up_until_it_resumes(kafka: str, mode: str, what: str) -> None:
    cluster, board = behind(kafka, mode, requests=what)
    inject(board, "gc_pause", "broker(3)")
    run_for(cluster, 100 * MS)
    before = cluster.brokers[3].save()
    board.heal("stale_metadata")
    events = run_for(cluster, SECOND)
    assert cluster.brokers[3].save()[0] == before[0]
    assert [event for event in events if getattr(event, "broker", 0) == 3] == []
    assert knows(cluster) == 0
    board.heal("gc_pause")
    events = run_for(cluster, SECOND if mode == "zookeeper" and what == "all" else 1)  # One request at a time there.
    assert knows(cluster) == knows(cluster, 5)
    if what == "all":
        assert [(event.broker, event.leader) for event in events if isinstance(event, BecameFollower)].count(
            (3, 2)
        ) == 1
    assert settled(cluster, board) == []


@modes
def test_another_hold_does_not_rouse_a_paused_process(kafka: str, mode: str, what: str) -> None:
    cluster, board = behind(kafka, mode, requests=what, delay=1_500 * MS)
    inject(board, "gc_pause", "broker(3)")
    run_for(cluster, 1_500 * MS)
    inject(board, "stale_metadata", "broker(3)", requests=what, delay=100 * MS)
    assert knows(cluster) == 0
    board.heal("gc_pause")
    run_for(cluster, 40 * SECOND)
    assert knows(cluster) == knows(cluster, 5)
    assert settled(cluster, board) == []


def test_committed_records_do_not_overtake_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, board = behind("3.9", "kraft")
    control: Any = cluster.brokers[3].control
    waits = len(control._held._waiting)
    taken: list[int] = []
    replay = MetadataLoader.replay

    def spy(loader: MetadataLoader, base_offset: int, records: tuple[Record, ...]) -> None:
        taken.append(base_offset)
        replay(loader, base_offset, records)

    monkeypatch.setattr(MetadataLoader, "replay", spy)
    board.heal("stale_metadata")
    assert taken == []
    control.on_committed(control._committed.next_offset, 1, ())
    assert len(taken) == waits + 1 > 1
    assert taken == sorted(taken)


@pytest.mark.parametrize("what", ["all", "cache"])
def test_requests_do_not_overtake_those_that_wait(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, board = behind("2.8", "zookeeper", requests=what)
    control: Any = cluster.brokers[3].control
    requests = control.controller_requests
    held = requests._requests if what == "all" else requests._delayed_updates
    waits = [each[1] if what == "cache" else each[1][1] for each in held._waiting]
    taken: list[int] = []
    name = "_handle" if what == "all" else "_apply"
    handle: Any = getattr(ControllerRequestHandler, name)

    def spy(self: ControllerRequestHandler, *given: Any) -> None:
        taken.append(given[-1].correlation_id)
        handle(self, *given)

    monkeypatch.setattr(ControllerRequestHandler, name, spy)
    board.heal("stale_metadata")
    assert taken == []
    requests.receive(2, waits[-1]._replace(correlation_id=1 << 40))
    assert taken == [*[each.correlation_id for each in waits], 1 << 40]
    assert len(taken) > 1


@modes
def test_a_node_that_dies_in_its_pause_comes_up_with_all_that_was_decided(kafka: str, mode: str, what: str) -> None:
    cluster, board = behind(kafka, mode, requests=what)
    inject(board, "gc_pause", "broker(3)")
    board.heal("stale_metadata")
    inject(board, "crash", "broker(3)")
    cluster.run(10 * SECOND)
    inject(board, "restart", "broker(3)")
    cluster.run(30 * SECOND)
    assert knows(cluster) == knows(cluster, 5)
    assert settled(cluster, board) == []


@modes
def test_a_pause_over_healed_metadata_goes_back_with_its_cluster(kafka: str, mode: str, what: str) -> None:
    cluster, board = behind(kafka, mode, requests=what)
    inject(board, "gc_pause", "broker(3)")
    run_for(cluster, 500 * MS)
    board.heal("stale_metadata")
    run_for(cluster, 100 * MS)
    saved = cluster.save(), board.save()
    ends = []
    control: Any = cluster.brokers[3].control
    held = (
        [control._held]
        if mode == "kraft"
        else [control.controller_requests._requests, control.controller_requests._delayed_updates]
    )
    waiting = [tuple(each._waiting) for each in held]
    for _ in range(2):
        assert [tuple(each._waiting) for each in held] == waiting != [()]
        board.heal("gc_pause")
        run_for(cluster, 1)
        assert (knows(cluster) > 0) == (mode == "kraft" or what == "cache")
        run_for(cluster, 200 * MS)
        assert knows(cluster) == knows(cluster, 5) > 0
        run_for(cluster, 5 * SECOND)
        ends.append((cluster.digest(), cluster.executed))
        cluster.load(saved[0])
        board.load(saved[1])
    assert ends[0] == ends[1]


def test_an_alarm_that_is_set_goes_back_though_nothing_is_held() -> None:
    cluster, board = behind("3.9", "kraft", delay=4 * SECOND)
    control: Any = cluster.brokers[3].control
    board.heal("stale_metadata")
    control.on_committed(control._committed.next_offset, 1, ())
    assert not control._held.delaying
    assert not control._held.nonempty
    at = control._timer.at
    assert at >= cluster.now_us
    saved = cluster.save()
    cluster.run(10 * SECOND)
    assert control._timer.at == -1
    cluster.load(saved)
    assert control._timer.at == at
