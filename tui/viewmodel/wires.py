"""Fetches of a partition in words: who asks for which offset since when, and what comes back."""

from collections.abc import Sequence
from typing import Final

from cluster_model.observation.inflight_fetches import FetchWire
from cluster_model.observation.views import BrokerState, ClusterView, PartitionView
from tui.terminal import glyphs
from tui.terminal.format import count, duration
from tui.viewmodel.row import Row

NOBODY: Final = "no other replica, so nobody fetches"
_STANDING: Final = ("down", "starting", "paused")


def build(wires: Sequence[FetchWire], partition: PartitionView, view: ClusterView) -> tuple[Row, ...]:
    """A line per follower."""
    states = {each.id: each.state for each in view.brokers}
    rows = [_row(wire, states.get(wire.follower, "up"), partition, view.now_us) for wire in wires]
    return tuple(rows) or (Row(((NOBODY, "quiet"),)),)


def _row(wire: FetchWire, state: BrokerState, partition: PartitionView, now_us: int) -> Row:
    who = f"b{wire.follower}"
    if wire.leader >= 0 and wire.leader != partition.leader:
        who = f"{who}{glyphs.ARROW}b{wire.leader}"
    sign, words, role = _told(wire, state, now_us)
    age = duration(now_us - wire.sent_us) if wire.sent_us >= 0 else ""
    return Row(
        ((f"{who} ", "strong"), (sign, role), (words, "text" if role == "calm" else role)),
        (f" {age}" if age else "", "quiet"),
    )


def _told(wire: FetchWire, state: BrokerState, now_us: int) -> tuple[str, str, str]:
    """An arrow, words, and their role."""
    asks, answers, lost = f"{glyphs.ASKS} ", f"{glyphs.ANSWERS} ", f"{glyphs.DIVERGED} "
    if wire.state == "none":
        return "", f"is {state}" if state in _STANDING else "fetches nothing", "down" if state == "down" else "warning"
    if wire.state == "pauses":
        return "", f"backs off for {duration(max(0, wire.until_us - now_us))} more", "warning"
    question = _question(wire)
    told = {
        "request": (asks, f"{question} on its way", "calm"),
        "waits": (asks, f"{question} waits", "calm"),
        "reply": (answers, _reply(wire), "calm"),
        "busy": (answers, f"{_reply(wire)}, works on it", "warning"),
        "request_cut": (asks + lost, f"{question} dropped", "alarm"),
        "reply_cut": (answers + lost, f"reply to {question} dropped", "alarm"),
        "request_held": (asks, f"{question} held up", "warning"),
        "reply_held": (answers, f"{_reply(wire)}, held up", "warning"),
        "unanswered": (asks + lost, f"{question} lost, no answer", "alarm"),
    }
    return told[wire.state]


def _question(wire: FetchWire) -> str:
    if wire.question != "fetch":
        return f"asks for its {wire.question}" if wire.question == "log end" else "asks where epochs end"
    return f"fetch {wire.offset}" if wire.offset >= 0 else "fetch of others"


def _reply(wire: FetchWire) -> str:
    if wire.error:
        return f"error {wire.error}"
    if wire.question != "fetch":
        return f"answer: {wire.question}"
    if wire.records < 0:
        return f"nothing new{f' at {wire.offset}' if wire.offset >= 0 else ''}"
    return f"{count(wire.records)} record{'' if wire.records == 1 else 's'} from {wire.offset}, HW {wire.hw}"
