"""Findings: lost, duplicated, reordered or skipped records, each with its cause and the events that led to it.

findings: the Finding record and the cause codes; finding_text: sentences, and grouping of findings with one cause.
loss_chain: the cause of each loss, as far as the recorded events prove it, and its event chain.
delivery_findings: skipped, abandoned, duplicated or reordered records, and transactions with a wrong outcome.
report: all findings of a cluster.

It builds on checker.history and checker.ledger.
"""

from cluster_model.checker.root_cause.findings import (
    ABANDONED,
    ABORTED_COMMITTED,
    ACKED_ABORTED,
    BY_CODE,
    DUPLICATE,
    LAST_KNOWN_LEADER,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    UNCLEAN_ELECTION,
    UNEXPLAINED,
    UNREPLICATED_TAIL,
    ChainEvent,
    Finding,
    RecordBlock,
)
from cluster_model.checker.root_cause.loss_chain import branch_of

__all__ = [
    "ABANDONED",
    "ABORTED_COMMITTED",
    "ACKED_ABORTED",
    "BY_CODE",
    "DUPLICATE",
    "LAST_KNOWN_LEADER",
    "LOST",
    "MISSING",
    "REORDERED",
    "SKIPPED",
    "UNCLEAN_ELECTION",
    "UNEXPLAINED",
    "UNREPLICATED_TAIL",
    "ChainEvent",
    "Finding",
    "RecordBlock",
    "branch_of",
]
