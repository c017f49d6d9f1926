"""Known issues of transactions: coordinators, verification, markers, and producer state of leaders."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

TRANSACTION_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-6119",
        "A producer whose transaction timed out is not fenced, and opens a transaction that nobody ends",
        "availability",
        rule="keeps_epoch_at_timeout",
        seen="The last stable offset of a partition no longer advances: read_committed consumers stall.",
        workaround="Raise transaction.timeout.ms above the longest pause of a producer.",
    ),
    KnownIssue(
        "KAFKA-7190",
        "A leader forgets an idempotent producer whose records are all deleted, and rejects its next batch",
        "delivery",
        rule="forgets_deleted_producers",
        needs="an idempotent or transactional producer with a low rate, and short retention or DeleteRecords",
        seen="UNKNOWN_PRODUCER_ID and a retry; in 0.11 OUT_OF_ORDER_SEQUENCE_NUMBER, and the record fails.",
        workaround="Retain records for longer than the producer's longest pause.",
    ),
    KnownIssue(
        "KAFKA-7298",
        "After DeleteRecords in the middle of a transaction every later transaction of its producer fails",
        "availability",
        rule="unknown_after_marker",
        since=(1, 0, 0),
        until=(2, 0),
        needs="a transactional producer, and retention or DeleteRecords that removes all its records before a marker",
        seen="OUT_OF_ORDER_SEQUENCE_NUMBER for each first batch of a transaction, without an end.",
        workaround="Restart the producer: a new epoch begins with sequence number 0.",
    ),
    KnownIssue(
        "KAFKA-8803",
        "After the clock of its coordinator was set back a producer cannot begin a transaction any more",
        "availability",
        rule="start_time_never_falls",
        needs="a clock that is set back by more than the time between two transactions",
        seen="CONCURRENT_TRANSACTIONS for every request of a transactional.id, also from a new process.",
        workaround="Move the leadership of the partition of __transaction_state to another broker.",
    ),
    KnownIssue(
        "KAFKA-9144",
        "A leader forgets a transactional producer too early, as end markers do not count as its writes",
        "delivery",
        rule="markers_renew_nothing",
        needs="transactions, and pauses of a producer of about transactional.id.expiration.ms",
        seen="UNKNOWN_PRODUCER_ID; a late batch or marker of an older epoch is accepted, and a transaction hangs.",
        workaround="Raise transactional.id.expiration.ms.",
    ),
    KnownIssue(
        "KAFKA-14402",
        "A batch that arrives after the end of its transaction opens a transaction that nobody ends",
        "availability",
        rule="verifies_transactions",
        since=(0, 11),
        seen="The last stable offset of a partition no longer advances: read_committed consumers stall.",
        workaround="Find it with kafka-transactions.sh find-hanging and abort it, from 3.0 on.",
    ),
    KnownIssue(
        "KAFKA-16352",
        "A coordinator that loses its partition and gets it back forgets the markers that it waits for",
        "availability",
        rule="old_markers_cancel",
        seen="A transaction stays in PrepareCommit or PrepareAbort; CONCURRENT_TRANSACTIONS for its transactional id.",
        workaround="Move the leadership of the partition of __transaction_state to another broker.",
    ),
    KnownIssue(
        "KAFKA-19367",
        "A producer whose transaction timed out is fenced by its own coordinator and cannot continue",
        "availability",
        rule="fences_twice",
        needs="transaction.version 2",
        seen="ProducerFencedException without another process of that transactional.id, after a transaction timed out.",
        workaround="Make a new producer after the exception, or raise transaction.timeout.ms.",
        mode="kraft",
    ),
    KnownIssue(
        "KAFKA-9749",
        "A transaction never ends if the disk of a leader fails as it writes the end marker",
        "availability",
        rule="storage_errors_cancel",
        seen="A transaction stays in PrepareCommit or PrepareAbort; CONCURRENT_TRANSACTIONS for its transactional id.",
        workaround="Move the leadership of the partition of __transaction_state to another broker.",
    ),
)
