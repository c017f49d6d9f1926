"""Writes a report's files so that nobody ever meets half of one.

Everything is made in a hidden directory beside the target and renamed into place at the end. A job that is killed
before that leaves the previous report untouched, and nothing else that lies in the target is ever removed.
"""

import json
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow.parquet as pq

from cluster_model.events import SCHEMA_VERSION
from spark_report.errors import ReportError
from spark_report.story import Story, overall

HTML: Final = "report.html"
JSON: Final = "report.json"
TABLES: Final = "tables"


class Staging:
    """A directory that becomes, file by file, the contents of ``target`` when :meth:`publish` is called."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = Path()

    def __enter__(self) -> "Staging":
        try:
            if self.target.exists() and not self.target.is_dir():
                raise ReportError(f"{self.target}: found a file, expected a directory to write the report to")
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", dir=self.target.parent))
        except OSError as error:
            raise ReportError(f"{self.target}: cannot write the report there: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def publish(self) -> None:
        """Move every file into place, each in one step."""
        try:
            for file in sorted(self.path.rglob("*")):
                if file.is_file():
                    place = self.target / file.relative_to(self.path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    file.replace(place)
        except OSError as error:
            raise ReportError(f"{error.filename}: cannot write the report there: {error.strerror}") from error


def write_json(path: Path, story: Story, tables: dict[str, Any]) -> None:
    """Write all findings as one JSON document."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "headline": overall(story)[1],
        "set_aside": [{"path": str(aside.path), "reason": aside.reason} for aside in story.set_aside],
        "tables": {name: table.to_pylist() for name, table in tables.items()},
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_parquet(directory: Path, tables: dict[str, Any]) -> None:
    """Write one Parquet file a table."""
    directory.mkdir()
    for name, table in tables.items():
        pq.write_table(table, directory / f"{name}.parquet", compression="zstd")
