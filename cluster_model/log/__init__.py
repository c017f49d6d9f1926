"""The log of one replica.

replica_log: extents over shared batches, start and end, durable part, and the difference of two logs.
batch_store: batches as each leader wrote them, stored once per partition for all replicas.
segments, offset_index, transaction_index and leader_epoch_cache: the parts of a log as in Kafka.
log_cleaner: compaction and retention.
crash_recovery: what crashes leave of a log, and what the next start checks.
record_keys: the keys of records, with key pools and skew.

It builds on protocol and spec; it does not import brokers or leaders.
"""

from cluster_model.log.batch_store import BatchStore
from cluster_model.log.crash_recovery import TAILS, WRITTEN_BACK
from cluster_model.log.record_keys import keys_of

__all__ = [
    "TAILS",
    "WRITTEN_BACK",
    "BatchStore",
    "keys_of",
]
