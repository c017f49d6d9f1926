"""Navigation within one run of the program: what to open next, after the current session is sealed."""

from dataclasses import dataclass
from typing import Final, Literal

WELCOME: Final = "welcome"
PLAYBOOK: Final = "playbook"
SESSION: Final = "session"
SANDBOX: Final = "sandbox"
"""Name of the bundled playbook that opens by default."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Destination: the welcome page, a playbook by file or bundled name, or a recorded session by directory."""

    kind: Literal["welcome", "playbook", "session"]
    text: str = ""
    seed: int | None = None
    """Seed of a playbook; None: its own."""

    @property
    def label(self) -> str:
        """Name of the destination in messages."""
        if self.kind == WELCOME:
            return "the welcome page"
        return self.text.rpartition("session_id=")[2] or self.text


@dataclass(frozen=True, slots=True)
class ScreenExit:
    """End of the TUI: its exit code, and the next destination if there is one."""

    code: int
    request: Destination | None = None
    previous_destination: Destination | None = None
    """Destination that returns to it."""
