"""What an application does with the records that its consumer hands it, and when it commits them."""

from dataclasses import dataclass
from typing import Final

AUTO: Final = "auto"
BEFORE: Final = "before"
COMMIT_MODES: Final = {
    AUTO: "enable.auto.commit: inside of polls, what earlier ones handed out",
    "sync": "commitSync when the records of a poll have been processed",
    "async": "commitAsync then",
    BEFORE: "commitSync before they are processed: at most once",
    "none": "never",
}
"""How a group commits, with what that means."""


@dataclass(frozen=True, slots=True)
class Application:
    """``processing_us`` is spent on every record; ``commit`` is one of :data:`COMMIT_MODES`."""

    processing_us: int = 0
    commit: str = AUTO

    @property
    def commits_before(self) -> bool:
        """Whether a crash loses what was being processed, rather than have it processed again."""
        return self.commit == BEFORE
