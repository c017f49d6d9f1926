"""The files of a recorded session, for whoever reads or writes them.

session_files: what lies where, the small JSON files, the columns of the sealed tables, why reading fails.
session_finder: the session that a directory, an id or a bundle stands for.
filesystem: everything that a recording does to the disk, each one call of the operating system.
bundle: a session as one `NAME.floodmark` file.

Every module is light: it needs only the standard library, and loads neither the simulation nor the engine.
Spark reports and the start of the command line rely on that.
"""

from playbooks.session_format import session_files
from playbooks.session_format.bundle import SUFFIX, is_bundle, open_bundle, write_bundle
from playbooks.session_format.filesystem import Fsync, put_in_place
from playbooks.session_format.session_files import (
    DIRECTORY_PREFIX,
    BundleError,
    LayoutError,
    SessionError,
    has_scheme,
    read_object,
    sessions_root,
    sessions_under,
)
from playbooks.session_format.session_finder import find_session, goes_away

__all__ = [
    "DIRECTORY_PREFIX",
    "SUFFIX",
    "BundleError",
    "Fsync",
    "LayoutError",
    "SessionError",
    "find_session",
    "goes_away",
    "has_scheme",
    "is_bundle",
    "open_bundle",
    "put_in_place",
    "read_object",
    "session_files",
    "sessions_root",
    "sessions_under",
    "write_bundle",
]
