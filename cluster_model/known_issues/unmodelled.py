"""Known issues that the model cannot express, each with the reason."""

from typing import Final

from cluster_model.known_issues.issue import UnmodelledIssue

UNMODELLED: Final = (
    UnmodelledIssue(
        "KAFKA-15653",
        "A verified transactional write uses the buffers of another request handler thread and fails",
        affected="3.6.0",
        fixed="3.6.1, 3.7.0",
        reason="request handler threads have no buffers that another thread could use at the same time",
    ),
    UnmodelledIssue(
        "KAFKA-9777",
        "A transaction whose markers are all written is not completed, as two threads miss each other",
        affected="0.11-2.5",
        fixed="2.6.0",
        reason="the threads of a coordinator have no locks that one of them could fail to get",
    ),
    UnmodelledIssue(
        "KAFKA-14417",
        "InitProducerId fails for good with REQUEST_TIMED_OUT while the controller allocates no producer ids",
        affected="3.0-3.3.1",
        fixed="3.3.2, 3.4.0",
        reason="brokers always have producer ids: the controller's part in their allocation is left out",
    ),
    UnmodelledIssue(
        "KAFKA-20090",
        "A transaction that times out at the last epoch of its producer id stays open after a late abort",
        affected="4.0-4.2",
        fixed="4.3.0",
        reason="a producer reaches epoch 32766 only after as many transactions, which no session runs",
    ),
    UnmodelledIssue(
        "KAFKA-20310",
        "A new transaction coordinator does not know the former or the next producer id of an exhausted one",
        affected="4.0-4.2",
        fixed="4.3.0",
        reason="a producer reaches epoch 32766 only after as many transactions, which no session runs",
    ),
    UnmodelledIssue(
        "KAFKA-20322",
        "In a rolling upgrade to 4.2.0 the markers of its coordinators are too new for older brokers",
        affected="4.2.0",
        fixed="4.2.1, 4.3.0",
        reason="all brokers of a cluster have one release",
    ),
    UnmodelledIssue(
        "KAFKA-19690",
        "A write that waits for its verification while its transaction times out fails with INVALID_TXN_STATE",
        affected="3.6-4.1.0",
        fixed="3.9.2, 4.0.2, 4.1.1",
        reason="leaders answer as theirs do (rule checks_epoch_first), but only the application makes the difference: "
        "Kafka Streams ends after InvalidTxnStateException; the model's applications abort and continue after both",
    ),
    UnmodelledIssue(
        "KAFKA-19012",
        "A producer returns the memory of a batch that is still being sent, and another batch overwrites it",
        affected="2.8-4.1.1",
        fixed="3.9.2, 4.0.2, 4.1.2, 4.2.0",
        reason="records have no bytes in memory that another thread could overwrite",
    ),
    UnmodelledIssue(
        "KAFKA-20634",
        "A group coordinator acknowledges commits over a log that was truncated when its broker became a follower",
        affected="4.0-4.3.0",
        fixed="4.3.1, 4.4.0",
        reason="a coordinator unloads as its broker becomes a follower, not later in a thread that may be busy",
    ),
    UnmodelledIssue(
        "KAFKA-19163",
        "A group that has only pending offsets of transactions is deleted when offsets expire",
        affected="4.0.0",
        fixed="4.0.1, 4.1.0",
        reason="the offsets remain, and a member that joins finds them; only consumers without a group notice, and "
        "the model has none that commit in transactions",
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
