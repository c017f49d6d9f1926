"""The controller hears of ISR changes: by notifications in ZooKeeper up to 2.6, by AlterPartition since (KIP-497)."""

from cluster_model.controller.rules.alter_partition import accept_zk, judge_zk
from cluster_model.controller.rules.change import Change
from cluster_model.controller.zookeeper import zk
from cluster_model.controller.zookeeper.controller_work import Doing, Work
from cluster_model.controller.zookeeper.kafka_zk_client import ISR_CHANGES
from cluster_model.controller.zookeeper.messages import AlterPartitionsRequest, AlterPartitionsResponse
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse


def notified(work: Work) -> Doing:
    """Leaders changed ISRs by themselves: read the states, tell everybody, and take the notes away."""
    context = work.context
    (listed,) = yield from work.ask([zk.children(ISR_CHANGES, watch=True)])
    paths = [f"{ISR_CHANGES}/{child}" for child in listed.children]
    answers = yield from work.ask([zk.get(path) for path in paths])
    changed = list(
        {name: None for answer in answers if answer.ok for name in answer.data if name in context.partitions}
    )
    if changed:
        yield from work.read_states(changed)
        work.update_metadata(context.reachable, changed)
    yield from work.write([zk.delete(path) for path in paths])


def proposed(work: Work, source: int, request: AlterPartitionsRequest) -> Doing:
    """A broker's leaders propose ISRs: judge, write under the version known, tell everybody, answer."""
    context = work.context
    epochs = {broker: known.epoch for broker, known in context.brokers.items()}
    if epochs.get(request.broker) != request.broker_epoch:
        refused = AlterPartitionsResponse(request.correlation, KafkaError.STALE_BROKER_EPOCH, ())
        work.hands.send(source, refused)
        return
    live = {broker: epoch for broker, epoch in epochs.items() if context.is_live(broker)}
    live[request.broker] = request.broker_epoch
    errors: dict[str, KafkaError] = {}
    changes: dict[str, Change] = {}
    for proposal in request.partitions:
        state = context.partitions.get(proposal.partition)
        known = None if state is None or not context.decided(proposal.partition) else state
        error = judge_zk(known, proposal, epochs=live, profile=work.profile)
        errors[proposal.partition] = error
        change = accept_zk(known, proposal) if known is not None and error is KafkaError.NONE else None
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
    work.hands.send(source, AlterPartitionsResponse(request.correlation, KafkaError.NONE, answers))


def _answer(work: Work, proposal: AlterPartitionRequest, error: KafkaError) -> AlterPartitionResponse:
    state = work.context.partitions.get(proposal.partition)
    if state is None or error:
        return AlterPartitionResponse(proposal.partition, error, proposal.leader_epoch, (), -1, proposal.correlation)
    return AlterPartitionResponse(
        proposal.partition, error, state.leader_epoch, state.isr, state.partition_epoch, proposal.correlation
    )
