"""Known issues of producers: batches, retries, partitioners, and what they do with errors."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

PRODUCER_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-2246",
        "A producer keeps sending to a broker that has given its replica away",
        "availability",
        rule="unknown_topic_is_stale",
        since=(0, 8, 2),
        seen="UNKNOWN_TOPIC_OR_PARTITION after a reassignment, until metadata.max.age.ms has passed.",
        workaround="Lower metadata.max.age.ms while partitions move, and allow enough retries.",
    ),
    KnownIssue(
        "KAFKA-3197",
        "With one request in flight a retry is written after later records once the leader has changed",
        "order",
        rule="sends_past_in_flight",
        needs="max.in.flight.requests.per.connection 1, and retries",
        seen="Records of a partition out of order after its leader changed.",
        workaround="None: without retries the records are lost instead.",
    ),
    KnownIssue(
        "KAFKA-9279",
        "A transaction commits without a record that send rejected",
        "delivery",
        rule="commits_without_record",
        needs="an application that ignores the callback and the future of a record",
        seen="Records are missing in committed transactions; nothing in the log of the brokers.",
        workaround="Abort a transaction after the error of any of its records.",
    ),
    KnownIssue(
        "KAFKA-10888",
        "A producer without keys sends most records to the slowest broker",
        "delivery",
        rule="built_in_partitioner",
        since=(2, 4, 0),
        needs="records without keys, and the default partitioner",
        seen="The partitions of one broker grow fastest, and their records are late.",
        workaround="Set linger.ms, so that batches of all partitions become full; or use a partitioner of your own.",
    ),
    KnownIssue(
        "KAFKA-12257",
        "A client never finds the leader of a topic that was deleted and created again",
        "availability",
        rule="misses_recreated_topics",
        seen="NOT_LEADER_OR_FOLLOWER or UNKNOWN_TOPIC_OR_PARTITION without end for a topic that is healthy.",
        workaround="Restart the clients of a topic that is created again.",
    ),
    KnownIssue(
        "KAFKA-13488",
        "A client never finds a topic again whose deletion it has seen",
        "availability",
        rule="keeps_deleted_epochs",
        seen="send blocks and records expire, as if the topic did not exist.",
        workaround="Restart the clients of a topic that is created again.",
    ),
    KnownIssue(
        "KAFKA-13598",
        "A producer with default settings is not idempotent although enable.idempotence is documented as true",
        "delivery",
        rule="idempotent_by_default",
        since=(3, 0, 0),
        seen="Retried batches are in the log twice; enable.idempotence is true in the producer's log.",
        workaround="Set enable.idempotence=true.",
    ),
    KnownIssue(
        "KAFKA-17632",
        "RoundRobinPartitioner skips every other partition when each record begins a new batch",
        "delivery",
        rule="round_robin_two_turns",
        needs="partitioner.class RoundRobinPartitioner, an even number of partitions, and seldom records",
        seen="Half of the partitions receive no records, the others twice their share.",
        workaround="Use an odd number of partitions, or a partitioner of your own.",
    ),
    KnownIssue(
        "KAFKA-18019",
        "A fenced producer whose transactional id has expired gets a new epoch and continues",
        "delivery",
        rule="recovers_expired_id",
        needs="a transactional producer that is idle for longer than transactional.id.expiration.ms",
        seen="INVALID_PRODUCER_ID_MAPPING aborts a transaction, and a process that was replaced writes again.",
        workaround="Close a producer after InvalidPidMappingException and make a new one.",
    ),
)
