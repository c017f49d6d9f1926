"""Text for events: a sentence, a line of a running session, and the notes of a step table.

The feed of the TUI merges equal events and has its own text (``tui.viewmodel.timeline.event_text``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.events import (
    Appended,
    BatchCorrupted,
    BecameFollower,
    BecameLeader,
    ConsumerReset,
    Event,
    ExpectationChecked,
    FaultHealed,
    FaultInjected,
    FeatureFinalized,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    LogStartMoved,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
    NodeUpgraded,
    PartitionOffline,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsUnknown,
    SegmentRolled,
    StepTaken,
    Truncated,
    describe,
)
from cluster_model.spec import producer_text
from cluster_model.util.quantities import acks_text, offsets

# Sentences for explanations.


def event_sentence(event: Event) -> str:
    """Describe an event without its time: ``crash on broker 1``, ``the ISR of orders-0 became [1, 2]``."""
    if isinstance(event, FaultInjected):
        return f"{event.fault} on {event.target}" if event.target else event.fault
    if isinstance(event, FaultHealed):
        return f"the end of {event.fault} on {event.target}"
    if isinstance(event, StepTaken):
        return f"{event.by}: {event.detail}"
    if isinstance(event, NodeDown | NodeUp | NodePaused | NodeResumed):
        return f"{event.node} {_NODE[event.kind]}"
    if isinstance(event, NodeUpgraded):
        return f"{event.node} was upgraded {event.detail}"
    if isinstance(event, FeatureFinalized):
        return f"the level of a feature was finalized: {event.detail}"
    return _of_partition(event)


_NODE: Final = {
    "node_down": "went down",
    "node_up": "came up",
    "node_paused": "was paused",
    "node_resumed": "resumed",
}


def _of_partition(event: Event) -> str:
    if isinstance(event, LeaderElected):
        kind = "clean" if event.clean else "unclean"
        return f"the {kind} election of broker {event.leader} for {event.partition} in epoch {event.leader_epoch}"
    if isinstance(event, BecameLeader):
        return f"broker {event.broker} became the leader of {event.partition} in epoch {event.leader_epoch}"
    if isinstance(event, BecameFollower):
        return f"broker {event.broker} became a follower of broker {event.leader} for {event.partition}"
    if isinstance(event, Truncated):
        log = f"its log of {event.partition}"
        return f"broker {event.broker} truncated {log} to offset {event.log_offset} ({event.rule})"
    if isinstance(event, IsrChanged):
        return f"the ISR of {event.partition} became {list(event.isr)}"
    if isinstance(event, PartitionOffline):
        return f"{event.partition} went offline (no leader)"
    if isinstance(event, BatchCorrupted):
        return f"a batch of {event.partition} was corrupted on the disk of broker {event.broker}"
    if isinstance(event, Appended):
        producer = producer_text(event.client) or "an unknown client"
        return f"broker {event.broker} appended records of {producer} at offset {event.log_offset}"
    if isinstance(event, RecordsAcked):
        return f"broker {event.broker} acknowledged the records of {producer_text(event.client) or 'an unknown client'}"
    return describe(event)


# Lines of a running session.


def line_of(event: Event) -> str:
    """Return an event on one line; for most kinds its name and fields."""
    if isinstance(event, StepTaken):
        by = "" if event.by == "playbook" else f"{event.by}  "
        return f"{by}{event.detail}{f' ({event.error})' if event.error else ''}"
    if isinstance(event, ExpectationChecked):
        return f"{'ok' if event.ok else 'FAILED'}  {event.rule}{f'  ({event.detail})' if event.detail else ''}"
    if isinstance(event, FaultHealed):
        return f"healed  {event.fault} on {event.target}"
    return describe(event)


# Notes of a step table.


@dataclass(slots=True)
class _Acked:
    """Acknowledgements of adjacent offsets, merged into one note."""

    acks: int
    broker: int
    start: int
    end: int

    def joins(self, event: RecordsAcked) -> bool:
        """Merge ``event`` if it begins where this range ends; return whether it did."""
        if (event.acks, event.broker, event.log_offset) != (self.acks, self.broker, self.end):
            return False
        self.end += event.count
        return True

    def words(self) -> str:
        """Return the note."""
        return f"broker {self.broker} acknowledges {offsets(self.start, self.end)} (acks={acks_text(self.acks)})"


def notes_of(events: Sequence[Event], *, several: bool) -> list[str]:
    """Return the notes for a row of a step table: what its columns do not show.

    With ``several`` partitions, each note names its own.
    """
    noted: list[tuple[str, _Acked | str]] = []
    for event in events:
        partition = getattr(event, "partition", "")
        if isinstance(event, RecordsAcked):
            last = noted[-1][1] if noted and noted[-1][0] == partition else None
            if event.log_offset < 0 or (isinstance(last, _Acked) and last.joins(event)):
                continue
            end = event.log_offset + event.count
            noted.append((partition, _Acked(event.acks, event.broker, event.log_offset, end)))
        elif words := _note(event):
            noted.append((partition, words))
    texts = [(partition, each.words() if isinstance(each, _Acked) else each) for partition, each in noted]
    return [f"{partition}: {text}" if several and partition else text for partition, text in texts]


def _note(event: Event) -> str:
    if isinstance(event, Truncated):
        return f"broker {event.broker} truncates from {event.end_offset} to {event.log_offset} ({event.rule})"
    if isinstance(event, LogStartMoved):
        return f"broker {event.broker} advances its log start offset to {event.end_offset} ({event.by})"
    if isinstance(event, SegmentRolled):
        return f"broker {event.broker} rolls a new segment at {event.log_offset} ({event.rule})"
    if isinstance(event, RecordsFailed | RecordsUnknown):
        word = "fails" if isinstance(event, RecordsFailed) else "has an unknown outcome"
        return f"the produce with acks={acks_text(event.acks)} {word}: {event.error}"
    if isinstance(event, RecordsRead):
        end = event.log_offset + event.count - 1
        return f"the consumer reads offsets {event.log_offset} to {end} from broker {event.broker}"
    if isinstance(event, ConsumerReset):
        return f"the consumer resets from offset {event.end_offset} to {event.log_offset}"
    if isinstance(event, InvariantViolated):
        return f"{'expected violation' if event.known else 'violated'}: {event.invariant}, {event.detail}"
    return ""
