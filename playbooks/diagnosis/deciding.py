"""The trace events that can decide about a record, and each of them in plain words."""

from collections.abc import Iterable
from typing import Final

from cluster_model.protocol.events import (
    Appended,
    BatchDamaged,
    BecameFollower,
    BecameLeader,
    Event,
    FaultHealed,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    PartitionOffline,
    RecordsAcked,
    StepTaken,
    Truncated,
    describe,
)

SIGNS: Final = ("fault_injected", "node_down", "node_paused", "batch_damaged")
"""What an operator could have been warned by."""

DECIDING: Final = (
    "fault_injected", "batch_damaged", "truncated", "partition_deleted", "replica_deleted", "leader_elected",
    "became_leader", "partition_offline", "step_taken", "isr_changed", "elr_changed", "node_down", "node_paused",
    "node_resumed", "node_up", "fault_healed", "broker_fenced", "broker_registered", "became_follower",
    "controller_changed",
)  # fmt: skip
"""Kinds, the most telling first where several come at once."""


_WRITTEN: Final = ("appended", "records_acked")


def most_telling(events: Iterable[Event], partition: str) -> Event | None:
    """Of the events that came at once, the one that says most about a partition; None where none does."""
    order = (*DECIDING, *_WRITTEN)
    mine = [event for event in events if event.kind in order and getattr(event, "partition", "") in ("", partition)]
    return min(mine, key=lambda event: order.index(event.kind), default=None)


def time_of(event: Event) -> int:
    """When it happened, in virtual microseconds."""
    at_us: int = event.values()[0]
    return at_us


def event_words(event: Event) -> str:
    """What happened, without its time."""
    if isinstance(event, FaultInjected):
        return f"{event.fault} on {event.target}" if event.target else event.fault
    if isinstance(event, FaultHealed):
        return f"the end of {event.fault} on {event.target}"
    if isinstance(event, StepTaken):
        return f"{event.by}: {event.detail}"
    if isinstance(event, NodeDown | NodeUp | NodePaused | NodeResumed):
        return f"{event.node} {_NODE[event.kind]}"
    return _of_partition(event)


_NODE: Final = {
    "node_down": "went down",
    "node_up": "came up",
    "node_paused": "was paused",
    "node_resumed": "went on",
}


def _of_partition(event: Event) -> str:
    if isinstance(event, LeaderElected):
        kind = "clean" if event.clean else "unclean"
        return f"the {kind} election of broker {event.leader} for {event.partition} in epoch {event.leader_epoch}"
    if isinstance(event, BecameLeader):
        return f"broker {event.broker} began to lead {event.partition} in epoch {event.leader_epoch}"
    if isinstance(event, BecameFollower):
        return f"broker {event.broker} began to follow broker {event.leader} in {event.partition}"
    if isinstance(event, Truncated):
        return f"broker {event.broker} cut its log of {event.partition} at offset {event.log_offset} ({event.rule})"
    if isinstance(event, IsrChanged):
        return f"the ISR of {event.partition} became {list(event.isr)}"
    if isinstance(event, PartitionOffline):
        return f"{event.partition} was left without a leader"
    if isinstance(event, BatchDamaged):
        return f"a batch of {event.partition} was damaged on broker {event.broker}'s disk"
    if isinstance(event, Appended):
        return f"broker {event.broker} wrote new records of {event.client or 'a client'} at offset {event.log_offset}"
    if isinstance(event, RecordsAcked):
        return f"{event.client or 'a client'} was told that broker {event.broker} has its next records"
    return describe(event)
