"""Shorter and earlier: when things are done, for how long, to whom, and how hard."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from faults.catalogue import CATALOGUE
from playbooks.model.step_text import instant
from playbooks.shrink.candidate import Decision, Draft
from playbooks.shrink.search import Best, Site
from playbooks.shrink.smaller import fewer_of
from playbooks.shrink.tree import Tree, Word, without
from playbooks.units import UnitError, duration_us

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
    plain = [replace(step, keys=_less(step.keys, "executed")) for step in draft.steps]
    yield Site("executed", [replace(draft, steps=tuple(plain))])
    for step in exact:
        yield Site(f"executed {step.number}", [draft.with_step(step.number, _less(step.keys, "executed"))])


def _less(keys: Mapping[str, Tree], key: str) -> Mapping[str, Tree]:
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


def _shifted(draft: Draft, steps: Sequence[Decision], by_us: int) -> Draft:
    """Some steps earlier or later, the others where they are."""
    numbers = {step.number for step in steps}
    moved = [
        replace(step, keys={**step.keys, "at": Word(instant(_time(step.keys["at"]) + by_us))})
        if step.number in numbers and "at" in step.keys
        else step
        for step in draft.steps
    ]
    return replace(draft, steps=tuple(moved))


def _earlier(draft: Draft, step: Decision) -> Iterator[Site]:
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


def _lasting(draft: Draft, step: Decision) -> Iterator[Site]:
    for_us = _time(step.keys.get("for"))
    if for_us > 0:
        tries = [
            draft.with_step(step.number, {**step.keys, "for": Word(instant(each))}) for each in nice(for_us) if each
        ]
        yield Site(f"for {step.number}", tries)


def _milder(draft: Draft, step: Decision) -> Iterator[Site]:
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


def _aimed(draft: Draft, step: Decision, struck: str) -> Iterator[Site]:
    """A single broker in place of who is drawn, or of several."""
    target = step.keys.get("target")
    if not isinstance(target, Word) or _ONE.fullmatch(target.text):
        return
    names = [f"broker({found})" for found in _BROKER.findall(struck)]
    yield Site(
        f"target {step.number}", [draft.with_step(step.number, {**step.keys, "target": Word(each)}) for each in names]
    )


def _said(draft: Draft, step: Decision) -> Iterator[Site]:
    """Parameters that are left at their defaults, or smaller."""
    verb = next((key for key in step.keys if key not in _KEPT), "")
    for key, value in step.keys.items():
        if key in _KEPT:
            continue
        if key != verb:
            yield Site(f"said {step.number} {key}", [draft.with_step(step.number, _less(step.keys, key))])
        elif isinstance(value, Mapping):
            yield from _parameters(draft, step, key, value)


def _parameters(draft: Draft, step: Decision, verb: str, given: Mapping[str, Tree]) -> Iterator[Site]:
    """The same where they stand with the verb: in steps by hand."""
    for name, value in given.items():
        tries = [{**step.keys, verb: _less(given, name)}]
        if isinstance(value, Word) and name == "records":
            tries += [{**step.keys, verb: {**given, name: each}} for each in fewer_of(value)]
        elif isinstance(value, tuple) and len(value) > 1:
            tries.append({**step.keys, verb: {**given, name: value[:1]}})
        yield Site(f"said {step.number} {name}", [draft.with_step(step.number, keys) for keys in tries])
