"""Topic deletion: every replica is requested to delete its log; when all have, the topic's znodes are deleted.

A dead broker makes its topics ineligible until it is online again (``TopicDeletionManager``); then the deletion is
retried. A reassignment does the same until it is complete.
"""

from cluster_model.controller.rules.admin_rules import in_progress
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_context import ReplicaMachineState
from cluster_model.controller.zookeeper.controller_event_queue import ControllerOperations, Doing
from cluster_model.controller.zookeeper.kafka_zk_client import (
    DELETE_TOPICS,
    config_path,
    partition_paths,
    state_path,
    topic_of,
    topic_path,
)
from cluster_model.protocol.errors import KafkaError


def requested(work: ControllerOperations) -> Doing:
    """Handle new children of /admin/delete_topics."""
    context = work.context
    (listed,) = yield from work.run([kafka_zk_client.children(DELETE_TOPICS, watch=True)])
    unknown = [topic for topic in listed.children if topic not in context.topics]
    yield from work.write([kafka_zk_client.delete(f"{DELETE_TOPICS}/{topic}") for topic in unknown])
    topics = [topic for topic in listed.children if topic in context.topics]
    enqueue(work, topics)
    yield from proceed(work)


def enqueue(work: ControllerOperations, topics: list[str]) -> None:
    """Queue topics for deletion; those under reassignment have to wait."""
    context = work.context
    for topic in topics:
        context.deleting[topic] = None
        if _is_reassigning(work, topic):
            context.deletion_ineligible[topic] = None


def _is_reassigning(work: ControllerOperations, topic: str) -> bool:
    return any(in_progress(work.context.partitions[name]) for name in work.context.topics[topic])


def enqueue_at_failover(work: ControllerOperations, topics: list[str]) -> None:
    """Queue topics in a new controller; those with a dead replica also have to wait."""
    enqueue(work, topics)
    for topic in topics:
        if any(not work.context.is_live(broker) for _name, broker in _replicas(work, topic)):
            work.context.deletion_ineligible[topic] = None


def proceed(work: ControllerOperations) -> Doing:
    """Continue all deletions that can be continued (``resumeDeletions``)."""
    context = work.context
    for topic in tuple(context.deleting):
        pairs = _replicas(work, topic)
        if all(context.replicas.get(pair) is ReplicaMachineState.DELETION_SUCCESSFUL for pair in pairs):
            yield from _complete(work, topic)
        elif not any(context.replicas.get(pair) is ReplicaMachineState.DELETION_STARTED for pair in pairs):
            for pair in pairs:
                if context.replicas.get(pair) is ReplicaMachineState.DELETION_INELIGIBLE:
                    context.replicas[pair] = ReplicaMachineState.OFFLINE
            if topic not in context.deletion_ineligible:
                _start(work, topic)


def _replicas(work: ControllerOperations, topic: str) -> list[tuple[str, int]]:
    context = work.context
    return [(name, broker) for name in context.topics[topic] for broker in context.partitions[name].replicas]


def _start(work: ControllerOperations, topic: str) -> None:
    """Start the deletion of a topic (``onTopicDeletion``, ``onPartitionDeletion``)."""
    context = work.context
    if topic not in context.deletion_started:
        context.deletion_started[topic] = None
        work.batch.add_update_metadata(context.reachable, context.topics[topic])
    pairs = _replicas(work, topic)
    dead = [pair for pair in pairs if pair[1] not in context.brokers]
    alive = [
        pair
        for pair in pairs
        if pair[1] in context.brokers and context.replicas.get(pair) is not ReplicaMachineState.DELETION_SUCCESSFUL
    ]
    for name, broker in alive:
        work.batch.add_stop_replica(broker, name, delete=False)
        context.replicas[name, broker] = ReplicaMachineState.OFFLINE
    work.flush()
    for name, broker in alive:
        work.batch.add_stop_replica(broker, name, delete=True)
        context.replicas[name, broker] = ReplicaMachineState.DELETION_STARTED
    work.flush()
    for pair in dead:  # a replica deleted before its broker died remains deleted (``validPreviousStates``)
        if context.replicas.get(pair) is not ReplicaMachineState.DELETION_SUCCESSFUL:
            context.replicas[pair] = ReplicaMachineState.DELETION_INELIGIBLE
    if dead:
        context.deletion_ineligible[topic] = None


def stopped(work: ControllerOperations, broker: int, answers: tuple[tuple[str, int], ...]) -> Doing:
    """Handle a broker's response to a StopReplica that deletes."""
    context = work.context
    failures: list[tuple[str, int]] = []
    for name, error in answers:
        if context.replicas.get((name, broker)) is not ReplicaMachineState.DELETION_STARTED:
            continue
        if error == KafkaError.NONE:
            context.replicas[name, broker] = ReplicaMachineState.DELETION_SUCCESSFUL
        else:
            failures.append((name, broker))
    yield from failed(work, failures)
    if not failures:
        yield from proceed(work)


def failed(work: ControllerOperations, replicas: list[tuple[str, int]]) -> Doing:
    """Mark replicas that cannot be deleted now, because their broker is offline (``failReplicaDeletion``)."""
    context = work.context
    for pair in replicas:
        if context.replicas.get(pair) is not ReplicaMachineState.DELETION_SUCCESSFUL:
            context.replicas[pair] = ReplicaMachineState.DELETION_INELIGIBLE
        context.deletion_ineligible[topic_of(pair[0])] = None
    if replicas:
        yield from proceed(work)


def resume(work: ControllerOperations, replicas: list[tuple[str, int]]) -> Doing:
    """Retry deletions of topics with replicas on these brokers, even if other brokers are still dead.

    A topic under reassignment continues to wait, a condition that ``resumeDeletionForTopics`` drops.
    """
    context = work.context
    for topic in dict.fromkeys(topic_of(name) for name, _broker in replicas):
        if not _is_reassigning(work, topic):
            context.deletion_ineligible.pop(topic, None)
    if replicas:
        yield from proceed(work)


def resume_topic(work: ControllerOperations, topic: str) -> Doing:
    """Continue a topic's deletion after its reassignment has ended."""
    if topic in work.context.deletion_ineligible:
        work.context.deletion_ineligible.pop(topic)
        yield from proceed(work)


def _complete(work: ControllerOperations, topic: str) -> Doing:
    """Delete the topic's znodes, because every replica is deleted (``completeDeleteTopic``)."""
    context = work.context
    names = context.topics[topic]
    yield from work.write([kafka_zk_client.delete(state_path(name)) for name in names])
    yield from work.write([kafka_zk_client.delete(partition_paths(name)[1]) for name in names])
    yield from work.write([kafka_zk_client.delete(partition_paths(names[0])[0])])
    yield from work.write([kafka_zk_client.delete(topic_path(topic))])
    yield from work.write([kafka_zk_client.delete(config_path(topic))])
    yield from work.write([kafka_zk_client.delete(f"{DELETE_TOPICS}/{topic}")])
    context.forget(topic)
