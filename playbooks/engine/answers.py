"""What comes of steps after they acted: an operation of the administrator is answered later than it is asked for."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from cluster_model.cluster import Cluster
from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from faults.guardrails import GuardError
from faults.injector import FaultBoard
from faults.operations.runner import Ended
from playbooks.engine.step_checks import answer_text, check_answer
from playbooks.model.playbook import Step
from playbooks.model.wording import action_of, step_name, words
from playbooks.results.result import Checked

RESEED: Final = "reseed"
"""Verb of the step from which on every draw comes of another seed."""


class Done(NamedTuple):
    """What came of an action at once."""

    error: str = ""
    """Why it was refused."""
    number: int = 0
    """Of the operation that it began."""
    skipped: bool = False
    """Whether there was nobody for it to strike, as it allows."""
    guarded: bool = False
    """Whether it was a guard that refused it."""

    def told(self, action: Action) -> str:
        """The action in words for who asked for it."""
        return f"{words(action)}: skipped, there is nobody" if self.skipped else words(action)


def perform(board: FaultBoard, action: Action, by: str) -> Done:
    """Do what somebody asks for."""
    try:
        if action.verb == "inject":
            return Done(skipped=not board.inject(action))
        if action.verb == "admin":
            return Done(number=board.admin(action, by))
        board.heal(action.name)
    except FaultError as error:
        return Done(str(error), guarded=isinstance(error, GuardError))
    return Done()


def take(step: Step, cluster: Cluster, board: FaultBoard) -> Done:
    """Do what a step says that does not end its session; one that begins a round does nothing."""
    if step.verb == "round":
        return Done()
    if step.verb == RESEED:
        cluster.reseed(int(step.name))
        return Done()
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

    def judge(self, ended: Iterable[Ended], now_us: int) -> list[Checked]:
        """The verdicts on the answers that came."""
        found = []
        for number, error, detail in ended:
            index = self._waiting.pop(number, -1)
            checked = check_answer(self._steps[index], error, now_us, detail) if index >= 0 else None
            if checked is not None:
                found.append(checked)
        return found

    def close(self, board: FaultBoard, now_us: int) -> tuple[list[Checked], list[Checked]]:
        """The session is over: verdicts on what Kafka has at least accepted, and on what nobody answered."""
        accepted: list[Checked] = []
        unanswered: list[Checked] = []
        for number, index in self._waiting.items():
            step = self._steps[index]
            if board.desk.accepted(number):
                checked = check_answer(step, "", now_us, "not finished by the end")
                accepted += [checked] if checked is not None else []
            else:
                text = answer_text(step)
                unanswered.append(Checked(text, False, now_us, "no answer came by the end", by_step=True))
        self._waiting.clear()
        return accepted, unanswered

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple(self._waiting.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._waiting = dict(saved)
