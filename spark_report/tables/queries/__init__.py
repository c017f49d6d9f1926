"""Queries over the events of sessions: DataFrames in, DataFrames out, built-ins of Spark only.

timeline: rows at one point in time, intervals between them, partition states and active faults;
  the others' base.
progress: counts, ledger and throughput; high watermarks, consumer positions, and stalls of the high watermark.
availability: service per partition and client, time with too few in-sync replicas.
fault_effects: what each fault brought about, and recovery from it; its walk goes to executors by value.
alerts: what Kafka's own metrics would have shown, and when an alert on them would have fired.
clients: producers, groups and members, errors by name, consumer lag and rebalances.
latency: produce latencies by client, phase, fault and bin of time.
weighted_percentiles: exact percentiles on Arrow batches; goes to executors by value, so it
  imports no floodmark.
"""

__all__ = [
    "alerts",
    "availability",
    "clients",
    "fault_effects",
    "latency",
    "progress",
    "timeline",
]
