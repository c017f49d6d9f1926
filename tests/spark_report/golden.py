"""The tables of a report on three playbooks of the library, as they are known to be.

They are in ``tests/spark_report/golden``; ``make goldens`` writes them anew. What differs by the run, which is the
session's id, is left out. A table is its columns and its rows, one a line.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

from spark_report.tables.collect import Tables

GOLDEN: Final = Path(__file__).parent / "golden"
PLAYBOOKS: Final = ("consumer-truncation", "poll-interval-loop", "session-expiry-controller")
"""An unclean election under a reader, with losses; a group that rebalances in a loop; a controller that is replaced."""

Known = dict[str, dict[str, list[list[Any]]]]
"""Table → its columns, and its rows."""


def known_of(tables: Tables, session_id: str) -> Known:
    """The tables of a session, as they are kept."""
    known: Known = {}
    for name, table in tables.items():
        columns = [column for column in table.column_names if column != "session_id"]
        rows = [[row[column] for column in columns] for row in table.to_pylist() if row["session_id"] == session_id]
        known[name] = {"columns": [columns], "rows": rows}
    return known


def path_of(playbook: str) -> Path:
    """Where the tables of a playbook are kept."""
    return GOLDEN / f"{playbook}.json"


def read(playbook: str) -> Known:
    known: Known = json.loads(path_of(playbook).read_text(encoding="utf-8"))
    return known


def write(playbook: str, known: Known) -> None:
    """One row a line, so that a difference shows what has changed."""
    tables = []
    for name, table in known.items():
        rows = ",\n".join(_line(row) for row in table["rows"])
        tables.append(f'{json.dumps(name)}: {{"columns": {_line(table["columns"])}, "rows": [\n{rows}\n]}}')
    GOLDEN.mkdir(exist_ok=True)
    path_of(playbook).write_text("{\n" + ",\n".join(tables) + "\n}\n", encoding="utf-8")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def differences(known: Known, found: Known) -> list[str]:
    """Which table, and which row of it, is another than it is known to be."""
    told = [
        f"{name}: the table is {'new' if name in found else 'gone'}" for name in sorted(known.keys() ^ found.keys())
    ]
    for name in known.keys() & found.keys():
        if known[name]["columns"] != found[name]["columns"]:
            told.append(f"{name}: columns {found[name]['columns'][0]}, known are {known[name]['columns'][0]}")
            continue
        was, now = (Counter(_line(row) for row in table[name]["rows"]) for table in (known, found))
        told += [f"{name}: no more {row}" for row in (was - now).elements()]
        told += [f"{name}: new {row}" for row in (now - was).elements()]
    return sorted(told)
