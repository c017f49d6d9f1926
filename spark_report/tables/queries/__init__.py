"""Queries over the events of sessions, from DataFrames to DataFrames, mostly with Spark's built-ins.

timeline: rows at one point in time, intervals between them, partition states and active faults; base of the others.
progress: counts, ledger and throughput; high watermarks, consumer positions, and stalls of the high watermark.
availability: availability per partition and client, time with too few in-sync replicas.
fault_effects: effects of each fault, and recovery times; plain Python that is sent to executors by value.
alerts: alerts on Kafka's own metrics.
clients: producers, groups and members, errors by name, consumer lag and rebalances.
latency: produce and end-to-end latencies by client, phase, fault and time bin.
weighted_percentiles: exact percentiles on Arrow batches; it is sent to executors by value, so it imports no floodmark.
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
