"""Unclean elections in KRaft mode, allowed after the leader was lost: by the next event, and by a timer since 3.9."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.admin_messages import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER
from tests.cluster_model.timelines import MS, SECOND, Watched

P = "orders-0"


def leaderless(kafka: str, **config: int | bool) -> Watched:
    """Broker 2 restarted, but only broker 1, which is down, was in sync; no leader at 34 s. Broker 3 has no replica."""
    named: dict[str, ConfigValue] = {key.replace("_", "."): value for key, value in config.items()}
    watched = Watched(kafka, placement=((1, 2),), brokers=3, config=named)
    for step in (
        lambda: watched.cluster.crash(2),
        lambda: watched.cluster.crash(1),
        lambda: watched.cluster.restart(2),
    ):
        watched.run(10)
        step()
    watched.run(4)
    assert watched.cluster.query.leader(P) == NO_LEADER
    return watched


def allow_unclean(watched: Watched, type_: str, name: str, value: str = "true") -> None:
    change = AlterableConfig("unclean.leader.election.enable", value)
    resource = AlterConfigsResource(type_, name, (change,))
    assert watched.ask(IncrementalAlterConfigsRequest(0, (resource,)), node=2).resources[0].error == KafkaError.NONE


@pytest.mark.parametrize("kafka", ["3.3", "3.8"])
def test_before_3_9_the_next_broker_that_comes_back_brings_the_unclean_election(
    kafka: str, snapshot: SnapshotAssertion
) -> None:
    """Also a broker without a replica of the partition."""
    watched = leaderless(kafka)
    allow_unclean(watched, "topic", "orders")
    watched.cluster.crash(3)
    watched.run(10)
    assert watched.cluster.query.leader(P) == NO_LEADER
    watched.cluster.restart(3)
    watched.run(4)
    assert watched.cluster.query.leader(P) == 2
    assert watched.cluster.cluster_state.records[P].state.recovering
    (elected,) = watched.told("leader_elected", f"partition={P}", "isr=2", "clean=False")
    assert elected == snapshot


@pytest.mark.parametrize(("type_", "name"), [("topic", "orders"), ("broker", "")])
def test_periodic_unclean_elections_follow_interval_and_topic_config(
    type_: str, name: str, snapshot: SnapshotAssertion
) -> None:
    watched = leaderless("3.9", unclean_leader_election_interval_ms=20_000)
    allow_unclean(watched, type_, name)
    watched.run(4.9)
    assert watched.cluster.now_us == 39_900_000
    assert watched.cluster.query.leader(P) == NO_LEADER
    watched.run(0.2)
    assert watched.cluster.query.leader(P) == 2
    (elected,) = watched.told("leader_elected", f"partition={P}", "isr=2", "clean=False")
    assert elected == snapshot


def test_the_unclean_timer_elects_only_live_replicas_of_topics_that_allow_it() -> None:
    watched = leaderless("3.9", unclean_leader_election_interval_ms=20_000)
    allow_unclean(watched, "topic", "orders", "false")
    allow_unclean(watched, "broker", "")
    watched.run(30)
    assert watched.cluster.query.leader(P) == NO_LEADER
    watched.cluster.crash(2)
    watched.run(12)
    resource = AlterConfigsResource("topic", "orders", (AlterableConfig("unclean.leader.election.enable", "true"),))
    watched.ask(IncrementalAlterConfigsRequest(0, (resource,)), node=3)
    watched.run(45)
    assert watched.cluster.query.leader(P) == NO_LEADER


def test_a_reelected_controller_starts_a_new_unclean_election_timer() -> None:
    watched = leaderless("3.9", unclean_leader_election_interval_ms=60_000)
    plane = watched.cluster.plane
    lost = plane.active()
    assert lost == 1001
    while plane.active() != lost or watched.cluster.now_us == 34 * SECOND:
        active = plane.active()
        watched.cluster.pause(active)
        watched.run(5)
        watched.cluster.resume(active)
        watched.run(0.5)
        assert watched.cluster.now_us < 58 * SECOND
    allow_unclean(watched, "topic", "orders")
    elected = [at for at, line in watched.messages if "controller_changed" in line][-1]
    watched.cluster.run(elected + 60 * SECOND - 100 * MS)
    assert watched.cluster.now_us > 80 * SECOND
    assert watched.cluster.query.leader(P) == NO_LEADER, "the timer of its first epoch would have rung at 60 s"
    watched.cluster.run(elected + 60 * SECOND + 100 * MS)
    assert watched.cluster.query.leader(P) == 2
