"""From sessions to findings: which tables there are, and what each is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import DATA_KINDS
from spark_report.input import frames, placing
from spark_report.input.sessions import LEDGER_TERMS, Recorded
from spark_report.tables import running, told
from spark_report.tables.collect import Gatherer, Tables
from spark_report.tables.lanes import Job, side_by_side
from spark_report.tables.planning import Plan
from spark_report.tables.queries import (
    alerts,
    availability,
    clients,
    health,
    lag,
    latency,
    numbers,
    points,
    progress,
    recovery,
    stalls,
    tallies,
    timeline,
    traffic,
)
from spark_report.tables.queries.naming import numbered
from spark_report.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BINS: Final = 240
"""About how many bins a session's time series has."""

_NICE: Final = (1, 2, 5)

_ABOUT: Final = ("sessions", "quarantine", "left_out", "comparison")

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    name: table.columns for name, table in TABLES.items() if name not in _ABOUT
}
"""Table that is computed here → its columns, in order."""


LATENCIES: Final = ("latency", "latency_series", "fault_latency")


@dataclass(frozen=True, slots=True)
class Read:
    """What findings are made from: the events, and what is known of their sessions beside."""

    events: "DataFrame"
    rare: "DataFrame"
    """The events that are not traffic: a sliver of them, that most tables need."""
    ends: "DataFrame"
    begun: "DataFrame"
    """Where partitions were placed as their session began."""
    placed: "DataFrame"
    """The same, and those that were made later."""
    results: "DataFrame"
    tallies: "DataFrame"
    """The events with those of traffic added up, if there is much of it."""


Spans = dict[str, "DataFrame"]
"""Tables of intervals by name: they are computed first, and kept, because sums are made of them."""


def compute(spark: "SparkSession", sessions: Sequence[Recorded], stage: Callable[[str], None]) -> Tables:
    """All tables of findings for these sessions; ``stage`` is told what is being worked on."""
    plan = Plan(spark, sessions)
    gather = Gatherer(plan)
    with plan.settings():
        known = read(plan, spark, sessions)
        stage("elections, ISR, faults, losses, unavailability")
        lasting: Spans = {}
        side_by_side(
            spark,
            [
                lambda: _recount(gather, sessions, known.events, plan, spark),
                *_lasting(known, gather, lasting, plan),
                lambda: gather.several(list(points.TABLES), points.points(known.rare)),
            ],
            plan.lanes,
        )
        stage("ledger, latency, clients, recovery, alerts")
        side_by_side(spark, _summed_up(known, lasting, gather, plan), plan.lanes)
    gather.add("findings", told.findings(sessions))
    gather.add("anomalies_told", told.anomalies(sessions))
    gather.add("disagreements", told.otherwise(gather.rows("ledger")) + gather.rows("disagreements"))
    return gather.tables()


def read(plan: Plan, spark: "SparkSession", sessions: Sequence[Recorded]) -> Read:
    """What findings over these sessions are made from; traffic is added up, if there is much of it."""
    events = plan.laid_out(frames.read_events(spark, sessions))
    rare = plan.kept(events.filter(~F.col("kind").isin(sorted(DATA_KINDS))))
    known = placing.placed(rare, sessions)
    ends = plan.small(ends_of(sessions))
    return Read(
        events,
        rare,
        ends,
        plan.small(known.begun),
        plan.small(known.all),
        plan.small(pa.Table.from_pylist(_results(sessions), schema=frames.RESULTS)),
        tallies.plain(events, ends) if plan.little else plan.kept(tallies.tallied(events, rare, ends)),
    )


def _recount(
    gather: Gatherer, sessions: Sequence[Recorded], events: "DataFrame", plan: Plan, spark: "SparkSession"
) -> None:
    """The anomalies counted again, and all that a session says otherwise of itself."""
    last = plan.laid_out(frames.read_final_reads(spark, sessions))
    ledgers = plan.laid_out(frames.read_ledgers(spark, sessions))
    told_of = {each.session_id: told.said(each) for each in sessions if each.last_seq < running.MOST_EVENTS}
    gather.several(running.TABLES, running.recounted(events, last, ledgers, told_of))
    for session in sessions:
        if session.session_id not in told_of:
            gather.leave_out(session.session_id, "anomalies")
    for row in gather.rows("left_out"):
        gather.leave_out(**row)


def _lasting(read: Read, gather: Gatherer, found: Spans, plan: Plan) -> list[Job]:
    def conditions() -> None:
        states = gather.kept("partition_states", timeline.partition_states(read.rare, read.begun, read.ends))
        found["isr_conditions"] = gather.kept("isr_conditions", health.isr_conditions(states))

    def faults() -> None:
        found["faults"] = gather.kept("faults", timeline.faults(read.rare, read.ends))

    def unserved() -> None:
        found["unavailability"] = gather.kept("unavailability", unavailability(read, plan))

    def stood_still() -> None:
        found["hw_stalls"] = gather.kept("hw_stalls", hw_stalls(read, plan))

    return [unserved, conditions, stood_still, faults]


def _summed_up(read: Read, spans: Spans, gather: Gatherer, plan: Plan) -> list[Job]:
    """Tables with a row for many events."""
    events, rare, ends, counted = read.events, read.rare, read.ends, read.tallies
    conditions, faults = spans["isr_conditions"], spans["faults"]

    def recovered() -> None:
        troubles = recovery.troubles(spans["unavailability"], conditions)
        times = gather.kept("fault_times", recovery.fault_times(faults, recovery.signs(events), troubles))
        gather("fault_means", recovery.fault_means(times))

    def behind() -> None:
        tops = progress.tops(events, rare, ends)
        tops = tops if plan.little else plan.kept(tops)
        gather("hw_series", progress.hw_series(tops, ends))
        lags = gather.kept("partition_lag", progress.partition_lag(events, rare, counted, tops, ends))
        by_group = gather.kept("group_lag", lag.group_lag(lags))
        gather("lag_peaks", lag.lag_peaks(by_group, faults))

    def alerted() -> None:
        vacant = plan.at_hand(lag.vacancies(rare, ends))
        gather("controller_failovers", lag.failovers(rare, vacant, ends))
        gather("alerts", alerts.alerts(conditions, _instants(rare), vacant))

    def totalled() -> None:
        totals = gather.kept("counts", numbers.counts(counted))
        gather("ledger", numbers.ledger(totals, read.results))

    def table(name: str, frame: Callable[[], "DataFrame"]) -> Job:
        return lambda: gather(name, frame())

    def served() -> "DataFrame":
        return health.availability(spans["unavailability"], rare, of_kinds(counted, availability.ANSWERS), ends)

    def kept_in_sync() -> "DataFrame":
        return health.partitions(rare, read.placed, ends, conditions, spans["hw_stalls"])

    return [
        recovered,
        lambda: gather.several(LATENCIES, latencies(read, faults, plan)),
        behind,
        alerted,
        totalled,
        table("availability", served),
        table("partitions", kept_in_sync),
        table("rebalances", lambda: lag.rebalances(rare, clients.idle_waits(rare))),
        table("groups", lambda: clients.groups(counted, events)),
        table("members", lambda: clients.members(counted)),
        table("producers", lambda: clients.producers(counted)),
        table("client_errors", lambda: clients.errors(counted)),
        table("throughput", lambda: traffic.throughput(counted)),
        table("outcomes", lambda: traffic.outcomes(counted)),
    ]


def unavailability(read: Read, plan: Plan) -> "DataFrame":
    """When nobody served a partition, or a client was refused."""
    answers = of_kinds(read.events, availability.ANSWERS)
    groups = _numbers(read, plan, availability.ANSWERS, availability.ASKED)
    return availability.unavailability(read.rare, answers, read.ends, groups)


def hw_stalls(read: Read, plan: Plan) -> "DataFrame":
    """When high watermarks stood still."""
    groups = _numbers(read, plan, stalls.HW_KINDS, stalls.PLACE)
    return stalls.hw_stalls(of_kinds(read.events, stalls.HW_KINDS), read.rare, read.ends, groups)


def _numbers(read: Read, plan: Plan, kinds: Sequence[str], names: Sequence[str]) -> "DataFrame | None":
    """Numbers for the groups of these kinds of events, where there is much to sort."""
    return None if plan.little else numbered(of_kinds(read.tallies, kinds), names)


def latencies(read: Read, faults: "DataFrame", plan: Plan) -> "DataFrame":
    """Rows of :data:`LATENCIES`."""
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
    """What metrics count that happen at an instant."""
    unclean = F.when(points.election_kind() == "unclean", F.lit("unclean"))
    shrunk = F.when(points.isr_change().isin("shrink", "swap"), F.lit("shrink"))
    told = rare.withColumn("what", F.coalesce(unclean, shrunk))
    return told.filter(F.col("what").isNotNull()).select("session_id", "what", "at_us", "seq")


def of_kinds(events: "DataFrame", kinds: Sequence[str]) -> "DataFrame":
    """Events of these kinds."""
    return events.filter(F.col("kind").isin(*kinds))


def bin_width(end_us: int) -> int:
    """Microseconds a bin: 1, 2 or 5 times a power of ten, so that a session has about :data:`BINS` of them."""
    width = 1
    while True:
        for nice in _NICE:
            if width * nice * BINS >= end_us:
                return width * nice
        width *= 10


def ends_of(sessions: Sequence[Recorded]) -> pa.Table:
    """Where sessions end."""
    return pa.Table.from_pylist([_end(session) for session in sessions], schema=frames.SESSIONS)


def _end(session: Recorded) -> dict[str, Any]:
    width = bin_width(session.end_us)
    return {
        "session_id": session.session_id,
        "end_us": session.end_us,
        "end_seq": session.last_seq,
        "bin_us": width,
        "controller": session.start.controller,
    }


def _results(sessions: Sequence[Recorded]) -> list[dict[str, Any]]:
    return [
        {"session_id": session.session_id, **{term: session.result["ledger"].get(term) for term in LEDGER_TERMS}}
        for session in sessions
        if session.result
    ]
