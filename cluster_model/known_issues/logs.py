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
    KnownIssue(
        "KAFKA-17584",
        "A dynamic change of any configuration of logs removes a retention time given in hours or minutes",
        "durability",
        rule="loses_units",
        needs="log.retention.hours or minutes, log.roll.hours or log.roll.jitter.hours in the broker's file",
        seen="After a dynamic change, such as of message.max.bytes, topics keep records for seven days: longer or "
        "shorter than configured, until the broker starts again without dynamic configurations of logs.",
        workaround="Set log.retention.ms and log.roll.ms, which have no coarser unit, or retention.ms of each topic.",
    ),
    KnownIssue(
        "KAFKA-10268",
        "A dynamic log.retention.ms that is deleted stays in effect until the broker restarts",
        "durability",
        rule="keeps_deleted_units",
        needs="a dynamic log.retention.ms or log.roll.ms that the broker's file does not set",
        seen="After --delete-config log.retention.ms the configuration is gone from descriptions, and records are "
        "still deleted after the short time that it had.",
        workaround="Set the former value in place of deleting it, or restart the brokers.",
    ),
    KnownIssue(
        "KAFKA-1755",
        "A record without a key in a compacted topic ends the log cleaner of the broker",
        "availability",
        rule="compaction_needs_keys",
        since=(0, 8, 2),
        needs="log.cleaner.enable true",
        seen="Compacted topics, __consumer_offsets among them, grow until the disk is full; the log of the cleaner has "
        "an unexpected exception.",
        workaround="Send records with keys only to compacted topics; delete the others by cleanup.policy delete.",
    ),
)
