"""What somebody wants to see next in the same run of the program: the session on the screen is sealed first."""

from dataclasses import dataclass
from typing import Final, Literal

WELCOME: Final = "welcome"
PLAYBOOK: Final = "playbook"
SESSION: Final = "session"
SANDBOX: Final = "sandbox"
"""The bundled playbook that opens when nobody names one."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The welcome page, a playbook by its file or bundled name, or a recorded session by its directory."""

    kind: Literal["welcome", "playbook", "session"]
    text: str = ""
    seed: int | None = None
    """Of a playbook; None: its own."""

    @property
    def words(self) -> str:
        """How it is called on the screen."""
        if self.kind == WELCOME:
            return "the welcome page"
        return self.text.rpartition("session_id=")[2] or self.text


@dataclass(frozen=True, slots=True)
class ScreenExit:
    """How a screen was left: the exit code of the program, unless something is wished for next."""

    code: int
    wish: Wish | None = None
    back: Wish | None = None
    """What leads back to it."""
