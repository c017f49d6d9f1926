"""The tables of a fleet report: their columns, and the queries that fill them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    "fleet": ("str", "The campaign, or the directory of sessions, that the row is about."),
    "key": (
        "str",
        "What was found, as `finding:lost/unreplicated-tail`; `any`: anything; `surprising`: anything not expected.",
    ),
    "expected": ("str", "Why it is no surprise; empty where it is one in any of the runs."),
    "runs": ("int", "Runs that it is counted over: those that came to an end; of `error:...` all."),
    "hits": ("int", "Those of them that found it."),
    "probability": ("float", "`hits / runs`."),
    "low": ("float", "Lower end of the Wilson 95 % interval."),
    "high": ("float", "Upper end of the Wilson 95 % interval."),
    "sentence": ("str", "What happened in the run that is named."),
    "run": ("int", "Number of the run that shows it; of a session its place, from 1."),
    "seed": ("int", "Its seed."),
    "again": ("str", "The command that runs it again."),
    "session": ("str", "Where it is recorded; empty where it is not."),
    "measure": (
        "str",
        (
            "`recovery_us`: from when everything healed until every partition was led and whole, and stayed so; of a "
            "session the longest that a fault was felt. `longest_unavailable_us`: the longest time that a producer "
            "was not served; `unavailable_us`: all of that, added up over producers and partitions."
        ),
    ),
    "quantile": ("str", "`p50`, `p90`, `p99` or `max`: the value of a run, by the nearest rank."),
    "value_us": ("int", "The value, in virtual microseconds; empty where that run never recovered."),
    "never": ("int", "Runs that had not recovered at their end; they rank above all times."),
    "one": ("str", "A fault that struck in these runs, or what an administrator did."),
    "other": ("str", "The other one."),
    "lift": ("float", "The probability over that of all runs: how much more often it is with both."),
    "settings": ("str", "The values of the axes, as `acks=1 kafka=2.0`; empty without any."),
    "rank": ("int", "1 is the best: fewest runs with a surprise, then with anything, then the shortest outage."),
    "surprising_hits": ("int", "Runs that found anything that is not expected."),
    "lossy_runs": ("int", "Runs that lost acknowledged records."),
    "acked_lost": ("int", "Acknowledged records that they lost."),
    "outage_p50_us": ("int", "The median of the longest times without service."),
    "before_runs": ("int", "Runs of the baseline."),
    "before_hits": ("int", "Those of them that found it."),
    "before": ("float", "Its probability in the baseline."),
    "difference": ("float", "`probability - before`."),
    "change": (
        "str",
        "`worse` or `better` where the 95 % interval of the difference (Newcombe) leaves 0 out; else `same`.",
    ),
}
"""Column → its type and what it says."""

_RUN: Final = ("run", "seed", "again", "session")
_RATE: Final = ("runs", "hits", "probability", "low", "high")


@dataclass(frozen=True, slots=True)
class FleetTable:
    """A table of the fleet report."""

    row: str
    """What one row is."""
    columns: tuple[str, ...]

    @property
    def schema(self) -> Any:
        """Its Arrow schema."""
        import pyarrow as pa  # noqa: PLC0415 - a page of documentation should not wait for Arrow

        types = {"int": pa.int64(), "float": pa.float64(), "str": pa.string()}
        return pa.schema([(name, types[MEANINGS[name][0]]) for name in self.columns])


TABLES: Final[Mapping[str, FleetTable]] = {
    "fleet_findings": FleetTable(
        "How likely something is to be found in a run.",
        ("fleet", "key", "expected", *_RATE, "sentence", *_RUN),
    ),
    "fleet_times": FleetTable(
        "A quantile of a measure over the runs, with the run that has it.",
        ("fleet", "measure", "quantile", "runs", "never", "value_us", *_RUN),
    ),
    "fleet_pairs": FleetTable(
        "How likely something is where two faults struck in one run, most dangerous first.",
        ("fleet", "key", "one", "other", *_RATE, "lift", *_RUN),
    ),
    "fleet_settings": FleetTable(
        "A combination of settings, best first, with its worst run.",
        (
            *("fleet", "settings", "rank", *_RATE, "surprising_hits", "lossy_runs", "acked_lost", "outage_p50_us"),
            *_RUN,
        ),
    ),
    "fleet_changes": FleetTable(
        "A finding against the baseline.",
        (
            *("fleet", "key", "change", "before_runs", "before_hits", "before", "runs", "hits", "probability"),
            *("difference", "low", "high", *_RUN),
        ),
    ),
}
"""Name → table. In `fleet_changes`, `low` and `high` are of the difference."""


def words_of(name: str, column: str) -> Mapping[str, str]:
    """What stands in a table's file about it, or about one of its columns."""
    return {"meaning": MEANINGS[column][1]} if column else {"row": TABLES[name].row}


# Formats of a fleet report, and the names of its files.


TERMINAL: Final = "terminal"
FORMATS: Final = ("html", "md", "json", "parquet", TERMINAL)
HTML: Final = "fleet.html"
MARKDOWN: Final = "fleet.md"
JSON: Final = "fleet.json"


# Recovery times: quantiles over the runs, each the value of a run that can be opened.


MEASURES: Final = ("recovery_us", "longest_unavailable_us", "unavailable_us")
QUANTILES: Final = (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100))
"""Name → percent."""


def recovery_times(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_times``: of every measure its quantiles by the nearest rank.

    A run that never came to it is behind all others; one without the measure, as it broke inside, does not count.
    Of runs with the same value the first is named.
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
    asked = ranked.select("*", wanted.alias("of")).select("*", "of.*")
    rank = F.ceil(F.col("runs") * F.col("share") / 100)
    return asked.filter(F.col("place") == rank).select(
        *("fleet", "measure", "quantile", "runs", "never", "value_us", "run", "seed", "again", "session")
    )


# Wilson's interval of a probability, and Newcombe's of the difference of two, as columns.


Z: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution, for intervals of 95 %."""


def wilson_probability(hits: "Column", runs: "Column") -> "Column":
    """A plain ratio; null without runs."""
    return F.when(runs > 0, hits / runs)


def wilson_low(hits: "Column", runs: "Column") -> "Column":
    """Lower end of Wilson's 95 % interval."""
    return F.when(hits == 0, F.lit(0.0)).otherwise(F.greatest(F.lit(0.0), _centre(hits, runs) - _half(hits, runs)))


def wilson_high(hits: "Column", runs: "Column") -> "Column":
    """Upper end of Wilson's 95 % interval."""
    return F.when(hits == runs, F.lit(1.0)).otherwise(F.least(F.lit(1.0), _centre(hits, runs) + _half(hits, runs)))


def difference_low(after: "tuple[Column, Column]", before: "tuple[Column, Column]") -> "Column":
    """Lower end of Newcombe's interval of ``after - before``; each is (hits, runs)."""
    one, other = wilson_probability(*after), wilson_probability(*before)
    return one - other - F.sqrt((one - wilson_low(*after)) ** 2 + (wilson_high(*before) - other) ** 2)


def difference_high(after: "tuple[Column, Column]", before: "tuple[Column, Column]") -> "Column":
    """Upper end of Newcombe's interval of ``after - before``; each is (hits, runs)."""
    one, other = wilson_probability(*after), wilson_probability(*before)
    return one - other + F.sqrt((wilson_high(*after) - one) ** 2 + (other - wilson_low(*before)) ** 2)


def _centre(hits: "Column", runs: "Column") -> "Column":
    return (hits + Z * Z / 2) / (runs + Z * Z)


def _half(hits: "Column", runs: "Column") -> "Column":
    share = hits / runs
    return Z * F.sqrt(runs * share * (1 - share) + Z * Z / 4) / (runs + Z * Z)


# Changes against a baseline, and which of them cannot be chance.


def changes(findings: "DataFrame", runs: "DataFrame", baseline: str) -> "DataFrame":
    """The table ``fleet_changes``: of every other fleet each key that either found, against the fleet ``baseline``.

    ``findings`` are those of :func:`finding_rates`; ``runs`` tells how many runs ended
    where a key was never found. The run named is one of the fleet's, or where it found nothing one of the baseline's.
    """
    ended = runs.groupBy("fleet").agg(F.count_if(F.col("error") == "").alias("ended"))
    others = ended.filter(F.col("fleet") != baseline)
    base = ended.filter(F.col("fleet") == baseline).select(F.col("ended").alias("base_ended"))
    own = findings.filter(F.col("fleet") != baseline)
    told = F.struct("run", "seed", "again", "session")
    before = findings.filter(F.col("fleet") == baseline).select(
        "key", F.col("hits").alias("before_hits"), F.col("runs").alias("before_of"), told.alias("then")
    )
    keys = findings.select("key").distinct().crossJoin(others).crossJoin(base)
    now = own.select("fleet", "key", "hits", F.col("runs").alias("of"), told.alias("now"))
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
"""Combinations that are told of a fleet: the best and the worst of them."""


def ranked_settings(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_settings``.

    Best are the fewest runs with a surprise, as a share, then with anything, then with lost records, then the shortest
    median of the longest outages. The run that is named is the worst: a surprise before anything, then most lost, then
    the longest outage.
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
    told = ranked.filter(
        (F.col("rank") <= MOST_COMBINATIONS // 2) | (F.col("rank") > F.col("all") - MOST_COMBINATIONS // 2)
    )
    return told.select(
        *("fleet", "settings", "rank", "runs", "hits"),
        wilson_probability(F.col("hits"), F.col("runs")).alias("probability"),
        wilson_low(F.col("hits"), F.col("runs")).alias("low"),
        wilson_high(F.col("hits"), F.col("runs")).alias("high"),
        *("surprising_hits", "lossy_runs", "acked_lost", "outage_p50_us"),
        "worst.*",
    )


def _median(name: str) -> "Column":
    """The lower median, of the values that there are: a value of one of the runs."""
    return F.expr(f"percentile_disc(0.5) within group (order by {name})")


# Probabilities of findings: a row for each fleet and key, also for any finding at all.


ANY: Final = "any"
SURPRISING: Final = "surprising"
ERROR: Final = "error:%"


def hits(runs: "DataFrame") -> "DataFrame":
    """A row for each run and key that it found, with :data:`ANY` and :data:`SURPRISING` among the keys."""
    each = runs.select("*", F.explode(_with_any(F.col("found"))).alias("hit"))
    return each.select(*[name for name in runs.columns if name != "found"], "hit.*")


def _with_any(found: "Column") -> "Column":
    """What a run found and, once each, that it found anything, and anything surprising, as the first such one says."""
    real = F.filter(found, lambda each: ~each["key"].like(ERROR))
    odd = F.filter(real, lambda each: each["expected"] == "")
    return F.concat(found, _named(ANY, real), _named(SURPRISING, odd))


def _named(key: str, found: "Column") -> "Column":
    return F.transform(
        F.slice(found, 1, 1),
        lambda each: F.struct(
            F.lit(key).alias("key"), each["expected"].alias("expected"), each["sentence"].alias("sentence")
        ),
    )


def finding_rates(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_findings``."""
    counted = runs.groupBy("fleet").agg(
        F.count(F.lit(1)).alias("all_runs"), F.count_if(F.col("error") == "").alias("ended")
    )
    # The run that speaks for it: the first that is a surprise, or else the first.
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


# Pairs of faults that are most dangerous together.


MOST_PAIRS: Final = 50
"""Pairs of a key that are told."""


def fault_pairs(runs: "DataFrame") -> "DataFrame":
    """The table ``fleet_pairs``: runs in which both struck, how many of them found it, and how much more often that is.

    Told are pairs that found it at least once, the most dangerous of each key: those whose probability is greatest
    without being chance, by the lower end of its interval.
    """
    ended = runs.filter(F.col("error") == "")
    faults = F.sort_array(F.array_distinct("faults"))
    rest = F.transform(
        faults,
        lambda one, place: F.transform(
            F.slice(faults, place + 2, F.size(faults)),
            lambda other: F.struct(one.alias("one"), other.alias("other")),
        ),
    )
    paired = ended.withColumn("pair", F.explode(F.flatten(rest)))
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
