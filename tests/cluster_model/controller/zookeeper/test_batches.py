"""Requests that a controller collects during an event, and has not sent when the event fails half-way."""

from collections.abc import Callable

import pytest

from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_event_queue import Task
from cluster_model.snapshots import pack, unpack
from tests.cluster_model.controller.zookeeper.rigs import Watched
from tests.cluster_model.controller.zookeeper.test_keyframes import with_admin
from tests.cluster_model.controller.zookeeper.test_sessions import expire


def half_way(kafka: str) -> Watched:
    """The controller removes broker 3, which stops, from ISRs: it waits for ZooKeeper with StopReplica unsent."""
    rig = Watched.of(kafka, placement=((2, 3),), brokers=4)
    rig.run(1)
    rig.cluster.shutdown(3)
    while not gathered(rig):
        rig.run(0.0001)
        assert rig.cluster.now_us < 2_000_000
    return rig


def gathered(rig: Watched) -> list[int]:
    """Brokers with collected requests at broker 1."""
    batch = rig.control(1).controller.work.batch
    return list(batch._stop) + list(batch._leader_and_isr) + list(batch._metadata_targets)


def moved(rig: Watched) -> None:
    """Another broker becomes controller, which the next write detects."""
    rig.control(4).session.send(kafka_zk_client.put("/controller_epoch", (7,)), ("errands", -1))


ENDS: dict[str, Callable[[Watched], None]] = {
    "session": lambda rig: expire(rig, 1),
    "crash": lambda rig: rig.cluster.crash(1),
    "moved": moved,
}


@pytest.mark.parametrize("end", list(ENDS))
def test_a_failed_controller_drops_its_unsent_batches(end: str) -> None:
    """Sent in its next term it would stop replicas in the name of an epoch that never decided so."""
    rig = half_way("2.8")
    context = rig.control(1).controller.work.context
    ENDS[end](rig)
    for _step in range(2_000):
        if not context.active:
            break
        rig.run(0.0001)
    assert not context.active
    assert gathered(rig) == []


@pytest.mark.parametrize("kafka", ["1.0", "2.8"])
def test_snapshots_keep_the_batches_collected_so_far(kafka: str) -> None:
    rig = half_way(kafka)
    inside = pack(rig.cluster.save())
    there = gathered(rig)
    rig.run(3)
    after = pack(rig.cluster.save())
    assert gathered(rig) == []
    twin = with_admin(rig.cluster.twin())
    batch = twin.plane.controls[1].controller.work.batch  # type: ignore[attr-defined]
    for keyframe, expected in ((inside, there), (after, []), (inside, there), (inside, there)):
        twin.load(unpack(keyframe)[0])
        assert list(batch._stop) + list(batch._leader_and_isr) + list(batch._metadata_targets) == expected
    twin.run(rig.cluster.now_us)
    assert twin.digest() == rig.cluster.digest()


def test_a_lane_that_loads_starts_from_what_is_saved_alone() -> None:
    task: Task = ("topic_change",)
    controller = Watched.of("2.8").control(1).controller
    saved = controller.save()
    controller.lane.put(*task)
    controller.work.batch.add_stop_replica(2, "orders-0", delete=False)
    controller.load(saved)
    assert not controller.lane.busy
    assert list(controller.work.batch._stop) == []
