"""Known issues of producers: batches, retries, partitioners, and what they do with errors."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

PRODUCER_ISSUES: Final[tuple[KnownIssue, ...]] = ()
