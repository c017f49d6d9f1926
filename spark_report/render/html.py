"""Self-contained HTML report: styles, script and charts are inline.

Names in a session are untrusted. The template escapes every value, charts escape their text, and a content security
policy forbids the page any network access. Charts are inline SVG and need no script; the script fits them to their
column, zooms, and shows values at the pointer.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cluster_model.util.quantities import counted, rounded_duration, thousands
from playbooks.text import printable
from spark_report.model.comparison import compare
from spark_report.model.format import is_internal, share
from spark_report.model.report import (
    ReportModel,
    Row,
    SessionModel,
    Tone,
    first_reasons,
    headline,
    overall,
    sentences,
    severity,
)
from spark_report.render import charts, tables
from spark_report.render.sections import (
    MOST_SESSIONS,
    ReportSection,
    comparison_baseline,
    comparison_changes,
    comparison_extremes,
    comparison_legend,
    comparison_matrix,
    key_figures,
    sections,
    shown_sessions,
)
from spark_report.render.svg import MOST_SHAPES, svg
from spark_report.render.tables import View

# Partitions one by one: the timeline of each, and its rows of every table.


_QUIET: Final = "quiet"
_TABLES: Final = (
    *("partition_states", "unavailability", "isr_conditions", "hw_stalls", "elections", "isr_changes", "truncations"),
    *("losses", "hw_series", "partition_position_lag", "outcomes", "availability", "partitions", "violations"),
)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition's summary, timeline and tables."""

    name: str
    tone: Tone
    summary: str
    facts: tuple[tuple[str, str], ...]
    picture: Markup
    views: tuple[View, ...]


def drill_down(model: SessionModel, limit: int, shapes: int = MOST_SHAPES) -> tuple[list[Partition], int]:
    """Return the partitions to show, and the number left out; internal ones are shown only if they had an event."""
    names = charts.by_interest(model)
    own = {name: {table: [] for table in _TABLES} for name in names[:limit]}  # type: dict[str, dict[str, list[Row]]]
    for table in _TABLES:
        for row in model.tables[table]:
            if row["partition"] in own:
                own[row["partition"]][table].append(row)
    made = [_partition(name, replace(model, tables={**model.tables, **found}), shapes) for name, found in own.items()]
    shown = [one for one in made if one.summary != _QUIET or not is_internal(one.name)]
    return shown, len(names) - len(shown)


def _partition(name: str, model: SessionModel, shapes: int) -> Partition:
    lost = sum(row["count"] for row in model.lost)
    out = sum(row["duration_us"] for row in model.unavailable("partition"))
    totals = next(iter(model.tables["partitions"]), None)
    parts = []
    if lost:
        parts.append(f"{counted(lost, 'record')} lost")
    if out:
        parts.append(f"{rounded_duration(out)} without a leader")
    if totals and totals["under_min_isr_us"]:
        parts.append(f"{rounded_duration(totals['under_min_isr_us'])} under min.insync.replicas")
    if totals and totals["under_replicated_us"]:
        parts.append(f"{rounded_duration(totals['under_replicated_us'])} under-replicated")
    if not parts and len(model.tables["partition_states"]) > 1:
        parts.append(counted(len(model.tables["partition_states"]) - 1, "change"))
    tone: Tone = "alarm" if lost or out else "warning" if parts else "calm"
    views = (
        tables.losses(model),
        tables.unavailability(model),
        tables.states(model),
        tables.conditions(model, name),
        tables.stalls(model, name),
        tables.elections(model),
        tables.truncations(model),
        tables.outcomes(model),
    )
    picture = svg(charts.partition_chart(model, name), f"{name} over time", shapes)
    return Partition(name, tone, ", ".join(parts) or _QUIET, _facts(model, totals), picture, tuple(filter(None, views)))


def _facts(model: SessionModel, totals: Row | None) -> tuple[tuple[str, str], ...]:
    if totals is None:
        return ()
    served = next((row["availability"] for row in model.tables["availability"] if row["scope"] == "partition"), None)
    minimum = "not known" if totals["min_isr"] is None else totals["min_isr"]
    elections = f"{thousands(totals['elections_clean'])} clean, {thousands(totals['elections_unclean'])} unclean"
    pairs = [
        ("replicas", f"{totals['replication']}, min.insync.replicas {minimum}"),
        ("available", "" if served is None or model.timeless else share(served)),
        ("leader epochs", f"{totals['epochs']}, last {totals['last_epoch']}"),
        ("elections", elections),
        ("ISR", f"{thousands(totals['isr_shrinks'])} shrinks, {thousands(totals['isr_expands'])} expands"),
        ("HW stalls", _stalls(totals)),
    ]
    return tuple((label, value) for label, value in pairs if value)


def _stalls(totals: Row) -> str:
    if not totals["hw_stalls"]:
        return ""
    return f"{thousands(totals['hw_stalls'])}, longest {rounded_duration(totals['longest_hw_stall_us'])}"


class Detail(NamedTuple):
    """Level of detail of a page; the files under ``tables/`` have everything."""

    rows: int
    """Maximum rows of a table."""
    partitions: int
    """Maximum partitions of a session, those with most events first."""
    sessions: int
    """Maximum sessions, the most severe first."""
    shapes: int
    """Approximate maximum of shapes in a lane of a chart; beyond it neighbours are merged."""


DETAILS: Final = (
    *(Detail(tables.MOST_ROWS, 40, MOST_SESSIONS, MOST_SHAPES), Detail(200, 20, MOST_SESSIONS, 200)),
    *(Detail(100, 10, MOST_SESSIONS, 100), Detail(50, 6, MOST_SESSIONS, 50)),
    *(Detail(25, 3, 6, 50), Detail(10, 1, 3, 25), Detail(10, 1, 1, 10)),
)
MOST_BYTES: Final = 1_500_000
"""Maximum size of a page; a longer one is made again with less detail."""

_KEY: Final = (
    ("calm", "every replica in sync"),
    ("warning", "fault; replica out of sync; client whose writes failed or had no response (thin bar)"),
    ("alarm", "no serving leader; fewer in sync than min.insync.replicas"),
)
_OVER_TIME: Final = (
    "Solid: median; dotted: maximum; gap: no record completed. The lower chart shows records per second."
)


class _SessionContent(NamedTuple):
    """The parts of a session that do not depend on the level of detail, made once."""

    sections: list[ReportSection]
    figures: list["_Drawn"]


class _Drawn(NamedTuple):
    """A figure that is not drawn yet, with its title, note and key."""

    kind: str
    title: str
    note: str
    key: tuple[tuple[str, str], ...]
    figure: charts.Figure


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart, with its title, note and key."""

    id: str
    title: str
    note: str
    key: tuple[tuple[str, str], ...]
    """Meaning of colours: tone and text."""
    picture: Markup


def write_html(path: Path, model: ReportModel) -> None:
    """Write the report's HTML file."""
    path.write_text(html_page(model), encoding="utf-8")


def html_page(model: ReportModel) -> str:
    """Return the page with as much detail as :data:`MOST_BYTES` allows."""
    made: dict[str, _SessionContent] = {}
    pages = (_page(model, detail, made) for detail in DETAILS)
    page = next(pages)
    while len(page.encode()) > MOST_BYTES and (shorter := next(pages, "")):
        page = shorter
    return page


def _page(model: ReportModel, detail: Detail, made: dict[str, _SessionContent]) -> str:
    worst, verdict = overall(model)
    shown = shown_sessions(model, detail.sessions)
    for one in shown:
        if one.session_id not in made:
            made[one.session_id] = _SessionContent(sections(one), _figures(one))
    anchors = {one.session_id: f"s{place}" for place, one in enumerate(shown)}
    short = tables.letters(model)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            verdict=verdict,
            tone=worst,
            comparison=_comparison(model) if len(model.sessions) > 1 else None,
            links=[anchors.get(one.session_id, "") for one in model.sessions],
            sessions=[
                _section(anchors[one.session_id], short[one.session_id], one, detail, made[one.session_id])
                for one in shown
            ],
            left_out=len(model.sessions) - len(shown),
            several=len(model.sessions) > 1,
            set_aside=first_reasons(model.set_aside, detail.rows),
            most_rows=detail.rows,
        )
    )


def environment() -> Environment:
    """Return the template environment, which escapes every value."""
    return Environment(
        loader=PackageLoader("spark_report.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def _comparison(model: ReportModel) -> dict[str, Any]:
    compared = compare(model)
    matrix = comparison_matrix(model, compared)
    changes = comparison_changes(model, compared)
    return {
        "overview": tables.overview(model),
        "legend": comparison_legend(model),
        "against": comparison_baseline(model, compared),
        "changes": changes,
        "matrix": matrix,
        "extremes": comparison_extremes(model, compared) if not matrix else None,
    }


def _section(anchor: str, letter: str, model: SessionModel, detail: Detail, content: _SessionContent) -> dict[str, Any]:
    drawn = {chart.id: chart for chart in _charts(anchor, model, content.figures, detail.shapes)}
    partitions, left_out = drill_down(model, detail.partitions, detail.shapes)
    sections = content.sections
    return {
        "id": anchor,
        "letter": letter,
        "name": model.name,
        "profile": model.recorded.start.profile,
        "settings": model.settings_words,
        "tone": severity(model),
        "headline": headline(model),
        "complaint": model.complaint,
        "problems": model.problems,
        "key_figures": key_figures(model),
        "facts": tables.facts(model),
        "sentences": sentences(model),
        "told": [_with_charts(anchor, one, drawn) for one in sections if not one.folded and one.name != "partitions"],
        "partitions": partitions,
        "partitions_left_out": left_out,
        "folded": [one for one in sections if one.folded],
    }


def _with_charts(anchor: str, section: ReportSection, drawn: dict[str, Chart]) -> dict[str, Any]:
    own = [chart for name, chart in drawn.items() if name.startswith(f"{anchor}-{section.name}-")]
    # With a chart, its data is collapsed; without one, the tables are shown.
    collapsed = section.name in ("timeline", "latency") and bool(own)
    return {
        "name": section.name,
        "title": section.title,
        "nothing": "" if any(section.views) else section.nothing,
        "charts": own,
        "open": [] if collapsed else [view for view in section.views if view],
        "behind": [view for view in section.views if view] if collapsed else [],
    }


def _charts(anchor: str, model: SessionModel, figures: list[_Drawn], shapes: int) -> list[Chart]:
    return [
        Chart(
            f"{anchor}-{kind}", title, note, key,
            svg(figure, f"{title or 'Timeline'}: {model.name}", shapes),
        )
        for kind, title, note, key, figure in figures
    ]  # fmt: skip


def _figures(model: SessionModel) -> list[_Drawn]:
    note = "A cross marks where acknowledged records went missing permanently. HW and position lag are lines."
    if model.tables["faults"]:
        note = f"Shaded bands are active faults. {note}"
    if left_out := len(charts.by_interest(model)) - charts.MOST_PARTITIONS:
        note += f" {left_out} less affected partitions are below, or in the tables." if left_out > 0 else ""
    around = "Before and after are as long as the fault, but at least one second."
    figures = [
        ("timeline-lanes", "", note, _KEY, charts.timeline_chart(model)),
        (
            "availability-faults",
            "Around each fault",
            f"{around}{charts.uncharted_faults(model)}",
            (),
            charts.availability_around_faults(model),
        ),
        (
            "latency-faults",
            "Around each fault",
            f"{around}{charts.uncharted_faults(model)}",
            (),
            charts.latency_around_faults(model),
        ),
        (
            "latency-series",
            "Over time",
            _OVER_TIME,
            (),
            charts.latency_chart(model),
        ),
        (
            "lag-series",
            "",
            "Position lag: high watermark minus the position of the group.",
            (),
            charts.lag_chart(model),
        ),
    ]
    return [_Drawn(kind, title, text, key, figure) for kind, title, text, key, figure in figures if figure is not None]


def _finalize(value: object) -> object:
    return printable(value) if type(value) is str else value
