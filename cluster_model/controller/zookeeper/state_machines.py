"""Partitions of a ZooKeeper-mode controller come and go between New, Online and Offline (``PartitionStateMachine``)."""

from collections.abc import Callable, Iterable

from cluster_model.controller.rules.change import Change
from cluster_model.controller.rules.zk_partition_changes import offline_election
from cluster_model.controller.zookeeper import zk
from cluster_model.controller.zookeeper.controller_context import Standing
from cluster_model.controller.zookeeper.controller_work import Doing, Failures, Work
from cluster_model.controller.zookeeper.kafka_zk_client import StateNode, partition_paths, state_path, topic_of
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, PartitionState

Elect = Callable[[PartitionState], Change | KafkaError]
"""An election: the new state, or why there is none."""


def to_new(work: Work, partitions: Iterable[str]) -> None:
    """Partitions that no state was written for yet."""
    for name in partitions:
        work.context.standing[name] = Standing.NEW


def to_offline(work: Work, partitions: Iterable[str]) -> None:
    """Partitions whose leader is gone; nothing is written or sent for that alone."""
    for name in partitions:
        work.context.standing[name] = Standing.OFFLINE


def initialize(work: Work, partitions: list[str]) -> Doing:
    """New partitions get their first state: the first live replica leads, all live ones are in sync.

    With no live replica a partition stays New.
    """
    context = work.context
    nodes: dict[str, StateNode] = {}
    for name in partitions:
        live = tuple(broker for broker in context.partitions[name].replicas if context.is_live(broker))
        if live:
            nodes[name] = StateNode(live[0], 0, live, context.epoch, by="new partition")
    parents = dict.fromkeys(partition_paths(name)[0] for name in nodes)
    yield from work.write([zk.create(path) for path in parents])
    yield from work.write([zk.create(partition_paths(name)[1]) for name in nodes])
    answers = yield from work.write([zk.create(state_path(name), node) for name, node in nodes.items()])
    for (name, node), answer in zip(nodes.items(), answers, strict=True):
        if answer.ok:
            context.heard(name, node, 0)
            context.standing[name] = Standing.ONLINE
            work.batch.lead_and_follow(node.isr, name)


def elect(
    work: Work, partitions: list[str], decide: Elect, *, shutting_down_too: bool = False, unsafe: bool = False
) -> Failures:
    """Hold an election for each: read what ZooKeeper has, decide, write under that version, over again if outdated.

    ``unsafe``: read the configuration of topics without a live in-sync replica first.
    """
    context = work.context
    failed: dict[str, KafkaError] = {}

    def elected(name: str) -> None:
        if context.partitions[name].leader != NOBODY:
            context.standing[name] = Standing.ONLINE
        replicas = context.partitions[name].replicas
        told = context.brokers if shutting_down_too else context.live
        work.batch.lead_and_follow([broker for broker in replicas if broker in told], name)

    remaining = partitions
    while remaining:
        failed.update((yield from work.read_states(remaining)))
        if unsafe:
            yield from work.read_configs(_without_live_isr(work, remaining))
        changes: dict[str, Change] = {}
        for name in remaining:
            if name in failed:
                continue
            decided = decide(context.partitions[name])
            if isinstance(decided, KafkaError):
                failed[name] = decided
            else:
                changes[name] = decided
        remaining = yield from work.write_states(changes, elected)
    return failed


def _without_live_isr(work: Work, partitions: list[str]) -> list[str]:
    live = work.context.is_live
    states = [work.context.partitions[name] for name in partitions]
    return list({topic_of(state.partition): None for state in states if not any(map(live, state.isr))})


def elect_offline_among(work: Work, partitions: list[str], by: str, *, unclean: bool = False) -> Failures:
    """Offline-partition elections; ``unclean``: an administrator allows it whatever the topic says (KIP-460)."""
    context = work.context

    def decide(state: PartitionState) -> Change | KafkaError:
        topic = work.topic_config(topic_of(state.partition))
        change = offline_election(
            state, live=context.is_live, profile=work.profile, topic=topic, by=by, unclean=unclean
        )
        return change if change is not None else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE

    return (yield from elect(work, partitions, decide, unsafe=True))


def trigger_online(work: Work, by: str, among: Iterable[str] | None = None) -> Doing:
    """Try to find a leader for every partition that has none (``triggerOnlinePartitionStateChange``)."""
    context = work.context
    waiting = [
        name
        for name in (context.partitions if among is None else among)
        if context.standing.get(name) in (Standing.NEW, Standing.OFFLINE) and not context.is_deleting(name)
    ]
    yield from initialize(work, [name for name in waiting if not context.decided(name)])
    yield from elect_offline_among(work, [name for name in waiting if context.decided(name)], by)
    work.flush()


def startup(work: Work) -> Doing:
    """A new controller finds out how partitions stand, and tries to bring the leaderless ones back."""
    context = work.context
    for name, state in context.partitions.items():
        if not context.decided(name):
            context.standing[name] = Standing.NEW
        elif context.is_live(state.leader):
            context.standing[name] = Standing.ONLINE
        else:
            context.standing[name] = Standing.OFFLINE
    yield from trigger_online(work, "controller failover")
