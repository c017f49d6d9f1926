"""Known issues of logs: retention, compaction, configurations and what recovery finds."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

LOG_ISSUES: Final[tuple[KnownIssue, ...]] = ()
