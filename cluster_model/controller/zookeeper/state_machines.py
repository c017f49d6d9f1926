"""State machines of partitions and replicas (``PartitionStateMachine``, ``ReplicaStateMachine``)."""

from collections.abc import Callable, Iterable

from cluster_model.controller.rules.partition_change import PartitionChange, offline_election, remove_from_isr
from cluster_model.controller.zookeeper import kafka_zk_client
from cluster_model.controller.zookeeper.controller_context import PartitionMachineState, ReplicaMachineState
from cluster_model.controller.zookeeper.controller_event_queue import ControllerOperations, Doing, Failures
from cluster_model.controller.zookeeper.kafka_zk_client import StateNode, partition_paths, state_path, topic_of
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NO_LEADER, PartitionState

Elect = Callable[[PartitionState], PartitionChange | KafkaError]
"""Election rule: returns the new state, or the error if there is none."""


def mark_partitions_new(work: ControllerOperations, partitions: Iterable[str]) -> None:
    """Mark partitions whose state was never written."""
    for name in partitions:
        work.context.partition_states[name] = PartitionMachineState.NEW


def mark_partitions_offline(work: ControllerOperations, partitions: Iterable[str]) -> None:
    """Mark partitions whose leader is offline; this alone writes and sends nothing."""
    for name in partitions:
        work.context.partition_states[name] = PartitionMachineState.OFFLINE


def initialize(work: ControllerOperations, partitions: list[str]) -> Doing:
    """Give new partitions their first state: the first live replica leads, all live ones are in sync.

    A partition without a live replica remains New.
    """
    context = work.context
    nodes: dict[str, StateNode] = {}
    for name in partitions:
        live = tuple(broker for broker in context.partitions[name].replicas if context.is_live(broker))
        if live:
            nodes[name] = StateNode(live[0], 0, live, context.epoch, by="new partition")
    parents = dict.fromkeys(partition_paths(name)[0] for name in nodes)
    yield from work.write([kafka_zk_client.create(path) for path in parents])
    yield from work.write([kafka_zk_client.create(partition_paths(name)[1]) for name in nodes])
    answers = yield from work.write([kafka_zk_client.create(state_path(name), node) for name, node in nodes.items()])
    for (name, node), answer in zip(nodes.items(), answers, strict=True):
        if answer.ok:
            context.update_state(name, node, 0)
            context.partition_states[name] = PartitionMachineState.ONLINE
            work.batch.add_leader_and_isr(node.isr, name)


def elect(
    work: ControllerOperations,
    partitions: list[str],
    decide: Elect,
    *,
    shutting_down_too: bool = False,
    unsafe: bool = False,
) -> Failures:
    """Run an election for each partition: read, decide, write on condition of the version, repeat if outdated.

    ``unsafe``: read the configuration of topics without a live in-sync replica first.
    """
    context = work.context
    failed: dict[str, KafkaError] = {}

    def elected(name: str) -> None:
        if context.partitions[name].leader != NO_LEADER:
            context.partition_states[name] = PartitionMachineState.ONLINE
        replicas = context.partitions[name].replicas
        targets = context.brokers if shutting_down_too else context.live
        work.batch.add_leader_and_isr([broker for broker in replicas if broker in targets], name)

    remaining = partitions
    while remaining:
        failed.update((yield from work.read_states(remaining)))
        if unsafe:
            yield from work.read_configs(_without_live_isr(work, remaining))
        changes: dict[str, PartitionChange] = {}
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


def _without_live_isr(work: ControllerOperations, partitions: list[str]) -> list[str]:
    live = work.context.is_live
    states = [work.context.partitions[name] for name in partitions]
    return list({topic_of(state.partition): None for state in states if not any(map(live, state.isr))})


def elect_offline_among(
    work: ControllerOperations, partitions: list[str], by: str, *, unclean: bool = False
) -> Failures:
    """Run offline-partition elections; ``unclean``: allowed by an administrator for any topic (KIP-460)."""
    context = work.context

    def decide(state: PartitionState) -> PartitionChange | KafkaError:
        topic = work.topic_config(topic_of(state.partition))
        change = offline_election(
            state, live=context.is_live, profile=work.profile, topic=topic, by=by, unclean=unclean
        )
        return change if change is not None else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE

    return (yield from elect(work, partitions, decide, unsafe=True))


def trigger_online(work: ControllerOperations, by: str, among: Iterable[str] | None = None) -> Doing:
    """Try to elect a leader for every partition that has none (``triggerOnlinePartitionStateChange``)."""
    context = work.context
    waiting = [
        name
        for name in (context.partitions if among is None else among)
        if context.partition_states.get(name) in (PartitionMachineState.NEW, PartitionMachineState.OFFLINE)
        and not context.is_deleting(name)
    ]
    yield from initialize(work, [name for name in waiting if not context.has_state(name)])
    yield from elect_offline_among(work, [name for name in waiting if context.has_state(name)], by)
    work.flush()


def start_partition_states(work: ControllerOperations) -> Doing:
    """Derive partition states in a new controller, and try to elect leaders for offline partitions."""
    context = work.context
    for name, state in context.partitions.items():
        if not context.has_state(name):
            context.partition_states[name] = PartitionMachineState.NEW
        elif context.is_live(state.leader):
            context.partition_states[name] = PartitionMachineState.ONLINE
        else:
            context.partition_states[name] = PartitionMachineState.OFFLINE
    yield from trigger_online(work, "controller failover")


# Replica states in a ZooKeeper-mode controller: online, offline and deletion (``ReplicaStateMachine``).


Replicas = Iterable[tuple[str, int]]


def mark_replicas_new(work: ControllerOperations, replicas: Replicas) -> None:
    """Mark replicas that are being added; send them the state if it is known."""
    context = work.context
    for name, broker in replicas:
        if context.has_state(name):
            work.batch.add_leader_and_isr((broker,), name)
        context.replicas[name, broker] = ReplicaMachineState.NEW


def mark_replicas_online(work: ControllerOperations, replicas: Replicas) -> None:
    """Mark replicas of live brokers online, and send them the state of their partition."""
    context = work.context
    for name, broker in replicas:
        if context.replicas.get((name, broker)) is not ReplicaMachineState.NEW and context.has_state(name):
            work.batch.add_leader_and_isr((broker,), name)
        context.replicas[name, broker] = ReplicaMachineState.ONLINE


def mark_replicas_offline(work: ControllerOperations, replicas: Replicas, by: str) -> Doing:
    """Mark replicas of brokers that are offline or shut down: send StopReplica, and remove them from ISRs."""
    by_broker: dict[int, list[str]] = {}
    for name, broker in replicas:
        by_broker.setdefault(broker, []).append(name)
    for broker, names in by_broker.items():
        for name in names:
            work.batch.add_stop_replica(broker, name, delete=False)
        yield from _remove_from_isr(work, broker, [name for name in names if work.context.has_state(name)], by)
        for name in names:
            work.context.replicas[name, broker] = ReplicaMachineState.OFFLINE


def _remove_from_isr(work: ControllerOperations, broker: int, names: list[str], by: str) -> Doing:
    """Remove replicas from ISRs; the leader epoch rises even for a follower, so that other fetchers restart."""
    context = work.context

    def removed(name: str) -> None:
        if not context.is_deleting(name):
            remaining_replicas = [replica for replica in context.partitions[name].replicas if replica != broker]
            work.batch.add_leader_and_isr(remaining_replicas, name)

    remaining = names
    while remaining:
        failed = yield from work.read_states(remaining)
        if not work.profile.keeps_last_isr:
            alone = [name for name in remaining if context.partitions[name].isr == (broker,)]
            yield from work.read_configs(list({topic_of(name): None for name in alone}))
        changes: dict[str, PartitionChange] = {}
        for name in remaining:
            if name in failed:
                continue
            topic = work.topic_config(topic_of(name))
            change = remove_from_isr(context.partitions[name], broker, profile=work.profile, topic=topic, by=by)
            if change is not None:
                changes[name] = change
        remaining = yield from work.write_states(changes, removed)


def start_replica_states(work: ControllerOperations) -> Doing:
    """Initialise replica states in a new controller: online on live brokers, else removed from ISRs."""
    context = work.context
    pairs = [(name, broker) for name, state in context.partitions.items() for broker in state.replicas]
    mark_replicas_online(work, [pair for pair in pairs if context.is_live(pair[1])])
    work.flush()
    offline = [pair for pair in pairs if not context.is_live(pair[1])]
    yield from mark_replicas_offline(work, offline, "controller failover")
    work.flush()
