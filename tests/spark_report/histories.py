"""A recorded session as the recount takes it, without Spark."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from cluster_model.protocol.events import COLUMNS
from playbooks.session_format import session_files
from spark_report.input.sessions import check_session
from spark_report.tables import compute
from spark_report.tables.anomaly_recount import FIELDS, IN_LEDGER, KINDS, TERMS, SessionClaims
from spark_report.tables.result_recount import KINDS as NUMBER_KINDS
from spark_report.tables.result_recount import LAST
from tests.support.sessions import Row

Event = tuple[Any, ...]


def history(rows: list[Row]) -> list[Event]:
    """Rows as the tuples that are walked over; ``seq`` is the place in the list where a row has none."""
    nothing = {name: "" if COLUMNS.get(name) == "str" else -1 for name in FIELDS}
    return [tuple({**nothing, "seq": seq, **row}[name] for name in FIELDS) for seq, row in enumerate(rows)]


def of_directory(path: Path) -> tuple[list[Event], SessionClaims]:
    """A session's events, its last read and its table of records, in one list; and what it says of itself."""
    session = check_session(path)
    events = pq.read_table(session.events_file).sort_by("seq").to_pylist()
    rows = [
        {name: value for name, value in row.items() if name in FIELDS and value is not None}
        for row in events
        if row["kind"] in (*KINDS, *TERMS, *NUMBER_KINDS)
    ]
    last = pq.read_table(path / session_files.FINAL_READ).to_pylist()
    rows += [{**row, "kind": LAST, "count": row["log_start"]} for row in last]
    for row in pq.read_table(path / session_files.LEDGER).to_pylist():
        lost = ["acked_lost"] if row["location"] == "lost" else []
        told_of = [] if row["outcome"] == "sent" else [row["outcome"]]
        plain = {"kind": IN_LEDGER, "partition": row["partition"], "count": row["records"]}
        rows += [{**plain, "node": term} for term in ("sent", *told_of, *lost)]
    return history(rows), compute.session_claims(session)
