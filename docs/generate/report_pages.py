# ruff: noqa: E501 - pages of prose and tables
"""Pages of the tables of a report and of a fleet report, and pictures of a report in a browser and a terminal."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from playbooks.errors import BAD_INPUT, OK
from playbooks.text import table_text
from spark_report.fleet.tables import MEANINGS, TABLES
from spark_report.job import run
from spark_report.tables import registry

# docs/reference/fleet-tables.md


_FLEET_HEAD: Final = """# Tables of a fleet report

[`floodmark fleet`](../operate/campaigns.md#fleet-report) writes these tables as `tables/NAME.parquet`, and their rows in `fleet.json`. Times are virtual
microseconds. Every row names the run that shows it: `run`, `seed`, `again`, `session`. In `fleet_changes`, `low` and `high` are the ends of the interval of the
difference.

This page is generated from the tables (`python -m docs.generate fleet-tables > docs/reference/fleet-tables.md`).
"""


def fleet_tables_page() -> str:
    """Return the page of tables of a fleet report, in Markdown."""
    sections = []
    for name, table in TABLES.items():
        columns = [(f"`{column}`", MEANINGS[column][0], MEANINGS[column][1]) for column in table.columns]
        columns_table = table_text(("column", "type", "meaning"), columns, lambda text: text.replace("|", "\\|"))
        sections.append(f"## `{name}`\n\n{table.row}\n\n{columns_table}")
    return "\n".join([_FLEET_HEAD, *sections])


# docs/reference/report-tables.md, and a page for each part


_TABLES_MADE: Final = """
[The report](../operate/report.md) explains the page and how things are counted. This page is generated from the registry of tables
(`python -m docs.generate report-tables`).
"""
_TABLES_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "sessions": ("Report tables: sessions and comparisons", "sessions"),
    "events": ("Report tables: events and findings", "elections"),
    "faults": ("Report tables: faults and availability", "faults"),
    "series": ("Report tables: throughput, lag and alerts", "throughput"),
    "clients": ("Report tables: latency and clients", "latency"),
}
"""Part → its title and its first table; it ends before the first table of the next part."""


def report_tables_page() -> str:
    """Return the index of tables of a report, in Markdown."""
    parts = {table.name: part for part, tables in tables_by_part().items() for table in tables}
    return (
        registry.INTRODUCTION
        + _TABLES_MADE
        + "\n"
        + registry.overview(registry.LISTED, lambda table: f"report-tables-{parts[table.name]}.md")
    )


def report_tables_part_page(part: str) -> str:
    """Return the page of a part of the tables, with their columns, in Markdown."""
    made = f"This page is generated from the registry of tables (`python -m docs.generate report-tables-{part}`)"
    head = f"# {_TABLES_PARTS[part][0]}\n\n{made}; [tables of a report](report-tables.md) has the list and the rules for all tables.\n"
    return "\n".join([head, *map(registry.section, tables_by_part()[part])])


def tables_by_part() -> dict[str, list[registry.FindingTable]]:
    """Return the tables of each part, in the order of the registry."""
    firsts = {first: part for part, (_title, first) in _TABLES_PARTS.items()}
    tables: dict[str, list[registry.FindingTable]] = {part: [] for part in _TABLES_PARTS}
    part = next(iter(_TABLES_PARTS))
    for table in registry.LISTED:
        part = firsts.get(table.name, part)
        tables[part].append(table)
    return tables


# Pictures of a report


SIZE: Final = (1200, 1500)
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


def draw_report(arguments: Sequence[str]) -> int:
    """Write a report of the sessions, and ``report-page.png`` and ``report-terminal.svg`` into the directory."""
    *sessions, directory = map(Path, arguments)
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if not sessions or browser is None:
        print(
            "usage: python -m docs.generate report-pictures SESSION... DIRECTORY, with Chromium on PATH",
            file=sys.stderr,
        )
        return BAD_INPUT
    with tempfile.TemporaryDirectory() as folder:
        # Other output goes to a file, not to the current terminal.
        with Path(folder, "terminal.txt").open("w", encoding="utf-8") as file:
            console = Console(file=file, record=True, width=80, force_terminal=True)
            run(sessions, out=Path(folder, "report"), formats=("html", "terminal"), console=console)
        console.save_svg(str(directory / "report-terminal.svg"), title="floodmark report")
        picture(browser, Path(folder, "report", "report.html"), directory / "report-page.png")
    return OK


def picture(browser: str, page: Path, file: Path) -> None:
    """Write a screenshot of a page."""
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=10000"]
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    own = f"--user-data-dir={page.parent / 'profile'}"
    subprocess.run(
        [browser, *quiet, size, own, f"--screenshot={file}", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=300,
    )
