"""An error inside floodmark itself: the session is kept, the account goes to a file, the person gets two lines."""

from pathlib import Path

from playbooks.crash_log import keep_account
from playbooks.recorder import Recorder
from tui.cli.console import INTERNAL, complain, people, say


def keep(error: BaseException, recorder: Recorder | None = None) -> int:
    """Write the account, beside the session if there is one, and tell the person. Returns the exit code."""
    told(error, recorder)
    return INTERNAL


def told(error: BaseException, recorder: Recorder | None) -> Path:
    """The same; returns where the account is."""
    complain(f"internal error: {type(error).__name__}: {error}")
    log = keep_account(error, recorder)
    console = people()
    if recorder is not None and recorder.session_id:
        say(console, f"session  {recorder.path} (not sealed; its events can be read)")
    say(console, f"account  {log}")
    return log
