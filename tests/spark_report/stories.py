"""Stories for renderers, told without Spark: one session with a bit of everything, names to choose."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_report.findings import COLUMNS
from spark_report.recorded import look_at
from spark_report.story import Story, tell
from spark_report.transforms import clients
from tests.support.sessions import leader_crash, write_session

HOSTILE = "</script><script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>\x1b[2J\u202e"
"""A name that tries every way out: of a script element, of an attribute, onto the network, into the terminal."""

SPAN = {"began_us": 5, "began_seq": 2, "ended_us": 9, "ended_seq": 4, "open": False, "began_by": "b", "ended_by": "e"}
_NUMBERS = {"records": 10, "min_us": 1, "p50_us": 2, "p95_us": 3, "p99_us": 3, "max_us": 4}


def story(tmp_path: Path, name: str = "orders-0", *, sessions: int = 1, **changed: list[dict[str, Any]]) -> Story:
    """A story whose every text is ``name``; ``changed`` replaces the rows of tables."""
    recorded = []
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in COLUMNS}
    for number in range(sessions):
        path = write_session(tmp_path, leader_crash(), session_id=f"s{number}", title=name, playbook=name)
        recorded.append(replace(look_at(path), end_us=20))
        for table, rows in {**_rows(name), **changed}.items():
            found[table] += [{"session_id": f"s{number}", **row} for row in rows]
    tables = {table: pa.Table.from_pylist(rows) for table, rows in found.items()}
    return tell(recorded, [], tables)


def _rows(name: str) -> dict[str, list[dict[str, Any]]]:
    when = {"at_us": 7, "seq": 3}
    where = {"partition": name, "client": name}
    state = {"leader": 1, "leader_epoch": 0, "isr": [1, 2], "min_isr": 1}
    cut = {"broker": 1, "leader_epoch": 1, "log_offset": 4, "end_offset": 5, "hw": 4, "rule": name}
    loss = {**when, **where, "sequence": 4, "count": 1, "log_offset": 4, "leader_epoch": 0, "acks": 1, "cause": name}
    counted = {"events": 5, "last_seq": 1982, "gapless": True, "acked": 10, "elections_clean": 1, "acked_lost": 1}
    bin_ = {"bin_began_us": 0, "bin_us": 10}
    return {
        "counts": [counted],
        "elections": [{**when, **state, "partition": name, "election": "clean", "by": name}],
        "isr_changes": [
            {**when, **state, "partition": name, "change": "shrink", "previous_isr": [1, 2, 3], "by": name}
        ],
        "losses": [
            {**loss, "fate": "missing", "committed": False},
            {**loss, "at_us": 20, "fate": "lost", "committed": True},
        ],
        "violations": [
            {
                **when,
                "invariant": name,
                "partition": name,
                "broker": 1,
                "detail": name,
                "cause": name,
                "log_offset": 3,
                "end_offset": 4,
                "leader_epoch": 1,
                "known": name,
            }
        ],
        "truncations": [{**when, "partition": name, **cut}],
        "expectations": [{**when, "rule": name, "ok": False, "detail": name}],
        "controllers": [{**when, "node": name, "broker": -1, "leader_epoch": 2}],
        "steps": [{**when, "by": name, "target": name, "detail": name, "error": name}],
        "guards": [{**when, "rule": name, "detail": "refused", "fault": name, "target": name, "cause": name}],
        "faults": [{**SPAN, "fault_id": 1, "fault": name, "target": name, "detail": name}],
        "partition_states": [{**SPAN, **state, "partition": name, "isr_size": 2}],
        "unavailability": [
            {**SPAN, **where, "scope": scope, "acks": 1, "began_by": name, "ended_by": name, "duration_us": 4}
            for scope in ("partition", "client")
        ],
        "producers": [
            {**dict.fromkeys(clients.PRODUCER, 3), "client": name, "failure": name},
        ],
        "groups": [{**dict.fromkeys(clients.GROUP, 4), "group_id": name}],
        "members": [{**dict.fromkeys(clients.MEMBER, 4), "group_id": name, "client": name, "failure": name}],
        "client_errors": [{"what": "refused", "client": name, "error": name, "times": 3}],
        "ledger": [{"term": "acked", "from_events": 10, "from_result": 10, "agrees": True}],
        "latency": [{**_NUMBERS, "what": "produce", "client": name, "phase": phase} for phase in ("all", "during")],
        "latency_series": [{**_NUMBERS, **bin_, "what": "produce", "client": name}],
    }
