"""An error inside floodmark itself: the session is kept, the account goes to a file, the person gets two lines."""

from playbooks.errors import INTERNAL
from playbooks.recording.recorder import Recorder, keep_account
from tui.output.console import complain, people, say


def keep(error: BaseException, recorder: Recorder | None = None, *, name_session: bool = True) -> int:
    """Write the account, beside the session if there is one, and tell the person. Returns the exit code.

    ``name_session``: whether the session is named too; who does that by other words leaves it out.
    """
    log = keep_account(error, recorder)
    session = str(recorder.path) if name_session and recorder is not None and recorder.session_id else ""
    tell(f"internal error: {type(error).__name__}: {error}", session, str(log))
    return INTERNAL


def tell(error: str, session: str, account: str) -> None:
    """Say what went wrong, and where the session (none where empty) and the account are."""
    complain(error)
    console = people()
    if session:
        say(console, f"session  {session} (not sealed; its events can be read)")
    say(console, f"account  {account}")
