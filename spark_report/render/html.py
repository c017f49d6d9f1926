"""The report as one HTML file that needs nothing else: styles, script and Plotly are inside, once.

Names in a session are a stranger's. The template escapes every value, figures travel as JSON in which no ``<`` is
left, and the page forbids itself the network by a content security policy. Each chart is there twice: as a still
picture, for paper and for readers without script, and as a figure that Plotly draws in its place.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_report.model.comparison import compare
from spark_report.model.format import clean
from spark_report.model.report import SessionStory, Story, headline, overall, sentences, tone
from spark_report.render import charts, dots, lanes, partitions, static, tables
from spark_report.render import sections as comparison_tables
from spark_report.render.contents import Section, sections, shown_sessions
from spark_report.render.key_figures import key_figures

MOST_ROWS: Final = 400
"""Rows of one table on the page; the files under ``tables/`` hold all."""

_KEY: Final = (
    ("calm", "every replica in sync"),
    ("warning", "a fault; a replica out of sync; a client whose writes were refused or unanswered (thin bar)"),
    ("alarm", "no serving leader; fewer in sync than min.insync.replicas"),
)
_OVER_TIME: Final = (
    "Solid is the median, dotted the slowest of each moment; a gap is a time in which nothing came through. "
    "Below are records a second."
)
_UNSAFE_IN_SCRIPT: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure, drawn twice, with what is said about it."""

    id: str
    title: str
    note: str
    key: tuple[tuple[str, str], ...]
    """What colours mean: tone and words."""
    figure: Markup
    picture: Markup
    height: int


def write(path: Path, story: Story) -> None:
    """Write the page."""
    path.write_text(page(story), encoding="utf-8")


def page(story: Story) -> str:
    """The page as text."""
    worst, verdict = overall(story)
    told = shown_sessions(story)
    anchors = {one.session_id: f"s{place}" for place, one in enumerate(told)}
    short = tables.letters(story)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            verdict=verdict,
            tone=worst,
            comparison=_comparison(story) if len(story.sessions) > 1 else None,
            links=[anchors.get(one.session_id, "") for one in story.sessions],
            sessions=[_section(anchors[one.session_id], short[one.session_id], one) for one in told],
            left_out=len(story.sessions) - len(told),
            several=len(story.sessions) > 1,
            set_aside=story.set_aside,
            most_rows=MOST_ROWS,
            plotly=Markup(plotly_script()),
        )
    )


def environment() -> Environment:
    """Where templates are, with every value escaped."""
    return Environment(
        loader=PackageLoader("spark_report.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def embedded(figure: dict[str, Any]) -> Markup:
    """A figure as JSON that can stand in a script element: no text in it can end the element."""
    return Markup(json.dumps(figure, ensure_ascii=True, separators=(",", ":")).translate(_UNSAFE_IN_SCRIPT))


def _comparison(story: Story) -> dict[str, Any]:
    compared = compare(story)
    matrix = comparison_tables.matrix(story, compared)
    changes = comparison_tables.changes(story, compared)
    return {
        "overview": tables.overview(story),
        "legend": comparison_tables.legend(story),
        "against": comparison_tables.against(story, compared),
        "changes": changes,
        "matrix": matrix,
        "extremes": comparison_tables.extremes(story, compared) if not matrix else None,
    }


def _section(anchor: str, letter: str, story: SessionStory) -> dict[str, Any]:
    drawn = {chart.id: chart for chart in _charts(anchor, story)}
    told, left_out = partitions.drill_down(story)
    found = sections(story)
    return {
        "id": anchor,
        "letter": letter,
        "name": story.name,
        "profile": story.recorded.start.profile,
        "tone": tone(story),
        "headline": headline(story),
        "complaint": story.complaint,
        "problems": story.problems,
        "key_figures": key_figures(story),
        "facts": tables.facts(story),
        "sentences": sentences(story),
        "told": [_with_charts(anchor, one, drawn) for one in found if not one.folded and one.name != "partitions"],
        "partitions": told,
        "partitions_left_out": left_out,
        "folded": [one for one in found if one.folded],
    }


def _with_charts(anchor: str, section: Section, drawn: dict[str, Chart]) -> dict[str, Any]:
    own = [chart for name, chart in drawn.items() if name.startswith(f"{anchor}-{section.name}-")]
    # A chart's data is for looking up; where there is none, the tables are what there is to read.
    behind = section.name in ("timeline", "latency") and bool(own)
    return {
        "name": section.name,
        "title": section.title,
        "nothing": "" if any(section.views) else section.nothing,
        "charts": own,
        "open": [] if behind else [view for view in section.views if view],
        "behind": [view for view in section.views if view] if behind else [],
    }


def _charts(anchor: str, story: SessionStory) -> list[Chart]:
    note = "A cross stands where acknowledged records went missing for good. HW and lag rise with their lanes."
    if story.tables["faults"]:
        note = f"Bands are times with a fault active. {note}"
    if left_out := len(lanes.by_interest(story)) - lanes.MOST_PARTITIONS:
        note += f" {left_out} partitions in which less happened are below." if left_out > 0 else ""
    around = "As long before and after as the fault lasted, and a second at least."
    figures = [
        ("timeline-lanes", "", note, _KEY, lanes.timeline(story)),
        ("availability-faults", "Around each fault", f"{around}{dots.left_out(story)}", (), dots.availability(story)),
        ("latency-faults", "Around each fault", f"{around}{dots.left_out(story)}", (), dots.latency(story)),
        (
            "latency-series",
            "Over time",
            _OVER_TIME,
            (),
            charts.latency(story),
        ),
        ("lag-series", "", "Records behind the high watermark of what a group has read.", (), charts.lag(story)),
    ]
    return [
        Chart(
            f"{anchor}-{kind}",
            title,
            said,
            key,
            embedded(figure),
            static.svg(figure, f"{title or 'What happened when'}: {story.name}"),
            figure["layout"]["height"],
        )
        for kind, title, said, key, figure in figures
        if figure is not None
    ]


def _finalize(value: object) -> object:
    return clean(value) if type(value) is str else value


def plotly_script() -> str:
    """Plotly's own."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - five megabytes that other formats do not need

    script: str = get_plotlyjs()
    return script
