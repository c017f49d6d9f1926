"""The help page: first what the pane in focus or the mode shows, then every key, every glyph, and the words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tui.keybindings.keymap import GROUPS, Key, with_keys
from tui.keybindings.scopes import keys_of, scope_of, scopes
from tui.terminal import glyphs
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
    scope: str = ""
    """The place of :data:`tui.keybindings.scopes.SCOPES` whose own keys work in it."""


CLUSTER: Final = Here(
    "Here: partitions and brokers",
    "A row is a partition, a column a broker, a cell the replica that it keeps. The cursor chooses whose log is shown "
    "below, what a fault strikes, and what stands under the cursor at the side.",
    ("leader", "ISR", "LEO", "HW"),
    (
        ("arrows", "another partition or broker; hjkl too"),
        ("letters", "in the sheets of faults and operations: act at once"),
        ("{filter}", "show some partitions only; {heat}: as heat, how far behind"),
        ("{next_pane} {maximise}", "choose a pane, give it the whole room; {jump}: jump by letters"),
    ),
    (glyphs.LEADER, glyphs.IN_SYNC, glyphs.LAGGING, glyphs.DOWN, glyphs.LOST),
)
SHEET: Final = Here(
    "Here: the sheet of faults",
    "Every fault has a letter. Below them stands what the marked one is, and what it would do right now.",
    ("fencing", "session timeout"),
    (("letter", "inject that fault at once on what is aimed at"),),
    scope="faults",
)
OPERATIONS: Final = Here(
    "Here: the sheet of operations",
    "What an administrator can ask for, each with a letter; below them, what the marked one would be asked to do.",
    ("unclean election", "preferred leader"),
    (("letter", "ask for that at once, for the partition and the broker in the title"),),
    scope="operations",
)


def _acts(on: str) -> tuple[str, str]:
    """The keys of the cluster that act in a mode too."""
    return (
        "{fault} {heal} {undo} {what_if}",
        f"act as on the cluster, {on}; so do {{admin}} {{control}} {{ask}} {{redo}}",
    )


MODES: Final = {
    "clients": Here(
        "Here: clients",
        "A row is a producer, a group or one of its members, with what it sent, read, tried again and lost so far.",
        ("acks", "lag", "generation", "rebalance", "idempotence"),
        (("{filter}", "choose by names"), _acts("on that client")),
        scope="clients",
    ),
    "log": Here(
        "Here: a log",
        "A lane is a replica, a cell an offset. Below: the record at the cursor, leader epochs, fetches under way.",
        ("LEO", "HW", "LSO", "epoch", "truncation"),
        (_acts("on that replica's broker"),),
        (glyphs.ABOVE_HW, glyphs.DIVERGED, glyphs.LOST),
        scope="microscope",
    ),
    "timeline": Here(
        "Here: the timeline",
        "What happened when, a lane for each kind; below, all that is known of the mark that is chosen.",
        (),
        (
            ("mouse", "drag the time to go through it, drag the lanes to choose a span"),
            _acts("at that instant, which is gone to first"),
        ),
        scope="timeline",
    ),
    "playbooks": Here(
        "Here: playbooks and sessions",
        "The playbook on the screen as it runs, the library, and the sessions that were recorded.",
        (),
        (_acts("in the session on the screen"),),
        scope="playbooks",
    ),
    "report": Here(
        "Here: the report so far",
        "What the session has come to, in the words with which a run ends.",
        (),
        (_acts("on the leader of the marked finding's partition"),),
        scope="report",
    ),
    "compare": Here(
        "Here: two branches side by side",
        "The branch on the screen and another one, at one instant: the logs of a partition, and the numbers of both.",
        ("diverged",),
        (_acts("in the branch on the screen, on that partition's leader"),),
        scope="compare",
    ),
}
"""By the names of :mod:`tui.keybindings.modes`; a mode without an entry begins with its own words."""


def lines(here: Here, keys: Sequence[Key]) -> tuple[Line, ...]:
    """The whole page."""
    rows: list[Line] = [((here.title, "calm"),), ((here.shows, "text"),)]
    rows += _own(here.scope, keys) if here.scope else []
    rows += [_line(with_keys(mark, keys), "key", with_keys(words, keys), KEY) for mark, words in here.keys]
    rows += [_line(mark, role, words, GLYPH) for mark, role, words in LEGEND if mark in here.glyphs]
    rows += [_line(word, "strong", term(word).meaning, max(WORD, len(word) + 1)) for word in here.terms]
    for group, title in GROUPS.items():
        rows.append(_heading(title))
        rows += [_line(key.shown, "key", key.words, KEY) for key in keys if key.group == group]
    rows += [_heading("What you see"), *(_line(mark, role, words, GLYPH) for mark, role, words in LEGEND)]
    rows.append(_heading("Words (g: all of them)"))
    rows += [_line(word, "strong", term(word).meaning, WORD) for word in WORDS]
    for scope in scopes():
        if scope.name != here.scope:
            rows += [_heading(scope.title), *_own(scope.name, keys)]
    return tuple(rows)


def of_page(name: str) -> Here:
    """A page over the screen."""
    scope = scope_of(name)
    where = scope.title[0].lower() + scope.title[1:]
    return Here(f"Here: {where}", "These keys work here; so do those of the palette and of quitting.", scope=name)


def _own(name: str, keys: Sequence[Key]) -> list[Line]:
    """A place's own keys; what has a letter in a sheet stands in the sheet."""
    own = [key for key in keys_of(name, keys) if not key.action.startswith("pick('")]
    return [_line(key.shown, "key", key.words, KEY) for key in own]


def _heading(text: str) -> Line:
    return ((f"\n{text}", "calm"),)


def _line(mark: str, role: str, words: str, width: int) -> Line:
    return (mark, role), (" " * max(1, width - len(mark)) + words, "text")
