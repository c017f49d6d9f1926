"""Eligible leader replicas and their minimum (KIP-966): a change of ``min.insync.replicas`` clears them."""

import pytest
from syrupy.assertion import SnapshotAssertion

from cluster_model.protocol.admin_messages import (
    AlterableConfig,
    AlterConfigsResource,
    ConfigOperation,
    CreatableTopic,
    CreateTopicsRequest,
    IncrementalAlterConfigsRequest,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ElrChanged
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from tests.cluster_model.timelines import Watched

P = "orders-0"
MINIMUM = "min.insync.replicas"


def below_minimum(kafka: str = "4.1") -> Watched:
    """Broker 1 leads alone; broker 2 left when the ISR fell below two."""
    watched = Watched(kafka, config={MINIMUM: 2})
    watched.run(2)
    for broker in (3, 2):
        watched.cluster.crash(broker)
        watched.run(10)
    return watched


def state(watched: Watched) -> PartitionState:
    return watched.cluster.cluster_state.records[P].state


def alter(watched: Watched, type_: str, name: str, change: AlterableConfig) -> tuple[KafkaError, str]:
    answer = watched.ask(IncrementalAlterConfigsRequest(0, (AlterConfigsResource(type_, name, (change,)),)))
    return KafkaError(answer.resources[0].error), answer.resources[0].message


@pytest.mark.parametrize(("type_", "name"), [("topic", "orders"), ("broker", "")])
def test_another_minimum_of_the_topic_or_of_all_brokers_clears_the_elr(type_: str, name: str) -> None:
    watched = below_minimum()
    before = state(watched)
    assert before.elr == (2,)
    assert alter(watched, type_, name, AlterableConfig(MINIMUM, "3"))[0] is KafkaError.NONE
    epoch = before.partition_epoch + 1
    assert state(watched) == before._replace(elr=(), last_known=NO_LEADER, partition_epoch=epoch)
    # The leader has received the new partition epoch, so its next proposal is valid.
    watched.cluster.restart(2)
    watched.run(8)
    assert state(watched).isr == (1, 2)
    assert "INVALID_UPDATE_VERSION" not in watched.text()


def test_a_broker_that_is_cleared_cannot_lead_when_the_last_member_goes() -> None:
    watched = below_minimum()
    assert alter(watched, "topic", "orders", AlterableConfig(MINIMUM, "3"))[0] is KafkaError.NONE
    watched.cluster.crash(1)
    watched.run(10)
    assert (state(watched).isr, state(watched).elr, state(watched).last_known) == ((), (1,), 1)


@pytest.mark.parametrize(("type_", "name", "key"), [("topic", "orders", "retention.ms"), ("topic", "other", MINIMUM)])
def test_nothing_else_clears_it(type_: str, name: str, key: str) -> None:
    watched = below_minimum()
    before = state(watched)
    watched.ask(CreateTopicsRequest(0, (CreatableTopic("other", assignment=((1,),)),)))
    assert alter(watched, type_, name, AlterableConfig(key, "3"))[0] is KafkaError.NONE
    assert state(watched) == before
    same = alter(watched, "topic", "orders", AlterableConfig(MINIMUM, operation=ConfigOperation.DELETE))
    assert same[0] is KafkaError.NONE
    assert state(watched) == before, "the topic has no minimum of its own, so nothing changed"


def test_all_brokers_use_one_minimum_while_elr_is_on(snapshot: SnapshotAssertion) -> None:
    watched = below_minimum()
    remove = AlterableConfig(MINIMUM, operation=ConfigOperation.DELETE)
    answers = [
        alter(watched, "broker", "1", AlterableConfig(MINIMUM, "1")),
        alter(watched, "broker", "", remove),
    ]
    assert [error for error, _text in answers] == [KafkaError.INVALID_CONFIG] * 2
    assert [text for _error, text in answers] == snapshot
    assert state(watched).elr == (2,)


def test_without_elr_the_minimum_of_one_broker_may_change_and_no_partition_does() -> None:
    watched = below_minimum("3.9")
    before = state(watched)
    watched.cluster.drain()
    for name, change in (
        ("", AlterableConfig(MINIMUM, "3")),
        ("", AlterableConfig(MINIMUM, operation=ConfigOperation.DELETE)),
        ("1", AlterableConfig(MINIMUM, "1")),
    ):
        assert alter(watched, "broker", name, change)[0] is KafkaError.NONE
    assert state(watched) == before
    assert not [event for event in watched.cluster.drain() if isinstance(event, ElrChanged)]
