"""Recorded sessions made by hand: small, realistic, and written to the format without engine or recorder."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.protocol.events import COLUMNS, FIELDS, SCHEMA_VERSION
from playbooks.session_format import session_files

SECOND = 1_000_000
_ARROW = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "ints": pa.list_(pa.int64())}
_NOTHING: dict[str, Any] = {"int": -1, "str": "", "bool": False, "ints": []}


Row = dict[str, Any]
"""A recorded event: its kind, and every field of that kind by name; ``seq`` is added when a session is written."""


def event(kind: str, at_us: int, **fields: Any) -> Row:
    """Return an event of a kind; missing fields have the value for nothing."""
    allowed = FIELDS[kind]
    if unknown := sorted(set(fields) - set(allowed)):
        raise ValueError(f"{kind} has no {', '.join(unknown)}; it has {', '.join(allowed)}")
    return {"kind": kind, **{name: _NOTHING[COLUMNS[name]] for name in allowed}, **fields, "at_us": at_us}


def unseal(directory: Path) -> None:
    """Remove all files that sealing made, as if the recorder had died before."""
    for name in (
        session_files.MANIFEST,
        session_files.EVENTS_PARQUET,
        session_files.LEDGER,
        session_files.FINAL_READ,
        session_files.RESULT,
    ):
        (directory / name).unlink()


def numbered(events: Iterable[Row]) -> list[Row]:
    """Return events in order of time, with their sequence numbers."""
    return [{**row, "seq": seq} for seq, row in enumerate(sorted(events, key=lambda row: row["at_us"]))]


def leader_crash(topic: str = "orders", client: str = "checkout", group: str = "billing") -> list[Row]:
    """Return events of twenty seconds in which broker 1 is down from 5 s to 12 s; three acks=1 records are lost.

    Partition 0 is led by broker 1 and moves to broker 2 at 7 s; partition 1 is led by broker 3 and loses a follower.
    """
    return numbered([*_traffic(topic, client, group), *_controller(topic), *_brokers(topic), *_checker(topic, client)])


def _traffic(topic: str, client: str, group: str) -> Iterator[Row]:
    for partition, leaders in ((f"{topic}-0", (1, 2)), (f"{topic}-1", (3, 3))):
        for number in range(200):
            at = number * SECOND // 10 + 10_000
            leader = leaders[at >= 7 * SECOND]
            batch = {"partition": partition, "client": client, "sequence": number * 10, "count": 10, "acks": 1}
            place = {"broker": leader, "leader_epoch": int(leader == 2), "log_offset": number * 10}
            yield event("records_sent", at, **batch)
            if partition.endswith("-0") and 5 * SECOND <= at < 7 * SECOND:
                yield event("produce_refused", at + 30_000, **batch, broker=1, error="NETWORK_EXCEPTION")
                yield event("records_unknown", at + 90_000, **batch, error="REQUEST_TIMED_OUT", latency_us=90_000)
                continue
            wait = 2_000 + (number * 7919) % 3_000
            hw = {"hw": number * 10 + 10, "partition": partition, "broker": leader}
            read = {"client": f"{group}-1", "group_id": group, "partition": partition, "count": 10, **place}
            yield event("appended", at + 900, **batch, **place)
            yield event("records_acked", at + wait, **batch, **place, latency_us=wait)
            yield event("hw_advanced", at + wait + 500, **hw, leader_epoch=place["leader_epoch"])
            yield event("records_read", at + wait + 4_000, **read, latency_us=wait + 3_100)


def _controller(topic: str) -> Iterator[Row]:
    one, two, noticed = f"{topic}-0", f"{topic}-1", 7 * SECOND - 200_000
    first = {"leader_epoch": 0, "partition_epoch": 0, "clean": True, "by": "created"}
    yield event("leader_elected", 0, partition=one, leader=1, isr=[1, 2, 3], **first)
    yield event("leader_elected", 0, partition=two, leader=3, isr=[3, 1, 2], **first)
    yield event("broker_fenced", noticed, broker=1, detail="session timed out")
    moved = {"partition": one, "leader": 2, "leader_epoch": 1}
    stays = {"partition": two, "leader": 3, "leader_epoch": 0}
    yield event("leader_elected", noticed, **moved, partition_epoch=1, isr=[2, 3], clean=True, by="leader failed")
    yield event("isr_changed", noticed, **moved, partition_epoch=1, isr=[2, 3], previous_isr=[1, 2, 3], by="controller")
    yield event("isr_changed", noticed, **stays, partition_epoch=1, isr=[3, 2], previous_isr=[3, 1, 2], by="controller")
    yield event("broker_registered", 12 * SECOND + 300_000, broker=1)
    back = {"previous_isr": [3, 2], "isr": [3, 2, 1], "partition_epoch": 2, "by": "leader"}
    yield event("isr_changed", 14 * SECOND, **stays, **back)
    yield event("isr_changed", 15 * SECOND, **moved, **{**back, "previous_isr": [2, 3], "isr": [2, 3, 1]})


def _brokers(topic: str) -> Iterator[Row]:
    crash, healed = 5 * SECOND, 12 * SECOND
    one, two = f"{topic}-0", f"{topic}-1"
    fault = {"fault_id": 1, "fault": "crash", "target": "broker 1"}
    yield event("became_leader", 500, partition=one, broker=1, leader_epoch=0, log_offset=0, hw=0)
    yield event("became_leader", 500, partition=two, broker=3, leader_epoch=0, log_offset=0, hw=0)
    yield event("became_follower", 700, partition=one, broker=2, leader=1, leader_epoch=0)
    yield event("step_taken", crash, by="playbook", target=f"leader({one})", detail="inject crash")
    yield event("fault_injected", crash, **fault, until_us=healed, detail="for 7s")
    yield event("node_down", crash, node="broker-1", broker=1, detail="crash")
    led = {"partition": one, "broker": 2, "leader_epoch": 1, "log_offset": 487, "hw": 487}
    yield event("became_leader", 7 * SECOND - 50_000, **led)
    yield event("fault_healed", healed, **fault)
    yield event("node_up", healed, node="broker-1", broker=1)
    cut = {"log_offset": 487, "end_offset": 490, "hw": 487, "leader_epoch": 1}
    yield event("became_follower", healed + 400_000, partition=one, broker=1, leader=2, leader_epoch=1)
    yield event("truncated", healed + 450_000, partition=one, broker=1, **cut, rule="KIP-101 leader epoch")


def _checker(topic: str, client: str) -> Iterator[Row]:
    cause = (
        f"3 records of {client} at offsets 487 to 489 of {topic}-0 had been acknowledged by broker 1 in epoch 0 with "
        "acks=1 and ISR [1, 2, 3]; broker 2, which had not replicated them, became leader in epoch 1"
    )
    gone = {"partition": f"{topic}-0", "client": client, "sequence": 487, "count": 3, "log_offset": 487, "acks": 1}
    yield event("records_missing", 7 * SECOND - 50_000, **gone, leader_epoch=0, committed=False, cause=cause)
    yield event("records_lost", 20 * SECOND, **gone, leader_epoch=0, committed=False, cause=cause)
    yield event("expectation_checked", 20 * SECOND, rule="acked_lost() == 0", ok=False, detail="found 3")


def ledger_of(recorded: Iterable[Row]) -> dict[str, int]:
    """Return the ledger's counters that a correct engine has for these events."""
    terms = ("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost", "duplicates", "reordered")
    counters = dict.fromkeys(terms, 0)
    for row in recorded:
        term = row["kind"].removeprefix("records_")
        if term in ("sent", "acked", "failed", "unknown", "aborted"):
            counters[term] += row["count"]
        elif term == "lost":
            counters["acked_lost"] += row["count"]
            counters["committed_lost"] += row["count"] * row["committed"]
    return counters


def write_session(
    parent: Path,
    recorded: Sequence[Row],
    *,
    session_id: str = "20260131T101500-leader-crash-s7-9f3a",
    sealed: bool = True,
    title: str = "The leader of a partition crashes",
    topic: str = "orders",
    client: str = "checkout",
    verdict: str = "fail",
    end_us: int = 20 * SECOND,
    **start: Any,
) -> Path:
    """Write a session directory and return it; not ``sealed`` leaves it torn, as a killed recorder would."""
    session = session_files.directory_of(parent, session_id)
    session.mkdir(parents=True)
    (session / session_files.PLAYBOOK).write_text("floodmark: 1\nname: leader-crash\n", encoding="utf-8")
    _write_json(session / session_files.START, {**_start(session_id, title, topic, client), **start})
    (session / session_files.EVENTS).write_text("".join(json.dumps(row) + "\n" for row in recorded), encoding="utf-8")
    (session / session_files.ACTIONS).write_text("", encoding="utf-8")
    if sealed:
        _seal(session, recorded, ledger_of(recorded), verdict, end_us)
    return session


def tear(session: Path, bytes_off: int = 40) -> None:
    """Truncate the live log in its last line, and remove the seal."""
    log = session / session_files.EVENTS
    log.write_bytes(log.read_bytes()[:-bytes_off])
    for name in (session_files.MANIFEST, session_files.RESULT, session_files.EVENTS_PARQUET):
        (session / name).unlink(missing_ok=True)


def reseal(session: Path, name: str) -> None:
    """Update the manifest's fingerprint of a file."""
    manifest = json.loads((session / session_files.MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][name] = _fingerprint(session / name)
    _write_json(session / session_files.MANIFEST, manifest)


_OF_BOTH = ("format", "schema_version", "tool_version", "session_id", "title", "wall_start")
"""Fields that the manifest takes from the start."""


def _start(session_id: str, title: str, topic: str, client: str) -> dict[str, Any]:
    assignment = {f"{topic}-0": [1, 2, 3], f"{topic}-1": [3, 1, 2]}
    return {
        "format": session_files.FORMAT,
        "schema_version": SCHEMA_VERSION,
        "tool_version": "0.1.0",
        "session_id": session_id,
        "playbook": "leader-crash",
        "title": title,
        "seed": 7,
        "profile": "3.9-kraft",
        "wall_start": "2026-01-31T10:15:00.000+00:00",
        "live": False,
        "settings": {},
        "topics": [{"name": topic, "partitions": 2, "replication": 3, "min_isr": 2, "assignment": assignment}],
        "brokers": [{"id": broker, "rack": ""} for broker in (1, 2, 3)],
        "producers": [{"name": client, "topic": topic, "acks": 1}],
        "groups": ["billing"],
    }


def _seal(session: Path, recorded: Sequence[Row], ledger: dict[str, int], verdict: str, end_us: int) -> None:
    start = json.loads((session / session_files.START).read_text(encoding="utf-8"))
    order = ("seq", "at_us", "kind", *(name for name in COLUMNS if name not in ("at_us", "kind")))
    schema = pa.schema([(name, pa.int64() if name == "seq" else _ARROW[COLUMNS[name]]) for name in order])
    by_kind = sorted(recorded, key=lambda row: (row["kind"], row["at_us"], row["seq"]))
    table = pa.Table.from_pylist([{name: row.get(name) for name in order} for row in by_kind], schema=schema)
    pq.write_table(table, session / session_files.EVENTS_PARQUET, compression="zstd")
    shared = {name: start[name] for name in ("playbook", "seed", "profile")}
    outcome = {"verdict": verdict, "digest": "5eed" * 8, "virtual_us": end_us, "events": len(recorded)}
    expectations = [
        {"text": row["rule"], "ok": row["ok"], "at_us": row["at_us"], "detail": row["detail"]}
        for row in recorded
        if row["kind"] == "expectation_checked"
    ]
    result = {
        "session": str(session),
        "expectations": expectations,
        "ledger": ledger,
        "violations": [],
        "partitions": {},
    }
    _write_json(session / session_files.RESULT, {**shared, **outcome, **result})
    manifest = {
        **{name: start[name] for name in _OF_BOTH},
        **shared,
        **outcome,
        "wall_end": "2026-01-31T10:15:09.000+00:00",
        "first_seq": 0,
        "last_seq": len(recorded) - 1,
        "status": "complete",
        "files": {path.name: _fingerprint(path) for path in sorted(session.iterdir())},
    }
    _write_json(session / session_files.MANIFEST, manifest)


def _fingerprint(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
