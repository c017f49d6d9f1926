"""The page of one finding: up to five pictures of what decided it, its records, and what would have saved them.

The pictures come from the chain of a finding, reduced to the links where the ownership of the records changed: who
promised them, who left, who took over, who dropped them. The promise and the end of the chain are always among them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.checker.root_cause import (
    ABANDONED,
    DUPLICATE,
    LEAKED,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    UNDONE,
    ChainEvent,
    Finding,
)
from cluster_model.util.quantities import acks_text, alternatives, clock, compact_duration, counted, few_names
from playbooks.model.record_contents import Peeked
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.partition_history import InvariantBreach, PartitionStatus
from tui.viewmodel.row import Row

MOST_FRAMES: Final = 5
NARROWEST: Final = 23
"""Cells of a frame, its border included."""
WIDEST: Final = 38
MOST_REPLICAS: Final = 6
"""Of more, those that the chain names and the first others are drawn."""

ENDS: Final = "settled"
_WEIGHTS: Final = {
    kind: weight
    for weight, kinds in enumerate(
        (
            ("truncated", "replica_deleted", "batch_damaged"),
            ("leader_elected", "became_leader"),
            ("records_acked", "appended"),
            ("isr_changed",),
            ("node_down",),
            ("fault_injected",),
        )
    )
    for kind in kinds
}
"""Kind of a link → how soon it is drawn, the lowest first; what is not here comes last."""
_DROPS: Final = frozenset({"truncated", "replica_deleted"})
_TITLES: Final = {
    "records_acked": "{broker} says: saved",
    "isr_changed": "{broker} leaves the ISR",
    "node_down": "{broker} goes down",
    "node_paused": "{broker} is paused",
    "node_resumed": "{broker} goes on",
    "fault_injected": "{broker} is struck",
    "broker_fenced": "{broker} is given up",
    "leader_elected": "{broker} becomes leader",
    "became_leader": "{broker} leads again",
    "truncated": "{broker} cuts its log",
    "replica_deleted": "{broker} drops its copy",
    "batch_damaged": "{broker}: damaged disk",
    "appended": "{broker} writes them",
    "produce_refused": "an answer says no",
    "produce_retried": "sent again",
    "offsets_committed": "offsets committed",
    "offsets_expired": "offsets expired",
    "consumer_reset": "the reader jumps",
    "records_abandoned": "the reader ends",
    "log_start_moved": "the log's start moves",
    ENDS: "how it ended",
}
_CAPTIONS: Final = {
    "isr_changed": "not waited for now",
    "node_down": "out of reach",
    "broker_fenced": "others may lead now",
    "became_leader": "without the records",
    "truncated": "dropped here",
    "replica_deleted": "dropped here",
    "batch_damaged": "nobody can read it",
}

UNWRITTEN: Final = "not written yet"

HAS: Final = "has"
GONE: Final = "gone"
NEVER: Final = "none"
LATER: Final = "soon"
"""Not yet; nobody knows when the replica got them. A frame has room for four letters."""
_WRITES: Final = frozenset({"records_acked", "appended"})
"""Kinds of links at which the records were written."""
_MARKS: Final = {
    HAS: (glyphs.BULLET, "calm"),
    GONE: (glyphs.MINUS, "lost"),
    NEVER: (glyphs.NOTHING, "quiet"),
    LATER: (glyphs.NOTHING, "quiet"),
}
"""What a replica has of the records → glyph and role."""


@dataclass(frozen=True, slots=True)
class CopyHolder:
    """A replica that had the records."""

    broker: int
    from_start: bool
    """Whether it had them as they were acknowledged; else it got them nobody knows when."""
    until_us: int = -1
    """When it dropped them; -1: it has them."""


@dataclass(frozen=True, slots=True)
class ReplicaLine:
    """One line of a picture."""

    broker: int
    glyph: str
    role: str
    state: str
    holds: str
    """:data:`HAS`, :data:`GONE`, :data:`NEVER`, :data:`LATER`; empty where that is not what matters."""
    struck: bool
    """Whether the event happened to it."""


@dataclass(frozen=True, slots=True)
class ChainFrame:
    """One picture."""

    at_us: int
    title: str
    replicas: tuple[ReplicaLine, ...]
    caption: str
    words: str
    """What happened, in full."""


def chosen(chain: Sequence[ChainEvent], most: int = MOST_FRAMES) -> tuple[ChainEvent, ...]:
    """At most so many links of a chain (2 or more), in its order: its ends, and what changed hands in between."""
    if len(chain) <= most:
        return tuple(chain)
    inner = range(1, len(chain) - 1)
    ranked = sorted(inner, key=lambda at: (_WEIGHTS.get(chain[at].event_kind, len(_WEIGHTS)), -at))
    kept = sorted({0, len(chain) - 1, *ranked[: most - 2]})
    return tuple(chain[at] for at in kept)


def said(words: str, kind: str) -> str:
    """Words of a finding as they are true now: of what is missing so far the session has not ended."""
    return words.replace("as the session ended", "so far") if kind == MISSING else words


def frame(
    finding: Finding,
    chain: Sequence[ChainEvent],
    link: ChainEvent,
    standing: PartitionStatus,
    replicas: Sequence[int],
    copies: Sequence[CopyHolder],
) -> ChainFrame:
    """The picture of a link of ``chain``. ``replicas`` are those of the partition."""
    at = next(place for place, each in enumerate(chain) if each is link)
    owned = {each.broker: each for each in copies}
    draws = finding.kind in (LOST, MISSING)
    written = next((place for place, each in enumerate(chain) if each.event_kind in _WRITES), 0)
    since = chain[written : at + 1]
    """What happened from the write on."""
    lines = tuple(
        _replica(broker, link, standing, _held(owned.get(broker), since) if draws else "")
        for broker in _shown(replicas, (link.broker, *standing.isr, *owned))
    )
    caption = _caption(finding, link, standing, last=at == len(chain) - 1)
    if draws and not since and not caption:
        caption = UNWRITTEN
    return ChainFrame(link.at_us, _title(finding, link, standing), lines, caption, said(link.words, finding.kind))


def _shown(replicas: Sequence[int], named: Sequence[int]) -> list[int]:
    known = [each for each in dict.fromkeys((*replicas, *named)) if each in replicas or (each >= 0 and not replicas)]
    if len(known) <= MOST_REPLICAS:
        return known
    wanted = [each for each in dict.fromkeys(named) if each in known]
    wanted += [each for each in known if each not in wanted]
    return [each for each in known if each in wanted[:MOST_REPLICAS]]


def _replica(broker: int, link: ChainEvent, standing: PartitionStatus, holds: str) -> ReplicaLine:
    struck = broker == link.broker
    if broker in standing.down:
        glyph, role, state = glyphs.DOWN, "down", "down"
    elif link.event_kind == "truncated" and struck:
        glyph, role, state = glyphs.TRUNCATING, "truncating", "cuts"
    elif broker == standing.leader:
        glyph, role, state = glyphs.LEADER, "leader", "leads"
    elif broker in standing.paused:
        glyph, role, state = glyphs.PAUSED, "warning", "paused"
    elif broker in standing.isr:
        glyph, role, state = glyphs.IN_SYNC, "in_sync", "in sync"
    else:
        glyph, role, state = glyphs.LAGGING, "lagging", "out"
    return ReplicaLine(broker, glyph, role, state, holds, struck)


def _held(copy: CopyHolder | None, chain: Sequence[ChainEvent]) -> str:
    """What of the records a replica has right after the last of these links, the first of which wrote them."""
    if not chain:
        return ""
    if copy is None:
        return NEVER
    if len(chain) == 1 and not copy.from_start:
        return LATER
    if copy.until_us < 0 or copy.until_us > chain[-1].at_us:
        return HAS
    by_then = copy.until_us < chain[-1].at_us
    told = any(
        (each.broker, each.at_us) == (copy.broker, copy.until_us) and each.event_kind in _DROPS for each in chain
    )
    return GONE if by_then or told or chain[-1].event_kind == ENDS else HAS


def _title(finding: Finding, link: ChainEvent, standing: PartitionStatus) -> str:
    if link.event_kind == ENDS and finding.kind == MISSING:
        return "as it stands"
    broker = f"b{link.broker}" if link.broker >= 0 else "somebody"
    if link.event_kind == "truncated" and link.broker in standing.down:
        return f"{broker} loses its log"
    return _TITLES.get(link.event_kind, link.event_kind.replace("_", " ")).format(broker=broker)


def _caption(finding: Finding, link: ChainEvent, standing: PartitionStatus, *, last: bool) -> str:
    kind = link.event_kind
    if kind == "leader_elected":
        return "a clean election" if standing.clean else "an unclean election"
    if kind == "records_acked":
        levels = ", ".join(dict.fromkeys(acks_text(place.acks) for place in finding.places))
        return f"acks={levels}"
    if last and finding.kind == LOST:
        return "no copy is left" if kind != ENDS else "not with the leader"
    if last and finding.kind == MISSING:
        return "not with the leader"
    return _CAPTIONS.get(kind, "")


# -- drawing ---------------------------------------------------------------------------------------------------------


def room_for(frames: int, width: int) -> tuple[int, int]:
    """(how many frames stand side by side, how wide each is) in so many cells."""
    beside = max(1, min(frames, width // NARROWEST))
    return beside, min(WIDEST, max(width // beside, 1)) if width >= NARROWEST else max(width, 4)


def window(frames: int, beside: int, at: int) -> int:
    """The first frame that is shown, so that frame ``at`` is among them."""
    return min(max(0, at - beside // 2), max(0, frames - beside))


def strip(frames: Sequence[ChainFrame], at: int, width: int) -> tuple[Row, ...]:
    """As many frames side by side as fit in ``width`` cells, the one at ``at`` among them and marked."""
    if not frames:
        return ()
    beside, size = room_for(len(frames), width)
    first = window(len(frames), beside, at)
    height = max(len(each.replicas) for each in frames)
    boxes = [box(frames[place], place + 1, size, height, marked=place == at) for place in range(first, first + beside)]
    return tuple(Row(tuple(piece for line in lines for piece in line)) for lines in zip(*boxes, strict=True))


def box(each: ChainFrame, number: int, width: int, replicas: int, *, marked: bool) -> list[tuple[tuple[str, str], ...]]:
    """One frame with its border: lines of pieces, ``width`` cells each, with room for so many ``replicas``."""
    edge = "key" if marked else "quiet"
    inner = width - 4
    lines = [
        (_edge(glyphs.CORNERS[0], f" {number}  {clock(each.at_us)} ", glyphs.CORNERS[1], width, edge),),
        _boxed([(each.title, "strong" if marked else "text")], inner, edge),
    ]
    lines += [_boxed(_pieces(replica, inner), inner, edge) for replica in each.replicas]
    lines += [_boxed([], inner, edge)] * (replicas - len(each.replicas))
    caption = f" {each.caption} " if each.caption else ""
    lines.append((_edge(glyphs.CORNERS[2], caption, glyphs.CORNERS[3], width, edge),))
    return lines


def _pieces(replica: ReplicaLine, inner: int) -> list[tuple[str, str]]:
    name = f"b{replica.broker}".ljust(3)
    state = replica.state.ljust(8)
    pieces = [(f"{replica.glyph} ", replica.role), (name, "strong" if replica.struck else "text"), (state, "text")]
    if replica.holds:
        glyph, role = _MARKS[replica.holds]
        many = 4 if inner >= 24 else 1
        pieces += [(glyph * many, role), (f" {replica.holds}", "text" if replica.holds != NEVER else "quiet")]
    return pieces


def _boxed(pieces: Sequence[tuple[str, str]], inner: int, edge: str) -> tuple[tuple[str, str], ...]:
    """Between two edges, cut or filled up to ``inner`` cells."""
    left = max(0, inner)
    fitted = []
    for text, role in pieces:
        fitted.append((text[:left], role))
        left -= len(fitted[-1][0])
    return ((f"{glyphs.SIDE} ", edge), *fitted, (" " * left, "text"), (f" {glyphs.SIDE}", edge))


def _edge(start: str, words: str, end: str, width: int, role: str) -> tuple[str, str]:
    words = words[: max(0, width - 3)]
    return f"{start}{glyphs.EDGE}{words}".ljust(width - 1, glyphs.EDGE) + end, role


# The page of one finding: a plain sentence, the pictures, the records, who saw them, the broken rule, the remedies.


LABEL: Final = 14
"""Cells in front of a section's words."""
MOST_PLACES: Final = 3
"""Ranges of records that are told one by one."""
LONGEST_VALUE: Final = 60
MARKED: Final = (f"{glyphs.MARKER} ", "key")
"""In front of a marked line."""

_HEADS: Final = {
    LOST: ("{count} acknowledged {records} of {where} {are} gone: no leader has {them}", "alarm"),
    MISSING: (
        "{count} acknowledged {records} of {where} {are} missing so far, and not lost yet: another replica has {them}",
        "warning",
    ),
    DUPLICATE: ("{count} {records} of {where} {stand} in the log twice", "warning"),
    REORDERED: ("{count} {records} of {where} {stand} behind later ones of the same producer", "warning"),
    SKIPPED: ("{count} {records} of {where} {were} passed over by {group}", "warning"),
    ABANDONED: ("{count} {records} of {where} {were} handed to {group} and never processed", "warning"),
    UNDONE: ("{count} acknowledged {records} of {where} {were} aborted with a transaction not {their} own", "alarm"),
    LEAKED: ("{count} aborted {records} of {where} {are} committed in the log", "alarm"),
}
_RULES: Final = {
    LOST: "what a producer was told is saved stays with whoever leads, as long as a replica has it",
    MISSING: "what a producer was told is saved stays with whoever leads, as long as a replica has it",
    DUPLICATE: "a record is written once, however often it is sent; Kafka promises that of idempotent producers",
    REORDERED: "a producer's records stand in the order in which it sent them; with several requests in flight Kafka"
    " promises that of idempotent producers",
    SKIPPED: "a group is handed every record from where it began",
    ABANDONED: "what a group commits as done has been processed",
    UNDONE: "a transaction that was committed stays so",
    LEAKED: "what was aborted is never read as committed",
}


@dataclass(frozen=True, slots=True)
class FindingPage:
    """All that the page tells of a finding, as of one moment."""

    number: int
    """From 1, of ``total``."""
    total: int
    finding: Finding
    now_us: int
    frames: tuple[ChainFrame, ...]
    partition: str
    """The one that is drawn."""
    peeked: tuple[Peeked, ...]
    """The first records of the first places."""
    readers: tuple[str, ...]
    """Groups that were handed these offsets."""
    broken: tuple[InvariantBreach, ...]


def title(case: FindingPage) -> str:
    """Words for the border."""
    return (
        f"Autopsy {glyphs.NOTHING} finding {case.number} of {case.total} {glyphs.NOTHING} {case.finding.kind}"
        f" {glyphs.NOTHING} as of {clock(case.now_us)}"
    )


def headline(finding: Finding) -> tuple[str, str]:
    """One plain sentence, and its role."""
    words, role = _HEADS[finding.kind]
    one = finding.count == 1
    told = words.format(
        count=f"{finding.count:,}",
        records="record" if one else "records",
        where=few_names(finding.partitions, 2),
        are="is" if one else "are",
        were="was" if one else "were",
        stand="stands" if one else "stand",
        them="it" if one else "them",
        their="its" if one else "their",
        group=f"group {finding.group_id}" if finding.group_id else "a group",
    )
    return told, role


def build(
    case: FindingPage, at: int, width: int, saved: Sequence[tuple[str, str]], marked: int = -1
) -> tuple[Row, ...]:  # fmt: skip
    """The whole page over ``width`` cells, frame ``at`` marked; ``saved`` are lines on what would have saved it.

    ``marked`` is the one of them that is marked, -1 for none.
    """
    width = max(20, width)
    finding = case.finding
    head, role = headline(finding)
    rows = [Row(((line, role),)) for line in wrap(head, width)]
    rows += [Row(((line, "text"),)) for line in wrap(said(finding.sentence, finding.kind), width)]
    rows.append(_BLANK)
    rows += strip(case.frames, at, width)
    if case.frames:
        shown = case.frames[at]
        rows += _section(f"{at + 1} of {len(case.frames)}", [f"{clock(shown.at_us)} {shown.words}"], width)
        rows += [Row(((line, "quiet"),)) for line in _key(case, width)]
    rows.append(_BLANK)
    rows += _section("The records" if finding.count > 1 else "The record", _records(case), width)
    rows += _section("Who saw them" if finding.count > 1 else "Who saw it", [_seen(case)], width)
    rows += _section("Broken rule", _rule(case), width)
    rows.append(_BLANK)
    rows.append(Row((("What would have saved it", "strong"),)))
    for number, (text, line_role) in enumerate(saved):
        mark = MARKED if number == marked else ("  ", "text")
        rows += [Row((mark, (line, line_role))) for line in wrap(text, width - 2)]
    rows.append(_BLANK)
    rows.append(Row((("All that led there", "strong"),)))
    for link in finding.chain:
        lines = wrap(said(link.words, finding.kind), width - LABEL)
        rows += [
            Row((((clock(link.at_us) if not place else "").ljust(LABEL), "quiet"), (line, "text")))
            for place, line in enumerate(lines)
        ]
    return tuple(rows)


def place_of_mark(rows: Sequence[Row]) -> int:
    """The first row that is marked, -1 where none is."""
    return next((number for number, row in enumerate(rows) if row.pieces and row.pieces[0] == MARKED), -1)


def frames_on(row: Row) -> list[tuple[int, int]]:
    """Cell and number of each frame whose upper border is on the row."""
    found, at = [], 0
    for text, _role in row.pieces:
        number = _FRAME.match(text)
        if number is not None:
            found.append((at, int(number[1])))
        at += len(text)
    return found


_BLANK: Final = Row(())
_FRAME: Final = re.compile(rf"{glyphs.CORNERS[0]}\D* (\d+)  ")


def _section(label: str, texts: Sequence[str], width: int) -> list[Row]:
    rows: list[Row] = []
    for text in texts:
        for line in wrap(text, width - LABEL):
            rows.append(Row(((("" if rows else label).ljust(LABEL), "key"), (line, "text"))))
    return rows


def _key(case: FindingPage, width: int) -> list[str]:
    """What the marks in the pictures mean."""
    if case.finding.kind not in (LOST, MISSING):
        return []
    text = f"{glyphs.BULLET} has the records {glyphs.NOTHING} {glyphs.MINUS} had them, dropped them"
    return wrap(f"{case.partition}: {text}", width)


def _records(case: FindingPage) -> list[str]:
    finding = case.finding
    texts = []
    peeked = {(each.record.partition, each.record.offset, each.record.epoch): each for each in case.peeked}
    for place in finding.places[:MOST_PLACES]:
        span = ""
        if place.log_offset >= 0:
            end = place.log_offset + place.count - 1
            span = f"offset {place.log_offset}" if place.count == 1 else f"offsets {place.log_offset} to {end}"
        epoch = f", epoch {place.leader_epoch}" if place.leader_epoch >= 0 else ""
        whose = f" of {place.client}" if place.client else ""
        where = f"{place.partition} {span}{epoch}" if span else f"{place.partition}, at no offset"
        texts.append(f"{where}: {counted(place.count, 'record')}{whose}, acks={acks_text(place.acks)}")
        found = peeked.get((place.partition, place.log_offset, place.leader_epoch))
        if found is not None:
            texts.append(_contents(found, several=place.count > 1))
    rest = len(finding.places) - MOST_PLACES
    if rest > 0:
        texts.append(f"and {counted(rest, 'more range')}")
    return texts


def _contents(peeked: Peeked, *, several: bool) -> str:
    record = peeked.record
    told = [f"written by b{record.broker} at {clock(record.appended_us)}"]
    told.append("acknowledged" if record.acked else "not acknowledged")
    told.append(f"key {record.key}" if record.key is not None else "no key")
    if peeked.value is not None:
        value = peeked.value
        cut = value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"
        told.append(f"value {cut}")
    return f"{'the first: ' if several else ''}{', '.join(told)}"


def _seen(case: FindingPage) -> str:
    finding = case.finding
    if finding.kind in (SKIPPED, ABANDONED):
        handed = "was handed them" if finding.kind == ABANDONED else "was handed what stood before and behind them"
        return f"group {finding.group_id} {handed}"
    committed = finding.committed
    if finding.kind in (LOST, MISSING) and not committed:
        return "nobody could: they were never below the high watermark"
    groups = f"group{'s' if len(case.readers) > 1 else ''} {few_names(case.readers)}" if case.readers else "no group"
    if finding.kind not in (LOST, MISSING):
        return f"{groups} so far"
    could = "all of them" if committed == finding.count else f"{committed:,} of them"
    handed = f"{groups} {'were' if len(case.readers) > 1 else 'was'} handed offsets of theirs"
    return f"{could} could be read, below the high watermark; {handed}"


def _rule(case: FindingPage) -> list[str]:
    finding = case.finding
    texts = [_RULES[finding.kind]]
    if finding.kind in (LOST, MISSING):
        if all(place.acks == 0 for place in finding.places):
            texts.append("with acks=0 nobody said so: the producer counted them as sent")
        elif all(place.acks == 1 for place in finding.places):
            texts.append("with acks=1 that is the word of one broker alone, and Kafka promises no more")
    texts.append(f"cause: {finding.cause}")
    texts += [f"{clock(each.at_us)} {each.name} ({each.partition}): {each.detail}" for each in case.broken]
    return texts


# What would have saved records, in lines: the answer of ``floodmark why --json`` for one finding.


_GLYPHS: Final = {
    "saves": (glyphs.OK, "calm"),
    "helps": (glyphs.LAGGING, "warning"),
    "inconclusive": (glyphs.STALE, "quiet"),
    "would not have helped": (glyphs.DOWN, "quiet"),
    "refused": (glyphs.NOTHING, "quiet"),
}
HEAD_WORDS: Final = (
    "the same seed and faults once more, one thing set otherwise; {autopsy_next_change} marks one,"
    " {autopsy_take} runs it as a branch to compare"
)
MOST_TOLD: Final = 3
"""Changes that save, told in short."""
CHANCE_US: Final = 50_000
"""A difference of times below this is chance."""


@dataclass(frozen=True, slots=True)
class RemedyChoice:
    """A change that can be run as a branch."""

    name: str
    settings: Mapping[str, str]
    """As ``--set`` takes them."""
    line: int
    """Which one of :func:`lines` tells of it, from 0."""


def choices(found: Mapping[str, Any]) -> tuple[RemedyChoice, ...]:
    """Those among the remedies: all but what was refused."""
    return tuple(
        RemedyChoice(each["change"], dict(one.split("=", 1) for one in each["set"]), line)
        for line, each in enumerate(found["remedies"], 1)
        if each["set"] and each["verdict"] != "refused"
    )


def in_short(found: Mapping[str, Any] | None) -> str:
    """What saves, in half a line, for somebody who goes on to try it; None: it was not asked for."""
    if found is None:
        return ""
    saving = [each for each in found["remedies"] if each["verdict"] == "saves"]
    if not saving:
        return "no change that was tried saves them"
    return f"what saves them: {'; '.join(each['change'] for each in saving[:MOST_TOLD])}"


def lines(found: Mapping[str, Any], head: str = HEAD_WORDS) -> tuple[tuple[str, str], ...]:
    """(text, role) of each line: ``head``, every change with its price, then the point of no return."""
    remedies = found["remedies"]
    told = [(head, "quiet")] if remedies else []
    told += [_remedy(each) for each in remedies]
    if not any(each["verdict"] in ("saves", "helps") for each in remedies):
        told.append(("none of the changes tried would have saved it", "warning"))
    told += [(text, "text") for text in _no_return(found.get("no_return"))]
    return tuple(told)


def _remedy(remedy: Mapping[str, Any]) -> tuple[str, str]:
    verdict = remedy["verdict"]
    glyph, role = _GLYPHS[verdict]
    because = f" ({remedy['because']})" if remedy["because"] else ""
    name = f"{glyph} {remedy['change']}{because}"
    if verdict in ("refused", "inconclusive"):
        return f"{name}: {verdict}{', ' if remedy['note'] else ''}{remedy['note']}", role
    price = [f"{remedy['after']} of {remedy['before']} left"]
    price.append(f"rejected {remedy['rejected']:+d}" if remedy["rejected"] else "rejected 0")
    price.append(f"unavailable {_span(remedy['unavailable_us'])}")
    if remedy["seeds"] > 1:
        price.append(f"in {remedy['seeds_kept']} of {remedy['seeds']} seeds")
    return f"{name}: {', '.join(price)}", role if verdict in ("saves", "helps") else "text"


def _span(us: int) -> str:
    if abs(us) < CHANCE_US:
        return "0"
    return f"{'+' if us > 0 else glyphs.MINUS}{compact_duration(abs(us))}"


def _no_return(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return []
    kind = found["kind"]
    actions = alternatives(each["words"] for each in found["actions"])
    if kind == "unplaced":
        return ["point of no return: the acknowledgement itself, for no broker ever had them"]
    if kind == "acknowledgement":
        return [f"point of no return: the acknowledgement itself, at {clock(found['at_us'])}"]
    if kind == "open":
        return [f"point of no return: not yet; {actions} still would keep it"]
    texts = [f"point of no return: {clock(found['at_us'])}, {found['words']}"]
    if actions:
        texts.append(f"until then {actions} would have kept it")
    clean = found.get("without_unclean")
    if clean is not None and clean["kind"] == "event":
        kept = alternatives(each["words"] for each in clean["actions"])
        until = f"; until then {kept} would have kept it" if kept else ""
        texts.append(f"without an unclean election: {clock(clean['at_us'])}, {clean['words']}{until}")
    if found["acked_us"] >= 0:
        texts.append(f"the first of them was acknowledged at {clock(found['acked_us'])}")
    return texts
