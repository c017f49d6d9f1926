"""Validation of a leader's proposed ISR, in the order of checks of each mode (KIP-497).

``KafkaController.tryProcessAlterPartition``; ``ReplicationControlManager.alterPartition``.
"""

from collections.abc import Mapping

from cluster_model.controller.rules.kraft_partition_changes import build_change
from cluster_model.controller.rules.partition_change import LEADER, Brokers, PartitionChange
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, PartitionState
from cluster_model.protocol.versions import Profile


def validate_kraft(
    state: PartitionState | None,
    request: AlterPartitionRequest,
    *,
    epochs: Mapping[int, int],
    active: Brokers,
    profile: Profile,
) -> KafkaError:
    """Validate as a KRaft controller. ``epochs`` are those of all registered brokers, including fenced ones."""
    if epochs.get(request.leader) != request.broker_epoch:
        return KafkaError.STALE_BROKER_EPOCH
    if state is None:
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    error = _judge_epochs(state, request)
    if error is not KafkaError.NONE:
        return error
    if request.leader != state.leader:
        return KafkaError.INVALID_REQUEST
    if request.partition_epoch < state.partition_epoch:
        return KafkaError.INVALID_UPDATE_VERSION
    if request.leader not in request.isr or not all(broker in state.replicas for broker in request.isr):
        return KafkaError.INVALID_REQUEST
    if _recovery_is_wrong(state, request):
        return KafkaError.INVALID_REQUEST
    for broker, epoch in zip(request.isr, request.isr_epochs, strict=True):
        if broker not in epochs or not active(broker) or epoch not in (-1, epochs[broker]):
            return _ineligible(profile)
    return KafkaError.NONE


def validate_zk(
    state: PartitionState | None,
    request: AlterPartitionRequest,
    *,
    epochs: Mapping[int, int],
    profile: Profile,
) -> KafkaError:
    """Validate as a ZooKeeper-mode controller (2.7 to 3.9). ``epochs`` are the broker epochs of all live brokers.

    A proposal of the current ISR succeeds with any partition epoch.
    """
    if epochs.get(request.leader) != request.broker_epoch:
        return KafkaError.STALE_BROKER_EPOCH
    if state is None:
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    error = _judge_epochs(state, request)
    if error is not KafkaError.NONE:
        return error
    if request.leader != state.leader:
        # Kafka does not check this: no two brokers lead in the same epoch.
        return KafkaError.INVALID_REQUEST
    if changes_nothing(state, request):
        return KafkaError.NONE
    if request.partition_epoch < state.partition_epoch:
        return KafkaError.INVALID_UPDATE_VERSION
    if _recovery_is_wrong(state, request):
        return KafkaError.INVALID_REQUEST
    for broker, epoch in zip(request.isr, request.isr_epochs, strict=True):
        if broker not in epochs or epoch not in (-1, epochs[broker]):
            return _ineligible(profile)
    if request.leader not in request.isr or not all(broker in state.replicas for broker in request.isr):
        return KafkaError.INVALID_REQUEST
    return KafkaError.NONE


def validate_write(state: PartitionState, request: AlterPartitionRequest) -> KafkaError:
    """Validate a leader's own write to ZooKeeper (up to 2.6): only the version of the znode counts."""
    stale = request.partition_epoch != state.partition_epoch
    return KafkaError.INVALID_UPDATE_VERSION if stale else KafkaError.NONE


def changes_nothing(state: PartitionState, request: AlterPartitionRequest) -> bool:
    """Whether the proposal equals the current state."""
    return sorted(state.isr) == sorted(request.isr) and state.recovering == request.recovering


def accept_kraft(
    state: PartitionState,
    request: AlterPartitionRequest,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    elr: bool | None = None,
) -> PartitionChange | None:
    """Return the change of a valid proposal, which may complete a reassignment; None if it changes nothing."""
    return build_change(
        state, target_isr=request.isr, target_recovering=request.recovering, active=active, profile=profile,
        topic=topic, by=LEADER, elr=elr,
    )  # fmt: skip


def accept_zk(state: PartitionState, request: AlterPartitionRequest) -> PartitionChange | None:
    """Return the change in ZooKeeper mode, also for a leader's own write up to 2.6; it keeps the leader epoch."""
    if changes_nothing(state, request):
        return None
    epoch = state.partition_epoch + 1
    return PartitionChange(
        state._replace(isr=request.isr, partition_epoch=epoch, recovering=request.recovering), LEADER
    )


def proposer_error(change: PartitionChange | None, request: AlterPartitionRequest) -> KafkaError:
    """Error for the proposer of an accepted change: NEW_LEADER_ELECTED if it is no longer the leader."""
    lost = change is not None and change.state.leader != request.leader
    return KafkaError.NEW_LEADER_ELECTED if lost else KafkaError.NONE


def _judge_epochs(state: PartitionState, request: AlterPartitionRequest) -> KafkaError:
    if request.leader_epoch > state.leader_epoch or request.partition_epoch > state.partition_epoch:
        # The leader knows of epochs that this controller does not: there must be a newer controller.
        return KafkaError.NOT_CONTROLLER
    if request.leader_epoch < state.leader_epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    return KafkaError.NONE


def _recovery_is_wrong(state: PartitionState, request: AlterPartitionRequest) -> bool:
    return request.recovering and (len(request.isr) > 1 or not state.recovering)


def _ineligible(profile: Profile) -> KafkaError:
    """Error for an ineligible replica; AlterPartition before version 2 has no specific one (KIP-841)."""
    return KafkaError.INELIGIBLE_REPLICA if profile.eligible_isr else KafkaError.OPERATION_NOT_ATTEMPTED
