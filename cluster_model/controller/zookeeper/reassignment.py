"""Reassignment of replicas (KIP-455): phase A while the target catches up, phase B when it is in sync.

Before 2.4 a reassignment was requested through a znode, /admin/reassign_partitions, and added and removed replicas were
not recorded; the phases were the same, and so they are here, without cancelling.
"""

from collections.abc import Generator
from typing import Any

from cluster_model.controller.rules.admin_rules import check_target, in_progress, original, target
from cluster_model.controller.rules.partition_change import PartitionChange, reassign_election, same_leader
from cluster_model.controller.zookeeper import kafka_zk_client, state_machines, topic_deletion
from cluster_model.controller.zookeeper.controller_context import ReplicaMachineState
from cluster_model.controller.zookeeper.controller_event_queue import ControllerOperations, Doing
from cluster_model.controller.zookeeper.kafka_zk_client import (
    ReplicaAssignment,
    TopicNode,
    ZkResult,
    index_of,
    state_path,
    topic_of,
    topic_path,
)
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState

BY = "reassignment"
Verdict = Generator[tuple[Any, ...], tuple[ZkResult, ...], KafkaError]


def start_requested(work: ControllerOperations, partition: str, replicas: tuple[int, ...] | None) -> Verdict:
    """Start the reassignment that an administrator requests for a partition; None: cancel it."""
    context = work.context
    state = context.partitions.get(partition)
    if state is None or context.is_deleting(partition):
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    ongoing = in_progress(state)
    if not work.profile.alter_reassignments and (ongoing or replicas is None):
        return KafkaError.UNSUPPORTED_VERSION
    if replicas is None and not ongoing:
        return KafkaError.NO_REASSIGNMENT_IN_PROGRESS
    new = original(state) if replicas is None else replicas
    error = check_target(new, lambda broker: broker in state.replicas or context.is_live(broker))
    if error is not KafkaError.NONE:
        return error
    if ongoing or new != state.replicas:
        yield from _begin(work, state, new)
    return KafkaError.NONE


def _begin(work: ControllerOperations, state: PartitionState, new: tuple[int, ...]) -> Doing:
    """Write the target down, stop replicas that a replaced reassignment was adding, and start phase A or B."""
    name, old = state.partition, original(state)
    replicas = new + tuple(broker for broker in old if broker not in new)
    adding = tuple(broker for broker in new if broker not in old)
    _reassign(work, name, replicas, adding, tuple(broker for broker in old if broker not in new))
    yield from _write_assignment(work, topic_of(name))
    unneeded = [broker for broker in state.replicas if broker not in replicas]
    yield from _stop(work, name, unneeded)
    yield from on_partition_reassignment(work, name)


def on_partition_reassignment(work: ControllerOperations, name: str) -> Doing:
    """Run phase B if the whole target is in sync, else phase A (``onPartitionReassignment``)."""
    context = work.context
    current = context.partitions[name]
    yield from work.run([kafka_zk_client.exists(state_path(name), watch=True)])
    failed = yield from work.read_states([name])
    if failed:
        return
    if _in_sync(context.partitions[name]):
        yield from _finish(work, name, current)
        return
    yield from state_machines.elect(work, [name], _same_leader)
    _keep_stale(work, current)
    work.flush()
    adding = context.partitions[name].adding
    state_machines.mark_replicas_new(
        work, [(name, broker) for broker in adding if (name, broker) not in context.replicas]
    )
    work.flush()


def isr_changed(work: ControllerOperations, name: str) -> Doing:
    """Handle a state change of a partition under reassignment: its target may be in sync now."""
    context = work.context
    state = context.partitions.get(name)
    if state is None or not in_progress(state):
        return
    yield from work.run([kafka_zk_client.exists(state_path(name), watch=True)])
    failed = yield from work.read_states([name])
    if not failed and _in_sync(context.partitions[name]):
        yield from _finish(work, name, state)
    elif work.profile.stale_epoch_in_move:
        context.partitions[name] = state


def resume(work: ControllerOperations, names: list[str]) -> Doing:
    """Resume reassignments after a broker came online or a controller failover."""
    for name in names:
        if name in work.context.partitions and in_progress(work.context.partitions[name]):
            yield from on_partition_reassignment(work, name)


def _in_sync(state: PartitionState) -> bool:
    """Whether the whole target is in the ISR; also true for a cancelled reassignment."""
    return all(broker in state.isr for broker in target(state))


def _same_leader(state: PartitionState) -> PartitionChange:
    return same_leader(state, by=BY)


def _keep_stale(work: ControllerOperations, current: PartitionState) -> None:
    """Keep what the controller knew before it wrote a new leader epoch, and send that to all brokers (KAFKA-9212).

    Up to 2.3 ``updateLeaderEpochAndSendRequest`` did not put the new epoch into the controller's context. LeaderAndIsr
    had it, so the leader fenced clients with the epoch of their metadata until the ISR changed.
    """
    if work.profile.stale_epoch_in_move:
        name, context = current.partition, work.context
        context.partitions[name] = context.partitions[name]._replace(
            leader=current.leader,
            leader_epoch=current.leader_epoch,
            isr=current.isr,
            partition_epoch=current.partition_epoch,
        )
        work.batch.add_update_metadata(context.reachable, (name,))


def _reassign(
    work: ControllerOperations,
    name: str,
    replicas: tuple[int, ...],
    adding: tuple[int, ...] = (),
    removing: tuple[int, ...] = (),
) -> None:
    state = work.context.partitions[name]
    work.context.partitions[name] = state._replace(replicas=replicas, adding=adding, removing=removing)


def _finish(work: ControllerOperations, name: str, current: PartitionState) -> Doing:
    """Elect a leader in the target, delete the other replicas, and write the target as the assignment.

    ``current`` is the partition's state in the controller's context before it was read.
    """
    context = work.context
    before = context.partitions[name]
    wanted = target(before)
    state_machines.mark_replicas_online(work, [(name, broker) for broker in before.adding])
    work.flush()
    _reassign(work, name, wanted)

    def elect(state: PartitionState) -> PartitionChange | KafkaError:
        if state.leader in wanted and context.is_live(state.leader):
            return same_leader(state, by=BY)
        elected = reassign_election(state, wanted, live=context.is_live, by=BY)
        return elected if elected is not None else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE

    failed = yield from state_machines.elect(work, [name], elect)
    if not failed and context.partitions[name].leader == before.leader:
        _keep_stale(work, current)
    work.flush()
    if failed:
        _reassign(work, name, before.replicas, before.adding, before.removing)
        return
    yield from _stop(work, name, list(before.removing))
    yield from _write_assignment(work, topic_of(name))
    work.update_metadata(context.reachable, (name,))
    yield from topic_deletion.resume_topic(work, topic_of(name))


def _stop(work: ControllerOperations, name: str, brokers: list[int]) -> Doing:
    """Remove replicas from the ISR, stop and delete them (``stopRemovedReplicas...``)."""
    if not brokers:
        return
    pairs = [(name, broker) for broker in brokers]
    yield from state_machines.mark_replicas_offline(work, pairs, BY)
    work.flush()
    for pair in pairs:
        work.batch.add_stop_replica(pair[1], name, delete=True)
        work.context.replicas[pair] = ReplicaMachineState.DELETION_SUCCESSFUL
    work.flush()
    for pair in pairs:
        work.context.replicas.pop(pair)


def _write_assignment(work: ControllerOperations, topic: str) -> Doing:
    states = [work.context.partitions[name] for name in work.context.topics[topic]]
    data = tuple(
        ReplicaAssignment(index_of(each.partition), each.replicas, each.adding, each.removing) for each in states
    )
    node = TopicNode(work.context.topic_ids[topic], data)
    yield from work.write([kafka_zk_client.put(topic_path(topic), node)])
