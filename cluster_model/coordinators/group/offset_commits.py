"""Commits and fetches of offsets of the classic protocol: checks, results and expiry (``GroupCoordinator``).

Sans-IO: functions of a group and a request.
"""

from collections.abc import Container
from typing import Final

from cluster_model.coordinators.group.group_metadata import (
    GroupConfig,
    GroupMetadata,
    GroupState,
    OffsetAndMetadata,
    Offsets,
)
from cluster_model.coordinators.group.membership import member_error
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import (
    CONSUMER_PROTOCOL,
    UNKNOWN_OFFSET,
    FetchedOffset,
    OffsetCommitRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from cluster_model.protocol.versions import Profile

_COMMIT_ERRORS: Final = {
    KafkaError.UNKNOWN_TOPIC_OR_PARTITION: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_OR_FOLLOWER: KafkaError.NOT_COORDINATOR,
    KafkaError.KAFKA_STORAGE_ERROR: KafkaError.NOT_COORDINATOR,
    KafkaError.MESSAGE_TOO_LARGE: KafkaError.INVALID_COMMIT_OFFSET_SIZE,
    KafkaError.RECORD_LIST_TOO_LARGE: KafkaError.INVALID_COMMIT_OFFSET_SIZE,
    KafkaError.NETWORK_EXCEPTION: KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}
_STORE_ERRORS: Final = {
    **_COMMIT_ERRORS,
    KafkaError.REQUEST_TIMED_OUT: KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.MESSAGE_TOO_LARGE: KafkaError.UNKNOWN_SERVER_ERROR,
    KafkaError.RECORD_LIST_TOO_LARGE: KafkaError.UNKNOWN_SERVER_ERROR,
}
del _STORE_ERRORS[KafkaError.NETWORK_EXCEPTION]


_TOO_FEW: Final = (KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def commit_error(error: KafkaError, *, passes_too_few: bool = False) -> KafkaError:
    """Convert an append error for the response to a commit (``maybeConvertOffsetCommitError``).

    ``passes_too_few``: an error for too few in-sync replicas is not converted (until KAFKA-3590).
    """
    return error if passes_too_few and error in _TOO_FEW else _COMMIT_ERRORS.get(error, error)


def store_error(error: KafkaError, *, passes_too_few: bool = False) -> KafkaError:
    """Convert the append error of a group's record for the responses to its members (``storeGroup``).

    ``passes_too_few`` is as for :func:`commit_error`.
    """
    return error if passes_too_few and error in _TOO_FEW else _STORE_ERRORS.get(error, error)


def may_commit(group: GroupMetadata, request: OffsetCommitRequest) -> KafkaError:
    """Check a commit: of a current member, or from outside to a group without members (``validateOffsetCommit``)."""
    generation, member_id, instance = request.generation_id, request.member_id, request.group_instance_id
    if generation < 0 and group.state is GroupState.EMPTY:
        return KafkaError.NONE
    if generation < 0 and not member_id and not instance:
        return KafkaError.UNKNOWN_MEMBER_ID
    error = member_error(group, member_id, instance)
    if error:
        return error
    if generation != group.generation:
        return KafkaError.ILLEGAL_GENERATION
    return KafkaError.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING else KafkaError.NONE


def may_commit_in_transaction(group: GroupMetadata, request: TxnOffsetCommitRequest) -> KafkaError:
    """Check a commit in a transaction: a named member must be current (KIP-447), others are accepted."""
    generation, member_id, instance = request.generation_id, request.member_id, request.group_instance_id
    if generation < 0 and (group.state is GroupState.EMPTY or not (member_id or instance)):
        return KafkaError.NONE
    error = member_error(group, member_id, instance)
    if error:
        return error
    return KafkaError.NONE if generation == group.generation else KafkaError.ILLEGAL_GENERATION


def check_offsets(
    request: OffsetCommitRequest | TxnOffsetCommitRequest, known_partitions: Container[str], metadata_bytes: int
) -> tuple[tuple[str, int], ...]:
    """(partition, error) of each offset: unknown partitions and too long metadata are rejected, others continue."""
    return tuple(
        [
            (
                offset.partition,
                KafkaError.UNKNOWN_TOPIC_OR_PARTITION if offset.partition not in known_partitions
                else KafkaError.OFFSET_METADATA_TOO_LARGE if len(offset.metadata.encode()) > metadata_bytes
                else KafkaError.NONE,
            )
            for offset in request.offsets
        ]
    )  # fmt: skip


def to_commit(
    request: OffsetCommitRequest | TxnOffsetCommitRequest,
    verdicts: tuple[tuple[str, int], ...],
    now: int,
    profile: Profile,
    config: GroupConfig,
) -> Offsets:
    """Return the commits to be written. Before KIP-211 (2.1) every offset had its own expiry time."""
    retention_us = request.retention_us if isinstance(request, OffsetCommitRequest) else -1
    if retention_us < 0 and not profile.group_retention:
        retention_us = config.retention_us
    expires_us = now + retention_us if retention_us >= 0 else -1
    return tuple(
        [
            (
                offset.partition,
                OffsetAndMetadata(offset.offset, offset.leader_epoch, offset.metadata, now, expires_us),
            )
            for offset, (_partition, error) in zip(request.offsets, verdicts, strict=True)
            if not error
        ]
    )


def fetched(group: GroupMetadata | None, request: OffsetFetchRequest, *, stable: bool) -> tuple[FetchedOffset, ...]:
    """Return committed offsets; an unknown group has none, which is no error.

    ``stable``: a partition with a pending commit is UNSTABLE_OFFSET_COMMIT (KIP-447).
    """
    partitions = request.partitions
    if partitions is None:
        partitions = () if group is None else tuple(group.offsets.committed)
    offsets: list[FetchedOffset] = []
    for partition in partitions:
        value = None if group is None else group.offsets.committed.get(partition)
        if stable and group is not None and group.offsets.unstable(partition):
            offsets.append(FetchedOffset(partition, UNKNOWN_OFFSET, -1, "", KafkaError.UNSTABLE_OFFSET_COMMIT))
        elif value is None:
            offsets.append(FetchedOffset(partition, UNKNOWN_OFFSET, -1, "", KafkaError.NONE))
        else:
            offsets.append(FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata, KafkaError.NONE))
    return tuple(offsets)


def expired(group: GroupMetadata, now: int, profile: Profile, retention_us: int) -> list[str]:
    """Partitions whose commits have expired (``GroupMetadata.removeExpiredOffsets``, KIP-211).

    All of a group that has been Empty for the retention time; in a Stable group those of topics without a subscriber,
    since 2.4; in a group that never had members each by the age of its commit. Nothing expires while a group
    rebalances; up to KAFKA-13636 the subscriptions of the generation before decide then, which are none after Empty.
    """
    if not profile.group_retention or not group.protocol_type:
        return group.offsets.expired(now, retention_us, lambda value: value.committed_us)
    if group.state is GroupState.EMPTY:
        since = group.since_us
        return group.offsets.expired(now, retention_us, lambda value: since if since >= 0 else value.committed_us)
    knows_topics = profile.offset_delete and group.protocol_type == CONSUMER_PROTOCOL and group.topics is not None
    if knows_topics and (profile.expires_in_rebalance or group.state is GroupState.STABLE):
        return group.offsets.expired(now, retention_us, lambda value: value.committed_us, group.topics or ())
    return []


def deletable(
    group: GroupMetadata, partitions: tuple[str, ...], known_partitions: Container[str]
) -> tuple[KafkaError, tuple[tuple[str, int], ...]]:
    """Results of OffsetDelete (KIP-496): topics that a member subscribes to, or may subscribe to, are rejected."""
    consumers = group.protocol_type == CONSUMER_PROTOCOL
    if group.state is not GroupState.EMPTY and not consumers:
        return KafkaError.NON_EMPTY_GROUP, ()
    unknown = group.state is not GroupState.EMPTY and group.topics is None
    subscribed = () if group.state is GroupState.EMPTY else group.topics or ()
    verdicts = [
        (
            partition,
            KafkaError.UNKNOWN_TOPIC_OR_PARTITION if partition not in known_partitions
            else KafkaError.GROUP_SUBSCRIBED_TO_TOPIC if unknown or partition.rpartition("-")[0] in subscribed
            else KafkaError.NONE,
        )
        for partition in partitions
    ]  # fmt: skip
    return KafkaError.NONE, tuple(verdicts)
