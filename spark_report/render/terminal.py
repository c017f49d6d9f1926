"""The report in a terminal: the verdicts, what happened in sentences, and the tables that fit there."""

from typing import Final, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spark_report.render import client_tables, tables
from spark_report.render.tables import View
from spark_report.story import SessionStory, Story, headline, overall, sentences, tone
from spark_report.wording import clean

MOST_ROWS: Final = 12
"""Rows of one table; the files under ``tables/`` hold all."""

_STYLES: Final = {"calm": "bold #56B4E9", "warning": "bold #F0C24B", "alarm": "bold #E8622C"}
_LONG: Final = ("cause", "found", "partition")
_BAR: Final = 24


def show(console: Console, story: Story) -> None:
    """Print the report. Names from sessions are printed as they are spelled, never as markup or control codes."""
    if len(story.sessions) > 1:
        worst, verdict = overall(story)
        console.print(_plain(verdict, _STYLES[worst]))
        console.print(_table(tables.overview(story, short=True)))
    for place, session in enumerate(story.sessions):
        if place or len(story.sessions) > 1:
            console.print()
        _session(console, session)
    for aside in story.set_aside:
        console.print(_plain(f"Set aside: {aside.reason}", _STYLES["warning"]))


def _session(console: Console, story: SessionStory) -> None:
    console.print(_plain(story.name, "bold"))
    console.print(_plain(headline(story), _STYLES[tone(story)]))
    for problem in story.problems:
        console.print(_plain(f"  {story.complaint.lower()}: {problem}", "yellow"))
    for sentence in sentences(story):
        style = _STYLES["alarm"] if sentence.startswith("Why: ") else ""
        console.print(Padding(_plain(sentence, style), (0, 0, 0, 2)))
    by_client = client_tables.producers_short(story), client_tables.groups_short(story)
    for view in (_only_if_odd(story), *by_client, tables.latency_short(story)):
        if view:
            console.print(_plain(f"\n  {view.title}", "bold"))
            console.print(Padding(_table(view), (0, 0, 0, 2)))
    _outages(console, story)


def _only_if_odd(story: SessionStory) -> View | None:
    """The ledger where it does not add up; where it does, one word of it is enough."""
    return tables.ledger(story) if story.disagreements else None


def _outages(console: Console, story: SessionStory) -> None:
    """Intervals without service, each as a bar on the session's time."""
    view = tables.unavailability(story)
    if not view:
        return
    found = story.tables["unavailability"]
    grid = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for column in ("partition", "seen by", "acks", "from", "for"):
        grid.add_column(column, justify="right" if column in view.numeric else "left", header_style="dim")
    grid.add_column("session", header_style="dim", no_wrap=True)
    for line, row in list(zip(view.rows, found, strict=True))[:MOST_ROWS]:
        end = story.recorded.last_seq + 1 if story.timeless else story.recorded.end_us
        unit = "seq" if story.timeless else "us"
        style = _STYLES["alarm" if row["scope"] == "partition" else "warning"]
        bar = Text(_bar(row[f"began_{unit}"], row[f"ended_{unit}"], end), style)
        grid.add_row(*(_plain(value) for value in line[:5]), bar)
    console.print(_plain(f"\n  {view.title}", "bold"))
    console.print(Padding(grid, (0, 0, 0, 2)))
    if len(view.rows) > MOST_ROWS:
        console.print(_plain(f"  and {len(view.rows) - MOST_ROWS} more", "dim"))


def _bar(began: int, ended: int, end: int) -> str:
    first = min(_BAR - 1, began * _BAR // max(end, 1))
    last = max(first + 1, min(_BAR, -(-ended * _BAR // max(end, 1))))
    return "·" * first + "█" * (last - first) + "·" * (_BAR - last)


def _table(view: View) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for place, column in enumerate(view.columns):
        # Names and sentences give way where the terminal is narrow; numbers and words of a set never do.
        wraps = place == 0 or column in _LONG
        justify: Literal["left", "right"] = "right" if column in view.numeric else "left"
        table.add_column(column, justify=justify, header_style="dim", no_wrap=not wraps, overflow="fold")
    for row in view.rows[:MOST_ROWS]:
        table.add_row(*(_plain(value) for value in row))
    if len(view.rows) > MOST_ROWS:
        table.caption = f"and {len(view.rows) - MOST_ROWS} more"
    return table


def _plain(text: str, style: str = "") -> Text:
    return Text("\n".join(clean(line) for line in text.split("\n")), style)
