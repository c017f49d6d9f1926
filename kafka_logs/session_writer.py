"""Writer of an imported session: the files of a recorded one, with ``source`` ``kafka`` and no playbook to run.

The same logs and options give the same bytes, session id included: its times are those of the cluster.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from cluster_model.checker.anomalies import FinalReadRange
from cluster_model.checker.ledger import HELD, LOST, RecordRange
from cluster_model.protocol.events import SCHEMA_VERSION, TraceEvent
from cluster_model.util.ranges import Range
from kafka_logs.cluster_views import cluster_view, profile_of
from kafka_logs.incident import Incident, PartitionEvidence, end_us, topic_of
from kafka_logs.segments import KafkaLogsError
from kafka_logs.session_events import events_of, log_branches
from kafka_logs.summary import summary_of
from playbooks.recording.event_codec import encode
from playbooks.results.result import CollectedEvents, SessionResult, build_result
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem, write_whole
from playbooks.version import VERSION

PLAYBOOK: Final = """\
# Imported from the logs of a real Kafka cluster: there is no playbook, and nothing to run again.
# imported.json describes the logs; floodmark open and floodmark report read the session.
"""
REASON: Final = "imported from Kafka's logs: nothing was expected of it"


def write_session(incident: Incident, parent: Path, *, name: str) -> Path:
    """Write the session of an incident below ``parent`` and return its directory.

    Raises:
        KafkaLogsError: It exists already, or the directory cannot be written.
    """
    events = events_of(incident)
    lines = encode(0, events)
    digest = hashlib.blake2b(lines, digest_size=16).hexdigest()
    began = _wall(incident, 0)
    session_id = session_files.session_name(began, name, 0, digest[:4])
    path = session_files.directory_of(parent, session_id)
    if path.exists():
        raise KafkaLogsError(
            f"{path}: these logs are imported already; open it, or remove the directory first", code="imported_already"
        )
    result = _result(incident, events, digest, name=name, session=str(path))
    try:
        _write(incident, path, lines, _start(incident, session_id, name), result, events)
    except OSError as error:
        raise KafkaLogsError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
    return path


def _write(
    incident: Incident,
    path: Path,
    lines: bytes,
    start: Mapping[str, Any],
    result: SessionResult,
    events: Sequence[TraceEvent],
) -> None:
    from playbooks.recording.seal import seal  # noqa: PLC0415 - pyarrow takes half a second to import

    disk = FileSystem()
    path.mkdir(parents=True)
    write_whole(disk, path / session_files.PLAYBOOK, PLAYBOOK.encode())
    write_whole(disk, path / session_files.EVENTS, lines)
    write_whole(disk, path / session_files.ACTIONS, b"")
    write_whole(disk, path / session_files.IMPORTED, _json(summary_of(incident)))
    write_whole(disk, path / session_files.START, _json(start))
    seal(path, result, _Survey(incident, events), wall_end=_iso(_wall(incident, end_us(incident))), disk=disk)


def _json(document: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _wall(incident: Incident, at_us: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=incident.history.origin_ms, microseconds=at_us)


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def _start(incident: Incident, session_id: str, name: str) -> dict[str, Any]:
    history = incident.history
    racks = {each.id: each.rack for each in history.brokers.values()}
    replicas = {broker for each in incident.partitions.values() for broker in each.life.state.replicas}
    producers = sorted({each.client for each in incident.clients.acked}) if incident.clients is not None else []
    return {
        "format": session_files.FORMAT,
        "schema_version": SCHEMA_VERSION,
        "tool_version": VERSION,
        "session_id": session_id,
        "playbook": name,
        "title": f"Imported from the logs of a Kafka cluster, {_cluster(incident)}",
        "seed": 0,
        "profile": profile_of(incident),
        "wall_start": _iso(_wall(incident, 0)),
        "live": False,
        "settings": {},
        "topics": _topics(incident),
        "brokers": [{"id": broker, "rack": racks.get(broker, "")} for broker in sorted({*racks, *replicas})],
        "producers": [
            {"name": each, "topic": "", "acks": incident.clients.acks_of(each) if incident.clients else -1}
            for each in producers
        ],
        "groups": [],
        "readers": {},
        "service_bounds": {},
        "controller": f"controller {history.first_controller}" if history.first_controller >= 0 else "",
        "source": session_files.KAFKA,
    }


def _cluster(incident: Incident) -> str:
    ids = [node.cluster_id for node in incident.logs.nodes.values() if node.cluster_id]
    return f"cluster id {ids[0]}" if ids else "cluster id unknown"


def _topics(incident: Incident) -> list[dict[str, Any]]:
    """Return the topics with the first assignment of each partition; internal topics come last."""
    by_topic: dict[str, list[PartitionEvidence]] = {}
    for each in sorted(incident.partitions.values(), key=lambda each: each.name.startswith("__")):
        by_topic.setdefault(topic_of(each.name), []).append(each)
    states = incident.history.first_states
    return [
        {
            "name": topic,
            "partitions": len(partitions),
            "replication": max(len(states[each.name].replicas) for each in partitions),
            "min_isr": incident.history.min_isr(topic),
            "assignment": {each.name: list(states[each.name].replicas) for each in partitions},
            "default_min_isr": 1,
        }
        for topic, partitions in by_topic.items()
    ]


def _result(incident: Incident, events: Sequence[TraceEvent], digest: str, *, name: str, session: str) -> SessionResult:
    collected = CollectedEvents.none({})
    collected.take(list(events))
    result = build_result(
        playbook=name,
        title=f"Imported from the logs of a Kafka cluster, {_cluster(incident)}",
        seed=0,
        checked=(),
        broken=False,
        reason=REASON,
        digest=digest,
        session=session,
        findings=collected,
        view=cluster_view(incident),
    )
    lives = {name: each.life for name, each in incident.partitions.items()}
    return result.with_findings(tuple(each.finding(lives[each.lost.partition]) for each in incident.losses))


class _Survey:
    """Locations of acknowledged records, of the clients' history, and what the leaders' logs hold."""

    def __init__(self, incident: Incident, events: Sequence[TraceEvent]) -> None:
        self._incident = incident
        self._branches = log_branches(list(events))

    def acknowledged(self) -> list[RecordRange]:
        """Return the acknowledged records, one range each."""
        incident = self._incident
        acked = []
        for record in incident.clients.acked if incident.clients is not None else ():
            evidence = incident.partitions.get(record.partition)
            if evidence is None or incident.clients is None:
                continue
            lost = next(
                (each for each in evidence.losses if each.lost.client == record.client
                 and each.lost.number <= record.number < each.lost.number + each.lost.records), None,
            )  # fmt: skip
            epoch = evidence.reference.epoch_at(record.offset) if evidence.reference is not None else -1
            acked.append(
                RecordRange(
                    record.partition, record.client, record.number, 1, incident.clients.acks_of(record.client),
                    record.offset, lost.lost.epoch if lost else epoch,
                    lost.lost.committed if lost else record.offset < evidence.high_watermark,
                    LOST if lost else HELD, lost.sentence if lost else "",
                )
            )  # fmt: skip
        return sorted(acked)

    def last_read(self) -> list[FinalReadRange]:
        """Return the leader's log of every partition except internal topics, by leader epoch."""
        reads = []
        for name, evidence in self._incident.partitions.items():
            log = evidence.reference
            if name.startswith("__") or log is None:
                continue
            parts = [
                FinalReadRange(name, True, log.start, self._branches.get((name, span.epoch), -1), span.start, span.end)
                for span in log.spans
                if span.end > log.start
            ]
            reads += parts or [FinalReadRange(name, True, log.start)]
        return reads

    def held_by_leader(self, partition: str) -> dict[str, list[Range]]:
        """Return nothing: no record without an acknowledgement is known."""
        del partition
        return {}
