"""Replicas of a ZooKeeper-mode controller between Online, Offline and deletion (``ReplicaStateMachine``)."""

from collections.abc import Iterable

from cluster_model.controller.rules.change import Change
from cluster_model.controller.rules.zk_partition_changes import remove_from_isr
from cluster_model.controller.zookeeper.controller_context import Where
from cluster_model.controller.zookeeper.controller_work import Doing, Work
from cluster_model.controller.zookeeper.kafka_zk_client import topic_of

Replicas = Iterable[tuple[str, int]]


def to_new(work: Work, replicas: Replicas) -> None:
    """Replicas that are being added, told whom to follow if that is known by now."""
    context = work.context
    for name, broker in replicas:
        if context.decided(name):
            work.batch.lead_and_follow((broker,), name)
        context.replicas[name, broker] = Where.NEW


def to_online(work: Work, replicas: Replicas) -> None:
    """Replicas whose broker lives: told what was decided of their partition."""
    context = work.context
    for name, broker in replicas:
        if context.replicas.get((name, broker)) is not Where.NEW and context.decided(name):
            work.batch.lead_and_follow((broker,), name)
        context.replicas[name, broker] = Where.ONLINE


def to_offline(work: Work, replicas: Replicas, by: str) -> Doing:
    """Replicas whose broker is gone or stops: told to stop if it can be, and taken out of every ISR."""
    by_broker: dict[int, list[str]] = {}
    for name, broker in replicas:
        by_broker.setdefault(broker, []).append(name)
    for broker, names in by_broker.items():
        for name in names:
            work.batch.stop(broker, name, delete=False)
        yield from _remove_from_isr(work, broker, [name for name in names if work.context.decided(name)], by)
        for name in names:
            work.context.replicas[name, broker] = Where.OFFLINE


def _remove_from_isr(work: Work, broker: int, names: list[str], by: str) -> Doing:
    """Also where only a follower is gone the leader epoch rises, so that the others' fetchers start over."""
    context = work.context

    def removed(name: str) -> None:
        if not context.is_deleting(name):
            others = [replica for replica in context.partitions[name].replicas if replica != broker]
            work.batch.lead_and_follow(others, name)

    remaining = names
    while remaining:
        failed = yield from work.read_states(remaining)
        if not work.profile.keeps_last_isr:
            alone = [name for name in remaining if context.partitions[name].isr == (broker,)]
            yield from work.read_configs(list({topic_of(name): None for name in alone}))
        changes: dict[str, Change] = {}
        for name in remaining:
            if name in failed:
                continue
            topic = work.topic_config(topic_of(name))
            change = remove_from_isr(context.partitions[name], broker, profile=work.profile, topic=topic, by=by)
            if change is not None:
                changes[name] = change
        remaining = yield from work.write_states(changes, removed)


def startup(work: Work) -> Doing:
    """A new controller: replicas on live brokers are told everything, the others are taken out of ISRs."""
    context = work.context
    pairs = [(name, broker) for name, state in context.partitions.items() for broker in state.replicas]
    to_online(work, [pair for pair in pairs if context.is_live(pair[1])])
    work.flush()
    gone = [pair for pair in pairs if not context.is_live(pair[1])]
    yield from to_offline(work, gone, "controller failover")
    work.flush()
