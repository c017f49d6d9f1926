"""Comparison of sessions: their measures, changes against a baseline, and the summary tables.

Runs are deterministic, but another seed is another run: a change counts if it is at least :data:`LEAST_SHARE` of the
baseline's value and at least the unit's minimum in ``_GRAINS``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

from cluster_model.util.quantities import rounded_duration, thousands
from spark_report.model.format import share, signed, user_topic_rows
from spark_report.model.report import ReportModel, Row, SessionModel, headline
from spark_report.tables.registry import TABLES

LEAST_SHARE: Final = 0.05
"""Smallest change that counts, as a share of the baseline's value."""

Unit = Literal["records", "count", "µs", "share", "records/s"]

_GRAINS: Final[dict[Unit, float]] = {"records": 1, "count": 1, "µs": 1_000, "share": 0.0001, "records/s": 0.1}
"""Smallest change that counts, by unit."""
_SECOND: Final = 1_000_000


class Measure(NamedTuple):
    """A measure by which sessions are compared; ``of`` computes it."""

    name: str
    title: str
    unit: Unit
    better: Literal["less", "more"]
    of: Callable[[SessionModel], float | None]

    def shown(self, value: float | None) -> str:
        """Format a value with its unit; empty for None."""
        if value is None:
            return ""
        if self.unit == "µs":
            return rounded_duration(round(value))
        if self.unit == "share":
            return share(value)
        return f"{value:,.1f}/s" if self.unit == "records/s" else thousands(round(value))

    def change(self, row: Row) -> str:
        """Return the change against the baseline: in percentage points for a share, else absolute and in per cent."""
        change = row["difference"]
        if change is None or row["session_id"] == row["baseline_id"]:
            return ""
        if not change:
            return "±0"
        if self.unit == "share":
            return f"{signed(change * 100, 2)} points"
        size = f"{'+' if change > 0 else '−'}{self.shown(abs(change))}"
        part = row["difference_share"]
        return size if part is None else f"{size} ({signed(part * 100, 0 if abs(part) >= 0.1 else 1)} %)"


def _count(name: str) -> Callable[[SessionModel], float | None]:
    return lambda story: story.counts.get(name, 0)


def _least(values: Iterable[Any]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _greatest(values: Iterable[Any]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _timed(of: Callable[[SessionModel], float | None]) -> Callable[[SessionModel], float | None]:
    """Return None for a manual session, in which no time passes."""
    return lambda story: None if story.timeless else of(story)


def _worst_availability(scope: str) -> Callable[[SessionModel], float | None]:
    def of(model: SessionModel) -> float | None:
        found = [row for row in model.tables["availability"] if row["scope"] == scope]
        return _least(row["availability"] for row in user_topic_rows(found))

    return _timed(of)


def _longest(scope: str) -> Callable[[SessionModel], float | None]:
    return _timed(
        lambda story: _greatest([0, *(row["duration_us"] for row in user_topic_rows(story.unavailable(scope)))])
    )


def _partition_time(column: str) -> Callable[[SessionModel], float | None]:
    return _timed(lambda story: sum(row[column] or 0 for row in user_topic_rows(story.tables["partitions"])))


def _mean(column: str) -> Callable[[SessionModel], float | None]:
    return _timed(lambda story: _greatest(row[column] for row in story.tables["fault_means"] if not row["fault"]))


def _latency(what: str, phase: str, column: str) -> Callable[[SessionModel], float | None]:
    return _timed(
        lambda story: _greatest(
            row[column] for row in story.tables["latency"] if (row["what"], row["phase"]) == (what, phase)
        )
    )


def _fired(severity: str) -> Callable[[SessionModel], float | None]:
    return _timed(
        lambda story: sum(bool(row["fired"]) and row["severity"] == severity for row in story.tables["alerts"])
    )


def _throughput(model: SessionModel) -> float | None:
    return float(model.counts.get("acked", 0) * _SECOND / model.recorded.end_us)


def _sum(table: str, column: str) -> Callable[[SessionModel], float | None]:
    return lambda story: sum(row[column] or 0 for row in story.tables[table])


def _rows(table: str) -> Callable[[SessionModel], float | None]:
    return lambda story: len(story.tables[table])


MEASURES: Final = (
    Measure("acked_lost", "Acknowledged records lost", "records", "less", _count("acked_lost")),
    Measure("committed_lost", "of these committed", "records", "less", _count("committed_lost")),
    Measure("failed", "Failed records", "records", "less", _count("failed")),
    Measure("unknown", "Records with unknown outcome", "records", "less", _count("unknown")),
    Measure("violations", "Invariant violations", "count", "less", _count("violations")),
    Measure(
        "illegal_anomalies",
        "Anomalies not allowed",
        "count",
        "less",
        lambda story: sum(row["found"] for row in story.tables["reported_anomalies"] if not row["legal"]),
    ),
    Measure("worst_availability", "Availability, worst partition", "share", "more", _worst_availability("partition")),
    Measure("worst_client", "Availability, worst client", "share", "more", _worst_availability("client")),
    Measure("longest_outage", "Longest without a leader", "µs", "less", _longest("partition")),
    Measure("longest_client_outage", "Longest client outage", "µs", "less", _longest("client")),
    Measure("under_replicated", "Total under-replicated time", "µs", "less", _partition_time("under_replicated_us")),
    Measure("under_min_isr", "Total time under min ISR", "µs", "less", _partition_time("under_min_isr_us")),
    Measure("detect", "Mean time to detect", "µs", "less", _mean("mttd_us")),
    Measure("elect", "Mean time to elect", "µs", "less", _mean("mtte_us")),
    Measure("restore", "Recovery time of the service (RTO)", "µs", "less", _mean("rto_us")),
    Measure("recover", "Mean time to recover (MTTR)", "µs", "less", _mean("mttr_us")),
    Measure("acks_p50", "p50 produce latency", "µs", "less", _latency("produce", "all", "p50_us")),
    Measure("acks_p99", "p99 produce latency", "µs", "less", _latency("produce", "all", "p99_us")),
    Measure(
        "acks_p99_during", "p99 produce latency during faults", "µs", "less", _latency("produce", "during", "p99_us")
    ),
    Measure("acks_max", "Maximum produce latency", "µs", "less", _latency("produce", "all", "max_us")),
    Measure("reads_p99", "p99 end-to-end latency", "µs", "less", _latency("end_to_end", "all", "p99_us")),
    Measure("throughput", "Acknowledged records per second", "records/s", "more", _timed(_throughput)),
    Measure("unclean_elections", "Unclean elections", "count", "less", _count("elections_unclean")),
    Measure("isr_shrinks", "ISR shrinks", "count", "less", _count("isr_shrinks")),
    Measure("pages", "Alerts fired (page)", "count", "less", _fired("page")),
    Measure("warnings", "Alerts fired (warn)", "count", "less", _fired("warn")),
    Measure(
        "peak_position_lag",
        "Greatest position lag of a group",
        "records",
        "less",
        lambda story: _greatest(row["peak_position_lag"] for row in story.tables["position_lag_peaks"]),
    ),
    Measure("rebalances", "Rebalances", "count", "less", _rows("rebalances")),
    Measure(
        "rebalance_time", "Partition idle time in rebalances", "µs", "less", _timed(_sum("rebalances", "time_lost_us"))
    ),
    Measure("failovers", "Controller failovers", "count", "less", _rows("controller_failovers")),
)
"""Measures by which sessions are compared, the most severe first."""

BY_NAME: Final = {measure.name: measure for measure in MEASURES}


def compare(model: ReportModel) -> list[Row]:
    """Return a row for each session and measure, with the columns of the table ``comparison``."""
    found = [row for measure in MEASURES for row in _measured(model, measure)]
    place = {one.session_id: number for number, one in enumerate(model.sessions)}
    order = {measure.name: number for number, measure in enumerate(MEASURES)}
    return sorted(found, key=lambda row: (place[row["session_id"]], order[row["measure"]]))


def regressions(rows: list[Row]) -> list[Row]:
    """Return the rows that are worse than the baseline."""
    return [row for row in rows if row["judged"] == "regression"]


def _measured(model: ReportModel, measure: Measure) -> list[Row]:
    values = {one.session_id: measure.of(one) for one in model.sessions}
    known = [value for value in values.values() if value is not None]
    low, high = min(known, default=0), max(known, default=0)
    apart = len(known) > 1 and high - low >= _GRAINS[measure.unit]
    best, worst = (low, high) if measure.better == "less" else (high, low)
    base = values.get(model.baseline)
    rows = []
    for session_id, value in values.items():
        rank = "" if not apart or value is None else "best" if value == best else "worst" if value == worst else ""
        change = None if base is None or value is None else value - base
        rows.append(
            {
                "session_id": session_id,
                "measure": measure.name,
                "measured_in": measure.unit,
                "better": measure.better,
                "value": None if value is None else float(value),
                "rank": rank,
                "baseline_id": model.baseline,
                "baseline_value": None if base is None else float(base),
                "difference": None if change is None else float(change),
                "difference_share": change / abs(base) if change is not None and base else None,
                "judged": "" if session_id == model.baseline else _judged(measure, base, value, change),
            }
        )
    return rows


def _judged(measure: Measure, base: float | None, value: float | None, change: float | None) -> str:
    if base is None or value is None or change is None:
        return ""
    # An availability near 1 hardly changes relative to itself, so the unavailable share is compared.
    of = 1 - base if measure.unit == "share" else abs(base)
    if abs(change) < _GRAINS[measure.unit] or (of and abs(change) < LEAST_SHARE * of):
        return "same"
    return "regression" if (change > 0) == (measure.better == "less") else "improvement"


# The first tables: a row per session with its verdict and totals, and the input that was set aside.


_COUNTED: Final = (
    "events",
    "sent",
    "acked",
    "failed",
    "unknown",
    "acked_lost",
    "committed_lost",
    "consumed",
    "elections_clean",
    "elections_unclean",
    "elections_offline",
    "isr_shrinks",
    "isr_expands",
    "faults",
    "truncations",
    "attempts_refused",
    "violations",
)


def all_tables(model: ReportModel) -> dict[str, Any]:
    """Return every table of the report, ``sessions`` first; it contains the raw counts."""
    first = {
        "sessions": [_row(session) for session in model.sessions],
        "quarantine": _quarantine(model),
        "settings": _settings(model),
        "comparison": compare(model),
    }
    made = {name: pa.Table.from_pylist(rows, schema=TABLES[name].schema) for name, rows in first.items()}
    return {**made, **{name: table for name, table in model.tables.items() if name != "counts"}}


def _settings(model: ReportModel) -> list[dict[str, Any]]:
    """Return the settings in which sessions of a playbook differ, as rows."""
    return [
        {"session_id": one.session_id, "setting": setting.path, "name": setting.name, "setting_value": setting.value}
        for one in model.sessions
        for setting in one.settings
    ]


def _quarantine(model: ReportModel) -> list[dict[str, Any]]:
    """Return rows of directories that were set aside, and of problems of sessions that are reported."""
    quarantined = [
        {"session_id": "", "what": "directory", "path": str(aside.path), "reason": aside.reason}
        for aside in model.set_aside
    ]
    parts = [
        {"session_id": session.session_id, "what": "part", "path": str(session.recorded.path), "reason": problem}
        for session in model.sessions
        for problem in session.problems
    ]
    return quarantined + parts


def _row(model: SessionModel) -> dict[str, Any]:
    start, manifest = model.recorded.start, model.recorded.manifest
    spans = [row["duration_us"] for row in model.unavailable("client")]
    compared = [row["agrees"] for row in model.tables["ledger"] if row["agrees"] is not None]
    return {
        "session_id": model.session_id,
        "playbook": start.playbook,
        "title": model.name,
        "profile": start.profile,
        "seed": start.seed,
        "verdict": model.verdict,
        "status": model.status,
        "headline": headline(model),
        "problems": list(model.problems),
        "expectations": len(model.tables["expectations"]),
        "expectations_held": len(model.tables["expectations"]) - len(model.failed),
        "loss_expected": model.loss_expected if model.lost else None,
        "virtual_us": model.recorded.end_us,
        **{name: model.counts.get(name, 0) for name in _COUNTED},
        "unavailable_us": sum(spans),
        "longest_unavailable_us": max(spans, default=0),
        "ledger_agrees": all(compared) if compared else None,
        "digest": manifest.digest if manifest else "",
        "tool_version": start.tool_version,
        "wall_start": start.wall_start,
        "path": str(model.recorded.path),
    }
