"""The tables of a fleet report and their columns: what is computed, written and documented."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
