"""What an administrator asks of the controller's own event thread: elections and reassignments."""

from typing import Any

from cluster_model.controller.zookeeper import elections, reassignment
from cluster_model.controller.zookeeper.controller_work import Doing, Work
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    refusal,
)
from cluster_model.protocol.errors import KafkaError

_WORDS = {
    KafkaError.ELECTION_NOT_NEEDED: "the partition is led by whom the election would choose",
    KafkaError.PREFERRED_LEADER_NOT_AVAILABLE: "the first replica is not alive, or not in sync",
    KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no replica may lead",
    KafkaError.UNKNOWN_TOPIC_OR_PARTITION: "there is no such partition",
    KafkaError.NO_REASSIGNMENT_IN_PROGRESS: "the partition is not on the move",
    KafkaError.INVALID_REPLICA_ASSIGNMENT: "replicas must be different live brokers",
    KafkaError.UNSUPPORTED_VERSION: "only since 2.4 can a reassignment be changed or cancelled",
}


def _told(name: str, error: KafkaError) -> AdminError:
    return AdminError(name, error, _WORDS.get(error, ""))


def elect_leaders(work: Work, source: int, request: ElectLeadersRequest) -> Doing:
    """ELECT_LEADERS; unclean ones since 2.4 (KIP-460)."""
    if request.unclean and work.profile.number < (2, 4, 0):
        work.hands.send(source, refusal(request, KafkaError.UNSUPPORTED_VERSION, "unclean elections came with 2.4"))
        return
    verdicts = yield from elections.asked(work, request.partitions, unclean=request.unclean)
    answers = tuple(_told(name, error) for name, error in verdicts.items())
    work.hands.send(source, ElectLeadersResponse(request.correlation, KafkaError.NONE, answers))


def elect_directly(work: Work, partition: str, unclean: bool) -> Doing:
    """An election that was found to be needed, and whose asker waits for nothing."""
    yield from elections.asked(work, (partition,), unclean=unclean)


def reassign(work: Work, source: int, request: AlterPartitionReassignmentsRequest) -> Doing:
    """Move replicas, or cancel a move."""
    answers: list[AdminError] = []
    for name, replicas in request.partitions:
        error = yield from reassignment.asked(work, name, replicas)
        answers.append(_told(name, error))
    response = AlterPartitionReassignmentsResponse(request.correlation, KafkaError.NONE, tuple(answers))
    work.hands.send(source, response)


def refuse(work: Work, source: int, request: Any) -> None:
    """Say that this broker is not the controller."""
    work.hands.send(source, refusal(request, KafkaError.NOT_CONTROLLER))
