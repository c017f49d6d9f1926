"""The registry of tables, and the page that is made from it."""

from pathlib import Path

import pyarrow as pa

from spark_report.tables.registry import COLUMNS, TABLES, dictionary_page

ROOT = Path(__file__).parents[3]


def test_the_data_dictionary_is_current() -> None:
    assert (ROOT / "docs" / "reference" / "report-tables.md").read_text(encoding="utf-8") == dictionary_page()


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


def test_all_tables_are_told_by_session_and_times_have_a_unit() -> None:
    assert all(table.columns[0] == "session_id" for table in TABLES.values())
    assert all(COLUMNS[name].unit == "µs" for name in COLUMNS if name.endswith("_us"))
