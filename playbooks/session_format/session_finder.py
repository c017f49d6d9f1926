"""Lookup of a session by user input: a directory, an id, or a bundle.

The report uses this module, too, so it imports nothing that runs sessions.
"""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Final

from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError

_scratched: Final[list[Path]] = []
"""Temporary directories, deleted when this process ends."""


def find_session(text: str, root: Path) -> Path:
    """Return the directory of ``text``: a path, a session's id under ``root``, or a bundle.

    A bundle is unpacked to a temporary directory that is deleted when this process ends.

    Raises:
        SessionError: there is no such directory, or the bundle is not trusted.
    """
    for path in (Path(text), session_files.directory_of(root, text), root / text):
        if path.is_dir():
            return path
    if Path(text).is_file():
        from playbooks.session_format.bundle import is_bundle, open_bundle  # noqa: PLC0415 - only needed for bundles

        if is_bundle(Path(text)):
            return open_bundle(Path(text), _scratch())
    if Path(text).exists():
        raise SessionError(
            f"{text} is a file; a session is a directory with a {session_files.START} in it", code="not_a_directory"
        )
    raise SessionError(
        f"no session {text}: there is no such directory, and none of that id under {root}", code="no_such_session"
    )


def _scratch() -> Path:
    """Return a new temporary directory that is deleted when this process ends."""
    directory = tempfile.mkdtemp(prefix="floodmark-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    _scratched.append(Path(directory))
    return Path(directory)


def is_temporary_session(session: Path) -> bool:
    """Return whether a session was unpacked from a bundle to a temporary directory."""
    return any(directory in session.parents for directory in _scratched)
