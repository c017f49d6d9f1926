"""Which tables a report has, what a row of each is, and their columns: what is computed, written and documented.

The types of a table's columns are those of the registry, whatever a query happens to give.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from spark_report.tables.columns import COLUMNS, Column

SPAN: Final = ("began_us", "began_seq", "ended_us", "ended_seq", "open", "began_by", "ended_by")
"""The columns of every interval."""

_POINT: Final = ("session_id", "at_us", "seq")
_WHO: Final = ("session_id", "what", "client")
_LATENCY: Final = ("records", "min_us", "p50_us", "p95_us", "p99_us", "max_us")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of findings."""

    name: str
    row: str
    """What one row is, for people."""
    columns: tuple[str, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    """What a column means here, where the glossary is too general."""

    def column(self, name: str) -> Column:
        """A column as this table has it."""
        plain = COLUMNS[name]
        return plain._replace(meaning=self.notes[name]) if name in self.notes else plain

    @property
    def schema(self) -> Any:
        """Its Arrow schema."""
        return _schema(self.columns)


@cache
def _schema(columns: tuple[str, ...]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - a page of documentation should not wait for Arrow

    types = {
        "int": pa.int64(),
        "float": pa.float64(),
        "str": pa.string(),
        "bool": pa.bool_(),
        "ints": pa.list_(pa.int64()),
        "strs": pa.list_(pa.string()),
    }
    return pa.schema([(name, types[COLUMNS[name].type]) for name in columns])


_TABLES: Final = (
    Table(
        "sessions",
        "A session: what it was, verdict, status, totals.",
        (
            *("session_id", "playbook", "title", "profile", "seed", "verdict", "status", "headline", "problems"),
            *("virtual_us", "events", "sent", "acked", "failed", "unknown", "acked_lost", "committed_lost"),
            *("consumed", "elections_clean", "elections_unclean", "elections_offline", "isr_shrinks", "isr_expands"),
            *("faults", "truncations", "attempts_refused", "violations", "unavailable_us", "longest_unavailable_us"),
            *("ledger_agrees", "digest", "tool_version", "wall_start", "path"),
        ),
        {"unavailable_us": "Time without service of all partitions, added up."},
    ),
    Table(
        "quarantine",
        "Input that was set aside, and why: the rest is reported.",
        ("session_id", "what", "path", "reason"),
        {
            "session_id": "The session of which only a part was set aside; empty for a whole directory.",
            "what": "`directory`: nothing of it is reported; `part`: the session is, without what is named.",
        },
    ),
    Table(
        "left_out",
        "Rows that a table does not show of a session with very many; counts and sums elsewhere are of all of them.",
        ("session_id", "table", "left_out"),
        {"left_out": "Rows that were left out; nothing for a table that could not be made of the session."},
    ),
    Table(
        "comparison",
        "A measure of a session, beside the other sessions of the report and against the baseline.",
        (
            *("session_id", "measure", "measured_in", "better", "value", "rank"),
            *("baseline_id", "baseline_value", "difference", "difference_share", "judged"),
        ),
    ),
    # -- what happened at an instant
    Table(
        "elections",
        "A decision of the controller on a leader, also that there is none.",
        (*_POINT, "partition", "election", "leader", "leader_epoch", "isr", "by"),
    ),
    Table(
        "isr_changes",
        "A change of the ISR.",
        (*_POINT, "partition", "change", "leader", "leader_epoch", "isr", "previous_isr", "by"),
    ),
    Table(
        "losses",
        "Acknowledged records that are gone, or were at that moment, with the cause.",
        (
            *(*_POINT, "fate", "partition", "client", "sequence", "count"),
            *("log_offset", "leader_epoch", "acks", "committed", "cause"),
        ),
    ),
    Table(
        "violations",
        "A property of the protocol that did not hold.",
        (
            *(*_POINT, "invariant", "partition", "broker", "detail", "cause"),
            *("log_offset", "end_offset", "leader_epoch", "known"),
        ),
    ),
    Table(
        "overdue",
        "A promise that was not kept in time.",
        (*_POINT, "property", "partition", "broker", "detail", "since_us", "bound_us", "known"),
    ),
    Table(
        "truncations",
        "A piece `[log_offset, end_offset)` that a replica cut off its log.",
        (*_POINT, "partition", "broker", "leader_epoch", "log_offset", "end_offset", "hw", "rule"),
    ),
    Table(
        "expectations",
        "An expectation of the playbook with its verdict.",
        (*_POINT, "rule", "ok", "detail"),
        {"rule": "The expectation.", "at_us": "When the verdict was announced."},
    ),
    Table("controllers", "A node became the active controller.", (*_POINT, "node", "broker", "leader_epoch")),
    Table("steps", "What the playbook or an operator did.", (*_POINT, "by", "target", "detail", "error")),
    Table(
        "guards",
        "What a guard of the playbook did.",
        (*_POINT, "rule", "detail", "fault", "target", "cause"),
        {"rule": "The guard.", "detail": "`refused`, `healed` or `stopped`.", "fault": "What was refused or healed."},
    ),
    # -- what went wrong
    Table(
        "findings",
        "What went wrong with records and why, once for each cause, as the session's own result says.",
        ("session_id", "kind", "cause", "sentence", "records", "committed_records", "partitions_named"),
        {"cause": "The cause, as on the page of causes."},
    ),
    Table(
        "anomalies_told",
        "An anomaly as the session's own checker found it.",
        ("session_id", "anomaly", "legal", "reason", "found"),
        {"found": "How often, as the session's own result says.", "reason": "Why it is legal; empty if it is not."},
    ),
    Table(
        "anomalies",
        "An anomaly at a partition and a client, counted again from the clients' histories alone.",
        ("session_id", "anomaly", "partition", "client", "found"),
        {"client": "Who wrote the values, or read them, as the anomaly has it; empty where it names none."},
    ),
    Table(
        "disagreements",
        "Something that a session says of itself otherwise than its events do: one of the two is wrong.",
        ("session_id", "source", "name", "partition", "found", "told"),
        {"found": "As counted again.", "partition": "The partition; empty for the whole session."},
    ),
    # -- what lasted
    Table(
        "faults",
        "A fault and when it was active.",
        ("session_id", "fault_id", "fault", "target", "detail", *SPAN),
    ),
    Table(
        "partition_states",
        "An interval of a partition with one leader, epoch and ISR by the controller's state.",
        ("session_id", "partition", "leader", "leader_epoch", "isr", "isr_size", "replication", "min_isr", *SPAN),
        {"replication": "Replicas that it is to have in sync: those that are only being added are not counted."},
    ),
    Table(
        "unavailability",
        "An interval without service.",
        ("session_id", "scope", "partition", "client", "acks", *SPAN, "duration_us"),
    ),
    Table(
        "availability",
        "How much of its time a partition was served, and a client at a partition with its acks level.",
        (
            *("session_id", "scope", "partition", "client", "acks", "intervals", "unavailable_us"),
            *("longest_unavailable_us", "observed_us", "availability", "open"),
        ),
        {
            "observed_us": "From a partition's first leader to its deletion, or from the first answer to a client, to "
            "the session's end at the latest; of a partition that was made anew all of it, added up.",
            "open": "Whether it was still out at the session's end.",
        },
    ),
    Table(
        "isr_conditions",
        "An interval in which a partition had too few replicas in sync, or no leader.",
        ("session_id", "partition", "condition", *SPAN, "duration_us"),
    ),
    Table(
        "hw_stalls",
        "An interval of at least a second in which records waited above a partition's high watermark, and it stood "
        "still.",
        ("session_id", "partition", "hw", *SPAN, "duration_us"),
    ),
    Table(
        "partitions",
        "A partition over the whole session: how it was replicated, led and moved.",
        (
            *("session_id", "partition", "replication", "min_isr", "under_replicated_us", "at_min_isr_us"),
            *("under_min_isr_us", "offline_us", "isr_shrinks", "isr_expands", "isr_changes_per_minute"),
            *("elections_clean", "elections_unclean", "elections_offline", "last_epoch", "epochs"),
            *("hw_stalls", "hw_stalled_us", "longest_hw_stall_us"),
        ),
    ),
    Table(
        "fault_times",
        "A fault with how long it took until it was noticed, until a leader was elected, until all was served again, "
        "and until nothing was left of it.",
        (
            *("session_id", "fault_id", "fault", "target", "began_us", "ended_us", "open", "detected_us"),
            *("detected_by", "elected_us", "partitions_out", "restored_us", "recovered_us", "unrecovered"),
            *("time_to_detect_us", "time_to_elect_us", "time_to_restore_us", "time_to_recover_us"),
        ),
    ),
    Table(
        "fault_means",
        "Means over the faults of a name, and over all of a session.",
        (
            *("session_id", "fault", "faults", "detected", "recovered", "unrecovered_faults"),
            *("mttd_us", "mtte_us", "mttr_us", "rto_us"),
        ),
    ),
    Table(
        "fault_latency",
        "Percentiles of a client's latencies before, during and after one fault, weighted by records.",
        ("session_id", "fault_id", "what", "client", "phase", *_LATENCY),
        {
            "what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read).",
            "phase": "`during`: the fault was active at some moment of the wait. `before`, `after`: the wait ended, or "
            "began, within as much time of it as it lasted, and a second at least.",
        },
    ),
    Table(
        "throughput",
        "Records of a client over a bin of time, `[bin_began_us, bin_began_us + bin_us)`.",
        (
            *("session_id", "client", "bin_began_us", "bin_us", "sent", "acked", "failed", "unknown", "read"),
            *("refused", "acked_per_s", "read_per_s"),
        ),
    ),
    Table(
        "outcomes",
        "What became of the records that a client sent to a partition with an acks level.",
        (
            *("session_id", "client", "partition", "acks", "sent", "acked", "rejected", "timed_out"),
            *("unknown_other", "aborted", "refused"),
        ),
    ),
    Table(
        "hw_series",
        "The high watermark of a partition at the end of a bin of time in which its leader told one.",
        ("session_id", "partition", "bin_began_us", "bin_us", "hw"),
    ),
    Table(
        "partition_lag",
        "How far a group was behind at a partition at the end of a bin of time, from when it first read of it.",
        ("session_id", "group_id", "partition", "bin_began_us", "bin_us", "lag"),
    ),
    Table(
        "group_lag",
        "How far a group was behind at the end of a bin of time, over the partitions that it has read.",
        ("session_id", "group_id", "bin_began_us", "bin_us", "lag"),
    ),
    Table(
        "lag_peaks",
        "The greatest lag of a group, and how long it took to get it down.",
        (
            *("session_id", "group_id", "peak_lag", "peak_at_us", "usual_lag", "drained_us", "time_to_drain_us"),
            "final_lag",
        ),
    ),
    Table(
        "rebalances",
        "A rebalance of a group with the time that was lost by it.",
        (*_POINT, "group_id", "members", "detail", "partitions_moved", "time_lost_us"),
    ),
    Table(
        "controller_failovers",
        "A node became the active controller in another's place.",
        (*_POINT, "node", "from_node", "leader_epoch", "lost_us", "without_us"),
    ),
    Table(
        "alerts",
        "An interval in which the condition of an alert held, with Kafka's name of the metric; whether it fired.",
        (
            *("session_id", "alert", "metric", "severity", "peak", *SPAN, "duration_us", "for_us", "fired"),
            "fired_us",
        ),
        {"fired": "Whether the condition held for as long as the alert asks for."},
    ),
    # -- counts
    Table(
        "counts",
        "The totals of a session; they are part of `sessions`.",
        (
            *("session_id", "events", "last_seq", "gapless"),
            *("elections_clean", "elections_unclean", "elections_offline"),
            *("isr_shrinks", "isr_expands", "faults", "truncations", "attempts_refused", "violations", "consumed"),
            *("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost"),
        ),
    ),
    Table(
        "ledger",
        "A term of the ledger twice: as the session's engine counted it, and from the events.",
        ("session_id", "term", "from_events", "from_result", "agrees"),
    ),
    Table(
        "latency",
        "Percentiles of a client's latencies over a phase of the session, weighted by records.",
        (*_WHO, "phase", *_LATENCY),
        {
            "what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read).",
            "phase": "`all`, or `during` (a fault was active at some moment of the wait), `before` the first fault, "
            "`after`.",
        },
    ),
    Table(
        "latency_series",
        "The same over a bin of time, `[bin_began_us, bin_began_us + bin_us)`.",
        (*_WHO, "bin_began_us", "bin_us", "records", "min_us", "p50_us", "p99_us", "max_us"),
        {"what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read)."},
    ),
    Table(
        "producers",
        "What a producer saw: records by their outcome, attempts, transactions.",
        (
            *("session_id", "client", "sent", "acked", "failed", "unknown", "aborted", "unanswered"),
            *("retries", "refused", "transactions", "transactions_committed", "transactions_aborted"),
            *("transactions_unknown", "interceptor_failures", "killed", "closed", "failure"),
        ),
    ),
    Table(
        "groups",
        "What a consumer group saw.",
        (
            *("session_id", "group_id", "read", "reread", "rebalances", "idle_us", "commits", "failed_commits"),
            *("skipped", "abandoned", "truncations", "resets"),
        ),
        {"truncations": "Times that a member found its log truncated."},
    ),
    Table(
        "members",
        "What a member of a group saw.",
        (
            *("session_id", "group_id", "client", "read", "skipped", "abandoned", "commits", "failed_commits"),
            *("partitions_lost", "killed", "closed", "failure"),
        ),
    ),
    Table(
        "client_errors",
        "How often a client met an error.",
        ("session_id", "what", "client", "error", "times"),
        {"what": "`refused` attempts, the `outcome` of records, or a `commit`."},
    ),
)


def _by_name(*tables: Table) -> dict[str, Table]:
    found = {table.name: table for table in tables}
    if len(found) < len(tables):
        raise ValueError("two tables have one name")
    return found


TABLES: Final[dict[str, Table]] = _by_name(*_TABLES)
"""Name → table, in the order of the dictionary."""
