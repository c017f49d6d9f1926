"""The table of all known issues that the model reproduces, by number."""

from typing import Final

from cluster_model.known_issues.controllers import CONTROLLER_ISSUES
from cluster_model.known_issues.groups import GROUP_ISSUES
from cluster_model.known_issues.issue import KnownIssue
from cluster_model.known_issues.producers import PRODUCER_ISSUES
from cluster_model.known_issues.replication import REPLICATION_ISSUES
from cluster_model.known_issues.transactions import TRANSACTION_ISSUES

_TABLES: Final = (
    CONTROLLER_ISSUES,
    GROUP_ISSUES,
    PRODUCER_ISSUES,
    REPLICATION_ISSUES,
    TRANSACTION_ISSUES,
)


def _number(issue: KnownIssue) -> int:
    return int(issue.number.partition("-")[2])


KNOWN_ISSUES: Final = tuple(sorted((issue for table in _TABLES for issue in table), key=_number))
"""All issues that the model reproduces, by number."""
