"""Known issues: public bugs of released Kafkas, each a rule of the model, with what is seen and what helps.

issue: the types, and which releases an issue affects; table: all issues by number.
controllers, groups, producers, replication, transactions: the issues of each part of Kafka.
unmodelled: issues that the model cannot express, with the reason.
"""

from cluster_model.known_issues.groups import GROUP_ISSUES
from cluster_model.known_issues.issue import EFFECTS, Effect, KnownIssue, UnmodelledIssue
from cluster_model.known_issues.table import KNOWN_ISSUES
from cluster_model.known_issues.unmodelled import UNMODELLED

__all__ = ["EFFECTS", "GROUP_ISSUES", "KNOWN_ISSUES", "UNMODELLED", "Effect", "KnownIssue", "UnmodelledIssue"]
