"""Known issues of consumers: fetching, positions, assignors, and what a member does in a rebalance."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

CONSUMER_ISSUES: Final[tuple[KnownIssue, ...]] = ()
