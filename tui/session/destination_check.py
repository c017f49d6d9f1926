"""Checks that a destination can be opened, before the current session is left for it."""

from pathlib import Path

from cluster_model.protocol.errors import ModelError
from playbooks.engine.session import Session
from playbooks.errors import PlaybookError
from playbooks.model import Playbook
from playbooks.parser.yaml_edit import written_out
from playbooks.recording.reader import read_session
from playbooks.session_format.session_files import SessionError
from playbooks.timetravel.history_view import ReopenedSession
from tui.session.destination import PLAYBOOK, SESSION, Destination
from tui.session.playbook_choice import read


class DestinationError(Exception):
    """A destination cannot be opened; the message has the reason, on one line."""


def playbook_destination(text: str) -> Destination:
    """Return the destination of a playbook, by its file or bundled name.

    Raises:
        DestinationError: there is none, it is invalid, its cluster cannot be built, or it has manual steps.
    """
    if not text:
        raise DestinationError("found nothing, expected a file or the name of a bundled playbook")
    try:
        playbook = read(text)
        if playbook.spec.manual:
            raise DestinationError(
                f"{text} has manual steps, which the TUI cannot run; run it with: floodmark run {text}"
            )
        Session.start(playbook, open_ended=True)
    except PlaybookError as error:
        raise DestinationError(_first(error)) from error
    except (ModelError, OSError) as error:
        raise DestinationError(f"{text}: {error}") from error
    return Destination(PLAYBOOK, text)


def session_destination(path: Path) -> Destination:
    """Return the destination of a recorded session.

    Raises:
        DestinationError: it cannot be read or replayed.
    """
    try:
        recorded = read_session(path)
        if not recorded.start.imported:
            ReopenedSession(recorded)
    except PlaybookError as error:
        raise DestinationError(_first(error)) from error
    except (SessionError, ModelError, OSError) as error:
        raise DestinationError(" ".join(str(error).split())) from error
    return Destination(SESSION, str(path))


def shown(playbook: Playbook) -> Playbook:
    """Return the playbook as one text, with included fragments written out, so that the lines of steps match."""
    if not playbook.fragments:
        return playbook
    from playbooks.parser.loader import loads  # noqa: PLC0415 - few playbooks include fragments

    return loads(written_out(playbook.source, playbook.path, playbook.fragments), playbook.path)


def _first(error: PlaybookError) -> str:
    """Return the first problem, and the number of others."""
    more = len(error.problems) - 1
    return " ".join(str(error.problems[0]).split()) + (f" (and {more} more)" if more else "")
