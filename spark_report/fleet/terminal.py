"""A fleet report in a terminal of 80 columns, or more."""

from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_report.fleet.render import FleetStory, sentences, verdict
from spark_report.fleet.views import views
from spark_report.model.format import clean
from spark_report.render.tables import View

MOST_ROWS: Final = 12
"""Rows of one table; the files hold all."""
_STYLES: Final = {"calm": "bold #56B4E9", "warning": "bold #F0C24B", "alarm": "bold #E8622C"}
_LEAST: Final = 12
_FOLDS: Final = ("finding", "settings", "faults", "fleet")


def show(console: Console, story: FleetStory) -> None:
    """Print it. Names are printed as they are spelled, never as markup or control codes."""
    tone, said = verdict(story)
    console.print(_plain(said, _STYLES[tone]))
    for line in sentences(story):
        console.print(_plain(f"  {line}"))
    for each in views(story, short=True):
        console.print()
        console.print(_plain(each.title, "bold"))
        console.print(_table(each))
        if len(each.rows) > MOST_ROWS:
            console.print(_plain(f"and {len(each.rows) - MOST_ROWS} more", "dim"))
    console.print()
    for source in story.sources:
        words = f"{source.name}: {source.words}"
        console.print(_plain(words, "dim"))
        if source.only:
            console.print(_plain(f"  a run again: {source.only} RUN", "dim"))
    for aside in story.set_aside:
        console.print(_plain(f"Set aside: {aside.reason}", _STYLES["warning"]))


def _table(each: View) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in each.columns:
        folds = name in _FOLDS
        justify: Literal["left", "right"] = "right" if name in each.numeric else "left"
        least = _LEAST if folds else None
        table.add_column(name, justify=justify, header_style="dim", no_wrap=not folds, overflow="fold", min_width=least)
    for row in each.rows[:MOST_ROWS]:
        table.add_row(*[_plain(value) for value in row])
    return table


def _plain(text: str, style: str = "") -> Text:
    return Text(clean(text), style)
