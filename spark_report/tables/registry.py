"""The registry of a report's tables and columns, with type, unit and meaning; makes the data dictionary.

The types of a table's columns are those of the registry, whatever a query happens to give.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from playbooks.text import table_text

# Every column that a table of findings has: its type, its unit and what it says. A name means one thing everywhere.


Type = Literal["int", "float", "str", "bool", "ints", "strs"]


class Column(NamedTuple):
    """A column by name, wherever it stands."""

    type: Type
    unit: str
    """Empty for what is counted in nothing, such as a name."""
    meaning: str


_US: Final = "µs"
_RECORDS: Final = "records"
_COUNT: Final = "count"


def _columns(kind: Type, unit: str, /, **meanings: str) -> dict[str, Column]:
    return {name: Column(kind, unit, meaning) for name, meaning in meanings.items()}


COLUMNS: Final[dict[str, Column]] = {
    **_columns(
        "str", "",
        session_id="The session's id.",
        playbook="The playbook's name.",
        title="The playbook's title, or its name.",
        profile="The Kafka version that was modelled.",
        verdict="`pass`, `fail`, `inconclusive`; empty for a session that never got to one.",
        status="`complete`, `incomplete` (events are missing), `recovered` or `damaged`.",
        headline="The verdict in one or two sentences.",
        digest="Digest of the trace: two sessions with the same went the same way.",
        tool_version="The floodmark that recorded it.",
        wall_start="When it was recorded, UTC.",
        path="The directory, or the file in it.",
        what="What the row is about; the table says which words there are.",
        reason="Why, in one sentence.",
        table="A table of this report.",
        partition="Topic and number, `orders-0`; empty for none.",
        client="The client's name; empty for none.",
        group_id="The consumer group; empty for none.",
        scope="`partition`: as the cluster saw it; `client`: as a client felt it.",
        began_by="What began it, in words.",
        ended_by="What ended it, in words; empty if nothing did.",
        election="`created`, `clean`, `unclean`, or `offline` (nobody could be elected).",
        by="Who did it, or why.",
        change="`shrink`, `expand` or `swap` (both at once).",
        fate="`lost` for good, or `missing` at that moment.",
        cause="The chain of events behind it, in one sentence.",
        invariant="The property of the protocol.",
        property="What had to come true.",
        detail="More about it, in words.",
        known="Which version fixed it, or why this one need not keep it; empty for what must not happen.",
        rule="The rule by which it was done or decided.",
        node="The process.",
        from_node="The process that was it before; empty for none.",
        target="Whom it struck, or was meant for.",
        error="Kafka's error or the client's exception; empty for none.",
        fault="The fault's name; empty: all of the session.",
        term="The ledger's term.",
        phase="`all`, `before`, `during` or `after`; null in a row of a series.",
        detected_by="The alert that fired first; empty for none.",
        failure="The fatal error that ended the client; empty for none.",
        condition="`under_replicated`, `under_min_isr`, `at_min_isr` or `offline`.",
        anomaly="The anomaly's name, as on the page of anomalies.",
        kind="Of what kind the finding is, as on the page of causes.",
        sentence="The finding in one sentence.",
        name="What is compared: a term of the ledger, or an anomaly.",
        source="The file of the session that says something else.",
        alert="The alert's name, which is the metric's.",
        metric="Kafka's own name of the metric (MBean).",
        severity="`page` or `warn`.",
        measure="What was measured.",
        measured_in="The unit of the values.",
        better="`less` or `more`.",
        rank="`best` or `worst` of the sessions in the report; empty for neither, or where all are alike.",
        point="`event`: there is such a point; `acknowledgement`: nothing could have kept the record from then on; "
        "`unplaced`: it never was in any log; `open`: at the end it could still be kept.",
        remedy="The change that was tried, with the same seed and everything else as it was.",
        effect="`saves`, `helps`, `would not have helped`, `inconclusive` or `refused`.",
        said_of_it="What it leaves and costs, in words.",
        setting="The setting's path, as `--set` takes it; `seed` for the seed.",
        setting_value="Its value; null where the session leaves it to a playbook that does not say it.",
        baseline_id="The session to compare with; empty for none.",
        judged="`regression`, `improvement` or `same`; empty where there is nothing to compare with.",
    ),
    **_columns(
        "int", _US,
        at_us="When it happened.",
        began_us="When it began.",
        ended_us="When it ended; the session's end where nothing ended it.",
        duration_us="How long it lasted.",
        virtual_us="How long the session was.",
        unavailable_us="Time without service, added up.",
        longest_unavailable_us="The longest interval without service.",
        observed_us="Time over which it could be told.",
        bin_began_us="Where the bin begins.",
        bin_us="How wide the bin is.",
        min_us="The least.",
        p50_us="The median.",
        p95_us="95 % are at most this.",
        p99_us="99 % are at most this.",
        max_us="The most.",
        idle_us="Time of its partitions without an owner whose process ran, added up.",
        under_replicated_us="Time with fewer replicas in sync than assigned.",
        under_min_isr_us="Time with fewer replicas in sync than `min.insync.replicas`; null where that is not known.",
        at_min_isr_us="Time with exactly `min.insync.replicas` in sync, and not all; null where that is not known.",
        offline_us="Time without a leader by the controller's state.",
        hw_stalled_us="Time of all its stalls.",
        longest_hw_stall_us="The longest of its stalls.",
        detected_us="When the first alert fired whose metric counts an effect of it; null: none did.",
        elected_us="When the first leader was elected because of it; null: none was.",
        restored_us="When every partition was served again that it had put out of service; null: it put none, "
        "or one still is.",
        recovered_us="When nothing that it had brought about was left; null: it brought nothing about, "
        "or something is left.",
        time_to_detect_us="From the fault's beginning to `detected_us`.",
        time_to_elect_us="From the fault's beginning to `elected_us`.",
        time_to_restore_us="Recovery time of the service (RTO): from the fault's beginning to `restored_us`.",
        time_to_recover_us="From the fault's beginning to `recovered_us`.",
        mttd_us="Mean time to detect: the mean of `time_to_detect_us`, over the faults that have one.",
        mtte_us="Mean time to elect: the same of `time_to_elect_us`.",
        mttr_us="Mean time to recover: the same of `time_to_recover_us`.",
        rto_us="The recovery time that was kept: the greatest `time_to_restore_us`.",
        since_us="Since when it was owed.",
        bound_us="Within what time it was due.",
        peak_at_us="When that was.",
        drained_us="When the position lag was down again; null: it was not.",
        time_to_drain_us="From the peak to `drained_us`.",
        for_us="How long the condition must hold before the alert fires.",
        fired_us="When the alert fired; null: the condition did not hold for long enough.",
        lost_us="When the one before went down, was paused, or lost its session; null: it was there to the last.",
        price_unavailable_us="For how much longer clients are out of service; negative: shorter; null: never run.",
        without_us="How long there was none, from `lost_us` on.",
        time_lost_us="Time of partitions without an owner that ended with it, added up.",
    ),
    **_columns(
        "int", "event",
        seq="Number of the event in the recording.",
        began_seq="Number of the event that began it.",
        ended_seq="Number of the event that ended it.",
        last_seq="Number of the last event.",
    ),
    **_columns(
        "int", "id",
        fault_id="The fault's number in its session.",
        leader="The broker that leads, -1 for nobody.",
        broker="The broker, -1 for none.",
        seed="Seed of every random stream.",
    ),
    **_columns(
        "int", "epoch",
        leader_epoch="The leader's epoch; of a controller its own.",
        last_epoch="The last leader epoch.",
    ),
    **_columns(
        "int", "offset",
        log_offset="The first offset meant, -1 for none.",
        end_offset="The offset behind the last one meant, -1 for none.",
        hw="The high watermark.",
    ),
    **_columns(
        "int", _RECORDS,
        count="How many.",
        records="How many.",
        sent="Handed to the producer.",
        acked="Acknowledged.",
        failed="Ended in an error that proves that they were not written.",
        rejected="The same: ended in an error that proves that they were not written.",
        timed_out="Nobody can tell what became of them, because time ran out.",
        unknown="Nobody can tell whether they were written.",
        unknown_other="Nobody can tell what became of them, for another reason.",
        aborted="Went with their transaction.",
        unanswered="Nothing was told of them by the end.",
        acked_lost="Acknowledged and gone for good.",
        committed_lost="Of these, below the high watermark at some instant.",
        consumed="Handed to consumers.",
        read="Handed to the application.",
        reread="Handed to the group again.",
        handler_failed="Left, because the handler could not process them.",
        abandoned="Handed to an application that did not process them.",
        committed_records="Of these, that somebody could have read.",
        position_lag="Between what the group has read and the high watermark; its LAG is of what it has committed.",
        peak_position_lag="The greatest position lag.",
        final_position_lag="The position lag at the session's end.",
        usual_position_lag="What it must be down to: its greatest before the first fault, else its median.",
        interceptor_failures="An interceptor threw at them.",
        before="How many met this fate in the session.",
        remaining="How many still meet it with the change; null: nothing was run with it.",
        price_rejected="How many more are rejected with it; negative: fewer; null: nothing was run.",
    ),
    **_columns(
        "int", _COUNT,
        acks="The acks level; -1 is all.",
        sequence="The first record's number at its client and partition, -1 for none.",
        isr_size="Replicas in sync.",
        replication="Replicas assigned.",
        min_isr="`min.insync.replicas` at that time, or of a partition as a whole as the session began; null where the "
        "recording does not say it, as old ones do not of Kafka's own topics and of partitions that were added.",
        intervals="Intervals.",
        events="Events recorded.",
        faults="Faults injected.",
        elections_clean="Elections from the ISR, the first leader apart.",
        elections_unclean="Elections from outside the ISR.",
        elections_offline="Times that nobody could be elected.",
        isr_shrinks="Times that a replica left the ISR.",
        isr_expands="Times that a replica joined it.",
        truncations="Times that a replica cut its log.",
        attempts_refused="Attempts to produce that ended in an error, or in no answer.",
        violations="Invariants violated.",
        retries="Attempts beyond the first.",
        refused="Attempts that ended in an error, or in no answer.",
        transactions="Transactions begun.",
        transactions_committed="Transactions told to be committed.",
        transactions_aborted="Transactions told to be aborted.",
        transactions_unknown="Transactions of whose end nobody can tell.",
        killed="Times that its process died.",
        closed="Times that it was closed.",
        rebalances="Rebalances.",
        commits="Commits accepted.",
        failed_commits="Commits that came to nothing, or of unknown outcome.",
        partitions_lost="Partitions lost without being asked.",
        times="How often.",
        resets="Times that `auto.offset.reset` moved it.",
        epochs="Different leader epochs, the first included.",
        hw_stalls="Stalls of the high watermark.",
        partitions_out="Partitions that were without service because of it.",
        detected="Faults that an alert showed.",
        recovered="Faults that had brought something about of which nothing was left.",
        unrecovered_faults="Faults of which something was left at the session's end: no mean has them.",
        members="Members of the group.",
        partitions_moved="Partitions that had been given up or lost, and got an owner with it.",
        found="How often, counted again.",
        told="As the session says.",
        peak="The most at any instant.",
        left_out="Rows that were left out.",
        finding="The finding's number in the session's result, from 1.",
        place="Its place among those of the session and kind, the best first.",
        seeds_kept="Seeds with which nothing is left.",
        seeds="Seeds that it was tried with.",
        expectations="Expectations of the playbook.",
        expectations_held="Those of them that held.",
    ),
    **_columns(
        "int", "as its name says",
        from_events="As counted from the events.",
        from_result="As the session's own result gives it.",
    ),
    **_columns(
        "float", "",
        availability="Share of the time in which it was served, 0 to 1.",
        value="The value; null where it was not to be had.",
        baseline_value="The same of the baseline.",
        difference="The value less the baseline's.",
        difference_share="The same as a share of the baseline's; null where that is 0.",
        acked_per_s="Records acknowledged per second.",
        read_per_s="Records read per second.",
        isr_changes_per_minute="Changes of the ISR per minute.",
    ),
    **_columns(
        "bool", "",
        gapless="Whether every number from 0 to the last is there once.",
        open="Nothing ended it: it is cut off at the session's end.",
        ok="Whether it held.",
        agrees="Whether both say the same; null where one has nothing to say.",
        ledger_agrees="Whether the ledger agrees throughout; null without a result.",
        committed="Whether somebody could have read them.",
        legal="Whether it may be seen under the settings in force.",
        fired="Whether the condition held for long enough.",
        loss_expected="Whether it passed with losses, by an expectation that allows them; null: it lost nothing.",
        unrecovered="Whether something that it had brought about was left at the session's end.",
    ),
    **_columns(
        "ints", "ids",
        isr="The replicas in sync.",
        previous_isr="The replicas in sync before.",
    ),
    **_columns(
        "strs", "",
        partitions_named="The partitions.",
        problems="What is wrong with the session; empty for a whole one.",
        said="It in words, a line each: what happened then, what would have kept the record, what gave a warning.",
        saving="Operator's actions that would have kept the record right before it.",
        options="What to type behind `--set` for it.",
    ),
}  # fmt: skip

SPAN: Final = ("began_us", "began_seq", "ended_us", "ended_seq", "open", "began_by", "ended_by")
"""The columns of every interval."""

_POINT: Final = ("session_id", "at_us", "seq")
_WHO: Final = ("session_id", "what", "client")
_LATENCY: Final = ("records", "min_us", "p50_us", "p95_us", "p99_us", "max_us")


@dataclass(frozen=True, slots=True)
class FindingTable:
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
    FindingTable(
        "sessions",
        "A session: what it was, verdict, status, totals.",
        (
            *("session_id", "playbook", "title", "profile", "seed", "verdict", "status", "headline", "problems"),
            *("expectations", "expectations_held", "loss_expected"),
            *("virtual_us", "events", "sent", "acked", "failed", "unknown", "acked_lost", "committed_lost"),
            *("consumed", "elections_clean", "elections_unclean", "elections_offline", "isr_shrinks", "isr_expands"),
            *("faults", "truncations", "attempts_refused", "violations", "unavailable_us", "longest_unavailable_us"),
            *("ledger_agrees", "digest", "tool_version", "wall_start", "path"),
        ),
        {
            "unavailable_us": "Time that producers were out of service, added up over producers and partitions.",
            "longest_unavailable_us": "The longest time that a producer was out of service.",
        },
    ),
    FindingTable(
        "quarantine",
        "Input that was set aside, and why: the rest is reported.",
        ("session_id", "what", "path", "reason"),
        {
            "session_id": "The session of which only a part was set aside; empty for a whole directory.",
            "what": "`directory`: nothing of it is reported; `part`: the session is, without what is named.",
        },
    ),
    FindingTable(
        "left_out",
        "Rows that a table does not show of a session with very many; counts and sums elsewhere are of all of them.",
        ("session_id", "table", "left_out"),
        {"left_out": "Rows that were left out; nothing for a table that could not be made of the session."},
    ),
    FindingTable(
        "settings",
        "A setting in which a session differs from another one of the same playbook in the report, such as a grid's.",
        ("session_id", "setting", "name", "setting_value"),
        {"name": "The last part of the path, or all of it where several settings end alike."},
    ),
    FindingTable(
        "comparison",
        "A measure of a session, beside the other sessions of the report and against the baseline.",
        (
            *("session_id", "measure", "measured_in", "better", "value", "rank"),
            *("baseline_id", "baseline_value", "difference", "difference_share", "judged"),
        ),
    ),
    # -- what happened at an instant
    FindingTable(
        "elections",
        "A decision of the controller on a leader, also that there is none.",
        (*_POINT, "partition", "election", "leader", "leader_epoch", "isr", "by"),
    ),
    FindingTable(
        "isr_changes",
        "A change of the ISR.",
        (*_POINT, "partition", "change", "leader", "leader_epoch", "isr", "previous_isr", "by"),
    ),
    FindingTable(
        "losses",
        "Acknowledged records that are gone, or were at that moment, with the cause.",
        (
            *(*_POINT, "fate", "partition", "client", "sequence", "count"),
            *("log_offset", "leader_epoch", "acks", "committed", "cause"),
        ),
    ),
    FindingTable(
        "violations",
        "A property of the protocol that did not hold.",
        (
            *(*_POINT, "invariant", "partition", "broker", "detail", "cause"),
            *("log_offset", "end_offset", "leader_epoch", "known"),
        ),
    ),
    FindingTable(
        "overdue",
        "A promise that was not kept in time.",
        (*_POINT, "property", "partition", "broker", "detail", "since_us", "bound_us", "known"),
    ),
    FindingTable(
        "truncations",
        "A piece `[log_offset, end_offset)` that a replica cut off its log.",
        (*_POINT, "partition", "broker", "leader_epoch", "log_offset", "end_offset", "hw", "rule"),
    ),
    FindingTable(
        "expectations",
        "An expectation of the playbook with its verdict.",
        (*_POINT, "rule", "ok", "detail"),
        {"rule": "The expectation.", "at_us": "When the verdict was announced."},
    ),
    FindingTable("controllers", "A node became the active controller.", (*_POINT, "node", "broker", "leader_epoch")),
    FindingTable("steps", "What the playbook or an operator did.", (*_POINT, "by", "target", "detail", "error")),
    FindingTable(
        "guards",
        "What a guard of the playbook did.",
        (*_POINT, "rule", "detail", "fault", "target", "cause"),
        {"rule": "The guard.", "detail": "`refused`, `healed` or `stopped`.", "fault": "What was refused or healed."},
    ),
    # -- what went wrong
    FindingTable(
        "points_of_no_return",
        "The last event after which no action could have kept a lost record, as `floodmark why` found it.",
        ("session_id", "finding", "point", "at_us", "sentence", "said", "saving"),
        {"at_us": "When it was; null where it is no event, and in sessions by hand."},
    ),
    FindingTable(
        "remedies",
        "A change that was tried to save what a session lost, with its price, as `floodmark why` found it.",
        (
            *("session_id", "kind", "place", "remedy", "options", "effect", "before", "remaining"),
            *("price_rejected", "price_unavailable_us", "seeds_kept", "seeds", "said_of_it", "reason"),
        ),
        {"reason": "Why it was refused or is inconclusive."},
    ),
    FindingTable(
        "findings",
        "What went wrong with records and why, once for each cause, as the session's own result says.",
        ("session_id", "kind", "cause", "sentence", "records", "committed_records", "partitions_named"),
        {"cause": "The cause, as on the page of causes."},
    ),
    FindingTable(
        "anomalies_told",
        "An anomaly as the session's own checker found it.",
        ("session_id", "anomaly", "legal", "reason", "found"),
        {"found": "How often, as the session's own result says.", "reason": "Why it is legal; empty if it is not."},
    ),
    FindingTable(
        "anomalies",
        "An anomaly at a partition and a client, counted again from the clients' histories alone.",
        ("session_id", "anomaly", "partition", "client", "found"),
        {"client": "Who wrote the values, or read them, as the anomaly has it; empty where it names none."},
    ),
    FindingTable(
        "disagreements",
        "Something that a session says of itself otherwise than its events do: one of the two is wrong.",
        ("session_id", "source", "name", "partition", "found", "told"),
        {"found": "As counted again.", "partition": "The partition; empty for the whole session."},
    ),
    # -- what lasted
    FindingTable(
        "faults",
        "A fault and when it was active.",
        ("session_id", "fault_id", "fault", "target", "detail", *SPAN),
    ),
    FindingTable(
        "partition_states",
        "An interval of a partition with one leader, epoch and ISR by the controller's state.",
        ("session_id", "partition", "leader", "leader_epoch", "isr", "isr_size", "replication", "min_isr", *SPAN),
        {"replication": "Replicas that it is to have in sync: those that are only being added are not counted."},
    ),
    FindingTable(
        "unavailability",
        "An interval in which a partition had no serving leader, or a client was out of service.",
        ("session_id", "scope", "partition", "client", "acks", *SPAN, "duration_us", "bound_us"),
        {
            "bound_us": "How long records of the client may wait before it is out of service; 0 for a partition.",
            "began_by": "What began it, in words; of a client the first error that it was answered, empty for none.",
        },
    ),
    FindingTable(
        "availability",
        "How much of its time a partition was served, and a client at a partition with its acks level.",
        (
            *("session_id", "scope", "partition", "client", "acks", "intervals", "unavailable_us"),
            *("longest_unavailable_us", "observed_us", "availability", "open"),
        ),
        {
            "observed_us": "From a partition's first leader to its deletion, or from the first record of a client, to "
            "the session's end at the latest; of a partition that was made anew all of it, added up.",
            "open": "Whether it was still out at the session's end.",
        },
    ),
    FindingTable(
        "isr_conditions",
        "An interval in which a partition had too few replicas in sync, or no leader.",
        ("session_id", "partition", "condition", *SPAN, "duration_us"),
    ),
    FindingTable(
        "hw_stalls",
        "An interval of at least a second in which records waited above a partition's high watermark, and it stood "
        "still.",
        ("session_id", "partition", "hw", *SPAN, "duration_us"),
    ),
    FindingTable(
        "partitions",
        "A partition over the whole session: how it was replicated, led and moved.",
        (
            *("session_id", "partition", "replication", "min_isr", "under_replicated_us", "at_min_isr_us"),
            *("under_min_isr_us", "offline_us", "isr_shrinks", "isr_expands", "isr_changes_per_minute"),
            *("elections_clean", "elections_unclean", "elections_offline", "last_epoch", "epochs"),
            *("hw_stalls", "hw_stalled_us", "longest_hw_stall_us"),
        ),
    ),
    FindingTable(
        "fault_times",
        "A fault with how long it took until an alert fired, until a leader was elected, until all was served again, "
        "and until nothing was left of it.",
        (
            *("session_id", "fault_id", "fault", "target", "began_us", "ended_us", "open", "detected_us"),
            *("detected_by", "elected_us", "partitions_out", "restored_us", "recovered_us", "unrecovered"),
            *("time_to_detect_us", "time_to_elect_us", "time_to_restore_us", "time_to_recover_us"),
        ),
    ),
    FindingTable(
        "fault_means",
        "Means over the faults of a name, and over all of a session.",
        (
            *("session_id", "fault", "faults", "detected", "recovered", "unrecovered_faults"),
            *("mttd_us", "mtte_us", "mttr_us", "rto_us"),
        ),
    ),
    FindingTable(
        "fault_latency",
        "Percentiles of a client's latencies before, during and after one fault, weighted by records.",
        ("session_id", "fault_id", "what", "client", "phase", *_LATENCY),
        {
            "what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read).",
            "phase": "`during`: the fault was active at some moment of the wait. `before`, `after`: the wait ended, or "
            "began, within as much time of it as it lasted, and a second at least.",
        },
    ),
    FindingTable(
        "throughput",
        "Records of a client over a bin of time, `[bin_began_us, bin_began_us + bin_us)`.",
        (
            *("session_id", "client", "bin_began_us", "bin_us", "sent", "acked", "failed", "unknown", "read"),
            *("refused", "acked_per_s", "read_per_s"),
        ),
    ),
    FindingTable(
        "outcomes",
        "What became of the records that a client sent to a partition with an acks level.",
        (
            *("session_id", "client", "partition", "acks", "sent", "acked", "rejected", "timed_out"),
            *("unknown_other", "aborted", "refused"),
        ),
    ),
    FindingTable(
        "hw_series",
        "The high watermark of a partition at the end of a bin of time in which its leader told one.",
        ("session_id", "partition", "bin_began_us", "bin_us", "hw"),
    ),
    FindingTable(
        "partition_position_lag",
        "How far a group was behind at a partition at the end of a bin of time, from when it first read of it.",
        ("session_id", "group_id", "partition", "bin_began_us", "bin_us", "position_lag"),
    ),
    FindingTable(
        "group_position_lag",
        "How far a group was behind at the end of a bin of time, over the partitions that it has read.",
        ("session_id", "group_id", "bin_began_us", "bin_us", "position_lag"),
    ),
    FindingTable(
        "position_lag_peaks",
        "The greatest position lag of a group, and how long it took to get it down; none of one that never lagged.",
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
        "A rebalance of a group with the time that was lost by it.",
        (*_POINT, "group_id", "members", "detail", "partitions_moved", "time_lost_us"),
    ),
    FindingTable(
        "controller_failovers",
        "A node became the active controller in another's place.",
        (*_POINT, "node", "from_node", "leader_epoch", "lost_us", "without_us"),
    ),
    FindingTable(
        "alerts",
        "An interval in which the condition of an alert held, with Kafka's name of the metric; whether it fired.",
        (
            *("session_id", "alert", "metric", "severity", "peak", *SPAN, "duration_us", "for_us", "fired"),
            "fired_us",
        ),
        {"fired": "Whether the condition held for as long as the alert asks for."},
    ),
    # -- counts
    FindingTable(
        "counts",
        "The totals of a session; they are part of `sessions`.",
        (
            *("session_id", "events", "last_seq", "gapless"),
            *("elections_clean", "elections_unclean", "elections_offline"),
            *("isr_shrinks", "isr_expands", "faults", "truncations", "attempts_refused", "violations", "consumed"),
            *("sent", "acked", "failed", "unknown", "aborted", "acked_lost", "committed_lost"),
        ),
    ),
    FindingTable(
        "ledger",
        "A term of the ledger twice: as the session's engine counted it, and from the events.",
        ("session_id", "term", "from_events", "from_result", "agrees"),
    ),
    FindingTable(
        "latency",
        "Percentiles of a client's latencies over a phase of the session, weighted by records.",
        (*_WHO, "phase", *_LATENCY),
        {
            "what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read).",
            "phase": "`all`, or `during` (a fault was active at some moment of the wait), `before` the first fault, "
            "`after`.",
        },
    ),
    FindingTable(
        "latency_series",
        "The same over a bin of time, `[bin_began_us, bin_began_us + bin_us)`.",
        (*_WHO, "bin_began_us", "bin_us", "records", "min_us", "p50_us", "p99_us", "max_us"),
        {"what": "`produce` (sent to acknowledged) or `end_to_end` (appended to read)."},
    ),
    FindingTable(
        "producers",
        "What a producer saw: records by their outcome, attempts, transactions.",
        (
            *("session_id", "client", "sent", "acked", "failed", "unknown", "aborted", "unanswered"),
            *("retries", "refused", "transactions", "transactions_committed", "transactions_aborted"),
            *("transactions_unknown", "interceptor_failures", "killed", "closed", "failure"),
        ),
    ),
    FindingTable(
        "groups",
        "What a consumer group saw.",
        (
            *("session_id", "group_id", "read", "reread", "rebalances", "idle_us", "commits", "failed_commits"),
            *("handler_failed", "abandoned", "truncations", "resets"),
        ),
        {"truncations": "Times that a member found its log truncated."},
    ),
    FindingTable(
        "members",
        "What a member of a group saw.",
        (
            *("session_id", "group_id", "client", "read", "handler_failed", "abandoned", "commits", "failed_commits"),
            *("partitions_lost", "killed", "closed", "failure"),
        ),
    ),
    FindingTable(
        "client_errors",
        "How often a client met an error.",
        ("session_id", "what", "client", "error", "times"),
        {"what": "`refused` attempts, the `outcome` of records, or a `commit`."},
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
"""Tables that a reader of a report gets."""


# The data dictionary of a report, made from the registry.


DICTIONARY_TITLE: Final = "# The tables of a report"

INTRODUCTION: Final = f"""{DICTIONARY_TITLE}

`floodmark report` writes its findings as tables: `tables/NAME.parquet`, and the same rows under `tables` in
`report.json`. A column has the same type in every table that has it. Times are virtual microseconds since the session
began. What happens in one microsecond is in the order of `seq`. Intervals are `[began, ended)`; one that nothing ended
is cut off at the session's end and has `open` true. A table of a session with very many rows shows the first of them,
and `left_out` says how many are missing.
"""


def dictionary() -> str:
    """All tables, in Markdown, for a reader of a report."""
    return "\n".join([INTRODUCTION, overview(LISTED, lambda _table: ""), *map(section, LISTED)])


def overview(tables: Iterable[FindingTable], file: Callable[[FindingTable], str]) -> str:
    """A row for each table, with a link to its section in a file."""
    rows = [(f"[`{table.name}`]({file(table)}#{table.name})", table.row) for table in tables]
    return table_text(("table", "one row is"), rows, _plain)


def section(table: FindingTable) -> str:
    """A table with its columns."""
    rows = []
    for name in table.columns:
        column = table.column(name)
        rows.append((f"`{name}`", column.type, column.unit, column.meaning))
    columns = table_text(("column", "type", "unit", "meaning"), rows, _plain)
    return f"## `{table.name}`\n\n{table.row}\n\n{columns}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
