"""The list of playbooks as lines: what is on the screen first, then the bundled ones by theme."""

from collections.abc import Sequence
from dataclasses import dataclass

from playbooks.library.index import heading
from playbooks.library.shelf import Shelved
from tui.terminal import glyphs
from tui.viewmodel.row import Row, first_shown

RUNNING = ""
"""Stands for the playbook of the session on the screen where others have a name."""
BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a list: what stands on it, and whether it can be chosen."""

    key: str
    text: str
    role: str = "text"
    end: str = ""
    heading: bool = False


def playbooks(shelf: Sequence[Shelved], running: str, words: str) -> tuple[Entry, ...]:
    """The playbook that is ``running``, and those of the shelf that fit the ``words`` of the filter, under headings."""
    entries = [] if words else [Entry("", "On the screen", "quiet", heading=True), Entry(RUNNING, running, "strong")]
    theme = ""
    for each in shelf:
        if not each.fits(words):
            continue
        if each.theme != theme:
            theme = each.theme
            entries.append(Entry("", heading(theme), "quiet", heading=True))
        entries.append(Entry(each.name, each.name, end=BY_HAND if each.manual else ""))
    if not entries:
        entries.append(Entry("", f"no playbook fits {words}", "quiet", heading=True))
    return tuple(entries)


def choices(entries: Sequence[Entry]) -> list[int]:
    """The lines that can be chosen."""
    return [number for number, entry in enumerate(entries) if not entry.heading]


def moved(entries: Sequence[Entry], at: int, lines: int) -> int:
    """The line that is chosen after so many steps down or up from the one at ``at``; -1 where none can be."""
    found = choices(entries)
    if not found:
        return -1
    nearest = min(range(len(found)), key=lambda place: abs(found[place] - at))
    return found[max(0, min(nearest + lines, len(found) - 1))]


def window(entries: Sequence[Entry], at: int, first: int, height: int) -> tuple[int, tuple[Row, ...]]:
    """The lines that are shown with the chosen one among them, its heading too, and the first line's number."""
    shown = first_shown(first, at, len(entries), height)
    if at > 0 and shown == at and entries[at - 1].heading and height > 1:
        shown = at - 1
    return shown, tuple(_row(entries[line], line == at) for line in range(shown, min(shown + height, len(entries))))


def _row(entry: Entry, chosen: bool) -> Row:
    marker = glyphs.MARKER if chosen else " "
    indent = "" if entry.heading else f"{marker} "
    return Row(((indent, "key"), (entry.text, entry.role)), (f"{entry.end} " if entry.end else "", "quiet"), chosen)
