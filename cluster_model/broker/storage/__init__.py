"""A broker's disk, and its logs as a whole.

disk: speed, failures, and a write cache that loses confirmed writes.
log_manager: periodic tasks, checkpoints, clean and unclean starts, the cleaner thread and damaged batches.

It builds on broker.partition and log.
"""

__all__ = [
    "disk",
    "log_manager",
]
