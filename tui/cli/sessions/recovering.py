"""``floodmark recover``: sessions whose process died are sealed."""

from collections.abc import Sequence
from pathlib import Path

from playbooks.engine.recovering import Recovered, recover
from playbooks.engine.replay import ReplayMismatchError
from playbooks.errors import PlaybookError, counted
from playbooks.exit_codes import BAD_INPUT, FAILED, OK
from playbooks.recording.recorder import RecordingError
from playbooks.session_format.session_errors import SessionError
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.console import answers, complain, complain_of, people, say
from tui.output.progress import Telling


def run_recover(texts: Sequence[str]) -> int:
    """Seal every session named; the worst exit code: 1 where one comes out differently, 2 where one cannot be read."""
    codes = [_one(text) for text in texts]
    return next(code for code in (BAD_INPUT, FAILED, OK) if code in codes)


def _one(text: str) -> int:
    try:
        session = find_session(text, sessions_root())
        if Path(text).is_file():
            raise SessionError(f"{text} is a bundle, which is never changed: unpack it first, with floodmark import")
        with Telling(people()) as telling:
            done = recover(
                session,
                lambda at, total: telling.tell(lambda: f"{session.name}: running again: {at} of {total} events"),
            )
    except (SessionError, RecordingError) as error:
        complain(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        complain_of(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        complain(f"{text} is left as it is: {error}")
        return FAILED
    _tell(done)
    return OK


def _tell(done: Recovered) -> None:
    say(answers(), str(done.path))
    torn = f"; {counted(done.dropped, 'byte')} of half a line moved to a file beside its log" if done.dropped else ""
    say(people(), f"recovered: {counted(done.events, 'event')}, verdict {done.manifest['verdict']}{torn}")
