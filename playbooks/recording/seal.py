"""Seal of a recorded session: Parquet tables for Spark, the ledger, the result, and the manifest.

The outcomes known to clients come from the trace, the locations of acknowledged records from the checker. Nothing else
is counted here: the sums of the table are those of the result's ledger.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol

import msgspec
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from cluster_model.checker.anomalies import FinalReadRange
from cluster_model.checker.ledger import DELETED, HELD, LOST, RecordRange
from cluster_model.protocol.events import COLUMNS, SCHEMA_VERSION
from cluster_model.util.ranges import Range, RangeSet, subtract
from playbooks.recording.event_codec import decode
from playbooks.results.result import SessionResult
from playbooks.session_format import session_files
from playbooks.session_format.filesystem import FileSystem, is_temporary, write_whole
from playbooks.session_format.session_files import FINAL_READ_COLUMNS, LEDGER_COLUMNS
from playbooks.version import VERSION

NOWHERE: Final = "nowhere"
"""Fate of records that are not in the leader's log, without a guarantee."""
OPEN: Final = "sent"
"""Outcome of records that were still pending at the end."""

OUTCOMES: Final = (OPEN, "acked", "failed", "unknown", "aborted")

_KINDS: Final[dict[str, str]] = {f"records_{outcome}": outcome for outcome in OUTCOMES}


class RecordSurvey(Protocol):
    """Locations of a session's records at its end, as :class:`~cluster_model.checker.ledger.RecordLocations` has."""

    def acknowledged(self) -> Sequence[RecordRange]:
        """Return the acknowledged records."""

    def last_read(self) -> Sequence[FinalReadRange]:
        """Return what a new client would read of every partition."""

    def held_by_leader(self, partition: str) -> Mapping[str, Sequence[Range]]:
        """Return client → sequence numbers of its records in the leader's log, with any outcome."""


class LedgerRow(NamedTuple):
    """A row of the table; its fields are :data:`playbooks.session_format.session_files.LEDGER_COLUMNS`."""

    partition: str
    client: str
    outcome: str
    sequence: int
    records: int
    acks: int
    error: str
    location: str
    log_offset: int
    leader_epoch: int
    committed: bool
    cause: str


@dataclass(slots=True)
class _ClientOutcomes:
    """Outcomes of one client's records in one partition."""

    sent: RangeSet = field(default_factory=RangeSet)
    outcomes: dict[tuple[str, str, int], RangeSet] = field(default_factory=dict)
    """(outcome, error, acks) → record numbers."""
    acks: int = 0
    unnumbered: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """(outcome, error, acks) → number of records that ended without a record number."""
    lost: list[Any] = field(default_factory=list)
    """Lines of kind ``records_lost``."""


def rows(lines: Iterable[Any], survey: RecordSurvey | None) -> list[LedgerRow]:
    """Return the table of a session, from its event lines and the locations of records at its end."""
    outcomes = _gathered(lines)
    placed: dict[tuple[str, str], list[RecordRange]] = {}
    for acked in survey.acknowledged() if survey else ():
        placed.setdefault((acked.partition, acked.client), []).append(acked)
    table: list[LedgerRow] = []
    on_leader: tuple[str, Mapping[str, Sequence[Range]]] = ("", {})
    for partition, client in sorted(outcomes.keys() | placed.keys()):
        outcome = outcomes.get((partition, client), _ClientOutcomes())
        mine = placed.get((partition, client), [])
        table += [_acked_row(acked) for acked in mine]
        table += _unplaced(partition, client, outcome, mine)
        if survey is not None and on_leader[0] != partition and _not_acked(outcome):
            on_leader = (partition, survey.held_by_leader(partition))
        held = on_leader[1].get(client, ()) if on_leader[0] == partition else ()
        table += _others(partition, client, outcome, held)
    return sorted(table)


def sums(table: Iterable[LedgerRow]) -> dict[str, int]:
    """Return the counts of the result's ledger that follow from the table."""
    sums_by_name = dict.fromkeys(("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost"), 0)
    for row in table:
        sums_by_name["sent"] += row.records
        if row.outcome != OPEN:
            sums_by_name[row.outcome] += row.records
        if row.location == LOST:
            sums_by_name["acked_lost"] += row.records
            sums_by_name["committed_lost"] += row.records * row.committed
    return sums_by_name


def _gathered(lines: Iterable[Any]) -> dict[tuple[str, str], _ClientOutcomes]:
    outcomes: dict[tuple[str, str], _ClientOutcomes] = {}
    for line in lines:
        outcome = _KINDS.get(line.kind)
        if outcome is None and line.kind != "records_lost":
            continue
        client_outcome = outcomes.setdefault((line.partition, line.client), _ClientOutcomes())
        if outcome is None:
            client_outcome.lost.append(line)
        elif outcome == OPEN:
            client_outcome.acks = line.acks
            if line.sequence >= 0:
                client_outcome.sent.add(line.sequence, line.sequence + line.count)
        else:
            key = (
                outcome,
                getattr(line, "error", None) or "",
                line.acks if line.acks is not None else client_outcome.acks,
            )
            if line.sequence < 0:
                client_outcome.unnumbered[key] = client_outcome.unnumbered.get(key, 0) + line.count
                continue
            client_outcome.outcomes.setdefault(key, RangeSet()).add(line.sequence, line.sequence + line.count)
    return outcomes


def _acked_row(acked: RecordRange) -> LedgerRow:
    return LedgerRow(
        acked.partition, acked.client, "acked", acked.sequence, acked.records, acked.acks, "", acked.outcome,
        acked.log_offset, acked.leader_epoch, acked.committed, acked.cause,
    )  # fmt: skip


def _unplaced(partition: str, client: str, outcomes: _ClientOutcomes, placed: list[RecordRange]) -> Iterator[LedgerRow]:
    """Yield rows of acknowledged records that no leader is known to have written, or whose partition was deleted."""
    placed_ranges = _ranges((found.sequence, found.sequence + found.records) for found in placed)
    for (outcome, _error, acks), numbers in outcomes.outcomes.items():
        if outcome != "acked":
            continue
        unplaced = subtract(numbers.ranges(), placed_ranges)
        for line in outcomes.lost:
            whole = _ranges([(line.sequence, line.sequence + line.count)]) if line.sequence >= 0 else unplaced
            gone = subtract(unplaced, subtract(unplaced, whole))
            unplaced = subtract(unplaced, gone)
            for start, end in gone:
                yield LedgerRow(
                    partition, client, "acked", start, end - start, acks, "", LOST, line.log_offset + start
                    - line.sequence if line.sequence >= 0 else -1, line.leader_epoch, line.committed, line.cause,
                )  # fmt: skip
        place = NOWHERE if acks == 0 else DELETED
        for start, end in unplaced:
            yield LedgerRow(partition, client, "acked", start, end - start, acks, "", place, -1, -1, False, "")


def _others(partition: str, client: str, outcomes: _ClientOutcomes, held: Sequence[Range]) -> Iterator[LedgerRow]:
    """Yield rows of records that were not acknowledged, separately for those in the leader's log."""
    ended = _ranges(part for numbers in outcomes.outcomes.values() for part in numbers.ranges())
    still = subtract(outcomes.sent.ranges(), ended)
    with_outcome = [(key, numbers.ranges()) for key, numbers in outcomes.outcomes.items() if key[0] != "acked"]
    for (outcome, error, acks), ranges in (*with_outcome, ((OPEN, "", outcomes.acks), still)):
        absent = subtract(ranges, held)
        for place, parts in ((HELD, subtract(ranges, absent)), (NOWHERE, absent)):
            for start, end in parts:
                yield LedgerRow(partition, client, outcome, start, end - start, acks, error, place, -1, -1, False, "")
    for (outcome, error, acks), count in outcomes.unnumbered.items():
        yield LedgerRow(partition, client, outcome, -1, count, acks, error, NOWHERE, -1, -1, False, "")


def _not_acked(outcomes: _ClientOutcomes) -> bool:
    acked = sum(numbers.size for key, numbers in outcomes.outcomes.items() if key[0] == "acked")
    return outcomes.sent.size > acked


def _ranges(parts: Iterable[Range]) -> list[Range]:
    found = RangeSet()
    for start, end in parts:
        found.add(start, end)
    return found.ranges()


# Seal of a session: columns for Spark, the result, and the manifest that marks it as complete.
#
# Every file is written under a temporary name, synced and renamed, the manifest last. A crash in between leaves a
# session without a manifest, which all readers can handle.


ROWS_PER_GROUP: Final = 131_072
BLOCK_BYTES: Final = 1 << 20

Status = Literal["complete", "recovered"]
"""Statuses: ended and sealed, or sealed after its process had died."""

_ARROW: Final[dict[str, Any]] = {
    "int": pa.int64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "ints": pa.list_(pa.int64()),
}

ORDER: Final = ("seq", "at_us", "kind", *(name for name in COLUMNS if name not in ("at_us", "kind")))
"""Columns of ``events.parquet``, in order."""

FINAL_READ_SCHEMA: Final = pa.schema([(name, _ARROW[kind]) for name, kind in FINAL_READ_COLUMNS.items()])
LEDGER_SCHEMA: Final = pa.schema([(name, _ARROW[kind]) for name, kind in LEDGER_COLUMNS.items()])
SCHEMA: Final = pa.schema([(name, pa.int64() if name == "seq" else _ARROW[COLUMNS[name]]) for name in ORDER])


def seal(
    directory: Path,
    result: SessionResult,
    survey: RecordSurvey | None,
    *,
    wall_end: str,
    status: Status = "complete",
    disk: FileSystem | None = None,
) -> dict[str, Any]:
    """Seal the session in ``directory`` and return its manifest; ``survey`` has the locations of its records.

    Raises:
        OSError: the directory cannot be written.
    """
    disk = disk or FileSystem()
    start = session_files.read_object(directory / session_files.START)
    text = (directory / session_files.EVENTS).read_bytes()
    lines = decode(text)
    for left in [path for path in directory.iterdir() if is_temporary(path)]:
        disk.remove(left)
    write_whole(disk, directory / session_files.EVENTS_PARQUET, _parquet(_table(text, lines)))
    write_whole(disk, directory / session_files.LEDGER, _parquet(_ledger(rows(lines, survey))))
    write_whole(disk, directory / session_files.FINAL_READ, _parquet(_final_read(survey)))
    write_whole(disk, directory / session_files.RESULT, _json(result.to_json()))
    manifest = {
        "format": session_files.FORMAT,
        "schema_version": SCHEMA_VERSION,
        "tool_version": VERSION,
        "session_id": start["session_id"],
        "playbook": result.playbook,
        "title": result.title,
        "seed": result.seed,
        "profile": result.profile,
        "scenario_sha256": scenario_digest(directory, start),
        "wall_start": start["wall_start"],
        "wall_end": wall_end,
        "virtual_us": result.virtual_us,
        "events": len(lines),
        "first_seq": lines[0].seq if lines else 0,
        "last_seq": lines[-1].seq if lines else -1,
        "actions": (directory / session_files.ACTIONS).read_bytes().count(b"\n"),
        "kinds": dict(sorted(Counter(line.kind for line in lines).items())),
        "digest": result.digest,
        "verdict": result.verdict,
        "status": status,
        **({"branch": start["branch"]} if "branch" in start else {}),
        **({"source": start["source"]} if start.get("source") else {}),
        "files": {name: _fingerprint(directory / name) for name in session_files.files_in(directory)},
    }
    write_whole(disk, directory / session_files.MANIFEST, _json(manifest))
    return manifest


def scenario_digest(directory: Path, start: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all inputs except operator actions: the playbook's texts, seed, cut-off and Kafka.

    Sessions with the same digest are the same experiment.
    """
    hashed = hashlib.sha256()
    decides = {name: start.get(name) for name in ("seed", "until_us", "profile")}
    for path in (directory / session_files.FRAGMENTS, directory / session_files.PLAYBOOK):
        if path.name == session_files.PLAYBOOK or path.is_file():
            text = path.read_bytes()
            hashed.update(f"{path.name} {len(text)}\n".encode() + text)
    hashed.update(msgspec.json.encode(decides))
    return hashed.hexdigest()


def _ledger(table: list[LedgerRow]) -> Any:
    return _columns(msgspec.json.Encoder().encode_lines([row._asdict() for row in table]), LEDGER_SCHEMA)


def _final_read(survey: RecordSurvey | None) -> Any:
    rows = [part._asdict() for part in survey.last_read()] if survey else []
    return _columns(msgspec.json.Encoder().encode_lines(rows), FINAL_READ_SCHEMA)


def _columns(lines: bytes, schema: Any) -> Any:
    """Convert JSON lines to a table; missing values are null.

    Python values are avoided, since Arrow would import pandas for them, which takes as long as several runs.
    """
    if not lines:
        return schema.empty_table()
    longest = max(map(len, lines.split(b"\n"))) + 1
    table = pyarrow.json.read_json(
        pa.BufferReader(lines),
        pyarrow.json.ReadOptions(block_size=max(BLOCK_BYTES, longest)),
        pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    return table.select(schema.names)


def _parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=ROWS_PER_GROUP)
    return bytes(sink.getvalue())


def _json(document: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _table(text: bytes, lines: list[Any]) -> Any:
    """Return all events as one table, sorted by kind, then time: a filter on the kind may then skip row groups."""
    whole = [line for line in text.split(b"\n") if line]
    rows = sorted(zip(lines, whole, strict=True), key=lambda row: (row[0].kind, row[0].at_us, row[0].seq))
    return _columns(b"\n".join(line for _row, line in rows), SCHEMA)


def _fingerprint(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": path.stat().st_size}
