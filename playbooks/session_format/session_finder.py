"""Which session somebody means by what they typed: a directory, an id, or a bundle.

The report finds its sessions by this page, too, so nothing that runs a session is within its reach.
"""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Final

from playbooks.session_format import session_files
from playbooks.session_format.session_files import SessionError

_scratched: Final[list[Path]] = []
"""Directories that go when this process ends."""


def find_session(text: str, root: Path) -> Path:
    """The directory meant by ``text``: a path, a session's id under ``root``, or a bundle.

    A bundle is unpacked to a directory that is there until this process ends.

    Raises:
        SessionError: there is no such directory, or the bundle is not to be trusted.
    """
    for path in (Path(text), session_files.directory_of(root, text), root / text):
        if path.is_dir():
            return path
    if Path(text).is_file():
        from playbooks.session_format.bundle import is_bundle, open_bundle  # noqa: PLC0415 - who has no bundle unzips nothing

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
    """A directory of its own that goes when this process ends."""
    directory = tempfile.mkdtemp(prefix="floodmark-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    _scratched.append(Path(directory))
    return Path(directory)


def goes_away(session: Path) -> bool:
    """Whether a session was unpacked from a bundle, to be there only until this process ends."""
    return any(directory in session.parents for directory in _scratched)
