"""An error inside floodmark itself: the session is kept, the account goes to a file, the person gets two lines."""

import platform
import sys
import tempfile
import traceback
from pathlib import Path

from playbooks.recorder import Recorder, RecordingError
from playbooks.version import tool_version
from tui.cli.console import INTERNAL, complain, people, say


def account(error: BaseException) -> str:
    """All that somebody needs who wants to find out what happened."""
    return "\n".join(
        (
            f"floodmark {tool_version()}, Python {platform.python_version()}, {platform.platform()}",
            f"command: {' '.join(sys.argv)}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )


def keep(error: BaseException, recorder: Recorder | None = None) -> int:
    """Write the account, beside the session if there is one, and tell the person. Returns the exit code."""
    complain(f"internal error: {type(error).__name__}: {error}")
    log = _write(account(error), recorder)
    console = people()
    if recorder is not None and recorder.session_id:
        say(console, f"session  {recorder.path} (not sealed; its events can be read)")
    say(console, f"account  {log}")
    return INTERNAL


def _write(text: str, recorder: Recorder | None) -> Path:
    if recorder is not None and recorder.session_id:
        try:
            return recorder.crash(text)
        except (OSError, RecordingError):
            pass  # a full disk, perhaps: the account still has to go somewhere
    directory = Path(tempfile.mkdtemp(prefix="floodmark-"))
    log = directory / "crash.log"
    log.write_text(text, encoding="utf-8")
    return log
