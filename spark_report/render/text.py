"""Terminal and Markdown output of a report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cluster_model.util.quantities import counted
from playbooks.text import escaped, printable, table_text
from spark_report.model.comparison import compare
from spark_report.model.report import ReportModel, SessionModel, first_reasons, headline, overall, sentences, severity
from spark_report.render import tables
from spark_report.render.sections import (
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
from spark_report.render.tables import View

TERMINAL_MOST_ROWS: Final = 12
"""Most rows of one table; the files under ``tables/`` have all."""
MOST_BESIDE: Final = 4
"""Most sessions for a side-by-side matrix in 80 columns."""

_STYLES: Final = {"calm": "bold #56B4E9", "warning": "bold #F0C24B", "alarm": "bold #E8622C"}
_CELLS: Final = {"best": "#56B4E9", "improvement": "#56B4E9", "worst": "#E8622C", "regression": "bold #E8622C"}
_LONG: Final = ("cause", "found", "partition", "reason", "measure", "open with", "session", "settings", "target")
_BAR: Final = 24


def show_in_terminal(console: Console, model: ReportModel) -> None:
    """Print the report. Names from sessions are escaped: they are never interpreted as markup or control codes."""
    several = len(model.sessions) > 1
    letters = tables.letters(model)
    if several:
        worst, verdict = overall(model)
        console.print(_plain(verdict, _STYLES[worst]))
        console.print(_terminal_table(tables.overview(model, short=True), limit=40))
        if differences := tables.differences(model):
            console.print(_plain(f"\n{differences.title}", "bold"))
            console.print(_terminal_table(differences, limit=40))
        _terminal_comparison(console, model)
    for place, session in enumerate(model.sessions):
        if place or several:
            console.print()
        _terminal_session(console, session, f"{letters[session.session_id]}. " if several else "")
    for reason in first_reasons(model.set_aside, TERMINAL_MOST_ROWS):
        console.print(_plain(f"Set aside: {reason}", _STYLES["warning"]))


def _terminal_comparison(console: Console, model: ReportModel) -> None:
    compared = compare(model)
    if text := comparison_baseline(model, compared):
        console.print(_plain(f"\n{text}", "bold"))
    beside = len(model.sessions) <= MOST_BESIDE
    views = (
        comparison_changes(model, compared),
        (comparison_matrix if beside else comparison_extremes)(model, compared),
    )
    for view in views:
        if view:
            console.print(_plain(f"\n{view.title}", "bold"))
            console.print(_terminal_table(view, limit=40))


def _terminal_session(console: Console, model: SessionModel, letter: str) -> None:
    console.print(_plain(f"{letter}{model.name}", "bold"))
    if model.settings:
        console.print(_plain(f"  {model.settings_words}", "dim"))
    console.print(_plain(headline(model), _STYLES[severity(model)]))
    for problem in model.problems:
        console.print(_plain(f"  {model.complaint.lower()}: {problem}", "yellow"))
    _figures(console, model)
    for sentence in sentences(model):
        style = _STYLES["alarm"] if sentence.startswith("Why: ") else ""
        console.print(Padding(_plain(sentence, style), (0, 0, 0, 2)))
    for section in sections(model):
        if section.short:
            console.print(_plain(f"\n  {section.short.title}", "bold"))
            console.print(Padding(_terminal_table(section.short), (0, 0, 0, 2)))
        elif section.nothing:
            console.print(_plain(f"\n  {section.nothing}"))
    _outages(console, model)
    console.print(_plain(f"\n  open with: {model.opened_by}", "dim"))


def _figures(console: Console, model: SessionModel) -> None:
    grid = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for figure in key_figures(model):
        grid.add_row(_plain(figure.label), _plain(figure.value, _STYLES[figure.tone]), _plain(figure.note))
    console.print(Padding(grid, (0, 0, 1, 2)))


def _outages(console: Console, model: SessionModel) -> None:
    """Print unavailable intervals, each with a bar on the session's time axis."""
    view = tables.unavailability(model)
    if not view:
        return
    rows = tables.out_of_service(model)
    grid = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for column in ("partition", "seen by", "acks", "from", "duration"):
        grid.add_column(column, justify="right" if column in view.numeric else "left", header_style="dim")
    grid.add_column("session", header_style="dim", no_wrap=True)
    for line, row in zip(view.rows[:TERMINAL_MOST_ROWS], rows, strict=False):
        end = model.recorded.last_seq + 1 if model.timeless else model.recorded.end_us
        unit = "seq" if model.timeless else "us"
        style = _STYLES["alarm" if row["scope"] == "partition" else "warning"]
        bar = Text(_bar(row[f"began_{unit}"], row[f"ended_{unit}"], end), style)
        grid.add_row(*(_plain(value) for value in line[:5]), bar)
    console.print(_plain(f"\n  {view.title}", "bold"))
    console.print(Padding(grid, (0, 0, 0, 2)))
    if view.count > TERMINAL_MOST_ROWS:
        console.print(_plain(f"  and {view.count - TERMINAL_MOST_ROWS} more", "dim"))


def _bar(began: int, ended: int, end: int) -> str:
    first = min(_BAR - 1, began * _BAR // max(end, 1))
    last = max(first + 1, min(_BAR, -(-ended * _BAR // max(end, 1))))
    return "·" * first + "█" * (last - first) + "·" * (_BAR - last)


def _terminal_table(view: View, limit: int = TERMINAL_MOST_ROWS) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for index, column in enumerate(view.columns):
        # On a narrow terminal names and sentences are wrapped; numbers and enumerated values never are.
        wraps = (index == 0 and column != "") or column in _LONG
        justify: Literal["left", "right"] = "right" if column in view.numeric else "left"
        table.add_column(column, justify=justify, header_style="dim", no_wrap=not wraps, overflow="fold")
    for index, row in enumerate(view.rows[:limit]):
        styles = (_CELLS.get(view.tones.get((index, column), ""), "") for column in range(len(row)))
        table.add_row(*(_plain(value, style) for value, style in zip(row, styles, strict=True)))
    if view.count > limit:
        table.caption = f"and {view.count - limit} more"
    return table


def _plain(text: str, style: str = "") -> Text:
    return Text(printable(text, "\n"), style)


# The report as Markdown for a pull request: the verdict and the comparison first, the rest collapsed.
#
# Names in a session are untrusted: nothing in them becomes a link, a mention or markup. If the text is too long for a
# comment, its last parts are left out, and it says so.


MARKDOWN_FIRST_LINE: Final = "<!-- floodmark report -->"
"""First line of a file that floodmark wrote."""
MOST_CHARACTERS: Final = 60_000
"""Maximum length of the text; a GitHub comment allows 65,536 characters."""
MARKDOWN_MOST_ROWS: Final = 15
_BULKY: Final = ("partition_states",)
_SIGNS: Final = {"calm": "✓", "warning": "!", "alarm": "✗"}


def write_markdown(path: Path, model: ReportModel) -> None:
    """Write the report's Markdown file."""
    path.write_text(markdown_text(model), encoding="utf-8")


def markdown_text(model: ReportModel) -> str:
    """Return the report as Markdown."""
    worst, verdict = overall(model)
    kept = [f"{MARKDOWN_FIRST_LINE}\n\n## {_SIGNS[worst]} floodmark: {escaped(verdict)}\n"]
    room, left_out = MOST_CHARACTERS - len(kept[0]) - 200, 0
    for block in _blocks(model):
        if len(block) < room and not left_out:
            kept.append(block)
            room -= len(block) + 1
        else:
            left_out += 1
    if left_out:
        kept.append(f"{counted(left_out, 'more part')} in `report.html`: left out to fit into a comment.\n")
    return "\n".join(kept)


def _blocks(model: ReportModel) -> Iterator[str]:
    for reason in first_reasons(model.set_aside, MARKDOWN_MOST_ROWS):
        yield f"**Set aside:** {escaped(reason)}\n"
    several_ = len(model.sessions) > 1
    if several_:
        yield from _markdown_comparison(model)
    letters = tables.letters(model)
    shown = shown_sessions(model)
    for one in shown:
        yield from _markdown_session(one, letters[one.session_id] if several_ else "")
    if len(shown) < len(model.sessions):
        yield f"{counted(len(model.sessions) - len(shown), 'less severe session')} in the tables only.\n"


def _markdown_comparison(model: ReportModel) -> Iterator[str]:
    compared = compare(model)
    yield _markdown_table(comparison_legend(model), len(model.sessions))
    if text := comparison_baseline(model, compared):
        yield f"**{escaped(text)}**\n"
    matrix = comparison_matrix(model, compared)
    for view in (comparison_changes(model, compared), matrix):
        if view:
            yield _titled(view, 40)
    if not matrix:
        yield _titled(comparison_extremes(model, compared), 40)


def _markdown_session(model: SessionModel, letter: str) -> Iterator[str]:
    name = escaped(model.name)
    if letter:
        settings = f"<code>{escaped(model.settings_words)}</code>\n\n" if model.settings else ""
        yield f"### {letter}. {name}\n\n{settings}{_SIGNS[severity(model)]} {escaped(headline(model))}\n"
    else:
        yield f"**{name}**\n"
    for problem in model.problems:
        yield f"**{model.complaint}:** {escaped(problem)}\n"
    figures = [(f"{_SIGNS[each.tone]} {escaped(each.label)}", f"**{escaped(each.value)}**", escaped(each.note))
               for each in key_figures(model)]  # fmt: skip
    yield table_text(("", "", ""), figures, str)
    yield "".join(f"- {escaped(sentence)}\n" for sentence in sentences(model))
    for section in sections(model):
        yield _section(section)
    facts = "; ".join(f"{label} {escaped(value)}" for label, value in tables.facts(model) if label != "open with")
    yield f"Open with <code>{escaped(model.opened_by)}</code> ({facts}).\n"


def _section(section: ReportSection) -> str:
    views = [view for view in section.views if view and view.name not in _BULKY]
    if not views:
        return f"{section.nothing}\n" if section.nothing else ""
    if section.name in ("losses", "violations", "expectations") and not section.folded:
        return "\n".join(_titled(view, MARKDOWN_MOST_ROWS) for view in views)
    rows = sum(view.count for view in views)
    inside = "\n".join(
        _titled(view, MARKDOWN_MOST_ROWS) if len(views) > 1 else _markdown_table(view, MARKDOWN_MOST_ROWS)
        for view in views
    )
    return f"<details><summary>{escaped(section.title)} ({rows})</summary>\n\n{inside}\n</details>\n"


def _titled(view: View, limit: int) -> str:
    return f"#### {escaped(view.title)}\n\n{_markdown_table(view, limit)}"


def _markdown_table(view: View, limit: int) -> str:
    shown = table_text(view.columns, view.rows[:limit], escaped)
    more = view.count - limit
    return f"{shown}\n{counted(more, 'more row')} in `tables/{view.name}.parquet`.\n" if more > 0 else shown
