"""Collection of a run's evidence: log directories of all nodes, metadata records, and the history of all clients."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.real_kafka import history
from tests.real_kafka.real_cluster import RealCluster


def collect(cluster: RealCluster, output: Path) -> None:
    """Write logs, metadata records and clients' history. All processes have ended."""
    for server in cluster.servers.values():
        server.copy_logs(output / history.NODES / str(server.node) / "log")
    start_us = cluster.start_unix_us
    history.write_events(output / history.METADATA, (_metadata(record, start_us) for record in cluster.view.records()))
    files = sorted((output / history.PROCESSES).glob("*.jsonl"))
    events = [event for file in files for event in history.read_events(file)]
    history.write_events(output / history.CLIENTS, history.relative_events(events, start_us))
    for file in files:
        file.unlink()
    steps = output / history.STEPS
    if steps.exists():
        history.write_events(steps, sorted(history.read_events(steps), key=lambda event: int(event["at_us"])))


def _metadata(record: Mapping[str, Any], start_us: int) -> dict[str, Any]:
    kept = {name: record[name] for name in ("offset", "epoch", "type", "version", "data")}
    return {"at_us": int(record["timestamp_ms"]) * 1_000 - start_us, **kept}
