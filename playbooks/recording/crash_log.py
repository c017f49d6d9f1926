"""The account of an error inside floodmark itself, kept beside the session that it ended."""

import platform
import sys
import tempfile
import traceback
from pathlib import Path

from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.session_files import CRASH_LOG
from playbooks.version import VERSION


def account(what: str) -> str:
    """All that somebody needs who wants to find out what happened; ``what`` is the traceback, or a sentence."""
    where = f"floodmark {VERSION}, Python {platform.python_version()}, {platform.platform()}"
    return "\n".join((where, f"command: {' '.join(sys.argv)}", "", what))


def keep_account(error: BaseException, recorder: Recorder | None = None) -> Path:
    """Write the account, beside the session if there is one; returns its path."""
    text = account("".join(traceback.format_exception(error)))
    if recorder is not None and recorder.session_id:
        try:
            return recorder.crash(text)
        except (OSError, RecordingError):
            pass  # a full disk, perhaps: the account still has to go somewhere
    directory = Path(tempfile.mkdtemp(prefix="floodmark-"))
    log = directory / CRASH_LOG
    log.write_text(text, encoding="utf-8")
    return log
