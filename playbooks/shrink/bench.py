"""Where candidates are run: here, or in processes of their own, a few of them ahead of their turn."""

import signal
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType

from playbooks.shrink.journal import Journal
from playbooks.shrink.oracle import Verdict, judge


class Ticket:
    """A candidate that was handed in."""

    __slots__ = ("future", "name", "text", "whole")

    def __init__(self, name: str, text: str, whole: bool, future: "Future[Verdict] | None") -> None:
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

    def answer(self, ticket: Ticket) -> Verdict:
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

    def _submit(self, text: str, whole: bool) -> "Future[Verdict]":
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
