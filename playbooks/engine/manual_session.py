"""The engine of ``stepping: manual`` playbooks: time stands still, and each step is one protocol action.

A step that the protocol refuses is written down with Kafka's error and the run goes on: refusals are what such a
playbook is often about.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cluster_model.manual.cluster import ManualCluster
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.events import Event, ExpectationChecked, StepTaken
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from playbooks.engine.expectations import Expecting, plain
from playbooks.engine.step_checks import check_answer, check_state
from playbooks.engine.trace_rows import SHOW, TraceTable
from playbooks.model.playbook import Playbook, Step
from playbooks.model.wording import step_name, step_words
from playbooks.recording.ending import conclude_session
from playbooks.recording.recorder import Recorder
from playbooks.results.result import Checked, Findings, Result


@dataclass(frozen=True, slots=True)
class Shown:
    """What a ``show`` step found of one partition: broker id as text (and ``controller``) → field → value."""

    step: Step
    partition: str
    """Its name where the playbook has several, else empty."""
    state: Mapping[str, Mapping[str, Any]]


class ManualSession:
    """One run of a manual playbook, with the surface of :class:`playbooks.engine.session.Session`."""

    board = None
    open_ended = False

    def __init__(self, playbook: Playbook, cluster: ManualCluster, recorder: Recorder | None) -> None:
        self.playbook = playbook
        self.cluster = cluster
        self.recorder = recorder
        self.reason = ""
        self.steps_taken = 0
        self.on_show: Callable[[Shown], None] = lambda shown: None
        """Called with the table of every ``show`` step."""
        self.table = TraceTable(playbook, cluster.state, cluster.partitions)
        """What the steps did so far, as a table to print."""
        self._expecting = Expecting(playbook.expectations)
        self._step_checks: list[Checked] = []
        self._findings = Findings.none()
        self._fresh: list[Event] = []
        self._result: Result | None = None

    @classmethod
    def start(cls, playbook: Playbook, *, seed: int | None = None, recorder: Recorder | None = None) -> "ManualSession":
        """Build the cluster: topics exist, logs are empty, and no broker has been told anything.

        Raises:
            ModelError: the cluster cannot be built.
            RecordingError: the recording cannot be begun.
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
        """The step that acts next, None when all are taken."""
        steps = self.playbook.steps
        return steps[self.steps_taken] if self.steps_taken < len(steps) else None

    def drain(self) -> list[Event]:
        """The trace events since the last call, in order, for whoever shows them. They are recorded already."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def advance(self, until_us: int = 0, max_events: int = 0) -> bool:
        """Take up to ``max_events`` steps, all of them when 0; returns whether any is left.

        ``until_us`` is there for the sake of the common surface: no time passes.
        """
        del until_us
        last = self.steps_taken + max_events if max_events else len(self.playbook.steps)
        while self.steps_taken < last and (step := self.next_step) is not None:
            self._take(step)
        self._collect()
        return self.next_step is not None

    def act(self, action: Action) -> str:
        """Refuse: in a manual playbook only its steps act. Raises :class:`FaultError`."""
        raise FaultError(f"{action.name} needs time to pass; in manual stepping only the playbook's steps act")

    def finish(self) -> Result:
        """Take the steps that are left, close the books and seal the recording."""
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

    def standing(self, reason: str) -> Result:
        """Like :meth:`Session.standing`."""
        judged = (*self._step_checks, *(watch.checked(reason) for watch in self._expecting.watches))
        broken = self._expecting.broken or any(not each.ok for each in self._step_checks)
        return conclude_session(
            self.playbook, self.cluster, None, self._findings, checked=judged, broken=broken, reason=reason
        )

    def position(self) -> dict[str, int]:
        """Where the session stands: its only clock is the number of steps taken."""
        return {"at_us": 0, "executed": 0, "steps": self.steps_taken}

    def _take(self, step: Step) -> None:
        self.table.before(step)
        error = self._perform(step)
        self.steps_taken += 1
        self.table.after(step, error, self._collect())
        text = f"{step_words(step)}: {step.note}" if step.note else step_words(step)
        self.cluster.emit(StepTaken(0, step_name(step), step.target, text, error))
        several = len(self.cluster.partitions) > 1
        for checked in (check_answer(step, error, 0), check_state(step, self.cluster.state, 0, several=several)):
            if checked is not None:
                self._step_checks.append(checked)
                self._announce(checked)
        for checked in self._expecting.observe(self.cluster.query, 0):
            self._announce(checked)
        if step.name == SHOW:
            for partition in self.cluster.partitions:
                self.on_show(Shown(step, partition if several else "", plain(self.cluster.state(partition))))
        if self.next_step is None:
            self.table.flush()

    def _perform(self, step: Step) -> str:
        """Take the step; returns Kafka's error, or a sentence for a step that makes no sense."""
        if step.verb == "round":
            return ""
        try:
            return self.cluster.act(step.name, step.params)
        except ModelError as error:
            self.reason = self.reason or f"{step_name(step)}, {step_words(step)}, makes no sense: {error}"
            return str(error)

    def _announce(self, checked: Checked) -> None:
        self.cluster.emit(ExpectationChecked(0, checked.text, checked.ok, checked.detail))

    def _collect(self) -> list[Event]:
        events = self.cluster.drain()
        self._findings.take(events)
        self._fresh += events
        if self.recorder is not None:
            self.recorder.write(events)
        return events
