"""What a campaign's runs add up to, without the runs: it has the same size however many they are."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from playbooks.campaign.run_rows import Row

BROKEN_TOLD: Final = 100
"""Runs that broke inside that are told one by one; all of them are among the rows."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A run that ended in an internal error."""

    run: int
    seed: int
    error: str


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the runs that count."""

    runs: int
    strikes: int
    errors: int
    """Runs that ended in an internal error ..."""
    broken: tuple[Broken, ...]
    """... and the first of them."""

    def to_json(self) -> dict[str, Any]:
        """As a document has it."""
        errors = [asdict(each) for each in self.broken]
        return {"runs": self.runs, "strikes": self.strikes, "errors": errors, "errors_in_all": self.errors}


def totals_of(rows: Iterable[Row]) -> Totals:
    """Of rows at hand."""
    there = sorted(rows, key=lambda row: row.run)
    broken = [Broken(row.run, row.seed, row.error) for row in there if row.error]
    strikes = sum(row.counts.get("strikes", 0) for row in there)
    return Totals(len(there), strikes, len(broken), tuple(broken[:BROKEN_TOLD]))
