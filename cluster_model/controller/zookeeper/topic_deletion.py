"""Topics are deleted: every replica is told to delete, and only when all have does the topic's node go.

A dead broker makes its topics ineligible until it is back (``TopicDeletionManager``); then there is another try. So
does a reassignment, until it is over.
"""

from cluster_model.controller.rules.admin_rules import in_progress
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_context import Where
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
    """/admin/delete_topics has new children."""
    context = work.context
    (listed,) = yield from work.ask([kafka_zk_client.children(DELETE_TOPICS, watch=True)])
    unknown = [topic for topic in listed.children if topic not in context.topics]
    yield from work.write([kafka_zk_client.delete(f"{DELETE_TOPICS}/{topic}") for topic in unknown])
    topics = [topic for topic in listed.children if topic in context.topics]
    enqueue(work, topics)
    yield from proceed(work)


def enqueue(work: ControllerOperations, topics: list[str]) -> None:
    """Queue topics up; those with a reassignment under way have to wait."""
    context = work.context
    for topic in topics:
        context.deleting[topic] = None
        if _is_moving(work, topic):
            context.deletion_ineligible[topic] = None


def _is_moving(work: ControllerOperations, topic: str) -> bool:
    return any(in_progress(work.context.partitions[name]) for name in work.context.topics[topic])


def enqueue_at_failover(work: ControllerOperations, topics: list[str]) -> None:
    """The same for a new controller, for which those with a dead replica have to wait from the start, too."""
    enqueue(work, topics)
    for topic in topics:
        if any(not work.context.is_live(broker) for _name, broker in _replicas(work, topic)):
            work.context.deletion_ineligible[topic] = None


def proceed(work: ControllerOperations) -> Doing:
    """Go on with whatever can be gone on with (``resumeDeletions``)."""
    context = work.context
    for topic in tuple(context.deleting):
        pairs = _replicas(work, topic)
        if all(context.replicas.get(pair) is Where.DELETION_SUCCESSFUL for pair in pairs):
            yield from _complete(work, topic)
        elif not any(context.replicas.get(pair) is Where.DELETION_STARTED for pair in pairs):
            for pair in pairs:
                if context.replicas.get(pair) is Where.DELETION_INELIGIBLE:
                    context.replicas[pair] = Where.OFFLINE
            if topic not in context.deletion_ineligible:
                _start(work, topic)


def _replicas(work: ControllerOperations, topic: str) -> list[tuple[str, int]]:
    context = work.context
    return [(name, broker) for name in context.topics[topic] for broker in context.partitions[name].replicas]


def _start(work: ControllerOperations, topic: str) -> None:
    """``onTopicDeletion``, ``onPartitionDeletion``."""
    context = work.context
    if topic not in context.deletion_started:
        context.deletion_started[topic] = None
        work.batch.tell(context.reachable, context.topics[topic])
    pairs = _replicas(work, topic)
    dead = [pair for pair in pairs if pair[1] not in context.brokers]
    alive = [
        pair
        for pair in pairs
        if pair[1] in context.brokers and context.replicas.get(pair) is not Where.DELETION_SUCCESSFUL
    ]
    for name, broker in alive:
        work.batch.stop(broker, name, delete=False)
        context.replicas[name, broker] = Where.OFFLINE
    work.flush()
    for name, broker in alive:
        work.batch.stop(broker, name, delete=True)
        context.replicas[name, broker] = Where.DELETION_STARTED
    work.flush()
    for pair in dead:  # one that has deleted before it died stays done (``validPreviousStates``)
        if context.replicas.get(pair) is not Where.DELETION_SUCCESSFUL:
            context.replicas[pair] = Where.DELETION_INELIGIBLE
    if dead:
        context.deletion_ineligible[topic] = None


def stopped(work: ControllerOperations, broker: int, answers: tuple[tuple[str, int], ...]) -> Doing:
    """A broker answered a StopReplica that deletes."""
    context = work.context
    failures: list[tuple[str, int]] = []
    for name, error in answers:
        if context.replicas.get((name, broker)) is not Where.DELETION_STARTED:
            continue
        if error == KafkaError.NONE:
            context.replicas[name, broker] = Where.DELETION_SUCCESSFUL
        else:
            failures.append((name, broker))
    yield from failed(work, failures)
    if not failures:
        yield from proceed(work)


def failed(work: ControllerOperations, replicas: list[tuple[str, int]]) -> Doing:
    """Replicas that cannot be deleted now, their broker being gone (``failReplicaDeletion``)."""
    context = work.context
    for pair in replicas:
        if context.replicas.get(pair) is not Where.DELETION_SUCCESSFUL:
            context.replicas[pair] = Where.DELETION_INELIGIBLE
        context.deletion_ineligible[topic_of(pair[0])] = None
    if replicas:
        yield from proceed(work)


def resume(work: ControllerOperations, replicas: list[tuple[str, int]]) -> Doing:
    """Replicas of topics to delete are within reach again: try, whoever else is still dead.

    A topic on the move goes on waiting for that, which ``resumeDeletionForTopics`` forgets.
    """
    context = work.context
    for topic in dict.fromkeys(topic_of(name) for name, _broker in replicas):
        if not _is_moving(work, topic):
            context.deletion_ineligible.pop(topic, None)
    if replicas:
        yield from proceed(work)


def allowed_again(work: ControllerOperations, topic: str) -> Doing:
    """What stood in the way of a topic's deletion is over."""
    if topic in work.context.deletion_ineligible:
        work.context.deletion_ineligible.pop(topic)
        yield from proceed(work)


def _complete(work: ControllerOperations, topic: str) -> Doing:
    """Every replica is gone: so are the topic's nodes (``completeDeleteTopic``)."""
    context = work.context
    names = context.topics[topic]
    yield from work.write([kafka_zk_client.delete(state_path(name)) for name in names])
    yield from work.write([kafka_zk_client.delete(partition_paths(name)[1]) for name in names])
    yield from work.write([kafka_zk_client.delete(partition_paths(names[0])[0])])
    yield from work.write([kafka_zk_client.delete(topic_path(topic))])
    yield from work.write([kafka_zk_client.delete(config_path(topic))])
    yield from work.write([kafka_zk_client.delete(f"{DELETE_TOPICS}/{topic}")])
    context.forget(topic)
