"""Replicas that follow come to hold what their leader holds."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight, held_up, never_told, throttled
from cluster_model.log.compare import differing
from cluster_model.log.leader_epoch_cache import EpochCache
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.versions import Profile

PROPERTY: Final = Property(
    "convergence",
    "A follower's log is its leader's as far as both reach, and both have the same epochs for it; trailing epochs in "
    "which nothing was written may be known to one of them only.",
    "what isr-rejoined takes, and four fetches.",
    "leader and follower; quotas, a damaged batch and a fetcher that waits for newer metadata are no broken promise",
    "up to 0.10.2 logs part for good when followers cut to their own high watermark (KIP-101, 0.11); from 0.11 to 1.1 "
    "after failovers in a row (KIP-279, 2.0)",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
    """An obligation for each follower that holds anything else than its leader."""
    state, leader = scene.state, scene.leader
    if leader is None:
        return
    profile, bounds = sight.world.profile, sight.bounds
    for broker, replica in scene.followers():
        same = replica.log.extents == leader.log.extents and replica.log.epochs.entries == leader.log.epochs.entries
        if same or not sight.serves(broker) or held_up(replica) or throttled(replica, leader, sight.brokers):
            continue
        parted = differing(leader.log, replica.log)
        if parted:
            offset, what = parted[0][0], "other records"
        else:
            offset, what = _epochs_part(leader.log, replica.log, profile), "another epoch"
        if offset >= 0:
            yield Owed(
                scene.name, broker, (state.leader_epoch, what, offset), (state.leader, broker), bounds.converge_us,
                bounds.silence_us, "broker {} follows leader {}, and has {} at offset {}",
                (broker, state.leader, what, offset), _known(profile) or never_told(sight, replica),
            )  # fmt: skip


def _known(profile: Profile) -> str:
    if not profile.epoch_truncation:
        return f"known for {profile.version}: followers cut to their own high watermark; KIP-101 mended it in 0.11"
    if not profile.kip_279:
        return f"known for {profile.version}: failovers in a row mislead followers; KIP-279 mended it in 2.0"
    return ""


def _epochs_part(one: ReplicaLog, other: ReplicaLog, profile: Profile) -> int:
    """First offset of a stint, in both logs, whose record is of another epoch by one cache than by the other; -1: none.

    Only what was written counts, so entries of empty epochs make no difference.
    """
    if not profile.epoch_truncation or one.epochs.entries == other.epochs.entries:
        return -1
    start, end = max(one.log_start, other.log_start), min(one.leo, other.leo)
    for begins, _stint in one.extents:
        offset = max(begins, start)
        if offset < end and _epoch_at(one.epochs, offset) != _epoch_at(other.epochs, offset):
            return offset
    return -1


def _epoch_at(cache: EpochCache, offset: int) -> int:
    return max((epoch for epoch, start in cache.entries if start <= offset), default=-1)
