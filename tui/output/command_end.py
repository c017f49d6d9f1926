"""How a command ends that cannot go on: one sentence and an exit code, or the report of an internal error."""

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
from playbooks.errors import BAD_INPUT, FAILED, INTERNAL, PlaybookError, refusal_of
from playbooks.recording.recorder import Recorder, keep_account
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import SessionError
from playbooks.text import printable_json
from playbooks.units import UnitError
from tui.output.console import complain, complain_of, people, say


def ended(work: Callable[[], int], at: str | None = None) -> int:
    """The exit code of ``work``, or of what refused it; ``at`` is the time as it was typed."""
    try:
        return work()
    except UnitError as error:
        complain(f"--at takes {error}, found {at!r}")
        return BAD_INPUT
    except (SessionError, ModelError) as error:
        complain(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        complain_of(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        complain(str(error))
        return FAILED


def to_text(document: Any) -> str:
    """JSON for people and programs alike: indented, one document."""
    return printable_json(msgspec.json.format(msgspec.json.encode(document)).decode())


def write(option: str, path: Path, text: str) -> bool:
    """Put a whole file in its place, or leave the one that is there."""
    try:
        put_in_place(path, text)
    except OSError as error:
        complain(f"{option}: cannot write {path}: {error.strerror}")
        return False
    return True


NOT_SEALED: Final = " (not sealed; its events can be read)"


# SIGTERM stops a process as Ctrl-C does, and its exit code is that of the signal.


@contextmanager
def ending_at_sigterm() -> Iterator[list[int]]:
    """Have SIGTERM interrupt the block as Ctrl-C does; the list has the signal's number once it has come."""
    came: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield came
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# An error inside floodmark itself: the session is kept, the account goes to a file, the person gets two lines.


def keep(error: BaseException, recorder: Recorder | None = None, *, name_session: bool = True) -> int:
    """Write the account, beside the session if there is one, and tell the person. Returns the exit code.

    What the system refuses, such as room on a disk, is nobody's mistake: one line, and no account.
    ``name_session``: whether the session is named too; who does that by other words leaves it out.
    """
    session = str(recorder.path) if name_session and recorder is not None and recorder.session_id else ""
    refused = refusal_of(error)
    if refused:
        complain(refused)
        if session:
            say(people(), f"session  {session}{NOT_SEALED}")
        return BAD_INPUT
    log = keep_account(error, recorder)
    tell(f"internal error: {type(error).__name__}: {error}", session, str(log))
    return INTERNAL


def tell(error: str, session: str, account: str) -> None:
    """Say what went wrong, and where the session (none where empty) and the account are."""
    complain(error)
    console = people()
    if session:
        say(console, f"session  {session}{NOT_SEALED}")
    say(console, f"account  {account}")
