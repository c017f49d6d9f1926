"""Stories for renderers, told without Spark: one session with a bit of everything, names to choose."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_report.input.sessions import SessionInput, check_session
from spark_report.model.report import ReportModel, build_story
from spark_report.tables.compute import COLUMNS
from spark_report.tables.queries import clients
from tests.support.sessions import leader_crash, write_session

HOSTILE = "</script><script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>\x1b[2J\u202e"
"""A name that tries every way out: of a script element, of an attribute, onto the network, into the terminal."""

SPAN = {"began_us": 5, "began_seq": 2, "ended_us": 9, "ended_seq": 4, "open": False, "began_by": "b", "ended_by": "e"}
_NUMBERS = {"records": 10, "min_us": 1, "p50_us": 2, "p95_us": 3, "p99_us": 3, "max_us": 4}


def story(tmp_path: Path, name: str = "orders-0", *, sessions: int = 1, **changed: list[dict[str, Any]]) -> ReportModel:
    """A story whose every text is ``name``; ``changed`` replaces the rows of tables."""
    first = _written(tmp_path, name)
    recorded = []
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in COLUMNS}
    for number in range(sessions):
        start = replace(first.start, session_id=f"s{number}")
        recorded.append(replace(first, start=start, path=first.path.parent / f"session_id=s{number}"))
        for table, rows in {**_rows(name), **changed}.items():
            found[table] += [{"session_id": f"s{number}", **row} for row in rows]
    tables = {table: pa.Table.from_pylist(rows) for table, rows in found.items()}
    return build_story(recorded, [], tables)


_WRITTEN: dict[str, SessionInput] = {}
"""By name: to write a session takes longer than to tell its story."""


def _written(tmp_path: Path, name: str) -> SessionInput:
    if name not in _WRITTEN:
        path = write_session(tmp_path, leader_crash(), session_id="s0", title=name, playbook=name)
        _WRITTEN[name] = replace(check_session(path), end_us=20)
    return _WRITTEN[name]


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
            {**loss, "status": "missing", "committed": False},
            {**loss, "at_us": 20, "status": "lost", "committed": True},
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
        **_lasting(name),
    }


def _lasting(name: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of the tables about recovery, alerts, lag and groups."""
    bin_ = {"bin_began_us": 0, "bin_us": 10}
    at = {"at_us": 7, "seq": 3}
    span = {**SPAN, "began_by": name, "ended_by": name, "duration_us": 4}
    after = {f"time_to_{what}_us": 2 for what in ("detect", "elect", "restore", "recover")}
    span_of = {key: SPAN[key] for key in ("began_us", "ended_us", "open")}
    fault = {"fault_id": 1, "fault": name, "target": name, **span_of}
    mean = {"faults": 1, "detected": 1, "recovered": 1, "unrecovered_faults": 0}
    means = {f"{what}_us": 2 for what in ("mttd", "mtte", "mttr", "rto")}
    share = {"partition": name, "client": name, "acks": 1, "intervals": 1, "unavailable_us": 4, "observed_us": 20}
    alert = {"alert": name, "metric": name, "peak": 1, **span, "for_us": 0, "fired": True, "fired_us": 5}
    whole = {"partition": name, "replication": 3, "min_isr": 2, "last_epoch": 1, "epochs": 2, "hw_stalls": 1}
    times = ("under_replicated", "at_min_isr", "under_min_isr", "offline", "hw_stalled")
    counts = ("isr_shrinks", "isr_expands", "elections_clean", "elections_unclean", "elections_offline")
    sent = ("sent", "acked", "rejected", "timed_out", "unknown_other", "aborted", "refused")
    return {
        "fault_times": [
            {**fault, "detected_us": 7, "detected_by": name, "elected_us": 7, "partitions_out": 1, "restored_us": 7,
             "recovered_us": 7, "unrecovered": False, **after}
        ],
        "fault_means": [{"fault": each, **mean, **means} for each in ("", name)],
        "fault_latency": [
            {**_NUMBERS, "fault_id": 1, "what": "produce", "client": name, "phase": phase}
            for phase in ("before", "during", "after")
        ],
        "availability": [
            {**share, "scope": scope, "longest_unavailable_us": 4, "availability": 0.8, "open": False}
            for scope in ("partition", "client")
        ],
        "isr_conditions": [{**span, "partition": name, "condition": "under_min_isr"}],
        "hw_stalls": [{**span, "partition": name, "hw": 4}],
        "partitions": [
            {**whole, **{f"{time}_us": 4 for time in times}, **dict.fromkeys(counts, 1), "longest_hw_stall_us": 4,
             "isr_changes_per_minute": 1.0}
        ],
        "hw_series": [{**bin_, "partition": name, "hw": 4}],
        "partition_position_lag": [{**bin_, "group_id": name, "partition": name, "position_lag": 3}],
        "group_position_lag": [{**bin_, "group_id": name, "position_lag": 3}],
        "position_lag_peaks": [
            {"group_id": name, "peak_position_lag": 3, "peak_at_us": 7, "usual_position_lag": 0, "drained_us": 9,
             "time_to_drain_us": 2, "final_position_lag": 0}
        ],
        "rebalances": [
            {**at, "group_id": name, "members": 2, "detail": name, "partitions_moved": 1, "time_lost_us": 3}
        ],
        "controller_failovers": [
            {**at, "node": name, "from_node": name, "leader_epoch": 2, "lost_us": 5, "without_us": 2}
        ],
        "alerts": [{**alert, "severity": severity} for severity in ("page", "warn")],
        "outcomes": [{**dict.fromkeys(sent, 3), "client": name, "partition": name, "acks": 1}],
        "reported_anomalies": [
            {"anomaly": name, "legal": legal, "reason": name, "found": 2} for legal in (True, False)
        ],
        "findings": [
            {"kind": name, "cause": name, "sentence": name, "records": 1, "committed_records": 0,
             "partitions_named": [name]}
        ],
        "points_of_no_return": [
            {"finding": 1, "point": "event", "at_us": 8, "sentence": name, "explanation": [name, f"until then {name}"],
             "saving": [name]}
        ],
        "remedies": [
            {"kind": "lost", "position": place, "remedy": name, "options": [name], "effect": effect, "before": 3,
             "remaining": left, "price_rejected": 4, "price_unavailable_us": -600_000, "seeds_kept": 5, "seeds": 5,
             "summary": name, "reason": name}
            for place, (effect, left) in enumerate((("saves", 0), ("refused", 3)), 1)
        ],
        "liveness_violations": [
            {**at, "property": name, "partition": name, "broker": 1, "detail": name, "since_us": 1, "bound_us": 2,
             "known": name}
        ],
    }  # fmt: skip
