"""The shrunk playbook as a file: where it comes from, what it shows, and why each of its steps is there."""

from typing import Final

from playbooks.errors import counted
from playbooks.shrink.candidate import Draft
from playbooks.shrink.findings import asserted
from playbooks.shrink.shrinker import STOPPED, WHOLE, Found, Shrunk
from playbooks.shrink.tree import WIDE, Word, element, entry
from playbooks.version import VERSION

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


def _opening(draft: Draft, name: str, found: Found) -> list[str]:
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
