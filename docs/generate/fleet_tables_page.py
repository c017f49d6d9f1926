"""The dictionary of the fleet's tables, made from them: ``python -m docs.generate.fleet_tables_page``."""

from typing import Final

from playbooks.text import table_text
from spark_report.fleet.tables import MEANINGS, TABLES

_INTRODUCTION: Final = """# The tables of a fleet report

[`floodmark fleet`](campaigns.md) writes them as `tables/NAME.parquet`, and the same rows are in `fleet.json`.
Times are virtual microseconds. Every row names the run that shows it: `run`, `seed`, `again`, `session`. In
`fleet_changes`, `low` and `high` are the ends of the interval of the difference.

This page is made from the tables (`python -m docs.generate.fleet_tables_page > docs/fleet-tables.md`).
"""


def page() -> str:
    """The whole page, in Markdown."""
    sections = []
    for name, table in TABLES.items():
        columns = [(f"`{column}`", MEANINGS[column][0], MEANINGS[column][1]) for column in table.columns]
        told = table_text(("column", "type", "meaning"), columns, lambda text: text.replace("|", "\\|"))
        sections.append(f"## `{name}`\n\n{table.row}\n\n{told}")
    return "\n".join([_INTRODUCTION, *sections])


if __name__ == "__main__":
    print(page(), end="")
