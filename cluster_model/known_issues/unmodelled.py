"""Known issues that the model cannot express, each with the reason."""

from typing import Final

from cluster_model.known_issues.issue import UnmodelledIssue

UNMODELLED: Final = (
    UnmodelledIssue(
        "KAFKA-19012",
        "A producer returns the memory of a batch that is still being sent, and another batch overwrites it",
        affected="2.8-4.1.1",
        fixed="3.9.2, 4.0.2, 4.1.2, 4.2.0",
        reason="records have no bytes in memory that another thread could overwrite",
    ),
    UnmodelledIssue(
        "KAFKA-18723",
        "A leader truncates its log while a follower reads it, and the follower appends an inconsistent batch",
        affected="0.8.2-4.0.0",
        fixed="3.9.1, 4.0.1, 4.1.0",
        reason="a fetch is read at one point in time, and no other thread changes the log meanwhile",
    ),
    UnmodelledIssue(
        "KAFKA-19407",
        "Two threads load the last entry of a time index at once, and replication of the partition stops for good",
        affected="2.3-4.0.0",
        fixed="4.0.1, 4.1.0",
        reason="a log has no threads that race with its appends",
    ),
    UnmodelledIssue(
        "KAFKA-19383",
        "ClearElrRecord brings a topic back that was deleted in the same delta of the metadata image",
        affected="4.0.0",
        fixed="4.0.1, 4.1.0",
        reason="brokers apply metadata records one after the other, not as deltas of several batches",
    ),
    UnmodelledIssue(
        "KAFKA-19497",
        "A topic that is created and deleted in the same delta of the metadata image counts as created on brokers",
        affected="4.0-4.1",
        fixed="4.2.0",
        reason="brokers apply metadata records one after the other, not as deltas of several batches",
    ),
    UnmodelledIssue(
        "KAFKA-20247",
        "A controller does not repeat its registration after a timeout",
        affected="3.7-4.2.0",
        fixed="4.2.1, 4.3.0",
        reason="controllers do not register: the voters of a quorum are fixed",
    ),
    UnmodelledIssue(
        "KAFKA-5413",
        "The cleaner joins segments whose offsets are too far apart for one index, and its thread ends",
        affected="0.9-0.10.2.1",
        fixed="0.10.2.2, 0.11",
        reason="offsets in an index are not relative to the segment's base, and have no limit",
    ),
)
