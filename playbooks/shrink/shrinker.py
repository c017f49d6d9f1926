"""Shrinks a failing session: all passes until none finds more, and the shrunk playbook as a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from playbooks.errors import counted
from playbooks.model.playbook import Playbook
from playbooks.results.wrongs import EXPECTATION, Wrong
from playbooks.shrink.candidate import WIDE, Draft, Word, drafted, element, entry
from playbooks.shrink.oracle import CandidateVerdict, asserted, chosen, judged, sentence
from playbooks.shrink.passes import after_it_came, at_once, by_parts, chained, coarser, refused_steps, smaller, sooner
from playbooks.shrink.search import Bench, Best, Budget, DraftSearch, EditCount, SpentError, Sweep
from playbooks.version import VERSION

ROUNDS: Final = 12
"""How often all passes are gone through at most: each round that finds something makes another one necessary."""
COARSE: Final = 8
"""At first decisions are left out in no smaller parts than an eighth of them: what is gained by less is gained more
cheaply once the sessions are short."""


WHOLE: Final = "whole"
"""Every pass was gone through to its end: no decision can be left out."""
SPENT: Final = "spent"
"""The budget was used up before."""
STOPPED: Final = "stopped"
"""Somebody pressed Ctrl-C before."""


class ShrinkError(Exception):
    """It cannot be shrunk; the message says why."""


@dataclass(frozen=True, slots=True)
class ShrinkSource:
    """What is shrunk."""

    playbook: Playbook
    seed: int
    words: str
    """Where it comes from, as people call it."""


@dataclass(frozen=True, slots=True)
class DraftSize:
    """How much a draft is."""

    steps: int
    records: int
    """Records that its producers were handed."""
    virtual_us: int


@dataclass(frozen=True, slots=True)
class PassResult:
    """What one pass came to."""

    name: str
    tried: int
    kept: int
    before: DraftSize
    after: DraftSize


@dataclass(frozen=True, slots=True)
class ShrinkTarget:
    """What is to be kept, and the draft that all begins with."""

    origin: ShrinkSource
    wrongs: tuple[Wrong, ...]
    draft: Draft
    verdict: CandidateVerdict

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of what is kept."""
        return tuple([each.key for each in self.wrongs])


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What it came to."""

    found: ShrinkTarget
    draft: Draft
    ended: str
    """:data:`WHOLE`, :data:`SPENT` or :data:`STOPPED`."""
    rows: tuple[PassResult, ...]
    needed: tuple[tuple[int, tuple[str, ...]], ...]
    """Of each decision by its number, what is wrong without it; empty where it was not whole."""
    runs: int
    told: str
    """The finding in one sentence, as the shortest session has it."""


def look(origin: ShrinkSource, wanted: Sequence[str]) -> ShrinkTarget:
    """Run what is to be shrunk, and find what is to be kept.

    Raises:
        NothingWrongError: nothing is wrong with it.
        KeyUnknownError: one of the ``wanted`` keys is not.
        ShrinkError: it does not come to the same when each step acts at a fixed time.
        ModelError: its cluster cannot be built.
    """
    verdict, result = judged(origin.playbook, (), seed=origin.seed)
    assert result is not None
    wrongs = chosen(result, wanted)
    keys = [each.key for each in wrongs]
    expects = any(each.kind == EXPECTATION for each in wrongs)
    times = None if origin.playbook.spec.manual else verdict.acted
    for exact in (False, True):
        draft = drafted(origin.playbook, origin.seed, times, exact=exact, expect=expects)
        begun, _result = judged(draft.playbook(), keys)
        if begun.held:
            return ShrinkTarget(origin, wrongs, draft, begun)
    raise ShrinkError(f"{origin.words} does not go wrong by {keys[0]} when its steps act at fixed times")


def shrink(
    found: ShrinkTarget,
    bench: Bench,
    budget: Budget | None = None,
    tell: Callable[[DraftSearch, str], None] | None = None,
) -> Shrunk:
    """Go through the passes until none of them makes it any shorter, or the budget is used up, or Ctrl-C."""
    search = DraftSearch(Best(found.draft, found.verdict), bench, budget, tell)
    book = _Book(search)
    needed: tuple[tuple[int, tuple[str, ...]], ...] = ()
    try:
        _go(search, book)
        needed = _needed(search)
        ended = WHOLE
    except SpentError:
        ended = SPENT
    except KeyboardInterrupt:
        ended = STOPPED
    draft = search.best.draft
    _verdict, result = judged(draft.playbook(), found.keys)
    assert result is not None
    return Shrunk(found, draft, ended, tuple(book.rows), needed, bench.runs, sentence(result, found.keys[0]))


def _go(search: DraftSearch, book: "_Book") -> None:
    number = len(search.best.draft.steps)
    coarse = by_parts(number, max(1, number // COARSE))
    book.sweep("steps", chained(after_it_came, refused_steps, coarse))
    book.sweep("load", coarser)
    book.sweep("time", at_once)
    for _ in range(ROUNDS):
        kept = _cheaper(search, book)
        if not book.sweep("time", sooner) and not kept:
            return
    while book.sweep("steps", by_parts(1)):
        pass


def _cheaper(search: DraftSearch, book: "_Book") -> bool:
    """Fewer steps and less load, until neither makes it any shorter; whether anything did."""
    kept = False
    for _ in range(ROUNDS):
        fewer = book.sweep("steps", chained(after_it_came, by_parts(len(search.best.draft.steps))))
        less = book.sweep("load", smaller)
        kept = kept or fewer or less
        if not less:
            return kept
    return kept


def _needed(search: DraftSearch) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """What is wrong without each of the decisions that are left."""
    found = []
    for step in search.best.draft.steps:
        verdict = search.ask(search.best.draft.without([step.number]))
        found.append((step.number, verdict.wrong))
    return tuple(found)


class _Book:
    """The passes as they go, with what they make of it."""

    def __init__(self, search: DraftSearch) -> None:
        self._search = search
        self.rows: list[PassResult] = []
        self._before = self._size()

    def sweep(self, name: str, sites: Sweep) -> bool:
        """One pass; whether it found anything."""
        tally = EditCount(name)
        before = self._before
        try:
            return self._search.sweep(tally, sites)
        finally:
            self._before = self._size() if tally.kept else before
            self.rows.append(PassResult(name, tally.tried, tally.kept, before, self._before))

    def _size(self) -> DraftSize:
        best = self._search.best
        verdict = best.verdict if best.verdict.digest else self._search.ask(best.draft, whole=True)
        return DraftSize(len(best.draft.steps), verdict.sent, verdict.virtual_us)


# The shrunk playbook as a file: where it comes from, what it shows, and why each of its steps is there.


_SHOWN: Final = 3
"""How many other keys are named of what is wrong without a step."""


def written(shrunk: Shrunk, name: str) -> str:
    """The text of the file."""
    found, draft = shrunk.found, shrunk.draft
    conditions = [text for text in map(asserted, found.keys) if text]
    expect = (*draft.expect, *(Word(text) for text in conditions))
    lines = [*_head(shrunk), *_opening(draft, name, found)]
    needed = dict(shrunk.needed)
    for step in draft.steps:
        if step.number in needed:
            lines += remark(f"without it: {without_it(needed[step.number], found.keys)}", 2)
        lines += element(step.keys, 2)
    if not draft.steps:
        lines[-1] = "steps: []"
    return "\n".join([*lines, *(entry("expect", expect) if expect else [])]) + "\n"


def without_it(wrong: tuple[str, ...], keys: tuple[str, ...]) -> str:
    """What is seen when a step is left out."""
    others = [key for key in wrong if key not in keys]
    if all(key in wrong for key in keys):
        return "steps behind it are refused"
    if not wrong:
        return "nothing is wrong"
    kept = [key for key in keys if key in wrong]
    told = [*kept, *others]
    more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return f"something else is wrong: {', '.join(told[:_SHOWN])}{more}"


def _opening(draft: Draft, name: str, found: ShrinkTarget) -> list[str]:
    lines = draft.opening()
    title = f"{found.origin.playbook.name}, shrunk to what it takes for {' and '.join(found.keys)}"
    return [lines[0], f"name: {name}", *entry("title", Word(title, plain=False)), *lines[2:]]


def _head(shrunk: Shrunk) -> list[str]:
    found = shrunk.found
    lines = remark(
        f"Made by floodmark {VERSION} from {found.origin.words}, seed {found.origin.seed}: "
        f"{counted(len(found.draft.steps), 'step')} there, {counted(len(shrunk.draft.steps), 'step')} here.",
        0,
    )
    lines += remark(f"It keeps {' and '.join(found.keys)}.", 0)
    if shrunk.told:
        lines += remark(shrunk.told[:1].upper() + shrunk.told[1:], 0)
    if shrunk.ended == WHOLE:
        return [*lines, *remark("Each step is needed: what is seen without it stands above it.", 0)]
    why = "it was stopped" if shrunk.ended == STOPPED else "its budget was used up"
    return [*lines, *remark(f"It may not be the shortest: {why} before every step had been tried.", 0)]


def remark(text: str, indent: int) -> list[str]:
    """A comment, on as many lines as it takes."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + indent + 3 > WIDE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [f"{' ' * indent}# {line}" for line in lines]
