"""Autopsy page of one finding: up to five frames of its event chain, its records, and what would have prevented it.

The frames are the links of the chain that decide which replicas hold the records: acknowledgement, ISR changes,
elections, truncations. The first and the last link of the chain always have a frame.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.checker.root_cause import (
    ABANDONED,
    ABORTED_COMMITTED,
    ACKED_ABORTED,
    DUPLICATE,
    LOST,
    MISSING,
    REORDERED,
    SKIPPED,
    ChainEvent,
    Finding,
)
from cluster_model.spec import producer_text
from cluster_model.util.quantities import acks_text, alternatives, clock, compact_duration, counted, few_names
from playbooks.model.record_contents import PeekedRecord
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.partition_history import PartitionStatus, Violation
from tui.viewmodel.row import Row

MOST_FRAMES: Final = 5
NARROWEST: Final = 23
"""Minimum cells of a frame, border included."""
WIDEST: Final = 38
MOST_REPLICAS: Final = 6
"""Maximum number of replicas drawn: those in the chain, then the first others."""

ENDS: Final = "settled"
_WEIGHTS: Final = {
    kind: weight
    for weight, kinds in enumerate(
        (
            ("truncated", "replica_deleted", "batch_corrupted"),
            ("leader_elected", "became_leader"),
            ("records_acked", "appended"),
            ("isr_changed",),
            ("node_down",),
            ("fault_injected",),
        )
    )
    for kind in kinds
}
"""Kind of a link → its rank when frames are chosen, the lowest first; all other kinds come last."""
_DROPS: Final = frozenset({"truncated", "replica_deleted"})
_TITLES: Final = {
    "records_acked": "{broker} acks",
    "isr_changed": "{broker} leaves the ISR",
    "node_down": "{broker} goes down",
    "node_paused": "{broker} is paused",
    "node_resumed": "{broker} resumes",
    "fault_injected": "{broker}: fault",
    "broker_fenced": "{broker} is fenced",
    "leader_elected": "{broker} becomes leader",
    "became_leader": "{broker} leads again",
    "truncated": "{broker} truncates",
    "replica_deleted": "{broker} deletes its log",
    "batch_corrupted": "{broker}: bad batch",
    "appended": "{broker} appends them",
    "produce_refused": "produce rejected",
    "produce_retried": "produce retried",
    "offsets_committed": "offsets committed",
    "offsets_expired": "offsets expired",
    "consumer_reset": "offset reset",
    "records_abandoned": "consumer stops",
    "log_start_moved": "retention deletes",
    ENDS: "end of session",
}
_CAPTIONS: Final = {
    "isr_changed": "removed from ISR",
    "node_down": "unavailable",
    "broker_fenced": "leaders are moved",
    "became_leader": "without the records",
    "truncated": "records dropped",
    "replica_deleted": "records dropped",
    "batch_corrupted": "unreadable",
}

UNWRITTEN: Final = "not yet written"

HAS: Final = "has"
GONE: Final = "gone"
NEVER: Final = "none"
LATER: Final = "soon"
"""Not yet, or unknown since when. A frame has room for four letters."""
_WRITES: Final = frozenset({"records_acked", "appended"})
"""Kinds of links that wrote the records."""
_MARKS: Final = {
    HAS: (glyphs.BULLET, "calm"),
    GONE: (glyphs.MINUS, "lost"),
    NEVER: (glyphs.NOTHING, "quiet"),
    LATER: (glyphs.NOTHING, "quiet"),
}
"""Whether a replica has the records → glyph and role."""


@dataclass(frozen=True, slots=True)
class CopyHolder:
    """Replica that has or had the records."""

    broker: int
    from_start: bool
    """Whether it had them when they were acknowledged; else it is unknown since when it has them."""
    until_us: int = -1
    """When it dropped them, -1 if it still has them."""


@dataclass(frozen=True, slots=True)
class ReplicaLine:
    """Line of a frame: the status of one replica, and whether it has the records."""

    broker: int
    glyph: str
    role: str
    state: str
    holds: str
    """:data:`HAS`, :data:`GONE`, :data:`NEVER` or :data:`LATER`; empty if the finding is not about copies."""
    affected: bool
    """Whether the event affected this replica."""


@dataclass(frozen=True, slots=True)
class ChainFrame:
    """Frame of the event chain: the replicas of the partition right after one link."""

    at_us: int
    title: str
    replicas: tuple[ReplicaLine, ...]
    caption: str
    text: str
    """Full text of the event."""


def chosen(chain: Sequence[ChainEvent], limit: int = MOST_FRAMES) -> tuple[ChainEvent, ...]:
    """Return at most ``limit`` (2 or more) links of a chain, in order: both ends and the highest ranked between."""
    if len(chain) <= limit:
        return tuple(chain)
    inner = range(1, len(chain) - 1)
    ranked = sorted(inner, key=lambda at: (_WEIGHTS.get(chain[at].event_kind, len(_WEIGHTS)), -at))
    kept = sorted({0, len(chain) - 1, *ranked[: limit - 2]})
    return tuple(chain[at] for at in kept)


def in_present_tense(words: str, kind: str) -> str:
    """Return a text of a finding in the present tense if its records are missing so far: the session has not ended."""
    return words.replace("as the session ended", "so far") if kind == MISSING else words


def frame(
    finding: Finding,
    chain: Sequence[ChainEvent],
    link: ChainEvent,
    status: PartitionStatus,
    replicas: Sequence[int],
    copies: Sequence[CopyHolder],
) -> ChainFrame:
    """Return the frame of a link of ``chain``; ``replicas`` are those of the partition."""
    at = next(index for index, each in enumerate(chain) if each is link)
    owned = {each.broker: each for each in copies}
    draws = finding.kind in (LOST, MISSING)
    written = next((index for index, each in enumerate(chain) if each.event_kind in _WRITES), 0)
    since = chain[written : at + 1]
    """Links from the write on."""
    lines = tuple(
        _replica(broker, link, status, _held(owned.get(broker), since) if draws else "")
        for broker in _shown(replicas, (link.broker, *status.isr, *owned))
    )
    caption = _caption(finding, link, status, last=at == len(chain) - 1)
    if draws and not since and not caption:
        caption = UNWRITTEN
    return ChainFrame(
        link.at_us, _title(finding, link, status), lines, caption, in_present_tense(link.text, finding.kind)
    )


def _shown(replicas: Sequence[int], named: Sequence[int]) -> list[int]:
    brokers = [each for each in dict.fromkeys((*replicas, *named)) if each in replicas or (each >= 0 and not replicas)]
    if len(brokers) <= MOST_REPLICAS:
        return brokers
    wanted = [each for each in dict.fromkeys(named) if each in brokers]
    wanted += [each for each in brokers if each not in wanted]
    return [each for each in brokers if each in wanted[:MOST_REPLICAS]]


def _replica(broker: int, link: ChainEvent, status: PartitionStatus, holds: str) -> ReplicaLine:
    struck = broker == link.broker
    if broker in status.down:
        glyph, role, state = glyphs.DOWN, "down", "down"
    elif link.event_kind == "truncated" and struck:
        glyph, role, state = glyphs.TRUNCATING, "truncating", "trunc."
    elif broker == status.leader:
        glyph, role, state = glyphs.LEADER, "leader", "leader"
    elif broker in status.paused:
        glyph, role, state = glyphs.PAUSED, "warning", "paused"
    elif broker in status.isr:
        glyph, role, state = glyphs.IN_SYNC, "in_sync", "in ISR"
    else:
        glyph, role, state = glyphs.LAGGING, "lagging", "out"
    return ReplicaLine(broker, glyph, role, state, holds, struck)


def _held(copy: CopyHolder | None, chain: Sequence[ChainEvent]) -> str:
    """Return whether a replica has the records right after the last of these links; the first one wrote them."""
    if not chain:
        return ""
    if copy is None:
        return NEVER
    if len(chain) == 1 and not copy.from_start:
        return LATER
    if copy.until_us < 0 or copy.until_us > chain[-1].at_us:
        return HAS
    by_then = copy.until_us < chain[-1].at_us
    dropped = any(
        (each.broker, each.at_us) == (copy.broker, copy.until_us) and each.event_kind in _DROPS for each in chain
    )
    return GONE if by_then or dropped or chain[-1].event_kind == ENDS else HAS


def _title(finding: Finding, link: ChainEvent, status: PartitionStatus) -> str:
    if link.event_kind == ENDS and finding.kind == MISSING:
        return "current state"
    broker = f"b{link.broker}" if link.broker >= 0 else "a node"
    if link.event_kind == "truncated" and link.broker in status.down:
        return f"{broker} loses its log"
    return _TITLES.get(link.event_kind, link.event_kind.replace("_", " ")).format(broker=broker)


def _caption(finding: Finding, link: ChainEvent, status: PartitionStatus, *, last: bool) -> str:
    kind = link.event_kind
    if kind == "leader_elected":
        return "clean election" if status.clean else "unclean election"
    if kind == "records_acked":
        levels = ", ".join(dict.fromkeys(acks_text(place.acks) for place in finding.blocks))
        return f"acks={levels}"
    if last and finding.kind == LOST:
        return "no copy left" if kind != ENDS else "not on the leader"
    if last and finding.kind == MISSING:
        return "not on the leader"
    return _CAPTIONS.get(kind, "")


# -- drawing ---------------------------------------------------------------------------------------------------------


def room_for(frames: int, width: int) -> tuple[int, int]:
    """Return (number of frames side by side, cells of each) for ``width`` cells."""
    beside = max(1, min(frames, width // NARROWEST))
    return beside, min(WIDEST, max(width // beside, 1)) if width >= NARROWEST else max(width, 4)


def window(frames: int, shown: int, at: int) -> int:
    """Return the first frame to show, so that frame ``at`` is visible."""
    return min(max(0, at - shown // 2), max(0, frames - shown))


def strip(frames: Sequence[ChainFrame], at: int, width: int) -> tuple[Row, ...]:
    """Return as many frames side by side as fit in ``width`` cells, including frame ``at``, which is marked."""
    if not frames:
        return ()
    beside, size = room_for(len(frames), width)
    first = window(len(frames), beside, at)
    height = max(len(each.replicas) for each in frames)
    boxes = [box(frames[index], index + 1, size, height, marked=index == at) for index in range(first, first + beside)]
    return tuple(Row(tuple(piece for line in lines for piece in line)) for lines in zip(*boxes, strict=True))


def box(each: ChainFrame, number: int, width: int, replicas: int, *, marked: bool) -> list[tuple[tuple[str, str], ...]]:
    """Return one frame with its border as lines of pieces, ``width`` cells each, with room for ``replicas`` lines."""
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
    pieces = [(f"{replica.glyph} ", replica.role), (name, "strong" if replica.affected else "text"), (state, "text")]
    if replica.holds:
        glyph, role = _MARKS[replica.holds]
        many = 4 if inner >= 24 else 1
        pieces += [(glyph * many, role), (f" {replica.holds}", "text" if replica.holds != NEVER else "quiet")]
    return pieces


def _boxed(pieces: Sequence[tuple[str, str]], inner: int, edge: str) -> tuple[tuple[str, str], ...]:
    """Return pieces between two edges, cut or padded to ``inner`` cells."""
    left = max(0, inner)
    fitted = []
    for text, role in pieces:
        fitted.append((text[:left], role))
        left -= len(fitted[-1][0])
    return ((f"{glyphs.SIDE} ", edge), *fitted, (" " * left, "text"), (f" {glyphs.SIDE}", edge))


def _edge(start: str, words: str, end: str, width: int, role: str) -> tuple[str, str]:
    words = words[: max(0, width - 3)]
    return f"{start}{glyphs.EDGE}{words}".ljust(width - 1, glyphs.EDGE) + end, role


# The page of one finding: headline, frames, records, consumers, violated invariant, prevention, event chain.


LABEL: Final = 14
"""Cells of a section's label."""
MOST_PLACES: Final = 3
"""Maximum number of record ranges shown one by one."""
LONGEST_VALUE: Final = 60
MARKED: Final = (f"{glyphs.MARKER} ", "key")
"""Piece before a marked line."""

_HEADS: Final = {
    LOST: ("{count} acknowledged {records} of {where} {are} lost: the leader does not have {them}", "alarm"),
    MISSING: (
        "{count} acknowledged {records} of {where} {are} missing on the leader, but another replica still has {them}",
        "warning",
    ),
    DUPLICATE: ("{count} {records} of {where} {are} duplicated in the log", "warning"),
    REORDERED: ("{count} {records} of {where} {are} out of order: after later ones of the same producer", "warning"),
    SKIPPED: ("{count} {records} of {where} {were} skipped by {group}", "warning"),
    ABANDONED: ("{count} {records} of {where} {were} fetched by {group} and never processed", "warning"),
    ACKED_ABORTED: ("{count} acknowledged {records} of {where} {were} aborted with another transaction", "alarm"),
    ABORTED_COMMITTED: ("{count} aborted {records} of {where} {are} committed in the log", "alarm"),
}
_RULES: Final = {
    LOST: "acknowledged records must survive leader changes while any replica has them",
    MISSING: "acknowledged records must survive leader changes while any replica has them",
    DUPLICATE: "a record is appended once, even if it is retried; Kafka guarantees this for idempotent producers",
    REORDERED: "records of a producer are in the order in which it sent them; with several requests in flight Kafka"
    " guarantees this for idempotent producers",
    SKIPPED: "a group reads every record from its start offset on",
    ABANDONED: "records that a group commits have been processed",
    ACKED_ABORTED: "a committed transaction stays committed",
    ABORTED_COMMITTED: "aborted records are never read as committed",
}


@dataclass(frozen=True, slots=True)
class FindingPage:
    """Data of the autopsy page of one finding at one time."""

    number: int
    """Number of the finding, from 1, of ``total``."""
    total: int
    finding: Finding
    now_us: int
    frames: tuple[ChainFrame, ...]
    partition: str
    """Partition that the frames show."""
    peeked: tuple[PeekedRecord, ...]
    """First record of each of the first ranges."""
    readers: tuple[str, ...]
    """Groups that fetched these offsets."""
    violations: tuple[Violation, ...]


def title(case: FindingPage) -> str:
    """Return the title for the border."""
    return (
        f"Autopsy {glyphs.NOTHING} finding {case.number} of {case.total} {glyphs.NOTHING} {case.finding.kind}"
        f" {glyphs.NOTHING} as of {clock(case.now_us)}"
    )


def headline(finding: Finding) -> tuple[str, str]:
    """Return the finding in one sentence, and its role."""
    template, role = _HEADS[finding.kind]
    one = finding.count == 1
    text = template.format(
        count=f"{finding.count:,}",
        records="record" if one else "records",
        where=few_names(finding.partitions, 2),
        are="is" if one else "are",
        were="was" if one else "were",
        them="it" if one else "them",
        group=f"group {finding.group_id}" if finding.group_id else "a group",
    )
    return text, role


def build(
    case: FindingPage, at: int, width: int, saved: Sequence[tuple[str, str]], marked: int = -1
) -> tuple[Row, ...]:  # fmt: skip
    """Return the whole page for ``width`` cells with frame ``at`` marked; ``saved`` are lines on what would prevent it.

    ``marked`` is the marked one of these lines, -1 for none.
    """
    width = max(20, width)
    finding = case.finding
    head, role = headline(finding)
    rows = [Row(((line, role),)) for line in wrap(head, width)]
    rows += [Row(((line, "text"),)) for line in wrap(in_present_tense(finding.sentence, finding.kind), width)]
    rows.append(_BLANK)
    rows += strip(case.frames, at, width)
    if case.frames:
        shown = case.frames[at]
        rows += _section(f"{at + 1} of {len(case.frames)}", [f"{clock(shown.at_us)} {shown.text}"], width)
        rows += [Row(((line, "quiet"),)) for line in _key(case, width)]
    rows.append(_BLANK)
    rows += _section("The records" if finding.count > 1 else "The record", _records(case), width)
    rows += _section("Consumers", [_seen(case)], width)
    rows += _section("Violated", _rule(case), width)
    rows.append(_BLANK)
    rows.append(Row((("What would have prevented it", "strong"),)))
    for number, (text, line_role) in enumerate(saved):
        mark = MARKED if number == marked else ("  ", "text")
        rows += [Row((mark, (line, line_role))) for line in wrap(text, width - 2)]
    rows.append(_BLANK)
    rows.append(Row((("Event chain", "strong"),)))
    for link in finding.chain:
        lines = wrap(in_present_tense(link.text, finding.kind), width - LABEL)
        rows += [
            Row((((clock(link.at_us) if not index else "").ljust(LABEL), "quiet"), (line, "text")))
            for index, line in enumerate(lines)
        ]
    return tuple(rows)


def place_of_mark(rows: Sequence[Row]) -> int:
    """Return the index of the marked row, -1 without one."""
    return next((number for number, row in enumerate(rows) if row.pieces and row.pieces[0] == MARKED), -1)


def frames_on(row: Row) -> list[tuple[int, int]]:
    """Return cell and number of each frame whose upper border is in the row."""
    numbers, at = [], 0
    for text, _role in row.pieces:
        number = _FRAME.match(text)
        if number is not None:
            numbers.append((at, int(number[1])))
        at += len(text)
    return numbers


_BLANK: Final = Row(())
_FRAME: Final = re.compile(rf"{glyphs.CORNERS[0]}\D* (\d+)  ")


def _section(label: str, texts: Sequence[str], width: int) -> list[Row]:
    rows: list[Row] = []
    for text in texts:
        for line in wrap(text, width - LABEL):
            rows.append(Row(((("" if rows else label).ljust(LABEL), "key"), (line, "text"))))
    return rows


def _key(case: FindingPage, width: int) -> list[str]:
    """Return the legend of the marks in the frames."""
    if case.finding.kind not in (LOST, MISSING):
        return []
    text = f"{glyphs.BULLET} has the records {glyphs.NOTHING} {glyphs.MINUS} had and dropped them"
    return wrap(f"{case.partition}: {text}", width)


def _records(case: FindingPage) -> list[str]:
    finding = case.finding
    texts = []
    peeked = {(each.record.partition, each.record.offset, each.record.epoch): each for each in case.peeked}
    for block in finding.blocks[:MOST_PLACES]:
        span = ""
        if block.log_offset >= 0:
            end = block.log_offset + block.count - 1
            span = f"offset {block.log_offset}" if block.count == 1 else f"offsets {block.log_offset} to {end}"
        epoch = f", epoch {block.leader_epoch}" if block.leader_epoch >= 0 else ""
        whose = f" of {producer_text(block.client)}" if block.client else ""
        where = f"{block.partition} {span}{epoch}" if span else f"{block.partition}, no offset"
        texts.append(f"{where}: {counted(block.count, 'record')}{whose}, acks={acks_text(block.acks)}")
        found = peeked.get((block.partition, block.log_offset, block.leader_epoch))
        if found is not None:
            texts.append(_contents(found, several=block.count > 1))
    rest = len(finding.blocks) - MOST_PLACES
    if rest > 0:
        texts.append(f"and {counted(rest, 'more range')}")
    return texts


def _contents(peeked: PeekedRecord, *, several: bool) -> str:
    record = peeked.record
    parts = [f"appended by b{record.broker} at {clock(record.appended_us)}"]
    parts.append("acknowledged" if record.acked else "not acknowledged")
    parts.append(f"key {record.key}" if record.key is not None else "no key")
    if peeked.value is not None:
        value = peeked.value
        cut = value if len(value) <= LONGEST_VALUE else f"{value[: LONGEST_VALUE - 1]}…"
        parts.append(f"value {cut}")
    return f"{'first record: ' if several else ''}{', '.join(parts)}"


def _seen(case: FindingPage) -> str:
    finding = case.finding
    if finding.kind in (SKIPPED, ABANDONED):
        fetched = "fetched them" if finding.kind == ABANDONED else "fetched the records before and after them"
        return f"group {finding.group_id} {fetched}"
    committed = finding.committed
    if finding.kind in (LOST, MISSING) and not committed:
        return "none: they were never below the high watermark, so no consumer could read them"
    groups = f"group{'s' if len(case.readers) > 1 else ''} {few_names(case.readers)}" if case.readers else "no group"
    if finding.kind not in (LOST, MISSING):
        return f"{groups} so far"
    readable = "all of them" if committed == finding.count else f"{committed:,} of them"
    return f"{readable} could be read, as they were below the high watermark; {groups} fetched some of their offsets"


def _rule(case: FindingPage) -> list[str]:
    finding = case.finding
    texts = [_RULES[finding.kind]]
    if finding.kind in (LOST, MISSING):
        if all(place.acks == 0 for place in finding.blocks):
            texts.append("with acks=0 no broker acknowledged them: the producer counted them as sent")
        elif all(place.acks == 1 for place in finding.blocks):
            texts.append("with acks=1 only the leader acknowledged them; Kafka does not guarantee more")
    texts.append(f"cause: {finding.cause}")
    texts += [f"{clock(each.at_us)} {each.name} ({each.partition}): {each.detail}" for each in case.violations]
    return texts


# What would have prevented a finding, as lines: the result of ``floodmark why --json`` for it.


_GLYPHS: Final = {
    "saves": (glyphs.OK, "calm"),
    "helps": (glyphs.LAGGING, "warning"),
    "inconclusive": (glyphs.STALE, "quiet"),
    "would not have helped": (glyphs.DOWN, "quiet"),
    "refused": (glyphs.NOTHING, "quiet"),
}
HEAD_WORDS: Final = (
    "same seed and faults, one setting changed per run; {autopsy_next_change} marks one,"
    " {autopsy_take} runs it as a branch to compare"
)
MOST_TOLD: Final = 3
"""Maximum number of changes named in the short text."""
CHANCE_US: Final = 50_000
"""Differences of times below this are noise."""


@dataclass(frozen=True, slots=True)
class RemedyChoice:
    """Setting change that can be run as a branch."""

    name: str
    settings: Mapping[str, str]
    """Settings as ``--set`` takes them."""
    line: int
    """Index of its line among :func:`lines`."""


def choices(explanation: Mapping[str, Any]) -> tuple[RemedyChoice, ...]:
    """Return the remedies that can be run: all but the refused ones."""
    return tuple(
        RemedyChoice(each["change"], dict(one.split("=", 1) for one in each["set"]), line)
        for line, each in enumerate(explanation["remedies"], 1)
        if each["set"] and each["verdict"] != "refused"
    )


def in_short(explanation: Mapping[str, Any] | None) -> str:
    """Return the changes that prevent it in short; empty if they were not computed (None)."""
    if explanation is None:
        return ""
    saving = [each for each in explanation["remedies"] if each["verdict"] == "saves"]
    if not saving:
        return "no tested change prevents it"
    return f"prevented by: {'; '.join(each['change'] for each in saving[:MOST_TOLD])}"


def lines(explanation: Mapping[str, Any], head: str = HEAD_WORDS) -> tuple[tuple[str, str], ...]:
    """Return (text, role) of each line: ``head``, every change with its cost, then the point of no return."""
    remedies = explanation["remedies"]
    texts = [(f"known issue, {cause['text'][0]}", "warning") for cause in explanation.get("known_issues", ())]
    texts += [(head, "quiet")] if remedies else []
    texts += [_remedy(each) for each in remedies]
    if not any(each["verdict"] in ("saves", "helps") for each in remedies):
        texts.append(("no tested change would have prevented it", "warning"))
    texts += [(text, "text") for text in _no_return(explanation.get("no_return"))]
    return tuple(texts)


def _remedy(remedy: Mapping[str, Any]) -> tuple[str, str]:
    verdict = remedy["verdict"]
    glyph, role = _GLYPHS[verdict]
    because = f" ({remedy['because']})" if remedy["because"] else ""
    name = f"{glyph} {remedy['change']}{because}"
    if verdict in ("refused", "inconclusive"):
        return f"{name}: {verdict}{', ' if remedy['note'] else ''}{remedy['note']}", role
    cost = [f"{remedy['after']} of {remedy['before']} still affected"]
    cost.append(f"{remedy['rejected']:+d} rejected" if remedy["rejected"] else "0 rejected")
    cost.append(f"{_span(remedy['unavailable_us'])} downtime")
    if remedy["seeds"] > 1:
        cost.append(f"in {remedy['seeds_kept']} of {remedy['seeds']} seeds")
    return f"{name}: {', '.join(cost)}", role if verdict in ("saves", "helps") else "text"


def _span(us: int) -> str:
    if abs(us) < CHANCE_US:
        return "0"
    return f"{'+' if us > 0 else glyphs.MINUS}{compact_duration(abs(us))}"


def _no_return(no_return: Mapping[str, Any] | None) -> list[str]:
    if no_return is None:
        return []
    kind = no_return["kind"]
    actions = alternatives(each["description"] for each in no_return["actions"])
    if kind == "unplaced":
        return ["point of no return: the acknowledgement itself, as no broker ever had them"]
    if kind == "acknowledgement":
        return [f"point of no return: the acknowledgement itself, at {clock(no_return['at_us'])}"]
    if kind == "open":
        return [f"point of no return: not reached; last chance: {actions}"]
    texts = [f"point of no return: {clock(no_return['at_us'])}, {no_return['description']}"]
    if actions:
        texts.append(f"last chance before it: {actions}")
    clean = no_return.get("without_unclean")
    if clean is not None and clean["kind"] == "event":
        kept = alternatives(each["description"] for each in clean["actions"])
        until = f"; last chance before it: {kept}" if kept else ""
        texts.append(
            f"point of no return without an unclean election: {clock(clean['at_us'])}, {clean['description']}{until}"
        )
    if no_return["acked_us"] >= 0:
        texts.append(f"first acknowledgement: {clock(no_return['acked_us'])}")
    return texts
