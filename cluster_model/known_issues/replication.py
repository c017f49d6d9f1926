"""Known issues of replication: fetchers, truncation, high watermarks and in-sync replicas."""

from typing import Final

from cluster_model.known_issues.issue import KnownIssue

REPLICATION_ISSUES: Final[tuple[KnownIssue, ...]] = (
    KnownIssue(
        "KAFKA-7128",
        "A follower that lacks committed records joins the ISR of a new leader whose high watermark is late",
        "durability",
        rule="isr_epoch_start",
        since=(0, 8, 2),
        seen="Two leader changes within seconds, the second one while a broker returns to the ISR: records that were "
        "acknowledged with acks=all are missing, and followers truncate them.",
        workaround="Move leaders and restart brokers only while no partition is under-replicated.",
    ),
    KnownIssue(
        "KAFKA-7415",
        "A leader that has written nothing in its epoch does not know it, and followers truncate committed records",
        "durability",
        rule="epoch_on_elect",
        since=(0, 11),
        seen="Two leader changes without a write in between: followers truncate to their high watermarks, and records "
        "that were acknowledged with acks=all are lost if one of them is elected next.",
        workaround="Leave time for replication between two leader changes, such as those of a rolling restart.",
    ),
    KnownIssue(
        "KAFKA-9338",
        "A leader does not fence the fetches of a session, so a follower with an old leader epoch counts as in sync",
        "durability",
        rule="session_epochs",
        since=(2, 1),
        seen="A broker that receives no metadata stays in the ISR of partitions that have a newer leader epoch, and "
        "nothing reports it. Records that it lacks can be lost if it is elected.",
        workaround="Set max.incremental.fetch.session.cache.slots to 0: without sessions every fetch is fenced.",
    ),
    KnownIssue(
        "KAFKA-1211",
        "A follower truncates its log to its high watermark, below committed records, and may be elected then",
        "durability",
        rule="epoch_truncation",
        since=(0, 8, 2),
        seen="After two broker failures within seconds, records that were acknowledged with acks=all are missing; the "
        "log of the broker that was restarted first is truncated.",
        workaround="Have three or more replicas and restart brokers one at a time, each after all are in sync.",
    ),
    KnownIssue(
        "KAFKA-6361",
        "After two fast leader changes the logs of leader and follower differ below the high watermark",
        "durability",
        rule="kip_279",
        since=(0, 11),
        seen="Consumers that read before and after a leader change get different records at one offset. Nothing is "
        "logged; a comparison of the replicas with kafka-replica-verification.sh shows it.",
        workaround="Use acks=all with min.insync.replicas of 2 or more, and let leaders stay for some seconds.",
    ),
    KnownIssue(
        "KAFKA-4384",
        "One corrupt batch stops a fetcher thread, and with it replication of all partitions that it fetches",
        "durability",
        rule="refetches_corrupt",
        since=(0, 8, 2),
        seen="Many partitions with the same leader are under-replicated at once, and stay so until the follower "
        "restarts; its log has an unexpected exception of ReplicaFetcherThread.",
        workaround="Restart the follower; set num.replica.fetchers higher, so that a thread has fewer partitions.",
    ),
    KnownIssue(
        "KAFKA-6051",
        "A fetcher thread without partitions waits for its last response, and delays fetching from that broker again",
        "availability",
        rule="quits_waiting",
        since=(0, 9),
        seen="After a broker failure and a leader election some seconds later, producers with acks=all get no "
        "acknowledgement for up to 30 s, though all brokers are up.",
        workaround="Lower replica.socket.timeout.ms; run preferred elections a minute after a failure, not at once.",
    ),
    KnownIssue(
        "KAFKA-7786",
        "A late FENCED_LEADER_EPOCH of the former leader epoch ends replication of a partition",
        "availability",
        rule="applies_old_responses",
        seen="After two leader changes in quick succession a follower does not fetch a partition any more, and leaves "
        "the ISR until the next leader change; its log says that it awaits the new LeaderAndIsr state.",
        workaround="Run a preferred election or restart the follower: a new leader epoch starts fetching again.",
    ),
    KnownIssue(
        "KAFKA-14334",
        "Consumers that read from a follower get new records only after fetch.max.wait.ms",
        "delivery",
        rule="completes_follower_reads",
        since=(2, 4),
        needs="replica.selector.class RackAwareReplicaSelector, and client.rack at consumers",
        seen="End-to-end latency is up to 500 ms for consumers that read from a follower, and some ms for others.",
        workaround="Lower fetch.max.wait.ms of these consumers.",
    ),
)
