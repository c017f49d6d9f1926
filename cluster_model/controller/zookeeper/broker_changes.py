"""Brokers come and go: what the controller makes of the children of /brokers/ids (``KafkaController``)."""

from cluster_model.controller.zookeeper import reassignment, replica_states, state_machines, topic_deletion, zk
from cluster_model.controller.zookeeper.controller_context import LiveBroker
from cluster_model.controller.zookeeper.controller_work import Answers, Doing, Work
from cluster_model.controller.zookeeper.kafka_zk_client import BROKER_IDS, broker_path


def read_live(work: Work) -> Answers:
    """The registered brokers, with a new watch on them; answers (id, node) pairs as one answer's data."""
    (listed,) = yield from work.ask([zk.children(BROKER_IDS, watch=True)])
    ids = sorted(int(child) for child in listed.children)
    answers = yield from work.ask([zk.get(broker_path(broker)) for broker in ids])
    found = {
        broker: LiveBroker(answer.czxid, answer.data.rack)
        for broker, answer in zip(ids, answers, strict=True)
        if answer.ok
    }
    return (listed._replace(data=found),)


def changed(work: Work) -> Doing:
    """Compare who is registered with who was; a broker that bounced is seen from 2.2 on (KIP-380).

    Before, a restart that is over before the controller looks leaves no trace: same broker, same ISR.
    """
    context = work.context
    (answer,) = yield from read_live(work)
    now: dict[int, LiveBroker] = answer.data
    fresh = [broker for broker in now if broker not in context.brokers]
    dead = [broker for broker in context.brokers if broker not in now]
    bounced: list[int] = []
    if work.profile.bounce_detected:
        bounced = [b for b in now if b in context.brokers and now[b].epoch > context.brokers[b].epoch]
    for broker in (*bounced, *dead):
        work.hands.do(work.channels.remove, broker)
    for broker in (*bounced, *fresh):
        work.hands.do(work.channels.add, broker)
    if bounced:
        for broker in bounced:
            context.brokers.pop(broker)
        yield from failed(work, bounced, "bounced")
        context.brokers.update({broker: now[broker] for broker in bounced})
        yield from started(work, bounced)
    if fresh:
        context.brokers.update({broker: now[broker] for broker in fresh})
        yield from started(work, fresh)
    if dead:
        for broker in dead:
            context.brokers.pop(broker)
        yield from failed(work, dead, "gone")
    context.brokers = {broker: context.brokers[broker] for broker in sorted(context.brokers)}


def failed(work: Work, brokers: list[int], how: str) -> Doing:
    """Brokers are gone (``onBrokerFailure``)."""
    context = work.context
    for broker in brokers:
        context.shutting_down.pop(broker, None)
    who = "broker" if len(brokers) == 1 else "brokers"
    reason = f"{who} {', '.join(map(str, brokers))} {how}"
    yield from replicas_offline(work, context.on(brokers), reason)


def replicas_offline(work: Work, replicas: list[tuple[str, int]], by: str) -> Doing:
    """Elect for partitions that lost their leader, then take the replicas out of ISRs (``onReplicasBecomeOffline``)."""
    context = work.context
    staying = [pair for pair in replicas if not context.is_deleting(pair[0])]
    leaderless = [
        name
        for name, state in context.partitions.items()
        if context.decided(name) and not context.is_live(state.leader) and not context.is_deleting(name)
    ]
    state_machines.to_offline(work, leaderless)
    yield from state_machines.trigger_online(work, by)
    yield from replica_states.to_offline(work, staying, by)
    work.flush()
    yield from topic_deletion.failed(work, [pair for pair in replicas if context.is_deleting(pair[0])])
    if not leaderless:
        work.update_metadata(context.reachable, ())


def started(work: Work, brokers: list[int]) -> Doing:
    """Brokers are there (``onBrokerStartup``)."""
    context = work.context
    old = [broker for broker in context.reachable if broker not in brokers]
    work.update_metadata(old, ())
    work.update_metadata(brokers, context.partitions)
    replicas = context.on(brokers)
    replica_states.to_online(work, [pair for pair in replicas if not context.is_deleting(pair[0])])
    work.flush()
    who = "broker" if len(brokers) == 1 else "brokers"
    yield from state_machines.trigger_online(work, f"{who} {', '.join(map(str, brokers))} back")
    yield from reassignment.resume(work, [n for n, s in context.partitions.items() if set(s.adding) & set(brokers)])
    waiting = [pair for pair in replicas if context.is_deleting(pair[0])]
    yield from topic_deletion.resume(work, waiting)
