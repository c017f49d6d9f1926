"""The transaction coordinator of a broker.

transaction_coordinator: the requests it handles, including descriptions of transactions, and its settings.
transaction_state_manager: all ids of a coordinator, loaded from __transaction_state, each with its state and records.
txn_markers: transaction markers, sent to and written by partition leaders.
transaction_verification: a leader's check of a transaction before its first write (KIP-890).
transactions_tool: the tables and hanging transactions of kafka-transactions.sh.
"""

from cluster_model.coordinators.transaction.transactions_tool import (
    OpenTransaction,
    abort_marker,
    candidates,
    hanging,
    hanging_table,
    list_table,
    open_at,
    producer_table,
)

__all__ = [
    "OpenTransaction",
    "abort_marker",
    "candidates",
    "hanging",
    "hanging_table",
    "list_table",
    "open_at",
    "producer_table",
]
