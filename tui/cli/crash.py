"""An error inside floodmark itself: the session is kept, the account goes to a file, the person gets two lines."""

from pathlib import Path

from playbooks.crash_log import keep_account
from playbooks.recorder import Recorder
from tui.cli.console import INTERNAL, complain, people, say


def keep(error: BaseException, recorder: Recorder | None = None) -> int:
    """Write the account, beside the session if there is one, and tell the person. Returns the exit code."""
    complain(f"internal error: {type(error).__name__}: {error}")
    log = keep_account(error, recorder)
    tell(recorder.path if recorder is not None and recorder.session_id else None, log)
    return INTERNAL


def tell(session: Path | None, log: Path) -> None:
    """Where the session and the account are."""
    console = people()
    if session is not None:
        say(console, f"session  {session} (not sealed; its events can be read)")
    say(console, f"account  {log}")
