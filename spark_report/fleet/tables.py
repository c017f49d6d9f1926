"""Tables of a fleet report: their columns, and the queries that compute them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    "fleet": ("str", "The campaign or directory of sessions."),
    "key": (
        "str",
        "Key, such as `finding:lost/unreplicated-tail`; `any`: any finding; `surprising`: any surprising finding.",
    ),
    "expected": ("str", "Reason why it is expected; empty if it is surprising in any of the runs."),
    "runs": ("int", "Runs over which it is counted: those without an internal error; for `error:...` all."),
    "hits": ("int", "Runs with the finding."),
    "probability": ("float", "`hits / runs`."),
    "low": ("float", "Lower end of the Wilson 95 % interval."),
    "high": ("float", "Upper end of the Wilson 95 % interval."),
    "sentence": ("str", "Description of the finding in the named run."),
    "run": ("int", "Number of the run that shows it; for a session its position in the directory, from 1."),
    "seed": ("int", "Seed of the run."),
    "again": ("str", "Command that repeats the run."),
    "session": ("str", "Path of the recorded session; empty if it is not recorded."),
    "measure": (
        "str",
        (
            "`recovery_us`: from the end of the last fault until every partition has a leader and all replicas in "
            "sync, and keeps them; for a session the longest recovery time of a fault. `longest_unavailable_us`: the "
            "longest time that a producer could not write; `unavailable_us`: the total over producers and partitions."
        ),
    ),
    "quantile": ("str", "`p50`, `p90`, `p99` or `max`: the value of a run, by nearest rank."),
    "value_us": ("int", "The value in virtual microseconds; null if that run never recovered."),
    "never": ("int", "Runs that had not recovered at their end; they rank above all times."),
    "one": ("str", "A fault of these runs, or an admin operation."),
    "other": ("str", "The other fault or operation."),
    "lift": ("float", "The probability divided by that of all runs."),
    "settings": ("str", "Values of the axes, such as `acks=1 kafka=2.0`; empty without any."),
    "rank": ("int", "1 is the best: fewest runs with a surprising finding, then with any, then the shortest outage."),
    "surprising_hits": ("int", "Runs with a surprising finding."),
    "lossy_runs": ("int", "Runs that lost acknowledged records."),
    "acked_lost": ("int", "Acknowledged records lost in these runs."),
    "outage_p50_us": ("int", "Median of the longest unavailable times."),
    "before_runs": ("int", "Runs of the baseline."),
    "before_hits": ("int", "Runs of the baseline with the finding."),
    "before": ("float", "Probability in the baseline."),
    "difference": ("float", "`probability - before`."),
    "change": (
        "str",
        "`worse` or `better` if the 95 % interval of the difference (Newcombe) excludes 0; else `same`.",
    ),
}
"""Column → its type and meaning."""

_RUN: Final = ("run", "seed", "again", "session")
_RATE: Final = ("runs", "hits", "probability", "low", "high")


@dataclass(frozen=True, slots=True)
class FleetTable:
    """A table of the fleet report."""

    row: str
    """Description of a row."""
    columns: tuple[str, ...]

    @property
    def schema(self) -> Any:
        """The Arrow schema of the table."""
        import pyarrow as pa  # noqa: PLC0415 - generating documentation does not need Arrow

        types = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
        return pa.schema([(name, types[MEANINGS[name][0]]) for name in self.columns])


TABLES: Final[Mapping[str, FleetTable]] = {
    "fleet_findings": FleetTable(
        "The probability of a finding in a run.",
        ("fleet", "key", "expected", *_RATE, "sentence", *_RUN),
    ),
    "fleet_times": FleetTable(
        "A quantile of a measure over the runs, with the run that has this value.",
        ("fleet", "measure", "quantile", "runs", "never", "value_us", *_RUN),
    ),
    "fleet_pairs": FleetTable(
        "The probability of a finding in runs with two faults, the most dangerous pairs first.",
        ("fleet", "key", "one", "other", *_RATE, "lift", *_RUN),
    ),
    "fleet_settings": FleetTable(
        "A combination of settings, the best first, with its worst run.",
        (
            *("fleet", "settings", "rank", *_RATE, "surprising_hits", "lossy_runs", "acked_lost", "outage_p50_us"),
            *_RUN,
        ),
    ),
    "fleet_changes": FleetTable(
        "The change of a finding's probability against the baseline.",
        (
            *("fleet", "key", "change", "before_runs", "before_hits", "before", "runs", "hits", "probability"),
            *("difference", "low", "high", *_RUN),
        ),
    ),
}
"""Name → table. In `fleet_changes`, `low` and `high` are of the difference."""


def words_of(name: str, column: str) -> Mapping[str, str]:
    """Return the Parquet metadata of a table, or of one of its columns."""
    return {"meaning": MEANINGS[column][1]} if column else {"row": TABLES[name].row}


# Formats of a fleet report, and the names of its files.


TERMINAL: Final = "terminal"
FORMATS: Final = ("html", "md", "json", "parquet", TERMINAL)
HTML: Final = "fleet.html"
MARKDOWN: Final = "fleet.md"
JSON: Final = "fleet.json"


# Recovery times: quantiles over the runs, each the value of a single run.


MEASURES: Final = ("recovery_us", "longest_unavailable_us", "unavailable_us")
QUANTILES: Final = (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100))
"""Name → percent."""


def recovery_times(runs: "DataFrame") -> "DataFrame":
    """Return the table ``fleet_times``: quantiles of every measure by nearest rank.

    Runs that never recovered rank last; runs without the measure, because of an internal error, do not count. Of runs
    with the same value the first is named.
    """
    pairs = F.explode(F.array(*[F.struct(F.lit(name).alias("measure"), F.col(name).alias("us")) for name in MEASURES]))
    each = runs.select("fleet", "run", "seed", "again", "session", pairs.alias("one")).select("*", "one.*")
    known = each.filter(F.col("us").isNotNull()).withColumn("value_us", F.when(F.col("us") >= 0, F.col("us")))
    own = Window.partitionBy("fleet", "measure")
    ranked = known.select(
        *("fleet", "measure", "value_us", "run", "seed", "again", "session"),
        F.row_number().over(own.orderBy(F.col("value_us").asc_nulls_last(), "run")).alias("place"),
        F.count(F.lit(1)).over(own).alias("runs"),
        F.count_if(F.col("value_us").isNull()).over(own).alias("never"),
    )
    wanted = F.explode(
        F.array(*[F.struct(F.lit(name).alias("quantile"), F.lit(share).alias("share")) for name, share in QUANTILES])
    )
    quantiles = ranked.select("*", wanted.alias("of")).select("*", "of.*")
    rank = F.ceil(F.col("runs") * F.col("share") / 100)
    return quantiles.filter(F.col("place") == rank).select(
        *("fleet", "measure", "quantile", "runs", "never", "value_us", "run", "seed", "again", "session")
    )


# Wilson's interval of a probability, and Newcombe's of the difference of two, as columns.


Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for intervals of 95 %."""


def wilson_probability(hits: "Column", runs: "Column") -> "Column":
    """Return the ratio ``hits / runs``; null without runs."""
    return F.when(runs > 0, hits / runs)


def wilson_low(hits: "Column", runs: "Column") -> "Column":
    """Return the lower end of Wilson's 95 % interval."""
    return F.when(hits == 0, F.lit(0.0)).otherwise(F.greatest(F.lit(0.0), _centre(hits, runs) - _half(hits, runs)))


def wilson_high(hits: "Column", runs: "Column") -> "Column":
    """Return the upper end of Wilson's 95 % interval."""
    return F.when(hits == runs, F.lit(1.0)).otherwise(F.least(F.lit(1.0), _centre(hits, runs) + _half(hits, runs)))


def difference_low(after: "tuple[Column, Column]", before: "tuple[Column, Column]") -> "Column":
    """Return the lower end of Newcombe's interval of ``after - before``; each is (hits, runs)."""
    one, other = wilson_probability(*after), wilson_probability(*before)
    return one - other - F.sqrt((one - wilson_low(*after)) ** 2 + (wilson_high(*before) - other) ** 2)


def difference_high(after: "tuple[Column, Column]", before: "tuple[Column, Column]") -> "Column":
    """Return the upper end of Newcombe's interval of ``after - before``; each is (hits, runs)."""
    one, other = wilson_probability(*after), wilson_probability(*before)
    return one - other + F.sqrt((wilson_high(*after) - one) ** 2 + (other - wilson_low(*before)) ** 2)


def _centre(hits: "Column", runs: "Column") -> "Column":
    return (hits + Z * Z / 2) / (runs + Z * Z)


def _half(hits: "Column", runs: "Column") -> "Column":
    share = hits / runs
    return Z * F.sqrt(runs * share * (1 - share) + Z * Z / 4) / (runs + Z * Z)


# Changes against a baseline, with their statistical significance.


def changes(findings: "DataFrame", runs: "DataFrame", baseline: str) -> "DataFrame":
    """Return the table ``fleet_changes``: each key of either fleet, compared with the fleet ``baseline``.

    ``findings`` are those of :func:`finding_rates`; ``runs`` has the number of runs for keys that were never found. The
    named run is one of the fleet's, or of the baseline's if the fleet has no such finding.
    """
    ended = runs.groupBy("fleet").agg(F.count_if(F.col("error") == "").alias("ended"))
    others = ended.filter(F.col("fleet") != baseline)
    base = ended.filter(F.col("fleet") == baseline).select(F.col("ended").alias("base_ended"))
    own = findings.filter(F.col("fleet") != baseline)
    example = F.struct("run", "seed", "again", "session")
    before = findings.filter(F.col("fleet") == baseline).select(
        "key", F.col("hits").alias("before_hits"), F.col("runs").alias("before_of"), example.alias("then")
    )
    keys = findings.select("key").distinct().crossJoin(others).crossJoin(base)
    now = own.select("fleet", "key", "hits", F.col("runs").alias("of"), example.alias("now"))
    both = (
        keys.join(now, on=["fleet", "key"], how="left")
        .join(before, on="key", how="left")
        .withColumns(
            {
                "runs": F.coalesce("of", "ended"),
                "hits": F.coalesce("hits", F.lit(0)),
                "before_runs": F.coalesce("before_of", "base_ended"),
                "before_hits": F.coalesce("before_hits", F.lit(0)),
                "shown": F.coalesce("now", "then"),
            }
        )
    )
    after_of, before_of = (F.col("hits"), F.col("runs")), (F.col("before_hits"), F.col("before_runs"))
    rated = both.filter((F.col("runs") > 0) & (F.col("before_runs") > 0)).withColumns(
        {
            "probability": wilson_probability(*after_of),
            "before": wilson_probability(*before_of),
            "low": difference_low(after_of, before_of),
            "high": difference_high(after_of, before_of),
        }
    )
    change = F.when(F.col("low") > 0, "worse").when(F.col("high") < 0, "better").otherwise("same")
    return rated.select(
        *("fleet", "key", change.alias("change"), "before_runs", "before_hits", "before", "runs", "hits"),
        *("probability", (F.col("probability") - F.col("before")).alias("difference"), "low", "high", "shown.*"),
    )


# Ranking of settings: a row for each combination that was run.


MOST_COMBINATIONS: Final = 1_000
"""Most combinations of settings of a fleet: the best and the worst ones."""


def ranked_settings(runs: "DataFrame") -> "DataFrame":
    """Return the table ``fleet_settings``.

    Settings rank by the share of runs with a surprising finding, then with any finding, then with lost records, then by
    the median of the longest outages. The named run is the worst: a surprising finding, then any finding, then most
    lost records, then the longest outage.
    """
    real = F.filter("found", lambda each: ~each["key"].like("error:%"))
    odd = F.exists(real, lambda each: each["expected"] == "")
    ended = runs.filter(F.col("error") == "").withColumns(
        {"odd": odd.cast("int"), "hit": (F.size(real) > 0).cast("int"), "lost": F.coalesce("acked_lost", F.lit(0))}
    )
    outage = F.coalesce("longest_unavailable_us", F.lit(0))
    worst = F.max_by(
        F.struct("run", "seed", "again", "session"), F.struct("odd", "hit", "lost", outage.alias("us"), -F.col("run"))
    )
    by_settings = ended.groupBy("fleet", "settings").agg(
        F.count(F.lit(1)).alias("runs"),
        F.sum("hit").alias("hits"),
        F.sum("odd").alias("surprising_hits"),
        F.count_if(F.col("lost") > 0).alias("lossy_runs"),
        F.sum("lost").alias("acked_lost"),
        _median("longest_unavailable_us").alias("outage_p50_us"),
        worst.alias("worst"),
    )
    share = [F.col(name) / F.col("runs") for name in ("surprising_hits", "hits", "lossy_runs")]
    order = Window.partitionBy("fleet").orderBy(*share, F.col("outage_p50_us").asc_nulls_last(), "settings")
    ranked = by_settings.withColumns(
        {"rank": F.row_number().over(order), "all": F.count(F.lit(1)).over(Window.partitionBy("fleet"))}
    )
    kept = ranked.filter(
        (F.col("rank") <= MOST_COMBINATIONS // 2) | (F.col("rank") > F.col("all") - MOST_COMBINATIONS // 2)
    )
    return kept.select(
        *("fleet", "settings", "rank", "runs", "hits"),
        wilson_probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson_low(F.col("hits"), F.col("runs")).alias("low"),
        wilson_high(F.col("hits"), F.col("runs")).alias("high"),
        *("surprising_hits", "lossy_runs", "acked_lost", "outage_p50_us"),
        "worst.*",
    )


def _median(name: str) -> "Column":
    """Return the lower median, which is a value of one of the runs."""
    return F.expr(f"percentile_disc(0.5) within group (order by {name})")


# Probabilities of findings: a row for each fleet and key, also for any finding.


ANY: Final = "any"
SURPRISING: Final = "surprising"
ERROR: Final = "error:%"


def hits(runs: "DataFrame") -> "DataFrame":
    """Return a row for each run and finding key, including :data:`ANY` and :data:`SURPRISING`."""
    each = runs.select("*", F.explode(_with_any(F.col("found"))).alias("hit"))
    return each.select(*[name for name in runs.columns if name != "found"], "hit.*")


def _with_any(findings: "Column") -> "Column":
    """Add the keys :data:`ANY` and :data:`SURPRISING` to a run's findings, with the sentence of the first one."""
    real = F.filter(findings, lambda each: ~each["key"].like(ERROR))
    odd = F.filter(real, lambda each: each["expected"] == "")
    return F.concat(findings, _named(ANY, real), _named(SURPRISING, odd))


def _named(key: str, hits: "Column") -> "Column":
    return F.transform(
        F.slice(hits, 1, 1),
        lambda each: F.struct(
            F.lit(key).alias("key"), each["expected"].alias("expected"), each["sentence"].alias("sentence")
        ),
    )


def finding_rates(runs: "DataFrame") -> "DataFrame":
    """Return the table ``fleet_findings``."""
    counted = runs.groupBy("fleet").agg(
        F.count(F.lit(1)).alias("all_runs"), F.count_if(F.col("error") == "").alias("ended")
    )
    # The representative run: the first surprising one, else the first.
    spoken = F.struct(
        (F.col("expected") != "").alias("late"), "run", "expected", "sentence", "seed", "again", "session"
    )
    by_key = hits(runs).groupBy("fleet", "key").agg(F.count(F.lit(1)).alias("hits"), F.min(spoken).alias("one"))
    among = F.when(F.col("key").like(ERROR), F.col("all_runs")).otherwise(F.col("ended"))
    rated = by_key.join(F.broadcast(counted), on="fleet", how="inner").withColumn("runs", among)
    return rated.select(
        *("fleet", "key", "one.expected", "runs", "hits"),
        wilson_probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson_low(F.col("hits"), F.col("runs")).alias("low"),
        wilson_high(F.col("hits"), F.col("runs")).alias("high"),
        *("one.sentence", "one.run", "one.seed", "one.again", "one.session"),
    )


# Pairs of faults with a high probability of findings.


MOST_PAIRS: Final = 50
"""Most pairs per finding key."""


def fault_pairs(runs: "DataFrame") -> "DataFrame":
    """Return the table ``fleet_pairs``: runs with both faults, those with the finding, and the lift.

    It has the pairs with at least one hit, ranked for each key by the lower end of the probability's interval, so that
    chance does not decide.
    """
    ended = runs.filter(F.col("error") == "")
    faults = F.sort_array(F.array_distinct("faults"))
    later_faults = F.transform(
        faults,
        lambda one, index: F.transform(
            F.slice(faults, index + 2, F.size(faults)),
            lambda other: F.struct(one.alias("one"), other.alias("other")),
        ),
    )
    paired = ended.withColumn("pair", F.explode(F.flatten(later_faults)))
    counted = paired.groupBy("fleet", "pair").agg(F.count(F.lit(1)).alias("runs"))
    found = hits(paired.select("fleet", "run", "seed", "again", "session", "found", "pair"))
    shown = F.min(F.struct("run", "seed", "again", "session")).alias("first")
    hit = found.groupBy("fleet", "pair", "key").agg(F.count(F.lit(1)).alias("hits"), shown)
    overall = finding_rates(ended).select("fleet", "key", F.col("probability").alias("overall"))
    joined = hit.join(counted, on=["fleet", "pair"], how="inner").join(overall, on=["fleet", "key"], how="inner")
    rated = joined.select(
        *("fleet", "key", "pair.one", "pair.other", "runs", "hits"),
        wilson_probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson_low(F.col("hits"), F.col("runs")).alias("low"),
        wilson_high(F.col("hits"), F.col("runs")).alias("high"),
        (F.col("hits") / F.col("runs") / F.col("overall")).alias("lift"),
        "first.*",
    )
    order = Window.partitionBy("fleet", "key").orderBy(F.desc("low"), F.desc("runs"), "one", "other")
    return rated.withColumn("place", F.row_number().over(order)).filter(F.col("place") <= MOST_PAIRS).drop("place")
