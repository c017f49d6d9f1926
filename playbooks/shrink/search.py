"""The search of shrinking: from candidate to candidate that still fails in the same way, several ahead at a time.

An order of candidates is fixed, and the first of them that holds is taken, however many are tried at a time: so the
outcome does not depend on how many processes there are.
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

# Runs candidates here or in processes of their own, a few of them ahead of their turn.


class Ticket:
    """A candidate that was handed in."""

    __slots__ = ("future", "name", "text", "whole")

    def __init__(self, name: str, text: str, whole: bool, future: "Future[CandidateVerdict] | None") -> None:
        self.name = name
        self.text = text
        self.whole = whole
        self.future = future


class Bench:
    """Judges candidates for one set of keys. What was judged once is known for good; use it as a context."""

    def __init__(self, keys: Sequence[str], journal: Journal, workers: int = 1) -> None:
        self._keys = tuple(keys)
        self._journal = journal
        self._pool: ProcessPoolExecutor | None = None
        self.workers = workers
        self.runs = 0
        """Sessions that had to be run for an answer."""

    def __enter__(self) -> "Bench":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            for process in list(self._pool._processes.values()):  # whatever they are at, nobody waits for it
                process.terminate()
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    @property
    def ahead(self) -> int:
        """How many candidates are handed in before the first of them is answered."""
        return self.workers + 1 if self.workers > 1 else 1

    def hand_in(self, name: str, text: str, *, whole: bool = False) -> Ticket:
        """Have a candidate judged; ``name`` is what the journal calls it."""
        if name in self._journal or self.workers == 1:
            return Ticket(name, text, whole, None)
        return Ticket(name, text, whole, self._submit(text, whole))

    def answer(self, ticket: Ticket) -> CandidateVerdict:
        """What became of it; waits for that."""
        known = self._journal.get(ticket.name)
        if known is not None:
            return known
        if ticket.future is not None:
            verdict = ticket.future.result()
        else:
            verdict = judge(ticket.text, self._keys, whole=ticket.whole)
        self.runs += 1
        self._journal.put(ticket.name, verdict)
        return verdict

    @staticmethod
    def drop(tickets: Sequence[Ticket]) -> None:
        """Nobody asks for these any more."""
        for ticket in tickets:
            if ticket.future is not None:
                ticket.future.cancel()

    def _submit(self, text: str, whole: bool) -> "Future[CandidateVerdict]":
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _deaf)
            return self._pool.submit(judge, text, self._keys, whole=whole)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _deaf() -> None:
    """A terminal sends Ctrl-C to everybody; whoever hands candidates in decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


REPAIRS = 4
"""How often steps that came to be refused are taken out of a candidate that holds."""


class Best(NamedTuple):
    """The shortest so far, and what came of it."""

    draft: Draft
    verdict: CandidateVerdict


class Site(NamedTuple):
    """One thing that may be edited, and the drafts that are tried in its place, the boldest first.

    Its name is the same after other things have been edited.
    """

    name: str
    tries: Iterable[Draft]


Sweep = Callable[[Best], Iterator[Site]]
"""All sites of the best draft, in order."""


class SpentError(Exception):
    """The budget is used up."""


@dataclass(slots=True)
class EditCount:
    """What one kind of edits came to."""

    name: str
    tried: int = 0
    kept: int = 0


@dataclass(slots=True)
class Budget:
    """How much may be done: so many sessions, and until when by the wall; -1 for all it takes."""

    runs: int = -1
    until: float = -1.0
    clock: Callable[[], float] = field(default=time.monotonic)

    @property
    def left_s(self) -> float:
        """Seconds that are left; -1 where there is no end."""
        return max(0.0, self.until - self.clock()) if self.until >= 0 else -1.0

    def check(self, runs: int) -> None:
        """Raises :class:`SpentError`."""
        if 0 <= self.runs <= runs or 0 <= self.until <= self.clock():
            raise SpentError


class DraftSearch:
    """Shrinks one draft."""

    def __init__(
        self,
        best: Best,
        bench: Bench,
        budget: Budget | None = None,
        tell: Callable[["DraftSearch", str], None] | None = None,
    ) -> None:
        self.best = best
        self._been = {digest(best.draft.text())}
        self.bench = bench
        self.budget = budget or Budget()
        self._tell = tell or (lambda search, name: None)

    def ask(self, draft: Draft, *, whole: bool = False) -> CandidateVerdict:
        """What becomes of a draft, whatever the budget."""
        text = draft.text()
        name = digest(text)
        return self.bench.answer(self.bench.hand_in(f"{name} whole" if whole else name, text, whole=whole))

    def sweep(self, tally: EditCount, sites: Sweep) -> bool:
        """Go over all sites, and at each as long as something holds there; whether anything did.

        Raises:
            SpentError: the budget is used up; the best so far stays.
        """
        done: set[str] = set()
        kept = False
        while self._first(tally, sites, done):
            tally.kept += 1
            kept = True
            self._tell(self, tally.name)
        return kept

    def _first(self, tally: EditCount, sites: Sweep, done: set[str]) -> bool:
        """Adopt the first candidate that holds, and note the sites before it as done; whether there is one."""
        upcoming = _upcoming(sites(self.best), done)
        window: deque[tuple[str, Draft | None, Ticket | None]] = deque()
        try:
            while True:
                while len(window) < self.bench.ahead and (found := next(upcoming, None)) is not None:
                    window.append(self._handed_in(*found))
                if not window:
                    return False
                site, draft, ticket = window.popleft()
                if draft is None:
                    done.add(site)
                elif ticket is not None and self._holds(tally, draft, ticket):
                    return True
        finally:
            self.bench.drop([ticket for _site, _draft, ticket in window if ticket is not None])

    def _handed_in(self, site: str, draft: Draft | None) -> tuple[str, Draft | None, Ticket | None]:
        """A candidate on its way; what has been the best before is none, so that there is an end."""
        if draft is None:
            return site, None, None
        text = draft.text()
        name = digest(text)
        return (site, draft, self.bench.hand_in(name, text)) if name not in self._been else (site, draft, None)

    def _holds(self, tally: EditCount, draft: Draft, ticket: Ticket) -> bool:
        """Whether a candidate holds, with the steps that it makes impossible taken out; it is the best then."""
        verdict = self._answer(tally, ticket)
        for _ in range(REPAIRS):
            if not verdict.held:
                return False
            wrong = refused(draft, verdict) - refused(self.best.draft, self.best.verdict)
            if not wrong:
                self.best = Best(draft, verdict)
                self._been.add(digest(draft.text()))
                return True
            draft = draft.without(sorted(wrong))
            text = draft.text()
            verdict = self._answer(tally, self.bench.hand_in(digest(text), text))
        return False

    def _answer(self, tally: EditCount, ticket: Ticket) -> CandidateVerdict:
        self.budget.check(self.bench.runs)
        verdict = self.bench.answer(ticket)
        tally.tried += verdict.state != INVALID
        self._tell(self, "")
        return verdict


def refused(draft: Draft, verdict: CandidateVerdict) -> set[int]:
    """Numbers of the decisions that were refused."""
    return {draft.steps[place - 1].number for place in verdict.refused if place <= len(draft.steps)}


def _upcoming(sites: Iterator[Site], done: set[str]) -> Iterator[tuple[str, Draft | None]]:
    """The drafts of every site that is not done, and after those of each a mark that all failed."""
    for site in sites:
        if site.name in done:
            continue
        for draft in site.tries:
            yield site.name, draft
        yield site.name, None
