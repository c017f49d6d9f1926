"""What went wrong with records, so that a person grasps why: up to five pictures of the moments that decided it.

The pictures come from the chain of a finding, reduced to the links where the ownership of the records changed: who
promised them, who left, who took over, who dropped them. The promise and the end of the chain are always among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cluster_model.checker.root_cause.findings import LOST, MISSING, Finding, Link
from tui.terminal import glyphs
from tui.terminal.format import clock
from tui.viewmodel.partition_history import Standing
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

HAS: Final = "has"
GONE: Final = "gone"
NEVER: Final = "none"
LATER: Final = "later"
_MARKS: Final = {
    HAS: (glyphs.BULLET, "calm"),
    GONE: (glyphs.LOST, "lost"),
    NEVER: (glyphs.NOTHING, "quiet"),
    LATER: (glyphs.NOTHING, "quiet"),
}
"""What a replica has of the records → glyph and role."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A replica that had the records."""

    broker: int
    from_start: bool
    """Whether it had them as they were acknowledged; else it got them nobody knows when."""
    until_us: int = -1
    """When it dropped them; -1: it has them."""


@dataclass(frozen=True, slots=True)
class Replica:
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
class Frame:
    """One picture."""

    at_us: int
    title: str
    replicas: tuple[Replica, ...]
    caption: str
    words: str
    """What happened, in full."""


def chosen(chain: Sequence[Link], most: int = MOST_FRAMES) -> tuple[Link, ...]:
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
    chain: Sequence[Link],
    link: Link,
    standing: Standing,
    replicas: Sequence[int],
    copies: Sequence[Copy],
) -> Frame:
    """The picture of a link of ``chain``. ``replicas`` are those of the partition."""
    at = next(place for place, each in enumerate(chain) if each is link)
    owned = {each.broker: each for each in copies}
    draws = finding.kind in (LOST, MISSING)
    lines = tuple(
        _replica(broker, link, standing, _held(owned.get(broker), chain[: at + 1]) if draws else "")
        for broker in _shown(replicas, (link.broker, *standing.isr, *owned))
    )
    caption = _caption(finding, link, standing, last=at == len(chain) - 1)
    return Frame(link.at_us, _title(finding, link, standing), lines, caption, said(link.words, finding.kind))


def _shown(replicas: Sequence[int], named: Sequence[int]) -> list[int]:
    known = [each for each in dict.fromkeys((*replicas, *named)) if each in replicas or (each >= 0 and not replicas)]
    if len(known) <= MOST_REPLICAS:
        return known
    wanted = [each for each in dict.fromkeys(named) if each in known]
    wanted += [each for each in known if each not in wanted]
    return [each for each in known if each in wanted[:MOST_REPLICAS]]


def _replica(broker: int, link: Link, standing: Standing, holds: str) -> Replica:
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
    return Replica(broker, glyph, role, state, holds, struck)


def _held(copy: Copy | None, chain: Sequence[Link]) -> str:
    """What of the records a replica has right behind the last of these links."""
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


def _title(finding: Finding, link: Link, standing: Standing) -> str:
    if link.event_kind == ENDS and finding.kind == MISSING:
        return "as it stands"
    broker = f"b{link.broker}" if link.broker >= 0 else "somebody"
    if link.event_kind == "truncated" and link.broker in standing.down:
        return f"{broker} loses its log"
    return _TITLES.get(link.event_kind, link.event_kind.replace("_", " ")).format(broker=broker)


def _caption(finding: Finding, link: Link, standing: Standing, *, last: bool) -> str:
    kind = link.event_kind
    if kind == "leader_elected":
        return "a clean election" if standing.clean else "an unclean election"
    if kind == "records_acked":
        levels = ", ".join(dict.fromkeys("all" if place.acks < 0 else str(place.acks) for place in finding.places))
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


def strip(frames: Sequence[Frame], at: int, width: int) -> tuple[Row, ...]:
    """As many frames side by side as fit in ``width`` cells, the one at ``at`` among them and marked."""
    if not frames:
        return ()
    beside, size = room_for(len(frames), width)
    first = window(len(frames), beside, at)
    height = max(len(each.replicas) for each in frames)
    boxes = [box(frames[place], place + 1, size, height, marked=place == at) for place in range(first, first + beside)]
    return tuple(Row(tuple(piece for line in lines for piece in line)) for lines in zip(*boxes, strict=True))


def box(each: Frame, number: int, width: int, replicas: int, *, marked: bool) -> list[tuple[tuple[str, str], ...]]:
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


def _pieces(replica: Replica, inner: int) -> list[tuple[str, str]]:
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
