"""Input of a report: session directories, and their files as DataFrames.

sessions: checks session directories before Spark starts: complete, incomplete with reasons, or set aside.
frames: events, final reads, ledgers and replica assignments as DataFrames with explicit schemas.

It builds on the package spark for remote paths, and on playbooks.session_format for file names.
"""

__all__ = [
    "frames",
    "sessions",
]
