"""The ledger of acknowledged records, and what became of each.

ledger: the ledger itself, and why records are lost or in doubt.
ack_evidence: acknowledged ranges, the ISR behind them, and what was exposed to consumers.
delivery_tracker: what each client was told; per_client: the ledger by client and partition.
consumption: what groups read, missed or read twice; duplicates: duplicates and reordering.
transaction_outcomes: transactions, held against the logs.
record_ranges: the fate of every record, as ranges.
"""

from cluster_model.checker.ledger.ack_evidence import RangeSet
from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.ledger.per_client import accounts
from cluster_model.checker.ledger.record_ranges import DELETED, HELD, LOST, RecordRange, Survey

__all__ = [
    "DELETED",
    "HELD",
    "LOST",
    "Ledger",
    "RangeSet",
    "RecordRange",
    "Survey",
    "accounts",
]
