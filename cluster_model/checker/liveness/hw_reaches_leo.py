"""The high watermark reaches the end of the leader's log once nothing is produced and the whole ISR is there."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight, held_up, never_told, throttled
from cluster_model.log.replica_log import ReplicaLog

PROPERTY: Final = Property(
    "hw-reaches-leo",
    "On a partition that nobody writes to, everything in the leader's log is committed.",
    "until metadata is there, and three fetches with a back-off each; while there are followers out of the ISR "
    "replica.lag.time.max.ms besides, for which one that is caught up may hold it back.",
    "the leader and every member of the ISR; a proposed change of the ISR, and since 3.7 an ISR below "
    "min.insync.replicas, and quotas hold it back rightly",
    "up to 2.1 a broker that is back before its session has ended is told nothing (KIP-380)",
)


def owed(sight: Sight, scene: Scene) -> Iterator[Owed]:
    """An obligation for a leader with records that are not committed; any new record makes it another."""
    state, leader = scene.state, scene.leader
    if leader is None or leader.hw >= leader.log.leo or scene.leadership.pending is not None:
        return
    if sight.world.profile.hw_needs_min_isr and len(state.isr) < scene.min_isr:
        return
    members = [scene.replicas.get(broker) for broker in state.isr if broker != state.leader]
    if any(member is None or held_up(member) or not sight.serves(member.broker) for member in members):
        return
    if any(member is not None and throttled(member, leader, sight.brokers) for member in members):
        return
    known = next((why for member in members if member is not None and (why := never_told(sight, member))), "")
    token = (state.leader_epoch, leader.log.leo, leader.hw, state.isr)
    bound_us = sight.bounds.commit_us + (sight.bounds.lag_us if len(state.isr) < len(state.replicas) else 0)
    yield Owed(
        scene.name, state.leader, token, (*state.isr,), bound_us, sight.bounds.silence_us,
        "the HW of leader {} stands at {}, its log ends at {}, and all of ISR {} are there",
        (state.leader, leader.hw, leader.log.leo, list(state.isr)), known, _written_us(leader.log),
    )  # fmt: skip


def _written_us(log: ReplicaLog) -> int:
    """When the last record was appended; nothing has been written since."""
    return log.lineage_at(log.leo - 1).batch_at(log.leo - 1).appended_us if log.leo > log.log_start else -1
