"""Scheduler of a timed session's steps: the next step, responses to operations, and verdicts of steps."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.inspection.condition_functions import ConditionQuery
from cluster_model.protocol.events import ExpectationChecked
from cluster_model.spec import ClusterSpec
from faults.declarations import Action, FaultError
from faults.guardrails import GuardError
from faults.injector import FaultInjector
from faults.operations import OperationResult
from playbooks.conditions.condition import Condition
from playbooks.engine.expectations import ExpectationMonitor, ExpectationMonitors, explain, plain
from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.model.step_text import action_of, action_text, step_name, step_text
from playbooks.results.result import ExpectationResult
from playbooks.units import duration_text

# Assertions of a step: the protocol's response, and the state after it.


def check_response(step: Step, error: str, now_us: int, more: str = "") -> ExpectationResult | None:
    """Return the verdict on ``refused:``, None for a step without it. ``error`` is empty after success.

    ``more`` is an additional note about the response.
    """
    if not step.refused:
        return None
    ok = {"any": bool(error), "never": not error}.get(step.refused, error == step.refused)
    found = f"refused: {error}" if error else "accepted"
    found = f"{found}; {more}" if more and more != error else found
    return ExpectationResult(expected_response_text(step), ok, now_us, found, by_step=True)


def expected_response_text(step: Step) -> str:
    """Describe the expected response of a step with ``refused:``."""
    expected = {"any": "is refused", "never": "is not refused"}.get(step.refused, f"is refused with {step.refused}")
    return f"{step_name(step)}, {step_text(step)}, {expected}"


State = Mapping[str, Mapping[str, Any]]
"""Broker id as text, ``controller`` or ``consumer`` → field → value."""


def check_state(
    step: Step, state_of: Callable[[str], State], now_us: int, *, several: bool = False
) -> ExpectationResult | None:
    """Return the verdict on ``then:``, field by field, None for a step without it.

    ``state_of`` returns a partition's state; with ``several`` partitions each difference names its own.
    """
    if not step.then:
        return None
    mismatches = [
        f"{f'{partition} ' if several else ''}{_node_text(who)}: {field} is {_shown(actual)}, expected {_shown(wanted)}"
        for partition, states in step.then.items()
        for who, fields in states.items()
        for field, wanted in fields.items()
        if (actual := plain(state_of(partition).get(who, {}).get(field))) != plain(wanted)
    ]
    detail = "; ".join(mismatches) if mismatches else "as expected"
    return ExpectationResult(
        f"state after {step_name(step)}, {step_text(step)}", not mismatches, now_us, detail, by_step=True
    )


def unreached(step: Step, why: str, now_us: int) -> ExpectationResult:
    """Return the entry for a step that was never taken."""
    assert step.trigger.condition is not None  # only a `when` can wait in vain
    return ExpectationResult(f"{step_name(step)} when {step.trigger.condition.text}", False, now_us, why, by_step=True)


def show_rows(state: State) -> list[tuple[str, ...]]:
    """Return the rows of ``show``: broker, role, LEO, HW, epochs, ISR and log (a record is ``epoch:name``)."""
    rows: list[tuple[str, ...]] = []
    for holder, fields in state.items():
        isr = _joined(fields.get("isr", []))
        if holder == "controller":
            rows.append((holder, f"leader {fields['leader']}, epoch {fields['epoch']}", "", "", "", isr, ""))
            continue
        if holder == "consumer":
            read = " ".join(f"{epoch}:{record}" for epoch, record in fields["read"])
            rows.append((holder, f"at {fields['position']}", "", "", "", "", read))
            continue
        role = fields.get("role", "") if fields.get("up", True) else "down"
        epochs = " ".join(f"{epoch}@{start}" for epoch, start in fields["epochs"])
        log = " ".join(f"{epoch}:{record}" for epoch, record in fields["log"])
        rows.append((holder, role, str(fields["leo"]), str(fields["hw"]), epochs, isr, log))
    return rows


def _joined(ids: Any) -> str:
    return ",".join(map(str, ids))


def _node_text(key: str) -> str:
    return f"broker {key}" if key.isdigit() else key


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


# Results of actions, and later responses to an administrator's operations.


RESEED: Final = "reseed"
"""Verb of the step after which all random streams have another seed."""


class ActionResult(NamedTuple):
    """Immediate result of a step or an operator action."""

    error: str = ""
    """Why it was refused."""
    code: str = ""
    """The reason as the code of a :class:`~faults.declarations.FaultError`."""
    number: int = 0
    """Number of the operation that it started."""
    skipped: bool = False
    """Whether its target matched nothing, as it allows."""
    guarded: bool = False
    """Whether a guard refused it."""

    def text(self, action: Action) -> str:
        """Describe the action for display."""
        return f"{action_text(action)}: skipped, no matching target" if self.skipped else action_text(action)


def perform(board: FaultInjector, action: Action, by: str) -> ActionResult:
    """Execute an action."""
    try:
        if action.verb == "inject":
            return ActionResult(skipped=not board.inject(action))
        if action.verb == "admin":
            return ActionResult(number=board.admin(action, by))
        board.heal(action.name)
    except FaultError as error:
        return ActionResult(str(error), error.code, guarded=isinstance(error, GuardError))
    return ActionResult()


def take(step: Step, cluster: Cluster, board: FaultInjector) -> ActionResult:
    """Execute a step that does not end its session; one that begins a round does nothing."""
    if step.verb == "round":
        return ActionResult()
    if step.verb == RESEED:
        cluster.reseed(int(step.name))
        return ActionResult()
    return perform(board, action_of(step), step_name(step))


class ExpectedResponses:
    """Steps whose assertion waits for the response of an operation."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        # Steps by index in the file; those for other versions are missing.
        self._steps = {step.index: step for step in steps}
        self._waiting: dict[int, int] = {}
        """Operation → step."""

    @property
    def open(self) -> bool:
        """Whether any response is pending."""
        return bool(self._waiting)

    def sent(self, number: int, step: Step) -> None:
        """Note that a step started an operation."""
        if step.refused:
            self._waiting[number] = step.index

    def judge(self, ended: Iterable[OperationResult], now_us: int) -> list[ExpectationResult]:
        """Return the verdicts on the responses that arrived."""
        results = []
        for number, error, detail in ended:
            index = self._waiting.pop(number, -1)
            checked = check_response(self._steps[index], error, now_us, detail) if index >= 0 else None
            if checked is not None:
                results.append(checked)
        return results

    def close(self, board: FaultInjector, now_us: int) -> tuple[list[ExpectationResult], list[ExpectationResult]]:
        """End the session: return the verdicts on accepted operations, and on those without a response."""
        accepted: list[ExpectationResult] = []
        unanswered: list[ExpectationResult] = []
        for number, index in self._waiting.items():
            step = self._steps[index]
            if board.operation_runner.accepted(number):
                checked = check_response(step, "", now_us, "not finished by the end")
                accepted += [checked] if checked is not None else []
            else:
                text = expected_response_text(step)
                unanswered.append(ExpectationResult(text, False, now_us, "no response by the end", by_step=True))
        self._waiting.clear()
        return accepted, unanswered

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return tuple(self._waiting.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state of :meth:`save`."""
        self._waiting = dict(saved)


class VerdictTracker:
    """Verdicts of one session. Decisions while the model runs are queued until :meth:`publish`."""

    def __init__(self, playbook: Playbook, cluster: Cluster, board: FaultInjector) -> None:
        self._cluster = cluster
        self._board = board
        self._expecting = ExpectationMonitors(playbook.expectations)
        self._answers = ExpectedResponses(playbook.steps)
        self._decided: list[ExpectationResult] = []
        self._step_checks: list[ExpectationResult] = []
        self._unreached: list[ExpectationResult] = []

    @property
    def open(self) -> bool:
        """Whether anything undecided could be decided by an evaluation."""
        return self._expecting.open or self._answers.open

    @property
    def healed_us(self) -> int:
        """Time of the last heal; -1 while a fault is active, or if nothing was healed."""
        return self._expecting.healed_us

    @property
    def watches(self) -> tuple[ExpectationMonitor, ...]:
        """Expectations with their state."""
        return self._expecting.watches

    @property
    def decided(self) -> bool:
        """Whether any verdict is queued."""
        return bool(self._decided)

    @property
    def broken(self) -> bool:
        """Whether any assertion or expectation failed."""
        return self._expecting.broken or any(not each.ok for each in self._step_checks)

    def acted(self, step: Step, done: ActionResult) -> bool:
        """Note that a step acted; return whether it has an assertion about its result."""
        if done.number:
            self._answers.sent(done.number, step)
        checked = None if done.number else check_response(step, done.error, self._cluster.now_us)
        if checked is not None:
            self._step_checks.append(checked)
            self._announce(checked)
        return checked is not None

    def evaluate(self, *, settling: bool) -> None:
        """Evaluate pending responses and the expectations."""
        judged = self._answers.judge(self._board.operation_runner.take_ended(), self._cluster.now_us)
        self._step_checks += judged
        self._decided += judged
        self.observe(settling=settling)

    def observe(self, *, settling: bool) -> None:
        """Evaluate the expectations only."""
        if not self._expecting.open:
            return
        if not settling:
            self._expecting.faults(self._board.any_active, self._cluster.now_us)
        self._decided += self._expecting.observe(self._cluster.query, self._cluster.now_us)

    def all_healed(self) -> None:
        """Begin the quiet time."""
        self._expecting.all_healed(self._cluster.now_us)

    def add_unreached(self, checked: ExpectationResult) -> None:
        """Add the verdict of a step that timed out."""
        self._unreached.append(checked)
        self._announce(checked)

    def publish(self) -> None:
        """Write the queued verdicts to the trace."""
        decided, self._decided = self._decided, []
        for checked in decided:
            self._announce(checked)

    def close_steps(self, reason: str) -> str:
        """End the steps of the session; return why the result is inconclusive, ``reason`` first."""
        accepted, unanswered = self._answers.close(self._board, self._cluster.now_us)
        self._step_checks += accepted
        self._unreached += unanswered
        for checked in (*accepted, *unanswered):
            self._announce(checked)
        return reason or next((f"{checked.text}: {checked.detail}" for checked in unanswered), "")

    def close(self) -> None:
        """Decide the rest at the end of the session."""
        for checked in self._expecting.close(self._cluster.query, self._cluster.now_us):
            self._announce(checked)

    def checked(self, undecided: str = "") -> tuple[ExpectationResult, ...]:
        """Return all verdicts for the result; ``undecided`` is the detail of open ones."""
        watched = (watch.checked(undecided) for watch in self._expecting.watches)
        return (*self._step_checks, *self._unreached, *watched)

    def _announce(self, checked: ExpectationResult) -> None:
        self._cluster.emit(ExpectationChecked(self._cluster.now_us, checked.text, checked.ok, checked.detail))

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        lists = (tuple(self._decided), tuple(self._step_checks), tuple(self._unreached))
        return (*lists, self._expecting.save(), self._answers.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state of :meth:`save`."""
        decided, step_checks, unreached, expecting, answers = saved
        self._decided, self._step_checks, self._unreached = list(decided), list(step_checks), list(unreached)
        self._expecting.load(expecting)
        self._answers.load(answers)


# Waiting steps, and why a ``when`` timed out: its condition at the end, and placements by the seed.


_PLACED: Final = r"(?:leader|isr|replicas)\([^()]*\)"
_IDS: Final = r"\[?\s*\d"
_NAMES_BROKERS: Final = re.compile(
    rf"{_PLACED}\s*(?:==|!=|not\s+in\b|in\b)\s*{_IDS}|\d\s*\]?\s*(?:==|!=|not\s+in\b|in\b)\s*{_PLACED}"
)
"""Pattern of a leader or a set of replicas compared with literal ids."""


def due_us(trigger: Trigger, previous_us: int, patience_us: int, round_us: int = 0) -> int:
    """Return when a step acts, or stops waiting for its condition; -1 for never.

    ``patience_us`` is the limit of a condition without one of its own, -1 for none; ``round_us`` is the start of the
    round that the time counts from, 0 for the session's beginning.
    """
    if trigger.kind == "at":
        return round_us + trigger.time_us
    if trigger.kind == "after":
        return previous_us + trigger.time_us
    within_us = trigger.within_us if trigger.within_us >= 0 else patience_us
    return previous_us + within_us if within_us >= 0 else -1


def unmet_condition_text(condition: Condition, query: ConditionQuery, spec: ClusterSpec) -> str:
    """Return the values of a condition, ``leader(orders-0) is 1``, with a hint on placements by the seed."""
    parts = [explain(condition, query)]
    if condition.brokers or _NAMES_BROKERS.search(condition.text):
        parts += [_placed_by_seed(partition, query, spec) for partition in condition.partitions]
    return "; ".join(filter(None, parts))


def _placed_by_seed(partition: str, query: ConditionQuery, spec: ClusterSpec) -> str:
    name = partition.rpartition("-")[0]
    topic = next((topic for topic in spec.topics if topic.name == name), None)
    if topic is None or topic.placement:
        return ""
    placed = list(query.replicas(partition))
    row = str(sorted(placed)) + (", ..." if topic.partitions > 1 else "")
    return f"{partition} was placed on {placed} by the seed; fix it with placement: [{row}]"


# The order of steps: the next one, its time, and the text for one that never acts.


PATIENCE_US: Final = 600_000_000
"""Limit of a ``when`` without ``within`` in a session without an operator: ten minutes."""


class StepSchedule:
    """Position of a session among the steps of its playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self.taken = 0
        """Number of steps that acted."""
        self._previous_us = 0
        """Time of the last of them."""
        self._rounds = [0]
        """Start of the newest round at each depth of groups; before that the session's start."""
        self._gave_up = False

    @property
    def next(self) -> Step | None:
        """The next step, None if all are taken or cancelled."""
        if self._gave_up or self.taken == len(self._playbook.steps):
            return None
        return self._playbook.steps[self.taken]

    def due_us(self, *, patient: bool) -> int:
        """Return when the next step acts, or stops waiting for its condition; -1 for never.

        ``patient``: a condition without a limit of its own may take for ever.
        """
        step = self.next
        if step is None:
            return -1
        since_us = self._rounds[step.trigger.since_round]
        return due_us(step.trigger, self._previous_us, -1 if patient else PATIENCE_US, since_us)

    def events_left(self, executed: int) -> int:
        """Return the kernel events until the exact position of the next step; -1 if it has none."""
        step = self.next
        if step is None or step.trigger.executed < 0:
            return -1
        return max(0, step.trigger.executed - executed)

    def step_taken(self, now_us: int) -> None:
        """Note that the next step acted."""
        step = self.next
        if step is not None and step.verb == "round":
            self._rounds[step.depth :] = [now_us]
        self.taken += 1
        self._previous_us = now_us

    def stop_waiting(self, query: ConditionQuery, now_us: int) -> tuple[str, ExpectationResult]:
        """Stop waiting for the next step, and cancel all steps; return the reason, and the entry for the result."""
        step = self.next
        assert step is not None
        condition = step.trigger.condition
        assert condition is not None  # only a `when` waits
        waited = duration_text(now_us - self._previous_us)
        why = unmet_condition_text(condition, query, self._playbook.spec)
        self._gave_up = True
        reason = f"{step_name(step)} waited {waited} for {condition.text}, which never held: {why}".rstrip(": ")
        return reason, unreached(step, f"never held within {waited}; {why}".rstrip("; "), now_us)

    def switch_playbook(self, playbook: Playbook) -> None:
        """Continue with the steps of another playbook, which are the same as far as they are taken."""
        self._playbook = playbook

    def call_off(self) -> None:
        """Cancel the remaining steps."""
        self._gave_up = True

    def save(self) -> tuple[Any, ...]:
        """Return all state as plain values."""
        return (self.taken, self._previous_us, self._gave_up, tuple(self._rounds))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state of :meth:`save`."""
        self.taken, self._previous_us, self._gave_up, rounds = saved
        self._rounds = list(rounds)
