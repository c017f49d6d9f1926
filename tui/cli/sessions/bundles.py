"""``floodmark export --bundle`` and ``floodmark import``: a session as one file, and back."""

from collections.abc import Sequence
from pathlib import Path

from playbooks.exit_codes import BAD_INPUT, OK
from playbooks.recording.reader import read_session
from playbooks.session_format import session_files
from playbooks.session_format.bundle import SUFFIX, open_bundle, write_bundle
from playbooks.session_format.session_errors import BundleError, SessionError
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.console import answers, complain, people, say
from tui.output.progress import Telling


def run_bundle(text: str, out: Path | None, *, force: bool) -> int:
    """Put a session into one file, by default ``<session id>.floodmark`` here; prints its path."""
    console = people()
    try:
        session = find_session(text, sessions_root())
        with Telling(console) as telling:
            telling.tell(lambda: f"reading {session}")
            recorded = read_session(session)
            for note in recorded.notes:
                say(console, f"note: {note}", "yellow")
            file = out or Path(f"{recorded.start.session_id}{SUFFIX}")
            telling.tell(lambda: f"writing {file}")
            digest = write_bundle(session, file, force=force)
    except SessionError as error:
        complain(str(error))
        return BAD_INPUT
    say(answers(), str(file))
    say(console, f"{file.stat().st_size} bytes, SHA-256 {digest}")
    return OK


def run_import(files: Sequence[Path], out: Path | None) -> int:
    """Unpack bundles under the directory of sessions; prints where each is."""
    code = OK
    for file in files:
        try:
            if not file.is_file():
                raise BundleError(f"{file}: there is no such file")
            session = open_bundle(file, out or sessions_root())
        except BundleError as error:
            complain(str(error))
            code = BAD_INPUT
            continue
        torn = "" if (session / session_files.MANIFEST).exists() else " (torn: its recording was cut short)"
        say(answers(), str(session))
        if torn:
            say(people(), f"note: {session.name}{torn}", "yellow")
    return code
