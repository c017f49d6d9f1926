"""A fleet report as one HTML file that needs nothing else."""

from typing import Any, Final

from markupsafe import Markup

from spark_report.fleet import charts
from spark_report.fleet.render import FleetStory, sentences, verdict
from spark_report.fleet.views import views
from spark_report.model.format import number
from spark_report.render.html import embedded, environment, plotly_script

MOST_ROWS: Final = 100
"""Rows of one table on the page; the files under ``tables/`` hold all."""

_NOTES: Final = {
    "fleet_findings": "Intervals are Wilson's, of 95 %. Runs that broke inside are left out.",
    "fleet_times": "Each is the time of the run that is named, by the nearest rank.",
    "fleet_pairs": "Runs in which both struck. Lift: how much more often than over all runs. A pair is a place "
    "to look, no proof.",
    "fleet_settings": "The run is the worst of the settings.",
    "fleet_changes": "Worse or better only where the 95 % interval of the difference leaves 0 out.",
}


def page(story: FleetStory) -> str:
    """The page as text."""
    tone, said = verdict(story)
    return (
        environment()
        .get_template("fleet.html.j2")
        .render(
            verdict=said,
            tone=tone,
            sentences=sentences(story),
            facts=_facts(story),
            sections=_sections(story),
            set_aside=story.set_aside,
            most_rows=MOST_ROWS,
            plotly=Markup(plotly_script()),
        )
    )


def _facts(story: FleetStory) -> list[tuple[str, str]]:
    facts = []
    for source in story.sources:
        runs = f"{number(story.runs.get(source.name, 0))} runs of {source.words}"
        facts.append((f"{source.name}{' (baseline)' if source.name == story.baseline else ''}", runs))
        if source.only:
            facts.append(("a run again", f"{source.only} RUN"))
    return facts


def _sections(story: FleetStory) -> list[dict[str, Any]]:
    drawn = {
        "fleet_findings": charts.findings(story),
        "fleet_times": charts.times(story),
        "fleet_settings": charts.ranked(story),
    }
    made = []
    for each in views(story):
        figure = drawn.get(each.name)
        made.append(
            {
                "view": each,
                "figure": embedded(figure) if figure is not None else "",
                "height": figure["layout"]["height"] if figure is not None else 0,
                "note": _NOTES.get(each.name, ""),
            }
        )
    return made
