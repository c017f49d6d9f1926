"""Import of Kafka's own logs: metadata log and partition logs of real brokers become a recorded session.

segments: record batches of a log segment, with their records.
log_directory: copied log directories of nodes, and the checkpoint files in them.
metadata_records, metadata_log: the records of the metadata log, decoded.
metadata_history: the metadata log as events and leader epochs of partitions.
replica_logs: the logs of a partition's replicas, and where they diverge.
client_history: acknowledgements of producers, from JSON lines.
losses: records that the leader's log lacks, and the election that decided it.
incident: all of these of one cluster.
session_events, cluster_views: an incident as trace events, and as views of the cluster.
summary: an incident as one JSON object.
session_writer: the files of the session.

Builds on the wire formats of `gateway` and the session files of `playbooks`. It reads files, and writes one session.
"""

__all__ = [
    "client_history",
    "incident",
    "log_directory",
    "metadata_history",
    "metadata_log",
    "metadata_records",
    "replica_logs",
    "segments",
    "session_writer",
    "summary",
]
