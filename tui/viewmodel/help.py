"""Help page with the legend of marks, glossary, and the glossary term of a cell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.observation import PartitionView
from tui.keybindings.keymap import GROUPS, KeyBinding, with_keys
from tui.keybindings.scopes import keys_of, scope_of, scopes
from tui.terminal import glyphs

# The glossary: one or two sentences for each term of Kafka and of this program.


@dataclass(frozen=True, slots=True)
class Term:
    """Term of the glossary and its meaning."""

    word: str
    meaning: str


_TEXT: Final = """
acks: The acknowledgement that a producer requires: 0 none, 1 from the leader, all from every in-sync replica.
broker: A server that stores replicas of partitions and serves clients.
campaign: Many runs of one playbook or storm with other seeds or settings, for the probability of a result.
committed: Below the high watermark: consumers may read it, and no clean election loses it.
controlled shutdown: A stopping broker moves its leaderships to other brokers first, so clients see little downtime.
controller: The node that elects leaders and maintains the ISR of every partition; each new controller has a new epoch.
coordinator: The broker that manages a group's members and offsets, or a producer's transactions.
diverged: A replica that has other records than its leader at the same offsets; it must truncate its log.
ELR: Eligible leader replicas: not in the ISR, but known to have all committed records, so they may lead (KIP-966).
epoch: A number that increases with every new leader of a partition; each record carries the epoch it was written in.
fencing: Rejecting a request with an old epoch, from a replaced leader, producer or group member.
fleet: The runs of a campaign, or many sessions, in one report that ranks the settings by their losses.
generation: A number that increases with every rebalance of a group; commits with an older one are rejected.
group: Consumers that share the partitions of topics; each partition is assigned to one member at a time.
HW: High watermark: the offset up to which every in-sync replica has the log. Followers learn it late, by fetching.
idempotence: The producer numbers its batches, so that the broker detects a retry and does not append it twice.
ISR: In-sync replicas: those that keep up with the leader. All of them must have a record before acks=all succeeds.
lag: High watermark minus committed offset of a group; for a replica, how many records it is behind its leader.
leader: The one replica of a partition that accepts writes and determines what is committed.
LEO: Log end offset: the offset of the next record to be appended to a replica.
log branch: The part of a log that one leader wrote in its leader epoch; replicas that diverged have different ones.
LSO: Last stable offset: all transactions below it have ended; read_committed consumers read only up to it.
metadata: The leaders and ISRs that a broker or client knows. It may be stale; it is used until the next update.
min.insync.replicas: The minimum size of the ISR for a write with acks=all; below it the producer gets an error.
missing: Acknowledged, but not in the leader's log now. It may come back from another replica; otherwise it is lost.
offset: The position of a record in a partition's log, counted from 0.
partition: One log of a topic, replicated on several brokers.
position lag: High watermark minus the next offset that a consumer reads, whether committed or not.
preferred leader: The first replica of the assignment, which leads while all brokers are healthy.
quorum: The controllers, a majority of which must agree; in older clusters the ZooKeeper ensemble.
rebalance: The members of a group redistribute its partitions; some partitions are not read meanwhile.
replica: A broker's copy of a partition.
session timeout: How long a broker or group member may be silent before it is considered dead.
split brain: Two brokers believe that they are the leader of a partition: one has not learned that it was replaced.
transaction: Records in several partitions, and group offsets, that are committed or aborted together.
truncation: A follower removes records that its leader does not have, even if they were acknowledged.
unclean election: An out-of-sync replica becomes leader to restore availability; records that it lacks are lost.
under-replicated: A partition with replicas that are not in its ISR.
zombie: A replaced leader, producer or group member that is not yet aware of it.
"""

GLOSSARY: Final = tuple(Term(*line.split(": ", 1)) for line in _TEXT.strip().splitlines())
"""All terms in alphabetical order."""


def search_terms(typed: str) -> tuple[Term, ...]:
    """Return the terms that begin with the typed text, then those whose meaning contains it; all for no text."""
    wanted = typed.strip().lower()
    first = tuple(each for each in GLOSSARY if each.word.lower().startswith(wanted))
    return first + tuple(each for each in GLOSSARY if wanted in each.meaning.lower() and each not in first and wanted)


def term(word: str) -> Term:
    """Return the glossary entry of a term; raises KeyError."""
    return {each.word: each for each in GLOSSARY}[word]


Mark = tuple[str, str, str]
"""Mark as it is drawn, its role, its meaning."""

LEGENDS: Final[dict[str, tuple[Mark, ...]]] = {
    "Marks: partitions and brokers": (
        (glyphs.LEADER, "leader", "leader, with its log end offset (LEO); of controllers: the active one"),
        (
            glyphs.IN_SYNC,
            "in_sync",
            "in-sync follower; broker or controller that is up; on the timeline: the time shown",
        ),
        (glyphs.LAGGING, "lagging", "follower outside of the ISR; broker with an active fault; candidate controller"),
        (glyphs.DOWN, "down", "broker or node is down; partition is offline; a check failed"),
        (glyphs.PAUSED, "lagging", "process is paused, as in a long GC; in the status bar: time is paused"),
        (glyphs.TRUNCATING, "truncating", "follower is truncating its log; broker is starting"),
        (glyphs.DIVERGED, "diverged", "records differ from the leader's; with a number: how many"),
        (glyphs.SPLIT, "alarm", "zombie leader: believes that it is the leader, but another broker was elected"),
        (f"{glyphs.LOST}4", "lost", "4 acknowledged records are not in the leader's log: missing so far, or lost"),
        ("=", "text", "follower is caught up with the leader"),
        ("-87 +3", "text", "follower is 87 records behind the leader, or 3 ahead of it"),
        (glyphs.NOTHING, "faint", "broker has no replica; in the overview: healthy partition"),
        ("e5", "quiet", "leader epoch 5; in red: the partition has no leader"),
        ("{1,2,3}", "quiet", "ISR: ids of the brokers with in-sync replicas"),
        ("–", "quiet", "lag: no group has committed an offset of the partition"),
        (glyphs.FENCED, "lagging", "after a broker: fenced, the controller does not make it a leader"),
        (glyphs.LEAVING, "lagging", "after a broker: in controlled shutdown"),
        (f"{glyphs.STALE}60", "lagging", "after a broker: its metadata is stale for 60 partitions"),
        (f"{glyphs.MINUS}b2 +b3", "warning", "broker 2 leaves, broker 3 joins the ISR or the assignment"),
        ("!", "alarm", "in the overview: ISR smaller than min.insync.replicas"),
        (glyphs.SPARK, "text", "heat: lag of 1, 10, 100, 1k, 10k records or more; load on the timeline"),
        (glyphs.MARKER, "key", "the selected line or replica"),
    ),
    "Marks: status bar": (
        (glyphs.PLAY, "calm", "time is running; on the timeline: the present"),
        (glyphs.SEEK, "text", "running to the next notable event"),
        (f"{glyphs.TIMES}9{glyphs.ARROW}4", "text", "requested speed 9, real speed 4, in virtual seconds per second"),
        (glyphs.ABOUT, "text", "the time shown is approximate while dragging"),
        (f"{glyphs.FORK} B", "text", "branch B of the session"),
        ("s1", "quiet", "seed 1 of the session"),
        (f"{glyphs.IN_SYNC}3{glyphs.PAUSED}1{glyphs.DOWN}0", "calm", "brokers: 3 up, 1 paused or starting, 0 down"),
        ("urp off", "warning", "under-replicated and offline partitions"),
        ("miss lost", "lost", "acknowledged records missing on the leader now, and lost"),
        ("ctrl c1 e2", "strong", "active controller c1 with controller epoch 2; zk1 is ZooKeeper server 1"),
    ),
    "Marks: logs": (
        ("7", "epoch2", "record of leader epoch 7 (last digit), below its replica's high watermark"),
        (glyphs.ABOVE_HW, "above2", "record above its replica's high watermark: not committed there yet"),
        (f"{glyphs.RULE}80", "quiet", "offset 80; on the timeline: the time shown"),
        (f"{glyphs.TICK}HW", "calm", "high watermark of the leader"),
        (f"{glyphs.TICK}fork", "alarm", "first offset at which replicas differ"),
        (f"{glyphs.LSO}LSO", "warning", "last stable offset of the leader, where open transactions hold it back"),
        (glyphs.OWN_HW, "warning", "the replica's own high watermark, where it differs from the leader's"),
        (glyphs.LOG_START, "quiet", "log start offset: older records were deleted"),
        (glyphs.HOLE, "quiet", "records removed by compaction"),
        (glyphs.CONTROL, "text", "control record: a transaction marker"),
        (f"{glyphs.OPENED} {glyphs.CLOSED}", "text", "first and last record of an open transaction; ends of a span"),
        (f"{glyphs.STALE}b1 e0", "diverged", "the replica's metadata is stale: leader b1, epoch 0; none: no leader"),
        (glyphs.FETCH_REQUEST, "calm", "fetch request of a follower, in flight or waiting on the leader"),
        (glyphs.FETCH_RESPONSE, "calm", "fetch response"),
        (f"{glyphs.MORE_LEFT} {glyphs.MORE_RIGHT}", "quiet", "more to the left or right; also: the log lies outside"),
    ),
    "Marks: events, timeline, autopsy": (
        (glyphs.MORE_BELOW, "warning", "fault injected; active fault; elsewhere: more lines below"),
        (glyphs.MORE_ABOVE, "calm", "fault ended; elsewhere: more lines above"),
        (glyphs.MORE_RIGHT, "text", "step, operation, or other action"),
        (glyphs.BULLET, "calm", "change of state; leader of the ZooKeeper ensemble; in an autopsy: has the records"),
        (glyphs.MINUS, "lost", "in an autopsy: the replica had the records and dropped them"),
        (glyphs.OK, "calm", "succeeded, passed, or prevents the loss"),
        (glyphs.VIOLATION, "alarm", "violation of an invariant, or a missed liveness deadline"),
        (glyphs.LOST, "lost", "acknowledged records went missing or are lost"),
        (f"{glyphs.PASSED} {glyphs.FUTURE}", "calm", "elapsed time, and time still to come"),
        (glyphs.MORE, "quiet", "text is cut off"),
    ),
}
"""Every mark that the TUI can draw, except lines of frames and of branches, by where it is drawn."""
LEGEND: Final = tuple(mark for marks in LEGENDS.values() for mark in marks)
WORDS: Final = ("LEO", "HW", "ISR", "epoch", "ELR", "lag")
"""Terms explained on the help page; all others are in the glossary."""
KEY, GLYPH, WORD = 11, 11, 9
"""Cells of keys, marks and terms before their descriptions."""

Line = tuple[tuple[str, str], ...]
"""Pieces of text with their roles."""


@dataclass(frozen=True, slots=True)
class ScreenHelp:
    """Help about one screen: what it shows, its terms and marks, and its keys."""

    title: str
    shows: str
    terms: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    glyphs: tuple[str, ...] = ()
    scope: str = ""
    """Name of the scope in :data:`tui.keybindings.scopes.SCOPES` whose own keys work in it."""


CLUSTER: Final = ScreenHelp(
    "Here: partitions and brokers",
    "A row is a partition, a column a broker, a cell the replica on that broker. The cursor selects the log shown "
    "below, the target of faults, and the details at the side.",
    ("leader", "ISR", "LEO", "HW"),
    (
        ("arrows", "select another partition or broker; also hjkl"),
        ("letters", "in the fault and operation sheets: act at once"),
        ("{filter}", "filter partitions; {heat}: heat map of the lag"),
        ("{next_pane} {maximise}", "choose a pane, maximise it; {jump}: jump labels"),
    ),
    (glyphs.LEADER, glyphs.IN_SYNC, "=", "-87 +3", glyphs.LAGGING, glyphs.DOWN, f"{glyphs.LOST}4", "e5"),
)
SHEET: Final = ScreenHelp(
    "Here: the fault sheet",
    "Every fault has a letter. Below: description of the marked fault, and its predicted impact right now.",
    ("fencing", "session timeout"),
    (("letter", "inject that fault on the target at once"),),
    scope="faults",
)
OPERATIONS: Final = ScreenHelp(
    "Here: the operation sheet",
    "Admin operations, each with a letter. Below: the request of the marked one, and what it may break.",
    ("unclean election", "preferred leader"),
    (("letter", "request that operation at once, for the partition and broker in the title"),),
    scope="operations",
)


def _acts(on: str) -> tuple[str, str]:
    """Return the keys of the main screen that act in a mode too."""
    return (
        "{fault} {heal} {undo} {what_if}",
        f"as on the main screen, {on}; also {{admin}} {{control}} {{ask}} {{redo}}",
    )


MODES: Final = {
    "clients": ScreenHelp(
        "Here: clients",
        "A row is a producer, a group or one of its members, with its counters: sent, acked, failed, read, lag.",
        ("acks", "lag", "generation", "rebalance", "idempotence"),
        (("{filter}", "filter by names"), _acts("on that client")),
        scope="clients",
    ),
    "log": ScreenHelp(
        "Here: a log",
        "A lane is a replica, a cell an offset. Below: the record at the cursor, leader epochs, fetches in flight.",
        ("LEO", "HW", "LSO", "epoch", "truncation"),
        (_acts("on that replica's broker"),),
        (glyphs.ABOVE_HW, glyphs.DIVERGED, glyphs.LOST),
        scope="microscope",
    ),
    "timeline": ScreenHelp(
        "Here: the timeline",
        "Events over time, in lanes by kind. Below: details of the selected mark.",
        (),
        (
            ("mouse", "drag the time line to move time, drag a lane to select a span"),
            _acts("at the selected time, which is gone to first"),
        ),
        scope="timeline",
    ),
    "playbooks": ScreenHelp(
        "Here: playbooks and sessions",
        "The running playbook, the library, and the recorded sessions.",
        (),
        (_acts("in the current session"),),
        scope="playbooks",
    ),
    "report": ScreenHelp(
        "Here: the interim report",
        "Results of the session so far, as a run prints them at its end.",
        (),
        (_acts("on the leader of the marked finding's partition"),),
        scope="report",
    ),
    "compare": ScreenHelp(
        "Here: comparison of two branches",
        "The current branch and another one at the same time: the logs of a partition, and the numbers of both.",
        ("diverged",),
        (_acts("in the current branch, on that partition's leader"),),
        scope="compare",
    ),
}
"""Help of each mode, by its name in :mod:`tui.keybindings.keymap`."""


def lines(help_entry: ScreenHelp, keys: Sequence[KeyBinding]) -> tuple[Line, ...]:
    """Return the whole page: current screen, keys, legend of marks, basic terms, keys of other screens."""
    rows: list[Line] = [((help_entry.title, "calm"),), ((help_entry.shows, "text"),)]
    rows += _own(help_entry.scope, keys) if help_entry.scope else []
    rows += [_line(with_keys(mark, keys), "key", with_keys(words, keys), KEY) for mark, words in help_entry.keys]
    rows += [_line(mark, role, meaning, GLYPH) for mark, role, meaning in LEGEND if mark in help_entry.glyphs]
    rows += [_line(word, "strong", term(word).meaning, max(WORD, len(word) + 1)) for word in help_entry.terms]
    for group, title in GROUPS.items():
        rows.append(_heading(title))
        rows += [_line(key.shown, "key", key.description, KEY) for key in keys if key.group == group]
    for title, marks in LEGENDS.items():
        rows += [_heading(title), *(_line(mark, role, meaning, GLYPH) for mark, role, meaning in marks)]
    rows.append(_heading("Terms (g: glossary)"))
    rows += [_line(word, "strong", term(word).meaning, WORD) for word in WORDS]
    for scope in scopes():
        if scope.name != help_entry.scope:
            rows += [_heading(scope.title), *_own(scope.name, keys)]
    return tuple(rows)


def of_page(name: str) -> ScreenHelp:
    """Return the help of a page over the main screen."""
    scope = scope_of(name)
    where = scope.title[0].lower() + scope.title[1:]
    return ScreenHelp(f"Here: {where}", "These keys work here, and those of the palette and of quitting.", scope=name)


def _own(name: str, keys: Sequence[KeyBinding]) -> list[Line]:
    """Return the own keys of a scope, without the letters of a sheet."""
    own = [key for key in keys_of(name, keys) if not key.action.startswith("pick('")]
    return [_line(key.shown, "key", key.description, KEY) for key in own]


def _heading(text: str) -> Line:
    return ((f"\n{text}", "calm"),)


def _line(mark: str, role: str, words: str, width: int) -> Line:
    return (mark, role), (" " * max(1, width - len(mark)) + words, "text")


# The glossary term under the pointer, or of the cell under the cursor.


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
split brain: split
transaction: transaction transactions
truncation: truncates truncated truncate truncation truncating
unclean election: unclean
under-replicated: under-replicated urp
zombie: zombie
"""
"""Term of the glossary → the words of it on the screen."""

TOKENS: Final = {
    token: word
    for word, _colon, tokens in (line.partition(": ") for line in _ON_SCREEN.strip().splitlines())
    for token in tokens.split()
}
_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]*", re.ASCII)
_OF_STATUS: Final = {"lagging": "ISR", "diverged": "diverged", "truncating": "truncation"}


def word_at(line: str, column: int) -> str:
    """Return the glossary term of the word at a column of a line, empty without one."""
    for found in _TOKEN.finditer(line):
        if found.start() <= column < found.end():
            return TOKENS.get(found[0].rstrip(".-").lower(), "")
    return ""


def word_of(partition: PartitionView, broker: int) -> str:
    """Return the term for the problem of a replica, empty without a problem."""
    status = next((each.status for each in partition.replicas if each.broker == broker), "")
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if partition.missing:
        return "missing"
    return "under-replicated" if partition.under_replicated else ""
