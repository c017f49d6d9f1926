"""Shrinks a failing session: passes over steps, load, time and settings until none finds more, and the file of it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cluster_model.util.quantities import counted
from faults.catalogue import CATALOGUE
from playbooks.model.playbook import Playbook
from playbooks.model.step_text import instant
from playbooks.results.wrongs import EXPECTATION, Wrong
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
from playbooks.shrink.oracle import CandidateVerdict, asserted, chosen, judged, sentence
from playbooks.shrink.search import Bench, Best, Budget, DraftSearch, EditCount, Site, SpentError, Sweep, refused
from playbooks.units import UnitError, duration_us
from playbooks.version import VERSION

# Fewer decisions: by halves, quarters and so on down to one by one, the latest first.
#
# Zeller's ddmin tries the complements of ever smaller parts. Here the parts of one size are gone through once, and
# the single ones again until none of them can go, which is what the end of ddmin comes to as well.


def parts(number: int, least: int = 1) -> list[int]:
    """Sizes of the parts that so many decisions are left out in: all of them, then powers of two down to ``least``."""
    sizes = [number] if number > 1 else []
    size = 1
    while size * 2 < number:
        size *= 2
    while size >= least:
        sizes.append(size)
        size //= 2
    return sizes if number else []


def by_parts(number: int, least: int = 1) -> Sweep:
    """Leave out decisions in parts; ``number`` is how many there are as it begins."""

    def sites(best: Best) -> Iterator[Site]:
        for size in parts(number, least):
            yield from _parts_of(best, size)

    return sites


def _parts_of(best: Best, size: int) -> Iterator[Site]:
    """The parts of one size. A site is called by how many decisions come behind it, which stays so as it goes."""
    numbers = [each.number for each in best.draft.steps]
    left = len(numbers)
    while left > 0:
        part = numbers[max(0, left - size) : left]
        yield Site(f"{size} before {len(numbers) - left}", [best.draft.without(part)] if part else [])
        left -= size


def after_it_came(best: Best) -> Iterator[Site]:
    """Leave out what was done after the finding had come, where it is known when that was."""
    came_us = best.verdict.came_us
    late = [
        step.number
        for step, (at_us, _executed) in zip(best.draft.steps, best.verdict.acted, strict=False)
        if 0 <= came_us < at_us
    ]
    if late:
        yield Site("later", [best.draft.without(late)])


def refused_steps(best: Best) -> Iterator[Site]:
    """Leave out at once what was refused, or found nobody: it did nothing."""
    if gone := refused(best.draft, best.verdict):
        yield Site("refused", [best.draft.without(sorted(gone))])


def chained(*sweeps: Sweep) -> Sweep:
    """One sweep after the other, as one."""

    def sites(best: Best) -> Iterator[Site]:
        for number, sweep in enumerate(sweeps):
            for site in sweep(best):
                yield site._replace(name=f"{number} {site.name}")

    return sites


# Fewer records and clients: the load, down to what the finding needs.


_COUNT: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_RATE: Final = re.compile(r"([0-9]{1,9})(/[a-z]+)", re.ASCII)
_PLAIN_RATE: Final = Word("10/s")
_STAYS: Final = frozenset(
    {"kafka", "mode", "brokers", "replication", "rate", "name", "topic", "topics", "placement", "id"}
)
"""Keys that are never left out: without them there would be another story, or more of something."""
_LISTS: Final = (("clients", "groups"), ("clients", "producers"), ("topics",))


def smaller(best: Best) -> Iterator[Site]:
    """Clients and topics that nothing needs, then less of everything, then what is set for nothing."""
    draft = best.draft
    for path in _LISTS:
        yield from _whole(draft, path)
    yield from _topics(draft)
    yield from _smaller_values(draft)
    yield from _settings(draft)


def coarser(best: Best) -> Iterator[Site]:
    """What makes a session cheaper to run at one stroke: no readers, one partition each, few records."""
    draft = best.draft
    yield from _whole(draft, ("clients", "groups"))
    yield from _topics(draft)
    for place, topic in _named(draft, ("topics",)):
        if isinstance(topic.get("partitions"), Word):
            yield Site(f"topic {_name(topic)} partitions", [_put(draft, ("topics", place, "partitions"), Word("1"))])
    for place, producer in _named(draft, ("clients", "producers")):
        path: Path = ("clients", "producers", place, "rate")
        rate = producer.get("rate")
        if isinstance(rate, Word) and (found := _RATE.fullmatch(rate.text)) and int(found[1]) > 20:
            yield Site(f"producer {_name(producer)} rate", [_put(draft, path, _PLAIN_RATE)])


def _named(draft: Draft, path: Path) -> list[tuple[int, Mapping[str, Tree]]]:
    """The elements of a list, the last first, each with its place."""
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
    """Without what stands there, and without what is empty then."""
    head = without(draft.head, path)
    while len(path) > 1 and not at(head, path := path[:-1]):
        head = without(head, path)
    assert isinstance(head, Mapping)
    return replace(draft, head=head)


def _whole(draft: Draft, path: Path) -> Iterator[Site]:
    """All of a list at once, then one after the other."""
    items = _named(draft, path)
    if len(items) > 1 and path != ("topics",):
        yield Site(f"{path[-1]}", [_without(draft, path)])
    for place, item in items:
        if path == ("topics",) and len(items) == 1:
            return
        yield Site(f"{path[-1]} {_name(item)}", [_without(draft, (*path, place))])


def _topics(draft: Draft) -> Iterator[Site]:
    """A topic with everybody who writes to it or reads it."""
    topics = _named(draft, ("topics",))
    if len(topics) < 2:
        return
    for place, topic in topics:
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
        yield Site(f"all of topic {_name(topic)}", [_without(fewer, ("topics", place))])


def _says(value: Tree | None, text: str) -> bool:
    return isinstance(value, Word) and value.text == text


def _smaller_values(draft: Draft) -> Iterator[Site]:
    """Smaller numbers, and fewer elements."""
    for path, value in _leaves(draft.head):
        if isinstance(value, Word):
            if "config" not in path and path[-1] not in ("id", "name"):
                yield Site(f"less {_words(draft, path)}", [_put(draft, path, each) for each in fewer_of(value)])
        elif path[-1] == "rate":
            yield Site(f"rate {_words(draft, path)}", [_put(draft, path, _PLAIN_RATE)])
    for place, topic in _named(draft, ("topics",)):
        yield from _placement(draft, ("topics", place, "placement"), topic.get("placement"))
    brokers = at(draft.head, ("cluster",)) if "cluster" in draft.head else {}
    listed = brokers.get("brokers") if isinstance(brokers, Mapping) else None
    if isinstance(listed, tuple) and len(listed) > 1:
        for number in reversed(range(len(listed))):
            yield Site(f"broker {number}", [_without(draft, ("cluster", "brokers", number))])


def _placement(draft: Draft, path: Path, value: Tree | None) -> Iterator[Site]:
    if not isinstance(value, tuple):
        return
    if len(value) > 1:
        yield Site(f"{path} first", [_put(draft, path, value[:1])])
        yield Site(f"{path} shorter", [_put(draft, path, value[:-1])])
    shorter: Tree = tuple([each[:-1] if isinstance(each, tuple) and len(each) > 1 else each for each in value])
    yield Site(f"{path} fewer", [_put(draft, path, shorter)])


def fewer_of(value: Word) -> list[Word]:
    """Smaller numbers in place of one, the smallest first; none for what is no number or rate."""
    found = _RATE.fullmatch(value.text) or (_COUNT.fullmatch(value.text) if value.plain else None)
    if found is None:
        return []
    unit = found[2] if found.re is _RATE else ""
    number = int(found[1] if unit else found[0])
    tried = sorted({1, number // 10, number // 4, number // 2, number - 1 if number <= 10 else 1})
    return [Word(f"{each}{unit}", value.plain) for each in tried if 0 < each < number]


def _leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Every word with its path, and every mapping that has a rate."""
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


def _settings(draft: Draft) -> Iterator[Site]:
    """Everything that need not be said, whole sections before what is in them."""
    if "guards" in draft.head:
        yield Site("guards", [_without(draft, ("guards",))])
    places: list[Path] = [("cluster",)]
    for each in _LISTS:
        places += [(*each, place) for place, _item in _named(draft, each)]
    for path in places:
        found = at(draft.head, path) if path[0] in draft.head else {}
        if isinstance(found, Mapping):
            yield from _optional(draft, path, found)


def _optional(draft: Draft, path: Path, found: Mapping[str, Tree]) -> Iterator[Site]:
    for key, value in found.items():
        if key not in _STAYS:
            yield Site(f"set {_words(draft, (*path, key))}", [_without(draft, (*path, key))])
        if isinstance(value, Mapping) and len(value) > 1 and key != "rate":
            for name in value:
                yield Site(f"set {_words(draft, (*path, key, name))}", [_without(draft, (*path, key, name))])


def _words(draft: Draft, path: Path) -> str:
    """A path with names in place of numbers, which stays so as elements before it go."""
    words = []
    for length, part in enumerate(path, 1):
        there = at(draft.head, path[:length])
        name = _name(there) if isinstance(part, int) and isinstance(there, Mapping) else ""
        words.append(name or str(part))
    return ".".join(words)


SECOND: Final = 1_000_000
LEAST_SETTLE_US: Final = 1 * SECOND
"""What is lost is lost at the end, after a quiet time: that is never taken away altogether."""
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
"""What is milder than a fault, the mildest first."""
_ONE: Final = re.compile(r"(leader|broker|controller|coordinator|transaction_coordinator|client|zookeeper|replica)\b.*")
_BROKER: Final = re.compile(r"broker[ -]?([0-9]+)")
_KEPT: Final = ("at", "executed", "target", "for")


def sooner(best: Best) -> Iterator[Site]:
    """All of it: the quiet time, when, for how long, how exactly, and what is said for nothing."""
    draft = best.draft
    if not draft.manual:
        yield from _exactness(draft)
        yield from _settle(draft)
        yield from _start(draft)
        for step in draft.steps:
            yield from _earlier(draft, step)
            yield from _lasting(draft, step)
    for place, step in enumerate(draft.steps):
        struck = best.verdict.struck[place] if place < len(best.verdict.struck) else ""
        yield from _milder(draft, step)
        yield from _aimed(draft, step, struck)
        yield from _said(draft, step)


def at_once(best: Best) -> Iterator[Site]:
    """What makes a session shorter at one stroke: no long quiet time, and no long wait before the first step."""
    draft = best.draft
    if not draft.manual:
        yield from _settle(draft)
        yield from _start(draft)


def nice(value: int, least: int = 0) -> list[int]:
    """Times from ``least`` to below ``value``, the earliest first; then some that are only rounder than ``value``."""
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
    """The value in the coarsest unit in which it stays above ``least``."""
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


def _exactness(draft: Draft) -> Iterator[Site]:
    """The exact place of steps in their instants: of all, then of each."""
    exact = [step for step in draft.steps if "executed" in step.keys]
    if not exact:
        return
    plain = [replace(step, keys=_without_key(step.keys, "executed")) for step in draft.steps]
    yield Site("executed", [replace(draft, steps=tuple(plain))])
    for step in exact:
        yield Site(f"executed {step.number}", [draft.with_step(step.number, _without_key(step.keys, "executed"))])


def _without_key(keys: Mapping[str, Tree], key: str) -> Mapping[str, Tree]:
    found = without(keys, (key,))
    assert isinstance(found, Mapping)
    return found


def _settle(draft: Draft) -> Iterator[Site]:
    settle = _time(draft.head.get("settle"))
    if settle >= 0:
        tries = [
            replace(draft, head={**draft.head, "settle": Word(instant(each))})
            for each in nice(settle, LEAST_SETTLE_US)
            if each < settle
        ]
        yield Site("settle", tries)


def _start(draft: Draft) -> Iterator[Site]:
    """Everything earlier by the same time."""
    if draft.steps and (first := _time(draft.steps[0].keys.get("at"))) > 0:
        yield Site("start", [_shifted(draft, draft.steps, each - first) for each in nice(first) if each < first])


def _shifted(draft: Draft, steps: Sequence[RemovableStep], by_us: int) -> Draft:
    """Some steps earlier or later, the others where they are."""
    numbers = {step.number for step in steps}
    moved = [
        replace(step, keys={**step.keys, "at": Word(instant(_time(step.keys["at"]) + by_us))})
        if step.number in numbers and "at" in step.keys
        else step
        for step in draft.steps
    ]
    return replace(draft, steps=tuple(moved))


def _earlier(draft: Draft, step: RemovableStep) -> Iterator[Site]:
    """A step sooner after the one before it, those behind it with it; or it alone, at a rounder time."""
    place = draft.steps.index(step)
    at_us = _time(step.keys.get("at"))
    before = _time(draft.steps[place - 1].keys.get("at")) if place else 0
    if at_us <= 0 or before < 0:
        return
    tries = [_shifted(draft, draft.steps[place:], each - at_us) for each in nice(at_us, before) if each < at_us]
    rounder = [each for each in nice(at_us, before) if _digits(each) < _digits(at_us)]
    tries += [_shifted(draft, [step], each - at_us) for each in sorted(rounder, key=lambda each: abs(each - at_us))]
    yield Site(f"at {step.number}", tries)


def _lasting(draft: Draft, step: RemovableStep) -> Iterator[Site]:
    for_us = _time(step.keys.get("for"))
    if for_us > 0:
        tries = [
            draft.with_step(step.number, {**step.keys, "for": Word(instant(each))}) for each in nice(for_us) if each
        ]
        yield Site(f"for {step.number}", tries)


def _milder(draft: Draft, step: RemovableStep) -> Iterator[Site]:
    """Another fault that does less, without the parameters that it does not have."""
    fault = step.keys.get("inject")
    if not isinstance(fault, Word) or fault.text not in WEAKER:
        return
    tries = []
    for name in WEAKER[fault.text]:
        known = {param.name for param in CATALOGUE[name].params}
        keys = {key: value for key, value in step.keys.items() if key in (*_KEPT, "inject", "if_any") or key in known}
        tries.append(draft.with_step(step.number, {**keys, "inject": Word(name)}))
    yield Site(f"milder {step.number}", tries)


def _aimed(draft: Draft, step: RemovableStep, struck: str) -> Iterator[Site]:
    """A single broker in place of who is drawn, or of several."""
    target = step.keys.get("target")
    if not isinstance(target, Word) or _ONE.fullmatch(target.text):
        return
    names = [f"broker({found})" for found in _BROKER.findall(struck)]
    yield Site(
        f"target {step.number}", [draft.with_step(step.number, {**step.keys, "target": Word(each)}) for each in names]
    )


def _said(draft: Draft, step: RemovableStep) -> Iterator[Site]:
    """Parameters that are left at their defaults, or smaller."""
    verb = next((key for key in step.keys if key not in _KEPT), "")
    for key, value in step.keys.items():
        if key in _KEPT:
            continue
        if key != verb:
            yield Site(f"said {step.number} {key}", [draft.with_step(step.number, _without_key(step.keys, key))])
        elif isinstance(value, Mapping):
            yield from _parameters(draft, step, key, value)


def _parameters(draft: Draft, step: RemovableStep, verb: str, given: Mapping[str, Tree]) -> Iterator[Site]:
    """The same where they stand with the verb: in steps by hand."""
    for name, value in given.items():
        tries = [{**step.keys, verb: _without_key(given, name)}]
        if isinstance(value, Word) and name == "records":
            tries += [{**step.keys, verb: {**given, name: each}} for each in fewer_of(value)]
        elif isinstance(value, tuple) and len(value) > 1:
            tries.append({**step.keys, verb: {**given, name: value[:1]}})
        yield Site(f"said {step.number} {name}", [draft.with_step(step.number, keys) for keys in tries])


# Shrinks a failing session: all passes until none finds more, and the shrunk playbook as a file.


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
