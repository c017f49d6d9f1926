"""Facts of a playbook on the model: one session in this process."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from cluster_model.protocol.events import (
    CommitFailed,
    FaultInjected,
    GroupRebalanced,
    NodeDown,
    NodePaused,
    PartitionsAssigned,
    ProducerFenced,
    RecordsFailed,
    RecordsUnknown,
    StepTaken,
    TraceEvent,
)
from playbooks.engine.session import SLICE_US, Session
from playbooks.model import Playbook
from playbooks.results.result import SessionResult
from tests.real_kafka.conformance.observed import (
    Observed,
    ObservedGroup,
    ObservedPartition,
    ObservedProducer,
    add_cluster_events,
)

_BROKER: Final = re.compile(r"broker (\d+)")
_GENERATION: Final = re.compile(r"(?:generation|epoch) (\d+)")
_LINKS: Final = ("partition", "isolate", "flapping")


_PHASE_US: Final = 1_300
"""How much later producers begin with each next seed: real ones begin at any time before a fault, the model's at 0."""


def observe_model(playbook: Playbook, seed: int) -> Observed:
    """Run a playbook on the model; return what happened.

    Seeds begin at 1. They also shift the load against the faults, since a batch may or may not be under way then.
    """
    producers = [
        replace(producer, start_us=producer.start_us + (seed - 1) * _PHASE_US) for producer in playbook.spec.producers
    ]
    shifted = replace(playbook, spec=replace(playbook.spec, producers=tuple(producers)))
    session = Session.start(shifted, seed=seed)
    epochs = {name: record.state.leader_epoch for name, record in session.cluster.cluster_state.records.items()}
    events: list[TraceEvent] = []
    while session.advance(session.cluster.now_us + SLICE_US):
        events += _kept(session.drain())
    view = session.cluster.view()
    result = session.finish()
    events += _kept(session.drain())
    observed = Observed(playbook.name, f"model {playbook.spec.profile.name}, seed {seed}")
    for partition in view.partitions:
        if not partition.internal:
            observed.partitions[partition.name] = ObservedPartition()
    add_cluster_events(observed, events, epochs)
    coordinated = {group.name for group in playbook.spec.groups if group.coordinated}
    for group in view.groups:
        found = ObservedGroup(group.name in coordinated, lag=group.lag or 0)
        found.owners = {member: sorted(partitions) for member, partitions in group.assignment}
        observed.groups[group.name] = found
    _add_results(observed, result)
    _add_client_events(observed, events)
    return observed


_KEPT: Final = frozenset((
    "LeaderElected", "PartitionOffline", "IsrChanged", "ElrChanged", "AssignmentChanged", "BrokerFenced",
    "ControllerChanged", "CommitFailed", "FaultInjected", "GroupRebalanced", "NodeDown", "NodePaused",
    "PartitionsAssigned", "ProducerFenced", "RecordsFailed", "RecordsUnknown", "StepTaken",
))  # fmt: skip


def _kept(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    return [event for event in events if type(event).__name__ in _KEPT]


def _add_results(observed: Observed, result: SessionResult) -> None:
    for stats in result.ledger.clients:
        partition = observed.partitions.get(stats.partition)
        if partition is not None:
            partition.lost += max(stats.missing, stats.acked_lost)
            partition.duplicates += stats.duplicates
    for producer in result.clients.producers:
        found = ObservedProducer(producer.acked, sorted(set(dict(producer.errors)) - {_DIED}))
        found.committed, found.aborted = producer.transactions_committed, producer.transactions_aborted
        observed.producers[producer.name] = found
    for group in result.clients.groups:
        known = observed.groups.setdefault(group.name, ObservedGroup())
        known.reread, known.skipped = group.reread, group.skipped


def _add_client_events(observed: Observed, events: Iterable[TraceEvent]) -> None:
    generations: dict[tuple[str, bool], set[str]] = {}  # by group, and whether the first step has been taken
    acted = False
    for event in events:
        at_ms = int(event.values()[0]) // 1_000
        if isinstance(event, NodeDown | NodePaused) and event.broker >= 0:
            observed.stopped.append([at_ms, event.broker])
        elif isinstance(event, FaultInjected) and event.fault in _LINKS:
            observed.stopped += [[at_ms, int(number)] for number in _BROKER.findall(event.target)]
        elif isinstance(event, StepTaken):
            acted = True
        elif isinstance(event, GroupRebalanced | PartitionsAssigned):
            match = _GENERATION.search(event.detail)
            if match:
                generations.setdefault((event.group_id, acted), set()).add(match[1])
        elif isinstance(event, CommitFailed) and event.by in ("sync", "async"):  # the client only logs others
            _add_error(observed.groups[event.group_id].commit_errors, event.error)
        elif isinstance(event, ProducerFenced | RecordsFailed | RecordsUnknown) and event.client in observed.producers:
            _add_error(observed.producers[event.client].errors, event.error)
    for name, group in observed.groups.items():
        group.rebalances = len(generations.get((name, True), set()) - generations.get((name, False), set()))


_DIED: Final = "process died"
"""Error of records whose producer was killed: no client receives it."""


def _add_error(errors: list[str], error: str) -> None:
    if error not in ("", _DIED) and error not in errors:
        errors.append(error)
        errors.sort()
