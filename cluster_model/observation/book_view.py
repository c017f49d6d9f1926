"""A picture of one client's records in one partition, for results and people."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BookView:
    """Counts in records, and the ranges ``[from, to)`` of the client's own numbers behind them.

    Records that failed before they got a number are counted, and in none of the ranges. A record that stands in the log
    three times is two duplicates, and one number in their ranges.
    """

    client: str
    partition: str
    """A topic's name for records that never got as far as a partition."""
    sent: int
    acked: int
    failed: int
    unknown: int
    aborted: int
    pending: int
    """Handed over, and no outcome yet."""
    missing: int
    acked_lost: int
    committed_lost: int
    deleted: int
    """Acked, and taken on purpose: by retention, DeleteRecords, or with their topic."""
    unknown_written: int
    """Of the unknown ones, those that the leader's log holds after all."""
    duplicates: int
    reordered: int
    ranges: dict[str, tuple[tuple[int, int], ...]]
    """By term, those that are not empty."""

    @property
    def harmed(self) -> bool:
        """Whether anything went against what was promised."""
        return bool(self.missing or self.acked_lost or self.duplicates or self.reordered)
