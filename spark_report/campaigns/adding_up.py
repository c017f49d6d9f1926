"""What the runs of a campaign add up to: totals, groups by key, coverage. Frames in, frames out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from playbooks.campaign.coverage import Coverage
from playbooks.campaign.grouping import Group
from playbooks.campaign.run_rows import Met
from playbooks.campaign.totals import BROKEN_TOLD, Broken, Totals
from playbooks.fuzz.protocol_states import NOTHING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def totals(runs: "DataFrame") -> "DataFrame":
    """One row: runs, strikes, errors."""
    return runs.agg(
        F.count(F.lit(1)).alias("runs"),
        F.coalesce(F.sum(F.col("counts")["strikes"]), F.lit(0)).alias("strikes"),
        F.count_if(F.col("error") != "").alias("errors"),
    )


def broken(runs: "DataFrame") -> "DataFrame":
    """The first runs that broke inside."""
    there = runs.filter(F.col("error") != "").select("run", "seed", "error")
    return there.orderBy("run").limit(BROKEN_TOLD)


def groups(runs: "DataFrame") -> "DataFrame":
    """A row for each key: how many runs, and the one that speaks for it: the first that is a surprise, or the first."""
    each = runs.select("run", F.explode("found").alias("found")).select("run", "found.*")
    spoken = F.struct((F.col("expected") != "").alias("late"), "run", "expected", "sentence")
    by_key = each.groupBy("key").agg(F.count(F.lit(1)).alias("count"), F.min(spoken).alias("one"))
    return by_key.select("key", "count", "one.run", "one.expected", "one.sentence")


def met(runs: "DataFrame") -> "DataFrame":
    """A row for each fault and state: how many strikes."""
    by_fault = runs.select(F.explode("coverage").alias("fault", "states"))
    each = by_fault.select("fault", F.explode("states").alias("state", "strikes"))
    return each.groupBy("fault", "state").agg(F.sum("strikes").alias("strikes"))


def totals_at_hand(runs: "DataFrame") -> Totals:
    """The answers of :func:`totals` and, where there are any, of :func:`broken`."""
    row = totals(runs).collect()[0]
    first = [Broken(*each) for each in broken(runs).collect()] if row.errors else []
    return Totals(row.runs, row.strikes, row.errors, tuple(first))


def groups_at_hand(frame: "DataFrame") -> tuple[Group, ...]:
    """The answer of :func:`groups`, surprises first, then by how often."""
    found = [Group(row["key"], row["expected"], row["count"], row["run"], row["sentence"]) for row in frame.collect()]
    return tuple(sorted(found, key=lambda group: (bool(group.expected), -group.count, group.key)))


def coverage_at_hand(frame: "DataFrame", faults: Sequence[str], states: Sequence[str]) -> Coverage:
    """The answer of :func:`met`, beside all that there is."""
    counts: Met = {fault: {} for fault in faults}
    for row in sorted(frame.collect()):
        counts.setdefault(row.fault, {})[row.state] = row.strikes
    return Coverage(tuple(faults), (NOTHING, *states), counts)
