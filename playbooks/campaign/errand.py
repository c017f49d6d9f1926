"""Some runs of a campaign as a piece of work for another process: few, so that little waits for them."""

from collections.abc import Callable
from dataclasses import dataclass

from playbooks.campaign.run_rows import Row
from playbooks.campaign.work import Work
from playbooks.engine.job import Job, Outcome, Progress
from playbooks.exit_codes import INTERRUPTED, OK


@dataclass(frozen=True, slots=True)
class Errand(Job):
    """Runs of one kind, one after the other; ``found`` of its outcome are their rows, as many as there are."""

    work: Work | None = None
    runs: tuple[int, ...] = ()

    def carry_out(self, tell: Callable[[Progress], None]) -> Outcome:
        """Run them; never raises."""
        assert self.work is not None
        rows: list[Row] = []
        try:
            for run in self.runs:
                tell(Progress(0, f"run {run}", ""))
                rows.append(self.work.row(run))
        except KeyboardInterrupt:
            return Outcome(self, error="stopped", code=INTERRUPTED, found=tuple(rows))
        return Outcome(self, code=OK, found=tuple(rows))
