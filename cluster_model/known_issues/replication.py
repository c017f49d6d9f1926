"""Known issues of replication: fetchers, truncation, high watermarks and in-sync replicas."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

REPLICATION_ISSUES: Final[tuple[KnownIssue, ...]] = ()
