"""A fleet report before it is drawn: its tables, what they are about, and the verdict in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spark_report.fleet.rates import ANY, SURPRISING
from spark_report.fleet.sources import Source
from spark_report.input.sessions import SetAside
from spark_report.model.format import duration, several
from spark_report.model.report import Tone

Row = dict[str, Any]

SUMS: Final = (ANY, SURPRISING)
"""Keys of findings that stand for others."""


@dataclass(frozen=True, slots=True)
class FleetStory:
    """What every renderer takes."""

    sources: tuple[Source, ...]
    baseline: str
    """Name of the fleet that the others are held against; empty for none."""
    runs: Mapping[str, int]
    """Fleet → its runs."""
    errors: Mapping[str, int]
    """Fleet → those of them that broke inside."""
    tables: Mapping[str, list[Row]]
    set_aside: tuple[SetAside, ...] = ()

    @property
    def several(self) -> bool:
        """Whether it tells of more than one fleet."""
        return len(self.sources) > 1

    @property
    def shown(self) -> tuple[str, ...]:
        """The fleets that are reported: all but a baseline."""
        return tuple([source.name for source in self.sources if source.name != self.baseline])

    def findings(self, fleet: str) -> list[Row]:
        """What a fleet found, sums left out."""
        return [row for row in self.tables["fleet_findings"] if row["fleet"] == fleet and row["key"] not in SUMS]

    def summed(self, fleet: str, key: str) -> Row | None:
        """A sum over the findings of a fleet; None where there is nothing to sum up."""
        return next((row for row in self.tables["fleet_findings"] if (row["fleet"], row["key"]) == (fleet, key)), None)

    @property
    def worse(self) -> list[Row]:
        """What is worse than in the baseline."""
        return [row for row in self.tables.get("fleet_changes", []) if row["change"] == "worse"]


def percent(value: float | None) -> str:
    """``4.2 %``, ``0.05 %``; three figures at most."""
    if value is None:
        return ""
    share = value * 100
    text = f"{share:.1f}" if share >= 10 else f"{share:.2f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def rate(row: Row) -> str:
    """``4.2 % (2.9 to 6)``: a probability with its interval."""
    low, high = percent(row["low"]).removesuffix(" %"), percent(row["high"]).removesuffix(" %")
    return f"{percent(row['probability'])} ({low} to {high})"


def verdict(story: FleetStory) -> tuple[Tone, str]:
    """How bad it is, and one sentence."""
    if story.worse:
        keys = ", ".join(dict.fromkeys(row["key"] for row in story.worse))
        return "alarm", f"Worse than {story.baseline}: {keys}."
    told: list[str] = []
    tone: Tone = "calm"
    for fleet in story.shown:
        odd = story.summed(fleet, SURPRISING)
        found = story.findings(fleet)
        runs = several(story.runs.get(fleet, 0) - story.errors.get(fleet, 0), "run")
        if odd is not None:
            tone = "alarm"
            said = f"something surprising in {rate(odd)} of {runs}"
        elif found:
            tone = "warning" if tone == "calm" else tone
            said = (
                f"nothing surprising in {runs}, {several(len(found), 'thing')} that the settings or the version allow"
            )
        else:
            said = f"nothing found in {runs}"
        told.append(f"{fleet}: {said}")
    against = f" Nothing is worse than in {story.baseline}." if story.baseline else ""
    return tone, "; ".join(told) + "." + against


def sentences(story: FleetStory) -> list[str]:
    """What to read before any table."""
    return [line for fleet in story.shown for line in _of_fleet(story, fleet)]


def _of_fleet(story: FleetStory, fleet: str) -> list[str]:
    lead = f"{fleet}: " if len(story.shown) > 1 else ""
    worst = next(iter(sorted(story.findings(fleet), key=lambda row: (bool(row["expected"]), -row["low"]))), None)
    said = []
    if worst is not None:
        what = "expected" if worst["expected"] else "surprising"
        said.append(f"Most likely {what}: {worst['key']}, {rate(worst)} of the runs, as in run {worst['run']}.")
    said += _times(story, fleet)
    pair = next((row for row in _own(story, "fleet_pairs", fleet) if row["key"] == _worst_key(story, fleet)), None)
    if pair is not None and pair["lift"] > 1:
        said.append(
            f"Most dangerous together: {pair['one']} and {pair['other']}, {rate(pair)} of "
            f"{several(pair['runs'], 'run')} with both, {pair['lift']:.1f} times as often as over all."
        )
    ranked = _own(story, "fleet_settings", fleet)
    if len(ranked) > 1:
        best, last = ranked[0], ranked[-1]
        said.append(f"Best settings: {chosen(best)}. Worst: {chosen(last)}, as in run {last['run']}.")
    broken = story.errors.get(fleet, 0)
    if broken:
        said.append(f"{several(broken, 'run')} broke inside; no probability but its own counts them.")
    return [lead + line for line in said]


def _times(story: FleetStory, fleet: str) -> list[str]:
    found = {row["quantile"]: row for row in _own(story, "fleet_times", fleet) if row["measure"] == "recovery_us"}
    if not found:
        return []
    told = ", ".join(f"{name} {when(row['value_us'])}" for name, row in found.items())
    never = found["p50"]["never"]
    late = f"; {several(never, 'run')} had not recovered at the end" if never else ""
    return [f"Recovery: {told} (run {found['max']['run']}){late}."]


def chosen(row: Row) -> str:
    """A combination of settings in words."""
    return str(row["settings"]) or "as they are"


def when(value_us: int | None) -> str:
    """A time as a table has it."""
    return "never" if value_us is None else duration(value_us)


def _worst_key(story: FleetStory, fleet: str) -> str:
    return SURPRISING if story.summed(fleet, SURPRISING) is not None else ANY


def _own(story: FleetStory, table: str, fleet: str) -> list[Row]:
    return [row for row in story.tables[table] if row["fleet"] == fleet]


def ordered(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Rows in the order in which they are told: the worst first, settings by their rank."""
    quantiles = ("p50", "p90", "p99", "max")
    orders: dict[str, Any] = {
        "fleet_findings": lambda row: (
            *(row["fleet"], row["key"] not in SUMS, bool(row["expected"]), -row["probability"], row["key"]),
        ),
        "fleet_times": lambda row: (row["fleet"], row["measure"], quantiles.index(row["quantile"])),
        "fleet_pairs": lambda row: (row["fleet"], row["key"], -row["low"], -row["runs"], row["one"], row["other"]),
        "fleet_settings": lambda row: (row["fleet"], row["rank"]),
        "fleet_changes": lambda row: (
            *(row["fleet"], ("worse", "better", "same").index(row["change"])),
            *(-abs(row["difference"]), row["key"]),
        ),
    }
    return {name: sorted(rows, key=orders[name]) for name, rows in tables.items()}
