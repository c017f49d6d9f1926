"""Findings: what went wrong, why, and which events led there.

findings: a finding and the codes of causes; finding_text: its sentences, and similar findings as one.
loss_chain: which cause of a loss the evidence bears out, and its chain of events.
delivery_findings: records that were skipped, duplicated or in a wrong transaction.
report: all findings of a cluster.

It builds on checker.history and checker.ledger.
"""

from cluster_model.checker.root_cause.findings import (
    ABANDONED,
    BY_CODE,
    DUPLICATE,
    LEAKED,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    UNDONE,
    ChainEvent,
    Finding,
    RecordBlock,
)
from cluster_model.checker.root_cause.loss_chain import lineage_of

__all__ = [
    "ABANDONED",
    "BY_CODE",
    "DUPLICATE",
    "LEAKED",
    "LOST",
    "MISSING",
    "REORDERED",
    "SKIPPED",
    "UNDONE",
    "ChainEvent",
    "Finding",
    "RecordBlock",
    "lineage_of",
]
