"""``floodmark replay``: a recorded session once more, and whether it is the same."""

from playbooks.engine.replay import ReplayMismatchError, replay
from playbooks.errors import PlaybookError, counted
from playbooks.exit_codes import BAD_INPUT, FAILED, OK
from playbooks.recording.reader import read_session
from playbooks.session_format.session_errors import SessionError
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.command_end import to_text
from tui.output.console import complain, complain_of, people, print_document, say
from tui.output.progress import Telling


def run_replay(text: str, *, json: bool) -> int:
    """Replay the session at a path or of an id; 0 when it comes out the same, 1 when not."""
    console = people()
    try:
        recorded = read_session(find_session(text, sessions_root()))
        for note in recorded.notes:
            say(console, f"note: {note}", "yellow")
        with Telling(console) as telling:
            replayed = replay(
                recorded, lambda done, total: telling.tell(lambda: f"replaying: {done} of {total} events are the same")
            )
    except SessionError as error:
        complain(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        complain_of(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        complain(str(error))
        return FAILED
    if json:
        document = {
            "session": str(recorded.path),
            "events": replayed.events,
            "digest": replayed.digest,
            "complete": recorded.manifest is not None,
        }
        print_document(to_text(document))
    digest = f", digest {replayed.digest}" if replayed.digest else "; a torn session has no digest to compare"
    say(console, f"the same: {counted(replayed.events, 'event')}{digest}")
    return OK
