"""Why records were lost, when that became inevitable, and what would have prevented it.

why: the whole explanation of one session, as `floodmark why` prints it: computed, formatted, and kept in a file
beside the session, where a report finds it.
point_of_no_return: the last event after which no action could have kept a record; also for manual sessions.
issue_search: known issues of the release that cause a failure, each proven by a run without it.
remedies: settings and operator actions that are tried, and whether each would have kept the record.
evidence: events that can decide whether a record survives, and whether it still exists.

Builds on forks of `playbooks.timetravel`, and on `engine`, `export` and `results`.
"""

__all__ = [
    "issue_search",
    "point_of_no_return",
    "remedies",
    "why",
]
