"""A span of the timeline that somebody has chosen: how long it is, and what happened in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tui.terminal.format import clock, wrap
from tui.viewmodel.row import Row
from tui.viewmodel.timeline.event_feed import Feed, Load
from tui.viewmodel.timeline.event_text import LANES, SORTS, lane_of
from tui.viewmodel.timeline.mark_detail import event_row

COUNTED: Final = 20_000
"""Events of a span that are looked at; of more it is said that there are more."""
OUTCOMES: Final = (("records_missing", "went missing"), ("records_lost", "lost"), ("records_failed", "failed"),
                   ("records_unknown", "unknown"))  # fmt: skip
"""Kinds of events that count records, beside the acknowledgements."""
_ROLES: Final = {"records_missing": "warning", "records_lost": "lost"}
LABEL: Final = 11


class Span(NamedTuple):
    """From an instant up to another one, which does not belong to it."""

    start_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        """How long it is."""
        return self.end_us - self.start_us

    def within(self, first_us: int, last_us: int) -> "Span":
        """As much of it as lies between two instants; the last one belongs to it."""
        return Span(min(max(self.start_us, first_us), last_us), min(max(self.end_us, first_us), last_us + 1))


def between(one: tuple[int, int], other: tuple[int, int]) -> Span:
    """The span over two columns, each from an instant up to another one, whichever comes first."""
    return Span(min(one[0], other[0]), max(one[1], other[1]))


@dataclass(frozen=True, slots=True)
class SpanSummary:
    """What happened in a span."""

    span: Span
    events: int
    """Those worth a line."""
    kinds: tuple[tuple[str, int], ...]
    """How many of each kind, in the order of the lanes."""
    acked: int
    exact: bool
    """Whether ``acked`` is; else it is that of the bins of the load which the span touches."""
    outcomes: tuple[tuple[str, int], ...]
    """Records by the kinds of :data:`OUTCOMES`."""
    more: bool
    """Whether there are more events than were looked at."""


def tally(span: Span, events: Sequence[Any], load: Load) -> SpanSummary:
    """Count what happened; ``events`` are those of the span that are worth a line, :data:`COUNTED` and one at most."""
    taken = events[:COUNTED]
    found = Counter(event.kind for event in taken)
    order = list(SORTS)
    kinds = sorted(
        found, key=lambda kind: (LANES.index(lane_of(kind)), order.index(kind) if kind in SORTS else -1, kind)
    )
    acked, exact = load.within(span.start_us, span.end_us)
    outcomes = tuple(
        (kind, sum(event.count for event in taken if event.kind == kind)) for kind, _word in OUTCOMES
    )  # fmt: skip
    numbers = tuple((kind, found[kind]) for kind in kinds)
    return SpanSummary(span, len(taken), numbers, acked, exact, outcomes, len(events) > len(taken))


def build_span(told: SpanSummary, events: Sequence[Any], room: tuple[int, int]) -> tuple[Row, ...]:
    """The page of a span for (width, height)."""
    width, height = room
    span = told.span
    rows = [
        Row(
            ((f"{clock(span.start_us)} to {clock(span.end_us)}", "strong"), (f"  {length(span.length_us)}", "text"),
             (f"  {_events(told)}", "quiet"))
        )
    ]  # fmt: skip
    rows += _records(told, width)
    for lane in LANES:
        words = [kind_words(kind, times) for kind, times in told.kinds if lane_of(kind) == lane]
        rows += _span_rows(lane, ", ".join(words), width) if words else []
    lines = _lines(events[:COUNTED], max(0, height - len(rows) - 1), width)
    return (*rows, *([Row(()), *lines] if lines else []))[: max(1, height)]


def length(span_us: int) -> str:
    """To the millisecond: ``1.55s``, ``3m5.25s``; what is shorter to the microsecond."""
    if span_us >= 1000:
        span_us = span_us // 1000 * 1000
    minutes, rest = divmod(span_us, 60_000_000)
    seconds = f"{rest / 1_000_000:.6f}".rstrip("0").rstrip(".") + "s"
    return f"{minutes}m{seconds}" if minutes else seconds


def kind_words(kind: str, times: int) -> str:
    """``12 ISR changes``."""
    sort = SORTS.get(kind)
    name = kind.replace("_", " ") if sort is None else sort.one if times == 1 else sort.many
    return f"{times} {name}"


def _events(told: SpanSummary) -> str:
    return f"{'more than ' if told.more else ''}{told.events} event{'' if told.events == 1 else 's'} with a mark"


def _records(told: SpanSummary, width: int) -> list[Row]:
    acked = f"{'' if told.exact else 'about '}{told.acked} acknowledged"
    words = dict(OUTCOMES)
    pieces = [("records".ljust(LABEL), "quiet"), (acked, "text")]
    for kind, number in told.outcomes:
        role = _ROLES.get(kind, "warning") if number else "quiet"
        pieces.append((f", {number} {words[kind]}", role))
    if sum(len(text) for text, _role in pieces) + 1 <= width:
        return [Row(tuple(pieces))]
    return [Row(tuple(pieces[:4])), Row(((" " * (LABEL - 2), "text"), *pieces[4:]))]


def _lines(events: Sequence[Any], most: int, width: int) -> list[Row]:
    """The first of them in the words of the feed."""
    if not events or most < 1:
        return []
    feed = Feed()
    feed.take(events[: most * 4])
    return [event_row(line) for line in feed.lines(len(events) * 8, width - 2)][:most]


def _span_rows(head: str, text: str, width: int) -> list[Row]:
    texts = wrap(text, max(20, width - LABEL - 2))
    return [
        Row((((head if not at else "").ljust(LABEL), "quiet"), (line, "text"))) for at, line in enumerate(texts)
    ]  # fmt: skip
