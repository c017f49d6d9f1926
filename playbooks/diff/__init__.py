"""The comparison of two recorded sessions, as `floodmark diff` prints it.

session_diff: the comparison: the first event at which the two logs differ, and the results of both sessions side by
side: ledger, expectations, outages, elections, clients.

Reads both recordings by `playbooks.session_format` and replays nothing.
"""

__all__ = [
    "session_diff",
]
