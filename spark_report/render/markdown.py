"""The report as Markdown for a pull request: the verdict and the comparison first, the rest folded.

Names in a session are a stranger's: nothing in them is a link, a mention or markup. What would be too long for a
comment is left out from the end, and the text says so.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playbooks.text import escaped, table_text
from spark_report.model.comparison import compare
from spark_report.model.format import several
from spark_report.model.report import SessionStory, Story, headline, overall, sentences, tone
from spark_report.render import sections as comparison_tables
from spark_report.render import tables
from spark_report.render.contents import Section, sections, shown_sessions
from spark_report.render.key_figures import key_figures
from spark_report.render.tables import View

FIRST: Final = "<!-- floodmark report -->"
"""How a file of ours begins."""
MOST_CHARACTERS: Final = 60_000
"""GitHub takes 65,536 in a comment."""
MOST_ROWS: Final = 15
_BULKY: Final = ("partition_states",)
_SIGNS: Final = {"calm": "✓", "warning": "!", "alarm": "✗"}


def write(path: Path, story: Story) -> None:
    """Write the file."""
    path.write_text(text(story), encoding="utf-8")


def text(story: Story) -> str:
    """The report as text."""
    worst, verdict = overall(story)
    kept = [f"{FIRST}\n\n## {_SIGNS[worst]} floodmark: {escaped(verdict)}\n"]
    room, left_out = MOST_CHARACTERS - len(kept[0]) - 200, 0
    for block in _blocks(story):
        if len(block) < room and not left_out:
            kept.append(block)
            room -= len(block) + 1
        else:
            left_out += 1
    if left_out:
        kept.append(f"{several(left_out, 'part')} more are in `report.html`: this would be too long for a comment.\n")
    return "\n".join(kept)


def _blocks(story: Story) -> Iterator[str]:
    for aside in story.set_aside:
        yield f"**Set aside:** {escaped(aside.reason)}\n"
    several_ = len(story.sessions) > 1
    if several_:
        yield from _comparison(story)
    letters = tables.letters(story)
    told = shown_sessions(story)
    for one in told:
        yield from _session(one, letters[one.session_id] if several_ else "")
    if len(told) < len(story.sessions):
        yield f"{len(story.sessions) - len(told)} sessions that need less attention are in the tables.\n"


def _comparison(story: Story) -> Iterator[str]:
    compared = compare(story)
    yield _table(comparison_tables.legend(story), len(story.sessions))
    if said := comparison_tables.against(story, compared):
        yield f"**{escaped(said)}**\n"
    matrix = comparison_tables.matrix(story, compared)
    for view in (comparison_tables.changes(story, compared), matrix):
        if view:
            yield _titled(view, 40)
    if not matrix:
        yield _titled(comparison_tables.extremes(story, compared), 40)


def _session(story: SessionStory, letter: str) -> Iterator[str]:
    name = escaped(story.name)
    if letter:
        yield f"### {letter}. {name}\n\n{_SIGNS[tone(story)]} {escaped(headline(story))}\n"
    else:
        yield f"**{name}**\n"
    for problem in story.problems:
        yield f"**{story.complaint}:** {escaped(problem)}\n"
    figures = [(f"{_SIGNS[each.tone]} {escaped(each.label)}", f"**{escaped(each.value)}**", escaped(each.note))
               for each in key_figures(story)]  # fmt: skip
    yield table_text(("", "", ""), figures, str)
    yield "".join(f"- {escaped(sentence)}\n" for sentence in sentences(story))
    for section in sections(story):
        yield _section(section)
    facts = "; ".join(f"{label} {escaped(value)}" for label, value in tables.facts(story) if label != "shown by")
    yield f"Shown by <code>{escaped(story.opened_by)}</code> ({facts}).\n"


def _section(section: Section) -> str:
    views = [view for view in section.views if view and view.name not in _BULKY]
    if not views:
        return f"{section.nothing}\n" if section.nothing else ""
    if section.name in ("losses", "violations", "expectations") and not section.folded:
        return "\n".join(_titled(view, MOST_ROWS) for view in views)
    rows = sum(len(view.rows) for view in views)
    inside = "\n".join(_titled(view, MOST_ROWS) if len(views) > 1 else _table(view, MOST_ROWS) for view in views)
    return f"<details><summary>{escaped(section.title)} ({rows})</summary>\n\n{inside}\n</details>\n"


def _titled(view: View, most: int) -> str:
    return f"#### {escaped(view.title)}\n\n{_table(view, most)}"


def _table(view: View, most: int) -> str:
    shown = table_text(view.columns, view.rows[:most], escaped)
    more = len(view.rows) - most
    return f"{shown}\n{several(more, 'row')} more in `tables/{view.name}.parquet`.\n" if more > 0 else shown
