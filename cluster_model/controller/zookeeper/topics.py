"""Topics and partitions appear in ZooKeeper: the controller gives them leaders (``KafkaController``)."""

from typing import Any, Final

from cluster_model.controller.zookeeper import replica_states, state_machines, zk
from cluster_model.controller.zookeeper.controller_work import Doing, Work
from cluster_model.controller.zookeeper.kafka_zk_client import TOPICS, topic_of, topic_path

UNCLEAN_ALLOWED: Final = "unclean election was allowed"


def changed(work: Work) -> Doing:
    """/brokers/topics has other children."""
    context = work.context
    (listed,) = yield from work.ask([zk.children(TOPICS, watch=True)])
    fresh = [topic for topic in listed.children if topic not in context.topics]
    for topic in [topic for topic in context.topics if topic not in listed.children]:
        context.forget(topic)
    answers = yield from work.ask([zk.get(topic_path(topic), watch=True) for topic in fresh])
    added: list[str] = []
    for topic, answer in zip(fresh, answers, strict=True):
        if answer.ok:
            added.extend(context.assign(topic, *answer.data))
    yield from _create(work, added)


def partitions_changed(work: Work, topic: str) -> Doing:
    """A topic's assignment was written: perhaps it has more partitions now (``processPartitionModifications``)."""
    context = work.context
    (answer,) = yield from work.ask([zk.get(topic_path(topic), watch=True)])
    if not answer.ok or topic not in context.topics or topic in context.deleting:
        return
    known = context.topics[topic]
    added = [entry for entry in answer.data.partitions if f"{topic}-{entry.number}" not in known]
    if added:
        names = context.assign(topic, answer.data.topic_id, tuple(added))
        context.topics[topic] = (*known, *names)
        yield from _create(work, names)


def _create(work: Work, names: list[str]) -> Doing:
    """``onNewPartitionCreation``: new partitions, new replicas, then leaders."""
    context = work.context
    state_machines.to_new(work, names)
    pairs = [(name, broker) for name in names for broker in context.partitions[name].replicas]
    replica_states.to_new(work, pairs)
    yield from state_machines.initialize(work, names)
    work.flush()
    replica_states.to_online(work, [pair for pair in pairs if context.is_live(pair[1])])
    work.flush()


def unclean_allowed(work: Work, topics: list[str]) -> Doing:
    """Topics now allow unclean elections: leaderless partitions of theirs have a chance at once."""
    names = [name for name in work.context.partitions if topic_of(name) in topics]
    yield from state_machines.trigger_online(work, UNCLEAN_ALLOWED, names)


def defaults_changed(work: Work, settings: tuple[tuple[str, Any], ...]) -> Doing:
    """The broker's configuration was altered while it runs; of what may be, only one setting is the controller's.

    If unclean elections are allowed from here on, every leaderless partition has a chance at once
    (``DynamicLogConfig``, ``enableDefaultUncleanLeaderElection``).
    """
    before = work.allows_unclean
    work.context.defaults = dict(settings)
    if work.context.active and work.allows_unclean and not before:
        yield from state_machines.trigger_online(work, UNCLEAN_ALLOWED)
