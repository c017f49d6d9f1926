"""Batches that are no longer what was written, in the words of the feed."""

from typing import Any, Final

from tui.terminal import glyphs

Words = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""

KINDS: Final = ("batch_damaged", "corrupt_batch_found")
"""The events that are told here."""


def told(event: Any) -> Words:
    """What was damaged, or who came upon it and what stands still for it."""
    key = (event.kind, event.partition, event.broker, event.log_offset)
    place = f"{event.partition} at offset {event.log_offset}"
    if event.kind == "batch_damaged":
        return glyphs.DIVERGED, "alarm", key, f"b{event.broker}'s copy of {place} is damaged; nobody has noticed"
    if event.by == "recovery":
        return glyphs.DIVERGED, "alarm", key, f"b{event.broker} recovers, finds {place} corrupt and ends the log there"
    who = "fetches" if event.by == "follower" else "cleans"
    return glyphs.DIVERGED, "warning", key, f"b{event.broker} {who} {place}, which is corrupt: {event.detail}"
