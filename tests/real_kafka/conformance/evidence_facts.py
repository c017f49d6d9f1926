"""Facts of a playbook on real brokers, from the evidence that a run leaves behind."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cluster_model.protocol.events import TraceEvent
from kafka_logs.log_directory import find_logs, segments_in
from kafka_logs.metadata_history import MetadataHistory, history_of
from kafka_logs.metadata_log import read_metadata_log
from kafka_logs.segments import ABORT, records_of
from tests.real_kafka import history
from tests.real_kafka.conformance.observed import (
    SHUT_DOWN,
    Observed,
    ObservedGroup,
    ObservedPartition,
    ObservedProducer,
    add_cluster_events,
)
from tests.real_kafka.history import Event

_LINKS: Final = ("partition", "isolate", "flapping")


@dataclass(slots=True)
class RealLog:
    """Final log of a partition's leader: names of its records, in order of offsets."""

    start: int = 0
    end: int = 0
    records: dict[int, str] = field(default_factory=dict)
    """Offset → name of the record."""
    aborted: set[int] = field(default_factory=set)
    """Offsets of records in aborted transactions."""


def observe_evidence(directory: Path) -> Observed:
    """Return what happened in a run on real brokers.

    Raises:
        OSError: a file of the evidence is missing.
        ValueError: one is invalid; the message names it.
        KafkaLogsError: the metadata log cannot be read.
    """
    run = json.loads((directory / history.RUN).read_text(encoding="utf-8"))
    steps = list(history.read_events(directory / history.STEPS))
    clients = list(history.read_events(directory / history.CLIENTS))
    observed = Observed(run["playbook"], f"Kafka {run['release']}")
    metadata = history_of(read_metadata_log(find_logs(directory)))
    shift_us = metadata.origin_ms * 1_000 - int(run["start_unix_us"])
    settled_us = int(run["end_us"])
    epochs = _first_epochs(metadata, shift_us)
    for name in metadata.partitions:
        if not name.startswith("__"):
            observed.partitions[name] = ObservedPartition()
    add_cluster_events(observed, _moved(metadata.events, shift_us, settled_us), epochs)
    _add_stops(observed, steps)
    _correct_reasons(observed, steps)
    logs = {name: read_log(directory, name, life.state.leader) for name, life in metadata.partitions.items()
            if not name.startswith("__")}  # fmt: skip
    for name in run["producers"]:
        observed.producers[name] = ObservedProducer()
    for name in run["groups"]:
        observed.groups[name] = ObservedGroup()
    _add_records(observed, clients, logs)
    _add_producers(observed, clients)
    first_us = min((int(event["at_us"]) for event in steps if event["event"] == "step"), default=0)
    for name, group in observed.groups.items():
        own = [event for event in clients if str(event["client"]).rpartition("/")[0] == name]
        _add_group(group, own, logs, first_us)
        group.skipped += deleted_unread(own, clients, logs)
    return observed


def _first_epochs(metadata: MetadataHistory, shift_us: int) -> dict[str, int]:
    """Return the leader epoch of each partition at the beginning of the scenario."""
    return {
        name: max((term.epoch for term in life.terms if term.since_us + shift_us <= 0), default=0)
        for name, life in metadata.partitions.items()
    }


def _moved(events: Iterable[TraceEvent], shift_us: int, until_us: int) -> list[TraceEvent]:
    """Return events with times since the beginning of the scenario, up to a time."""
    found = []
    for event in events:
        at_us, *rest = event.values()
        if int(at_us) + shift_us <= until_us:
            found.append(type(event)(int(at_us) + shift_us, *rest))  # type: ignore[call-arg]
    return found


def _add_stops(observed: Observed, steps: Iterable[Event]) -> None:
    for event in steps:
        nodes: list[str] = []
        if event["event"] == "process" and event["action"] in ("killed", "terminated", "paused"):
            nodes = [event["node"]]
        elif event["event"] == "step" and event["name"] in _LINKS and event["outcome"] == "taken":
            nodes = event["nodes"]
        for node in nodes:
            kind, _, number = str(node).rstrip(")").partition("(")
            if kind == "broker":
                observed.stopped.append([int(event["at_us"]) // 1_000, int(number)])


def _correct_reasons(observed: Observed, steps: Iterable[Event]) -> None:
    """Set the reason of brokers that were fenced right after their shutdown began.

    The controller writes no record of a controlled shutdown for a broker that leads nothing: it is fenced at once.
    """
    begun = [
        (int(event["at_us"]) // 1_000, str(event["node"]))
        for event in steps
        if event["event"] == "process" and event["action"] == "terminated"
    ]
    for fenced in observed.fenced:
        at, broker, _reason = fenced
        if any(node == f"broker({broker})" and 0 <= at - begin < _SHUTDOWN_MS for begin, node in begun):
            fenced[2] = SHUT_DOWN


_SHUTDOWN_MS: Final = 5_000
"""Time in which a controlled shutdown is complete; no session ends so soon."""


# Logs and records.


def read_log(directory: Path, partition: str, leader: int) -> RealLog:
    """Return the leader's log; without a leader, or its log, an empty one."""
    found = RealLog()
    log_directory = directory / history.NODES / str(leader) / "log"
    if leader < 0 or not (log_directory / partition).is_dir():
        return found
    segments = segments_in(log_directory / partition)
    found.start = min((segment.base_offset for segment in segments), default=0)
    found.end = max((segment.base_offset for segment in segments), default=0)  # the last one may be empty
    open_offsets: dict[int, list[int]] = {}  # by producer id
    for segment in segments:
        for batch, raw in segment.batches():
            found.end = batch.end_offset
            records = records_of(batch, raw)
            if batch.control:
                ended = open_offsets.pop(batch.producer_id, [])
                found.aborted.update(ended if records[0].control_type == ABORT else ())
                continue
            if batch.transactional:
                open_offsets.setdefault(batch.producer_id, []).extend(record.offset for record in records)
            for record in records:
                found.records[record.offset] = (record.value or b"").partition(b" ")[0].decode(errors="replace")
    starts = log_directory / "log-start-offset-checkpoint"
    if starts.is_file():
        for line in starts.read_text(encoding="utf-8").splitlines()[2:]:
            topic, number, offset = line.split()
            if f"{topic}-{number}" == partition:
                found.start = max(found.start, int(offset))
    return found


def _add_records(observed: Observed, clients: Iterable[Event], logs: Mapping[str, RealLog]) -> None:
    """Count acknowledged records that the leader's log lacks, and names that it has more than once."""
    names = {partition: set(log.records.values()) for partition, log in logs.items()}
    for event in clients:
        if event["event"] != "acked" or event["partition"] not in logs:
            continue
        observed.producers[str(event["client"])].acked += 1
        partition, name = str(event["partition"]), f"{event['client']}:{event['number']}"
        deleted = 0 <= int(event["offset"]) < logs[partition].start
        if name not in names[partition] and not deleted:
            observed.partitions[partition].lost += 1
    for partition, log in logs.items():
        observed.partitions[partition].duplicates = len(log.records) - len(names[partition])


# Clients.


def _add_producers(observed: Observed, clients: Iterable[Event]) -> None:
    for event in clients:
        producer = observed.producers.get(str(event["client"]))
        if producer is None:
            continue
        kind = event["event"]
        if kind == "transaction":
            producer.committed += event["action"] == "committed"
            producer.aborted += event["action"] == "aborted"
        if kind in ("failed", "error") or (kind == "transaction" and event["action"] == "failed"):
            _add_error(producer.errors, _error(event))


def _error(event: Event) -> str:
    return str(event["error"]) if event.get("error", "NONE") != "NONE" else str(event.get("exception", ""))


def _add_error(errors: list[str], error: str) -> None:
    if error and error not in errors:
        errors.append(error)
        errors.sort()


def _add_group(group: ObservedGroup, events: list[Event], logs: Mapping[str, RealLog], first_us: int) -> None:
    committed: dict[str, int] = {}
    seen: dict[tuple[str, int, str], int] = {}
    committed_alone = False
    earlier: set[int] = set()
    later: set[int] = set()
    for event in events:
        kind, member = event["event"], str(event["client"])
        if kind == "committed":
            committed.update({str(name): int(offset) for name, offset in event["offsets"].items()})
        elif kind == "commit_failed":
            _add_error(group.commit_errors, _error(event))
        elif kind == "polled":
            for partition, offset, _epoch, name in event["records"]:
                seen[partition, offset, name] = seen.get((partition, offset, name), 0) + 1
        elif kind == "assigned":
            group.owners[member] = sorted(event["owned"])
            (later if int(event["at_us"]) >= first_us else earlier).add(int(event["generation"]))
        elif kind in ("revoked", "lost"):
            gone = set(event["partitions"])
            group.owners[member] = [name for name in group.owners.get(member, []) if name not in gone]
        elif kind == "started":
            group.owners[member] = []
            group.coordinated = "group.id" in event["config"]
            committed_alone = event["config"].get("isolation.level") == "read_committed"
    group.rebalances = len(later - earlier)
    group.reread = sum(times - 1 for times in seen.values())
    group.lag = sum(log.end - max(committed.get(name, 0), log.start) for name, log in logs.items())
    group.skipped = skipped_records(seen, logs, without_aborted=committed_alone)


def skipped_records(
    seen: Mapping[tuple[str, int, str], int], logs: Mapping[str, RealLog], *, without_aborted: bool
) -> int:
    """Return how many records below the group's positions it never received."""
    positions: dict[str, int] = {}
    for partition, offset, _name in seen:
        positions[partition] = max(positions.get(partition, 0), offset)
    return sum(
        (partition, offset, name) not in seen
        for partition, log in logs.items()
        for offset, name in log.records.items()
        if offset < positions.get(partition, 0) and not (without_aborted and offset in log.aborted)
    )


def deleted_unread(own: Iterable[Event], clients: Iterable[Event], logs: Mapping[str, RealLog]) -> int:
    """Return how many acknowledged records below the group's positions were deleted before it received them."""
    read: dict[str, set[int]] = {}
    for event in own:
        for partition, offset, *_rest in event["records"] if event["event"] == "polled" else ():
            read.setdefault(partition, set()).add(offset)
    bounds = {partition: min(logs[partition].start, max(offsets)) for partition, offsets in read.items()}
    acked = {(event["partition"], int(event["offset"])) for event in clients if event["event"] == "acked"}
    return sum(0 <= offset < bounds.get(partition, 0) and offset not in read[partition] for partition, offset in acked)
