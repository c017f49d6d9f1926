"""Follows the files that executors leave: how many runs are there, and what they found.

Each task commits its file by itself (version 2 of Hadoop's committer), so what has landed stays when the job is ended.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from playbooks.campaign.run_rows import Row
from spark_report.campaigns.shares import Done

COMMIT: Final = {"mapreduce.fileoutputcommitter.algorithm.version": "2", "compression": "zstd"}
"""How Spark is to write the files."""
_DAMAGED: Final = "_{}.damaged"
"""Name of a file that cannot be read; Spark passes over names that begin with an underscore."""


@dataclass(slots=True)
class Landed:
    """What is there of a campaign."""

    folder: Path
    done: Done
    stop_on: str = ""
    """Pattern of the keys that are to end it; empty for none."""
    keys: set[str] = field(default_factory=set)
    surprising: set[str] = field(default_factory=set)
    first_hit: int = 0
    """The first run known to have found one of those; 0 none."""
    damaged: list[str] = field(default_factory=list)
    """Names of files that could not be read, and were put out of the way."""
    _seen: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Take in the files that are new."""
        for path in sorted(self.folder.glob("*.parquet")):
            if path.name in self._seen:
                continue
            try:
                table = pq.ParquetFile(path).read(columns=["run", "found"])
            except (OSError, pa.ArrowException):
                path.rename(path.with_name(_DAMAGED.format(path.name)))
                self.damaged.append(path.name)
                continue
            self._seen.add(path.name)
            self.done.add(table.column("run").to_pylist())
            for run, found in zip(table.column("run").to_pylist(), table.column("found").to_pylist(), strict=True):
                for each in found:
                    self._note(run, each["key"], expected=bool(each["expected"]))

    def take(self, rows: list[Row]) -> None:
        """Runs that are kept elsewhere: this machine did them."""
        self.done.add(row.run for row in rows)
        for row in rows:
            for each in row.found:
                self._note(row.run, each.key, expected=bool(each.expected))

    def _note(self, run: int, key: str, *, expected: bool) -> None:
        self.keys.add(key)
        if not expected:
            self.surprising.add(key)
        if self.stop_on and fnmatchcase(key, self.stop_on) and (not self.first_hit or run < self.first_hit):
            self.first_hit = run
