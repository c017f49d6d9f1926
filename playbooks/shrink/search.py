"""Going from candidate to candidate: whatever still goes wrong in the same way is gone on with.

An order of candidates is fixed, and the first of them that holds is taken, however many are tried at a time: so the
outcome does not depend on how many processes there are.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from playbooks.shrink.bench import Bench, Ticket
from playbooks.shrink.candidate import Draft, digest
from playbooks.shrink.oracle import INVALID, Verdict

REPAIRS = 4
"""How often steps that came to be refused are taken out of a candidate that holds."""


class Best(NamedTuple):
    """The shortest so far, and what came of it."""

    draft: Draft
    verdict: Verdict


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
class Tally:
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


class Search:
    """Shrinks one draft."""

    def __init__(
        self,
        best: Best,
        bench: Bench,
        budget: Budget | None = None,
        tell: Callable[["Search", str], None] | None = None,
    ) -> None:
        self.best = best
        self._been = {digest(best.draft.text())}
        self.bench = bench
        self.budget = budget or Budget()
        self._tell = tell or (lambda search, name: None)

    def ask(self, draft: Draft, *, whole: bool = False) -> Verdict:
        """What becomes of a draft, whatever the budget."""
        text = draft.text()
        name = digest(text)
        return self.bench.answer(self.bench.hand_in(f"{name} whole" if whole else name, text, whole=whole))

    def sweep(self, tally: Tally, sites: Sweep) -> bool:
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

    def _first(self, tally: Tally, sites: Sweep, done: set[str]) -> bool:
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

    def _holds(self, tally: Tally, draft: Draft, ticket: Ticket) -> bool:
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

    def _answer(self, tally: Tally, ticket: Ticket) -> Verdict:
        self.budget.check(self.bench.runs)
        verdict = self.bench.answer(ticket)
        tally.tried += verdict.state != INVALID
        self._tell(self, "")
        return verdict


def refused(draft: Draft, verdict: Verdict) -> set[int]:
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
