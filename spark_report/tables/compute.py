"""Computation of all tables of a report from recorded sessions, with concurrent Spark jobs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import DATA_KINDS
from spark_report.input import frames
from spark_report.input.sessions import LEDGER_TERMS, SessionInput
from spark_report.tables import anomaly_recount, result_recount
from spark_report.tables.anomaly_recount import SessionClaims
from spark_report.tables.collect import FrameLayout, Gatherer, Tables
from spark_report.tables.queries import alerts, availability, clients, fault_effects, latency, progress, timeline
from spark_report.tables.queries.timeline import numbered
from spark_report.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Concurrent jobs. Spark's planner uses one thread per query, so that a second core would be idle without this.


Job = Callable[[], None]


def side_by_side(spark: "SparkSession", jobs: Sequence[Job], lanes: int) -> None:
    """Run all jobs, ``lanes`` at a time; after the first failure, which is raised, no further job is started."""
    if lanes == 1:
        for job in jobs:
            job()
        return
    from pyspark import inheritable_thread_target  # noqa: PLC0415 - input errors come before this slow import

    # The caller's job group and scheduler pool apply to these jobs, too.
    like_here: Callable[[Job], Job] = inheritable_thread_target(spark)
    pool = ThreadPoolExecutor(lanes, thread_name_prefix="floodmark-query")
    begun = [pool.submit(like_here(job)) for job in jobs]
    try:
        done, _rest = wait(begun, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    except BaseException:
        # After Ctrl-C do not wait for running queries: they end with the JVM.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


# Findings in a session's own result, as tables to compare with the recount.
#
# A result is read from a file, so invalid parts are left out.


MOST_FINDINGS: Final = 2_000
"""Most findings of a session that are read."""


def claimed_anomalies(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    """Return each anomaly of each session, with whether the settings allow it."""
    return [
        {
            "session_id": session.session_id,
            "anomaly": each["anomaly"],
            "legal": each["legal"],
            "reason": _text(each, "reason"),
            "found": each["count"],
        }
        for session, each in _objects(sessions, "anomalies")
        if _has(each, anomaly=str, legal=bool, count=int)
    ]


def session_claims(session: SessionInput) -> SessionClaims:
    """Return the values of a session's own result that are compared with its events."""
    anomalies = session.result.get("anomalies")
    counts: Counter[str] | None = None
    if session.final_read is not None and isinstance(anomalies, list):
        counts = Counter()
        for row in claimed_anomalies([session]):
            counts[row["anomaly"]] += row["found"]
    if session.start.imported:  # Kafka's logs have no reads, and acknowledgements only with a history of clients
        ledger = session.result.get("ledger")
        acked = isinstance(ledger, dict) and ledger.get("acked")
        return SessionClaims({}, None, session.ledger is not None and bool(acked), clients=False)
    claims = result_recount.claimed(session.result)
    return SessionClaims(dict(session.start.readers), counts, session.ledger is not None, not session.timeless, claims)


def ledger_disagreements(ledger: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the terms of the ledger in which events and result differ, as disagreements."""
    return [
        {
            "session_id": row["session_id"],
            "source": "result.json",
            "name": row["term"],
            "partition": "",
            "found": row["from_events"],
            "reported": row["from_result"],
        }
        for row in ledger
        if row["agrees"] is False
    ]


def claimed_findings(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    """Return the findings about records, once for each cause."""
    return [
        {
            "session_id": session.session_id,
            "kind": each["kind"],
            "cause": each["cause"],
            "sentence": each["sentence"],
            "records": each["count"],
            "committed_records": _count(each, "committed") or 0,
            "partitions_named": _texts(each, "partitions"),
        }
        for session, each in _objects(sessions, "findings")
        if _has(each, kind=str, cause=str, sentence=str, count=int)
    ]


def kept_points(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    """Return the known points of no return of losses."""
    return [
        {
            "session_id": session.session_id,
            "finding": finding["number"],
            "point": point["kind"],
            "at_us": at_us if (at_us := _count(point, "at_us")) is not None and at_us >= 0 else None,
            "sentence": _text(finding, "sentence"),
            "explanation": _texts(point, "text"),
            "saving": [_text(each, "description") for each in _list(point, "actions") if isinstance(each, dict)],
        }
        for session, finding in _explained(sessions)
        if isinstance(point := finding.get("no_return"), dict) and _has(point, kind=str)
    ]


def kept_remedies(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    """Return the changes that were tried for each kind of finding, the best first."""
    kept, seen = [], set()
    for session, finding in _explained(sessions):
        key = (session.session_id, finding["kind"])
        remedies = _list(finding, "remedies")[:MOST_FINDINGS] if key not in seen else []
        seen.add(key)
        for place, each in enumerate(remedies, 1):
            if isinstance(each, dict) and _has(each, change=str, verdict=str, before=int):
                kept.append({"session_id": session.session_id, "kind": finding["kind"], "position": place,
                              "remedy": each["change"], "options": _texts(each, "set"), "effect": each["verdict"],
                              "before": each["before"], "remaining": _count(each, "after"),
                              "price_rejected": _count(each, "rejected"),
                              "price_unavailable_us": _count(each, "unavailable_us"),
                              "seeds_kept": _count(each, "seeds_kept"), "seeds": _count(each, "seeds"),
                              "summary": _text(each, "text") or each["change"],
                              "reason": _text(each, "note")})  # fmt: skip
    return kept


def _explained(sessions: Sequence[SessionInput]) -> Iterator[tuple[SessionInput, Mapping[str, Any]]]:
    for session in sessions:
        findings = session.why.get("findings")
        for each in findings[:MOST_FINDINGS] if isinstance(findings, list) else ():
            if isinstance(each, dict) and _has(each, number=int, kind=str):
                yield session, each


def _texts(document: Mapping[str, Any], name: str) -> list[str]:
    return [each for each in _list(document, name) if isinstance(each, str)]


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    value = document.get(name)
    return value if isinstance(value, list) else []


def _count(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    return value if type(value) is int and _is_long(value) else None


def _is_long(value: int) -> bool:
    """Return whether a value fits into a 64-bit column."""
    return -(1 << 63) <= value < 1 << 63


def _objects(sessions: Sequence[SessionInput], name: str) -> Iterator[tuple[SessionInput, Mapping[str, Any]]]:
    for session in sessions:
        values = session.result.get(name)
        for each in values[:MOST_FINDINGS] if isinstance(values, list) else ():
            if isinstance(each, dict):
                yield session, each


def _has(document: Mapping[str, Any], **kinds: type) -> bool:
    """Return whether the values have these types, and integers fit into 64 bits."""
    values = [(document.get(name), kind) for name, kind in kinds.items()]
    return all(type(value) is kind and (not isinstance(value, int) or _is_long(value)) for value, kind in values)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


BINS: Final = 240
"""Approximate number of bins of a session's time series."""

_NICE: Final = (1, 2, 5)

_ABOUT: Final = ("sessions", "settings", "quarantine", "left_out", "comparison")

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    name: table.columns for name, table in TABLES.items() if name not in _ABOUT
}
"""Table computed here → its columns, in order."""


LATENCIES: Final = ("latency", "latency_series", "fault_latency")


@dataclass(frozen=True, slots=True)
class FindingInputs:
    """Inputs of the queries: the events, and data about their sessions."""

    events: "DataFrame"
    rare: "DataFrame"
    """The events except traffic: a small part, which most tables need."""
    ends: "DataFrame"
    begun: "DataFrame"
    """Initial replica assignments."""
    placed: "DataFrame"
    """Initial replica assignments, and those of partitions created later."""
    results: "DataFrame"
    tallies: "DataFrame"
    """The events, with traffic aggregated if there is much of it."""


Spans = dict[str, "DataFrame"]
"""Tables of intervals by name; they are computed first and kept, because other tables use them."""


def compute(spark: "SparkSession", sessions: Sequence[SessionInput], stage: Callable[[str], None]) -> Tables:
    """Return all tables for these sessions; ``stage`` is called with a description of each stage."""
    plan = FrameLayout(spark, sessions)
    gather = Gatherer(plan)
    with plan.settings():
        inputs = read(plan, spark, sessions)
        stage("elections, ISR, faults, losses, unavailability")
        lasting: Spans = {}
        side_by_side(
            spark,
            [
                lambda: _recount(gather, sessions, inputs.events, plan, spark),
                *_lasting(inputs, gather, lasting, plan),
                lambda: gather.several(list(timeline.POINT_TABLES), timeline.points(inputs.rare)),
            ],
            plan.lanes,
        )
        stage("ledger, latency, clients, recovery, alerts")
        side_by_side(spark, _summed_up(inputs, lasting, gather, plan), plan.lanes)
    gather.add("findings", claimed_findings(sessions))
    gather.add("points_of_no_return", kept_points(sessions))
    gather.add("remedies", kept_remedies(sessions))
    gather.add("reported_anomalies", claimed_anomalies(sessions))
    gather.add("disagreements", ledger_disagreements(gather.rows("ledger")) + gather.rows("disagreements"))
    return gather.tables()


def read(plan: FrameLayout, spark: "SparkSession", sessions: Sequence[SessionInput]) -> FindingInputs:
    """Read the inputs of the queries over these sessions; traffic is aggregated if there is much of it."""
    events = plan.laid_out(frames.read_events(spark, sessions))
    rare = plan.kept(events.filter(~F.col("kind").isin(sorted(DATA_KINDS))))
    inputs = frames.replica_assignments(rare, sessions)
    ends = plan.small(ends_of(sessions))
    return FindingInputs(
        events,
        rare,
        ends,
        plan.small(inputs.begun),
        plan.small(inputs.all),
        plan.small(pa.Table.from_pylist(_results(sessions), schema=frames.RESULTS)),
        progress.plain_tallies(events, ends) if plan.little else plan.kept(progress.tallied(events, rare, ends)),
    )


def _recount(
    gather: Gatherer, sessions: Sequence[SessionInput], events: "DataFrame", plan: FrameLayout, spark: "SparkSession"
) -> None:
    """Recount the anomalies, and collect the values in which a session's own result differs from its events."""
    last = plan.laid_out(frames.read_final_reads(spark, sessions))
    ledgers = plan.laid_out(frames.read_ledgers(spark, sessions))
    told_of = {
        each.session_id: session_claims(each) for each in sessions if each.last_seq < anomaly_recount.MOST_EVENTS
    }
    gather.several(anomaly_recount.RECOUNT_TABLES, anomaly_recount.recounted(events, last, ledgers, told_of))
    for session in sessions:
        if session.session_id not in told_of:
            gather.leave_out(session.session_id, "anomalies")
    for row in gather.rows("left_out"):
        gather.leave_out(**row)


def _lasting(read: FindingInputs, gather: Gatherer, spans: Spans, plan: FrameLayout) -> list[Job]:
    def conditions() -> None:
        states = gather.kept(
            "partition_states", timeline.partition_states(read.rare, read.begun, read.ends, read.placed)
        )
        spans["partition_states"] = states
        spans["isr_conditions"] = gather.kept("isr_conditions", availability.isr_conditions(states))

    def faults() -> None:
        spans["faults"] = gather.kept("faults", timeline.faults(read.rare, read.ends))

    def unserved() -> None:
        spans["unavailability"] = gather.kept("unavailability", unavailability(read, plan))

    def stood_still() -> None:
        spans["hw_stalls"] = gather.kept("hw_stalls", hw_stalls(read, plan))

    return [unserved, conditions, stood_still, faults]


def _summed_up(read: FindingInputs, spans: Spans, gather: Gatherer, plan: FrameLayout) -> list[Job]:
    """Return the jobs of tables that aggregate many events."""
    events, rare, ends, counted = read.events, read.rare, read.ends, read.tallies
    conditions, faults = spans["isr_conditions"], spans["faults"]

    def recovered(alerted: "DataFrame") -> None:
        troubles = fault_effects.troubles(spans["unavailability"], conditions)
        effects = fault_effects.fault_times(
            faults, fault_effects.signs(events), troubles, alerted, spans["partition_states"], ends
        )
        gather("fault_means", fault_effects.fault_means(gather.kept("fault_times", effects)))

    def behind() -> None:
        tops = progress.high_watermarks(events, rare, ends)
        tops = tops if plan.little else plan.kept(tops)
        gather("hw_series", progress.hw_series(tops, ends))
        lags = gather.kept("partition_position_lag", progress.partition_position_lag(events, rare, counted, tops, ends))
        by_group = gather.kept("group_position_lag", clients.group_position_lag(lags))
        gather(
            "position_lag_peaks",
            clients.position_lag_peaks(progress.position_lag_steps(events, rare, counted), by_group, faults),
        )

    def alerted() -> None:
        vacant = plan.at_hand(clients.vacancies(rare, ends))
        gather("controller_failovers", clients.failovers(rare, vacant, ends))
        recovered(gather.kept("alerts", alerts.alerts(conditions, _instants(rare), vacant)))

    def totalled() -> None:
        totals = gather.kept("counts", progress.counts(counted))
        gather("ledger", progress.ledger(totals, read.results))

    def table(name: str, frame: Callable[[], "DataFrame"]) -> Job:
        return lambda: gather(name, frame())

    def served() -> "DataFrame":
        return availability.availability(spans["unavailability"], rare, of_kinds(counted, availability.ANSWERS), ends)

    def kept_in_sync() -> "DataFrame":
        return availability.partitions(rare, read.placed, ends, conditions, spans["hw_stalls"])

    return [
        alerted,
        lambda: gather.several(LATENCIES, latencies(read, faults, plan)),
        behind,
        totalled,
        table("availability", served),
        table("partitions", kept_in_sync),
        table("rebalances", lambda: clients.rebalances(rare, clients.idle_waits(rare))),
        table("groups", lambda: clients.groups(counted, events)),
        table("members", lambda: clients.members(counted)),
        table("producers", lambda: clients.producers(counted)),
        table("client_errors", lambda: clients.errors(counted)),
        table("throughput", lambda: progress.throughput(counted)),
        table("outcomes", lambda: progress.outcomes(counted)),
    ]


def unavailability(read: FindingInputs, plan: FrameLayout) -> "DataFrame":
    """Return the intervals in which a partition was unavailable, or a client could not write."""
    answers = of_kinds(read.events, availability.ANSWERS)
    groups = _numbers(read, plan, availability.ANSWERS, availability.ASKED)
    return availability.unavailability(read.rare, answers, read.ends, groups)


def hw_stalls(read: FindingInputs, plan: FrameLayout) -> "DataFrame":
    """Return the high watermark stalls."""
    groups = _numbers(read, plan, progress.STALL_KINDS, progress.PLACE)
    return progress.hw_stalls(of_kinds(read.events, progress.STALL_KINDS), read.rare, read.ends, groups)


def _numbers(read: FindingInputs, plan: FrameLayout, kinds: Sequence[str], names: Sequence[str]) -> "DataFrame | None":
    """Return numbers for the groups of these kinds of events; None for little data."""
    return None if plan.little else numbered(of_kinds(read.tallies, kinds), names)


def latencies(read: FindingInputs, faults: "DataFrame", plan: FrameLayout) -> "DataFrame":
    """Return the rows of the tables :data:`LATENCIES`."""
    windows = timeline.fault_windows(faults)
    if plan.little:
        timed = latency.latencies(read.events, windows, read.ends, faults)
    else:
        timed = latency.latencies_of_many(read.events, windows, read.ends, faults, read.tallies, plan.tasks)
    table = (
        F.when(F.col("phase").isNull(), F.lit("latency_series"))
        .when(F.col("fault_id").isNotNull(), F.lit("fault_latency"))
        .otherwise(F.lit("latency"))
    )
    return timed.withColumn("finding", table)


def _instants(rare: "DataFrame") -> "DataFrame":
    """Return the events that rate metrics count."""
    unclean = F.when(timeline.election_kind() == "unclean", F.lit("unclean"))
    shrunk = F.when(timeline.isr_change().isin("shrink", "swap"), F.lit("shrink"))
    counted = rare.withColumn("what", F.coalesce(unclean, shrunk))
    return counted.filter(F.col("what").isNotNull()).select("session_id", "what", "at_us", "seq")


def of_kinds(events: "DataFrame", kinds: Sequence[str]) -> "DataFrame":
    """Return the events of these kinds."""
    return events.filter(F.col("kind").isin(*kinds))


def bin_width(end_us: int) -> int:
    """Return the bin width in microseconds: 1, 2 or 5 times a power of ten, for about :data:`BINS` bins."""
    width = 1
    while True:
        for nice in _NICE:
            if width * nice * BINS >= end_us:
                return width * nice
        width *= 10


def ends_of(sessions: Sequence[SessionInput]) -> pa.Table:
    """Return the sessions' ends, bin widths, first controllers and service bounds."""
    return pa.Table.from_pylist([_end(session) for session in sessions], schema=frames.SESSIONS)


def _end(session: SessionInput) -> dict[str, Any]:
    width = bin_width(session.end_us)
    return {
        "session_id": session.session_id,
        "end_us": session.end_us,
        "end_seq": session.last_seq,
        "bin_us": width,
        "controller": session.start.controller,
        "bounds": [*session.start.service_bounds.items()],
    }


def _results(sessions: Sequence[SessionInput]) -> list[dict[str, Any]]:
    return [
        {"session_id": session.session_id, **{term: session.result["ledger"].get(term) for term in LEDGER_TERMS}}
        for session in sessions
        if session.result
    ]
