"""The worked table of a manual playbook: a row per event, and the state that each row left behind.

A step with ``event`` begins a row, and the steps after it belong to that row until the next ``event``. A playbook
without any has a row per step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cluster_model.protocol.events import (
    ConsumerReset,
    Event,
    InvariantViolated,
    LogStartMoved,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsUnknown,
    SegmentRolled,
    Truncated,
)
from cluster_model.protocol.messages import ALL
from playbooks.engine.expectations import plain
from playbooks.engine.step_checks import State
from playbooks.model.playbook import Playbook, Step
from playbooks.model.wording import step_words

SHOW: Final = "show"
"""The step that only prints what there is."""
NEWEST: Final = 10
"""Records of a log that a row keeps: more than a cell can show."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. ``state`` is by partition, as the row's last step left it, of each log only the newest records."""

    number: int
    """From 1."""
    event: str
    state: Mapping[str, State]
    notes: Sequence[str]
    """What the protocol answered and did, and what the playbook's author says to it, in order."""
    steps: Sequence[tuple[str, str]]
    """(step in words, Kafka's error or empty)."""


@dataclass(slots=True)
class TraceTable:
    """Gathers rows while a session runs."""

    playbook: Playbook
    state_of: Callable[[str], State]
    partitions: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    """Those that are complete."""
    _event: str = ""
    _notes: list[str] = field(default_factory=list)
    _steps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def by_event(self) -> bool:
        """Whether the playbook tells where rows begin."""
        return any(step.event for step in self.playbook.steps)

    def before(self, step: Step) -> None:
        """A step is about to be taken: the row before may be complete."""
        if step.event or not self.by_event:
            self.flush()
            self._event = step.event or self._words(step)

    def after(self, step: Step, error: str, events: Sequence[Event]) -> None:
        """The step has been taken, with these events in the trace."""
        if step.name != SHOW and step.verb != "round":
            self._steps.append((self._words(step), error))
        if error:
            self._notes.append(f"{self._words(step)}: {error}")
        self._notes += telling(events, several=len(self.partitions) > 1)
        if step.note:
            self._notes.append(step.note)

    def _words(self, step: Step) -> str:
        """The step without the partition, where there is only one to speak of."""
        if len(self.partitions) > 1:
            return step_words(step)
        return step_words(
            replace(step, params={key: value for key, value in step.params.items() if key != "partition"})
        )

    def flush(self) -> None:
        """Complete the row that is being gathered, if it has anything in it."""
        if self._steps or self._notes:
            state = {name: _newest(self.state_of(name)) for name in self.partitions}
            self.rows.append(Row(len(self.rows) + 1, self._event, state, tuple(self._notes), tuple(self._steps)))
        self._notes, self._steps = [], []


def _newest(state: State) -> State:
    """A copy to keep: of long logs the newest records, with ``older`` telling that there are more."""
    kept: dict[str, dict[str, Any]] = {}
    for who, fields in state.items():
        kept[who] = {name: plain(value) for name, value in fields.items() if name not in ("log", "read")}
        for name in ("log", "read"):
            if name in fields:
                kept[who] |= {name: plain(fields[name][-NEWEST:]), "older": len(fields[name]) > NEWEST}
    return kept


@dataclass(slots=True)
class _Acked:
    """Acknowledgements that follow each other, told in one line."""

    acks: int
    broker: int
    start: int
    end: int

    def joins(self, event: RecordsAcked) -> bool:
        """Take ``event`` in, if it goes on where this ends."""
        if (event.acks, event.broker, event.log_offset) != (self.acks, self.broker, self.end):
            return False
        self.end += event.count
        return True

    def words(self) -> str:
        """As a line of the table."""
        one = self.end - self.start == 1
        offsets = f"offset {self.start}" if one else f"offsets {self.start} to {self.end - 1}"
        return f"broker {self.broker} acknowledges {offsets} (acks={acks_text(self.acks)})"


def telling(events: Sequence[Event], *, several: bool) -> list[str]:
    """What a reader of the table wants to be told beyond its columns; ``several``: name the partition each time."""
    found: list[tuple[str, _Acked | str]] = []
    for event in events:
        partition = getattr(event, "partition", "")
        if isinstance(event, RecordsAcked):
            last = found[-1][1] if found and found[-1][0] == partition else None
            if event.log_offset < 0 or (isinstance(last, _Acked) and last.joins(event)):
                continue
            end = event.log_offset + event.count
            found.append((partition, _Acked(event.acks, event.broker, event.log_offset, end)))
        elif words := _words(event):
            found.append((partition, words))
    texts = [(partition, each.words() if isinstance(each, _Acked) else each) for partition, each in found]
    return [f"{partition}: {text}" if several and partition else text for partition, text in texts]


def _words(event: Event) -> str:
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


def acks_text(acks: int) -> str:
    """As producers write it."""
    return "all" if acks == ALL else str(acks)
