"""All about one mark of the timeline, or about a chosen span of time."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from cluster_model.checker.root_cause import ChainEvent, Finding
from tui.terminal import glyphs
from tui.terminal.format import clock, wrap
from tui.viewmodel.finding_page import said
from tui.viewmodel.row import Row
from tui.viewmodel.timeline.event_feed import INDENT, Feed, FeedLine
from tui.viewmodel.timeline.event_text import brokers_of, lane_of, partitions_of
from tui.viewmodel.timeline.timeline_rows import LaneColumn

EVENTS_READ: Final = 400
"""Events of a mark that are looked at; of more only the number is told."""
LINES: Final = 8
"""Lines of words that a mark of many events is given."""
LATER: Final = 60
"""Lines on what came next."""
CHAINS: Final = 2
"""Findings that are told with their chain."""
_RECORDS: Final = frozenset({"records_missing", "records_lost"})


class MarkFinding(NamedTuple):
    """A finding that an event led to, or that the event tells of."""

    number: int
    """From 1, as the autopsy counts them."""
    finding: Finding


def of_stop(events: Sequence[Any], stop: LaneColumn) -> list[Any]:
    """Those among the events of its time that belong to it."""
    return [event for event in events if lane_of(event.kind) == stop.lane]


def told_by(findings: Sequence[Finding], events: Sequence[Any]) -> list[MarkFinding]:
    """The findings with one of these events in their chain, or that tell of the records which an event names."""
    happened = {_key(event) for event in events}
    records = {(event.partition, event.client, event.sequence) for event in events if event.kind in _RECORDS}
    return [
        MarkFinding(number, finding)
        for number, finding in enumerate(findings, 1)
        if any(_link_key(link) in happened for link in finding.chain)
        or any((place.partition, place.client, place.sequence) in records for place in finding.places)
    ]


def _key(event: Any) -> tuple[int, str, str]:
    return event.at_us, event.kind, getattr(event, "partition", "")


def _link_key(link: ChainEvent) -> tuple[int, str, str]:
    return link.at_us, link.event_kind, link.partition


def build_mark(
    stop: LaneColumn,
    events: Sequence[Any],
    told: Sequence[MarkFinding],
    later: Sequence[Any],
    width: int,
    finding_key: str = "n",
) -> tuple[Row, ...]:
    """The page of a mark, for so many cells; ``later`` is what came next, ``finding_key`` opens autopsies."""
    until = f" to {clock(stop.last_us)}" if stop.last_us // 1000 > stop.first_us // 1000 else ""
    many = f"{stop.times} events of the lane " if stop.times > 1 else "an event of the lane "
    rows = [
        Row(
            ((f"{stop.glyph} ", stop.role), (f"{clock(stop.first_us)}{until}", "strong"), (f"  {many}", "quiet"),
             (stop.lane, "text"))
        )
    ]  # fmt: skip
    rows += _words(events, width)
    if stop.times > len(events) > 0:
        rows.append(Row(((f"    these are the first {len(events)} of {stop.times}", "quiet"),)))
    rows += _where(events)
    rows += _causes(events, width)
    happened = {_key(event) for event in events}
    for each in told[:CHAINS]:
        rows += _finding(each, happened, width)
    if len(told) > CHAINS:
        rows.append(Row(((f"and {len(told) - CHAINS} findings more, {finding_key} goes through them", "quiet"),)))
    if later:
        rows += [Row(()), Row((("and then", "calm"),)), *_words(later, width, most=LATER)]
    return tuple(rows)


def _words(events: Sequence[Any], width: int, most: int = LINES) -> list[Row]:
    """The first lines of the feed of these events: ``most`` of them."""
    feed = Feed()
    feed.take(events)
    return [event_row(line) for line in feed.lines(len(events) * most, width - 2)][:most] if events else []


def event_row(line: FeedLine) -> Row:
    """A line of the feed as a row of a page."""
    role = line.role if line.role in ("alarm", "lost", "strong") else "text"
    return Row(((line.at.ljust(INDENT - 4), "quiet"), (line.glyph.ljust(2), line.role), (line.text, role)))


def _where(events: Sequence[Any]) -> list[Row]:
    pairs = (("partition  ", partitions_of(list(events))), ("broker     ", brokers_of(list(events))))
    return [Row(((name, "quiet"), (found, "text"))) for name, found in pairs if found]


def _causes(events: Sequence[Any], width: int) -> list[Row]:
    causes = dict.fromkeys(event.cause for event in events if event.kind == "invariant_violated" and event.cause)
    known = dict.fromkeys(event.known for event in events if getattr(event, "known", ""))
    rows = [row for cause in causes for row in _mark_rows("cause      ", cause, "text", width)]
    return rows + [row for why in known for row in _mark_rows("known      ", why, "quiet", width)]


def _finding(each: MarkFinding, happened: set[tuple[int, str, str]], width: int) -> list[Row]:
    finding = each.finding
    rows = _mark_rows(f"finding {each.number}  ", said(finding.sentence, finding.kind), "strong", width)
    for link in finding.chain:
        here = _link_key(link) in happened
        mark = (f"  {glyphs.MARKER if here else ' '} ", "key")
        texts = wrap(said(link.words, finding.kind), max(20, width - 16)) or [""]
        rows.append(
            Row((mark, (clock(link.at_us).ljust(11), "quiet"), (texts[0], "strong" if here else "text")))
        )  # fmt: skip
        rows += [Row(((" " * 15, "text"), (text, "text"))) for text in texts[1:]]
    return rows


def _mark_rows(head: str, text: str, role: str, width: int) -> list[Row]:
    texts = wrap(text, max(20, width - len(head) - 2)) or [""]
    rows = [Row(((head, "quiet"), (texts[0], role)))]
    return rows + [Row(((" " * len(head), "text"), (more, role))) for more in texts[1:]]
