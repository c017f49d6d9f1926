"""The steps of a session as they come: which is next, when it acts by the clock, and what is said of one in vain."""

from typing import Any, Final

from cluster_model.inspection.condition_functions import Query
from playbooks.engine.step_checks import unreached
from playbooks.engine.waiting import due_us, why_in_vain
from playbooks.model.playbook import Playbook, Step
from playbooks.model.wording import step_name
from playbooks.results.result import Checked
from playbooks.units import duration_text

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

    def give_up(self, query: Query, now_us: int) -> tuple[str, Checked]:
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
