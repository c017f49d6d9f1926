"""What an application does with the records that its consumer hands it, and when it commits them."""

from dataclasses import dataclass
from typing import Final

AUTO: Final = "auto"
BEFORE: Final = "before"
ASYNC_RETRY: Final = "async_retry"
HANDED_OFF: Final = "handed_off"
TRANSACTION: Final = "transaction"
COMMIT_MODES: Final = {
    AUTO: "enable.auto.commit: inside of polls, what earlier ones handed out",
    "sync": "commitSync when the records of a poll have been processed",
    "async": "commitAsync then",
    ASYNC_RETRY: "commitAsync then, and once more behind the next one where it failed: offsets may go back",
    BEFORE: "commitSync before they are processed: at most once",
    HANDED_OFF: "enable.auto.commit, while another thread processes: what is committed may not have been processed",
    "none": "never",
    TRANSACTION: "in the transaction in which what came out of the records is written: exactly once",
}
"""How a group commits, with what that means."""

Failing = tuple[str, int, int]
"""(partition, first offset, how many) of records that the handler cannot process."""


@dataclass(frozen=True, slots=True)
class Application:
    """``processing_us`` is spent on every record; ``commit`` is one of :data:`COMMIT_MODES`.

    The handler fails for the last of every ``fails`` offsets of a partition (0: never), whoever reads it. It is tried
    ``retries`` times more, each after ``pause_us``, without a poll meanwhile; then the record is skipped.
    """

    processing_us: int = 0
    commit: str = AUTO
    fails: int = 0
    retries: int = 0
    pause_us: int = 0

    @property
    def commits_before(self) -> bool:
        """Whether a crash loses what was being processed, rather than have it processed again."""
        return self.commit == BEFORE

    @property
    def hands_off(self) -> bool:
        """Whether another thread processes the records, one poll's after the other's, while polls go on."""
        return self.commit == HANDED_OFF

    @property
    def commits_async(self) -> bool:
        """Whether it does not wait for its commits."""
        return self.commit in ("async", ASYNC_RETRY)

    @property
    def auto_commits(self) -> bool:
        """What ``enable.auto.commit`` is unless it is given."""
        return self.commit in (AUTO, HANDED_OFF)

    def failing(self, partition: str, start: int, last: int) -> Failing | None:
        """Which of the records from ``start`` to ``last`` the handler cannot process."""
        if not self.fails:
            return None
        first = start + (self.fails - 1 - start) % self.fails
        return (partition, first, (last - first) // self.fails + 1) if first <= last else None
