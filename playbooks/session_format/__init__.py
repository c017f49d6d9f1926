"""The file format of recorded sessions, for readers and writers.

session_files: file names, the small JSON files, the columns of the sealed tables, errors of reading.
session_finder: lookup of a session by directory, id or bundle.
format_1: translation of sessions of format 1 to the names of format 2.
filesystem: the file operations of a recording, each one call of the operating system.
bundle: a session as one `NAME.floodmark` file.

Every module needs only the standard library, and loads neither the simulation nor the engine. This file imports
nothing, so that Spark reports and the start of the command line load only the modules that they use.
"""

__all__ = [
    "bundle",
    "filesystem",
    "format_1",
    "session_files",
    "session_finder",
]
