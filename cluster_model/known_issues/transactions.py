"""Known issues of transactions: coordinators, verification, markers, and producer state of leaders."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

TRANSACTION_ISSUES: Final[tuple[KnownIssue, ...]] = ()
