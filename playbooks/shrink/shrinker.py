"""Shrinker of a failing session: passes over steps, load, time and settings; writer of the shrunk playbook."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.util.quantities import counted
from faults.catalogue import CATALOGUE
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import exact_time_text
from playbooks.results.failure_keys import EXPECTATION, Failure
from playbooks.shrink.candidate import (
    WIDE,
    Draft,
    Path,
    RemovableStep,
    Tree,
    Word,
    at,
    drafted,
    element,
    entry,
    put,
    without,
)
from playbooks.shrink.oracle import CandidateVerdict, assertion_of, failures_to_preserve, judged, sentence
from playbooks.shrink.search import (
    BestDraft,
    Budget,
    BudgetExhaustedError,
    CandidateRunner,
    DraftSearch,
    Edit,
    EditCount,
    Sweep,
    refused,
)
from playbooks.units import UnitError, duration_us
from playbooks.version import VERSION

# Fewer steps: by halves, quarters and so on down to single ones, the latest first.
#
# Zeller's ddmin tries the complements of ever smaller parts. Here the parts of one size are tried once, and the single
# steps again until none can be removed, which is the end condition of ddmin as well.


def parts(number: int, least: int = 1) -> list[int]:
    """Return the sizes of the parts to remove of ``number`` steps: all, then powers of two down to ``least``."""
    sizes = [number] if number > 1 else []
    size = 1
    while size * 2 < number:
        size *= 2
    while size >= least:
        sizes.append(size)
        size //= 2
    return sizes if number else []


def by_parts(number: int, least: int = 1) -> Sweep:
    """Return the sweep that removes steps in parts; ``number`` is their initial number."""

    def sites(best: BestDraft) -> Iterator[Edit]:
        for size in parts(number, least):
            yield from _parts_of(best, size)

    return sites


def _parts_of(best: BestDraft, size: int) -> Iterator[Edit]:
    """Yield the parts of one size. An edit is named by the number of steps after it, which stays the same."""
    numbers = [each.number for each in best.draft.steps]
    left = len(numbers)
    while left > 0:
        part = numbers[max(0, left - size) : left]
        yield Edit(f"{size} before {len(numbers) - left}", [best.draft.without(part)] if part else [])
        left -= size


def after_failure(best: BestDraft) -> Iterator[Edit]:
    """Remove everything after the failure occurred, if the time of that is known."""
    came_us = best.verdict.occurred_us
    late = [
        step.number
        for step, (at_us, _executed) in zip(best.draft.steps, best.verdict.acted, strict=False)
        if 0 <= came_us < at_us
    ]
    if late:
        yield Edit("later", [best.draft.without(late)])


def refused_steps(best: BestDraft) -> Iterator[Edit]:
    """Remove at once all steps that were refused or had no target: they had no effect."""
    if gone := refused(best.draft, best.verdict):
        yield Edit("refused", [best.draft.without(sorted(gone))])


def chained(*sweeps: Sweep) -> Sweep:
    """Combine sweeps, one after the other."""

    def sites(best: BestDraft) -> Iterator[Edit]:
        for number, sweep in enumerate(sweeps):
            for site in sweep(best):
                yield site._replace(name=f"{number} {site.name}")

    return sites


# Fewer records and clients: the minimal load for the failure.


_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_RATE: Final = re.compile(r"([0-9]{1,9})(/[a-z]+)", re.ASCII)
_PLAIN_RATE: Final = Word("10/s")
_STAYS: Final = frozenset(
    {"kafka", "mode", "brokers", "replication", "rate", "name", "topic", "topics", "placement", "id"}
)
"""Keys that are never removed: the session would be a different one without them, or have more load."""
_LISTS: Final = (("clients", "groups"), ("clients", "producers"), ("topics",))


def smaller(best: BestDraft) -> Iterator[Edit]:
    """Remove clients and topics, then reduce numbers, then remove settings."""
    draft = best.draft
    for path in _LISTS:
        yield from _list_edits(draft, path)
    yield from _topics(draft)
    yield from _smaller_values(draft)
    yield from _settings(draft)


def reduce_cost(best: BestDraft) -> Iterator[Edit]:
    """Reduce the cost of a session at once: no consumers, one partition per topic, few records."""
    draft = best.draft
    yield from _list_edits(draft, ("clients", "groups"))
    yield from _topics(draft)
    for place, topic in _named(draft, ("topics",)):
        if isinstance(topic.get("partitions"), Word):
            yield Edit(f"topic {_name(topic)} partitions", [_put(draft, ("topics", place, "partitions"), Word("1"))])
    for place, producer in _named(draft, ("clients", "producers")):
        path: Path = ("clients", "producers", place, "rate")
        rate = producer.get("rate")
        if isinstance(rate, Word) and (found := _RATE.fullmatch(rate.text)) and int(found[1]) > 20:
            yield Edit(f"producer {_name(producer)} rate", [_put(draft, path, _PLAIN_RATE)])


def _named(draft: Draft, path: Path) -> list[tuple[int, Mapping[str, Tree]]]:
    """Return the elements of a list, the last first, each with its index."""
    try:
        found = at(draft.head, path)
    except LookupError:
        return []
    items = found if isinstance(found, tuple) else ()
    return [(place, item) for place, item in reversed(list(enumerate(items))) if isinstance(item, Mapping)]


def _name(item: Mapping[str, Tree]) -> str:
    value = item.get("name", item.get("id"))
    return value.text if isinstance(value, Word) else ""


def _put(draft: Draft, path: Path, value: Tree) -> Draft:
    head = put(draft.head, path, value)
    assert isinstance(head, Mapping)
    return replace(draft, head=head)


def _without(draft: Draft, path: Path) -> Draft:
    """Remove a value, and containers that become empty."""
    head = without(draft.head, path)
    while len(path) > 1 and not at(head, path := path[:-1]):
        head = without(head, path)
    assert isinstance(head, Mapping)
    return replace(draft, head=head)


def _list_edits(draft: Draft, path: Path) -> Iterator[Edit]:
    """Remove all of a list at once, then single elements."""
    items = _named(draft, path)
    if len(items) > 1 and path != ("topics",):
        yield Edit(f"{path[-1]}", [_without(draft, path)])
    for place, item in items:
        if path == ("topics",) and len(items) == 1:
            return
        yield Edit(f"{path[-1]} {_name(item)}", [_without(draft, (*path, place))])


def _topics(draft: Draft) -> Iterator[Edit]:
    """Remove a topic with all its producers and consumers."""
    topics = _named(draft, ("topics",))
    if len(topics) < 2:
        return
    for index, topic in topics:
        fewer = draft
        for number, producer in _named(draft, ("clients", "producers")):
            if producer.get("topic") == Word(_name(topic)) or _says(producer.get("topic"), _name(topic)):
                fewer = _without(fewer, ("clients", "producers", number))
        for number, group in _named(fewer, ("clients", "groups")):
            read = group.get("topics")
            if isinstance(read, tuple):
                rest = tuple([each for each in read if not _says(each, _name(topic))])
                path: Path = ("clients", "groups", number)
                fewer = _put(fewer, (*path, "topics"), rest) if rest else _without(fewer, path)
        yield Edit(f"all of topic {_name(topic)}", [_without(fewer, ("topics", index))])


def _says(value: Tree | None, text: str) -> bool:
    return isinstance(value, Word) and value.text == text


def _smaller_values(draft: Draft) -> Iterator[Edit]:
    """Try smaller numbers, and fewer elements."""
    for path, value in _leaves(draft.head):
        if isinstance(value, Word):
            if "config" not in path and path[-1] not in ("id", "name"):
                yield Edit(f"less {_words(draft, path)}", [_put(draft, path, each) for each in fewer_of(value)])
        elif path[-1] == "rate":
            yield Edit(f"rate {_words(draft, path)}", [_put(draft, path, _PLAIN_RATE)])
    for place, topic in _named(draft, ("topics",)):
        yield from _placement(draft, ("topics", place, "placement"), topic.get("placement"))
    brokers = at(draft.head, ("cluster",)) if "cluster" in draft.head else {}
    listed = brokers.get("brokers") if isinstance(brokers, Mapping) else None
    if isinstance(listed, tuple) and len(listed) > 1:
        for number in reversed(range(len(listed))):
            yield Edit(f"broker {number}", [_without(draft, ("cluster", "brokers", number))])


def _placement(draft: Draft, path: Path, value: Tree | None) -> Iterator[Edit]:
    if not isinstance(value, tuple):
        return
    if len(value) > 1:
        yield Edit(f"{path} first", [_put(draft, path, value[:1])])
        yield Edit(f"{path} shorter", [_put(draft, path, value[:-1])])
    shorter: Tree = tuple([each[:-1] if isinstance(each, tuple) and len(each) > 1 else each for each in value])
    yield Edit(f"{path} fewer", [_put(draft, path, shorter)])


def fewer_of(value: Word) -> list[Word]:
    """Return smaller numbers to try for one, the smallest first; none for other values."""
    found = _RATE.fullmatch(value.text) or (_COUNT.fullmatch(value.text) if value.plain else None)
    if found is None:
        return []
    unit = found[2] if found.re is _RATE else ""
    number = int(found[1] if unit else found[0])
    tried = sorted({1, number // 10, number // 4, number // 2, number - 1 if number <= 10 else 1})
    return [Word(f"{each}{unit}", value.plain) for each in tried if 0 < each < number]


def _leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Yield every word with its path, and every mapping that has a rate."""
    if isinstance(tree, Word):
        yield path, tree
    elif isinstance(tree, Mapping):
        if path and path[-1] == "rate":
            yield path, tree
        for key, value in tree.items():
            yield from _leaves(value, (*path, key))
    elif not path or path[-1] != "placement":
        for place, value in enumerate(tree):
            yield from _leaves(value, (*path, place))


def _settings(draft: Draft) -> Iterator[Edit]:
    """Remove everything optional, whole sections before their contents."""
    if "guards" in draft.head:
        yield Edit("guards", [_without(draft, ("guards",))])
    places: list[Path] = [("cluster",)]
    for each in _LISTS:
        places += [(*each, place) for place, _item in _named(draft, each)]
    for path in places:
        found = at(draft.head, path) if path[0] in draft.head else {}
        if isinstance(found, Mapping):
            yield from _optional(draft, path, found)


def _optional(draft: Draft, path: Path, mapping: Mapping[str, Tree]) -> Iterator[Edit]:
    for key, value in mapping.items():
        if key not in _STAYS:
            yield Edit(f"set {_words(draft, (*path, key))}", [_without(draft, (*path, key))])
        if isinstance(value, Mapping) and len(value) > 1 and key != "rate":
            for name in value:
                yield Edit(f"set {_words(draft, (*path, key, name))}", [_without(draft, (*path, key, name))])


def _words(draft: Draft, path: Path) -> str:
    """Return a path with names instead of indices, which stays the same as elements before it go."""
    words = []
    for length, part in enumerate(path, 1):
        there = at(draft.head, path[:length])
        name = _name(there) if isinstance(part, int) and isinstance(there, Mapping) else ""
        words.append(name or str(part))
    return ".".join(words)


SECOND: Final = 1_000_000
LEAST_SETTLE_US: Final = 1 * SECOND
"""Minimum quiet time: losses are only final at the end, after a quiet time."""
_UNITS: Final = (10 * SECOND, SECOND, 100_000, 10_000, 1_000)
WEAKER: Final[Mapping[str, tuple[str, ...]]] = {
    "power_loss": ("gc_pause", "crash"),
    "crash": ("gc_pause",),
    "clean_shutdown": ("gc_pause", "crash"),
    "out_of_memory": ("gc_pause", "crash"),
    "log_dir_failure": ("crash",),
    "full_disk": ("crash",),
    "read_only_disk": ("crash",),
    "pause_train": ("gc_pause",),
    "reset_storm": ("connection_reset",),
    "flapping": ("partition",),
    "isolate": ("partition",),
    "traffic_spike": ("rate_change",),
}
"""Milder faults, the mildest first."""
_ONE: Final = re.compile(r"(leader|broker|controller|coordinator|transaction_coordinator|client|zookeeper|replica)\b.*")
_BROKER: Final = re.compile(r"broker[ -]?([0-9]+)")
_KEPT: Final = ("at", "executed", "target", "for")


def shorten_times(best: BestDraft) -> Iterator[Edit]:
    """Shorten all times: the quiet time, and of each step its time, duration, exactness and parameters."""
    draft = best.draft
    if not draft.manual:
        yield from _exactness(draft)
        yield from _settle(draft)
        yield from _start(draft)
        for step in draft.steps:
            yield from _earlier(draft, step)
            yield from _lasting(draft, step)
    for place, step in enumerate(draft.steps):
        struck = best.verdict.targets[place] if place < len(best.verdict.targets) else ""
        yield from _milder(draft, step)
        yield from _aimed(draft, step, struck)
        yield from _parameter_edits(draft, step)


def at_once(best: BestDraft) -> Iterator[Edit]:
    """Shorten a session at once: no long quiet time, and no long wait before the first step."""
    draft = best.draft
    if not draft.manual:
        yield from _settle(draft)
        yield from _start(draft)


def rounder_times(value: int, least: int = 0) -> list[int]:
    """Return times from ``least`` to below ``value``, the earliest first; then some that are only rounder."""
    span = value - least
    parts = (0, span // 10, span // 4, span // 2, span - span // 4)
    sooner = sorted({found for part in parts if least <= (found := _round(least + part, least)) < value})
    rounder = [value // unit * unit for unit in _UNITS] + [
        -(-value // unit) * unit for unit in _UNITS if unit * 4 <= value
    ]
    return sooner + [
        each
        for each in dict.fromkeys(rounder)
        if each >= least and each not in sooner and _digits(each) < _digits(value)
    ]


def _round(value: int, least: int) -> int:
    """Return the value in the coarsest unit in which it stays above ``least``."""
    return next((each for unit in _UNITS if (each := value // unit * unit) > least), least)


def _digits(value: int) -> int:
    return len(str(value).rstrip("0"))


def _time(tree: Tree | None) -> int:
    if not isinstance(tree, Word):
        return -1
    try:
        return duration_us(tree.text)
    except UnitError:
        return -1


def _exactness(draft: Draft) -> Iterator[Edit]:
    """Remove the event counts of exact positions: of all steps, then of each."""
    exact = [step for step in draft.steps if "executed" in step.keys]
    if not exact:
        return
    plain = [replace(step, keys=_without_key(step.keys, "executed")) for step in draft.steps]
    yield Edit("executed", [replace(draft, steps=tuple(plain))])
    for step in exact:
        yield Edit(f"executed {step.number}", [draft.with_step(step.number, _without_key(step.keys, "executed"))])


def _without_key(keys: Mapping[str, Tree], key: str) -> Mapping[str, Tree]:
    found = without(keys, (key,))
    assert isinstance(found, Mapping)
    return found


def _settle(draft: Draft) -> Iterator[Edit]:
    settle = _time(draft.head.get("settle"))
    if settle >= 0:
        tries = [
            replace(draft, head={**draft.head, "settle": Word(exact_time_text(each))})
            for each in rounder_times(settle, LEAST_SETTLE_US)
            if each < settle
        ]
        yield Edit("settle", tries)


def _start(draft: Draft) -> Iterator[Edit]:
    """Move all steps earlier by the same time."""
    if draft.steps and (first := _time(draft.steps[0].keys.get("at"))) > 0:
        yield Edit(
            "start", [_shifted(draft, draft.steps, each - first) for each in rounder_times(first) if each < first]
        )


def _shifted(draft: Draft, steps: Sequence[RemovableStep], by_us: int) -> Draft:
    """Move some steps, and keep the others in place."""
    numbers = {step.number for step in steps}
    moved = [
        replace(step, keys={**step.keys, "at": Word(exact_time_text(_time(step.keys["at"]) + by_us))})
        if step.number in numbers and "at" in step.keys
        else step
        for step in draft.steps
    ]
    return replace(draft, steps=tuple(moved))


def _earlier(draft: Draft, step: RemovableStep) -> Iterator[Edit]:
    """Move a step closer to the one before it, together with later steps; or alone, to a rounder time."""
    index = draft.steps.index(step)
    at_us = _time(step.keys.get("at"))
    before = _time(draft.steps[index - 1].keys.get("at")) if index else 0
    if at_us <= 0 or before < 0:
        return
    tries = [
        _shifted(draft, draft.steps[index:], each - at_us) for each in rounder_times(at_us, before) if each < at_us
    ]
    rounder = [each for each in rounder_times(at_us, before) if _digits(each) < _digits(at_us)]
    tries += [_shifted(draft, [step], each - at_us) for each in sorted(rounder, key=lambda each: abs(each - at_us))]
    yield Edit(f"at {step.number}", tries)


def _lasting(draft: Draft, step: RemovableStep) -> Iterator[Edit]:
    for_us = _time(step.keys.get("for"))
    if for_us > 0:
        tries = [
            draft.with_step(step.number, {**step.keys, "for": Word(exact_time_text(each))})
            for each in rounder_times(for_us)
            if each
        ]
        yield Edit(f"for {step.number}", tries)


def _milder(draft: Draft, step: RemovableStep) -> Iterator[Edit]:
    """Replace a fault by a milder one, without parameters that this does not have."""
    fault = step.keys.get("inject")
    if not isinstance(fault, Word) or fault.text not in WEAKER:
        return
    tries = []
    for name in WEAKER[fault.text]:
        known = {param.name for param in CATALOGUE[name].params}
        keys = {key: value for key, value in step.keys.items() if key in (*_KEPT, "inject", "if_any") or key in known}
        tries.append(draft.with_step(step.number, {**keys, "inject": Word(name)}))
    yield Edit(f"milder {step.number}", tries)


def _aimed(draft: Draft, step: RemovableStep, struck: str) -> Iterator[Edit]:
    """Replace a random or multiple target by a single broker."""
    target = step.keys.get("target")
    if not isinstance(target, Word) or _ONE.fullmatch(target.text):
        return
    names = [f"broker({found})" for found in _BROKER.findall(struck)]
    yield Edit(
        f"target {step.number}", [draft.with_step(step.number, {**step.keys, "target": Word(each)}) for each in names]
    )


def _parameter_edits(draft: Draft, step: RemovableStep) -> Iterator[Edit]:
    """Remove parameters, or make them smaller."""
    verb = next((key for key in step.keys if key not in _KEPT), "")
    for key, value in step.keys.items():
        if key in _KEPT:
            continue
        if key != verb:
            yield Edit(f"said {step.number} {key}", [draft.with_step(step.number, _without_key(step.keys, key))])
        elif isinstance(value, Mapping):
            yield from _parameters(draft, step, key, value)


def _parameters(draft: Draft, step: RemovableStep, verb: str, given: Mapping[str, Tree]) -> Iterator[Edit]:
    """Do the same with the parameters of manual steps, which follow the verb."""
    for name, value in given.items():
        tries = [{**step.keys, verb: _without_key(given, name)}]
        if isinstance(value, Word) and name == "records":
            tries += [{**step.keys, verb: {**given, name: each}} for each in fewer_of(value)]
        elif isinstance(value, tuple) and len(value) > 1:
            tries.append({**step.keys, verb: {**given, name: value[:1]}})
        yield Edit(f"said {step.number} {name}", [draft.with_step(step.number, keys) for keys in tries])


# All passes until none finds more, and the shrunk playbook as a file.


ROUNDS: Final = 12
"""Maximum number of rounds of all passes: a round that finds something requires another."""
COARSE: Final = 8
"""At first, steps are removed in parts of at least an eighth: smaller gains are cheaper once the sessions are short."""


WHOLE: Final = "whole"
"""Every pass was completed: no step can be removed."""
BUDGET_USED: Final = "spent"
"""The budget was used up first."""
STOPPED: Final = "stopped"
"""The user pressed Ctrl-C first."""


class ShrinkError(Exception):
    """The session cannot be shrunk; the message says why."""


@dataclass(frozen=True, slots=True)
class ShrinkSource:
    """The session to shrink: playbook, seed and origin."""

    playbook: Playbook
    seed: int
    words: str
    """Description of its origin, for people."""


@dataclass(frozen=True, slots=True)
class DraftSize:
    """Size of a draft: steps, records and simulated time."""

    steps: int
    records: int
    """Number of records sent by its producers."""
    virtual_us: int


@dataclass(frozen=True, slots=True)
class PassResult:
    """Statistics of one pass over the draft."""

    name: str
    tried: int
    kept: int
    before: DraftSize
    after: DraftSize


@dataclass(frozen=True, slots=True)
class ShrinkTarget:
    """The failures to preserve, and the initial draft."""

    origin: ShrinkSource
    failures: tuple[Failure, ...]
    draft: Draft
    verdict: CandidateVerdict

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the failures to preserve."""
        return tuple([each.key for each in self.failures])


@dataclass(frozen=True, slots=True)
class ShrinkResult:
    """Result of shrinking: the draft, its passes, and why the search ended."""

    target: ShrinkTarget
    draft: Draft
    ended: str
    """:data:`WHOLE`, :data:`BUDGET_USED` or :data:`STOPPED`."""
    rows: tuple[PassResult, ...]
    needed: tuple[tuple[int, tuple[str, ...]], ...]
    """For each step by its number, the failures without it; empty if shrinking was not completed."""
    runs: int
    sentence: str
    """The failure in one sentence of the shortest session."""


def examine(origin: ShrinkSource, wanted: Sequence[str]) -> ShrinkTarget:
    """Run the session to shrink, and find the failures to preserve.

    Raises:
        NothingWrongError: it has no failure.
        KeyUnknownError: it does not have one of the ``wanted`` keys.
        ShrinkError: it fails differently if each step acts at a fixed time.
        ModelError: its cluster cannot be built.
    """
    verdict, result = judged(origin.playbook, (), seed=origin.seed)
    assert result is not None
    failures = failures_to_preserve(result, wanted)
    keys = [each.key for each in failures]
    expects = any(each.kind == EXPECTATION for each in failures)
    times = None if origin.playbook.spec.manual else verdict.acted
    for exact in (False, True):
        draft = drafted(origin.playbook, origin.seed, times, exact=exact, expect=expects)
        begun, _result = judged(draft.playbook(), keys)
        if begun.held:
            return ShrinkTarget(origin, failures, draft, begun)
    raise ShrinkError(f"{origin.words} does not fail with {keys[0]} if its steps act at fixed times")


def shrink(
    target: ShrinkTarget,
    bench: CandidateRunner,
    budget: Budget | None = None,
    on_progress: Callable[[DraftSearch, str], None] | None = None,
) -> ShrinkResult:
    """Run the passes until none makes the session any smaller, or the budget is used up, or Ctrl-C."""
    search = DraftSearch(BestDraft(target.draft, target.verdict), bench, budget, on_progress)
    book = _Passes(search)
    needed: tuple[tuple[int, tuple[str, ...]], ...] = ()
    try:
        _go(search, book)
        needed = _needed(search)
        ended = WHOLE
    except BudgetExhaustedError:
        ended = BUDGET_USED
    except KeyboardInterrupt:
        ended = STOPPED
    draft = search.best.draft
    _verdict, result = judged(draft.playbook(), target.keys)
    assert result is not None
    return ShrinkResult(target, draft, ended, tuple(book.rows), needed, bench.runs, sentence(result, target.keys[0]))


def _go(search: DraftSearch, book: "_Passes") -> None:
    number = len(search.best.draft.steps)
    coarse = by_parts(number, max(1, number // COARSE))
    book.sweep("steps", chained(after_failure, refused_steps, coarse))
    book.sweep("load", reduce_cost)
    book.sweep("time", at_once)
    for _ in range(ROUNDS):
        kept = _cheaper(search, book)
        if not book.sweep("time", shorten_times) and not kept:
            return
    while book.sweep("steps", by_parts(1)):
        pass


def _cheaper(search: DraftSearch, book: "_Passes") -> bool:
    """Reduce steps and load until neither makes it any smaller; return whether anything did."""
    kept = False
    for _ in range(ROUNDS):
        fewer = book.sweep("steps", chained(after_failure, by_parts(len(search.best.draft.steps))))
        less = book.sweep("load", smaller)
        kept = kept or fewer or less
        if not less:
            return kept
    return kept


def _needed(search: DraftSearch) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the failures without each of the remaining steps."""
    found = []
    for step in search.best.draft.steps:
        verdict = search.verdict_of(search.best.draft.without([step.number]))
        found.append((step.number, verdict.failing))
    return tuple(found)


class _Passes:
    """Passes that were run, with their results."""

    def __init__(self, search: DraftSearch) -> None:
        self._search = search
        self.rows: list[PassResult] = []
        self._before = self._size()

    def sweep(self, name: str, sites: Sweep) -> bool:
        """Run one pass; return whether it found anything."""
        edits = EditCount(name)
        before = self._before
        try:
            return self._search.sweep(edits, sites)
        finally:
            self._before = self._size() if edits.kept else before
            self.rows.append(PassResult(name, edits.tried, edits.kept, before, self._before))

    def _size(self) -> DraftSize:
        best = self._search.best
        verdict = best.verdict if best.verdict.digest else self._search.verdict_of(best.draft, to_the_end=True)
        return DraftSize(len(best.draft.steps), verdict.sent, verdict.virtual_us)


# The shrunk playbook as a file: its origin, its failure, and why each of its steps is needed.


_SHOWN: Final = 3
"""Maximum number of other failures named for a step."""


def written(shrunk: ShrinkResult, name: str) -> str:
    """Return the text of the file."""
    target, draft = shrunk.target, shrunk.draft
    conditions = [text for text in map(assertion_of, target.keys) if text]
    expect = (*draft.expect, *(Word(text) for text in conditions))
    lines = [*_head(shrunk), *_opening(draft, name, target)]
    needed = dict(shrunk.needed)
    for step in draft.steps:
        if step.number in needed:
            lines += remark(f"without it: {without_it(needed[step.number], target.keys)}", 2)
        lines += element(step.keys, 2)
    if not draft.steps:
        lines[-1] = "steps: []"
    return "\n".join([*lines, *(entry("expect", expect) if expect else [])]) + "\n"


def without_it(failures: tuple[str, ...], keys: tuple[str, ...]) -> str:
    """Describe the result without a step."""
    others = [key for key in failures if key not in keys]
    if all(key in failures for key in keys):
        return "later steps are refused"
    if not failures:
        return "no failure"
    kept = [key for key in keys if key in failures]
    named = [*kept, *others]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"a different failure: {', '.join(named[:_SHOWN])}{more}"


def _opening(draft: Draft, name: str, target: ShrinkTarget) -> list[str]:
    lines = draft.opening()
    title = f"{target.origin.playbook.name}, shrunk to what is needed for {' and '.join(target.keys)}"
    return [lines[0], f"name: {name}", *entry("title", Word(title, plain=False)), *lines[2:]]


def _head(shrunk: ShrinkResult) -> list[str]:
    target = shrunk.target
    lines = remark(
        f"Made by floodmark {VERSION} from {target.origin.words}, seed {target.origin.seed}: "
        f"shrunk from {counted(len(target.draft.steps), 'step')} to {len(shrunk.draft.steps)}.",
        0,
    )
    lines += remark(f"It reproduces {' and '.join(target.keys)}.", 0)
    if shrunk.sentence:
        lines += remark(shrunk.sentence[:1].upper() + shrunk.sentence[1:], 0)
    if shrunk.ended == WHOLE:
        return [*lines, *remark("Each step is needed: the comment above it gives the result without it.", 0)]
    why = "shrinking was stopped" if shrunk.ended == STOPPED else "the budget was used up"
    return [*lines, *remark(f"It may not be minimal: {why} before every step had been tried.", 0)]


def remark(text: str, indent: int) -> list[str]:
    """Return a comment, wrapped to as many lines as needed."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) + indent + 3 > WIDE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [f"{' ' * indent}# {line}" for line in lines]
