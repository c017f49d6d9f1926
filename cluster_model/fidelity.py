# ruff: noqa: E501 - a page of prose and tables
"""The fidelity card: modelled rules by area, with their sources, their tests, and what is not modelled.

Each flag of :mod:`cluster_model.protocol.versions` belongs to exactly one area, so that every new rule names its source.
"""

from dataclasses import dataclass
from typing import Final

_MODEL: Final = "tests/cluster_model/"


@dataclass(frozen=True, slots=True)
class Area:
    """An area of the model: related rules, their sources, their tests and their limits."""

    name: str
    what: str
    sources: str
    """KIPs, and the Kafka classes in which the rules were read."""
    tests: tuple[str, ...]
    """Test ids, relative to ``tests/cluster_model/`` unless they begin with ``tests/``."""
    flags: tuple[str, ...] = ()
    """Rules that only some releases have; all others hold in every release from ``since`` on."""
    since: str = "0.8.2"
    until: str | None = None
    modes: str = "both"
    left_out: tuple[str, ...] = ()

    @property
    def test_ids(self) -> tuple[str, ...]:
        """Test ids, relative to the root of the project."""
        return tuple(each if each.startswith("tests/") else f"{_MODEL}{each}" for each in self.tests)


AREAS: Final = (
    Area(
        "log",
        "Appends, segments and when they roll, sparse indexes, message formats, timestamps and their bounds, compressed sizes.",
        "UnifiedLog, LocalLog, LogSegment; KIP-32, KIP-33, KIP-110, KIP-112, KIP-126, KIP-937",
        (
            "log/test_segments.py",
            "log/test_log.py",
            "log/test_log_rules.py",
            "log/test_log_generations.py",
            "log/test_storage.py::test_records_have_timestamps_since_0_10",
            "log/test_segments.py::test_zstd_came_with_2_1",
            "tests/faults/test_disks.py::test_disk_faults_begin_and_end_in_every_release",
        ),
        ("timestamps", "time_index", "zstd", "log_dir_failure"),
        left_out=(
            "A broker has one log directory, so one of several cannot fail (KIP-112, KIP-858).",
            "Tiered storage (KIP-405).",
            "Compression is a ratio and a CPU cost per codec; only real clients compress bytes.",
        ),
    ),
    Area(
        "recovery",
        "What survives on disk after a shutdown, crash or power loss; checkpoints, write-back, log recovery at the next start and its duration.",
        "LogLoader, LogManager, LeaderEpochFileCache, ReplicaManager (checkpoints)",
        (
            "log/test_crash_recovery.py",
            "log/test_storage.py::test_records_that_survive_each_kind_of_stop",
            "log/test_storage.py::test_log_recovery_takes_time_by_the_size_of_unflushed_segments",
        ),
        left_out=("Writing checkpoints and indexes takes no time; an index is never damaged.",),
    ),
    Area(
        "retention",
        "Deletion by size, time and DeleteRecords, never above the high watermark; log start offset at followers.",
        "UnifiedLog.deleteOldSegments; KIP-107",
        (
            "log/test_segments.py::test_retention_deletes_nothing_above_the_high_watermark",
            "log/test_storage.py::test_records_deleted_by_retention_are_not_lost",
            "log/test_storage.py::test_delete_records_moves_the_start_of_every_live_replica",
            "log/test_storage.py::test_delete_records_is_refused_with_kafkas_errors",
        ),
        ("delete_records",),
    ),
    Area(
        "compaction",
        "The log cleaner: which segments may be cleaned, tombstones, transaction markers, gaps in offsets, one thread and its backoff.",
        "LogCleaner, LogCleanerManager; KIP-71, KIP-354, KIP-467, KIP-534, KIP-346, KAFKA-1755",
        (
            "log/test_log_cleaner.py",
            "test_compaction.py::test_the_cleaner_is_off_by_default_in_0_8_2_only",
            "log/test_log_generations.py::test_delete_horizon_tombstones_get_their_time_from_a_cleaning_since_3_1",
            "log/test_empty_markers.py",
            "test_compaction.py::test_two_policies_at_once_are_refused_before_0_10_1",
            "test_compaction.py::test_records_without_keys_are_refused",
            "tests/faults/test_corrupt_batch.py::test_the_cleaner_skips_a_log_with_a_corrupt_batch_or_ends",
        ),
        (
            "delete_horizon",
            "compact_and_delete",
            "compaction_needs_keys",
            "invalid_record",
            "uncleanable_partitions",
        ),
        left_out=(
            "Cleaning takes effect at once, and the cleaner is busy for its duration afterwards; there is one cleaner thread.",
        ),
    ),
    Area(
        "in-sync replicas",
        "The leader's state of its followers, when a follower leaves or joins the ISR, and which broker epochs may join.",
        "Replica, Partition.isFollowerOutOfSync, Partition.maybeExpandIsr; KIP-16, KIP-841, KIP-903",
        (
            "broker/partition/test_in_sync_rules.py",
            "broker/partition/test_leaderships.py",
            "protocol/test_config.py::test_lag_time_and_the_period_of_the_shrink_task",
            "broker/partition/test_state_machine.py::test_a_fetch_of_an_earlier_incarnation_adds_no_replica_to_the_isr",
            "controller/rules/test_rules_zookeeper.py::test_before_3_3_an_ineligible_member_is_an_operation_not_attempted",
        ),
        (
            "lag_messages",
            "shrink_half",
            "caught_up_previous",
            "isr_epoch_start",
            "leo_is_in_sync",
            "eligible_isr",
            "leo_max_at_fetch",
            "fetch_broker_epoch",
        ),
    ),
    Area(
        "high watermark",
        "Which replicas it waits for, how followers learn of it, and what it guarantees to acks=all producers and to consumers.",
        "Partition.maybeIncrementLeaderHW, Partition.appendRecordsToLeader, DelayedProduce, DelayedFetch; KIP-207, KAFKA-15021",
        (
            "broker/partition/test_in_sync_rules.py::test_since_0_10_2_the_hw_waits_for_caught_up_replicas_outside_the_isr",
            "broker/partition/test_in_sync_rules.py::test_since_3_3_the_hw_waits_for_every_caught_up_replica",
            "broker/partition/test_in_sync_rules.py::test_since_3_6_the_hw_waits_only_for_replicas_that_may_join_the_isr",
            "broker/partition/test_in_sync_rules.py::test_since_3_7_the_hw_does_not_advance_under_min_isr",
            "broker/partition/test_in_sync_rules.py::test_below_the_minimum_acks_all_is_refused_and_nothing_is_written",
            "broker/partition/test_in_sync_rules.py::test_an_append_during_which_the_isr_falls_below_the_minimum_fails",
            "test_topics.py::test_min_isr_counts_as_at_most_the_replicas_there_are",
            "broker/fetch/test_fetch_from_follower.py::test_records_are_read_from_a_follower_one_fetch_wait_later_unless_the_leader_pushes_its_hw",
            "broker/test_offsets.py::test_a_new_leader_has_no_latest_offset_before_its_high_watermark_is_known",
        ),
        (
            "hw_waits_caught_up",
            "hw_waits_eligible",
            "hw_push",
            "caught_up_at_leo",
            "hw_needs_min_isr",
            "effective_min_isr",
            "offset_not_available",
        ),
    ),
    Area(
        "truncation",
        "How a follower truncates its log under a new leader, in four generations of the protocol, and the leader epoch cache they use.",
        "ReplicaFetcherThread, AbstractFetcherThread, LeaderEpochFileCache; KIP-101, KIP-279, KIP-320, KIP-595",
        (
            "test_truncation_rules.py",
            "test_traces.py",
            "log/test_epochs.py",
            "test_divergence.py",
            "log/test_log_generations.py",
            "broker/test_out_of_range.py::test_up_to_1_0_a_diverged_follower_exits_if_unclean_election_is_off",
            "model_checker/test_planted.py",
            "broker/partition/test_in_sync_rules.py::test_leader_changes_that_restart_a_followers_fetcher",
        ),
        (
            "exits_out_of_range",
            "epoch_truncation",
            "epoch_on_elect",
            "kip_279",
            "kip_320",
            "diverging_fetch",
            "restarts_by_epoch",
        ),
    ),
    Area(
        "fetching",
        "Fetch sessions, multiple fetcher threads, replication quotas, reads from followers.",
        "FetchSession, AbstractFetcherManager, ReplicationQuotaManager, RackAwareReplicaSelector; KIP-73, KIP-74, KIP-227, KIP-392, KAFKA-4384, KAFKA-6051",
        (
            "broker/partition/test_session_cache.py",
            "broker/fetch/test_fetchers.py",
            "broker/fetch/test_replication_quota.py",
            "broker/fetch/test_fetch_from_follower.py",
            "tests/faults/test_corrupt_batch.py::test_before_0_10_2_a_corrupt_batch_ends_the_fetcher_thread",
        ),
        ("throttles", "fetch_sessions", "quits_waiting", "reads_from_followers", "refetches_corrupt"),
        left_out=(
            "Client quotas and request quotas (KIP-13, KIP-124).",
            "Fetch session ids count up instead of being random; the session cache is not sharded (3.9).",
        ),
    ),
    Area(
        "ZooKeeper controller",
        "Sessions, controller election, the controller's event queue and its requests to brokers, leader elections, controlled shutdown, reassignments.",
        "KafkaController, PartitionStateMachine, ReplicaStateMachine, Election, ControllerChannelManager; KIP-380, KIP-455, KIP-460, KIP-570, KAFKA-5642, KAFKA-6082",
        (
            "controller/zookeeper/test_timelines.py",
            "controller/zookeeper/test_procedures.py",
            "controller/zookeeper/test_moving.py",
            "controller/rules/test_rules_zookeeper.py",
            "controller/test_rules_random.py",
        ),
        (
            "bounce_detected",
            "keeps_last_isr",
            "waits_for_own_session",
            "isr_change_notification",
            "async_zookeeper",
            "zk_controller_epoch",
            "topic_unclean_election",
            "unclean_on_demand",
            "stop_replica_epoch",
            "alter_reassignments",
        ),
        until="3.9",
        modes="zookeeper",
        left_out=("Migration from ZooKeeper to KRaft (KIP-866).",),
    ),
    Area(
        "ZooKeeper",
        "An ensemble of servers: Zab, leader election, sessions, watches, ephemeral nodes, multi.",
        "Leader, Follower, FastLeaderElection, SessionTracker, as Kafka's client uses them",
        ("zookeeper/test_agreement.py", "zookeeper/test_ensemble.py", "zookeeper/test_random.py"),
        until="3.9",
        modes="zookeeper",
        left_out=("Disks of ZooKeeper servers are never slow and never fail; no observers, no reconfiguration.",),
    ),
    Area(
        "KRaft controller",
        "Registration, heartbeats and fencing, when a broker accepts clients, leader elections, ISR proposals, ELR, preferred leaders.",
        "ReplicationControlManager, PartitionChangeBuilder, ClusterControlManager, BrokerHeartbeatManager, BrokerServer; KIP-631, KIP-966, KIP-1022",
        (
            "controller/kraft/test_kraft.py",
            "controller/rules/test_rules_kraft.py",
            "controller/kraft/test_kraft_timelines.py",
            "controller/kraft/test_elr_feature.py",
            "test_listening.py",
            "controller/rules/test_rules_kraft.py::test_a_follower_that_leaves_raises_the_leader_epoch_only_up_to_3_5",
            "tests/gateway/test_features_wire.py::test_before_4_0_each_feature_has_an_error_of_its_own",
        ),
        ("no_bump_on_shrink", "elr", "late_port", "elr_version", "atomic_feature_updates"),
        since="3.3",
        modes="kraft",
        left_out=(
            "A metadata.version below that of the release; feature upgrades at run time.",
            "Delegation tokens, ACLs, SCRAM records.",
        ),
    ),
    Area(
        "KRaft quorum",
        "Votes, pre-votes, fetches of voters and observers, commits, resignation, linger.",
        "KafkaRaftClient, LeaderState, EpochElection; KIP-595, KIP-996, KIP-1166",
        (
            "controller/raft/test_raft_rules.py",
            "controller/raft/test_quorum.py",
            "controller/raft/test_quorum_schedules.py",
        ),
        ("check_quorum", "pre_vote", "quorum_hw_push"),
        since="3.3",
        modes="kraft",
        left_out=("Snapshots (KIP-630): the metadata log is never truncated.", "Changes of the voter set (KIP-853)."),
    ),
    Area(
        "ISR changes and elections",
        "AlterPartition: the maximal ISR while a request is in flight, the controller's order of checks; in older releases a conditional ZooKeeper write. A leader elected uncleanly recovers first.",
        "AlterPartitionManager, ReplicationControlManager.alterPartition; KIP-497, KIP-704",
        (
            "controller/test_alter_partition.py",
            "controller/kraft/test_kraft_proposals.py",
            "controller/rules/test_rules_kraft.py::test_an_unclean_leader_is_recovering_until_it_reports",
            "controller/rules/test_rules_zookeeper.py::test_an_election_on_demand_may_be_unclean_and_recovers_since_3_2",
            "controller/rules/test_rules_zookeeper.py::test_up_to_2_6_a_state_change_is_checked_by_zookeeper_version_alone",
        ),
        ("alter_partition", "recovery_state"),
    ),
    Area(
        "topics and settings",
        "Creating and deleting topics, adding partitions, rack-aware placement, reassignments, dynamic configuration.",
        "AdminZkClient, ReplicationControlManager, StripedReplicaPlacer, DynamicBrokerConfig; KIP-226, KIP-455, KIP-516",
        (
            "test_topics.py",
            "controller/rules/test_placement.py",
            "controller/kraft/test_kraft_admin.py",
            "test_live_settings.py",
            "controller/rules/test_rules_moves.py",
            "protocol/test_config.py",
        ),
        ("dynamic_config", "topic_ids"),
        left_out=(
            "ACLs, user quotas, moves between log directories.",
            "Kafka configuration other than what `floodmark configs` lists.",
        ),
    ),
    Area(
        "connections",
        "Connection states of clients, brokers and controllers, backoff and timeouts of connection attempts, the first request, requests that wait for a connection.",
        "NetworkClient, ClusterConnectionStates, Sender, ConsumerNetworkClient, NetworkClientUtils, ReplicaFetcherBlockingSend, ControllerChannelManager, KafkaServer.controlledShutdown, InterBrokerSendThread, NodeToControllerChannelManager, KafkaNetworkChannel, TransactionMarkerChannelManager, AddPartitionsToTxnManager; KIP-97, KIP-144, KIP-580, KIP-601",
        (
            "connections/test_network_client.py",
            "connections/test_blocking_connection.py",
            "connections/test_between_brokers.py",
            "kernel/test_connects.py",
            "protocol/test_client_config.py",
        ),
        ("controller_api_versions", "asks_api_versions", "caps_backoff"),
        left_out=(
            "Idle connections are not closed after connections.max.idle.ms; a consumer has one connection to each broker.",
            "Connecting takes no time for a broker that has the controller create an internal topic (AutoTopicCreationManager), for brokers to ZooKeeper, and between ZooKeeper servers.",
            "Requests between brokers and to controllers time out after replica.socket.timeout.ms and controller.socket.timeout.ms in every release; since 0.9 Kafka uses the broker's request.timeout.ms (the defaults are the same). A vote request that times out closes no connection.",
            "A fetcher of 0.8.2 does not retry a failed request at once (SimpleConsumer); a controller of that release connects when it has something to send; up to 0.10.0 its thread pauses for 100 ms, not 300.",
            "At the start of a session every broker and controller has connections to all nodes that it may send requests to, where Kafka connects at the first request; threads of fetchers and of the ZooKeeper-mode controller have the connections that they need.",
            "A connection that exists since the start of the session and was never used is not broken by faults that reset connections.",
            "A machine that lost power and is up again before anything is sent on an old connection accepts messages on it, as if it were a new connection.",
            "Every release chooses a broker for a request to any broker by the rules of 2.7 (NetworkClient.leastLoadedNode): in Kafka up to 2.6 the broker tried longest ago is not preferred, and up to 2.2 a broker without requests in flight comes before a connected one that has some.",
            "Lost packets and rate limits do not delay the handshake of a new connection; latency and cuts do.",
            "Up to 1.1 an administrator's request that waits for a connection stays with its broker, even if another broker is the controller by then.",
        ),
    ),
    Area(
        "producer",
        "Record accumulator, sender, partitioners, retries and backoff, timeouts, acks, metadata, buffer memory, callbacks.",
        "KafkaProducer, RecordAccumulator, Sender, BuiltInPartitioner; KIP-19, KIP-91, KIP-126, KIP-369, KIP-480, KIP-580, KIP-794, KIP-951, KAFKA-15415",
        (
            "clients/producer/test_producer.py",
            "clients/producer/test_sender.py",
            "clients/producer/test_expiry.py",
            "test_destinations.py",
            "clients/producer/test_without_keys.py",
            "broker/test_leader_hints.py",
        ),
        (
            "leader_hints",
            "learns_leaders",
            "skips_backoff",
            "fails_oldest_first",
            "expires_batches",
            "delivery_timeout",
            "splits_batches",
            "sticky_partitioner",
            "built_in_partitioner",
            "round_robin_partitioner",
            "default_partitioner",
            "uniform_sticky_partitioner",
            "round_robin_two_turns",
        ),
        left_out=(
            "Adaptive batch sizes of clients other than Kafka's own: librdkafka and others connect to the gateway themselves.",
        ),
    ),
    Area(
        "idempotence",
        "Producer ids, epochs and sequence numbers at leaders, and the effect of a restart or a truncation on them.",
        "ProducerStateManager, ProducerAppendInfo, TransactionManager; KIP-98, KIP-360, KIP-1030, KAFKA-5494",
        (
            "broker/partition/test_producer_state.py",
            "broker/test_idempotent_leader.py",
            "protocol/test_client_config.py",
        ),
        (
            "idempotence",
            "unknown_producer_id",
            "duplicate_sequence",
            "producer_epoch_bump",
            "five_in_flight",
            "strict_in_flight",
            "bumps_epoch",
        ),
        since="0.11",
        left_out=("Requests for a broker's next block of producer ids: a block is always available.",),
    ),
    Area(
        "consumer",
        "Polls, fetches, positions and their validation, offset resets, commits.",
        "KafkaConsumer, Fetcher, SubscriptionState, ConsumerCoordinator; KIP-41, KIP-62, KIP-79, KIP-320, KIP-734, KIP-1106, KAFKA-7548, KAFKA-7747",
        (
            "clients/consumer/test_consumer.py",
            "clients/consumer/test_positions.py",
            "clients/consumer/test_member_commits.py",
            "broker/test_fetch_limits.py",
            "broker/test_offsets.py",
            "tests/gateway/test_record_times.py::test_max_timestamp_is_found_by_the_rule_of_the_release",
        ),
        (
            "offsets_for_times",
            "max_timestamp",
            "max_timestamp_compressed",
            "detects_truncation",
            "keeps_paused",
            "reset_by_duration",
        ),
        left_out=("Share groups (KIP-932) and Kafka Streams.",),
    ),
    Area(
        "groups",
        "The classic protocol: joins, syncs, sessions, static members, cooperative rebalances, committed offsets and their expiry.",
        "GroupCoordinator, GroupMetadata, assignors; KIP-54, KIP-62, KIP-88, KIP-115, KIP-134, KIP-175, KIP-211, KIP-229, KIP-345, KIP-394, KIP-429, KIP-496, KIP-518, KIP-814, KIP-881",
        (
            "coordinators/group/test_conversations.py",
            "coordinators/group/test_joining.py",
            "coordinators/group/test_syncing.py",
            "coordinators/group/test_expiry.py",
            "coordinators/group/test_group_administration.py",
            "coordinators/group/test_failover.py",
            "assignors/test_sticky.py",
            "spec/test_internal_topics.py",
            "tests/faults/test_group_operations.py::test_group_descriptions",
            "tests/gateway/test_inspection_wire.py::test_everything_is_allowed_where_there_is_no_authorizer",
        ),
        (
            "group_membership",
            "rebalance_timeout",
            "delete_groups",
            "group_retention",
            "member_id_required",
            "static_members",
            "offset_delete",
            "sync_timeout",
            "skip_assignment",
            "offsets_topic_replication",
            "fetch_all_offsets",
            "list_groups_by_state",
            "group_configs",
            "sticky_assignor",
            "cooperative_assignor",
            "on_partitions_lost",
            "member_racks",
            "group_tables",
        ),
        since="0.9",
    ),
    Area(
        "consumer protocol",
        "Groups with server-side assignment: epochs, reconciliation, heartbeats, server-side assignors, subscription patterns.",
        "GroupMetadataManager, ConsumerMembershipManager; KIP-848, KIP-1082",
        (
            "coordinators/group/consumer_protocol/test_conversations.py",
            "coordinators/group/consumer_protocol/test_host.py",
            "coordinators/group/consumer_protocol/test_subscription_patterns.py",
            "coordinators/group/consumer_protocol/test_reconciling.py",
            "clients/consumer/test_modern_members.py",
        ),
        ("consumer_protocol", "server_patterns"),
        since="3.7",
        modes="kraft",
        left_out=(
            "Changing a group's protocol while it has members; racks; configuration of a single group.",
            "Limits of session timeouts and heartbeat intervals. The model's administrators use DescribeGroups for both protocols; real ones use each protocol's own request.",
            "Subscription patterns that need more than 2 MiB of memory when compiled.",
        ),
    ),
    Area(
        "transactions",
        "Transaction coordinator and its log, markers, the last stable offset, read-process-write, hanging transactions and the tools against them.",
        "TransactionCoordinator, TransactionStateManager, TransactionMarkerChannelManager; KIP-98, KIP-447, KIP-588, KIP-664, KIP-890",
        (
            "coordinators/transaction/test_conversations.py",
            "coordinators/transaction/test_coordinator.py",
            "coordinators/transaction/test_transaction_metadata.py",
            "coordinators/transaction/test_verifying.py",
            "coordinators/group/test_offsets.py",
            "coordinators/transaction/test_transactions_tool.py",
            "test_transaction_runs.py",
            "clients/producer/test_transaction_manager.py",
        ),
        (
            "stable_offsets",
            "transactions",
            "verifies_transactions",
            "transactions_v2",
            "transaction_version",
            "transaction_tools",
            "describe_producers",
            "producer_fenced",
            "transaction_abortable",
            "consumer_group_metadata",
            "aborts_when_fenced",
            "knows_abortable",
            "epoch_per_transaction",
        ),
        since="0.11",
        left_out=(
            "A transactional id per input partition, as before KIP-447: there is one per member.",
            "Filters of kafka-transactions.sh by state or duration (KIP-994); two-phase commit (KIP-939).",
        ),
    ),
    Area(
        "network and machines",
        "Connections, network cuts, packet loss, throughput, paused processes, clocks, slow and failed disks. These are choices of the model, not rules of Kafka.",
        "TCP of Linux, in outline; SocketServer (muted channels, I/O threads)",
        ("test_cuts.py", "kernel/test_cpu.py", "kernel/test_network.py", "kernel/test_cards.py"),
        left_out=(
            "Fast retransmission, congestion windows, TCP's own acknowledgements, TLS and SASL.",
            "Garbage collection other than as a pause of the process; page cache misses: reads take no time.",
        ),
    ),
)
"""All areas, from the disk upwards."""
