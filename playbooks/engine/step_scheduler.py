"""The steps of a timed session: which is next, what its operation answers, and what steps and expectations found."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from cluster_model.cluster import Cluster
from cluster_model.inspection.condition_functions import Query
from cluster_model.protocol.events import ExpectationChecked
from cluster_model.spec import ClusterSpec
from faults.declarations import Action, FaultError
from faults.guardrails import GuardError
from faults.injector import FaultBoard
from faults.operations import OperationResult
from playbooks.conditions.condition import Condition
from playbooks.engine.expectations import ExpectationMonitor, Expecting, explain, plain
from playbooks.model.playbook import Playbook, Step, Trigger
from playbooks.model.step_text import action_of, step_name, step_words, words
from playbooks.results.result import ExpectationResult
from playbooks.units import duration_text

# Assertions of a step: the protocol's response, and the state that it left.


def check_answer(step: Step, error: str, now_us: int, more: str = "") -> ExpectationResult | None:
    """The verdict on ``refused:``, None for a step that has no opinion. ``error`` is empty where all went well.

    ``more`` is what else there is to say about the answer.
    """
    if not step.refused:
        return None
    ok = {"any": bool(error), "never": not error}.get(step.refused, error == step.refused)
    found = f"refused: {error}" if error else "accepted"
    found = f"{found}; {more}" if more and more != error else found
    return ExpectationResult(answer_text(step), ok, now_us, found, by_step=True)


def answer_text(step: Step) -> str:
    """What a step with ``refused:`` expects, in words."""
    expected = {"any": "is refused", "never": "is not refused"}.get(step.refused, f"is refused with {step.refused}")
    return f"{step_name(step)}, {step_words(step)}, {expected}"


State = Mapping[str, Mapping[str, Any]]
"""Broker id as text, ``controller`` or ``consumer`` → field → value."""


def check_state(
    step: Step, state_of: Callable[[str], State], now_us: int, *, several: bool = False
) -> ExpectationResult | None:
    """The verdict on ``then:``, field by field, None for a step without one.

    ``state_of`` tells a partition's state; ``several``: there are more of them, so that each finding names its own.
    """
    if not step.then:
        return None
    wrong = [
        f"{f'{partition} ' if several else ''}{_who(who)}: {field} is {_shown(found)}, expected {_shown(wanted)}"
        for partition, states in step.then.items()
        for who, fields in states.items()
        for field, wanted in fields.items()
        if (found := plain(state_of(partition).get(who, {}).get(field))) != plain(wanted)
    ]
    detail = "; ".join(wrong) if wrong else "as expected"
    return ExpectationResult(
        f"state after {step_name(step)}, {step_words(step)}", not wrong, now_us, detail, by_step=True
    )


def unreached(step: Step, why: str, now_us: int) -> ExpectationResult:
    """The entry for a step that the session never got to take."""
    assert step.trigger.condition is not None  # only a `when` can fail to come
    return ExpectationResult(f"{step_name(step)} when {step.trigger.condition.text}", False, now_us, why, by_step=True)


def show_rows(state: State) -> list[tuple[str, ...]]:
    """What ``show`` prints, a row each: broker, role, LEO, HW, epochs, ISR and log (a record is ``epoch:name``)."""
    rows: list[tuple[str, ...]] = []
    for who, fields in state.items():
        isr = _joined(fields.get("isr", []))
        if who == "controller":
            rows.append((who, f"leader {fields['leader']}, epoch {fields['epoch']}", "", "", "", isr, ""))
            continue
        if who == "consumer":
            read = " ".join(f"{epoch}:{record}" for epoch, record in fields["read"])
            rows.append((who, f"at {fields['position']}", "", "", "", "", read))
            continue
        role = fields.get("role", "") if fields.get("up", True) else "down"
        epochs = " ".join(f"{epoch}@{start}" for epoch, start in fields["epochs"])
        log = " ".join(f"{epoch}:{record}" for epoch, record in fields["log"])
        rows.append((who, role, str(fields["leo"]), str(fields["hw"]), epochs, isr, log))
    return rows


def _joined(ids: Any) -> str:
    return ",".join(map(str, ids))


def _who(key: str) -> str:
    return f"broker {key}" if key.isdigit() else key


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)


# Results of steps that come later: the response to an administrator's operation.


RESEED: Final = "reseed"
"""Verb of the step from which on every draw comes of another seed."""


class ActionResult(NamedTuple):
    """What came of an action at once."""

    error: str = ""
    """Why it was refused."""
    code: str = ""
    """The same as the code of a :class:`~faults.declarations.FaultError`."""
    number: int = 0
    """Of the operation that it began."""
    skipped: bool = False
    """Whether there was nobody for it to strike, as it allows."""
    guarded: bool = False
    """Whether it was a guard that refused it."""

    def told(self, action: Action) -> str:
        """The action in words for who asked for it."""
        return f"{words(action)}: skipped, there is nobody" if self.skipped else words(action)


def perform(board: FaultBoard, action: Action, by: str) -> ActionResult:
    """Do what somebody asks for."""
    try:
        if action.verb == "inject":
            return ActionResult(skipped=not board.inject(action))
        if action.verb == "admin":
            return ActionResult(number=board.admin(action, by))
        board.heal(action.name)
    except FaultError as error:
        return ActionResult(str(error), error.code, guarded=isinstance(error, GuardError))
    return ActionResult()


def take(step: Step, cluster: Cluster, board: FaultBoard) -> ActionResult:
    """Do what a step says that does not end its session; one that begins a round does nothing."""
    if step.verb == "round":
        return ActionResult()
    if step.verb == RESEED:
        cluster.reseed(int(step.name))
        return ActionResult()
    return perform(board, action_of(step), step_name(step))


class Answers:
    """Steps with an opinion about an answer that has not come yet."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        # By their places in the file: those for other versions are not among them.
        self._steps = {step.index: step for step in steps}
        self._waiting: dict[int, int] = {}
        """Operation → step."""

    @property
    def open(self) -> bool:
        """Whether any answer is waited for."""
        return bool(self._waiting)

    def sent(self, number: int, step: Step) -> None:
        """A step began an operation."""
        if step.refused:
            self._waiting[number] = step.index

    def judge(self, ended: Iterable[OperationResult], now_us: int) -> list[ExpectationResult]:
        """The verdicts on the answers that came."""
        found = []
        for number, error, detail in ended:
            index = self._waiting.pop(number, -1)
            checked = check_answer(self._steps[index], error, now_us, detail) if index >= 0 else None
            if checked is not None:
                found.append(checked)
        return found

    def close(self, board: FaultBoard, now_us: int) -> tuple[list[ExpectationResult], list[ExpectationResult]]:
        """The session is over: verdicts on what Kafka has at least accepted, and on what nobody answered."""
        accepted: list[ExpectationResult] = []
        unanswered: list[ExpectationResult] = []
        for number, index in self._waiting.items():
            step = self._steps[index]
            if board.desk.accepted(number):
                checked = check_answer(step, "", now_us, "not finished by the end")
                accepted += [checked] if checked is not None else []
            else:
                text = answer_text(step)
                unanswered.append(ExpectationResult(text, False, now_us, "no answer came by the end", by_step=True))
        self._waiting.clear()
        return accepted, unanswered

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._waiting.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._waiting = dict(saved)


class Judging:
    """The verdicts of one session. What is decided while the model runs is kept until :meth:`tell`."""

    def __init__(self, playbook: Playbook, cluster: Cluster, board: FaultBoard) -> None:
        self._cluster = cluster
        self._board = board
        self._expecting = Expecting(playbook.expectations)
        self._answers = Answers(playbook.steps)
        self._decided: list[ExpectationResult] = []
        self._step_checks: list[ExpectationResult] = []
        self._unreached: list[ExpectationResult] = []

    @property
    def open(self) -> bool:
        """Whether anything is left that a look could decide."""
        return self._expecting.open or self._answers.open

    @property
    def healed_us(self) -> int:
        """When the last fault was healed; -1 while something is broken, or nothing ever was."""
        return self._expecting.healed_us

    @property
    def watches(self) -> tuple[ExpectationMonitor, ...]:
        """The expectations, each as far as it is decided."""
        return self._expecting.watches

    @property
    def decided(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self._decided)

    @property
    def broken(self) -> bool:
        """Whether anything was found not to hold."""
        return self._expecting.broken or any(not each.ok for each in self._step_checks)

    def acted(self, step: Step, done: ActionResult) -> bool:
        """A step acted; whether it has an opinion about how that went."""
        if done.number:
            self._answers.sent(done.number, step)
        checked = None if done.number else check_answer(step, done.error, self._cluster.now_us)
        if checked is not None:
            self._step_checks.append(checked)
            self._announce(checked)
        return checked is not None

    def look(self, *, settling: bool) -> None:
        """Judge the answers that have come to earlier steps, and the expectations."""
        judged = self._answers.judge(self._board.desk.take_ended(), self._cluster.now_us)
        self._step_checks += judged
        self._decided += judged
        self.observe(settling=settling)

    def observe(self, *, settling: bool) -> None:
        """Judge the expectations alone."""
        if not self._expecting.open:
            return
        if not settling:
            self._expecting.faults(self._board.any_active, self._cluster.now_us)
        self._decided += self._expecting.observe(self._cluster.query, self._cluster.now_us)

    def all_healed(self) -> None:
        """The quiet time begins."""
        self._expecting.all_healed(self._cluster.now_us)

    def never_came(self, checked: ExpectationResult) -> None:
        """A step was waited for in vain."""
        self._unreached.append(checked)
        self._announce(checked)

    def tell(self) -> None:
        """Put into the trace what was decided since the last time."""
        decided, self._decided = self._decided, []
        for checked in decided:
            self._announce(checked)

    def close_steps(self, reason: str) -> str:
        """The session is over, what about its steps? Returns why nothing can be concluded, ``reason`` first."""
        accepted, unanswered = self._answers.close(self._board, self._cluster.now_us)
        self._step_checks += accepted
        self._unreached += unanswered
        for checked in (*accepted, *unanswered):
            self._announce(checked)
        return reason or next((f"{checked.text}: {checked.detail}" for checked in unanswered), "")

    def close(self) -> None:
        """The books are closed: decide the rest."""
        for checked in self._expecting.close(self._cluster.query, self._cluster.now_us):
            self._announce(checked)

    def checked(self, undecided: str = "") -> tuple[ExpectationResult, ...]:
        """Everything that was judged, for the result; ``undecided`` is the detail of what is still open."""
        watched = (watch.checked(undecided) for watch in self._expecting.watches)
        return (*self._step_checks, *self._unreached, *watched)

    def _announce(self, checked: ExpectationResult) -> None:
        self._cluster.emit(ExpectationChecked(self._cluster.now_us, checked.text, checked.ok, checked.detail))

    def save(self) -> tuple[Any, ...]:
        """All state."""
        lists = (tuple(self._decided), tuple(self._step_checks), tuple(self._unreached))
        return (*lists, self._expecting.save(), self._answers.save())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        decided, step_checks, unreached, expecting, answers = saved
        self._decided, self._step_checks, self._unreached = list(decided), list(step_checks), list(unreached)
        self._expecting.load(expecting)
        self._answers.load(answers)


# Waiting steps, and why a ``when`` waited in vain: its condition at the end, and where the seed put things.


_PLACED: Final = r"(?:leader|isr|replicas)\([^()]*\)"
_IDS: Final = r"\[?\s*\d"
_NAMES_BROKERS: Final = re.compile(
    rf"{_PLACED}\s*(?:==|!=|not\s+in\b|in\b)\s*{_IDS}|\d\s*\]?\s*(?:==|!=|not\s+in\b|in\b)\s*{_PLACED}"
)
"""A leader or a set of replicas compared with ids that are written out."""


def due_us(trigger: Trigger, previous_us: int, patience_us: int, round_us: int = 0) -> int:
    """When a step acts by the clock, or stops waiting for its condition; -1 for never.

    ``patience_us`` is how long a condition without a limit of its own may take, -1 for ever; ``round_us`` is when the
    round began that the time counts from, 0 for the session's beginning.
    """
    if trigger.kind == "at":
        return round_us + trigger.time_us
    if trigger.kind == "after":
        return previous_us + trigger.time_us
    within_us = trigger.within_us if trigger.within_us >= 0 else patience_us
    return previous_us + within_us if within_us >= 0 else -1


def why_in_vain(condition: Condition, query: Query, spec: ClusterSpec) -> str:
    """``leader(orders-0) is 1``, and a hint where ids meet replicas that only the seed has placed; may be empty."""
    parts = [explain(condition, query)]
    if condition.brokers or _NAMES_BROKERS.search(condition.text):
        parts += [_placed_by_seed(partition, query, spec) for partition in condition.partitions]
    return "; ".join(filter(None, parts))


def _placed_by_seed(partition: str, query: Query, spec: ClusterSpec) -> str:
    name = partition.rpartition("-")[0]
    topic = next((topic for topic in spec.topics if topic.name == name), None)
    if topic is None or topic.placement:
        return ""
    placed = list(query.replicas(partition))
    row = str(sorted(placed)) + (", ..." if topic.partitions > 1 else "")
    return f"{partition} was placed on {placed} by the seed; placement: [{row}] fixes it"


# The order of steps: which is next, when it acts, and the text for one that never acts.


PATIENCE_US: Final = 600_000_000
"""How long a ``when`` without ``within`` may wait in a session that has nobody watching: ten minutes."""


class Script:
    """Where a session stands among the steps of its playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self.taken = 0
        """How many steps acted."""
        self._previous_us = 0
        """When the last of them did."""
        self._rounds = [0]
        """When the newest round of each depth of groups began; before them the session itself."""
        self._gave_up = False

    @property
    def next(self) -> Step | None:
        """The step that acts next, None when all are taken or given up."""
        if self._gave_up or self.taken == len(self._playbook.steps):
            return None
        return self._playbook.steps[self.taken]

    def due_us(self, *, patient: bool) -> int:
        """When the next step acts by the clock, or stops waiting for its condition; -1 for never.

        ``patient``: a condition without a limit of its own may take for ever.
        """
        step = self.next
        if step is None:
            return -1
        since_us = self._rounds[step.trigger.since_round]
        return due_us(step.trigger, self._previous_us, -1 if patient else PATIENCE_US, since_us)

    def events_left(self, executed: int) -> int:
        """Kernel events until the exact place of the next step in its instant; -1 where it has none."""
        step = self.next
        if step is None or step.trigger.executed < 0:
            return -1
        return max(0, step.trigger.executed - executed)

    def took(self, now_us: int) -> None:
        """The next step acted."""
        step = self.next
        if step is not None and step.verb == "round":
            self._rounds[step.depth :] = [now_us]
        self.taken += 1
        self._previous_us = now_us

    def give_up(self, query: Query, now_us: int) -> tuple[str, ExpectationResult]:
        """The next step waited long enough, and none is taken any more: why, and the entry for the result."""
        step = self.next
        assert step is not None
        condition = step.trigger.condition
        assert condition is not None  # only a `when` waits
        waited = duration_text(now_us - self._previous_us)
        why = why_in_vain(condition, query, self._playbook.spec)
        self._gave_up = True
        reason = f"{step_name(step)} waited {waited} for {condition.text}, which never held: {why}".rstrip(": ")
        return reason, unreached(step, f"never held within {waited}; {why}".rstrip("; "), now_us)

    def follow(self, playbook: Playbook) -> None:
        """Go on by the steps of another playbook, which has the same ones as far as they are taken."""
        self._playbook = playbook

    def call_off(self) -> None:
        """Nothing waits any more: the rest of the steps is not taken."""
        self._gave_up = True

    def save(self) -> tuple[Any, ...]:
        """All state as plain values."""
        return (self.taken, self._previous_us, self._gave_up, tuple(self._rounds))

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self.taken, self._previous_us, self._gave_up, rounds = saved
        self._rounds = list(rounds)
