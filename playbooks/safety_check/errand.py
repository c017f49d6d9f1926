"""One seed's futures as a piece of work for another process, and all of them together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.errors import ModelError
from playbooks.engine.job import Job, Outcome, Progress
from playbooks.engine.worker_pool import run_all
from playbooks.errors import PlaybookError
from playbooks.exit_codes import BAD_INPUT, INTERNAL, INTERRUPTED, OK
from playbooks.safety_check.futures import Future, Futures, Plan
from playbooks.safety_check.start_point import Standing, StandingError


class AskingError(Exception):
    """The question cannot be answered; the message says why."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What comes of the action under a seed, and what would have come without it until the same instant."""

    action: Future
    baseline: Future


@dataclass(frozen=True, slots=True)
class Errand(Job):
    """A question put to one seed."""

    standing: Standing | None = None
    plan: Plan | None = None
    fork: int = 0
    """The seed of all that is drawn from the instant on."""

    def carry_out(self, tell: Callable[[Progress], None]) -> Outcome:
        """Run both futures; never raises."""
        assert self.standing is not None
        assert self.plan is not None
        try:
            tell(Progress(self.standing.at_us, "asking", ""))
            futures = _futures(self.standing)
            action = futures.with_action(self.plan, self.fork)
            return Outcome(self, code=OK, found=Pair(action, futures.without(self.fork, action.end_us)))
        except (StandingError, ModelError, PlaybookError) as error:
            return Outcome(self, error=str(error), code=BAD_INPUT)
        except KeyboardInterrupt:
            return Outcome(self, error="stopped", code=INTERRUPTED)
        except Exception as error:
            return Outcome(self, error=f"internal error: {type(error).__name__}: {error}", code=INTERNAL)


_LAST: Final[list[Futures]] = []
"""A process is asked about one place again and again: the session that stands there is made once."""


def _futures(standing: Standing) -> Futures:
    if not _LAST or _LAST[0].standing != standing:
        _LAST.clear()
        _LAST.append(Futures(standing))
    return _LAST[0]


def put(
    standing: Standing, plan: Plan, seeds: Sequence[int], *, workers: int = 0, tell: Callable[[str], None]
) -> tuple[Pair, ...]:
    """Put the question to every seed, with so many processes (0: as many as there are cores); in the seeds' order.

    Raises:
        AskingError: one of them could not be answered.
        KeyboardInterrupt: it was stopped.
    """
    jobs = [Errand("", standing.path, standing=standing, plan=plan, fork=seed) for seed in seeds]
    ended: list[int] = []

    def on_end(number: int, outcome: Outcome) -> None:
        del outcome
        ended.append(number)
        tell(f"asking: {len(ended)} of {len(jobs)} seeds")

    def on_progress(number: int, progress: Progress) -> None:
        del number, progress
        tell(f"asking: {len(ended)} of {len(jobs)} seeds")

    outcomes = run_all(
        jobs, workers=workers, on_end=on_end, on_progress=on_progress, stop_after=lambda outcome: outcome.code != OK
    )
    _LAST.clear()
    if any(each.code == INTERRUPTED for each in outcomes):
        raise KeyboardInterrupt
    wrong = [each for each in outcomes if each.error and each.code > OK]
    if wrong:
        raise AskingError(wrong[0].error)
    return tuple([each.found for each in outcomes])
