"""What the program says, without what is another each time it is said: to be compared with a golden file."""

from pathlib import Path


def said(text: object, **places: Path | str) -> str:
    """A text, or what an error says, with ``<name>`` for each path, or other text, that is given by that name."""
    found = str(text)
    for name, place in sorted(places.items(), key=lambda each: -len(str(each[1]))):
        found = found.replace(str(place), f"<{name}>")
    return found
