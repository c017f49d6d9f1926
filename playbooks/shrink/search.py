"""Search of shrinking: from candidate to candidate that still fails in the same way, several tested in parallel.

The order of candidates is fixed, and the first that still fails is taken, however many are tested in parallel: so the
result does not depend on the number of processes.
"""

import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from types import TracebackType
from typing import NamedTuple

from playbooks.shrink.candidate import Draft, digest
from playbooks.shrink.oracle import INVALID, CandidateVerdict, Journal, judge

# Runs candidates in this process or in worker processes, some of them speculatively.


class Ticket:
    """A candidate that was submitted to the executor."""

    __slots__ = ("future", "name", "text", "to_the_end")

    def __init__(self, name: str, text: str, to_the_end: bool, future: "Future[CandidateVerdict] | None") -> None:
        self.name = name
        self.text = text
        self.to_the_end = to_the_end
        self.future = future


class CandidateRunner:
    """Executor of candidates for one set of keys. Verdicts are cached in the journal; use it as a context manager."""

    def __init__(self, keys: Sequence[str], journal: Journal, workers: int = 1) -> None:
        self._keys = tuple(keys)
        self._journal = journal
        self._pool: ProcessPoolExecutor | None = None
        self.workers = workers
        self.runs = 0
        """Number of sessions run so far."""

    def __enter__(self) -> "CandidateRunner":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            for process in list(self._pool._processes.values()):  # their results are no longer needed
                process.terminate()
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    @property
    def lookahead(self) -> int:
        """Number of candidates submitted before the first of them is answered."""
        return self.workers + 1 if self.workers > 1 else 1

    def submit(self, name: str, text: str, *, to_the_end: bool = False) -> Ticket:
        """Submit a candidate; ``name`` is its name in the journal."""
        if name in self._journal or self.workers == 1:
            return Ticket(name, text, to_the_end, None)
        return Ticket(name, text, to_the_end, self._submit(text, to_the_end))

    def answer(self, ticket: Ticket) -> CandidateVerdict:
        """Return the verdict on a candidate, waiting for it if needed."""
        known = self._journal.get(ticket.name)
        if known is not None:
            return known
        if ticket.future is not None:
            verdict = ticket.future.result()
        else:
            verdict = judge(ticket.text, self._keys, to_the_end=ticket.to_the_end)
        self.runs += 1
        self._journal.put(ticket.name, verdict)
        return verdict

    @staticmethod
    def drop(tickets: Sequence[Ticket]) -> None:
        """Cancel submitted candidates."""
        for ticket in tickets:
            if ticket.future is not None:
                ticket.future.cancel()

    def _submit(self, text: str, to_the_end: bool) -> "Future[CandidateVerdict]":
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _ignore_interrupts)
            return self._pool.submit(judge, text, self._keys, to_the_end=to_the_end)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes: the main process decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


REPAIRS = 4
"""Maximum number of times that refused steps are removed from a failing candidate."""


class BestDraft(NamedTuple):
    """The smallest failing draft so far, and its verdict."""

    draft: Draft
    verdict: CandidateVerdict


class Edit(NamedTuple):
    """One possible edit, with the drafts to try for it, the boldest first.

    Its name stays the same after other edits.
    """

    name: str
    tries: Iterable[Draft]


Sweep = Callable[[BestDraft], Iterator[Edit]]
"""All edits of the best draft, in order."""


class BudgetExhaustedError(Exception):
    """The budget of the search is used up."""


@dataclass(slots=True)
class EditCount:
    """Statistics of one kind of edits."""

    name: str
    tried: int = 0
    kept: int = 0


@dataclass(slots=True)
class Budget:
    """Limits of the search: number of sessions, and wall-clock end; -1 for none."""

    runs: int = -1
    until: float = -1.0
    clock: Callable[[], float] = field(default=time.monotonic)

    @property
    def left_s(self) -> float:
        """Seconds left; -1 without a limit."""
        return max(0.0, self.until - self.clock()) if self.until >= 0 else -1.0

    def check(self, runs: int) -> None:
        """Raise :class:`BudgetExhaustedError` if the budget is used up."""
        if 0 <= self.runs <= runs or 0 <= self.until <= self.clock():
            raise BudgetExhaustedError


class DraftSearch:
    """Search for a smaller draft that still fails."""

    def __init__(
        self,
        best: BestDraft,
        bench: CandidateRunner,
        budget: Budget | None = None,
        on_progress: Callable[["DraftSearch", str], None] | None = None,
    ) -> None:
        self.best = best
        self._been = {digest(best.draft.text())}
        self.bench = bench
        self.budget = budget or Budget()
        self._on_progress = on_progress or (lambda search, name: None)

    def verdict_of(self, draft: Draft, *, to_the_end: bool = False) -> CandidateVerdict:
        """Return the verdict on a draft, even if the budget is used up."""
        text = draft.text()
        name = digest(text)
        return self.bench.answer(
            self.bench.submit(f"{name} whole" if to_the_end else name, text, to_the_end=to_the_end)
        )

    def sweep(self, edit_count: EditCount, sites: Sweep) -> bool:
        """Try all edits, each repeatedly as long as it succeeds; return whether any did.

        Raises:
            SpentError: the budget is used up; the best so far stays.
        """
        done: set[str] = set()
        kept = False
        while self._first(edit_count, sites, done):
            edit_count.kept += 1
            kept = True
            self._on_progress(self, edit_count.name)
        return kept

    def _first(self, edit_count: EditCount, sites: Sweep, done: set[str]) -> bool:
        """Adopt the first candidate that still fails, mark earlier edits as done, and return whether there is one."""
        upcoming = _upcoming(sites(self.best), done)
        window: deque[tuple[str, Draft | None, Ticket | None]] = deque()
        try:
            while True:
                while len(window) < self.bench.lookahead and (found := next(upcoming, None)) is not None:
                    window.append(self._handed_in(*found))
                if not window:
                    return False
                site, draft, ticket = window.popleft()
                if draft is None:
                    done.add(site)
                elif ticket is not None and self._holds(edit_count, draft, ticket):
                    return True
        finally:
            self.bench.drop([ticket for _site, _draft, ticket in window if ticket is not None])

    def _handed_in(self, site: str, draft: Draft | None) -> tuple[str, Draft | None, Ticket | None]:
        """Submit a candidate; drafts that were the best before are skipped, so that the search ends."""
        if draft is None:
            return site, None, None
        text = draft.text()
        name = digest(text)
        return (site, draft, self.bench.submit(name, text)) if name not in self._been else (site, draft, None)

    def _holds(self, edit_count: EditCount, draft: Draft, ticket: Ticket) -> bool:
        """Return whether a candidate still fails, without the steps that it makes impossible; it is the best then."""
        verdict = self._answer(edit_count, ticket)
        for _ in range(REPAIRS):
            if not verdict.held:
                return False
            refused_steps = refused(draft, verdict) - refused(self.best.draft, self.best.verdict)
            if not refused_steps:
                self.best = BestDraft(draft, verdict)
                self._been.add(digest(draft.text()))
                return True
            draft = draft.without(sorted(refused_steps))
            text = draft.text()
            verdict = self._answer(edit_count, self.bench.submit(digest(text), text))
        return False

    def _answer(self, edit_count: EditCount, ticket: Ticket) -> CandidateVerdict:
        self.budget.check(self.bench.runs)
        verdict = self.bench.answer(ticket)
        edit_count.tried += verdict.state != INVALID
        self._on_progress(self, "")
        return verdict


def refused(draft: Draft, verdict: CandidateVerdict) -> set[int]:
    """Return the numbers of the steps that were refused."""
    return {draft.steps[place - 1].number for place in verdict.refused if place <= len(draft.steps)}


def _upcoming(sites: Iterator[Edit], done: set[str]) -> Iterator[tuple[str, Draft | None]]:
    """Yield the drafts of every edit that is not done, and after those of each edit a mark that all failed."""
    for site in sites:
        if site.name in done:
            continue
        for draft in site.tries:
            yield site.name, draft
        yield site.name, None
