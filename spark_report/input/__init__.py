"""What a report reads: session directories, and their files as DataFrames.

sessions: looks at session directories before Spark starts: whole, incomplete with reasons, or set
  aside with one.
frames: events, final reads, ledgers and replica assignments as DataFrames with a written
  schema, never inferred.

It builds on the package spark for remote paths, and on playbooks.session_format for the names of files.
"""

__all__ = [
    "frames",
    "sessions",
]
