"""The ledger of acknowledged records, and the outcome of each.

ledger: the ledger itself, and the causes of missing and lost records.
ack_evidence: acknowledged ranges, their ISR, and records exposed to consumers.
delivery_tracker: outcomes of records and transactions as clients received them.
consumption: records that groups read, reread or skipped; duplicates: duplicates and reordering.
ledger_report: the outcome of every record, as ranges, and by client and partition.
"""

from cluster_model.checker.ledger.ledger import Ledger
from cluster_model.checker.ledger.ledger_report import (
    DELETED,
    HELD,
    LOST,
    RecordLocations,
    RecordRange,
    client_partition_outcomes,
)

__all__ = [
    "DELETED",
    "HELD",
    "LOST",
    "Ledger",
    "RecordLocations",
    "RecordRange",
    "client_partition_outcomes",
]
