"""A fleet report for a pull request."""

from typing import Final

from playbooks.text import escaped, table_text
from spark_report.fleet.render import FleetStory, sentences, verdict
from spark_report.fleet.views import views
from spark_report.model.format import clean

MOST_ROWS: Final = 20
"""Rows of one table; the files hold all."""
_SIGNS: Final = {"calm": "✓", "warning": "!", "alarm": "✗"}


def page(story: FleetStory) -> str:
    """The whole text."""
    tone, said = verdict(story)
    parts = [f"## {_SIGNS[tone]} {escaped(said)}", "\n".join(f"- {escaped(line)}" for line in sentences(story))]
    for each in views(story):
        cells = [_cells(each.columns, row) for row in each.rows[:MOST_ROWS]]
        more = len(each.rows) - MOST_ROWS
        rest = f"\n\nand {more:,} more" if more > 0 else ""
        parts.append(f"### {each.title}\n\n{table_text(each.columns, cells, str)}{rest}")
    parts.append("\n".join(f"- {escaped(source.name)}: {escaped(source.words)}" for source in story.sources))
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _cells(names: tuple[str, ...], row: tuple[str, ...]) -> list[str]:
    return [_code(value) if name == "again" else escaped(value) for name, value in zip(names, row, strict=True)]


def _code(text: str) -> str:
    return f"`{clean(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""
