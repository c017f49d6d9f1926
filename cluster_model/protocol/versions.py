"""Kafka releases and the protocol rules that each of them follows.

One implementation reproduces every release, switched by flags: the rules of a table that hold in it. The inter-broker
protocol version is that of the release. There are two tables: :data:`FLAGS` applies to brokers and controllers by the
release of the cluster, :data:`CLIENT_FLAGS` to clients and tools by their own release.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal

from cluster_model.protocol.errors import ConfigConflictError, ModelError
from cluster_model.protocol.releases import (
    RELEASE_LINES,
    RELEASES,
    ReleaseRule,
    Version,
    is_within,
    line_of,
    name_of,
    number_of,
    unknown_hint,
)

Mode = Literal["zookeeper", "kraft"]


FLAGS: Final = (
    ReleaseRule(
        "lag_messages", "ISR also shrinks by replica.lag.max.messages (dropped by KIP-16)", (0, 8, 2), (0, 8, 2)
    ),
    ReleaseRule("shrink_half", "the ISR shrink task runs every replica.lag.time.max.ms / 2", (0, 10, 2)),
    ReleaseRule(
        "caught_up_previous",
        "a follower that reached the leader's LEO of the previous fetch counts as caught up (KAFKA-4485)",
        (0, 10, 2),
    ),
    ReleaseRule("hw_waits_caught_up", "the HW also waits for caught-up replicas outside the ISR", (0, 10, 2)),
    ReleaseRule("throttles", "replication of chosen replicas can be throttled to a rate (KIP-73)", (0, 10, 1)),
    ReleaseRule(
        "exits_out_of_range",
        "a broker exits instead of truncating an out-of-range log where unclean election is off (until KAFKA-7414)",
        (0, 8, 2),
        (2, 0, 0),
    ),
    ReleaseRule(
        "epoch_truncation",
        "followers truncate by OffsetsForLeaderEpoch, not by their HW (KAFKA-1211, KIP-101)",
        (0, 11),
    ),
    ReleaseRule(
        "isr_epoch_start",
        "joining the ISR needs the start offset of the leader's epoch (KAFKA-7128)",
        (2, 0, 1),
    ),
    ReleaseRule(
        "epoch_on_elect",
        "a new leader adds (epoch, LEO) to its epoch cache when elected (KAFKA-7415)",
        (2, 0, 1),
    ),
    ReleaseRule(
        "unknown_without_replica",
        "a broker without a replica answers UNKNOWN_TOPIC_OR_PARTITION for a partition it knows (until KAFKA-6796)",
        (0, 8, 2),
        (1, 1),
    ),
    ReleaseRule("fetch_sessions", "incremental fetch sessions: fetches carry only what changed (KIP-227)", (1, 1, 0)),
    ReleaseRule(
        "kip_279",
        "OffsetsForLeaderEpoch returns the epoch found, and the follower repeats the request (KAFKA-6361, KIP-279)",
        (2, 0, 0),
    ),
    ReleaseRule("kip_320", "requests carry the current leader epoch and are fenced by it (KIP-320)", (2, 1, 0)),
    ReleaseRule(
        "applies_old_responses",
        "a response about an older leader epoch counts for the current one (until KAFKA-7786)",
        (2, 1, 0),
        (2, 1, 0),
    ),
    ReleaseRule(
        "fails_whole_fetches",
        "a follower's fetch fails for all its partitions if it has no replica of one of them (until KAFKA-5758)",
        (0, 8, 2),
        (0, 11),
    ),
    ReleaseRule(
        "restarts_after_missed_epochs",
        "a follower that missed a leader epoch truncates, even if the leader is the same (KAFKA-7164)",
        (2, 0, 1),
    ),
    ReleaseRule(
        "keeps_empty_epochs",
        "a follower that need not truncate its log keeps leader epochs at its end that its leader lacks (until "
        "KAFKA-10706)",
        (2, 0, 1),
        (2, 6, 0),
    ),
    ReleaseRule(
        "counts_diverging_fetches",
        "a leader takes the offset of a diverging fetch for the follower's LEO (until KAFKA-13141)",
        (2, 7, 0),
        (2, 8, 0),
        fixes=((2, 7, 2),),
    ),
    ReleaseRule(
        "session_epochs", "fetch sessions keep the leader epoch of a partition, and are fenced (KAFKA-9338)", (2, 5, 0)
    ),
    ReleaseRule(
        "bounce_detected",
        "the controller detects a quick broker restart by its broker epoch (KAFKA-1120, KIP-380)",
        (2, 2, 0),
    ),
    ReleaseRule(
        "leo_is_in_sync",
        "a follower at the leader's LEO is in sync however long ago it fetched (KAFKA-7152)",
        (2, 1, 0),
    ),
    ReleaseRule("hw_push", "a follower's delayed fetch is completed when the HW moves", (2, 4, 0), (2, 5)),
    ReleaseRule("reads_from_followers", "consumers may read from followers (KIP-392)", (2, 4, 0)),
    ReleaseRule(
        "reads_lagging_followers",
        "consumers are sent to followers in their rack also outside the ISR (until KAFKA-14372)",
        (2, 4, 0),
        (3, 3, 1),
    ),
    ReleaseRule(
        "completes_follower_reads",
        "a follower completes consumers' delayed fetches as its HW rises (KAFKA-14334)",
        (3, 4, 0),
        backports=((3, 3, 2),),
    ),
    ReleaseRule(
        "diverging_fetch",
        "Fetch carries the last fetched epoch, and the response reports a divergence (KIP-595)",
        (2, 7, 0),
    ),
    ReleaseRule(
        "alter_partition",
        "leaders send ISR changes to the controller and use the maximal ISR until it answers (KIP-497)",
        (2, 7, 0),
    ),
    ReleaseRule(
        "keeps_hw_at_shrink",
        "the HW waits for another fetch or append after the controller has confirmed a smaller ISR (until KAFKA-13091)",
        (2, 7, 0),
        (3, 0),
    ),
    ReleaseRule(
        "recovery_state", "an uncleanly elected leader counts as recovering until it reports (KIP-704)", (3, 2, 0)
    ),
    ReleaseRule("eligible_isr", "fenced brokers and brokers in shutdown may not join the ISR (KIP-841)", (3, 3, 0)),
    ReleaseRule(
        "leo_max_at_fetch", "a fetch never lowers the leader LEO remembered from the previous fetch", (3, 3, 0)
    ),
    ReleaseRule("caught_up_at_leo", "a replica at the leader's LEO counts as caught up for the HW", (3, 3, 0)),
    ReleaseRule("fetch_broker_epoch", "Fetch and AlterPartition carry broker epochs (KAFKA-14139, KIP-903)", (3, 5, 0)),
    ReleaseRule(
        "no_bump_on_shrink", "in KRaft mode an ISR shrink does not raise the leader epoch (KAFKA-15021)", (3, 6, 0)
    ),
    ReleaseRule(
        "adding_completes",
        "in KRaft mode a reassignment completes once the added replicas are in sync (until KAFKA-15665)",
        (3, 3, 0),
        (3, 7),
    ),
    ReleaseRule(
        "reassign_by_adding",
        "in KRaft mode a reassignment that does not reduce the replication factor completes once the added replicas "
        "are in sync (KAFKA-19975)",
        (4, 3, 0),
    ),
    ReleaseRule(
        "fenced_last_known",
        "KIP-966: the last known leader is elected even while it is fenced (until KAFKA-19522)",
        (4, 0, 0),
        (4, 0),
    ),
    ReleaseRule("hw_needs_min_isr", "the HW does not advance while the ISR is below min.insync.replicas", (3, 7, 0)),
    ReleaseRule("effective_min_isr", "min.insync.replicas counts as at most the replication factor", (3, 7, 0)),
    ReleaseRule(
        "elr", "replicas that left an ISR below min.insync.replicas stay eligible to lead (KIP-966)", (4, 1, 0)
    ),
    ReleaseRule(
        "offset_not_available",
        "no latest offset while the HW is below the start of its epoch (KAFKA-2334, KIP-207)",
        (2, 2, 0),
    ),
    ReleaseRule(
        "delete_horizon",
        "delete.retention.ms of a tombstone counts from the first cleaning that kept it (KAFKA-8522, KIP-534)",
        (3, 1, 0),
    ),
    ReleaseRule(
        "cleans_committed",
        "the log cleaner cleans no segment above the HW (KAFKA-13194)",
        (3, 1, 0),
    ),
    ReleaseRule(
        "check_quorum", "a KRaft leader without fetches from a majority of the quorum resigns (KAFKA-15489)", (3, 7, 0)
    ),
    ReleaseRule("pre_vote", "a KRaft voter requests pre-votes before it raises the epoch (KIP-996)", (4, 0, 0)),
    ReleaseRule(
        "quorum_hw_push", "a quorum leader completes delayed fetches as its high watermark rises (KIP-1166)", (4, 1, 0)
    ),
    ReleaseRule(
        "election_waits_out",
        "a KRaft candidate that lost waits for the end of its election timeout, without a backoff (KAFKA-18345)",
        (4, 1, 0),
    ),
    ReleaseRule(
        "election_jitters",
        "the longest backoff of a KRaft candidate that lost has a jitter of up to 50 ms (KAFKA-18345)",
        (4, 0, 1),
        backports=((3, 9, 2),),
    ),
    ReleaseRule(
        "heartbeat_retry_flat",
        "in KRaft mode a failed registration or heartbeat is repeated after broker.heartbeat.interval.ms, and waits no "
        "longer for a response (KAFKA-19294)",
        (4, 1, 0),
        backports=((3, 9, 2), (4, 0, 1)),
    ),
    ReleaseRule(
        "leads_until_stopped",
        "in KRaft mode a broker in controlled shutdown keeps leading partitions that have another leader (until "
        "KAFKA-14296)",
        (3, 3, 0),
        (3, 3, 1),
    ),
    ReleaseRule(
        "heartbeat_backoff_halved",
        "in KRaft mode the backoff of a failed heartbeat grows to half the session timeout, not to all of it",
        (4, 0, 0),
    ),
    ReleaseRule(
        "quits_waiting",
        "a fetcher with no partition left to fetch does not wait for its response (KAFKA-6051)",
        (1, 1, 0),
    ),
    ReleaseRule("dynamic_config", "some broker settings may change while the broker runs (KIP-226)", (1, 1, 0)),
    ReleaseRule(
        "keeps_deleted_units",
        "a deleted dynamic configuration such as log.retention.ms stays in effect (until KAFKA-10268)",
        (1, 1, 0),
        (2, 5),
    ),
    ReleaseRule(
        "loses_units",
        "a dynamic change of a configuration of logs removes retention and roll times in coarser units (until "
        "KAFKA-17584)",
        (2, 6, 0),
        (3, 8, 0),
        fixes=((3, 7, 2),),
    ),
    ReleaseRule(
        "loses_topic_overrides",
        "a second dynamic change of configurations of logs removes those of topics (until KAFKA-9254)",
        (1, 1, 0),
        (2, 4, 0),
    ),
    ReleaseRule(
        "strays_hide_new_replicas",
        "in KRaft mode a starting broker deletes the logs of a deleted topic only after it has applied the metadata, "
        "and has no replicas of a new topic of that name (until KAFKA-14616)",
        (3, 3, 0),
        (3, 6),
    ),
    ReleaseRule("topic_ids", "topic ids distinguish a recreated topic from the deleted one (KIP-516)", (2, 8, 0)),
    ReleaseRule(
        "refuses_collisions",
        "a topic whose name differs from that of another only in '.' and '_' is rejected (KAFKA-2337)",
        (0, 9),
    ),
    ReleaseRule(
        "keeps_freed_names",
        "in KRaft mode the name of a deleted topic with a dot stays reserved, and using it again makes the controller "
        "resign (until KAFKA-14337)",
        (3, 3, 0),
        (3, 3, 1),
    ),
    ReleaseRule(
        "bounds_operations",
        "a KRaft controller rejects a request of more than 10,000 records, and does not resign (KAFKA-14996)",
        (3, 5, 0),
    ),
    ReleaseRule("group_membership", "consumer groups have members, which join and sync with the coordinator", (0, 9)),
    ReleaseRule(
        "passes_too_few_replicas",
        "clients get NOT_ENOUGH_REPLICAS of __consumer_offsets, which they do not expect (until KAFKA-3590)",
        (0, 9),
        (0, 10, 0),
    ),
    ReleaseRule(
        "rebalance_timeout", "a member has a rebalance timeout apart from its session timeout (KIP-62)", (0, 10, 1)
    ),
    ReleaseRule("delete_groups", "an administrator may delete groups (KIP-229)", (1, 1, 0)),
    ReleaseRule(
        "group_retention",
        "offsets expire by the state of their group, not only by the age of the commit (KIP-211, KAFKA-4682)",
        (2, 1, 0),
    ),
    ReleaseRule(
        "expires_in_rebalance",
        "commits expire during a rebalance by the subscriptions of the generation before it (until KAFKA-13636)",
        (2, 4, 0),
        (3, 1, 0),
        fixes=((2, 8, 2), (3, 0, 1)),
    ),
    ReleaseRule("member_id_required", "a new member first receives an id, then joins with it (KIP-394)", (2, 2, 0)),
    ReleaseRule(
        "forgets_new_sessions",
        "the session of a new member begins only with its first sync or heartbeat (until KAFKA-9752)",
        (2, 4, 1),
        (2, 4, 1),
    ),
    ReleaseRule(
        "times_out_new_members",
        "a new member whose first join has waited for five minutes is removed (KAFKA-7610)",
        (2, 2, 0),
        backports=((2, 1, 1),),
    ),
    ReleaseRule("static_members", "members may have instance ids that outlive their process (KIP-345)", (2, 3, 0)),
    ReleaseRule(
        "forgets_static_rejoins",
        "the new member id of a static member that returns to a Stable group is not stored (until KAFKA-10284)",
        (2, 3, 0),
        (2, 6, 0),
    ),
    ReleaseRule(
        "completes_without_rejoined",
        "a static member that returns before the assignment is synced starts no rebalance (until KAFKA-9801)",
        (2, 3, 0),
        (2, 4),
    ),
    ReleaseRule("offset_delete", "an administrator may delete offsets, and remove several members at once", (2, 4, 0)),
    ReleaseRule(
        "stable_offsets", "OffsetFetch may require stable offsets: none pending in a transaction (KIP-447)", (2, 5, 0)
    ),
    ReleaseRule(
        "sync_timeout",
        "members that joined and do not sync within the rebalance timeout are removed (KAFKA-12890)",
        (3, 0, 0),
        backports=((2, 8, 1),),
    ),
    ReleaseRule(
        "skip_assignment", "a returning static leader may skip the assignment (SkipAssignment, KIP-814)", (3, 2, 0)
    ),
    ReleaseRule("consumer_protocol", "groups may use the consumer protocol, in KRaft mode (KIP-848)", (3, 7, 0)),
    ReleaseRule(
        "server_patterns",
        "consumer protocol: the coordinator matches topic patterns, and members generate their own ids",
        (4, 0, 0),
    ),
    ReleaseRule(
        "assignment_epochs",
        "consumer protocol: a commit needs the epoch in which the member got the partition, or a later one (KIP-1251)",
        (4, 3, 0),
    ),
    ReleaseRule(
        "fences_rejoins",
        "consumer protocol: a known member that joins again is fenced until its session ends (until KAFKA-19233)",
        (3, 7, 0),
        (4, 1),
    ),
    ReleaseRule(
        "revokes_in_epoch",
        "consumer protocol: a member that has to revoke more partitions after others keeps its epoch (KAFKA-19974)",
        (4, 2, 0),
    ),
    ReleaseRule(
        "assignment_interval",
        "consumer protocol: a group has a new target assignment only after group.consumer.assignment.interval.ms "
        "(KIP-1263)",
        (4, 3, 0),
    ),
    ReleaseRule(
        "first_assignment_epoch",
        "consumer protocol: a new group has epoch 1 without an assignment, and its first one has epoch 2 (KAFKA-20268)",
        (4, 3, 0),
    ),
    ReleaseRule(
        "assigns_by_new_assignor",
        "consumer protocol: a group has a new target assignment when its preferred assignor changes (KAFKA-20434)",
        (4, 4, 0),
    ),
    ReleaseRule(
        "empty_group_epoch",
        "consumer protocol: the assignment epoch follows that of the group when its last member leaves (KAFKA-20442)",
        (4, 4, 0),
    ),
    ReleaseRule("transactions", "producers may write to several partitions atomically (KIP-98)", (0, 11)),
    ReleaseRule(
        "keeps_epoch_at_timeout",
        "a transaction that times out is aborted with the epoch of its producer (until KAFKA-6119)",
        (0, 11),
        (0, 11, 0, 1),
    ),
    ReleaseRule(
        "start_time_never_falls",
        "a transaction that starts before the last one, by its coordinator's clock, stays pending (until KAFKA-8803)",
        (0, 11),
        (2, 4),
    ),
    ReleaseRule(
        "storage_errors_cancel",
        "a coordinator does not send markers again that a leader answered with KAFKA_STORAGE_ERROR (until KAFKA-9749)",
        (1, 0, 0),
        (2, 4),
    ),
    ReleaseRule(
        "old_markers_cancel",
        "the outcome of a former coordinator epoch's markers cancels those of the current one (until KAFKA-16352)",
        (0, 11),
        (3, 7),
    ),
    ReleaseRule(
        "verifies_transactions",
        "leaders verify that a partition is part of the transaction (KIP-890, KAFKA-14402)",
        (3, 6, 0),
    ),
    ReleaseRule(
        "rejects_old_epoch",
        "a transactional write of an older epoch is INVALID_PRODUCER_EPOCH without verification (KAFKA-18042)",
        (4, 1, 0),
    ),
    ReleaseRule(
        "checks_epoch_first",
        "a write whose verification a marker of a newer epoch ended is INVALID_PRODUCER_EPOCH, not INVALID_TXN_STATE "
        "(KAFKA-19690)",
        (4, 1, 1),
        backports=((3, 9, 2), (4, 0, 2)),
    ),
    ReleaseRule(
        "transactions_v2",
        "each transaction has its own epoch, and a write adds its partition to the transaction (KIP-890)",
        (4, 0, 0),
    ),
    ReleaseRule(
        "fences_twice",
        "in version 2 of transactions, an abort in place of the producer raises the epoch twice (until KAFKA-19367)",
        (4, 0, 0),
        (4, 0, 0),
    ),
    ReleaseRule(
        "strict_markers",
        "the marker of a transaction of version 2 needs a newer epoch than the open transaction (KIP-1228)",
        (4, 2, 0),
    ),
    ReleaseRule(
        "asks_marker_versions",
        "a coordinator asks each leader which versions of WriteTxnMarkers it supports (KAFKA-20322)",
        (4, 2, 1),
    ),
    ReleaseRule("transaction_tools", "brokers describe and list transactions (KIP-664)", (3, 0, 0)),
    ReleaseRule(
        "leader_hints", "a broker that is not the leader answers with the current leader and epoch (KIP-951)", (3, 7, 0)
    ),
    ReleaseRule(
        "late_port", "a starting broker's port is closed until it serves, not open and silent (KAFKA-14658)", (3, 5, 0)
    ),
    ReleaseRule("keeps_last_isr", "the last member of an ISR always stays in it (KAFKA-5083)", (1, 1, 0)),
    ReleaseRule("timestamps", "batches have timestamps: of their creation or of the append (KIP-32)", (0, 10, 0)),
    ReleaseRule("time_index", "segments roll and expire by the timestamps of their records (KIP-33)", (0, 10, 1)),
    ReleaseRule(
        "offsets_for_times",
        "ListOffsets uses record timestamps, not the age of segments (KIP-79)",
        (0, 10, 1),
    ),
    ReleaseRule("max_timestamp", "ListOffsets finds the record with the largest timestamp (KIP-734)", (3, 0, 0)),
    ReleaseRule(
        "max_timestamp_compressed",
        "ListOffsets finds the record with the largest timestamp inside a compressed batch (KAFKA-16310)",
        (3, 8, 0),
    ),
    ReleaseRule("compact_and_delete", "cleanup.policy may name compact and delete together (KIP-71)", (0, 10, 1)),
    ReleaseRule("compaction_needs_keys", "a compacted topic rejects records without a key (KAFKA-1755)", (0, 9)),
    ReleaseRule(
        "invalid_record", "an invalid record fails with INVALID_RECORD, not CORRUPT_MESSAGE (KIP-467)", (2, 4, 0)
    ),
    ReleaseRule("zstd", "batches may be compressed with zstd (KIP-110)", (2, 1, 0)),
    ReleaseRule(
        "uncleanable_partitions",
        "the cleaner skips a log that it cannot clean, and its thread does not exit (KAFKA-7215, KIP-346)",
        (2, 1, 0),
    ),
    ReleaseRule(
        "log_dir_failure",
        "a broker may answer KAFKA_STORAGE_ERROR before it exits for a failed log directory (KIP-112)",
        (1, 0, 0),
    ),
    ReleaseRule(
        "delete_records",
        "administrators may delete records, and followers adopt the leader's log start (KIP-107)",
        (0, 11),
    ),
    ReleaseRule("retention_waits_hw", "retention deletes no record at or above the HW (KAFKA-5634)", (0, 11, 0, 1)),
    ReleaseRule(
        "refetches_corrupt",
        "a fetcher refetches a batch with a wrong checksum, and its thread does not exit (KAFKA-4384)",
        (0, 10, 2),
        backports=((0, 10, 1, 1),),
    ),
    ReleaseRule(
        "restarts_each_epoch",
        "a follower restarts fetching at each new leader epoch, also under the same leader (KAFKA-7395)",
        (2, 1, 0),
    ),
    ReleaseRule(
        "restarts_by_epoch",
        "a follower restarts fetching only if the leader epoch is new (Partition.makeFollower)",
        (3, 3, 0),
    ),
    ReleaseRule(
        "hw_waits_eligible",
        "outside the ISR, the HW waits only for replicas that may join it (KAFKA-15021)",
        (3, 6, 0),
    ),
    ReleaseRule(
        "idempotence",
        "leaders keep producer state by id and reject batches out of sequence (KIP-98)",
        (0, 11),
    ),
    ReleaseRule(
        "unknown_producer_id",
        "a producer unknown to the leader must begin with sequence 0 (dropped by KIP-360)",
        (1, 0, 0),
        (2, 4),
    ),
    ReleaseRule(
        "unknown_after_marker",
        "a producer of which only a marker is known must begin with sequence 0 (KAFKA-7298, dropped by KIP-360)",
        (2, 0, 1),
        (2, 4),
    ),
    ReleaseRule(
        "forgets_deleted_producers",
        "a leader forgets a producer once all its records are deleted from the log (until KAFKA-7190)",
        (0, 11),
        (2, 3),
    ),
    ReleaseRule(
        "five_batches",
        "a leader knows the last five batches of a producer, before only the last (KAFKA-5494)",
        (1, 0, 0),
    ),
    ReleaseRule(
        "markers_renew_nothing",
        "an end marker does not delay the expiry of its producer (until KAFKA-9144)",
        (1, 0, 0),
        (2, 4, 0),
    ),
    ReleaseRule(
        "producer_epoch_bump", "InitProducerId raises the epoch of a producer that sends its id (KIP-360)", (2, 5, 0)
    ),
    ReleaseRule(
        "producer_fenced",
        "coordinators answer a fenced producer PRODUCER_FENCED, not INVALID_PRODUCER_EPOCH (KIP-588)",
        (2, 7, 0),
    ),
    ReleaseRule(
        "transaction_abortable", "transactional requests may be answered TRANSACTION_ABORTABLE (KIP-890)", (3, 8, 0)
    ),
    ReleaseRule(
        "keeps_extra_partition",
        "consumer protocol: the uniform assignor leaves a surplus partition with its owner (KAFKA-18688)",
        (4, 0, 1),
    ),
    ReleaseRule(
        "uniform_by_member",
        "consumer protocol: the uniform assignor fills one member after another (KAFKA-16864)",
        (3, 8, 0),
    ),
    ReleaseRule(
        "uniform_by_topic",
        "consumer protocol: the uniform assignor balances different subscriptions topic by topic (KAFKA-17710)",
        (4, 0, 0),
    ),
    ReleaseRule(
        "contiguous_ranges",
        "consumer protocol: the range assignor makes new ranges, and no member keeps what it owns (KAFKA-16944)",
        (3, 9, 0),
    ),
    ReleaseRule(
        "forgets_replaced_id",
        "a coordinator knows a replaced producer id only until the next change of its transactional id",
        (4, 1, 0),
    ),
    ReleaseRule("transaction_version", "clusters have the feature transaction.version (KIP-890)", (4, 0, 0)),
    ReleaseRule("elr_version", "clusters have the feature eligible.leader.replicas.version (KIP-966)", (4, 0, 0)),
    ReleaseRule(
        "atomic_feature_updates",
        "one rejected feature rejects the whole UpdateFeatures request (KIP-1022)",
        (4, 0, 0),
    ),
    ReleaseRule("describe_producers", "leaders describe their active producers (KIP-664)", (2, 8, 0)),
    ReleaseRule(
        "offsets_topic_replication",
        "__consumer_offsets is never created with fewer replicas than configured (KIP-115)",
        (0, 11),
    ),
    ReleaseRule(
        "fetch_all_offsets",
        "OffsetFetch may request all offsets of a group without naming partitions (KIP-88)",
        (0, 10, 2),
    ),
    ReleaseRule("list_groups_by_state", "ListGroups may filter groups by state (KIP-518)", (2, 6, 0)),
    ReleaseRule(
        "group_configs",
        "groups have configurations that administrators can describe and alter (KAFKA-14510)",
        (4, 0, 0),
    ),
    ReleaseRule(
        "waits_for_own_session",
        "a broker that finds its old node in ZooKeeper retries after a session timeout (KAFKA-1387)",
        (0, 8, 2),
        (0, 8, 2),
    ),
    ReleaseRule(
        "isr_change_notification", "leaders notify the ZooKeeper controller of ISR changes (KAFKA-2406)", (0, 9)
    ),
    ReleaseRule("async_zookeeper", "the controller pipelines its requests to ZooKeeper (KAFKA-5642)", (1, 1, 0)),
    ReleaseRule(
        "zk_controller_epoch",
        "ZooKeeper rejects the writes of a controller with an outdated epoch (KAFKA-6082)",
        (2, 1, 0),
    ),
    ReleaseRule(
        "topic_unclean_election",
        "the controller runs an unclean election as soon as a topic's settings allow it (KAFKA-6526)",
        (2, 0, 0),
    ),
    ReleaseRule("stop_replica_epoch", "StopReplica carries leader epochs (KIP-570)", (2, 6, 0)),
    ReleaseRule(
        "alter_reassignments", "a reassignment may be changed or cancelled while it is in progress (KIP-455)", (2, 4, 0)
    ),
    ReleaseRule(
        "stale_epoch_in_move",
        "in a reassignment the ZooKeeper controller sends brokers the leader epoch from before it (until KAFKA-9212)",
        (2, 3, 0),
        (2, 3),
    ),
    ReleaseRule("unclean_on_demand", "ElectLeaders may request unclean elections (KIP-460)", (2, 4, 0)),
    ReleaseRule(
        "controller_api_versions",
        "brokers begin a connection to the controller with ApiVersions (BrokerToControllerChannelManager)",
        (2, 8, 0),
    ),
)
"""Rules of brokers and controllers, and of the protocol between them and clients, by the release of the cluster."""

CLIENT_FLAGS: Final = (
    ReleaseRule(
        "asks_api_versions", "a client begins each new connection with an ApiVersions request (KIP-97)", (0, 10, 2)
    ),
    ReleaseRule(
        "unknown_topic_is_stale",
        "a producer refreshes its metadata after UNKNOWN_TOPIC_OR_PARTITION (KAFKA-2246)",
        (0, 9),
    ),
    ReleaseRule(
        "retries_join_early",
        "a batch in its backoff is sent along with the batch of another partition (until KAFKA-2138)",
        (0, 8, 2),
        (0, 8, 2),
    ),
    ReleaseRule(
        "sends_past_in_flight",
        "one request in flight is one per connection, so a partition may have one on each of two (until KAFKA-3197)",
        (0, 8, 2),
        (0, 9),
    ),
    ReleaseRule("caps_backoff", "no backoff exceeds its maximum, its random part included (KIP-580)", (3, 7, 0)),
    ReleaseRule(
        "learns_leaders", "a producer takes the new leader from a broker's error response (KIP-951)", (3, 7, 0)
    ),
    ReleaseRule(
        "skips_backoff",
        "a batch whose partition has a new leader epoch is retried without backoff (KAFKA-15415)",
        (3, 7, 0),
    ),
    ReleaseRule(
        "fails_oldest_first",
        "in-flight requests of a broken connection fail in the order of sending (InFlightRequests.clearAll)",
        (2, 0, 0),
    ),
    ReleaseRule("expires_batches", "request.timeout.ms limits how long a batch waits in the queue (KIP-19)", (0, 9)),
    ReleaseRule(
        "expires_behind_retries",
        "a batch expires in the queue while one before it is retried (until KAFKA-3388)",
        (0, 9),
        (0, 9),
    ),
    ReleaseRule(
        "delivery_timeout", "delivery.timeout.ms limits the time of a batch from send to result (KIP-91)", (2, 1, 0)
    ),
    ReleaseRule("splits_batches", "a producer splits a batch that is too large for the broker (KIP-126)", (0, 11)),
    ReleaseRule(
        "five_in_flight", "an idempotent producer may have five requests in flight, not one (KAFKA-5494)", (1, 0, 0)
    ),
    ReleaseRule(
        "strict_in_flight",
        "more than five requests in flight are an error even where idempotence is only the default (KIP-1030)",
        (4, 0, 0),
    ),
    ReleaseRule(
        "idempotent_by_default",
        "a producer that does not set enable.idempotence is idempotent, as documented since 3.0 (KAFKA-13598)",
        (3, 2, 0),
        backports=((3, 0, 1), (3, 1, 1)),
    ),
    ReleaseRule(
        "bumps_epoch", "a producer raises its epoch after a sequence gap, and keeps its id (KIP-360)", (2, 5, 0)
    ),
    ReleaseRule(
        "consumer_group_metadata", "a transaction commits offsets with the group's generation (KIP-447)", (2, 5, 0)
    ),
    ReleaseRule(
        "aborts_when_fenced",
        "INVALID_PRODUCER_EPOCH from a leader aborts the transaction and is not fatal (KIP-588)",
        (2, 7, 0),
    ),
    ReleaseRule(
        "misses_recreated_topics",
        "metadata of a recreated topic is ignored while its leader epochs are older (until KAFKA-12257)",
        (2, 2, 0),
        (2, 8, 1),
    ),
    ReleaseRule(
        "keeps_deleted_epochs",
        "the last leader epochs of a deleted topic hold for a new one of that name (until KAFKA-13488)",
        (2, 2, 0),
        (3, 0, 0),
        fixes=((2, 8, 2),),
    ),
    ReleaseRule(
        "renumbers_in_heap_order",
        "after UNKNOWN_PRODUCER_ID the batches in flight get new sequences in the order of a heap (until KAFKA-8483)",
        (1, 0, 0),
        (2, 2),
    ),
    ReleaseRule(
        "keeps_sequences_in_new_epoch",
        "partitions without a batch in flight keep their sequence when an idempotent producer raises its epoch (until "
        "KAFKA-12152)",
        (2, 5, 0),
        (2, 7, 0),
    ),
    ReleaseRule(
        "flushes_for_ever",
        "the flush of the first commit or abort never ends, so no later batch lingers (until KAFKA-12870)",
        (0, 11),
        (2, 8, 0),
    ),
    ReleaseRule(
        "commits_without_record",
        "a transaction commits without a record that send rejected (until KAFKA-9279)",
        (0, 11),
        (3, 1),
    ),
    ReleaseRule(
        "recovers_expired_id",
        "INVALID_PRODUCER_ID_MAPPING aborts the transaction and is not fatal (until KAFKA-18019)",
        (2, 5, 0),
        (3, 9),
    ),
    ReleaseRule("knows_abortable", "a producer knows the error TRANSACTION_ABORTABLE (KIP-890)", (3, 8, 0)),
    ReleaseRule("epoch_per_transaction", "a producer gets a new epoch for each transaction (KIP-890)", (4, 0, 0)),
    ReleaseRule(
        "sticky_partitioner",
        "records without a key stick to one partition until its batch is complete (KIP-480)",
        (2, 4, 0),
    ),
    ReleaseRule("round_robin_partitioner", "partitioner.class may name RoundRobinPartitioner (KIP-369)", (2, 4, 0)),
    ReleaseRule(
        "built_in_partitioner",
        "records without a key stick to one partition for batch.size bytes (KIP-794, KAFKA-10888)",
        (3, 3, 0),
    ),
    ReleaseRule(
        "loops_without_batching",
        "with batch.size 0, send of a record without a key never returns (until KAFKA-14303)",
        (3, 3, 0),
        (3, 3, 1),
    ),
    ReleaseRule(
        "round_robin_two_turns",
        "RoundRobinPartitioner takes two turns for a record that begins a new batch (until KAFKA-17632)",
        (2, 4, 0),
        (3, 9, 1),
    ),
    ReleaseRule(
        "default_partitioner",
        "partitioner.class may name DefaultPartitioner (deprecated by KIP-794)",
        (0, 8, 2),
        (3, 9),
    ),
    ReleaseRule(
        "uniform_sticky_partitioner",
        "partitioner.class may name UniformStickyPartitioner (KIP-480)",
        (2, 4, 0),
        (3, 9),
    ),
    ReleaseRule("sticky_assignor", "consumers have the StickyAssignor (KIP-54)", (0, 11)),
    ReleaseRule("cooperative_assignor", "consumers have the CooperativeStickyAssignor (KIP-429)", (2, 4, 0)),
    ReleaseRule(
        "prepares_once",
        "a cooperative member that loses its generation while it joins keeps what it owned (until KAFKA-12983)",
        (2, 4, 0),
        (2, 8, 0),
        fixes=((2, 7, 2),),
    ),
    ReleaseRule(
        "commits_without_end",
        "a cooperative member with automatic commits repeats its commit before it joins again (until KAFKA-14024)",
        (3, 2, 0),
        (3, 2, 0),
    ),
    ReleaseRule(
        "reads_while_preparing",
        "polls return records of partitions that are about to be revoked, after their commit (until KAFKA-14196)",
        (3, 2, 1),
        (3, 2, 2),
    ),
    ReleaseRule(
        "loses_generation_in_sync",
        "a member loses its partitions if another rebalance begins before it gets its assignment (KAFKA-14016)",
        (3, 3, 0),
        (3, 3, 1),
    ),
    ReleaseRule(
        "static_member_order",
        "range and round robin assignors put static members first (KAFKA-8355, KAFKA-8356)",
        (2, 4, 0),
    ),
    ReleaseRule("sticky_generations", "sticky members report the generation of what they own (KIP-341)", (2, 3, 0)),
    ReleaseRule(
        "constrained_sticky",
        "sticky assignors have an algorithm of their own for equal subscriptions (KAFKA-9987)",
        (2, 5, 1),
    ),
    ReleaseRule(
        "cooperative_generation",
        "cooperative members report the generation of what they own, and none keeps what two claim (KAFKA-12984)",
        (2, 8, 1),
    ),
    ReleaseRule(
        "validates_cooperative",
        "a leader fails if its cooperative assignor moves a partition at once that a member claims (until KAFKA-13406)",
        (2, 8, 1),
        (3, 0, 0),
        fixes=((2, 8, 2),),
    ),
    ReleaseRule(
        "even_sticky",
        "with equal subscriptions members keep one partition more while extras are left (KAFKA-12464)",
        (3, 0, 0),
    ),
    ReleaseRule(
        "claims_by_partition",
        "sticky assignors use the newest claim on each partition, of any generation (KAFKA-14639)",
        (3, 4, 1),
    ),
    ReleaseRule(
        "reports_joined_generation",
        "members report the generation that they joined last, not that of their last assignment (KIP-792)",
        (3, 4, 0),
    ),
    ReleaseRule(
        "keeps_lowest",
        "sticky assignors keep a member's lowest partition numbers (KAFKA-16277)",
        (3, 7, 1),
    ),
    ReleaseRule(
        "exact_racks",
        "sticky assignors count the extras that they give out by rack (KAFKA-15170)",
        (3, 7, 1),
    ),
    ReleaseRule(
        "on_partitions_lost",
        "rebalance listeners have onPartitionsLost apart from onPartitionsRevoked (KIP-429)",
        (2, 4, 0),
    ),
    ReleaseRule("member_racks", "members send their racks, and assignors use them (KIP-881)", (3, 5, 0)),
    ReleaseRule(
        "detects_truncation",
        "a consumer validates its position against the end of its leader epoch (KAFKA-7747)",
        (2, 3, 0),
    ),
    ReleaseRule(
        "retries_deleted_topic",
        "consumer protocol: a commit before a revocation is repeated for a deleted topic (until KAFKA-16224)",
        (3, 7, 0),
        (3, 7),
    ),
    ReleaseRule(
        "commits_polled",
        "automatic commits include the records that the same poll returns (until KAFKA-2942)",
        (0, 9),
        (0, 9, 0, 0),
    ),
    ReleaseRule(
        "starves_heartbeats",
        "a poll that finds fetched records sends no heartbeat and no automatic commit (until KAFKA-3627)",
        (0, 9, 0, 1),
        (0, 9, 0, 1),
    ),
    ReleaseRule(
        "commits_in_background",
        "consumer protocol: automatic commits include the records that the same poll returns (until KAFKA-18641)",
        (3, 7, 0),
        (3, 9),
    ),
    ReleaseRule(
        "keeps_lost_coordinator",
        "consumer protocol: a heartbeat that failed by a broken connection is repeated to the same broker (until "
        "KAFKA-17293)",
        (3, 7, 0),
        (3, 9),
    ),
    ReleaseRule(
        "polls_in_rebalance",
        "polls return records during a rebalance and without a coordinator (KAFKA-8421)",
        (2, 5, 0),
    ),
    ReleaseRule(
        "forgets_id_after_errors",
        "a retriable error of a join or sync makes a member lose its member id (until KAFKA-13214)",
        (2, 6, 1),
        (2, 8, 0),
        fixes=((2, 7, 2),),
    ),
    ReleaseRule(
        "forgets_id_of_generation",
        "ILLEGAL_GENERATION makes a member lose its member id, too (until KAFKA-13419)",
        (0, 9),
        (3, 1),
    ),
    ReleaseRule("keeps_paused", "a consumer keeps the fetched records of a paused partition (KAFKA-7548)", (2, 4, 0)),
    ReleaseRule("reset_by_duration", "auto.offset.reset may name a duration (KIP-1106)", (4, 0, 0)),
    ReleaseRule("group_tables", "kafka-consumer-groups.sh prints tables of members and state (KIP-175)", (1, 1, 0)),
)
"""Rules of Kafka's own clients and tools, by their own release, which is the cluster's unless one is given.

A producer may have another release (``client.version``). Brokers connect to each other with the client library of
their own release.
"""

CLIENT_RULES: Final = frozenset(flag.name for flag in CLIENT_FLAGS)
"""Names of the rules of clients."""

FLAG_BY_NAME: Final = {flag.name: flag for flag in (*FLAGS, *CLIENT_FLAGS)}
"""Flags of both tables by name."""

_FIRST_KRAFT: Final[Version] = (3, 3)
_LAST_ZOOKEEPER: Final[Version] = (3, 9)


def modes_of(version: str) -> tuple[Mode, ...]:
    """Return the controller modes of a release, the default first; KRaft from its first production release on."""
    number = number_of(version)
    modes: list[Mode] = []
    if number >= _FIRST_KRAFT:
        modes.append("kraft")
    if is_within(number, (0,), _LAST_ZOOKEEPER):
        modes.append("zookeeper")
    return tuple(modes)


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """A release of Kafka's clients and tools; each flag of :data:`CLIENT_FLAGS` is an attribute."""

    version: str
    number: Version
    asks_api_versions: bool
    unknown_topic_is_stale: bool
    retries_join_early: bool
    sends_past_in_flight: bool
    caps_backoff: bool
    learns_leaders: bool
    skips_backoff: bool
    fails_oldest_first: bool
    expires_batches: bool
    expires_behind_retries: bool
    delivery_timeout: bool
    splits_batches: bool
    five_in_flight: bool
    strict_in_flight: bool
    idempotent_by_default: bool
    bumps_epoch: bool
    consumer_group_metadata: bool
    aborts_when_fenced: bool
    misses_recreated_topics: bool
    keeps_deleted_epochs: bool
    renumbers_in_heap_order: bool
    keeps_sequences_in_new_epoch: bool
    flushes_for_ever: bool
    commits_without_record: bool
    recovers_expired_id: bool
    knows_abortable: bool
    epoch_per_transaction: bool
    sticky_partitioner: bool
    round_robin_partitioner: bool
    built_in_partitioner: bool
    loops_without_batching: bool
    round_robin_two_turns: bool
    default_partitioner: bool
    uniform_sticky_partitioner: bool
    sticky_assignor: bool
    cooperative_assignor: bool
    prepares_once: bool
    commits_without_end: bool
    reads_while_preparing: bool
    loses_generation_in_sync: bool
    static_member_order: bool
    sticky_generations: bool
    constrained_sticky: bool
    cooperative_generation: bool
    validates_cooperative: bool
    even_sticky: bool
    claims_by_partition: bool
    reports_joined_generation: bool
    keeps_lowest: bool
    exact_racks: bool
    on_partitions_lost: bool
    member_racks: bool
    detects_truncation: bool
    retries_deleted_topic: bool
    commits_polled: bool
    starves_heartbeats: bool
    commits_in_background: bool
    keeps_lost_coordinator: bool
    polls_in_rebalance: bool
    forgets_id_after_errors: bool
    forgets_id_of_generation: bool
    keeps_paused: bool
    reset_by_duration: bool
    group_tables: bool

    @staticmethod
    @cache
    def of(version: str) -> "ClientProfile":
        """Return the profile of a client release line, which is its last patch, or of one of its patches."""
        number = number_of(version)
        return ClientProfile(version, number, **{flag.name: flag.holds(number) for flag in CLIENT_FLAGS})


@dataclass(frozen=True, slots=True)
class Profile:
    """A release in one controller mode; each flag of :data:`FLAGS` is an attribute."""

    version: str
    mode: Mode
    number: Version
    kraft: bool
    """KRaft mode; False is ZooKeeper mode."""
    lag_messages: bool
    shrink_half: bool
    caught_up_previous: bool
    hw_waits_caught_up: bool
    throttles: bool
    exits_out_of_range: bool
    epoch_truncation: bool
    isr_epoch_start: bool
    epoch_on_elect: bool
    unknown_without_replica: bool
    fetch_sessions: bool
    kip_279: bool
    kip_320: bool
    applies_old_responses: bool
    fails_whole_fetches: bool
    restarts_after_missed_epochs: bool
    keeps_empty_epochs: bool
    counts_diverging_fetches: bool
    session_epochs: bool
    bounce_detected: bool
    leo_is_in_sync: bool
    hw_push: bool
    reads_from_followers: bool
    reads_lagging_followers: bool
    completes_follower_reads: bool
    diverging_fetch: bool
    alter_partition: bool
    keeps_hw_at_shrink: bool
    recovery_state: bool
    eligible_isr: bool
    leo_max_at_fetch: bool
    caught_up_at_leo: bool
    fetch_broker_epoch: bool
    no_bump_on_shrink: bool
    adding_completes: bool
    reassign_by_adding: bool
    fenced_last_known: bool
    hw_needs_min_isr: bool
    effective_min_isr: bool
    elr: bool
    offset_not_available: bool
    delete_horizon: bool
    cleans_committed: bool
    check_quorum: bool
    pre_vote: bool
    quorum_hw_push: bool
    election_waits_out: bool
    election_jitters: bool
    heartbeat_retry_flat: bool
    leads_until_stopped: bool
    heartbeat_backoff_halved: bool
    quits_waiting: bool
    dynamic_config: bool
    keeps_deleted_units: bool
    loses_units: bool
    loses_topic_overrides: bool
    strays_hide_new_replicas: bool
    topic_ids: bool
    refuses_collisions: bool
    keeps_freed_names: bool
    bounds_operations: bool
    group_membership: bool
    passes_too_few_replicas: bool
    rebalance_timeout: bool
    delete_groups: bool
    group_retention: bool
    expires_in_rebalance: bool
    member_id_required: bool
    forgets_new_sessions: bool
    times_out_new_members: bool
    static_members: bool
    forgets_static_rejoins: bool
    completes_without_rejoined: bool
    offset_delete: bool
    stable_offsets: bool
    sync_timeout: bool
    skip_assignment: bool
    consumer_protocol: bool
    server_patterns: bool
    assignment_epochs: bool
    fences_rejoins: bool
    revokes_in_epoch: bool
    assignment_interval: bool
    first_assignment_epoch: bool
    assigns_by_new_assignor: bool
    empty_group_epoch: bool
    keeps_extra_partition: bool
    uniform_by_member: bool
    uniform_by_topic: bool
    contiguous_ranges: bool
    transactions: bool
    keeps_epoch_at_timeout: bool
    start_time_never_falls: bool
    storage_errors_cancel: bool
    old_markers_cancel: bool
    verifies_transactions: bool
    rejects_old_epoch: bool
    checks_epoch_first: bool
    transactions_v2: bool
    fences_twice: bool
    strict_markers: bool
    asks_marker_versions: bool
    transaction_tools: bool
    leader_hints: bool
    late_port: bool
    keeps_last_isr: bool
    timestamps: bool
    time_index: bool
    offsets_for_times: bool
    max_timestamp: bool
    max_timestamp_compressed: bool
    compact_and_delete: bool
    compaction_needs_keys: bool
    invalid_record: bool
    zstd: bool
    uncleanable_partitions: bool
    log_dir_failure: bool
    delete_records: bool
    retention_waits_hw: bool
    refetches_corrupt: bool
    restarts_each_epoch: bool
    restarts_by_epoch: bool
    hw_waits_eligible: bool
    idempotence: bool
    unknown_producer_id: bool
    unknown_after_marker: bool
    forgets_deleted_producers: bool
    five_batches: bool
    markers_renew_nothing: bool
    producer_epoch_bump: bool
    producer_fenced: bool
    transaction_abortable: bool
    forgets_replaced_id: bool
    transaction_version: bool
    elr_version: bool
    atomic_feature_updates: bool
    describe_producers: bool
    offsets_topic_replication: bool
    fetch_all_offsets: bool
    list_groups_by_state: bool
    group_configs: bool
    waits_for_own_session: bool
    isr_change_notification: bool
    async_zookeeper: bool
    zk_controller_epoch: bool
    topic_unclean_election: bool
    stop_replica_epoch: bool
    alter_reassignments: bool
    stale_epoch_in_move: bool
    unclean_on_demand: bool
    controller_api_versions: bool
    rules: tuple[tuple[str, bool], ...] = ()
    """Rules of either table that :func:`with_rules` switched on or off."""
    client_version: str = ""
    """Release of the client that :meth:`for_client` was called for, empty for the cluster's own."""
    protocol: str = ""
    """Level of ``inter.broker.protocol.version`` or ``metadata.version`` in use, empty for that of this release."""
    levels: tuple[tuple[str, int], ...] = ()
    """Finalized levels of the other features, by name, if ``features.at_levels`` set them; not listed is 0."""

    @property
    def name(self) -> str:
        """Release and mode as printed in results, such as ``3.9-kraft``."""
        return f"{self.version}-{self.mode}"

    @property
    def ignores_diverging_fetches(self) -> bool:
        """Whether leaders do not count diverging fetches (KAFKA-13141)."""
        return not self.counts_diverging_fetches

    @property
    def client(self) -> ClientProfile:
        """Profile of the clients and tools: of the same release, or of the client that this is for."""
        return self.client_of(self.client_version)

    def client_of(self, version: str) -> ClientProfile:
        """Return the profile of the clients of a release, with the rules that were switched on or off.

        An empty ``version`` is that of the cluster.

        Raises:
            ConfigConflictError: brokers and clients of these releases cannot talk to each other.
        """
        version = version or self.version
        _check_compatible(number_of(version), self.number)
        profile = ClientProfile.of(version)
        rules: dict[str, Any] = {name: on for name, on in self.rules if name in CLIENT_RULES}
        return replace(profile, **rules) if rules else profile

    @cache  # noqa: B019 - as many as there are profiles
    def for_client(self, version: str) -> "Profile":
        """Return the rules between this cluster and a client of another release: those that both have.

        An empty ``version`` is that of the cluster.

        Raises:
            ConfigConflictError: brokers and clients of these releases cannot talk to each other.
        """
        if not version:
            return self
        number = self.client_of(version).number
        switched = dict(self.rules)
        flags: dict[str, Any] = {
            flag.name: switched.get(flag.name, flag.holds(number) and getattr(self, flag.name)) for flag in FLAGS
        }
        return replace(self, client_version=version, **flags)

    @staticmethod
    @cache
    def of(version: str, mode: str | None = None) -> "Profile":
        """Return the profile of a release line, which is its last patch, or of one of its patches.

        ``mode`` None takes its default mode.

        Raises:
            ModelError: the release is unknown, or does not have this mode.
        """
        if version not in RELEASES:
            raise ModelError(
                f"unknown Kafka version {version!r}; known: {', '.join(RELEASE_LINES)}, and their patches, such as "
                f"3.6.1{unknown_hint(version)}",
                code="no_version",
            )
        modes = modes_of(version)
        chosen = modes[0] if mode is None else next((known for known in modes if known == mode), None)
        if chosen is None:
            raise ModelError(f"Kafka {version} has no mode {mode!r}; it has {' and '.join(modes)}", code="no_mode")
        number = number_of(version)
        flags: dict[str, Any] = {flag.name: flag.holds(number) for flag in FLAGS}
        return Profile(version, chosen, number, chosen == "kraft", **flags)


_OLDEST_OF_4: Final[Version] = (2, 1)
"""Oldest clients of brokers of 4.0 and later, and oldest brokers of such clients (KIP-896)."""
_NEGOTIATES: Final[Version] = (0, 10, 2)
"""First client that talks to older brokers (KIP-97)."""
_NEGOTIATED: Final[Version] = (0, 10, 0)
"""First broker that says what it understands (KIP-35)."""


def _check_compatible(client: Version, brokers: Version) -> None:
    """Reject a client and brokers that have no version of a request in common."""
    combination = f"a client of {name_of(client)} with brokers of {name_of(brokers)}"
    if max(client, brokers) >= (4, 0) and min(client, brokers) < _OLDEST_OF_4:
        needed = "clients of 2.1 or later" if client < brokers else "brokers of 2.1 or later"
        text = f"Kafka 4 needs {needed} (KIP-896)"
    elif client <= brokers or line_of(name_of(client)) == line_of(name_of(brokers)):
        return
    elif client < _NEGOTIATES:
        text = "before 0.10.2 a client needs brokers of its own release or a later one (KIP-97)"
    elif brokers < _NEGOTIATED:
        text = "a client of a later release needs brokers of 0.10.0 or later (KIP-35)"
    else:
        return
    raise ConfigConflictError("client.version", f"{combination}: {text}", code="incompatible_client")


@cache
def with_rules(profile: Profile, rules: tuple[tuple[str, bool], ...]) -> Profile:
    """Return the profile with rules of either table switched on or off, to see what one of them changes."""
    brokers: dict[str, Any] = {name: on for name, on in rules if name not in CLIENT_RULES}
    return replace(profile, rules=rules, **brokers)


GROUP_FEATURE: Final = "group.version"
"""Feature level of the consumer group protocol (KIP-848): 1 turns it on, since 4.0 the default of a new cluster."""

ELR_FEATURE: Final = "eligible.leader.replicas.version"
"""Feature level set when a cluster is formatted: 1 turns KIP-966 on, 0 off; on by default since 4.1."""


def with_elr(profile: Profile, level: int) -> Profile:
    """Return the profile with another level of :data:`ELR_FEATURE` than the default of its release line.

    Raises:
        ModelError: the release line, or its mode, does not support that level.
    """
    if level and not (profile.kraft and profile.elr_version):
        raise ModelError(
            f"{ELR_FEATURE} {level} needs KRaft mode of Kafka 4.0 or later, not {profile.name}", code="not_in_version"
        )
    return replace(profile, elr=bool(level))


TRANSACTION_FEATURE: Final = "transaction.version"
"""Feature level set when a cluster is formatted: at 2 every transaction has its own epoch (KIP-890, part 2)."""


def with_transactions(profile: Profile, level: int) -> Profile:
    """Return the profile with another level of :data:`TRANSACTION_FEATURE` than the default of its release line.

    Raises:
        ModelError: the release line, or its mode, does not support that level.
    """
    if level > 1 and not (profile.kraft and profile.transaction_version):
        raise ModelError(
            f"{TRANSACTION_FEATURE} {level} needs KRaft mode of Kafka 4.0 or later, not {profile.name}",
            code="not_in_version",
        )
    return replace(profile, transactions_v2=level > 1)


NEWEST: Final = RELEASE_LINES[-1]
"""Newest release line."""

DEFAULT_RELEASE: Final = NEWEST
"""Release line of a playbook that names none."""
