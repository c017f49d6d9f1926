"""The controller's response to a proposed ISR (KIP-497), and how a leader handles it."""

import pytest

from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.immediate_controller import ImmediateController
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from cluster_model.protocol.versions import Profile
from tests.cluster_model.hand_stepped_cluster import HandSteppedCluster, P

LIVE = {1: 10, 2: 20, 3: 30}


def proposing(kafka: str) -> HandSteppedCluster:
    """Broker 1 leads and has just proposed an ISR without broker 3."""
    stepped = HandSteppedCluster(kafka)
    stepped.notify(1, 2, 3)
    leadership = stepped.cluster.cluster_state.replicas[P][1].leadership
    assert leadership is not None
    leadership.propose((1, 2))
    return stepped


@pytest.mark.parametrize(
    ("error", "again", "pending"),
    [
        (KafkaError.INELIGIBLE_REPLICA, False, None),
        (KafkaError.OPERATION_NOT_ATTEMPTED, False, None),
        (KafkaError.FENCED_LEADER_EPOCH, False, (1, 2)),
        (KafkaError.INVALID_UPDATE_VERSION, False, (1, 2)),
        (KafkaError.NEW_LEADER_ELECTED, False, (1, 2)),
        (KafkaError.NOT_CONTROLLER, True, (1, 2)),
        (KafkaError.STALE_BROKER_EPOCH, True, (1, 2)),
    ],
)
def test_a_leader_reverts_stays_pending_or_asks_again(
    error: KafkaError, again: bool, pending: tuple[int, ...] | None
) -> None:
    leadership = proposing("3.9").cluster.cluster_state.replicas[P][1].leadership
    assert leadership is not None
    answer = AlterPartitionResponse(P, error, 0, (), -1, 1)

    assert leadership.confirmed(0, answer) is again
    assert leadership.pending == pending
    assert leadership.isr == (1, 2, 3)


@pytest.mark.parametrize("error", [KafkaError.NONE, KafkaError.INELIGIBLE_REPLICA])
def test_a_response_overtaken_by_metadata_does_not_affect_the_next_proposal(error: KafkaError) -> None:
    """The ISR shrinks as proposed, the leader learns it and proposes to grow it, and then the response arrives."""
    stepped = proposing("3.9")
    replica = stepped.cluster.cluster_state.replicas[P][1]
    leadership = replica.leadership
    assert leadership is not None
    state = stepped.cluster._context.decisions[P][-1]._replace(isr=(1, 2), partition_epoch=1)
    assert replica.apply(state, 0)
    leadership.propose((1, 2, 3))

    assert leadership.confirmed(0, AlterPartitionResponse(P, error, 0, (1, 2), 1, 1)) is False
    assert (leadership.isr, leadership.pending) == ((1, 2), (1, 2, 3))
    assert leadership.confirmed(0, AlterPartitionResponse(P, KafkaError.NONE, 0, (1, 2, 3), 2, 2)) is False
    assert (leadership.isr, leadership.pending) == ((1, 2, 3), None)


def test_the_controller_repeats_which_proposal_it_answers() -> None:
    for changes in ({}, {"leader_epoch": -1}, {"partition": "nowhere"}):
        assert committed("3.9").alter_partition(request(correlation_id=7, **changes), LIVE, 0).correlation_id == 7


def test_a_zookeeper_write_that_failed_is_forgotten() -> None:
    leadership = proposing("2.3").cluster.cluster_state.replicas[P][1].leadership
    assert leadership is not None
    answer = AlterPartitionResponse(P, KafkaError.INVALID_UPDATE_VERSION, 0, (), -1, 1)

    assert leadership.confirmed(0, answer) is False
    assert leadership.pending is None


def committed(kafka: str, mode: str | None = None) -> ImmediateController:
    profile = Profile.of(kafka, mode)
    state = CommittedState(lambda _event: None)
    state.create(P, (1, 2, 3), TopicConfig.of(profile, {}, {}), LIVE)
    return ImmediateController(state, profile, elr=False)


def request(**changes: object) -> AlterPartitionRequest:
    plain = AlterPartitionRequest(P, 1, 10, 0, 0, (1, 2), (10, 20))
    return plain._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, KafkaError.NONE),
        ({"broker_epoch": 9}, KafkaError.STALE_BROKER_EPOCH),
        ({"leader_epoch": 1}, KafkaError.NOT_CONTROLLER),
        ({"partition_epoch": 1}, KafkaError.NOT_CONTROLLER),
        ({"leader_epoch": -1}, KafkaError.FENCED_LEADER_EPOCH),
        ({"leader": 2, "broker_epoch": 20}, KafkaError.INVALID_REQUEST),
        ({"partition_epoch": -1}, KafkaError.INVALID_UPDATE_VERSION),
        ({"isr": (2, 3), "isr_epochs": (20, 30)}, KafkaError.INVALID_REQUEST),
        ({"isr": (1, 9), "isr_epochs": (10, 90)}, KafkaError.INVALID_REQUEST),
        ({"isr_epochs": (10, 19)}, KafkaError.INELIGIBLE_REPLICA),
        ({"isr_epochs": (-1, -1)}, KafkaError.NONE),
    ],
)
def test_the_controller_judges_in_order(changes: dict[str, object], error: KafkaError) -> None:
    assert committed("3.9").alter_partition(request(**changes), LIVE, 0).error == error


def test_before_its_word_existed_an_ineligible_member_is_an_operation_not_attempted() -> None:
    answer = committed("2.8").alter_partition(request(), {1: 10, 3: 30}, 0)
    assert answer.error == KafkaError.OPERATION_NOT_ATTEMPTED


def test_in_zookeeper_mode_the_isr_that_already_is_succeeds_whatever_its_version() -> None:
    same = request(isr=(3, 2, 1), isr_epochs=(30, 20, 10), partition_epoch=-1)
    assert committed("3.9", "zookeeper").alter_partition(same, LIVE, 0).error == KafkaError.NONE
    assert committed("3.9", "kraft").alter_partition(same, LIVE, 0).error == KafkaError.INVALID_UPDATE_VERSION
