"""What becomes of transactions, in the words of the feed."""

from typing import Any, Final

from tui.terminal import glyphs
from tui.terminal.format import records

Words = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""

KINDS: Final = (
    "transaction_aborted",
    "transaction_unknown",
    "transaction_overdue",
    "transaction_left_open",
    "producer_fenced",
)
"""The events that are told here."""


def told(event: Any) -> Words:
    """What happened to a producer's transaction, or to the producer by it."""
    key = (event.kind, event.client, event.at_us)
    if event.kind == "producer_fenced":
        return glyphs.DOWN, "alarm", key, f"{event.client} ({event.detail}) ends with {event.error}"
    who = f"{event.client} ({event.detail})"
    if event.kind == "transaction_overdue":
        return glyphs.LAGGING, "warning", key, f"{who} waits for its {event.by}, and asks again"
    much = records(event.count)
    if event.kind == "transaction_aborted":
        role, why = ("warning", f": {event.error}") if event.error else ("quiet", "")
        return glyphs.MORE_RIGHT, role, key, f"{who} aborts a transaction of {much}{why}"
    if event.kind == "transaction_unknown":
        return glyphs.LAGGING, "warning", key, f"{who}: commit of {much} unknown, {event.error}"
    return glyphs.LAGGING, "warning", key, f"{who} leaves a transaction of {much} open"
