"""Fencing of a crashed broker at any phase of its heartbeats, and operation without a controller that can fence."""

import random
from itertools import pairwise

import pytest

from cluster_model.cluster import Cluster
from cluster_model.controller.kraft.controller_channel import ControllerChannel
from cluster_model.controller.kraft.messages import BrokerHeartbeatRequest
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.events import BrokerFenced, ElrChanged, Event, IsrChanged, LeaderElected, PartitionOffline
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.spec.cluster_spec import BrokerSpec, ClusterSpec, ProducerSpec, TopicSpec
from tests.cluster_model.timelines import MS, SECOND
from tests.support.breadth import covering_cases, sample_count

pytestmark = pytest.mark.slow

P = "orders-0"


def build(kafka: str, seed: int, acks: str = "1", **config: int) -> Cluster:
    named: dict[str, ConfigValue] = {key.replace("_", "."): value for key, value in config.items()}
    return Cluster.build(
        ClusterSpec(
            kafka, "kraft", tuple(BrokerSpec(number) for number in (1, 2, 3)),
            (TopicSpec("orders", placement=((1, 2, 3),)),),
            producers=(ProducerSpec("checkout", "orders", 100 * MS, config={"acks": acks}),),
            config=named,
        ),
        seed,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(sample_count(6, 12)))
def test_a_crashed_broker_is_fenced_seven_to_nine_seconds_later_at_any_phase(seed: int) -> None:
    """Some times are random, the others lie just before and just after a heartbeat of that broker."""
    draw = random.Random(seed)
    kafka, broker = draw.choice(("3.3", "3.6", "3.9", "4.1")), draw.choice((1, 2, 3))
    beat = 1_000 * MS + broker * 125 * MS + 2 * SECOND * draw.randrange(4)
    for crashed in (
        beat - draw.randrange(1, 2 * MS),
        beat + draw.randrange(2 * MS),
        draw.randrange(SECOND, 11 * SECOND),
    ):
        cluster = build(kafka, seed)
        cluster.run(crashed)
        cluster.crash(broker)
        cluster.run(crashed + 7 * SECOND - 10 * MS)
        assert cluster.plane.is_live(broker)
        # The session counts from the last heartbeat's arrival, and the record has to be committed.
        cluster.run(crashed + 9 * SECOND + 40 * MS)
        assert not cluster.plane.is_live(broker)
        assert broker not in cluster.query.isr(P)
        assert cluster.query.leader(P) not in (broker, NO_LEADER)


def test_session_timeout_and_heartbeat_interval_are_configurable() -> None:
    cluster = build("3.9", 1, broker_session_timeout_ms=4_000, broker_heartbeat_interval_ms=500)
    cluster.run(5 * SECOND)
    cluster.crash(2)
    cluster.run(8 * SECOND + 490 * MS)
    assert cluster.plane.is_live(2)
    cluster.run(9 * SECOND + 40 * MS)
    assert not cluster.plane.is_live(2)


def changes(cluster: Cluster) -> list[Event]:
    kinds = (BrokerFenced, LeaderElected, IsrChanged, ElrChanged, PartitionOffline)
    return [event for event in cluster.drain() if isinstance(event, kinds)]


@pytest.mark.parametrize(
    ("kafka", "acks", "follower_dies", "goes_on"),
    covering_cases(["3.3", "3.9", "4.1"], [("1", True, True), ("all", False, True), ("all", True, False)]),
)
def test_without_a_quorum_leaders_serve_what_needs_no_controller(
    kafka: str, acks: str, follower_dies: bool, goes_on: bool
) -> None:
    """acks=1 always, acks=all while the current ISR is complete; a dead member cannot be removed from it."""
    cluster = build(kafka, 5, acks, replica_lag_time_max_ms=2_000)
    cluster.run(5 * SECOND)
    for voter in (1001, 1003):
        cluster.crash(voter)
    if follower_dies:
        cluster.crash(3)
    cluster.run(8 * SECOND)
    cluster.drain()
    acked = cluster.query.acked()
    cluster.run(24 * SECOND)
    assert changes(cluster) == []
    assert (cluster.query.leader(P), cluster.query.isr(P), cluster.query.epoch(P)) == (1, [1, 2, 3], 0)
    assert (cluster.query.acked() > acked + 140) == goes_on
    assert goes_on or cluster.query.acked() == acked


@pytest.mark.parametrize("kafka", ["3.9", "4.1"])
def test_without_a_quorum_a_crashed_leader_is_not_replaced(kafka: str) -> None:
    cluster = build(kafka, 6, replica_lag_time_max_ms=2_000)
    cluster.run(5 * SECOND)
    for voter in (1001, 1002):
        cluster.crash(voter)
    cluster.crash(1)
    cluster.drain()
    acked = cluster.query.acked()
    cluster.run(40 * SECOND)
    assert changes(cluster) == []
    assert cluster.query.acked() <= acked + 1, "an answer may have been on its way"
    cluster.restart(1002)
    cluster.run(60 * SECOND)
    assert (cluster.query.leader(P), cluster.query.isr(P)) == (2, [2, 3])
    assert cluster.query.acked() > acked


def test_a_broker_that_is_stopped_while_a_heartbeat_is_under_way_waits_for_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = build("3.9.1", 1)
    cluster.run(3 * SECOND)
    said: list[tuple[BrokerHeartbeatRequest, bool]] = []
    send = ControllerChannel.send

    def noted(self: ControllerChannel, request: BrokerHeartbeatRequest) -> None:
        if isinstance(request, BrokerHeartbeatRequest) and request.broker == 2:
            said.append((request, self.busy))
        send(self, request)

    monkeypatch.setattr(ControllerChannel, "send", noted)
    controller = cluster.plane.active()
    cluster.pause(controller)
    cluster.run(6 * SECOND)
    cluster.shutdown(2)
    cluster.run(7 * SECOND)
    assert [request.want_shut_down for request, _busy in said] == [False]
    cluster.resume(controller)
    cluster.run(15 * SECOND)
    assert said[-1][0].want_shut_down
    assert not any(busy for _request, busy in said)


@pytest.mark.parametrize(("kafka", "gaps"), [("4.0.0", []), ("4.0.1", [4, 4, 4]), ("4.1", [4, 4, 4])])
def test_since_4_0_1_a_heartbeat_waits_one_interval_and_is_repeated_an_interval_later(
    kafka: str, gaps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA-19294: before, a request waits for half a session, and the channel sends it again."""
    cluster = build(kafka, 1)
    cluster.run(3 * SECOND)
    made: list[int] = []
    send = ControllerChannel.send

    def noted(self: ControllerChannel, request: BrokerHeartbeatRequest) -> None:
        if isinstance(request, BrokerHeartbeatRequest) and request.broker == 2:
            made.append(cluster.network.kernel.now)
        send(self, request)

    monkeypatch.setattr(ControllerChannel, "send", noted)
    for controller in (1001, 1002, 1003):
        cluster.pause(controller)
    cluster.run(17 * SECOND)
    found = [round((after - before) / SECOND) for before, after in pairwise(made)]
    assert [gap for gap in found if gap > 2] == gaps
