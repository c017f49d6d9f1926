"""Known issues of logs: retention, compaction, configurations and what recovery finds."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

LOG_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-5634",
        "Retention deletes records above the high watermark, which no consumer could read yet",
        "durability",
        rule="retention_waits_hw",
        since=(0, 8, 2),
        seen="While followers are slow, the log of a partition starts above its high watermark: acknowledged records "
        "were never readable, and followers start again at the new log start.",
        workaround="Raise retention.bytes and retention.ms well above what followers may lag behind; use acks=all.",
    ),
)
