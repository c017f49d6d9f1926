"""Details of one mark of the timeline, and the summary of a selected time span."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cluster_model.checker.root_cause import ChainEvent, Finding
from cluster_model.util.quantities import clock, counted, minutes_and_seconds
from tui.terminal import glyphs
from tui.terminal.format import wrap
from tui.viewmodel.finding_page import in_present_tense
from tui.viewmodel.row import Row
from tui.viewmodel.timeline.event_feed import INDENT, Feed, FeedLine, Load
from tui.viewmodel.timeline.event_text import EVENT_NOUNS, LANES, brokers_of, lane_of, partitions_of
from tui.viewmodel.timeline.timeline_rows import LaneColumn

# Details of one mark of the timeline.


EVENTS_READ: Final = 400
"""Maximum number of events of a mark that are shown; beyond it only their number is."""
LINES: Final = 8
"""Maximum lines of text for a mark of many events."""
LATER: Final = 60
"""Maximum lines about the events after the mark."""
CHAINS: Final = 2
"""Maximum number of findings shown with their event chain."""
_RECORDS: Final = frozenset({"records_missing", "records_lost"})


class MarkFinding(NamedTuple):
    """Finding that an event led to, or that the event reports."""

    number: int
    """Number of the finding in the autopsy, from 1."""
    finding: Finding


def events_of_stop(events: Sequence[Any], stop: LaneColumn) -> list[Any]:
    """Return the events that belong to the lane of a stop."""
    return [event for event in events if lane_of(event.kind) == stop.lane]


def findings_about(findings: Sequence[Finding], events: Sequence[Any]) -> list[MarkFinding]:
    """Return the findings that have one of these events in their chain, or that are about records an event names."""
    happened = {_key(event) for event in events}
    records = {(event.partition, event.client, event.sequence) for event in events if event.kind in _RECORDS}
    return [
        MarkFinding(number, finding)
        for number, finding in enumerate(findings, 1)
        if any(_link_key(link) in happened for link in finding.chain)
        or any((place.partition, place.client, place.sequence) in records for place in finding.blocks)
    ]


def _key(event: Any) -> tuple[int, str, str]:
    return event.at_us, event.kind, getattr(event, "partition", "")


def _link_key(link: ChainEvent) -> tuple[int, str, str]:
    return link.at_us, link.event_kind, link.partition


def build_mark(
    stop: LaneColumn,
    events: Sequence[Any],
    findings: Sequence[MarkFinding],
    later: Sequence[Any],
    width: int,
    finding_key: str = "n",
) -> tuple[Row, ...]:
    """Return the page of a mark; ``later`` are the events after it, ``finding_key`` is the key of the autopsy."""
    until = f" to {clock(stop.last_us)}" if stop.last_us // 1000 > stop.first_us // 1000 else ""
    many = f"{stop.times} events in lane " if stop.times > 1 else "1 event in lane "
    rows = [
        Row(
            ((f"{stop.glyph} ", stop.role), (f"{clock(stop.first_us)}{until}", "strong"), (f"  {many}", "quiet"),
             (stop.lane, "text"))
        )
    ]  # fmt: skip
    rows += _words(events, width)
    if stop.times > len(events) > 0:
        rows.append(Row(((f"    first {len(events)} of {stop.times} events", "quiet"),)))
    rows += _where(events)
    rows += _causes(events, width)
    happened = {_key(event) for event in events}
    for each in findings[:CHAINS]:
        rows += _finding(each, happened, width)
    if len(findings) > CHAINS:
        rows.append(Row(((f"and {len(findings) - CHAINS} more findings; {finding_key} opens them", "quiet"),)))
    if later:
        rows += [Row(()), Row((("afterwards", "calm"),)), *_words(later, width, limit=LATER)]
    return tuple(rows)


def _words(events: Sequence[Any], width: int, limit: int = LINES) -> list[Row]:
    """Return the first ``limit`` feed lines of these events."""
    feed = Feed()
    feed.take(events)
    return [event_row(line) for line in feed.lines(len(events) * limit, width - 2)][:limit] if events else []


def event_row(line: FeedLine) -> Row:
    """Return a line of the feed as a row of a page."""
    role = line.role if line.role in ("alarm", "lost", "strong") else "text"
    return Row(((line.at.ljust(INDENT - 4), "quiet"), (line.glyph.ljust(2), line.role), (line.text, role)))


def _where(events: Sequence[Any]) -> list[Row]:
    pairs = (("partition  ", partitions_of(list(events))), ("broker     ", brokers_of(list(events))))
    return [Row(((name, "quiet"), (found, "text"))) for name, found in pairs if found]


def _causes(events: Sequence[Any], width: int) -> list[Row]:
    causes = dict.fromkeys(event.cause for event in events if event.kind == "invariant_violated" and event.cause)
    known = dict.fromkeys(event.known for event in events if getattr(event, "known", ""))
    rows = [row for cause in causes for row in _mark_rows("cause      ", cause, "text", width)]
    return rows + [row for why in known for row in _mark_rows("expected   ", why, "quiet", width)]


def _finding(each: MarkFinding, happened: set[tuple[int, str, str]], width: int) -> list[Row]:
    finding = each.finding
    rows = _mark_rows(f"finding {each.number}  ", in_present_tense(finding.sentence, finding.kind), "strong", width)
    for link in finding.chain:
        here = _link_key(link) in happened
        mark = (f"  {glyphs.MARKER if here else ' '} ", "key")
        texts = wrap(in_present_tense(link.text, finding.kind), max(20, width - 16)) or [""]
        rows.append(
            Row((mark, (clock(link.at_us).ljust(11), "quiet"), (texts[0], "strong" if here else "text")))
        )  # fmt: skip
        rows += [Row(((" " * 15, "text"), (text, "text"))) for text in texts[1:]]
    return rows


def _mark_rows(head: str, text: str, role: str, width: int) -> list[Row]:
    texts = wrap(text, max(20, width - len(head) - 2)) or [""]
    rows = [Row(((head, "quiet"), (texts[0], role)))]
    return rows + [Row(((" " * len(head), "text"), (more, role))) for more in texts[1:]]


# Summary of a selected time span.


COUNTED: Final = 20_000
"""Maximum number of events of a span that are counted; beyond it the summary says "more than"."""
OUTCOMES: Final = (("records_missing", "went missing"), ("records_lost", "lost"), ("records_failed", "failed"),
                   ("records_unknown", "unknown"))  # fmt: skip
"""Kinds of events that count records, besides acknowledgements."""
_ROLES: Final = {"records_missing": "warning", "records_lost": "lost"}
LABEL: Final = 11


class Span(NamedTuple):
    """Time span, start inclusive and end exclusive."""

    start_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        """Length of the span."""
        return self.end_us - self.start_us

    def within(self, first_us: int, last_us: int) -> "Span":
        """Return the span clipped to ``first_us`` .. ``last_us``, both inclusive."""
        return Span(min(max(self.start_us, first_us), last_us), min(max(self.end_us, first_us), last_us + 1))


def between(one: tuple[int, int], other: tuple[int, int]) -> Span:
    """Return the span that covers two columns, given as (start, end), in either order."""
    return Span(min(one[0], other[0]), max(one[1], other[1]))


@dataclass(frozen=True, slots=True)
class SpanSummary:
    """Numbers of events and records in a time span."""

    span: Span
    events: int
    """Number of notable events."""
    kinds: tuple[tuple[str, int], ...]
    """Number of events by kind, in the order of the lanes."""
    acked: int
    exact: bool
    """Whether ``acked`` is exact; else it counts whole bins of the load that overlap the span."""
    outcomes: tuple[tuple[str, int], ...]
    """Number of records by the kinds of :data:`OUTCOMES`."""
    more: bool
    """Whether there are more events than were counted."""


def summarise_span(span: Span, events: Sequence[Any], load: Load) -> SpanSummary:
    """Return the summary of a span; ``events`` are its notable events, at most one more than :data:`COUNTED`."""
    taken = events[:COUNTED]
    counts = Counter(event.kind for event in taken)
    order = list(EVENT_NOUNS)
    kinds = sorted(
        counts, key=lambda kind: (LANES.index(lane_of(kind)), order.index(kind) if kind in EVENT_NOUNS else -1, kind)
    )
    acked, exact = load.within(span.start_us, span.end_us)
    outcomes = tuple(
        (kind, sum(event.count for event in taken if event.kind == kind)) for kind, _word in OUTCOMES
    )  # fmt: skip
    numbers = tuple((kind, counts[kind]) for kind in kinds)
    return SpanSummary(span, len(taken), numbers, acked, exact, outcomes, len(events) > len(taken))


def build_span(summary: SpanSummary, events: Sequence[Any], room: tuple[int, int]) -> tuple[Row, ...]:
    """Return the page of a span for ``room`` (width, height)."""
    width, height = room
    span = summary.span
    rows = [
        Row(
            ((f"{clock(span.start_us)} to {clock(span.end_us)}", "strong"),
             (f"  {minutes_and_seconds(span.length_us)}", "text"),
             (f"  {_events(summary)}", "quiet"))
        )
    ]  # fmt: skip
    rows += _records(summary, width)
    for lane in LANES:
        words = [kind_words(kind, times) for kind, times in summary.kinds if lane_of(kind) == lane]
        rows += _span_rows(lane, ", ".join(words), width) if words else []
    lines = _lines(events[:COUNTED], max(0, height - len(rows) - 1), width)
    return (*rows, *([Row(()), *lines] if lines else []))[: max(1, height)]


def kind_words(kind: str, times: int) -> str:
    """Return a count of events of a kind as text: ``12 ISR changes``."""
    sort = EVENT_NOUNS.get(kind)
    name = kind.replace("_", " ") if sort is None else sort.one if times == 1 else sort.many
    return f"{times} {name}"


def _events(summary: SpanSummary) -> str:
    return f"{'more than ' if summary.more else ''}{counted(summary.events, 'notable event', zero='0')}"


def _records(summary: SpanSummary, width: int) -> list[Row]:
    acked = f"{'' if summary.exact else 'about '}{summary.acked} acknowledged"
    words = dict(OUTCOMES)
    pieces = [("records".ljust(LABEL), "quiet"), (acked, "text")]
    for kind, number in summary.outcomes:
        role = _ROLES.get(kind, "warning") if number else "quiet"
        pieces.append((f", {number} {words[kind]}", role))
    if sum(len(text) for text, _role in pieces) + 1 <= width:
        return [Row(tuple(pieces))]
    return [Row(tuple(pieces[:4])), Row(((" " * (LABEL - 2), "text"), *pieces[4:]))]


def _lines(events: Sequence[Any], limit: int, width: int) -> list[Row]:
    """Return the first ``limit`` feed lines of these events."""
    if not events or limit < 1:
        return []
    feed = Feed()
    feed.take(events[: limit * 4])
    return [event_row(line) for line in feed.lines(len(events) * 8, width - 2)][:limit]


def _span_rows(head: str, text: str, width: int) -> list[Row]:
    texts = wrap(text, max(20, width - LABEL - 2))
    return [
        Row((((head if not at else "").ljust(LABEL), "quiet"), (line, "text"))) for at, line in enumerate(texts)
    ]  # fmt: skip
