"""A broker's services for its coordinators: notifications, appends with acks=all, reads of its own log."""

from typing import Any

import pytest

from cluster_model.broker.control_plane_client import Handlers, MetadataUpdate
from cluster_model.cluster import Cluster
from cluster_model.kernel.event_loop import Payload
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

SECOND = 1_000_000
P = "notes-0"
TIMEOUT = 5 * SECOND


class RecordingCoordinator:
    """A hosted coordinator that records its notifications."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.handlers: Handlers = {}
        self.notifications: list[tuple[Any, ...]] = []

    def started(self) -> None:
        self.notifications.append(("started",))

    def stopped(self) -> None:
        self.notifications.append(("stopped",))

    def on_timer(self, timer: Payload) -> bool:
        if timer[0] != self.topic:
            return False
        self.notifications.append(timer)
        return True

    def on_disconnect(self, peer: int) -> None:
        self.notifications.append(("disconnected", peer))

    def leads(self, partition: str, leader_epoch: int) -> None:
        self.notifications.append(("leads", partition, leader_epoch))

    def resigned(self, partition: str) -> None:
        self.notifications.append(("resigned", partition))

    def deleted(self, partition: str) -> None:
        self.notifications.append(("deleted", partition))

    def appended(self, token: int, error: KafkaError, base: int) -> None:
        self.notifications.append(("appended", token, error, base))

    def save(self) -> tuple[Any, ...]:
        return tuple(self.notifications)

    def load(self, saved: tuple[Any, ...]) -> None:
        self.notifications = list(saved)


class CoordinatorCluster:
    """Three brokers with two recording coordinators each; the first one leads the only partition of ``notes``."""

    def __init__(self, kafka: str = "3.9", brokers: int = 3, **config: ConfigValue) -> None:
        ids = tuple(range(1, brokers + 1))
        given: dict[str, ConfigValue] = {name.replace("_", "."): value for name, value in config.items()}
        topics = (TopicSpec("notes", placement=(ids,), config=given), TopicSpec("other", placement=(ids,)))
        self.cluster = Cluster(ClusterSpec(kafka, "kraft", tuple(BrokerSpec(each) for each in ids), topics), 3)
        self.coordinators = {number: RecordingCoordinator("notes") for number in ids}
        for number, coordinator in self.coordinators.items():
            self.cluster.brokers[number].host(RecordingCoordinator("diary"))
            self.cluster.brokers[number].host(coordinator)
        self.cluster.run(SECOND)
        for coordinator in self.coordinators.values():
            coordinator.notifications.clear()

    def append(self, token: int, *names: str, broker: int = 1) -> None:
        self.cluster.brokers[broker].hosted.append("notes", P, names, token, TIMEOUT)

    def run(self, seconds: float) -> list[tuple[Any, ...]]:
        """Advance the time; returns the append results of the first broker's coordinator."""
        self.cluster.run(self.cluster.now_us + int(seconds * SECOND))
        return self.appended()

    def appended(self, broker: int = 1) -> list[tuple[Any, ...]]:
        return [each[1:] for each in self.coordinators[broker].notifications if each[0] == "appended"]

    def records(self, broker: int = 1) -> list[tuple[int, str]]:
        return list(self.cluster.brokers[broker].hosted.read(P))


def test_an_append_is_over_when_every_replica_has_it() -> None:
    hosting = CoordinatorCluster()
    hosting.append(7, "a=1", "b=2")
    hosting.append(8, "a=3")
    assert hosting.appended() == []
    assert hosting.run(0.1) == [(7, KafkaError.NONE, 0), (8, KafkaError.NONE, 2)]
    assert hosting.records() == hosting.records(2) == [(0, "a=1"), (1, "b=2"), (2, "a=3")]


def test_a_leader_that_is_alone_is_reported_at_once() -> None:
    hosting = CoordinatorCluster(brokers=1)
    hosting.append(7, "a=1")
    assert hosting.appended() == [(7, KafkaError.NONE, 0)]


@pytest.mark.parametrize("broker", [1, 2])
def test_a_broker_that_does_not_lead_is_reported_at_once(broker: int) -> None:
    hosting = CoordinatorCluster()
    if broker == 1:
        hosting.cluster.brokers[1].stop_replica(P, delete=True)
    hosting.append(7, "a=1", broker=broker)
    assert hosting.appended(broker) == [(7, KafkaError.NOT_LEADER_OR_FOLLOWER, -1)]
    assert not hosting.cluster.brokers[broker].hosted.write(P, ("a=1",))


def test_with_too_few_in_sync_nothing_is_written() -> None:
    hosting = CoordinatorCluster(min_insync_replicas=3)
    hosting.cluster.crash(3)
    hosting.run(15)
    hosting.append(7, "a=1")
    assert hosting.appended() == [(7, KafkaError.NOT_ENOUGH_REPLICAS, -1)]
    assert hosting.records() == []
    # An append that waits for no replica does not need them.
    assert hosting.cluster.brokers[1].hosted.write(P, ("a=",))
    assert hosting.records() == [(0, "a=")]


def test_an_append_that_is_not_replicated_in_time_may_be_there_all_the_same() -> None:
    hosting = CoordinatorCluster()
    hosting.cluster.pause(2)
    hosting.cluster.pause(3)
    hosting.append(7, "a=1")
    assert hosting.run(4.9) == []
    assert hosting.run(0.2) == [(7, KafkaError.REQUEST_TIMED_OUT, -1)]
    hosting.cluster.resume(2)
    hosting.cluster.resume(3)
    hosting.run(5)
    assert hosting.records(2) == [(0, "a=1")]


def test_a_leader_that_is_replaced_fails_its_appends_before_it_reports_it() -> None:
    hosting = CoordinatorCluster()
    hosting.cluster.pause(2)
    hosting.cluster.pause(3)
    hosting.append(7, "a=1")
    known = hosting.cluster.committed.records[P].state
    state = PartitionState(P, 2, known.leader_epoch + 1, (1, 2, 3), known.partition_epoch + 1, (1, 2, 3))
    broker = hosting.cluster.brokers[1]
    broker.apply_metadata(_decisions(state, broker.metadata.live))
    assert hosting.coordinators[1].notifications == [
        ("appended", 7, KafkaError.NOT_LEADER_OR_FOLLOWER, -1),
        ("resigned", P),
    ]
    again = state._replace(leader=1, leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)
    broker.apply_metadata(_decisions(again, broker.metadata.live))
    assert hosting.coordinators[1].notifications[2:] == [("leads", P, again.leader_epoch)]
    gone = again._replace(leader=NO_LEADER, leader_epoch=again.leader_epoch + 1)
    broker.apply_metadata(_decisions(gone, broker.metadata.live))
    assert hosting.coordinators[1].notifications[3:] == [("resigned", P)]


def _decisions(state: PartitionState, live: dict[int, int]) -> MetadataUpdate:
    return MetadataUpdate((state,), tuple(live), tuple(live.values()))


def test_only_the_topics_own_hosted_coordinator_learns_of_its_leaders() -> None:
    hosting = CoordinatorCluster()
    hosting.cluster.crash(1)
    hosting.run(15)
    assert ("leads", P, 1) in hosting.coordinators[2].notifications
    assert not [each for each in hosting.coordinators[2].notifications if "other-0" in each]
    assert ("stopped",) in hosting.coordinators[1].notifications
    hosting.cluster.restart(1)
    hosting.run(5)
    assert ("started",) in hosting.coordinators[1].notifications
    assert ("resigned", P) in hosting.coordinators[1].notifications


def test_compacted_records_are_not_loaded_by_a_coordinator() -> None:
    hosting = CoordinatorCluster(cleanup_policy="compact", segment_bytes=200, min_cleanable_dirty_ratio="0.01")
    for number in range(12):
        hosting.append(number, f"a={number}", f"b{number}=1")
        hosting.run(0.1)
    hosting.run(40)
    records = hosting.records()
    assert "a=0" not in [text for _offset, text in records]
    assert [text for _offset, text in records if text.startswith("b")] == [f"b{number}=1" for number in range(12)]
    assert records[-2:] == [(22, "a=11"), (23, "b11=1")]


def test_snapshots_keep_delayed_appends() -> None:
    hosting = CoordinatorCluster()
    hosting.append(7, "a=1")
    keyframe = hosting.cluster.save()
    assert hosting.run(0.1) == [(7, KafkaError.NONE, 0)]
    hosting.cluster.load(keyframe)
    assert hosting.appended() == []
    assert hosting.run(0.1) == [(7, KafkaError.NONE, 0)]


def test_timers_disconnections_and_deleted_partitions_reach_every_hosted_coordinator() -> None:
    hosting = CoordinatorCluster()
    broker = hosting.cluster.brokers[1]
    broker.on_timer(("notes", 5))
    broker.on_disconnect(3)
    broker.forget("other-0")
    assert hosting.coordinators[1].notifications == [("notes", 5), ("disconnected", 3), ("deleted", "other-0")]
