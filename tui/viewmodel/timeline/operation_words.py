"""An administrator's operations in the words of the feed."""

from typing import Any

from tui.terminal import glyphs

Words = tuple[str, str, tuple[object, ...], str]
"""Glyph, role, what must be equal to merge, and the line."""


def told(event: Any) -> Words:
    """What happened to an operation."""
    number = event.operation_id
    name = f"operation #{number} {event.operation.replace('_', ' ')}"
    if event.kind == "admin_requested":
        how = f" {event.detail}" if event.detail else ""
        return glyphs.MORE_RIGHT, "text", (number,), f"{event.by}: {name}{how}"
    if event.kind == "admin_progress":
        return glyphs.BULLET, "quiet", (number, event.at_us, event.detail), f"{name}: {event.detail}"
    more = f", {event.detail}" if event.detail else ""
    if event.error:
        return glyphs.DOWN, "warning", (number,), f"{name} refused: {event.error}{more}"
    return glyphs.OK, "calm", (number,), f"{name} done{more}"
