"""Trace events of an incident in one order: the metadata log's, and those that the partition logs add.

Events of the metadata log keep their order. A batch is placed at its timestamp, but never before the election of its
leader epoch: timestamps are the clock of the producer or broker that set them, and clocks of hosts differ.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cluster_model.protocol.events import (
    Appended,
    BecameLeader,
    BrokerFenced,
    LeaderElected,
    PartitionCreated,
    RecordsAcked,
    RecordsSent,
    TraceEvent,
)
from kafka_logs.client_history import AckedRecord
from kafka_logs.incident import Incident, PartitionEvidence, batch_us, end_us
from kafka_logs.losses import UNKNOWN_CLIENT, truncations


class _OrderedEvent(NamedTuple):
    """An event with its place in the order."""

    at_us: int
    rank: int
    number: int
    event: TraceEvent


_AT_START, _METADATA, _APPEND, _CLIENT, _AFTER = range(5)


def events_of(incident: Incident) -> list[TraceEvent]:
    """Return all events of an incident in order, with their branches of the log."""
    placed = [*_at_start(incident), *_metadata_events(incident)]
    last_us = end_us(incident)
    for evidence in incident.partitions.values():
        placed += _log_events(incident, evidence)
        placed += _loss_events(incident, evidence, last_us)
    events = [each.event for each in sorted(placed, key=lambda each: each[:3])]
    return _with_clients(incident, events)


def _at_start(incident: Incident) -> Iterator[_OrderedEvent]:
    """Yield the state that a snapshot has at time 0: fenced brokers, and leaders."""
    if not incident.metadata.snapshot:
        return
    number = 0
    for broker in incident.history.fenced_first:
        yield _OrderedEvent(0, _AT_START, (number := number + 1), BrokerFenced(0, broker, "before the first record"))
    for evidence in incident.partitions.values():
        first = evidence.life.terms[0]
        if evidence.life.from_snapshot and first.leader >= 0:
            start = evidence.epoch_start(first)
            event = BecameLeader(0, evidence.name, first.leader, first.epoch, start, -1)
            yield _OrderedEvent(0, _AT_START, (number := number + 1), event)


def _metadata_events(incident: Incident) -> Iterator[_OrderedEvent]:
    for number, event in enumerate(incident.history.events):
        partition = getattr(event, "partition", "")
        if partition and not incident.includes(partition):
            continue
        at_us = event.values()[0]
        yield _OrderedEvent(at_us, _METADATA, 2 * number, event)
        if isinstance(event, LeaderElected | PartitionCreated) and event.leader >= 0:
            evidence = incident.partitions.get(partition)
            term = evidence.life.term(event.leader_epoch) if evidence is not None else None
            start = evidence.epoch_start(term) if evidence is not None and term is not None else -1
            became = BecameLeader(at_us, partition, event.leader, event.leader_epoch, start, -1)
            yield _OrderedEvent(at_us, _METADATA, 2 * number + 1, became)


def _log_events(incident: Incident, evidence: PartitionEvidence) -> Iterator[_OrderedEvent]:
    reference = evidence.reference
    if reference is None:
        return
    parts = [(reference, reference.start, reference.end)]
    seen: set[tuple[int, int, int]] = set()
    for each in evidence.divergences:
        if not each.same_epoch and (each.epoch, each.start, each.end) not in seen:
            seen.add((each.epoch, each.start, each.end))
            parts.append((evidence.logs[each.broker], each.start, each.end))
    for log, span in evidence.truncated:
        if span not in seen and all(
            log.epoch_at(span.start) != each.epoch_at(span.start) for each in evidence.logs.values()
        ):
            seen.add(span)
            parts.append((log, span.start, span.end))
    for log, start, end in parts:
        for batch in log.appended(start, end):
            term = evidence.life.term(batch.epoch)
            since_us = term.since_us if term is not None else 0
            at_us = max(since_us, batch_us(incident, batch.at_ms))
            client = f"producer id {batch.producer_id}" if batch.producer_id >= 0 else UNKNOWN_CLIENT
            event = Appended(
                at_us, evidence.name, term.leader if term is not None else log.node, batch.epoch, batch.log_offset,
                batch.records, client, batch.sequence, -1,
            )  # fmt: skip
            yield _OrderedEvent(at_us, _APPEND, batch.log_offset, event)


def _loss_events(incident: Incident, evidence: PartitionEvidence, last_us: int) -> Iterator[_OrderedEvent]:
    ranges = [each.lost for each in evidence.losses]
    for event in truncations(ranges, evidence.logs, evidence.truncated, evidence.life, incident.history):
        yield _OrderedEvent(event.values()[0], _AFTER, 0, event)
    for number, each in enumerate(evidence.losses, 1):
        for event in each.events(last_us):
            yield _OrderedEvent(event.values()[0], _AFTER, number, event)


# Clients.


def _with_clients(incident: Incident, events: list[TraceEvent]) -> list[TraceEvent]:
    """Return the events with those of the clients' history, which name the branch of the log that was acknowledged."""
    if incident.clients is None:
        return events
    branches = log_branches(events)
    fresh: list[_OrderedEvent] = []
    for number, record in enumerate(incident.clients.acked):
        if record.partition in incident.partitions:
            fresh += _client_events(incident, record, number, branches)
    order = [_OrderedEvent(each.values()[0], _METADATA, number, each) for number, each in enumerate(events)]
    return [each.event for each in sorted((*order, *fresh), key=lambda each: each[:3])]


def _client_events(
    incident: Incident, record: AckedRecord, number: int, branches: dict[tuple[str, int], int]
) -> Iterator[_OrderedEvent]:
    origin_us = incident.history.origin_ms * 1000
    sent_us, acked_us = max(0, record.sent_us - origin_us), max(0, record.acked_us - origin_us)
    acks = incident.clients.acks_of(record.client) if incident.clients is not None else -1
    life = incident.partitions[record.partition].life
    lost = next(
        (each.lost for each in incident.partitions[record.partition].losses
         if each.lost.client == record.client and each.lost.start <= record.offset < each.lost.end
         and each.lost.number <= record.number < each.lost.number + each.lost.records), None,
    )  # fmt: skip
    reference = incident.partitions[record.partition].reference
    epoch = lost.epoch if lost is not None else reference.epoch_at(record.offset) if reference is not None else -1
    term = life.term(epoch)
    branch = branches.get((record.partition, epoch), -1)
    sent = RecordsSent(sent_us, record.client, record.partition, record.number, 1, acks)
    acked = RecordsAcked(
        acked_us, record.client, record.partition, record.number, 1, acks, term.leader if term is not None else -1,
        epoch, record.offset, max(0, acked_us - sent_us), branch,
    )  # fmt: skip
    yield _OrderedEvent(sent_us, _CLIENT, 2 * number, sent)
    yield _OrderedEvent(acked_us, _CLIENT, 2 * number + 1, acked)


def log_branches(events: list[TraceEvent]) -> dict[tuple[str, int], int]:
    """Return (partition, leader epoch) → branch of the log, numbered by partition in the order of first appends."""
    branches: dict[tuple[str, int], int] = {}
    known: dict[str, int] = {}
    for event in events:
        if isinstance(event, Appended) and (event.partition, event.leader_epoch) not in branches:
            branches[event.partition, event.leader_epoch] = known.get(event.partition, 0)
            known[event.partition] = known.get(event.partition, 0) + 1
    return branches
