"""The ledger of acknowledged records, and what became of each.

ledger: the ledger itself, and why records are lost or in doubt.
ack_evidence: acknowledged ranges, the ISR behind them, and what was exposed to consumers.
delivery_tracker: what clients were told of their records, and what of their transactions.
consumption: what groups read, missed or read twice; duplicates: duplicates and reordering.
ledger_report: the fate of every record, as ranges, and by client and partition.
"""

from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.ledger.ledger_report import DELETED, HELD, LOST, RecordRange, Survey, accounts

__all__ = [
    "DELETED",
    "HELD",
    "LOST",
    "Ledger",
    "RecordRange",
    "Survey",
    "accounts",
]
