"""The help page, the glossary, and the word of the glossary that belongs to a cell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.observation import PartitionView
from tui.keybindings.keymap import GROUPS, KeyBinding, with_keys
from tui.keybindings.scopes import keys_of, scope_of, scopes
from tui.terminal import glyphs

# The glossary: one or two plain sentences for each word of Kafka and of this program.


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what it means."""

    word: str
    meaning: str


_TEXT: Final = """
acks: What a producer waits for: 0 nothing, 1 that the leader has written it, all that every in-sync replica has.
broker: A server that keeps replicas of partitions and answers clients.
committed: Below the high watermark: consumers may read it, and no clean election loses it.
controlled shutdown: A broker that stops hands its leaderships over first, so that nobody has to find out.
controller: The node that elects leaders and keeps the ISR of every partition; its epoch counts controllers.
coordinator: The broker that keeps a group's members and offsets, or a producer's transactions.
diverged: A replica that holds other records than its leader at the same offsets; it must cut its log back.
ELR: Eligible leader replicas: out of the ISR, but known to hold all that is committed, so good to lead (KIP-966).
epoch: A number that grows with every new leader of a partition; a record carries the one it was written in.
fencing: Refusing somebody who was replaced, known by an old epoch: a zombie leader, producer or group member.
generation: A number that grows with every rebalance of a group; what an older one commits is refused.
group: Consumers that share the partitions of topics; each partition belongs to one member at a time.
HW: High watermark: up to where every in-sync replica has the log. Each replica learns it late, by fetching.
idempotence: A producer numbers its batches, so that a retry of what is there already is not written twice.
ISR: In-sync replicas: those that keep up with the leader. All of them must have a record before acks=all answers.
lag: High watermark less committed offset of a group (its LAG); of a replica, how far it is behind its leader.
leader: The one replica of a partition that takes writes and decides what is committed.
LEO: Log end offset: where the next record of a replica goes.
LSO: Last stable offset: up to where every transaction has ended; read_committed consumers stop there.
metadata: What brokers and clients have been told about leaders. It may be old, and they act on it all the same.
min.insync.replicas: How small the ISR may be for a write with acks=all; below it producers get an error instead.
missing: Acknowledged, and not in the leader's log at its place now. It may come back; what does not is lost.
offset: The place of a record in a partition's log, counted from 0.
partition: One log of a topic, kept by several brokers as replicas.
position lag: The high watermark less the offset that a consumer reads next, committed or not.
preferred leader: The first replica of the assignment, which leads where nothing is wrong.
quorum: The controllers, of which more than half must agree; ZooKeeper's ensemble in older clusters.
rebalance: The members of a group share the partitions out anew; some of them are read by nobody meanwhile.
replica: A broker's copy of a partition.
session timeout: So long a broker or a member may be silent before it is taken for dead.
split view: Two brokers take themselves to lead one partition, because one has not heard that it was replaced.
transaction: Records of several partitions that are all committed or all aborted, with offsets of a group.
truncation: A follower cuts off what its leader does not have. What was acknowledged among that is gone.
unclean election: A replica that was not in sync is made leader to be able to serve at all; what it lacks is lost.
under-replicated: A partition whose ISR lacks some of its replicas.
zombie: Somebody who was replaced and does not know it yet.
"""

GLOSSARY: Final = tuple(Term(*line.split(": ", 1)) for line in _TEXT.strip().splitlines())
"""By word, as people look for it."""


def found(typed: str) -> tuple[Term, ...]:
    """The terms whose word begins so, then those that only speak of it; all for nothing."""
    wanted = typed.strip().lower()
    first = tuple(each for each in GLOSSARY if each.word.lower().startswith(wanted))
    return first + tuple(each for each in GLOSSARY if wanted in each.meaning.lower() and each not in first and wanted)


def term(word: str) -> Term:
    """The one of a word; KeyError: there is none."""
    return {each.word: each for each in GLOSSARY}[word]


LEGEND: Final = (
    (glyphs.LEADER, "leader", "leader, with its log end offset (LEO)"),
    (glyphs.IN_SYNC, "in_sync", "in-sync follower; = as far as the leader, -n records behind"),
    (glyphs.LAGGING, "lagging", "lagging: not in the ISR"),
    (glyphs.DOWN, "down", "its broker is down"),
    (glyphs.TRUNCATING, "truncating", "is cutting its log back to what the leader has"),
    (glyphs.DIVERGED, "diverged", "holds records that differ from the leader's"),
    (glyphs.LOST, "lost", "acknowledged, and not in the leader's log: missing so far or lost; with a number, so many"),
    (glyphs.BROKEN, "alarm", "among events: a rule of the protocol that did not hold, or is overdue"),
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
"""By the names of :mod:`tui.keybindings.keymap`; a mode without an entry begins with its own words."""


def lines(here: Here, keys: Sequence[KeyBinding]) -> tuple[Line, ...]:
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


def _own(name: str, keys: Sequence[KeyBinding]) -> list[Line]:
    """A place's own keys; what has a letter in a sheet stands in the sheet."""
    own = [key for key in keys_of(name, keys) if not key.action.startswith("pick('")]
    return [_line(key.shown, "key", key.words, KEY) for key in own]


def _heading(text: str) -> Line:
    return ((f"\n{text}", "calm"),)


def _line(mark: str, role: str, words: str, width: int) -> Line:
    return (mark, role), (" " * max(1, width - len(mark)) + words, "text")


# Which word of the glossary stands under the pointer, or belongs to the cell under the cursor.


_ON_SCREEN: Final = """
acks: acks
broker: broker brokers
committed: committed
controlled shutdown: shutdown
controller: controller ctrl
coordinator: coordinator
diverged: diverged differs
ELR: elr eligible
epoch: epoch epochs
fencing: fenced fences
generation: generation
group: group groups
HW: hw
idempotence: idempotent idempotence
ISR: isr
lag: lag
leader: leader leads lead
LEO: leo
LSO: lso
metadata: metadata stale
min.insync.replicas: min.isr min.insync.replicas
missing: missing miss
offset: offset offsets
partition: partitions partition
position lag: position
quorum: quorum
rebalance: rebalance rebalances rebalancing
replica: replica replicas
transaction: transaction transactions
truncation: truncates truncated truncate cut
unclean election: unclean
under-replicated: under-replicated urp
zombie: zombie
"""
"""Word of the glossary: how it stands on the screen."""

TOKENS: Final = {
    token: word
    for word, _colon, tokens in (line.partition(": ") for line in _ON_SCREEN.strip().splitlines())
    for token in tokens.split()
}
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]*", re.ASCII)
_OF_STATUS: Final = {"lagging": "ISR", "diverged": "diverged", "truncating": "truncation"}


def word_at(line: str, column: int) -> str:
    """The glossary's word for what stands at a column of a line, empty where it has none."""
    for found in _TOKEN.finditer(line):
        if found.start() <= column < found.end():
            return TOKENS.get(found[0].rstrip(".-").lower(), "")
    return ""


def word_of(partition: PartitionView, broker: int) -> str:
    """What most needs explaining about the cell of a broker, empty where nothing is amiss."""
    status = next((each.status for each in partition.replicas if each.broker == broker), "")
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if partition.missing:
        return "missing"
    return "under-replicated" if partition.under_replicated else ""
