"""One run of the program: what is opened after what, how the screen is drawn, and a fast start."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from playbooks.session_format.filesystem import Fsync
from playbooks.session_format.session_files import sessions_root
from tui.session.destination import PLAYBOOK, SESSION, WELCOME, ScreenExit, Wish
from tui.startup import starting


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """What was asked for on the command line; it holds for everything that is opened."""

    out: Path | None
    glyphs: str | None
    theme: str | None
    speed: float | None
    fsync: Fsync = Fsync.INTERVAL

    @property
    def parent(self) -> Path:
        """Where sessions are recorded."""
        return self.out or sessions_root()


class Opener(Protocol):
    """Opens what is wished for, and returns when it is left; ``back`` leads to what was on the screen before."""

    def __call__(self, wish: Wish, asked: ProgramOptions, back: Wish | None) -> ScreenExit:
        """See above."""


_OPENERS: Final = {
    WELCOME: ("tui.welcome", "welcome"),
    PLAYBOOK: ("tui.launcher", "play"),
    SESSION: ("tui.launcher", "look_at"),
}
"""Kind of wish → who grants it, read when it is first wanted."""


def perform(wish: Wish, asked: ProgramOptions) -> int:
    """Grant a wish and those that follow from it; returns the exit code of the program, that of the last."""
    back: Wish | None = None
    while True:
        module, name = _OPENERS[wish.kind]
        with starting():
            left = cast("Opener", getattr(import_module(module), name))(wish, asked, back)
        if left.wish is None:
            return left.code
        wish, back = left.wish, left.back
