"""Plain text on stdout and stderr, for the command line and for the end of a session on the screen.

console: people's text to stderr, documents to stdout; complaints with an excerpt of the file; progress.
command_end: JSON documents, whole files, the exit code of a command that is refused, and internal errors.
result: a session's outcome as sentences and tables: verdict, findings, liveness, anomalies, clients, the
  worked table of a manual playbook.
session_end: seals every live branch and prints its verdict.
The page of the report (``tui.viewmodel.report_page``) shows the same sentences, so they lie below it.
"""

__all__ = [
    "command_end",
    "console",
    "result",
    "session_end",
]
