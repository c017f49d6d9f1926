"""Collection of a run's evidence: log directories of all nodes, metadata records, and the history of all clients."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.real_kafka import history
from tests.real_kafka.real_cluster import RealCluster

_INDEXES: Final = (".index", ".timeindex", ".txnindex", ".lock", ".cleaned", ".swap")
"""Files that say nothing that the logs do not."""


def copy_logs(source: Path, target: Path, *, metadata: bool = True) -> None:
    """Copy a node's log directory without its indexes; ``metadata``: its copy of the metadata log, too."""
    if not source.exists():
        return

    def left_out(directory: str, names: list[str]) -> set[str]:
        del directory
        unwanted = {name for name in names if name.endswith(_INDEXES)}
        return unwanted if metadata else unwanted | {history.METADATA_LOG}

    shutil.copytree(source, target, ignore=left_out, dirs_exist_ok=True)


def collect(cluster: RealCluster, output: Path) -> None:
    """Write logs, metadata records and clients' history. All processes have ended."""
    for server in cluster.servers.values():
        copy_logs(server.log_dir, output / history.NODES / str(server.node) / "log")
    start_us = cluster.start_unix_us
    history.write_events(output / history.METADATA, (_metadata(record, start_us) for record in cluster.view.records()))
    files = sorted((output / history.PROCESSES).glob("*.jsonl"))
    events = [event for file in files for event in history.read_events(file)]
    history.write_events(output / history.CLIENTS, history.relative_events(events, start_us))
    for file in files:
        file.unlink()


def _metadata(record: Mapping[str, Any], start_us: int) -> dict[str, Any]:
    kept = {name: record[name] for name in ("offset", "epoch", "type", "version", "data")}
    return {"at_us": int(record["timestamp_ms"]) * 1_000 - start_us, **kept}
