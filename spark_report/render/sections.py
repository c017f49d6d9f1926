"""Sections of a report, its key figures, and the comparison of sessions as text tables."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from cluster_model.util.quantities import counted, rounded_duration, rounded_time, thousands
from spark_report.model.comparison import BY_NAME, MEASURES, Measure
from spark_report.model.format import share, user_topic_rows
from spark_report.model.report import (
    AS_WRITTEN,
    SEED,
    ReportModel,
    Row,
    SessionModel,
    SettingDifference,
    Tone,
    severity,
)
from spark_report.render import client_tables, tables
from spark_report.render.tables import View, letters, view

MOST_SIDE_BY_SIDE: Final = 6
"""Most sessions for a side-by-side matrix."""
_MOST_OF_A_VALUE: Final = 20
"""Most characters of a setting's value in the matrix."""
_RANKS: Final = {"best": "▲", "worst": "▼"}
_JUDGED: Final = {"regression": "worse", "improvement": "better", "same": "unchanged"}

Columns = dict[str, Callable[[Row], Any]]


def comparison_legend(model: ReportModel) -> View:
    """Return the table of short session names, with the command that opens each session."""
    short = letters(model)
    columns: dict[str, Callable[[Any], Any]] = {
        "": lambda one: short[one.session_id],
        "session": lambda one: one.name,
        **tables.settings_column(model),
        "verdict": tables.verdict,
        "Kafka": lambda one: one.recorded.start.profile,
        "seed": lambda one: one.recorded.start.seed,
        "open with": lambda one: one.opened_by,
    }
    return view("sessions", "Sessions", list(model.sessions), columns, "seed")  # type: ignore[arg-type]


def comparison_matrix(model: ReportModel, compared: list[Row]) -> View:
    """Return measures by sessions with best and worst marked; empty for many sessions."""
    if not 1 < len(model.sessions) <= MOST_SIDE_BY_SIDE:
        return view("comparison", "Side by side", [], {})
    by_place = {(row["measure"], row["session_id"]): row for row in compared}
    short = letters(model)
    lines: list[tuple[str, ...]] = []
    tones: dict[tuple[int, int], str] = {}
    rows = [[by_place[measure.name, one.session_id] for one in model.sessions] for measure in MEASURES]
    nonzero = [own for own in rows if any(row["value"] for row in own)]
    lines += _setting_rows(model)
    # Measures that differ come first, those that are equal in all sessions after them.
    for own in sorted(nonzero, key=lambda own: not any(row["rank"] for row in own)):
        measure = _measure(own[0])
        for column, row in enumerate(own, 1):
            if row["rank"]:
                tones[len(lines), column] = row["rank"]
        cells = (f"{measure.shown(row['value'])} {_RANKS.get(row['rank'], '')}".strip() for row in own)
        lines.append((measure.title, *cells))
    headings = tuple(
        f"{short[one.session_id]} (baseline)" if one.session_id == model.baseline else short[one.session_id]
        for one in model.sessions
    )
    title = "Side by side (▲ best, ▼ worst)"
    return View("comparison", title, ("measure", *headings), frozenset(headings), tuple(lines), tones)


def _setting_rows(model: ReportModel) -> list[tuple[str, ...]]:
    """Return the settings in which the sessions differ, as the first rows of the matrix."""
    names = dict.fromkeys(setting.name for one in model.sessions for setting in one.settings)
    values = [{setting.name: setting for setting in one.settings} for one in model.sessions]
    return [
        (name, *(_set_to(own[name]) if name in own else "" for own in values))
        for name in names
        # The seed is in the table of sessions.
        if name != SEED
    ]


def _set_to(setting: SettingDifference) -> str:
    value = AS_WRITTEN if setting.value is None else setting.value
    return value if len(value) <= _MOST_OF_A_VALUE else f"{value[: _MOST_OF_A_VALUE - 1]}…"


def comparison_extremes(model: ReportModel, compared: list[Row]) -> View:
    """Return the best and worst sessions for each measure in which sessions differ."""
    short = letters(model)
    rows = []
    for measure in MEASURES:
        own = [row for row in compared if row["measure"] == measure.name]
        ranked: dict[str, list[Row]] = {rank: [row for row in own if row["rank"] == rank] for rank in _RANKS}
        if all(ranked.values()):
            rows.append({"measure": measure, **ranked})

    def names(rank: str) -> Callable[[Row], str]:
        return lambda row: _some([short[one["session_id"]] for one in row[rank]])

    def value(rank: str) -> Callable[[Row], str]:
        return lambda row: row["measure"].shown(row[rank][0]["value"])

    columns: Columns = {
        "measure": lambda row: row["measure"].title,
        "best": value("best"),
        "in": names("best"),
        "worst": value("worst"),
        "of": names("worst"),
    }
    return view("comparison", "Best and worst", rows, columns, "best|worst")


def comparison_changes(model: ReportModel, compared: list[Row]) -> View:
    """Return the changes against the baseline, regressions first."""
    short = letters(model)
    order = {"regression": 0, "improvement": 1}
    changed = [row for row in compared if row["judged"] in order]
    changed.sort(key=lambda row: order[row["judged"]])
    columns: Columns = {
        "": lambda row: _JUDGED[row["judged"]],
        "in": lambda row: short[row["session_id"]],
        "measure": lambda row: _measure(row).title,
        "baseline": lambda row: _measure(row).shown(row["baseline_value"]),
        "now": lambda row: _measure(row).shown(row["value"]),
        "change": lambda row: _measure(row).change(row),
    }
    made = view("comparison", "Against the baseline", changed, columns, "baseline|now|change")
    return replace(made, tones={(place, 5): row["judged"] for place, row in enumerate(changed)})


def comparison_baseline(model: ReportModel, compared: list[Row]) -> str:
    """Return one sentence on the changes against the baseline; empty without a baseline."""
    if not model.baseline:
        return ""
    base = next((one for one in model.sessions if one.session_id == model.baseline), None)
    worse = [row for row in compared if row["judged"] == "regression"]
    better = sum(row["judged"] == "improvement" for row in compared)
    text = f"Against the baseline {letters(model)[model.baseline]}, {_named(base)}: "
    if not worse and not better:
        return f"{text}nothing changed by 5 % or more."
    worst = max(worse, key=_size, default=None)
    measures = "measure" if len(worse) == 1 else "measures"
    most = f" (largest change: {_lower(_measure(worst).title)}: {_measure(worst).change(worst)})" if worst else ""
    return f"{text}{len(worse) or 'no'} {measures} worse{most}; {better or 'none'} better."


def _lower(title: str) -> str:
    """Lower the first letter of a measure's title, unless it starts an abbreviation such as ISR."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _size(row: Row) -> float:
    """Return the relative size of a change; infinite if the baseline's value is 0."""
    part = row["difference_share"]
    return float("inf") if part is None else abs(float(part))


def _named(model: SessionModel | None) -> str:
    return model.name if model else ""


def _measure(row: Row) -> Measure:
    return BY_NAME[row["measure"]]


def _some(names: list[str], limit: int = 4) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return " ".join(names[:limit]) + more


# The sections of a session's report in order: in HTML, in a terminal, in Markdown.


MOST_SESSIONS: Final = 12
"""Sessions that are shown one by one; the others are in the tables only."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A heading with tables; some sections have a chart in the HTML page."""

    name: str
    title: str
    views: tuple[View, ...] = ()
    short: View | None = None
    """Table for a terminal of 80 columns; None if the section is not shown there."""
    nothing: str = ""
    """Text if its tables are empty; if that is empty, too, the section is left out."""
    folded: bool = False
    """Whether it is collapsed, as part of the appendix."""

    def __bool__(self) -> bool:
        return any(self.views) or bool(self.nothing)


def shown_sessions(model: ReportModel, limit: int = MOST_SESSIONS) -> list[SessionModel]:
    """Return the sessions to show one by one: all, or the most severe ones if there are many."""
    if len(model.sessions) <= limit:
        return list(model.sessions)
    order = {"alarm": 0, "warning": 1, "calm": 2}
    return sorted(model.sessions, key=lambda one: order[severity(one)])[:limit]


def sections(model: SessionModel) -> list[ReportSection]:
    """Return all sections that are not empty."""
    return [section for section in (*_session_sections(model), *_looked_up(model)) if section]


def _session_sections(model: SessionModel) -> list[ReportSection]:
    alerts = tables.alerts(model)
    fired = tables.alerts_short(model)
    quiet = "No alert fired." if not fired and not model.timeless else ""
    lags, turns = tables.position_lag_peaks(model), tables.rebalances(model)
    losses, failovers = tables.losses(model), tables.failovers(model)
    anomalies, all_partitions = tables.anomalies(model), tables.partitions(model)
    return [
        ReportSection(
            "losses",
            losses.title,
            (losses, tables.points_of_no_return(model), tables.remedies(model)),
            tables.losses_short(model),
        ),
        *(_open(tables.expectations(model)) if model.failed else ()),
        *_open(tables.violations(model)),
        *_open(tables.liveness_violations(model)),
        ReportSection("anomalies", anomalies.title, (anomalies,), anomalies),
        ReportSection(
            "timeline",
            "Timeline",
            (tables.faults(model), tables.unavailability(model), tables.states(model)),
        ),
        ReportSection("availability", "Availability", (tables.availability(model),)),
        ReportSection(
            "recovery",
            "Recovery times",
            (tables.fault_times(model), tables.means(model)),
            tables.fault_times_short(model),
        ),
        ReportSection(
            "latency",
            "Latency and throughput",
            (tables.around_faults(model), tables.latency(model)),
            tables.latency_short(model),
        ),
        ReportSection("alerts", alerts.title, (alerts,), fired, quiet),
        ReportSection("lag", lags.title, (lags,), lags),
        ReportSection("rebalances", turns.title, (turns,), turns),
        ReportSection("failovers", failovers.title, (failovers,), failovers),
        ReportSection("partitions", "Partitions", (all_partitions,), all_partitions),
        ReportSection(
            "producers", "Producers", (client_tables.producers(model),), client_tables.producers_short(model)
        ),
        ReportSection("groups", "Groups", (client_tables.groups(model),), client_tables.groups_short(model)),
    ]


def _open(content: View) -> tuple[ReportSection, ...]:
    return (ReportSection(content.name, content.title, (content,), content),)


def _looked_up(model: SessionModel) -> list[ReportSection]:
    views = [
        *([] if model.failed else [tables.expectations(model)]),
        tables.ledger(model),
        tables.found_causes(model),
        tables.steps(model),
        tables.guards(model),
        tables.controllers(model),
        tables.elections(model),
        tables.isr_changes(model),
        tables.truncations(model),
        tables.outcomes(model),
        client_tables.members(model),
        client_tables.errors(model),
    ]
    odd = tables.ledger(model) if model.disagreements else None
    return [
        ReportSection(found.name, found.title, (found,), odd if found.name == "ledger" else None, folded=True)
        for found in views
        if found
    ]


# Key figures.


class KeyFigure(NamedTuple):
    """A key figure: label, value, and a short note."""

    label: str
    value: str
    note: str
    tone: Tone
    at: str
    """Name of the section with its data."""


def key_figures(model: SessionModel) -> list[KeyFigure]:
    """Return the key figures: losses, unavailability, latency, recovery time, and alerts."""
    found: list[KeyFigure | None] = [_lost(model)]
    if not model.timeless:
        found += [_outage(model), _client(model), _slow(model), _recovery(model), _alarm(model)]
    return [figure for figure in found if figure]


def _lost(model: SessionModel) -> KeyFigure:
    lost = sum(row["count"] for row in model.lost)
    acked = model.counts.get("acked", 0)
    committed = sum(row["count"] for row in model.lost if row["committed"])
    were = "was" if committed == 1 else "were"
    note = f"of {thousands(acked)} acknowledged" + (f"; {thousands(committed)} {were} committed" if committed else "")
    if not model.acknowledgements_known:
        note = "committed; acknowledgements are not in Kafka's logs"
    if model.loss_expected:
        return KeyFigure("records lost", thousands(lost), f"{note}; as expected: {model.held}", "warning", "losses")
    return KeyFigure("records lost", thousands(lost), note, "alarm" if lost else "calm", "losses" if lost else "ledger")


def _outage(model: SessionModel) -> KeyFigure:
    found = user_topic_rows(model.unavailable("partition"))
    worst = max(found, key=lambda row: row["duration_us"], default=None)
    if worst is None:
        return KeyFigure("longest without a leader", "none", "every partition had a serving leader", "calm", "timeline")
    ongoing = ", not ended" if worst["open"] else ""
    note = f"{worst['partition']}{ongoing}; {_worst_share(model, worst['partition'])}"
    return KeyFigure("longest without a leader", rounded_duration(worst["duration_us"]), note, "alarm", "timeline")


def _worst_share(model: SessionModel, named: str) -> str:
    own = [row for row in model.tables["availability"] if row["scope"] == "partition"]
    known = [row for row in user_topic_rows(own) if row["availability"] is not None]
    worst = min(known, key=lambda row: row["availability"], default=None)
    if worst is None:
        return "availability not known"
    name = "" if worst["partition"] == named else f"{worst['partition']} was "
    return f"{name}available {share(worst['availability'])}"


def _client(model: SessionModel) -> KeyFigure | None:
    worst = max(model.unavailable("client"), key=lambda row: row["duration_us"], default=None)
    if worst is None:
        return None
    note = f"{worst['client']} to {worst['partition']}"
    return KeyFigure("longest client outage", rounded_duration(worst["duration_us"]), note, "alarm", "timeline")


def _slow(model: SessionModel) -> KeyFigure | None:
    by_phase: dict[str, list[Row]] = {}
    for row in model.tables["latency"]:
        if row["what"] == "produce":
            by_phase.setdefault(row["phase"], []).append(row)
    if not by_phase.get("all"):
        return None
    worst = {phase: max(row["p99_us"] for row in found) for phase, found in by_phase.items()}
    if "during" not in worst:
        return KeyFigure("p99 produce latency", rounded_duration(worst["all"]), "whole session", "calm", "latency")
    before = f"before them {rounded_duration(worst['before'])}" if "before" in worst else "none before them"
    slower = worst["during"] > 10 * worst.get("before", worst["during"])
    value = rounded_duration(worst["during"])
    worry: Tone = "warning" if slower else "calm"
    return KeyFigure("p99 produce latency", value, f"during faults; {before}", worry, "latency")


def _recovery(model: SessionModel) -> KeyFigure | None:
    means = next((row for row in model.tables["fault_means"] if not row["fault"]), None)
    if means is None:
        return None
    left = means["unrecovered_faults"]
    note = f"mean time to recover; {counted(means['faults'], 'fault')}"
    if left:
        note += f", {thousands(left)} not recovered"
    if means["mttd_us"] is not None:
        note += f"; detected after {rounded_duration(means['mttd_us'])}"
    if means["mttr_us"] is None:
        worry: Tone
        value, worry = ("never", "warning") if left else ("nothing to recover", "calm")
        return KeyFigure("recovery", value, note.partition("; ")[2], worry, "recovery")
    return KeyFigure(
        "recovery (MTTR)", rounded_duration(means["mttr_us"]), note, "warning" if left else "calm", "recovery"
    )


def _alarm(model: SessionModel) -> KeyFigure:
    fired = [row for row in model.tables["alerts"] if row["fired"]]
    pages = [row for row in fired if row["severity"] == "page"]
    if not pages:
        worry: Tone = "warning" if model.lost else "calm"
        return KeyFigure("alerts fired (page)", "none", f"{counted(len(fired), 'warning')} fired", worry, "alerts")
    first = min(pages, key=lambda row: row["fired_us"])
    return KeyFigure(
        "alerts fired (page)",
        thousands(len(pages)),
        f"first {first['alert']} at {rounded_time(first['fired_us'])}",
        "warning",
        "alerts",
    )
