"""The help page: first what the pane in focus or the mode shows, then every key, every glyph, and the words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tui import glyphs
from tui.keymap import GROUPS, Key
from tui.viewmodel.glossary import term

LEGEND: Final = (
    (glyphs.LEADER, "leader", "leader, with its log end offset (LEO)"),
    (glyphs.IN_SYNC, "in_sync", "in-sync follower; = as far as the leader, -n records behind"),
    (glyphs.LAGGING, "lagging", "lagging: not in the ISR"),
    (glyphs.DOWN, "down", "its broker is down"),
    (glyphs.TRUNCATING, "truncating", "is cutting its log back to what the leader has"),
    (glyphs.DIVERGED, "diverged", "holds records that differ from the leader's"),
    (glyphs.LOST, "lost", "acknowledged, and not in the leader's log"),
    (glyphs.SPLIT, "alarm", "takes itself to lead, but another was elected: a split view"),
    (glyphs.FENCED, "lagging", "behind a broker: fenced, the controller does not count on it"),
    (glyphs.LEAVING, "lagging", "behind a broker: in controlled shutdown"),
    (glyphs.STALE, "lagging", "behind a broker, with a number: so many partitions that it knows older than decided"),
    ("7", "epoch2", "one record, written in leader epoch 7, below its replica's high watermark"),
    (glyphs.ABOVE_HW, "above2", "one record above its replica's high watermark: not yet committed there"),
)
WORDS: Final = ("LEO", "HW", "ISR", "epoch", "ELR", "lag")
"""Terms that the page explains itself; the others stand in the glossary."""
KEY, GLYPH, WORD = 11, 3, 9
"""Cells in front of the words."""

Line = tuple[tuple[str, str], ...]
"""Pieces of text with their roles."""


@dataclass(frozen=True, slots=True)
class Here:
    """What is looked at: what it shows, the terms and glyphs it is about, and the keys that work in it."""

    title: str
    shows: str
    terms: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    glyphs: tuple[str, ...] = ()


CLUSTER: Final = Here(
    "Here: partitions and brokers",
    "A row is a partition, a column a broker, a cell the replica that it keeps. The cursor chooses whose log is shown "
    "below, what a fault strikes, and what stands under the cursor at the side.",
    ("leader", "ISR", "LEO", "HW"),
    (
        ("arrows", "another partition or broker; hjkl too"),
        ("letters", "in the sheets of faults and operations: act at once"),
        ("/", "show some partitions only; z: as heat, how far behind"),
        ("tab m", "choose a pane, give it the whole room; ^o: jump by letters"),
    ),
    (glyphs.LEADER, glyphs.IN_SYNC, glyphs.LAGGING, glyphs.DOWN, glyphs.LOST),
)
SHEET: Final = Here(
    "Here: the sheet of faults",
    "Every fault has a letter. Below them stands what the marked one is, and what it would do right now.",
    ("fencing", "session timeout"),
    (
        ("letter", "inject that fault at once on what is aimed at"),
        ("enter", "set its parameters first"),
        ("space", "queue it while time stands still; backspace takes back"),
        ("arrows", "read about another fault, aim at another node; esc leaves"),
    ),
)


def _acts(on: str) -> tuple[str, str]:
    """The keys of the cluster that act in a mode too."""
    return "f H u w", f"act as on the cluster, {on}; so do a s : T b B P; right click: the sheet"


MODES: Final = {
    "clients": Here(
        "Here: clients",
        "A row is a producer, a group or one of its members, with what it sent, read, tried again and lost so far.",
        ("acks", "lag", "generation", "rebalance", "idempotence"),
        (
            ("up down", "another client: what faults strike; a group is all its members"),
            ("/", "choose by names"),
            _acts("on that client"),
        ),
    ),
    "log": Here(
        "Here: a log",
        "A lane is a replica, a cell an offset. Below: the record at the cursor, leader epochs, fetches under way.",
        ("LEO", "HW", "LSO", "epoch", "truncation"),
        (
            ("arrows", "another cell, another replica; with shift ten cells"),
            ("tab", "another partition"),
            ("+ -", "more or fewer offsets to a cell"),
            ("t F g end", "to the high watermark, the fork, the beginning; follow the end"),
            ("enter", "back to the moment at which the record was written"),
            _acts("on that replica's broker"),
        ),
        (glyphs.ABOVE_HW, glyphs.DIVERGED, glyphs.LOST),
    ),
    "timeline": Here(
        "Here: the timeline",
        "What happened when, a lane for each kind; below, all that is known of the mark that is chosen.",
        (),
        (
            ("left right", "the mark before and after"),
            ("up down", "the nearest mark of another lane; below them, the branches"),
            ("enter", "go to that instant; again: back to the present; over to a branch"),
            ("+ - z", "zoom; the whole session"),
            ("v", "begin a span here: arrows and shift+arrows move its end; v or esc lets go"),
            ("e", "write the events of the span beside the recording"),
            ("t c i x o", "hide a lane, or show it again"),
            ("mouse", "drag the time to go through it, drag the lanes to choose a span"),
            _acts("at that instant, which is gone to first"),
        ),
    ),
    "playbooks": Here(
        "Here: playbooks and sessions",
        "The playbook on the screen as it runs, the library, and the sessions that were recorded.",
        (),
        (
            ("enter", "start the playbook, or open the session; the one on the screen is sealed first"),
            ("/", "choose by words; ! before a word: without it"),
            ("o", "open a file"),
            ("tab", "playbooks or sessions"),
            ("T", "take over: what is left of the steps is left out"),
            ("b", "back to what was on the screen before"),
            ("J K", "scroll the text"),
        ),
    ),
    "report": Here(
        "Here: the report so far",
        "What the session has come to, in the words with which a run ends.",
        (),
        (("left right", "another finding"), ("enter", "its autopsy"), ("up down", "scroll"), ("e", "export")),
    ),
}
"""By the names of :mod:`tui.modes`; a mode without an entry begins with its own words."""


def lines(here: Here, keys: Sequence[Key]) -> tuple[Line, ...]:
    """The whole page."""
    rows: list[Line] = [((here.title, "calm"),), ((here.shows, "text"),)]
    rows += [_line(mark, "key", words, KEY) for mark, words in here.keys]
    rows += [_line(mark, role, words, GLYPH) for mark, role, words in LEGEND if mark in here.glyphs]
    rows += [_line(word, "strong", term(word).meaning, max(WORD, len(word) + 1)) for word in here.terms]
    for group, title in GROUPS.items():
        rows.append(_heading(title))
        rows += [_line(key.shown, "key", key.words, KEY) for key in keys if key.group == group]
    if here is not SHEET:
        rows += [_heading("In the sheet of faults"), *(_line(mark, "key", words, KEY) for mark, words in SHEET.keys)]
    rows += [_heading("What you see"), *(_line(mark, role, words, GLYPH) for mark, role, words in LEGEND)]
    rows.append(_heading("Words (g: all of them)"))
    rows += [_line(word, "strong", term(word).meaning, WORD) for word in WORDS]
    return tuple(rows)


def _heading(text: str) -> Line:
    return ((f"\n{text}", "calm"),)


def _line(mark: str, role: str, words: str, width: int) -> Line:
    return (mark, role), (" " * max(1, width - len(mark)) + words, "text")
