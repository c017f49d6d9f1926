"""The files of a recorded session, for whoever reads or writes them.

session_files: what lies where, the small JSON files, the columns of the sealed tables, why reading fails.
session_finder: the session that a directory, an id or a bundle stands for.
filesystem: everything that a recording does to the disk, each one call of the operating system.
bundle: a session as one `NAME.floodmark` file.

Every module needs only the standard library, and loads neither the simulation nor the engine. This file imports
nothing, so that Spark reports and the start of the command line load only the modules that they use.
"""

__all__ = [
    "bundle",
    "filesystem",
    "session_files",
    "session_finder",
]
