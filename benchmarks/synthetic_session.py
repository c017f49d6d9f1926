"""Synthetic session of any size for the report's benchmark: all columns of the format, traffic with outages."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.protocol.events import COLUMNS
from spark_report.input.sessions import ARROW_TYPES

PARTITIONS: Final = 24
CLIENTS: Final = 8
FAULTS: Final = 20
"""Number of faults per session, whatever its length."""
STEP_US: Final = 100

_CHUNK: Final = 500_000
_SERVED: Final = np.array(("records_sent", "appended", "records_acked", "hw_advanced", "records_read"))
_REFUSED: Final = np.array(("records_sent", "appended", "produce_refused", "produce_retried", "produce_refused"))
_AFTER: Final = 10
"""Start of a fault, in percent of the interval from one fault to the next."""
_LASTS: Final = 20
"""End of a fault, in percent of the interval."""
_OUT: Final = 5
"""Time during which a third of the partitions are then unavailable, in percent of the interval."""


def write_events(path: Path, events: int) -> int:
    """Write a table of about that many events as the recorder seals them; return the last time in microseconds."""
    schema = pa.schema([("seq", pa.int64()), *((name, ARROW_TYPES[kind]) for name, kind in COLUMNS.items())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, events, _CHUNK):
            writer.write_table(_chunk(np.arange(first, min(first + _CHUNK, events)), events // FAULTS, schema))
    return (events - 1) * STEP_US


def _chunk(seq: Any, apart: int, schema: Any) -> Any:
    """Return a part of the table: each batch is sent, appended, acknowledged, replicated and read, five events."""
    batch, turn, fault = seq // 5, seq % 5, seq // apart
    partition, position = batch % PARTITIONS, seq % apart
    since = position - apart * _AFTER // 100
    out = (since >= 0) & (since < apart * _OUT // 100) & (partition % 3 == fault % 3)
    kind = np.where(out, _REFUSED[turn], _SERVED[turn])
    injected, healed = since == 0, since == apart * _LASTS // 100
    leading = (since > 0) & (since <= PARTITIONS)
    kind = np.select([injected, healed, leading], ["fault_injected", "fault_healed", "became_leader"], kind)
    partition = np.where(leading, since - 1, partition)
    offset = batch // PARTITIONS
    acked, read = kind == "records_acked", kind == "records_read"
    by_client = np.isin(kind, ("records_sent", "records_acked", "produce_refused", "produce_retried", "records_read"))
    replicated = np.isin(kind, ("appended", "hw_advanced", "became_leader"))
    counted = by_client | (kind == "appended")
    values = {
        "seq": pa.array(seq),
        "at_us": pa.array(seq * STEP_US),
        "kind": pa.array(kind),
        "partition": _named("orders-", partition, ~(injected | healed)),
        "client": _named("client-", batch % CLIENTS, by_client),
        "group_id": pa.array(np.where(read, "shop", ""), mask=~read),
        "count": pa.array(np.ones(len(seq), dtype=np.int64), mask=~counted),
        "acks": pa.array(np.full(len(seq), -1), mask=~(by_client & ~read)),
        "leader_epoch": pa.array(fault + (since > 0), mask=~replicated),
        "log_offset": pa.array(offset, mask=~(counted | leading)),
        "end_offset": pa.array(offset + 1, mask=~read),
        "hw": pa.array(offset + 1, mask=~((kind == "hw_advanced") | leading)),
        "latency_us": pa.array(seq * 7919 % 30_011, mask=~(acked | read)),
        "error": pa.array(np.full(len(seq), "NOT_LEADER_OR_FOLLOWER"), mask=kind != "produce_refused"),
        "fault_id": pa.array(fault + 1, mask=~(injected | healed)),
        "fault": pa.array(np.full(len(seq), "gc_pause"), mask=~(injected | healed)),
        "target": _named("broker-", fault % 3, injected | healed),
        "detail": pa.array(np.full(len(seq), ""), mask=~injected),
    }
    nothing = {name: pa.nulls(len(seq), schema.field(name).type) for name in schema.names if name not in values}
    return pa.table({**nothing, **values}).select(schema.names).cast(schema)


def _named(prefix: str, number: Any, present: Any) -> Any:
    return pa.array(np.char.add(prefix, number.astype(str)), mask=~present)
