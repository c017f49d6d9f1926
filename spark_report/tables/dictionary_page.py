"""The manual's data dictionary, made from the registry: ``python -m spark_report.tables.dictionary_page``."""

from typing import Final

from playbooks.text import table_text
from spark_report.tables.registry import TABLES, Table

TITLE: Final = "# The tables of a report"

_INTRODUCTION: Final = f"""{TITLE}

`floodmark report` writes its findings as tables: `tables/NAME.parquet`, and the same rows under `tables` in
`report.json`. A column has the same type in every table that has it. Times are virtual microseconds since the session
began. What happens in one microsecond is in the order of `seq`. Intervals are `[began, ended)`; one that nothing ended
is cut off at the session's end and has `open` true. A table of a session with very many rows shows the first of them,
and `left_out` says how many are missing.
"""
_MADE: Final = """
[The report](report.md) has how to read the page, and how things are counted. This page is made from the registry of
tables (`python -m spark_report.tables.dictionary_page > docs/report-tables.md`).
"""


def page() -> str:
    """The page of the manual."""
    return dictionary(_MADE)


def dictionary(made: str = "") -> str:
    """All tables, in Markdown; ``made`` stands under the introduction."""
    shown = [table for table in TABLES.values() if table.name != "counts"]
    rows = [(f"[`{table.name}`](#{table.name})", table.row) for table in shown]
    overview = table_text(("table", "one row is"), rows, _plain)
    return "\n".join([_INTRODUCTION + made, overview, *map(_section, shown)])


def _section(table: Table) -> str:
    rows = []
    for name in table.columns:
        column = table.column(name)
        rows.append((f"`{name}`", column.type, column.unit, column.meaning))
    columns = table_text(("column", "type", "unit", "meaning"), rows, _plain)
    return f"## `{table.name}`\n\n{table.row}\n\n{columns}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
