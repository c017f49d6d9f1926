"""Configurations altered in a running ZooKeeper-mode cluster, as brokers and controller apply them."""

from typing import Any

import pytest

from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    ConfigOperation,
    IncrementalAlterConfigsRequest,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.snapshots import pack, unpack
from tests.cluster_model.controller.zookeeper.rigs import ADMIN, SECOND, Watched
from tests.cluster_model.controller.zookeeper.test_keyframes import with_admin
from tests.cluster_model.controller.zookeeper.test_sessions import expire

UNCLEAN = "unclean.leader.election.enable"


def alter(rig: Watched, name: str, key: str, value: str, operation: int = ConfigOperation.SET) -> KafkaError:
    """Have the controller's broker alter a broker's configuration, that of all brokers under the empty name."""
    change = AlterConfigsResource("broker", name, (AlterableConfig(key, value, operation),))
    answer = rig.ask(rig.plane.active(), IncrementalAlterConfigsRequest(1, (change,)))
    return KafkaError(answer.resources[0].error)


def leaderless(kafka: str, **kind: Any) -> Watched:
    """orders-0 is on brokers 2 and 3; 3 left its ISR cleanly and restarted, 2 is dead: no replica is eligible."""
    rig = Watched.of(kafka, placement=((2, 3),), **kind)
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(2)
    rig.cluster.crash(2)
    rig.run(22)
    rig.cluster.restart(3)
    rig.run(4)
    assert rig.record("orders-0").leader == -1
    return rig


@pytest.mark.parametrize("kafka", ["1.1", "2.3", "3.9"])
@pytest.mark.parametrize("name", ["", "1"])
def test_unclean_elections_allowed_by_default_at_run_time_are_held_at_once(kafka: str, name: str) -> None:
    """The controller is broker 1: settings of all brokers apply to it, and settings of it alone."""
    rig = leaderless(kafka)
    assert alter(rig, name, UNCLEAN, "true") is KafkaError.NONE
    rig.run(1)
    state = rig.record("orders-0")
    assert (state.leader, state.isr) == (3, (3,))
    assert rig.cluster.brokers[3].replicas["orders-0"].leader == 3


def test_the_controller_ignores_dynamic_configs_of_other_brokers() -> None:
    rig = leaderless("2.3")
    assert alter(rig, "3", UNCLEAN, "true") is KafkaError.NONE
    rig.run(1)
    assert rig.record("orders-0").leader == -1


def test_a_topics_own_word_goes_before_the_default() -> None:
    rig = leaderless("2.3", topic={UNCLEAN: False})
    assert alter(rig, "", UNCLEAN, "true") is KafkaError.NONE
    rig.run(1)
    assert rig.record("orders-0").leader == -1


def test_taken_back_unclean_elections_are_over() -> None:
    rig = Watched.of("2.3", placement=((2, 3),), config={UNCLEAN: True})
    rig.run(1)
    assert alter(rig, "", UNCLEAN, "false") is KafkaError.NONE
    rig.cluster.shutdown(3)
    rig.run(2)
    rig.cluster.crash(2)
    rig.run(9)
    rig.cluster.restart(3)
    rig.run(5)
    assert rig.record("orders-0").leader == -1
    assert alter(rig, "", UNCLEAN, "", ConfigOperation.DELETE) is KafkaError.NONE
    rig.run(1)
    assert rig.record("orders-0").leader == 3


def test_the_next_controller_has_what_it_was_notified_before_it_was_one() -> None:
    rig = Watched.of("2.3", placement=((2, 3),), brokers=4)
    rig.run(1)
    assert alter(rig, "", UNCLEAN, "true") is KafkaError.NONE
    rig.run(1)
    rig.cluster.shutdown(3)
    rig.run(2)
    rig.cluster.crash(2)
    rig.cluster.crash(1)
    rig.run(9)
    rig.cluster.restart(3)
    rig.run(5)
    assert rig.plane.active() == 4
    assert rig.record("orders-0").leader == 3


def test_a_session_that_ends_forgets_no_configuration() -> None:
    rig = Watched.of("2.3", placement=((2, 3),))
    rig.run(1)
    assert alter(rig, "", UNCLEAN, "true") is KafkaError.NONE
    rig.run(1)
    work = rig.control(1).controller.work
    rig.cluster.pause(1)
    rig.run(rig.plane.session_us / SECOND + 3)
    rig.cluster.resume(1)
    rig.run(3)
    assert (rig.plane.active(), rig.plane.is_live(1)) == (2, True)
    assert work.allows_unclean
    rig.cluster.crash(1)
    assert not work.allows_unclean
    rig.cluster.restart(1)
    rig.run(15)
    assert work.allows_unclean


def test_a_config_rejected_by_the_broker_does_not_reach_its_controller() -> None:
    """Five times as many threads are too many at once (``DynamicThreadPool``)."""
    rig = Watched.of("2.3")
    rig.run(1)
    configs = (AlterableConfig("num.replica.fetchers", "5"), AlterableConfig(UNCLEAN, "true"))
    rig.ask(1, IncrementalAlterConfigsRequest(1, (AlterConfigsResource("broker", "", configs),)))
    rig.run(1)
    assert not rig.control(1).controller.work.allows_unclean


def test_a_note_is_read_once() -> None:
    rig = Watched.of("2.3")
    rig.run(1)
    assert alter(rig, "", UNCLEAN, "true") is KafkaError.NONE
    assert not rig.ask(1, minimum(2)).resources[0].error
    rig.run(1)
    taken = [line for line in rig.lines if UNCLEAN in line and "* broker" in line]
    assert len(taken) == 3


def test_a_change_that_waits_behind_other_events_outlives_the_session() -> None:
    controller = Watched.of("2.3").control(1).controller
    controller.lane.put("topic_change")
    controller.configured(((UNCLEAN, True),))
    assert not controller.work.allows_unclean
    controller.expired()
    assert controller.work.allows_unclean


@pytest.mark.parametrize("kafka", ["1.0", "2.3", "3.9"])
def test_configurations_are_learned_in_every_session(kafka: str) -> None:
    """The watch belongs to one session; a new session reads missed changes, and watches again."""
    rig = Watched.of(kafka)
    rig.run(1)
    rig.cluster.pause(3)
    rig.run(rig.plane.session_us / SECOND + 3)
    assert not rig.ask(1, minimum(2)).resources[0].error
    rig.run(1)
    rig.cluster.resume(3)
    rig.run(3)
    assert rig.plane.is_live(3)
    assert rig.cluster.brokers[3].replicas["orders-0"].min_isr == 2
    assert not rig.ask(1, minimum(3)).resources[0].error
    rig.run(1)
    assert rig.cluster.brokers[3].replicas["orders-0"].min_isr == 3


def minimum(number: int) -> IncrementalAlterConfigsRequest:
    """Request to alter the topic."""
    change = AlterConfigsResource("topic", "orders", (AlterableConfig("min.insync.replicas", str(number)),))
    return IncrementalAlterConfigsRequest(1, (change,))


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_session_that_ends_while_a_change_is_being_read_does_not_swallow_it(answers: int) -> None:
    """The names of the notifications, the notifications and the configuration are read one after the other."""
    rig = Watched.of("2.3")
    rig.run(1)
    lane = rig.control(3).tasks.thread
    rig.cluster._port(ADMIN).send(1, minimum(2))
    while not (lane.busy and len(lane._given) == answers):
        rig.run(0.0001)
    assert rig.cluster.now_us < 2 * SECOND
    expire(rig, 3)
    rig.run(5)
    assert rig.plane.is_live(3)
    assert rig.cluster.brokers[3].replicas["orders-0"].min_isr == 2


@pytest.mark.parametrize(
    ("kafka", "key", "error"),
    [
        ("2.3", "auto.leader.rebalance.enable", KafkaError.INVALID_REQUEST),
        ("2.3", "leader.imbalance.check.interval.seconds", KafkaError.INVALID_REQUEST),
        ("2.3", "replica.lag.time.max.ms", KafkaError.INVALID_REQUEST),
        ("2.3", "no.such.thing", KafkaError.INVALID_CONFIG),
        ("2.3", UNCLEAN, KafkaError.NONE),
        ("1.0", UNCLEAN, KafkaError.UNSUPPORTED_VERSION),
        ("1.0", "leader.replication.throttled.rate", KafkaError.NONE),
        ("0.10.0", "leader.replication.throttled.rate", KafkaError.UNSUPPORTED_VERSION),
    ],
)
def test_only_what_is_dynamic_can_be_altered(kafka: str, key: str, error: KafkaError) -> None:
    """KIP-226 came with 1.1; throttles were dynamic before it, since 0.10.1."""
    rig = Watched.of(kafka)
    rig.run(1)
    assert alter(rig, "", key, "true" if "enable" in key else "7") is error
    rig.run(1)
    assert bool(rig.control(2)._dynamic) is (error is KafkaError.NONE)


def test_keyframes_keep_what_the_controller_was_given() -> None:
    rig = leaderless("2.3")
    early = pack(rig.cluster.save())
    assert alter(rig, "", UNCLEAN, "true") is KafkaError.NONE
    rig.run(0.5)
    late = pack(rig.cluster.save())
    twin = with_admin(rig.cluster.twin())
    for packed, allowed in ((late, True), (early, False), (late, True)):
        twin.load(unpack(packed)[0])
        assert twin.plane.controls[1].controller.work.allows_unclean is allowed  # type: ignore[attr-defined]
    rig.run(2)
    twin.run(rig.cluster.now_us)
    assert twin.digest() == rig.cluster.digest()
