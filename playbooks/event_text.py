"""Events as text: what happened in a sentence, a line of a running session, and the notes of a worked table.

The feed of the TUI merges equal events and has text of its own (``tui.viewmodel.timeline.event_text``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.events import (
    Appended,
    BatchDamaged,
    BecameFollower,
    BecameLeader,
    ConsumerReset,
    Event,
    ExpectationChecked,
    FaultHealed,
    FaultInjected,
    InvariantViolated,
    IsrChanged,
    LeaderElected,
    LogStartMoved,
    NodeDown,
    NodePaused,
    NodeResumed,
    NodeUp,
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
from cluster_model.util.quantities import acks_text, offsets

# A sentence, for an explanation.


def event_words(event: Event) -> str:
    """What happened, without its time: ``crash on broker 1``, ``the ISR of orders-0 became [1, 2]``."""
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


# A line of a session as it runs.


def line_of(event: Event) -> str:
    """An event on one line; of most kinds its name and fields."""
    if isinstance(event, StepTaken):
        by = "" if event.by == "playbook" else f"{event.by}  "
        return f"{by}{event.detail}{f' ({event.error})' if event.error else ''}"
    if isinstance(event, ExpectationChecked):
        return f"{'ok' if event.ok else 'FAILED'}  {event.rule}{f'  ({event.detail})' if event.detail else ''}"
    if isinstance(event, FaultHealed):
        return f"healed  {event.fault} on {event.target}"
    return describe(event)


# Notes of a worked table.


@dataclass(slots=True)
class _Acked:
    """Acknowledgements of neighbouring offsets, on one line."""

    acks: int
    broker: int
    start: int
    end: int

    def joins(self, event: RecordsAcked) -> bool:
        """Take ``event`` in, if it begins where this ends."""
        if (event.acks, event.broker, event.log_offset) != (self.acks, self.broker, self.end):
            return False
        self.end += event.count
        return True

    def words(self) -> str:
        """The note."""
        return f"broker {self.broker} acknowledges {offsets(self.start, self.end)} (acks={acks_text(self.acks)})"


def notes_of(events: Sequence[Event], *, several: bool) -> list[str]:
    """Notes for a row of a worked table on what its columns do not show; ``several``: each names its partition."""
    found: list[tuple[str, _Acked | str]] = []
    for event in events:
        partition = getattr(event, "partition", "")
        if isinstance(event, RecordsAcked):
            last = found[-1][1] if found and found[-1][0] == partition else None
            if event.log_offset < 0 or (isinstance(last, _Acked) and last.joins(event)):
                continue
            end = event.log_offset + event.count
            found.append((partition, _Acked(event.acks, event.broker, event.log_offset, end)))
        elif words := _note(event):
            found.append((partition, words))
    texts = [(partition, each.words() if isinstance(each, _Acked) else each) for partition, each in found]
    return [f"{partition}: {text}" if several and partition else text for partition, text in texts]


def _note(event: Event) -> str:
    if isinstance(event, Truncated):
        return f"broker {event.broker} truncates from {event.end_offset} to {event.log_offset} ({event.rule})"
    if isinstance(event, LogStartMoved):
        return f"broker {event.broker} begins at {event.end_offset} now ({event.by})"
    if isinstance(event, SegmentRolled):
        return f"broker {event.broker} begins a segment at {event.log_offset} ({event.rule})"
    if isinstance(event, RecordsFailed | RecordsUnknown):
        word = "fails" if isinstance(event, RecordsFailed) else "ends unknown"
        return f"the produce with acks={acks_text(event.acks)} {word}: {event.error}"
    if isinstance(event, RecordsRead):
        end = event.log_offset + event.count - 1
        return f"the consumer reads offsets {event.log_offset} to {end} from broker {event.broker}"
    if isinstance(event, ConsumerReset):
        return f"the consumer goes from {event.end_offset} to {event.log_offset}"
    if isinstance(event, InvariantViolated):
        return f"{'known' if event.known else 'broken'}: {event.invariant}, {event.detail}"
    return ""
