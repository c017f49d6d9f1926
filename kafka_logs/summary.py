"""Summary of an import for people and programs: nodes, elections, divergence, and what could not be read."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kafka_logs.incident import Incident, PartitionEvidence, end_us
from kafka_logs.metadata_history import LeaderTerm
from kafka_logs.replica_logs import Divergence

FORMAT: Final = 1


def summary_of(incident: Incident) -> dict[str, Any]:
    """Return the summary as a JSON object, which ``imported.json`` holds."""
    history, metadata = incident.history, incident.metadata
    terms = [(each.name, term) for each in incident.partitions.values() for term in each.life.terms[1:]]
    elections = [(name, term) for name, term in terms if term.leader >= 0]
    began = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=history.origin_ms)
    return {
        "format": FORMAT,
        "cluster_id": next((node.cluster_id for node in incident.logs.nodes.values() if node.cluster_id), ""),
        "features": dict(sorted(history.features.items())),
        "began": began.isoformat(timespec="milliseconds"),
        "end_us": end_us(incident),
        "nodes": sorted(incident.logs.nodes),
        "brokers": sorted(history.brokers),
        "controllers": history.controllers,
        "metadata": {
            "node": metadata.node, "start_offset": metadata.start, "end_offset": metadata.end,
            "unknown_records": dict(sorted(metadata.unknown.items())),
        },
        "topics": len({each.name.rpartition("-")[0] for each in incident.partitions.values()}),
        "partitions": len(incident.partitions),
        "partitions_without_logs": [
            each.name for each in incident.partitions.values() if not each.logs and not each.name.startswith("__")
        ],
        "elections": len(elections),
        "unclean_elections": [_election(name, term) for name, term in elections if not term.clean],
        "offline": sum(term.leader < 0 for _name, term in terms),
        "losses": [_loss(evidence, number) for evidence in incident.partitions.values()
                   for number in range(len(evidence.losses))],
        "records": {"missing": incident.lost_records["missing"], "lost": incident.lost_records["lost"]},
        "diverged": [_diverged(each) for evidence in incident.partitions.values() for each in evidence.uncertain],
        "damage": [_damage(incident, number) for number in range(len(incident.damage))],
        "set_aside": incident.logs.set_aside,
    }  # fmt: skip


def _election(name: str, term: LeaderTerm) -> dict[str, Any]:
    return {
        "partition": name,
        "at_us": term.since_us,
        "leader": term.leader,
        "epoch": term.epoch,
        "isr_and_elr_before": list(term.isr_before),
        "last_known_leader": term.last_known,
        "reason": term.reason,
    }


def _loss(evidence: PartitionEvidence, number: int) -> dict[str, Any]:
    loss = evidence.losses[number]
    lost = loss.lost
    return {
        "partition": lost.partition,
        "kind": lost.kind,
        "client": lost.client,
        "records": lost.records,
        "offset": lost.start,
        "end_offset": lost.end,
        "epoch": lost.epoch,
        "committed": lost.committed,
        "held_by": list(lost.holders),
        "cause": loss.cause,
        "sentence": loss.sentence,
    }


def _diverged(divergence: Divergence) -> dict[str, Any]:
    return {
        "partition": divergence.partition,
        "broker": divergence.broker,
        "epoch": divergence.epoch,
        "offset": divergence.start,
        "end_offset": divergence.end,
        "records": divergence.records,
        "leader": divergence.leader,
        "leader_epoch": divergence.leader_epoch,
        "same_epoch": divergence.same_epoch,
    }


def _damage(incident: Incident, number: int) -> dict[str, Any]:
    damage = incident.damage[number]
    return {
        "file": damage.file.relative_to(incident.logs.path).as_posix(),
        "position": damage.position,
        "next_offset": damage.next_offset,
        "reason": damage.reason,
    }
