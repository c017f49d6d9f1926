"""What is overdue in the words of the feed."""

from collections.abc import Callable
from typing import Any

from tui.terminal import glyphs


def told(event: Any) -> tuple[str, str, tuple[object, ...], Callable[[Any], str]]:
    """Glyph, role, what must be equal to merge, and the line of an entry."""
    where = f" of {event.partition}" if event.partition else ""
    said = f"overdue {event.property}{where}: {event.detail}"
    role = "warning" if event.known else "alarm"
    return glyphs.LOST, role, (event.property, event.partition, event.broker), lambda _entry: said
