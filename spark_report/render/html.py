"""The report as one HTML file that needs nothing else: styles, script and Plotly are inside, once.

Names in a session are a stranger's. The template escapes every value, figures travel as JSON in which no ``<`` is
left, and the page forbids itself the network by a content security policy.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_report.render import charts, client_tables, tables
from spark_report.render.tables import View
from spark_report.story import SessionStory, Story, headline, overall, sentences, tone
from spark_report.wording import clean

MOST_ROWS: Final = 400
"""Rows of one table on the page; the files under ``tables/`` hold all."""
MOST_SESSIONS: Final = 12
"""Sessions with charts of their own on the page; more are listed, and are in the tables."""

_KEY: Final = (
    ("calm", "every replica in sync"),
    ("warning", "a fault; a replica out of sync; a client whose writes were refused or unanswered (thin bar)"),
    ("alarm", "no serving leader; fewer in sync than min.insync.replicas"),
)
_UNSAFE_IN_SCRIPT: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure with what is said about it and the tables that hold its data."""

    id: str
    title: str
    note: str
    key: tuple[tuple[str, str], ...]
    """What colours mean: tone and words."""
    figure: Markup
    data: tuple[View, ...]
    height: int


def write(path: Path, story: Story) -> None:
    """Write the page."""
    path.write_text(page(story), encoding="utf-8")


def page(story: Story) -> str:
    """The page as text."""
    environment = Environment(
        loader=PackageLoader("spark_report.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    worst, verdict = overall(story)
    order = {"alarm": 0, "warning": 1, "calm": 2}
    told = sorted(story.sessions, key=lambda one: order[tone(one)])[:MOST_SESSIONS] if _many(story) else story.sessions
    anchors = {one.session_id: f"s{place}" for place, one in enumerate(told)}
    return environment.get_template("report.html.j2").render(
        verdict=verdict,
        tone=worst,
        overview=tables.overview(story),
        links=[anchors.get(one.session_id, "") for one in story.sessions],
        sessions=[_section(anchors[one.session_id], one) for one in told],
        left_out=len(story.sessions) - len(told),
        several=len(story.sessions) > 1,
        set_aside=story.set_aside,
        most_rows=MOST_ROWS,
        plotly=Markup(_plotly()),
    )


def embedded(figure: dict[str, Any]) -> Markup:
    """A figure as JSON that can stand in a script element: no text in it can end the element."""
    return Markup(json.dumps(figure, ensure_ascii=True, separators=(",", ":")).translate(_UNSAFE_IN_SCRIPT))


def _many(story: Story) -> bool:
    return len(story.sessions) > MOST_SESSIONS


def _section(name: str, story: SessionStory) -> dict[str, Any]:
    folded = [
        *([] if story.failed else [tables.expectations(story)]),
        tables.steps(story),
        *([tables.guards(story)] if story.tables["guards"] else []),
        *([tables.controllers(story)] if story.tables["controllers"] else []),
        tables.elections(story),
        tables.isr_changes(story),
        tables.truncations(story),
        client_tables.members(story),
        client_tables.errors(story),
    ]
    return {
        "id": name,
        "name": story.name,
        "profile": story.recorded.start.profile,
        "tone": tone(story),
        "headline": headline(story),
        "complaint": story.complaint,
        "problems": story.problems,
        "facts": tables.facts(story),
        "sentences": sentences(story),
        "losses": tables.losses(story),
        "charts": _charts(name, story),
        "open": [
            view for view in (tables.expectations(story), tables.violations(story)) if view and view not in folded
        ],
        "clients": [view for view in (client_tables.producers(story), client_tables.groups(story)) if view],
        "ledger": tables.ledger(story),
        "folded": [view for view in folded if view],
    }


def _charts(name: str, story: SessionStory) -> list[Chart]:
    note = "A cross stands where acknowledged records went missing for good."
    if story.tables["faults"]:
        note = f"Bands are times with a fault active. {note}"
    if left_out := tables.lanes_left_out(story):
        note += f" {left_out} partitions in which less happened have no lanes; the tables have them."
    figures = [
        ("timeline", "What happened when", note, _KEY, charts.timeline(story), _timeline_data(story)),
        (
            "latency",
            "Latency and throughput",
            "Solid is the median, dotted the slowest of each moment; a gap is a time in which nothing came through.",
            (),
            charts.latency(story),
            (tables.latency(story),),
        ),
    ]
    return [
        Chart(f"{name}-{kind}", title, said, key, embedded(figure), data, figure["layout"]["height"])
        for kind, title, said, key, figure, data in figures
        if figure is not None
    ]


def _timeline_data(story: SessionStory) -> tuple[View, ...]:
    views = (tables.faults(story), tables.unavailability(story), tables.states(story))
    return tuple(view for view in views if view)


def _finalize(value: object) -> object:
    return clean(value) if type(value) is str else value


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - five megabytes that other formats do not need

    script: str = get_plotlyjs()
    return script
