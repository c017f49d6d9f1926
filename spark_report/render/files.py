"""Writes a report's files so that nobody ever meets half of one.

Everything is made in a hidden directory beside the target and renamed into place at the end. A job that is killed
before that leaves the previous report untouched, and nothing else that lies in the target is ever removed.
"""

import json
import os
import re
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow.parquet as pq

from cluster_model.events import SCHEMA_VERSION
from spark_report.errors import ReportError
from spark_report.leftovers import working_directory
from spark_report.story import Story, overall

HTML: Final = "report.html"
JSON: Final = "report.json"
TABLES: Final = "tables"

_OUR_JSON: Final = re.compile(rb'\A\{\s*"schema_version": \d+,\s*"headline": "')
_OUR_PAGE: Final = re.compile(rb"<title>floodmark report: ")
_HEAD_BYTES: Final = 4_096


class Staging:
    """A directory that becomes, file by file, the contents of ``target`` when :meth:`publish` is called.

    A ``report.html`` or ``report.json`` in the target that floodmark did not write is somebody's own: it is refused.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = Path()
        self._stack = ExitStack()

    def __enter__(self) -> "Staging":
        try:
            if self.target.exists() and not self.target.is_dir():
                raise ReportError(f"{self.target}: found a file, expected a directory to write the report to")
            if foreign := _foreign(self.target):
                raise ReportError(f"{foreign}: not a report of floodmark's, and it would be overwritten")
            self.target.parent.mkdir(parents=True, exist_ok=True)
            prefix = f".{self.target.name}.floodmark-"
            self.path = self._stack.enter_context(working_directory(self.target.parent, prefix))
            _refuse_if_closed(self.target)
        except OSError as error:
            raise ReportError(f"{self.target}: cannot write the report there: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

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


def _refuse_if_closed(target: Path) -> None:
    """Find out that a directory is somebody else's before a report is computed for it, not after."""
    for place in (target, target / TABLES):
        if place.is_dir() and not os.access(place, os.W_OK | os.X_OK):
            raise ReportError(f"{place}: cannot write the report there: it belongs to {_owner(place)}")


def _owner(place: Path) -> str:
    try:
        return place.owner()
    except (KeyError, OSError):
        return f"user {place.stat().st_uid}"


def _foreign(target: Path) -> Path | None:
    """A file in the way that is not ours. A page is ours if it says so itself, or the document beside it does."""
    page, document = target / HTML, target / JSON
    if document.exists():
        return None if _begins(document, _OUR_JSON) else document
    return page if page.exists() and not _begins(page, _OUR_PAGE) else None


def _begins(path: Path, ours: re.Pattern[bytes]) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return ours.search(file.read(_HEAD_BYTES)) is not None


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
