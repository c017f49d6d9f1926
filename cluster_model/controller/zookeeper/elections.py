"""Elections that are not for want of a leader: preferred ones, an administrator's, and for a broker that stops."""

from collections.abc import Generator
from typing import Any

from cluster_model.controller.rules.change import Change
from cluster_model.controller.rules.rebalance import imbalanced_zk
from cluster_model.controller.rules.zk_partition_changes import controlled_shutdown_election, preferred_election
from cluster_model.controller.zookeeper import replica_states, state_machines
from cluster_model.controller.zookeeper.controller_context import ControllerContext
from cluster_model.controller.zookeeper.controller_work import Doing, Failures, Work
from cluster_model.controller.zookeeper.messages import ControlledShutdownRequest, ControlledShutdownResponse
from cluster_model.controller.zookeeper.zk import Answer
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, PartitionState

Verdicts = Generator[tuple[Any, ...], tuple[Answer, ...], dict[str, KafkaError]]


def preferred(work: Work, names: list[str], by: str) -> Failures:
    """The first replica of each, where it is live and in sync."""
    context = work.context

    def decide(state: PartitionState) -> Change | KafkaError:
        change = preferred_election(state, live=context.is_live, by=by)
        return change if change is not None else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE

    failed = yield from state_machines.elect(work, names, decide)
    work.flush()
    return failed


def asked(work: Work, names: tuple[str, ...], *, unclean: bool) -> Verdicts:
    """An administrator's ELECT_LEADERS (KIP-460): what came of each; without names, of those that needed one."""
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
    """NONE if an election is worth trying, by what the controller knows."""
    state = context.partitions.get(partition)
    if state is None or context.is_deleting(partition):
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    if not context.decided(partition):
        return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if unclean:
        if state.leader != NOBODY and context.is_live(state.leader):
            return KafkaError.ELECTION_NOT_NEEDED
        live = any(context.is_live(broker) for broker in state.replicas)
        return KafkaError.NONE if live else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE
    first = state.replicas[0]
    if state.leader == first:
        return KafkaError.ELECTION_NOT_NEEDED
    able = context.is_live(first) and first in state.isr
    return KafkaError.NONE if able else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE


def rebalance(work: Work) -> Doing:
    """Give leaderships back to preferred replicas where more than a tenth of a broker's are elsewhere."""
    context = work.context
    states = [state for name, state in context.partitions.items() if not context.is_deleting(name)]
    names = imbalanced_zk(states, live=context.is_live, percentage=work.settings.imbalance_percentage)
    if names:
        yield from preferred(work, names, "auto leader rebalance")


def controlled_shutdown(work: Work, source: int, request: ControlledShutdownRequest) -> Doing:
    """Move what a broker leads, and take it out of the ISRs of what it follows; tell it what it still leads."""
    context = work.context
    broker = request.broker
    known = context.brokers.get(broker)
    if known is None:
        _refuse(work, source, request, KafkaError.BROKER_NOT_AVAILABLE)
        return
    if work.profile.bounce_detected and request.broker_epoch != known.epoch:
        _refuse(work, source, request, KafkaError.STALE_BROKER_EPOCH)
        return
    context.shutting_down[broker] = None
    mine = [
        state
        for name, state in context.partitions.items()
        if broker in state.replicas and len(state.replicas) > 1 and context.decided(name)
        and not context.is_deleting(name)
    ]  # fmt: skip
    led = [state.partition for state in mine if state.leader == broker]
    followed = [state.partition for state in mine if state.leader != broker]

    def decide(state: PartitionState) -> Change | KafkaError:
        change = controlled_shutdown_election(
            state,
            live=lambda each: each in context.brokers,
            stopping=lambda each: each in context.shutting_down,
            by=f"controlled shutdown of broker {broker}",
        )
        return change if change is not None else KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE

    yield from state_machines.elect(work, led, decide, shutting_down_too=True)
    work.flush()
    for name in followed:
        work.batch.stop(broker, name, delete=False)
    work.flush()
    pairs = [(name, broker) for name in followed]
    yield from replica_states.to_offline(work, pairs, f"controlled shutdown of broker {broker}")
    work.flush()
    remaining = tuple(name for name in led if context.partitions[name].leader == broker)
    work.hands.send(source, ControlledShutdownResponse(request.correlation, KafkaError.NONE, remaining))


def _refuse(work: Work, source: int, request: ControlledShutdownRequest, error: KafkaError) -> None:
    work.hands.send(source, ControlledShutdownResponse(request.correlation, error, ()))
