"""Error exits of a command: one sentence and an exit code, or the report of an internal error."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

from cluster_model.protocol.errors import ModelError
from playbooks.engine.replay import ReplayMismatchError
from playbooks.errors import BAD_INPUT, FAILED, INTERNAL, PlaybookError, os_error_text
from playbooks.recording.recorder import Recorder, write_crash_report
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import SessionError
from playbooks.text import printable_json
from playbooks.units import UnitError
from tui.output.console import print_error, print_line, print_problems, stderr_console


def exit_code_of(work: Callable[[], int], at: str | None = None) -> int:
    """Return the exit code of ``work``, or that of the error it raised; ``at`` is the time as typed."""
    try:
        return work()
    except UnitError as error:
        print_error(f"--at takes {error}, found {at!r}")
        return BAD_INPUT
    except (SessionError, ModelError) as error:
        print_error(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        print_problems(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        print_error(str(error))
        return FAILED


def to_text(document: Any) -> str:
    """Return one indented JSON document."""
    return printable_json(msgspec.json.format(msgspec.json.encode(document)).decode())


def write_file(option: str, path: Path, text: str) -> bool:
    """Write a whole file atomically; on failure, print an error and keep the existing one. Return success."""
    try:
        put_in_place(path, text)
    except OSError as error:
        print_error(f"{option}: cannot write {path}: {error.strerror}")
        return False
    return True


UNSEALED_NOTE: Final = " (not sealed; its events can be read)"


# SIGTERM stops a process as Ctrl-C does, with the signal's exit code.


@contextmanager
def interrupted_by_sigterm() -> Iterator[list[int]]:
    """Make SIGTERM interrupt the block as Ctrl-C does; the list gets the signal's number when it arrives."""
    signals: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield signals
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# An error inside floodmark itself: the session is kept, the error log goes to a file, and two lines are printed.


def report_internal_error(error: BaseException, recorder: Recorder | None = None, *, name_session: bool = True) -> int:
    """Write the error log, beside the session if there is one, and print where it is. Return the exit code.

    An error of the operating system, such as a full disk, is no internal error: one line, and no error log.
    ``name_session``: whether to print the session too; False for callers that print it themselves.
    """
    session = str(recorder.path) if name_session and recorder is not None and recorder.session_id else ""
    refused = os_error_text(error)
    if refused:
        print_error(refused)
        if session:
            print_line(stderr_console(), f"session  {session}{UNSEALED_NOTE}")
        return BAD_INPUT
    log = write_crash_report(error, recorder)
    print_internal_error(f"internal error: {type(error).__name__}: {error}", session, str(log))
    return INTERNAL


def print_internal_error(error: str, session: str, account: str) -> None:
    """Print the error, and the paths of the session (none if empty) and of the error log."""
    print_error(error)
    console = stderr_console()
    if session:
        print_line(console, f"session  {session}{UNSEALED_NOTE}")
    print_line(console, f"log      {account}")
