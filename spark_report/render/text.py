"""The report in a terminal: the verdicts, what happened in sentences, and the tables that fit there."""

from typing import Final, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spark_report.model.comparison import compare
from spark_report.model.format import clean
from spark_report.model.report import SessionStory, Story, headline, overall, sentences, tone
from spark_report.render import sections as comparison_tables
from spark_report.render import tables
from spark_report.render.contents import sections
from spark_report.render.key_figures import key_figures
from spark_report.render.tables import View

MOST_ROWS: Final = 12
"""Rows of one table; the files under ``tables/`` hold all."""
MOST_BESIDE: Final = 4
"""Sessions whose measures fit beside each other on 80 columns."""

_STYLES: Final = {"calm": "bold #56B4E9", "warning": "bold #F0C24B", "alarm": "bold #E8622C"}
_CELLS: Final = {"best": "#56B4E9", "improvement": "#56B4E9", "worst": "#E8622C", "regression": "bold #E8622C"}
_LONG: Final = ("cause", "found", "partition", "because", "measure", "shown by", "session", "target")
_BAR: Final = 24


def show(console: Console, story: Story) -> None:
    """Print the report. Names from sessions are printed as they are spelled, never as markup or control codes."""
    several = len(story.sessions) > 1
    letters = tables.letters(story)
    if several:
        worst, verdict = overall(story)
        console.print(_plain(verdict, _STYLES[worst]))
        console.print(_table(tables.overview(story, short=True)))
        _comparison(console, story)
    for place, session in enumerate(story.sessions):
        if place or several:
            console.print()
        _session(console, session, f"{letters[session.session_id]}. " if several else "")
    for aside in story.set_aside:
        console.print(_plain(f"Set aside: {aside.reason}", _STYLES["warning"]))


def _comparison(console: Console, story: Story) -> None:
    compared = compare(story)
    if said := comparison_tables.against(story, compared):
        console.print(_plain(f"\n{said}", "bold"))
    beside = len(story.sessions) <= MOST_BESIDE
    views = (
        comparison_tables.changes(story, compared),
        (comparison_tables.matrix if beside else comparison_tables.extremes)(story, compared),
    )
    for view in views:
        if view:
            console.print(_plain(f"\n{view.title}", "bold"))
            console.print(_table(view, most=40))


def _session(console: Console, story: SessionStory, letter: str) -> None:
    console.print(_plain(f"{letter}{story.name}", "bold"))
    console.print(_plain(headline(story), _STYLES[tone(story)]))
    for problem in story.problems:
        console.print(_plain(f"  {story.complaint.lower()}: {problem}", "yellow"))
    _figures(console, story)
    for sentence in sentences(story):
        style = _STYLES["alarm"] if sentence.startswith("Why: ") else ""
        console.print(Padding(_plain(sentence, style), (0, 0, 0, 2)))
    for section in sections(story):
        if section.short:
            console.print(_plain(f"\n  {section.short.title}", "bold"))
            console.print(Padding(_table(section.short), (0, 0, 0, 2)))
        elif section.nothing:
            console.print(_plain(f"\n  {section.nothing}"))
    _outages(console, story)
    console.print(_plain(f"\n  shown by: {story.opened_by}", "dim"))


def _figures(console: Console, story: SessionStory) -> None:
    grid = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for figure in key_figures(story):
        grid.add_row(_plain(figure.label), _plain(figure.value, _STYLES[figure.tone]), _plain(figure.note))
    console.print(Padding(grid, (0, 0, 1, 2)))


def _outages(console: Console, story: SessionStory) -> None:
    """Intervals without service, each as a bar on the session's time."""
    view = tables.unavailability(story)
    if not view:
        return
    found = tables.out_of_service(story)
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


def _table(view: View, most: int = MOST_ROWS) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for place, column in enumerate(view.columns):
        # Names and sentences give way where the terminal is narrow; numbers and words of a set never do.
        wraps = (place == 0 and column != "") or column in _LONG
        justify: Literal["left", "right"] = "right" if column in view.numeric else "left"
        table.add_column(column, justify=justify, header_style="dim", no_wrap=not wraps, overflow="fold")
    for place, row in enumerate(view.rows[:most]):
        styles = (_CELLS.get(view.tones.get((place, column), ""), "") for column in range(len(row)))
        table.add_row(*(_plain(value, style) for value, style in zip(row, styles, strict=True)))
    if len(view.rows) > most:
        table.caption = f"and {len(view.rows) - most} more"
    return table


def _plain(text: str, style: str = "") -> Text:
    return Text("\n".join(clean(line) for line in text.split("\n")), style)
