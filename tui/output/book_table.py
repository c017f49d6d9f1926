"""Whose records came to harm, by producer and partition: a small table, and nothing when all is well."""

from collections.abc import Sequence

from rich.console import Console

from cluster_model.observation.book_view import BookView
from playbooks.errors import counted
from tui.output.console import say, table

ROWS_SHOWN = 8
TERMS_SHOWN = (("acked_lost", "acked lost"), ("committed_lost", "committed lost"), ("duplicates", "duplicates"),
               ("reordered", "reordered"), ("unknown_written", "unknown, but written"))  # fmt: skip
RANGES_SHOWN = 2


def print_books(console: Console, books: Sequence[BookView]) -> None:
    """A row for each producer and partition whose records are lost, where any are."""
    lost = sorted(
        (each for each in books if each.acked_lost), key=lambda each: (-each.acked_lost, each.client, each.partition)
    )
    if not lost:
        return
    shown = [(term, title) for term, title in TERMS_SHOWN if any(getattr(each, term) for each in lost)]
    rows = [
        (each.client, each.partition, str(each.acked), *(str(getattr(each, term)) for term, _title in shown),
         numbers(each))
        for each in lost[:ROWS_SHOWN]
    ]  # fmt: skip
    table(console, ("producer", "partition", "acked", *(title for _term, title in shown), "lost, by its numbers"), rows)
    if len(lost) > ROWS_SHOWN:
        say(console, f"         and {counted(len(lost) - ROWS_SHOWN, 'more row')} like these")


def numbers(book: BookView) -> str:
    """Which records are lost, as their producer numbers them: ``120 to 131, 140``."""
    ranges = book.ranges.get("acked_lost", ())
    told = [str(low) if high == low + 1 else f"{low} to {high - 1}" for low, high in ranges[:RANGES_SHOWN]]
    rest = len(ranges) - RANGES_SHOWN
    return ", ".join([*told, f"and {counted(rest, 'more range')}"] if rest > 0 else told)
