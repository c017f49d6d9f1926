"""Gates of rules: what switches a rule on while brokers and controllers of two releases are in one cluster.

Most rules depend on the binary: a node follows them as soon as its own software has them. The others are gated: the
new software waits until the operator finalizes a level, or until the other end of a connection supports a request.
:data:`PROTOCOL_RULES` has the rules that are gated as a whole, :data:`PARTIAL_GATES` those of which a part is. Every
rule of ``protocol.versions`` that is in neither depends on the binary alone.

A gated rule needs the binary as well: a level never gives a node a rule that its release does not have. A rule that is
a bug or a change within another rule (``fences_twice`` in ``transactions_v2``, ``fenced_last_known`` in ``elr``,
``session_epochs`` and ``applies_old_responses`` in ``kip_320``) depends on the binary, and is without effect while the
other rule is off.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from cluster_model.protocol.versions import ELR_FEATURE, TRANSACTION_FEATURE, Mode

GateKind = Literal[
    "protocol", "message.format", "api_versions", "transaction.version", "group.version",
    "eligible.leader.replicas.version",
]  # fmt: skip
"""What the gate is.

``protocol``: a level of ``inter.broker.protocol.version`` in ZooKeeper mode, of ``metadata.version`` in KRaft mode.
``message.format``: ``log.message.format.version`` of the broker or topic, at most the level of the protocol.
``api_versions``: the newest version of a request that both ends support, which ApiVersions responses say.
The others are features of KRaft mode with a level of their own.
"""

_ZOOKEEPER: Final[tuple[Mode, ...]] = ("zookeeper",)
_KRAFT: Final[tuple[Mode, ...]] = ("kraft",)
_BOTH: Final[tuple[Mode, ...]] = ("zookeeper", "kraft")


class RuleGate(NamedTuple):
    """A gate of a rule, and the modes in which the rule has it; in a mode not listed the binary alone decides.

    A gate of the protocol that lists ZooKeeper mode only is always open in KRaft mode, whose lowest level is newer.
    """

    rule: str
    by: GateKind
    level: str
    """Level from which on the rule is active, as Kafka writes it: ``2.7-IV2``, 1 for a feature, ``Vote 2``."""
    modes: tuple[Mode, ...]
    source: str
    """Class or method that reads the level, and the KIP or issue."""
    part: str = ""
    """Gated part of the rule, empty for all of it."""


_WHOLE: Final = (
    RuleGate(
        "epoch_truncation", "protocol", "0.11.0-IV2", _ZOOKEEPER,
        "ReplicaFetcherThread.shouldSendLeaderEpochRequest (KIP-101); epochs also need message format 0.11.0",
    ),
    RuleGate(
        "transactions", "protocol", "0.11.0-IV0", _ZOOKEEPER,
        "KafkaApis.ensureInterBrokerVersion, ApiKeys.minRequiredInterBrokerMagic (KIP-98)",
    ),
    RuleGate("log_dir_failure", "protocol", "1.0-IV0", _ZOOKEEPER, "ReplicaManager.haltBrokerOnFailure (KIP-112)"),
    RuleGate(
        "fetch_sessions", "protocol", "1.1-IV0", _ZOOKEEPER,
        "ReplicaFetcherThread.fetchMetadataSupported, Fetch 7 (KIP-227); a consumer has a session by the binary",
    ),
    RuleGate(
        "kip_279", "protocol", "2.0-IV0", _ZOOKEEPER,
        "ReplicaFetcherThread.offsetForLeaderEpochRequestVersion, OffsetsForLeaderEpoch 1 (KIP-279)",
    ),
    RuleGate(
        "kip_320", "protocol", "2.1-IV2", _ZOOKEEPER,
        "ReplicaFetcherThread.fetchRequestVersion, Fetch 10; OffsetsForLeaderEpoch 2 and ListOffsets 4 from 2.1-IV1 on "
        "(KIP-320)",
    ),
    RuleGate(
        "zstd", "protocol", "2.1-IV0", _ZOOKEEPER,
        "LogValidator (KAFKA-7920, since 2.2: brokers of 2.1 accept zstd by the binary; KIP-110)",
    ),
    RuleGate(
        "static_members", "protocol", "2.3-IV0", _ZOOKEEPER,
        "KafkaApis.handleJoinGroupRequest and others: UNSUPPORTED_VERSION for an instance id (KIP-345)",
    ),
    RuleGate(
        "stop_replica_epoch", "protocol", "2.6-IV0", _ZOOKEEPER,
        "ControllerChannelManager.stopReplicaRequestVersion, StopReplica 3 (KIP-570)",
    ),
    RuleGate(
        "diverging_fetch", "protocol", "2.7-IV1", _ZOOKEEPER,
        "ApiVersion.isTruncationOnFetchSupported, Fetch 12 (KIP-595)",
    ),
    RuleGate(
        "alter_partition", "protocol", "2.7-IV2", _ZOOKEEPER,
        "ApiVersion.isAlterIsrSupported in KafkaServer and Partition (KIP-497)",
    ),
    RuleGate(
        "topic_ids", "protocol", "2.8-IV1", _ZOOKEEPER,
        "ControllerChannelManager, LeaderAndIsr 5; the controller assigns ids from 2.8-IV0 on, "
        "KafkaConfig.usesTopicId (KIP-516)",
    ),
    RuleGate(
        "recovery_state", "protocol", "3.2-IV0", _BOTH,
        "PartitionStateMachine and MetadataVersion.isLeaderRecoverySupported (KIP-704)",
    ),
    RuleGate(
        "fetch_broker_epoch", "protocol", "3.5-IV1", _BOTH,
        "MetadataVersion.fetchRequestVersion, Fetch 15; AlterPartition 3 by ApiVersions (KIP-903)",
    ),
    RuleGate(
        "no_bump_on_shrink", "protocol", "3.6-IV0", _KRAFT,
        "MetadataVersion.isLeaderEpochBumpRequiredOnIsrShrink (KAFKA-15021)",
    ),
    RuleGate(
        "timestamps", "message.format", "0.10.0-IV0", _ZOOKEEPER, "LogConfig.messageFormatVersion, magic 1 (KIP-32)"
    ),
    RuleGate(
        "idempotence", "message.format", "0.11.0-IV0", _ZOOKEEPER,
        "LogValidator: UNSUPPORTED_FOR_MESSAGE_FORMAT below magic 2 (KIP-98)",
    ),
    RuleGate(
        "consumer_protocol", "group.version", "1", _KRAFT,
        "KafkaApis.isConsumerGroupProtocolEnabled (KIP-848); before 4.0 by the binary and "
        "group.coordinator.rebalance.protocols",
    ),
    RuleGate(
        "transactions_v2", TRANSACTION_FEATURE, "2", _KRAFT,
        "TransactionVersion.supportsEpochBump, and the producer, which learns the finalized level (KIP-890)",
    ),
    RuleGate("elr", ELR_FEATURE, "1", _KRAFT, "FeatureControlManager.isElrFeatureEnabled (KIP-966)"),
    RuleGate(
        "verifies_transactions", "api_versions", "AddPartitionsToTxn 4", _BOTH,
        "AddPartitionsToTxnManager: a leader skips the verification if the coordinator does not support it (KIP-890)",
    ),
)  # fmt: skip

PARTIAL_GATES: Final = (
    RuleGate(
        "rebalance_timeout", "protocol", "0.10.1-IV0", _ZOOKEEPER, "GroupMetadataManager, group metadata 1 (KIP-62)",
        part="a coordinator that loads a group finds the rebalance timeout, not the session timeout in its place",
    ),
    RuleGate(
        "delete_records", "protocol", "0.11.0-IV1", _ZOOKEEPER, "ReplicaFetcherThread.fetchRequestVersion, Fetch 5",
        part="followers report their log start and adopt the leader's; before, DeleteRecords times out (KIP-107)",
    ),
    RuleGate(
        "group_retention", "protocol", "2.1-IV0", _ZOOKEEPER, "GroupMetadataManager, group metadata 2 (KIP-211)",
        part="a coordinator that loads an empty group knows since when it is empty; before, offsets expire by commit",
    ),
    RuleGate(
        "bounce_detected", "protocol", "2.2-IV0", _ZOOKEEPER, "ControllerChannelManager, KafkaServer (KIP-380)",
        part="requests of the controller and ControlledShutdown carry the broker epoch; detection is the controller's",
    ),
    RuleGate(
        "alter_reassignments", "protocol", "2.4-IV0", _ZOOKEEPER, "ControllerChannelManager, LeaderAndIsr 3 (KIP-455)",
        part="brokers know the added and removed replicas; the controller changes and cancels by its binary",
    ),
    RuleGate(
        "eligible_isr", "protocol", "3.3-IV3", _KRAFT, "MetadataVersion.isInControlledShutdownStateSupported (KIP-841)",
        part="brokers in shutdown may not join; fenced brokers may not by the binary",
    ),
    RuleGate(
        "eligible_isr", "api_versions", "AlterPartition 2", _BOTH, "ReplicationControlManager, KafkaController",
        part="the error is INELIGIBLE_REPLICA; it is OPERATION_NOT_ATTEMPTED for an older leader or controller",
    ),
    RuleGate(
        "strict_markers", "api_versions", "WriteTxnMarkers 2", _KRAFT, "TransactionMarkerChannelManager (KIP-1228)",
        part="a coordinator says the version of transactions; not to or from an older broker. 4.2.0 sends it to every "
        "leader, and an older one closes the connection (KAFKA-20322)",
    ),
    RuleGate(
        "pre_vote", "api_versions", "Vote 2", _KRAFT, "KafkaRaftClient.handleVoteResponse (KIP-996)",
        part="a prospective voter stays one only while every voter that it asks supports it, else it is a candidate",
    ),
    RuleGate(
        "quorum_hw_push", "api_versions", "Fetch 18", _KRAFT, "KafkaRaftClient.isHighWatermarkUpdated (KIP-1166)",
        part="a fetch is answered at once if it carries an older high watermark; as it rises all delayed ones are",
    ),
    RuleGate(
        "time_index", "message.format", "0.10.0-IV0", _ZOOKEEPER, "TimeIndex, LogSegment (KIP-33)",
        part="records have timestamps to roll and expire by; segments without use their own times",
    ),
    RuleGate(
        "offsets_for_times", "message.format", "0.10.0-IV0", _ZOOKEEPER, "Log.fetchOffsetsByTimestamp (KIP-79)",
        part="ListOffsets 1 with a timestamp; UNSUPPORTED_FOR_MESSAGE_FORMAT below it",
    ),
    RuleGate(
        "delete_horizon", "message.format", "0.11.0-IV0", _ZOOKEEPER, "MemoryRecords.filterTo, LogCleaner (KIP-534)",
        part="batches of magic 2 carry the horizon; older ones use the time of the segment",
    ),
)  # fmt: skip
"""Gates of a part of a rule that otherwise depends on the binary."""

PROTOCOL_RULES: Final[Mapping[str, RuleGate]] = MappingProxyType({gate.rule: gate for gate in _WHOLE})
"""Rule → its gate, for the rules that do not depend on the binary alone."""


def gate_of(rule: str, mode: Mode) -> RuleGate | None:
    """Return the gate of a whole rule in a controller mode, None if the rule depends on the binary alone there."""
    gate = PROTOCOL_RULES.get(rule)
    return gate if gate is not None and mode in gate.modes else None
