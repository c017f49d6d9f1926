"""The registry of tables, and the page that is made from it."""

from pathlib import Path

import pyarrow as pa
import pytest

from docs.generate.__main__ import PAGES, page_text
from docs.generate.report_pages import tables_by_part
from spark_report.tables.registry import COLUMNS, LISTED, TABLES

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("report-tables")])
def test_the_data_dictionary_is_current(page: str) -> None:
    """Write it anew: ``make pages``."""
    assert (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8") == page_text(page)


def test_every_table_is_on_one_page() -> None:
    parts = tables_by_part()
    assert all(parts.values())
    assert [table for tables in parts.values() for table in tables] == list(LISTED)
    assert {f"report-tables-{part}" for part in parts} < set(PAGES)
    for part, tables in parts.items():
        assert [
            table.name for table in tables if f"## `{table.name}`\n" not in page_text(f"report-tables-{part}")
        ] == []


def test_every_column_is_in_the_glossary_and_every_word_of_it_is_used() -> None:
    used = {name for table in TABLES.values() for name in table.columns}
    assert used == set(COLUMNS)
    assert all(set(table.notes) <= set(table.columns) for table in TABLES.values())


def test_a_column_has_one_type_in_all_tables() -> None:
    kinds: dict[str, set[pa.DataType]] = {}
    for table in TABLES.values():
        for field in table.schema:
            kinds.setdefault(field.name, set()).add(field.type)
    assert all(len(each) == 1 for each in kinds.values())
    assert kinds["availability"] == {pa.float64()}


def test_all_tables_are_reported_by_session_and_times_have_a_unit() -> None:
    assert all(table.columns[0] == "session_id" for table in TABLES.values())
    assert all(COLUMNS[name].unit == "µs" for name in COLUMNS if name.endswith("_us"))
