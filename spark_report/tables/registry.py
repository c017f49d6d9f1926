"""Registry of a report's tables and columns, with type, unit and meaning; the data dictionary is made from it.

The registry decides the types of a table's columns; query results are cast to them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from playbooks.text import table_text

# Every column of a report's tables: its type, unit and meaning. A name means the same in every table.


Type = Literal["int", "float", "str", "bool", "ints", "strs"]


class Column(NamedTuple):
    """Type, unit and meaning of a column, the same in every table that has it."""

    type: Type
    unit: str
    """Empty for a column without a unit, such as a name."""
    meaning: str


_US: Final = "µs"
_RECORDS: Final = "records"
_COUNT: Final = "count"


def _columns(kind: Type, unit: str, /, **meanings: str) -> dict[str, Column]:
    return {name: Column(kind, unit, meaning) for name, meaning in meanings.items()}


COLUMNS: Final[dict[str, Column]] = {
    **_columns(
        "str", "",
        session_id="Session id.",
        playbook="Name of the playbook.",
        title="Title of the playbook, or its name.",
        profile="Modelled Kafka version and mode.",
        verdict="`pass`, `fail`, `inconclusive`; empty for a session without a verdict.",
        status="`complete`, `incomplete` (events are missing), `recovered` or `damaged`.",
        headline="The verdict in one or two sentences.",
        digest="Digest of the trace; sessions with the same digest have the same events.",
        tool_version="Version of floodmark that recorded it.",
        wall_start="Wall-clock time of the recording, UTC.",
        path="The directory, or a file in it.",
        what="Subject of the row; the table lists the values.",
        reason="The reason, in one sentence.",
        table="Name of a table of this report.",
        partition="Topic and partition number, `orders-0`; empty for none.",
        client="Name of the client; empty for none.",
        group_id="Consumer group; empty for none.",
        scope="`partition`: measured in the cluster; `client`: measured at a client.",
        began_by="Event that started it, as text.",
        ended_by="Event that ended it, as text; empty for none.",
        election="`created`, `clean`, `unclean`, or `offline` (no replica could be elected).",
        by="Actor or reason.",
        change="`shrink`, `expand` or `swap` (both at once).",
        cause="The chain of events that led to it, in one sentence.",
        invariant="Name of the invariant.",
        property="Name of the liveness property.",
        detail="Details, as text.",
        known="The fix and its version, or why this version does not guarantee it; empty for an unexpected violation.",
        rule="The rule that was applied.",
        node="The process.",
        from_node="The previous active controller; empty for none.",
        target="Target of the action or fault.",
        error="Kafka error or client exception; empty for none.",
        fault="Name of the fault; empty in the row for all faults of the session.",
        term="Term of the ledger.",
        phase="`all`, `before`, `during` or `after`; null in a row of a series.",
        detected_by="The alert that fired first; empty for none.",
        failure="Fatal error that ended the client; empty for none.",
        condition="`under_replicated`, `under_min_isr`, `at_min_isr` or `offline`.",
        anomaly="Name of the anomaly, see the reference of anomalies.",
        kind="Kind of the finding, see the reference of causes.",
        sentence="The finding in one sentence.",
        name="The compared value: a term of the ledger, or an anomaly.",
        source="The session's file that disagrees with the events.",
        alert="Name of the alert, the same as of its metric.",
        metric="Kafka's name of the metric (MBean).",
        severity="`page` or `warn`.",
        measure="Name of the measure.",
        measured_in="Unit of the values.",
        better="`less` or `more`.",
        rank="`best` or `worst` of the sessions in the report; empty for neither, or if all are equal.",
        point="`event`: the point is an event; `acknowledgement`: the loss was inevitable from the acknowledgement on; "
        "`unplaced`: the record was never in any log; `open`: at the end it could still be kept.",
        remedy="The change that was tried, with the same seed and all other settings unchanged.",
        effect="`saves`, `helps`, `would not have helped`, `inconclusive` or `refused`.",
        summary="The remaining losses and the price, as text.",
        setting="Path of the setting, as `--set` takes it; `seed` for the seed.",
        setting_value="Value of the setting; null if neither the session nor its playbook sets it.",
        baseline_id="The session to compare with; empty for none.",
        judged="`regression`, `improvement` or `same`; empty if there is nothing to compare with.",
    ),
    **_columns(
        "int", _US,
        at_us="Time of the event.",
        began_us="Start time.",
        ended_us="End time; the session's end if nothing ended it.",
        duration_us="Duration.",
        virtual_us="Length of the session.",
        unavailable_us="Total unavailable time.",
        longest_unavailable_us="Longest unavailable interval.",
        observed_us="Time over which availability was measured.",
        bin_began_us="Start of the bin.",
        bin_us="Width of the bin.",
        min_us="Minimum.",
        p50_us="Median.",
        p95_us="95th percentile.",
        p99_us="99th percentile.",
        max_us="Maximum.",
        idle_us="Total time that its partitions had no owner with a running process.",
        under_replicated_us="Total time with fewer in-sync than assigned replicas.",
        under_min_isr_us="Total time with fewer than `min.insync.replicas` in sync; null if that is not known.",
        at_min_isr_us="Total time with exactly `min.insync.replicas` in sync, and not all; null if that is not known.",
        offline_us="Total time without a leader in the controller's state.",
        hw_stalled_us="Total time of its high watermark stalls.",
        longest_hw_stall_us="Longest high watermark stall.",
        detected_us="Time of the first alert on a metric that counts an effect of the fault; null: none fired.",
        elected_us="Time of the first leader election that it caused; null: none.",
        restored_us="Time at which every partition that it made unavailable was available again; null: it made none "
        "unavailable, or one still is.",
        recovered_us="Time at which no effect of it was left; null: it had no effect, or one is left.",
        time_to_detect_us="From the start of the fault to `detected_us`.",
        time_to_elect_us="From the start of the fault to `elected_us`.",
        time_to_restore_us="Recovery time of the service (RTO): from the start of the fault to `restored_us`.",
        time_to_recover_us="From the start of the fault to `recovered_us`.",
        mttd_us="Mean time to detect: the mean of `time_to_detect_us`, over the faults that have one.",
        mtte_us="Mean time to elect: the mean of `time_to_elect_us`, over the faults that have one.",
        mttr_us="Mean time to recover: the mean of `time_to_recover_us`, over the faults that have one.",
        rto_us="Achieved recovery time: the greatest `time_to_restore_us`.",
        since_us="Time from which the liveness check was pending.",
        bound_us="Time limit.",
        peak_at_us="Time of the peak.",
        drained_us="Time at which the position lag was back to its usual value; null: never.",
        time_to_drain_us="From the peak to `drained_us`.",
        for_us="Time that the condition must hold before the alert fires.",
        fired_us="Time at which the alert fired; null: the condition did not hold long enough.",
        lost_us="Time at which the previous controller went down, was paused, or lost its session; null: it did not.",
        price_unavailable_us="Change of the clients' unavailable time; negative: shorter; null: not run.",
        without_us="Time without an active controller, from `lost_us` on.",
        time_lost_us="Total time of partitions without an owner that ended with the rebalance.",
    ),
    **_columns(
        "int", "event",
        seq="Sequence number of the event in the recording.",
        began_seq="Sequence number of the event that started it.",
        ended_seq="Sequence number of the event that ended it.",
        last_seq="Sequence number of the last event.",
    ),
    **_columns(
        "int", "id",
        fault_id="Number of the fault in its session.",
        leader="Broker id of the leader, -1 for none.",
        broker="Broker id, -1 for none.",
        seed="Seed of all random streams.",
    ),
    **_columns(
        "int", "epoch",
        leader_epoch="Leader epoch; for a controller, the controller epoch.",
        last_epoch="Last leader epoch.",
    ),
    **_columns(
        "int", "offset",
        log_offset="First offset of the range, -1 for none.",
        end_offset="Offset after the last one of the range, -1 for none.",
        hw="High watermark.",
    ),
    **_columns(
        "int", _RECORDS,
        count="Number of records.",
        records="Number of records.",
        sent="Sent: passed to the producer.",
        acked="Acknowledged.",
        failed="Failed with an error that proves that they were not written.",
        rejected="Failed with an error that proves that they were not written.",
        timed_out="Outcome unknown because of a timeout.",
        unknown="Outcome unknown: they may have been written or not.",
        unknown_other="Outcome unknown for another reason than a timeout.",
        aborted="Aborted with their transaction.",
        unanswered="Without an outcome at the end of the session.",
        acked_lost="Acknowledged and permanently lost.",
        committed_lost="Of these, below the high watermark at some time.",
        consumed="Delivered to consumers.",
        read="Delivered to the application.",
        reread="Delivered to the group again.",
        handler_failed="Skipped, because the handler could not process them.",
        abandoned="Delivered to an application that did not process them.",
        committed_records="Of these, committed: consumers could have read them.",
        position_lag="High watermark minus the position up to which the group has read; its LAG counts from the "
        "committed offset instead.",
        peak_position_lag="Greatest position lag.",
        final_position_lag="Position lag at the end of the session.",
        usual_position_lag="Position lag that counts as drained: the greatest before the first fault, else the median.",
        interceptor_failures="Records for which an interceptor threw an exception.",
        before="Number with this finding in the session.",
        remaining="Number with this finding with the change; null: not run.",
        price_rejected="Change of the number of failed records; negative: fewer; null: not run.",
    ),
    **_columns(
        "int", _COUNT,
        acks="Acks level; -1 is all.",
        sequence="Number of the first record, by its client and partition; -1 for none.",
        isr_size="Number of in-sync replicas.",
        replication="Number of assigned replicas.",
        min_isr="`min.insync.replicas` at that time, or for a whole partition at the start of the session; null if not "
        "recorded: old recordings lack it for internal topics and for added partitions.",
        intervals="Number of intervals.",
        events="Recorded events.",
        faults="Injected faults.",
        elections_clean="Elections from the ISR, without the first leader.",
        elections_unclean="Elections from outside the ISR.",
        elections_offline="Elections without an eligible replica.",
        isr_shrinks="Number of ISR shrinks.",
        isr_expands="Number of ISR expansions.",
        truncations="Number of log truncations.",
        attempts_refused="Produce attempts that ended in an error or without a response.",
        violations="Invariant violations.",
        retries="Retries.",
        refused="Attempts that ended in an error or without a response.",
        transactions="Started transactions.",
        transactions_committed="Transactions whose commit was confirmed.",
        transactions_aborted="Transactions whose abort was confirmed.",
        transactions_unknown="Transactions with an unknown outcome.",
        killed="Times that its process was killed.",
        closed="Times that it was closed.",
        rebalances="Rebalances.",
        commits="Accepted commits.",
        failed_commits="Commits that failed or have an unknown outcome.",
        partitions_lost="Partitions lost without revocation.",
        times="Number of occurrences.",
        resets="Offset resets by `auto.offset.reset`.",
        epochs="Number of leader epochs, including the first.",
        hw_stalls="Stalls of the high watermark.",
        partitions_out="Partitions that it made unavailable.",
        detected="Faults that an alert detected.",
        recovered="Faults that had an effect, of which none was left.",
        unrecovered_faults="Faults with an effect left at the end of the session; no mean includes them.",
        members="Members of the group.",
        partitions_moved="Partitions that had been revoked or lost, and got an owner in the rebalance.",
        found="Number of occurrences, recounted.",
        reported="Number in the session's own result.",
        peak="Greatest value at any time.",
        left_out="Number of rows left out.",
        finding="Number of the finding in the session's result, from 1.",
        position="Rank among those of the session and kind, the best first.",
        seeds_kept="Seeds with which no such finding remains.",
        seeds="Seeds that it was tried with.",
        expectations="Expectations of the playbook.",
        expectations_held="Expectations that held.",
    ),
    **_columns(
        "int", "as its name says",
        from_events="Counted from the events.",
        from_result="From the session's own result.",
    ),
    **_columns(
        "float", "",
        availability="Available share of the observed time, 0 to 1.",
        value="The value; null if not available.",
        baseline_value="The baseline's value.",
        difference="The value minus the baseline's.",
        difference_share="The difference as a share of the baseline's value; null if that is 0.",
        acked_per_s="Acknowledged records per second.",
        read_per_s="Records read per second.",
        isr_changes_per_minute="ISR changes per minute.",
    ),
    **_columns(
        "bool", "",
        gapless="Whether every sequence number from 0 to the last occurs once.",
        open="Whether it was still open at the end of the session, which is then its end.",
        ok="Whether it held.",
        agrees="Whether both are equal; null if one is missing.",
        ledger_agrees="Whether all terms of the ledger agree; null without a result.",
        committed="Whether they were committed: consumers could have read them.",
        legal="Whether the settings allow it.",
        fired="Whether the condition held long enough.",
        loss_expected="Whether the session passed with losses that an expectation allows; null: it lost nothing.",
        unrecovered="Whether an effect of it was left at the end of the session.",
    ),
    **_columns(
        "ints", "ids",
        isr="In-sync replicas.",
        previous_isr="In-sync replicas before the change.",
    ),
    **_columns(
        "strs", "",
        partitions_named="The partitions.",
        problems="Problems of the recording; empty for a complete one.",
        explanation="Description, a line each: the event, what would have kept the record, the earliest warning.",
        saving="Operator actions that would have kept the record just before it.",
        options="Values for `--set`.",
    ),
}  # fmt: skip

SPAN: Final = ("began_us", "began_seq", "ended_us", "ended_seq", "open", "began_by", "ended_by")
"""Columns of every table of intervals."""

_POINT: Final = ("session_id", "at_us", "seq")
_WHO: Final = ("session_id", "what", "client")
_LATENCY: Final = ("records", "min_us", "p50_us", "p95_us", "p99_us", "max_us")


@dataclass(frozen=True, slots=True)
class FindingTable:
    """A table of a report: its name, columns, and the meaning of a row."""

    name: str
    row: str
    """Description of a row."""
    columns: tuple[str, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    """Meanings of columns in this table, where the general meaning is not specific enough."""

    def column(self, name: str) -> Column:
        """Return a column with its meaning in this table."""
        plain = COLUMNS[name]
        return plain._replace(meaning=self.notes[name]) if name in self.notes else plain

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table."""
        return _schema(self.columns)


@cache
def _schema(columns: tuple[str, ...]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - generating documentation does not need Arrow

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
    FindingTable(
        "sessions",
        "A session: playbook, verdict, status, totals.",
        (
            *("session_id", "playbook", "title", "profile", "seed", "verdict", "status", "headline", "problems"),
            *("expectations", "expectations_held", "loss_expected"),
            *("virtual_us", "events", "sent", "acked", "failed", "unknown", "acked_lost", "committed_lost"),
            *("consumed", "elections_clean", "elections_unclean", "elections_offline", "isr_shrinks", "isr_expands"),
            *("faults", "truncations", "attempts_refused", "violations", "unavailable_us", "longest_unavailable_us"),
            *("ledger_agrees", "digest", "tool_version", "wall_start", "path"),
        ),
        {
            "unavailable_us": "Total time that producers could not write, over producers and partitions.",
            "longest_unavailable_us": "Longest time that a producer could not write.",
        },
    ),
    FindingTable(
        "quarantine",
        "Input that could not be reported, with the reason; the rest is reported.",
        ("session_id", "what", "path", "reason"),
        {
            "session_id": "The session of which a part was set aside; empty for a whole directory.",
            "what": "`directory`: nothing of it is reported; `part`: the session is reported without this part.",
        },
    ),
    FindingTable(
        "left_out",
        "Rows that a table leaves out for a session with very many; counts and sums in other tables include them.",
        ("session_id", "table", "left_out"),
        {"left_out": "Number of rows left out; null for a table that could not be made for the session."},
    ),
    FindingTable(
        "settings",
        "A setting in which a session differs from another session of the same playbook in the report, as in a grid.",
        ("session_id", "setting", "name", "setting_value"),
        {"name": "Last part of the path, or the whole path if several settings end with it."},
    ),
    FindingTable(
        "comparison",
        "A measure of a session, compared with the other sessions of the report and with the baseline.",
        (
            *("session_id", "measure", "measured_in", "better", "value", "rank"),
            *("baseline_id", "baseline_value", "difference", "difference_share", "judged"),
        ),
    ),
    # -- events at a point in time
    FindingTable(
        "elections",
        "A leader election, also one without an eligible replica.",
        (*_POINT, "partition", "election", "leader", "leader_epoch", "isr", "by"),
    ),
    FindingTable(
        "isr_changes",
        "An ISR change.",
        (*_POINT, "partition", "change", "leader", "leader_epoch", "isr", "previous_isr", "by"),
    ),
    FindingTable(
        "losses",
        "Acknowledged records that are lost, or were missing at that time, with the cause.",
        (
            *(*_POINT, "status", "partition", "client", "sequence", "count"),
            *("log_offset", "leader_epoch", "acks", "committed", "cause"),
        ),
        {"status": "`lost` permanently, or `missing` at that time."},
    ),
    FindingTable(
        "violations",
        "A violated invariant.",
        (
            *(*_POINT, "invariant", "partition", "broker", "detail", "cause"),
            *("log_offset", "end_offset", "leader_epoch", "known"),
        ),
    ),
    FindingTable(
        "liveness_violations",
        "A violated liveness property: something that did not happen within its time limit.",
        (*_POINT, "property", "partition", "broker", "detail", "since_us", "bound_us", "known"),
    ),
    FindingTable(
        "truncations",
        "A log truncation: the range `[log_offset, end_offset)` that a replica removed from its log.",
        (*_POINT, "partition", "broker", "leader_epoch", "log_offset", "end_offset", "hw", "rule"),
    ),
    FindingTable(
        "expectations",
        "An expectation of the playbook with its verdict.",
        (*_POINT, "rule", "ok", "detail"),
        {"rule": "The expectation.", "at_us": "Time at which the verdict was recorded."},
    ),
    FindingTable("controllers", "A node became the active controller.", (*_POINT, "node", "broker", "leader_epoch")),
    FindingTable(
        "steps", "A step of the playbook, or an operator's action.", (*_POINT, "by", "target", "detail", "error")
    ),
    FindingTable(
        "guards",
        "An action of a playbook's guard.",
        (*_POINT, "rule", "detail", "fault", "target", "cause"),
        {"rule": "The guard.", "detail": "`refused`, `healed` or `stopped`.", "fault": "The refused or healed fault."},
    ),
    # -- findings
    FindingTable(
        "points_of_no_return",
        "The last event after which no action could have kept a lost record, as `floodmark why` found it.",
        ("session_id", "finding", "point", "at_us", "sentence", "explanation", "saving"),
        {"at_us": "Time of the event; null if it is no event, and in manual sessions."},
    ),
    FindingTable(
        "remedies",
        "A change that was tried to prevent a session's losses, with its price, as `floodmark why` found it.",
        (
            *("session_id", "kind", "position", "remedy", "options", "effect", "before", "remaining"),
            *("price_rejected", "price_unavailable_us", "seeds_kept", "seeds", "summary", "reason"),
        ),
        {"reason": "Reason why it was refused or is inconclusive."},
    ),
    FindingTable(
        "findings",
        "A finding about records, one for each cause, from the session's own result.",
        ("session_id", "kind", "cause", "sentence", "records", "committed_records", "partitions_named"),
        {"cause": "The cause, see the reference of causes."},
    ),
    FindingTable(
        "reported_anomalies",
        "An anomaly that the session's own checker found.",
        ("session_id", "anomaly", "legal", "reason", "found"),
        {"found": "Number in the session's own result.", "reason": "Why the settings allow it; empty if they do not."},
    ),
    FindingTable(
        "anomalies",
        "An anomaly at a partition and client, recounted from the clients' histories alone.",
        ("session_id", "anomaly", "partition", "client", "found"),
        {"client": "The client that wrote or read the values, depending on the anomaly; empty for none."},
    ),
    FindingTable(
        "disagreements",
        "A value in which a session's own result differs from its events: one of the two is wrong.",
        ("session_id", "source", "name", "partition", "found", "reported"),
        {"found": "Number recounted from the events.", "partition": "The partition; empty for the whole session."},
    ),
    # -- intervals
    FindingTable(
        "faults",
        "A fault, with its active interval.",
        ("session_id", "fault_id", "fault", "target", "detail", *SPAN),
    ),
    FindingTable(
        "partition_states",
        "An interval of a partition with one leader, epoch and ISR by the controller's state.",
        ("session_id", "partition", "leader", "leader_epoch", "isr", "isr_size", "replication", "min_isr", *SPAN),
        {"replication": "Number of assigned replicas, without those that are being added."},
    ),
    FindingTable(
        "unavailability",
        "An interval in which a partition had no serving leader, or a client could not write.",
        ("session_id", "scope", "partition", "client", "acks", *SPAN, "duration_us", "bound_us"),
        {
            "bound_us": "Time that the client's records may wait before it counts as unavailable; 0 for a partition.",
            "began_by": "Event that started it, as text; for a client the first error response, empty for none.",
        },
    ),
    FindingTable(
        "availability",
        "Availability of a partition, or of a partition for a client with an acks level.",
        (
            *("session_id", "scope", "partition", "client", "acks", "intervals", "unavailable_us"),
            *("longest_unavailable_us", "observed_us", "availability", "open"),
        ),
        {
            "observed_us": "From a partition's first leader to its deletion, or from a client's first record, to the "
            "session's end at the latest; for a recreated partition the sum.",
            "open": "Whether it was still unavailable at the end of the session.",
        },
    ),
    FindingTable(
        "isr_conditions",
        "An interval in which a partition was under-replicated, at or under min ISR, or offline.",
        ("session_id", "partition", "condition", *SPAN, "duration_us"),
    ),
    FindingTable(
        "hw_stalls",
        "An interval of at least a second in which a partition's high watermark stalled below waiting records.",
        ("session_id", "partition", "hw", *SPAN, "duration_us"),
    ),
    FindingTable(
        "partitions",
        "A partition over the whole session: replication, elections, ISR changes, stalls.",
        (
            *("session_id", "partition", "replication", "min_isr", "under_replicated_us", "at_min_isr_us"),
            *("under_min_isr_us", "offline_us", "isr_shrinks", "isr_expands", "isr_changes_per_minute"),
            *("elections_clean", "elections_unclean", "elections_offline", "last_epoch", "epochs"),
            *("hw_stalls", "hw_stalled_us", "longest_hw_stall_us"),
        ),
    ),
    FindingTable(
        "fault_times",
        "A fault with its times to detection, leader election, restored service and full recovery.",
        (
            *("session_id", "fault_id", "fault", "target", "began_us", "ended_us", "open", "detected_us"),
            *("detected_by", "elected_us", "partitions_out", "restored_us", "recovered_us", "unrecovered"),
            *("time_to_detect_us", "time_to_elect_us", "time_to_restore_us", "time_to_recover_us"),
        ),
    ),
    FindingTable(
        "fault_means",
        "Mean times over the faults of a name, and over all faults of a session.",
        (
            *("session_id", "fault", "faults", "detected", "recovered", "unrecovered_faults"),
            *("mttd_us", "mtte_us", "mttr_us", "rto_us"),
        ),
    ),
    FindingTable(
        "fault_latency",
        "Latency percentiles of a client before, during and after one fault, weighted by records.",
        ("session_id", "fault_id", "what", "client", "phase", *_LATENCY),
        {
            "what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read).",
            "phase": "`during`: the fault was active during a part of the wait. `before`, `after`: the wait ended "
            "before it, or began after it, within the fault's duration, at least within a second.",
        },
    ),
    FindingTable(
        "throughput",
        "Throughput of a client in a time bin, `[bin_began_us, bin_began_us + bin_us)`.",
        (
            *("session_id", "client", "bin_began_us", "bin_us", "sent", "acked", "failed", "unknown", "read"),
            *("refused", "acked_per_s", "read_per_s"),
        ),
    ),
    FindingTable(
        "outcomes",
        "Outcomes of the records that a client sent to a partition with an acks level.",
        (
            *("session_id", "client", "partition", "acks", "sent", "acked", "rejected", "timed_out"),
            *("unknown_other", "aborted", "refused"),
        ),
    ),
    FindingTable(
        "hw_series",
        "High watermark of a partition at the end of a time bin in which its leader reported one.",
        ("session_id", "partition", "bin_began_us", "bin_us", "hw"),
    ),
    FindingTable(
        "partition_position_lag",
        "Position lag of a group at a partition at the end of a time bin, from its first read on.",
        ("session_id", "group_id", "partition", "bin_began_us", "bin_us", "position_lag"),
    ),
    FindingTable(
        "group_position_lag",
        "Position lag of a group at the end of a time bin, over the partitions that it has read.",
        ("session_id", "group_id", "bin_began_us", "bin_us", "position_lag"),
    ),
    FindingTable(
        "position_lag_peaks",
        "Greatest position lag of a group, with the time to drain it; no row for a group without lag.",
        (
            *(
                "session_id",
                "group_id",
                "peak_position_lag",
                "peak_at_us",
                "usual_position_lag",
                "drained_us",
                "time_to_drain_us",
            ),
            "final_position_lag",
        ),
    ),
    FindingTable(
        "rebalances",
        "A rebalance of a group, with the idle time of its partitions.",
        (*_POINT, "group_id", "members", "detail", "partitions_moved", "time_lost_us"),
    ),
    FindingTable(
        "controller_failovers",
        "A controller failover: a node became the active controller in place of another.",
        (*_POINT, "node", "from_node", "leader_epoch", "lost_us", "without_us"),
    ),
    FindingTable(
        "alerts",
        "An interval in which the condition of an alert held, with Kafka's metric, and whether the alert fired.",
        (
            *("session_id", "alert", "metric", "severity", "peak", *SPAN, "duration_us", "for_us", "fired"),
            "fired_us",
        ),
        {"fired": "Whether the condition held as long as the alert requires."},
    ),
    # -- counts
    FindingTable(
        "counts",
        "Totals of a session; they are part of `sessions`.",
        (
            *("session_id", "events", "last_seq", "gapless"),
            *("elections_clean", "elections_unclean", "elections_offline"),
            *("isr_shrinks", "isr_expands", "faults", "truncations", "attempts_refused", "violations", "consumed"),
            *("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost"),
        ),
    ),
    FindingTable(
        "ledger",
        "A term of the ledger: as the session's engine counted it, and recounted from the events.",
        ("session_id", "term", "from_events", "from_result", "agrees"),
    ),
    FindingTable(
        "latency",
        "Latency percentiles of a client over a phase of the session, weighted by records.",
        (*_WHO, "phase", *_LATENCY),
        {
            "what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read).",
            "phase": "`all`, or `during` (a fault was active during a part of the wait), `before` the first fault, "
            "`after`.",
        },
    ),
    FindingTable(
        "latency_series",
        "Latency percentiles of a client in a time bin, `[bin_began_us, bin_began_us + bin_us)`.",
        (*_WHO, "bin_began_us", "bin_us", "records", "min_us", "p50_us", "p99_us", "max_us"),
        {"what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read)."},
    ),
    FindingTable(
        "producers",
        "Statistics of a producer: records by outcome, attempts, transactions.",
        (
            *("session_id", "client", "sent", "acked", "failed", "unknown", "aborted", "unanswered"),
            *("retries", "refused", "transactions", "transactions_committed", "transactions_aborted"),
            *("transactions_unknown", "interceptor_failures", "killed", "closed", "failure"),
        ),
    ),
    FindingTable(
        "groups",
        "Statistics of a consumer group.",
        (
            *("session_id", "group_id", "read", "reread", "rebalances", "idle_us", "commits", "failed_commits"),
            *("handler_failed", "abandoned", "truncations", "resets"),
        ),
        {"truncations": "Log truncations that members detected."},
    ),
    FindingTable(
        "members",
        "Statistics of a group member.",
        (
            *("session_id", "group_id", "client", "read", "handler_failed", "abandoned", "commits", "failed_commits"),
            *("partitions_lost", "killed", "closed", "failure"),
        ),
    ),
    FindingTable(
        "client_errors",
        "An error of a client, with its number of occurrences.",
        ("session_id", "what", "client", "error", "times"),
        {"what": "The error of: `refused` (an attempt), `outcome` (a record), or `commit`."},
    ),
)


def _by_name(*tables: FindingTable) -> dict[str, FindingTable]:
    found = {table.name: table for table in tables}
    if len(found) < len(tables):
        raise ValueError("two tables have one name")
    return found


TABLES: Final[dict[str, FindingTable]] = _by_name(*_TABLES)
"""Name → table, in the order of the dictionary."""
LISTED: Final = tuple(table for table in TABLES.values() if table.name != "counts")
"""Tables that a report contains."""


# The data dictionary of a report, made from the registry.


DICTIONARY_TITLE: Final = "# The tables of a report"

INTRODUCTION: Final = f"""{DICTIONARY_TITLE}

`floodmark report` writes tables: `tables/NAME.parquet`, and the same rows under `tables` in `report.json`. A column has
the same type in every table that has it. Times are virtual microseconds since the start of the session; events of the
same microsecond are ordered by `seq`. Intervals are half-open, `[began, ended)`; one that is still open at the end of
the session ends there and has `open` true. If a session has very many rows, a table contains the first of them, and
`left_out` has the number of the others.
"""


def dictionary() -> str:
    """Return the data dictionary of a report's tables, in Markdown."""
    return "\n".join([INTRODUCTION, overview(LISTED, lambda _table: ""), *map(section, LISTED)])


def overview(tables: Iterable[FindingTable], file: Callable[[FindingTable], str]) -> str:
    """Return a Markdown table with a row for each report table, and a link to its section in a file."""
    rows = [(f"[`{table.name}`]({file(table)}#{table.name})", table.row) for table in tables]
    return table_text(("table", "one row is"), rows, _plain)


def section(table: FindingTable) -> str:
    """Return the Markdown section of a table, with its columns."""
    rows = []
    for name in table.columns:
        column = table.column(name)
        rows.append((f"`{name}`", column.type, column.unit, column.meaning))
    columns = table_text(("column", "type", "unit", "meaning"), rows, _plain)
    return f"## `{table.name}`\n\n{table.row}\n\n{columns}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
