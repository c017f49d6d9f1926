"""Known issues: public bugs of released Kafkas, each a rule of the model, with what is seen and what helps.

issue: the types; the other modules have a table each, by the part of Kafka that has the bug.
"""

from cluster_model.known_issues.consumers import CONSUMER_ISSUES
from cluster_model.known_issues.controllers import CONTROLLER_ISSUES
from cluster_model.known_issues.groups import GROUP_ISSUES
from cluster_model.known_issues.issue import EFFECTS, Effect, KnownIssue, UnmodelledIssue
from cluster_model.known_issues.logs import LOG_ISSUES
from cluster_model.known_issues.producers import PRODUCER_ISSUES
from cluster_model.known_issues.replication import REPLICATION_ISSUES
from cluster_model.known_issues.transactions import TRANSACTION_ISSUES
from cluster_model.known_issues.unmodelled import UNMODELLED

_TABLES = (
    CONSUMER_ISSUES,
    CONTROLLER_ISSUES,
    GROUP_ISSUES,
    LOG_ISSUES,
    PRODUCER_ISSUES,
    REPLICATION_ISSUES,
    TRANSACTION_ISSUES,
)

KNOWN_ISSUES = tuple(
    sorted((issue for table in _TABLES for issue in table), key=lambda each: int(each.number.partition("-")[2]))
)
"""All issues that the model reproduces, by number."""

__all__ = ["EFFECTS", "KNOWN_ISSUES", "UNMODELLED", "Effect", "KnownIssue", "UnmodelledIssue"]
