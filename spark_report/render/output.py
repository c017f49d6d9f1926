"""Atomic output of a report's files.

All files are written to a hidden directory beside the target, and renamed into place at the end. A job that is killed
before that leaves the previous report unchanged, and other files in the target are never removed.
"""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from cluster_model.protocol.events import SCHEMA_VERSION
from playbooks.text import json_text
from spark_report.model.report import ReportModel, overall
from spark_report.render import text
from spark_report.spark.errors import ReportError
from spark_report.spark.session import working_directory
from spark_report.tables import registry

HTML: Final = "report.html"
MARKDOWN: Final = "report.md"
DICTIONARY: Final = "dictionary.md"
"""File with the data dictionary of the tables."""
JSON: Final = "report.json"
TABLES: Final = "tables"

_OUR_JSON: Final = re.compile(rb'\A\{\s*"schema_version": \d+,\s*"headline": "')
_OUR_PAGE: Final = re.compile(rb"<title>floodmark report: ")
_OUR_TEXTS: Final = {
    HTML: _OUR_PAGE,
    MARKDOWN: re.compile(re.escape(text.MARKDOWN_FIRST_LINE.encode())),
    DICTIONARY: re.compile(re.escape(registry.DICTIONARY_TITLE.encode())),
}
_HEAD_BYTES: Final = 4_096


class Staging:
    """A staging directory whose files :meth:`publish` moves into ``target``.

    A file in the target with a report's name that floodmark did not write is never overwritten: that is an error.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = Path()
        self._stack = ExitStack()

    def __enter__(self) -> "Staging":
        try:
            if self.target.exists() and not self.target.is_dir():
                raise ReportError(
                    f"{self.target}: found a file, expected a directory to write the report to", code="not_a_directory"
                )
            if foreign := _foreign(self.target):
                raise ReportError(
                    f"{foreign}: not written by floodmark, and it would be overwritten; choose another --out",
                    code="not_a_report",
                )
            self.target.parent.mkdir(parents=True, exist_ok=True)
            prefix = f".{self.target.name}.floodmark-"
            self.path = self._stack.enter_context(working_directory(self.target.parent, prefix))
            _refuse_if_closed(self.target)
        except OSError as error:
            raise ReportError(f"{self.target}: cannot write the report: {error.strerror}", code="unwritable") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def publish(self) -> None:
        """Move every file into place, each atomically.

        Raises:
            ReportError: a file cannot be written.
        """
        try:
            for file in sorted(self.path.rglob("*")):
                if file.is_file():
                    place = self.target / file.relative_to(self.path)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    file.replace(place)
        except OSError as error:
            raise ReportError(
                f"{error.filename}: cannot write the report: {error.strerror}", code="unwritable"
            ) from error


def _refuse_if_closed(target: Path) -> None:
    """Raise if a directory is not writable, before a report is computed for it."""
    for directory in (target, target / TABLES):
        if directory.is_dir() and not os.access(directory, os.W_OK | os.X_OK):
            raise ReportError(
                f"{directory}: cannot write the report: the directory belongs to {_owner(directory)}", code="unwritable"
            )


def _owner(directory: Path) -> str:
    try:
        return directory.owner()
    except (KeyError, OSError):
        return f"user {directory.stat().st_uid}"


def _foreign(target: Path) -> Path | None:
    """Return a file that floodmark did not write and the report would overwrite.

    With a ``report.json`` its contents decide for the whole directory, else the first lines of each file.
    """
    document = target / JSON
    if document.exists():
        return None if _begins(document, _OUR_JSON) else document
    texts = ((target / name, ours) for name, ours in _OUR_TEXTS.items())
    return next((path for path, ours in texts if path.exists() and not _begins(path, ours)), None)


def _begins(path: Path, marker: re.Pattern[bytes]) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return marker.search(file.read(_HEAD_BYTES)) is not None


def write_json(path: Path, model: ReportModel, tables: dict[str, Any]) -> None:
    """Write all tables as one JSON document."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "headline": overall(model)[1],
        "set_aside": [{"path": str(aside.path), "reason": aside.reason} for aside in model.set_aside],
        "tables": {name: table.to_pylist() for name, table in tables.items()},
    }
    path.write_text(json_text(document, indent=1) + "\n", encoding="utf-8")


Words = Callable[[str, str], Mapping[str, str]]
"""Function (table, column) → metadata of the column; of the table itself if the column is empty."""


def words_of(name: str, column: str) -> Mapping[str, str]:
    """Return the metadata of a table or column from the registry."""
    table = registry.TABLES[name]
    if not column:
        return {"row": table.row}
    return {"unit": table.column(column).unit, "meaning": table.column(column).meaning}


def write_parquet(directory: Path, tables: dict[str, Any], words: Words = words_of) -> None:
    """Write one Parquet file per table, with the meanings of the table and its columns as metadata."""
    directory.mkdir()
    for name, table in tables.items():
        fields = [field.with_metadata(words(name, field.name)) for field in table.schema]
        described = table.cast(pa.schema(fields, metadata=words(name, "")))
        pq.write_table(described, directory / f"{name}.parquet", compression="zstd")


def write_dictionary(path: Path) -> None:
    """Write the data dictionary of the tables."""
    path.write_text(registry.dictionary(), encoding="utf-8")
