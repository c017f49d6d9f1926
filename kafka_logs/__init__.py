"""Import of Kafka's own logs: metadata log and partition logs of real brokers become a recorded session.

segments: record batches of a log segment, with their records.
log_directory: copied log directories of nodes, and the checkpoint files in them.
metadata_records, metadata_log: the records of the metadata log, decoded.
metadata_history: the metadata log as events and leader epochs of partitions.
replica_logs: the logs of a partition's replicas, and where they diverge.

Builds on the wire formats of `gateway` and the session files of `playbooks`. It only reads files.
"""

__all__ = [
    "log_directory",
    "metadata_history",
    "metadata_log",
    "metadata_records",
    "replica_logs",
    "segments",
]
