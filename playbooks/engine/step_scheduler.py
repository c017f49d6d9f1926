"""What a timed session has found out about its expectations, and about what its steps assert, so far."""

from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.protocol.events import ExpectationChecked
from faults.injector import FaultBoard
from playbooks.engine.answers import Answers, Done
from playbooks.engine.expectations import Expecting, Watch
from playbooks.engine.step_checks import check_answer
from playbooks.model.playbook import Playbook, Step
from playbooks.results.result import Checked


class Judging:
    """The verdicts of one session. What is decided while the model runs is kept until :meth:`tell`."""

    def __init__(self, playbook: Playbook, cluster: Cluster, board: FaultBoard) -> None:
        self._cluster = cluster
        self._board = board
        self._expecting = Expecting(playbook.expectations)
        self._answers = Answers(playbook.steps)
        self._decided: list[Checked] = []
        self._step_checks: list[Checked] = []
        self._unreached: list[Checked] = []

    @property
    def open(self) -> bool:
        """Whether anything is left that a look could decide."""
        return self._expecting.open or self._answers.open

    @property
    def healed_us(self) -> int:
        """When the last fault was healed; -1 while something is broken, or nothing ever was."""
        return self._expecting.healed_us

    @property
    def watches(self) -> tuple[Watch, ...]:
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

    def acted(self, step: Step, done: Done) -> bool:
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
            self._expecting.faults(bool(self._board.active()), self._cluster.now_us)
        self._decided += self._expecting.observe(self._cluster.query, self._cluster.now_us)

    def all_healed(self) -> None:
        """The quiet time begins."""
        self._expecting.all_healed(self._cluster.now_us)

    def never_came(self, checked: Checked) -> None:
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

    def checked(self, undecided: str = "") -> tuple[Checked, ...]:
        """Everything that was judged, for the result; ``undecided`` is the detail of what is still open."""
        watched = (watch.checked(undecided) for watch in self._expecting.watches)
        return (*self._step_checks, *self._unreached, *watched)

    def _announce(self, checked: Checked) -> None:
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
