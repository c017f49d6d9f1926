"""Known issues of replicas: fetchers, truncation, high watermarks and in-sync replicas; retention and compaction."""

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
    KnownIssue(
        "KAFKA-7414",
        "A follower that is ahead of its leader ends its whole broker process",
        "availability",
        rule="exits_out_of_range",
        needs="unclean.leader.election.enable false",
        seen="Brokers exit soon after they start, again and again; their logs say that log truncation is not allowed "
        "for a partition, as the leader's latest offset is less than the replica's.",
        workaround="Allow unclean leader election for that topic until the broker has started, and accept the loss.",
    ),
    KnownIssue(
        "KAFKA-7164",
        "A follower that missed a leader epoch does not truncate, because its leader is the same",
        "durability",
        rule="restarts_after_missed_epochs",
        since=(0, 9),
        seen="Replicas of a partition have different records at one offset after leader changes while a broker "
        "received no metadata. Nothing is logged; kafka-replica-verification.sh shows it.",
        workaround="Restart brokers that were cut off from the controller while leaders changed.",
    ),
    KnownIssue(
        "KAFKA-10706",
        "After fast leader changes a follower asks for the end of an empty leader epoch without end",
        "availability",
        rule="keeps_empty_epochs",
        seen="A follower is out of sync until it restarts or the leader changes, without any error; its log repeats "
        "that it truncates to an offset and that this has no effect.",
        workaround="Move the leader once more; or stop the follower, and delete leader-epoch-checkpoint of the "
        "partition.",
    ),
    KnownIssue(
        "KAFKA-13141",
        "A leader counts the fetch of a diverging follower, and acknowledges records that only it has",
        "durability",
        rule="counts_diverging_fetches",
        seen="Two leader changes within seconds: records that were acknowledged with acks=all are missing, and the "
        "former leader truncates them.",
        workaround="Have three or more replicas and leave time for replication between two leader changes.",
    ),
    KnownIssue(
        "KAFKA-13091",
        "After the ISR has shrunk to the leader its last records stay uncommitted",
        "delivery",
        rule="keeps_hw_at_shrink",
        seen="The last records before a pause of a producer with acks=all time out while its leader is the only "
        "in-sync replica, and consumers do not get them; the next record completes them.",
        workaround="Set min.insync.replicas to 2 or more: then such a leader accepts no records.",
    ),
    KnownIssue(
        "KAFKA-7152",
        "A follower that has every record leaves the ISR of an idle partition",
        "availability",
        rule="leo_is_in_sync",
        since=(0, 9),
        seen="ISRs of idle partitions shrink and expand while a broker is slow, and producers with acks=all get "
        "NOT_ENOUGH_REPLICAS from them.",
        workaround="Raise replica.lag.time.max.ms well above replica.fetch.wait.max.ms and the longest pause.",
    ),
    KnownIssue(
        "KAFKA-4485",
        "A follower that is a moment behind all the time leaves the ISR",
        "availability",
        rule="caught_up_previous",
        since=(0, 9),
        seen="ISRs of busy partitions shrink and expand all the time, though followers fetch everything; producers "
        "with acks=all get NOT_ENOUGH_REPLICAS from time to time.",
        workaround="Raise replica.lag.time.max.ms, and replica.fetch.max.bytes so that a fetch can reach the end.",
    ),
    KnownIssue(
        "KAFKA-5758",
        "A fetch that names one partition too many fails for all partitions, such as during a reassignment",
        "availability",
        rule="fails_whole_fetches",
        seen="During a reassignment many partitions of one pair of brokers are under-replicated; the leader logs that "
        "it failed to record a follower's position, as that is not one of the assigned replicas.",
        workaround="Restart the broker that gave its replica away; move few partitions at a time.",
    ),
    KnownIssue(
        "KAFKA-14139",
        "A broker with a new, empty disk joins the ISR by a fetch from before",
        "durability",
        rule="fetch_broker_epoch",
        since=(0, 8, 2),
        seen="A broker starts with an empty disk and is in the ISR at once. If it is elected, all other replicas "
        "truncate their logs to nothing.",
        workaround="Start a broker with an empty disk only once the controller has removed it from all ISRs.",
    ),
    KnownIssue(
        "KAFKA-2334",
        "A new leader answers a request for the latest offset with one that consumers have read past",
        "delivery",
        rule="offset_not_available",
        since=(0, 8, 2),
        seen="After a leader change consumers that reset to the latest offset read some records a second time, and "
        "reported offsets and lags go back for a moment.",
        workaround="Reset and look up offsets only while no leader changes; process records idempotently.",
    ),
    # Logs.
    KnownIssue(
        "KAFKA-7215",
        "One batch that the log cleaner cannot read ends its thread, and no log is cleaned any more",
        "availability",
        rule="uncleanable_partitions",
        since=(0, 8, 2),
        needs="log.cleaner.enable true",
        seen="Compacted topics, __consumer_offsets among them, grow until the disk is full, and starts take long; the "
        "log of the cleaner ends with an error.",
        workaround="Move the damaged replica away and restart the broker, which starts the cleaner again.",
    ),
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
    KnownIssue(
        "KAFKA-8522",
        "Tombstones of a small compacted topic are never removed",
        "delivery",
        rule="delete_horizon",
        since=(0, 8, 2),
        needs="records in the topic all the time, so that the cleaner runs again and again",
        seen="A compacted topic keeps the tombstones of all keys that were ever deleted, however short "
        "delete.retention.ms is: it grows, and consumers that start at its beginning read them all.",
        workaround="Raise min.cleanable.dirty.ratio, so that a log is cleaned less often than delete.retention.ms.",
    ),
    KnownIssue(
        "KAFKA-9254",
        "The second dynamic change of a broker configuration removes the configurations of topics",
        "durability",
        rule="loses_topic_overrides",
        needs="configurations of topics, and dynamic ones of brokers, such as message.max.bytes",
        seen="Topics with a long retention of their own lose records, and compacted ones are deleted by age; "
        "kafka-configs.sh shows their configurations all the same.",
        workaround="Set a configuration of each topic again after a dynamic change, or restart the brokers.",
    ),
    KnownIssue(
        "KAFKA-13194",
        "The log cleaner removes committed records in favour of uncommitted ones, which are truncated",
        "durability",
        rule="cleans_committed",
        since=(0, 8, 2),
        needs="small segments, so that the high watermark is not in the active one",
        seen="After leader changes a compacted topic lacks keys, though their records were acknowledged with acks=all "
        "and never deleted.",
        workaround="Set min.compaction.lag.ms well above the time that followers may lag behind; use acks=all.",
    ),
)
