"""The event feed: rare events in plain words, the newest last, with equal things merged into one line.

A crash moves every partition that its broker led; twelve elections in one instant are one line that names the
partitions, not twelve.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from cluster_model.events import DATA_KINDS, Event
from tui import glyphs
from tui.viewmodel.words import clock, names, parameters, records, wrap

KEEP: Final = 500
"""Lines kept; a session on disk has them all."""
MERGE_US: Final = 1_000_000
"""Equal events within this much virtual time become one line ..."""
MERGE_BACK: Final = 8
"""... when it is among so many latest lines."""

INDENT: Final = 15
"""Cells that time and glyph take in front of the words."""

QUIET_KINDS: Final = frozenset({"became_follower", "became_leader"})
"""Rare events that say again, for each broker, what another line has said."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the feed."""

    at: str
    glyph: str
    role: str
    text: str


@dataclass(slots=True)
class _Entry:
    key: tuple[object, ...]
    at_us: int
    glyph: str
    role: str
    say: Callable[["_Entry"], str]
    event: Any
    partitions: list[str] = field(default_factory=list)
    times: int = 0
    records: int = 0

    def where(self) -> str:
        return names(self.partitions)


class Feed:
    """Takes trace events, keeps the latest lines."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque(maxlen=KEEP)
        self._notable = 0
        self.version = 0
        """Changes whenever a line did."""

    @property
    def notable(self) -> int:
        """How many events worth a line there have been."""
        return self._notable

    def take(self, events: Iterable[Event]) -> None:
        """Add what is worth a line."""
        for event in events:
            if event.kind in DATA_KINDS or event.kind in QUIET_KINDS or _own_action(event):
                continue
            self._notable += 1
            self.version += 1
            self._add(event)

    def lines(self, most: int, width: int = 1000) -> tuple[Line, ...]:
        """The latest lines, oldest first; words that take more than ``width`` cells go on below."""
        if most <= 0:
            return ()
        if not self._entries:
            return (Line("", "", "quiet", "nothing rare has happened yet"),)
        found: list[Line] = []
        for entry in reversed(self._entries):
            texts = wrap(entry.say(entry), max(20, width - INDENT)) or [""]
            lines = [Line(clock(entry.at_us), entry.glyph, entry.role, texts[0])]
            lines += [Line("", "", entry.role, text) for text in texts[1:]]
            if found and len(found) + len(lines) > most:
                break
            found = lines + found
        return tuple(found[:most])

    def _add(self, event: Any) -> None:
        glyph, role, key, say = _describe(event)
        entry = self._same((event.kind, *key), event.at_us)
        if entry is None:
            entry = _Entry((event.kind, *key), event.at_us, glyph, role, say, event)
            self._entries.append(entry)
        entry.event = event
        entry.times += 1
        entry.records += getattr(event, "count", 0)
        partition = getattr(event, "partition", "")
        if partition and partition not in entry.partitions:
            entry.partitions.append(partition)

    def _same(self, key: tuple[object, ...], at_us: int) -> _Entry | None:
        for back in range(1, min(MERGE_BACK, len(self._entries)) + 1):
            entry = self._entries[-back]
            if entry.key == key and at_us - entry.at_us <= MERGE_US:
                return entry
        return None


_Said = tuple[str, str, tuple[object, ...], Callable[[_Entry], str]]


def _own_action(event: Any) -> bool:
    """What an operator did has a toast and a fault's line already."""
    return bool(event.kind == "step_taken" and event.by == "operator")


def _describe(event: Any) -> _Said:
    """Glyph, role, what must be equal to merge, and the words."""
    teller = _TELLERS.get(event.kind)
    if teller is None:
        return glyphs.BULLET, "quiet", (event.at_us, id(event)), lambda entry: entry.event.kind.replace("_", " ")
    return teller(event)


def _node(event: Any) -> str:
    return f"b{event.broker}" if event.broker >= 0 else str(event.node)


def _isr(isr: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, isr))}}}"


def _node_down(event: Any) -> _Said:
    words = {
        "power_loss": "lost power, its page cache is gone",
        "disk_loss": "lost its disk and halted",
        "shutdown": "shut down cleanly",
    }
    ended, _colon, reason = event.detail.partition("exit: ")
    word = f"ended itself: {reason}" if reason and not ended else words.get(event.detail, "crashed")
    return glyphs.DOWN, "down", (event.node,), lambda e: f"{_node(e.event)} {word}"


def _node_up(event: Any) -> _Said:
    return glyphs.IN_SYNC, "calm", (event.node,), lambda e: f"{_node(e.event)} started"


def _node_paused(event: Any) -> _Said:
    return glyphs.PAUSED, "warning", (event.node,), lambda e: f"{_node(e.event)} stopped answering"


def _node_resumed(event: Any) -> _Said:
    return glyphs.IN_SYNC, "calm", (event.node,), lambda e: f"{_node(e.event)} goes on where it stopped"


def _registered(event: Any) -> _Said:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.broker,),
        lambda e: f"b{e.event.broker} registered, the controller counts on it",
    )


def _controller(event: Any) -> _Said:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.node,),
        lambda e: f"{_node(e.event)} is the controller, epoch {e.event.leader_epoch}",
    )


def _fenced(event: Any) -> _Said:
    return (
        glyphs.LAGGING,
        "warning",
        (event.broker,),
        lambda e: f"b{e.event.broker} fenced by the controller: {e.event.detail}",
    )


def _injected(event: Any) -> _Said:
    how = parameters(event.fault, event.detail)
    tail = f" ({how})" if how else ""
    return (
        glyphs.MORE_BELOW,
        "warning",
        (event.fault_id,),
        lambda e: f"fault #{e.event.fault_id} {e.event.fault.replace('_', ' ')} on {e.event.target}{tail}",
    )


def _healed(event: Any) -> _Said:
    return (
        glyphs.MORE_ABOVE,
        "calm",
        (event.fault_id,),
        lambda e: f"fault #{e.event.fault_id} {e.event.fault.replace('_', ' ')} on {e.event.target} ended",
    )


def _elected(event: Any) -> _Said:
    how = "" if event.clean else "UNCLEAN: "
    return (
        glyphs.LEADER,
        "strong" if event.clean else "alarm",
        (event.leader, event.clean, event.by),
        lambda e: (
            f"{how}b{e.event.leader} elected for {e.where()}, epoch {e.event.leader_epoch}"
            + (f" ({e.event.by})" if e.event.by else "")
        ),
    )


def _partition_created(event: Any) -> _Said:
    return glyphs.IN_SYNC, "calm", (event.leader,), lambda e: f"{e.where()} created, b{e.event.leader} leads"


def _partition_deleted(_event: Any) -> _Said:
    return glyphs.DOWN, "warning", (), lambda e: f"{e.where()} deleted with everything in it"


def _replica_deleted(event: Any) -> _Said:
    return glyphs.DOWN, "quiet", (event.broker, event.by), lambda e: f"b{e.event.broker} deletes its log of {e.where()}"


def _configured(event: Any) -> _Said:
    who = f"topic {event.target}" if event.kind == "topic_config_changed" else f"b{event.broker}"
    return glyphs.MORE_RIGHT, "quiet", (who, event.detail), lambda _e: f"{who} set to {event.detail or 'its defaults'}"


def _offline(event: Any) -> _Said:
    return (
        glyphs.DOWN,
        "alarm",
        (event.isr,),
        lambda e: f"no leader for {e.where()}: waits for one of {_isr(e.event.isr)}",
    )


def _isr_changed(event: Any) -> _Said:
    out = sorted(set(event.previous_isr) - set(event.isr))
    back = sorted(set(event.isr) - set(event.previous_isr))
    change = " ".join([f"{glyphs.MINUS}b{each}" for each in out] + [f"+b{each}" for each in back]) or "unchanged"
    return (
        glyphs.BULLET,
        "warning" if out else "calm",
        (tuple(out), tuple(back)),
        lambda e: f"ISR {change} on {e.where()}" + (f", now {_isr(e.event.isr)}" if len(e.partitions) == 1 else ""),
    )


def _elr(event: Any) -> _Said:
    return (
        glyphs.BULLET,
        "warning" if event.elr else "calm",
        (event.elr,),
        lambda e: f"ELR of {e.where()} is now {_isr(e.event.elr)}" if e.event.elr else f"ELR of {e.where()} is empty",
    )


def _recovery(event: Any) -> _Said:
    word = "recovers after an unclean election" if event.recovering else "has recovered"
    return (
        glyphs.TRUNCATING if event.recovering else glyphs.IN_SYNC,
        "warning" if event.recovering else "calm",
        (event.leader, event.recovering),
        lambda e: f"b{e.event.leader} {word} on {e.where()}",
    )


def _assignment(event: Any) -> _Said:
    def say(entry: _Entry) -> str:
        now = entry.event
        change = [f"+b{each}" for each in now.adding] + [f"{glyphs.MINUS}b{each}" for each in now.removing]
        under_way = f", under way: {' '.join(change)}" if change else ""
        return f"replicas of {entry.where()} are {_isr(now.replicas)}{under_way}"

    return glyphs.BULLET, "strong", (event.replicas, event.adding, event.removing), say


def _rolled(event: Any) -> _Said:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition),
        lambda e: f"b{e.event.broker} began a segment of {e.where()} at {e.event.log_offset} ({e.event.rule})",
    )


def _cleaned(event: Any) -> _Said:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition),
        lambda e: f"b{e.event.broker} compacted {e.where()} up to {e.event.end_offset}, {e.event.count} records gone",
    )


def _start_moved(event: Any) -> _Said:
    return (
        glyphs.MORE_RIGHT,
        "quiet",
        (event.broker, event.partition, event.by),
        lambda e: f"b{e.event.broker} deleted {e.where()} up to {e.event.end_offset} ({e.event.by})",
    )


def _recovered(event: Any) -> _Said:
    return (
        glyphs.IN_SYNC,
        "calm",
        (event.broker,),
        lambda e: f"b{e.event.broker} loaded {e.event.count} logs: {e.event.detail}",
    )


def _truncated(event: Any) -> _Said:
    gone = event.end_offset - event.log_offset
    if gone <= 0:
        return glyphs.TRUNCATING, "quiet", (event.broker, event.rule), lambda e: f"b{e.event.broker} had nothing to cut"
    return (
        glyphs.TRUNCATING,
        "truncating",
        (event.broker, event.partition, event.at_us),
        lambda e: (
            f"b{e.event.broker} cut {records(e.event.end_offset - e.event.log_offset)} of {e.where()}"
            f" back to {e.event.log_offset} ({e.event.rule})"
        ),
    )


def _failed(event: Any) -> _Said:
    return (
        glyphs.DOWN,
        "warning",
        (event.client, event.error),
        lambda e: f"{e.event.client}: {records(e.records)} failed on {e.where()}, {e.event.error}",
    )


def _unknown(event: Any) -> _Said:
    return (
        glyphs.LAGGING,
        "warning",
        (event.client, event.error),
        lambda e: f"{e.event.client}: fate of {records(e.records)} unknown on {e.where()}, {e.event.error}",
    )


def _reset(event: Any) -> _Said:
    return (
        glyphs.TRUNCATING,
        "warning",
        (event.group_id, event.partition),
        lambda e: f"{e.event.client} jumped from {e.event.end_offset} to {e.event.log_offset} on {e.where()}",
    )


def _whatever(entry: _Entry) -> str:
    """Why acknowledged records are gone, or at least how many and where."""
    cause: str = entry.event.cause
    return cause or f"{records(entry.records, 'acked')} on {entry.where()}"


def _missing(event: Any) -> _Said:
    return (
        glyphs.LOST,
        "alarm",
        (event.client, event.cause),
        lambda e: f"missing: {_whatever(e)}",
    )


def _lost(event: Any) -> _Said:
    return (
        glyphs.LOST,
        "lost",
        (event.client, event.cause),
        lambda e: f"lost: {_whatever(e)}",
    )


def _violated(event: Any) -> _Said:
    return (
        glyphs.LOST,
        "alarm",
        (event.invariant,),
        lambda e: f"broken rule {e.event.invariant} on {e.where()}: {e.event.detail}",
    )


def _step(event: Any) -> _Said:
    refused = f", refused: {event.error}" if event.error else ""
    said = f"{event.by}: {event.detail}{refused}"
    return glyphs.MORE_RIGHT, "warning" if refused else "quiet", (event.by, event.at_us), lambda _entry: said


def _checked(event: Any) -> _Said:
    glyph, role = (glyphs.OK, "calm") if event.ok else (glyphs.DOWN, "alarm")
    return (
        glyph,
        role,
        (event.rule,),
        lambda e: f"expected {e.event.rule}: {'yes' if e.event.ok else 'no'} {e.event.detail}",
    )


_TELLERS: Final[dict[str, Callable[[Any], _Said]]] = {
    "node_down": _node_down,
    "node_up": _node_up,
    "node_paused": _node_paused,
    "node_resumed": _node_resumed,
    "broker_registered": _registered,
    "broker_fenced": _fenced,
    "controller_changed": _controller,
    "fault_injected": _injected,
    "fault_healed": _healed,
    "leader_elected": _elected,
    "partition_offline": _offline,
    "partition_created": _partition_created,
    "partition_deleted": _partition_deleted,
    "replica_deleted": _replica_deleted,
    "topic_config_changed": _configured,
    "broker_config_changed": _configured,
    "isr_changed": _isr_changed,
    "truncated": _truncated,
    "elr_changed": _elr,
    "recovery_changed": _recovery,
    "assignment_changed": _assignment,
    "segment_rolled": _rolled,
    "log_cleaned": _cleaned,
    "log_start_moved": _start_moved,
    "recovery_finished": _recovered,
    "records_failed": _failed,
    "records_unknown": _unknown,
    "consumer_reset": _reset,
    "records_missing": _missing,
    "records_lost": _lost,
    "invariant_violated": _violated,
    "step_taken": _step,
    "expectation_checked": _checked,
}
