"""Text and tables that Markdown takes as they are."""

from collections.abc import Iterable, Sequence


def safe(text: str) -> str:
    """Text without anything that Markdown would take for its own."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table_text(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a line feed at its end; cells are made safe."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(map(safe, row))} |" for row in rows]
    return "\n".join([*lines, ""])
