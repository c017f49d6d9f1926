"""Engine of ``stepping: manual`` playbooks, with their table: each step is one protocol action.

A step that fails in the protocol is recorded with Kafka's error and the run continues: such failures are often the
subject of the playbook.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cluster_model.client_factory import service_bounds
from cluster_model.manual.cluster import ManualCluster
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import (
    Event,
    ExpectationChecked,
    StepTaken,
)
from faults.declarations import Action, FaultError
from playbooks.engine.expectations import ExpectationMonitors, plain
from playbooks.engine.step_scheduler import State, check_response, check_state
from playbooks.event_text import notes_of
from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import step_name, step_text
from playbooks.recording.recorder import Recorder, conclude_session
from playbooks.results.result import ClientExperience, CollectedEvents, ExpectationResult, SessionResult

# The table of a manual playbook: a row per event, with the state after it.
#
# A step with ``event`` begins a row, which includes the following steps up to the next ``event``. A playbook without
# events has a row per step.


SHOW: Final = "show"
"""The step that only prints the current state."""
NEWEST: Final = 10
"""Maximum number of records of a log in a row: more than a cell can show."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One row. ``state`` is by partition, after the row's last step, with only the newest records of each log."""

    number: int
    """Row number from 1."""
    event: str
    state: Mapping[str, State]
    notes: Sequence[str]
    """Results of the protocol actions and notes of the playbook's author, in order."""
    steps: Sequence[tuple[str, str]]
    """Pairs of a step as text and its Kafka error, which may be empty."""


@dataclass(slots=True)
class TraceTable:
    """Builder of the rows while a session runs."""

    playbook: Playbook
    state_of: Callable[[str], State]
    partitions: tuple[str, ...]
    rows: list[TraceRow] = field(default_factory=list)
    """Complete rows."""
    _event: str = ""
    _notes: list[str] = field(default_factory=list)
    _steps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def by_event(self) -> bool:
        """Whether the playbook defines where rows begin."""
        return any(step.event for step in self.playbook.steps)

    def before(self, step: Step) -> None:
        """Note that a step is about to be taken, which may complete the previous row."""
        if step.event or not self.by_event:
            self.flush()
            self._event = step.event or self._text(step)

    def after(self, step: Step, error: str, events: Sequence[Event]) -> None:
        """Note that the step was taken, with these trace events."""
        if step.name != SHOW and step.verb != "round":
            self._steps.append((self._text(step), error))
        if error:
            self._notes.append(f"{self._text(step)}: {error}")
        self._notes += notes_of(events, several=len(self.partitions) > 1)
        if step.note:
            self._notes.append(step.note)

    def _text(self, step: Step) -> str:
        """Return the step without its partition if there is only one."""
        if len(self.partitions) > 1:
            return step_text(step)
        return step_text(replace(step, params={key: value for key, value in step.params.items() if key != "partition"}))

    def flush(self) -> None:
        """Complete the current row, if it is not empty."""
        if self._steps or self._notes:
            state = {name: _newest(self.state_of(name)) for name in self.partitions}
            self.rows.append(TraceRow(len(self.rows) + 1, self._event, state, tuple(self._notes), tuple(self._steps)))
        self._notes, self._steps = [], []


def _newest(state: State) -> State:
    """Return a copy to store: of long logs the newest records, with ``older`` as a mark for more."""
    kept: dict[str, dict[str, Any]] = {}
    for who, fields in state.items():
        kept[who] = {name: plain(value) for name, value in fields.items() if name not in ("log", "read")}
        for name in ("log", "read"):
            if name in fields:
                kept[who] |= {name: plain(fields[name][-NEWEST:]), "older": len(fields[name]) > NEWEST}
    return kept


@dataclass(frozen=True, slots=True)
class ShowResult:
    """State of one partition in a ``show`` step: broker id as text (and ``controller``) → field → value."""

    step: Step
    partition: str
    """Name of the partition if the playbook has several, else empty."""
    state: Mapping[str, Mapping[str, Any]]


class ManualSession:
    """A run of a manual playbook, with the interface of :class:`playbooks.engine.session.Session`."""

    board = None
    open_ended = False

    def __init__(self, playbook: Playbook, cluster: ManualCluster, recorder: Recorder | None) -> None:
        self.playbook = playbook
        self.cluster = cluster
        self.recorder = recorder
        self.reason = ""
        self.steps_taken = 0
        self.on_show: Callable[[ShowResult], None] = lambda shown: None
        """Called with the table of every ``show`` step."""
        self.table = TraceTable(playbook, cluster.state, cluster.partitions)
        """Table of the steps so far."""
        self._expecting = ExpectationMonitors(playbook.expectations)
        self._step_checks: list[ExpectationResult] = []
        self._findings = CollectedEvents.none(service_bounds(playbook.spec))
        self._fresh: list[Event] = []
        self._result: SessionResult | None = None
        cluster.experience = self._experience

    @classmethod
    def start(cls, playbook: Playbook, *, seed: int | None = None, recorder: Recorder | None = None) -> "ManualSession":
        """Build the cluster: topics exist, logs are empty, and no broker has received metadata.

        Raises:
            ModelError: the cluster cannot be built.
            RecordingError: the recording cannot be started.
        """
        chosen = playbook.seed if seed is None else seed
        cluster = ManualCluster(playbook.spec, chosen)
        session = cls(playbook, cluster, recorder)
        if recorder is not None:
            recorder.begin(playbook, chosen, cluster.view())
        session._collect()
        return session

    @property
    def phase(self) -> str:
        """``steps`` or ``ended``."""
        return "ended" if self.next_step is None else "steps"

    @property
    def next_step(self) -> Step | None:
        """The next step, None if all are taken."""
        steps = self.playbook.steps
        return steps[self.steps_taken] if self.steps_taken < len(steps) else None

    def drain(self) -> list[Event]:
        """Return the trace events since the last call, in order, for display. They are recorded already."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def advance(self, until_us: int = 0, max_events: int = 0) -> bool:
        """Take up to ``max_events`` steps, all of them if 0; return whether any is left.

        ``until_us`` only exists for the common interface: no time passes.
        """
        del until_us
        last = self.steps_taken + max_events if max_events else len(self.playbook.steps)
        while self.steps_taken < last and (step := self.next_step) is not None:
            self._take(step)
        self._collect()
        return self.next_step is not None

    def act(self, action: Action) -> str:
        """Reject an action: only the steps of a manual playbook act. Raises :class:`FaultError`."""
        raise FaultError(
            f"{action.name} needs virtual time; with manual stepping only the playbook's steps act", code="needs_time"
        )

    def finish(self) -> SessionResult:
        """Take the remaining steps, evaluate the end and seal the recording."""
        if self._result is not None:
            return self._result
        self.advance()
        broken = self._expecting.broken or any(not each.ok for each in self._step_checks)
        self.cluster.close()
        self._expecting.all_healed(0)
        for checked in self._expecting.close(self.cluster.query, 0):
            self._announce(checked)
        self._collect()
        self._result = conclude_session(
            self.playbook,
            self.cluster,
            self.recorder,
            self._findings,
            checked=(*self._step_checks, *(watch.checked() for watch in self._expecting.watches)),
            broken=broken,
            reason=self.reason,
        )
        return self._result

    def result_so_far(self, reason: str) -> SessionResult:
        """Return the result so far, as :meth:`Session.result_so_far`."""
        judged = (*self._step_checks, *(watch.checked(reason) for watch in self._expecting.watches))
        broken = self._expecting.broken or any(not each.ok for each in self._step_checks)
        return conclude_session(
            self.playbook, self.cluster, None, self._findings, checked=judged, broken=broken, reason=reason
        )

    def position(self) -> dict[str, int]:
        """Return the position of the session: the number of steps taken."""
        return {"at_us": 0, "executed": 0, "steps": self.steps_taken}

    def _take(self, step: Step) -> None:
        self.table.before(step)
        error = self._perform(step)
        self.steps_taken += 1
        self.table.after(step, error, self._collect())
        text = f"{step_text(step)}: {step.note}" if step.note else step_text(step)
        self.cluster.emit(StepTaken(0, step_name(step), step.target, text, error))
        several = len(self.cluster.partitions) > 1
        for checked in (check_response(step, error, 0), check_state(step, self.cluster.state, 0, several=several)):
            if checked is not None:
                self._step_checks.append(checked)
                self._announce(checked)
        for checked in self._expecting.observe(self.cluster.query, 0):
            self._announce(checked)
        if step.name == SHOW:
            for partition in self.cluster.partitions:
                self.on_show(ShowResult(step, partition if several else "", plain(self.cluster.state(partition))))
        if self.next_step is None:
            self.table.flush()

    def _perform(self, step: Step) -> str:
        """Take the step; return Kafka's error, or a sentence for an invalid step."""
        if step.verb == "round":
            return ""
        try:
            return self.cluster.act(step.name, step.params)
        except ModelError as error:
            self.reason = self.reason or f"{step_name(step)}, {step_text(step)}, is invalid: {error}"
            return str(error)

    def _announce(self, checked: ExpectationResult) -> None:
        self.cluster.emit(ExpectationChecked(0, checked.text, checked.ok, checked.detail))

    def _experience(self) -> ClientExperience:
        self._collect()
        return ClientExperience(self._findings, 0)

    def _collect(self) -> list[Event]:
        events = self.cluster.drain()
        self._findings.take(events)
        self._fresh += events
        if self.recorder is not None:
            self.recorder.write(events)
        return events
