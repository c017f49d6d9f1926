"""One run of the program: the sequence of destinations (welcome page, playbooks, sessions)."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from playbooks.session_format.filesystem import Fsync
from playbooks.session_format.session_files import sessions_root
from tui.session.destination import PLAYBOOK, SESSION, WELCOME, Destination, ScreenExit
from tui.startup import no_gc_until_painted


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """Options of the command line, valid for everything that is opened."""

    out: Path | None
    glyphs: str | None
    theme: str | None
    speed: float | None
    fsync: Fsync = Fsync.INTERVAL
    read_only: bool = False
    """Whether the TUI refuses every change of a session."""

    @property
    def parent(self) -> Path:
        """Directory of recorded sessions."""
        return self.out or sessions_root()


class Opener(Protocol):
    """Opens a destination, and returns when it is closed; ``back`` is the previous destination."""

    def __call__(self, request: Destination, options: ProgramOptions, back: Destination | None) -> ScreenExit:
        """Open the destination, and return how it was left."""


_OPENERS: Final = {
    WELCOME: ("tui.welcome", "welcome"),
    PLAYBOOK: ("tui.launcher", "open_playbook"),
    SESSION: ("tui.launcher", "open_recording"),
}
"""Kind of destination → module and function that opens it, imported when first needed."""


def run_destinations(request: Destination, options: ProgramOptions) -> int:
    """Open a destination and those that follow; return the exit code of the last one."""
    back: Destination | None = None
    while True:
        module, name = _OPENERS[request.kind]
        with no_gc_until_painted():
            left = cast("Opener", getattr(import_module(module), name))(request, options, back)
        if left.request is None:
            return left.code
        request, back = left.request, left.previous_destination
