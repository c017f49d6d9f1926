"""Plain-text output on stdout and stderr, for the command line and for the end of a TUI session.

console: messages and progress on stderr, documents on stdout; errors with an excerpt of the file.
command_end: JSON documents, whole files, exit codes of commands that fail, and internal errors.
result: a session's result as sentences and tables: verdict, findings, liveness, anomalies, clients, and the
  step table of a manual playbook.
session_end: seals every live branch and prints its verdict.
The TUI's report page (``tui.viewmodel.report_page``) shows the same sentences, so this package is below it.
"""

__all__ = [
    "command_end",
    "console",
    "result",
    "session_end",
]
