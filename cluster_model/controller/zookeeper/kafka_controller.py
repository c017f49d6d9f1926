"""The KafkaController in every broker: election, broker and topic changes, ISR changes, admin requests.

Everything it does is an event of one thread: watches, responses of brokers, requests, timers. After a lost session or a
pause it may be a zombie controller without knowing; then brokers reject its requests by their epoch, and ZooKeeper its
writes (since 2.1). It resigns when it learns of its successor.
"""

from collections.abc import Callable, Generator
from typing import Any, Final

from cluster_model.connections.process_connections import ProcessConnections
from cluster_model.controller.rules.admin_rules import imbalanced_zk, in_progress
from cluster_model.controller.rules.alter_partition import accept_zk, validate_zk
from cluster_model.controller.rules.partition_change import (
    PartitionChange,
    controlled_shutdown_election,
    preferred_election,
)
from cluster_model.controller.zookeeper import kafka_zk_client, reassignment, state_machines, topic_deletion
from cluster_model.controller.zookeeper.controller_channels import RETRY, TIMEOUTS, ControllerChannels
from cluster_model.controller.zookeeper.controller_context import ControllerContext, LiveBroker
from cluster_model.controller.zookeeper.controller_event_queue import (
    Answers,
    ControllerEventThread,
    ControllerMovedError,
    ControllerOperations,
    Doing,
    Failures,
    SideEffects,
    Steps,
    Task,
)
from cluster_model.controller.zookeeper.kafka_zk_client import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DELETE_TOPICS,
    ISR_CHANGES,
    TOPICS,
    ZkResult,
    broker_path,
    partition_at,
    state_path,
    topic_of,
    topic_path,
)
from cluster_model.controller.zookeeper.messages import (
    NO_EPOCH,
    AlterPartitionsRequest,
    AlterPartitionsResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ControlRequest,
    ControlResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.node_context import NodeContext
from cluster_model.protocol.admin_messages import (
    AdminError,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    refusal,
)
from cluster_model.protocol.configs import FIRST_REBALANCE_US, BrokerConfig, ZkControllerSettings
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import ControllerChanged
from cluster_model.protocol.messages import NO_LEADER, AlterPartitionRequest, AlterPartitionResponse, PartitionState
from cluster_model.protocol.versions import Profile
from cluster_model.zookeeper.messages import Multi

# Broker changes: the children of /brokers/ids (``KafkaController``).


def read_live(work: ControllerOperations) -> Answers:
    """Read the registered brokers with a new watch; one result's data holds broker → :class:`LiveBroker`."""
    (listed,) = yield from work.run([kafka_zk_client.children(BROKER_IDS, watch=True)])
    ids = sorted(int(child) for child in listed.children)
    answers = yield from work.run([kafka_zk_client.get(broker_path(broker)) for broker in ids])
    brokers = {
        broker: LiveBroker(answer.czxid, answer.data.rack)
        for broker, answer in zip(ids, answers, strict=True)
        if answer.ok
    }
    return (listed._replace(data=brokers),)


def process_broker_change(work: ControllerOperations) -> Doing:
    """Handle a change of the registered brokers; a restarted broker is detected since 2.2 (KIP-380).

    Before, a restart that is over before the controller reads leaves no trace: same broker, same ISR.
    """
    context = work.context
    (answer,) = yield from read_live(work)
    now: dict[int, LiveBroker] = answer.data
    fresh = [broker for broker in now if broker not in context.brokers]
    dead = [broker for broker in context.brokers if broker not in now]
    bounced: list[int] = []
    if work.profile.bounce_detected:
        bounced = [each for each in now if each in context.brokers and now[each].epoch > context.brokers[each].epoch]
    for broker in (*bounced, *dead):
        work.effects.do(work.channels.remove, broker)
    for broker in (*bounced, *fresh):
        work.effects.do(work.channels.add, broker)
    if bounced:
        for broker in bounced:
            context.brokers.pop(broker)
        yield from on_broker_failure(work, bounced, "bounced")
        context.brokers.update({broker: now[broker] for broker in bounced})
        yield from on_broker_startup(work, bounced)
    if fresh:
        context.brokers.update({broker: now[broker] for broker in fresh})
        yield from on_broker_startup(work, fresh)
    if dead:
        for broker in dead:
            context.brokers.pop(broker)
        yield from on_broker_failure(work, dead, "offline")
    context.brokers = {broker: context.brokers[broker] for broker in sorted(context.brokers)}


def on_broker_failure(work: ControllerOperations, brokers: list[int], status: str) -> Doing:
    """Handle brokers that are offline (``onBrokerFailure``)."""
    context = work.context
    for broker in brokers:
        context.shutting_down.pop(broker, None)
    label = "broker" if len(brokers) == 1 else "brokers"
    reason = f"{label} {', '.join(map(str, brokers))} {status}"
    yield from replicas_offline(work, context.on(brokers), reason)


def replicas_offline(work: ControllerOperations, replicas: list[tuple[str, int]], by: str) -> Doing:
    """Elect leaders where the leader was lost, then remove the replicas from ISRs (``onReplicasBecomeOffline``)."""
    context = work.context
    staying = [pair for pair in replicas if not context.is_deleting(pair[0])]
    leaderless = [
        name
        for name, state in context.partitions.items()
        if context.has_state(name) and not context.is_live(state.leader) and not context.is_deleting(name)
    ]
    state_machines.mark_partitions_offline(work, leaderless)
    yield from state_machines.trigger_online(work, by)
    yield from state_machines.mark_replicas_offline(work, staying, by)
    work.flush()
    yield from topic_deletion.failed(work, [pair for pair in replicas if context.is_deleting(pair[0])])
    if not leaderless:
        work.update_metadata(context.reachable, ())


def on_broker_startup(work: ControllerOperations, brokers: list[int]) -> Doing:
    """Handle brokers that are online again or new (``onBrokerStartup``)."""
    context = work.context
    old = [broker for broker in context.reachable if broker not in brokers]
    work.update_metadata(old, ())
    work.update_metadata(brokers, context.partitions)
    replicas = context.on(brokers)
    state_machines.mark_replicas_online(work, [pair for pair in replicas if not context.is_deleting(pair[0])])
    work.flush()
    label = "broker" if len(brokers) == 1 else "brokers"
    yield from state_machines.trigger_online(work, f"{label} {', '.join(map(str, brokers))} online")
    reassigned = [name for name, state in context.partitions.items() if set(state.adding) & set(brokers)]
    yield from reassignment.resume(work, reassigned)
    waiting = [pair for pair in replicas if context.is_deleting(pair[0])]
    yield from topic_deletion.resume(work, waiting)


# Election of the controller through /controller, and the controller failover (``KafkaController``).


Attempt = Generator[tuple[Any, ...], tuple[ZkResult, ...], bool]
REBALANCE = "auto leader rebalance"
"""Name of the timer of the leader rebalance."""


def elect(work: ControllerOperations) -> Doing:
    """Become the controller if there is none (``elect``); otherwise learn which broker it is."""
    context = work.context
    (found,) = yield from work.run([kafka_zk_client.get(CONTROLLER)])
    if found.ok:
        yield from _follow(work)
        return
    if work.profile.zk_controller_epoch:
        won = yield from _claim_atomically(work)
    else:
        won = yield from _claim_in_two_steps(work)
    if won:
        context.leader = work.broker_id
        context.active = True
        name = f"broker {work.broker_id}"
        work.effects.emit(ControllerChanged(work.effects.now, name, work.broker_id, context.epoch))
        yield from failover(work)
    else:
        yield from _follow(work)


def _claim_atomically(work: ControllerOperations) -> Attempt:
    """Create /controller and raise /controller_epoch in one transaction, since 2.1 (KAFKA-6082)."""
    (epoch,) = yield from work.run([kafka_zk_client.get(CONTROLLER_EPOCH)])
    value = epoch.data[0] + 1
    both = Multi((
        kafka_zk_client.create(CONTROLLER, (work.broker_id,), ephemeral=True),
        kafka_zk_client.put(CONTROLLER_EPOCH, (value,), epoch.version),
    ))  # fmt: skip
    (done,) = yield from work.run([both])
    work.context.epoch = value
    work.context.epoch_version = epoch.version + 1
    return done.ok


def _claim_in_two_steps(work: ControllerOperations) -> Attempt:
    """Create /controller, then raise the epoch, up to 2.0; if the latter fails, /controller is deleted again."""
    (taken,) = yield from work.run([kafka_zk_client.create(CONTROLLER, (work.broker_id,), ephemeral=True)])
    if not taken.ok:
        return False
    (epoch,) = yield from work.run([kafka_zk_client.get(CONTROLLER_EPOCH)])
    (raised,) = yield from work.run([kafka_zk_client.put(CONTROLLER_EPOCH, (epoch.data[0] + 1,), epoch.version)])
    if not raised.ok:
        yield from work.run([kafka_zk_client.delete(CONTROLLER)])
        return False
    work.context.epoch = epoch.data[0] + 1
    work.context.epoch_version = raised.version
    return True


def _follow(work: ControllerOperations) -> Doing:
    """Watch /controller and read which broker it names; elect again if it was deleted in the meantime."""
    (found,) = yield from work.run([kafka_zk_client.exists(CONTROLLER, watch=True)])
    (controller,) = yield from work.run([kafka_zk_client.get(CONTROLLER)])
    work.context.leader = controller.data[0] if controller.ok else NO_LEADER
    if not found.ok or not controller.ok:
        work.put("reelect")


def failover(work: ControllerOperations) -> Doing:
    """Take over as the new controller, in Kafka's order of steps (``onControllerFailover``)."""
    context = work.context
    yield from work.run([kafka_zk_client.exists(CONTROLLER, watch=True)])
    (notes,) = yield from work.run([kafka_zk_client.children(ISR_CHANGES, watch=True)])
    yield from work.write([kafka_zk_client.delete(f"{ISR_CHANGES}/{note}") for note in notes.children])
    yield from _load(work)
    (listed,) = yield from work.run([kafka_zk_client.children(DELETE_TOPICS, watch=True)])
    topic_deletion.enqueue_at_failover(work, [topic for topic in listed.children if topic in context.topics])
    work.update_metadata(context.reachable, context.partitions)
    yield from state_machines.start_replica_states(work)
    yield from state_machines.start_partition_states(work)
    yield from reassignment.resume(work, [name for name, state in context.partitions.items() if in_progress(state)])
    yield from topic_deletion.proceed(work)
    begin_rebalancing(work)


def begin_rebalancing(work: ControllerOperations) -> None:
    """Start the periodic leader rebalance, which lasts as long as this broker is the controller."""
    if work.settings.rebalance_us:
        work.effects.timer(FIRST_REBALANCE_US, REBALANCE, work.context.epoch)


def _load(work: ControllerOperations) -> Doing:
    """Load the controller context from ZooKeeper (``initializeControllerContext``)."""
    context = work.context
    (live,) = yield from read_live(work)
    context.brokers = live.data
    for broker in context.brokers:
        work.effects.do(work.channels.add, broker)
    (listed,) = yield from work.run([kafka_zk_client.children(TOPICS, watch=True)])
    answers = yield from work.run([kafka_zk_client.get(topic_path(topic), watch=True) for topic in listed.children])
    for topic, answer in zip(listed.children, answers, strict=True):
        if answer.ok:
            context.assign(topic, *answer.data)
    names = list(context.partitions)
    states = yield from work.run([kafka_zk_client.get(state_path(name)) for name in names])
    for name, answer in zip(names, states, strict=True):
        if answer.ok:
            context.update_state(name, answer.data, answer.version)


def resign(work: ControllerOperations) -> None:
    """Stop being the controller, and forget all state of that role (``onControllerResignation``)."""
    work.context.clear()
    work.batch.clear()
    work.effects.do(work.channels.clear)


def process_controller_change(work: ControllerOperations) -> Doing:
    """Handle a change of /controller: resign if it is no longer this broker's, and elect if there is none."""
    was_active = work.context.active
    (existing,) = yield from work.run([kafka_zk_client.exists(CONTROLLER, watch=True)])
    (controller,) = yield from work.run([kafka_zk_client.get(CONTROLLER)])
    if was_active and not (controller.ok and controller.data[0] == work.broker_id):
        resign(work)
    work.context.leader = controller.data[0] if controller.ok else NO_LEADER
    if not existing.ok or not controller.ok:
        yield from elect(work)


# Requested elections: preferred leaders, an administrator's, and controlled shutdown.


Verdicts = Generator[tuple[Any, ...], tuple[ZkResult, ...], dict[str, KafkaError]]


def preferred(work: ControllerOperations, names: list[str], by: str) -> Failures:
    """Elect the preferred replica of each partition where it is live and in sync."""
    context = work.context

    def decide(state: PartitionState) -> PartitionChange | KafkaError:
        change = preferred_election(state, live=context.is_live, by=by)
        return change if change is not None else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE

    failed = yield from state_machines.elect(work, names, decide)
    work.flush()
    return failed


def elect_requested(work: ControllerOperations, names: tuple[str, ...], *, unclean: bool) -> Verdicts:
    """Run an administrator's ELECT_LEADERS (KIP-460); return the error of each partition, or of those in need."""
    context = work.context
    verdicts: dict[str, KafkaError] = {}
    wanted: list[str] = []
    for name in names or tuple(context.partitions):
        error = needed(context, name, unclean=unclean)
        if error is KafkaError.NONE:
            wanted.append(name)
        elif names or error is not KafkaError.ELECTION_NOT_NEEDED:
            verdicts[name] = error
    verdicts.update(dict.fromkeys(wanted, KafkaError.NONE))
    if unclean:
        failed = yield from state_machines.elect_offline_among(work, wanted, "administrator", unclean=True)
        work.flush()
    else:
        failed = yield from preferred(work, wanted, "administrator")
    verdicts.update(failed)
    return verdicts


def needed(context: ControllerContext, partition: str, *, unclean: bool) -> KafkaError:
    """Check whether an election is needed and possible, by the controller's context; NONE if so."""
    state = context.partitions.get(partition)
    if state is None or context.is_deleting(partition):
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    if not context.has_state(partition):
        return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if unclean:
        if state.leader != NO_LEADER and context.is_live(state.leader):
            return KafkaError.ELECTION_NOT_NEEDED
        live = any(context.is_live(broker) for broker in state.replicas)
        return KafkaError.NONE if live else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
    first = state.replicas[0]
    if state.leader == first:
        return KafkaError.ELECTION_NOT_NEEDED
    eligible = context.is_live(first) and first in state.isr
    return KafkaError.NONE if eligible else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE


def rebalance(work: ControllerOperations) -> Doing:
    """Elect preferred replicas for brokers with too many of their partitions led elsewhere."""
    context = work.context
    states = [state for name, state in context.partitions.items() if not context.is_deleting(name)]
    names = imbalanced_zk(states, live=context.is_live, percentage=work.settings.imbalance_percentage)
    if names:
        yield from preferred(work, names, "auto leader rebalance")


def controlled_shutdown(work: ControllerOperations, source: int, request: ControlledShutdownRequest) -> Doing:
    """Move a broker's leaderships, remove it from the ISRs that it follows in, and report what it still leads.

    A request of a former registration is rejected; one without an epoch is of a broker before KIP-380.
    """
    context = work.context
    broker = request.broker
    registration = context.brokers.get(broker)
    if registration is None:
        _reject_shutdown(work, source, request, KafkaError.BROKER_NOT_AVAILABLE)
        return
    if work.profile.bounce_detected and request.broker_epoch != NO_EPOCH and request.broker_epoch < registration.epoch:
        _reject_shutdown(work, source, request, KafkaError.STALE_BROKER_EPOCH)
        return
    context.shutting_down[broker] = None
    hosted = [
        state
        for name, state in context.partitions.items()
        if broker in state.replicas and len(state.replicas) > 1 and context.has_state(name)
        and not context.is_deleting(name)
    ]  # fmt: skip
    led = [state.partition for state in hosted if state.leader == broker]
    followed = [state.partition for state in hosted if state.leader != broker]

    def decide(state: PartitionState) -> PartitionChange | KafkaError:
        change = controlled_shutdown_election(
            state,
            live=lambda candidate: candidate in context.brokers,
            stopping=lambda candidate: candidate in context.shutting_down,
            by=f"controlled shutdown of broker {broker}",
        )
        return change if change is not None else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE

    yield from state_machines.elect(work, led, decide, shutting_down_too=True)
    work.flush()
    for name in followed:
        work.batch.add_stop_replica(broker, name, delete=False)
    work.flush()
    pairs = [(name, broker) for name in followed]
    yield from state_machines.mark_replicas_offline(work, pairs, f"controlled shutdown of broker {broker}")
    work.flush()
    remaining = tuple(name for name in led if context.partitions[name].leader == broker)
    work.effects.send(source, ControlledShutdownResponse(request.correlation_id, KafkaError.NONE, remaining))


def _reject_shutdown(
    work: ControllerOperations, source: int, request: ControlledShutdownRequest, error: KafkaError
) -> None:
    work.effects.send(source, ControlledShutdownResponse(request.correlation_id, error, ()))


# Requests of administrators on the controller's event thread: elections and reassignments.


_MESSAGES = {
    KafkaError.ELECTION_NOT_NEEDED: "the partition already has a suitable leader",
    KafkaError.PREFERRED_LEADER_NOT_AVAILABLE: "the preferred replica is offline or not in sync",
    KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no replica is eligible to lead",
    KafkaError.UNKNOWN_TOPIC_OR_PARTITION: "no such partition",
    KafkaError.NO_REASSIGNMENT_IN_PROGRESS: "the partition is not being reassigned",
    KafkaError.INVALID_REPLICA_ASSIGNMENT: "replicas must be distinct live brokers",
    KafkaError.UNSUPPORTED_VERSION: "changing or cancelling a reassignment needs Kafka 2.4 or later",
}


def _result(name: str, error: KafkaError) -> AdminError:
    return AdminError(name, error, _MESSAGES.get(error, ""))


def elect_leaders(work: ControllerOperations, source: int, request: ElectLeadersRequest) -> Doing:
    """Handle ELECT_LEADERS; unclean elections are possible since 2.4 (KIP-460)."""
    if request.unclean and not work.profile.unclean_on_demand:
        work.effects.send(
            source,
            refusal(request, KafkaError.UNSUPPORTED_VERSION, "unclean elections on request need Kafka 2.4 or later"),
        )
        return
    verdicts = yield from elect_requested(work, request.partitions, unclean=request.unclean)
    answers = tuple(_result(name, error) for name, error in verdicts.items())
    work.effects.send(source, ElectLeadersResponse(request.correlation_id, KafkaError.NONE, answers))


def elect_directly(work: ControllerOperations, partition: str, unclean: bool) -> Doing:
    """Run an election that was found to be needed, without a response."""
    yield from elect_requested(work, (partition,), unclean=unclean)


def reassign(work: ControllerOperations, source: int, request: AlterPartitionReassignmentsRequest) -> Doing:
    """Start or cancel reassignments."""
    answers: list[AdminError] = []
    for name, replicas in request.partitions:
        error = yield from reassignment.start_requested(work, name, replicas)
        answers.append(_result(name, error))
    response = AlterPartitionReassignmentsResponse(request.correlation_id, KafkaError.NONE, tuple(answers))
    work.effects.send(source, response)


def refuse(work: ControllerOperations, source: int, request: Any) -> None:
    """Respond that this broker is not the controller."""
    work.effects.send(source, refusal(request, KafkaError.NOT_CONTROLLER))


# ISR changes: notified through ZooKeeper up to 2.6, by AlterPartition since 2.7 (KIP-497).


def process_isr_change_notification(work: ControllerOperations) -> Doing:
    """Handle notifications of ISR changes: read the states, send them to all brokers, delete the notifications."""
    context = work.context
    (listed,) = yield from work.run([kafka_zk_client.children(ISR_CHANGES, watch=True)])
    paths = [f"{ISR_CHANGES}/{child}" for child in listed.children]
    answers = yield from work.run([kafka_zk_client.get(path) for path in paths])
    changed = list(
        {name: None for answer in answers if answer.ok for name in answer.data if name in context.partitions}
    )
    if changed:
        yield from work.read_states(changed)
        work.update_metadata(context.reachable, changed)
    yield from work.write([kafka_zk_client.delete(path) for path in paths])


def process_alter_partition(work: ControllerOperations, source: int, request: AlterPartitionsRequest) -> Doing:
    """Handle AlterPartition of a broker: validate, write on condition of the version, send to all brokers, respond."""
    context = work.context
    epochs = {broker: current.epoch for broker, current in context.brokers.items()}
    if epochs.get(request.broker) != request.broker_epoch:
        rejected = AlterPartitionsResponse(request.correlation_id, KafkaError.STALE_BROKER_EPOCH, ())
        work.effects.send(source, rejected)
        return
    live = {broker: epoch for broker, epoch in epochs.items() if context.is_live(broker)}
    live[request.broker] = request.broker_epoch
    errors: dict[str, KafkaError] = {}
    changes: dict[str, PartitionChange] = {}
    for proposal in request.partitions:
        state = context.partitions.get(proposal.partition)
        current = None if state is None or not context.has_state(proposal.partition) else state
        error = validate_zk(current, proposal, epochs=live, profile=work.profile)
        errors[proposal.partition] = error
        change = accept_zk(current, proposal) if current is not None and error is KafkaError.NONE else None
        if change is not None:
            changes[proposal.partition] = change
    changed: list[str] = []
    outdated = yield from work.write_states(changes, changed.append)
    errors.update(dict.fromkeys(outdated, KafkaError.INVALID_UPDATE_VERSION))
    if outdated:
        yield from work.read_states(outdated)
    if changed:
        work.update_metadata(context.reachable, changed)
    answers = tuple(_answer(work, proposal, errors[proposal.partition]) for proposal in request.partitions)
    work.effects.send(source, AlterPartitionsResponse(request.correlation_id, KafkaError.NONE, answers))


def _answer(work: ControllerOperations, proposal: AlterPartitionRequest, error: KafkaError) -> AlterPartitionResponse:
    state = work.context.partitions.get(proposal.partition)
    if state is None or error:
        return AlterPartitionResponse(proposal.partition, error, proposal.leader_epoch, (), -1, proposal.correlation_id)
    return AlterPartitionResponse(
        proposal.partition, error, state.leader_epoch, state.isr, state.partition_epoch, proposal.correlation_id
    )


# Topic changes: new topics and partitions in ZooKeeper get leaders (``KafkaController``).


UNCLEAN_ALLOWED: Final = "unclean election was allowed"


def process_topic_change(work: ControllerOperations) -> Doing:
    """Handle a change of the children of /brokers/topics."""
    context = work.context
    (listed,) = yield from work.run([kafka_zk_client.children(TOPICS, watch=True)])
    fresh = [topic for topic in listed.children if topic not in context.topics]
    for topic in [topic for topic in context.topics if topic not in listed.children]:
        context.forget(topic)
    answers = yield from work.run([kafka_zk_client.get(topic_path(topic), watch=True) for topic in fresh])
    added: list[str] = []
    for topic, answer in zip(fresh, answers, strict=True):
        if answer.ok:
            added.extend(context.assign(topic, *answer.data))
    yield from _create(work, added)


def process_partition_modifications(work: ControllerOperations, topic: str) -> Doing:
    """Handle a written topic assignment, which may have new partitions (``processPartitionModifications``)."""
    context = work.context
    (answer,) = yield from work.run([kafka_zk_client.get(topic_path(topic), watch=True)])
    if not answer.ok or topic not in context.topics or topic in context.deleting:
        return
    known = context.topics[topic]
    added = [entry for entry in answer.data.partitions if f"{topic}-{entry.number}" not in known]
    if added:
        names = context.assign(topic, answer.data.topic_id, tuple(added))
        context.topics[topic] = (*known, *names)
        yield from _create(work, names)


def _create(work: ControllerOperations, names: list[str]) -> Doing:
    """Create new partitions and replicas, then elect leaders (``onNewPartitionCreation``)."""
    context = work.context
    state_machines.mark_partitions_new(work, names)
    pairs = [(name, broker) for name in names for broker in context.partitions[name].replicas]
    state_machines.mark_replicas_new(work, pairs)
    yield from state_machines.initialize(work, names)
    work.flush()
    state_machines.mark_replicas_online(work, [pair for pair in pairs if context.is_live(pair[1])])
    work.flush()


def unclean_allowed(work: ControllerOperations, topics: list[str]) -> Doing:
    """Elect leaders for leaderless partitions of topics that now allow unclean election."""
    names = [name for name in work.context.partitions if topic_of(name) in topics]
    yield from state_machines.trigger_online(work, UNCLEAN_ALLOWED, names)


def defaults_changed(work: ControllerOperations, settings: tuple[tuple[str, Any], ...]) -> Doing:
    """Handle a change of the broker's dynamic configuration; only one of its settings concerns the controller.

    If unclean election becomes allowed, leaders are elected for every leaderless partition at once
    (``DynamicLogConfig``, ``enableDefaultUncleanLeaderElection``).
    """
    before = work.allows_unclean
    work.context.defaults = dict(settings)
    if work.context.active and work.allows_unclean and not before:
        yield from state_machines.trigger_online(work, UNCLEAN_ALLOWED)


_WATCHED: Final = {
    CONTROLLER: "controller_change",
    BROKER_IDS: "broker_change",
    TOPICS: "topic_change",
    DELETE_TOPICS: "topic_deletion",
    ISR_CHANGES: "isr_notification",
}
Settings = tuple[tuple[str, Any], ...]
_ALWAYS: Final = ("reelect", "controller_change", "defaults_changed")
"""Events that a broker handles even if it is not the controller."""


class KafkaController:
    """Controller of one broker process, active or not (``KafkaController``)."""

    __slots__ = ("_dynamic_config", "_events", "_port", "channels", "lane", "work")

    def __init__(
        self,
        port: NodeContext,
        profile: Profile,
        config: BrokerConfig,
        defaults: dict[str, Any],
        effects: SideEffects,
        ask: Callable[[Any, Task], None],
        connections: ProcessConnections,
    ) -> None:
        """``connections`` are those of the broker's process."""
        self._port = port
        self._dynamic_config: Settings = ()
        """Dynamic configuration of the broker, possibly newer than what the event thread has handled."""
        timeout_us = ZkControllerSettings.of(profile, defaults).socket_timeout_us
        self.channels = ControllerChannels(connections.connector, timeout_us, self._on_response)
        connections.add(self.channels)
        self.work = ControllerOperations(port.node_id, profile, config, defaults, effects, self.channels, self._put)
        context = self.work.context
        self.lane = ControllerEventThread("controller", self._begin, ask, effects, context.save, context.load)
        work = self.work
        self._events: dict[str, Callable[..., Doing]] = {
            "reelect": lambda: elect(work),
            "controller_change": lambda: process_controller_change(work),
            "broker_change": lambda: process_broker_change(work),
            "topic_change": lambda: process_topic_change(work),
            "partitions_change": lambda topic: process_partition_modifications(work, topic),
            "topic_deletion": lambda: topic_deletion.requested(work),
            "isr_notification": lambda: process_isr_change_notification(work),
            "state_change": lambda partition: reassignment.isr_changed(work, partition),
            "stopped": lambda broker, answers: topic_deletion.stopped(work, broker, answers),
            "rebalance": lambda: rebalance(work),
            "defaults_changed": lambda settings: defaults_changed(work, settings),
            "unclean_allowed": lambda names: unclean_allowed(work, list(names)),
            "alter_partition": lambda source, request: process_alter_partition(work, source, request),
            "controlled_shutdown": lambda source, request: controlled_shutdown(work, source, request),
            "elect_leaders": lambda source, request: elect_leaders(work, source, request),
            "reassign": lambda source, request: reassign(work, source, request),
            "elect_directly": lambda partition, unclean: elect_directly(work, partition, unclean),
        }

    @property
    def is_active(self) -> bool:
        """Whether this broker acts as the controller."""
        return self.work.context.active

    def _put(self, *task: Any) -> None:
        self.lane.put(*task)

    def _begin(self, task: Task) -> Steps:
        name, *arguments = task
        if not self.is_active and name not in _ALWAYS:
            self._reject(name, arguments)
            return
        try:
            yield from self._events[name](*arguments)
        except ControllerMovedError:
            resign(self.work)
            yield from process_controller_change(self.work)

    def _reject(self, name: str, arguments: list[Any]) -> None:
        """Reject a request because this broker is not, or no longer, the controller."""
        if name == "alter_partition":
            source, request = arguments
            not_altered = AlterPartitionsResponse(request.correlation_id, KafkaError.NOT_CONTROLLER, ())
            self.work.effects.send(source, not_altered)
        elif name == "controlled_shutdown":
            source, request = arguments
            not_shut_down = ControlledShutdownResponse(request.correlation_id, KafkaError.NOT_CONTROLLER, ())
            self.work.effects.send(source, not_shut_down)
        elif name in ("elect_leaders", "reassign"):
            refuse(self.work, *arguments)

    def begin(self) -> None:
        """Start as the controller of a formed cluster, with its context already filled."""
        for broker in self.work.context.brokers:
            self.channels.add(broker, connected=True)
        begin_rebalancing(self.work)

    def elect(self, partition: str, *, unclean: bool) -> KafkaError:
        """Queue an administrator's election without a response; return an error if it cannot succeed.

        Unclean elections are possible even before 2.4, where an administrator first had to allow them and then to move
        the controller.
        """
        error = needed(self.work.context, partition, unclean=unclean)
        if error is KafkaError.NONE:
            self.lane.put("elect_directly", partition, unclean)
        return error

    # -- external events --------------------------------------------------------------------------------------------

    def configured(self, settings: Settings) -> None:
        """The broker's dynamic configuration changed to these settings; all others have their static values."""
        self._dynamic_config = settings
        self.lane.put("defaults_changed", settings)

    def session_began(self) -> None:
        """A new session began: take part in the election."""
        self.lane.put("reelect")

    def expired(self) -> None:
        """The session expired: the task in progress fails, and this is no longer the controller (``Expire``)."""
        self.lane.abandon()
        self.work.context.defaults = dict(self._dynamic_config)
        resign(self.work)

    def stopped(self) -> None:
        """The process died."""
        self.lane.abandon()
        self._dynamic_config = ()
        self.channels.stopped()
        self.work.batch.clear()
        self.work.context.load(ControllerContext().save())

    def watched(self, path: str) -> bool:
        """Handle a watch that fired; False if it is not one of the controller."""
        if path in _WATCHED:
            self.lane.put(_WATCHED[path])
        elif partition_at(path):
            self.lane.put("state_change", partition_at(path))
        elif path.startswith(f"{TOPICS}/"):
            self.lane.put("partitions_change", path.rpartition("/")[2])
        else:
            return False
        return True

    def on_timer(self, timer: Payload) -> bool:
        """Handle a timer; False if it is not one of the controller."""
        name = timer[0]
        if name == RETRY:
            self.channels.on_retry(timer[1])
        elif name == TIMEOUTS:
            self.channels.on_timeouts()
        elif name == REBALANCE:
            if self.is_active and self.work.context.epoch == timer[1]:
                self.lane.put("rebalance")
                self._port.timer(self.work.settings.rebalance_us, REBALANCE, timer[1])
        else:
            return False
        return True

    def responded(self, source: int, response: ControlResponse) -> None:
        """Handle a broker's response to a request."""
        self.channels.receive(source, response)

    def _on_response(self, broker: int, request: ControlRequest, response: ControlResponse) -> None:
        if isinstance(request, StopReplicaRequest) and isinstance(response, StopReplicaResponse):
            deleted = [stopped.partition for stopped in request.partitions if stopped.delete]
            answers = tuple([(name, error) for name, error in response.partitions if name in deleted])
            if answers and not response.error:
                self.lane.put("stopped", broker, answers)

    def alter_partitions(self, source: int, request: AlterPartitionsRequest) -> None:
        """Queue a broker's AlterPartition request."""
        self.lane.put("alter_partition", source, request)

    def controlled_shutdown(self, source: int, request: ControlledShutdownRequest) -> None:
        """Queue a broker's controlled shutdown."""
        self.lane.put("controlled_shutdown", source, request)

    def save(self) -> tuple[Any, ...]:
        """Return all state, for a snapshot."""
        return (self.lane.save(), self.channels.save(), self._dynamic_config)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state that :meth:`save` returned."""
        lane, channels, self._dynamic_config = saved
        self.work.batch.clear()
        self.lane.load(lane)
        self.channels.load(channels)
