"""When a broker that comes up takes clients in: not before Kafka's would."""

import pytest

from cluster_model.broker.control_plane_client import ListenerState
from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.broker_side import KraftBrokerClient
from cluster_model.protocol.events import BrokerFenced
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, TopicSpec

CLOSED, SILENT, OPEN = ListenerState
SECOND = 1_000_000


def restarted(version: str, mode: str, down_us: int = 10 * SECOND) -> Cluster:
    """A cluster whose second broker has just been started again, its old session lapsed."""
    brokers = tuple(BrokerSpec(number) for number in (1, 2, 3))
    cluster = Cluster.build(ClusterSpec(version, mode, brokers, (TopicSpec("orders", 3, 3),)), 3)
    cluster.run(SECOND)
    cluster.crash(2)
    assert cluster.brokers[2].control.listening is CLOSED
    cluster.run(SECOND + down_us)
    cluster.restart(2)
    return cluster


def life(cluster: Cluster, *, until_open: bool = False) -> list[tuple[ListenerState, bool]]:
    """What the port did one after the other, and whether the broker knew of any partition when that began."""
    broker = cluster.brokers[2]
    found: list[tuple[ListenerState, bool]] = []
    until = cluster.now_us + 15 * SECOND
    while cluster.next_event_us() <= until and not (until_open and broker.control.listening is OPEN):
        cluster.run(until, 1)
        if not found or found[-1][0] is not broker.control.listening:
            found.append((broker.control.listening, bool(broker.states)))
    return found


@pytest.mark.parametrize("version", ["3.5", "3.9", "4.1"])
def test_a_kraft_broker_refuses_connections_until_it_is_unfenced(version: str) -> None:
    cluster = restarted(version, "kraft")
    control = cluster.brokers[2].control
    assert isinstance(control, KraftBrokerClient)
    opened = life(cluster, until_open=True)
    assert (opened, control.state) == ([(CLOSED, False), (OPEN, True)], "RUNNING")


@pytest.mark.parametrize("version", ["3.3", "3.4"])
def test_before_3_5_it_takes_them_in_silently_until_it_knows_its_partitions(version: str) -> None:
    assert life(restarted(version, "kraft")) == [(CLOSED, False), (SILENT, False), (OPEN, True)]


@pytest.mark.parametrize("version", ["1.0", "3.9"])
def test_a_broker_of_zookeeper_answers_before_it_was_notified_anything(version: str) -> None:
    assert life(restarted(version, "zookeeper")) == [(CLOSED, False), (OPEN, False)]


def test_a_kraft_broker_that_is_fenced_again_while_it_runs_stays_open() -> None:
    cluster = restarted("3.9", "kraft")
    cluster.run(cluster.now_us + 20 * SECOND)
    cluster.drain()
    cluster.pause(2)
    cluster.run(cluster.now_us + 15 * SECOND)
    assert [event.broker for event in cluster.drain() if isinstance(event, BrokerFenced)] == [2]
    cluster.resume(2)
    assert cluster.brokers[2].control.listening is OPEN


def test_snapshots_restore_the_listener_state() -> None:
    cluster = restarted("3.9", "kraft")
    cluster.run(cluster.now_us + SECOND)
    early = cluster.save()
    cluster.run(cluster.now_us + 20 * SECOND)
    late = cluster.save()
    twin = cluster.twin()
    twin.load(late)
    assert twin.brokers[2].control.listening is OPEN
    twin.load(early)
    assert twin.brokers[2].control.listening is CLOSED
