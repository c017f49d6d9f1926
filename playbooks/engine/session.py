"""Engine of timed playbooks: a cluster, steps, expectations and guards; RE2 patterns.

The result does not depend on how a session is advanced, one event or an hour at a time: steps act after all events due
by their time, and conditions are evaluated after each event with a trace and after each action, never in between. So
the digest depends on the playbook, the seed and the operator's actions alone.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from cluster_model.client_factory import service_bounds
from cluster_model.cluster import Cluster
from cluster_model.coordinators.group.consumer_protocol import COMPILED_PATTERNS, PatternError, PatternMatcher
from cluster_model.protocol.events import Event, StepTaken
from cluster_model.snapshots import Snapshot
from cluster_model.util.quantities import counted
from faults.declarations import Action, FaultError
from faults.guardrails import Guardrails
from faults.injector import OPERATOR, FaultInjector
from playbooks.engine.expectations import ExpectationMonitor, holds
from playbooks.engine.step_scheduler import StepSchedule, VerdictTracker, perform, take
from playbooks.model.playbook import Playbook, Step
from playbooks.model.step_text import action_text, step_name, step_of, step_text
from playbooks.recording.event_codec import WIRE, ExternalInput, action_of, submit
from playbooks.recording.recorder import Recorder, action_line, conclude_session
from playbooks.results.client_stats import ClientStats
from playbooks.results.outages import Availability
from playbooks.results.result import ClientExperience, CollectedEvents, SessionResult
from playbooks.units import duration_text

# Regular expressions in RE2's syntax, compiled by google-re2, as Kafka's group coordinator does by RE2/J.


MAX_MEMORY_BYTES: Final = 2 << 20
"""Memory limit of one compiled expression. The library keeps up to 128 of them."""


@lru_cache(maxsize=COMPILED_PATTERNS)
def compile_re2_pattern(pattern: str) -> PatternMatcher:
    """Compile an expression whose matching time is linear in the length of the text.

    Raises:
        PatternError: it is not in RE2's syntax, or needs more memory than :data:`MAX_MEMORY_BYTES`.
    """
    import re2  # noqa: PLC0415 - few sessions have a subscription by a regular expression

    options = re2.Options()
    options.max_mem = MAX_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options)
    except UnicodeEncodeError as error:
        raise PatternError(str(error)) from None
    except re2.error as error:
        (reason,) = error.args
        raise PatternError(reason.decode(errors="replace")) from None
    return lambda name: compiled.fullmatch(name) is not None


# Fault injector of a session with the guards of its playbook.


def fault_injector_for(playbook: Playbook, cluster: Cluster) -> FaultInjector:
    """Return a new fault injector."""
    board = FaultInjector(cluster)
    if playbook.guards is not None:
        condition = playbook.guards.stop_when
        if condition is None:
            board.guards = Guardrails(playbook.guards.limits, board)
        else:
            board.guards = Guardrails(
                playbook.guards.limits, board, lambda: holds(condition, cluster.query), condition.text
            )
    return board


def guard_triggered(board: FaultInjector) -> bool:
    """Return whether a guard has to act now; nothing is changed."""
    return board.guards is not None and board.guards.is_triggered()


def guard(board: FaultInjector) -> None:
    """Execute the guards."""
    if board.guards is not None and board.guards.is_triggered():
        board.guards.enforce()


# The timed session.


SLICE_US: Final = 1_000_000
"""Virtual time that :meth:`Session.finish` runs between two writes to the recording."""

SETTLE: Final = "settle"
"""Verb of the recorded line for the start of settling of a live session, and of the step that does the same."""

TAKE_OVER: Final = "take_over"
"""Verb of the recorded line for an operator taking over the remaining steps."""

ENDINGS: Final = (SETTLE, "stop")
"""Verbs of the steps that end a session."""


class Session:
    """A run of a timed playbook. Create it with :meth:`start`."""

    def __init__(
        self, playbook: Playbook, cluster: Cluster, board: FaultInjector, recorder: Recorder | None, until_us: int
    ) -> None:
        self.playbook = playbook
        self.cluster = cluster
        self.board = board
        self.recorder = recorder
        self.until_us = until_us
        """Virtual time at which the session is cut off; -1 never."""
        self.open_ended = False
        self.reason = ""
        self.on_step: Callable[[Step], None] = lambda step: None
        """Callbacks for every step of the playbook, called right when it acts."""
        self._script = StepSchedule(playbook)
        self._end_us = -1
        self._ended = False
        self._reached = False
        self._stopped = False
        self._judging = VerdictTracker(playbook, cluster, board)
        self._findings = CollectedEvents.none(service_bounds(playbook.spec))
        self._fresh: list[Event] = []
        self._result: SessionResult | None = None
        cluster.experience = self._experience

    @property
    def phase(self) -> str:
        """``steps``, ``settling`` or ``ended``."""
        if self._ended:
            return "ended"
        return "settling" if self._end_us >= 0 else "steps"

    @property
    def settles_us(self) -> int:
        """Time since which producers have stopped and faults are healed, -1 before."""
        return self._end_us - self.playbook.settle_us if self._end_us >= 0 else -1

    @property
    def next_step(self) -> Step | None:
        """The next step, None if all are taken or cancelled."""
        return self._script.next

    @property
    def steps_taken(self) -> int:
        """Number of steps that acted."""
        return self._script.taken

    @property
    def client_stats(self) -> ClientStats:
        """Statistics of the clients so far."""
        return self._findings.clients

    @property
    def availability(self) -> Availability:
        """Unavailability so far."""
        return self._findings.availability

    @property
    def due_us(self) -> int:
        """Time of the next step, or end of the wait for its condition; -1 for never."""
        return self._script.due_us(patient=self.open_ended)

    @property
    def watches(self) -> tuple[ExpectationMonitor, ...]:
        """Expectations of the playbook with their state."""
        return self._judging.watches

    @property
    def healed_us(self) -> int:
        """Time of the last heal, settling included; -1 while a fault is active, or if nothing was healed."""
        return self._judging.healed_us

    def position(self) -> dict[str, int]:
        """Return the exact position of the session, which a replay has to reach before it repeats an action."""
        return {"at_us": self.cluster.now_us, "executed": self.cluster.executed, "steps": self.steps_taken}

    def result_so_far(self, reason: str) -> SessionResult:
        """Return the result so far, without ending the session: of a recording that ends here, ``reason`` says why."""
        judged, broken = self._judging.checked(reason), self._judging.broken
        parts = (self.playbook, self.cluster, None, self._findings)
        return conclude_session(*parts, checked=judged, broken=broken, reason=reason)

    @classmethod
    def start(
        cls,
        playbook: Playbook,
        *,
        seed: int | None = None,
        recorder: Recorder | None = None,
        until_us: int = -1,
        open_ended: bool = False,
    ) -> "Session":
        """Build the cluster and start at time 0.

        ``open_ended`` is for an interactive session: it continues after its last step, until :meth:`finish`.

        Raises:
            ModelError: the cluster cannot be built.
            RecordingError: the recording cannot be started.
        """
        chosen = playbook.seed if seed is None else seed
        cluster = Cluster.build(playbook.spec, chosen, compile_pattern=compile_re2_pattern)
        session = cls(playbook, cluster, fault_injector_for(playbook, cluster), recorder, until_us)
        session.open_ended = open_ended
        if recorder is not None:
            recorder.begin(playbook, chosen, cluster.view(), until_us)
        session.begin()
        return session

    def begin(self) -> None:
        """Take the steps whose condition holds at time 0. Only needed without :meth:`start`."""
        self._take_due_conditions()
        self._collect()

    def drain(self) -> list[Event]:
        """Return the trace events since the last call, in order, for display. They are recorded already."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def advance(self, until_us: int, max_events: int = 0, stop: Callable[[], bool] | None = None) -> bool:
        """Run the model and the steps that are due, up to ``until_us`` or for ``max_events`` kernel events.

        Return earlier if ``stop`` returns True, which is called after each event with a trace. Return whether there is
        more to run. The size of slices never changes the result.
        """
        left = max_events
        self._stopped = False
        while not self._ended:
            moment = self.moment_us()
            target = until_us if moment < 0 else min(moment, until_us)
            if target < self.cluster.now_us:
                break
            before = self.cluster.executed
            exact = self._script.events_left(before) if self._end_us < 0 else -1
            if exact == 0 and self._takes_now():
                self._at_moment()
                continue
            share = min(left or exact, exact) if exact > 0 else left
            self.cluster.run(target, share, self._look_out(stop, moment))
            looked = self._act_on_conditions()
            done = self.cluster.executed - before
            if max_events:
                left -= done
                if left <= 0:
                    break
            if not self._stopped and (looked or self._faults_ended_before(moment) or 0 < exact == done):
                continue
            if self._stopped or self.cluster.now_us != moment:
                break
            self._at_moment()
        self._collect()
        return not self._ended

    def moment_us(self) -> int:
        """Return the next time at which the engine itself acts, -1 if that only depends on conditions."""
        moments = [self.until_us] if self.until_us >= 0 else []
        step = self.next_step
        if self._end_us >= 0:
            moments.append(self._end_us)
        elif step is None:
            if not self.open_ended:
                moments.append(max(self.cluster.now_us, self._quiet_from()))
        else:
            due = self._script.due_us(patient=self.open_ended)
            if due >= 0:
                moments.append(max(due, self.cluster.now_us))
        return min(moments, default=-1)

    def act(self, action: Action) -> str:
        """Execute an operator's action now; return one line for display. The action is recorded for replays.

        Raises:
            FaultError: it was refused; the message says why.
        """
        if self.phase != "steps":
            raise FaultError(f"the session is {self.phase}: faults are no longer possible", code="steps_over")
        self._record_action(action.verb, action)
        done = perform(self.board, action, OPERATOR)
        self.cluster.emit(StepTaken(self.cluster.now_us, OPERATOR, action.target, action_text(action), done.error))
        self._after_act()
        self._collect()
        if done.error:
            raise FaultError(done.error, code=done.code)
        return done.text(action)

    def submit_request(self, ingress: ExternalInput) -> int:
        """Pass a request of an external client to the model now; return the token of its response. It is recorded."""
        if self.recorder is not None:
            line = {**self.position(), **action_line(WIRE, action_of(ingress))}
            self.recorder.action(line, at_once=False)
        token = submit(self.cluster, ingress)
        if self._watching:
            self._after_act()
        self._collect()
        return token

    def settle(self) -> None:
        """Begin the end of a live session now: producers stop, faults heal, and the quiet time begins."""
        if self.phase != "steps":
            return
        self._record_action(SETTLE, Action("heal", "all"))
        if (step := self.next_step) is not None:
            self.reason = f"ended by the operator before {step_of(step, self.playbook.steps)}"
        self._begin_settling()
        self._collect()

    def finish(self) -> SessionResult:
        """Run the rest, evaluate the end and seal the recording."""
        if self._result is not None:
            return self._result
        if self.open_ended:
            self.settle()
        while self.advance(self.cluster.now_us + SLICE_US):
            pass
        self.reason = self._judging.close_steps(self.reason)
        broken = self._judging.broken
        self.cluster.close()
        self._judging.close()
        self._collect()
        parts = (self.playbook, self.cluster, self.recorder, self._findings)
        self._result = conclude_session(*parts, checked=self._judging.checked(), broken=broken, reason=self.reason)
        return self._result

    def take_over(self) -> str:
        """Cancel the remaining steps of the playbook: from here on the operator acts; return one line.

        It is recorded for replays. Expectations are still evaluated, but the result is inconclusive.

        Raises:
            FaultError: there are no steps left.
        """
        step = self.next_step
        if self.phase != "steps" or step is None:
            raise FaultError("no steps of the playbook remain to take over", code="no_step_left")
        self._record_action(TAKE_OVER, Action("heal", ""))
        self.reason = f"taken over by the operator before {step_of(step, self.playbook.steps)}"
        left = len(self.playbook.steps) - self.steps_taken
        text = f"take over: {counted(left, 'step')} of the playbook cancelled"
        self.cluster.emit(StepTaken(self.cluster.now_us, OPERATOR, "", text, ""))
        self._script.call_off()
        self._collect()
        return f"{text}; you control the session from here on"

    def cancel_steps(self) -> None:
        """Cancel the remaining steps, and run until the session is ended from outside: no settling, no cut-off."""
        self._script.call_off()
        self.open_ended, self.until_us = True, -1
        self._end_us = -1

    # -- timing -----------------------------------------------------------------------------------------------------

    def _quiet_from(self) -> int:
        """Return when settling may begin: after faults that end by themselves, and after a load without steps."""
        load = self.playbook.settle_us if self.playbook.load_alone else -1
        return max((fault.until_us for fault in self.board.active()), default=load)

    def _at_moment(self) -> None:
        """Act after all events due by now: settle, end, take the step, or end its wait."""
        step = self.next_step
        now = self.cluster.now_us
        if self._end_us == now:
            self._ended = True
        elif self.until_us == now and not self._takes_now():
            self._cut()
        elif step is None:
            self._begin_settling()
        elif step.trigger.kind == "when" and not self._condition_holds():
            self._give_up()
        else:
            self._take(step)
            self._take_due_conditions()

    def _takes_now(self) -> bool:
        """Return whether a step is due now."""
        return self._end_us < 0 and -1 < self._script.due_us(patient=self.open_ended) <= self.cluster.now_us

    def _cut(self) -> None:
        """End the session at ``until`` right here, with nothing healed."""
        step = self.next_step
        where = f"before {step_of(step, self.playbook.steps)}" if step else "before the quiet time"
        where = "while settling" if self._end_us >= 0 else where
        self.reason = self.reason or f"cut off at {duration_text(self.until_us)}, {where}"
        self._ended = True

    def _give_up(self) -> None:
        self.reason, checked = self._script.stop_waiting(self.cluster.query, self.cluster.now_us)
        self._judging.add_unreached(checked)

    def _begin_settling(self) -> None:
        now = self.cluster.now_us
        quiet = f"settle {duration_text(self.playbook.settle_us)}: producers stop, faults heal"
        self.cluster.emit(StepTaken(now, "playbook", "", quiet, ""))
        self.cluster.stop_producers()
        self.board.heal("all")
        self._judging.all_healed()
        self._end_us = now + self.playbook.settle_us
        self._judging.observe(settling=True)
        self._judging.publish()

    # -- steps ------------------------------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        if step.verb in ENDINGS:
            self._end_by(step)
            return
        done = take(step, self.cluster, self.board)
        now = self.cluster.now_us
        text = f"{step_text(step)}: {step.note}" if step.note else step_text(step)
        self.cluster.emit(StepTaken(now, step_name(step), step.target, text, done.error))
        self._script.step_taken(now)
        self.on_step(step)
        if not self._judging.acted(step, done) and done.error and not done.guarded:
            self.reason = self.reason or f"{step_name(step)}, {step_text(step)}, failed: {done.error}"
        guard(self.board)
        self._judging.evaluate(settling=self._end_us >= 0)
        self._judging.publish()

    def _end_by(self, step: Step) -> None:
        """Take a step that ends the session: by settling, or right here with nothing healed."""
        now = self.cluster.now_us
        text = f"{step_text(step)}: {step.note}" if step.note else step_text(step)
        self.cluster.emit(StepTaken(now, step_name(step), "", text, ""))
        self._script.step_taken(now)
        self.on_step(step)
        if step.verb == SETTLE:
            self._begin_settling()
        else:
            self._ended = True

    def _take_due_conditions(self) -> None:
        """Take the ``when`` steps whose condition holds already at their turn."""
        while (step := self.next_step) is not None and step.trigger.kind == "when" and self._condition_holds():
            self._take(step)

    def _condition_holds(self) -> bool:
        step = self.next_step
        if step is None or self._end_us >= 0 or step.trigger.condition is None:
            return False
        return holds(step.trigger.condition, self.cluster.query)

    # -- conditions-------------------------------------------------------------------------------------------------

    @property
    def _watching(self) -> bool:
        waits = (step := self.next_step) is not None and step.trigger.kind == "when" and self._end_us < 0
        return waits or self._judging.open or self.board.guards is not None

    def _waits_for_faults(self) -> bool:
        """Return whether settling begins as soon as no fault is active that ends by itself."""
        return self.next_step is None and self._end_us < 0 and not self.open_ended

    def _faults_ended_before(self, moment: int) -> bool:
        """Return whether settling can begin before ``moment``, as the fault that was active until then has ended."""
        return self._waits_for_faults() and self.cluster.now_us < moment and self._quiet_from() < moment

    def _look_out(self, stop: Callable[[], bool] | None, moment: int) -> Callable[[], bool] | None:
        waits = self._waits_for_faults()
        if stop is None and not waits:
            return self._check_conditions if self._watching else None

        def ask() -> bool:
            self._stopped = stop is not None and stop()
            reached = self._watching and self._check_conditions()
            return reached or self._stopped or (waits and self._faults_ended_before(moment))

        return ask

    def _check_conditions(self) -> bool:
        """Evaluate conditions after an event with a trace; True makes the model stop so that the engine can act."""
        self._judging.evaluate(settling=self._end_us >= 0)
        self._reached = self._condition_holds() or (self._end_us < 0 and guard_triggered(self.board))
        return self._reached or self._judging.decided

    def _act_on_conditions(self) -> bool:
        """Act on the conditions evaluated last; return whether there was anything to do."""
        if not (self._judging.decided or self._reached):
            return False
        self._judging.publish()
        if self._reached:
            self._reached = False
            self._after_act()
        return True

    def _after_act(self) -> None:
        guard(self.board)
        self._judging.observe(settling=self._end_us >= 0)
        self._judging.publish()
        self._take_due_conditions()

    # -- recording --------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        events = self.cluster.drain()
        self._findings.take(events)
        self._fresh += events
        if self.recorder is not None:
            self.recorder.write(events)

    def _experience(self) -> ClientExperience:
        self._collect()
        return ClientExperience(self._findings, self.cluster.now_us)

    def _record_action(self, verb: str, action: Action) -> None:
        if self.recorder is not None:
            self.recorder.action({**self.position(), **action_line(verb, action)})

    # -- snapshots --------------------------------------------------------------------------------------------------

    def switch_playbook(self, playbook: Playbook) -> None:
        """Continue with another playbook, whose steps so far are the same; only its expectations count."""
        self.playbook = playbook
        self._script.switch_playbook(playbook)
        self._judging = VerdictTracker(playbook, self.cluster, self.board)
        self._result = None

    def unrecorded_copy(self) -> "Session":
        """Return another, unrecorded session of the same playbook, into which any state of this one can be loaded."""
        cluster = self.cluster.twin()
        twin = Session(self.playbook, cluster, fault_injector_for(self.playbook, cluster), None, self.until_us)
        twin.open_ended = self.open_ended
        return twin

    def save(self) -> tuple[Snapshot, tuple[Any, ...]]:
        """Return all state: the cluster's keyframe, and the rest as plain values."""
        plain = tuple([getattr(self, name) for name in _PLAIN])
        parts = (self.board, self._judging, self._findings, self._script)
        return self.cluster.save(), (plain, *[part.save() for part in parts])

    def load(self, keyframe: Snapshot, saved: tuple[Any, ...]) -> None:
        """Restore the state of :meth:`save`; no events are left to drain then."""
        plain, board, judging, findings, script = saved
        self.cluster.load(keyframe)
        for name, value in zip(_PLAIN, plain, strict=True):
            setattr(self, name, value)
        self.board.load(board)
        self._judging.load(judging)
        self._findings = CollectedEvents.from_saved(findings)
        self._script.load(script)
        self._fresh = []
        self._result = None


_PLAIN: Final = ("reason", "_end_us", "_ended", "_reached")
"""Attributes of a session that are plain values."""
