"""Steps of a recorded session, found by a replay: those of the playbook and of the operator.

Steps act in order, each after the previous one. So a step of the playbook that is relative to the previous step, and
now follows one of the operator, gets its absolute time; steps that never acted are left out.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from cluster_model.protocol.events import GuardActed
from faults.injector import OPERATOR
from playbooks.engine.replay import Progress, ReplayComparison, begin
from playbooks.engine.session import ENDINGS, SETTLE, TAKE_OVER, Session
from playbooks.engine.step_scheduler import PATIENCE_US
from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.model.step_text import Line, action_lines, action_text, exact_time_text, step_name, trigger_lines
from playbooks.recording.event_codec import decode
from playbooks.recording.reader import RecordedAction, RecordedSession

# The events of a recorded session, found by a replay.
#
# The recording has the operator's actions and their positions. Only the replay shows whether further events had the
# same time, which fault had the number that was healed, and whether this version of the model gives the same events at
# all.


PLAYBOOK: Final = "playbook"
"""Name of the actor of the step with which a session settles."""
_TELLING: Final = tuple(f'"kind":"{kind}"'.encode() for kind in ("step_taken", GuardActed.kind))


@dataclass(frozen=True, slots=True)
class OperatorAction:
    """An action of the operator at its position."""

    action: RecordedAction
    pending: bool
    """Whether further events had the same time, so that the time alone does not determine the position."""
    heals: str
    """Name of the healed fault if it was given by number; else empty."""
    error: str
    """Why it was refused."""
    guarded: bool
    """Whether a guard refused it."""
    triggered_steps: int
    """Number of steps that acted right after it, triggered by it."""


@dataclass(frozen=True, slots=True)
class SessionNarrative:
    """Course of a recorded session: actions, steps and its end."""

    recorded: RecordedSession
    playbook: Playbook
    seed: int
    acted: tuple[OperatorAction, ...]
    """Actions in order, without the one that began the end."""
    left: OperatorAction | None
    """The operator's action that ended the session, if any."""
    taken: tuple[tuple[int, int], ...]
    """Time of each step of the playbook, and the number of kernel events before it."""
    settled_us: int
    """Start of the quiet time; -1: there was none."""
    reason: str
    """Why steps never acted, if some did not."""

    @property
    def torn(self) -> bool:
        """Whether the recording is incomplete."""
        return self.recorded.cut_short

    @property
    def cut(self) -> bool:
        """Whether the session was cut off on purpose before its end."""
        if self.torn or self.recorded.until_us < 0 or self.playbook.spec.manual:
            return False
        ended = self.recorded.manifest.virtual_us if self.recorded.manifest else -1
        return self.settled_us < 0 or ended < self.settled_us + self.playbook.settle_us

    @property
    def as_written(self) -> bool:
        """Whether the session has nothing but the playbook itself, from beginning to end."""
        whole = len(self.taken) == len(self.playbook.steps)
        return whole and not (self.acted or self.left or self.torn or self.cut)


def replay_narrative(recorded: RecordedSession, progress: Progress = lambda done, total: None) -> SessionNarrative:
    """Replay a recorded session and collect its course; an incomplete one up to its last complete line.

    Raises:
        ReplayMismatchError: the replay differs.
        SessionError: the recording has nothing to compare with.
        PlaybookError: the session's playbook is not valid in this version.
    """
    comparison = begin(recorded, progress)
    stood: list[tuple[int, int]] = []
    if isinstance(comparison.session, Session):
        cluster = comparison.session.cluster
        comparison.session.on_step = lambda step: stood.append((cluster.now_us, cluster.executed))
    places = []
    for action in recorded.actions:
        comparison.run_to_action(action)
        if comparison.done:
            break
        position = _time_context(comparison, action)
        before = _steps(comparison)
        comparison.repeat(action)
        places.append((action, *position, _steps(comparison) - before))
    comparison.run_to_end()
    session = comparison.session
    steps, taken, settled_us = _operator_actions(recorded)
    acted = [
        OperatorAction(action, pending, heals, *_answer(steps, number), woke)
        for number, (action, pending, heals, woke) in enumerate(places)
        if action.verb != SETTLE
    ]
    ends = [
        OperatorAction(action, pending, "", "", False, 0) for action, pending, _, _ in places if action.verb == SETTLE
    ]
    return SessionNarrative(
        recorded=recorded,
        playbook=session.playbook,
        seed=recorded.start.seed,
        acted=tuple(acted),
        left=ends[0] if ends else None,
        taken=tuple(stood[:taken]) if isinstance(session, Session) else ((0, 0),) * taken,
        settled_us=settled_us,
        reason=session.reason,
    )


def _steps(comparison: ReplayComparison) -> int:
    return comparison.session.steps_taken


def _time_context(comparison: ReplayComparison, action: RecordedAction) -> tuple[bool, str]:
    """Return whether further events have this time, and the name of a fault given by number."""
    session = comparison.session
    if not isinstance(session, Session):
        return False, ""
    cluster = session.cluster
    pending = 0 <= cluster.next_event_us() <= cluster.now_us
    heals = ""
    if action.verb == "heal" and action.name.isdigit():
        names = [fault.name for fault in session.board.active()]
        meant = [fault.name for fault in session.board.active() if str(fault.id) == action.name]
        heals = meant[0] if meant and names.count(meant[0]) == 1 else ""
    return pending, heals


def _operator_actions(recorded: RecordedSession) -> tuple[list[tuple[str, bool]], int, int]:
    """Return the operator's actions with refusals, the number of steps, and the start of the quiet time."""
    operator: list[tuple[str, bool]] = []
    taken = 0
    settled_us = -1
    before: Any = None
    for line in decode(
        b"\n".join(each for each in recorded.events.splitlines() if any(kind in each for kind in _TELLING))
    ):
        if line.kind == "step_taken":
            if line.by == OPERATOR:
                guarded = before is not None and before.kind == GuardActed.kind and before.seq == line.seq - 1
                operator.append((line.error, guarded and bool(line.error)))
            elif line.by == PLAYBOOK:
                settled_us = line.at_us
            else:
                taken += 1
        before = line
    return operator, taken, settled_us


def _answer(answers: list[tuple[str, bool]], number: int) -> tuple[str, bool]:
    """Return the result of the operator's n-th action; empty if an incomplete recording lacks it."""
    return answers[number] if number < len(answers) else ("", False)


_HOUR_US: Final = 3_600_000_000


@dataclass(frozen=True, slots=True)
class PlaybookStep:
    """A step of the playbook, with its own or another trigger."""

    step: Step
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True)
class AddedStep:
    """A step that the session adds."""

    trigger: Trigger
    lines: tuple[Line, ...]
    """Keys of its action."""
    remark: str

    def written(self) -> list[Line]:
        """Return all its lines."""
        return [*trigger_lines(self.trigger), *self.lines]


@dataclass(frozen=True, slots=True)
class StepComment:
    """A comment; ``step`` is the one that never acted, if it is about one."""

    text: str
    step: Step | None = None


Entry = PlaybookStep | AddedStep | StepComment


def entries(narrative: SessionNarrative) -> list[Entry]:
    """Return the steps of an equivalent playbook, in order."""
    if narrative.as_written:
        return [PlaybookStep(step) for step in narrative.playbook.steps]
    return _Entries(narrative).all()


class _Entries:
    """Builder of the steps, with the state needed for triggers."""

    def __init__(self, narrative: SessionNarrative) -> None:
        self._story = narrative
        self._entries: list[Entry] = []
        self._at_us = 0
        """Latest ``at`` so far: in a file it may not decrease."""
        self._before_us = 0
        """Time of the previous step."""
        self._between = False
        """Whether the previous step is not the playbook's own previous step."""
        self._last_us = 0
        """Time of the playbook's own previous step."""
        self._wake = 0
        """Number of further steps triggered by an action that is left out."""
        self._round = False
        """Whether the playbook's own previous step began a round, and is left out."""

    def all(self) -> list[Entry]:
        """Return all entries, including the end of the session."""
        acted = list(self._story.acted)
        for number, step in enumerate(self._story.playbook.steps):
            while acted and acted[0].action.steps <= number:
                self._operator(acted.pop(0))
            if number >= len(self._story.taken):
                break
            self._own(step, *self._story.taken[number])
        for each in acted:
            self._operator(each)
        self._ending()
        self._never_acted()
        return self._entries

    # -- the operator's ---------------------------------------------------------------------------------------------

    def _operator(self, acted: OperatorAction) -> None:
        action = acted.action.action()
        if acted.action.verb == TAKE_OVER:
            self._entries.append(StepComment(f"at {exact_time_text(acted.action.at_us)} the operator took over"))
            return
        if acted.error and not acted.guarded:
            self._entries.append(
                StepComment(
                    f"at {exact_time_text(acted.action.at_us)} the operator tried {action_text(action)}, "
                    f"refused: {acted.error}"
                )
            )
            self._wake = acted.triggered_steps
            return
        named = replace(action, name=acted.heals or action.name)
        remark = "the operator" if not acted.error else f"the operator; {acted.error}"
        self._add(self._exact_trigger(acted.action, pending=acted.pending), tuple(action_lines(named)), remark)

    def _exact_trigger(self, action: RecordedAction, *, pending: bool) -> Trigger:
        return Trigger("at", action.at_us, executed=action.executed if pending else -1)

    def _add(self, trigger: Trigger, lines: tuple[Line, ...], remark: str) -> None:
        self._entries.append(AddedStep(trigger, lines, remark))
        self._at_us = self._before_us = trigger.time_us
        self._between = True

    # -- the playbook's own -----------------------------------------------------------------------------------------

    def _own(self, step: Step, taken_us: int, executed: int) -> None:
        last_us, self._last_us = self._last_us, taken_us
        if step.verb == "round":
            self._between = self._round = True
            return
        trigger = self._trigger(step, Trigger("at", taken_us, executed=executed), last_us)
        self._round = False
        self._entries.append(PlaybookStep(step, trigger))
        chosen = trigger or step.trigger
        if chosen.kind == "at":
            self._at_us = max(self._at_us, chosen.time_us)
        self._before_us = taken_us
        self._between = False

    def _trigger(self, step: Step, exact: Trigger, last_us: int) -> Trigger | None:
        """Return another trigger if its own would act at another time, else None."""
        if step.verb == "manual":
            return None
        woken, self._wake = self._wake > 0, max(0, self._wake - 1)
        own = step.trigger
        if own.kind == "when":
            # The event that made the engine evaluate the condition at this time is missing now.
            return exact if woken or self._round else self._patient(own, exact.time_us, last_us)
        late = own.kind == "at" and (own.since_round > 0 or own.time_us < self._at_us)
        counts = own.kind == "after" and self._between
        return replace(exact, executed=-1) if late or counts else None

    def _patient(self, own: Trigger, taken_us: int, last_us: int) -> Trigger | None:
        """Extend a ``when`` so that it may wait until its original limit, despite added steps."""
        waited_us = taken_us - self._before_us
        if own.within_us >= 0:
            end_us = last_us + own.within_us
            return replace(own, within_us=end_us - self._before_us) if self._between else None
        if waited_us >= PATIENCE_US:
            return replace(own, within_us=waited_us + _HOUR_US)
        if taken_us == last_us + PATIENCE_US and not self._story.recorded.start.live:
            return replace(own, within_us=waited_us)
        return None

    # -- the end ----------------------------------------------------------------------------------------------------

    def _ending(self) -> None:
        story = self._story
        taken = story.playbook.steps[: len(story.taken)]
        if story.playbook.spec.manual or (taken and taken[-1].verb in ENDINGS):
            return
        if story.left is not None:
            self._add(
                self._exact_trigger(story.left.action, pending=story.left.pending),
                (("settle", "now"),),
                "the operator left",
            )
        elif story.settled_us >= 0:
            self._add(Trigger("at", story.settled_us), (("settle", "now"),), "the session began to settle")
        elif story.torn:
            last_us = max(story.recorded.last_us, self._before_us)
            self._add(Trigger("at", last_us), (("settle", "now"),), "the recording ends here")
        else:
            self._add(Trigger("at", story.recorded.until_us), (("stop", "now"),), "the session was cut off here")

    def _never_acted(self) -> None:
        left = self._story.playbook.steps[len(self._story.taken) :]
        if not left:
            return
        why = f": {self._story.reason}" if self._story.reason else ""
        named = f"{step_name(left[0])} to {step_name(left[-1])[5:]}" if len(left) > 1 else step_name(left[0])
        self._entries.append(StepComment(f"{named} of the playbook never acted{why}"))
        self._entries += [StepComment("", step) for step in left if step.verb != "round"]
