"""Program output with variable parts replaced, for comparison with a golden file."""

from pathlib import Path


def masked_text(text: object, **places: Path | str) -> str:
    """Return a text or an error's message, with ``<name>`` for each path or text that is given by that name."""
    found = str(text)
    for name, place in sorted(places.items(), key=lambda each: -len(str(each[1]))):
        found = found.replace(str(place), f"<{name}>")
    return found
