"""Some runs of a campaign as a piece of work for another process: few, so that little waits for them."""

from collections.abc import Callable
from dataclasses import dataclass

from playbooks.exit_codes import INTERRUPTED, OK
from playbooks.job import Job, Outcome, Progress
from playbooks.storms.plan import Plan
from playbooks.storms.rows import Row


@dataclass(frozen=True, slots=True)
class Errand(Job):
    """Runs of one plan, one after the other; ``found`` of its outcome are their rows, as many as there are."""

    plan: Plan | None = None
    runs: tuple[int, ...] = ()

    def carry_out(self, tell: Callable[[Progress], None]) -> Outcome:
        """Run them; never raises."""
        assert self.plan is not None
        rows: list[Row] = []
        try:
            for run in self.runs:
                tell(Progress(0, f"run {run}", ""))
                rows.append(self.plan.row(run))
        except KeyboardInterrupt:
            return Outcome(self, error="stopped", code=INTERRUPTED, found=tuple(rows))
        return Outcome(self, code=OK, found=tuple(rows))
