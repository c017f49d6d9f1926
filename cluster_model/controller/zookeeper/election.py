"""The race for /controller, and what a broker does on winning or losing it (``KafkaController``)."""

from collections.abc import Generator
from typing import Any

from cluster_model.controller.rules.admin_rules import in_progress
from cluster_model.controller.zookeeper import (
    broker_changes,
    reassignment,
    replica_states,
    state_machines,
    topic_deletion,
    zk,
)
from cluster_model.controller.zookeeper.controller_work import Doing, Work
from cluster_model.controller.zookeeper.kafka_zk_client import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    ISR_CHANGES,
    TOPICS,
    state_path,
    topic_path,
)
from cluster_model.controller.zookeeper.zk import Answer
from cluster_model.protocol.events import ControllerChanged
from cluster_model.protocol.messages import NOBODY
from cluster_model.zookeeper.messages import Multi

Attempt = Generator[tuple[Any, ...], tuple[Answer, ...], bool]
FIRST_REBALANCE_US = 5_000_000
"""From a failover to the first look at how leaderships are spread."""
REBALANCE = "auto leader rebalance"
"""Name of the timer."""


def race(work: Work) -> Doing:
    """Become the controller if nobody is (``elect``); otherwise know who is."""
    context = work.context
    (who,) = yield from work.ask([zk.get(CONTROLLER)])
    if who.ok:
        yield from _follow(work)
        return
    if work.profile.number >= (2, 1, 0):
        won = yield from _take_at_once(work)
    else:
        won = yield from _take_in_two_steps(work)
    if won:
        context.leader = work.broker_id
        context.active = True
        name = f"broker {work.broker_id}"
        work.hands.emit(ControllerChanged(work.hands.now, name, work.broker_id, context.epoch))
        yield from failover(work)
    else:
        yield from _follow(work)


def _take_at_once(work: Work) -> Attempt:
    """Since 2.1 /controller appears and /controller_epoch rises in one step, or neither (KAFKA-6082)."""
    (epoch,) = yield from work.ask([zk.get(CONTROLLER_EPOCH)])
    value = epoch.data[0] + 1
    both = Multi((
        zk.create(CONTROLLER, (work.broker_id,), ephemeral=True), zk.put(CONTROLLER_EPOCH, (value,), epoch.version),
    ))  # fmt: skip
    (done,) = yield from work.ask([both])
    work.context.epoch = value
    work.context.epoch_version = epoch.version + 1
    return done.ok


def _take_in_two_steps(work: Work) -> Attempt:
    """Up to 2.0 the epoch is raised after the fact, and who fails at that lets the lead go again."""
    (taken,) = yield from work.ask([zk.create(CONTROLLER, (work.broker_id,), ephemeral=True)])
    if not taken.ok:
        return False
    (epoch,) = yield from work.ask([zk.get(CONTROLLER_EPOCH)])
    (raised,) = yield from work.ask([zk.put(CONTROLLER_EPOCH, (epoch.data[0] + 1,), epoch.version)])
    if not raised.ok:
        yield from work.ask([zk.delete(CONTROLLER)])
        return False
    work.context.epoch = epoch.data[0] + 1
    work.context.epoch_version = raised.version
    return True


def _follow(work: Work) -> Doing:
    """Watch /controller, and know whose it is; race again if it went meanwhile."""
    (there,) = yield from work.ask([zk.exists(CONTROLLER, watch=True)])
    (who,) = yield from work.ask([zk.get(CONTROLLER)])
    work.context.leader = who.data[0] if who.ok else NOBODY
    if not there.ok or not who.ok:
        work.put("reelect")


def failover(work: Work) -> Doing:
    """The new controller takes over (``onControllerFailover``), in Kafka's order."""
    context = work.context
    yield from work.ask([zk.exists(CONTROLLER, watch=True)])
    (notes,) = yield from work.ask([zk.children(ISR_CHANGES, watch=True)])
    yield from work.write([zk.delete(f"{ISR_CHANGES}/{note}") for note in notes.children])
    yield from _load(work)
    (listed,) = yield from work.ask([zk.children(DELETE_TOPICS, watch=True)])
    topic_deletion.enqueue_at_failover(work, [topic for topic in listed.children if topic in context.topics])
    work.update_metadata(context.reachable, context.partitions)
    yield from replica_states.startup(work)
    yield from state_machines.startup(work)
    yield from reassignment.resume(work, [name for name, state in context.partitions.items() if in_progress(state)])
    yield from topic_deletion.proceed(work)
    begin_rebalancing(work)


def begin_rebalancing(work: Work) -> None:
    """Look at how leaderships are spread a little later, and then regularly, as long as this is the controller."""
    if work.settings.rebalance_us:
        work.hands.timer(FIRST_REBALANCE_US, REBALANCE, work.context.epoch)


def _load(work: Work) -> Doing:
    """``initializeControllerContext``."""
    context = work.context
    (live,) = yield from broker_changes.read_live(work)
    context.brokers = live.data
    for broker in context.brokers:
        work.hands.do(work.channels.add, broker)
    (listed,) = yield from work.ask([zk.children(TOPICS, watch=True)])
    answers = yield from work.ask([zk.get(topic_path(topic), watch=True) for topic in listed.children])
    for topic, answer in zip(listed.children, answers, strict=True):
        if answer.ok:
            context.assign(topic, *answer.data)
    names = list(context.partitions)
    states = yield from work.ask([zk.get(state_path(name)) for name in names])
    for name, answer in zip(names, states, strict=True):
        if answer.ok:
            context.heard(name, answer.data, answer.version)


def resign(work: Work) -> None:
    """Not the controller any more: everything it knew as one is forgotten (``onControllerResignation``)."""
    work.context.clear()
    work.batch.clear()
    work.hands.do(work.channels.clear)


def changed(work: Work) -> Doing:
    """/controller was written or deleted: resign if it was ours, and race if it is nobody's."""
    was = work.context.active
    (there,) = yield from work.ask([zk.exists(CONTROLLER, watch=True)])
    (who,) = yield from work.ask([zk.get(CONTROLLER)])
    if was and not (who.ok and who.data[0] == work.broker_id):
        resign(work)
    work.context.leader = who.data[0] if who.ok else NOBODY
    if not there.ok or not who.ok:
        yield from race(work)
