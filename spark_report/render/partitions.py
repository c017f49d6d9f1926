"""One partition after the other: its lanes, and every table that speaks of it."""

from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from spark_report.model.format import duration, number, several, share
from spark_report.model.report import Row, SessionStory, Tone
from spark_report.render import fault_tables, lanes, static, tables
from spark_report.render.tables import View

MOST: Final = 40
"""Partitions told on a page, those first in which most happened."""
_TABLES: Final = (
    *("partition_states", "unavailability", "isr_conditions", "hw_stalls", "elections", "isr_changes", "truncations"),
    *("losses", "hw_series", "partition_lag", "outcomes", "availability", "partitions", "violations"),
)


@dataclass(frozen=True, slots=True)
class Partition:
    """What there is to say of a partition."""

    name: str
    tone: Tone
    summary: str
    facts: tuple[tuple[str, str], ...]
    picture: Markup
    views: tuple[View, ...]


def drill_down(story: SessionStory) -> tuple[list[Partition], int]:
    """The partitions that are told, and how many are left out."""
    names = lanes.by_interest(story)
    own = {name: {table: [] for table in _TABLES} for name in names[:MOST]}  # type: dict[str, dict[str, list[Row]]]
    for table in _TABLES:
        for row in story.tables[table]:
            if row["partition"] in own:
                own[row["partition"]][table].append(row)
    told = [_partition(name, replace(story, tables={**story.tables, **found})) for name, found in own.items()]
    return told, len(names) - len(told)


def _partition(name: str, story: SessionStory) -> Partition:
    lost = sum(row["count"] for row in story.lost)
    out = sum(row["duration_us"] for row in story.unavailable("partition"))
    whole = next(iter(story.tables["partitions"]), None)
    said = []
    if lost:
        said.append(f"{several(lost, 'record')} lost")
    if out:
        said.append(f"{duration(out)} out of service")
    if whole and whole["under_min_isr_us"]:
        said.append(f"{duration(whole['under_min_isr_us'])} under min.insync.replicas")
    if whole and whole["under_replicated_us"]:
        said.append(f"{duration(whole['under_replicated_us'])} under-replicated")
    if not said and len(story.tables["partition_states"]) > 1:
        said.append(several(len(story.tables["partition_states"]) - 1, "change"))
    tone: Tone = "alarm" if lost or out else "warning" if said else "calm"
    views = (
        tables.losses(story),
        tables.unavailability(story),
        tables.states(story),
        fault_tables.conditions(story, name),
        fault_tables.stalls(story, name),
        tables.elections(story),
        tables.truncations(story),
        fault_tables.outcomes(story),
    )
    picture = static.svg(lanes.of_partition(story, name), f"{name} over time")
    return Partition(name, tone, ", ".join(said) or "quiet", _facts(story, whole), picture, tuple(filter(None, views)))


def _facts(story: SessionStory, whole: Row | None) -> tuple[tuple[str, str], ...]:
    if whole is None:
        return ()
    served = next((row["availability"] for row in story.tables["availability"] if row["scope"] == "partition"), None)
    elections = f"{number(whole['elections_clean'])} clean, {number(whole['elections_unclean'])} unclean"
    found = [
        ("replicas", f"{whole['replication']}, min.insync.replicas {whole['min_isr']}"),
        ("available", "" if served is None or story.timeless else share(served)),
        ("leader epochs", f"{whole['epochs']}, the last {whole['last_epoch']}"),
        ("elections", elections),
        ("ISR", f"{number(whole['isr_shrinks'])} shrinks, {number(whole['isr_expands'])} expands"),
        ("HW stalls", _stalls(whole)),
    ]
    return tuple((label, value) for label, value in found if value)


def _stalls(whole: Row) -> str:
    if not whole["hw_stalls"]:
        return ""
    return f"{number(whole['hw_stalls'])}, the longest {duration(whole['longest_hw_stall_us'])}"
