"""Known issues of group coordinators: joining, rebalances, commits and their expiry, loading of groups."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

GROUP_ISSUES: Final[tuple[KnownIssue, ...]] = ()
