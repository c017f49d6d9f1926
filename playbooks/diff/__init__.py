"""The comparison of two recorded sessions, as `floodmark diff` prints it.

session_diff: the comparison as a whole, the first event at which the two logs part, and what the two sessions came to,
side by side: ledger, expectations, outages, elections, clients.

Reads both recordings by `playbooks.session_format` and runs nothing again.
"""

__all__ = [
    "session_diff",
]
