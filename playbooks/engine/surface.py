"""What can be read off a session wherever it stands, and changes nothing of it."""

from cluster_model.cluster import Cluster
from playbooks.engine.expectations import Watch
from playbooks.engine.script import Script
from playbooks.engine.step_scheduler import Judging
from playbooks.model.playbook import Playbook, Step
from playbooks.recording.ending import conclude_session
from playbooks.results.availability import Availability
from playbooks.results.client_books import ClientBooks
from playbooks.results.result import Findings, Result


class Surface:
    """The part of a session that looks on."""

    playbook: Playbook
    cluster: Cluster
    open_ended: bool
    _script: Script
    _judging: Judging
    _findings: Findings
    _ended: bool
    _end_us: int

    @property
    def phase(self) -> str:
        """``steps``, ``settling`` or ``ended``."""
        if self._ended:
            return "ended"
        return "settling" if self._end_us >= 0 else "steps"

    @property
    def settles_us(self) -> int:
        """Since when producers have stopped and faults are healed, -1 while they are not."""
        return self._end_us - self.playbook.settle_us if self._end_us >= 0 else -1

    @property
    def next_step(self) -> Step | None:
        """The step that acts next, None when all are taken or given up."""
        return self._script.next

    @property
    def steps_taken(self) -> int:
        """How many steps acted."""
        return self._script.taken

    @property
    def client_books(self) -> ClientBooks:
        """What the clients saw so far."""
        return self._findings.clients

    @property
    def availability(self) -> Availability:
        """When nobody served so far."""
        return self._findings.availability

    @property
    def due_us(self) -> int:
        """When the next step acts by the clock, or stops waiting for its condition; -1 for never."""
        return self._script.due_us(patient=self.open_ended)

    @property
    def watches(self) -> tuple[Watch, ...]:
        """What the playbook expects, each as far as it is decided."""
        return self._judging.watches

    @property
    def healed_us(self) -> int:
        """When the last fault was healed, settling included; -1 while something is broken, or nothing ever was."""
        return self._judging.healed_us

    def position(self) -> dict[str, int]:
        """Where exactly the session stands: what a replay has to reach before it repeats an action."""
        return {"at_us": self.cluster.now_us, "executed": self.cluster.executed, "steps": self.steps_taken}

    def standing(self, reason: str) -> Result:
        """What it comes to where it stands, its books open: of a recording that ends here, ``reason`` says why."""
        judged, broken = self._judging.checked(reason), self._judging.broken
        told = (self.playbook, self.cluster, None, self._findings)
        return conclude_session(*told, checked=judged, broken=broken, reason=reason)
