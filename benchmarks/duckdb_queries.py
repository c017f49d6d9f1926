"""SQL for DuckDB that computes the report's traffic tables, one statement per table.

``{end}`` is the session's end and ``{bin}`` the width of a bin, both in microseconds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_FAULTS: Final = """
    SELECT fault_id, min(at_us) FILTER (kind = 'fault_injected') AS began,
           coalesce(min(at_us) FILTER (kind = 'fault_healed'), {end}) AS ended
    FROM e WHERE kind IN ('fault_injected', 'fault_healed') GROUP BY ALL"""

_BATCHES: Final = """
    SELECT at_us AS told, at_us - latency_us AS sent, client, count, latency_us,
           if(kind = 'records_acked', 'produce', 'end_to_end') AS what
    FROM e WHERE kind IN ('records_acked', 'records_read') AND latency_us >= 0 AND count > 0"""

_PERCENTILES: Final = """
    sum(count)::BIGINT, min(latency_us),
    list_transform(quantile_cont(latency_us, [0.5, 0.95, 0.99]), lambda q: round(q)::BIGINT), max(latency_us)"""

_COUNTED: Final = "coalesce(sum(count) FILTER (kind = '{0}'), 0)::BIGINT"
_TIMES: Final = "count(*) FILTER (kind = '{0}')"


def _sums(*kinds: str) -> str:
    return ", ".join(_COUNTED.format(kind) for kind in kinds)


def _times(*kinds: str) -> str:
    return ", ".join(_TIMES.format(kind) for kind in kinds)


_LATENCY: Final = f"""
    WITH f AS ({_FAULTS}), b AS ({_BATCHES}), phased AS (
        SELECT b.*, CASE WHEN f.began IS NULL THEN 'before' WHEN sent < ended THEN 'during' ELSE 'after' END AS phase
        FROM b ASOF LEFT JOIN f ON b.told >= f.began)
    SELECT what, client, phase, {_PERCENTILES} FROM phased GROUP BY what, client, phase
    UNION ALL SELECT what, client, 'all', {_PERCENTILES} FROM b GROUP BY what, client"""

_SERIES: Final = f"""
    WITH b AS ({_BATCHES})
    SELECT what, client, told - told % {{bin}} AS bin, {_PERCENTILES} FROM b GROUP BY ALL"""

_BY_FAULT: Final = f"""
    WITH f AS ({_FAULTS}), b AS ({_BATCHES}), near AS (
        SELECT *, greatest(ended - began, 1_000_000) AS width FROM f)
    SELECT fault_id, what, client,
           CASE WHEN sent < ended AND began <= told THEN 'during'
                WHEN told < began THEN 'before' ELSE 'after' END AS phase,
           {_PERCENTILES}
    FROM b JOIN near ON told >= began - width AND sent < ended + width
    WHERE (sent < ended AND began <= told) OR told < began OR sent >= ended GROUP BY ALL"""

_UNSERVED: Final = """
    WITH turns AS (
        SELECT client, partition, acks, at_us, seq, latency_us, kind = 'records_sent' AS sent,
               kind = 'records_acked' OR (kind = 'records_aborted' AND log_offset >= 0) AS served,
               CASE kind WHEN 'records_sent' THEN count WHEN 'produce_refused' THEN 0 ELSE -count END AS change
        FROM e WHERE kind IN ('records_sent', 'records_acked', 'records_aborted', 'produce_refused', 'records_failed',
                              'records_unknown')),
    known AS (
        SELECT *, sum(change) OVER w AS waiting, count(*) FILTER (served) OVER w AS spell FROM turns
        WINDOW w AS (PARTITION BY client, partition, acks ORDER BY at_us, seq ROWS UNBOUNDED PRECEDING)),
    spells AS (
        SELECT client, partition, acks, spell, min(at_us) FILTER (served) AS served_us,
               min(waiting) FILTER (served) AS waiting, min(latency_us) FILTER (served) AS usual_us,
               min(at_us) FILTER (sent) AS sent_us, max(seq) FILTER (sent) AS sent_seq,
               max(at_us) FILTER (NOT served AND change < 0 AND waiting <= 0) AS left_us,
               max(seq) FILTER (NOT served AND change < 0 AND waiting <= 0) AS left_seq
        FROM known GROUP BY ALL),
    spans AS (
        SELECT client, partition, acks, if(waiting > 0, served_us, sent_us) AS began,
               greatest(100_000, least(3 * coalesce(usual_us, 0), 2_000_000)) AS bound,
               coalesce(if(left_seq > coalesce(sent_seq, -1), left_us, NULL),
                        lead(served_us) OVER (PARTITION BY client, partition, acks ORDER BY spell), {end}) AS ended
        FROM spells)
    SELECT client, partition, acks, began, ended FROM spans WHERE ended - began > bound"""

_THROUGHPUT: Final = f"""
    SELECT client, at_us - at_us % {{bin}} AS bin,
           {_sums("records_sent", "records_acked", "records_failed", "records_unknown", "records_read")},
           {_times("produce_refused")}
    FROM e WHERE kind IN ('records_sent', 'records_acked', 'records_failed', 'records_unknown', 'records_aborted',
                          'records_read', 'produce_refused') GROUP BY ALL"""

_OUTCOMES: Final = f"""
    SELECT client, partition, acks, {_sums("records_sent", "records_acked", "records_failed", "records_aborted")},
           {_times("produce_refused")}
    FROM e WHERE kind IN ('records_sent', 'records_acked', 'records_failed', 'records_unknown', 'records_aborted',
                          'produce_refused') GROUP BY ALL"""

_COUNTS: Final = f"""
    SELECT count(*), max(seq), {_times("fault_injected", "truncated", "produce_refused", "invariant_violated")},
           {_sums("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted")},
           {_sums("records_read", "records_lost")} FROM e"""

_PRODUCERS: Final = f"""
    SELECT client, {_sums("records_sent", "records_acked", "records_failed", "records_unknown", "records_aborted")},
           {_times("produce_retried", "produce_refused")}
    FROM e WHERE kind IN ('records_sent', 'records_acked', 'records_failed', 'records_unknown', 'records_aborted',
                          'produce_retried', 'produce_refused') GROUP BY ALL"""

_ERRORS: Final = "SELECT client, error, count(*) FROM e WHERE kind = 'produce_refused' GROUP BY ALL"

_TOPS: Final = """
    tops AS (SELECT partition, at_us - at_us % {bin} AS bin,
                    max({{'epoch': coalesce(leader_epoch, -1), 'seq': seq, 'hw': hw}}) AS top
             FROM e WHERE kind IN ('hw_advanced', 'became_leader') GROUP BY ALL),
    newest AS (SELECT *, max(top) OVER (PARTITION BY partition ORDER BY bin ROWS UNBOUNDED PRECEDING) AS newest
               FROM tops)
"""
_HW: Final = f"WITH {_TOPS} SELECT partition, bin, top.hw FROM newest WHERE top = newest"

_LAG: Final = f"""
    WITH {_TOPS}, reads AS (
        SELECT group_id, partition, at_us - at_us % {{bin}} AS bin, max(end_offset) AS read
        FROM e WHERE kind = 'records_read' GROUP BY ALL),
    bins AS (SELECT DISTINCT group_id, partition, unnest(range(0, {{end}} + 1, {{bin}})) AS bin FROM reads)
    SELECT group_id, partition, bin, coalesce(greatest(0, hw - read), 0) FROM (
        SELECT group_id, partition, bin, last_value(newest.hw IGNORE NULLS) OVER w AS hw, max(read) OVER w AS read
        FROM bins LEFT JOIN newest USING (partition, bin) LEFT JOIN reads USING (group_id, partition, bin)
        WINDOW w AS (PARTITION BY group_id, partition ORDER BY bin ROWS UNBOUNDED PRECEDING))"""

_STALLS: Final = """
    WITH told AS (
        SELECT partition, at_us, seq, kind, hw, leader_epoch,
               CASE kind WHEN 'appended' THEN log_offset + count WHEN 'became_leader' THEN log_offset END AS last,
               max(leader_epoch) OVER w AS newest
        FROM e WHERE kind IN ('appended', 'hw_advanced', 'became_leader')
        WINDOW w AS (PARTITION BY partition ORDER BY at_us, seq ROWS UNBOUNDED PRECEDING)),
    known AS (
        SELECT *, last_value(last IGNORE NULLS) OVER w AS log_end, last_value(hw IGNORE NULLS) OVER w AS mark
        FROM told WHERE leader_epoch >= newest
        WINDOW w AS (PARTITION BY partition ORDER BY at_us, seq ROWS UNBOUNDED PRECEDING)),
    waits AS (
        SELECT *, waiting, lag(waiting, 1, false) OVER (PARTITION BY partition ORDER BY at_us, seq) AS waited
        FROM (SELECT *, coalesce(mark < log_end, false) AS waiting FROM known))
    SELECT partition, mark, at_us, ended FROM (
        SELECT *, coalesce(lead(at_us) OVER (PARTITION BY partition ORDER BY at_us, seq), {end}) AS ended
        FROM waits WHERE kind = 'hw_advanced' OR waiting <> waited)
    WHERE waiting AND ended - at_us >= 1_000_000"""

SQL: Final = {
    "counts": _COUNTS,
    "producers": _PRODUCERS,
    "client_errors": _ERRORS,
    "outcomes": _OUTCOMES,
    "throughput": _THROUGHPUT,
    "latency": _LATENCY,
    "latency_series": _SERIES,
    "fault_latency": _BY_FAULT,
    "unavailability": _UNSERVED,
    "hw_series": _HW,
    "hw_stalls": _STALLS,
    "partition_position_lag": _LAG,
}
"""Table of the report → its SQL statement."""

_TIMED: Final = ("records", "min_us", "p50_us", "p95_us", "p99_us", "max_us")
_TERMS: Final = ("sent", "acked", "failed", "unknown", "aborted")
COLUMNS: Final = {
    "counts": (
        "events",
        "last_seq",
        "faults",
        "truncations",
        "attempts_refused",
        "violations",
        *_TERMS,
        "consumed",
        "acked_lost",
    ),
    "producers": ("client", *_TERMS, "retries", "refused"),
    "client_errors": ("client", "error", "times"),
    "outcomes": ("client", "partition", "acks", "sent", "acked", "rejected", "aborted", "refused"),
    "throughput": ("client", "bin_began_us", "sent", "acked", "failed", "unknown", "read", "refused"),
    "latency": ("what", "client", "phase", *_TIMED),
    "latency_series": ("what", "client", "bin_began_us", "records", "min_us", "p50_us", "p99_us", "max_us"),
    "fault_latency": ("fault_id", "what", "client", "phase", *_TIMED),
    "unavailability": ("client", "partition", "acks", "began_us", "ended_us"),
    "hw_series": ("partition", "bin_began_us", "hw"),
    "hw_stalls": ("partition", "hw", "began_us", "ended_us"),
    "partition_position_lag": ("group_id", "partition", "bin_began_us", "position_lag"),
}
"""Table of the report → the columns of its statement, in order."""


def found(connection: Any, path: Path, end_us: int, bin_us: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that DuckDB computes from a table of events, by the report's table names, sorted."""
    connection.execute(f"CREATE OR REPLACE VIEW e AS SELECT * FROM read_parquet('{path}')")
    answers = {name: connection.execute(query.format(end=end_us, bin=bin_us)).fetchall() for name, query in SQL.items()}
    return {name: sorted(_flat(name, rows)) for name, rows in answers.items()}


def _flat(name: str, rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield rows without nested lists of percentiles; a series has no 95th."""
    for row in rows:
        flat = tuple(part for cell in row for part in (cell if isinstance(cell, list) else [cell]))
        yield flat[:-3] + flat[-2:] if name == "latency_series" else flat
