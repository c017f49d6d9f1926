"""The twins notice when a transform is wrong: each is broken on purpose, in small ways that somebody may slip into.

That the transforms are sound ``test_table_twins.py`` shows.
"""

from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812

from cluster_model.protocol.events import COLUMNS
from spark_report.input import frames as schemas
from spark_report.input.sessions import ARROW_TYPES
from spark_report.tables import compute
from spark_report.tables.collect import FrameLayout
from spark_report.tables.queries import alerts, availability, clients, fault_effects, latency, progress, timeline
from tests.spark_report.breaking import broken
from tests.spark_report.random_histories import CONTROLLERS, MIN_ISR, PLACED, random_history
from tests.spark_report.tables.test_table_twins import by_twin, differences
from tests.spark_report.twins_common import Found, History

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.evening]

SESSIONS = 8


class Frames(NamedTuple):
    """What transforms are made from."""

    events: "DataFrame"
    answers: "DataFrame"
    placed: "DataFrame"
    ends: "DataFrame"

    @property
    def states(self) -> "DataFrame":
        return timeline.partition_states(self.events, self.placed, self.ends)

    @property
    def faults(self) -> "DataFrame":
        return timeline.faults(self.events, self.ends)

    @property
    def out(self) -> "DataFrame":
        return availability.unavailability(self.events, self.answers, self.ends)

    @property
    def vacant(self) -> "DataFrame":
        return clients.vacancies(self.events, self.ends)

    @property
    def latencies(self) -> "DataFrame":
        return latency.latencies(self.events, timeline.fault_windows(self.faults), self.ends, self.faults)

    @property
    def behind(self) -> "DataFrame":
        return progress.partition_position_lag(self.events, self.events, self.tallies, self.tops, self.ends)

    @property
    def steps(self) -> "DataFrame":
        return progress.position_lag_steps(self.events, self.events, self.tallies)

    @property
    def tops(self) -> "DataFrame":
        return progress.high_watermarks(self.events, self.events, self.ends)

    @property
    def tallies(self) -> "DataFrame":
        return progress.plain_tallies(self.events, self.ends)

    @property
    def fault_times(self) -> "DataFrame":
        troubles = fault_effects.troubles(self.out, availability.isr_conditions(self.states))
        shown = fault_effects.signs(self.events)
        return fault_effects.fault_times(self.faults, shown, troubles, self.alerts, self.states, self.ends)

    @property
    def alerts(self) -> "DataFrame":
        return alerts.alerts(availability.isr_conditions(self.states), compute._instants(self.events), self.vacant)


QUERIES: Final[dict[str, Callable[[Frames], "DataFrame"]]] = {
    "elections": lambda f: timeline.points(f.events).filter("finding = 'elections'"),
    "partition_states": lambda f: f.states,
    "isr_conditions": lambda f: availability.isr_conditions(f.states),
    "unavailability": lambda f: f.out,
    "availability": lambda f: availability.availability(f.out, f.events, f.answers, f.ends),
    "hw_stalls": lambda f: progress.hw_stalls(
        f.events.filter(F.col("kind").isin(*progress.STALL_KINDS)), f.events, f.ends
    ),
    "fault_times": lambda f: f.fault_times,
    "fault_means": lambda f: fault_effects.fault_means(f.fault_times),
    "alerts": lambda f: f.alerts,
    "controller_failovers": lambda f: clients.failovers(f.events, f.vacant, f.ends),
    "latency": lambda f: f.latencies.filter("phase is not null and fault_id is null"),
    "fault_latency": lambda f: f.latencies.filter("fault_id is not null"),
    "partition_position_lag": lambda f: f.behind,
    "position_lag_peaks": lambda f: clients.position_lag_peaks(f.steps, clients.group_position_lag(f.behind), f.faults),
    "hw_series": lambda f: progress.hw_series(f.tops, f.ends),
    "rebalances": lambda f: clients.rebalances(f.events, clients.idle_waits(f.events)),
    "groups": lambda f: clients.groups(f.tallies, f.events),
    "producers": lambda f: clients.producers(f.tallies),
    "outcomes": lambda f: progress.outcomes(f.tallies),
    "counts": lambda f: progress.counts(f.tallies),
}

MUTATIONS: Final[dict[str, tuple[str, ModuleType, str, str]]] = {
    "the last interval is never open": (
        "partition_states", timeline, 'F.col("_next_seq").isNull().alias("open")', 'F.lit(False).alias("open")'
    ),
    "intervals that touch stay apart": (
        "isr_conditions", timeline, 'F.col("began_seq") > F.col("_reached")', 'F.col("began_seq") >= F.col("_reached")'
    ),
    "equal neighbours begin anew": (
        "partition_states", timeline, '~F.col("_state").eqNullSafe(F.col("_before"))', "F.lit(True)"
    ),
    "replicas that are only being added are missed": (
        "partition_states", timeline, 'F.array_except("replicas", "adding")', 'F.col("replicas")'
    ),
    "a zombie ends an outage": (
        "unavailability", availability, 'F.col("leader_epoch") >= F.col("_newest")', "F.lit(True)"
    ),
    "a deleted partition is missed": (
        "unavailability", availability, 'F.sum(deleted.cast("int")).over(order)', "F.lit(0)"
    ),
    "time counts from the session's beginning": (
        "availability", availability, 'F.col("end_us") - F.col("first_us")', 'F.col("end_us")'
    ),
    "a deleted partition could still be served": (
        "availability", availability,
        'F.coalesce("gone_us", F.greatest("end_us", "first_us"))', 'F.greatest("end_us", "first_us")',
    ),
    "at its minimum is below it": (
        "isr_conditions", availability, '(size < F.col("min_isr"))', '(size <= F.col("min_isr"))'
    ),
    "a zombie's records wait": (
        "hw_stalls", progress, '.filter((F.col("what") == _PARTITION_GONE) | (F.col("reign") >= F.col("_newest")))', ""
    ),
    "a high watermark that moves ends no stall": (
        "hw_stalls", progress, '(F.col("what") == _MOVED) | (F.col("waiting")', '(F.col("waiting")'
    ),
    "the leader a partition is created with was elected": (
        "elections", timeline, 'elected & (F.col("leader_epoch") == 0)', 'elected & (F.col("leader_epoch") < 0)'
    ),
    "a swap is no expansion": (
        "counts", progress, 'isr_change().isin("expand", "swap")', 'isr_change().isin("expand")'
    ),
    "what comes after a fault is not its own": (
        "fault_times", fault_effects, 'max(int(row["ended_seq"]), later)', 'int(row["ended_seq"])'
    ),
    "the first recovery is the last": (
        "fault_means", fault_effects, 'F.max("time_to_restore_us")', 'F.min("time_to_restore_us")'
    ),
    "every alert fires": ("alerts", alerts, 'fires = duration >= F.col("_rule.for_us")', "fires = F.lit(True)"),
    "no more than one partition at a time": (
        "alerts", alerts, 'F.max("partitions").alias("peak")', 'F.lit(1).cast("long").alias("peak")'
    ),
    "a paused controller is there": (
        "alerts", clients, '(F.col("_ended") | (kind == "node_paused"))', 'F.col("_ended")'
    ),
    "a dead controller that is resumed is back": (
        "alerts", clients, '(F.col("_ended") | (kind == "node_paused"))', '((kind != "node_resumed"))'
    ),
    "nobody was the controller before the first change": (
        "controller_failovers", clients, 'F.coalesce(F.lag("who").over(order), "first")', 'F.lag("who").over(order)'
    ),
    "percentiles are of batches": (
        "latency", latency, 'list(QUANTILES), F.col("count"))', "list(QUANTILES))"
    ),
    "a wait is where it ended": (
        "latency", latency,
        'F.col("batch.at_us") - F.col("batch.latency_us") < F.col("window.ended_us")',
        'F.col("batch.at_us") < F.col("window.ended_us")',
    ),
    "a wait that ends as a fault begins is before it": (
        "fault_latency", latency, "(sent < ended) & (began <= acked)", "(sent < ended) & (began < acked)"
    ),
    "a bin without a word has no high watermark": (
        "partition_position_lag", progress, 'F.last("top", ignorenulls=True).over(so_far)', 'F.col("top")'
    ),
    "a truncated group has still read all": (
        "partition_position_lag", progress, "_how_often(rare.filter(turned), ", '_how_often(rare.filter("false"), '
    ),
    "a zombie's high watermark is shown": (
        "hw_series", progress, 'F.max("top").over(so_far)', 'F.col("top")'
    ),
    "what is usual is what comes later": (
        "position_lag_peaks", clients, 'F.col("at_us") < F.col("fault_us")', 'F.col("at_us") > F.col("fault_us")'
    ),
    "rebalances cost nothing": (
        "rebalances", clients, 'F.coalesce(F.sum("_idle"), F.lit(0))', "F.lit(0)"
    ),
    "whoever learns of a loss late was the owner": (
        "groups", clients, '.filter(F.col("taken") | F.col("_owner").eqNullSafe(F.col("client")))', ""
    ),
    "truncated records are read again": (
        "groups", clients, 'Window.partitionBy(*where, "log_branch")', 'Window.partitionBy(*where)'
    ),
    "who loses power is not killed": (
        "producers", clients, '("crash", "power_loss", "out_of_memory")', '("crash",)'
    ),
    "every unknown outcome is a timeout": (
        "outcomes", progress, '((kind == "records_unknown") & late)', '(kind == "records_unknown")'
    ),
}  # fmt: skip
"""What is wrong → a table that shows it, the module, what it says there, and what it is made to say."""


@cache
def histories() -> dict[str, History]:
    found = {}
    for number in range(SESSIONS):
        rows = random_history(number)
        found[f"random-{number}"] = History(rows, rows[-1]["at_us"] + 50, PLACED, MIN_ISR, CONTROLLERS[number % 3])
    return found


@cache
def expected(table: str) -> Found:
    return by_twin(table, histories())


@pytest.fixture(scope="module")
def frames(spark: "SparkSession") -> Iterator[Frames]:
    kinds = {"session_id": "str", "seq": "int", **COLUMNS}
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in kinds.items()])
    rows = [{"session_id": name, **row} for name, each in histories().items() for row in each.rows]
    ends = [_end(name, each) for name, each in histories().items()]
    placed = [
        {"session_id": name, "partition": partition, "replicas": replicas, "min_isr": MIN_ISR[partition]}
        for name in histories()
        for partition, replicas in PLACED.items()
    ]
    plan = FrameLayout(spark, [])
    with plan.settings():
        events = plan.small(pa.Table.from_pylist(rows, schema=schema))
        yield Frames(
            events,
            events.filter(F.col("kind").isin(*availability.ANSWERS)),
            plan.small(pa.Table.from_pylist(placed, schema=schemas.ASSIGNMENTS)),
            plan.small(pa.Table.from_pylist(ends, schema=schemas.SESSIONS)),
        )


def _end(name: str, each: History) -> dict[str, Any]:
    ends = {"end_us": each.end_us, "end_seq": each.end_seq, "bin_us": each.bin_us}
    return {"session_id": name, **ends, "controller": each.controller}


def shown(table: str, frames: Frames) -> str:
    """How Spark and the twin differ on a table."""
    found = QUERIES[table](frames).toArrow().to_pylist()
    return differences(table, found, expected(table))


@pytest.mark.parametrize("table", sorted({table for table, *_rest in MUTATIONS.values()}))
def test_a_sound_transform_says_what_its_twin_says(table: str, frames: Frames) -> None:
    assert shown(table, frames) == ""


@pytest.mark.parametrize("wrong", MUTATIONS)
def test_a_broken_transform_is_noticed(wrong: str, frames: Frames, monkeypatch: pytest.MonkeyPatch) -> None:
    table, module, piece, other = MUTATIONS[wrong]
    broken(monkeypatch, module, piece, other)
    assert shown(table, frames)
